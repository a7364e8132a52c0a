"""How often the verdict of SafeClassifier is right, on problems whose truth is known.

    python lab/benchmarks/known_truth.py --out lab/results/known-truth --repeats 100 --jobs 2

In every repeat a problem is drawn, with labelled and unlabelled rows, and the fitted stack is
compared with the fitted baseline and with its fitted supervised stack on rows that no fit has seen:
the truth. These are 20 000 fresh rows or, of real data, all others, 500 at least. A difference of
up to one point of error counts as none. The run continues where it was stopped, and prints, for
every family: how often the 90% interval contains the truth and overstates the gain, how wide it is,
how often help is claimed and falsely so; the same for the Brier score; and over all families, how
often there is help where its probability is about 0.1, 0.3, ...

The data sets of the paper need the folder that ``PRIMUM_DATA`` names; without it they are left out.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.exceptions import FitFailedWarning
from threadpoolctl import threadpool_limits

from primum import SafeClassifier
from primum._progress import with_progress
from primum.comparison.plan import rng_for
from primum.comparison.run import run_parallel
from primum.comparison.store import ResultStore
from primum.judging.losses import ROW_LOSSES, Predictions
from primum.safe.stack import SCORED_ROWS_PER_BLOCK
from primum_lab.datasets import available
from primum_lab.scenarios import PAPER_UNLABELED, SCENARIOS, SIMULATED

EQUIVALENCE = 0.01
BINS = np.array([0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0000001])
AGAINST = ("baseline", "supervised")


def run_unit(name, repeat, seed, n_fresh, scenarios=None):
    """Return the unit and its rows: claims and truth, against each of the two."""
    scenario = (scenarios or SCENARIOS)[name]
    rng = rng_for(seed, "known truth", name, repeat)
    n_known = scenario.n_labeled + scenario.n_unlabeled
    X, y = scenario.draw(rng, n_known + n_fresh)
    labels = np.where(np.arange(n_known) < scenario.n_labeled, y[:n_known], -1)
    with threadpool_limits(1):
        clf = SafeClassifier(random_state=repeat, n_jobs=1).fit(X[:n_known], labels)
        (error, brier), *others = true_losses(clf, X[n_known:], y[n_known:])
    rows = [
        row_of(against, getattr(clf.verdict_, against), error, other)
        for against, (other, _) in zip(AGAINST, others, strict=True)
    ]
    rows.append(row_of("brier", clf.verdict_.brier, brier, others[0][1]))
    return (name, repeat), rows


def row_of(against, verdict, loss, other):
    """Return what was claimed and what is true."""
    return {
        "against": against,
        "loss": loss,
        "true_change": loss - other,
        "observed": verdict.difference.mean,
        "change": verdict.change,
        "low": verdict.interval[0],
        "high": verdict.interval[1],
        "answer": verdict.answer,
        **{f"p_{key}": value for key, value in verdict.probabilities.to_dict().items()},
    }


def true_losses(clf, X, y):
    """Return error and Brier score of the stack, the baseline and the supervised stack.

    The three have models in common, each of which scores the rows once.
    """
    stacks, codes = (clf, clf.baseline_, clf.supervised_), np.searchsorted(clf.classes_, y)
    models = {id(model): model for stack in stacks for model in stack.models_.values()}
    blocks = np.array_split(X, range(SCORED_ROWS_PER_BLOCK, len(X), SCORED_ROWS_PER_BLOCK))
    scores = {
        key: np.concatenate([model.predict(block) for block in blocks])
        for key, model in models.items()
    }
    found = []
    for stack in stacks:
        own = sum(stack.weights_[name] * scores[id(m)] for name, m in stack.models_.items())
        losses = (ROW_LOSSES[scoring][1] for scoring in ("accuracy", "neg_brier_score"))
        predictions = Predictions.of_scores(codes, own)
        found.append([float(np.mean(loss(predictions))) for loss in losses])
    return found


def run(folder, repeats, seed, n_fresh, jobs, names):
    """Run the missing repeats, and return all results as a table."""
    described = {
        name: f"{s.draw.__name__}, {s.n_labeled} + {s.n_unlabeled}" for name, s in SCENARIOS.items()
    }
    config = {"experiment": "known truth", "seed": seed, "n_fresh": n_fresh, "data": described}
    units = [
        (name, repeat)
        for repeat in range(repeats)
        for name in names
        if repeat < (SCENARIOS[name].repeats or repeats)
    ]
    with ResultStore(folder, config, resume=True) as store:
        missing = [unit for unit in units if unit not in store.done]
        work = run_parallel(run_unit, ((*unit, seed, n_fresh) for unit in missing), jobs)
        for unit, rows in with_progress(work, len(missing), "known truth", "fit"):
            store.append(unit, rows)
        return pd.DataFrame(
            {"family": SCENARIOS[name].family, "scenario": name, "repeat": repeat, **row}
            for name, repeat in units
            for row in store.done[name, repeat]
        )


def claims(results):
    """Return, for every family and comparison, what was claimed and what is true."""
    true, low, high = (results[name] for name in ("true_change", "low", "high"))
    help_, harm = results["answer"] == "help", results["answer"] == "harm"
    table = results.assign(
        contained=(low <= true) & (true <= high),
        overstated=true > high,
        width=100 * (high - low),
        points=100 * true,
        estimate=100 * results["change"],
        help=help_,
        false_help=help_ & (true > -EQUIVALENCE),
        false_harm=harm & (true < EQUIVALENCE),
        truly_helped=true < -EQUIVALENCE,
    )
    means, sums = ("contained", "overstated", "width", "points", "estimate"), (
        "help", "false_help", "false_harm", "truly_helped",
    )  # fmt: skip
    grouped = table.groupby(["against", "family"], sort=False)
    return grouped.agg(
        draws=("repeat", "size"),
        **{name: (name, "mean") for name in means},
        **{name: (name, "sum") for name in sums},
    ).reset_index()


def calibration(results):
    """Return how often unlabelled rows truly help, by the claimed probability of it.

    ``low`` and ``high`` contain the count of true cases with 99% probability, if the claimed
    probabilities are right.
    """
    truth = results["true_change"] < -EQUIVALENCE
    rows = []
    for against in AGAINST:
        own = results["against"] == against
        bin_of = np.digitize(results["p_help"], BINS) - 1
        for number in range(len(BINS) - 1):
            inside = own & (bin_of == number)
            n, mean = int(inside.sum()), float(results.loc[inside, "p_help"].mean())
            if n:
                low, high = binom.interval(0.99, n, mean)
                rows.append(
                    {
                        "against": against,
                        "claimed": mean,
                        "cases": n,
                        "true": int(truth[inside].sum()),
                        "low": int(low),
                        "high": int(high),
                    }
                )
    return pd.DataFrame(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--repeats", type=int, default=100, help="problems per scenario (100)")
    parser.add_argument("--fresh", type=int, default=20_000, help="fresh rows (20000)")
    parser.add_argument("--seed", type=int, default=0, help="seed (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only this one")
    options = parser.parse_args()
    if not sys.warnoptions:
        import warnings

        warnings.simplefilter("error", FitFailedWarning)
    names = options.scenario or [
        *SIMULATED,
        "digits",
        *(name for name in PAPER_UNLABELED if name in available()),
    ]
    results = run(options.out, options.repeats, options.seed, options.fresh, options.jobs, names)
    results.to_csv(options.out / "results.csv", index=False)
    text = "\n\n".join(
        table.round(3).to_string(index=False) for table in (claims(results), calibration(results))
    )
    (options.out / "summary.txt").write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
