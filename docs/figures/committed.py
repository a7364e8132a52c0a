"""Where the committed results are that figures are drawn from."""

from pathlib import Path

EXPERIMENTS = Path(__file__).parents[2] / "lab" / "results"
