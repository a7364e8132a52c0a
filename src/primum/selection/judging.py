"""The verdict on a safe stack: against the baseline, and against the stack of supervised models.

The second comparison says what unlabelled rows contribute. It is fair only between candidates and
their supervised counterparts: a candidate without one (none was given, or it failed) is left out of
it, because it may be better or worse for another reason than the unlabelled rows.
"""

from typing import Any

from primum._typing import Floats
from primum.selection.candidates.reading import Entrants
from primum.selection.out_of_fold import OutOfFold
from primum.selection.verdict import HeldOut, SafeVerdict, in_words, judge, largest_change

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
    bounds: list[float | None] = [None, None]
    if scored.rows.unlabeled.shape[0]:
        models = (safe.baseline_, safe.supervised_)
        bounds = [_bound(probe, safe, model) for model in models]
    difference = held_out.difference(own, baseline, safe.scoring, safe.classes_)
    sample = held_out.sample(scored.rows.unlabeled.shape[0])
    what = f"the baseline ({' and '.join(entrants.baselines)})"
    of_baseline = judge(difference, bounds[0], safe.scoring, what, sample)
    of_supervised = None
    if scored.rows.unlabeled.shape[0] and (not unpaired or entrants.can_attribute(unpaired)):
        difference = held_out.difference(fair, others, safe.scoring, safe.classes_)
        bound = None if unpaired else bounds[1]
        of_supervised = judge(difference, bound, safe.scoring, SUPERVISED, sample)
    approximated = [note for name in safe.models_ for note in scored.approximated.get(name, ())]
    notes = dict.fromkeys([*scored.notes, *approximated])
    text = in_words(of_baseline, of_supervised, safe.scoring, [*notes])
    stacks = {"safe stack": own, "supervised stack": others, "baseline": baseline}
    return SafeVerdict(of_baseline, of_supervised, text), stacks


def _bound(probe: dict[str, Floats], safe: Any, other: Any) -> float | None:
    """Return how large the difference of the losses of two stacks can be."""
    own, others = (
        sum(model.weights_[name] * probe[name] for name in model.models_) for model in (safe, other)
    )
    return largest_change(own, others, safe.scoring)


def _unpaired_note(name: str) -> str:
    return (
        f"{name} has no supervised counterpart with scores, so it is left out of the verdict on "
        "unlabelled rows."
    )
