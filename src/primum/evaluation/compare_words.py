"""The result of a comparison in words and as rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from primum.selection.wording import HARM, HELP, Measure, Verdict, percent, quoted

BASELINE = "baseline"
SAFE = "safe stack"
TWIN = "the same method without the unlabelled rows"
NO_UNLABELED = "All rows are labelled, so no unlabelled rows can help."
# Differences that are smaller than rounding errors are shown as 0.
DIGITS = 12


@dataclass(frozen=True)
class MethodResult:
    """What was found for one classifier.

    Attributes
    ----------
    name : str
        Its name.
    uses_unlabeled : bool
        Whether it is fitted to the unlabelled rows.
    loss : float
        Mean loss on held-out rows.
    verdict : Verdict or None
        Against the baseline; None for a baseline.
    p_value : float or None
        Two-sided, adjusted for the number of methods by Holm's method.
    twin : Verdict or None
        Against its own supervised twin: what the unlabelled rows contribute.
    seconds : float
        Mean time of a fit and its predictions.
    n_splits : int
        Number of splits it is judged by.
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
    verdict: Verdict | None
    p_value: float | None
    twin: Verdict | None
    seconds: float
    n_splits: int
    observed_change: float | None = None
    twin_measure: Measure | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {
            "name": self.name,
            "uses_unlabeled": self.uses_unlabeled,
            "loss": self.loss,
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
            "p_value": self.p_value,
            "twin": None if self.twin is None else self.twin.to_dict(),
            "seconds": self.seconds,
            "n_splits": self.n_splits,
            "observed_change": self.observed_change,
            "twin_measure": None if self.twin_measure is None else self.twin_measure.name,
        }


def with_article(name: str) -> str:
    """Return a method's name as part of a heading or caption: "the safe stack", "ICLS"."""
    return f"the {name}" if name == SAFE else name


def phrase(name: str) -> str:
    """Return a method's name as part of a sentence; names that the user chose are quoted."""
    return f"{with_article(name)} (SafeClassifier)" if name == SAFE else quoted(name)


def estimation(scoring: Any) -> str:
    """Return how a change is estimated, as part of a sentence."""
    if scoring == "accuracy":
        return (
            "from the rows on which the two predict different classes: how many of the unlabelled "
            "rows these are, and which of the two is right there"
        )
    return "the observed one, shrunk towards 0 because part of it is chance"


def compose_verdict(
    compared: Sequence[Any], recommended: str, remarks: Sequence[str], failed: Sequence[str]
) -> str:
    """Return the answer to "which model should I use?" in a few sentences.

    ``compared`` are the methods that have a verdict, ``remarks`` stand before and after the answer,
    and ``failed`` are the names of those that could not be judged.
    """
    before, after = remarks
    names = ", ".join(phrase(name) for name in failed)
    failure = f"Not judged, because of failures in some splits: {names}." if failed else ""
    parts = [before, _answer(compared, recommended), after, failure]
    return " ".join(part for part in parts if part)


def _answer(compared: Sequence[Any], recommended: str) -> str:
    if not compared:
        return f"No method could be compared with the tuned {BASELINE}: use the {BASELINE}."
    if recommended != BASELINE:
        best = next(method for method in compared if method.name == recommended)
        return f"{best.verdict.text} Use {phrase(best.name)}.{_twin_sentence(best)}"
    best = max(compared, key=_promise)
    later = "Until then, use" if best.verdict.n_labels_to_settle is not None else "Use"
    return f"{_others(compared)}{best.verdict.text} {later} the tuned {BASELINE}."


def _promise(method: MethodResult) -> float:
    """Return by how much help is more probable than harm."""
    assert method.verdict is not None
    odds = method.verdict.probabilities
    return odds.help - odds.harm


def _others(compared: Sequence[Any]) -> str:
    """Return a sentence on several methods of which none helps."""
    if len(compared) == 1:
        return ""
    harmful = [phrase(method.name) for method in compared if method.verdict.answer == HARM]
    harm = f", and {' and '.join(harmful)} would do harm" if harmful else ""
    return f"None of the {len(compared)} methods has been shown to help{harm}. "


def _twin_sentence(method: MethodResult) -> str:
    """Return a sentence on what the unlabelled rows contribute to a method that helps."""
    if not method.uses_unlabeled:
        return " This is not due to the unlabelled rows, which it does not use."
    if method.twin is None or method.twin.answer == HELP:
        return ""
    return (
        " It has not been shown that the unlabelled rows contribute to this: compared with the "
        "same method without them, the probability of help is "
        f"{percent(method.twin.probabilities.help)}."
    )


ESTIMATES = [
    *("estimated change", "low", "high"),
    *("P(help)", "P(no difference)", "P(harm)", "answer"),
]


def _shown(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS) + 0.0


def table_row(method: MethodResult) -> dict[str, Any]:
    """Return a result as a row of a table."""
    row: dict[str, Any] = {
        "method": method.name,
        "uses unlabelled rows": method.uses_unlabeled,
        "loss": method.loss,
        "observed change": _shown(method.observed_change),
        **dict.fromkeys(ESTIMATES),
        "p (Holm)": method.p_value,
        "estimated change to its twin": None if method.twin is None else _shown(method.twin.change),
        "seconds": method.seconds,
        "splits": method.n_splits,
    }
    if method.verdict is not None:
        odds = method.verdict.probabilities
        row |= {
            "estimated change": _shown(method.verdict.change),
            "low": _shown(method.verdict.interval[0]),
            "high": _shown(method.verdict.interval[1]),
            "P(help)": odds.help,
            "P(no difference)": odds.no_difference,
            "P(harm)": odds.harm,
            "answer": method.verdict.answer,
        }
    return row
