"""What all ``fit`` methods share: their docstring, and the removal of fitted attributes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

Fit = TypeVar("Fit", bound=Callable[..., Any])


def documented_fit(*, weights: str = "") -> Callable[[Fit], Fit]:
    """Give a ``fit`` method the docstring of all of them, and a note on the weights of rows."""

    def document(fit: Fit) -> Fit:
        note = f"\n            {weights}" if weights else ""
        fit.__doc__ = DOCSTRING.replace("{note}", note)
        return fit

    return document


DOCSTRING = """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole; generative classifiers need dense ones.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1. A Parquet file or folder, or a Dask array or
            DataFrame, is processed out of core, block by block, in a few passes; estimators that
            store a label for every row need these rows in memory. A pipeline transforms them only
            if its ``transform_input`` names them. For cross-validation, wrap them in UnlabeledRows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many
            times.{note}

        Returns
        -------
        self
            The fitted estimator.
        """


@contextmanager
def fitting(estimator: BaseEstimator, *, warm_start: bool = False) -> Iterator[None]:
    """Delete the fitted attributes of an earlier fit, unless this one starts from them.

    A fit that fails leaves an unfitted estimator: its incomplete attributes are of no use and must
    not be mixed with those of an earlier fit.
    """
    if not warm_start:
        _forget(estimator)
    try:
        yield
    except BaseException:
        _forget(estimator)
        raise


def _forget(estimator: BaseEstimator) -> None:
    """Delete the fitted attributes: those whose names end with an underscore."""
    for name in list(vars(estimator)):
        if name.endswith("_") and not name.startswith("_"):
            delattr(estimator, name)
