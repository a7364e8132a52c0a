"""What decision rules cost on hidden rows, where the positive class is rare.

    python lab/benchmarks/decision_rules.py --draws 8

The positive rows of every data set are thinned out to 5, 10 or 25 %. Of all rows, 60 or 200 are
labelled at random; the rules are chosen on their out-of-fold scores, and judged on the others.
Costs are relative to the cheapest class for every row: 1 is no better than guessing. It takes some
minutes.
"""

import argparse
from itertools import product

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from primum import LeastSquaresClassifier
from primum.comparison.plan import rng_for
from primum.judging.objectives import read_objective, tuned_rule, untuned_rule
from primum_lab.datasets import load

PAPER = ("diabetes", "haberman", "ionosphere", "mammography", "parkinsons", "spectf")
PAPER += ("transfusion", "usps", "digit1", "g241c")
SHARES, SIZES, COSTS = (0.05, 0.1, 0.25), (60, 200), (1, 5, 20)
MODELS = {
    "logistic": LogisticRegression(C=0.1, max_iter=500),
    "ridge": LeastSquaresClassifier(alpha=0.3),
    "trees": ExtraTreesClassifier(60, min_samples_leaf=2, random_state=0),
}
CLASSES = np.array([0, 1])


def read(name):
    """Return rows, and whether each is positive: the rarer class, or one of the digits."""
    if name.startswith("digits"):
        X, digit = load_digits(return_X_y=True)
        return X, digit == int(name[-1])
    if name == "breast cancer":
        X, benign = load_breast_cancer(return_X_y=True)
        return X, benign == 0
    dataset = load(name)
    return dataset.X, dataset.codes == np.bincount(dataset.codes).argmin()


def drawn(positive, share, n_labeled, rng):
    """Return labelled and hidden rows with a share of positive ones; None if there are too few."""
    yes, no = (rng.permutation(np.flatnonzero(positive == kind)) for kind in (True, False))
    n_yes = min(len(yes), int(len(no) * share / (1 - share)))
    n_no = min(len(no), int(n_yes * (1 - share) / share))
    rows = rng.permutation(np.concatenate([yes[:n_yes], no[:n_no]]))[:3000]
    parts = rows[:n_labeled], rows[n_labeled:]
    enough = len(rows) >= 1.5 * n_labeled and min(positive[part].sum() for part in parts) >= 3
    return parts if enough else None


def least_observed(scores, codes, miss):
    """Return the threshold with the least observed cost, as is often done."""
    values = np.append(np.unique(scores), np.inf)
    missed = np.array([np.sum(codes[scores < value] == 1) for value in values])
    alarms = np.array([np.sum(codes[scores >= value] == 0) for value in values])
    return values[np.argmin(miss * missed + alarms)]


def out_of_fold(model, X, codes, seed):
    """Return held-out scores of the rows, their classes and their numbers."""
    n_folds = min(5, int(codes.sum()))
    folds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=2, random_state=seed)
    parts = [
        (clone(model).fit(X[train], codes[train]).predict_proba(X[test]), test)
        for train, test in folds.split(X, codes)
    ]
    rows = np.concatenate([test for _, test in parts])
    return np.concatenate([scores for scores, _ in parts]), codes[rows], rows


def costs_of(model, X, codes, hidden, truth, seed):
    """Yield the cost of a miss, the rule, and its cost on hidden rows relative to guessing."""
    scores, known, rows = out_of_fold(model, X, codes, seed)
    own = clone(model).fit(X, codes).predict_proba(hidden)[:, 1]
    for miss in COSTS:
        objective = read_objective(None, CLASSES, {(1, 0): miss})
        guessing = min(miss * truth.mean(), 1 - truth.mean())
        for rule, threshold in (
            ("1/2", 0.5),
            ("scores as probabilities", untuned_rule(objective, codes, 2).threshold),
            ("least observed cost", least_observed(scores[:, 1], known, miss)),
            ("calibrated, shrunken", tuned_rule(objective, scores, known, rows).threshold),
        ):
            found = own >= threshold
            cost = miss * np.mean(truth & ~found) + np.mean(~truth & found)
            yield miss, rule, cost / guessing


def main():
    """Print mean costs by the cost of a miss and by the number of labels."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--data", nargs="*", default=["breast cancer", "digits 3", *PAPER])
    asked, found = parser.parse_args(), []
    for name in asked.data:
        X, positive = read(name)
        for share, n_labeled, seed in product(SHARES, SIZES, range(asked.draws)):
            parts = drawn(positive, share, n_labeled, rng_for(seed, name, str(share), n_labeled))
            if parts is None:
                continue
            scaler = StandardScaler().fit(X[np.concatenate(parts)])
            known, hidden = (scaler.transform(X[part]) for part in parts)
            codes, truth = positive[parts[0]].astype(int), positive[parts[1]]
            for model in MODELS.values():
                lines = costs_of(model, known, codes, hidden, truth, seed)
                found += [(n_labeled, *line) for line in lines]
    table = pd.DataFrame(found, columns=["labels", "miss", "rule", "cost"])
    for column in ("miss", "labels"):
        print(table.pivot_table(index="rule", columns=column, values="cost").round(3), "\n")


if __name__ == "__main__":
    main()
