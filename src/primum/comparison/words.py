"""The result of a comparison in words: its headline, and one row of a table per classifier.

A headline begins with warnings that limit how far the answer can be trusted. Then it says what to
use, why (with the numbers), and what to do next. Text, pages and the command render it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primum._typing import Floats, PlainRecord
from primum._words import listed, wrapped
from primum.judging.losses import ERROR, RMSE, Measure, number_measure
from primum.judging.settlement import HOW_TO_LABEL
from primum.judging.words import (
    CANNOT_TELL,
    HARM,
    HELP,
    LABEL_THE_DIFFERENT,
    NO_DIFFERENCE,
    PROBABLE,
    Alert,
    Verdict,
    capitalised,
    percent,
    percent_of_level,
    quoted,
)
from primum.reading.known import Known
from primum.reading.labels import KnownLabels


@dataclass(frozen=True)
class Headline(PlainRecord):
    """The result of a comparison in a few lines.

    Attributes
    ----------
    alerts : tuple of Alert
        Warnings that limit how far the answer can be trusted.
    answer : str
        What to use.
    reason : str
        Why, with the numbers.
    next_step : str
        What to do next, or what limits the answer; may be empty.
    kind : {"help", "harm", ""}
        The claim about the recommended method or, if that is the baseline, about the methods with
        unlabelled rows; empty if there is none.
    certain : str
        What is certain on the unlabelled rows: how many predictions change, and what their labels
        have settled; may be empty.
    labelled : bool
        Whether the answer comes from labels of unlabelled rows; the reason is then the earlier
        finding of cross-validation.
    """

    alerts: tuple[Alert, ...]
    answer: str
    reason: str
    next_step: str = ""
    kind: str = ""
    certain: str = ""
    labelled: bool = False

    @property
    def lines(self) -> list[str]:
        """The alerts, one each, then answer, what is certain, reason and next step."""
        alerts = [f"Warning: {alert.text}" for alert in self.alerts]
        parts = (self.answer, self.certain, self.reason, self.next_step)
        return [*alerts, *filter(None, parts)]

    def __str__(self) -> str:
        return wrapped("\n".join(self.lines), indent="  ")


BEFORE_LABELS = "Before your new labels, from cross-validation:"
NEW_QUESTION = (
    "This is a new question, about newly fitted models: the chosen labels have trained them, and "
    "settle nothing here."
)


@dataclass(frozen=True)
class SettledWords:
    """What a headline says about fitted models on the unlabelled rows.

    Attributes
    ----------
    certain : str
        On how many rows they differ, and what labels have settled.
    answer : str
        What to use, if labels were given.
    kind : {"help", "harm", ""}
        The claim of the labels.
    two_questions : str
        Why cross-validation says something else, if it does.
    request : str
        How many rows to label, if it is open.
    deciding : str
        About how many labels decide between the leading two models, as a range, if it is open.
    new_model : str
        What a new fit with the new labels would change.
    how : str
        How to label the rows.
    """

    certain: str
    answer: str = ""
    kind: str = ""
    two_questions: str = ""
    request: str = ""
    deciding: str = ""
    new_model: str = ""
    how: str = HOW_TO_LABEL


@dataclass(frozen=True)
class LabellingWords:
    """How rows are labelled and the model is saved outside Python.

    Attributes
    ----------
    how : str
        How to label rows, in a sentence.
    saving : str
        How to save the model, and what a new fit would change; empty: as in Python.
    """

    how: str = HOW_TO_LABEL
    saving: str = ""

    def in_place(self, settled: SettledWords) -> SettledWords:
        """Return what a headline says, in this wording."""
        new_model = (self.saving or settled.new_model) if settled.new_model else ""
        return replace(settled, how=self.how, new_model=new_model)


IN_PYTHON = LabellingWords()
REFITTED = "A model fitted again with the new labels is usually better, but has not been judged"
BASELINE = "baseline"
# The baseline in sentences, if the user did not choose one.
TUNED = f"the tuned {BASELINE}"
SAFE = "safe stack"
# The estimator that is called so if classes are predicted.
STACK = "SafeClassifier"
TWIN = "the same method without the unlabelled rows"
FIT = "Fit it to all rows with fit_recommended(), or with --save-model on the command line."
NO_UNLABELED = "All rows are labelled, so no unlabelled rows can help."
# Differences below rounding errors are shown as 0.
ROUNDED_DIGITS = 12


@dataclass(frozen=True)
class MethodResult(PlainRecord):
    """The result of one classifier.

    Attributes
    ----------
    name : str
        Its name.
    uses_unlabeled : bool
        Whether it is fitted to the unlabelled rows.
    loss : float
        Mean loss on held-out rows.
    seconds : float
        Mean time of a fit and its predictions.
    n_splits : int
        Number of splits it is judged by.
    verdict : Verdict or None
        The verdict against the baseline; None for a baseline.
    p_value : float or None
        Two-sided p-value, adjusted for the number of methods by Holm's method.
    twin : Verdict or None
        The verdict against its supervised twin: what the unlabelled rows contribute.
    observed_change : float or None
        Its loss minus the baseline's, as observed on held-out rows; None for a baseline. The
        verdict's ``change`` is an estimate of the true one.
    twin_measure : Measure or None
        The loss of ``twin``: that of the comparison, or the error if the former needs scores which
        the twin does not have.
    """

    name: str
    uses_unlabeled: bool
    loss: float
    seconds: float
    n_splits: int
    verdict: Verdict | None = None
    p_value: float | None = None
    twin: Verdict | None = None
    observed_change: float | None = None
    twin_measure: Measure | None = None
    in_json = (
        *("name", "uses_unlabeled", "loss", "verdict", "p_value", "twin", "seconds", "n_splits"),
        *("observed_change", "twin_measure"),
    )

    @property
    def judged(self) -> Verdict:
        """The verdict of a method; a baseline has none."""
        if self.verdict is None:
            raise ValueError(f"{self.name} is a baseline, which is compared with nothing.")
        return self.verdict

    @property
    def promise(self) -> float:
        """The probability of help minus that of harm."""
        odds = self.judged.probabilities
        return odds.help - odds.harm

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        measure = self.twin_measure and self.twin_measure.name
        return super().to_dict() | {"twin_measure": measure}


def with_article(name: str, baseline: str = TUNED) -> str:
    """Return a model's name for captions: "the tuned baseline", "the safe stack", "ICLS"."""
    if name == BASELINE:
        return baseline
    return f"the {name}" if name == SAFE else name


def phrase(name: str, stack: str = STACK) -> str:
    """Return a method's name as part of a sentence; names that the user chose are quoted."""
    return f"{with_article(name)} ({stack})" if name == SAFE else quoted(name)


def unit_of(measure: Measure) -> str:
    """Return the unit of changes in parentheses, if there is one."""
    return f" ({measure.unit.strip()})" if measure.unit else ""


def show_loss(loss: float, measure: Measure) -> str:
    """Return a loss, in per cent if its changes are in points."""
    sign = "%" if measure.unit == ERROR.unit else ""
    return f"{round(loss * measure.scale, measure.digits) + 0.0:,.{measure.digits}f}{sign}"


def show_loss_in_unit(loss: float, measure: Measure) -> str:
    """Return a loss with its unit."""
    return f"{show_loss(loss, measure)}{'' if measure.unit == ERROR.unit else measure.unit}"


def show_change(change: float, measure: Measure) -> str:
    """Return a change of a loss with its sign; no change has the sign +."""
    return f"{round(change * measure.scale, measure.digits) + 0.0:+,.{measure.digits}f}"


def estimation(scoring: Any) -> str:
    """Return how a change is estimated, as part of a sentence."""
    if scoring == "accuracy":
        return (
            "from the rows on which the two predict different classes: how many of the unlabelled "
            "rows these are, and which of the two is right there"
        )
    return "by shrinking the observed change towards 0, because part of it is chance"


@dataclass(frozen=True)
class Findings:
    """The findings from which the headline of a comparison is written.

    Attributes
    ----------
    compared : sequence of MethodResult
        The methods that have a verdict.
    recommended : str
        Name of the method to use, or "baseline".
    measure : Measure
        How the loss is called and shown.
    n_unlabeled : int
        Number of unlabelled rows.
    sample : str
        The labelled rows in words.
    failed : sequence of str
        Names of the methods that could not be judged.
    hurried : bool
        Whether the time budget left out methods that use unlabelled rows, or candidates of them.
    stack : str
        Name of the estimator that is called the safe stack.
    baseline : str
        The baseline, as part of a sentence.
    failed_parts : sequence of str
        Names of the baselines that failed in some split, if the baseline is the average of several.
    """

    compared: Sequence[MethodResult]
    recommended: str
    measure: Measure
    n_unlabeled: int
    sample: str = ""
    failed: Sequence[str] = ()
    hurried: bool = False
    stack: str = STACK
    baseline: str = TUNED
    failed_parts: Sequence[str] = ()

    @property
    def best(self) -> MethodResult | None:
        """The recommended method or, if that is the baseline, the most promising one, if any."""
        if self.recommended != BASELINE:
            return next(method for method in self.compared if method.name == self.recommended)
        return max(self.compared, key=lambda method: method.promise, default=None)


def compose_headline(
    findings: Findings,
    alerts: Sequence[Alert] = (),
    settled: SettledWords | None = None,
    *,
    can_settle: bool = True,
) -> Headline:
    """Return the answer to "which model should I use?": what, why, and what to do next.

    Parameters
    ----------
    findings : Findings
        What cross-validation says.
    alerts : sequence of Alert
        Warnings that limit how far they can be trusted.
    settled : SettledWords, optional
        What is certain on the unlabelled rows; labels of these decide what to use there.
    can_settle : bool, default=True
        Whether such labels can decide anything, if ``settled`` is not known.

    Returns
    -------
    Headline
        In parts.
    """
    alerts = tuple(sorted(alerts, key=lambda alert: not alert.withholds))
    failure = failure_sentence(findings)
    answer, kind = answer_line(findings, "" if settled is None else settled.deciding)
    if alerts and alerts[0].withholds:
        answer = f"Use {findings.baseline}; whether anything is better cannot be said yet."
        kind = ""
        assumed = dict.fromkeys(alert.assumes for alert in alerts if alert.withholds)
        reason = f"All errors and intervals here assume that {' and that '.join(assumed)}."
        steps = dict.fromkeys(alert.next_step for alert in alerts if alert.withholds)
        next_step = " ".join(steps)
    else:
        reason, next_step = _reason(findings), _next_step(findings, settled, can_settle)
    if settled is None:
        return Headline(alerts, answer, reason, f"{next_step} {failure}".strip(), kind)
    if settled.answer:
        return headline_after_labels(Headline(alerts, answer, reason), settled, failure)
    reason, next_step = f"{reason} {settled.two_questions}", f"{next_step} {failure}"
    return Headline(
        alerts, answer, reason.strip(), next_step.strip(), kind, certain=settled.certain
    )


def first_answer(
    methods: Sequence[MethodResult], headline: Headline, measure: Measure, waiting: Sequence[str]
) -> str:
    """Return the answer of the baseline and the safe stack while other methods are still fitted.

    Parameters
    ----------
    methods : sequence of MethodResult
        The baseline, its parts and the safe stack.
    headline : Headline
        The headline about them.
    measure : Measure
        How the loss is called and shown.
    waiting : sequence of str
        Names of what is still running.

    Returns
    -------
    str
        Lines; empty if no method has a verdict.
    """
    shown = [one for one in methods if one.name == BASELINE or one.verdict is not None]
    if len(shown) < 2:
        return ""
    losses = [f"{one.name} {show_loss_in_unit(one.loss, measure)}" for one in shown]
    names = [f"the {BASELINE}", *(with_article(one.name) for one in shown[1:])]
    still_running = f" Still running: {listed(waiting)}." if waiting else ""
    withheld = [f"Warning: {alert.text}" for alert in headline.alerts if alert.withholds]
    lines = [
        f"First answer, from {' and '.join(names)} alone; it is not the final one.{still_running}",
        *withheld,
        headline.answer,
        headline.reason,
        f"{capitalised(measure.name)} on held-out rows: {', '.join(losses)}.",
    ]
    return wrapped("\n".join(lines), indent="  ")


def failure_sentence(findings: Findings) -> str:
    """Return a sentence on methods that could not be judged; empty if all were."""
    names = ", ".join(phrase(name, findings.stack) for name in findings.failed)
    if not names:
        return ""
    text = f"Not judged, because fits failed (`failures` says why): {names}."
    if findings.failed_parts and SAFE in findings.failed:
        parts = " and ".join(quoted(name) for name in findings.failed_parts)
        verb = "is part" if len(findings.failed_parts) == 1 else "are parts"
        text += f" The {SAFE} starts from the baseline, of which {parts} {verb}: leave it out."
    return text


def headline_after_labels(before: Headline, settled: SettledWords, failure: str = "") -> Headline:
    """Return a headline that labels have changed: what to use, and what to do next.

    Parameters
    ----------
    before : Headline
        The headline before; its alerts are kept, and its reason as the earlier finding.
    settled : SettledWords
        What the labels say.
    failure : str, default=""
        Which methods could not be judged, in a sentence.

    Returns
    -------
    Headline
        In parts.
    """
    label = f"{settled.request} {settled.how}" if settled.request else ""
    next_step = " ".join(filter(None, (label, settled.new_model, failure)))
    reason = f"{BEFORE_LABELS} {before.reason} {settled.two_questions}".strip()
    return Headline(
        *(before.alerts, settled.answer, reason, next_step, settled.kind, settled.certain),
        labelled=True,
    )


def answer_line(findings: Findings, deciding: str = "") -> tuple[str, str]:
    """Return what to use in one line, and the claim, which says no more than the verdicts.

    ``deciding`` is about how many more labels should decide what is not proven.
    """
    if findings.recommended != BASELINE and (best := findings.best) is not None:
        if best.judged.answer != HELP:
            more = f"; about {deciding} more should decide it for your rows" if deciding else ""
            sure = _how_sure(best.judged, findings.baseline)
            return (
                f"Use {with_article(best.name)}. {sure}, but your labels do not prove it{more}.",
                "",
            )
        if best.twin is not None and best.twin.answer == HELP:
            return f"The unlabelled rows help: use {with_article(best.name)}.", HELP
        return f"Use {with_article(best.name)}: it is better than {findings.baseline}.", HELP
    use = f"use {findings.baseline}."
    if not findings.n_unlabeled:
        return f"{NO_UNLABELED} {capitalised(use)}", ""
    using = [method for method in findings.compared if method.uses_unlabeled]
    answers = {method.judged.answer for method in using}
    if answers == {HARM}:
        rows = all(method.twin is not None and method.twin.answer == HARM for method in using)
        cause = "The unlabelled rows" if rows else "The methods with unlabelled rows"
        return f"{cause} would do harm: {use}", HARM
    if findings.hurried:
        return f"In this time, the unlabelled rows have not been shown to help: {use}", ""
    if answers == {NO_DIFFERENCE}:
        return f"The unlabelled rows make no practical difference: {use}", ""
    if CANNOT_TELL in answers:
        return f"The unlabelled rows have not been shown to help: {use}", ""
    return capitalised(use), ""


def _how_sure(verdict: Verdict, baseline: str) -> str:
    """Return, in a sentence, how probable it is that a method is better, which is not proven."""
    odds = verdict.probabilities
    if odds.help > PROBABLE:
        return f"It is probably better ({percent(odds.help)}) than {baseline}"
    return (
        f"It is more likely to be better ({percent(odds.help)}) than worse ({percent(odds.harm)}) "
        f"than {baseline}"
    )


def _reason(findings: Findings) -> str:
    """Return why, with the numbers."""
    compared, best = findings.compared, findings.best
    if best is None:
        return f"No method could be compared with {findings.baseline}."
    if best.judged.answer == HELP:
        return best.judged.reason
    numbers = _numbers(best.judged, findings.measure)
    if len(compared) == 1 or findings.recommended != BASELINE:
        proven = [phrase(m.name, findings.stack) for m in compared if m.judged.answer == HELP]
        verb = "has" if len(proven) == 1 else "have"
        less = f" {' and '.join(proven)} {verb} been shown to help, but by less." if proven else ""
        name = phrase(best.name, findings.stack)
        return f"With {findings.sample}, {name} may change {numbers}.{less}"
    harmful = [
        phrase(method.name, findings.stack) for method in compared if method.judged.answer == HARM
    ]
    harm = f", and {listed(harmful)} would do harm" if harmful else ""
    none = "neither of the 2" if len(compared) == 2 else f"none of the {len(compared)}"
    return (
        f"With {findings.sample}, {none} methods has been shown to help{harm}. "
        f"The most promising, {phrase(best.name, findings.stack)}, may change {numbers}."
    )


def _numbers(verdict: Verdict, measure: Measure) -> str:
    """Return by how much a method changes the loss, with the probabilities of help and harm."""
    odds = verdict.probabilities
    likely = f"probability of help {percent(odds.help)}, of harm {percent(odds.harm)}"
    if verdict.answer == NO_DIFFERENCE:
        likely = f"probability of no practical difference {percent(odds.no_difference)}"
    share = percent_of_level(verdict.interval_level)
    changed = measure.show_range(*verdict.interval)
    return f"the {measure.name} by {changed} ({share} interval; {likely})"


def _next_step(findings: Findings, settled: SettledWords | None, can_settle: bool) -> str:
    """Return what to do next, or what limits the answer."""
    best = findings.best
    if best is None:
        return ""
    step = best.judged.next_step
    if step == LABEL_THE_DIFFERENT and not can_settle:
        step = ""
    if findings.recommended != BASELINE:
        label = ""
        if best.judged.answer != HELP and findings.n_unlabeled:
            label = step
            if settled is not None:
                label = f"{settled.request} {settled.how}" if settled.request else ""
        return f"{label} {_twin_sentence(best)}{FIT}".strip()
    if best.judged.answer != CANNOT_TELL or not findings.n_unlabeled:
        return ""
    baseline = findings.baseline.partition(" (")[0]  # its names were given before
    if settled is not None:
        cautious = f"Until then, {baseline} is the cautious choice."
        return f"{settled.request} {settled.how} {cautious}" if settled.request else ""
    if not step:
        return f"{capitalised(baseline)} is the cautious choice."
    can_wait = best.judged.n_labels_to_settle is not None
    when = "Until then" if can_wait else "Meanwhile"
    return f"{step} {when}, {baseline} is the cautious choice."


def _twin_sentence(method: MethodResult) -> str:
    """Return a sentence on what the unlabelled rows contribute to a method that may help."""
    if not method.uses_unlabeled and method.judged.answer != HELP:
        return "It does not use the unlabelled rows. "
    if not method.uses_unlabeled:
        return "This is not due to the unlabelled rows, which it does not use. "
    if method.twin is None or method.twin.answer == HELP:
        return ""
    return (
        "It has not been shown that the unlabelled rows contribute to this: compared with the "
        "same method without them, the probability of help is "
        f"{percent(method.twin.probabilities.help)}. "
    )


def _shown(value: float | None) -> float | None:
    return None if value is None else round(value, ROUNDED_DIGITS) + 0.0


def table_row(method: MethodResult) -> dict[str, Any]:
    """Return a result as a row of a table."""
    verdict, twin = method.verdict, method.twin
    odds = None if verdict is None else verdict.probabilities
    low, high = (None, None) if verdict is None else verdict.interval
    return {
        "method": method.name,
        "uses unlabelled rows": method.uses_unlabeled,
        "loss": method.loss,
        "observed change": _shown(method.observed_change),
        "estimated change": verdict and _shown(verdict.change),
        "low": _shown(low),
        "high": _shown(high),
        "P(help)": odds and odds.help,
        "P(no difference)": odds and odds.no_difference,
        "P(harm)": odds and odds.harm,
        "answer": verdict and verdict.answer,
        "p (Holm)": method.p_value,
        "estimated change to its twin": twin and _shown(twin.change),
        "seconds": method.seconds,
        "splits": method.n_splits,
    }


def labels_in_words(known: Known) -> str:
    """Return known labels as part of a sentence: classes with counts, or the range of numbers."""
    if isinstance(known, KnownLabels):
        counts = zip(known.classes.tolist(), known.counts.tolist(), strict=True)
        return listed([f"{str(name)!r}: {count}" for name, count in counts])
    low, middle, high = (number_in_words(known.targets, share) for share in (0, 0.5, 1))
    return f"from {low} to {high}, half of them below {middle}"


def number_in_words(numbers: Floats, share: float) -> str:
    """Return a quantile of known numbers, without digits that it does not need."""
    digits = number_measure(RMSE, numbers).digits
    text = f"{np.quantile(numbers, share):,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
