"""The data of a comparison: rows, and what is known of them, classes or numbers.

Rows, folds, fits and verdicts are the same for classes and for numbers. Where they differ, code
asks ``numeric``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array

from primum._sklearn import CLASSIFIER, REGRESSOR, count_rows
from primum._typing import AnyArray, Floats, Index, Mask
from primum._words import listed
from primum.comparison.rare_classes import (
    DROP,
    GROUP,
    RareClasses,
    check_named,
    without_rare_classes,
)
from primum.judging.losses import RMSE, Loss, full_scoring, read_number_scoring, read_scoring
from primum.judging.objectives import (
    ACCURACY,
    Objective,
    classes_in_cost,
    positive_code,
    read_objective,
)
from primum.reading.data import given_rows, locating_bad_values, stack_rows
from primum.reading.known import (
    AUTO,
    SAY_NUMBERS,
    Known,
    TargetKind,
    chosen_mask,
    drawn_labels,
    read_chosen,
    read_known,
)
from primum.reading.labels import MAX_CODES, KnownLabels
from primum.reading.targets import KnownTargets
from primum.rows import is_outside
from primum.tables.cells import as_pandas

if TYPE_CHECKING:
    from primum.tables.problem import TableProblem

# The fewest labelled rows of a class: one is held out, and tuning splits two again.
MIN_LABELS_TO_TUNE, MIN_LABELS = 3, 2
# The fewest labelled numbers: a ridge is tuned with at least two rows in each of two folds.
MIN_NUMBERS_TO_TUNE = 6


@dataclass(frozen=True)
class Data:
    """Rows of which only some have a label: a class or a number.

    Attributes
    ----------
    X : array, CSR matrix or DataFrame
        All rows.
    known : KnownLabels or KnownTargets
        The labels, and where the labelled and unlabelled rows are.
    kind : TargetKind
        Classes or numbers, and how that was decided.
    name : str
        Name of the column with the labels; empty if there is none.
    rare : RareClasses or None
        The classes that were grouped or left out, because they have too few labels.
    groups : array of shape (n_rows,) or None
        Group of each row as a number; further unlabelled rows are groups of their own.
    chosen : bool array of shape (n_rows,) or None
        Which rows have a label that was not drawn at random; None: no row has.
    weight : array of shape (n_rows,) or None
        Weights of the rows: those of labelled rows let them represent the unlabelled ones, which
        have the weight 1. None: all are 1.
    problem : TableProblem or None
        The table with a target that the rows come from; None for arrays.
    """

    X: Any
    known: Known
    kind: TargetKind
    name: str = ""
    rare: RareClasses | None = None
    groups: Any = None
    chosen: Mask | None = None
    weight: Floats | None = None
    problem: "TableProblem | None" = None

    @property
    def numeric(self) -> bool:
        """Whether numbers are predicted."""
        return isinstance(self.known, KnownTargets)

    @property
    def classes(self) -> AnyArray | None:
        """Names of the classes; None for numbers."""
        return self.known.classes if isinstance(self.known, KnownLabels) else None

    @property
    def truth(self) -> AnyArray:
        """The known labels against which predictions are judged: codes of classes, or numbers."""
        return self.known.codes if isinstance(self.known, KnownLabels) else self.known.targets

    @cached_property
    def y(self) -> AnyArray:
        """The truth of all rows, to which models of a split are fitted; -1 or NaN where unknown."""
        y = np.full(self.n_rows, np.nan) if self.numeric else np.full(self.n_rows, -1)
        y[self.known.labeled] = self.truth
        return y

    @property
    def names(self) -> AnyArray:
        """The labels of all rows, to which final models are fitted; None or NaN where unknown."""
        if self.numeric:
            return self.y
        names = np.full(self.n_rows, None, dtype=object)
        names[self.known.labeled] = self.known.values
        return names

    @property
    def labels(self) -> KnownLabels:
        """The classes, and where the labelled and unlabelled rows are."""
        assert isinstance(self.known, KnownLabels), "numbers are predicted"
        return self.known

    @property
    def drawn(self) -> Known:
        """The known labels that were drawn at random; rows with others count as unlabelled."""
        return drawn_labels(self.known, self.chosen)

    @property
    def labels_drawn(self) -> KnownLabels:
        """The classes that were drawn at random."""
        drawn = self.drawn
        assert isinstance(drawn, KnownLabels), "numbers are predicted"
        return drawn

    @property
    def learner(self) -> str:
        """Kind of the models: "classifier" or "regressor"."""
        return REGRESSOR if self.numeric else CLASSIFIER

    @property
    def limits(self) -> tuple[float, float] | None:
        """The range that is certain to contain all numbers; None if it is not known."""
        return self.known.limits if isinstance(self.known, KnownTargets) else None

    @property
    def unit(self) -> str:
        """The unit of the numbers; empty if they have none."""
        return f"units of {self.name}" if self.numeric and self.name else ""

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return self.known.n_rows

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows, chosen ones included."""
        return len(self.known.labeled)

    @property
    def n_chosen(self) -> int:
        """Number of labels that were not drawn at random."""
        return 0 if self.chosen is None else int(self.chosen.sum())

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabelled rows."""
        return len(self.known.unlabeled)

    def groups_of(self, rows: Index) -> Any:
        """Return the groups of some rows; None: there are none."""
        return None if self.groups is None else self.groups[rows]

    def weight_of(self, rows: Index) -> Floats | None:
        """Return the weights of some rows; None: all are 1."""
        return None if self.weight is None else self.weight[rows]

    def fit_arguments(self, rows: Index) -> tuple[Any, Mask | None, Floats | None]:
        """Return what else models receive for some rows: groups, mask of chosen rows, weights."""
        chosen = None if self.chosen is None else self.chosen[rows]
        return self.groups_of(rows), chosen, self.weight_of(rows)

    def are_chosen(self, positions: Index) -> Mask:
        """Return which labelled rows, given by position among them, were not drawn at random."""
        if self.chosen is None:
            return np.zeros(len(positions), dtype=bool)
        return self.chosen[self.known.labeled[positions]]

    @property
    def labeled_weight(self) -> Floats | None:
        """Weights of the labelled rows; None: all are 1."""
        return self.weight_of(self.known.labeled)

    @property
    def labeled_in_words(self) -> str:
        """The numbers of drawn and chosen labels, as part of a list: "40 labelled, 18 chosen"."""
        drawn = f"{self.n_labeled - self.n_chosen:,} labelled"
        return f"{drawn}, {self.n_chosen:,} chosen" if self.n_chosen else drawn


def read_data(
    X: Any,
    y: Any = None,
    X_unlabeled: Any = None,
    groups: Any = None,
    chosen: Any = None,
    *,
    target: str | None = None,
    id: str | None = None,
    group: str | None = None,
    exclude: Sequence[str] = (),
    missing: Sequence[str] = (),
    decimal: str | None = None,
    target_kind: str = AUTO,
    bounds: Any = None,
    rare_classes: str | None = None,
    needed: int = MIN_LABELS_TO_TUNE,
    independent_rows: bool = False,
) -> Data:
    """Return the data of a comparison from arguments of ``compare``; a DataFrame stays one.

    ``needed`` is the fewest labels of a class that is not rare.
    """
    # Rows in memory, because every split reads all of them.
    for argument, rows in (("X", X), ("X_unlabeled", X_unlabeled)):
        if is_outside(given_rows(rows)):
            raise ValueError(
                f"{argument} must be in memory, got {type(rows).__name__}: read the rows, or a "
                "random sample of them (pandas.read_parquet). SafeClassifier and SafeRegressor "
                "take X_unlabeled as a Parquet file or a Dask collection."
            )
    if independent_rows and (group is not None or groups is not None):
        argument = "group" if group is not None else "groups"
        raise ValueError(
            f"independent_rows=True says that no rows belong together, but {argument} says which "
            "do: pass one of the two."
        )
    if (target is None) == (y is None):
        raise ValueError(
            "Pass the labels either as y, or as target, the name of a column of X"
            f"{'; both are given' if y is not None else ''}."
        )

    # A table with a target, or arrays.
    problem = None
    if target is None:
        roles = (id, group, exclude, missing, decimal)
        if any(isinstance(one, str) or (one is not None and len(one)) for one in roles):
            raise ValueError(
                "id, group, exclude, missing and decimal are for a table: pass target too."
            )
        if isinstance(chosen, str):
            raise ValueError(
                f"chosen={chosen!r} names a column of a table: pass target too, or a mask of the "
                "rows of X."
            )
    else:
        if groups is not None:
            raise ValueError(
                "groups is for arrays: with target, pass the name of a column as group."
            )
        from primum.tables.problem import table_problem, with_unlabeled

        frame = with_unlabeled(X, X_unlabeled, target)
        if chosen is not None and not isinstance(chosen, str):
            rows = np.flatnonzero(chosen_mask(chosen, count_rows(X)))
            chosen = chosen_mask(rows, count_rows(frame))
        if decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.")
        problem = table_problem(
            frame,
            target,
            chosen=chosen,
            id=id,
            group=group,
            exclude=exclude,
            missing=missing,
            decimal=decimal,
            independent_rows=independent_rows,
            target_kind=target_kind,
        )
        X, y, X_unlabeled = problem.X, problem.labels, None
        groups, chosen, target_kind = problem.groups, problem.chosen, problem.kind.word

    # The labels, with rare classes grouped or left out.
    X = _read_rows(X, "X")
    known, kind = read_known(y, count_rows(X), target_kind, bounds)
    if problem is not None:
        kind = problem.kind
    rare = None
    if rare_classes is not None:
        if not isinstance(known, KnownLabels):
            raise ValueError(
                "rare_classes is for classes, but numbers are predicted: leave it out."
            )
        drawn = np.ones(len(known.labeled), dtype=bool)
        if chosen is not None:
            drawn = ~chosen_mask(chosen, known.n_rows)[known.labeled]
        counts = np.bincount(known.codes[drawn], minlength=len(known.classes))
        known, rare = without_rare_classes(known, counts, rare_classes, needed)

    # Labels that were not drawn at random, and groups as numbers.
    mask = read_chosen(chosen, known)
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (known.n_rows,):
            raise ValueError(
                f"groups has the shape {groups.shape}, but X has {known.n_rows} rows: pass one "
                "group for every row of X."
            )
        groups = np.asarray(np.unique(groups, return_inverse=True)[1])

    # Further rows without a label; each is a group of its own.
    X_unlabeled = given_rows(X_unlabeled)
    if X_unlabeled is not None:
        more = _read_rows(X_unlabeled, "X_unlabeled")
        if more.shape[1] != X.shape[1]:
            raise ValueError(
                f"X_unlabeled has {more.shape[1]} columns, but X has {X.shape[1]}: pass the same "
                "columns in the same order."
            )
        X = stack_rows([X, more])
        n_more = count_rows(X) - known.n_rows
        if groups is not None:
            groups = np.concatenate([groups, groups.max() + 1 + np.arange(n_more)])
        if mask is not None:
            mask = np.append(mask, np.zeros(n_more, dtype=bool))
        known = known.with_unlabeled(n_more)
    return Data(X, known, kind, target or "", rare, groups, mask, problem=problem)


def _read_rows(X: Any, name: str) -> Any:
    """Return rows as a DataFrame, if they are a table, or else as an array or CSR matrix."""
    X = as_pandas(X)
    if hasattr(X, "iloc"):
        return X
    with locating_bad_values(X, name):
        return check_array(X, accept_sparse="csr", ensure_all_finite=False, input_name=name)


def judged_by(data: Data, scoring: Any, cost: Any, positive: Any) -> Any:
    """Return what models are judged by: a scoring or, for classes, an objective."""
    if data.classes is not None:
        scoring = "accuracy" if scoring is None else scoring
        if data.rare is not None:
            check_named(data.rare, [] if positive is None else [positive], "positive")
            check_named(data.rare, classes_in_cost(cost), "cost")
        objective = read_objective(scoring, data.classes, cost, positive)
        return scoring if objective is None else objective
    unusable = {"cost": cost, "positive": positive}
    if wrong := next((name for name, value in unusable.items() if value is not None), None):
        raise ValueError(f"{wrong} is for classes, but numbers are predicted: leave it out.")
    return RMSE if scoring is None else full_scoring(scoring)


def read_loss(data: Data, judged: Any, positive: Any) -> Loss:
    """Return the loss for a result of ``judged_by``."""
    if data.classes is None:
        return read_number_scoring(judged, data.truth, data.unit)
    loss = read_scoring(judged, data.classes)
    if positive is None or isinstance(judged, Objective):
        return loss
    code = positive_code(positive, data.classes)  # only the report uses it
    return replace(loss, objective=Objective(ACCURACY, positive=code))


def labels_needed(*models: Any) -> int:
    """Return the fewest labels that a class needs, given the baselines and methods."""
    return MIN_LABELS_TO_TUNE if any(map(_has_default, models)) else MIN_LABELS


def _has_default(entries: Any) -> bool:
    """Return whether some of the given models are defaults, which are given by name."""
    if entries is None:
        return False
    return isinstance(entries, str) or any(isinstance(entry, str) for entry in entries)


def check_sizes(data: Data, *models: Any) -> None:
    """Raise an error if there are too few labels to compare on.

    ``models`` are the baselines and methods; those given by name are defaults, which are tuned.
    """
    labels = data.drawn
    at_random = "" if data.chosen is None else ", drawn at random"
    if isinstance(labels, KnownTargets):
        needed = MIN_NUMBERS_TO_TUNE if any(map(_has_default, models)) else MIN_LABELS
        count = len(labels.labeled)
        if count < needed:
            raise ValueError(
                f"Only {count} labelled rows{at_random} have a number, and a comparison needs "
                f"{needed} to hold some out and learn from the others: label more "
                f"rows{at_random}."
            )
        return

    needed = labels_needed(*models)
    counts = labels.counts.tolist()
    rare = [
        f"{name!r} ({count})"
        for name, count in zip(labels.classes.tolist(), counts, strict=True)
        if count < needed
    ]
    if not rare:
        return

    # What else can be done about rare classes than label more of their rows.
    few = f"Class {rare[0]} has" if len(rare) == 1 else f"Classes {listed(rare)} have"
    n_kept = len(counts) - len(rare)
    ways = []
    if sum(n for n in counts if n < needed) >= needed and n_kept:
        ways.append(f"pass rare_classes={GROUP!r} to predict them as one class")
    if n_kept > 1:  # of two classes, neither can be left out
        say = "rare_classes=" if ways else "pass rare_classes="
        ways.append(f"{say}{DROP!r} to count their rows as unlabelled")
    other = "".join(f", or {way}" for way in ways)
    are_numbers = labels.classes.dtype.kind in "iu"
    if ways and are_numbers and (len(rare) > len(counts) / 2 or len(counts) > MAX_CODES):
        other += f" (if they are measurements, pass {SAY_NUMBERS})"
    raise ValueError(
        f"{few} fewer than {needed} labelled rows{at_random}, which a comparison needs of "
        f"every class to hold some out and learn from the others: label more rows{at_random}"
        f"{other}."
    )
