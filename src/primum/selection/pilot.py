"""How long a candidate will take, predicted from fits to two small parts of the rows.

A fit that has begun is not interrupted, so its time must be known before. That of n rows is
modelled as ``a + b n^g`` with the power g with which it grows (``Candidate.growth``); two fits give
a and b. The prediction is at least the one in proportion to the rows.
"""

import time
import warnings
from dataclasses import replace

import numpy as np

from primum._threads import one_blas_thread
from primum._typing import Index
from primum.selection.candidates import Candidate, Labels, SharedRows

# The shares of the rows in the two parts, and the number of rows up to which a fit takes no time.
SHARES = (1 / 12, 1 / 6)
FEW_ROWS = 300


def predicted_seconds(candidate: Candidate, rows: SharedRows, labels: Labels) -> float:
    """Return about how long the preparation of a candidate and one fit take; 0 for few rows.

    A candidate that fails is predicted to take no time: it fails again, and is then listed.
    """
    used = rows.unlabeled.shape[0] if candidate.uses_unlabeled else 0
    if candidate.most_unlabeled is not None:
        used = min(used, candidate.most_unlabeled)
    if rows.n_labeled + used <= FEW_ROWS:
        return 0.0
    try:
        # What a first fit costs once, such as imports, is not part of the times.
        shares = (SHARES[0], *SHARES)
        _, *pairs = (_timed(candidate, rows, labels, share, used) for share in shares)
    except Exception:
        return 0.0
    return extrapolated(pairs, rows.n_labeled + used, candidate.growth)


def extrapolated(pairs: list[tuple[int, float]], n_rows: int, growth: float) -> float:
    """Return the time of n_rows, given two pairs of a number of rows and its time."""
    (few, first), (more, second) = pairs
    slope = max(second - first, 0.0) / (more**growth - few**growth)
    power = second + slope * (n_rows**growth - more**growth)
    return float(max(power, second * n_rows / more))


def _timed(
    candidate: Candidate, rows: SharedRows, labels: Labels, share: float, used: int
) -> tuple[int, float]:
    """Return the number of rows in a part, and the time of a fit to it."""
    known = _part_of_labeled(labels, share, rows.seed)
    part = replace(rows, labeled=rows.labeled[known]).with_at_most(int(share * used))
    start = time.perf_counter()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        candidate.prepare(part).fit(np.arange(len(known)), labels.take(known))
    return len(known) + int(share * used), time.perf_counter() - start


def _part_of_labeled(labels: Labels, share: float, seed: int) -> Index:
    """Return some labelled rows, at least two of every class that has two."""
    rng = np.random.default_rng(seed)
    parts = []
    for code in labels.present:
        own = rng.permutation(np.flatnonzero(labels.codes == code))
        parts.append(own[: max(2, int(share * len(own)))])
    return np.sort(np.concatenate(parts))
