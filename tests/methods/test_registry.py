"""One line of the registry brings a method to all places that list methods."""

import importlib
import runpy
import sys
import types
from pathlib import Path

import pytest
from click.testing import CliRunner
from sklearn.base import is_classifier

import primum
import primum.cli.compare
import primum_lab.cli.reproduce
import primum_lab.methods
from primum._words import key_of
from primum.cli.main import primum as command
from primum.methods import registry
from primum.methods.least_squares.classifier import LeastSquaresClassifier
from primum.methods.registry import LINEAR, MethodEntry

LISTINGS = Path(__file__).parents[2] / "docs" / "make_listings.py"
NEW = MethodEntry("HalfwayClassifier", "halfway", LINEAR, "Halfway")
# What is made from the registry when it is imported.
READERS = (
    primum.methods,
    primum,
    primum.cli.compare,
    primum_lab.methods,
    primum_lab.cli.reproduce,
)


def test_the_listings_are_up_to_date():
    """If not, run docs/make_listings.py."""
    for path, listed in runpy.run_path(str(LISTINGS))["LISTINGS"].items():
        text = path.read_text()
        assert listed(text, registry.METHODS) == text, path


@pytest.fixture
def new_method(monkeypatch):
    """A small method: its file, and its line in the registry."""

    class HalfwayClassifier(LeastSquaresClassifier):
        """Least squares, of no use."""

    module = types.ModuleType("primum.methods.halfway")
    module.HalfwayClassifier = HalfwayClassifier
    HalfwayClassifier.__module__ = module.__name__
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for reader in READERS:  # and back again, after the registry
        for name, value in vars(reader).copy().items():
            monkeypatch.setattr(reader, name, value)
    monkeypatch.setattr(registry, "METHODS", [*registry.METHODS, NEW])
    for reader in READERS:
        importlib.reload(reader)
    yield HalfwayClassifier
    for reader in READERS:
        vars(reader).pop("HalfwayClassifier", None)


def test_a_line_brings_the_public_name(new_method):
    assert primum.HalfwayClassifier is primum.methods.HalfwayClassifier is new_method
    assert "HalfwayClassifier" in primum.__all__
    assert "HalfwayClassifier" in dir(primum.methods)


def test_a_line_brings_the_common_checks(new_method):
    checks = runpy.run_path(str(Path(__file__).parent / "test_common.py"))
    assert "HalfwayClassifier()" in [str(clf) for clf in checks["ESTIMATORS"]]
    assert all(is_classifier(clf) for clf in checks["ESTIMATORS"])


def test_a_line_brings_the_row_the_reference_and_the_type(new_method):
    added = {}
    for path, listed in runpy.run_path(str(LISTINGS))["LISTINGS"].items():
        old, new = path.read_text(), listed(path.read_text(), registry.METHODS)
        added[path.name] = [line for line in new.splitlines() if line not in old.splitlines()]
    (row,) = added["methods.md"]
    assert row.startswith("| `HalfwayClassifier` | Least squares, of no use. |")
    assert added["api.rst"] == ["   HalfwayClassifier"]
    (typed,) = added["__init__.py"]
    assert typed.strip().startswith("from primum.methods.halfway import HalfwayClassifier as")


@pytest.mark.parametrize("arguments", [["compare"], ["reproduce", "table2"]])
def test_a_line_brings_the_name_in_commands(new_method, arguments):
    listed = CliRunner().invoke(command, [*arguments, "--list-methods"])
    assert "halfway" in listed.output, listed.output
    name, estimator, uses_unlabeled = primum.cli.compare._find("halfway")
    assert (name, type(estimator), uses_unlabeled) == ("Halfway", new_method, True)
    method = primum_lab.methods.find_method("Halfway")
    assert isinstance(method.estimator, new_method)


@pytest.mark.parametrize("method", registry.METHODS, ids=lambda method: method.name)
def test_methods_are_where_the_registry_says(method):
    kind = getattr(primum, method.name)
    assert kind is method.load()
    assert kind.__module__ == f"primum.methods.{method.module}"


@pytest.mark.parametrize("variant", registry.commands(), ids=lambda variant: variant.name)
def test_commands_have_valid_parameters(variant):
    assert type(variant.estimator()).__name__ == variant.method
    assert key_of(variant.name) in primum_lab.methods.METHODS
