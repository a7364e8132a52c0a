"""The public names: found after ``import primum`` alone, and one word for one thing."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import primum

API = (Path(__file__).parents[2] / "docs" / "api.rst").read_text()

# All names of parameters. A new one is added only if none of these says the same.
PARAMETERS = {
    # penalties and weights
    *("alpha", "alphas", "alpha_labeled", "unlabeled_weight", "costs", "shrinkage"),
    # what is known about the labels
    *("prior", "prior_level", "bounds", "labels"),
    # the model
    *("fit_intercept", "penalize_intercept", "covariance", "metric", "metrics", "ramp", "risk"),
    "standardize",
    # kernels and graphs
    *("kernel", "gamma", "degree", "coef0", "kernel_params"),
    *("graph_alpha", "graph_neighbors", "graph_normalized", "graph_power", "graph_ratio"),
    "graph_weights",
    # the search for it
    *(
        "method",
        "solver",
        "tol",
        "max_iter",
        "max_search_rows",
        "max_switches",
        "n_init",
        "n_separators",
        "warm_start",
    ),
    # other models, and the comparison with them
    *("estimator", "candidates", "baseline", "level"),
    *("cv", "n_repeats", "scoring", "shuffle", "uses_unlabeled"),
    # what errors cost, and which class a scoring is about; "costs" scales the terms of an SVM
    *("cost", "positive"),
    # computing
    *("random_state", "n_jobs", "time_budget", "verbose"),
}
FIT = {"self", "X", "y", "X_unlabeled", "sample_weight", "groups", "chosen"}
FIT |= {"possible", "label_bounds", "target_bounds"}


def estimators():
    found = (getattr(primum, name) for name in primum.__all__)
    return [kind for kind in found if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]


@pytest.mark.parametrize("estimator", estimators())
def test_parameters_have_agreed_names(estimator):
    assert set(inspect.signature(estimator).parameters) - PARAMETERS == set()
    assert set(inspect.signature(estimator.fit).parameters) - FIT == set()


def test_every_agreed_name_is_used():
    used = {name for estimator in estimators() for name in inspect.signature(estimator).parameters}
    assert PARAMETERS - used == set()


def documented_names():
    """Yield the full names of everything in the reference."""
    module = ""
    for line in API.splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"(?:   |\.\. py:data:: )(\w+)$", line):
            yield f"{module}.{found[1]}"


FRESH = """
import sys, primum

kept = dict(vars(primum))
# Names of one package that one module defines are found by the same imports.
homes = {(name.rpartition(".")[0], getattr(eval(name), "__module__", name)): name for name in NAMES}
for name in homes.values():
    for loaded in [loaded for loaded in sys.modules if loaded.startswith("primum.")]:
        del sys.modules[loaded]
    for attribute in set(vars(primum)) - set(kept):
        delattr(primum, attribute)
    eval(name)
print(len(homes))
"""


def test_everything_in_the_reference_works_after_one_import():
    """Every name is used after others, and one of each module is the first that is used."""
    names = list(documented_names())
    assert len(names) > 80
    assert {"primum.pages.plot_path", "primum.experiments.datasets.load"} <= set(names)
    code = FRESH.replace("NAMES", repr(names))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def test_the_reference_has_all_public_names():
    assert set(primum.__all__) <= {name.rpartition(".")[2] for name in documented_names()}
