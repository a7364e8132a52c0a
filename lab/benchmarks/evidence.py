"""How often claims are withheld, rightly and falsely, where the labels are not what they seem.

    python lab/benchmarks/evidence.py overlap --draws 20
    python lab/benchmarks/evidence.py mixture --draws 20
    python lab/benchmarks/evidence.py biased --draws 5
    python lab/benchmarks/evidence.py copies --draws 40
    python lab/benchmarks/evidence.py alarms --draws 5
    python lab/benchmarks/evidence.py few-numbers --draws 100

*overlap*: refusals of ``shift="covariate"`` for Gaussian rows whose means are that many standard
deviations apart, and the error of a logistic regression on the unlabelled rows, true and estimated
with the weights. *mixture*: refusals of ``shift="label"`` where only the shares of the classes
differ, and where the unlabelled rows are also moved. *biased*: both, on the data sets of the paper
from which labels were drawn with a bias: class by class, or with odds that depend on a direction.
*copies*: alarms where labelled rows are copies, near copies or rows of few things. *alarms*: false
ones, on the data sets of the paper, with labels drawn at random and along a direction.
*few-numbers*: the 90% interval of ``SafeRegressor`` against the baseline, on simulations and on
columns of real tables. Each prints a table in Markdown, in per cent.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from shares import cross_fitted, fit
from sklearn import config_context
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_limits

from primum import SafeRegressor
from primum.comparison.plan import rng_for
from primum.judging.copies import find_copies
from primum.judging.drift import covariate_weights, label_weights, no_mixture, no_overlap
from primum.judging.shares import LABEL, estimate_shares
from primum_lab import scenarios
from primum_lab.datasets import CATALOGUE, load

N_UNLABELED = 500


def refused_covariate(X, others, seed):
    """Return whether covariate weights are refused, and the weights."""
    weight = covariate_weights(X, others, random_state=seed).weight
    return bool(no_overlap(X, others, weight, random_state=seed)), weight


def refused_label(X, y, others, rng, seed):
    """Return whether label weights are refused, and the weights."""
    scored = cross_fitted(X, y, others, rng, 2)
    shares = estimate_shares(scored, np.arange(2), LABEL)
    scores = scored.scores, scored.unlabeled_rows(scored.unlabeled)
    estimates = np.array(list(shares.estimates.values()))
    why = no_mixture(X, others, scored.codes, scores, estimates, random_state=seed)
    return bool(why), label_weights(y, shares).weight


def off(X, y, others, hidden, weight, rng):
    """Return by how many points a weighted estimate of the error misses it on unlabelled rows."""
    scored = cross_fitted(X, y, others, rng, 2, weight)
    stated = np.average(scored.scores.argmax(axis=1) != y, weights=weight)
    return 100 * abs(stated - np.mean(fit(X, y, weight).predict(others) != hidden))


def overlap(draws):
    """Yield refusals of covariate weights over the distance of the rows."""
    for n_features in (2, 10):
        for apart in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 8.0, 50.0):
            for draw in range(draws):
                rng = rng_for(0, "overlap", n_features, int(10 * apart), draw)
                X = rng.normal(size=(100 + N_UNLABELED, n_features))
                X[100:, 0] += apart
                noise = 0.5 * rng.normal(size=len(X))
                y = (np.sin(X[:, 0]) + X[:, 1] + noise > 0).astype(int)
                known, others = X[:100], X[100:]
                refused, weight = refused_covariate(known, others, draw)
                missed = off(known, y[:100], others, y[100:], weight, rng)
                yield {
                    "features": n_features,
                    "apart": apart,
                    "refused": 100 * refused,
                    "estimate off by": missed,
                }


def mixture(draws):
    """Yield refusals of label weights over the distance of the unlabelled rows from the mixture."""
    for n_labeled in (50, 100):
        for moved in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 12.0):
            for draw in range(draws):
                rng = rng_for(0, "mixture", n_labeled, int(100 * moved), draw)
                y = (rng.random(n_labeled) < 0.5).astype(int)
                hidden = (rng.random(N_UNLABELED) < 0.15).astype(int)
                X, others = (rng.normal(size=(len(c), 3)) + 2 * c[:, None] for c in (y, hidden))
                others = others + moved * np.array([0.6, -0.8, 0.0])
                refused, weight = refused_label(X, y, others, rng, draw)
                yield {
                    "labels": n_labeled,
                    "moved": moved,
                    "refused": 100 * refused,
                    "estimate off by": off(X, y, others, hidden, weight, rng),
                }


def real_rows(name):
    """Return the rows of a data set of the paper, scaled, and their classes."""
    dataset = load(name)
    X = np.asarray(dataset.X, dtype=float)
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1), dataset.codes


def along(X, tilt, n_labeled, rng):
    """Return an order of rows whose first are drawn with log odds along a random direction."""
    score = X @ rng.normal(size=X.shape[1])
    score = (score - score.mean()) / score.std()
    return np.argsort(-(tilt * score + rng.gumbel(size=len(X))))


def biased(draws):
    """Yield refusals on data sets whose labels were drawn with a bias, but overlap."""
    for name in CATALOGUE:
        X, y = real_rows(name)
        for draw in range(draws):
            rng = rng_for(0, "biased", name, draw)
            order = rng.permutation(len(y))
            half = np.concatenate([order[y[order] == code][:30] for code in (0, 1)])
            rest = np.setdiff1d(order, half)
            row = {"data": name}
            row["by class"] = 100 * refused_label(X[half], y[half], X[rest], rng, draw)[0]
            for tilt in (0.0, 0.5, 1.0):
                order = along(X, tilt, 60, rng)
                refused, _ = refused_covariate(X[order[:60]], X[order[60:]], draw)
                row[f"direction, {tilt:g}"] = 100 * refused
            yield row


def copied(kind, rng, draw):
    """Return labelled and unlabelled rows in which few things were labelled several times."""
    if kind.startswith("groups"):
        centers = 1.5 * rng.normal(size=(95, 6))
        X = np.repeat(centers, 6, axis=0) + 0.3 * rng.normal(size=(570, 6))
        return X[:90], X[90:]
    X, more = (make_moons(n, noise=0.3, random_state=draw + 1000 * n)[0] for n in (20, 400))
    n_each, jitter = {
        "none": (1, 0.0),
        "exact, 2 of each": (2, 0.0),
        "exact, 4 of each": (4, 0.0),
        "near, 2 of each": (2, 1e-6),
        "near, 4 of each": (4, 1e-6),
        "near, a tenth": (4, 0.1),
    }[kind]
    X = np.repeat(X, n_each, axis=0)
    return X + jitter * rng.normal(size=X.shape), more


def copies(draws):
    """Yield alarms where labelled rows are copies, or rows of few things."""
    kinds = ("none", "exact, 2 of each", "exact, 4 of each", "near, 2 of each", "near, 4 of each")
    for kind in (*kinds, "near, a tenth", "groups of 6"):
        for draw in range(draws):
            labeled, unlabeled = copied(kind, rng_for(0, "copies", kind, draw), draw)
            alarm = find_copies(labeled, unlabeled, random_state=draw) is not None
            yield {"copies": kind, "labels": len(labeled), "alarm": 100 * alarm}


def alarms(draws):
    """Yield false alarms on the data sets of the paper."""
    for name in CATALOGUE:
        X, _ = real_rows(name)
        for n_labeled in (20, 50, 100):
            for draw in range(draws):
                rng, row = rng_for(0, "alarms", name, n_labeled, draw), {"labels": n_labeled}
                for tilt in (0.0, 1.0, 2.0):
                    order = along(X, tilt, n_labeled, rng)
                    known, others = X[order[:n_labeled]], X[order[n_labeled:]]
                    found = find_copies(known, others, random_state=draw)
                    row[f"direction, {tilt:g}"] = 100 * (found is not None)
                yield row


def of_line(rng, n_rows):
    """Return rows and a target that is linear in one of four features."""
    X = rng.normal(size=(n_rows, 4))
    return X, 3 * X[:, 0] + rng.normal(size=n_rows)


TARGETS = {
    "line": of_line,
    "curve": scenarios.curved_target,
    "heavy tails": scenarios.heavy_tails,
    "lognormal": scenarios.lognormal,
    "factors": scenarios.hidden_factors,
    "noise": scenarios.pure_noise,
    **{name: scenarios.SKLEARN_COLUMNS[name] for name in ("diabetes", "wine: alcohol")},
}


def few_numbers(draws):
    """Yield whether intervals hold, with few known numbers and 200 rows."""
    for name, draw_rows in TARGETS.items():
        for n_labeled in (4, 6, 8, 10, 15, 20, 30):
            for draw in range(draws):
                rng = rng_for(0, "few numbers", name, n_labeled, draw)
                X, y = draw_rows(rng, 3200)
                n_known = min(200, len(y) // 2)
                labels = np.where(np.arange(n_known) < n_labeled, y[:n_known], np.nan)
                reg = SafeRegressor(random_state=draw).fit(X[:n_known], labels)
                own, other = (
                    np.sqrt(np.mean((model.predict(X[n_known:]) - y[n_known:]) ** 2))
                    for model in (reg, reg.baseline_)
                )
                low, high = reg.verdict_.baseline.interval
                kind = "line" if name == "line" else "others"
                yield {
                    "numbers": n_labeled,
                    "problems": kind,
                    "contained": 100 * (low <= own - other <= high),
                    "gain overstated": 100 * (own - other > high),
                    "width": 100 * (high - low) / other,
                    "claims": 100 * (reg.verdict_.answer != "cannot_tell"),
                }


PARTS = {
    "overlap": (overlap, ["features", "apart"]),
    "mixture": (mixture, ["labels", "moved"]),
    "biased": (biased, ["data"]),
    "copies": (copies, ["copies", "labels"]),
    "alarms": (alarms, ["labels"]),
    "few-numbers": (few_numbers, ["problems", "numbers"]),
}


def main():
    """Draw, and print a table in per cent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--draws", type=int, default=20)
    arguments = parser.parse_args()
    part, by = PARTS[arguments.part]
    with threadpool_limits(1), config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")
        results = pd.DataFrame(part(arguments.draws))
    means = results.groupby(by, sort=False).mean(numeric_only=True).round(1).reset_index()
    print(f"| {' | '.join(means)} |\n|{' --- |' * len(means.columns)}")
    for row in means.itertuples(index=False):
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
