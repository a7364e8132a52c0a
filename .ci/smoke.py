"""Try an installed primum: ``python -I smoke.py core`` without extras, ``cli`` with them.

``laboratory`` tries what the laboratory adds.
"""

import subprocess
import sys
import sysconfig
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import primum


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it prints."""
    return subprocess.run(arguments, capture_output=True, text=True)


def core() -> None:
    """Check that the package is the installed one, has types, and fits a model."""
    installed = Path(sysconfig.get_path("purelib"))
    assert Path(primum.__file__).is_relative_to(installed), primum.__file__
    assert version("primum") == primum.__version__
    assert (files("primum") / "py.typed").is_file()
    without = command(sys.executable, "-m", "primum", "--version")
    assert without.stderr == "The command primum needs click: pip install 'primum[cli]'.\n", without
    assert without.returncode == 1
    example()


def example() -> None:
    """Fit the safe choice to a small table with unknown labels."""
    import numpy as np
    from sklearn.datasets import load_iris

    X, truth = load_iris(return_X_y=True)
    known = np.random.default_rng(0).random(len(truth)) < 0.2

    y = np.where(known, truth, -1)
    clf = primum.SafeClassifier(random_state=0).fit(X, y)
    error = 1 - clf.score(X[~known], truth[~known])

    assert error < 0.2, f"an error of {error:.2f} on iris"
    print(f"primum {primum.__version__}, error {error:.2f} on iris. {clf.verdict_}")


def cli() -> None:
    """Run the command, by its name and as a module."""
    script = str(Path(sysconfig.get_path("scripts")) / "primum")
    said = command(sys.executable, "-m", "primum", "--version")
    assert said.stdout == f"primum, version {primum.__version__}\n", said
    said = command(script, "--help")
    assert said.returncode == 0, said
    assert "predict" in said.stdout, said
    assert "reproduce" not in said.stdout, said
    said = command(script, "reproduce", "table1")
    assert said.returncode == 2, said
    assert "pip install ./lab" in said.stderr, said
    print(f"The command {script} works.")


def laboratory() -> None:
    """Find the commands of the laboratory, and run those that need no data."""
    script = str(Path(sysconfig.get_path("scripts")) / "primum")
    for arguments, expected in (
        (["--help"], "reproduce"),
        (["datasets", "list"], "ionosphere"),
        (["reproduce", "table2", "--help"], "--data-home"),
        (["reproduce", "illustrations", "--out", "illustrations"], "report.html"),
    ):
        said = command(script, *arguments)
        assert said.returncode == 0, said
        assert expected in said.stdout, said
    print("The laboratory works.")


if __name__ == "__main__":
    {"core": core, "cli": cli, "laboratory": laboratory}[sys.argv[1]]()
