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


def test_a_memory_map_is_never_loaded(tmp_path):
    X, y, X_u, _ = two_classes(60, 200_000, 50)
    np.save(tmp_path / "rows.npy", X_u.astype(np.float32))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    tracemalloc.start()
    clf = ICLSClassifier().fit(X, y, X_unlabeled=rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    in_memory = ICLSClassifier().fit(X, y, X_unlabeled=np.asarray(rows))
    np.testing.assert_array_equal(clf.coef_, in_memory.coef_)
    assert peak < 0.8 * rows.nbytes
