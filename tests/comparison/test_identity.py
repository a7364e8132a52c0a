"""Data, methods and functions are known by what they are, not by what they are called."""

import functools
import importlib
import sys
import types

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import zero_one_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from primum.comparison.store import checksum, identity_of, identity_of_data, name_differences


def identity(value):
    return checksum({"value": identity_of(value, "it")})


def scaled(factor):
    def loss(scores, y):
        return factor * zero_one_loss(scores, y)

    return loss


def first(scores, y, factor=1.0):
    return factor


class Constant:
    """Callable, with a value."""

    def __init__(self, value):
        self.value = value

    def __call__(self, scores, y):
        return self.value


# Pairs that differ in one thing each.
PAIRS = {
    "parameter": (LogisticRegression(), LogisticRegression(C=2.0)),
    "type of a number": (LogisticRegression(C=1.0), LogisticRegression(C=1)),
    "nested": (
        make_pipeline(RBFSampler(random_state=0), LogisticRegression()),
        make_pipeline(RBFSampler(random_state=1), LogisticRegression()),
    ),
    "object": (StratifiedKFold(3), StratifiedKFold(4)),
    "random state": (np.random.RandomState(0), np.random.RandomState(1)),
    "array": (np.arange(3), np.arange(3.0)),
    "long array": (np.zeros(200), np.r_[np.zeros(199), 1e-9]),
    "lambdas on one line": (lambda s, y: 1.0, lambda s, y: 2.0),
    "captured": (scaled(1.0), scaled(2.0)),
    "partial": (functools.partial(first, factor=1.0), functools.partial(first, factor=2.0)),
    "callable": (Constant(1.0), Constant(2.0)),
    "not a number": (np.nan, np.inf),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_differs_is_told_apart(pair):
    one, other = pair
    assert identity(one) == identity(one)
    assert identity(one) != identity(other)


def test_equal_content_is_equal():
    assert identity(scaled(2.0)) == identity(scaled(2.0))
    assert identity(np.int64(3)) == identity(3)
    assert identity(np.float64(0.1)) == identity(0.1)
    assert identity(LogisticRegression(C=np.float64(2))) == identity(LogisticRegression(C=2.0))
    assert identity(np.random.RandomState(0)) == identity(np.random.RandomState(0))


def test_installed_functions_go_by_their_name():
    name = "primum.comparison.store.identity_of"
    assert identity_of(identity_of, "it") == {"function": name}


def test_a_package_that_was_renamed_keeps_its_name_in_results(monkeypatch):
    """Its functions and classes go by their name, like those of any installed package."""
    package, inner = types.ModuleType("renamed"), types.ModuleType("renamed.losses")
    package.__former_name__ = "primum.former"
    monkeypatch.setitem(sys.modules, "renamed", package)
    exec("class Own: pass\ndef loss(scores, y): return 0.0\n", vars(inner))
    assert identity_of(inner.loss, "it") == {"function": "primum.former.losses.loss"}
    assert identity_of(inner.Own, "it") == {"class": "primum.former.losses.Own"}
    del package.__former_name__
    with pytest.raises(ValueError, match="not in a file"):  # it is no installed package
        identity_of(inner.Own, "it")


def test_what_cannot_be_identified_is_refused():
    with pytest.raises(ValueError, match=r"loss is <generator .* cannot be identified .* pickle"):
        identity_of((i for i in range(3)), "Method 'x': its loss")


OWN = """
class Own:
    def __init__(self, a=1): self.a = a
    def get_params(self, deep=True): return {"a": self.a}
    def fit(self, X, y): return X in {"p", "q", "r"} or CHANGE
"""


def test_own_code_goes_by_its_source(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for name, change in (("one", "1"), ("two", "1"), ("three", "2")):
        (tmp_path / f"{name}_of_mine.py").write_text(OWN.replace("CHANGE", change))
        own = importlib.import_module(f"{name}_of_mine").Own()
        found.append(identity_of(own, "it")["class"].partition(", source ")[2])
    assert found[0] == found[1] != found[2]


def test_own_code_without_a_source_is_refused():
    typed = {"__name__": "typed"}
    exec(OWN.replace("CHANGE", "1") + "constant = lambda s: s", typed)
    for value in (typed["Own"](), typed["Own"], typed["constant"]):
        with pytest.raises(ValueError, match=r"^Method 'x' is .* not in a file.*define it in a"):
            identity_of(value, "Method 'x'")


def test_data():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    known = identity_of_data(X, y)
    assert known.startswith("6 x 2, sha256 ")
    assert identity_of_data(np.asfortranarray(X), y) == known
    assert identity_of_data(X.copy(), y.astype(bool)) == known
    assert identity_of_data(X + 1e-9, y) != known
    assert identity_of_data(X, 1 - y) != known
    assert identity_of_data(X.astype(np.float32), y) != known


def test_differences_are_named():
    before = {"seed": 0, "methods": {"a": {"every": 1}, "b": {}}, "same": [1]}
    now = {"seed": 1, "methods": {"a": {"every": 2}}, "same": [1]}
    assert name_differences(before, now) == (
        "seed was 0, now 1; methods.a.every was 1, now 2; methods.b was {}, now absent"
    )
    assert name_differences(before, before) == ""
    many = {str(k): k for k in range(9)}
    assert name_differences({}, many).endswith("2 was absent, now 2; and 6 more")


def test_a_changed_step_of_a_pipeline_is_named():
    before, now = (
        identity_of(make_pipeline(RBFSampler(), LogisticRegression(C=c)), "it") for c in (1.0, 2.0)
    )
    assert name_differences(before, now) == "steps.logisticregression.C was 1.0, now 2.0"
    before, now = (identity_of({"alphas": alphas}, "it") for alphas in ([1, 2], [1, 3]))
    assert name_differences(before, now) == "alphas was [1, 2], now [1, 3]"
