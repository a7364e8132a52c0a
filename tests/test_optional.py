"""Optional packages: every advice to install something names an extra that has it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from primum._lazy import COMMAND, EXTRAS, install_advice, is_installed, needed

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ALL = PROJECT["optional-dependencies"]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def packages_of(extra):
    """The packages that an extra installs, those of other extras in it included."""
    found = set()
    for requirement in ALL[extra]:
        name, extras = re.fullmatch(r"([\w-]+)(?:\[([\w,-]+)\])?.*", requirement).groups()
        inner = (extras or "").split(",") if name == "primum" else []
        found |= {name} | set().union(*map(packages_of, inner))
    return found


@pytest.mark.parametrize("name", EXTRAS)
def test_the_extra_contains_the_package(name):
    assert name in packages_of(EXTRAS[name])
    assert install_advice("It needs", name) == (
        f"It needs {name}: pip install 'primum[{EXTRAS[name]}]'."
    )


def test_every_extra_that_is_mentioned_exists():
    mentioned = set()
    for path in [*SOURCES, *PAGES]:
        for extras in re.findall(r"(?:primum|'\.)\[([a-z,]+)\]", path.read_text()):
            mentioned |= set(extras.split(","))
    assert {"cli", "plot", "tables"} <= mentioned <= ALL.keys()


def test_one_place_gives_the_advice():
    """Other literals could name a wrong extra; the laboratory is a package of its own."""
    saying = {path.name for path in SOURCES if "pip install" in path.read_text()}
    assert saying == {"_lazy.py", "__init__.py", "main.py"}


def test_the_command_needs_no_more_than_its_extra():
    for folder in ("cli", "tables"):
        for path in (ROOT / "src" / "primum" / folder).glob("*.py"):
            found = re.findall(r"^(?:import|from) (\w+)", path.read_text(), flags=re.MULTILINE)
            assert {name for name in found if name in EXTRAS} <= packages_of(COMMAND)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    assert not is_installed("skops")
    assert is_installed("numpy")
    advice = r"Files need skops: pip install 'primum\[models\]', or do without\."
    with pytest.raises(ImportError, match=advice), needed("Files", "do without"):
        import skops.io  # noqa: F401


def test_other_failures_of_an_import_are_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "strange", None)
    with pytest.raises(ModuleNotFoundError, match="strange"), needed("Files"):
        import strange  # noqa: F401


RUN = """
import sys
for name in {others}:
    sys.modules[name] = None
import primum
from sklearn.datasets import load_breast_cancer
table = load_breast_cancer(as_frame=True).frame
table["target"] = table["target"].astype(object).where(table.index % 10 == 0, None)
print(primum.compare(table, target="target", methods=["ICLS"], n_repeats=1, curves=False))
"""


def test_readme_compares_with_what_it_installs():
    text = (ROOT / "README.md").read_text()
    (extras,) = re.findall(r"^    pip install '\.\[([a-z,]+)\]'$", text, flags=re.MULTILINE)
    installed = set().union(*map(packages_of, extras.split(",")))
    assert packages_of(COMMAND) <= installed  # for `primum compare` on the same page
    others = sorted(EXTRAS.keys() - installed)
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(others=others)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "baseline" in done.stdout
