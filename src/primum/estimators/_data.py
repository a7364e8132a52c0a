"""Checking what a user gives to ``fit`` and sorting it into labelled and unlabelled rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from primum._typing import AnyArray, Floats, Index
from primum.estimators._labels import Labels, read_labels
from primum.problems import LabeledRows
from primum.rows import ArrayRows, Rows, chain

DTYPES = (np.float64, np.float32)


@dataclass(frozen=True)
class TrainingData:
    """Rows sorted by what is known of them; rows of weight zero are left out.

    ``present`` says which of the ``n_unlabeled`` unlabelled rows, in the user's order, have
    weight (None: all): those of X come first, then those of X_unlabeled.
    """

    classes: AnyArray
    labeled: LabeledRows
    unlabeled: Rows
    present: Index | None
    n_unlabeled: int

    def spread(self, q: Floats) -> Floats:
        """Return q for all unlabelled rows; those without weight are undecided."""
        if self.present is None:
            return q
        labels = np.full(self.n_unlabeled, 0.5)
        labels[self.present] = q
        return labels


def read_training_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    sample_weight: Any = None,
) -> TrainingData:
    """Check everything given to ``fit`` and sort the rows."""
    estimator._validate_params()
    X = validate_data(estimator, X, dtype=DTYPES)
    labels = read_labels(y, len(X))
    weight = read_weight(sample_weight, X)
    more = ArrayRows(read_unlabeled(estimator, X_unlabeled, X))
    check_every_class_has_weight(labels, weight)
    known = labels.labeled[_with_weight(labels.labeled, weight)]
    with_weight = _with_weight(labels.unlabeled, weight)
    unknown = labels.unlabeled[with_weight]
    present = None
    if len(unknown) < len(labels.unlabeled):
        present = np.concatenate([with_weight, len(labels.unlabeled) + np.arange(more.n_rows)])
    return TrainingData(
        classes=labels.classes,
        labeled=LabeledRows(
            np.asarray(X[known], dtype=np.float64),
            labels.binary[_with_weight(labels.labeled, weight)],
            None if weight is None else weight[known],
        ),
        unlabeled=chain([ArrayRows(X, unknown, None if weight is None else weight[unknown]), more]),
        present=present,
        n_unlabeled=len(labels.unlabeled) + more.n_rows,
    )


def read_unlabeled(estimator: BaseEstimator, X_unlabeled: Any, X: AnyArray) -> AnyArray:
    """Check further unlabelled rows against the columns of X; None is no rows."""
    if X_unlabeled is None:
        return X[:0]
    check_same_columns(estimator, X_unlabeled)
    rows = check_array(
        X_unlabeled,
        dtype=DTYPES,
        input_name="X_unlabeled",
        estimator=estimator,
        ensure_min_samples=0,
    )
    check_same_columns(estimator, rows)
    return np.asarray(rows)


def check_same_columns(estimator: BaseEstimator, X_unlabeled: Any) -> None:
    """Refuse further rows with other columns than X had."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = getattr(X_unlabeled, "columns", None)
    if names is not None and columns is not None and list(columns) != list(names):
        raise ValueError(
            f"X_unlabeled has columns {_brief(columns)} but X has {_brief(names)}: give both "
            "the same columns in the same order, for example X_unlabeled[X.columns]."
        )
    shape: tuple[int, ...] = getattr(X_unlabeled, "shape", ())
    if len(shape) == 2 and shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X_unlabeled has {shape[1]} features but X has {estimator.n_features_in_}: give both "
            "the same columns in the same order."
        )


def _brief(names: Any) -> str:
    names = [str(name) for name in names]
    return "[" + ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") + "]"


def read_weight(sample_weight: Any, X: AnyArray) -> Floats | None:
    """Check sample_weight; None stays None."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weight)


def check_every_class_has_weight(labels: Labels, weight: Floats | None) -> None:
    """Refuse weights that leave a class without rows."""
    present = labels.codes[_with_weight(labels.labeled, weight)]
    for code, name in enumerate(labels.classes.tolist()):
        if code not in present:
            raise ValueError(
                f"All labelled rows of class {name!r} have sample_weight 0: give at least one "
                "row of each class a weight above 0."
            )


def _with_weight(index: Index, weight: Floats | None) -> Index:
    """Return the positions in index whose rows have a weight above zero."""
    return np.arange(len(index)) if weight is None else np.flatnonzero(weight[index] > 0)
