"""Rows that are hard for ICLS: tight clusters, copies, binary and nearly equal features.

Each problem is fitted in memory and, where that is possible, from a Parquet file that is removed at
the end. A fit is good if it is proven to be optimal within 30 passes over the rows. Every problem
runs with several seeds; the median and the largest figures are printed.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

MOST_PASSES = 30


def labels_of(rng, L, U, K):
    y = rng.integers(0, K, L + U)
    y[:K] = np.arange(K)
    return y


def clustered(seed, U, K=6, d=10, L=30):
    """Twenty clusters whose width is a thousandth of their distance; labels are not related."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    centres = 5 * rng.normal(size=(20, d))[rng.integers(0, 20, L + U)]
    return centres + 0.01 * rng.normal(size=(L + U, d)), y[:L]


def binary(seed, U, K=6, d=10, L=30, share=0.5):
    """Features of 0 and 1."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    return (rng.random((L + U, d)) < share).astype(float), y[:L]


def copies(seed, U, K=2, d=10, L=30, share=0.5):
    """Return rows of which a share are copies of one point."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    X = rng.normal(size=(L + U, d)) + 0.5 * rng.normal(size=(K, d))[y]
    same = L + np.flatnonzero(rng.random(U) < share)
    X[same] = X[L]
    return X, y[:L]


def nearly_equal(seed, U, K=2, d=10, L=30, noise=1e-4):
    """Two features are nearly equal among the unlabelled rows, but not among the labelled ones."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    X = rng.normal(size=(L + U, d)) + 0.5 * rng.normal(size=(K, d))[y]
    X[L:, 1] = X[L:, 0] + noise * rng.normal(size=U)
    return X, y[:L]


def gaussian(seed, U, K=2, d=30, L=60):
    """Ordinary rows, for comparison."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    return rng.normal(size=(L + U, d)) + 0.5 * rng.normal(size=(K, d))[y], y[:L]


PROBLEMS = {
    "clustered": clustered,
    "clustered, two classes": lambda seed, U: clustered(seed, U, K=2),
    "clustered, few labels": lambda seed, U: clustered(seed, U, L=8),
    "binary, 10": binary,
    "binary, 16": lambda seed, U: binary(seed, U, d=16),
    "binary, 30, rare": lambda seed, U: binary(seed, U, d=30, L=60, share=0.05),
    "copies": copies,
    "copies, six classes": lambda seed, U: copies(seed, U, K=6),
    "nearly equal": nearly_equal,
    "nearly equal, 1e-6": lambda seed, U: nearly_equal(seed, U, noise=1e-6),
    "nearly equal, six classes": lambda seed, U: nearly_equal(seed, U, K=6),
    "gaussian": gaussian,
    "gaussian, six classes": lambda seed, U: gaussian(seed, U, K=6),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=30_000, help="unlabelled rows (30 000)")
    parser.add_argument("--seeds", type=int, default=3, help="fits per problem (3)")
    parser.add_argument("--only", default="", help="a part of the problem's name")
    parser.add_argument("--kinds", nargs="+", default=("memory", "parquet"), choices=KINDS)
    options = parser.parse_args()
    print("| problem | rows | where | passes | iterations | seconds | proven | largest gap |")
    print("| --- " * 8 + "|")
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        for name, problem in PROBLEMS.items():
            if options.only not in name:
                continue
            for kind in options.kinds:
                print_row(name, problem, int(options.rows), kind, options.seeds, Path(folder))


def print_row(name, problem, U, kind, n_seeds, folder):
    """Fit to several draws of a problem, and print what that took."""
    found = np.array([fit(*problem(seed, U), kind, folder) for seed in range(n_seeds)])
    passes, iterations, seconds, proven, gaps = found.T
    print(
        f"| {name} | {U} | {kind} | {np.median(passes):.0f} ({passes.max():.0f}) | "
        f"{np.median(iterations):.0f} ({iterations.max():.0f}) | "
        f"{np.median(seconds):.2f} ({seconds.max():.2f}) | {proven.sum():.0f} of {n_seeds} | "
        f"{gaps.max():.0e} |",
        flush=True,
    )


def fit(X, y, kind, folder):
    from primum import ICLSClassifier

    rows = KINDS[kind](X[len(y) :], folder)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = ICLSClassifier().fit(X[: len(y)], y, X_unlabeled=rows)
    seconds, proof = time.process_time() - start, clf.certificate_
    return proof.passes, clf.n_iter_, seconds, proof.converged, proof.gap


def in_file(X, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "rows.parquet"
    pq.write_table(pa.table({f"x{j:02d}": X[:, j] for j in range(X.shape[1])}), path)
    return path


KINDS = {"memory": lambda X, folder: X, "parquet": in_file}


if __name__ == "__main__":
    main()
