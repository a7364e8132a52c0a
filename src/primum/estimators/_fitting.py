"""Removal of the fitted attributes of earlier and of failed fits."""

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator


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
