"""The public API passes the checks of numpydoc, has examples and is in the reference."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

validation = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed")

MODULES = (
    "primum",
    "primum.experiments",
    "primum.experiments.datasets",
    "primum.pages",
    "primum.simulated",
)
OFF = {
    "ES01": "a sentence can say everything",
    "SA01": "not everything has relatives",
}
# Users read their attributes and never construct them.
RESULTS = {"primum.Certificate", "primum.Comparison", "primum.experiments.Harm"}
REFERENCE = (Path(__file__).parent.parent / "docs" / "api.rst").read_text()


def public(module):
    """Return the public classes and functions of a module by name."""
    owner = importlib.import_module(module)
    found = {f"{module}.{name}": getattr(owner, name) for name in owner.__all__}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    }


def methods(name, kind):
    """Return the names of the public methods of a class that this library defines."""
    for member in dir(kind):
        held = inspect.getattr_static(kind, member)
        held = getattr(held, "fget", None) or getattr(held, "__func__", held)
        if (
            not member.startswith("_")
            and inspect.isfunction(held)
            and held.__module__.startswith("primum")
        ):
            yield f"{name}.{member}"


API = {name: thing for module in MODULES for name, thing in public(module).items()}
METHODS = sorted(
    method
    for name, thing in API.items()
    if inspect.isclass(thing)
    for method in methods(name, thing)
)


def problems(name, off):
    found = validation.validate(name)["errors"]
    return [f"{code}: {text}" for code, text in found if code not in off]


@pytest.mark.parametrize("name", sorted(API))
def test_classes_and_functions_pass_numpydoc(name):
    # Results are documented by their attributes: see the next test.
    assert problems(name, {*OFF, "PR01"} if name in RESULTS else OFF) == []
    assert ">>>" in API[name].__doc__  # collected with all other doctests, and run


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_attributes_of_results_are_documented(name):
    sections = API[name].__doc__.partition("Attributes\n")[2]
    documented = re.findall(r"^    (\w+) : ", sections, flags=re.MULTILINE)
    own = [field.name for field in dataclasses.fields(API[name])]
    inner = own if name != "primum.Comparison" else []  # made of its plan and its records
    assert documented
    assert set(inner) <= set(documented)
    assert all(hasattr(API[name], one) or one in own for one in documented)


@pytest.mark.parametrize("name", METHODS)
def test_methods_pass_numpydoc(name):
    assert problems(name, {*OFF, "EX01"}) == []  # the example of the class shows them


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    for name in importlib.import_module(module).__all__:
        assert re.search(rf"^(   (\w+\.)?|\.\. py:data:: ){name}$", REFERENCE, re.MULTILINE), name
