"""SAFEW: the combination of semi-supervised classifiers that is nearest to a baseline.

With the scores F (rows x candidates) of m candidates for the unlabelled rows and those of a
supervised baseline, f0,

    w = argmin over the simplex || F w - f0 ||^2,    prediction F w.

F w is the projection of f0 onto the convex hull of the candidates, and a projection onto a convex
set brings f0 nearer to every point of that set. So if the true labels y are in the hull,

    || F w - y ||^2 <= || f0 - y ||^2,

whatever they are. If the baseline were a candidate, f0 would be in the hull and the result would
be f0. With several classes, F has one row per data row and class. With row weights, the same holds
in the weighted norm.
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import take_rows
from primum._typing import AnyArray, Floats
from primum.methods import ICLSClassifier, LeastSquaresClassifier, SelfLearningClassifier
from primum.methods.base import fitting
from primum.reading.classifiers import Entry, class_scores, named
from primum.safe.combining import CombiningClassifier, scaled
from primum.safe.stack import nearest_in_hull


class SAFEWClassifier(CombiningClassifier):
    """The mixture of semi-supervised candidates that is nearest to a supervised baseline.

    The candidates' scores for the unlabelled rows are mixed so that the mixture is as near as
    possible, in squared distance, to the scores of the baseline. If some mixture of the candidates
    is the truth, the result is at least as near to it as the baseline is.

    Parameters
    ----------
    candidates : list of (name, classifier) or (name, classifier, uses_unlabeled), default=None
        The classifiers to mix. They are fitted to all rows, with -1 for unknown labels, or to the
        labelled rows alone if ``uses_unlabeled`` is False. They need ``predict_proba`` or
        ``decision_function``, which is mapped to [0, 1] by the logistic function. None means ICLS
        with a ridge, and self-learning of a logistic and of a ridge regression, all after a
        StandardScaler.
    baseline : classifier, default=None
        Fitted to the labelled rows. It must not be one of the candidates. None means
        ``make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))``.

    Attributes
    ----------
    weights_ : dict of str to float
        Weight of each candidate.
    gap_ : float
        Proven bound on how much the squared distance to the baseline exceeds its minimum.
    candidates_ : dict of str to classifier
        The candidates with a weight above 0, fitted to class codes 0, 1, ..., which they predict.
    baseline_ : NamedClassifier
        The baseline, fitted to the labelled rows; it predicts classes.
    supervised_ : NamedClassifier
        The same, under the name of the supervised twin in every method.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    AgnosticClassifier : Uses a semi-supervised classifier only if it is significantly better.

    Notes
    -----
    The guarantee is about the unlabelled rows of ``fit``, in squared loss, and holds if the true
    labels are a mixture of the candidates' scores; new rows are given the same mixture. Without
    unlabelled rows, the labelled ones are used in their place.

    A candidate with almost the scores of the baseline, such as a self-learned version of it, is
    nearest to it and gets almost all the weight: the result is then hardly more than that
    candidate. Choose candidates that differ from the baseline.

    References
    ----------
    Li, Y.-F., Guo, L.-Z. & Zhou, Z.-H. (2021). Towards safe weakly supervised learning. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 43.
    Li, Y.-F., Zha, H.-W. & Zhou, Z.-H. (2017). Learning safe prediction for semi-supervised
    regression. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import SAFEWClassifier
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 4)) + 1.5 * truth[:, None]
    >>> y = np.where(rng.random(200) < 0.1, truth, -1)
    >>> clf = SAFEWClassifier().fit(X, y)
    >>> round(sum(clf.weights_.values()), 6)
    1.0
    >>> bool(clf.score(X, truth) > 0.9)
    True
    """

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit the candidates and the baseline, and mix the candidates.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows; a DataFrame is passed on as it is.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like, sparse matrix or DataFrame of shape (n_more, n_features), \
                default=None
            Further unlabelled rows, each of weight 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, passed to the candidates and to the baseline, which must
            support weights. The weights of unlabelled rows also count in the distance to the
            baseline, so that the guarantee is about the weighted squared loss.

        Returns
        -------
        self
            The fitted classifier.
        """
        with fitting(self):
            rows = self._read(X, y, X_unlabeled, sample_weight)
            entries, baseline = self._entries(sparse.issparse(rows.X))
            _refuse_baseline(entries, baseline.estimator)
            self.classes_, weight = rows.labels.classes, rows.weight
            self.baseline_ = self.supervised_ = named(rows.fit(baseline), self.classes_)
            models = {entry.name: rows.fit(entry) for entry in entries}
            where = np.flatnonzero((rows.codes < 0) & (weight is None or weight > 0))
            where = where if len(where) else np.arange(len(rows.codes))
            self._mix(models, take_rows(rows.X, where), rows.weight_of(where))
        return self

    def _default_candidates(self, is_sparse: bool) -> list[tuple[str, Any]]:
        logistic, ridge = LogisticRegression(max_iter=1000), LeastSquaresClassifier(alpha=0.1)
        return [
            ("icls", scaled(ICLSClassifier(alpha=0.1), is_sparse)),
            ("self-learning, logistic", scaled(SelfLearningClassifier(logistic), is_sparse)),
            ("self-learning, ridge", scaled(SelfLearningClassifier(ridge), is_sparse)),
        ]

    def _mix(self, fitted: dict[str, Any], X: Any, row_weight: Floats | None) -> None:
        """Store the weights of the mixture that is nearest to the baseline on rows X."""
        n_classes = len(self.classes_)
        scores, target = (
            np.column_stack(
                [class_scores(model, X, n_classes, name).ravel() for name, model in models.items()]
            )
            for models in (fitted, {"baseline": self.baseline_.classifier_})
        )
        if row_weight is not None:
            root = np.repeat(np.sqrt(row_weight), n_classes)[:, None]
            scores, target = root * scores, root * target
        weights, self.gap_ = nearest_in_hull(scores, target[:, 0])
        self.weights_ = dict(zip(fitted, weights.tolist(), strict=True))
        self.candidates_ = {name: fitted[name] for name, w in self.weights_.items() if w > 0}

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities: the weighted mean of the candidates' scores.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = self._read_rows(X, reset=False)
        parts = (
            self.weights_[name] * class_scores(model, X, len(self.classes_))
            for name, model in self.candidates_.items()
        )
        return np.asarray(sum(parts))

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            The class with the largest probability; the first one if several are tied.
        """
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])


def _refuse_baseline(entries: list[Entry], baseline: Any) -> None:
    """Raise an error if a candidate is the baseline: of its class, with the same parameters."""
    for entry in entries:
        same = type(entry.estimator) is type(baseline) and repr(entry.estimator) == repr(baseline)
        if not entry.uses_unlabeled and same:
            raise ValueError(
                f"The candidate {entry.name!r} is the baseline itself, so the nearest "
                "mixture would be the baseline: leave it out, or choose another baseline."
            )
