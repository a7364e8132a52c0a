"""The arguments of a comparison: its table, its classifiers, and what is refused before a fit."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from primum._sklearn import count_rows, learner_of, take_rows
from primum._words import find_name, suggestion
from primum.comparison.decision import LEAST_FOLDS, baseline_with_rule, with_rules
from primum.comparison.plan import ComparisonPlan, PartlyLabeledTable
from primum.comparison.records import Records
from primum.comparison.words import BASELINE
from primum.judging.drift import find_drift, one_of_each
from primum.judging.objectives import Objective
from primum.judging.words import Alert, judges_itself
from primum.reading.arrays import locate_non_finite
from primum.reading.classifiers import Entry, last_step, read_entries
from primum.reading.known import chosen_mask
from primum.safe.candidates.packages import ON_REQUEST

if TYPE_CHECKING:
    from primum.tables.problem import TableProblem


MAX_INNER_FOLDS = 3
PREPARE, WEIGH, CLASSIFY = "prepare", "weigh", "classify"
# Rows to which a transformer is fitted to find out whether it needs labels.
MOST_TRIED = 500
# What the command cannot do.
OWN_MODEL = ", or pass (name, estimator)"


def as_list(baseline: Any) -> Any:
    """Return a single baseline, a name or a classifier, as a list; anything else as it is."""
    if isinstance(baseline, str):
        return baseline if baseline == "default" else [baseline]
    return [(type(baseline).__name__, baseline)] if hasattr(baseline, "fit") else baseline


def given_or_default(
    entries: Any, what: str, default: Callable[[], list[Any]], on_request: Callable[[str], Any]
) -> Any:
    """Return the entries that the user gave, known ones by their names, or all default ones."""
    if entries is not None and not isinstance(entries, str):
        entries = [_spelled(e, list(ON_REQUEST)) if isinstance(e, str) else e for e in entries]
        named = [entry for entry in entries if isinstance(entry, str)]
        known: dict[str, Any] = {}
        if any(name not in ON_REQUEST for name in named):
            known = {entry[0]: entry for entry in default()}
        return [
            _by_name(entry, known, what, on_request) if isinstance(entry, str) else entry
            for entry in entries
        ]
    if entries != "default":
        raise ValueError(
            f"{what} must be 'default' or a list of (name, estimator), got {entries!r}."
        )
    return default()


def _by_name(name: str, known: dict[str, Any], what: str, on_request: Callable[[str], Any]) -> Any:
    if name in ON_REQUEST:
        return name, on_request(name), False
    name, names = _spelled(name, list(known)), [*known, *ON_REQUEST]
    if name not in known:
        raise ValueError(
            f"{what}={name!r} is not the name of a model that can be used here"
            f"{suggestion(name, names)}: choose from {', '.join(map(repr, names))}{OWN_MODEL}."
        )
    return known[name]


def _spelled(name: str, names: Sequence[str]) -> str:
    """Return a name as it is spelled among others; one that is not among them as it is."""
    return find_name(name, names) or name


def read_transformer(prepare: Any, X: Any) -> Any:
    """Return the transformer of the rows, or None."""
    if isinstance(prepare, str):
        if prepare != "scale":
            raise ValueError(f"prepare must be 'scale', a transformer or None, got {prepare!r}.")
        return StandardScaler(with_mean=not sparse.issparse(X))
    return prepare


def needs_labels(prepare: Any, X: Any) -> bool:
    """Return whether a transformer, such as SelectKBest, cannot be fitted to rows without labels.

    Then it must not see those of held-out rows, which cross-fitted scores would allow.
    """
    if prepare is None or isinstance(prepare, StandardScaler):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clone(prepare).fit(take_rows(X, np.arange(min(count_rows(X), MOST_TRIED))))
        except Exception:  # whatever it raises: it is judged in nested splits, which are valid
            return True
    return False


def read_plan(
    empty: ComparisonPlan,
    baseline: Any,
    methods: Any,
    prepare: Any,
    scoring: Any,
    learns_from_labels: bool,
) -> ComparisonPlan:
    """Return a plan with the classifiers that the user gave, or the default ones.

    Parameters
    ----------
    empty : ComparisonPlan
        The plan without classifiers.
    baseline, methods
        The arguments of ``compare``.
    prepare : transformer or None
        Put before every classifier.
    scoring : str, callable or Objective
        By which methods that judge themselves do so. An objective gives the others decision rules.
    learns_from_labels : bool
        Whether the transformer may learn from labels: then no method may judge itself, because it
        would see the labels of held-out rows.
    """
    target, ruled = empty.table.target, has_rules(scoring)
    parts = given_or_default(
        *(baseline, "baseline"),
        lambda: target.default_baselines(inner_folds(empty, within=ruled)),
        target.on_request,
    )
    baselines = read_entries(parts, "baseline", uses_unlabeled=False)
    rivals = given_or_default(
        *(methods, "methods"),
        lambda: target.default_methods(inner_folds(empty, within=ruled), scoring, baselines),
        target.on_request,
    )
    of_stack = target.stack_baseline(baselines)
    entries = [
        _with_baseline(entry, baselines, of_stack) for entry in read_entries(rivals, "methods")
    ]
    plan = replace(
        empty,
        baselines=_prepared(prepare, baselines),
        methods=_prepared(prepare, entries),
        nested=empty.nested or not all(_has_baseline(entry, baselines) for entry in entries),
        own_baseline=not isinstance(baseline, str),
    )
    _check_names(plan)
    _check_learners(plan)
    if ruled:
        n_folds = max(min(_fewest_to_tune(plan), MAX_INNER_FOLDS), LEAST_FOLDS)
        plan = replace(
            plan,
            baselines=baseline_with_rule(plan.baselines, scoring, n_folds),
            methods=with_rules(plan.methods, scoring, n_folds),
        )
    if learns_from_labels and plan.cross_fitted and needs_labels(prepare, plan.table.X):
        plan = replace(plan, nested=True)
    return plan.judged_by(scoring)


def _with_baseline(entry: Entry, baselines: Sequence[Entry], of_stack: Any) -> Entry:
    """Return a safe stack with the baseline of the comparison, if its own was left open."""
    last = last_step(entry.estimator)
    if _has_baseline(entry, baselines) or of_stack is None:
        return entry
    if last.baseline != type(last)().baseline:
        return entry
    estimator = clone(entry.estimator)
    last_step(estimator).set_params(baseline=of_stack)
    return replace(entry, estimator=estimator)


def _has_baseline(entry: Entry, baselines: Sequence[Entry]) -> bool:
    """Return whether a method, if it judges itself, has baselines of the same names.

    Otherwise its verdict is about another model, and it has to be judged in every split.
    """
    last = last_step(entry.estimator)
    if not judges_itself(last):
        return True
    parts = last.baseline if isinstance(last.baseline, list | tuple) else [last.baseline]
    names = [part[0] if isinstance(part, tuple) else part for part in parts]
    taken = [(one.name, f"{one.name} (baseline)") for one in baselines]
    return len(names) == len(taken) and all(n in t for n, t in zip(names, taken, strict=True))


def _prepared(prepare: Any, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with a transformer before each classifier."""
    return [
        replace(entry, estimator=with_preparation(prepare, entry.estimator, entry.uses_unlabeled))
        for entry in entries
    ]


def with_preparation(prepare: Any, classifier: Any, uses_unlabeled: bool = True) -> Any:
    """Return a pipeline of a transformer and a classifier, or the latter without the former.

    Text and embeddings must keep the scales that the preparation of a table gives them. A safe
    stack weighs and reduces the terms of text itself, for each of its candidates; before any other
    classifier a step does so.
    """
    if prepare is None:
        return classifier
    from primum.tables.preparation import has_blocks, steps_after

    classifier, after = clone(classifier), steps_after(prepare, uses_unlabeled=uses_unlabeled)
    if "standardize" in classifier.get_params(deep=False):
        after = []
        if has_blocks(prepare):
            classifier.set_params(standardize=False)
    weigh = [(WEIGH, step) for step in after]
    return Pipeline([(PREPARE, clone(prepare)), *weigh, (CLASSIFY, classifier)])


def has_rules(scoring: Any) -> bool:
    """Return whether classifiers are to have decision rules."""
    return isinstance(scoring, Objective) and scoring.has_rule


def inner_folds(plan: ComparisonPlan, *, within: bool = False) -> int:
    """Return the number of folds in which the default classifiers are tuned.

    A training set of a further repeat in which some class has a single row is not counted: nothing
    can be tuned in it, and its repeat is no part of the result. ``within`` asks for tuning within
    the folds in which decision rules are chosen, as far as a class has enough rows for that.
    """
    counts = plan.class_counts(0)
    if counts.min() < 2:
        raise ValueError(plan.table.target.too_few_to_tune(counts))
    least = _fewest_to_tune(plan)
    n_folds = min(least, MAX_INNER_FOLDS)
    left = least - ceil(least / n_folds)
    return min(left, n_folds) if within and left >= LEAST_FOLDS else n_folds


def _fewest_to_tune(plan: ComparisonPlan) -> int:
    """Return the fewest rows of a class in a training set that has two of every class."""
    least = [plan.class_counts(repeat).min(axis=1) for repeat in range(plan.repeats)]
    tunable = [number for number in np.concatenate(least).tolist() if number >= 2]
    return min(tunable, default=1)


def _check_learners(plan: ComparisonPlan) -> None:
    """Raise an error for a regressor among classifiers, or the other way round."""
    target = plan.table.target
    for entry in plan.entries:
        last = last_step(entry.estimator)
        if learner_of(last) not in (target.learner, None):
            raise ValueError(
                f"{entry.name!r} is a {learner_of(last)} ({type(last).__name__}), but "
                f"{target.kind.word} are predicted: pass a {target.learner}."
            )


def _check_names(plan: ComparisonPlan) -> None:
    """Raise an error if two entries have the same name, or one that of the baseline."""
    names = [entry.name for entry in plan.entries]
    taken = {name for name in names if names.count(name) > 1 or name == BASELINE}
    if taken:
        raise ValueError(
            f"Every method and baseline needs a name of its own other than {BASELINE!r}, but "
            f"{sorted(taken)[0]!r} is taken: rename it."
        )


def read_problem(
    X: Any,
    y: Any,
    X_unlabeled: Any,
    groups: Any,
    target: str | None,
    independent_rows: bool,
    chosen: Any,
    target_kind: str,
    *columns: Any,
) -> "TableProblem | None":
    """Return the problem in a table, or None if there is no target."""
    if (target is None) == (y is None):
        raise ValueError(
            "Pass the labels either as y, or as target, the name of a column of X"
            f"{'; both are given' if y is not None else ''}."
        )
    if target is None:
        if any(isinstance(name, str) or (name is not None and len(name)) for name in columns):
            raise ValueError(
                "id, group, exclude, missing and decimal are for a table: pass target too."
            )
        if isinstance(chosen, str):
            raise ValueError(
                f"chosen={chosen!r} names a column of a table: pass target too, or a mask of the "
                "rows of X."
            )
        return None
    if groups is not None:
        raise ValueError("groups is for arrays: with target, pass the name of a column as group.")
    from primum.tables.problem import table_problem, with_unlabeled

    frame = with_unlabeled(X, X_unlabeled, target)
    if chosen is not None and not isinstance(chosen, str):
        rows = np.flatnonzero(chosen_mask(chosen, count_rows(X)))
        chosen = chosen_mask(rows, count_rows(frame))
    id, group, exclude, missing, decimal = columns
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}.")
    return table_problem(
        *(frame, target, id, group, exclude, missing, independent_rows, chosen),
        *(target_kind, decimal),
    )


def check_independence(independent_rows: bool, group: Any, groups: Any) -> None:
    """Raise an error if rows are said to be independent and to belong together."""
    if independent_rows and (group is not None or groups is not None):
        given = "group" if group is not None else "groups"
        raise ValueError(
            f"independent_rows=True says that no rows belong together, but {given} says which do: "
            "pass one of the two."
        )


def alerts_on_data(
    problem: "TableProblem | None", table: PartlyLabeledTable, independent_rows: bool
) -> list[Alert]:
    """Return what is suspicious about the data."""
    if problem is not None:
        return problem.alerts
    if independent_rows or table.groups is not None:
        return []
    from primum.tables.remarks import array_alert

    labeled = np.zeros(table.n_rows, dtype=bool)
    labeled[table.drawn.labeled] = True
    found = array_alert(table.X, labeled)
    return [] if found is None else [found]


def drift_of(table: PartlyLabeledTable, prepare: Any, seed: int) -> Any:
    """Return whether labelled and unlabelled rows of a table differ.

    Rows with a chosen label were unlabelled when the others were drawn.
    """
    parts = [
        one_of_each(take_rows(table.X, rows), None if table.groups is None else table.groups[rows])
        for rows in (table.drawn.labeled, table.drawn.unlabeled)
    ]
    return find_drift(*parts, prepare=prepare, random_state=seed)


def check_rows(X: Any, prepare: Any, baseline: Any) -> None:
    """Raise an error if rows have text or missing values that nothing turns into numbers.

    A transformer of the user is expected to do so, and so is a baseline of the user: some
    classifiers accept missing values.
    """
    own = prepare is not None and not isinstance(prepare, str)
    if own or not (isinstance(baseline, str) or all(isinstance(part, str) for part in baseline)):
        return
    _refuse_text(X)
    place = locate_non_finite(X)
    if place is not None:
        row, column, value = place
        what = "is missing" if np.isnan(value) else "is infinite"
        raise ValueError(
            f"The value in row {row}, column {column} of X {what}: pass "
            "prepare=make_pipeline(SimpleImputer(), StandardScaler()), which fills such values in "
            "within every training set, or leave out the row."
        )


def _refuse_text(X: Any) -> None:
    """Raise an error for the first column of a DataFrame that is not numeric."""
    if not hasattr(X, "iloc"):
        return
    from pandas.api.types import is_numeric_dtype

    for number, column in enumerate(X.columns):
        values = X.iloc[:, number]
        if not is_numeric_dtype(values) and not _converts(values):
            raise ValueError(
                f"Column {column!r} of X is not numeric (its first value is {values.iloc[0]!r}): "
                "pass a transformer that encodes it as prepare=, for example a ColumnTransformer "
                "with a OneHotEncoder, or pass the whole table with target= instead of y, and its "
                "columns are prepared automatically."
            )


def _converts(values: Any) -> bool:
    """Return whether a column of objects consists of numbers."""
    if values.dtype != object:
        return False
    try:
        values.astype(float)
    except (TypeError, ValueError):
        return False
    return True


def refuse_failed_baselines(records: Records) -> None:
    """Raise an error if no splits are left in which all baselines were fitted.

    A variance over splits needs two of them, unless the comparison has only one.
    """
    if len(records.splits) >= min(2, records.plan.n_folds):
        return
    names = {entry.name for entry in records.plan.baselines}
    failed = next(failure.text for failure in records.failures if failure.name in names)
    raise ValueError(f"The baseline {failed.rstrip('.')}: there is nothing to compare with.")
