"""What ``fit`` methods share: docstring, removal of fitted attributes, feature names, advice."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

Fit = TypeVar("Fit", bound=Callable[..., Any])


def documented_fit(
    *, dense: bool = False, in_memory: bool = False, weights: str = ""
) -> Callable[[Fit], Fit]:
    """Give a ``fit`` method the docstring of all of them, for the rows that it accepts.

    ``weights`` is a note on the weights of rows.
    """

    def document(fit: Fit) -> Fit:
        text = DOCSTRING.replace("{more}", IN_MEMORY if in_memory else OUT_OF_CORE)
        text = text.replace("{weights}", f"\n            {weights}" if weights else "")
        text = text.replace("{sparse}", "" if dense else SPARSE)
        fit.__doc__ = text.replace("array-like or sparse matrix", "array-like") if dense else text
        return fit

    return document


DOCSTRING = """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.{sparse}
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : {more}
            A pipeline transforms them only if its ``transform_input`` names them. For
            cross-validation, wrap them in UnlabeledRows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many
            times.{weights}

        Returns
        -------
        self
            The fitted estimator.
        """
SPARSE = " Sparse rows are not densified as a whole."
IN_MEMORY = """array-like or sparse matrix of shape (n_more, n_features), default=None
            Further unlabelled rows, each of weight 1, in memory. Supervised classifiers ignore
            them."""
OUT_OF_CORE = """array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1. A Parquet file or folder, or a Dask array or
            DataFrame, is processed out of core, block by block, in a few passes; estimators that
            store a label for every row need these rows in memory."""


def copy_feature_names(source: BaseEstimator, target: BaseEstimator) -> None:
    """Give a supervised twin the feature names of the estimator that fits it, if there are any."""
    if hasattr(source, "feature_names_in_"):
        target.feature_names_in_ = source.feature_names_in_


def convergence_advice(
    max_iter: int,
    *,
    reached: bool,
    otherwise: str = "raise tol, standardise the features or raise alpha",
) -> str:
    """Return what to do about a search that stopped short of its tolerance.

    ``reached`` is whether it stopped at ``max_iter``; otherwise it could make no further progress.
    """
    if reached:
        return f"raise max_iter (now {max_iter}) or tol"
    return f"rounding limits it, so {otherwise}"


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
