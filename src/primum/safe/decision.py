"""A classifier that predicts what costs least: its decision rule is chosen out of fold.

The labelled rows are split into folds. The classifier is fitted to the training folds, with all
unlabelled rows if it uses them, and scores the held-out fold. These scores determine the rule
(``primum.judging.objectives``). Then the classifier is fitted to all rows, and predicts by that
rule.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import take_rows
from primum._typing import AnyArray, Floats, Index, Mask
from primum._warnings import warn
from primum.judging.objectives import (
    COST,
    DecisionRule,
    Objective,
    read_objective,
    tuned_rule,
    untuned_rule,
    with_storable_cost,
)
from primum.methods.base import AT_LEAST_ONE, fitting, with_parameters
from primum.reading.classifiers import Entry, class_scores, last_step
from primum.reading.folds import Fold, is_number, judging_folds
from primum.reading.known import read_chosen
from primum.reading.labels import KnownLabels
from primum.safe.combining import ClassifierRows, OfClassifiers, scaled

# Packages whose classifiers learn from rows with unknown labels.
SEMI_SUPERVISED = ("primum.", "sklearn.semi_supervised")
# The default scoring, which costs replace.
DEFAULT_SCORING = "balanced_accuracy"
# Positions of held-out rows among the labelled ones, their scores, and those of the twin.
_Held = tuple[Index, Floats, Floats | None]


@with_parameters
class TunedDecisionClassifierCV(OfClassifiers):
    """A classifier whose decision rule is chosen out of fold, for costs of errors or for a score.

    It predicts the class with the least expected cost. The scores of the classifier inside are
    calibrated on rows that were held out, and the decision rule follows from the costs: for two
    classes, it is a threshold. Unlabelled rows are in every training set, and never held out.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier with ``predict_proba`` or ``decision_function``. None means a logistic
        regression after a StandardScaler.
    cost : dict, DataFrame or array-like, default=None
        Costs of errors: ``{(true class, predicted class): cost}``, where any other error costs 1, a
        DataFrame with true classes as index and predicted ones as columns, or a matrix in the order
        of ``classes_``.
    positive : object, default=None
        The class of interest, one of two: ``scoring`` and the threshold refer to it.
    scoring : str, default="balanced_accuracy"
        Without ``cost``, the score that the rule maximises: "balanced_accuracy", "f1" or
        "recall_at_precision=0.9", the largest recall with that precision.
    uses_unlabeled : bool, default=None
        Whether the classifier is fitted to the unlabelled rows too, with -1 for unknown labels and
        codes 0, 1, ... for known ones. None: if it is one of this library or of
        ``sklearn.semi_supervised``.
    cv : int, splitter or iterable, default=None
        How to split the labelled rows: a number of stratified folds, which keep groups together,
        a scikit-learn splitter, or pairs of indices of rows of X. None means 5 folds or, if the
        smallest class has fewer labelled rows, as many as it has.
    n_repeats : int, default=1
        How often the rows are split; only with a number of folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    n_jobs : int, default=None
        Number of fits in parallel; -1 means all processors. It does not affect the result.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to all rows with class codes 0, 1, ...
    rule_ : DecisionRule
        The decision rule; ``rule_.tuned`` says whether it was chosen on held-out scores.
    threshold_ : float or None
        With two classes, the positive one is predicted if its score is at least this; None with
        more classes.
    cost_ : array of shape (n_classes, n_classes) or None
        The costs of predicted classes (columns) for true ones (rows); None for other scorings.
    supervised_ : TunedDecisionClassifierCV
        The supervised twin of the classifier with a rule of its own, if it has a twin.
    held_out_rows_ : array of shape (n_held_out,)
        Rows of X that the folds hold out.
    held_out_scores_ : array of shape (n_held_out, n_classes)
        Their scores, on which the rule was chosen.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    SafeClassifier : Has the parameters ``cost``, ``positive`` and ``scoring`` itself.

    Notes
    -----
    A rule needs held-out rows of at least two classes. If no row can be held out, because a class
    has too few labelled rows, a warning says so, and scores are used as probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ICLSClassifier, TunedDecisionClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> truth = (rng.random(400) < 0.15).astype(int)
    >>> X = rng.normal(size=(400, 3)) + truth[:, None]
    >>> y = np.where(np.arange(400) < 100, truth, -1)
    >>> clf = TunedDecisionClassifierCV(
    ...     ICLSClassifier(alpha=0.1), cost={(1, 0): 8}, random_state=0
    ... ).fit(X, y)
    >>> clf.threshold_ < 0.3
    True
    >>> plain = clf.estimator_.predict(X)
    >>> bool((clf.predict(X) == 1).sum() > (plain == 1).sum())
    True
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "cost": [Mapping, "array-like", None],
        "positive": [object],
        "scoring": [str, Objective],
        "uses_unlabeled": ["boolean", None],
        "n_repeats": AT_LEAST_ONE,
    }
    estimator: Any = field(default=None, kw_only=False)
    cost: Any = None
    positive: Any = None
    scoring: Any = DEFAULT_SCORING
    uses_unlabeled: bool | None = None
    cv: Any = None
    n_repeats: int = 1
    random_state: Any = None
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        chosen: Any = None,
    ) -> Self:
        """Choose the decision rule out of fold, and fit the classifier to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows; a DataFrame is passed on as it is.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like, sparse matrix or DataFrame of shape (n_more, n_features), \
                default=None
            Further unlabelled rows, which are in every training set, each of weight 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, passed to the classifier, which must support weights. Costs of
            held-out rows count by weight too.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X. Rows of one group stay together.
        chosen : array-like of shape (n_samples,) or (n_chosen,), default=None
            Rows of X whose labels were not drawn at random: a mask, or indices. They are trained
            on, but never held out.

        Returns
        -------
        self
            The fitted classifier.
        """
        with fitting(self):
            rows = self._read(X, y, X_unlabeled, sample_weight)
            rows = replace(rows, groups=_padded(groups, len(rows.codes)))
            self.classes_ = rows.labels.classes
            objective = self._objective(rows.labels)
            mask = read_chosen(chosen, rows.labels)
            entry = self._entry(rows.X)
            self.estimator_ = rows.fit(entry)
            self._decide(objective, rows, self._out_of_fold(entry, rows, groups, mask))
        return self

    def _objective(self, labels: KnownLabels) -> Objective:
        """Return what the rule optimises; raise an error if there is no rule to choose."""
        costs_decide = self.cost is not None and self.scoring == DEFAULT_SCORING
        scoring = COST if costs_decide else self.scoring
        objective = read_objective(scoring, labels.classes, self.cost, self.positive)
        if objective is None or not objective.has_rule:
            raise ValueError(
                f"scoring={self.scoring!r} needs no decision rule: pass cost=, or "
                "'balanced_accuracy', 'f1' or 'recall_at_precision=0.9' as scoring."
            )
        return objective

    def _entry(self, X: Any) -> Entry:
        estimator = self.estimator
        if estimator is None:
            estimator = scaled(LogisticRegression(max_iter=1000), sparse.issparse(X))
        uses = self.uses_unlabeled
        if uses is None:
            uses = type(last_step(estimator)).__module__.startswith(SEMI_SUPERVISED)
        return Entry(type(estimator).__name__, estimator, uses)

    def _out_of_fold(
        self, entry: Entry, rows: ClassifierRows, groups: Any, chosen: Mask | None
    ) -> _Held | None:
        """Return the scores of held-out rows; None, with a warning, if none can be held out."""
        try:
            folds = self._folds(rows.labels, groups, chosen)
            parallel = Parallel(n_jobs=self.n_jobs)
            parts = parallel(delayed(_held_out)(entry, rows, fold) for fold in folds)
        except ValueError as problem:
            if not is_number(self.cv):
                raise
            warn(
                "The decision rule was not chosen out of fold, and uses scores as probabilities, "
                f"because the classifier could not be fitted without some rows: {problem}",
                UserWarning,
            )
            return None
        model, twin = zip(*parts, strict=True)
        at = np.concatenate([fold.test for fold in folds])
        both = np.concatenate(model), None if any(t is None for t in twin) else np.concatenate(twin)
        return at, *both

    def _folds(self, labels: KnownLabels, groups: Any, chosen: Mask | None) -> list[Fold]:
        """Return the folds of all repeats; only a number of folds is repeated."""
        rng = check_random_state(self.random_state)
        if not is_number(self.cv):
            return judging_folds(self.cv, labels, groups, None, chosen)
        seeds = [int(rng.randint(2**31 - 1)) for _ in range(self.n_repeats)]
        return [
            fold for seed in seeds for fold in judging_folds(self.cv, labels, groups, seed, chosen)
        ]

    def _decide(self, objective: Objective, rows: ClassifierRows, held: _Held | None) -> None:
        """Store the rule, and that of the supervised twin."""
        labels, n_classes, twin_scores = rows.labels, len(rows.labels.classes), None
        weight = rows.weight_of(labels.labeled)
        if held is None:
            self.rule_ = twin_rule = untuned_rule(objective, labels.codes, n_classes, weight)
            self.held_out_rows_ = np.zeros(0, dtype=np.intp)
            self.held_out_scores_ = np.zeros((0, n_classes))
        else:
            at, self.held_out_scores_, twin_scores = held
            self.held_out_rows_ = labels.labeled[at]
            truth = labels.codes[at], at, None if weight is None else weight[at]
            self.rule_ = twin_rule = tuned_rule(objective, self.held_out_scores_, *truth)
            if twin_scores is not None:
                twin_rule = tuned_rule(objective, twin_scores, *truth)
        self.threshold_ = self.rule_.threshold
        self.cost_ = None if objective.cost is None else np.array(objective.cost)
        twin = _twin_of(self.estimator_)
        if twin is not None and (held is None or twin_scores is not None):
            self.supervised_ = self._with(twin, twin_rule)

    def _with(self, fitted: Any, rule: DecisionRule) -> "TunedDecisionClassifierCV":
        """Return another fitted classifier with its rule, for the same classes and features."""
        other = TunedDecisionClassifierCV(**self.get_params(deep=False))
        other.estimator_, other.rule_, other.threshold_ = fitted, rule, rule.threshold
        for name in ("classes_", "cost_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        return other

    def __getstate__(self) -> dict[str, Any]:
        return with_storable_cost(super().__getstate__(), getattr(self, "cost_", None))

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            The classes that the decision rule chooses for the scores.
        """
        scores = self.predict_proba(X)
        return np.asarray(self.classes_[self.rule_.codes(scores)])

    def predict_proba(self, X: Any) -> Floats:
        """Return the scores of the classifier, which the decision rule does not change.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``; decision values mapped by the logistic
            function if it has no probabilities.
        """
        check_is_fitted(self, "rule_")
        X = self._read_rows(X, reset=False)
        return class_scores(self.estimator_, X, len(self.classes_))


def _padded(groups: Any, n_rows: int) -> Any:
    """Return the groups of all rows; further unlabelled ones are groups of their own."""
    if groups is None:
        return None
    numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    return np.append(numbers, len(numbers) + np.arange(n_rows - len(numbers)))


def _held_out(entry: Entry, rows: ClassifierRows, fold: Fold) -> tuple[Floats, Floats | None]:
    """Return the scores of the classifier, and of its supervised twin, for held-out rows."""
    fitted, labels = rows.fit(entry, rows.trained_on(fold)), rows.labels
    X, n_classes = take_rows(rows.X, labels.labeled[fold.test]), len(labels.classes)
    twin = _twin_of(fitted)
    of_twin = None if twin is None else class_scores(twin, X, n_classes)
    return class_scores(fitted, X, n_classes), of_twin


def _twin_of(fitted: Any) -> Any:
    """Return the supervised twin of a fitted classifier, if it has one with scores."""
    twin = getattr(fitted, "supervised_", None)
    scored = hasattr(twin, "predict_proba") or hasattr(twin, "decision_function")
    return twin if scored else None
