"""The public API passes the checks of numpydoc, has examples and is in the reference."""

import dataclasses
import importlib
import re
from pathlib import Path

import pytest

from documented import OFF, methods_of, problems, public

MODULES = ("primum", "primum.pages", "primum.simulated")
# Users read their attributes and never construct them.
RESULTS = {"primum.Certificate", "primum.Comparison"}
REFERENCE = (Path(__file__).parent.parent / "docs" / "api.rst").read_text()


API = {name: thing for module in MODULES for name, thing in public(module).items()}
METHODS = methods_of(API)


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
