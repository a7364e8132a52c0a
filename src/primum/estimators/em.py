"""Least squares that labels its own rows (EM, or alternating minimisation).

Refit to all rows with the labels so far; relabel the unlabelled rows with the fitted scores,
clipped to [0, 1] (``soft``) or rounded to 0 or 1 (``hard``); repeat until the labels rest. Both
steps lower the same objective,

    minimise over beta and q in [0, 1]^U (soft) or {0, 1}^U (hard)
        || X beta - y ||^2 + || X_u beta - q ||^2    (+ ridge),

which is convex for soft labels. For hard labels this is self-learning and ends in a local
optimum. All refits share one factorisation: only ``X_u'q`` changes.

With soft labels and many unlabelled rows the alternation creeps, by a factor of about U / (L + U)
per round. In the coordinates where all rows have second moment 1 a refit is a gradient step,

    gamma  ->  known + Z_u' clip(Z_u gamma),        Hessian   I - Z_J'Z_J,

J being the rows whose score is inside (0, 1). So each round also tries the Newton step from the
same gradient, and keeps whichever point has the lower objective: the same minimum, in a few rounds.
"""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from primum._sklearn import Interval, StrOptions
from primum._typing import Floats
from primum.estimators._data import TrainingData, not_in_memory
from primum.estimators._linear import N_JOBS, LeastSquaresBase
from primum.estimators.least_squares import LeastSquaresClassifier
from primum.problems import LeastSquaresFamily, least_squares_family


class EMLeastSquaresClassifier(LeastSquaresBase):
    """Least squares that fits and relabels in turn. Not safe.

    Parameters
    ----------
    labels : {"soft", "hard"}, default="soft"
        Whether unlabelled rows get scores clipped to [0, 1] or the class itself.
    alpha : float, default=0.0
        Ridge penalty on the mean squared loss of all rows: ``alpha * ||w||^2``.
    fit_intercept : bool, default=True
        Whether the score has an intercept.
    rcond : float, default=None
        Leave out directions of the features whose second moment is below rcond times the largest:
        a crude regularisation. None keeps all that rounding allows. The paper's runs
        seem to have had 1.5e-8.
    max_iter : int, default=10000
        Most rounds of refitting and relabelling.
    tol : float, default=1e-8
        Stop when no soft label moves by more than this.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 is all processors. None is the number set
        by ``joblib.parallel_config``, and 1 inside a parallel loop of joblib such as that of a
        grid search. Outside of both it is the number of threads that scikit-learn's own
        multi-threaded estimators use: all processors, unless ``OMP_NUM_THREADS`` says otherwise.
        It does not change the result.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; the second one is coded 1.
    coef_ : array of shape (1, n_features)
        Coefficients of the score.
    intercept_ : array of shape (1,)
        Intercept of the decision function: that of the score, minus 1/2.
    soft_labels_ : array of shape (n_unlabeled,)
        Label in [0, 1] of every unlabelled row: those of X, then those of X_unlabeled.
    n_iter_ : int
        Rounds taken.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import EMLeastSquaresClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> EMLeastSquaresClassifier().fit(X, y).soft_labels_
    array([1.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "labels": [StrOptions({"soft", "hard"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "rcond": [Interval(Real, 0, 1, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        labels: str = "soft",
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        rcond: float | None = None,
        max_iter: int = 10000,
        tol: float = 1e-8,
        n_jobs: int | None = None,
    ) -> None:
        self.labels = labels
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.rcond = rcond
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _fit_data(self, data: TrainingData) -> None:
        if not data.unlabeled.in_memory:
            raise not_in_memory(self)
        family = least_squares_family(
            data.labeled,
            data.unlabeled,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            rcond=self.rcond,
        )
        twin = LeastSquaresClassifier(
            self.alpha, fit_intercept=self.fit_intercept, rcond=self.rcond
        )
        twin._fit_labeled(data.classes, data.labeled)
        start = family.equations.encode(*twin._score_parameters)
        gamma, q, self.n_iter_ = self._alternate(family, start)
        self.soft_labels_ = data.spread(q)
        self._remember(data.classes, *family.equations.decode(gamma))

    def _alternate(self, family: LeastSquaresFamily, gamma: Floats) -> tuple[Floats, Floats, int]:
        """Return (coordinates, labels, rounds) where refitting and relabelling come to rest."""
        q = self._relabel(family.scores(gamma))
        for n_iter in range(1, self.max_iter + 1):
            refit = family.gamma(q, gamma)
            scores = family.scores(refit)
            moved = np.abs(self._relabel(scores) - q).max(initial=0.0)
            if moved <= self.tol:
                return refit, q, n_iter
            if self.labels == "soft":
                refit, scores = _newton_or(refit, scores, gamma, q, family)
            gamma, q = refit, self._relabel(scores)
        warnings.warn(
            f"EMLeastSquaresClassifier stopped after max_iter={self.max_iter} rounds while a "
            f"label still moved by {moved:.1e}, more than tol={self.tol}; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return gamma, q, self.max_iter

    def _relabel(self, scores: Floats) -> Floats:
        if self.labels == "hard":
            return (scores > 0.5).astype(np.float64)
        return np.clip(scores, 0.0, 1.0)


def _newton_or(
    refit: Floats, scores: Floats, gamma: Floats, q: Floats, family: LeastSquaresFamily
) -> tuple[Floats, Floats]:
    """Return (coordinates, scores) of the Newton step, or of the refit if that is better."""
    inside = ((q > 0) & (q < 1)).astype(np.float64)
    if family.unlabeled.rows.weight is not None:
        inside *= family.unlabeled.rows.weight
    step = family.equations.solve_without(refit - gamma, family.unlabeled, inside)
    if step is None:
        return refit, scores  # several minima: stay on the alternation's way
    newton = gamma + step
    newton_scores = family.scores(newton)
    if _objective(newton, newton_scores, family) < _objective(refit, scores, family):
        return newton, newton_scores
    return refit, scores


def _objective(gamma: Floats, scores: Floats, family: LeastSquaresFamily) -> float:
    """Return half the joint loss of the best soft labels, up to a constant."""
    q = np.clip(scores, 0.0, 1.0)
    fit = scores * q - 0.5 * q**2
    weight = family.unlabeled.rows.weight
    total = fit.sum() if weight is None else weight @ fit
    beta, length = family.equations.expand(gamma), family.equations.length(gamma)
    return float(0.5 * length**2 - beta @ family.known - total)
