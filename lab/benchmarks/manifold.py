"""Laplacian least squares against one Cholesky solve of its kernel matrix, one BLAS thread.

The fit includes the graph and the kernel matrix, the solve neither. Times are processor times, the
smallest of several, and alternate between the two. A further ratio r = gamma / alpha costs a
factorisation of its own, and nothing else.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from primum import LaplacianLeastSquaresClassifier, LaplacianSVMClassifier
from primum.equations import kernel_ridge
from primum.methods.manifold.deformed_kernel import deform_kernel, laplacian_power, neighbor_graph
from primum_lab.datasets import load, z_score

LABELS = 100
DATA = Path(__file__).parents[3] / "shared" / "data"
DATASETS = ("USPS", "Digit1", "COIL2", "g241c", "Ionosphere", "Parkinsons", "Diabetes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--repeats", type=int, default=3, help="fits per timing (3)")
    parser.add_argument("--data-home", type=Path, default=DATA if DATA.exists() else None)
    options = parser.parse_args()
    with threadpool_limits(1):
        print("rows features kernel rank    solve      LS  ratio     SVM  ratio  further r  ratio")
        for n in options.rows:
            for d, gamma in ((2, 1.0), (10, 0.1), (50, 0.02)):
                compare(n, d, gamma, options.repeats)
        many_rows(20_000)
        if options.data_home is not None:
            errors(options.data_home)


def problem(n, d):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + truth[:, None]
    return X, np.where(np.arange(n) < LABELS, truth, -1), truth


def compare(n, d, gamma, repeats):
    X, y, _ = problem(n, d)
    K = rbf_kernel(X, gamma=gamma)
    deformation = deform_kernel(K, laplacian_power(neighbor_graph(X, 10), normalized=True))
    K.flat[:: n + 1] += 0.01
    works = {
        "solve": lambda: cho_solve(cho_factor(K, check_finite=False), y.astype(float)),
        "LS": lambda: LaplacianLeastSquaresClassifier(gamma=gamma).fit(X, y),
        "SVM": lambda: LaplacianSVMClassifier(gamma=gamma).fit(X, y),
        "further": lambda: deformation.at(3.0).features(np.arange(LABELS)),
    }
    times = fastest(works, repeats)
    ratio = {name: seconds / times["solve"] for name, seconds in times.items()}
    print(
        f"{n:5d} {d:5d} {gamma:8.2f} {deformation.features.shape[1]:6d} {times['solve']:7.3f}s"
        f"{times['LS']:7.3f}s {ratio['LS']:6.2f} {times['SVM']:6.3f}s {ratio['SVM']:6.2f}"
        f"{times['further']:9.3f}s {ratio['further']:6.2f}"
    )


def fastest(works, repeats):
    """Return the smallest of several processor times of each work, in seconds."""
    times = dict.fromkeys(works, np.inf)
    for _ in range(repeats):
        for name, work in works.items():
            start = time.process_time()
            work()
            times[name] = min(times[name], time.process_time() - start)
    return times


def many_rows(n):
    X, y, truth = problem(n, 10)
    machine = LaplacianLeastSquaresClassifier(kernel="linear")
    clf = make_pipeline(Nystroem(gamma=0.1, n_components=300, random_state=0), machine)
    start = time.process_time()
    clf.fit(X, y)
    seconds = time.process_time() - start
    print(f"{n} rows, 300 Nystroem features: {seconds:.1f} s, accuracy {clf.score(X, truth):.3f}")


def errors(data_home, alpha=1e-4, gammas=(0.0, 1e-4, 1e-3, 1e-2)):
    """Print the errors of Laplacian least squares with 50 labels, for several penalties."""
    print("gamma", *DATASETS)
    table = np.array([errors_of(name, data_home, alpha, gammas) for name in DATASETS])
    for gamma, row in zip(gammas, table.T, strict=True):
        print(gamma, *(f"{error:.3f}" for error in row))


def errors_of(name, data_home, alpha, gammas):
    dataset = load(name, data_home)
    sample = np.random.default_rng(0).permutation(len(dataset.X))[:700]
    X, truth = z_score(dataset.X)[sample], dataset.codes[sample]
    penalty = laplacian_power(neighbor_graph(X, 10), normalized=True)
    deformation = deform_kernel(rbf_kernel(X), penalty)
    return [mean_error(deformation.at(gamma / alpha), truth, alpha) for gamma in gammas]


def mean_error(deformed, truth, alpha):
    """Return the mean error on the unlabelled rows over four choices of the labelled ones."""
    found = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(truth))
        known, unknown = order[:50], order[50:]
        V, y = deformed.features(known), truth[known].astype(float)
        coef, intercept = kernel_ridge(V @ V.T, y, None, alpha=alpha, fit_intercept=True)
        scores = deformed.features() @ (V.T @ coef) + intercept
        found.append(np.mean((scores[unknown] >= 0.5) != truth[unknown]))
    return np.mean(found)


if __name__ == "__main__":
    main()
