"""How often the verdict of a comparison on its safe stack is right, on tables whose truth is known.

    python lab/benchmarks/known_truth_tables.py --out lab/results/known-truth-tables --repeats 5

As ``known_truth.py`` does for arrays: in every repeat a table is drawn, ``primum.compare`` judges
the safe stack against the baseline, and both, as a user would deploy them, are compared on all rows
without a label: 500 unlabelled and some thousand fresh ones or, of real data, the unlabelled ones.
Tables have categories, some with rare levels, and empty cells; numeric ones are for comparison. The
run continues where it was stopped.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from known_truth import claims, row_of
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from primum import compare
from primum._progress import with_progress
from primum.comparison.plan import rng_for
from primum.comparison.run import run_parallel
from primum.comparison.store import ResultStore
from primum_lab.datasets import available, load
from primum_lab.scenarios import (
    five_classes,
    helpful_clusters,
    miscalibrated,
    shuffled,
    useless_curved,
)

N_LABELED, N_UNLABELED, N_ROWS, N_LEVELS = 50, 500, 4000, 20


def columns(X):
    """Return numeric columns with names."""
    return pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])


def binned(rng, X, y):
    """Return a table in which every other column is a category, one level of it rare."""
    table = columns(X)
    for name in rng.permutation(table.columns)[: max(1, X.shape[1] // 2)]:
        shares = np.append(rng.random(int(rng.integers(2, 7))), 0.02)
        edges = np.unique(np.quantile(table[name], shares))
        table[name] = [f"level {level}" for level in np.searchsorted(edges, table[name])]
    return table, y


def levels(rng, n_rows, n_levels=N_LEVELS):
    """Return levels of a category whose frequencies fall as 1, 1/2, 1/3, ..."""
    frequency = 1 / np.arange(1, n_levels + 1)
    return rng.choice(n_levels, n_rows, p=frequency / frequency.sum())


def named(codes):
    """Return levels by name."""
    return [f"level {code}" for code in codes]


def customers(rng, n_rows):
    """Draw a linear problem with two categories."""
    y = (rng.random(n_rows) < 0.4).astype(int)
    plan = rng.choice(["basic", "plus", "pro"], n_rows, p=[0.6, 0.3, 0.1])
    table = {
        "plan": np.where((y == 1) & (rng.random(n_rows) < 0.3), "pro", plan),
        "city": named(levels(rng, n_rows)),
        "fee": 20 + 5 * rng.normal(size=n_rows) + 4 * y,
        "age": rng.integers(18, 80, n_rows),
        "visits": rng.poisson(3 + 2 * y),
    }
    return pd.DataFrame(table), y


def rare_levels(rng, n_rows):
    """Draw categories of many levels, each with an effect."""
    table, score = columns(rng.normal(size=(n_rows, 3))), np.zeros(n_rows)
    score += table.to_numpy() @ rng.choice([-1.0, 1.0], 3)
    for name in ("first", "second", "third"):
        codes = levels(rng, n_rows)
        score += 1.8 * rng.normal(size=N_LEVELS)[codes]
        table[name] = named(codes)
    return table, (rng.random(n_rows) < 1 / (1 + np.exp(-score))).astype(int)


def clusters(rng, n_rows):
    """Draw a Gaussian cluster for each class, and categories that say nothing."""
    X, y = helpful_clusters(rng, n_rows, 40)
    useless = {name: named(levels(rng, n_rows)) for name in ("first", "second", "third")}
    return columns(X).assign(**useless), y


def curved(rng, n_rows):
    """Draw a number whose effect has another sign in every other category."""
    X, kind = rng.uniform(-1, 1, size=(n_rows, 4)), rng.integers(0, 4, n_rows)
    score = 5 * np.where(kind % 2, 1, -1) * X[:, 0] + 2 * X[:, 1]
    table = columns(X).assign(kind=named(kind), other=named(levels(rng, n_rows)))
    return table, (rng.random(n_rows) < 1 / (1 + np.exp(-score))).astype(int)


def gaps(rng, n_rows):
    """Draw heavy-tailed numbers and categories, a tenth of the cells empty."""
    table, y = binned(rng, *miscalibrated(rng, n_rows, 8))
    return table.mask(rng.random(table.shape) < 0.1), y


def of_arrays(draw, change=lambda rng, X, y: (columns(X), y)):
    """Return a function that draws an array and makes a table of it."""
    return lambda rng, n_rows: change(rng, *draw(rng, n_rows))


def real(name):
    """Return a function that returns a data set in random order."""

    def draw(rng, n_rows):
        if name == "breast cancer":
            return shuffled(rng, *load_breast_cancer(return_X_y=True))
        data = load(name, download=False)
        return shuffled(rng, data.X, data.codes)

    return draw


REAL = ("diabetes", "ionosphere", "mammography", "transfusion", "breast cancer")
FAMILIES = {
    "customers": customers,
    "rare levels": rare_levels,
    "clusters, categories": clusters,
    "curved, categories": curved,
    "empty cells": gaps,
    "five classes, binned": of_arrays(five_classes, binned),
    **{f"{name}, binned": of_arrays(real(name), binned) for name in REAL},
    "useless, curved": of_arrays(useless_curved),
    "five classes": of_arrays(five_classes),
    "diabetes": of_arrays(real("diabetes")),
}


def run_unit(name, repeat, seed):
    """Return the unit and its row: claim and truth."""
    table, y = FAMILIES[name](rng_for(seed, "known truth of tables", name, repeat), N_ROWS)
    classes = np.array([f"class {code}" for code in y])
    is_real = len(y) < N_ROWS
    known = table if is_real else table[: N_LABELED + N_UNLABELED]
    labels = [label if row < N_LABELED else None for row, label in enumerate(classes[: len(known)])]
    options = {"methods": ["safe stack"], "curves": False, "verbose": False}
    given = known.assign(label=labels)
    with threadpool_limits(1):
        result = compare(
            given, target="label", independent_rows=True, random_state=repeat, **options
        )
        hidden, truth = table[N_LABELED:], classes[N_LABELED:]
        error, other = (
            float(np.mean(result.fit(model).predict(hidden) != truth))
            for model in ("safe stack", "baseline")
        )
    (verdict,) = [method.verdict for method in result.methods if method.name == "safe stack"]
    counts = {name: getattr(verdict.disagreement, name) for name in ("better", "worse", "share")}
    return (name, repeat), [row_of("baseline", verdict, error, other) | counts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--repeats", type=int, default=5, help="tables per family (5)")
    parser.add_argument("--seed", type=int, default=0, help="seed (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    options = parser.parse_args()
    there = {"breast cancer", *available()}
    lacking = {name for name in REAL if name not in there}
    names = [name for name in FAMILIES if name.removesuffix(", binned") not in lacking]
    config = {"experiment": "known truth of tables", "seed": options.seed}
    config["data"] = dict.fromkeys(FAMILIES, f"{N_LABELED} + {N_UNLABELED}")
    units = [(name, repeat) for repeat in range(options.repeats) for name in names]
    with ResultStore(options.out, config, resume=True) as store:
        missing = [(*unit, options.seed) for unit in units if unit not in store.done]
        work = run_parallel(run_unit, missing, options.jobs)
        for unit, rows in with_progress(work, len(missing), "known truth", "table"):
            store.append(unit, rows)
        results = pd.DataFrame(
            {"family": name, "repeat": repeat, **store.done[name, repeat][0]}
            for name, repeat in units
        )
    results.round(6).to_csv(options.out / "results.csv", index=False)
    text = claims(results).drop(columns="against").round(3).to_string(index=False)
    (options.out / "summary.txt").write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
