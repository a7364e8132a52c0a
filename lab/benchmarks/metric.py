"""The trade-off of the metric: gain near as many labels as features, harm with few labels.

Both tables show the change in test error against the supervised twin, in points.

shares      eleven sets with many features, labels from a quarter to twice the number of features,
            several values of s, and in how many splits the squared loss on the test rows is larger
            than the twin's
auto        all sixteen sets of the paper, labels in proportion to the number of coefficients
            (features and intercept), what ``metric="auto"`` chooses between, and in brackets the
            set with the largest change

Features that are not constant are standardised. Data sets of the catalogue that are not available
are skipped, as are those of too few rows.
"""

import argparse
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from primum import ICLSClassifier
from primum_lab.datasets import CATALOGUE, DatasetError, load

WITH_MANY_FEATURES = (
    *("wdbc", "ionosphere", "sonar", "spectf"),
    *("g241c", "digit1", "usps", "coil2"),
)
PAIRS = ((2, 5), (4, 9), (3, 8))


@dataclass(frozen=True)
class Table:
    """What a table compares: metrics, and numbers of labels for d features.

    A regime is a factor, and what is added to d before it is multiplied. There are at least
    ``fewest`` labels, and at most ``most`` of the rows have one.
    """

    metrics: tuple[str | float, ...]
    regimes: Mapping[str, tuple[float, int]]
    fewest: int
    most: float


TABLES = {
    "shares": Table(
        (0.0, 0.03, 0.1, 0.2, 0.5, 1.0),
        {"d/4": (0.25, 0), "d/2": (0.5, 0), "3d/4": (0.75, 0), "d + 5": (1.0, 5), "2d": (2.0, 0)},
        fewest=6,
        most=0.6,
    ),
    "auto": Table(
        ("labeled", 0.2, 0.5, "auto"),
        {"1/4": (0.25, 1), "1/2": (0.5, 1), "1": (1.0, 1), "2": (2.0, 1), "4": (4.0, 1)},
        fewest=2,
        most=0.7,
    ),
}


def problems(table):
    """Yield (name, X, labels 0 and 1)."""
    if table == "shares":
        X, y = load_digits(return_X_y=True)
        for one, other in PAIRS:
            chosen = (y == one) | (y == other)
            yield f"digits {one} v. {other}", X[chosen], (y[chosen] == other).astype(int)
    for name in WITH_MANY_FEATURES if table == "shares" else CATALOGUE:
        try:
            dataset = load(name)
        except DatasetError as missing:
            print(f"left out: {missing}")
            continue
        yield name, dataset.X, dataset.codes


def split(y, n_labeled, rng):
    """Return labelled, unlabelled and test rows; both classes are labelled."""
    order = rng.permutation(len(y))
    while len(np.unique(y[order[:n_labeled]])) < 2:
        order = rng.permutation(len(y))
    known, rest = order[:n_labeled], order[n_labeled:]
    return known, rest[: len(rest) // 2], rest[len(rest) // 2 :]


def one_split(X, y, n_labeled, metrics, alpha, seed):
    """Return (error, squared loss) on the test rows of the twin and of every metric."""
    known, unknown, test = split(y, n_labeled, np.random.default_rng(seed))
    found = []
    for number, metric in enumerate(metrics):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = ICLSClassifier(alpha, metric=metric)
            clf.fit(X[known], y[known], X_unlabeled=X[unknown])
        for model in (clf.supervised_, clf) if number == 0 else (clf,):
            score = model.decision_function(X[test]) + 0.5
            found.append((np.mean((score >= 0.5) != y[test]), np.mean((score - y[test]) ** 2)))
    return np.array(found)


def measure(options):
    """Return, per regime, the changes of error and the shares of larger losses of every set."""
    table = TABLES[options.table]
    changes = {regime: {} for regime in table.regimes}
    for name, X, y in problems(options.table):
        X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
        for regime, (factor, added) in table.regimes.items():
            n_labeled = max(table.fewest, round(factor * (X.shape[1] + added)))
            if n_labeled > table.most * len(y):
                continue
            tasks = (
                delayed(one_split)(X, y, n_labeled, table.metrics, options.alpha, seed)
                for seed in range(options.splits)
            )
            found = np.stack(Parallel(n_jobs=options.jobs)(tasks))
            error = 100 * (found[:, 1:, 0] - found[:, :1, 0]).mean(axis=0)
            worse = 100 * (found[:, 1:, 1] > found[:, :1, 1] * (1 + 1e-6)).mean(axis=0)
            changes[regime][name] = error, worse
            print(
                f"{name:14s} {n_labeled:4d} labels, twin {100 * found[:, 0, 0].mean():5.1f}%:",
                "  ".join(f"{value:+6.1f}" for value in error),
                flush=True,
            )
    return changes


def cell(sets, number, with_worst):
    """Return the mean over all sets of a regime, in words."""
    mean, losses = (np.mean([each[i][number] for each in sets.values()]) for i in (0, 1))
    if not with_worst:
        return f"{mean:+.1f}, {losses:.0f}%"
    worst = max(sets, key=lambda name: sets[name][0][number])
    return f"{mean:+.1f} ({sets[worst][0][number]:+.1f} {worst})"


def main():
    """Print the change of every data set, and the means over all of them as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=TABLES, default="auto")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=0.0)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    changes = measure(options)
    print(f"\n| metric | {' | '.join(changes)} |")
    print("| --- " * (len(changes) + 1) + "|")
    for number, metric in enumerate(TABLES[options.table].metrics):
        cells = [cell(changes[regime], number, options.table == "auto") for regime in changes]
        print(f"| {metric!r} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
