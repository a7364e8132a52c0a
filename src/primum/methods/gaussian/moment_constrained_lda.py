"""Moment-constrained linear discriminant analysis and nearest mean (Loog 2010, 2014).

The moments of the rows are those of the model, whatever the labels:

    mean  = sum_k pi_k m_k,        total covariance  =  C + sum_k pi_k (m_k - m)(m_k - m)'.

The supervised model satisfies this for the labelled rows (mean m, covariance S). If there are many
more rows in all, they estimate both moments better (mean mu, covariance Theta), and the affine map
from the one pair to the other is applied to the supervised model:

    m_k -> mu + T (m_k - m),     C -> T C T',      T = (Theta S^-1)^(1/2),     T S T' = Theta.

Of all such T, this one has positive eigenvalues and does not depend on the coordinates: a linear
map A of the features turns it into A T A^-1. It is ``S V D^(1/2) V'`` for the generalised
eigenvectors ``Theta V = S V D``, ``V'S V = I``. If S is singular, the map and the constraint are
restricted to its range. For a spherical covariance, T is the identity: only the means are shifted.
"""

from dataclasses import dataclass, replace

import numpy as np

from primum._typing import Floats
from primum.methods.gaussian.base import GenerativeClassifier, GenerativeRows, fit_twin
from primum.methods.gaussian.family import RANK_TOLERANCE, GaussianModel


class MomentConstrainedLDAClassifier(GenerativeClassifier):
    """Linear discriminant analysis, or nearest mean, with the moments of all rows. Not safe.

    An affine map is applied to the supervised model, so that the mean and the total covariance of
    its classes together equal those of all rows, labelled or not. The estimate has a closed form.

    Parameters
    ----------
    covariance : {"full", "spherical"}, default="full"
        The common covariance: any matrix (linear discriminant analysis), or a multiple of the
        identity (nearest mean), where the map only shifts all class means by the same vector.
    prior : {"equal"}, dict or array-like of shape (n_classes,), default=None
        Shares of the classes: a dict with the share of every class, or an array in the order of
        ``classes_``. None means those of the labelled rows.
        The constraint uses the same shares.
    alpha : float, default=0.0
        Ridge: ``alpha`` is added to the diagonal of the covariance, as in LDAClassifier, and to
        that of the total covariance of all rows.

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
    supervised_ : LDAClassifier
        The supervised twin, before the map.
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
    LDAClassifier : Its supervised twin.
    ScatterLDAClassifier : Uses the total covariance only for the directions between the classes.

    References
    ----------
    M. Loog, "Constrained parameter estimation for semi-supervised learning: the case of the nearest
    mean classifier", ECML PKDD (2010).

    M. Loog, "Semi-supervised linear discriminant analysis through moment-constraint parameter
    estimation", Pattern Recognition Letters 37 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import MomentConstrainedLDAClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> clf = MomentConstrainedLDAClassifier().fit(X, y)
    >>> clf.prior_ @ clf.means_, X.mean(axis=0)
    (array([3.]), array([3.]))
    """

    def _fit_rows(self, rows: GenerativeRows) -> None:
        self.supervised_ = fit_twin(self, rows)
        family = self._family(rows.labeled)
        coordinates = family.coordinates
        Z = coordinates.read(rows.X)
        model = family.fit(Z[: rows.n_labeled], rows.class_weights())
        if rows.n_unlabeled:
            # The mean mu and, unless spherical, the total covariance Theta of all rows.
            share = rows.weight / rows.weight.sum()
            mean = share @ Z
            shares = np.exp(model.log_shares)
            centered = model.means - shares @ model.means
            if family.spherical:
                model = replace(model, means=mean + centered)
            else:
                total = (Z.T * share) @ (Z - mean) + np.diag(coordinates.ridge)
                S = model.covariance + (centered.T * shares) @ centered
                values, V = self._generalized_eigenvectors(total, S)
                if values.min(initial=1.0) <= RANK_TOLERANCE * values.max(initial=1.0):
                    raise ValueError(
                        f"In some direction the variance of all rows is {values.max():.1e} times "
                        "that of the labelled rows, beyond the precision of the map between them: "
                        "remove outliers from the unlabelled rows, or raise alpha if it is tiny."
                    )
                T, inverse = (S @ (V * power) @ V.T for power in (values**0.5, values**-0.5))
                means = centered @ T.T
                # T C T', without the rounding of T where S is small and T large.
                covariance = total - (means.T * shares) @ means
                model = MappedModel(mean + means, covariance, model.log_shares, model, inverse)
            # The origin is the mean of all rows, in the subspace that the labelled rows span.
            center = share @ rows.X
            along = coordinates.read(center[None, :])[0] @ coordinates.basis.T
            coordinates = replace(coordinates, origin=center - along)
        self._remember(rows.data.labels.classes, model, coordinates)


@dataclass(frozen=True)
class MappedModel(GaussianModel):
    """A model after an affine map ``z -> mean + T (z - mean of the source)``.

    The score of a row is that of the source, the model before the map, at the row mapped back by
    ``inverse``, T^-1 (r, r). Computed from the new means and covariance it would lose twice as many
    digits if S is nearly singular.
    """

    source: GaussianModel
    inverse: Floats

    @property
    def rank(self) -> int:
        """Rank of the covariance, which the map does not change."""
        return self.source.rank

    def scores(self) -> tuple[Floats, Floats]:
        """Return (coefficients (r, K), intercepts (K,)) of log p(z, k), without common terms."""
        coef, intercept = self.source.scores()
        shares = np.exp(self.log_shares)
        back = self.inverse.T @ coef
        return back, intercept + shares @ self.source.means @ coef - shares @ self.means @ back
