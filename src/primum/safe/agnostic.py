"""Agnostic semi-supervised learning: unlabelled rows are used only if they are shown to help.

The labelled rows are split into folds. The supervised classifier and every semi-supervised
candidate are fitted to the training folds, the candidates with all unlabelled rows, and scored on
the fold held out, which is left out of training entirely. A candidate replaces the supervised
classifier only if its error is lower by the one-sided corrected resampled t-test, adjusted for the
number of candidates by Holm's method. If no candidate helps, one is chosen with a probability of at
most ``1 - level``.
"""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import Interval, take_rows
from primum._typing import AnyArray, Floats
from primum.judging.difference import holm
from primum.judging.held_out import HeldOut
from primum.methods import SelfLearningClassifier
from primum.methods.base import AT_LEAST_ONE, fitting, with_parameters
from primum.methods.icls.tuned import ICLSClassifierCV
from primum.reading.classifiers import Entry, class_scores, named
from primum.reading.folds import Fold, is_number, judging_folds
from primum.reading.labels import KnownLabels
from primum.safe.combining import ClassifierRows, CombiningClassifier, scaled


def _has_scores(self: Any) -> bool:
    methods = ("predict_proba", "decision_function")
    return not hasattr(self, "estimator_") or any(hasattr(self.estimator_, m) for m in methods)


@with_parameters
class AgnosticClassifier(CombiningClassifier):
    """A supervised classifier, unless a semi-supervised one is significantly better.

    Parameters
    ----------
    candidates : list of (name, classifier) or (name, classifier, uses_unlabeled), default=None
        The classifiers that may replace the supervised one, fitted to all rows with -1 for unknown
        labels. None means ``ICLSClassifierCV(cv=3)`` and self-learning of a logistic regression,
        both after a StandardScaler.
    baseline : classifier, default=None
        Fitted to the labelled rows; None means ``make_pipeline(StandardScaler(),
        LogisticRegression(max_iter=1000))``. It is not tuned; pass a GridSearchCV to do so.
    level : float, default=0.95
        Least probability of keeping the baseline if no candidate is better.
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
    estimator_ : NamedClassifier
        The chosen classifier, fitted to all rows or to the labelled ones. It predicts classes; its
        ``classifier_``, fitted to class codes 0, 1, ..., predicts codes.
    chosen_ : str
        Its name; "baseline" if no candidate is significantly better.
    baseline_ : NamedClassifier
        The baseline, fitted to the labelled rows; it predicts classes as well.
    supervised_ : NamedClassifier
        The same, under the name of the supervised twin in every method.
    differences_ : dict of str to Difference
        Estimated difference in error from the baseline, for each candidate.
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
    'baseline'
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "level": [Interval(Real, 0, 1, closed="both")],
        "n_repeats": AT_LEAST_ONE,
    }
    level: float = 0.95
    cv: Any = 5
    n_repeats: int = 2
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
    ) -> Self:
        """Choose a classifier by cross-validation, and fit it.

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
            Weight of each row of X, passed to all classifiers, which must support weights. Errors
            in held-out rows count by weight too.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X. Rows of one group stay together, with a number of folds or a
            splitter such as GroupKFold, and the test counts groups instead of rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        with fitting(self):
            rows = self._read(X, y, X_unlabeled, sample_weight)
            entries, baseline = self._entries(sparse.issparse(rows.X))
            if any(entry.name == "baseline" for entry in entries):
                raise ValueError("A candidate is called 'baseline': give it another name.")
            labels, self.classes_ = rows.labels, rows.labels.classes
            folds, known_weight = self._folds(labels, groups), rows.weight_of(labels.labeled)
            known_groups = None if groups is None else np.asarray(groups)[labels.labeled]
            held_out = HeldOut(folds, labels.codes, labels.classes, known_weight, known_groups)
            self._judge(entries, baseline, rows, held_out)
            self.baseline_ = self.supervised_ = named(rows.fit(baseline), labels.classes)
            self.estimator_ = self.baseline_
            for entry in entries:
                if entry.name == self.chosen_:
                    self.estimator_ = named(rows.fit(entry), labels.classes)
        return self

    def _default_candidates(self, is_sparse: bool) -> list[tuple[str, Any]]:
        learning = SelfLearningClassifier(LogisticRegression(max_iter=1000))
        return [
            ("icls", scaled(ICLSClassifierCV(cv=3), is_sparse)),
            ("self-learning", scaled(learning, is_sparse)),
        ]

    def _folds(self, labels: KnownLabels, groups: Any) -> list[Fold]:
        """Return the folds of all repeats; only a number of folds is repeated."""
        rng, repeats = check_random_state(self.random_state), range(self.n_repeats)
        if not is_number(self.cv):
            return judging_folds(self.cv, labels, groups, None)
        seeds = [rng if groups is None else int(rng.randint(2**31 - 1)) for _ in repeats]
        return [fold for seed in seeds for fold in judging_folds(self.cv, labels, groups, seed)]

    def _judge(
        self, entries: list[Entry], baseline: Entry, rows: ClassifierRows, held_out: HeldOut
    ) -> None:
        """Store the differences in error, their p-values and the name of the chosen classifier."""
        n = self.n_splits_ = len(held_out.folds)
        tasks = [(entry, fold) for entry in (baseline, *entries) for fold in held_out.folds]
        parallel = Parallel(n_jobs=self.n_jobs)
        wrong = parallel(delayed(_errors)(entry, rows, fold) for entry, fold in tasks)
        errors = [np.concatenate(wrong[k : k + n]) for k in range(0, len(wrong), n)]
        self.differences_ = {
            entry.name: held_out.difference_of_rows(own - errors[0])
            for entry, own in zip(entries, errors[1:], strict=True)
        }
        adjusted = holm([difference.p_better for difference in self.differences_.values()])
        self.p_values_ = dict(zip(self.differences_, adjusted.tolist(), strict=True))
        better = [name for name, p in self.p_values_.items() if p < 1 - self.level]
        self.chosen_ = min(
            better, key=lambda name: self.differences_[name].mean, default="baseline"
        )

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
        return np.asarray(self.estimator_.predict(self._read_rows(X, reset=False)))

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
        return class_scores(self.estimator_.classifier_, X, len(self.classes_), self.chosen_)


def _errors(entry: Entry, rows: ClassifierRows, fold: Fold) -> Floats:
    """Return 1 for every held-out row that is misclassified, and 0 for the others."""
    test, fitted = rows.labels.labeled[fold.test], rows.fit(entry, rows.trained_on(fold))
    return np.asarray(fitted.predict(take_rows(rows.X, test)) != rows.codes[test], dtype=float)
