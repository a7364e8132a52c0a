"""What a fit of the safe choice reports: its verdict, its notes and its table.

The stack is judged against the baseline, and against the stack of supervised models, which shows
what unlabelled rows contribute. Its weights are fitted to the out-of-fold scores, so its loss on
these is optimistic. For the verdict, weights are cross-fitted: the rows that a fold holds out are
scored with weights that were fitted to the scores of all other rows.

The second comparison is fair only between candidates and their supervised counterparts. A candidate
without one (none was given, or it failed) is left out of it, because it may be better or worse for
another reason than the unlabelled rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._typing import AnyArray, Floats, Index, Mask
from primum.judging.copies import copies_note, find_copies
from primum.judging.disagreements import Disagreements
from primum.judging.drift import find_drift, one_of_each
from primum.judging.held_out import HeldOut
from primum.judging.losses import RMSE, scoring_name
from primum.judging.settlement import HOW_TO_LABEL, SettledPair, certain
from primum.judging.words import (
    CANNOT_TELL,
    HARM,
    HELP,
    NO_DIFFERENCE,
    Alert,
    Verdict,
    percent,
    percent_of_level,
    verdict_of,
    withheld,
)
from primum.reading.data import stack_rows
from primum.reading.targets import SomeKnown
from primum.safe.candidates import SharedRows
from primum.safe.candidates.base import Kind
from primum.safe.out_of_fold import OutOfFold
from primum.safe.settlement import DUELS, ask_about_stacks
from primum.safe.stack import Stack

if TYPE_CHECKING:
    from primum.safe.base import SafeStack

SUPERVISED = "the same kind of model without unlabelled rows"
HOW_TO_GROUP = (
    "drop the copies, or pass groups=; if no rows belong together, pass a group for each row, "
    "groups=np.arange(len(X))."
)
# The unit of losses of numbers, since a fit is not told the unit of y.
UNIT = "units of y"
# Columns of the table, and the scorings whose losses they contain.
REPORTED = {"error": "accuracy", "brier": "neg_brier_score"}
REPORTED_OF_NUMBERS = {"rmse": RMSE, "mae": "neg_mean_absolute_error"}


@dataclass(frozen=True)
class SafeVerdict:
    """Whether a stack is better than the baseline, and whether unlabelled rows are the reason.

    Attributes
    ----------
    baseline : Verdict
        The verdict on the stack against the baseline.
    supervised : Verdict or None
        The verdict on the stack against that of supervised candidates: what unlabelled rows
        contribute. None if there are no unlabelled rows.
    text : str
        All verdicts in words, and what was approximated or left out.
    brier : Verdict or None
        The verdict by the Brier score of their probabilities: better probabilities need not mean
        fewer errors. None if the stack is judged by another loss than the error.
    alerts : tuple of Alert
        Warnings before the verdicts. If one of them ``withholds`` claims, all answers are
        "cannot_tell".

    Notes
    -----
    ``answer`` is that of ``baseline``. Whether the unlabelled rows help is another question, which
    ``supervised.answer`` answers.
    """

    baseline: Verdict
    supervised: Verdict | None
    text: str
    brier: Verdict | None = None
    alerts: tuple[Alert, ...] = ()

    @property
    def answer(self) -> str:
        """The answer against the baseline: "help", "no_difference", "harm" or "cannot_tell"."""
        return self.baseline.answer

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values."""
        verdicts = {"baseline": self.baseline, "supervised": self.supervised, "brier": self.brier}
        plain = {name: verdict and verdict.to_dict() for name, verdict in verdicts.items()}
        alerts = [alert.to_dict() for alert in self.alerts]
        return {"answer": self.answer, **plain, "alerts": alerts, "text": self.text}


def judge_stacks(
    safe: "SafeStack[Stack, SomeKnown, Kind]",
    scored: OutOfFold[Kind],
    codes: Index | None = None,
    differing: Disagreements | None = None,
) -> tuple[SafeVerdict, dict[str, Floats]]:
    """Return the verdict on a fitted safe choice, and the cross-fitted scores of its stacks.

    ``codes`` are the classes that the stacks predict for unlabelled rows, if there are classes, and
    ``differing`` the rows on which they differ, if all were compared. Candidates that the verdict
    leaves out are added to the approximations of ``scored``; only candidates with a weight are
    mentioned. Scores of numbers are in their own unit.
    """
    entrants, held_out, restored = scored.entrants, scored.held_out, scored.labels.restored
    stack, supervised = entrants.members(scored.scores)
    unpaired = entrants.unpaired(scored.scores)
    for name in unpaired:
        scored.approximated.setdefault(name, []).append(_unpaired_note(name))
    full, twin, fair = (
        restored(scored.cross_fitted(names, safe.shrinkage))
        for names in (stack, supervised, [name for name in stack if name not in unpaired])
    )
    scores, w0 = scored.stack_inputs(entrants.baselines)
    baseline = restored(scores @ w0)
    named = f"the baseline ({' and '.join(entrants.baselines)})"
    judge = partial(_judge, held_out, scored.alerts)
    of_baseline = judge(full, baseline, safe.judged_by, named, _compared(codes, DUELS[0]))
    of_supervised = None
    if scored.rows.unlabeled.shape[0] and (not unpaired or entrants.can_attribute(unpaired)):
        compared = (0, 0) if unpaired else _compared(codes, DUELS[1])
        of_supervised = judge(fair, twin, safe.judged_by, SUPERVISED, compared)
    of_brier = None
    if safe.judged_by == "accuracy":
        of_brier = judge(full, baseline, "neg_brier_score", named)
    approximated = [note for name in safe.models_ for note in scored.approximated.get(name, ())]
    notes = dict.fromkeys([*scored.notes, *approximated])
    settled = None
    if differing is not None:
        settled = ask_about_stacks(differing, safe.classes_, (of_baseline, of_supervised)).leading
    text = verdict_text(of_baseline, of_supervised, of_brier, [*notes], settled, scored.alerts)
    stacks = {"safe stack": full, "supervised stack": twin, "baseline": baseline}
    return SafeVerdict(of_baseline, of_supervised, text, of_brier, tuple(scored.alerts)), stacks


def _judge(
    held_out: HeldOut,
    alerts: Sequence[Alert],
    stacked: Floats,
    others: Floats,
    scoring: Any,
    baseline: str,
    compared: tuple[int, int] = (0, 0),
) -> Verdict:
    """Return the verdict on held-out scores of a stack against those of another one."""
    loss = held_out.loss_of(scoring, UNIT)
    predictions = [held_out.predictions(scores, loss.objective) for scores in (stacked, others)]
    verdict = verdict_of(
        held_out.posterior(predictions[0], predictions[1], loss, *compared),
        method="the model",
        baseline=baseline,
        measure=loss.measure,
        sample=held_out.sample,
    )
    return withheld(verdict, alerts)


def _compared(codes: Index | None, pair: tuple[int, int]) -> tuple[int, int]:
    """Return (number of unlabelled rows on which two stacks differ, number of compared rows)."""
    if codes is None:
        return 0, 0
    first, second = pair
    return int(np.sum(codes[:, first] != codes[:, second])), len(codes)


def _unpaired_note(name: str) -> str:
    return (
        f"{name} has no supervised counterpart with scores, so it is left out of the verdict on "
        "unlabelled rows."
    )


def verdict_text(
    baseline: Verdict,
    supervised: Verdict | None,
    brier: Verdict | None,
    notes: Sequence[str],
    settled: SettledPair | None = None,
    alerts: Sequence[Alert] = (),
) -> str:
    """Return alerts, verdicts and notes as one text; verdicts begin with what is certain."""
    parts = [f"Warning: {alert.text}" for alert in alerts]
    parts += [baseline.text] if settled is None else _on_these_rows(baseline, settled)
    if supervised is not None:
        parts.append(contribution(supervised))
    if brier is not None and brier.answer in (HELP, HARM):
        parts.append(on_probabilities(brier))
    return " ".join([*parts, *notes])


def _on_these_rows(baseline: Verdict, settled: SettledPair) -> list[str]:
    """Return what is certain, the verdict for new rows, and what would settle it on these rows."""
    if not settled.pair.needs_labels:
        share = percent(settled.pair.margin)
        few = f"This is at most {share} of the rows, which makes no practical difference."
        return [certain(settled), *([few] if settled.pair.n_different else []), baseline.reason]
    if baseline.answer != CANNOT_TELL:
        return [certain(settled), baseline.reason]
    return [certain(settled), baseline.reason, f"{settled.needed} {HOW_TO_LABEL}"]


def on_probabilities(verdict: Verdict) -> str:
    """Return a sentence on probabilities that are better or worse than those of the baseline."""
    measure, better = verdict.measure, verdict.answer == HELP
    return (
        f"Its probabilities are {'better' if better else 'worse'} than the baseline's: the "
        f"{measure.name} is about {measure.show(verdict.change)} {'lower' if better else 'higher'} "
        f"({_interval(verdict)})."
    )


def _interval(verdict: Verdict) -> str:
    share = percent_of_level(verdict.interval_level)
    return f"{share} interval {verdict.measure.show_range(*verdict.interval)}"


def contribution(verdict: Verdict) -> str:
    """Return a sentence on what unlabelled rows contribute, given the verdict on it."""
    size, name = verdict.measure.show(verdict.change), verdict.measure.name
    odds, interval = verdict.probabilities, _interval(verdict)
    clear = {
        HELP: f"The unlabelled rows lower its {name} by about {size} ({interval}, probability "
        f"{percent(odds.help)}).",
        HARM: f"The unlabelled rows raise its {name} by about {size} ({interval}, probability "
        f"{percent(odds.harm)}).",
        NO_DIFFERENCE: f"The unlabelled rows change its {name} by less than {verdict.limit} "
        f"(probability {percent(odds.no_difference)}).",
        CANNOT_TELL: f"Whether the unlabelled rows help is not clear ({interval}; "
        f"probability of help {percent(odds.help)}, of harm {percent(odds.harm)}).",
    }
    return clear[verdict.answer]


def remarks_on_rows(
    rows: SharedRows,
    of_labeled: AnyArray | None,
    of_unlabeled: AnyArray | None,
    chosen: Mask | None = None,
) -> tuple[list[str], list[Alert]]:
    """Return notes on missing unlabelled rows, drift and equal rows, and an alert on copies.

    ``of_labeled`` and ``of_unlabeled`` are the groups of the rows; None: every row is a group. Rows
    with chosen labels count as unlabelled, as they were when the other labels were drawn.
    """
    labeled, unlabeled = rows.labeled, rows.unlabeled
    if chosen is not None:
        labeled, unlabeled = labeled[~chosen], stack_rows([labeled[chosen], unlabeled])
        if of_labeled is not None and of_unlabeled is not None:
            of_unlabeled = np.append(of_labeled[chosen], of_unlabeled)
            of_labeled = of_labeled[~chosen]
    copies = None
    if of_labeled is None:
        copies = find_copies(labeled, unlabeled, remedy=HOW_TO_GROUP, random_state=rows.seed)
    note = copies_note(rows.labeled, of_labeled) if copies is None else ""
    notes = [note] if note else []
    alerts = [] if copies is None else [copies]
    if unlabeled.shape[0] == 0:
        return ["There are no unlabelled rows, so the model is supervised.", *notes], alerts
    drift = find_drift(
        one_of_each(labeled, of_labeled),
        one_of_each(unlabeled, of_unlabeled),
        random_state=rows.seed,
    )
    if drift is not None and drift.found:
        notes.insert(0, f"Warning: {drift.text}")
    return notes, alerts


def notes_on_folds(safe: "SafeStack[Stack, SomeKnown, Kind]", held_out: HeldOut) -> list[str]:
    """Check that the rows that folds hold out can be scored, and return what is approximated."""
    undefined, n_splits = held_out.undefined_folds(safe.judged_by), len(held_out.folds)
    notes, n_folds = [], n_splits // safe.n_repeats
    if isinstance(safe.cv, Integral) and n_folds < int(safe.cv):
        notes.append(
            f"{safe.cv} folds were reduced to {n_folds}: more cannot be "
            f"{'made' if held_out.classes is None else 'stratified'} with these labels."
        )
    if undefined:
        notes.append(
            f"{scoring_name(safe.judged_by)} is undefined in {len(undefined)} of {n_splits} folds, "
            "so the verdict scores the rows that all folds of a repeat hold out together."
        )
    return notes


def report_table(
    safe: "SafeStack[Stack, SomeKnown, Kind]",
    scored: OutOfFold[Kind],
    stacks: dict[str, Floats],
) -> dict[str, list[Any]]:
    """Return the table as lists by column: candidates that have scores, then the stacks."""
    held_out, restored = scored.held_out, scored.labels.restored
    rows = [
        {
            "model": candidate.name,
            "kind": "semi-supervised" if candidate.uses_unlabeled else "supervised",
            "counterpart": candidate.counterpart,
            "weight": safe.weights_.get(candidate.name),
            "supervised_weight": safe.supervised_.weights_.get(candidate.name),
            **_losses(restored(scored.scores[candidate.name]), held_out),
            "seconds": scored.seconds[candidate.name],
        }
        for candidate in scored.entrants.all
        if candidate.name in scored.scores
    ]
    empty = dict.fromkeys(rows[0])
    rows += [
        {**empty, "model": name, "kind": "stack", **_losses(scores, held_out)}
        for name, scores in stacks.items()
    ]
    return {column: [row[column] for row in rows] for column in empty}


def _losses(scores: Floats, held_out: HeldOut) -> dict[str, float]:
    """Return the losses of held-out rows for the columns of the table."""
    predictions = held_out.predictions(scores)
    columns = REPORTED_OF_NUMBERS if held_out.classes is None else REPORTED
    return {
        column: held_out.mean_loss(predictions, held_out.loss_of(scoring))
        for column, scoring in columns.items()
    }
