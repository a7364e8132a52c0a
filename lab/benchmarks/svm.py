"""Speed and memory of the SVM family, as ratios in one run, one BLAS thread.

L2SVMClassifier is compared with scikit-learn's LinearSVC on the same objective: for LinearSVC, in
the primal and in the dual, the loosest tolerance that comes within 1e-8 of the minimum is used, and
the faster of the two counts. Wall-clock times on shared machines mean little by themselves: the
smallest of several is printed.
"""

import argparse
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from primum import L2SVMClassifier, S4VMClassifier, TSVMClassifier, WellSVMClassifier
from primum_lab.datasets import CATALOGUE, DatasetNotFoundError, load, z_score

DATA = Path(__file__).parents[3] / "shared" / "data"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="fits per timing (7)")
    parser.add_argument("--data-home", type=Path, default=DATA if DATA.exists() else None)
    options = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        compare_with_linear_svc(options.data_home, options.repeats)
        transductive(options.repeats)
        text_like()


def fastest(function, repeats):
    """Return the smallest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def data_like_the_papers(data_home):
    """Yield (name, X, y): the paper's data sets if available, or random rows of the same sizes."""
    for name, info in CATALOGUE.items():
        try:
            dataset = load(name, data_home)
            X, y = z_score(dataset.X), dataset.codes
        except DatasetNotFoundError:
            X, y = two_classes(info.rows, info.features)
            name = f"like {name}"
        yield name, X, y


def two_classes(n, d, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    X = rng.normal(size=(n, d))
    X[:, : max(1, d // 5)] += 0.7 * y[:, None]
    return X, y


def compare_with_linear_svc(data_home, repeats):
    print("L2SVMClassifier and LinearSVC(loss='squared_hinge', C=0.5) to 1e-8 of the minimum")
    print(f"{'data':18}{'rows':>6}{'d':>5}{'steps':>7}{'ours, ms':>10}{'theirs':>9}{'ratio':>7}")
    ratios = []
    for name, X, y in data_like_the_papers(data_home):
        order = np.random.default_rng(0).permutation(len(y))
        few = order[: max(X.shape[1] + 5, 20)]
        ratios += [compare_one(name, X[rows], y[rows], repeats) for rows in (few, order)]
    print(
        f"LinearSVC takes {np.median(ratios):.1f} times as long in the median, "
        f"{min(ratios):.2f} times at least"
    )


def compare_one(name, X, y, repeats):
    ours = L2SVMClassifier(costs="sum", penalize_intercept=True)
    best = ours.fit(X, y).objective_
    rivals = [svc for dual in (False, True) if (svc := accurate_svc(X, y, dual, best)) is not None]
    # In turn, so that a busy moment hits all.
    seconds = np.array(
        [
            [fastest(lambda clf=clf: clf.fit(X, y), 1) for clf in (ours, *rivals)]
            for _ in range(repeats)
        ]
    ).min(axis=0)
    mine, theirs = seconds[0], seconds[1:].min()
    print(
        f"{name:18}{len(y):6d}{X.shape[1]:5d}{ours.n_iter_:7d}{1e3 * mine:10.2f}"
        f"{1e3 * theirs:9.2f}{theirs / mine:7.2f}"
    )
    return theirs / mine


def accurate_svc(X, y, dual, best):
    """Return LinearSVC with the loosest tolerance that is accurate enough, if there is one."""
    for tol in 10.0 ** -np.arange(1, 13, 0.25):
        svc = LinearSVC(C=0.5, tol=tol, dual=dual, max_iter=50_000, random_state=0).fit(X, y)
        if objective(svc, X, y) <= best * (1 + 1e-8):
            return svc
    return None


def objective(clf, X, y):
    w, b = clf.coef_[0], clf.intercept_[0]
    slack = np.maximum(0, 1 - (2 * y - 1) * (X @ w + b))
    return 0.5 * (w @ w + b * b) + 0.5 * np.sum(slack**2)


def transductive(repeats):
    print(f"\n{'semi-supervised':34}{'L':>5}{'U':>7}{'d':>5}{'fit, ms':>10}{'vs supervised':>15}")
    for L, U, d in ((246, 1104, 241), (35, 10_000, 30), (60, 2000, 30)):
        X, y = two_classes(L + U, d)
        labels = np.where(np.arange(L + U) < L, y, -1)
        twin = fastest(lambda X=X, y=y, L=L: L2SVMClassifier().fit(X[:L], y[:L]), repeats)
        methods = [TSVMClassifier(m) for m in ("switching", "annealing", "cccp")]
        for clf in (*methods, S4VMClassifier(), WellSVMClassifier()):
            seconds = fastest(lambda clf=clf, X=X, y=labels: clf.fit(X, y), min(repeats, 3))
            print(f"{clf!s:34}{L:5d}{U:7d}{d:5d}{1e3 * seconds:10.1f}{seconds / twin:15.1f}")


def text_like(n=20_000, d=50_000, density=0.001, n_labeled=100):
    """Rows like texts: two topics with their own words, one word in a thousand present."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    present = int(density * d)
    words = np.minimum((d * rng.beta(0.7, 2, (n, present))).astype(int), d - 1)
    own = rng.uniform(size=(n, present)) < 0.2
    words[own] = (2 * rng.integers(0, 400, (n, present)) + y[:, None])[own]
    rows = np.repeat(np.arange(n), present)
    X = sparse.csr_array((np.ones(n * present), (rows, words.ravel())), shape=(n, d))
    labels = np.where(np.arange(n) < n_labeled, y, -1)
    print(f"\nsparse, {n} x {d}, {X.nnz / n / d:.2%} dense, {n_labeled} labelled")
    for method in ("switching", "annealing", "cccp"):
        clf = TSVMClassifier(method, alpha=0.01)
        seconds = fastest(lambda clf=clf: clf.fit(X, labels), 1)
        tracemalloc.start()
        clf.fit(X, labels)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        right = np.mean(clf.transduction_[n_labeled:] == y[n_labeled:])
        print(
            f"{method:12}{seconds:8.1f} s, peak {peak / 2**20:.0f} MB above the rows, "
            f"{right:.1%} right"
        )


if __name__ == "__main__":
    sys.exit(main())
