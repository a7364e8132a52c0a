"""Base classes of classifiers that combine other classifiers: reading rows, and predicting."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from primum._sklearn import HasMethods, check_parameters, count_rows, take_rows
from primum._typing import Floats, Index
from primum.methods.base import KnownLabelsScoreMixin, with_parameters
from primum.methods.least_squares.tuning import keep_groups
from primum.reading import data
from primum.reading.classifiers import Entry, read_entries
from primum.reading.data import check_same_columns, locating_bad_values
from primum.reading.folds import Fold
from primum.reading.labels import KnownLabels, read_labels
from primum.rows import is_outside


def scaled(classifier: Any, is_sparse: bool) -> Any:
    """Return a classifier after the standardisation of its rows; sparse ones are not centred."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(StandardScaler(with_mean=not is_sparse), classifier)


@dataclass(frozen=True)
class ClassifierRows:
    """All rows with class codes (-1: unknown), the labels in y, and weights and groups, if any."""

    X: Any
    codes: Index
    labels: KnownLabels
    weight: Floats | None = None
    groups: Index | None = None

    def trained_on(self, fold: Fold) -> Index:
        """Return the positions of the rows that a fold trains on, with all unlabelled ones."""
        unknown = np.flatnonzero(self.codes < 0)
        return np.sort(np.concatenate([self.labels.labeled[fold.train], unknown]))

    def weight_of(self, rows: Index | slice) -> Floats | None:
        """Return the weights of some rows; None: 1."""
        return None if self.weight is None else self.weight[rows]

    def fit(self, entry: Entry, rows: Index | slice = slice(None)) -> Any:
        """Return a classifier fitted to some rows; groups are kept together where it is tuned."""
        codes = self.codes[rows]
        if self.groups is not None:
            labeled, estimator = np.flatnonzero(codes >= 0), clone(entry.estimator)
            positions = labeled if entry.uses_unlabeled else np.arange(len(labeled))
            keep_groups(estimator, positions, codes[labeled], self.groups[rows][labeled])
            entry = replace(entry, estimator=estimator)
        return entry.fit(take_rows(self.X, rows), codes, self.weight_of(rows))


class OfClassifiers(KnownLabelsScoreMixin, ClassifierMixin, BaseEstimator):
    """A classifier around others; DataFrames are passed on to them as they are."""

    def _read(self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any) -> ClassifierRows:
        """Validate the arguments of ``fit``."""
        check_parameters(self)
        X = self._read_rows(X, reset=True)
        labels = read_labels(y, count_rows(X), multi_class=True)
        codes = np.full(count_rows(X), -1)
        codes[labels.labeled] = labels.codes
        weight = data.read_weight(sample_weight, np.zeros((len(codes), 1)))
        data.check_every_class_has_weight(labels, weight)
        X_unlabeled = data.given_rows(X_unlabeled)
        if X_unlabeled is not None:
            X = data.stack_rows([X, self._read_more(X_unlabeled)])
            n_more = count_rows(X) - len(codes)
            codes = np.concatenate([codes, np.full(n_more, -1)])
            weight = None if weight is None else np.concatenate([weight, np.ones(n_more)])
        return ClassifierRows(X, codes, labels, weight)

    def _read_more(self, X_unlabeled: Any) -> Any:
        if is_outside(X_unlabeled):
            raise data.not_in_memory(self)
        check_same_columns(self, X_unlabeled)
        return self._read_rows(X_unlabeled, reset=False)

    def _read_rows(self, X: Any, *, reset: bool) -> Any:
        """Validate X as far as the classifiers do not do so themselves."""
        if hasattr(X, "iloc"):
            return validate_data(self, X, skip_check_array=True, reset=reset)
        with locating_bad_values(X, "X"):
            return validate_data(self, X, accept_sparse="csr", reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@with_parameters
class CombiningClassifier(OfClassifiers):
    """A classifier made of a baseline and candidates."""

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "candidates": ["array-like", None],
        "baseline": [HasMethods(["fit", "predict"]), None],
    }
    candidates: Sequence[Any] | None = field(default=None, kw_only=False)
    baseline: Any = None

    @abstractmethod
    def _default_candidates(self, is_sparse: bool) -> list[tuple[str, Any]]:
        """Return the candidates if none are given."""

    def _entries(self, is_sparse: bool = False) -> tuple[list[Entry], Entry]:
        """Return the candidates and the baseline, by default those for sparse or dense rows."""
        base = self.baseline
        if base is None:
            base = scaled(LogisticRegression(max_iter=1000), is_sparse)
        candidates = self.candidates
        if candidates is None:
            candidates = self._default_candidates(is_sparse)
        return read_entries(candidates, "candidates"), Entry("baseline", base, False)
