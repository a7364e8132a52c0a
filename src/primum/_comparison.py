"""``primum.compare``: whether unlabelled rows help or harm, and which model to use.

It joins the statistics (``selection``), the resumable comparison (``evaluation``) and its drawing
(``report``), and is imported only when it is used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from primum._sklearn import logistic_regression_cv, take_rows
from primum.estimators import SelfLearningClassifier, TSVMClassifier
from primum.evaluation.compare_plan import ComparisonPlan, PartlyLabeledTable, read_table
from primum.evaluation.compare_result import ComparisonResult
from primum.evaluation.compare_run import run_comparison
from primum.evaluation.compare_scoring import read_scoring
from primum.report.comparison import plot_comparison
from primum.selection import ICLSClassifierCV, LeastSquaresClassifierCV, SafeClassifier
from primum.selection.drift import find_drift
from primum.selection.entries import Entry, read_entries
from primum.selection.statistics import LEVEL, PRACTICAL_EQUIVALENCE

MAX_INNER_FOLDS = 3


@dataclass(frozen=True)
class Comparison(ComparisonResult):
    """The result of ``compare``.

    Attributes
    ----------
    verdict : str
        The answer in a few sentences.
    recommended : str
        Name of the method to use; "baseline" unless another has been shown to be better.
    table : DataFrame
        One row per classifier: mean loss on held-out rows, change to the baseline with its
        interval, the probabilities of help, no difference and harm, and the answer.
    methods : list of MethodResult
        The same as objects.
    curves : list of dict
        Learning curves over the number of unlabelled and of labelled rows.
    drift : Drift or None
        Whether labelled and unlabelled rows come from different distributions.
    failures : list of dict
        Fits that raised an error.
    left_out : list of str
        What is not part of the result, and why.
    """

    def plot(self) -> Any:
        """Draw the changes to the baseline and the learning curves.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        return plot_comparison(self)

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        table = self.plan.table
        return (
            f"<Comparison of {len(self.plan.methods)} methods on {table.n_labeled} labelled and "
            f"{table.n_unlabeled} unlabelled rows: {self.verdict}>"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.verdict)}</p>{self.table.round(4).to_html()}"


def compare(
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    *,
    methods: str | Sequence[Any] = "default",
    baselines: str | Sequence[Any] = "default",
    prepare: Any = "scale",
    scoring: Any = "accuracy",
    cv: Any = 5,
    n_repeats: int = 5,
    groups: Any = None,
    curves: bool = True,
    nested: bool = False,
    equivalence: float = PRACTICAL_EQUIVALENCE,
    level: float = LEVEL,
    random_state: int = 0,
    n_jobs: int = 1,
    time_budget: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Comparison:
    """Compare classifiers that use unlabelled rows with tuned supervised ones.

    The labelled rows are split into stratified folds, several times. Every classifier is fitted to
    the training folds, with all unlabelled rows if it uses them, and judged on the fold held out,
    which is left out of training entirely. Everything that is tuned is tuned again in every
    training set.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Classes; -1 (integers) or None, NaN, pd.NA (any other type) where unknown.
    X_unlabeled : array-like, sparse matrix or DataFrame of shape (n_more, n_features), default=None
        Further unlabelled rows.
    methods : "default" or list of (name, classifier[, uses_unlabeled])
        The classifiers to compare. Those that use unlabelled rows, which is the default, are
        fitted with -1 for unknown labels. "default" means SafeClassifier, ICLS with ridge and
        metric tuned, self-learning of a logistic regression and, for two classes, a transductive
        SVM.
    baselines : "default" or list of (name, classifier)
        Supervised classifiers, fitted to labelled rows, whose averaged scores are the baseline.
        "default" means ridge and logistic regression, both tuned.
    prepare : "scale", transformer or None, default="scale"
        Put before every classifier and fitted inside every training set, to the rows that the
        classifier is fitted to. "scale" means StandardScaler, without centring if X is sparse.
    scoring : str or callable, default="accuracy"
        How predictions are judged: "accuracy" (the error, in points), "balanced_accuracy",
        "neg_brier_score", "neg_log_loss", any other scorer of scikit-learn, or a callable
        ``scorer(estimator, X, y)``, of which higher is better and which does not look at X.
    cv : int, splitter or iterable, default=5
        How the labelled rows are split: a number of stratified folds, a scikit-learn splitter
        (for groups or for rows ordered in time), or pairs of indices of rows of X.
    n_repeats : int, default=5
        How often the labelled rows are split; only with a number of folds.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together, with a splitter such as GroupKFold; the statistics then
        count groups instead of rows.
    curves : bool, default=True
        Whether to compute learning curves over the number of unlabelled rows and, with at least 80
        labelled rows, of labelled ones.
    nested : bool, default=False
        Whether SafeClassifier is fitted in every split like the others. By default it is fitted
        once and judged by its cross-fitted scores, which is many times faster; its loss is then
        the baseline's plus the change that it found.
    equivalence : float, default=0.01
        Differences up to this size make no practical difference: one point of error.
    level : float, default=0.95
        The probability that an answer needs; it is adjusted for the number of methods.
    random_state : int, default=0
        Seed of everything random.
    n_jobs : int, default=1
        Number of processes; -1 means one per core. It does not affect the result.
    time_budget : float, default=None
        Seconds. Slow classifiers, further repeats and learning curves that would not end in time
        are left out, which the result says; a fit that has begun is not interrupted. The default
        SafeClassifier has half of it.
    folder : path, default=None
        Where fits are stored. An interrupted comparison continues there with ``resume=True``, and
        methods and repeats can be added.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    progress : bool, default=True
        Whether to show progress.

    Returns
    -------
    Comparison
        With ``verdict``, ``table``, ``plot()`` and ``to_dict()``.

    See Also
    --------
    AgnosticClassifier : The choice between a supervised and a semi-supervised classifier as an
        estimator.

    Notes
    -----
    With few labelled rows the right verdict is often that one cannot tell; it then says about how
    many more labels would settle it. The statistics are described in docs/comparing.md.

    Examples
    --------
    >>> import numpy as np
    >>> import primum
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 3)) + truth[:, None]
    >>> y = np.where(np.arange(300) < 40, truth, -1)
    >>> methods = [("ICLS", primum.ICLSClassifier(alpha=0.1))]
    >>> result = primum.compare(X, y, methods=methods, n_repeats=1, curves=False, progress=False)
    >>> result.recommended
    'baseline'
    """
    table = read_table(X, y, X_unlabeled, groups)
    prepare = _transformer(prepare, table.X)
    seed = int(random_state)
    settings = {"cv": cv, "n_repeats": n_repeats, "curves": curves, "nested": nested, "seed": seed}
    empty = ComparisonPlan(table, (), (), **settings)
    n_classes = len(table.labels.classes)
    half = None if time_budget is None else time_budget / 2
    safe = SafeClassifier(scoring=scoring, time_budget=half)
    parts = _given(baselines, "baselines", lambda: _default_baselines(_inner_folds(empty)))
    rivals = _given(
        methods, "methods", lambda: _default_methods(_inner_folds(empty), n_classes, safe)
    )
    plan = ComparisonPlan(
        table,
        _prepared(prepare, read_entries(parts, "baselines", uses_unlabeled=False)),
        _prepared(prepare, read_entries(rivals, "methods")),
        **settings,
    )
    _check_names(plan)
    loss = read_scoring(scoring, table.labels.classes)
    drift = _drift(table, prepare, seed)
    records = run_comparison(
        plan,
        folder=folder,
        resume=resume,
        n_jobs=n_jobs,
        time_budget=time_budget,
        progress=progress,
    )
    result = Comparison(plan, records, loss, drift, equivalence, level)
    _refuse_failed_baselines(result)
    return result


def _given(entries: Any, what: str, default: Callable[[], list[Any]]) -> Any:
    if not isinstance(entries, str):
        return entries
    if entries != "default":
        raise ValueError(
            f"{what} must be 'default' or a list of (name, estimator), got {entries!r}."
        )
    return default()


def _transformer(prepare: Any, X: Any) -> Any:
    if isinstance(prepare, str):
        if prepare != "scale":
            raise ValueError(f"prepare must be 'scale', a transformer or None, got {prepare!r}.")
        return StandardScaler(with_mean=not sparse.issparse(X))
    return prepare


def _prepared(prepare: Any, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with a transformer before each classifier."""
    if prepare is None:
        return list(entries)
    return [
        Entry(
            entry.name,
            make_pipeline(clone(prepare), clone(entry.estimator)),
            entry.uses_unlabeled,
        )
        for entry in entries
    ]


def _inner_folds(plan: ComparisonPlan) -> int:
    """Return the number of folds in which the default classifiers are tuned."""
    labels = plan.table.labels
    n_classes = len(labels.classes)
    smallest = min(
        int(np.bincount(labels.codes[fold.train], minlength=n_classes).min())
        for fold in plan.folds(0)
    )
    if smallest < 2:
        raise ValueError(
            "Some training set has only one labelled row of some class, with which nothing can be "
            "tuned: label more rows of the rarest class, leave it out, or use fewer folds."
        )
    return min(smallest, MAX_INNER_FOLDS)


def _default_baselines(inner: int) -> list[tuple[str, Any]]:
    logistic = logistic_regression_cv(
        Cs=[1e-3, 1e-2, 1e-1, 1.0, 10.0], cv=inner, max_iter=1000, scoring="neg_log_loss"
    )
    return [("ridge", LeastSquaresClassifierCV(cv=inner)), ("logistic", logistic)]


def _default_methods(inner: int, n_classes: int, safe: Any) -> list[tuple[str, Any]]:
    methods = [
        ("safe stack", safe),
        ("ICLS", ICLSClassifierCV(cv=inner)),
        ("self-learning", SelfLearningClassifier(LogisticRegression())),
    ]
    if n_classes == 2:
        methods.append(("TSVM", TSVMClassifier("annealing", alpha=0.1)))
    return methods


def _check_names(plan: ComparisonPlan) -> None:
    names = [entry.name for entry in plan.entries]
    taken = {name for name in names if names.count(name) > 1 or name == "baseline"}
    if taken:
        raise ValueError(
            f"Every method and baseline needs a name of its own other than 'baseline', but "
            f"{sorted(taken)[0]!r} is taken: rename it."
        )


def _drift(table: PartlyLabeledTable, prepare: Any, seed: int) -> Any:
    labels = table.labels
    return find_drift(
        take_rows(table.X, labels.labeled),
        take_rows(table.X, labels.unlabeled),
        prepare=prepare,
        random_state=seed,
    )


def _refuse_failed_baselines(result: Comparison) -> None:
    """Raise an error if a baseline failed: then there is nothing to compare with."""
    names = {entry.name for entry in result.plan.baselines}
    failed = [failure["text"] for failure in result.failures if failure["name"] in names]
    if failed:
        raise ValueError(f"The baseline {failed[0]}: there is nothing to compare with.")
