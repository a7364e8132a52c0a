"""What a comparison refuses before it fits anything, in one sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import primum
from generate import two_classes

pytestmark = pytest.mark.usefixtures("quick_drift")


class NeverFitted(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted before the arguments were checked")


OPTIONS = {"methods": [("mine", NeverFitted(), False)], "verbose": False, "curves": False}


def partly():
    X, y, X_u, _ = two_classes(40, 30, 3)
    return np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]


@pytest.mark.parametrize("names", [None, ["a", "b", "c"]])
@pytest.mark.parametrize(("value", "what"), [(np.nan, "missing"), (np.inf, "infinite")])
def test_values_that_are_not_finite(names, value, what):
    X, y = partly()
    X[3, 1] = value
    rows = X if names is None else pd.DataFrame(X, columns=names)
    column = "1" if names is None else "'b'"
    message = rf"row 3, column {column} of X is {what}: pass prepare=make_pipeline\(SimpleImputer"
    with pytest.raises(ValueError, match=message):
        primum.compare(rows, y, **OPTIONS)


def test_missing_values_are_left_to_a_transformer():
    X, y = partly()
    X[3, 1] = np.nan
    options = {**OPTIONS, "methods": [("mine", LogisticRegression(), False)], "n_repeats": 1}
    prepare = make_pipeline(SimpleImputer(), StandardScaler())
    result = primum.compare(X, y, prepare=prepare, **options)
    assert "mine" in result.table.index


@pytest.mark.parametrize("values", ["u", pd.Timestamp("2020-01-01")])
def test_columns_that_are_not_numeric(values):
    X, y = partly()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=values)
    with pytest.raises(ValueError, match=r"Column 'kind' of X is not numeric .*target= instead"):
        primum.compare(table, y, **OPTIONS)


def test_numbers_as_objects_are_numbers():
    X, y = partly()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).astype(object)
    options = {**OPTIONS, "methods": [("mine", LogisticRegression(), False)], "n_repeats": 1}
    assert "mine" in primum.compare(table, y, **options).table.index


def test_text_in_an_array():
    X, y = partly()
    rows = np.column_stack([X, np.full(len(X), "u")]).astype(object)
    with pytest.raises(ValueError, match="Input X has text in column 3"):
        primum.compare(rows, y, **OPTIONS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scoring": "acuracy"}, "'acuracy' is not a scorer of scikit-learn: did you mean 'accura"),
        ({"baseline": "logistik"}, r"baseline='logistik' is not .* \(did you mean 'logistic'\?\)"),
        ({"scoring": "r2"}, "scoring='r2' is for numeric targets"),
        ({"cv": GroupKFold(3)}, r"cv=GroupKFold\(.*keeps groups together: pass the group of each"),
    ],
)
def test_arguments(wrong, message):
    with pytest.raises(ValueError, match=message):
        primum.compare(*partly(), **OPTIONS, **wrong)


def test_names_may_be_spelled_as_on_the_command_line():
    options = {**OPTIONS, "n_repeats": 1, "methods": [("mine", LogisticRegression(), False)]}
    result = primum.compare(*partly(), **options, baseline="hist-gradient-boosting")
    assert [entry.name for entry in result.plan.baselines] == ["hist_gradient_boosting"]
    assert "the baseline (hist_gradient_boosting)" in result.verdict


def test_splits_in_which_a_scoring_is_undefined():
    X, y = partly()
    order = np.concatenate([np.argsort(y[:40], kind="stable"), np.arange(40, 70)])
    message = "'roc_auc' cannot be computed in the 9 rows that split . holds out, none of which"
    options = {**OPTIONS, "baseline": [("one", NeverFitted())]}
    # The training sets have both classes, as the last split but one shows.
    y[order[0]], y[order[39]] = 1, 0
    cv = [(order[:30], order[30:39]), (order[10:40], order[1:10])]
    with pytest.raises(ValueError, match=message):
        primum.compare(X, y, scoring="roc_auc", cv=cv, **options)


@pytest.mark.parametrize("source", ["rows.parquet", Path("rows.parquet")])
def test_rows_in_files_are_refused_before_they_are_read(source):
    X, y = partly()
    message = f"X_unlabeled must be in memory, got {type(source).__name__}: read the rows"
    for given in ({"y": y}, {"target": "class"}):
        with pytest.raises(ValueError, match=message):
            primum.compare(X, X_unlabeled=source, **given)
    with pytest.raises(ValueError, match=r"^X must be in memory, got"):
        primum.compare(source, y)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (
            [20, 18, 2],
            r"Class 2 \(2\) has fewer than 3 .* rows, or pass rare_classes='drop' to count",
        ),
        ([20, 16, 2, 2], r"more rows, or pass rare_classes='group' .*, or rare_classes='drop' to"),
        ([36, 2, 2], r"more rows, or pass rare_classes='group' to predict them as one class \(if"),
        ([38, 1, 1], r"Classes 1 \(1\), 2 \(1\) have fewer than 3 labelled rows, .* more rows\.$"),
        ([38, 2], r"Class 1 \(2\) has fewer than 3 labelled rows, .*: label more rows\.$"),
    ],
)
def test_classes_with_one_or_two_labels_are_named(counts, message):
    X, _ = partly()
    y = np.r_[np.repeat(np.arange(len(counts)), counts), np.full(30, -1)]
    with pytest.raises(ValueError, match=message):
        primum.compare(X, y, **OPTIONS)


def test_two_labels_are_enough_where_nothing_is_tuned():
    X, y = partly()
    y[:40] = np.r_[np.zeros(38), np.ones(2)]
    mine = {"baseline": [("logistic", LogisticRegression())], "n_repeats": 1}
    methods = [("same", LogisticRegression(), False)]
    result = primum.compare(X, y, **{**OPTIONS, **mine, "methods": methods})
    assert result.plan.n_folds == 2


@pytest.mark.parametrize(
    ("baseline", "name"),
    [("ridge", "ridge"), (LogisticRegression(), "LogisticRegression"), (["ridge"], "ridge")],
)
def test_a_single_baseline_is_a_name_or_a_classifier(baseline, name):
    X, y = partly()
    methods = [("plain", LogisticRegression(C=0.1), False)]
    settings = {"n_repeats": 1, "curves": False, "verbose": False}
    result = primum.compare(X, y, methods=methods, baseline=baseline, **settings)
    assert [entry.name for entry in result.plan.baselines] == [name]
    assert [method.name for method in result.methods] == ["baseline", "plain"]
