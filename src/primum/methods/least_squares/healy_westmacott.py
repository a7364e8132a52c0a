"""Least squares with filled-in labels (Healy & Westmacott 1956).

    q <- X_u beta,    beta <- the least-squares fit to all rows with the labels y and q,

in turn, started at the mean of the known labels. Write A = X'X + X_u'X_u for the second moment of
all rows. A round is

    beta <- A^+ (X'y + X_u'X_u beta),

so the distance from any supervised solution, which has X'y = X'X beta_sup, is multiplied by
``A^+ X_u'X_u = 1 - A^+ X'X``. This map is symmetric in the metric A, with eigenvalues in [0, 1].

* If the labelled rows have full column rank, all eigenvalues are below 1, and the rounds converge
  to the supervised solution, at the rate of the largest: the unlabelled rows change nothing but the
  time. Started at the supervised solution, the first round already stops.
* Otherwise there are many supervised solutions. Directions that the labelled rows do not determine
  have eigenvalue 1 and keep their start: the limit is the supervised solution whose scores, over
  all rows, are nearest to those of the start.
"""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from primum._warnings import warn
from primum.equations import Linear
from primum.labellings import least_squares_family
from primum.methods.base import with_parameters
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.reading.data import ClassRows, not_in_memory


@with_parameters
class HealyWestmacottClassifier(LeastSquaresBase):
    """Least squares refitted to its own predictions until they no longer change.

    This is the classical algorithm for missing targets. If the labelled rows have full column rank,
    it converges to LeastSquaresClassifier, so it is useful as a baseline and, with fewer labelled
    rows than features, as a choice among the supervised solutions: the one whose scores over all
    rows are nearest to those of the first fit, with the mean label for every unknown one.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : int, default=10000
        Maximum number of rounds. Convergence is linear, and slow if a direction of the features is
        nearly undetermined by the labelled rows.
    tol : float, default=1e-10
        Stop when no filled-in label changes by more than this in a round. The distance from the
        limit is then about ``tol * rate_ / (1 - rate_)``.
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
    soft_labels_ : array of shape (n_unlabeled,), or (n_unlabeled, n_classes) for more than two
        The label filled in for every unlabelled row, which can be any number: the rows of X, then
        those of X_unlabeled. Rows of weight zero have the label 1/2, or 1/K for K > 2 classes.
    supervised_ : LeastSquaresClassifier
        The supervised twin, fitted to the labelled rows only.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether no filled-in label changed by more than ``tol`` in the last round.
    rate_ : float
        Ratio of the changes in the last two rounds, an estimate of the factor by which a round
        reduces the distance from the limit; 0 if there was no change to compare.
    solver_ : {"normal_equations", "row_space", "conjugate_gradients"}
        How the linear systems were solved, as in LeastSquaresClassifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    ConvergenceWarning
        If labels still change by more than ``tol`` after ``max_iter`` rounds.

    See Also
    --------
    LeastSquaresClassifier : Its limit, if the labelled rows have full column rank.
    EMLeastSquaresClassifier : The same with labels restricted to [0, 1] or to 0 and 1.

    References
    ----------
    M. Healy and M. Westmacott, "Missing values in experiments analysed on automatic computers",
    Journal of the Royal Statistical Society, Series C 5 (1956).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import HealyWestmacottClassifier, LeastSquaresClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, -1])
    >>> clf, supervised = HealyWestmacottClassifier().fit(X, y), LeastSquaresClassifier().fit(X, y)
    >>> bool(np.allclose(clf.coef_, supervised.coef_))
    True
    >>> round(clf.rate_, 3)
    0.7
    """

    fit_intercept: bool = True
    max_iter: int = 10_000
    tol: float = 1e-10
    n_jobs: int | None = None

    alpha = 0.0  # with a ridge, the limit would not be the twin

    def _fit_data(self, data: ClassRows, twin: Linear) -> None:
        if not data.unlabeled.in_memory:
            raise not_in_memory(self)
        family = least_squares_family(
            data.labeled,
            data.unlabeled,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            rcond=self._rcond,
        )
        self.solver_ = family.equations.solver
        mean = np.asarray(np.average(data.labeled.y, axis=0, weights=data.labeled.weight))
        q = np.full((data.unlabeled.n_rows, *mean.shape), mean)
        # Fit and fill in, until the labels no longer change.
        gamma = None
        change = np.inf
        self.rate_ = 0.0
        self.n_iter_ = 0
        while gamma is None or (change > self.tol and self.n_iter_ < self.max_iter):
            gamma = family.gamma(q, gamma)
            before = q
            q = family.scores(gamma)
            last = change
            change = float(np.abs(q - before).max(initial=0.0))
            if change > 0.0 and last < np.inf:
                self.rate_ = change / last
            self.n_iter_ += 1
        self.converged_ = change <= self.tol
        if not self.converged_:
            warn(
                f"HealyWestmacottClassifier stopped after max_iter={self.max_iter} rounds with "
                f"labels that still change by {change:.1e}, {self.rate_:.6f} times as much as a "
                "round before; raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.soft_labels_ = data.for_all_rows(q)
        self._remember(data.labels.classes, *family.equations.decode(gamma))
