"""What the recommendation of a comparison costs and gains, on rows whose labels are hidden.

    python lab/benchmarks/recommendation.py --out lab/results/recommendation --draws 20=3 50=6 100=3

In every draw some rows of a problem get labels, ``primum.compare`` judges the safe stack, a forest
and a booster against the tuned baseline, and all four, fitted as a user would deploy them, predict
the rows without a label: up to 500 unlabelled ones and up to 3000 that no fit has seen. The table
has the change in error against the baseline, in points, if one follows

* ``only claims``: the method that is claimed to help with the largest estimated gain, if any;
* ``recommended``: what ``Comparison.recommended`` says;
* ``always the stack``, ``least held-out error``;

its mean, the worst draw, and the shares of draws that are worse, or better, by more than a point.
Problems are the data sets of the paper, in the folder that ``PRIMUM_DATA`` names, and the simulated
tables of ``known_truth_tables.py``. A second table has the stack as the only method, in the draws
of ``known_truth.py`` and ``known_truth_tables.py``, whose results are read from the folder that
contains ``--out``. The run continues where it was stopped; ``--minutes`` stops it.
"""

import argparse
import time
from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from known_truth_tables import FAMILIES, REAL
from threadpoolctl import threadpool_limits

from primum import compare
from primum.comparison.plan import rng_for
from primum.comparison.store import ResultStore
from primum.comparison.words import BASELINE
from primum.judging.difference import LEVEL, Difference, Disagreement, Posterior, Probabilities
from primum.judging.recommendation import recommend
from primum.judging.words import HELP, verdict_of
from primum_lab.datasets import available, load
from primum_lab.scenarios import SCENARIOS, shuffled

N_UNLABELED, N_FRESH = 500, 3000
MIN_OF_CLASS = 3  # labels of every class, as many as a comparison needs
METHODS = ["safe stack", "forest", "boosting"]
TABLES = {
    name: draw for name, draw in FAMILIES.items() if name.removesuffix(", binned") not in REAL
}


def problem(name, rng, n_labeled):
    """Return the rows of a problem in random order, as a table, and their classes."""
    if name in TABLES:
        table, y = TABLES[name](rng, n_labeled + N_UNLABELED + N_FRESH)
    else:
        data = load(name, download=False)
        X, y = shuffled(rng, data.X, data.codes)
        table = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])
    return table, np.array([f"class {code}" for code in y])


def run_unit(name, n_labeled, draw, seed):
    """Return, for every method, what its verdict is based on, and the truth."""
    rng = rng_for(seed, "recommendation", name, n_labeled, draw)
    table, classes = problem(name, rng, n_labeled)
    while np.unique(classes[:n_labeled], return_counts=True)[1].min() < MIN_OF_CLASS:
        order = rng.permutation(len(table))
        table, classes = table.iloc[order].reset_index(drop=True), classes[order]
    n_known = n_labeled + min(N_UNLABELED, len(table) - n_labeled)
    labels = [classes[row] if row < n_labeled else None for row in range(n_known)]
    hidden = slice(n_labeled, n_labeled + N_UNLABELED + N_FRESH)
    settings = {"methods": METHODS, "independent_rows": True, "curves": False, "verbose": False}
    with threadpool_limits(1):
        result = compare(
            table[:n_known].assign(label=labels), target="label", random_state=draw, **settings
        )
        errors = {
            model: float(np.mean(result.fit(model).predict(table[hidden]) != classes[hidden]))
            for model in (BASELINE, *(method.name for method in result.compared))
        }
    return [
        {
            "method": method.name,
            "baseline_error": errors[BASELINE],
            "true_change": errors[method.name] - errors[BASELINE],
            "safe": method.name in result.plan.safe,
            **asdict(method.judged.difference),
            **asdict(method.judged.disagreement),
        }
        for method in result.compared
    ]


def key_of(name, n_labeled, draw):
    """Return the key under which a draw is stored."""
    return name, f"{n_labeled} labels, {draw}"


def verdicts_in(rows):
    """Return the verdict on every method of a draw, computed again from what it is based on."""
    level = 1 - (1 - LEVEL) / len(rows)
    return {
        row["method"]: verdict_of(
            Posterior(
                Difference(**{key.name: row[key.name] for key in fields(Difference)}),
                Disagreement(**{key.name: row[key.name] for key in fields(Disagreement)}),
            ),
            level=level,
        )
        for row in rows
    }


def followed(rows):
    """Return the true change in error for whoever follows each of the rules."""
    verdicts, truth = verdicts_in(rows), {row["method"]: row["true_change"] for row in rows}
    safe = [row["method"] for row in rows if row["safe"]]
    claimed = {name: one for name, one in verdicts.items() if one.answer == HELP}
    observed = {name: one.difference.mean for name, one in verdicts.items()} | {None: 0.0}
    truth[None] = 0.0
    return {
        "only claims": truth[min(claimed, key=lambda name: claimed[name].change, default=None)],
        "recommended": truth[recommend(verdicts, safe)],
        "always the stack": truth["safe stack"],
        "least held-out error": truth[min(observed, key=lambda name: observed[name])],
    }


def comparisons(results):
    """Return, for every draw and rule, the kind of problem and the true change in points."""
    drawn = results.groupby(["kind", "n_labeled", "problem", "draw"], sort=False)
    return pd.DataFrame(
        {"kind": key[0], "labels": key[1], "rule": rule, "change": 100 * change}
        for key, group in drawn
        for rule, change in followed(group.to_dict("records")).items()
    )


def stacks_alone(folder):
    """Return the same for the draws of the known truths, in which the stack is the only method.

    How often the models of a draw disagree is not stored.
    """
    tables = pd.read_csv(folder / "known-truth-tables" / "results.csv").assign(labels=50)
    arrays = pd.read_csv(folder / "known-truth" / "results.csv")
    arrays["labels"] = [SCENARIOS[name].n_labeled for name in arrays["scenario"]]
    rows = []
    for against, kind, table in (
        ("baseline", "known truth", arrays),
        ("brier", "known truth, Brier score", arrays),
        ("baseline", "known truth, tables", tables),
    ):
        for one in table[table["against"] == against].to_dict("records"):
            odds = Probabilities(*(one[f"p_{key}"] for key in ("help", "no_difference", "harm")))
            verdict = SimpleNamespace(
                answer=one["answer"], change=one["change"], probabilities=odds, disagreement=None
            )
            uses = {
                "only claims": one["answer"] == HELP,
                "recommended": recommend({"stack": verdict}, ["stack"]) is not None,
                "always the stack": True,
            }
            labels = "20" if one["labels"] == 20 else "50 to 100"
            rows += [
                {
                    "kind": kind,
                    "labels": labels,
                    "rule": rule,
                    "change": 100 * used * one["true_change"],
                }
                for rule, used in uses.items()
            ]
    return pd.DataFrame(rows)


def summary(rules):
    """Return, for every kind of problem, number of labels and rule, what following it gains."""
    grouped = rules.groupby(["kind", "labels", "rule"], sort=False)["change"]
    table = grouped.agg(draws="size", mean="mean", worst="max")
    table["worse by > 1"] = grouped.agg(lambda change: np.mean(change > 1))
    table["better by > 1"] = grouped.agg(lambda change: np.mean(change < -1))
    return table.reset_index().sort_values(["kind"], kind="stable")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--draws",
        nargs="+",
        default=["20=3", "50=6", "100=3"],
        metavar="LABELS=DRAWS",
        help="draws of every problem for each number of labels",
    )
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after these minutes")
    parser.add_argument("--seed", type=int, default=0, help="seed (0)")
    options = parser.parse_args()
    names = [*available(), *TABLES]
    start, seconds = time.monotonic(), 60 * options.minutes
    draws = dict(map(int, text.split("=")) for text in options.draws)
    # Draw by draw, so that a run that is stopped has about as many of every problem.
    units = [
        (name, n_labeled, draw)
        for draw in range(max(draws.values()))
        for n_labeled, n_draws in draws.items()
        for name in names
        if draw < n_draws
    ]
    config = {
        "experiment": "recommendation",
        "seed": options.seed,
        "data": dict.fromkeys(names, N_UNLABELED),
    }
    with ResultStore(options.out, config, resume=True) as store:
        for unit in units:
            if key_of(*unit) not in store.done and time.monotonic() - start < seconds:
                store.append(key_of(*unit), run_unit(*unit, options.seed))
                print(*unit, f"{time.monotonic() - start:.0f} s", flush=True)
        results = pd.DataFrame(
            {
                "kind": "simulated tables" if name in TABLES else "the paper's sets",
                "problem": name,
                "n_labeled": n_labeled,
                "draw": draw,
                **row,
            }
            for name, n_labeled, draw in units
            for row in store.done.get(key_of(name, n_labeled, draw), ())
        )
    results.round(6).to_csv(options.out / "results.csv", index=False)
    rules = [comparisons(results), stacks_alone(options.out.parent)]
    text = "\n\n".join(summary(one).round(3).to_string(index=False) for one in rules)
    (options.out / "summary.txt").write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
