"""What ``fit`` leaves behind."""

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator


@contextmanager
def fitting(estimator: BaseEstimator, *, warm_start: bool = False) -> Iterator[None]:
    """Forget what an earlier fit learnt, unless it is the start of this one.

    A fit that fails leaves an unfitted estimator: what it has learnt so far is of no use, and must
    not be mixed with that of an earlier fit.
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
