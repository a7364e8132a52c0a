"""Whether labelled rows are copies of each other.

A held-out row of which a copy is in the training set is easy for models that memorise rows, such as
forests, kernels and nearest neighbours, and says nothing of new rows. Equal rows need not be
copies: features with few values are often equal in rows that were observed independently. So equal
rows are reported, and the user decides.
"""

from typing import Any

import numpy as np
from scipy import sparse

# A smaller share of equal rows changes little.
VISIBLE_SHARE = 0.05


def copies_note(labeled: Any, groups: Any) -> str:
    """Return a sentence if labelled rows have the same features; empty if few do.

    ``groups`` of rows, if any, keep copies together: then nothing is said.
    """
    n_rows = labeled.shape[0]
    n_copies = 0 if groups is not None else n_rows - _n_distinct(labeled)
    if n_copies == 0 or n_copies < VISIBLE_SHARE * n_rows:
        return ""
    return (
        f"{n_copies} of the {n_rows} labelled rows have the same features as another one: if they "
        "are copies, drop them or pass groups, because models that memorise rows are judged too "
        "favourably."
    )


def _n_distinct(X: Any) -> int:
    """Return the number of distinct rows."""
    if sparse.issparse(X):
        as_csr: Any = sparse.csr_array
        rows = as_csr(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return len({(rows.indices[i:j].tobytes(), rows.data[i:j].tobytes()) for i, j in ends})
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if values.dtype.kind not in "biufc":
        return len({tuple(row) for row in values.astype(str)})
    return len({row.tobytes() for row in np.ascontiguousarray(values + 0.0)})
