"""Memory grows with U x d, never with U x U, unless there is a kernel."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from generate import two_classes
from primum import ICLSClassifier, KernelICLSClassifier
from primum.equations import Design, Frame
from primum.labellings import StreamedColumns
from primum.rows import ArrayRows


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


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_lengths_of_streamed_columns_need_a_few_blocks_of_memory(kind):
    U, r = 100_000, 200
    rng = np.random.default_rng(0)
    if kind == "dense":
        X = rng.normal(size=(U, r)).astype(np.float32)
    else:
        stored = (rng.normal(size=U), rng.integers(0, r, U), np.arange(U + 1))
        X = sparse.csr_array(stored, shape=(U, r))
    B = rng.normal(size=(r, r))
    columns = StreamedColumns(B, Design(ArrayRows(X), Frame(np.zeros(r), False, True)))
    tracemalloc.start()
    lengths = columns.lengths()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(lengths[::1000], np.linalg.norm(X[::1000] @ B.T, axis=1), rtol=1e-5)
    assert peak < 0.5 * U * r * 8


@pytest.mark.parametrize("alpha", [0.0001, 0.01])
def test_a_kernel_fit_needs_six_kernel_matrices(alpha):
    X, y, X_u, _ = two_classes(40, 960, 10)
    tracemalloc.start()
    clf = KernelICLSClassifier(alpha).fit(X, y, X_u)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert clf.certificate_.converged
    assert peak < 6 * 1000**2 * 8
