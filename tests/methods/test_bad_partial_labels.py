"""Partial labels that are refused, each with a sentence."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from primum import ICLSClassifier


def frame(columns):
    return pd.DataFrame(np.ones((6, len(columns)), dtype=bool), columns=columns)


def changed(values, row, value):
    values = np.array(values)
    values[row] = value
    return values


ROWS = np.arange(12.0).reshape(6, 2) % 5
THREE, ALL = ["a", "b", "c", None, None, None], np.ones((6, 3), dtype=bool)
BAD_MASKS = {
    "all false": (
        changed(ALL, [3, 5], False),
        "possible excludes every class in row 3 and 1 more: give every row at least one class, and "
        "all of them if nothing is known about its label.",
    ),
    "too few rows": (
        ALL[:5],
        "possible has shape (5, 3) but X has 6 rows: pass one row for every row of X and one "
        "column for every class.",
    ),
    "one axis": (ALL[:, 0], "possible has shape (6,) but X has 6 rows: pass one row"),
    "too few columns": (
        ALL[:, :2],
        "possible has 2 columns but y has 3 classes, 'a', 'b', 'c': pass one column for every "
        "class, in this order, or a DataFrame whose columns are the names of all classes.",
    ),
    "own label": (
        changed(ALL, 1, [True, False, True]),
        "possible excludes class 'b' in row 1, which is its label in y: correct one of the two.",
    ),
    "numbers": (
        changed(ALL.astype(float), 4, [0.5, 1.0, 0.0]),
        "possible has the value 0.5 in row 4, column 0: pass True for the classes that a row may "
        "have and False for the others.",
    ),
    "missing": (frame(list("abc")).astype("boolean").replace({True: pd.NA}), "possible has the"),
    "text": (np.full((6, 3), "x"), "possible has the value 'x' in row 0, column 0: pass True"),
    "None": (
        changed(ALL.astype(object), (4, 1), None),
        "possible has the value None in row 4, column 1: pass True for the classes that a row may "
        "have and False for the others.",
    ),
    "one item of text": (
        changed(ALL.astype(object), (4, 1), "no").tolist(),
        "possible has the value 'no' in row 4, column 1: pass True for",
    ),
    "any object": ([[True, {}, True]] * 6, "possible has the value {} in row 0, column 1: pass"),
    "rows of two lengths": ([[True] * 3] * 5 + [[True]], "possible has shape (6,) but X has"),
    "complex": (
        ALL.astype(complex),
        "possible is not a table of values (Complex data not supported): pass a dense array with "
        "one row for every row of X.",
    ),
    "sparse": (sparse.csr_array(ALL), "possible is not a table of values (Sparse data was passed"),
    "other names": (
        frame(["a", "b", "d"]),
        "The columns of possible are 'a', 'b', 'd', but y has 3 classes, 'a', 'b', 'c': name one "
        "column after every class, or pass an array whose columns are these classes.",
    ),
    "names twice": (frame(["a", "b", "c", "c"]), "The columns of possible are 'a', 'b', 'c', 'c',"),
    "numbers as names": (frame([0, 1, 2]), "The columns of possible are 0, 1, 2, but y has 3"),
    "mixed names": (frame(["a", "b", "c", 1]), "The columns of possible are 'a', 'b', 'c', '1',"),
    "two levels of names": (
        frame(pd.MultiIndex.from_tuples([("a", "x"), ("b", "x"), ("c", "x")])),
        "The columns of possible are ['a', 'x'], ['b', 'x'], ['c', 'x'], but y has",
    ),
    "class without labelled rows": (
        frame(["a", "b", "c", "d"]),
        "No row is labelled as class 'd', a column of possible: label at least one row of each "
        "class, in y or with this class as its only possible one, or drop the column.",
    ),
}


@pytest.mark.parametrize("case", BAD_MASKS)
def test_bad_masks(case):
    possible, sentence = BAD_MASKS[case]
    with pytest.raises(ValueError) as refusal:
        ICLSClassifier().fit(ROWS, THREE, possible=possible)
    assert str(refusal.value).startswith(sentence)
    assert "\n" not in str(refusal.value)


def test_bad_masks_of_a_y_without_classes():
    with pytest.raises(ValueError, match="possible has 3 columns but y has no known label: pass"):
        ICLSClassifier().fit(ROWS, np.full(6, -1), possible=ALL)
    with pytest.raises(ValueError, match="No row is labelled as class 'a', a column of possible"):
        ICLSClassifier().fit(ROWS, np.full(6, -1), possible=frame(["a", "b"]))
    with pytest.raises(ValueError, match="There is only one class among the 6 labelled rows, 'a'"):
        ICLSClassifier().fit(ROWS, [None] * 6, possible=frame(["a"]))
    with pytest.raises(ValueError, match="possible has a column -1, which marks unknown labels"):
        ICLSClassifier().fit(ROWS, [0, 1, -1, -1, -1, -1], possible=frame([-1, 0, 1]))


def test_a_class_whose_masked_rows_have_no_weight():
    possible = frame(["a", "b", "c"])
    possible.loc[3, ["a", "b"]] = False
    labels = ["a", "b", None, None, None, None]
    with pytest.raises(ValueError, match="All labelled rows of class 'c' have sample_weight 0"):
        ICLSClassifier().fit(ROWS, labels, possible=possible, sample_weight=[1, 1, 1, 0, 1, 1])


TWO, FREE = [0, 1, -1, -1, -1, -1], np.full((6, 2), np.nan)
BAD_BOUNDS = {
    "lower above upper": (
        changed(FREE, 3, [0.7, 0.6]),
        "label_bounds has lower > upper in row 3, [0.7, 0.6]: pass the lower one first.",
    ),
    "outside": (
        changed(FREE, 3, [0.7, 1.2]),
        "label_bounds has a bound outside [0, 1] in row 3, [0.7, 1.2]: pass shares of the second",
    ),
    "infinite": (changed(FREE, 2, [-np.inf, 1.0]), "label_bounds has a bound outside [0, 1] in"),
    "half given": (
        changed(FREE, 4, [0.7, np.nan]),
        "label_bounds has only one of two bounds in row 4, [0.7, nan]: pass both, or NaN twice.",
    ),
    "shape": (
        FREE[:, 0],
        "label_bounds has shape (6,) but X has 6 rows: pass a lower and an upper bound for every",
    ),
    "rows": (FREE[:4], "label_bounds has shape (4, 2) but X has 6 rows: pass a lower and an upper"),
    "text": (
        changed(FREE.astype(object), (3, 1), "high").tolist(),
        "label_bounds has the value 'high' in row 3, column 1: pass numbers from 0 to 1, or NaN "
        "twice.",
    ),
    "numbers as text": (
        np.full((6, 2), "0.5"),
        "label_bounds has the value '0.5' in row 0, column 0: pass numbers from 0 to 1, or NaN",
    ),
    "not a table": ("low", "label_bounds has shape () but X has 6 rows: pass a lower and an upper"),
    "own label": (
        changed(FREE, 0, [0.7, 1.0]),
        "label_bounds has [0.7, 1.0] in row 0, which excludes its label 0: pass NaN for labelled "
        "rows, or mark the label as unknown in y.",
    ),
}


@pytest.mark.parametrize("case", BAD_BOUNDS)
def test_bad_bounds(case):
    bounds, sentence = BAD_BOUNDS[case]
    with pytest.raises(ValueError) as refusal:
        ICLSClassifier().fit(ROWS, TWO, label_bounds=bounds)
    assert str(refusal.value).startswith(sentence)


def test_missing_bounds_may_be_marked_in_any_way():
    expected = ICLSClassifier().fit(ROWS, TWO, label_bounds=changed(FREE, 3, [0.7, 0.9])).coef_
    for missing in (None, pd.NA):
        pairs = [[missing, missing]] * 3 + [[0.7, 0.9]] + [[missing, missing]] * 2
        for bounds in (pairs, pd.DataFrame(pairs)):
            clf = ICLSClassifier().fit(ROWS, TWO, label_bounds=bounds)
            np.testing.assert_array_equal(clf.coef_, expected)


def test_bounds_are_for_two_classes():
    sentence = (
        "label_bounds are for two classes, but there are 3 classes, 'a', 'b', 'c': use possible, "
        "which takes the classes that a row may have."
    )
    with pytest.raises(ValueError) as refusal:
        ICLSClassifier().fit(ROWS, THREE, label_bounds=FREE)
    assert str(refusal.value) == sentence


def test_a_failed_fit_leaves_nothing():
    clf = ICLSClassifier().fit(ROWS, TWO)
    with pytest.raises(ValueError, match="lower > upper"):
        clf.fit(ROWS, TWO, label_bounds=changed(FREE, 3, [0.7, 0.6]))
    assert not hasattr(clf, "coef_")
