"""Settling a comparison on its unlabelled rows: which rows to label, and what labels say.

The cross-validated verdict is about methods on new rows. A settlement is about fitted models on the
unlabelled rows at hand: two models can differ in errors only on rows for which they predict
different classes, and these are known without labels (`primum.judging.error_bounds`). It compares
the methods that could still change the recommendation with the baseline, at most three of them; in
places that are left, the supervised stack of a safe stack with that stack.

All unlabelled rows of the table count. If settlement and cross-validation disagree, the settlement
is followed on these rows. The meaning of labels depends only on the settlement and a few findings,
so that ``primum settle`` can write it again without the comparison.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._lazy import needed
from primum._sklearn import take_rows
from primum._typing import AnyArray, Index
from primum._words import counted, wrapped
from primum.comparison.model import Models, fit_to_all
from primum.comparison.plan import Plan
from primum.comparison.run import OWN, SUPERVISED
from primum.comparison.words import BASELINE, REFITTED, SAFE, MethodResult, SettledWords
from primum.judging.difference import Disagreement
from primum.judging.disagreements import list_disagreements
from primum.judging.error_bounds import NOT_BETTER, NOT_WORSE, OPEN
from primum.judging.named_labels import CANNOT_SAY, KEY_COLUMN, LABEL_COLUMN
from primum.judging.objectives import COST
from primum.judging.pools import left_out_in_words, order_seed, row_digests
from primum.judging.settlement import LedByFirst, SettledPair, Settlement, about, compared
from primum.judging.words import (
    CANNOT_TELL,
    HARM,
    HELP,
    NO_DIFFERENCE,
    capitalised,
    percent_of_level,
    quoted,
)
from primum.pages.charts import bounds_chart
from primum.pages.page import Cell, Chart, PageBlock, PageTable, Text
from primum.tables.cells import frame_digests
from primum.tables.labels import CHOSEN
from primum.tables.sheets import YES

if TYPE_CHECKING:
    import pandas as pd

    from primum.comparison.result import Comparison


# The settled answers that are compatible with each cross-validated one.
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
CAUTIOUS = f"Use the {BASELINE} for now, the cautious choice."
HEADING = "What labels settle on your rows"
# Pairs that a settlement asks about: each costs a part of the probability of error.
MAX_DUELS = 3
# Answers of labels, and of cross-validation, in a table.
ANSWERS = {
    HELP: "better",
    NO_DIFFERENCE: "no practical difference",
    HARM: "worse",
    NOT_WORSE: "not worse",
    NOT_BETTER: "not better",
    OPEN: "open",
    CANNOT_TELL: "cannot tell",
}
# The numbers of a chart are listed where a bound changes, at most at this many places: as many as
# people read.
MAX_CHART_STEPS = 60


def model_in_words(name: str) -> str:
    """Return a model of a comparison as part of a sentence."""
    if name in (SAFE, BASELINE):
        return f"the {name}"
    return quoted(name)


@dataclass(frozen=True)
class Duel:
    """Two fitted models of a comparison whose errors labels can settle.

    Attributes
    ----------
    challenger, baseline : (str, str)
        The name of a method, or "baseline", and which of its models: "own" or "supervised".
    words : (str, str)
        Both as parts of a sentence.
    held_out : Disagreement or None
        Numbers of labelled rows on which one alone was right in cross-validation.
    """

    challenger: tuple[str, str]
    baseline: tuple[str, str]
    words: tuple[str, str]
    held_out: Disagreement | None

    @property
    def rival(self) -> str | None:
        """Name of the challenger, if it is against the baseline of the comparison."""
        return self.challenger[0] if self.baseline[0] == BASELINE else None

    @property
    def wins(self) -> tuple[float, float]:
        """Numbers of held-out rows on which only the challenger, or only the baseline, is right."""
        return (0.0, 0.0) if self.held_out is None else (self.held_out.better, self.held_out.worse)


def duels_of(result: "Comparison") -> list[Duel]:
    """Return the pairs of models that could still change the recommendation, the leading one first.

    All gains are measured against the baseline, so every pair is a method and the baseline. A
    method could change the recommendation if it is recommended, because labels may refute that, or
    if it may be better than the baseline in practice: help is not excluded, P(help) > 1 - level
    with the level of its claim, and it predicts other classes on more than ``equivalence`` of the
    unlabelled rows. The pair that the headline speaks of leads (the recommended or else the most
    promising method); the others follow by their estimated gain, largest first, and there are at
    most ``MAX_DUELS``. If nothing could change the recommendation, the leading pair is the only
    one. Where a pair is left, a method that judges itself is also compared with its own supervised
    stack, which says what the unlabelled rows contribute.

    The pairs depend on cross-validation alone, so that they are fixed before the first label, and
    their rows are labelled in one random order of their union.

    Parameters
    ----------
    result : Comparison
        The comparison.

    Returns
    -------
    list of Duel
        The pairs; empty if no method could be judged.
    """
    best = result.findings.best
    if best is None:
        return []
    judged = {method.name: method for method in result.compared}
    may_help = []
    for name, method in judged.items():
        verdict = method.judged
        share = None if verdict.disagreement is None else verdict.disagreement.share
        differs = share is None or share > result.equivalence
        if differs and verdict.probabilities.help > 1 - verdict.level:
            may_help.append(name)
    may_help.sort(key=lambda name: judged[name].judged.change)
    asked = list(dict.fromkeys([best.name, *may_help]))
    asked = [name for name in asked if not result.why_unfitted(name)][:MAX_DUELS]
    twins = [name for name in asked if name in result.records.cross_fitted]
    duels = [_against_baseline(judged[name]) for name in asked]
    return [*duels, *(_against_twin(result, judged[name]) for name in twins)][:MAX_DUELS]


def duels_in(result: "Comparison", settlement: Settlement) -> list[Duel]:
    """Return the pairs that a settlement of a comparison asks about, whatever it would ask now.

    Parameters
    ----------
    result : Comparison
        The comparison.
    settlement : Settlement
        One of this comparison, perhaps stored before others of its methods were compared.

    Returns
    -------
    list of Duel
        The pairs, without those of models that are not compared any more.
    """
    every = [_against_baseline(method) for method in result.compared]
    selves = [one for one in result.compared if one.name in result.records.cross_fitted]
    every += [_against_twin(result, method) for method in selves]
    by_words = {duel.words: duel for duel in every}
    asked = [(question.challenger, question.baseline) for question in settlement.questions]
    return [by_words[words] for words in asked if words in by_words]


def _against_baseline(method: MethodResult) -> Duel:
    words = (model_in_words(method.name), model_in_words(BASELINE))
    return Duel((method.name, OWN), (BASELINE, OWN), words, method.judged.disagreement)


def _against_twin(result: "Comparison", method: MethodResult) -> Duel:
    n_stacks = sum(one.name in result.records.cross_fitted for one in result.compared)
    twin = "the supervised stack" + (f" of {model_in_words(method.name)}" if n_stacks > 1 else "")
    held_out = None if method.twin is None else method.twin.disagreement
    words = (model_in_words(method.name), twin)
    return Duel((method.name, OWN), (method.name, SUPERVISED), words, held_out)


def why_not(result: "Comparison") -> str:
    """Return why labels cannot settle a comparison, in a sentence; empty if they can.

    Parameters
    ----------
    result : Comparison
        The comparison.

    Returns
    -------
    str
        The sentence.
    """
    data = result.plan.table
    if data.numeric:
        return (
            "Labels of chosen rows cannot settle which of two models predicts numbers better: two "
            "such models differ on every row, by any amount, so there is no disagreement bound. "
            "Label rows at random, and compare again."
        )
    if result.loss.scoring != "accuracy":
        return (
            "Labels of chosen rows settle which of two models makes fewer errors, but this "
            f"comparison is by {result.loss.measure.name}. That is another question: to ask which "
            "makes fewer errors instead, compare with scoring='accuracy'"
            f"{' and without costs' if result.loss.scoring == COST else ''}."
        )
    if not data.n_unlabeled:
        return "There are no unlabelled rows to settle it on: all rows are labelled."
    if result.all_also_labeled:
        return "All unlabelled rows are also labelled rows, so there is nothing to settle."
    if not result.compared:
        return "No method could be compared with the baseline, so there is nothing to settle."
    if why := result.why_unfitted(BASELINE):
        return f"There is no fitted baseline to settle it with. {why}"
    if not duels_of(result):
        return "No method to ask about could be fitted to all rows, so there is nothing to settle."
    return ""


def settlement_of(result: "Comparison", models: Models, duels: Sequence[Duel]) -> Settlement:
    """Return the settlement of a comparison before the first label.

    Parameters
    ----------
    result : Comparison
        The comparison.
    models : Models
        Predictions of its models.
    duels : sequence of Duel
        The pairs to ask about.

    Returns
    -------
    Settlement
        The questions, and the rows on which models differ, in a random order that is fresh for
        these models.
    """
    plan, problem = result.plan, result.problem
    predicted = [
        models.codes(*model) for duel in duels for model in (duel.baseline, duel.challenger)
    ]
    pairs = [(2 * number, 2 * number + 1) for number in range(len(duels))]
    order = _order_of(plan, duels, len(models.rows))
    labeled, alike = models.also_labeled
    disagreements = list_disagreements(
        np.stack(predicted, axis=1), models.rows, pairs, seed=order, labeled=labeled
    )
    rows = disagreements.X
    return Settlement.ask(
        [duel.words for duel in duels],
        rows,
        disagreements.codes.reshape(len(rows), len(duels), 2),
        n_rows=disagreements.n_rows,
        n_different=disagreements.n_different,
        classes=[str(name) for name in plan.table.labels.classes.tolist()],
        level=result.level,
        margin=result.equivalence,
        wins=[duel.wins for duel in duels],
        ids=models.ids(rows),
        id_name=None if problem is None else problem.arguments["id"],
        target=None if problem is None else problem.target,
        left_out=left_out_in_words(int(labeled.sum()), len(labeled), alike),
    )


def _order_of(plan: Plan, duels: Sequence[Duel], n_rows: int) -> int:
    """Return the seed of an order of n_rows rows that is fresh for the models of some pairs."""
    table = plan.table
    named = {name for duel in duels for name, _ in (duel.challenger, duel.baseline)}
    models = [entry for entry in plan.entries if entry.name in named or entry in plan.baselines]
    X = frame_digests(table.X) if hasattr(table.X, "iloc") else row_digests(table.X)
    return order_seed(
        [plan.seed, plan.nested, n_rows],
        [X, table.y, table.groups, table.chosen, table.weight],
        [[entry.name, entry.estimator] for entry in models],
        [fold.test for fold in plan.folds[0]],
    )


def table_of_next_rows(
    result: "Comparison", asked: Settlement, n: int | None, show_predictions: bool, models: Models
) -> "pd.DataFrame":
    """Return the next rows to label as a table.

    Parameters
    ----------
    result : Comparison
        The comparison.
    asked : Settlement
        Its questions, and the labels so far.
    n : int or None
        Number of rows; None: the number expected to be needed.
    show_predictions : bool
        Whether to add the predictions of the models.
    models : Models
        Predictions of the models.

    Returns
    -------
    DataFrame
        The rows in the stored order, indexed by position in the table.
    """
    places = asked.next_places(n)
    rows = asked.rows[places]
    with needed("Tables"):
        import pandas as pd
    first = {
        KEY_COLUMN: [asked.keys[place] for place in places],
        LABEL_COLUMN if asked.target is None else asked.target: None,
        CHOSEN: YES,
        **(_predictions(duels_in(result, asked), models, rows) if show_predictions else {}),
    }
    sheet = pd.DataFrame(first, index=pd.Index(rows), dtype=object)
    return pd.concat([sheet, original_columns(models, rows, list(sheet))], axis=1)


def original_columns(models: Models, rows: Index, without: Sequence[str] = ()) -> "pd.DataFrame":
    """Return some rows of the table of a comparison as they were written, the id first.

    Parameters
    ----------
    models : Models
        The comparison and its table.
    rows : array of int
        Positions of the rows.
    without : sequence of str
        Columns that are left out.

    Returns
    -------
    DataFrame
        Indexed by position.
    """
    import pandas as pd

    result = models.result
    if result.problem is None:
        X = take_rows(result.plan.table.X, rows)
        X = X.toarray() if hasattr(X, "toarray") else X
        named = hasattr(X, "columns")
        frame = X if named else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        identity = None
    else:
        frame, identity = models.frame.iloc[rows], result.problem.arguments["id"]
    names = [name for name in frame.columns if name not in (identity, *without)]
    return frame[names if identity is None else [identity, *names]].set_axis(rows, axis=0)


def _predictions(duels: Sequence[Duel], models: Models, rows: Index) -> dict[str, AnyArray]:
    """Return columns with the predictions of the models of all questions."""
    places = np.searchsorted(models.rows, rows)
    classes = models.result.plan.table.labels.classes
    columns = {}
    for duel in duels:
        for model, name in zip((duel.baseline, duel.challenger), reversed(duel.words), strict=True):
            columns[f"predicted by {name}"] = classes[models.codes(*model)[places]].astype(object)
    return columns


@dataclass(frozen=True)
class SettledComparison(LedByFirst):
    """What labels have settled in a comparison, as ``Comparison.settle`` returns it.

    Attributes
    ----------
    settlement : Settlement
        The questions, and all labels so far.
    deployed : str
        Name of the model to use on the unlabelled rows.
    cross_validated : str
        The answer of cross-validation to the first question.
    pairs : tuple of SettledPair
        The state of every pair of models; the first pair leads.
    answer, low, high, n_labels, expected_more
        As of the first pair.
    text, found : str
        What is settled, and what to use, in a few sentences; ``found`` omits the number of labels
        that are still needed.
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
        for pair in self.pairs:
            if pair.uses_challenger and pair.challenger == model_in_words(self.deployed):
                return pair.deploy
        if self.deployed != BASELINE:
            return f"Use {model_in_words(self.deployed)} for now, as cross-validation recommends."
        return CAUTIOUS if self.leading.answer == OPEN else self.leading.deploy

    @property
    def new_model(self) -> str:
        """What a new fit with the new labels would change, in a sentence."""
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
        """What is settled or how many more labels are needed, and what to use."""
        return self._text(asks=True)

    @property
    def found(self) -> str:
        """What is settled and what to use, without the number of labels still needed."""
        return self._text(asks=False)

    def _text(self, asks: bool) -> str:
        standing = self.settlement.standing(self.deploy, asks=asks)
        two_questions = TWO_QUESTIONS if self.contradicts else ""
        parts = [self.settlement.left_out, *self.settlement.notes, standing, two_questions]
        return " ".join(filter(None, parts))

    def __str__(self) -> str:
        return wrapped(self.text, indent="  ")

    def in_headline(self) -> SettledWords:
        """Return what the headline of the comparison says about the settlement."""
        leading, labels = self.leading, bool(self.settlement.labels)
        kind = self.answer if self.answer in (HELP, HARM) else ""
        needed, n_left = self.settlement.forecast(), len(self.settlement.places_to_label)
        decides = not leading.settled and leading.challenger == model_in_words(self.deployed)
        return SettledWords(
            certain=" ".join(
                filter(None, (self.settlement.left_out, leading.known, self.settlement.skipped))
            ),
            answer=self.deploy if labels else "",
            kind=kind if labels else "",
            two_questions=TWO_QUESTIONS if self.contradicts else "",
            request="" if leading.settled else self.settlement.request,
            deciding=about(needed.low, needed.high, n_left) if decides and needed.high else "",
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
    """Return the settled comparison, given labels and the findings of cross-validation.

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
    answers = {name: pair for name, pair in pairs if name is not None}
    winners = [(pair.high, name) for name, pair in answers.items() if pair.uses_challenger]
    deployed = BASELINE
    if winners:  # of several that are settled to be usable, the one with the lowest upper bound
        deployed = min(winners)[1]
    elif recommended in answers:  # unless it is settled, or more probable now, that it is no better
        pair = answers[recommended]
        usable = pair.answer in (NOT_WORSE, OPEN) and (pair.challenger_leads or not pair.n_labels)
        deployed = recommended if usable else BASELINE
    return SettledComparison(settlement, deployed, cross_validated, settlement.pairs)


def settled_in(result: "Comparison", settlement: Settlement) -> SettledComparison:
    """Return the settled comparison that the labels of a settlement imply.

    Parameters
    ----------
    result : Comparison
        The comparison.
    settlement : Settlement
        Its questions, and the labels so far.

    Returns
    -------
    SettledComparison
        The answers, and what to use.
    """
    # By the words of the questions, because other levels may raise other questions by now.
    duels = duels_in(result, settlement)
    judged = {method.name: method.judged.answer for method in result.compared}
    rivals = [duel.rival for duel in duels]
    return settled_by(settlement, result.recommended, rivals, judged[duels[0].challenger[0]])


def fit_with_labels(result: "Comparison", name: str, settlement: Settlement) -> Any:
    """Return a model fitted to all labels, those of the chosen rows included.

    Parameters
    ----------
    result : Comparison
        The comparison.
    name : str
        The method, or "baseline".
    settlement : Settlement
        The settlement with the new labels; rows that nobody can decide stay unlabelled.

    Returns
    -------
    classifier
        A new model, different from the one that was judged.
    """
    plan, table = result.plan, result.plan.table
    if result.whole is not None:
        raise ValueError(
            "The labelled rows belong to a larger table than the compared one: add their labels "
            "to that table, marked as chosen, and compare again."
        )
    new = {
        int(settlement.rows[place]): code
        for place, code in settlement.labels.items()
        if code != CANNOT_SAY
    }
    codes, asked = table.y.copy(), np.array(sorted(new), dtype=np.intp)
    codes[asked] = [new[row] for row in asked.tolist()]
    chosen = np.isin(np.arange(len(codes)), asked)
    if table.chosen is not None:
        chosen |= table.chosen
    labeled, unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    labels = replace(table.labels, labeled=labeled, unlabeled=unlabeled, codes=codes[labeled])
    rows = replace(table, known=labels, chosen=chosen)
    return fit_to_all(replace(plan, table=rows), name, result.prepare)


def settlement_blocks(settling: SettledComparison, recommended: str) -> list[PageBlock]:
    """Return what labels have settled, or can settle, as a section of a report.

    It has a table of the questions, and a chart of the bounds of each with labels. ``recommended``
    is the model that cross-validation recommends.
    """
    scope = (
        "This is about these fitted models on these unlabelled rows. The intervals of the methods "
        "are about rows that nobody has seen, and methods that are fitted again."
    )
    if settling.deployed != recommended:
        scope += (
            " What the report says of the model to deploy is about "
            f"{model_in_words(recommended)}, which cross-validation recommends."
        )
    drawn = [found for found in settling.pairs if found.bounds.n_read]
    blocks: list[PageBlock] = [Text(settling.text), _questions(settling.pairs), Text(scope)]
    return [*blocks, *map(settlement_chart, drawn)]


def _questions(pairs: Sequence[SettledPair]) -> PageTable:
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
    hold = "that are certain"
    if first.level < 1:
        sure = percent_of_level(first.level)
        hold = (
            f"that hold together with a probability of at least {sure}, however many labels there "
            "are"
        )
    caption = (
        f"Change in errors on {counted(first.pair.n_rows, 'unlabelled row')}: bounds {hold}. "
        "Negative is better. A change of up to "
        f"{counted(first.pair.n_margin, 'row')} makes no practical difference."
    )
    header = ("Models", "Rows that differ", "Labels", "From", "To", "Answer")
    return PageTable.of(caption, header, rows)


def settlement_chart(settled: SettledPair) -> Chart:
    """Return a chart of the bounds of the change in errors after every label, and the margin.

    Parameters
    ----------
    found : SettledPair
        A question with some labelled rows.

    Returns
    -------
    Chart
        The chart; in Markdown it is a table of the steps at which a bound changes.
    """
    pair, path = settled.pair, settled.bounds.path.tolist()
    change = f"Change in errors: {settled.challenger} against {settled.baseline}"
    read = f"Rows labelled, in their random order, of {pair.n_different:,} on which they differ"
    now = compared(settled.low, settled.high, settled.baseline)
    described = (
        f"{change}. Before any label the change is between {_signed(path[0][0])} and "
        f"{_signed(path[0][1])} rows; after {counted(settled.bounds.n_read, 'row')} "
        f"{settled.challenger} makes {now}: {ANSWERS[settled.answer]}."
    )
    caption = (
        f"{change}, in rows, with every label: the true change stays between the lines with a "
        f"probability of at least {percent_of_level(settled.level)}, for all questions together. "
        f"Shaded: changes of up to {counted(pair.n_margin, 'row')}, which make no practical "
        "difference. It is settled once both lines are below the shaded region, above it or inside "
        f"it; so far: {ANSWERS[settled.answer]}."
    )
    axes = (read, f"{change} (below 0 is better)")
    bounds = [(low, high) for low, high in path]
    drawing = bounds_chart(bounds, pair.n_margin, axes, described, settled.answer)
    return Chart(drawing, caption, _steps(path, change))


def _steps(path: Sequence[tuple[int, int]], title: str) -> PageTable:
    """Return a table of the bounds at steps where they change, and at the last step."""
    changes = [k for k in range(len(path)) if k == 0 or path[k] != path[k - 1]]
    step = -(-len(changes) // MAX_CHART_STEPS)
    places = sorted({*changes[::step], len(path) - 1})
    rows = [(Cell.of(k), *(Cell(_signed(end), value=end) for end in path[k])) for k in places]
    return PageTable.of(f"{title}, in rows. Negative is better.", ("Rows read", "From", "To"), rows)


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"
