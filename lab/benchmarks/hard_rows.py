"""Rows that are hard for ICLS: tight clusters, copies, binary and nearly equal features, weights.

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


def clustered(seed, U, K=6, d=10, L=30, n_clusters=20):
    """Clusters whose width is a thousandth of their distance; labels are not related."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    centres = 5 * rng.normal(size=(n_clusters, d))[rng.integers(0, n_clusters, L + U)]
    return centres + 0.01 * rng.normal(size=(L + U, d)), y[:L]


def binary(seed, U, K=6, d=10, L=30, share=0.5):
    """Features of 0 and 1."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    return (rng.random((L + U, d)) < share).astype(float), y[:L]


def copies(seed, U, K=2, d=10, L=30, share=0.5, n_points=1):
    """Rows with a share of copies of a few points."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    X = rng.normal(size=(L + U, d)) + 0.5 * rng.normal(size=(K, d))[y]
    same = L + np.flatnonzero(rng.random(U) < share)
    X[same] = X[L + rng.integers(0, n_points, len(same))]
    return X, y[:L]


def mixed(seed, U, K=6, d=10, L=30):
    """Half of the features are 0 or 1, the others continuous."""
    X, y = gaussian(seed, U, K, d, L)
    X[:, ::2] = X[:, ::2] > 0.5
    return X, y


def heavy_tails(seed, U, K=6, d=10, L=30, freedom=1.5):
    """Student's t of few degrees of freedom: a few rows are hundreds of times as long as others."""
    rng = np.random.default_rng(seed)
    y = labels_of(rng, L, U, K)
    return rng.standard_t(freedom, size=(L + U, d)) + 0.5 * rng.normal(size=(K, d))[y], y[:L]


def uneven_weights(seed, U, K=2, d=10, L=30, orders=12):
    """Ordinary rows; the weights of the unlabelled ones are spread over orders of magnitude."""
    X, y = gaussian(seed, U, K, d, L)
    weight = 10.0 ** np.random.default_rng(seed).uniform(-orders / 2, orders / 2, len(X))
    weight[:L] = 1.0
    return X, y, weight


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
    "clustered, 5 clusters": lambda seed, U: clustered(seed, U, n_clusters=5),
    "clustered, 100 clusters": lambda seed, U: clustered(seed, U, n_clusters=100),
    "clustered, 12 classes": lambda seed, U: clustered(seed, U, K=12, L=60),
    "clustered, 40 features": lambda seed, U: clustered(seed, U, K=3, d=40, L=80),
    "copies of 3 points": lambda seed, U: copies(seed, U, K=3, n_points=3),
    "copies of 3 points, 5 features": lambda seed, U: copies(
        seed, U, K=3, d=5, share=0.9, n_points=3
    ),
    "mixed": mixed,
    "mixed, 3 classes, 40 features": lambda seed, U: mixed(seed, U, K=3, d=40, L=80),
    "heavy tails": heavy_tails,
    "heavy tails, 12 classes, 5 features": lambda seed, U: heavy_tails(seed, U, K=12, d=5, L=60),
    "nearly equal, 12 classes": lambda seed, U: nearly_equal(seed, U, K=12, d=5, L=60),
    "nearly equal, 40 features": lambda seed, U: nearly_equal(seed, U, d=40, L=80),
    "uneven weights": uneven_weights,
    "uneven weights, six classes": lambda seed, U: uneven_weights(seed, U, K=6),
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
    draws = [(*problem(seed, U), None)[:3] for seed in range(n_seeds)]
    if kind != "memory" and draws[0][2] is not None:
        return
    found = np.array([fit(*draw, kind, folder) for draw in draws])
    passes, iterations, seconds, proven, gaps = found.T
    print(
        f"| {name} | {U} | {kind} | {np.median(passes):.0f} ({passes.max():.0f}) | "
        f"{np.median(iterations):.0f} ({iterations.max():.0f}) | "
        f"{np.median(seconds):.2f} ({seconds.max():.2f}) | {proven.sum():.0f} of {n_seeds} | "
        f"{gaps.max():.0e} |",
        flush=True,
    )


def fit(X, y, weight, kind, folder):
    """Fit; rows with weights are in memory, because those in files have none."""
    from primum import ICLSClassifier

    given = {"X": X[: len(y)], "y": y}
    if weight is None:
        given["X_unlabeled"] = KINDS[kind](X[len(y) :], folder)
    else:
        y = np.concatenate([y, np.full(len(X) - len(y), -1)])
        given = {"X": X, "y": y, "sample_weight": weight}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = ICLSClassifier().fit(**given)
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
