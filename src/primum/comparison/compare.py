"""``primum.compare``: whether unlabelled rows help or harm, and which model to use.

The function reads its arguments into a plan, runs the fits of the plan, and returns a result that
computes everything else on demand: verdicts, the recommended model, the report. The module is
imported only when it is used.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from primum._progress import say
from primum._sklearn import count_rows, take_rows
from primum._words import printable
from primum.comparison.data import (
    Data,
    check_sizes,
    judged_by,
    labels_needed,
    read_data,
    read_loss,
)
from primum.comparison.models import choose_models
from primum.comparison.plan import (
    Plan,
    check_equivalence,
    check_numbers,
    make_folds,
    read_seed,
)
from primum.comparison.records import Records
from primum.comparison.repeat import recorded_call
from primum.comparison.result import Comparison
from primum.comparison.run import run_fits
from primum.comparison.shares import with_shift
from primum.judging.copies import find_copies
from primum.judging.difference import LEVEL
from primum.judging.drift import Drift, find_drift, one_of_each
from primum.judging.held_out import too_few_numbers
from primum.judging.words import Alert
from primum.reading.data import locate_non_finite, refuse_overflow
from primum.reading.known import AUTO


def compare(
    X: Any,
    y: Any = None,
    X_unlabeled: Any = None,
    *,
    target: str | None = None,
    id: str | None = None,
    group: str | None = None,
    exclude: Sequence[str] = (),
    missing: Sequence[str] = (),
    decimal: str | None = None,
    target_kind: str = AUTO,
    bounds: Any = None,
    methods: str | Sequence[Any] = "default",
    baseline: Any = "default",
    prepare: Any = "scale",
    scoring: Any = None,
    cost: Any = None,
    positive: Any = None,
    cv: Any = None,
    n_repeats: int = 3,
    groups: Any = None,
    chosen: Any = None,
    rare_classes: str | None = None,
    shift: str = "none",
    independent_rows: bool = False,
    curves: bool = False,
    nested: bool = False,
    equivalence: float | None = None,
    level: float = LEVEL,
    random_state: Any = 0,
    n_jobs: int = 1,
    time_budget: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    left_out: Sequence[str] = (),
    verbose: bool = True,
) -> Comparison:
    """Compare models that use unlabelled rows with tuned supervised ones.

    They predict classes or numbers, whichever the labels are. The labelled rows are split into
    folds several times, stratified by class if there are classes. Every model is fitted to
    the training folds, with all unlabelled rows if it uses them, and judged on the fold held out,
    which is left out of training entirely. Everything that is tuned is tuned again in every
    training set.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows; with ``target``, a table as it is, with columns of any kind: a pandas or polars
        DataFrame, or any table with the Arrow PyCapsule or the dataframe interchange protocol.
    y : array-like of shape (n_samples,), default=None
        Classes; -1 (integers) or None, NaN, pd.NA (any other type) where unknown. Or numbers; NaN,
        None or pd.NA where unknown. Pass either y or target.
    X_unlabeled : array-like, sparse matrix or DataFrame of shape (n_more, n_features), default=None
        Further unlabelled rows; those of a table need no column with labels.
    target : str, default=None
        Column of X with the classes or numbers, empty where unknown. The other columns are
        prepared by their kind (numbers, categories, dates, times, booleans, free text, embeddings),
        and columns that cannot be learnt from are not used; ``columns`` of the result says what was
        done to each.
    id : str, default=None
        Column that identifies the rows; not a feature.
    group : str, default=None
        Column with groups of rows that stay together, such as those of one patient; not a feature.
    exclude : sequence of str, default=()
        Further columns that are not features.
    missing : sequence of str, default=()
        Markers of missing cells and of unknown labels in a table, in addition to empty cells.
    decimal : {".", ","}, default=None
        The decimal mark of numbers that are written as text in a table; the other one separates
        thousands. None: it is detected. It matters for numbers such as 1.234.
    target_kind : {"auto", "classes", "numbers"}, default="auto"
        What is predicted. "auto" recognises numbers, such as prices, by their fractions, or by
        being many, mostly different and far apart; the result says so. A few different numbers
        with fractions that repeat may be either, and raise an error that asks.
    bounds : (float, float), default=None
        A range that is certain to contain all numbers to predict; ICLS is then compared too.
    methods : "default" or list of (name, model[, uses_unlabeled])
        The classifiers or regressors to compare. Those that use unlabelled rows, which is the
        default, are fitted with -1, or NaN, for unknown labels. For classes, "default" means
        SafeClassifier, ICLS with ridge and metric tuned, self-learning of a logistic regression
        and, for two classes, a transductive SVM; and two supervised alternatives to the baseline, a
        random forest and a histogram booster. A list may name them as "safe stack", "ICLS",
        "self-learning", "TSVM", "forest" and "boosting", and may contain names of baselines. For
        numbers it means SafeRegressor, ICLSRegressor if there are bounds, a random forest and a
        histogram booster, by the same names.
    baseline : "default", str, model or list of (name, model), default="default"
        Supervised model, fitted to labelled rows; the scores or numbers that several predict are
        averaged. "default" means ridge and logistic regression, both tuned, which are also
        available by the names "ridge" and "logistic"; for numbers, tuned ridge regression.
        "hist_gradient_boosting", "tabpfn", "tabicl" and "catboost" are available by name too, the
        last three if the package is installed. The default SafeClassifier, or SafeRegressor, is
        shrunk towards the same baseline.
    prepare : "scale", transformer or None, default="scale"
        A first step before every classifier, fitted inside every training set to the rows that the
        classifier is fitted to. "scale" means StandardScaler, without centring if X is sparse, and
        with ``target`` the preparation of the table. For SafeClassifier, as for the baseline, the
        medians, levels and scales of a table come from its labelled rows.
    scoring : str or callable, default=None
        How predictions of classes are judged: "accuracy" (the error, in points, which is the
        default), "balanced_accuracy", "neg_brier_score" or "neg_log_loss"; and predictions of
        numbers: "rmse" (in units of the target, the default), "mae", "mse", "rmsle" or "r2" (one
        minus it). Or any other scorer of scikit-learn, or a callable ``scorer(estimator, X, y)``
        that returns more for better predictions and does not look at X. Classifiers follow
        "balanced_accuracy", "f1" and "recall_at_precision=0.9" (or another precision) by a decision
        rule that is chosen within each training set; "average_precision" needs no rule.
    cost : dict, DataFrame or array-like, default=None
        Costs of errors, instead of ``scoring``: ``{(true class, predicted class): cost}``, where
        any other error costs 1, a DataFrame with true classes as index and predicted ones as
        columns, or a matrix in the order of the classes. Every model then predicts the class of
        least expected cost, and the verdict is on the cost per row.
    positive : object, default=None
        The class of interest, one of two. "f1", "average_precision" and "recall_at_precision" refer
        to it, and so do precision and recall in the report.
    cv : int, splitter or iterable, default=None
        How the labelled rows are split: a number of folds, which are stratified by class and keep
        groups together, a scikit-learn splitter (for rows ordered in time), or pairs of indices of
        rows of X. None means 5 folds or, if the smallest class has fewer labelled rows (or
        groups), as many as it has.
    n_repeats : int, default=3
        How often the labelled rows are split; only with a number of folds. More repeats make the
        intervals of methods other than SafeClassifier shorter, by at most an eighth. SafeClassifier
        is cross-fitted in the first of these repeats, as many as its own ``n_repeats``.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together, and the statistics count groups instead of rows; for a
        table, ``group`` names the column.
    chosen : str or array-like of shape (n_samples,) or (n_chosen,), default=None
        Labels that were not drawn at random, such as those that active learning asked for: the
        column of a table that marks them (cells that are not empty, "no" or 0), or rows of X as a
        mask or as indices. None means the column ``primum_chosen``, if a table has one. They are
        used for training only, see Notes.
    rare_classes : {"group", "drop"}, default=None
        What to do with classes that have too few labels drawn at random to be judged: fewer than
        three, or two if no default model is tuned. "group": they become one class, "other", which
        models predict, and all names of classes are text. "drop": their rows count as unlabelled,
        and no model predicts them. None raises an error that names them.
    shift : {"none", "label", "covariate"}, default="none"
        How labelled and unlabelled rows differ, if the labels are not a random sample. "label":
        only the shares of the classes differ, and within a class the rows look alike; "covariate":
        rows with the same features have the same probabilities of the classes. The labelled rows
        are then weighted, in every fit and in the losses on held-out rows, which estimate those on
        the unlabelled rows if the assumption holds; see Notes.
    independent_rows : bool, default=False
        True says that no rows belong together. Otherwise, if rows with the same value of some
        column seem to have been labelled together, such as the diary entries of one person, or
        if labelled rows are copies, the verdict asks for the groups, and nothing is claimed; see
        Notes.
    curves : bool, default=False
        Whether to compute learning curves over the number of unlabelled rows and, with at least 80
        labelled rows, of labelled rows, as far as every class keeps three of them.
    nested : bool, default=False
        Whether SafeClassifier is fitted in every split like the others. By default it is fitted
        once, to all rows, and judged by its cross-fitted scores in the splits of the comparison,
        which is many times faster; its loss is then the baseline's plus the difference in these
        splits, but not below 0. Its own ``cv`` is not used, and its own ``baseline``, unless set,
        is that of the comparison. A ``prepare`` that learns from labels implies True.
    equivalence : float, default=None
        Differences up to this size make no practical difference. None means 0.01, one point of
        error, or with costs 5% of the baseline's cost per row. For numbers it is a share of the
        loss of the baseline, 0.02 by default.
    level : float, default=0.95
        The probability that an answer needs; it is adjusted for the number of methods.
    random_state : int, RandomState instance or None, default=0
        Seed of everything random. A stored comparison can only be resumed with the same integer.
    n_jobs : int, default=1
        Number of processes; -1 means one per core. It does not affect the result.
    time_budget : float, default=None
        Seconds. Slow classifiers, further repeats and learning curves that would not end in time
        are left out, and the result says so; a fit that has begun is not interrupted.
        SafeClassifier leaves out candidates that would take too long.
    folder : path, default=None
        Where fits are stored. An interrupted comparison continues there with ``resume=True``, and
        methods and repeats can be added.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    left_out : sequence of str, default=()
        Sentences on what you left out beforehand, such as rows that were not sampled, for
        ``left_out`` of the result and its report.
    verbose : bool, default=True
        Whether to show progress and, before any other method is fitted, a first answer: the verdict
        on the safe stack.

    Returns
    -------
    Comparison
        With ``verdict``, ``table``, ``plot()``, ``rows_to_label()``, ``settle(labels)``,
        ``fit_recommended()``, ``fit(name)`` and ``to_dict()``.

    See Also
    --------
    SafeClassifier : The safe stack as an estimator.
    SafeRegressor : The same for numeric targets.
    AgnosticClassifier : The choice between a supervised and a semi-supervised classifier as an
        estimator.

    Notes
    -----
    With few labelled rows the right verdict is often "cannot tell". Two fitted models can differ in
    error only on the unlabelled rows for which they predict different classes, so labels for these
    settle which one is better on your rows: ``rows_to_label`` lists them, and ``settle`` gives a
    valid answer after any number of labels. Two regressors differ on every row, so there is no such
    answer for them.

    Rows may belong together if a column has values that repeat, and far fewer of them occur in both
    labelled and unlabelled rows than with labels at random (at most half as many, with a
    probability below 0.001, corrected for the number of columns); or if the labelled rows are
    copies, or far nearer to each other than random subsets of all rows. Models would be judged too
    favourably, so nothing is claimed before ``group`` or ``groups`` says which rows belong
    together, or ``independent_rows=True`` that none do.

    Chosen labels are in every training set, those of learning curves included, and penalties are
    tuned with them, but no split holds them out: their rows are more difficult than others, or
    contain more of a rare class. For the same reason they do not count in the drift test, in the
    search for rows that belong together, in the loss of guessing, in the shares of the classes that
    transductive SVMs and ``prior="confidence"`` of ICLS assume, or in the number of labelled rows
    that a verdict is based on. A chosen row is not trained on if a row of its group is held out, or
    if a ``cv`` of pairs leaves it out.

    With ``shift="label"`` the weight of a row is the share of its class among the unlabelled rows,
    estimated from the scores of the baseline, divided by the share among the labelled ones. With
    ``shift="covariate"`` it is the out-of-fold odds of a logistic regression that the row is
    unlabelled, clipped at the 95% quantile. Either is refused, and nothing is claimed, if the
    weighted labelled rows do not represent the unlabelled ones: they are worth fewer than 20, a
    classifier still tells half of the unlabelled rows apart, or (label shift) no mixture of the
    labelled classes looks like the unlabelled rows. Both can do harm if the assumption does not
    hold. ``shares`` of the result are the shares of the classes among the unlabelled rows with 95%
    intervals, estimated under the same assumption; with "none", that the labelled rows were drawn
    at random.

    A change of the error is estimated from the rows on which a method and the baseline predict
    different classes: how many of the unlabelled rows these are, and which of the two is right on
    the labelled ones among them. A change of any other loss is estimated by the observed one,
    shrunk towards 0. Both are posterior medians; docs/comparing.md describes the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> import primum
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 3)) + truth[:, None]
    >>> y = np.where(np.arange(300) < 40, truth, -1)
    >>> methods = [("ICLS", primum.ICLSClassifier(alpha=0.1))]
    >>> result = primum.compare(X, y, methods=methods, n_repeats=1, curves=False, verbose=False)
    >>> result.recommended
    'baseline'
    """
    call = recorded_call(compare, locals())
    start = time.monotonic()
    if isinstance(baseline, str) and baseline != "default":
        baseline = [baseline]
    elif hasattr(baseline, "fit"):
        baseline = [(type(baseline).__name__, baseline)]

    # The rows and their labels, and how they are prepared.
    data = read_data(
        *(X, y, X_unlabeled, groups, chosen),
        target=target,
        id=id,
        group=group,
        exclude=exclude,
        missing=missing,
        decimal=decimal,
        target_kind=target_kind,
        bounds=bounds,
        rare_classes=rare_classes,
        needed=labels_needed(baseline, methods),
        independent_rows=independent_rows,
    )
    of_table = None if data.problem is None else data.problem.transformer
    if of_table is not None and isinstance(prepare, str):
        prepare = of_table
    check_rows(data.X, prepare, baseline)
    if cv is None and data.groups is None:
        check_sizes(data, baseline, methods)
    prepare = read_transformer(prepare, data.X)

    # The loss, the folds and the models.
    check_numbers(n_repeats, equivalence, level, time_budget)
    judged = judged_by(data, scoring, cost, positive)
    seed = read_seed(random_state)
    folds = make_folds(data, cv, n_repeats, seed)
    baselines, entries, safe = choose_models(data, folds, methods, baseline, prepare, judged)
    own = not isinstance(baseline, str)
    plan = Plan(data, baselines, entries, folds, cv, n_repeats, curves, nested, seed, own, safe)
    # A transformer must not see labels of held-out rows, which cross-fitting would allow.
    learns = (of_table is None or prepare is not of_table) and needs_labels(prepare, data.X)
    if learns and plan.cross_fitted:
        plan = replace(plan, nested=True)
    loss = read_loss(data, judged, positive)
    check_equivalence(equivalence, data.numeric, loss)

    # How labelled and unlabelled rows differ, and what is suspicious about them.
    drift = drift_of(data, prepare, seed)
    plan, weights, without_weights = with_shift(plan, shift, prepare)
    alerts = alerts_on_data(data, independent_rows)
    if not (independent_rows or data.groups is not None or any(a.withholds for a in alerts)):
        # Without numbers there are no distances, but exact copies are still found.
        others = data.drawn.unlabeled[:0] if learns else data.drawn.unlabeled
        copies = find_copies(
            take_rows(data.X, data.drawn.labeled),
            take_rows(data.X, others),
            prepare=prepare,
            remedy=GROUP_ARRAYS if data.problem is None else GROUP_TABLES,
            random_state=seed,
        )
        alerts = alerts if copies is None else [*alerts, copies]
    if weights is not None and weights.refused:
        assumes = "rows like the labelled ones are to be predicted"
        step = "Label some of the unlabelled rows, drawn at random, and compare again."
        refusal = Alert("shift", weights.refused, withholds=True, assumes=assumes, next_step=step)
        alerts = [refusal, *alerts]

    # The fits, with a first answer once baselines and safe stacks are fitted.
    def result_of(records: Records) -> Comparison:
        edge = records.equivalence(loss) if equivalence is None else equivalence
        return Comparison(
            *(records, loss, drift, edge, level, alerts, weights),
            *(data.problem, prepare),
            call=replace(call, seed=seed),
        )

    def say_first(records: Records) -> None:
        if text := result_of(records).first_answer:
            say(f"{printable(text)}\n")

    records = run_fits(
        plan,
        folder=folder,
        resume=resume,
        n_jobs=n_jobs,
        time_budget=time_budget,
        verbose=verbose,
        start=start,
        first_answer=say_first if verbose else None,
    )
    refuse_failed_baselines(records)
    records.left_out.extend([*left_out, *without_weights])
    return result_of(records)


# The most rows for a trial fit that shows whether a transformer needs labels: few take no time.
MAX_TRIED_ROWS = 500
# How to say which rows belong together.
GROUP_ARRAYS = (
    "drop the copies, or pass groups=; if no rows belong together, pass independent_rows=True."
)
GROUP_TABLES = (
    "drop the copies, or name the column that says which rows belong together with --group (in "
    "Python, group=); if none do, pass --independent-rows (independent_rows=True)."
)


def read_transformer(prepare: Any, X: Any) -> Any:
    """Return the transformer of the rows, or None."""
    if isinstance(prepare, str):
        if prepare != "scale":
            raise ValueError(f"prepare must be 'scale', a transformer or None, got {prepare!r}.")
        return StandardScaler(with_mean=not sparse.issparse(X))
    return prepare


def needs_labels(prepare: Any, X: Any) -> bool:
    """Return whether a transformer, such as SelectKBest, cannot be fitted to rows without labels.

    Such a transformer must not see labels of held-out rows, which cross-fitting would allow. Then
    no method may judge itself.
    """
    if prepare is None or isinstance(prepare, StandardScaler):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clone(prepare).fit(take_rows(X, np.arange(min(count_rows(X), MAX_TRIED_ROWS))))
        except Exception:  # then methods are judged in nested splits, which are always valid
            return True
    return False


def alerts_on_data(data: Data, independent_rows: bool) -> list[Alert]:
    """Return alerts on suspicious properties of the data."""
    alerts = [] if data.problem is None else data.problem.alerts
    labeled = data.drawn.labeled
    if data.problem is None:
        from primum.tables.remarks import array_alert, array_identifiers

        alerts = array_identifiers(data.X)
        if not (independent_rows or data.groups is not None):
            mask = np.isin(np.arange(data.n_rows), labeled)
            alert = array_alert(data.X, mask)
            alerts = alerts if alert is None else [alert, *alerts]
    if data.numeric:
        groups = data.groups_of(labeled)
        few = too_few_numbers(len(labeled if groups is None else np.unique(groups)))
        alerts = alerts if few is None else [few, *alerts]
    return alerts


def drift_of(data: Data, prepare: Any, seed: int) -> Drift | None:
    """Return whether labelled and unlabelled rows differ.

    Rows with a chosen label were unlabelled when the others were drawn.
    """
    parts = [
        one_of_each(take_rows(data.X, rows), data.groups_of(rows))
        for rows in (data.drawn.labeled, data.drawn.unlabeled)
    ]
    return find_drift(*parts, prepare=prepare, random_state=seed)


def check_rows(X: Any, prepare: Any, baseline: Any) -> None:
    """Raise an error if rows have text or missing values that nothing turns into numbers.

    A transformer or a baseline of the user's is expected to handle these itself; some classifiers
    accept missing values.
    """
    custom = prepare is not None and not isinstance(prepare, str)
    if custom or not (isinstance(baseline, str) or all(isinstance(part, str) for part in baseline)):
        return
    _refuse_text(X)
    place = locate_non_finite(X)
    if place is not None:
        row, column, value = place
        fault = "is missing" if np.isnan(value) else "is infinite"
        raise ValueError(
            f"The value in row {row}, column {column} of X {fault}: pass "
            "prepare=make_pipeline(SimpleImputer(), StandardScaler()), which fills such values in "
            "within every training set, or leave out the row."
        )
    refuse_overflow(X, "X")


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
    """Raise an error if too few splits are left in which all baselines were fitted.

    Two are needed for a variance over splits, unless the comparison has only one.
    """
    if len(records.splits) >= min(2, records.plan.n_folds):
        return
    names = [entry.name for entry in records.plan.baselines]
    failed = next(failure for failure in records.failures if failure.name in names)
    text, why = f"The baseline {failed.text.rstrip('.')}", ""
    if len(names) > 1:
        # Nothing is compared with the others instead: that would answer a question nobody asked.
        why = (
            f", because the baseline is the average of {' and '.join(names)}. Correct "
            f"{failed.name}, or leave it out of the baselines"
        )
    raise ValueError(f"{text}: there is nothing to compare with{why}.")
