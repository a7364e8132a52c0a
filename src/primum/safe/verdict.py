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
from numbers import Integral
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index, Mask
from primum._words import listed
from primum.judging.copies import copies_note, find_copies
from primum.judging.disagreements import Disagreements
from primum.judging.drift import find_drift, one_of_each
from primum.judging.held_out import HeldOut
from primum.judging.losses import RMSE, scoring_name
from primum.judging.settlement import HOW_TO_LABEL, SettledPair, Settlement, certain
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
from primum.safe.candidates.own import Team
from primum.safe.label_rows import PAIRS, ask_about_stacks
from primum.safe.rows import SharedRows, Targets
from primum.safe.stack import BASELINE, SAFE, SUPERVISED, Stacks, cross_fitted

WITHOUT_UNLABELED = "the same kind of model without unlabelled rows"
HOW_TO_GROUP = (
    "drop the copies, or pass groups=; if no rows belong together, pass a group for each row, "
    "groups=np.arange(len(X))."
)
LACK_OF_TIME = "left out, because of the time budget."
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
    held_out: HeldOut,
    team: Team,
    stacks: Stacks,
    targets: Targets,
    scoring: Any,
    *,
    predicted: Index | None = None,
    differing: Disagreements | None = None,
    names: AnyArray | None = None,
    notes: Sequence[str] = (),
    alerts: Sequence[Alert] = (),
) -> tuple[SafeVerdict, dict[str, Floats], Settlement | None]:
    """Return the verdict on a stack, cross-fitted scores of the stacks, and what labels can settle.

    ``predicted`` has the class codes (n_rows, 3) that the stack, the baseline and the supervised
    stack predict for unlabelled rows. ``differing`` are the rows on which they differ, if all were
    compared, and ``names`` those of the listed ones. The scores are in the unit of the targets.
    ``alerts`` come before the verdicts in the text, and may withhold claims; ``notes`` come after
    them.
    """

    def crossed(names: Sequence[str]) -> Floats:
        return targets.restored(
            cross_fitted(stacks.scores, names, team.baselines, held_out, targets, stacks.shrinkage)
        )

    members, supervised = team.members(stacks.scores)
    unpaired = team.unpaired(stacks.scores)
    of_baselines = np.stack([stacks.scores[name] for name in team.baselines], axis=2)
    mean = of_baselines @ np.full(len(team.baselines), 1.0 / len(team.baselines))
    judged = {
        SAFE: crossed(members),
        SUPERVISED: crossed(supervised),
        BASELINE: targets.restored(mean),
    }

    def verdict(
        own: Floats, other: Floats, name: str, scoring: Any, compared: tuple[int, int] = (0, 0)
    ) -> Verdict:
        loss = held_out.loss_of(scoring, UNIT)
        mine = held_out.predictions(own, loss.objective)
        theirs = held_out.predictions(other, loss.objective)
        found = verdict_of(
            held_out.posterior(mine, theirs, loss, *compared),
            method="the model",
            baseline=name,
            measure=loss.measure,
            sample=held_out.sample,
        )
        return withheld(found, alerts)

    apart = [(0, 0) for _ in PAIRS]
    if predicted is not None:
        apart = [
            (int(np.sum(predicted[:, a] != predicted[:, b])), len(predicted)) for a, b in PAIRS
        ]
    named = f"the baseline ({' and '.join(team.baselines)})"
    of_baseline = verdict(judged[SAFE], judged[BASELINE], named, scoring, apart[0])
    of_supervised = of_brier = asked = leading = None
    if team.n_unlabeled and (not unpaired or team.can_attribute(unpaired)):
        fair = judged[SAFE]
        compared = apart[1]
        if unpaired:
            fair = crossed([name for name in members if name not in unpaired])
            compared = (0, 0)
        of_supervised = verdict(fair, judged[SUPERVISED], WITHOUT_UNLABELED, scoring, compared)
    if scoring == "accuracy":
        of_brier = verdict(judged[SAFE], judged[BASELINE], named, "neg_brier_score")
    if differing is not None and held_out.classes is not None:
        asked = ask_about_stacks(differing, held_out.classes, (of_baseline, of_supervised), names)
        leading = asked.leading
    text = verdict_text(of_baseline, of_supervised, of_brier, notes, leading, alerts)
    verdict_of_fit = SafeVerdict(of_baseline, of_supervised, text, of_brier, tuple(alerts))
    return verdict_of_fit, judged, asked


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
    if settled is None:
        parts.append(baseline.text)
    else:  # what is certain, the verdict for new rows, and what would settle it on these rows
        parts.append(certain(settled))
        if settled.pair.n_different and not settled.pair.needs_labels:
            share = percent(settled.pair.margin)
            parts.append(
                f"This is at most {share} of the rows, which makes no practical difference."
            )
        parts.append(baseline.reason)
        if settled.pair.needs_labels and baseline.answer == CANNOT_TELL:
            parts.append(f"{settled.needed} {HOW_TO_LABEL}")
    if supervised is not None:
        parts.append(contribution(supervised))
    if brier is not None and brier.answer in (HELP, HARM):
        parts.append(on_probabilities(brier))
    return " ".join([*parts, *notes])


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
    if rows.sampled is not None and of_unlabeled is not None:
        of_unlabeled = rows.sampled.take(of_unlabeled)
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


def notes_on_folds(scoring: Any, cv: Any, n_repeats: int, held_out: HeldOut) -> list[str]:
    """Check that the rows that folds hold out can be scored, and return what is approximated."""
    undefined = held_out.undefined_folds(scoring)
    n_splits, notes = len(held_out.folds), []
    n_folds = n_splits // n_repeats
    if isinstance(cv, Integral) and n_folds < int(cv):
        notes.append(
            f"{cv} folds were reduced to {n_folds}: more cannot be "
            f"{'made' if held_out.classes is None else 'stratified'} with these labels."
        )
    if undefined:
        notes.append(
            f"{scoring_name(scoring)} is undefined in {len(undefined)} of {n_splits} folds, "
            "so the verdict scores the rows that all folds of a repeat hold out together."
        )
    return notes


def note_on_single_labels(codes: Index, classes: AnyArray) -> list[str]:
    """Return a note if classes have one labelled row."""
    counts = np.bincount(codes, minlength=len(classes))
    single = [repr(name) for name in classes[counts == 1].tolist()]
    if not single:
        return []
    subject = f"Class {single[0]} has one labelled row"
    if len(single) > 1:
        subject = f"Classes {listed(single)} have one labelled row each"
    return [
        f"{subject}, which cannot be both held out and learnt from, so nothing is known of how "
        "well such rows are predicted: label more of them."
    ]


def report_table(
    team: Team,
    seconds: dict[str, float],
    stacks: Stacks,
    judged: dict[str, Floats],
    held_out: HeldOut,
    targets: Targets,
) -> dict[str, list[Any]]:
    """Return the table as lists by column: candidates that have scores, then the stacks."""
    losses = REPORTED_OF_NUMBERS if held_out.classes is None else REPORTED
    rows: list[dict[str, Any]] = [
        {
            "model": candidate.name,
            "kind": "semi-supervised" if candidate.uses_unlabeled else "supervised",
            "counterpart": candidate.counterpart,
            "weight": stacks.weights[SAFE].get(candidate.name),
            "supervised_weight": stacks.weights[SUPERVISED].get(candidate.name),
            **dict.fromkeys(losses),
            "seconds": seconds[candidate.name],
        }
        for candidate in team.all
        if candidate.name in stacks.scores
    ]
    columns = list(rows[0])
    scores = {row["model"]: targets.restored(stacks.scores[row["model"]]) for row in rows}
    rows += [{**dict.fromkeys(columns), "model": name, "kind": "stack"} for name in judged]
    for row, own in zip(rows, [*scores.values(), *judged.values()], strict=True):
        predictions = held_out.predictions(own)
        for column, scoring in losses.items():
            row[column] = held_out.mean_loss(predictions, held_out.loss_of(scoring))
    return {column: [row[column] for row in rows] for column in columns}
