"""Kernel ICLS against one eigendecomposition of its kernel matrix, in one run, one BLAS thread.

Processor times are the smallest of a few; memory is the growth of the largest resident set of a new
process during a fit, in arrays of the size of the kernel matrix. The last table compares the exact
model with pipelines that approximate the kernel: the root mean square difference of their scores,
in units of that between the exact model and its supervised twin.
"""

import argparse
import multiprocessing
import time
from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from primum import ICLSClassifier, KernelICLSClassifier

LABELED, FEATURES = 40, 10


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="fits per timing (3)")
    parser.add_argument("--rows", type=int, default=2000, help="rows of the timings (2000)")
    parser.add_argument("--large", type=int, default=5000, help="rows of the memory test (5000)")
    options = parser.parse_args()
    with threadpool_limits(1):
        for n_rows in (options.rows // 2, options.rows):
            times(n_rows, options.repeats)
        approximations(options.rows)
    memory(options.large)


def problem(n, n_classes=2, seed=0):
    """Return rows of overlapping Gaussian classes, labels, and labels with unknown ones."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    truth[:n_classes] = np.arange(n_classes)
    X = rng.normal(size=(n_classes, FEATURES))[truth] + 1.5 * rng.normal(size=(n, FEATURES))
    return X, truth, np.where(np.arange(n) < LABELED, truth, -1)


def fastest(function, repeats):
    """Return (the smallest of several times in seconds, the last result)."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def times(n, repeats):
    print(f"{n} rows, {LABELED} labels, {FEATURES} features, rbf")
    print(" classes   alpha  eigh, s  fit, s  ratio  steps      gap")
    for n_classes, alpha in ((2, 0.1), (2, 0.01), (2, 0.001), (2, 1e-5), (3, 0.01), (4, 1e-4)):
        X, _, y = problem(n, n_classes)
        K = rbf_kernel(X)
        plain, _ = fastest(lambda K=K: eigh(K), repeats)
        machine = KernelICLSClassifier(alpha, gamma=None, metric="labeled")
        fit, clf = fastest(lambda X=X, y=y, clf=machine: clf.fit(X, y), repeats)
        proof = clf.certificate_
        print(
            f"{n_classes:8}{alpha:8g}{plain:9.2f}{fit:8.2f}{fit / plain:7.2f}"
            f"{proof.iterations:7}{proof.gap:9.0e}"
        )


def approximations(n):
    X, truth, y = problem(n)
    exact, unknown = KernelICLSClassifier(gamma=None, metric="labeled").fit(X, y), y == -1
    scores = exact.decision_function(X)
    moved = np.std(scores - exact.supervised_.decision_function(X))
    print(f"\nerror: twin {1 - exact.supervised_.score(X[unknown], truth[unknown]):.3f}, ", end="")
    print(f"kernel ICLS {1 - exact.score(X[unknown], truth[unknown]):.3f}")
    for components in (50, 100, 200, 500, 1000, n):
        kernel = Nystroem(n_components=components, random_state=0)
        start = time.perf_counter()
        clf = make_pipeline(kernel, ICLSClassifier(exact.alpha, metric="labeled")).fit(X, y)
        seconds = time.perf_counter() - start
        off = np.sqrt(np.mean((clf.decision_function(X) - scores) ** 2)) / moved
        error = 1 - clf.score(X[unknown], truth[unknown])
        print(f"Nystroem({components:5}): {off:8.1e}, {seconds:6.2f} s, error {error:.3f}")


def memory(n):
    context = multiprocessing.get_context("spawn")
    print(f"\n{n} rows: memory of a fit, in kernel matrices of {8e-6 * n * n:.0f} MB")
    for name in ("rbf", "precomputed"):
        with context.Pool(1) as pool:
            print(f"{name:>12} {pool.apply(growth, (n, name)):.2f}")


def growth(n, kernel):
    """Return how much the largest resident set grows, in kernel matrices."""
    X, _, y = problem(n)
    KernelICLSClassifier(metric="labeled").fit(X[:100], y[:100])  # loads what a fit needs
    rows = rbf_kernel(X) if kernel == "precomputed" else X
    with threadpool_limits(1):
        before = resident("VmRSS")
        KernelICLSClassifier(kernel=kernel, metric="labeled").fit(rows, y)
    return (resident("VmHWM") - before) / (8 * n * n)


def resident(name):
    """Return the resident set now (VmRSS) or at its largest (VmHWM), in bytes; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(name))
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    main()
