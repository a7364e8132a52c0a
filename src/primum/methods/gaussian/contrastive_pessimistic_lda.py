"""Contrastive pessimistic linear discriminant analysis and nearest mean (Loog 2016).

    max_theta min_Q  [ l(theta; X, y, X_u, Q) - l(theta_sup; X, y, X_u, Q) ]

The fit has the largest gain in likelihood over the supervised model, on all rows, for the least
favourable soft labels Q of the unlabelled rows. theta_sup is a candidate with gain 0, so the gain
is not negative, whatever the labels: with the true labels, too, the likelihood on all rows is at
least that of the supervised model.

The problem is convex in Q, and the gap to its minimum is proven. With theta_s for theta_sup and

    l(theta; Q) = 1/n sum_ik r_ik(Q) log p_theta(x_i, k)    (minus the penalty of a ridge)

over all rows, with the labels Q of the unlabelled ones, the difference l(theta; Q) - l(theta_s; Q)
is affine in Q for fixed theta, so its maximum over theta, attained by the model theta(Q) of largest
likelihood (``family.py``), is convex in Q:

    f(Q) = l(theta(Q); Q) - l(theta_s; Q),
    df/dq_ik = w_i/n [ log p_theta(Q)(x_i, k) - log p_theta_s(x_i, k) ].

theta(Q) depends continuously on Q, so that minimum and maximum can be exchanged: at the Q that
minimises f, theta(Q) is the solution. With g the gradient at any Q, the worst labels for theta(Q)
have the value ``f(Q) - gap``, where the gap is ``sum_i (g_i.q_i - min_k g_ik)``. As f is at least 0
(theta_s is one of the candidates), theta(Q) is worse than theta_s by at most the gap, whatever the
labels.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats
from primum.methods.base import warn_short_of_tol, with_parameters
from primum.methods.gaussian import base
from primum.methods.gaussian.family import GaussianModel, ModelsOfLabels
from primum.methods.gaussian.label_search import RAISE, minimize_over_labels


@dataclass(frozen=True)
class ContrastiveLikelihood(ModelsOfLabels):
    """f and its gradient; its models are theta(Q), and ``supervised`` is theta_s."""

    supervised: GaussianModel

    def __call__(self, Q: Floats) -> tuple[float, Floats]:
        """Return f and its gradient (U, K) for labels Q."""
        R, model = self.class_weights(Q), self.model(Q)
        difference = model.log_joint(self.Z) - self.supervised.log_joint(self.Z)
        n = float(R.sum())
        penalties = self.family.penalty(model) - self.family.penalty(self.supervised)
        gradient = self.weight[:, None] * difference[len(self.R) :] / n
        return float(np.sum(R * difference)) / n - penalties, gradient


@with_parameters
class ContrastivePessimisticLDAClassifier(base.GenerativeClassifier):
    """Linear discriminant analysis, or nearest mean, at least as likely as the supervised model.

    Whatever the labels of the unlabelled rows, and so for the true ones, the likelihood of the
    model on all rows is at least that of the supervised model. This guarantee does not extend to
    the error, nor to new rows.

    Parameters
    ----------
    covariance : {"full", "spherical"}, default="full"
        The common covariance: any matrix (linear discriminant analysis), or a multiple of the
        identity (nearest mean).
    prior : {"equal"}, dict or array-like of shape (n_classes,), default=None
        Shares of the classes: a dict with the share of every class, or an array in the order of
        ``classes_``. None means that they are estimated.
    alpha : float, default=0.0
        Ridge: ``alpha`` is added to the diagonal of the covariance, as in LDAClassifier, and the
        likelihoods that are compared are penalised. It must be above 0 if the labelled rows do not
        determine a covariance.
    tol : float, default=1e-6
        Tolerance on the gap, in units of the mean log-likelihood.
    max_iter : int, default=10000
        Maximum number of iterations.

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
        Label in [0, 1] of every unlabelled row, or its shares of the classes: the least favourable
        labels. The rows of X come first, then those of X_unlabeled.
    gain_ : float
        A proven lower bound on the gain in mean log-likelihood on all rows, whatever the labels. If
        no gain above 0 could be proven, the model is the supervised one, and it is 0.
    gap_ : float
        A proven bound on how much larger ``gain_`` could be for another model.
    n_iter_ : int
        Number of iterations.
    supervised_ : LDAClassifier
        The supervised twin.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    ConvergenceWarning
        If ``gap_`` is above ``tol``.
    SingularCovarianceWarning
        If there are no unlabelled rows, and a pseudo-inverse of the covariance ignored directions
        in which the labelled rows vary only between the classes.

    See Also
    --------
    LDAClassifier : Its supervised twin.
    ICLSClassifier : A similar guarantee for least squares.

    References
    ----------
    M. Loog, "Contrastive pessimistic likelihood estimation for semi-supervised classification",
    IEEE Transactions on Pattern Analysis and Machine Intelligence 38 (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ContrastivePessimisticLDAClassifier
    >>> X = np.array([[0.0], [1.0], [4.0], [0.5], [4.5], [5.0]])
    >>> y = np.array([0, 0, 1, -1, -1, -1])
    >>> clf = ContrastivePessimisticLDAClassifier().fit(X, y)
    >>> clf.gain_ > 0
    True
    """

    tol: float = 1e-6
    max_iter: int = 10000

    def _fit_rows(self, rows: base.GenerativeRows) -> None:
        self.supervised_ = base.fit_twin(self, rows)
        family = self._family(rows)
        Z, R = family.coordinates.read(rows.X), rows.class_weights()
        model = family.fit(Z[: rows.n_labeled], R)
        self.gain_ = 0.0
        self.gap_ = 0.0
        self.n_iter_ = 1
        Q = self.supervised_._posterior(rows.unlabeled)
        if rows.n_unlabeled:
            # The supervised model must give every row some likelihood.
            rank = base.covariance_rank(family, model, Z)
            if rank < Z.shape[1]:
                raise ValueError(
                    f"{type(self).__name__} compares likelihoods with those of the supervised "
                    f"model, whose covariance has rank {rank}, while all rows together span "
                    f"{Z.shape[1]} dimensions: {self._more_ridge}, label more rows, or drop "
                    "features."
                )
            objective = ContrastiveLikelihood(family, Z, R, rows.weight[rows.n_labeled :], model)
            worst = minimize_over_labels(objective, Q, self.tol, self.max_iter)
            Q = worst.Q
            self.gap_ = worst.gap
            self.n_iter_ = max(1, worst.n_iter)
            if worst.value > worst.gap:
                model = objective.model(Q)
                self.gain_ = worst.value - worst.gap
            if worst.gap > self.tol:
                proven = f"with a gain proven to be within {worst.gap:.1e} of the largest"
                where = f"{proven}, not within the requested"
                warn_short_of_tol(self, worst.n_iter, where, otherwise=RAISE)
        self._keep_soft_labels(rows, Q)
        self._remember(rows.data.labels.classes, model, family.coordinates)
