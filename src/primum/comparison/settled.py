"""What labels have settled in a comparison: the answer, the model to use, a part of the report.

It needs the settlement alone, not the comparison, so that ``primum settle`` can write it again. The
part of the report has the bounds after every label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from primum._words import counted, wrapped
from primum.comparison.words import BASELINE, REFITTED, SAFE, SettledWords
from primum.judging.error_bounds import NOT_BETTER, NOT_WORSE, OPEN
from primum.judging.named_labels import CANNOT_SAY
from primum.judging.settled_pair import SettledPair, compared
from primum.judging.settlement import LedByFirst, Settlement
from primum.judging.words import HARM, HELP, NO_DIFFERENCE, capitalised, percent_of_level, quoted
from primum.pages.charts import bounds_chart
from primum.pages.page import Block, Cell, Chart, Part, Table, Text

# What settled answers a cross-validated one is compatible with.
COMPATIBLE = {
    HELP: (HELP, NOT_WORSE, OPEN),
    HARM: (HARM, NOT_BETTER, OPEN),
    NO_DIFFERENCE: (NO_DIFFERENCE, NOT_WORSE, NOT_BETTER, OPEN),
}
TWO_QUESTIONS = (
    "The cross-validated verdict says otherwise because it answers another question: how well the "
    "method does on rows it has not seen, not what these two fitted models do on your rows; for "
    "these rows, follow the labels."
)
PART = "settlement"
HEADING = "What labels settle on your rows"
ANSWERS = {
    HELP: "better",
    NO_DIFFERENCE: "no practical difference",
    HARM: "worse",
    NOT_WORSE: "not worse",
    NOT_BETTER: "not better",
    OPEN: "open",
}
# The numbers of a chart are listed where a bound changes, at most at so many places.
MAX_STEPS = 60


def in_words(name: str) -> str:
    """Return a model of a comparison as part of a sentence."""
    if name in (SAFE, BASELINE):
        return f"the {name}"
    return quoted(name)


@dataclass(frozen=True)
class SettledComparison(LedByFirst):
    """What labels have settled in a comparison; what ``Comparison.settle`` returns.

    Attributes
    ----------
    settlement : Settlement
        The questions, and all labels so far.
    deployed : str
        Name of the model to use on the unlabelled rows.
    cross_validated : str
        The answer of cross-validation to the first question.
    pairs : tuple of SettledPair
        What is known of every pair of models; the first leads.
    answer, low, high, n_labels, expected_more
        Those of the first pair.
    text, found : str
        What is settled, and what to use, in a few sentences; ``found`` leaves out how many more
        labels are needed.
    """

    settlement: Settlement
    deployed: str
    cross_validated: str
    pairs: tuple[SettledPair, ...] = field(repr=False)

    @property
    def contradicts(self) -> bool:
        """Whether cross-validation and labels give different answers."""
        compatible = COMPATIBLE.get(self.cross_validated)
        return compatible is not None and self.answer not in compatible

    @property
    def deploy(self) -> str:
        """Which model to use on the unlabelled rows, in a sentence."""
        for found in self.pairs:
            if found.uses_challenger and found.challenger == in_words(self.deployed):
                return found.deploy
        leading = self.leading
        if self.deployed != BASELINE:
            return f"Use {in_words(self.deployed)} for now, as cross-validation recommends."
        return leading.deploy

    @property
    def new_model(self) -> str:
        """What fitting again with the new labels means, in a sentence."""
        count = sum(code != CANNOT_SAY for code in self.settlement.labels.values())
        if not count:
            return ""
        new = "the new one" if count == 1 else f"the {count:,} new ones"
        return (
            f"fit({self.deployed!r}) returns the model that was judged. {REFITTED}; "
            f"fit_recommended() fits it, to all labels, {new} included."
        )

    @property
    def text(self) -> str:
        """What is settled, or how many more labels that needs, and what to use."""
        return self._text(asks=True)

    @property
    def found(self) -> str:
        """What is settled, and what to use, without how many more labels that needs."""
        return self._text(asks=False)

    def _text(self, asks: bool) -> str:
        standing = self.settlement.standing(self.deploy, asks=asks)
        parts = [*self.settlement.notes, standing, *([TWO_QUESTIONS] if self.contradicts else [])]
        return " ".join(parts)

    def __str__(self) -> str:
        return wrapped(self.text, indent="  ")

    def in_headline(self) -> SettledWords:
        """Return what the headline of the comparison says of it."""
        leading, labels = self.leading, bool(self.settlement.labels)
        kind = self.answer if self.answer in (HELP, HARM) else ""
        return SettledWords(
            certain=f"{leading.known} {self.settlement.skipped}".strip(),
            answer=self.deploy if labels else "",
            kind=kind if labels else "",
            two_questions=TWO_QUESTIONS if self.contradicts else "",
            request="" if leading.settled else self.settlement.request,
            new_model=self.new_model if leading.settled else "",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "answer": self.answer,
            "low": self.low,
            "high": self.high,
            "n_labels": self.n_labels,
            "expected_more": list(self.expected_more),
            "n_listed": len(self.settlement.rows),
            "deployed": self.deployed,
            "contradicts": self.contradicts,
            "request": self.settlement.request,
            "text": self.text,
            "notes": list(self.settlement.notes),
            "pairs": [found.to_dict() for found in self.pairs],
        }


def settled_by(
    settlement: Settlement,
    recommended: str,
    challengers: Sequence[str | None],
    cross_validated: str,
) -> SettledComparison:
    """Return what the labels of a settlement mean, given what cross-validation found.

    Parameters
    ----------
    settlement : Settlement
        The questions, and the labels so far.
    recommended : str
        The model that cross-validation recommends.
    challengers : sequence of str or None
        For every question, the name of the challenger, if it is against the baseline.
    cross_validated : str
        The answer of cross-validation to the first question.

    Returns
    -------
    SettledComparison
        The answers, and what to use.
    """
    pairs = zip(challengers, settlement.pairs, strict=True)
    answers = [(name, found) for name, found in pairs if name is not None]
    deployed = _deployed(recommended, answers)
    return SettledComparison(settlement, deployed, cross_validated, settlement.pairs)


def _deployed(recommended: str, answers: Sequence[tuple[str, SettledPair]]) -> str:
    """Return the model to use on the unlabelled rows.

    It is the one for which most is settled. What cross-validation recommends is used unless it is
    settled that it is not better.
    """
    winners = [(found.high, name) for name, found in answers if found.uses_challenger]
    if winners:
        return min(winners)[1]
    refuted = (HARM, NO_DIFFERENCE, NOT_BETTER)
    kept = [name for name, found in answers if found.answer not in refuted]
    return recommended if recommended in kept else BASELINE


def settlement_part(settling: SettledComparison, recommended: str) -> Part:
    """Return what labels have settled, or can settle, as part of a report.

    Parameters
    ----------
    settling : SettledComparison
        What is settled so far.
    recommended : str
        The model that cross-validation recommends.

    Returns
    -------
    Part
        Text, the questions as a table, and a chart of the bounds of every question with labels.
    """
    scope = (
        "This is about these fitted models on these unlabelled rows. The intervals of the methods "
        "are about rows that nobody has seen, and methods that are fitted again."
    )
    if settling.deployed != recommended:
        scope += (
            f" What the report says of the model to deploy is about {in_words(recommended)}, which "
            "cross-validation recommends."
        )
    drawn = [found for found in settling.pairs if found.bounds.n_read]
    blocks: list[Block] = [Text(settling.text), _questions(settling.pairs), Text(scope)]
    return Part(PART, [*blocks, *map(settlement_chart, drawn)])


def _questions(pairs: Sequence[SettledPair]) -> Table:
    rows = [
        (
            f"{capitalised(found.challenger)} against {found.baseline}",
            Cell.of(found.pair.n_different),
            Cell.of(found.n_labels),
            Cell(_signed(found.low), value=found.low),
            Cell(_signed(found.high), value=found.high),
            ANSWERS[found.answer],
        )
        for found in pairs
    ]
    first = pairs[0]
    caption = (
        f"Change in errors on {counted(first.pair.n_rows, 'unlabelled row')}: bounds that hold "
        f"together with a probability of at least {percent_of_level(first.level)}, however many "
        "labels there are. Negative is better. A change of up to "
        f"{counted(first.pair.n_margin, 'row')} makes no practical difference."
    )
    header = ("Models", "Rows that differ", "Labels", "From", "To", "Answer")
    return Table.of(caption, header, rows)


def settlement_chart(found: SettledPair) -> Chart:
    """Return the bounds of the change in errors after every label, and the margin.

    Parameters
    ----------
    found : SettledPair
        A question of which some rows are labelled.

    Returns
    -------
    Chart
        For a page; in Markdown it is a table of the steps at which a bound changes.
    """
    pair, path = found.pair, found.bounds.path.tolist()
    what = f"Change in errors: {found.challenger} against {found.baseline}"
    read = f"Rows labelled, in their random order, of {pair.n_different:,} on which they differ"
    now = compared(found.low, found.high, found.baseline)
    described = (
        f"{what}. Before any label the change is between {_signed(path[0][0])} and "
        f"{_signed(path[0][1])} rows; after {counted(found.bounds.n_read, 'row')} "
        f"{found.challenger} makes {now}: {ANSWERS[found.answer]}."
    )
    caption = (
        f"{what}, in rows, with every label: the true change stays between the lines with a "
        f"probability of at least {percent_of_level(found.level)}, for all questions together. "
        f"Shaded: changes of up to {counted(pair.n_margin, 'row')}, which make no practical "
        "difference. It is settled once both lines are below the shaded region, above it or inside "
        f"it; so far: {ANSWERS[found.answer]}."
    )
    axes = (read, f"{what} (below 0 is better)")
    bounds = [(low, high) for low, high in path]
    drawing = bounds_chart(bounds, pair.n_margin, axes, described, found.answer)
    return Chart(drawing, caption, _steps(path, what))


def _steps(path: Sequence[tuple[int, int]], what: str) -> Table:
    """Return the bounds where they change, the last always."""
    changes = [k for k in range(len(path)) if k == 0 or path[k] != path[k - 1]]
    step = -(-len(changes) // MAX_STEPS)
    places = sorted({*changes[::step], len(path) - 1})
    rows = [(Cell.of(k), *(Cell(_signed(end), value=end) for end in path[k])) for k in places]
    return Table.of(f"{what}, in rows. Negative is better.", ("Rows read", "From", "To"), rows)


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"
