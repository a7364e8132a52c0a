"""Linear discriminant analysis and nearest mean fitted by EM to all rows.

    maximise over pi, m, C    1/n [   sum_labelled    w_i log( pi_{y_i} N(x_i; m_{y_i}, C) )
                                  + l sum_unlabelled  w_i log( sum_k pi_k N(x_i; m_k, C) ) ]

with l = ``unlabeled_weight`` and n the sum of the weights, minus ``alpha/2 tr(C^-1)``. In turn, the
soft labels of the unlabelled rows become their posterior probabilities, and the parameters those of
largest likelihood for these soft labels (``methods.gaussian.family``). Neither step lowers the
objective, which is not concave: EM ends in a local maximum near its start, the supervised model.
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from primum._sklearn import Interval
from primum._typing import Floats
from primum._warnings import warn
from primum.methods.base import with_parameters
from primum.methods.gaussian.base import GenerativeClassifier, GenerativeRows, fit_twin
from primum.methods.gaussian.family import GaussianFamily, GaussianModel


@with_parameters
class EMLDAClassifier(GenerativeClassifier):
    """Linear discriminant analysis, or nearest mean, fitted to all rows by EM. Not safe.

    The unlabelled rows are modelled as a mixture of the Gaussian classes. This helps if the model
    is right; otherwise the fitted classes can be clusters that have little to do with the labels.

    Parameters
    ----------
    covariance : {"full", "spherical"}, default="full"
        The common covariance: any matrix (linear discriminant analysis), or a multiple of the
        identity (nearest mean).
    prior : {"equal"}, dict or array-like of shape (n_classes,), default=None
        Shares of the classes: a dict with the share of every class, or an array in the order of
        ``classes_``. None means that they are estimated.
    alpha : float, default=0.0
        Ridge: ``alpha`` is added to the diagonal of the covariance, as in LDAClassifier.
    unlabeled_weight : float, default=1.0
        Weight of an unlabelled row relative to a labelled one, from 0 to 1. With 0 the model is the
        supervised one.
    max_iter : int, default=10000
        Maximum number of iterations.
    tol : float, default=1e-9
        EM has converged when an iteration raises the mean log-likelihood by no more than this.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    means_ : array of shape (n_classes, n_features)
        Class means.
    covariance_ : array of shape (n_features, n_features)
        The common covariance.
    prior_ : array of shape (n_classes,)
        Shares of the classes.
    rank_ : int
        Rank of the covariance.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the log-odds of the second of two classes, or of the log-posterior of every
        class up to a common term.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercepts.
    soft_labels_ : array of shape (n_unlabeled,), or (n_unlabeled, n_classes) for more than two
        Posterior probability of the second of two classes, or of every class, for every unlabelled
        row: the rows of X, then those of X_unlabeled. Rows of weight 0 have equal probabilities.
    log_likelihood_ : float
        The objective: the mean log-likelihood, minus the penalty of the ridge.
    log_likelihood_path_ : array of shape (n_iter,)
        The objective after every iteration.
    n_iter_ : int
        Number of iterations.
    supervised_ : LDAClassifier
        The supervised twin, where EM starts.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    ConvergenceWarning
        If the last of ``max_iter`` iterations raised the mean log-likelihood by more than ``tol``.
    SingularCovarianceWarning
        If a pseudo-inverse of the covariance ignored directions in which the rows vary only between
        the classes.

    See Also
    --------
    LDAClassifier : Its supervised twin.
    ICLDAClassifier : The best model on the labelled rows, over all labellings of the others.
    sklearn.mixture.GaussianMixture : The same algorithm without labels.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM
    algorithm", Journal of the Royal Statistical Society B 39 (1977).

    K. Nigam, A. K. McCallum, S. Thrun and T. Mitchell, "Text classification from labeled and
    unlabeled documents using EM", Machine Learning 39 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import EMLDAClassifier
    >>> X = np.array([[0.0], [1.0], [4.0], [0.5], [4.5], [5.0]])
    >>> y = np.array([0, 0, 1, -1, -1, -1])
    >>> EMLDAClassifier().fit(X, y).soft_labels_.round(3)
    array([0., 1., 1.])
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "unlabeled_weight": [Interval(Real, 0, 1, closed="both")]
    }

    unlabeled_weight: float = 1.0
    max_iter: int = 10000
    tol: float = 1e-9

    def _n_directions(self, rows: GenerativeRows) -> int:
        return super()._n_directions(rows.weighted(float(self.unlabeled_weight)))

    def _fit_rows(self, rows: GenerativeRows) -> None:
        self.supervised_ = fit_twin(self, rows)
        used = rows.weighted(float(self.unlabeled_weight))
        family = self._family(used)
        Z = family.coordinates.read(used.X)
        # In turn the labels and the model, until the likelihood gains no more than the tolerance.
        Q = self.supervised_._posterior(used.unlabeled) if used.n_unlabeled else None
        path: list[float] = []
        gain = np.inf
        while gain > self.tol and len(path) < self.max_iter:
            model = family.fit(Z, used.class_weights(Q))
            if Q is not None:
                self._check_maximum(family, model, Z)
                Q = model.posterior(Z[used.n_labeled :])
            path.append(mean_log_likelihood(family, model, Z, used))
            gain = 0.0 if Q is None else path[-1] - path[-2] if len(path) > 1 else np.inf
        if gain > self.tol:
            warn(
                f"EMLDAClassifier stopped after max_iter={self.max_iter} iterations, the last of "
                f"which raised the mean log-likelihood by {gain:.1e}, more than "
                f"tol={self.tol:.1e}; raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.log_likelihood_path_ = np.array(path)
        self.log_likelihood_ = path[-1]
        self.n_iter_ = len(path)
        self._remember(rows.data.labels.classes, model, family.coordinates)
        self._keep_soft_labels(rows, self._posterior(rows.unlabeled))


def mean_log_likelihood(
    family: GaussianFamily, model: GaussianModel, Z: Floats, rows: GenerativeRows
) -> float:
    """Return the objective, which sums over the classes of unlabelled rows."""
    L = rows.n_labeled
    labeled = np.sum(rows.class_weights() * model.log_joint(Z[:L]))
    unlabeled = rows.weight[L:] @ logsumexp(model.log_joint(Z[L:]), axis=1)
    mean = float(labeled + unlabeled) / rows.weight.sum()
    return mean - family.coordinates.log_volume - family.penalty(model)
