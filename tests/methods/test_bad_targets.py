"""What a regressor cannot use is refused with one sentence that says what to do."""

import numpy as np
import pandas as pd
import pytest

from primum import ICLSRegressor, LeastSquaresRegressor

X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
Y = np.array([0.0, 1.0, 2.0, np.nan, np.nan])


def refused(match, *, bounds=(0, 10), y=Y, rows=X, **arguments):
    reg = ICLSRegressor(bounds=bounds)
    with pytest.raises(ValueError, match=match):
        reg.fit(rows, y, **arguments)
    assert not hasattr(reg, "coef_")


def pairs(**rows):
    bounds = np.full((5, 2), np.nan)
    for row, pair in rows.items():
        bounds[int(row[1:])] = pair
    return bounds


@pytest.mark.parametrize(
    "bounds", [(5, 3), (3, 3), (0, np.inf), (np.nan, 1), (1, 2, 3), ("low", "high"), (None, 5)]
)
def test_bounds_that_are_no_range(bounds):
    refused(
        r"bounds=\(.*\) is not a range: pass two finite numbers, the lower one first", bounds=bounds
    )


def test_bounds_of_another_type():
    with pytest.raises(ValueError, match="The 'bounds' parameter of ICLSRegressor must be"):
        ICLSRegressor(bounds=3.0).fit(X, Y)


def test_missing_bounds():
    match = (
        r"2 unlabelled rows have no bounds: pass bounds=\(low, high\), a range that is certain to "
        r"contain their targets, .* The known targets are between 0 and 2, but unknown ones may not"
    )
    refused(match, bounds=None)
    for own in (pairs(r3=(1, 2)), pairs(r3=(1, 2), r4=(1, np.nan))):
        refused("1 unlabelled rows have no bounds", bounds=None, target_bounds=own)
    own = pairs(r3=(1, 2), r4=(1, 2))
    refused("5 unlabelled rows have no bounds", bounds=None, target_bounds=own, X_unlabeled=X)
    assert ICLSRegressor().fit(X, Y, target_bounds=own).targets_.shape == (2,)


def test_known_targets_outside_their_bounds():
    refused(
        r"The target of row 2 is 2, which is outside its bounds \(0, 1.5\): correct it, or widen "
        "bounds, which must contain all targets",
        bounds=(0, 1.5),
    )
    refused(
        r"The target of row 1 is 1, which is outside its bounds \(4, 5\): correct it, or widen "
        "target_bounds or bounds",
        target_bounds=pairs(r1=(4, 5)),
    )
    ICLSRegressor(bounds=(0, 1.5)).fit(X, Y, target_bounds=pairs(r2=(0, 3)))


def test_the_marker_of_classifiers_for_unknown_labels():
    """It is a target like any other number, if it is within the bounds."""
    marked = np.nan_to_num(Y, nan=-1.0)
    refused(
        r"The target of row 3 is -1, which is outside its bounds \(0, 10\): correct it, or widen "
        r"bounds, .* known or not\. Unknown targets are NaN, None or pd\.NA, not -1\.$",
        y=marked,
    )
    assert ICLSRegressor(bounds=(-1, 10)).fit(X, marked).certificate_.n_unlabeled == 0


def test_bounds_of_a_row_in_the_wrong_order():
    refused(
        r"The bounds of row 3 are \(7, 5\), but the lower one must come first: swap them",
        target_bounds=pairs(r3=(7, 5)),
    )
    refused(r"The bounds of row 4 are \(12, 10\)", target_bounds=pairs(r4=(12, np.nan)))


def test_a_censored_target_without_an_end():
    refused(
        r"target_bounds is \(7, inf\) in row 3, but both bounds must be finite: for a censored "
        "target, pass NaN for the open end, which then takes that of bounds",
        target_bounds=pairs(r3=(7, np.inf)),
    )


@pytest.mark.parametrize(
    ("target_bounds", "match"),
    [
        (np.zeros((4, 2)), r"target_bounds has shape \(4, 2\), but X has 5 rows: pass one pair"),
        ((0, 10), r"target_bounds has shape \(2,\), but X has 5 rows"),
        ([["low", "high"]] * 5, "target_bounds has values that are not numbers"),
        (
            pd.DataFrame({"low": list("abcde"), "high": 1.0}),
            "has values that are not",
        ),
    ],
)
def test_bounds_of_rows_in_the_wrong_form(target_bounds, match):
    refused(match, target_bounds=target_bounds)


@pytest.mark.parametrize("kind", [ICLSRegressor, LeastSquaresRegressor])
@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.full(5, np.nan), "No row is labelled: all 5 targets in y are unknown"),
        ([None] * 5, "No row is labelled: all 5 targets in y are unknown"),
        (["a", "b", "c", "d", "e"], "y contains 'a' in row 0, which is not a number: convert all"),
        (np.array(["1", "2", "3", "4", "5"]), "y contains '1' in row 0, which is not a number"),
        ([0.0, 1.0, None, "cheap", 2.0], "y contains 'cheap' in row 3, which is not a number"),
        ([0.0, 1.0, None, "2.5", 2.0], "y contains '2.5' in row 3, which is not a number"),
        (np.arange(5) * 1j, "y contains .* in row 0, which is not a number"),
        (pd.date_range("2020-01-01", periods=5).to_numpy(), "y contains .* in row 0, which is not"),
        (
            np.array([0, 1, np.inf, 3, 4]),
            "Input y contains infinity .* use NaN for an unk",
        ),
        (np.array([0, 1, 1e200, 3, 4]), "y contains 1.0e.200, whose square overflows: use other"),
        (np.zeros(3), "X has 5 rows but y has 3 targets: pass one target for every row of X"),
        (None, "requires y to be passed, but the target y is None; pass one target for every row"),
    ],
)
def test_targets_that_cannot_be_learnt_from(kind, y, match):
    with pytest.raises(ValueError, match=match):
        kind().fit(X, y)


def test_rows_that_are_not_numbers():
    bad = np.array([[1.0], [np.nan]])
    refused("Input X_unlabeled contains NaN in row 1, column 0", X_unlabeled=bad)
    refused("Input X contains NaN in row 1, column 0", rows=np.where(X == 1, np.nan, X))


def test_no_weight_on_labelled_rows():
    refused(
        "All labelled rows have sample_weight 0: give at least one of them a weight above 0",
        sample_weight=[0, 0, 0, 1, 1],
    )
    with pytest.raises(ValueError, match="All labelled rows have sample_weight 0"):
        LeastSquaresRegressor().fit(X, Y, sample_weight=[0, 0, 0, 1, 1])
