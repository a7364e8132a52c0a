"""The headline of a comparison: alerts, then the answer in three lines.

Whatever changes what may be believed comes first. Then: what to use; why, with the numbers; what to
do next. Text, pages and the command are renderings of it.
"""

from dataclasses import dataclass
from typing import Any

from primum._alerts import Alert
from primum._words import wrapped


@dataclass(frozen=True)
class Headline:
    """The result of a comparison in a few lines.

    Attributes
    ----------
    alerts : tuple of Alert
        What changes how far the answer may be believed.
    answer : str
        What to use.
    reason : str
        Why, with the numbers.
    next_step : str
        What to do next, or what limits the answer; may be empty.
    kind : {"help", "harm", ""}
        What is claimed of the recommended method or, where that is the baseline, of the methods
        with unlabelled rows; empty if neither.
    """

    alerts: tuple[Alert, ...]
    answer: str
    reason: str
    next_step: str = ""
    kind: str = ""

    @property
    def lines(self) -> list[str]:
        """The alerts, one each, then answer, reason and next step."""
        alerts = [f"Warning: {alert.text}" for alert in self.alerts]
        return [*alerts, *filter(None, (self.answer, self.reason, self.next_step))]

    def __str__(self) -> str:
        return wrapped("\n".join(self.lines), indent="  ")

    def to_dict(self) -> dict[str, Any]:
        """Return the headline as plain JSON values."""
        return {
            "alerts": [alert.to_dict() for alert in self.alerts],
            "answer": self.answer,
            "reason": self.reason,
            "next_step": self.next_step,
            "kind": self.kind,
        }
