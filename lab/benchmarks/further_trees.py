"""Whether a booster or a random forest among the default candidates of SafeClassifier would pay.

    python lab/benchmarks/further_trees.py --out further-trees --repeats 8

Splits are those of ``primum reproduce safe-choice-50`` and ``safe-choice-100``. In every split all
candidates are scored and fitted once. The stacks with and without the further candidates are then
weighed on the same out-of-fold scores. The script prints the change of the error, in points, and of
the squared loss, in hundredths, against the default stack: its mean over the data sets, on how many
of them it is significant (t-test, and after Holm's correction), and the largest mean loss. The run
continues where it was stopped.

The data sets of the paper need the folder that ``PRIMUM_DATA`` names.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from primum import SafeClassifier
from primum.judging.held_out import HeldOut
from primum.reading.data import read_rows
from primum.reading.folds import read_repeated_folds
from primum.safe.candidates import DEFAULT, Supervised
from primum.safe.candidates.own import Team, choose_candidates
from primum.safe.candidates.trees import histogram_boosting, random_forest
from primum.safe.out_of_fold import score_candidates
from primum.safe.rows import Targets, shared_rows
from primum.safe.stack import fit_weights
from primum_lab.datasets import available, load
from primum_lab.measures import score_probability
from primum_lab.methods import Method
from primum_lab.race import paired_differences, race_summary
from primum_lab.runner import Experiment, run_experiment
from primum_lab.splits import HoldOut


def forest(X, targets, seed, scaling):
    """Return a random forest, which needs no scaling."""
    return random_forest(X, targets, seed)


FURTHER = {"booster": histogram_boosting, "random forest": forest}
STACK = "default stack"
VARIANTS = {
    STACK: (),
    "with booster": ("booster",),
    "with random forest": ("random forest",),
    "with both": tuple(FURTHER),
}


class StacksClassifier(SafeClassifier):
    """The stacks with and without further candidates, of one set of out-of-fold scores."""

    def fit(self, X, y):  # noqa: D102
        given = read_rows(self, X, y)
        self.classes_ = given.labels.classes
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = shared_rows(given, seed, self.standardize, None, self.n_jobs)
        codes = given.labels.codes
        targets = Targets.of_classes(codes, len(self.classes_))
        folds = read_repeated_folds(self.cv, self.n_repeats, given, None, seed)
        held_out = HeldOut(folds, codes, self.classes_)
        n_unlabeled = rows.unlabeled.shape[0]
        team = choose_candidates(self.candidates, self.baseline, len(self.classes_), n_unlabeled)
        # Without the counterparts, which only the verdict needs.
        added = [Supervised(name, fit) for name, fit in FURTHER.items()]
        candidates = [*team.candidates, *added]
        supervised = [c for c in candidates if not c.uses_unlabeled]
        team = Team(candidates, supervised, team.baselines, team.notes)
        scored = score_candidates(team, rows, targets, folds, n_jobs=self.n_jobs)
        scores, every = scored.scores(len(folds)), np.arange(len(targets))
        models = {name: scored.prepared[name].fit(every, targets) for name in scores}
        self.seconds_, self.notes_, self.parts_ = dict(scored.seconds), [], {}
        for variant, further in VARIANTS.items():
            names = [name for name in models if name in DEFAULT or name in further]
            weights, _ = fit_weights(
                scores, names, team.baselines, held_out, targets, self.shrinkage
            )
            self.parts_[variant] = self._stack(weights, models)
        for name in ("ridge", "logistic", *FURTHER):
            self.parts_[name] = self._stack({name: 1.0}, models)
        self.weights_, self.models_ = self.parts_[STACK].weights_, self.parts_[STACK].models_
        return self


def experiment(n_labeled, repeats):
    """Return the race with that many labels."""
    parts = dict.fromkeys(VARIANTS, "partly") | dict.fromkeys(("ridge", "logistic"), "labeled")
    parts |= dict.fromkeys(FURTHER, "labeled")
    method = Method("stacks", StacksClassifier(), score=score_probability, parts=parts)
    data = {name: load(name, download=False) for name in available()}
    pairs = {name: (one.X, one.codes) for name, one in data.items()}
    title = f"further-trees-{n_labeled}"
    return Experiment(title, pairs, HoldOut(n_labeled), (method,), repeats)


def report(results):
    """Return a table of the variants against the default stack, and of the single trees."""
    tables = []
    for measure in ("error", "loss_test"):
        compared = paired_differences(results, measure, STACK)
        shown = [*list(VARIANTS)[1:], *FURTHER]
        summary = race_summary(compared[compared["classifier"].isin(shown)])
        hundredths = {"mean": 100 * summary["mean"], "largest_loss": 100 * summary["largest_loss"]}
        tables.append(summary.assign(**hundredths).assign(measure=measure))
    return pd.concat(tables).set_index(["measure", "classifier"]).round(2)


def by_dataset(results):
    """Return the change of the error of every variant on every data set, in points."""
    compared = paired_differences(results, "error", STACK)
    compared = compared[compared["classifier"].isin(list(VARIANTS)[1:])]
    table = compared.pivot(index="dataset", columns="classifier", values="mean") * 100
    return table[list(VARIANTS)[1:]].round(2)


def main():
    """Run the races and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("further-trees"), help="folder of results")
    parser.add_argument("--labels", type=int, nargs="+", default=(50, 100))
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    for n_labeled in asked.labels:
        folder = asked.out / str(n_labeled)
        results = run_experiment(
            *(experiment(n_labeled, asked.repeats), folder),
            n_jobs=asked.jobs,
            resume=folder.exists(),
        )
        print(f"\n{n_labeled} labels, {asked.repeats} splits\n")
        print(report(results).to_string())
        print()
        print(by_dataset(results).to_string(), flush=True)


if __name__ == "__main__":
    main()
