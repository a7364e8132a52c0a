"""Linear discriminant analysis and the nearest-mean classifier, the supervised twins.

    maximise over pi, m, C      sum_i w_i log( pi_{y_i} N(x_i; m_{y_i}, C) )

over the labelled rows: class shares, class means and the covariance W within the classes, divided
by the number of rows (maximum likelihood). With C = sigma^2 I and equal shares, the class of the
nearest mean is predicted. See ``methods.gaussian.family``.
"""

from primum.methods.base import copy_feature_names
from primum.methods.gaussian.base import GenerativeClassifier, GenerativeRows


class LDAClassifier(GenerativeClassifier):
    """Supervised linear discriminant analysis or, with a spherical covariance, nearest mean.

    The classes are modelled as Gaussian with one common covariance. Unlabelled rows are ignored.

    Parameters
    ----------
    covariance : {"full", "spherical"}, default="full"
        The common covariance: any matrix (linear discriminant analysis), or a multiple of the
        identity, for which, with ``prior="equal"``, the class of the nearest mean is predicted.
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
        If directions in which the rows vary, but not within the classes, were ignored, by a
        pseudo-inverse of the covariance.

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
        self._remember(rows.data.classes, model, family.coordinates)


def fit_twin(clf: GenerativeClassifier, rows: GenerativeRows) -> LDAClassifier:
    """Return the supervised twin of a semi-supervised classifier."""
    twin = LDAClassifier(clf.covariance, prior=clf.prior, alpha=clf.alpha)
    twin._fit_rows(rows)
    copy_feature_names(clf, twin)
    return twin
