"""Settling a comparison on the unlabelled rows: which rows to label, and what their labels say.

The cross-validated verdict is about learning methods on rows not seen. A settlement is about fitted
models on the unlabelled rows at hand: the two can differ in errors only where they predict
different classes, which is known without a label (`primum.judging.error_bounds`). The questions are

* of a method that judges itself, such as the safe stack: against the baseline of the comparison,
  and against its own supervised stack;
* of the recommended method, if it is another one: against the baseline;
* without a method that judges itself: of the most promising one against the baseline.

They are asked of all unlabelled rows of the table. Where the two verdicts disagree, the settlement
is followed for these rows (``settled.py``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._lazy import needed
from primum._sklearn import take_rows
from primum._typing import AnyArray, Index
from primum.comparison.model import fit_to_all
from primum.comparison.run import OWN, SUPERVISED, unlabeled_predictions
from primum.comparison.settled import SettledComparison, in_words, settled_by
from primum.comparison.target import Target
from primum.comparison.words import BASELINE, MethodResult
from primum.comparison.workers import rng_for
from primum.judging.difference import Disagreement
from primum.judging.disagreements import ROWS_PER_BLOCK, list_disagreements
from primum.judging.named_labels import CANNOT_SAY, KEY_COLUMN, LABEL_COLUMN
from primum.judging.objectives import COST
from primum.judging.settlement import SAME, Settlement
from primum.tables.cells import names_of
from primum.tables.labels import CHOSEN, read_classes
from primum.tables.problem import features_like
from primum.tables.sheets import YES

if TYPE_CHECKING:
    import pandas as pd

    from primum.comparison.compare import Comparison
    from primum.tables.problem import TableProblem


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
        On how many labelled rows either alone was right, in cross-validation.
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
        """On how many held-out rows the challenger alone, and the baseline alone, was right."""
        return (0.0, 0.0) if self.held_out is None else (self.held_out.better, self.held_out.worse)


def duels_of(result: "Comparison") -> list[Duel]:
    """Return the pairs of models that labels can decide between, the leading one first.

    Parameters
    ----------
    result : Comparison
        The comparison.

    Returns
    -------
    list of Duel
        None if no method could be judged.
    """
    judged = {method.name: method for method in result.compared}
    selves = [name for name in result.records.cross_fitted if name in judged]
    best = result.findings.best
    others = [] if best is None or (selves and result.recommended == BASELINE) else [best.name]
    found = [_against_baseline(judged[name]) for name in dict.fromkeys([*others, *selves])]
    return [*found, *(_against_twin(judged[name], len(selves)) for name in selves)]


def _against_baseline(method: MethodResult) -> Duel:
    words = (in_words(method.name), in_words(BASELINE))
    return Duel((method.name, OWN), (BASELINE, OWN), words, method.judged.disagreement)


def _against_twin(method: MethodResult, n_stacks: int) -> Duel:
    twin = "the supervised stack" + (f" of {in_words(method.name)}" if n_stacks > 1 else "")
    held_out = None if method.twin is None else method.twin.disagreement
    words = (in_words(method.name), twin)
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
    target = result.plan.table.target
    if target.why_not_settled:
        return target.why_not_settled
    if result.loss.scoring != "accuracy":
        return (
            "Labels of chosen rows settle which of two models makes fewer errors, but this "
            f"comparison is by {result.loss.measure.name}. That is another question: to ask which "
            "makes fewer errors instead, compare with scoring='accuracy'"
            f"{' and without costs' if result.loss.scoring == COST else ''}."
        )
    if not result.plan.table.n_unlabeled:
        return "There are no unlabelled rows to settle it on: all rows are labelled."
    if not result.compared:
        return "No method could be compared with the baseline, so there is nothing to settle."
    if not target.can_be_averaged(result.plan.baselines):
        return (
            "The baselines cannot be averaged into one model, because one of them has no "
            "predict_proba, so there is no fitted baseline to settle it with: calibrate it with "
            "CalibratedClassifierCV, or compare with one baseline."
        )
    return ""


@dataclass(frozen=True)
class Models:
    """The predictions of a comparison's fitted models for all of its unlabelled rows.

    Attributes
    ----------
    result : Comparison
        The comparison.
    whole : DataFrame or None
        A larger table of which the compared one is a sample: its unlabelled rows are meant.
    """

    result: "Comparison"
    whole: "pd.DataFrame | None" = None

    @cached_property
    def rows(self) -> Index:
        """Positions of the unlabelled rows."""
        if self.whole is None:
            return self.result.plan.table.known.unlabeled
        return np.flatnonzero([label is None for label in self._labels_of_whole])

    @cached_property
    def _labels_of_whole(self) -> AnyArray:
        assert self.whole is not None
        problem = self._problem
        return read_classes(
            self.whole[problem.target], problem.target, problem.arguments["missing"]
        )

    @property
    def _problem(self) -> "TableProblem":
        assert self.result.problem is not None
        return self.result.problem

    @property
    def frame(self) -> "pd.DataFrame":
        """The table as it was written."""
        return self._problem.frame if self.whole is None else self.whole

    def ids(self, rows: Index) -> list[str] | None:
        """Return the ids of some rows, if the table has them."""
        problem = self.result.problem
        if problem is None or problem.ids is None:
            return None
        name, missing = problem.arguments["id"], problem.arguments["missing"]
        whole = self.whole
        ids = problem.ids[rows] if whole is None else names_of(whole[name].iloc[rows], missing)
        return ["" if one is None else str(one) for one in ids]

    def known_labels(self) -> dict[int | str | None, int]:
        """Return the labels of the table, as codes, by position and by id."""
        labels = self.result.plan.table.labels
        rows, codes = labels.labeled, labels.codes.tolist()
        if self.whole is not None:
            code_of = {name: code for code, name in enumerate(labels.classes.tolist())}
            known = [(i, code_of.get(one)) for i, one in enumerate(self._labels_of_whole)]
            both = [(row, code) for row, code in known if code is not None]
            rows, codes = np.array([row for row, _ in both], np.intp), [code for _, code in both]
        found: dict[int | str | None, int] = dict(zip(rows.tolist(), codes, strict=True))
        ids = self.ids(rows)
        return found if ids is None else found | dict(zip(ids, codes, strict=True))

    def codes(self, name: str, which: str = OWN) -> AnyArray:
        """Return what a model predicts for the unlabelled rows: codes of classes, or numbers.

        Parameters
        ----------
        name : str
            The method, or "baseline".
        which : {"own", "supervised"}
            The method itself, or its supervised stack.

        Returns
        -------
        array of shape (n_unlabeled,)
            One code, or number, for every unlabelled row.
        """
        if (name, which) not in self._found:
            self._found.update({(name, key): codes for key, codes in self._of(name).items()})
        return self._found[name, which]

    @cached_property
    def _found(self) -> dict[tuple[str, str], AnyArray]:
        return {}

    @property
    def _target(self) -> Target:
        return self.result.plan.table.target

    def _of(self, name: str) -> dict[str, AnyArray]:
        stored = self.result.records.cross_fitted.get(name)
        if self.whole is not None:
            parts = [self._in_block(name, rows) for rows in self._blocks()]
            return {which: np.concatenate([part[which] for part in parts]) for which in parts[0]}
        if stored is not None and stored.unlabeled:
            return {key: self._target.stored(found) for key, found in stored.unlabeled.items()}
        return self._by(name, take_rows(self.result.plan.table.X, self.rows))

    def _by(self, name: str, X: Any) -> dict[str, AnyArray]:
        """Return what a model, and its supervised stack, predicts for some rows."""
        model = self.result.fit(name)
        if name in self.result.records.cross_fitted:
            return unlabeled_predictions(model, X, self._target)
        return {OWN: self._target.predict_stored(model, X)}

    def _blocks(self) -> list[Index]:
        n_rows = len(self.rows)
        starts = range(0, max(n_rows, 1), ROWS_PER_BLOCK)
        return [self.rows[start : start + ROWS_PER_BLOCK] for start in starts]

    def _in_block(self, name: str, rows: Index) -> dict[str, AnyArray]:
        """Return the predictions of some rows of the larger table."""
        return self._by(name, features_like(self._problem, self.frame.iloc[rows]))


def ask(result: "Comparison", models: Models) -> Settlement:
    """Return what labels can settle in a comparison, before the first of them.

    Parameters
    ----------
    result : Comparison
        The comparison.
    models : Models
        What its models predict.

    Returns
    -------
    Settlement
        The questions, and the rows on which models differ, in a random order that depends on the
        seed of the comparison only.
    """
    duels, plan, problem = duels_of(result), result.plan, result.problem
    predicted = [
        models.codes(*model) for duel in duels for model in (duel.baseline, duel.challenger)
    ]
    pairs = [(2 * number, 2 * number + 1) for number in range(len(duels))]
    seed = int(rng_for(plan.seed, "settlement").integers(2**63))
    found = list_disagreements(np.stack(predicted, axis=1), models.rows, pairs, seed=seed)
    rows = found.X
    return Settlement.ask(
        [duel.words for duel in duels],
        rows,
        found.codes.reshape(len(rows), len(duels), 2),
        n_rows=found.n_rows,
        n_different=found.n_different,
        classes=[str(name) for name in plan.table.labels.classes.tolist()],
        level=result.level,
        margin=result.equivalence,
        wins=[duel.wins for duel in duels],
        ids=models.ids(rows),
        id_name=None if problem is None else problem.arguments["id"],
        target=None if problem is None else problem.target,
    )


def rows_to_label(
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
        Their number; None: as many as are expected to be needed.
    show_predictions : bool
        Whether to add what the models predict.
    models : Models
        What they predict.

    Returns
    -------
    DataFrame
        In the stored order, indexed by position in the table.
    """
    places = asked.next_places(n)
    rows = asked.rows[places]
    with needed("Tables"):
        import pandas as pd
    first = {
        KEY_COLUMN: [asked.keys[place] for place in places],
        LABEL_COLUMN if asked.target is None else asked.target: None,
        CHOSEN: YES,
        **(_predictions(result, models, rows) if show_predictions else {}),
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


def _predictions(result: "Comparison", models: Models, rows: Index) -> dict[str, AnyArray]:
    """Return columns with what the models of all questions predict."""
    places, classes = np.searchsorted(models.rows, rows), result.plan.table.labels.classes
    columns = {}
    for duel in duels_of(result):
        for model, name in zip((duel.baseline, duel.challenger), reversed(duel.words), strict=True):
            columns[f"predicted by {name}"] = classes[models.codes(*model)[places]].astype(object)
    return columns


def settled_in(result: "Comparison", settlement: Settlement) -> SettledComparison:
    """Return what the labels of a settlement mean for a comparison.

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
    duels = duels_of(result)
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
        With the new labels; rows that nobody can decide stay unlabelled.

    Returns
    -------
    classifier
        A new model, other than the one that was judged.
    """
    plan, table = result.plan, result.plan.table
    if result.whole is not None:
        raise ValueError(
            "The labelled rows are those of a larger table, of which a sample was compared: add "
            "their labels to the table, marked as chosen, and compare again."
        )
    new = {
        int(settlement.rows[place]): code
        for place, code in settlement.labels.items()
        if code != CANNOT_SAY
    }
    codes, asked = table.target.y.copy(), np.array(sorted(new), dtype=np.intp)
    codes[asked] = [new[row] for row in asked.tolist()]
    chosen = np.isin(np.arange(len(codes)), asked)
    if table.chosen is not None:
        chosen |= table.chosen
    labeled = np.flatnonzero(codes != SAME)
    labels = replace(
        table.labels,
        labeled=labeled,
        unlabeled=np.flatnonzero(codes == SAME),
        codes=codes[labeled],
    )
    rows = replace(table, target=table.target.with_known(labels), chosen=chosen)
    return fit_to_all(replace(plan, table=rows, _folds={}), name, result.prepare)
