"""What labels that were not drawn at random do to a verdict: held out, or only trained on.

    python lab/benchmarks/chosen_labels.py --repeats 1000

In every repeat a problem with known truth is drawn. The baseline is a ridge regression on the
labelled rows, and the challenger the mean of its scores and those of a candidate that uses
unlabelled rows, as a stack is: label spreading, or a ridge regression on principal components of
all rows. Of the unlabelled rows on which the two predict different classes, some are labelled in
random order: the chosen labels. Both models are then fitted to

* the labels drawn at random alone ("none"),
* these and the chosen ones, which are held out like the others ("held out"),
* the same, but chosen ones only train ("trained on"),
* these and as many further labels, drawn at random, that only train ("random").

A fifth way is to leave chosen labels out of the comparison and to fit the final models to them too
("left out"): the claims are those of "none", and the truth is that of "trained on". The models are
judged by the folds and the statistics of ``primum.compare``, and by fresh rows, the truth.
The chosen rows were found by models that have seen the labels which are held out later; the last
way shows what a comparison is like without any choice. The tables have, in points of error and with
standard errors: how much the held-out errors of the challenger and of the baseline exceed the true
ones, the same of their difference as observed and as estimated by the verdict, how often its 90%
interval contains the truth, overstates the gain or understates it, and how often help is claimed,
and falsely so.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from primum.comparison.plan import rng_for
from primum.judging.held_out import HeldOut
from primum.judging.losses import Predictions, read_scoring
from primum.judging.words import answer_of
from primum.reading.folds import judging_folds
from primum.reading.known import read_chosen
from primum.reading.labels import read_labels
from primum_lab.scenarios import helpful_clusters, helpful_manifold, useless_linear

# The scenarios, and the candidate of each.
SCENARIOS = {
    "useless": (useless_linear, "spreading"),
    "clusters": (helpful_clusters, "components"),
    "manifold": (helpful_manifold, "spreading"),
}
N_LABELED, N_UNLABELED, N_CHOSEN, N_FRESH = 40, 500, 30, 2000
SIZES = (N_LABELED, N_UNLABELED, N_CHOSEN, N_FRESH)
WAYS = ("none", "held out", "trained on", "random")
RIDGE, N_NEIGHBORS, SPREAD, N_COMPONENTS = 0.3, 8, 0.9, 3
EQUIVALENCE = 0.01
ERROR = read_scoring("accuracy", np.array([0, 1]))


@dataclass(frozen=True)
class Ridge:
    """Scores by least squares: what is linear in features is fitted to the rows train."""

    features: np.ndarray

    def scores(self, train, codes):
        """Return the scores of all rows."""
        Z = np.column_stack([self.features, np.ones(len(self.features))])
        own, penalty = Z[train], RIDGE * len(train) * np.eye(Z.shape[1])
        penalty[-1, -1] = 0.0
        return Z @ np.linalg.solve(own.T @ own + penalty, own.T @ codes)


@dataclass(frozen=True)
class Spreading:
    """Scores by label spreading; those of fresh rows are the means of their neighbours."""

    reached: np.ndarray  # how much every known row gets of every other
    near: np.ndarray

    def scores(self, train, codes):
        """Return the scores of all rows; a row that none reaches has the share of the class."""
        mass = self.reached[:, train]
        total = mass.sum(axis=1)
        known = np.where(total > 1e-12, mass @ codes / np.maximum(total, 1e-12), codes.mean())
        return np.append(known, known[self.near].mean(axis=1))


def spreading(X, n_known):
    """Return label spreading on a graph of nearest neighbours of the known rows."""
    search = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(X[:n_known])
    graph = search.kneighbors_graph().toarray()
    graph = np.maximum(graph, graph.T)
    root = 1 / np.sqrt(graph.sum(axis=1))
    reached = np.linalg.inv(np.eye(n_known) - SPREAD * root[:, None] * graph * root)
    return Spreading(reached, search.kneighbors(X[n_known:], return_distance=False))


def components(X, n_known):
    """Return ridge regression on the first principal components of the known rows."""
    V = np.linalg.svd(X[:n_known] - X[:n_known].mean(axis=0), full_matrices=False)[2]
    Z = X @ V[:N_COMPONENTS].T
    return Ridge(Z / Z[:n_known].std(axis=0))


def draw_of(name, repeat, seed, sizes=SIZES):
    """Return a row of the table for each way to use further labels."""
    n_labeled, n_unlabeled, n_chosen, n_fresh = sizes
    rng, n_known = rng_for(seed, "chosen labels", name, repeat), n_labeled + n_unlabeled
    draw, candidate = SCENARIOS[name]
    X, truth = draw(rng, n_known + n_fresh)
    X = (X - X[:n_known].mean(axis=0)) / X[:n_known].std(axis=0)
    models = Ridge(X), {"spreading": spreading, "components": components}[candidate](X, n_known)
    first, others = fitted(models, np.arange(n_labeled), truth)
    differ = np.flatnonzero(first[n_labeled:n_known] != others[n_labeled:n_known])
    chosen = n_labeled + rng.permutation(differ)[:n_chosen]
    drawn = n_labeled + rng.permutation(n_unlabeled)[: len(chosen)]
    more = {"none": chosen[:0], "held out": chosen, "trained on": chosen, "random": drawn}
    rows = []
    for way in WAYS:
        y = np.full(n_known, -1)
        y[:n_labeled], y[more[way]] = truth[:n_labeled], truth[more[way]]
        marked = None if way == "held out" else more[way]
        rows.append({"scenario": name, "repeat": repeat, "way": way, "n_differ": len(differ)})
        rows[-1] |= judged(models, y, truth, marked, repeat)
    none, trained = rows[0], rows[WAYS.index("trained on")]
    truth_of = {key: trained[key] for key in ("true", "true_baseline")}
    return [*rows, {**none, **truth_of, "way": "left out"}]


def fitted(models, train, truth):
    """Return the classes of all rows by the challenger and by the baseline."""
    baseline, candidate = (model.scores(train, truth[train]) for model in models)
    return (baseline + candidate) / 2 >= 0.5, baseline >= 0.5


def judged(models, y, truth, chosen, seed):
    """Return what a comparison claims, and what is true."""
    labels = read_labels(y, len(y))
    mask = read_chosen(chosen, labels)
    folds = judging_folds(5, labels, None, seed, mask)
    own, others = (
        np.concatenate(part)
        for part in zip(
            *(
                [
                    codes[labels.labeled[fold.test]]
                    for codes in fitted(models, labels.labeled[fold.train], truth)
                ]
                for fold in folds
            ),
            strict=True,
        )
    )
    known = None if mask is None else mask[labels.labeled]
    held_out = HeldOut(folds, labels.codes, labels.classes, chosen=known)
    found = [
        Predictions(labels.codes[held_out.rows], part.astype(int), None) for part in (own, others)
    ]
    both = fitted(models, labels.labeled, truth)
    fresh = slice(len(y), None)
    n_different = int(np.sum(both[0][labels.unlabeled] != both[1][labels.unlabeled]))
    posterior = held_out.posterior(*found, ERROR, n_different, len(labels.unlabeled))
    low, high = posterior.interval(0.9)
    true, of_baseline = (float(np.mean(codes[fresh] != truth[fresh])) for codes in both)
    return {
        "held_out": float(np.mean(found[0].predicted != found[0].truth)),
        "held_out_baseline": float(np.mean(found[1].predicted != found[1].truth)),
        "true": true,
        "true_baseline": of_baseline,
        "change": posterior.interval(0.0)[0],
        "low": low,
        "high": high,
        "answer": answer_of(posterior.probabilities),
    }


BIASES = ["challenger", "baseline", "observed", "estimated"]
SHARES = ["contains", "overstates", "understates", "help", "false"]


def table_of(rows):
    """Return the rows as a table, with what is wrong in points of error."""
    table = pd.DataFrame(rows)
    true = table["true"] - table["true_baseline"]
    observed = table["held_out"] - table["held_out_baseline"]
    return table.assign(
        true_change=100 * true,
        challenger=100 * (table["held_out"] - table["true"]),
        baseline=100 * (table["held_out_baseline"] - table["true_baseline"]),
        observed=100 * (observed - true),
        estimated=100 * (table["change"] - true),
        contains=(table["low"] <= true) & (true <= table["high"]),
        overstates=table["high"] < true,
        understates=table["low"] > true,
        help=table["answer"] == "help",
        false=(table["answer"] == "help") & (true > -EQUIVALENCE),
    )


def summary(table):
    """Return means by scenario and way; the standard error of a mean follows it."""
    groups = table.groupby(["scenario", "way"], sort=False)
    means, errors = groups[BIASES].mean(), groups[BIASES].sem()
    shown = {
        name: [f"{m:+.2f} ({s:.2f})" for m, s in zip(means[name], errors[name], strict=True)]
        for name in BIASES
    }
    shares = groups[SHARES].mean().mul(100).round(1)
    found = pd.DataFrame(shown, index=means.index).join(shares)
    return found.assign(
        true=groups["true_change"].mean().round(2),
        error=groups["true"].mean().mul(100).round(1),
        differ=groups["n_differ"].median(),
        draws=groups.size(),
    )


def paired(table):
    """Return what choosing adds to the bias of labels that only train, draw by draw."""
    values = [*BIASES, "contains"]
    wide = table.pivot(index=["scenario", "repeat"], columns="way", values=values)
    parts = {}
    for name in values:
        factor = 100.0 if name == "contains" else 1.0
        ours, others = (wide[name][way].astype(float) for way in ("trained on", "random"))
        groups = (factor * (ours - others)).groupby("scenario")
        means, errors = groups.mean(), groups.sem()
        parts[name] = [f"{m:+.2f} ({s:.2f})" for m, s in zip(means, errors, strict=True)]
    return pd.DataFrame(parts, index=means.index)


def main(arguments=None):
    """Read the options, run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--labeled", type=int, default=N_LABELED)
    parser.add_argument("--scenarios", nargs="*", choices=SCENARIOS, default=list(SCENARIOS))
    given = parser.parse_args(arguments)
    sizes = (given.labeled, *SIZES[1:])
    with threadpool_limits(1):
        rows = [
            row
            for name in given.scenarios
            for repeat in range(given.repeats)
            for row in draw_of(name, repeat, given.seed, sizes)
        ]
    table = table_of(rows)
    print(summary(table).to_string(), "\n")
    print("trained on, minus random labels that only train (points):")
    print(paired(table).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
