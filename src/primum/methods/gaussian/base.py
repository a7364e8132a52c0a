"""The generative classifiers: parameters, rows, fitted attributes, and the supervised twins.

The twins are linear discriminant analysis and the nearest-mean classifier:

    maximise over pi, m, C      sum_i w_i log( pi_{y_i} N(x_i; m_{y_i}, C) )

over the labelled rows: class shares, class means and the covariance W within the classes, divided
by the number of rows (maximum likelihood). With C = sigma^2 I and equal shares, the class of the
nearest mean is predicted. See ``methods.gaussian.family``.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, eigvalsh
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats
from primum._warnings import warn
from primum.methods import base
from primum.methods.gaussian.family import (
    GaussianCoordinates,
    GaussianFamily,
    GaussianModel,
    gaussian_coordinates,
)
from primum.reading.data import ClassRows, not_in_memory, read_rows, refuse_other_library
from primum.reading.shares import class_shares

# A direction collapses if the variance within the classes is below this share of the total: the
# likelihood then grows without bound, and ten digits are more than any features have.
COLLAPSED = 1e-10


class SingularCovarianceWarning(UserWarning):
    """Directions in which the rows vary only between the classes are ignored.

    Pass a ridge ``alpha`` above 0 to use them.

    Examples
    --------
    >>> import warnings
    >>> from primum import SingularCovarianceWarning
    >>> warnings.simplefilter("ignore", SingularCovarianceWarning)
    """


@dataclass(frozen=True)
class GenerativeRows:
    """Labelled rows, then unlabelled ones, X (n, d), and their weights (n,).

    ``labels`` (n_labeled, K) are the known ones, one-hot, and ``data`` the arguments of ``fit``.
    """

    X: Floats
    labels: Floats
    weight: Floats
    data: ClassRows

    @property
    def n_labeled(self) -> int:
        """Number of labelled rows."""
        return len(self.labels)

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabelled rows that have weight."""
        return len(self.X) - len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.labels.shape[1]

    @property
    def labeled(self) -> "GenerativeRows":
        """The labelled rows alone."""
        L = self.n_labeled
        return replace(self, X=self.X[:L], weight=self.weight[:L])

    @property
    def unlabeled(self) -> Floats:
        """The features of the unlabelled rows."""
        return self.X[self.n_labeled :]

    def weighted(self, unlabeled_weight: float) -> "GenerativeRows":
        """Return the rows with the unlabelled ones weighted by a factor, or left out if it is 0."""
        if unlabeled_weight == 0:
            return self.labeled
        factor = np.where(np.arange(len(self.X)) < self.n_labeled, 1.0, unlabeled_weight)
        return replace(self, weight=self.weight * factor)

    def class_weights(self, soft_labels: Floats | None = None) -> Floats:
        """Return the weight of every row in every class, given labels of the unlabelled rows."""
        labels = self.labels if soft_labels is None else np.vstack([self.labels, soft_labels])
        return labels * self.weight[: len(labels), None]


def _read_rows(estimator: BaseEstimator, data: ClassRows) -> GenerativeRows:
    """Stack dense rows in memory."""
    refuse_other_library(estimator, data.home)
    if not data.unlabeled.in_memory:
        raise not_in_memory(estimator)
    labeled = data.labeled
    unlabeled = data.unlabeled.take(np.arange(data.unlabeled.n_rows))
    if sparse.issparse(labeled.X) or sparse.issparse(unlabeled.X):
        raise TypeError(
            f"{type(estimator).__name__} estimates a covariance and needs dense rows, but X or "
            "X_unlabeled is sparse: convert it with X.toarray(), or reduce it first, for example "
            "with TruncatedSVD."
        )
    y = labeled.y if labeled.y.ndim == 2 else np.column_stack([1.0 - labeled.y, labeled.y])
    weights = [
        np.ones(len(part.X)) if part.weight is None else part.weight
        for part in (labeled, unlabeled)
    ]
    return GenerativeRows(np.vstack([labeled.X, unlabeled.X]), y, np.concatenate(weights), data)


@base.with_parameters
class GenerativeClassifier(
    base.KnownLabelsScoreMixin, base.ClassPredictionMixin, ClassifierMixin, BaseEstimator
):
    """Gaussian classes with one covariance, so that the decision function is linear."""

    _ranges: ClassVar[dict[str, list[Any]]] = {"alpha": base.NOT_NEGATIVE}

    covariance: str = field(default="full", kw_only=False)
    prior: Any = None
    alpha: float = 0.0

    @base.documented_fit(dense=True, in_memory=True)
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
        with base.fitting(self):
            data = read_rows(self, X, y, X_unlabeled, sample_weight)
            rows = _read_rows(self, data)
            with one_blas_thread():
                self._fit_rows(rows)
            # Constant and collinear features are left out exactly: that loses nothing.
            d = self.means_.shape[1]
            directions = self._n_directions(rows) if self.rank_ < d else d
            if self.rank_ < directions:
                warn(
                    f"The covariance of {type(self).__name__} is singular, with rank {self.rank_} "
                    f"for {d} features, but the rows vary in {directions} directions: those "
                    "without variance within the classes are ignored. Label more rows, or "
                    f"{self._more_ridge}.",
                    SingularCovarianceWarning,
                )
        return self

    @abstractmethod
    def _fit_rows(self, rows: GenerativeRows) -> None:
        """Fit to validated rows."""

    def _family(self, rows: GenerativeRows) -> GaussianFamily:
        """Return the models of the given rows."""
        spherical = self.covariance == "spherical"
        coordinates = gaussian_coordinates(
            rows.X, rows.weight, spherical=spherical, alpha=float(self.alpha)
        )
        # Logarithms of given class shares; None means that they are estimated.
        classes = rows.data.labels.classes
        log_shares = None
        if isinstance(self.prior, str):
            log_shares = np.full(len(classes), -np.log(len(classes)))
        elif self.prior is not None:
            log_shares = np.log(class_shares(self.prior, classes))
        return GaussianFamily(coordinates, spherical, log_shares)

    def _remember(
        self, classes: AnyArray, model: GaussianModel, coordinates: GaussianCoordinates
    ) -> None:
        """Keep a model, in the features' own units."""
        basis, reader, origin = coordinates.basis, coordinates.reader, coordinates.origin
        coef, intercept = model.scores()
        if len(classes) == 2:
            coef, intercept = coef[:, 1:] - coef[:, :1], intercept[1:] - intercept[:1]
        self.classes_ = classes
        self.means_ = origin + model.means @ basis.T
        self.covariance_ = basis @ model.covariance @ basis.T
        self.prior_ = np.exp(model.log_shares)
        self.rank_ = model.rank
        self.coef_ = np.ascontiguousarray((reader @ coef).T)
        self.intercept_ = intercept - self.coef_ @ origin

    def _posterior(self, X: Floats) -> Floats:
        """Return the class probabilities of rows that have been validated."""
        scores = X @ self.coef_.T + self.intercept_
        return base.logistic_probabilities(scores if len(self.classes_) > 2 else scores[:, 0])

    @property
    def _more_ridge(self) -> str:
        """The advice to raise alpha."""
        return f"raise alpha (now {self.alpha:g})" if self.alpha else "set alpha above 0"

    def _generalized_eigenvectors(self, A: Floats, B: Floats) -> tuple[Floats, Floats]:
        """Return (values, V) with ``A V = B V diag(values)`` and ``V'B V = I``."""
        try:
            values, V = eigh(A, B)
        except np.linalg.LinAlgError:  # B is singular only if the ridge is below rounding
            raise ValueError(
                f"alpha={self.alpha:g} is lost in the rounding of the covariance, which is "
                "singular without it: standardise the features, raise alpha, or set it to 0."
            ) from None
        return values, V

    def _check_maximum(self, family: GaussianFamily, model: GaussianModel, Z: Floats) -> None:
        """Raise an error if the covariance collapses, so that the likelihood has no bound."""
        r = Z.shape[1]
        rank = covariance_rank(family, model, Z)
        if rank < r:
            raise ValueError(
                f"The likelihood of {type(self).__name__} has no maximum: there are soft labels "
                f"for which the covariance within the classes has rank {rank}, while all rows "
                f"together span {r} dimensions. {self._more_ridge.capitalize()}, or drop features "
                "that separate the classes exactly."
            )

    def _keep_soft_labels(self, rows: GenerativeRows, Q: Floats) -> None:
        """Keep the shares Q (U, K) of the classes of the unlabelled rows that have weight."""
        q = Q if rows.n_classes > 2 else Q[:, 1]
        self.soft_labels_ = rows.data.for_all_rows(q)

    def _n_directions(self, rows: GenerativeRows) -> int:
        """Return the number of directions in which the rows that determine the model vary."""
        return self._family(rows).coordinates.dimension

    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        return base.logistic_probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the posterior probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(log_softmax(scores, axis=1))
        return np.column_stack([log_expit(-scores), log_expit(scores)])


def covariance_rank(family: GaussianFamily, model: GaussianModel, Z: Floats) -> int:
    """Return the rank of the covariance, relative to the total one of rows with coordinates Z."""
    if family.spherical or family.coordinates.ridge.any() or model.rank < Z.shape[1]:
        return model.rank
    total = np.cov(Z.T, bias=True).reshape(model.covariance.shape)
    return int(np.count_nonzero(eigvalsh(model.covariance, total) > COLLAPSED))


class LDAClassifier(GenerativeClassifier):
    """Supervised linear discriminant analysis or, with a spherical covariance, nearest mean.

    The classes are modelled as Gaussian with one common covariance. Unlabelled rows are ignored.

    Parameters
    ----------
    covariance : {"full", "spherical"}, default="full"
        The common covariance: any matrix (linear discriminant analysis), or a multiple of the
        identity, which with ``prior="equal"`` predicts the class of the nearest mean.
    prior : {"equal"}, dict or array-like of shape (n_classes,), default=None
        Shares of the classes: a dict with the share of every class, or an array in the order of
        ``classes_``. None means those of the labelled rows.
        They do not affect the means and the covariance.
    alpha : float, default=0.0
        Ridge: ``alpha`` is added to the diagonal of the covariance, which maximises the mean
        log-likelihood minus ``alpha/2`` times the trace of the inverse covariance. With 0, the
        pseudo-inverse of a singular covariance is used, in units of the features' standard
        deviations, and a SingularCovarianceWarning says so unless it ignores only constant and
        collinear features.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    means_ : array of shape (n_classes, n_features)
        Class means.
    covariance_ : array of shape (n_features, n_features)
        The common covariance, divided by the number of rows (maximum likelihood).
    prior_ : array of shape (n_classes,)
        Shares of the classes.
    rank_ : int
        Rank of the covariance.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the log-odds of the second of two classes, or of the log-posterior of every
        class up to a common term.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercepts.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    SingularCovarianceWarning
        If a pseudo-inverse of the covariance ignored directions in which the rows vary only between
        the classes.

    See Also
    --------
    EMLDAClassifier : Fitted to all rows by EM.
    MomentConstrainedLDAClassifier : With the mean and the covariance of all rows.
    ICLDAClassifier : The best model on the labelled rows, over all labellings of the others.
    ScatterLDAClassifier : With the total covariance of all rows.
    ContrastivePessimisticLDAClassifier : Never less likely on all rows, whatever their labels.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same with ``solver="lsqr"``.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import LDAClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> LDAClassifier().fit(X, y).predict([[0.0], [3.0]])
    array([0, 1])
    """

    def _n_directions(self, rows: GenerativeRows) -> int:
        return super()._n_directions(rows.labeled)

    def _fit_rows(self, rows: GenerativeRows) -> None:
        rows = rows.labeled
        family = self._family(rows)
        model = family.fit(family.coordinates.read(rows.X), rows.class_weights())
        if model.rank == 0:
            raise ValueError(
                f"The {len(rows.X)} labelled rows do not vary within the {rows.n_classes} classes, "
                "so there is no covariance to estimate: label more rows of each class, or "
                f"{self._more_ridge}."
            )
        self.n_features_in_ = rows.X.shape[1]
        self._remember(rows.data.labels.classes, model, family.coordinates)


def fit_twin(clf: GenerativeClassifier, rows: GenerativeRows) -> LDAClassifier:
    """Return the supervised twin of a semi-supervised classifier."""
    twin = LDAClassifier(clf.covariance, prior=clf.prior, alpha=clf.alpha)
    twin._fit_rows(rows)
    base.copy_feature_names(clf, twin)
    return twin
