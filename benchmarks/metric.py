"""The trade-off of the metric s: gain near as many labels as features, harm with few labels.

For data sets with many features, numbers of labels from a quarter to twice the number of features,
and several values of s: the change in test error against the supervised twin, and in how many
splits the squared loss on the test rows is larger than the twin's. No ridge; features are
standardised. Data sets of the catalogue that are not available are skipped.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from primum import ICLSClassifier
from primum.datasets import DatasetError, load

SHARES = (0.0, 0.03, 0.1, 0.2, 0.5, 1.0)
REGIMES = {"d/4": 0.25, "d/2": 0.5, "3d/4": 0.75, "d + 5": 1.0, "2d": 2.0}
NAMES = ("wdbc", "ionosphere", "sonar", "spectf", "g241c", "digit1", "usps", "coil2")
PAIRS = ((2, 5), (4, 9), (3, 8))


def problems():
    """Yield (name, standardised X, labels 0 and 1)."""
    X, y = load_digits(return_X_y=True)
    for one, other in PAIRS:
        chosen = (y == one) | (y == other)
        yield f"digits {one} v. {other}", X[chosen], (y[chosen] == other).astype(int)
    for name in NAMES:
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


def one_split(X, y, n_labeled, seed):
    """Return (error, squared loss) on the test rows of the twin and of every s."""
    known, unknown, test = split(y, n_labeled, np.random.default_rng(seed))
    found = []
    for share in SHARES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = ICLSClassifier(metric=share).fit(X[known], y[known], X_unlabeled=X[unknown])
        for model in (clf.supervised_, clf) if share == SHARES[0] else (clf,):
            score = model.decision_function(X[test]) + 0.5
            found.append((np.mean((score >= 0.5) != y[test]), np.mean((score - y[test]) ** 2)))
    return np.array(found)


def main():
    """Print one table per data set and one over all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--regimes", nargs="+", choices=REGIMES, default=list(REGIMES))
    options = parser.parse_args()
    changes = {regime: [] for regime in options.regimes}
    for name, X, y in problems():
        X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
        d = X.shape[1]
        for regime in options.regimes:
            n_labeled = d + 5 if regime == "d + 5" else max(6, round(REGIMES[regime] * d))
            if n_labeled > 0.6 * len(y):
                continue
            tasks = (delayed(one_split)(X, y, n_labeled, seed) for seed in range(options.splits))
            found = np.stack(Parallel(n_jobs=-1)(tasks))
            error = 100 * (found[:, 1:, 0] - found[:, :1, 0])
            worse = found[:, 1:, 1] > found[:, :1, 1] * (1 + 1e-6)
            changes[regime].append((error.mean(axis=0), 100 * worse.mean(axis=0)))
            print(
                f"{name:14s} {n_labeled:4d} labels, twin {100 * found[:, 0, 0].mean():5.1f}%:",
                "  ".join(f"{value:+6.1f}" for value in error.mean(axis=0)),
                flush=True,
            )
    print("\nMean change in error (points), and splits with a larger squared loss than the twin's")
    print("s     " + "".join(f"{regime:>16s}" for regime in changes))
    for i, share in enumerate(SHARES):
        cells = [np.mean([(e[i], w[i]) for e, w in changes[r]], axis=0) for r in changes]
        print(f"{share:<6}" + "".join(f"{e:+9.1f}, {w:3.0f}%" for e, w in cells))


if __name__ == "__main__":
    main()
