"""Linear discriminant analysis with the total scatter of all rows (Fan et al. 2008).

Fisher's directions maximise the variance between the classes relative to the total variance. The
first needs labels; the second, S_t, does not, and is estimated on all rows:

    v_1, ..., v_{K-1} = leading generalised eigenvectors of S_b v = lambda S_t v,
    S_b = sum_k pi_k (m_k - m)(m_k - m)',      class means and shares of the labelled rows.

They span the columns of ``S_t^-1 (m_k - m)``; for two classes v is ``S_t^-1 (m_1 - m_0)``. The
labelled rows are projected onto them. In this space of K - 1 dimensions the class with the nearest
projected mean is predicted, with distances measured by the covariance of the projected labelled
rows within the classes and corrected by the logarithm of the shares: linear discriminant analysis.
For two classes the threshold is thus midway between the projected means, moved by the log prior
ratio.

Without unlabelled rows it is linear discriminant analysis: S_t = W + S_b, so that the columns of
S_t^-1 (m_k - m) and of W^-1 (m_k - m) span the same space, and the log-posterior depends on the
features only through it.
"""

from typing import ClassVar

import numpy as np

from primum.methods.base import with_parameters
from primum.methods.gaussian.base import COLLAPSED, GenerativeClassifier, GenerativeRows, fit_twin
from primum.methods.gaussian.family import GaussianCoordinates, GaussianModel

# A direction between the class means is left out if it is below this fraction of the longest: far
# above rounding, and too short to tell classes apart.
MEANS_TOLERANCE = 1e-10


@with_parameters
class ScatterLDAClassifier(GenerativeClassifier):
    """Linear discriminant analysis whose directions use the covariance of all rows. Not safe.

    The total covariance is estimated on all rows, labelled or not, and determines the directions
    between the class means of the labelled rows. Within these directions, at most one fewer than
    there are classes, the classifier is linear discriminant analysis on the labelled rows, which
    may therefore be fewer than the features.

    Parameters
    ----------
    prior : {"equal"}, dict or array-like of shape (n_classes,), default=None
        Shares of the classes: a dict with the share of every class, or an array in the order of
        ``classes_``. None means those of the labelled rows.
    alpha : float, default=0.0
        Ridge: ``alpha`` is added to the diagonal of the total covariance and of that within the
        classes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    means_ : array of shape (n_classes, n_features)
        Class means of the labelled rows.
    covariance_ : array of shape (n_features, n_features)
        Covariance of the labelled rows within the classes.
    directions_ : array of shape (n_features, n_directions)
        The directions, as columns, with unit total variance and uncorrelated. There are
        ``n_classes - 1`` unless the class means are collinear.
    prior_ : array of shape (n_classes,)
        Shares of the classes.
    rank_ : int
        Rank of the covariance within the classes, in the space of the directions if there are
        unlabelled rows.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the log-odds of the second of two classes, or of the log-posterior of every
        class up to a common term.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercepts.
    supervised_ : LDAClassifier
        The supervised twin.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    SingularCovarianceWarning
        If there are no unlabelled rows, and a pseudo-inverse of the covariance ignored directions
        in which the labelled rows vary only between the classes.

    See Also
    --------
    LDAClassifier : Its supervised twin.
    MomentConstrainedLDAClassifier : Maps the whole supervised model to the moments of all rows.

    References
    ----------
    B. Fan, Z. Lei and S. Z. Li, "Normalized LDA for semi-supervised learning", IEEE International
    Conference on Automatic Face and Gesture Recognition (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ScatterLDAClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> ScatterLDAClassifier().fit(X, y).predict([[0.0], [3.0]])
    array([0, 1])
    """

    # Not a parameter of this class.
    covariance: ClassVar[str] = "full"  # type: ignore[misc]

    def _fit_rows(self, rows: GenerativeRows) -> None:
        self.supervised_ = fit_twin(self, rows)
        family = self._family(rows)
        coordinates = family.coordinates
        Z = coordinates.read(rows.X)
        model = family.fit(Z[: rows.n_labeled], rows.class_weights())
        share = rows.weight / rows.weight.sum()
        total = (Z.T * share) @ (Z - share @ Z) + np.diag(coordinates.ridge)
        # The leading generalised eigenvectors (r, K - 1), with unit total variance.
        shares = np.exp(model.log_shares)
        centered = model.means - shares @ model.means
        values, V = self._generalized_eigenvectors((centered.T * shares) @ centered, total)
        leading = np.argsort(values)[::-1][: len(shares) - 1]
        V = V[:, leading[values[leading] > MEANS_TOLERANCE * np.max(values, initial=0.0)]]
        self.directions_ = coordinates.reader @ V
        if not rows.n_unlabeled:  # the twin, even if the covariance is singular
            self._remember(rows.data.labels.classes, model, coordinates)
            return
        # The model of the rows projected onto the directions, all of unit total variance.
        projected = GaussianModel(model.means @ V, V.T @ model.covariance @ V, model.log_shares)
        rank = int(np.count_nonzero(np.linalg.eigvalsh(projected.covariance) > COLLAPSED))
        if rank < V.shape[1]:
            raise ValueError(
                f"The covariance within the classes of the {rows.n_labeled} labelled rows, "
                f"projected onto directions between the classes, has rank {rank} and not "
                f"{V.shape[1]}: label more rows, or {self._more_ridge}."
            )
        # The transpose of this reader times this basis is V' S_t V, the identity.
        basis = coordinates.basis @ total @ V
        ridge = np.zeros(V.shape[1])
        space = GaussianCoordinates(coordinates.origin, basis, self.directions_, ridge)
        self._remember(rows.data.labels.classes, projected, space)
        self.means_ = coordinates.origin + model.means @ coordinates.basis.T
        self.covariance_ = coordinates.basis @ model.covariance @ coordinates.basis.T

    def _n_directions(self, rows: GenerativeRows) -> int:
        # The covariance of projected rows is not singular: an error would have been raised.
        return self.rank_ if rows.n_unlabeled else super()._n_directions(rows)
