"""A verdict in words: two or three sentences that need no statistics to be understood."""

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from primum.selection.statistics import LEVEL, Difference, Posterior, Probabilities

HELP, NO_DIFFERENCE, HARM, CANNOT_TELL = "help", "no_difference", "harm", "cannot_tell"


@dataclass(frozen=True)
class Verdict:
    """The answer to "is the method better than the baseline?".

    Attributes
    ----------
    answer : {"help", "no_difference", "harm", "cannot_tell"}
        One of the first three if its probability is at least ``level``.
    text : str
        The answer in words.
    probabilities : Probabilities
        Of the three possible answers.
    change : float
        Estimated change of the loss, method minus baseline.
    interval : tuple of float
        Where the change lies with the probability ``level``.
    n_labels_to_settle : int or None
        With "cannot_tell": about how many labelled rows would give a clear answer; None if more
        than a hundred times the present number, or if the answer is clear.
    level : float
        The probability that an answer needs.
    difference : Difference
        The estimate that it is based on.
    bound : float or None
        Largest possible size of the difference, if known.
    """

    answer: str
    text: str
    probabilities: Probabilities
    change: float
    interval: tuple[float, float]
    n_labels_to_settle: int | None
    level: float
    difference: Difference
    bound: float | None

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values."""
        return {
            "answer": self.answer,
            "text": self.text,
            "probabilities": self.probabilities.to_dict(),
            "change": self.change,
            "interval": list(self.interval),
            "n_labels_to_settle": self.n_labels_to_settle,
            "level": self.level,
            "difference": asdict(self.difference),
            "bound": self.bound,
        }


@dataclass(frozen=True)
class Measure:
    """How a loss is called and shown.

    Attributes
    ----------
    name : str
        Of the loss, for example "error".
    unit : str
        Shown after a number, for example "points".
    scale : float
        Factor from the loss to the number shown.
    digits : int
        Digits after the decimal point.
    """

    name: str = "error"
    unit: str = " points"
    scale: float = 100.0
    digits: int = 1

    def show(self, value: float) -> str:
        """Return the size of a change in words, without sign."""
        return f"{abs(value) * self.scale:.{self.digits}f}{self.unit}"

    def show_range(self, low: float, high: float) -> str:
        """Return a range of changes, with signs."""
        low, high = (round(value * self.scale, self.digits) + 0.0 for value in (low, high))
        return f"{low:+.{self.digits}f} to {high:+.{self.digits}f}{self.unit}"


ERROR = Measure()


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
) -> Verdict:
    """Return the verdict on a method against its baseline.

    Parameters
    ----------
    posterior : Posterior
        Of the difference of their losses.
    method, baseline : str
        Their names, as parts of a sentence.
    measure : Measure
        How the loss is called and shown.
    level : float, default=0.95
        The probability that an answer needs.

    Returns
    -------
    Verdict
        The answer, its probabilities and its wording.

    Examples
    --------
    >>> from primum.selection.statistics import Difference, Posterior
    >>> from primum.selection.wording import verdict_of
    >>> posterior = Posterior(Difference(-0.08, 0.02, 99, 100))
    >>> print(verdict_of(posterior, method="ICLS", baseline="ridge regression"))
    ICLS is better than ridge regression: its error is about 7.0 points lower (95 % interval -11.1 \
to -2.8 points). The probability of that is above 99 %.
    """
    probabilities = posterior.probabilities
    answer = answer_of(probabilities, level)
    low, high = posterior.interval(level)
    middle = posterior.interval(0.0)[0]
    settle = posterior.labels_to_settle(level) if answer == CANNOT_TELL else None
    says = _Sentences(posterior, method, baseline, measure, level, (low, high), middle)
    text = says.cannot_tell(settle) if answer == CANNOT_TELL else says.clear(answer)
    bound = posterior.bound if isfinite(posterior.bound) else None
    return Verdict(
        answer,
        text,
        probabilities,
        middle,
        (low, high),
        settle,
        level,
        posterior.difference,
        bound,
    )


@dataclass(frozen=True)
class _Sentences:
    posterior: Posterior
    method: str
    baseline: str
    measure: Measure
    level: float
    interval: tuple[float, float]
    change: float

    @property
    def _range(self) -> str:
        return (
            f"{percent(self.level)} interval "
            f"{self.measure.show_range(*self.interval).replace('+0.0', '0.0')}"
        )

    def clear(self, answer: str) -> str:
        """Return the sentences of a clear answer."""
        method, baseline, name = capitalised(self.method), self.baseline, self.measure.name
        size = self.measure.show(self.change)
        edge = self.measure.show(self.posterior.equivalence)
        first = {
            HELP: f"{method} is better than {baseline}: its {name} is about {size} lower "
            f"({self._range}).",
            HARM: f"{method} is worse than {baseline}: its {name} is about {size} higher "
            f"({self._range}).",
            NO_DIFFERENCE: f"{method} and {baseline} differ by less than {edge} of {name}, "
            f"which makes no practical difference ({self._range}).",
        }[answer]
        probability = self.posterior.probabilities.to_dict()[answer]
        return f"{first} The probability of that is {percent(probability)}."

    def cannot_tell(self, settle: int | None) -> str:
        """Return the sentences if no answer is probable enough."""
        method, n_rows = self.method, self.posterior.difference.n_rows
        known = (
            f"With {n_rows} labelled rows we cannot tell whether {method} is better than "
            f"{self.baseline}: the {self.measure.name} may change by {self._bare_range}."
        )
        odds = self.posterior.probabilities
        ruled_out = {
            HARM: f"It is hardly worse (probability of harm {percent(odds.harm)}).",
            HELP: f"It is hardly better (probability of help {percent(odds.help)}).",
        }
        remark = next(
            (says for what, says in ruled_out.items() if odds.to_dict()[what] <= 1 - self.level),
            f"Help has the probability {percent(odds.help)}, harm {percent(odds.harm)}.",
        )
        return f"{known} {remark} {labels_sentence(n_rows, settle)}"

    @property
    def _bare_range(self) -> str:
        return f"{self.measure.show_range(*self.interval)} ({percent(self.level)} interval)"


def labels_sentence(n_rows: int, settle: int | None) -> str:
    """Return a sentence on the number of labels that would give a clear answer."""
    if settle is None:
        return "Even a hundred times as many labels would probably not settle it."
    more = max(settle - n_rows, 1)
    digits = max(len(str(more)) - 2, 0)
    about = -(-more // 10**digits) * 10**digits
    return f"About {about} more labels would settle it, if the difference stays as it is now."


def percent(probability: float) -> str:
    """Return a probability in per cent; 0 and 100 only if exact."""
    if 0 < probability < 0.005:
        return "below 1 %"
    if 0.995 <= probability < 1:
        return "above 99 %"
    return f"{100 * probability:.0f} %"


def capitalised(name: str) -> str:
    """Return a name as the beginning of a sentence; other letters stay as they are."""
    return name[:1].upper() + name[1:]
