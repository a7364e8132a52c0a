"""Updated second moment least squares (USM), after Shaffer (1991).

Least squares needs the second moment of the features and their cross moment with the labels. The
first can be estimated on all rows, the second only on the labelled ones:

    w = ( (L/n) Xe'Xe )^+  X'y,        n = L + U,

with the features centred on the mean of all rows and y on the mean of the labelled ones. In the
coordinates of ``equations.coordinates`` the matrix is the identity and this is one weighted sum;
if the coordinates are not computed, it is one linear system. With K > 2 classes, y is one-hot and,
like w, has one column per class.
"""

from dataclasses import field

import numpy as np

from primum.equations import Linear, equations_of
from primum.methods.base import with_parameters
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.reading.data import ClassRows


@with_parameters
class USMClassifier(LeastSquaresBase):
    """Least squares with the second moment estimated on all rows. Often good, but not safe.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty: ``alpha * ||w||^2`` is added to the mean squared loss.
    fit_intercept : bool, default=True
        Whether to centre features and labels and fit an intercept.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 means all processors. None means the
        number set by ``joblib.parallel_config``, or 1 inside a parallel joblib loop such as a grid
        search. Otherwise it means as many threads as scikit-learn's own multi-threaded
        estimators use: all processors, unless ``OMP_NUM_THREADS`` says otherwise. It does not
        affect the result.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1; more than two are encoded one-hot.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the score of the second of two classes, or of every class.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercept of the decision function: for two classes the intercept of the score minus 1/2,
        for more the intercepts of the scores.
    solver_ : {"normal_equations", "row_space", "conjugate_gradients"}
        How the least-squares problem was solved, as in LeastSquaresClassifier.
    supervised_ : LeastSquaresClassifier
        The supervised twin, fitted to the labelled rows only.

    References
    ----------
    J. P. Shaffer, "The Gauss-Markov theorem and random regressors", The American Statistician
    45 (1991); as a classifier: J. H. Krijthe and M. Loog, Pattern Recognition 63 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import USMClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> USMClassifier().fit(X, y).predict([[0.0], [30.0]])
    array([0, 1])
    """

    alpha: float = field(default=0.0, kw_only=False)
    fit_intercept: bool = True
    n_jobs: int | None = None

    def _fit_data(self, data: ClassRows, twin: Linear) -> None:
        labeled = data.labeled
        parts = [labeled.rows, data.unlabeled]
        equations = equations_of(
            parts, alpha=self.alpha, fit_intercept=self.fit_intercept, rcond=self._rcond
        )
        self.solver_ = equations.solver
        design = equations.design(labeled.rows)
        share = equations.weight / labeled.total
        mean = np.average(labeled.y, axis=0, weights=labeled.weight)
        level = mean if self.fit_intercept else np.zeros_like(mean)
        sums = share * design.weighted_sum(labeled.y - level)
        if self.fit_intercept:
            sums[0] = level * equations.weight
        self._remember(data.labels.classes, *equations.decode(equations.solve(sums)))
