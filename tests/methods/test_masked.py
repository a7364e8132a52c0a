"""Masked arrays: a mask marks unknown labels in y, and is refused everywhere else."""

import numpy as np
import pytest

from generate import two_classes
from primum import (
    ICLSClassifier,
    ICLSRegressor,
    KernelICLSClassifier,
    LDAClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
)
from primum.reading.labels import read_labels

X, Y, X_U, _ = two_classes(20, 30, 3, seed=0)
ROWS = np.vstack([X, X_U])
MASK = np.arange(50) >= 20
TRUTH = np.r_[Y, np.zeros(30, dtype=int)]


@pytest.mark.parametrize(
    "values",
    [TRUTH, TRUTH.astype(float), TRUTH.astype(bool), np.array(["no", "yes"])[TRUTH]],
    ids=["int", "float", "bool", "text"],
)
@pytest.mark.parametrize("shape", [(50,), (50, 1)], ids=str)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_masked_labels_are_unknown(values, shape):
    y = np.ma.masked_array(values, mask=MASK).reshape(shape)
    labels = read_labels(y, 50)
    np.testing.assert_array_equal(labels.labeled, np.arange(20))
    np.testing.assert_array_equal(labels.unlabeled, np.arange(20, 50))
    np.testing.assert_array_equal(labels.classes, np.unique(values))
    np.testing.assert_array_equal(labels.codes, Y)


@pytest.mark.parametrize(
    "clf",
    [
        ICLSClassifier(),
        KernelICLSClassifier(),
        SelfLearningClassifier(),
        TSVMClassifier(),
        LDAClassifier(),
    ],
    ids=str,
)
def test_a_fit_is_that_of_labels_marked_otherwise(clf):
    masked = np.ma.masked_array(TRUTH, mask=MASK)
    expected = clf.fit(ROWS, np.where(MASK, -1, TRUTH)).decision_function(ROWS)
    np.testing.assert_array_equal(clf.fit(ROWS, masked).decision_function(ROWS), expected)
    assert clf.score(ROWS, masked) == clf.score(X, Y)


def test_masked_targets_are_unknown():
    target = np.ma.masked_array(ROWS[:, 0], mask=MASK)
    reg = ICLSRegressor(bounds=(-9, 9)).fit(ROWS, target)
    assert reg.certificate_.n_unlabeled == 30
    assert reg.score(ROWS, target) == pytest.approx(reg.score(X, X[:, 0]))


def test_a_mask_of_nothing_is_none():
    y = np.ma.masked_array(np.where(MASK, -1, TRUTH), mask=False)
    np.testing.assert_array_equal(read_labels(y, 50).unlabeled, np.arange(20, 50))
    rows, weight = (np.ma.masked_array(part, mask=False) for part in (ROWS, np.ones(50)))
    clf = ICLSClassifier().fit(rows, y, sample_weight=weight)
    np.testing.assert_array_equal(clf.predict(rows), clf.predict(ROWS))


def test_a_list_can_contain_the_masked_constant():
    y = list(np.ma.masked_array(TRUTH, mask=MASK))
    np.testing.assert_array_equal(read_labels(y, 50).unlabeled, np.arange(20, 50))


def test_two_markers_are_refused():
    y = np.ma.masked_array(np.where(np.arange(50) == 3, -1, TRUTH), mask=MASK)
    with pytest.raises(ValueError, match="two markers of unknown labels, -1 and None, NaN or a"):
        ICLSClassifier().fit(ROWS, y)


class TestElsewhere:
    """What is below a mask is no value."""

    hidden = np.ma.masked_array(ROWS, mask=False)
    hidden[7, 2] = np.ma.masked
    message = "has 1 masked entries, first in row 7, column 2: a mask marks unknown labels"

    @pytest.mark.parametrize(
        "clf", [ICLSClassifier(), KernelICLSClassifier(), LDAClassifier()], ids=str
    )
    def test_rows(self, clf):
        with pytest.raises(ValueError, match=f"^X {self.message}"):
            clf.fit(self.hidden, np.where(MASK, -1, TRUTH))
        clf.fit(X, Y)
        with pytest.raises(ValueError, match=f"^X_unlabeled {self.message}"):
            ICLSClassifier().fit(X, Y, self.hidden)
        with pytest.raises(ValueError, match=f"^X {self.message}"):
            clf.predict(self.hidden)

    def test_weights(self):
        weight = np.ma.masked_array(np.ones(20), mask=np.arange(20) == 4)
        clf = ICLSClassifier().fit(X, Y)
        message = "^sample_weight has 1 masked entries, first in row 4: "
        with pytest.raises(ValueError, match=message):
            ICLSClassifier().fit(X, Y, sample_weight=weight)
        with pytest.raises(ValueError, match=message):
            clf.score(X, Y, sample_weight=weight)

    def test_bounds_and_possible_classes(self):
        pairs = np.ma.masked_array(np.tile([0.0, 1.0], (50, 1)), mask=False)
        pairs[1, 0] = np.ma.masked
        y = np.where(MASK, -1, TRUTH)
        for name in ("label_bounds", "possible"):
            with pytest.raises(ValueError, match=f"^{name} has 1 masked entries, first in row 1, "):
                ICLSClassifier().fit(ROWS, y, **{name: pairs})
        with pytest.raises(ValueError, match=r"^target_bounds has 1 masked entries"):
            ICLSRegressor().fit(ROWS, np.where(MASK, np.nan, TRUTH), target_bounds=pairs)
