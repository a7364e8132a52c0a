"""The likelihood of the labelled rows as a function of the labels of the others.

    l(Q) = 1/n_L [ sum_k L_k log pi_k - n_L/2 log det(2 pi C) - 1/2 tr(C^-1 G) ],

where pi, m and C are fitted to all rows with the labels Q (``machines.gaussian``), L_k is the
weight of the labelled rows of class k, n_L that of all of them, and
``G = sum_labelled w_i (x_i - m_{y_i})(x_i - m_{y_i})' + n_L alpha I``. The derivatives are

    dC/dq_ik = w_i/n [ (x_i - m_k)(x_i - m_k)' - x_i x_i' ],     dm_k/dq_ik = w_i/n_k (x_i - m_k),
    dl/dC = H / n_L,       H = 1/2 (C^-1 G C^-1 - n_L C^-1),     its mean diagonal if spherical,
    dl/dq_ik = w_i/n_L [ L_k/n_k + L_k/n_k (x_i - m_k)' C^-1 (a_k - m_k)
                         + 1/n ((x_i - m_k)' H (x_i - m_k) - x_i' H x_i) ]

with a_k the mean of the labelled rows of class k. Without the first term if the shares are given.
The last one is the same for all classes of a row and is left out. l is not concave.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats
from primum.machines.gaussian import GaussianFamily, GaussianModel, scatter


@dataclass(frozen=True)
class LabeledLikelihood:
    """Minus the mean log-likelihood of the labelled rows, with its gradient.

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
    """

    family: GaussianFamily
    Z: Floats
    R: Floats
    weight: Floats

    def model(self, Q: Floats) -> GaussianModel:
        """Return the model of all rows with labels Q (U, K) of the unlabelled ones."""
        return self.family.fit(self.Z, np.vstack([self.R, self.weight[:, None] * Q]))

    def value(self, model: GaussianModel) -> float:
        """Return the (penalised) mean log-likelihood of the labelled rows, in coordinates."""
        joint = model.log_joint(self.Z[: len(self.R)])
        return float(np.sum(self.R * joint) / self.R.sum()) - self.family.penalty(model)

    def __call__(self, Q: Floats) -> tuple[float, Floats]:
        """Return minus the value and its gradient (U, K) for labels Q."""
        model = self.model(Q)
        totals = self.R.sum(axis=0) + self.weight @ Q
        return -self.value(model), -self._gradient(model, totals) / self.R.sum()

    def _gradient(self, model: GaussianModel, totals: Floats) -> Floats:
        L = len(self.R)
        labeled, precision = self.R.sum(axis=0), model.precision
        own = self.R.T @ self.Z[:L] / labeled[:, None]
        pull = ((own - model.means) @ precision) * (labeled / totals)[:, None]
        H = self._curvature(model) / totals.sum()
        columns = []
        for k, mean in enumerate(model.means):
            centred = self.Z[L:] - mean
            column = centred @ pull[k] + np.einsum("ij,ij->i", centred @ H, centred)
            if self.family.log_shares is None:
                column += labeled[k] / totals[k]
            columns.append(column)
        return self.weight[:, None] * np.stack(columns, axis=1)

    def _curvature(self, model: GaussianModel) -> Floats:
        """Return H, the derivative in the covariance."""
        total, P = self.R.sum(), model.precision
        G = scatter(self.Z[: len(self.R)], self.R, model.means)
        G += total * np.diag(self.family.coordinates.ridge)
        H = 0.5 * (P @ G @ P - total * P)
        return H if not self.family.spherical else np.trace(H) / len(H) * np.eye(len(H))
