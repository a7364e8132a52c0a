"""The verdict on a safe stack: against the baseline, and against the stack of supervised models.

The second comparison says what unlabelled rows contribute. It is fair only between candidates and
their supervised counterparts: a candidate without one (none was given, or it failed) is left out of
it, because it may be better or worse for another reason than the unlabelled rows.
"""

from dataclasses import dataclass
from typing import Any

from primum._typing import Floats
from primum.selection.candidates.reading import Entrants
from primum.selection.out_of_fold import OutOfFold
from primum.selection.verdict import BRIER, HeldOut, SafeVerdict, in_words, judge
from primum.selection.wording import Sample, Verdict

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
        held_out.cross_fitted(*scored.stacked(names, entrants.baselines), safe.shrinkage)
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
