"""Settling whether a fitted stack makes fewer errors than others, on given unlabelled rows.

The stack is compared with its baseline, and with the stack of supervised models. The two models of
a pair can differ in error only on rows for which they predict different classes. This module finds
these rows and returns them as a table; `primum.judging.settlement` reads their labels.

The rows of ``fit`` are named by their positions in X, and those of X_unlabeled by the positions
that they would have below X. Rows with an index of their own are named by that.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.utils.validation import validate_data

from primum._lazy import needed
from primum._sklearn import take_rows
from primum._threads import using_threads
from primum._typing import AnyArray, Index
from primum.judging.disagreements import Disagreements, find_disagreements
from primum.judging.losses import scoring_name
from primum.judging.named_labels import KEY_COLUMN, LABEL_COLUMN, as_written
from primum.judging.settlement import Settlement
from primum.judging.words import Verdict
from primum.reading.data import ClassArguments, as_table, given_rows, read_arguments
from primum.rows import ArrayRows, as_dense, chain, is_outside
from primum.safe.stack import codes_of_stacks

if TYPE_CHECKING:
    from primum.safe.classifier import SafeClassifier
    from primum.safe.rows import SharedRows
    from primum.safe.stack import StackPredictionMixin

# The stacks in the columns of codes, and the pairs of (baseline, challenger) among them.
STACKS = ("the model", "the baseline", "the supervised stack")
DUELS = ((1, 0), (2, 0))
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


def stacks_of(safe: "SafeClassifier") -> "tuple[StackPredictionMixin, ...]":
    """Return the stacks that are compared, in the order of the codes."""
    return safe, safe.baseline_, safe.supervised_


def note_on_sample(rows: "SharedRows", n_compared: int, *, limited: bool) -> list[str]:
    """Return a note if stacks are compared on a sample, unless that is due to the time budget."""
    if n_compared == rows.n_unlabeled or (rows.sampled is None and limited):
        return []
    compare = "rows_to_label()" if rows.sampled is None else "rows_to_label(X)"
    return [
        f"The model is compared with others on a random sample of {n_compared} of the "
        f"{rows.n_unlabeled} unlabelled rows; {compare} compares them on all."
    ]


def ask_about_stacks(
    differing: Disagreements,
    classes: AnyArray,
    verdicts: tuple[Verdict | None, Verdict | None],
    index: AnyArray | None = None,
) -> Settlement:
    """Return the questions about the model against the baseline and the supervised stack.

    Parameters
    ----------
    differing : Disagreements
        The rows on which they differ.
    classes : array of shape (n_classes,)
        The classes.
    verdicts : (Verdict, Verdict)
        The cross-validated verdicts of both pairs, if there are any: for forecasts only.
    index : array of shape (n_listed,), optional
        The names of the listed rows; by default their positions.

    Returns
    -------
    Settlement
        Without labels.
    """
    by_position = index is None or _are_numbers(index)
    return Settlement.ask(
        [(STACKS[challenger], STACKS[baseline]) for baseline, challenger in DUELS],
        differing.positions if index is None or not by_position else index,
        np.stack([differing.codes_of(pair) for pair in range(len(DUELS))], axis=1),
        n_rows=differing.n_rows,
        classes=[str(name) for name in classes.tolist()],
        n_different=differing.n_different,
        wins=[_wins(verdict) for verdict in verdicts],
        ids=None if index is None or by_position else [as_written(name) for name in index.tolist()],
        target=_free(LABEL_COLUMN, getattr(differing.X, "columns", ())),
        left_out=differing.left_out,
    )


def _wins(verdict: Verdict | None) -> tuple[float, float]:
    """Return the numbers of held-out rows on which each model alone was right."""
    if verdict is None or verdict.disagreement is None:
        return 0.0, 0.0
    return verdict.disagreement.better, verdict.disagreement.worse


def to_label(
    safe: "SafeClassifier",
    differing: Disagreements,
    index: AnyArray | None,
    known: Mapping[Any, int] | None = None,
) -> ToLabel:
    """Return the rows to label that some question needs.

    ``index`` has the names of *all* rows; None: their positions are their names.
    """
    names = differing.positions if index is None else index[differing.positions]
    verdicts = safe.verdict_.baseline, safe.verdict_.supervised
    asked = ask_about_stacks(differing, safe.classes_, verdicts, None if index is None else names)
    needed = np.zeros(differing.n_listed, dtype=bool)
    for pair, question in enumerate(asked.questions):
        if question.pair.needs_labels:
            needed |= np.ptp(differing.codes_of(pair), axis=1) != 0
    places = np.flatnonzero(needed)
    rows, codes = take_rows(differing.X, places), differing.codes[places]
    return ToLabel(asked, rows, names[places], codes, known or {})


@dataclass(frozen=True)
class DeferredComparison:
    """The arguments of a fit, whose rows are compared only when the user asks for rows to label.

    They are the caller's arrays, not copies. ``checksum`` is that of the rows that the fit read.
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    X_unlabeled: Any = field(repr=False)
    sample_weight: Any = field(repr=False)
    checksum: tuple[int, ...] = field(repr=False)

    def to_label(self, safe: "SafeClassifier") -> ToLabel:
        """Return the rows to label."""
        given = read_arguments(safe, self.X, self.y, self.X_unlabeled, self.sample_weight)
        if checksum_of(safe, given) != self.checksum:
            raise ValueError(
                "The arrays that were passed to fit have changed since: pass the unlabelled rows "
                "to rows_to_label(X), or fit again."
            )
        in_X = ArrayRows(given.X, given.labels.unlabeled[given.unknown])
        differing = _find(safe, chain([in_X, given.more]))
        return to_label_in_fit(safe, differing, given, self.X, self.X_unlabeled)


def checksum_of(safe: "SafeClassifier", given: ClassArguments) -> tuple[int, ...]:
    """Return a checksum of the given rows and their labels."""
    labels = given.labels
    parts = [labels.labeled, labels.codes, given.known, given.unknown]
    with using_threads(effective_n_jobs(safe.n_jobs)):
        of_rows = chain([ArrayRows(given.X), given.more]).map(lambda block: _checksum(block.X))
        return *map(_checksum, parts), *of_rows


def _checksum(values: Any) -> int:
    is_sparse = bool(sparse.issparse(values))
    if is_sparse:  # whoever uses a matrix may sort its indices in place
        rows = values.sorted_indices()
        return hash(tuple(map(_checksum, (rows.data, rows.indices, rows.indptr))))
    contiguous: Any = np.ascontiguousarray(values)
    return crc32(contiguous)


def compares_later(safe: "SafeClassifier", given: ClassArguments) -> bool:
    """Return whether a fit that did not compare stacks on all of its rows can do so later."""
    in_memory = given.more.in_memory and len(given.unknown) + given.more.n_rows > 0
    return in_memory and safe.time_budget is None and safe.judged_by == "accuracy"


def to_label_in_fit(
    safe: "SafeClassifier",
    differing: Disagreements,
    given: ClassArguments,
    X: Any,
    X_unlabeled: Any,
) -> ToLabel:
    """Return the rows to label among those of ``fit``."""
    labels, n_rows, n_more = given.labels, given.X.shape[0], given.more.n_rows
    further = given_rows(X_unlabeled)
    names = None if is_outside(further) else own_index([X, further])
    names = np.arange(n_rows + n_more) if names is None else names
    below = np.arange(n_rows, n_rows + n_more)
    unlabeled = np.concatenate([labels.unlabeled[given.unknown], below])
    known = dict(zip(names[labels.labeled].tolist(), labels.codes.tolist(), strict=True))
    if not _are_numbers(names):
        known = {as_written(name): code for name, code in known.items()}
    table = as_table(differing.X, getattr(safe, "feature_names_in_", None))
    return to_label(safe, replace(differing, X=table), names[unlabeled], known)


def rows_and_table(
    safe: "SafeClassifier",
    asked: "ToLabel | DeferredComparison | None",
    X: Any,
    n: int | None,
    show_predictions: bool,
) -> tuple[ToLabel, Any]:
    """Return the rows to label, those of X if it is given, and a table of the next ones."""
    if isinstance(X, Integral):
        raise TypeError(f"X must be rows, got {X}: pass the number of rows to label as n={X}.")
    if X is None:
        asked = known_rows(safe, asked)
    else:
        asked = look_for(safe, X).with_labels_of(asked if isinstance(asked, ToLabel) else None)
    return asked, asked.table(n, safe.classes_ if show_predictions else None)


def known_rows(safe: "SafeClassifier", asked: "ToLabel | DeferredComparison | None") -> ToLabel:
    """Return the rows to label of the last call, or else of ``fit``."""
    if isinstance(asked, ToLabel):
        return asked
    return look_for(safe, None) if asked is None else asked.to_label(safe)


def look_for(safe: "SafeClassifier", X: Any) -> ToLabel:
    """Return the rows to label among given rows, wherever these are stored."""
    if safe.judged_by != "accuracy":
        raise ValueError(
            "Labels of the rows on which models differ settle which makes fewer errors, but not "
            f"which is better by {scoring_name(safe.scoring)}: fit with scoring='accuracy'."
        )
    if X is None:
        raise ValueError(
            "No unlabelled rows are known to this model, because it was loaded from a file, or "
            "fitted without unlabelled rows or within a time_budget, or to a sample of rows "
            "outside memory: pass them to rows_to_label(X)."
        )
    X = given_rows(X)
    return to_label(safe, _find(safe, X), None if is_outside(X) else own_index([X]))


def _find(safe: "SafeClassifier", X: Any) -> Disagreements:
    """Return the rows on which stacks differ, wherever X is stored."""

    def predict(rows: Any) -> Index:
        checked = validate_data(safe, rows, accept_sparse="csr", dtype=np.float64, reset=False)
        return codes_of_stacks(stacks_of(safe), checked)

    with using_threads(effective_n_jobs(safe.n_jobs)):
        found = find_disagreements(
            stacks_of(safe),
            X,
            DUELS,
            seed=safe.order_seed_,
            predict=predict,
            labeled=getattr(safe, "_labeled_digests", None),  # absent in files of earlier versions
        )
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
