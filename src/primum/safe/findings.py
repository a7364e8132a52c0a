"""The verdict on a safe stack: against the baseline, and against the stack of supervised models.

The second comparison says what unlabelled rows contribute. It is fair only between candidates and
their supervised counterparts: a candidate without one (none was given, or it failed) is left out of
it, because it may be better or worse for another reason than the unlabelled rows.

What a user of the safe choice should know of the rows and the folds, whatever the model.

The table of a safe choice: every candidate and every stack, with out-of-fold losses.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats
from primum.judging.drift import copies_note, find_drift, one_of_each
from primum.judging.losses import ROW_LOSSES, check_folds, name_of
from primum.judging.verdict import BRIER, HeldOut, SafeVerdict, in_words, judge
from primum.judging.words import Sample, Verdict
from primum.safe.candidates import SharedRows
from primum.safe.candidates.entrants import Entrants
from primum.safe.out_of_fold import OutOfFold
from primum.safe.stack import cross_fitted

SUPERVISED = "the same kind of model without unlabelled rows"


def judge_stacks(
    safe: Any, scored: OutOfFold, entrants: Entrants, held_out: HeldOut, probe: dict[str, Floats]
) -> tuple[SafeVerdict, dict[str, Floats]]:
    """Return the verdict on a fitted SafeClassifier, and the cross-fitted scores of its stacks.

    ``probe`` are the scores of the fitted candidates for unlabelled rows. What the verdict leaves
    out is added to what ``scored`` has as approximated; only what has a weight is mentioned.
    """
    stack, supervised = entrants.members(scored.scores)
    unpaired = entrants.unpaired(scored.scores)
    for name in unpaired:
        scored.approximated.setdefault(name, []).append(_unpaired_note(name))
    own, others, fair = (
        cross_fitted(held_out, *scored.stacked(names, entrants.baselines), safe.shrinkage)
        for names in (stack, supervised, [name for name in stack if name not in unpaired])
    )
    scores, w0 = scored.stacked(entrants.baselines, entrants.baselines)
    baseline = scores @ w0
    judging = _Judging(safe, held_out, held_out.sample(scored.rows.unlabeled.shape[0]))
    what = f"the baseline ({' and '.join(entrants.baselines)})"
    of_baseline = judging.verdict(own, baseline, what, _fitted(probe, safe, safe.baseline_))
    of_supervised = None
    if scored.rows.unlabeled.shape[0] and (not unpaired or entrants.can_attribute(unpaired)):
        fitted = None if unpaired else _fitted(probe, safe, safe.supervised_)
        of_supervised = judging.verdict(fair, others, SUPERVISED, fitted)
    of_brier = judging.brier(own, baseline, what) if safe.scoring == "accuracy" else None
    approximated = [note for name in safe.models_ for note in scored.approximated.get(name, ())]
    notes = dict.fromkeys([*scored.notes, *approximated])
    text = in_words(of_baseline, of_supervised, of_brier, safe.scoring, [*notes])
    stacks = {"safe stack": own, "supervised stack": others, "baseline": baseline}
    return SafeVerdict(of_baseline, of_supervised, text, of_brier), stacks


@dataclass(frozen=True)
class _Judging:
    safe: Any
    held_out: HeldOut
    sample: Sample

    def verdict(
        self, own: Floats, others: Floats, what: str, fitted: tuple[Floats, Floats] | None
    ) -> Verdict:
        """Return the verdict on held-out scores; ``fitted`` are those of unlabelled rows."""
        scoring, disagreement = self.safe.scoring, None
        difference = self.held_out.difference(own, others, scoring, self.safe.classes_)
        if scoring == "accuracy":
            disagreement = self.held_out.disagreement(own, others, fitted)
        return judge(difference, disagreement, scoring, what, self.sample)

    def brier(self, own: Floats, others: Floats, what: str) -> Verdict:
        """Return the verdict on the probabilities, which is another one than that on the errors."""
        difference = self.held_out.difference(own, others, BRIER, self.safe.classes_)
        return judge(difference, None, BRIER, what, self.sample)


def _fitted(probe: dict[str, Floats], safe: Any, other: Any) -> tuple[Floats, Floats] | None:
    """Return the scores of two stacks for unlabelled rows, or None if there are none."""
    own, others = (
        sum(model.weights_[name] * probe[name] for name in model.models_) for model in (safe, other)
    )
    return (own, others) if len(own) else None


def _unpaired_note(name: str) -> str:
    return (
        f"{name} has no supervised counterpart with scores, so it is left out of the verdict on "
        "unlabelled rows."
    )


NO_UNLABELED = "There are no unlabelled rows, so the model is supervised."


def notes_on_rows(
    rows: SharedRows, of_labeled: AnyArray | None, of_unlabeled: AnyArray | None
) -> list[str]:
    """Return notes if rows are copies, or unlabelled ones missing or unlike the labelled ones.

    The last two are the groups of the rows; None: every row is a group.
    """
    notes = [note] if (note := copies_note(rows.labeled, of_labeled)) else []
    if rows.unlabeled.shape[0] == 0:
        return [NO_UNLABELED, *notes]
    drift = find_drift(
        one_of_each(rows.labeled, of_labeled),
        one_of_each(rows.unlabeled, of_unlabeled),
        random_state=rows.seed,
    )
    return [f"Warning: {drift.text}", *notes] if drift is not None and drift.found else notes


def notes_on_folds(
    held_out: HeldOut, cv: Any, n_repeats: int, scoring: Any, classes: AnyArray
) -> list[str]:
    """Check that the rows that folds hold out can be scored, and return what is approximated."""
    tests = [fold.test for fold in held_out.folds]
    undefined = check_folds(scoring, classes, tests, held_out.codes, held_out.weight)
    notes, n_folds = [], len(tests) // n_repeats
    if isinstance(cv, Integral) and n_folds < int(cv):
        notes.append(
            f"{cv} folds were reduced to {n_folds}: more cannot be stratified with these labels."
        )
    if undefined:
        notes.append(
            f"{name_of(scoring)} is undefined in {len(undefined)} of {len(tests)} folds, so the "
            "verdict scores the rows that all folds of a repeat hold out together."
        )
    return notes


def report_table(
    safe: Any,
    scored: OutOfFold,
    entrants: Entrants,
    held_out: HeldOut,
    stacks: dict[str, Floats],
) -> dict[str, list[Any]]:
    """Return the table as lists by column: candidates that have scores, then the stacks."""
    rows = []
    for candidate in entrants.all:
        if candidate.name not in scored.scores:
            continue
        kind = "semi-supervised" if candidate.uses_unlabeled else "supervised"
        rows.append(
            {
                "model": candidate.name,
                "kind": kind,
                "counterpart": candidate.counterpart,
                "weight": safe.weights_.get(candidate.name),
                "supervised_weight": safe.supervised_.weights_.get(candidate.name),
                **_losses(scored.scores[candidate.name], held_out),
                "seconds": scored.seconds[candidate.name],
            }
        )
    empty = dict.fromkeys(("counterpart", "weight", "supervised_weight"))
    for name, scores in stacks.items():
        losses = _losses(scores, held_out)
        rows.append({"model": name, "kind": "stack", **empty, **losses, "seconds": None})
    return {column: [row[column] for row in rows] for column in rows[0]}


def _losses(scores: Floats, held_out: HeldOut) -> dict[str, float]:
    """Return the error and the Brier score of held-out rows."""
    codes, weight = held_out.codes[held_out.rows], held_out.row_weight
    return {
        column: float(np.average(ROW_LOSSES[scoring].of_rows(scores, codes), weights=weight))
        for column, scoring in (("error", "accuracy"), ("brier", "neg_brier_score"))
    }
