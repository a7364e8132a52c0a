"""The result of a comparison in words and as rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from primum.selection.wording import CANNOT_TELL, HARM, HELP, Verdict, capitalised, percent

BASELINE = "baseline"
NO_UNLABELED = "All rows are labelled, so no unlabelled rows can help."


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
        Against its own supervised twin, in error: what the unlabelled rows contribute.
    seconds : float
        Mean time of a fit and its predictions.
    n_splits : int
        Number of splits it is judged by.
    """

    name: str
    uses_unlabeled: bool
    loss: float
    verdict: Verdict | None
    p_value: float | None
    twin: Verdict | None
    seconds: float
    n_splits: int

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
        }


def compose_verdict(
    compared: Sequence[Any], recommended: str, remarks: Sequence[str], failed: Sequence[str]
) -> str:
    """Return the answer to "which model should I use?" in a few sentences.

    ``compared`` are the methods that have a verdict, ``remarks`` stand before and after the answer,
    and ``failed`` are the names of those that could not be judged.
    """
    before, after = remarks
    failure = f"{capitalised(', '.join(failed))} failed in some splits and could not be judged."
    parts = [before, _answer(compared, recommended), after, failure if failed else ""]
    return " ".join(part for part in parts if part)


def _answer(compared: Sequence[Any], recommended: str) -> str:
    if not compared:
        return f"No method could be compared with the tuned {BASELINE}: use the {BASELINE}."
    if recommended != BASELINE:
        best = next(method for method in compared if method.name == recommended)
        return f"{best.verdict.text} Use {best.name}.{_twin_sentence(best)}"
    best = max(compared, key=lambda method: method.verdict.probabilities.help)
    later = "Until then, use" if best.verdict.answer == CANNOT_TELL else "Use"
    return f"{_others(compared)}{best.verdict.text} {later} the tuned {BASELINE}."


def _others(compared: Sequence[Any]) -> str:
    """Return a sentence on several methods of which none helps."""
    if len(compared) == 1:
        return ""
    harmful = [method.name for method in compared if method.verdict.answer == HARM]
    harm = f", and {' and '.join(harmful)} would harm" if harmful else ""
    return f"None of the {len(compared)} methods has been shown to help{harm}. "


def _twin_sentence(method: MethodResult) -> str:
    """Return a sentence on what the unlabelled rows contribute to a method that helps."""
    if not method.uses_unlabeled:
        return " It does not use the unlabelled rows."
    if method.twin is None or method.twin.answer == HELP:
        return ""
    return (
        " Whether the unlabelled rows contribute to that has not been shown: against the same "
        f"method without them, help has the probability {percent(method.twin.probabilities.help)}."
    )


def table_row(method: MethodResult) -> dict[str, Any]:
    """Return a result as a row of a table."""
    row: dict[str, Any] = {
        "method": method.name,
        "uses unlabelled rows": method.uses_unlabeled,
        "loss": method.loss,
        **dict.fromkeys(["change", "low", "high", "P(help)", "P(no difference)", "P(harm)"]),
        "answer": None,
        "p (Holm)": method.p_value,
        "change to its twin": None if method.twin is None else method.twin.change,
        "seconds": method.seconds,
        "splits": method.n_splits,
    }
    if method.verdict is not None:
        odds = method.verdict.probabilities
        row |= {
            "change": method.verdict.change,
            "low": method.verdict.interval[0],
            "high": method.verdict.interval[1],
            "P(help)": odds.help,
            "P(no difference)": odds.no_difference,
            "P(harm)": odds.harm,
            "answer": method.verdict.answer,
        }
    return row
