"""How often the verdict of SafeRegressor is right, on problems whose truth is known.

    python lab/benchmarks/known_truth_numbers.py --out lab/results/known-truth-numbers --jobs 2

As ``known_truth.py`` does for classes: in every repeat a problem is drawn, and the fitted stack is
compared with its fitted baseline and with its fitted supervised stack on fresh rows, by the RMSE.
All changes are in per cent of the RMSE of what the stack is compared with, and a change of up to
2 % counts as none. The run continues where it was stopped.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from primum import SafeRegressor
from primum._progress import with_progress
from primum.comparison.plan import rng_for
from primum.comparison.run import run_parallel
from primum.comparison.store import ResultStore
from primum.judging.difference import EQUIVALENT_SHARE
from primum_lab.scenarios import NUMBER_SCENARIOS

AGAINST = ("baseline", "supervised")


def run_unit(name, repeat, seed, n_fresh):
    """Return the unit and its rows: claims and truth, against each of the two."""
    scenario = NUMBER_SCENARIOS[name]
    n_known = scenario.n_labeled + scenario.n_unlabeled
    X, y = scenario.draw(rng_for(seed, "known truth", name, repeat), n_known + n_fresh)
    labels = np.where(np.arange(n_known) < scenario.n_labeled, y[:n_known], np.nan)
    fresh, truth = X[n_known:], y[n_known:]
    with threadpool_limits(1):
        reg = SafeRegressor(random_state=repeat, n_jobs=1).fit(X[:n_known], labels)
        stacks = (reg, reg.baseline_, reg.supervised_)
        own, *others = [np.sqrt(np.mean((m.predict(fresh) - truth) ** 2)) for m in stacks]
    rows = []
    for against, other in zip(AGAINST, others, strict=True):
        verdict = getattr(reg.verdict_, against)
        # The limit of the verdict is a share of the loss that it has estimated of the other model.
        estimated = reg.report_["rmse"][-1 if against == "baseline" else -2]
        rows.append(
            {
                "against": against,
                "true_change": float(own / other - 1),
                "change": verdict.change / estimated,
                "low": verdict.interval[0] / estimated,
                "high": verdict.interval[1] / estimated,
                "answer": verdict.answer,
                **{f"p_{key}": value for key, value in verdict.probabilities.to_dict().items()},
            }
        )
    return (name, repeat), rows


def run(folder, repeats, seed, n_fresh, jobs, names):
    """Run the missing repeats, and return all results as a table."""
    described = {
        name: f"{one.draw.__name__}, {one.n_labeled} + {one.n_unlabeled}"
        for name, one in NUMBER_SCENARIOS.items()
    }
    config = {
        "experiment": "known truth of numbers", "seed": seed, "n_fresh": n_fresh, "data": described,
    }  # fmt: skip
    units = [(name, repeat) for repeat in range(repeats) for name in names]
    with ResultStore(folder, config, resume=True) as store:
        missing = [unit for unit in units if unit not in store.done]
        work = run_parallel(run_unit, ((*unit, seed, n_fresh) for unit in missing), jobs)
        for unit, rows in with_progress(work, len(missing), "known truth", "fit"):
            store.append(unit, rows)
        return pd.DataFrame(
            {"family": name, "repeat": repeat, **row}
            for name, repeat in units
            for row in store.done[name, repeat]
        )


def claims(results):
    """Return, for every family and comparison, what was claimed and what is true, in per cent."""
    true, low, high = (results[name] for name in ("true_change", "low", "high"))
    help_, harm = results["answer"] == "help", results["answer"] == "harm"
    table = results.assign(
        contained=(low <= true) & (true <= high),
        overstated=true > high,
        width=100 * (high - low),
        truth=100 * true,
        estimate=100 * results["change"],
        help=help_,
        false_help=help_ & (true > -EQUIVALENT_SHARE),
        false_harm=harm & (true < EQUIVALENT_SHARE),
        truly_helped=true < -EQUIVALENT_SHARE,
    )
    means = ("contained", "overstated", "width", "truth", "estimate")
    sums = ("help", "false_help", "false_harm", "truly_helped")
    grouped = table.groupby(["against", "family"], sort=False)
    return grouped.agg(
        draws=("repeat", "size"),
        **{name: (name, "mean") for name in means},
        **{name: (name, "sum") for name in sums},
    ).reset_index()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--repeats", type=int, default=100, help="problems per family (100)")
    parser.add_argument("--fresh", type=int, default=5_000, help="fresh rows (5000)")
    parser.add_argument("--seed", type=int, default=0, help="seed (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--family", action="append", choices=NUMBER_SCENARIOS, help="only this one")
    options = parser.parse_args()
    names = options.family or list(NUMBER_SCENARIOS)
    results = run(options.out, options.repeats, options.seed, options.fresh, options.jobs, names)
    results.round(6).to_csv(options.out / "results.csv", index=False)
    text = claims(results).round(3).to_string(index=False)
    (options.out / "summary.txt").write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
