"""Memory grows with U x d, never with U x U."""

import tracemalloc

import numpy as np

from generate import two_classes
from primum import ICLSClassifier


def test_extra_memory_stays_below_half_of_the_rows():
    X, y, X_u, _ = two_classes(60, 200_000, 50)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(200_000, -1)]
    tracemalloc.start()
    clf = ICLSClassifier().fit(rows, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert clf.certificate_.converged
    assert peak < 0.5 * rows.nbytes
