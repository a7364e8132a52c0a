"""Speed and memory of the core, as ratios in one run, one BLAS thread.

Wall-clock times on shared machines mean little by themselves: the smallest of several is printed,
together with the time of a plain matrix product of the same size on the same core.
"""

import argparse
import sys
import time
import tracemalloc
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from primum import ICLSClassifier, LeastSquaresClassifier, SelfLearningClassifier, USMClassifier


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="fits per timing (15)")
    options = parser.parse_args()
    with threadpool_limits(1):
        for L, U, d in ((246, 1104, 241), (35, 500, 30)):
            compare_solvers(L, U, d, options.repeats)
        compare_methods(246, 1104, 241, options.repeats)
        peak_memory(U=200_000, d=50)


def problem(L, U, d, seed=0):
    """Rows like those of the paper's image data: correlated features, two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, L + U)
    y[:2] = [0, 1]
    X = rng.normal(size=(L + U, d)) * np.geomspace(1, 1e-2, d)
    X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    X += 0.3 * y[:, None] * X.std(axis=0)
    labels = np.where(np.arange(L + U) < L, y, -1)
    return X, labels


def fastest(function, repeats):
    """Return the smallest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def compare_solvers(L, U, d, repeats):
    X, y = problem(L, U, d)
    product = fastest(lambda: X.T @ X, repeats)
    print(f"\nL = {L}, U = {U}, d = {d}   (X'X: {1e3 * product:.2f} ms)")
    print(f"{'solver':8}{'tol':>7}{'fit, ms':>10}{'vs newton':>11}{'iterations':>12}{'gap':>10}")
    newton = None
    for solver, tol, times in (
        ("newton", 1e-8, repeats),
        ("lbfgsb", 1e-8, 2),
        ("lbfgsb", 1e-12, 2),
    ):
        clf = ICLSClassifier(solver=solver, tol=tol, max_iter=100_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds = fastest(lambda clf=clf: clf.fit(X, y), times)
        newton = newton or seconds
        proof = clf.certificate_
        print(
            f"{solver:8}{tol:7.0e}{1e3 * seconds:10.1f}{seconds / newton:11.1f}"
            f"{proof.iterations:12d}{proof.gap:10.0e}"
        )


def compare_methods(L, U, d, repeats):
    X, y = problem(L, U, d)
    print(f"\nOther methods, L = {L}, U = {U}, d = {d}")
    for clf in (LeastSquaresClassifier(), USMClassifier(), SelfLearningClassifier()):
        seconds = fastest(lambda clf=clf: clf.fit(X, y), repeats)
        print(f"{type(clf).__name__:26}{1e3 * seconds:8.1f} ms")


def peak_memory(U, d):
    X, y = problem(60, U, d)
    tracemalloc.start()
    start = time.perf_counter()
    clf = ICLSClassifier().fit(X, y)
    seconds = time.perf_counter() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(
        f"\nU = {U}, d = {d}: {seconds:.1f} s (traced), gap {clf.certificate_.gap:.0e}, "
        f"extra memory {peak / X.nbytes:.2f} times X"
    )


if __name__ == "__main__":
    sys.exit(main())
