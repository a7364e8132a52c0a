"""Implicitly constrained linear discriminant analysis and nearest mean (Krijthe and Loog 2014).

    maximise over Q      sum_labelled w_i log( pi_{y_i} N(x_i; m_{y_i}, C) ),
    (pi, m, C) = the parameters of largest likelihood for all rows with the labels Q,

with the soft labels Q of the unlabelled rows anywhere in the simplex. As in ICLS, the model is
one that some labelling could have produced, and of these the best on the labelled rows. The
objective is not concave, so it is maximised from several starts: the posterior of the supervised
model, the class shares, and posteriors of supervised models with randomly weighted rows.

As a function of Q, the mean log-likelihood of the labelled rows is

    l(Q) = 1/n_L [ sum_k L_k log pi_k - n_L/2 log det(2 pi C) - 1/2 tr(C^-1 G) ],

where pi, m and C are fitted to all rows with the labels Q (``family.py``), L_k is the
weight of the labelled rows of class k, n_L that of all of them, and
``G = sum_labelled w_i (x_i - m_{y_i})(x_i - m_{y_i})' + n_L alpha I``. The derivatives are

    dC/dq_ik = w_i/n [ (x_i - m_k)(x_i - m_k)' - x_i x_i' ],     dm_k/dq_ik = w_i/n_k (x_i - m_k),
    dl/dC = H / n_L,       H = 1/2 (C^-1 G C^-1 - n_L C^-1),     its mean diagonal if spherical,
    dl/dq_ik = w_i/n_L [ L_k/n_k + L_k/n_k (x_i - m_k)' C^-1 (a_k - m_k)
                         + 1/n ((x_i - m_k)' H (x_i - m_k) - x_i' H x_i) ]

with a_k the mean of the labelled rows of class k. The first term is absent if the shares are given.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from primum._typing import Floats
from primum.methods.base import warn_short_of_tol, with_parameters
from primum.methods.gaussian.base import GenerativeClassifier, GenerativeRows, fit_twin
from primum.methods.gaussian.family import GaussianModel, ModelsOfLabels, scatter
from primum.methods.gaussian.label_search import RAISE, LabelOptimum, minimize_over_labels


class LabeledLikelihood(ModelsOfLabels):
    """Minus the mean log-likelihood of the labelled rows, with its gradient."""

    def value(self, model: GaussianModel) -> float:
        """Return the (penalised) mean log-likelihood of the labelled rows, in coordinates."""
        joint = model.log_joint(self.Z[: len(self.R)])
        return float(np.sum(self.R * joint) / self.R.sum()) - self.family.penalty(model)

    def __call__(self, Q: Floats) -> tuple[float, Floats]:
        """Return minus the value and its gradient (U, K) for labels Q."""
        model = self.model(Q)
        L = len(self.R)
        ridge = self.family.coordinates.ridge
        labeled = self.R.sum(axis=0)
        precision = model.precision
        totals = labeled + self.weight @ Q
        # H, the derivative in the covariance.
        G = scatter(self.Z[:L], self.R, model.means)
        G += self.R.sum() * np.diag(ridge)
        H = 0.5 * (precision @ G @ precision - self.R.sum() * precision)
        if self.family.spherical:
            H = np.trace(H) / len(H) * np.eye(len(H))
        H = H / totals.sum()
        means = self.R.T @ self.Z[:L] / labeled[:, None]
        pull = ((means - model.means) @ precision) * (labeled / totals)[:, None]
        # Without x'H x, which is the same for all classes of a row, it is linear in the rows.
        bent = model.means @ H
        level = np.sum(model.means * (bent - pull), axis=1)
        if self.family.log_shares is None:
            level += labeled / totals
        gradient = self.weight[:, None] * (self.Z[L:] @ (pull - 2 * bent).T + level)
        return -self.value(model), -gradient / self.R.sum()


# Optima count as different if the posterior of some row differs by more than this: searches that
# end at the same optimum differ by far less.
MIN_POSTERIOR_CHANGE = 0.01


@with_parameters
class ICLDAClassifier(GenerativeClassifier):
    """Implicitly constrained linear discriminant analysis, or nearest mean.

    The fit has the largest likelihood on the labelled rows, among all models that some soft labels
    of the unlabelled rows could have produced. The search may end in a local optimum.

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
    n_init : int, default=4
        Number of starts; the best optimum is kept. The first is the posterior of the supervised
        model, so that the likelihood is at least that of its soft labels.
    tol : float, default=1e-6
        A search has converged when, to first order, no other labels could raise the mean
        log-likelihood of the labelled rows by more than this.
    max_iter : int, default=10000
        Maximum number of iterations of each search.
    random_state : int, RandomState or None, default=0
        Seed of the random starts, the third and later ones.

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
        Label in [0, 1] of every unlabelled row, or its shares of the classes: the rows of X, then
        those of X_unlabeled. They produce the model, and need not be unique.
    log_likelihood_ : float
        The mean log-likelihood of the labelled rows, minus the penalty of the ridge.
    gap_ : float
        How much, to first order, other labels could raise ``log_likelihood_``.
    n_optima_ : int
        Number of different local optima that were found from all starts.
    n_iter_ : int
        Number of iterations of the search that found the best optimum.
    supervised_ : LDAClassifier
        The supervised twin.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    ConvergenceWarning
        If the best search stopped where other labels could still raise the likelihood by more than
        ``tol``, to first order.
    SingularCovarianceWarning
        If a pseudo-inverse of the covariance ignored directions in which the rows vary only between
        the classes.

    See Also
    --------
    LDAClassifier : Its supervised twin.
    ICLSClassifier : The same principle for least squares, where the problem is convex.

    References
    ----------
    J. H. Krijthe and M. Loog, "Implicitly constrained semi-supervised linear discriminant
    analysis", International Conference on Pattern Recognition (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ICLDAClassifier
    >>> X = np.array([[0.0], [1.0], [4.0], [0.5], [4.5], [5.0]])
    >>> y = np.array([0, 0, 1, -1, -1, -1])
    >>> ICLDAClassifier().fit(X, y).soft_labels_.round(1)
    array([0., 1., 1.])
    """

    n_init: int = 4
    tol: float = 1e-6
    max_iter: int = 10000
    random_state: Any = 0

    def _fit_rows(self, rows: GenerativeRows) -> None:
        self.supervised_ = fit_twin(self, rows)
        family = self._family(rows)
        Z = family.coordinates.read(rows.X)
        L = rows.n_labeled
        objective = LabeledLikelihood(family, Z, rows.class_weights(), rows.weight[L:])
        # Searches from the posterior of the twin, the class shares, and posteriors of supervised
        # models with randomly weighted rows.
        twin, U = self.supervised_, rows.n_unlabeled
        rng = check_random_state(self.random_state)
        starts = [twin._posterior(rows.unlabeled), np.tile(twin.prior_, (U, 1))]
        while U and len(starts) < self.n_init:
            weight = rows.weight.copy()
            weight[:L] *= rng.exponential(size=L)
            starts.append(fit_twin(self, replace(rows, weight=weight))._posterior(rows.unlabeled))
        optima = [LabelOptimum(np.zeros((0, rows.n_classes)), 0.0, 0.0, 0)]
        self.n_optima_ = 1
        if U:
            optima.clear()
            posteriors: list[Floats] = []  # of the different optima
            for start in starts[: self.n_init]:
                optima.append(minimize_over_labels(objective, start, self.tol, self.max_iter))
                model = objective.model(optima[-1].Q)
                self._check_maximum(family, model, Z)
                own = model.posterior(Z)
                if all(np.abs(own - other).max() > MIN_POSTERIOR_CHANGE for other in posteriors):
                    posteriors.append(own)
            self.n_optima_ = len(posteriors)
        best = min(optima, key=lambda one: one.value)
        if best.gap > self.tol:
            where = (
                "where other labels could still raise the mean log-likelihood of the labelled rows "
                f"by about {best.gap:.1e}, more than"
            )
            warn_short_of_tol(self, best.n_iter, where, otherwise=RAISE)
        model = objective.model(best.Q)
        self.log_likelihood_ = objective.value(model) - family.coordinates.log_volume
        self.gap_ = best.gap
        self.n_iter_ = max(1, best.n_iter)
        self._keep_soft_labels(rows, best.Q)
        self._remember(rows.data.labels.classes, model, family.coordinates)
