"""SafeClassifier: input that is bad, degenerate or misleading."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, ShuffleSplit

from generate import several_classes, two_classes
from primum import SafeClassifier


def partly(n_labeled=24, n_unlabeled=40, d=3, n_classes=2):
    """Return X and y with -1 for unknown labels."""
    make = (two_classes, {}) if n_classes == 2 else (several_classes, {"n_classes": n_classes})
    X, y, more, _ = make[0](n_labeled, n_unlabeled, d, seed=0, **make[1])
    return np.concatenate([X, more]), np.append(y, np.full(n_unlabeled, -1))


def quick(candidates=("spreading",), **parameters):
    parameters = {"baselines": ["ridge"], "cv": 3, "n_repeats": 1, "random_state": 0, **parameters}
    return SafeClassifier(list(candidates), **parameters)


class NeverFitted(ClassifierMixin, BaseEstimator):
    """Fails the test if it is fitted."""

    def fit(self, X, y):
        pytest.fail("a candidate was fitted")

    def predict(self, X): ...

    def predict_proba(self, X): ...


@pytest.mark.parametrize(
    ("n_classes", "parameters", "message"),
    [
        (2, {"scoring": "roc_auc", "cv": LeaveOneOut()}, "'roc_auc' cannot be computed in the 1 r"),
        (2, {"scoring": "roc_auc", "cv": ShuffleSplit(1)}, "'roc_auc' .* needs at least two, but"),
        (2, {"scoring": lambda model, X, y: np.nan}, "given score cannot be computed.*it is nan"),
        (2, {"scoring": lambda model, X, y: 1 / 0}, "split 0.*ZeroDivisionError: division by"),
        (3, {"scoring": "roc_auc"}, "'roc_auc' cannot be computed.*multi_class must be in"),
    ],
)
def test_a_score_that_cannot_be_computed_is_refused_before_anything_is_fitted(
    n_classes, parameters, message
):
    X, y = partly(n_classes=n_classes)
    with pytest.raises(ValueError, match=message):
        quick([("never", NeverFitted(), False)], **parameters).fit(X, y)


class BadScores(LogisticRegression):
    """Returns what ``kind`` says instead of probabilities."""

    def __init__(self, kind="nan"):
        super().__init__()
        self.kind = kind

    def predict_proba(self, X):
        found = super().predict_proba(X)
        return {"nan": found * np.nan, "sum": 100 * found, "wide": found[:, [0, 1, 1]] / 2}.get(
            self.kind, 3 * found - 1
        )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nan", "not finite for 8 rows"),
        ("sum", r"do not add up to 1 \(by 99\)"),
        ("negative", "not probabilities: some are below 0"),
        ("wide", r"scores of the shape \(8, 3\) for 2 classes"),
    ],
)
def test_scores_that_are_not_probabilities_are_a_failure(kind, message):
    X, y = partly()
    with pytest.warns(FitFailedWarning, match=message):
        clf = quick([("mine", BadScores(kind), False)]).fit(X, y)
    assert list(clf.weights_) == ["ridge"]


def test_a_class_instead_of_an_instance_is_refused():
    X, y = partly()
    with pytest.raises(ValueError, match=r"'mine' is the class LogisticRegression: pass an inst"):
        quick([("mine", LogisticRegression, False)]).fit(X, y)
