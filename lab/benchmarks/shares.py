"""Class shares of the unlabelled rows, and weights for labels that are not a random sample.

    python lab/benchmarks/shares.py coverage --draws 500
    python lab/benchmarks/shares.py label-shift --draws 500
    python lab/benchmarks/shares.py hidden --draws 100
    python lab/benchmarks/shares.py violated --draws 150
    python lab/benchmarks/shares.py weights --draws 150

*coverage*, *label-shift*: how often 95% intervals contain the share among the unlabelled rows, in
simulations in which their assumption holds. *hidden*: the same on data sets whose labels are
hidden. *violated*: what every estimator says under every kind of shift. *weights*: what weights do
to the error on the unlabelled rows, and to its estimate on held-out rows. Each prints a table in
Markdown, and takes some minutes.
"""

import argparse

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from primum.comparison.plan import rng_for
from primum.judging.drift import covariate_weights, label_weights
from primum.judging.shares import COVARIATE, LABEL, RANDOM, CrossFittedScores, estimate_shares
from primum_lab.datasets import load

SIZES = (30, 100, 400)
N_UNLABELED, N_FEATURES, N_FOLDS = 1000, 5, 5
# How far apart the classes are: two of them have errors of about 24% and 2%.
SEPARATIONS = (1.0, 3.0)
# Shares among the labelled and among the unlabelled rows.
AT_RANDOM = {"1/2": (0.5, 0.5), "1/10": (0.9, 0.1), "three classes": (0.5, 0.3, 0.2)}
SHIFTED = {
    "1/2 to 1/10": ((0.5, 0.5), (0.9, 0.1)),
    "1/5 to 1/2": ((0.8, 0.2), (0.5, 0.5)),
    "1/2 to 1/2": ((0.5, 0.5), (0.5, 0.5)),
    "three classes": ((0.34, 0.33, 0.33), (0.6, 0.3, 0.1)),
}
DATA = ("digits", "breast cancer", "digit1", "usps", "g241c", "mammography", "diabetes")
MODEL = LogisticRegression(max_iter=1000)
# Fewer rows of a class cannot be split into folds.
LEAST_OF_CLASS = 2


def draw_rows(rng, n_rows, shares, separation):
    """Return rows of Gaussian classes, one axis for each, and their classes."""
    codes = rng.choice(len(shares), n_rows, p=shares)
    means = separation * np.eye(len(shares), N_FEATURES)
    return rng.normal(size=(n_rows, N_FEATURES)) + means[codes], codes


def fit(X, y, weight=None):
    """Return the fitted model, with weights if there are any."""
    return MODEL.fit(X, y, sample_weight=weight)


def cross_fitted(X, y, others, rng, n_classes, weight=None):
    """Return the scores of all folds; constant ones if a class has too few rows to be learnt."""
    counts = np.bincount(y, minlength=n_classes)
    if counts.min() < LEAST_OF_CLASS:
        scores = np.tile(counts / len(y), (len(y) + len(others), 1))
        fold_of = np.zeros(len(y), dtype=int)
        return CrossFittedScores(y, scores[: len(y)], fold_of, scores[None, len(y) :], len(others))
    n_folds = min(N_FOLDS, counts.min())
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    scores, fold_of, unlabeled = np.zeros((len(y), n_classes)), np.zeros(len(y), dtype=int), []
    for number, (train, test) in enumerate(folds.split(X, y)):
        model = fit(X[train], y[train], None if weight is None else weight[train])
        scores[test], fold_of[test] = model.predict_proba(X[test]), number
        unlabeled.append(model.predict_proba(others))
    return CrossFittedScores(y, scores, fold_of, np.array(unlabeled), len(others), weight)


def judged(shares, hidden):
    """Return, for the last class, whether the interval contains the truth, its width, the error."""
    truth = np.mean(hidden == len(shares.classes) - 1)
    last = shares.classes[-1]
    contained = last.low <= truth <= last.high
    return {
        "contained": 100 * contained,
        "width": 100 * (last.high - last.low),
        "too high": 100 * (last.estimate - truth),
    }


def simulated(rng, shift, n_labeled, labeled, unlabeled, separation):
    """Return what an estimator finds in one draw in which its assumption holds."""
    while True:
        X, y = draw_rows(rng, n_labeled, labeled, separation)
        # Labels at random may lack a class; those that were collected by class do not.
        counts = np.bincount(y, minlength=len(labeled))
        if shift == RANDOM or counts.min() >= LEAST_OF_CLASS + 1:
            break
    others, hidden = draw_rows(rng, N_UNLABELED, unlabeled, separation)
    scored = cross_fitted(X, y, others, rng, len(labeled))
    return judged(estimate_shares(scored, np.arange(len(labeled)), shift), hidden)


def coverage(draws):
    """Yield rows of the simulations of labels at random."""
    return assumed(draws, [(RANDOM, name, shares, shares) for name, shares in AT_RANDOM.items()])


def shifted_coverage(draws):
    """Yield rows of the simulations of label shift."""
    return assumed(draws, [(LABEL, name, *pair) for name, pair in SHIFTED.items()])


def assumed(draws, cases):
    """Yield rows of simulations in which the assumption holds."""
    for shift, name, labeled, unlabeled in cases:
        for size in SIZES:
            for separation in SEPARATIONS:
                rng = rng_for(0, "shares", shift, name, size, separation)
                for _ in range(draws):
                    found = simulated(rng, shift, size, labeled, unlabeled, separation)
                    yield {"shares": name, "labels": size, "separation": separation, **found}


def read(name):
    """Return the rows of a data set and their classes as 0, 1, ..."""
    if name == "digits":  # the share of one digit of ten
        X, y = load_digits(return_X_y=True)
        return scale(X), (y == 8).astype(int)
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return scale(X), y
    dataset = load(name)
    return scale(dataset.X), dataset.codes


def hidden(draws):
    """Yield rows of data sets with hidden labels, drawn at random or by class."""
    for name in DATA:
        X, y = read(name)
        for size in SIZES[:2]:
            rng = rng_for(0, "hidden", name, size)
            for _ in range(draws):
                yield {"data": name, "labels": size, **_hidden_draw(rng, X, y, size)}


def _hidden_draw(rng, X, y, size):
    """Return what both estimators find: labels at random, and as many of either class."""
    order = rng.permutation(len(y))
    known, others = order[:size], order[size:]
    scored = cross_fitted(X[known], y[known], X[others], rng, 2)
    found = judged(estimate_shares(scored, np.arange(2)), y[others])
    half = np.concatenate([order[y[order] == code][: size // 2] for code in (0, 1)])
    rest = np.setdiff1d(order, half)
    scored = cross_fitted(X[half], y[half], X[rest], rng, 2)
    shifted = judged(estimate_shares(scored, np.arange(2), LABEL), y[rest])
    return found | {f"{key}, by class": value for key, value in shifted.items()}


def population(rng, kind, n_labeled):
    """Return labelled rows, their classes, unlabelled rows, their classes under a kind of shift."""
    labeled = (0.5, 0.5)
    if kind in ("none", "label"):
        others = (0.8, 0.2) if kind == "label" else labeled
        return *draw_rows(rng, n_labeled, labeled, 2.0), *draw_rows(rng, N_UNLABELED, others, 2.0)
    X, y = draw_rows(rng, 20 * n_labeled, labeled, 2.0)
    more, hidden_codes = draw_rows(rng, N_UNLABELED, labeled, 2.0)
    # Rows on one side of a feature are labelled more often; with "both", so are those of a class.
    odds = X[:, 0] + X[:, 2] if kind == "covariate" else X[:, 0] + 1.5 * y
    some = rng.choice(len(y), n_labeled, replace=False, p=np.exp(odds) / np.exp(odds).sum())
    return X[some], y[some], more, hidden_codes


KINDS = ("none", "label", "covariate", "both")


def weights_for(shift, X, y, others, rng):
    """Return the weights of a kind of shift; None: all are 1."""
    if shift == LABEL:
        scored = cross_fitted(X, y, others, rng, 2)
        return label_weights(y, estimate_shares(scored, np.arange(2), LABEL)).weight
    return covariate_weights(X, others).weight if shift == COVARIATE else None


def violated(draws):
    """Yield what every estimator of the shares says under every kind of shift."""
    for kind in KINDS:
        rng = rng_for(0, "violated", kind)
        for _ in range(draws):
            X, y, others, hidden_codes = population(rng, kind, 100)
            for shift in (RANDOM, LABEL, COVARIATE):
                weight = weights_for(COVARIATE, X, y, others, rng) if shift == COVARIATE else None
                scored = cross_fitted(X, y, others, rng, 2, weight)
                found = judged(estimate_shares(scored, np.arange(2), shift), hidden_codes)
                yield {"truth": kind, "assumed": shift, **found}


def weights(draws):
    """Yield the error of weighted models on the unlabelled rows, and its estimate."""
    for kind in KINDS:
        rng = rng_for(0, "weights", kind)
        for _ in range(draws):
            X, y, others, hidden_codes = population(rng, kind, 100)
            for shift in (RANDOM, LABEL, COVARIATE):
                weight = weights_for(shift, X, y, others, rng)
                scored = cross_fitted(X, y, others, rng, 2, weight)
                wrong = scored.scores.argmax(axis=1) != y
                error = np.mean(fit(X, y, weight).predict(others) != hidden_codes)
                yield {
                    "truth": kind,
                    "assumed": shift,
                    "error": 100 * error,
                    "held out, too high": 100 * (np.average(wrong, weights=weight) - error),
                }


PARTS = {
    "coverage": (coverage, ["shares", "labels", "separation"]),
    "label-shift": (shifted_coverage, ["shares", "labels", "separation"]),
    "hidden": (hidden, ["data", "labels"]),
    "violated": (violated, ["truth", "assumed"]),
    "weights": (weights, ["truth", "assumed"]),
}


def main():
    """Draw, and print a table in per cent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--draws", type=int, default=100)
    arguments = parser.parse_args()
    part, by = PARTS[arguments.part]
    with threadpool_limits(1), config_context(assume_finite=True, skip_parameter_validation=True):
        results = pd.DataFrame(part(arguments.draws))
    means = results.groupby(by, sort=False).mean(numeric_only=True).round(1).reset_index()
    print(f"| {' | '.join(means)} |\n|{' --- |' * len(means.columns)}")
    for row in means.itertuples(index=False):
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
