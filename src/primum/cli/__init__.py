"""The command ``primum``. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done in part."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from primum.cli.main import primum
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("primum"):
            raise
        extra = "experiments" if missing.name in ("joblib", "matplotlib") else "cli"
        sys.exit(f"The command primum needs {missing.name}: pip install 'primum[{extra}]'.")
    primum()
