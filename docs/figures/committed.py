"""Where the committed results are that figures are drawn from."""

from pathlib import Path

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
