"""How long a candidate will take, predicted from a fit to a part of the rows.

A fit that has begun is not interrupted, so its time must be known before. The part is small enough
that its own time does not matter, and the time of all rows follows from the power of the number of
rows with which it grows (``Candidate.growth``).
"""

import time
import warnings
from dataclasses import replace

import numpy as np

from primum._threads import one_blas_thread
from primum._typing import Index
from primum.selection.candidates import Candidate, Labels, SharedRows

# The share of the rows in the part, and the number of rows up to which a fit takes no time.
SHARE = 1 / 6
FEW_ROWS = 300


def predicted_seconds(candidate: Candidate, rows: SharedRows, labels: Labels) -> float:
    """Return about how long the preparation of a candidate and one fit take; 0 for few rows.

    A candidate that fails is predicted to take no time: it fails again, and is then listed.
    """
    used = rows.unlabeled.shape[0] if candidate.uses_unlabeled else 0
    if candidate.most_unlabeled is not None:
        used = min(used, candidate.most_unlabeled)
    n_rows = rows.n_labeled + used
    if n_rows <= FEW_ROWS:
        return 0.0
    known = _part_of_labeled(labels, rows.seed)
    part = replace(rows, labeled=rows.labeled[known]).with_at_most(int(SHARE * used))
    start = time.perf_counter()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        try:
            own = labels.take(known)
            candidate.prepare(part).fit(np.arange(len(known)), own)
        except Exception:
            return 0.0
    seconds = time.perf_counter() - start
    return float(seconds * (n_rows / (len(known) + int(SHARE * used))) ** candidate.growth)


def _part_of_labeled(labels: Labels, seed: int) -> Index:
    """Return some labelled rows, at least two of every class that has two."""
    rng = np.random.default_rng(seed)
    parts = []
    for code in labels.present:
        own = rng.permutation(np.flatnonzero(labels.codes == code))
        parts.append(own[: max(2, int(SHARE * len(own)))])
    return np.sort(np.concatenate(parts))
