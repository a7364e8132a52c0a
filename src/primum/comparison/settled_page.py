"""The part of a report that says what labels have settled, with the bounds after every label.

It needs the settlement alone, not the comparison, so that ``primum settle`` can write it again.
"""

from collections.abc import Sequence

from primum._words import counted
from primum.comparison.settle import SettledComparison, in_words
from primum.judging.error_bounds import NOT_BETTER, NOT_WORSE, OPEN
from primum.judging.settled_pair import SettledPair, compared
from primum.judging.words import HARM, HELP, NO_DIFFERENCE, capitalised, percent_of_level
from primum.pages.charts import bounds_chart
from primum.pages.page import Block, Cell, Chart, Part, Table, Text

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
            _count(found.pair.n_different),
            _count(found.n_labels),
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
    rows = [(_count(k), *(Cell(_signed(end), value=end) for end in path[k])) for k in places]
    return Table.of(f"{what}, in rows. Negative is better.", ("Rows read", "From", "To"), rows)


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", value=number)


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"
