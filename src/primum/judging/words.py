"""Verdicts in words: one or two sentences that need no statistics to be understood.

A verdict is the answer to "is the method better than the baseline?", with what it is based on. An
alert is a warning that limits how far an answer can be trusted; checks of tables, rows and models
raise alerts, and the headline of a comparison shows them. A model that judges itself has a verdict
of its own, which a comparison asks for.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any, Protocol, TypeGuard

from primum._typing import AnyArray, Floats, Index, PlainRecord
from primum._words import counted
from primum.judging.difference import LEVEL, Difference, Disagreement, Posterior, Probabilities
from primum.judging.losses import ERROR, Measure


@dataclass(frozen=True)
class Alert(PlainRecord):
    """A warning shown before an answer, because it limits how far the answer can be trusted.

    Attributes
    ----------
    kind : str
        What it is about, for programs: "groups", "drift", "leak", "guessing", ...
    text : str
        What was found and what to do, in one or two sentences.
    withholds : bool
        Whether nothing may be claimed before it is resolved.
    assumes : str
        If claims are withheld: what they would assume, as part of a sentence.
    next_step : str
        If claims are withheld: what to do, in a sentence.
    """

    kind: str
    text: str
    withholds: bool = False
    assumes: str = ""
    next_step: str = ""
    in_json = ("kind", "text", "withholds")


HELP, NO_DIFFERENCE, HARM, CANNOT_TELL = "help", "no_difference", "harm", "cannot_tell"
LABEL_THE_DIFFERENT = (
    "Labels of unlabelled rows on which the two predict different classes would settle it for your "
    "rows."
)
# An answer that is not clear is called probable if it has more than this probability: it is then
# more probable than all others together.
PROBABLE = 0.5


@dataclass(frozen=True)
class Verdict:
    """The answer to "is the method better than the baseline?".

    Attributes
    ----------
    answer : {"help", "no_difference", "harm", "cannot_tell"}
        One of the first three if its probability is at least ``level``.
    reason : str
        The answer in words, with the numbers.
    next_step : str
        With "cannot_tell": what would settle it, in words; otherwise empty. Errors on unlabelled
        rows are settled by labels of those on which the two differ, anything else by labels of
        rows at random.
    probabilities : Probabilities
        Of the three possible answers.
    change : float
        Estimated change of the loss, method minus baseline: the median of its posterior
        distribution. ``difference.mean`` is the observed one.
    interval : tuple of float
        Where the change lies with the probability ``interval_level``: what is claimed with a
        probability of at least ``level`` holds throughout it.
    n_labels_to_settle : int or None
        With "cannot_tell": about how many labelled rows (groups, if rows belong together), drawn at
        random, would give a clear answer; None if more than a hundred times the present number or
        more than there are to label, or if the answer is clear.
    level : float
        The probability that an answer needs.
    difference : Difference
        The estimate that it is based on.
    disagreement : Disagreement or None
        How often the two predict different classes and which is right there: what a verdict on
        errors is based on.
    limit : str
        The largest change that counts as none, in words.
    measure : Measure
        How the loss is called and shown, with digits that suit this limit.
    """

    answer: str
    reason: str
    next_step: str
    probabilities: Probabilities
    change: float
    interval: tuple[float, float]
    n_labels_to_settle: int | None
    level: float
    difference: Difference
    disagreement: Disagreement | None = None
    limit: str = ""
    measure: Measure = ERROR

    @property
    def text(self) -> str:
        """The answer in words, and what would settle it."""
        return f"{self.reason} {self.next_step}".rstrip()

    @property
    def interval_level(self) -> float:
        """The probability of the interval, with 1 - ``level`` on either side."""
        return interval_level(self.level)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values."""
        values = asdict(self) | {"text": self.text, "interval": list(self.interval)}
        del values["reason"], values["next_step"], values["limit"], values["measure"]
        return values | {"interval_level": self.interval_level}


def withheld(verdict: Verdict, alerts: Sequence[Alert]) -> Verdict:
    """Return a verdict without its claim, if some alert withholds claims.

    Its reason then begins with what the claim would assume.
    """
    first = next((alert for alert in alerts if alert.withholds), None)
    if first is None or verdict.answer == CANNOT_TELL:
        return verdict
    reason = f"If {first.assumes}: {verdict.reason}"
    return replace(verdict, answer=CANNOT_TELL, reason=reason)


def interval_level(level: float) -> float:
    """Return the level of the central interval that goes with a one-sided claim.

    A claim of help needs the probability ``level`` of a change below the region of practical
    equivalence, so that the interval with 1 - level on either side is below it as well.
    """
    return max(2 * level - 1, 0.0)


@dataclass(frozen=True)
class JudgedSample:
    """The labelled rows that a verdict is based on.

    Attributes
    ----------
    n_labeled : int
        Number of labelled rows, without chosen ones.
    n_scored : int or None
        How many of them are held out in some split; None: all.
    n_groups : int or None
        Number of groups among those that are held out, if rows belong together.
    n_unlabeled : int or None
        Number of rows (with ``n_groups``: of further groups) that could be labelled, if known.
    n_chosen : int
        Number of further labelled rows that were not drawn at random, and are only trained on.
    """

    n_labeled: int
    n_scored: int | None = None
    n_groups: int | None = None
    n_unlabeled: int | None = None
    n_chosen: int = 0

    def __str__(self) -> str:
        text = f"{self.n_labeled} labelled rows"
        if self.n_groups is not None:
            text += f" in {self.n_groups} groups"
        if self.n_scored is not None and self.n_scored < self.n_labeled:
            text += f", of which {self.n_scored} are held out,"
        if self.n_chosen:
            chosen = counted(self.n_chosen, "chosen one")
            text = f"{text.rstrip(',')}, and {chosen} for training only,"
        return text

    @property
    def held_out(self) -> str:
        """How many rows, or groups, are held out in some split, in words."""
        if self.n_groups is not None:
            return f"{self.n_groups} held-out groups"
        return f"{self.n_labeled if self.n_scored is None else self.n_scored} held-out rows"

    def to_settle(self, n_units: int, settle: int | None) -> int | None:
        """Return how many labelled rows, or groups, in all are worth ``settle`` units.

        None if there are not enough. Without unlabelled rows, further rows can be collected.
        """
        if settle is None:
            return None
        now = self._now
        if self.n_groups is None:
            settle = max(ceil(settle * self.n_labeled / n_units), settle)
        enough = not self.n_unlabeled or rounded_up(settle - now) <= self.n_unlabeled
        return settle if enough else None

    @property
    def _now(self) -> int:
        return self.n_labeled if self.n_groups is None else self.n_groups

    def settling(self, settle: int | None) -> str:
        """Return a sentence on the number of labels that would give a clear answer."""
        unit = "row" if self.n_groups is None else "group"
        if settle is None:
            return f"Labelling more {unit}s at random would probably not settle which is better."
        about = rounded_up(settle - self._now)
        return (
            f"Labelling about {counted(about, f'more {unit}')} at random would settle it, if the "
            "estimate stays the same."
        )


def rounded_up(number: int) -> int:
    """Return a number of labels with two digits that are not 0, at least 1."""
    number = max(number, 1)
    unit = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // unit) * unit


def answer_of(probabilities: Probabilities, level: float = LEVEL) -> str:
    """Return the answer whose probability is at least level, or "cannot_tell"."""
    for answer, probability in probabilities.to_dict().items():
        if probability >= level:
            return answer
    return CANNOT_TELL


def verdict_of(
    posterior: Posterior,
    *,
    method: str = "the method",
    baseline: str = "the baseline",
    measure: Measure = ERROR,
    level: float = LEVEL,
    sample: JudgedSample | None = None,
) -> Verdict:
    """Return the verdict on a method against its baseline.

    Parameters
    ----------
    posterior : Posterior
        Of the difference of their losses.
    method, baseline : str
        Their names, as parts of a sentence; see ``quoted``.
    measure : Measure
        How the loss is called and shown.
    level : float, default=0.95
        The probability that an answer needs.
    sample : JudgedSample, optional
        The labelled rows; by default as many as the difference is based on.

    Returns
    -------
    Verdict
        The answer, its probabilities and its wording.

    Examples
    --------
    >>> from primum.judging.difference import Difference, Posterior
    >>> from primum.judging.words import verdict_of
    >>> posterior = Posterior(Difference(-0.08, 0.02, 99, 100))
    >>> print(verdict_of(posterior, method="ICLS", baseline="ridge regression"))
    ICLS is better than ridge regression: its error is about 7.0 points lower (90% interval -10.5 \
to -3.5 points, probability above 99%).
    """
    odds, n_units = posterior.probabilities, posterior.difference.n_rows
    answer, interval = answer_of(odds, level), posterior.interval(interval_level(level))
    measure = measure.in_steps_of(posterior.equivalence)
    change = posterior.interval(0.0)[0]
    unclear = answer == CANNOT_TELL
    sample = JudgedSample(n_units) if sample is None else sample
    settle = sample.to_settle(n_units, posterior.labels_to_settle(level)) if unclear else None
    by_rows = posterior.disagreement is not None and sample.n_unlabeled
    next_step = LABEL_THE_DIFFERENT if by_rows else sample.settling(settle)
    share = f"{percent_of_level(interval_level(level))} interval"
    shown, edge = measure.show_range(*interval), limit_in_words(posterior, measure)
    if unclear:
        may = f"the {measure.name} may change by {shown} ({share}"
        reason = f"{_unclear(odds, method, baseline, measure.name, edge, str(sample), may)})."
    else:
        claim = _claim(answer, method, baseline, measure, change, edge)
        reason = f"{claim} ({share} {shown}, probability {percent(odds.to_dict()[answer])})."
    if posterior.disagreement is not None:
        reason += f" {_held_out(posterior.disagreement, method, baseline, sample)}"
    return Verdict(
        answer=answer,
        reason=reason,
        next_step=next_step if unclear else "",
        probabilities=odds,
        change=change,
        interval=interval,
        n_labels_to_settle=settle,
        level=level,
        difference=posterior.difference,
        disagreement=posterior.disagreement,
        limit=edge,
        measure=measure,
    )


def limit_in_words(posterior: Posterior, measure: Measure) -> str:
    """Return the largest change that makes no practical difference: "1 point", or a share."""
    if posterior.share is None:
        return measure.show_limit(posterior.equivalence)
    size = measure.show(posterior.equivalence)
    return f"{percent_of_level(posterior.share)} ({size})"


def _claim(
    answer: str, method: str, baseline: str, measure: Measure, change: float, edge: str
) -> str:
    """Return the claim of a clear answer."""
    first, name, size = capitalised(method), measure.name, measure.show(change)
    return {
        HELP: f"{first} is better than {baseline}: its {name} is about {size} lower",
        HARM: f"{first} is worse than {baseline}: its {name} is about {size} higher",
        NO_DIFFERENCE: f"{first} and {baseline} differ in {name} by less than {edge}, which makes "
        "no practical difference",
    }[answer]


def _unclear(
    odds: Probabilities, method: str, baseline: str, name: str, edge: str, sample: str, may: str
) -> str:
    """Return what is probable if no answer is probable enough, up to its last bracket."""
    first, chances = capitalised(method), odds.to_dict()
    probable = max(chances, key=lambda answer: chances[answer])
    if chances[probable] <= PROBABLE:
        return (
            f"With {sample} we cannot tell whether {method} is better than {baseline}: {may}; "
            f"probability of help {percent(odds.help)}, of harm {percent(odds.harm)}"
        )
    likely = {
        HELP: f"is probably better ({percent(odds.help)}) than {baseline}",
        HARM: f"is probably worse ({percent(odds.harm)}) than {baseline}",
        NO_DIFFERENCE: f"and {baseline} probably ({percent(odds.no_difference)}) differ in {name} "
        f"by less than {edge}",
    }[probable]
    return f"{first} {likely}, but with {sample} this is not certain: {may}"


def _held_out(disagreement: Disagreement, method: str, baseline: str, sample: JudgedSample) -> str:
    """Return a sentence on the held-out rows, or groups, that decide a verdict on errors.

    A row that is held out several times is predicted as often, and counts by its shares.
    """
    counts = (disagreement.better, disagreement.worse, disagreement.neither)
    differ, right, other = (round(count, 1) for count in (sum(counts), *counts[:2]))
    if not differ:
        return f"They differ on none of {sample.held_out}."
    they = "They" if differ == int(differ) and right == int(right) else "On average, they"
    return (
        f"{they} differ on {differ:g} of {sample.held_out}, of which {method} gets {right:g} "
        f"right, and {baseline} {other:g}."
    )


def percent(probability: float) -> str:
    """Return a probability in per cent; 0 and 100 only if exact."""
    if 0 < probability < 0.005:  # would be rounded to 0%, and below to 100%
        return "below 1%"
    if 0.995 <= probability < 1:
        return "above 99%"
    return f"{100 * probability:.0f}%"


def percent_of_level(level: float) -> str:
    """Return a level in per cent, with the digits that it needs: 90%, 97.5%, 99.99%.

    What is not certain is never shown as 100% or 0%.
    """
    digits = 1
    while 0 < level < 1 and round(100 * level, digits) in (0, 100):
        digits += 1
    return f"{round(100 * level, digits):.15g}%"


def capitalised(phrase: str) -> str:
    """Return a phrase as the beginning of a sentence; other letters stay as they are."""
    return phrase[:1].upper() + phrase[1:]


def quoted(name: str) -> str:
    """Return a name that a user chose as part of a sentence: in quotation marks, as it is."""
    return f'"{name}"'


@dataclass(frozen=True)
class OwnVerdict:
    """The verdicts of a model that judges itself, with the held-out scores they are based on.

    Attributes
    ----------
    baseline : Verdict
        The verdict on the model against its baseline.
    supervised : Verdict or None
        The verdict on the model against its supervised twin, if the two can be compared.
    rows, folds : array of shape (n_held_out,)
        Rows of X that the folds hold out, one fold after the other, and the numbers of the folds.
    scores : array of shape (n_held_out, n_classes) or (n_held_out, 1)
        Their scores, or the numbers predicted for them: neither the models nor their weights have
        seen the label of the row.
    notes : list of str
        What was approximated, left out or warned of.
    limited : bool
        Whether something was left out for lack of time.
    predicted : array of shape (n_held_out,) or None
        Class codes predicted for them, each by a decision rule of the other folds; None: those of
        the largest scores, or numbers.
    """

    baseline: Verdict
    supervised: Verdict | None
    rows: Index
    folds: Index
    scores: Floats
    notes: list[str]
    limited: bool
    predicted: Index | None = None

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by what the model was compared with."""
        baseline = {"baseline": self.baseline}
        return baseline if self.supervised is None else baseline | {"supervised": self.supervised}


class JudgesItself(Protocol):
    """A model that is judged within its own fit to all labelled rows, by cross-fitted scores.

    A comparison fits any other model in every split and judges its held-out predictions. One
    with these parameters and methods is fitted once, with the splits of the comparison as ``cv``,
    and asked for its held-out scores and for what unlabelled rows contribute. Its ``fit`` accepts
    ``groups``, and ``baseline_`` is the fitted model that its own verdict compares it with.

    Attributes
    ----------
    cv, n_repeats
        How the labelled rows are split, and how often.
    scoring : str or callable
        The loss that the verdict is about.
    time_budget : float or None
        Seconds that a fit may take.
    baseline : str, estimator or list
        What it is compared with.
    """

    cv: Any
    n_repeats: int
    scoring: Any
    time_budget: float | None
    baseline: Any
    baseline_: Any

    def count_fits(self) -> int:
        """Return how many models a fit trains, on parts of the rows and on all of them."""

    def own_verdict(self) -> OwnVerdict:
        """Return the verdicts of the fit, and its held-out scores."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters."""

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class, or number, of every row."""


def judges_itself(model: Any) -> TypeGuard[JudgesItself]:
    """Return whether a model, fitted or not, has a verdict of its own."""
    return hasattr(model, "own_verdict")
