"""Agnostic semi-supervised learning: unlabelled rows only where they are shown to help.

The labelled rows are split into folds. The supervised classifier and every semi-supervised
candidate are fitted to the training folds, the candidates with all unlabelled rows, and scored on
the fold held out, which is left out of training entirely. A candidate replaces the supervised
classifier only if its error is lower by the corrected resampled t-test, one-sided, adjusted for the
number of candidates by Holm's method. Where no candidate helps, one is chosen with a probability of
at most ``significance``.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import HasMethods, Interval, take_rows
from primum._typing import AnyArray, Floats, Index
from primum.estimators import SelfLearningClassifier
from primum.estimators._fitting import fitting
from primum.estimators._labels import KnownLabels
from primum.selection._folds import Fold, read_folds
from primum.selection._partly import CombiningClassifier
from primum.selection.entries import Entry, class_scores, read_entries
from primum.selection.icls_cv import ICLSClassifierCV
from primum.selection.splitting import number_of_stratified_folds
from primum.selection.statistics import Difference, holm, resampled_difference


def _has_scores(self: Any) -> bool:
    if not hasattr(self, "estimator_"):
        return True
    return hasattr(self.estimator_, "predict_proba") or hasattr(
        self.estimator_, "decision_function"
    )


class AgnosticClassifier(CombiningClassifier):
    """A supervised classifier, unless a semi-supervised one is significantly better.

    Parameters
    ----------
    candidates : list of (name, classifier) or (name, classifier, uses_unlabeled), default=None
        The classifiers that may replace the supervised one, fitted to all rows with -1 for unknown
        labels. None means ``ICLSClassifierCV(cv=3)`` and self-learning of a logistic regression.
    supervised : classifier, default=None
        Fitted to the labelled rows; None means ``LogisticRegression()``.
    significance : float, default=0.05
        Largest probability of choosing a candidate where none is better.
    cv : int, splitter or iterable, default=5
        How to split the labelled rows: a number of stratified folds, a scikit-learn splitter, or
        pairs of indices of rows of X to train on and to hold out.
    n_repeats : int, default=2
        How often the rows are split; only with a number of folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; only with a number of folds.
    n_jobs : int, default=None
        Number of fits in parallel; -1 means all processors. It does not affect the result.

    Attributes
    ----------
    estimator_ : classifier
        The chosen classifier, fitted to all rows or to the labelled ones, and to class codes 0, 1,
        ...
    chosen_ : str
        Its name; "supervised" if no candidate is significantly better.
    supervised_ : classifier
        The supervised classifier, fitted to the labelled rows and to class codes 0, 1, ...
    differences_ : dict of str to Difference
        Estimated difference in error to the supervised classifier, for each candidate.
    p_values_ : dict of str to float
        One-sided p-values of the candidates, adjusted by Holm's method.
    n_splits_ : int
        Number of splits.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    SAFEWClassifier : The mixture of candidates that is nearest to a baseline.

    References
    ----------
    Goldberg, A. & Zhu, X. (2009). Keepin' it real: semi-supervised learning with realistic tuning.
    NAACL HLT Workshop on Semi-supervised Learning for Natural Language Processing.
    Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import AgnosticClassifier
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 4)) + truth[:, None]
    >>> y = np.where(rng.random(200) < 0.2, truth, -1)
    >>> AgnosticClassifier(random_state=0).fit(X, y).chosen_
    'supervised'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "candidates": ["array-like", None],
        "supervised": [HasMethods(["fit", "predict"]), None],
        "significance": [Interval(Real, 0, 1, closed="both")],
        "cv": ["cv_object"],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        candidates: Sequence[Any] | None = None,
        *,
        supervised: Any = None,
        significance: float = 0.05,
        cv: Any = 5,
        n_repeats: int = 2,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.candidates = candidates
        self.supervised = supervised
        self.significance = significance
        self.cv = cv
        self.n_repeats = n_repeats
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, groups: Any = None) -> Self:
        """Choose a classifier by cross-validation, and fit it.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows; a DataFrame is passed on as it is.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like, sparse matrix or DataFrame of shape (n_more, n_features), \
                default=None
            Further unlabelled rows, which are in every training set.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X, for splitters such as GroupKFold.

        Returns
        -------
        self
            The fitted classifier.
        """
        with fitting(self):
            rows, codes, labels = self._read(X, y, X_unlabeled)
            entries, supervised = self._entries()
            self.classes_ = labels.classes
            folds = self._folds(labels, groups)
            self._judge(entries, supervised, rows, codes, labels, folds)
            self.supervised_ = self.estimator_ = supervised.fit(rows, codes)
            for entry in entries:
                if entry.name == self.chosen_:
                    self.estimator_ = entry.fit(rows, codes)
        return self

    def _entries(self) -> tuple[list[Entry], Entry]:
        candidates = _default_candidates() if self.candidates is None else self.candidates
        base = LogisticRegression() if self.supervised is None else self.supervised
        entries = read_entries(candidates, "candidates")
        if any(entry.name == "supervised" for entry in entries):
            raise ValueError("A candidate is called 'supervised': give it another name.")
        return entries, Entry("supervised", base, False)

    def _folds(self, labels: KnownLabels, groups: Any) -> list[Fold]:
        cv = self.cv
        if cv is None or isinstance(cv, Integral):
            cv = RepeatedStratifiedKFold(
                n_splits=number_of_stratified_folds(cv, labels),
                n_repeats=self.n_repeats,
                random_state=self.random_state,
            )
        return read_folds(cv, labels, groups, shuffle=False, seed=None)

    def _judge(
        self,
        entries: list[Entry],
        supervised: Entry,
        X: Any,
        codes: Index,
        labels: KnownLabels,
        folds: list[Fold],
    ) -> None:
        """Keep the differences in error and their p-values, and the name of what is chosen."""
        tasks = [(entry, fold) for entry in (supervised, *entries) for fold in folds]
        parallel = Parallel(n_jobs=self.n_jobs)
        wrong = parallel(delayed(_errors)(entry, X, codes, labels, f) for entry, f in tasks)
        of_supervised, n = wrong[: len(folds)], len(folds)
        self.n_splits_, self.differences_ = n, {}
        for number, entry in enumerate(entries, start=1):
            own = wrong[number * n : (number + 1) * n]
            self.differences_[entry.name] = resampled_difference(
                [a - b for a, b in zip(own, of_supervised, strict=True)],
                [len(fold.train) for fold in folds],
                n_rows=len(labels.labeled),
            )
        adjusted = holm([difference.p_better for difference in self.differences_.values()])
        self.p_values_ = dict(zip(self.differences_, adjusted.tolist(), strict=True))
        self.chosen_ = _choose(self.differences_, self.p_values_, self.significance)

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            The classes that the chosen classifier predicts.
        """
        check_is_fitted(self)
        predicted = self.estimator_.predict(self._read_rows(X, reset=False))
        return np.asarray(self.classes_[np.asarray(predicted, dtype=np.intp)])

    @available_if(_has_scores)
    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of the chosen classifier.

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
        check_is_fitted(self)
        X = self._read_rows(X, reset=False)
        return class_scores(self.estimator_, X, len(self.classes_))


def _errors(entry: Entry, X: Any, codes: Index, labels: KnownLabels, fold: Fold) -> Floats:
    """Return 1 for every held-out row that is misclassified, and 0 for the others."""
    test = labels.labeled[fold.test]
    unknown = np.flatnonzero(codes < 0)
    train = np.sort(np.concatenate([labels.labeled[fold.train], unknown]))
    fitted = entry.fit(take_rows(X, train), codes[train])
    return np.asarray(fitted.predict(take_rows(X, test)) != codes[test], dtype=float)


def _choose(
    differences: dict[str, Difference], p_values: dict[str, float], significance: float
) -> str:
    """Return the name of the best candidate that is significantly better, or "supervised"."""
    better = [name for name, p in p_values.items() if p < significance]
    return min(better, key=lambda name: differences[name].mean, default="supervised")


def _default_candidates() -> list[tuple[str, Any]]:
    return [
        ("icls", ICLSClassifierCV(cv=3)),
        ("self-learning", SelfLearningClassifier(LogisticRegression())),
    ]
