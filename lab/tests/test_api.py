"""The public names of the laboratory: one word for one thing, documented, found by one import."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

from documented import (
    OFF,
    documented_names,
    functions,
    methods_of,
    modules_found_after_one_import,
    problems,
    public,
)
from primum_lab.cli.reproduce import reproduce

REFERENCE = (Path(__file__).parents[2] / "docs" / "laboratory.rst").read_text()
MODULES = ("primum_lab", "primum_lab.datasets")
API = {name: thing for module in MODULES for name, thing in public(module).items()}
# Users read its attributes and never construct it.
RESULT = "primum_lab.Harm"

# Parameters of functions and methods, where those of the library do not say the same; plans are
# stored with the names "repeats" and "seed".
ARGUMENTS = {
    *("data", "design", "experiment", "repeats", "seed", "twin", "sees", "score", "loss", "every"),
    *("parts", "n_folds", "scaling", "sizes", "test_share", "d", "names", "data_home"),
    *("download", "share", "results", "summary", "curve", "measure", "measures", "classifiers"),
    *("log_scale", "largest", "n_labeled", "rng"),
}
OF_THE_LIBRARY = {"clf", "scores", "name", "methods", "folder", "resume", "verbose", "n_jobs"}
OF_THE_LIBRARY |= {"self", "X", "y", "labels", "method", "estimator"}
CALLED = {"Experiment", "Method", "CrossValidation", "HoldOut", "LearningCurve"}


def test_arguments_have_agreed_names():
    named = functions(REFERENCE, CALLED)
    used = {name for function in named for name in inspect.signature(function).parameters}
    assert used - OF_THE_LIBRARY == ARGUMENTS


def test_options_have_agreed_names():
    used = {parameter.name for parameter in reproduce.params}
    options = {"target", "datasets", "further", "list_methods", "out"}
    assert used - OF_THE_LIBRARY - ARGUMENTS == options


def test_everything_in_the_reference_works_after_one_import():
    names = list(documented_names(REFERENCE))
    assert len(names) > 30
    assert {"primum_lab.run_experiment", "primum_lab.datasets.load"} <= set(names)
    assert modules_found_after_one_import("primum_lab", names) > 8


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    listed = {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    assert listed <= set(documented_names(REFERENCE))


@pytest.mark.parametrize("name", sorted(API))
def test_classes_and_functions_pass_numpydoc(name):
    # A result is documented by its attributes: see the next test.
    assert problems(name, {*OFF, "PR01"} if name == RESULT else OFF) == []
    assert ">>>" in API[name].__doc__  # collected with all other doctests, and run


def test_attributes_of_the_result_are_documented():
    sections = API[RESULT].__doc__.partition("Attributes\n")[2]
    documented = re.findall(r"^    (\w+) : ", sections, flags=re.MULTILINE)
    own = [field.name for field in dataclasses.fields(API[RESULT])]
    assert set(own) <= set(documented)
    assert all(hasattr(API[RESULT], one) or one in own for one in documented)


@pytest.mark.parametrize("name", methods_of(API))
def test_methods_pass_numpydoc(name):
    assert problems(name, {*OFF, "EX01"}) == []  # the example of the class shows them
