"""Whether what is given to a comparison, and what it fitted, can be compared."""

from typing import Any

import numpy as np

from primum._words import listed
from primum.estimators._checks import locate_non_finite
from primum.estimators._labels import KnownLabels

# Labelled rows of a class: one is held out, and two are split again where something is tuned.
LEAST_TO_TUNE, LEAST = 3, 2


def check_class_sizes(labels: KnownLabels, *classifiers: Any) -> None:
    """Raise an error if classes have too few labelled rows to be compared on.

    ``classifiers`` are the baselines and the methods; the default ones, which are names, are tuned.
    """
    default = [
        isinstance(given, str) or any(isinstance(entry, str) for entry in given)
        for given in classifiers
    ]
    needed = LEAST_TO_TUNE if any(default) else LEAST
    counts = np.bincount(labels.codes, minlength=len(labels.classes)).tolist()
    rare = [
        f"{name!r} ({count})"
        for name, count in zip(labels.classes.tolist(), counts, strict=True)
        if count < needed
    ]
    if rare:
        few = f"Class {rare[0]} has" if len(rare) == 1 else f"Classes {listed(rare)} have"
        # Of two classes, none can be done without.
        other = ", or empty these labels, so that their rows count as unlabelled"
        if labels.classes.dtype.kind in "iu" and len(rare) > len(counts) / 2:
            other += " (if they are measurements: numeric targets are not supported yet)"
        raise ValueError(
            f"{few} fewer than {needed} labelled rows, which a comparison needs of every class to "
            "hold some out and learn from the others: label more rows"
            f"{other if len(counts) - len(rare) > 1 else ''}."
        )


def check_rows(X: Any, prepare: Any, baselines: Any) -> None:
    """Raise an error if rows have text or missing values that nothing turns into numbers.

    A transformer of the user is expected to do so, and so are baselines of the user: some
    classifiers accept missing values.
    """
    own = prepare is not None and not isinstance(prepare, str)
    if own or not isinstance(baselines, str):
        return
    _refuse_text(X)
    place = locate_non_finite(X)
    if place is not None:
        row, column, value = place
        what = "is missing" if np.isnan(value) else "is infinite"
        raise ValueError(
            f"The value in row {row}, column {column} of X {what}: pass "
            "prepare=make_pipeline(SimpleImputer(), StandardScaler()), which fills such values in "
            "within every training set, or leave out the row."
        )


def _refuse_text(X: Any) -> None:
    """Raise an error for the first column of a DataFrame that is not numeric."""
    if not hasattr(X, "iloc"):
        return
    from pandas.api.types import is_numeric_dtype

    for number, column in enumerate(X.columns):
        values = X.iloc[:, number]
        if not is_numeric_dtype(values) and not _converts(values):
            raise ValueError(
                f"Column {column!r} of X is not numeric (its first value is {values.iloc[0]!r}): "
                "pass a transformer that encodes it as prepare=, for example a ColumnTransformer "
                "with a OneHotEncoder, or pass the whole table with target= instead of y, and its "
                "columns are prepared automatically."
            )


def _converts(values: Any) -> bool:
    """Return whether a column of objects consists of numbers."""
    if values.dtype != object:
        return False
    try:
        values.astype(float)
    except (TypeError, ValueError):
        return False
    return True


def refuse_failed_baselines(result: Any) -> None:
    """Raise an error if no splits are left in which all baselines were fitted.

    A variance over splits needs two of them, unless the comparison has only one.
    """
    if len(result.splits) >= min(2, result.plan.n_folds):
        return
    names = {entry.name for entry in result.plan.baselines}
    failed = [failure["text"] for failure in result.failures if failure["name"] in names]
    raise ValueError(f"The baseline {failed[0].rstrip('.')}: there is nothing to compare with.")
