"""What a settlement needs to know of its comparison, once only the files of it are left.

Labels arrive days after a comparison, one sheet after the other. What they mean depends on the
settlement and on a few findings of cross-validation: which model it recommends, which models the
questions are about, and the reasons and alerts of its headline. These are stored beside the
settlement, so that no fit is repeated to read a label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from primum.comparison import words
from primum.comparison.page import answer_part
from primum.comparison.settle import (
    SettledComparison,
    duels_of,
    settled_by,
    settled_in,
    settlement_part,
)
from primum.judging.settlement import Settlement
from primum.judging.words import Alert
from primum.pages.page import Part, with_part

if TYPE_CHECKING:
    from primum.comparison.compare import Comparison


@dataclass(frozen=True)
class Course:
    """The findings of a comparison that decide what labels mean.

    Attributes
    ----------
    recommended : str
        The model that cross-validation recommends.
    challengers : tuple of str or None
        For every question, the name of the challenger, if it is against the baseline.
    cross_validated : str
        The answer of cross-validation to the first question.
    headline : Headline
        That of cross-validation alone.
    failure : str
        Which methods could not be judged, in a sentence.
    labelling : LabellingWords
        How rows are labelled, and the model saved.
    """

    recommended: str
    challengers: tuple[str | None, ...]
    cross_validated: str
    headline: words.Headline
    failure: str
    labelling: words.LabellingWords

    @classmethod
    def of(cls, result: "Comparison", settlement: Settlement) -> Self:
        """Return the course of a comparison."""
        return cls(
            recommended=result.recommended,
            challengers=tuple(duel.rival for duel in duels_of(result)),
            cross_validated=settled_in(result, settlement).cross_validated,
            headline=words.compose_headline(result.findings, result.alerts),
            failure=words.failure_sentence(result.findings),
            labelling=result.labelling,
        )

    @property
    def models(self) -> list[str]:
        """The models that may be the one to use."""
        names = [words.BASELINE, self.recommended, *filter(None, self.challengers)]
        return list(dict.fromkeys(names))

    def settling(self, settlement: Settlement) -> SettledComparison:
        """Return what the labels of a settlement mean."""
        return settled_by(settlement, self.recommended, self.challengers, self.cross_validated)

    def headline_of(self, settling: SettledComparison) -> words.Headline:
        """Return the headline of the comparison after some labels."""
        said = self.labelling.in_place(settling.in_headline())
        return words.headline_after_labels(self.headline, said, self.failure)

    def parts(self, settling: SettledComparison) -> list[Part]:
        """Return the parts of the report that labels change."""
        head = self.headline_of(settling)
        return [answer_part(head), settlement_part(settling, self.recommended)]

    def to_dict(self) -> dict[str, Any]:
        """Return the course as plain JSON values."""
        return {**asdict(self), "headline": self.headline.to_dict()}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return a course that was stored by ``to_dict``."""
        head = dict(values["headline"])
        alerts = tuple(Alert(**alert) for alert in head.pop("alerts"))
        return cls(
            recommended=values["recommended"],
            challengers=tuple(values["challengers"]),
            cross_validated=values["cross_validated"],
            headline=words.Headline(alerts, **head),
            failure=values["failure"],
            labelling=words.LabellingWords(**values["labelling"]),
        )


def updated(report: str, parts: Sequence[Part], kind: str) -> str | None:
    """Return a report with other versions of some of its parts.

    Parameters
    ----------
    report : str
        The text of the report.
    parts : sequence of Part
        The parts.
    kind : {"html", "md"}
        Its format.

    Returns
    -------
    str or None
        The report; None if it lacks one of the parts.
    """
    for part in parts:
        text = part.to_html() if kind == "html" else part.to_markdown()
        found = with_part(report, text)
        if found is None:
            return None
        report = found
    return report
