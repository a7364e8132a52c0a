"""How often the interval of the chosen model's error contains the error on hidden rows.

    python lab/benchmarks/model_error.py --draws 20

Of every data set some rows are labelled at random. Six classifiers are cross-validated on these,
as a comparison does it, and the one with the lowest error is chosen; the truth is its error, fitted
to all labelled rows, on the others. The table shows how often the 90% interval contains the truth,
with and without the correction for the choice, its mean width, and by how much the error of the
chosen one is too low. The second half is the same for the balanced error. It takes some minutes.
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from primum.comparison.plan import rng_for
from primum.judging.intervals import n_counted, n_independent, rate_interval, tails_of
from primum_lab.datasets import load

DATA = ("digits", "wdbc", "diabetes", "transfusion", "mammography", "usps", "digit1", "coil2")
SIZES = (40, 100)
LEVEL, N_REPEATS, N_FOLDS = 0.9, 3, 5
METHODS = (
    RidgeClassifierCV(np.logspace(-2, 3, 6)),
    LogisticRegression(max_iter=1000),
    ExtraTreesClassifier(30, random_state=0),
    KNeighborsClassifier(5),
    KNeighborsClassifier(1),
    GaussianNB(var_smoothing=1e-3),
)


def read(name):
    """Return the rows of a data set and their classes as 0, 1, ..."""
    if name == "digits":
        return load_digits(return_X_y=True)
    dataset = load(name)
    return dataset.X, dataset.codes


def labeled_first(y, n_labeled, rng):
    """Return the rows in random order; at least two of every class are among the first."""
    while True:
        order = rng.permutation(len(y))
        if np.bincount(y[order[:n_labeled]], minlength=y.max() + 1).min() > 1:
            return order


def cross_validated(X, y, seed):
    """Return the share of wrong predictions of every row by every method, and that of training."""
    n_folds = min(N_FOLDS, np.bincount(y).min())
    wrong = np.zeros((len(y), len(METHODS)))
    for repeat in range(N_REPEATS):
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
        for train, test in folds.split(X, y):
            for number, method in enumerate(METHODS):
                model = make_pipeline(StandardScaler(), method).fit(X[train], y[train])
                wrong[test, number] += model.predict(X[test]) != y[test]
    return wrong / N_REPEATS, 1 - 1 / n_folds


def outcomes(name, n_labeled, draw):
    """Yield a row of results for the error and one for the balanced error."""
    X, y = read(name)
    rng = rng_for(0, "model error", name, n_labeled, draw)
    order = labeled_first(y, n_labeled, rng)
    known, hidden = order[:n_labeled], order[n_labeled:]
    wrong, share = cross_validated(X[known], y[known], int(rng.integers(2**31 - N_REPEATS)))
    plain, counts = np.zeros(n_labeled, dtype=int), np.bincount(y[known])
    balance = n_labeled / (len(counts) * counts[y[known]])
    for measure, strata, weight in (("error", plain, 1.0), ("balanced", y[known], balance)):
        losses = wrong * np.reshape(weight, (-1, 1))
        best = int(losses.mean(axis=0).argmin())
        model = make_pipeline(StandardScaler(), METHODS[best]).fit(X[known], y[known])
        predicted = model.predict(X[hidden])
        right = balanced_accuracy_score(y[hidden], predicted)
        truth = np.mean(predicted != y[hidden]) if measure == "error" else 1 - right
        loss, rows = losses[:, best].mean(), n_counted(wrong[:, best], strata, None, share)
        found = {"measure": measure, "data": name, "labels": n_labeled, "too_low": truth - loss}
        for choice, n_methods in (("before", 1.0), ("after", n_independent(losses))):
            low, high = rate_interval(loss, rows, tails_of(LEVEL, n_methods))
            found |= {
                f"contained_{choice}": low <= truth <= high,
                f"above_{choice}": truth > high,
                f"width_{choice}": high - low,
            }
        yield found


def main():
    """Draw, and print the tables in per cent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--data", nargs="+", default=DATA)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        results = pd.DataFrame(
            row
            for draw in range(arguments.draws)
            for name in arguments.data
            for size in SIZES
            for row in outcomes(name, size, draw)
        )
    for by in (["measure", "data", "labels"], ["measure", "labels"], ["measure"]):
        means = results.groupby(by, sort=False).mean(numeric_only=True).mul(100).round(1)
        means.insert(0, "draws", results.groupby(by, sort=False).size())
        print(means.drop(columns={"data", "labels"} & set(means)).to_string(), end="\n\n")


if __name__ == "__main__":
    main()
