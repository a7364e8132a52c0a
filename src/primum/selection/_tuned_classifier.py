"""What the tuned classifiers share: ``fit``, and the Brier score."""

from typing import Any, ClassVar, Self

from primum._typing import AnyArray, Index
from primum.estimators._data import read_arguments
from primum.estimators._fitting import fitting
from primum.estimators._labels import KnownLabels, read_labels
from primum.estimators._linear import LeastSquaresBase
from primum.selection._models import Model
from primum.selection._scores import brier_scores
from primum.selection._tuned import Tuned


class TunedClassifier(Tuned, LeastSquaresBase):
    """A least-squares classifier with parameters chosen by cross-validation."""

    _several_classes: ClassVar[bool] = True
    _default_score = staticmethod(brier_scores)

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Choose the parameters by cross-validation, and fit with them to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1, which are in every training set. A Parquet
            file or folder, or a Dask array or DataFrame, is read in several passes for every fold
            and point of the grid: pass a sample of its rows if that takes too long.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, in the fits and in the Brier score. A scorer receives it only
            if metadata routing is enabled and the scorer has requested it, as in GridSearchCV.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X, for splitters such as GroupKFold.

        Returns
        -------
        self
            The fitted estimator.
        """
        with fitting(self):
            given = read_arguments(self, X, y, X_unlabeled, sample_weight)
            results = self._tune(given, X, sample_weight, groups)
            self._fit_best(results, X, y, X_unlabeled, sample_weight)
        return self

    @staticmethod
    def _remembered(estimator: Any, known: KnownLabels, model: Model) -> Any:
        return estimator._remember(known.classes, *model)

    @staticmethod
    def _known_of(y: Any) -> tuple[Index, AnyArray]:
        labels = read_labels(y, len(y), multi_class=True, one_class=True)
        return labels.labeled, labels.classes[labels.codes]
