"""The contrastive likelihood: how much better than a given model, for the worst labels.

    max_theta min_Q  [ l(theta; Q) - l(theta_s; Q) ],
    l(theta; Q) = 1/n sum_ik r_ik(Q) log p_theta(x_i, k)    (minus the penalty of a ridge)

over all rows, with the labels Q of the unlabelled ones. For fixed theta this is affine in Q, so its
maximum over theta, attained by the model theta(Q) of largest likelihood (``machines.gaussian``), is
convex in Q:

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
from primum.machines.gaussian import GaussianFamily, GaussianModel


@dataclass(frozen=True)
class ContrastiveLikelihood:
    """f and its gradient.

    Attributes
    ----------
    family : GaussianFamily
        The models of all rows.
    Z : array (n, r)
        Coordinates of the labelled rows, then of the unlabelled ones.
    R : array (L, K)
        Weights of the labelled rows in the classes.
    weight : array (U,)
        Weights of the unlabelled rows.
    supervised : GaussianModel
        theta_s.
    """

    family: GaussianFamily
    Z: Floats
    R: Floats
    weight: Floats
    supervised: GaussianModel

    def model(self, Q: Floats) -> GaussianModel:
        """Return theta(Q)."""
        return self.family.fit(self.Z, self._class_weights(Q))

    def _class_weights(self, Q: Floats) -> Floats:
        return np.vstack([self.R, self.weight[:, None] * Q])

    def __call__(self, Q: Floats) -> tuple[float, Floats]:
        """Return f and its gradient (U, K) for labels Q."""
        R, model = self._class_weights(Q), self.model(Q)
        difference = model.log_joint(self.Z) - self.supervised.log_joint(self.Z)
        n = float(R.sum())
        penalties = self.family.penalty(model) - self.family.penalty(self.supervised)
        gradient = self.weight[:, None] * difference[len(self.R) :] / n
        return float(np.sum(R * difference)) / n - penalties, gradient
