"""A user's own classifier as a candidate.

It is fitted to class codes 0, 1, ..., with -1 for unknown labels if it uses unlabelled rows, and
its scores are read as ``entries.class_scores`` does. Every random_state that was left open is set.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from primum._typing import AnyArray, Floats, Index
from primum.selection.candidates.base import (
    Candidate,
    Labels,
    PreparedRows,
    SharedRows,
    partly_labelled,
)
from primum.selection.candidates.models import Model
from primum.selection.entries import class_scores


@dataclass(frozen=True)
class WrappedModel(Model):
    """A fitted classifier."""

    classifier: Any
    n_classes: int
    columns: AnyArray | None

    def predict(self, X: Any) -> Floats:  # noqa: D102
        return class_scores(self.classifier, as_table(X, self.columns), self.n_classes)


def as_table(X: Any, columns: AnyArray | None) -> Any:
    """Return rows as a DataFrame, if their columns have names."""
    if columns is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=columns)


@dataclass(frozen=True)
class PreparedWrapped(PreparedRows):
    """A classifier with its random states set, and the rows."""

    estimator: Any
    uses_unlabeled: bool
    weighted: bool
    note: str = ""

    def fit(self, train: Index, labels: Labels) -> WrappedModel:  # noqa: D102
        own = labels.take(train)
        X, y, weight = self.rows.labeled[train], own.codes, own.weight
        if self.uses_unlabeled:
            X, y, weight = partly_labelled(self.rows, train, labels)
        classifier = clone(self.estimator)
        table = as_table(X, self.rows.columns)
        if self.weighted and weight is not None:
            classifier.fit(table, y, sample_weight=weight)
        else:
            classifier.fit(table, y)
        _refuse_marker(classifier)
        return WrappedModel(classifier, labels.n_classes, self.rows.columns)


def _refuse_marker(classifier: Any) -> None:
    if np.any(np.asarray(classifier.classes_) == -1):
        raise ValueError(
            f"{type(classifier).__name__} takes -1, the marker of unlabelled rows, for a class: it "
            "cannot learn from unlabelled rows, so list it with uses_unlabeled=False."
        )


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a clone in which every random_state that was left open is a number."""
    estimator = clone(estimator)
    open_ = [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    ]
    return estimator.set_params(**dict.fromkeys(open_, seed))


class Wrapped(Candidate):
    """A user's classifier, of which it is not known how its time grows.

    Parameters
    ----------
    name : str
        Its name.
    estimator : classifier
        Cloned for every fit.
    uses_unlabeled : bool
        Whether it is fitted to unlabelled rows too.
    counterpart : str or None
        The name of the supervised candidate with which it is compared.
    weighted : bool or None
        Whether ``fit`` is passed the weights of rows; None: if it has that parameter.
    """

    growth = 2.0

    def __init__(
        self,
        name: str,
        estimator: Any,
        uses_unlabeled: bool,
        counterpart: str | None = None,
        weighted: bool | None = None,
    ) -> None:
        self.name, self.estimator, self.uses_unlabeled = name, estimator, uses_unlabeled
        self.counterpart, self.weighted = counterpart, weighted

    def prepare(self, rows: SharedRows) -> PreparedWrapped:  # noqa: D102
        weighted = self.weighted
        if weighted is None:
            weighted = has_fit_parameter(self.estimator, "sample_weight")
        note = "" if weighted or not rows.weighted else f"{self.name} ignores sample_weight."
        estimator = _seeded(self.estimator, rows.seed)
        return PreparedWrapped(rows, estimator, self.uses_unlabeled, weighted, note)
