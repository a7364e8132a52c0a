"""Every classifier refuses prices in one sentence, and takes numbers that are classes."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import LeaveOneOut, cross_val_score

import primum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 3))
PRICES = np.round(RNG.lognormal(12, 0.4, 70), -2)


def classifiers():
    """Return all public classifiers that need no arguments."""
    for name in primum.__all__:
        kind = getattr(primum, name)
        if isinstance(kind, type) and name.endswith(("Classifier", "ClassifierCV")):
            yield kind


@pytest.mark.parametrize("kind", list(classifiers()), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("write", [float, int, lambda price: price + 0.5])
def test_prices_are_refused(kind, write):
    y = [write(price) for price in PRICES]
    sentence = r"Unknown label type: continuous\. y is a numeric target \(69 .*y\.astype\(str\)"
    with pytest.raises(ValueError, match=sentence):
        kind().fit(X, y)


def test_all_classifiers_are_tested():
    found = list(classifiers())
    assert primum.SafeClassifier in found
    assert primum.ICLSClassifierCV in found
    assert all(is_classifier(kind()) for kind in found)


def test_text_is_a_way_round():
    y = PRICES.astype(int).astype(str)
    assert len(primum.LeastSquaresClassifier(alpha=0.1).fit(X, y).classes_) == 69


def test_few_rows_to_score_may_have_different_codes():
    """Whether codes are classes is a question to the rows that are learnt from."""
    codes = RNG.integers(10_000, 99_999, 30)
    y, rows = np.repeat(codes, 3), np.repeat(RNG.normal(size=(30, 40)), 3, axis=0)
    clf = primum.LeastSquaresClassifier(alpha=0.01).fit(rows, y)
    assert clf.score(rows[::3], y[::3]) == 1.0


def test_one_label_per_class_is_enough():
    y = np.arange(35)
    assert len(primum.LeastSquaresClassifier(alpha=0.1).fit(X[:35], y).classes_) == 35


def test_folds_of_codes_are_scored():
    y = np.arange(70) % 10
    scores = cross_val_score(primum.LeastSquaresClassifier(alpha=0.1), X, y, cv=LeaveOneOut())
    assert len(scores) == 70
