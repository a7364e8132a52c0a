"""The gallery: its examples run without a warning or a download, and draw figures."""

import ast
import runpy
import socket
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))
# The others take up to a quarter of a minute each.
QUICK = {"plot_constraint_set", "plot_prior", "plot_regression"}


def marked(path):
    marks = [] if path.stem in QUICK else [pytest.mark.slow]
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.fixture
def pyplot(monkeypatch):
    """Return pyplot, drawing into memory; no example may connect to anything."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    def refuse(*_):
        raise AssertionError("an example tried to open a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("path", [marked(path) for path in EXAMPLES])
def test_example_runs_and_draws(path, pyplot):
    runpy.run_path(str(path))
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert figures
    for figure in figures:
        figure.canvas.draw()
        assert figure.axes
        assert all(axes.has_data() for axes in figure.axes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_written_for_the_gallery(path):
    text = path.read_text(encoding="utf-8")
    empty, title, underline, *rest = ast.get_docstring(ast.parse(text), clean=False).split("\n")
    assert empty == ""
    assert underline == "=" * len(title)
    assert "".join(rest).strip()
    assert "\n# %%\n" in text
    assert (path.parent / "GALLERY_HEADER.rst").exists()


def test_gallery_is_large_enough_and_its_names_are_unique():
    stems = [path.stem for path in EXAMPLES]
    assert len(set(stems)) == len(stems) >= 12
    assert set(stems) >= QUICK
