"""A wrapper that carries unlabelled rows through scikit-learn's meta-estimators."""

from typing import Any


class UnlabeledRows:
    """Unlabelled rows that scikit-learn passes to ``fit`` without indexing them.

    Cross-validation, grid searches and ensembles of scikit-learn index every array-like argument
    of ``fit`` that has as many rows as X. If ``X_unlabeled`` happens to have as many, only a part
    of it reaches ``fit``, without a warning. Wrapped, it is not array-like, and every fit gets all
    of it.

    Parameters
    ----------
    rows : array-like or sparse matrix of shape (n_more, n_features), path or Dask collection
        Anything that ``fit`` accepts as ``X_unlabeled``.

    Attributes
    ----------
    rows : object
        The wrapped rows, unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from primum import ICLSClassifier, UnlabeledRows
    >>> X, y = np.array([[0.0], [1.0], [0.5], [9.0], [8.0], [8.5]]), [0, 0, 0, 1, 1, 1]
    >>> more = UnlabeledRows(np.array([[0.2], [0.3], [0.7], [8.2], [8.3], [8.7]]))
    >>> cross_val_score(ICLSClassifier(), X, y, cv=3, params={"X_unlabeled": more})
    array([1., 1., 1.])
    """

    # No __len__, shape or __array__: any of them would make it array-like.
    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return f"UnlabeledRows({type(self.rows).__name__})"


def given_rows(X_unlabeled: Any) -> Any:
    """Return ``X_unlabeled`` without the wrapper, if it has one."""
    return X_unlabeled.rows if isinstance(X_unlabeled, UnlabeledRows) else X_unlabeled
