"""Settling whether a fitted stack makes fewer errors than others, on given unlabelled rows.

The stack is compared with its baseline, and with the stack of supervised models. The two models of
a pair can differ in error only on rows for which they predict different classes. This module finds
these rows and returns them as a table; `primum.judging.settlement` reads their labels.

The rows of ``fit`` are named by their positions in X, and those of X_unlabeled by the positions
that they would have below X. Rows with an index of their own are named by that.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator

from primum._lazy import needed
from primum._sklearn import take_rows
from primum._threads import using_threads
from primum._typing import AnyArray, Index
from primum.judging.disagreements import Disagreements, find_disagreements, list_disagreements
from primum.judging.held_out import HeldOut
from primum.judging.named_labels import KEY_COLUMN, LABEL_COLUMN, as_written
from primum.judging.pools import Digests, also_labeled, order_seed
from primum.judging.settlement import Settlement
from primum.judging.words import Verdict
from primum.reading.data import ClassRows, as_table, given_rows
from primum.rows import as_dense, is_outside
from primum.safe.rows import SharedRows, Targets
from primum.safe.stack import StackPredictionMixin, codes_of_stacks

# The stacks in the columns of codes, and the pairs of (baseline, challenger) among them.
STACKS = ("the model", "the baseline", "the supervised stack")
PAIRS = ((1, 0), (2, 0))
# With a time budget, stacks are compared on at most this many unlabelled rows, so that little of it
# is spent on predictions ...
MAX_COMPARED_ROWS = 5000
# ... and without one on this many: predicting a million takes longer than the rest of a fit.
MAX_PREDICTED_ROWS = 20_000


@dataclass(frozen=True)
class ToLabel:
    """The rows on which the stacks differ, and what their labels have settled.

    Attributes
    ----------
    settlement : Settlement
        The questions, the rows in their order and the labels so far.
    X : DataFrame, array or CSR array
        The rows, in this order.
    index : array
        Names of the rows.
    codes : array of shape (n_listed, 3)
        What the stacks predict.
    known : mapping
        The class codes of the labelled rows, by their names.
    """

    settlement: Settlement
    X: Any = field(repr=False)
    index: AnyArray = field(repr=False)
    codes: Index = field(repr=False)
    known: Mapping[Any, int] = field(default_factory=dict, repr=False)

    def with_labels(self, labels: Any, *, correct: bool) -> "ToLabel":
        """Return the same with further labels."""
        settlement = self.settlement.with_labels(labels, known=self.known, correct=correct)
        return replace(self, settlement=settlement)

    def with_labels_of(self, other: "ToLabel | None") -> "ToLabel":
        """Return the same with the labels of ``other``, if that asks for the same rows."""
        if other is None or not self._asks_as(other):
            return self
        return replace(self, settlement=other.settlement, known=other.known)

    def _asks_as(self, other: "ToLabel") -> bool:
        """Return whether ``other`` has the same questions, names, predictions and rows."""
        return (
            other.settlement.questions == self.settlement.questions
            and np.array_equal(other.index, self.index)
            and np.array_equal(other.codes, self.codes)
            and _are_equal(other.X, self.X)
        )

    def table(self, n: int | None, classes: AnyArray | None) -> Any:
        """Return a table of the next n rows without a label; None: the expected number.

        With ``classes``, it shows what the stacks predict.
        """
        asked = self.settlement
        places = asked.next_places(n)
        frame = _frame(take_rows(self.X, places), self.index[places])
        if KEY_COLUMN in frame.columns:
            raise ValueError(
                f"X has a column {KEY_COLUMN!r}, the name of the column of keys in the rows to "
                "label: fit without it if it is from such a table, or else rename it."
            )
        frame.insert(0, KEY_COLUMN, [asked.keys[place] for place in places.tolist()])
        frame.insert(1, asked.target, np.full(len(places), None))
        if classes is not None:
            for place, name in enumerate(STACKS):
                column = _free(f"predicted by {name}", frame.columns)
                frame.insert(2 + place, column, classes[self.codes[places, place]])
        return frame


def _free(name: str, used: Collection[Any]) -> str:
    """Return a name for a column that no feature has."""
    while name in used:
        name = f"primum_{name}"
    return name


def notes_on_pool(
    rows: SharedRows, n_compared: int, differing: Disagreements | None, *, limited: bool
) -> list[str]:
    """Return notes if stacks are compared on a sample, or if rows to label are labelled already.

    A sample that is due to the time budget, which is ``limited``, is not mentioned.
    """
    notes = []
    if n_compared < rows.n_unlabeled and (rows.sampled is not None or not limited):
        notes.append(
            f"The model is compared with others on a random sample of {n_compared} of the "
            f"{rows.n_unlabeled} unlabelled rows; rows_to_label(X) compares them on all."
        )
    if differing is not None and differing.n_labeled:
        notes.append(differing.left_out)
    return notes


def seed_of_order(
    model: BaseEstimator, rows: SharedRows, targets: Targets, held_out: HeldOut
) -> int:
    """Return the seed of an order of rows that is fresh for the models of a fit.

    Another label, row or setting gives another order.
    """
    return order_seed(
        [rows.seed, model],
        [rows.labeled_digests, targets.y, targets.weight, targets.groups, targets.chosen],
        [rows.unlabeled_digests, rows.n_unlabeled, rows.unlabeled_weight],
        [held_out.rows, held_out.fold_of],
    )


def disagreements_in_fit(
    predicted: Index,
    rows: SharedRows,
    seed: int,
    columns: AnyArray | None,
) -> Disagreements | None:
    """Return the unlabelled rows of ``fit`` on which stacks differ; None if not all are compared.

    Rows that are also labelled rows, by their digests, are left out.
    """
    labeled = also_labeled(rows.unlabeled_digests, rows.labeled_digests)
    if labeled.all() or len(predicted) < rows.n_unlabeled:
        return None
    found = list_disagreements(predicted, rows.unlabeled, PAIRS, seed=seed, labeled=labeled)
    return replace(found, X=as_table(found.X, columns))


def ask_about_stacks(
    differing: Disagreements,
    classes: AnyArray,
    verdicts: Sequence[Verdict | None],
    names: AnyArray | None = None,
) -> Settlement:
    """Return the questions about the model against the baseline and the supervised stack.

    ``verdicts`` are the cross-validated ones of both pairs, if there are any: for forecasts only.
    ``names`` are those of the listed rows; None: their positions.
    """
    by_position = names is None or _are_numbers(names)
    found = [None if verdict is None else verdict.disagreement for verdict in verdicts]
    return Settlement.ask(
        [(STACKS[challenger], STACKS[baseline]) for baseline, challenger in PAIRS],
        differing.positions if names is None or not by_position else names,
        np.stack([differing.codes_of(pair) for pair in range(len(PAIRS))], axis=1),
        n_rows=differing.n_rows,
        classes=[str(name) for name in classes.tolist()],
        n_different=differing.n_different,
        wins=[(0.0, 0.0) if pair is None else (pair.better, pair.worse) for pair in found],
        ids=None if names is None or by_position else [as_written(n) for n in names.tolist()],
        target=_free(LABEL_COLUMN, getattr(differing.X, "columns", ())),
        left_out=differing.left_out,
    )


def rows_to_ask(
    asked: Settlement, differing: Disagreements, names: AnyArray, known: Mapping[Any, int]
) -> ToLabel:
    """Return the rows to label that some question needs.

    ``names`` are those of the listed rows, and ``known`` has the class codes of labelled rows.
    """
    needed = np.zeros(differing.n_listed, dtype=bool)
    for pair, question in enumerate(asked.questions):
        if question.pair.needs_labels:
            needed |= np.ptp(differing.codes_of(pair), axis=1) != 0
    places = np.flatnonzero(needed)
    rows, codes = take_rows(differing.X, places), differing.codes[places]
    return ToLabel(asked, rows, names[places], codes, known)


def names_in_fit(given: ClassRows, X: Any, X_unlabeled: Any) -> tuple[AnyArray, dict[Any, int]]:
    """Return the names of the unlabelled rows of ``fit``, and the codes of labelled rows by name.

    The names are those of an index of their own, or the positions in X and below it.
    """
    labels, n_rows, n_more = given.labels, given.X.shape[0], given.more.n_rows
    further = given_rows(X_unlabeled)
    names = None if is_outside(further) else own_index([X, further])
    names = np.arange(n_rows + n_more) if names is None else names
    below = np.arange(n_rows, n_rows + n_more)
    unlabeled = np.concatenate([labels.unlabeled[given.unknown], below])
    known = dict(zip(names[labels.labeled].tolist(), labels.codes.tolist(), strict=True))
    if not _are_numbers(names):
        known = {as_written(name): code for name, code in known.items()}
    return names[unlabeled], known


def find_rows(
    stacks: Sequence[StackPredictionMixin],
    X: Any,
    read: Callable[[Any], Any],
    seed: int,
    labeled: Digests | None,
    n_jobs: int | None,
) -> Disagreements:
    """Return the rows on which stacks differ, wherever X is stored.

    ``read`` validates a block of rows, and ``labeled`` has digests of the labelled rows of the fit,
    which are left out (None: unknown, as in files of earlier versions).
    """

    def predict(rows: Any) -> Index:
        return codes_of_stacks(stacks, read(rows))

    with using_threads(effective_n_jobs(n_jobs)):
        found = find_disagreements(stacks, X, PAIRS, seed=seed, predict=predict, labeled=labeled)
    if not found.n_rows:
        raise ValueError(
            f"All {found.n_labeled:,} rows are labelled rows of fit, on which models make fewer "
            "errors than on others: pass unlabelled rows."
        )
    return found


def own_index(parts: list[Any]) -> AnyArray | None:
    """Return the names of rows that have an index of their own; None if names are ambiguous.

    Parameters
    ----------
    parts : list of array-like
        The rows, in parts that follow one another.

    Returns
    -------
    array or None
        Integers or objects, all different.
    """
    parts = [part for part in parts if part is not None]
    if not all(hasattr(part, "iloc") for part in parts):
        return None
    index = parts[0].index
    for part in parts[1:]:
        index = index.append(part.index)
    if not index.is_unique:
        return None
    names = np.asarray(index, dtype=None if index.dtype.kind in "iu" else object)
    if not _are_numbers(names) and len(set(map(as_written, names.tolist()))) < len(names):
        return None  # 1 and "1" are different, but nobody could tell them apart in a sheet
    return names


def _are_equal(X: Any, other: Any) -> bool:
    """Return whether rows in memory have the same values, in whatever container."""
    if X.shape != other.shape:
        return False
    if sparse.issparse(X) and sparse.issparse(other):
        difference: Any = other != X
        return bool(difference.nnz == 0)
    rows, others = (as_dense(part).astype(np.float64, copy=False) for part in (X, other))
    return np.array_equal(rows, others)


def _are_numbers(index: AnyArray) -> bool:
    """Return whether names are stored as integers; the largest unsigned ones are stored as text."""
    if index.dtype.kind == "u":
        return int(index.max(initial=0)) <= np.iinfo(np.intp).max
    return index.dtype.kind == "i"


def _frame(X: Any, index: AnyArray) -> Any:
    """Return rows as a DataFrame; columns without names are x0, x1, ..."""
    with needed("Tables of rows to label"):
        import pandas as pd
    if hasattr(X, "iloc"):
        return X.set_axis(index)
    names = np.array([f"x{column}" for column in range(X.shape[1])], dtype=object)
    if sparse.issparse(X):
        return pd.DataFrame.sparse.from_spmatrix(X, index=index, columns=names)
    return as_table(X, names).set_axis(index)
