"""Tuned ICLS against the same grid search by GridSearchCV: time, scores and choice, in one run.

13 alphas, 4 metrics, 10 folds of the labelled rows, features standardised; minus the Brier score.
One thread; CPU seconds, because the machine may be shared. The final fit and, for ICLSClassifierCV,
the tuned supervised twin are included. Data sets that are not available are skipped.
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from primum import ICLSClassifier, ICLSClassifierCV
from primum.reading.folds import SemiSupervisedSplit
from primum_lab.datasets import DatasetError, load

LABELED = {"wdbc": 60, "coil2": 246}
METRICS = (0.0, 0.2, 0.5, 1.0)
FOLDS = 10


def problem(name, n_labeled, seed=0):
    """Return standardised rows and labels, most of them unknown."""
    dataset = load(name)
    X, y = StandardScaler().fit_transform(dataset.X), dataset.codes.copy()
    y[np.random.default_rng(seed).permutation(len(y))[n_labeled:]] = -1
    return X, y


def timed(search, X, y):
    """Return the fitted search and its CPU seconds."""
    start = time.process_time()
    search.fit(X, y)
    return search, time.process_time() - start


def compare(name, n_labeled, repeats):
    """Print one line: both times, their ratio, the largest difference of scores, the choices."""
    X, y = problem(name, n_labeled)
    tuned = ICLSClassifierCV(metrics=METRICS, cv=FOLDS, n_jobs=1)
    grid = GridSearchCV(
        ICLSClassifier(n_jobs=1),
        {"alpha": tuned.alphas, "metric": METRICS},
        cv=SemiSupervisedSplit(FOLDS),
        scoring="neg_brier_score",
        n_jobs=1,
    )
    ICLSClassifierCV((1.0,), (0.0,), cv=2).fit(X, y)  # load and prepare what both use
    seconds = [min(timed(search, X, y)[1] for _ in range(repeats)) for search in (tuned, grid)]
    apart = max(
        np.abs(tuned.cv_results_[key] - grid.cv_results_[key]).max()
        for key in (f"split{number}_test_score" for number in range(FOLDS))
    )
    print(
        f"{name:8s}{n_labeled:4d} labels: {seconds[0]:6.2f} s against {seconds[1]:6.2f} s, "
        f"ratio {seconds[0] / seconds[1]:.3f}; scores differ by at most {apart:.0e}; "
        f"chosen: {tuned.best_params_} and {grid.best_params_}",
        flush=True,
    )


def main():
    """Compare both searches on every data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="runs per timing (1)")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name, n_labeled in LABELED.items():
            try:
                compare(name, n_labeled, options.repeats)
            except DatasetError as missing:
                print(f"left out: {missing}")


if __name__ == "__main__":
    main()
