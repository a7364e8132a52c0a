"""What the safe choice costs, as a multiple of LogisticRegressionCV on the labelled rows.

200 labelled and 4000 unlabelled rows, 30 features, two Gaussian classes; then 100 000 unlabelled
rows, with the peak memory of the process. One thread; CPU seconds, because the machine may be
shared.
"""

import argparse
import resource
import time

import numpy as np
from threadpoolctl import threadpool_limits

from primum import SafeClassifier
from primum._sklearn import logistic_regression_cv

LABELED, FEATURES = 200, 30
SIZES = (4000, 100_000)


def problem(n_unlabeled, seed=0):
    """Return rows and labels, most of them unknown, and all labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, LABELED + n_unlabeled)
    X = rng.normal(size=(len(truth), FEATURES)) + 0.3 * truth[:, None]
    return X, np.where(np.arange(len(truth)) < LABELED, truth, -1), truth


def cpu_seconds(fit, repeats=1):
    """Return the least CPU time of a function."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        fit()
        found.append(time.process_time() - start)
    return min(found)


def measure(n_unlabeled):
    """Print the times of both, their ratio, the peak memory, and what was approximated."""
    X, y, truth = problem(n_unlabeled)
    known = y >= 0
    tuned = logistic_regression_cv(Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000)
    clf = SafeClassifier(random_state=0, n_jobs=1)
    reference = cpu_seconds(lambda: tuned.fit(X[known], y[known]), 5)
    seconds = cpu_seconds(lambda: clf.fit(X, y))
    wrong = [np.mean(model.predict(X[~known]) != truth[~known]) for model in (tuned, clf)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{n_unlabeled} unlabelled rows: {seconds:.1f} s, {seconds / reference:.0f} times "
        f"LogisticRegressionCV ({reference:.2f} s); errors {wrong[1]:.3f} and {wrong[0]:.3f}; peak "
        f"memory {peak:.2f} GB",
        flush=True,
    )
    for name, one in zip(clf.report_["model"], clf.report_["seconds"], strict=True):
        if one is not None:
            print(f"    {name:24s}{one:7.2f} s (wall-clock)")
    print("   ", " ".join(clf.notes_))


def main():
    """Measure both sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="unlabelled rows")
    with threadpool_limits(1):
        for n_unlabeled in parser.parse_args().sizes:
            measure(n_unlabeled)


if __name__ == "__main__":
    main()
