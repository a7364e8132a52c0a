"""Least squares with labels estimated for the unlabelled rows (EM, alternating minimisation).

    minimise over beta and q in [0, 1]^U (soft) or {0, 1}^U (hard)
        || X beta - y ||^2 + || X_u beta - q ||^2    (+ ridge)

With K > 2 classes, y, q and beta have one column per class, and the squares are summed over the
classes; every row of q is a point of the simplex (soft) or one of its vertices (hard).

Refitting to all rows with the current labels, and relabelling the unlabelled rows with the fitted
scores, each lower this objective. For hard labels this alternation is self-learning, and it ends in
a local minimum. All refits share one factorisation: only ``X_u'q`` changes.

For soft labels the objective is convex, and its minimum over q is known, so it is minimised over
beta directly, by Newton's method (``machines.soft_labels``). The alternation is a gradient method
and would take thousands of rounds where Newton's method takes a dozen steps.
"""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from primum._sklearn import Interval, StrOptions
from primum._typing import Floats
from primum.estimators._base import N_JOBS
from primum.estimators._data import TrainingData, not_in_memory
from primum.estimators._fitting import convergence_advice
from primum.estimators._labels import targets_of
from primum.estimators._linear import LeastSquaresBase
from primum.estimators.least_squares import LeastSquaresClassifier
from primum.labellings import LeastSquaresFamily, least_squares_family, sets
from primum.machines.soft_labels import SoftLabelProblem


class EMLeastSquaresClassifier(LeastSquaresBase):
    """Least squares on all rows, with the labels of the unlabelled rows also fitted. Not safe.

    Parameters
    ----------
    labels : {"soft", "hard"}, default="soft"
        Whether the label of an unlabelled row is its score clipped to [0, 1], or 0 or 1; for more
        than two classes, the point of the simplex nearest to its scores, or the class of the
        largest one. With soft labels the objective is convex and is minimised globally, up to
        ``tol``; with hard labels, refitting and relabelling alternate, which ends in a local
        minimum. Without a ridge and with fewer labelled rows than features, the soft minimum may
        not be unique, and the model found depends on ``solver_``. Any alpha above 0 makes it
        unique.
    alpha : float, default=0.0
        Ridge penalty: ``alpha * ||w||^2`` is added to the mean squared loss of all rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    rcond : float, default=None
        Drop directions of the features whose second moment is below rcond times the largest, a
        crude form of regularisation. None keeps every direction above rounding. The paper's
        experiments appear to have used 1.5e-8.
    max_iter : int, default=10000
        Maximum number of Newton steps (soft), or of rounds of refitting and relabelling (hard).
    tol : float, default=1e-8
        With soft labels, the tolerance on the proven gap, absolute plus relative, in units of the
        mean squared loss on the labelled rows, as for ICLSClassifier. Hard labels have converged
        when none of them changes.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 means all processors. None means the
        number set by ``joblib.parallel_config``, and 1 inside a parallel joblib loop such as a grid
        search. Otherwise None means as many threads as scikit-learn's own multi-threaded
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
        Label in [0, 1] of every unlabelled row, or its shares of the classes, which add up to 1:
        the rows of X, then those of X_unlabeled.
    gap_ : float
        Only for soft labels: a proven bound on the difference between the objective and its
        minimum. The objective is the sum of squares over all rows (and classes, if there are more
        than two), plus the ridge penalty, divided by the number of labelled rows (the sum of their
        weights).
    n_iter_ : int
        Number of Newton steps or rounds.
    solver_ : {"normal_equations", "row_space", "conjugate_gradients"}
        How the linear systems were solved, as in LeastSquaresClassifier.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import EMLeastSquaresClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> EMLeastSquaresClassifier().fit(X, y).soft_labels_
    array([1.])
    """

    _several_classes: ClassVar[bool] = True
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
        self.solver_ = family.equations.solver
        q = self._relabel(family.scores(family.equations.encode(*twin._score_parameters)))
        fit = self._alternate if self.labels == "hard" else self._descend
        gamma, q = fit(family, q)
        self.soft_labels_ = data.for_all_rows(q)
        self._remember(data.classes, *family.equations.decode(gamma))

    def _descend(self, family: LeastSquaresFamily, q: Floats) -> tuple[Floats, Floats]:
        """Return (coordinates, labels) of the minimum for soft labels, starting from labels q."""
        problem = SoftLabelProblem(family, sets.any_class(family.labeled.y))
        point, falls = problem.at(family.gamma(q)), True
        for n_iter in range(1, self.max_iter + 1):
            lower, gap = problem.newton(point)
            # The gap belongs to the point before the last step; it also bounds the lower one.
            self.n_iter_, self.gap_ = n_iter, problem.per_labeled_row(gap)
            closed = self.gap_ <= self.tol * (1.0 + problem.per_labeled_row(point.value))
            falls = lower.value < point.value
            if falls:
                point = lower
            if closed or not falls:
                break
        if not closed:
            self._warn_of_gap(falls)
        return point.gamma, problem.labels_of(point)

    def _warn_of_gap(self, falls: bool) -> None:
        advice = convergence_advice(self.max_iter, reached=falls)
        warnings.warn(
            f"EMLeastSquaresClassifier stopped after {self.n_iter_} Newton steps with an objective "
            f"proven to be within {self.gap_:.1e} of the optimum, not within the requested "
            f"tol={self.tol:.1e}; {advice}.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _alternate(self, family: LeastSquaresFamily, q: Floats) -> tuple[Floats, Floats]:
        """Return (coordinates, labels) once refitting and relabelling change no label."""
        changes, self.n_iter_, gamma = 1, 0, None
        while gamma is None or (changes and self.n_iter_ < self.max_iter):
            gamma = family.gamma(q, gamma)
            before, q = q, self._relabel(family.scores(gamma))
            changes = int(np.count_nonzero(np.atleast_2d((q != before).T).any(axis=0)))
            self.n_iter_ += 1
        if changes:
            self._warn_of_changes(changes)
        return gamma, before

    def _warn_of_changes(self, changes: int) -> None:
        warnings.warn(
            f"EMLeastSquaresClassifier stopped after max_iter={self.max_iter} rounds with "
            f"{changes} labels still changing; raise max_iter.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _relabel(self, scores: Floats) -> Floats:
        """Return the best labels for scores (U,) of two classes, or (U, K) of more."""
        if self.labels == "soft":
            return np.asarray(sets.any_class(scores).project(scores))
        if scores.ndim == 1:
            return (scores >= 0.5).astype(np.float64)
        return targets_of(scores.argmax(axis=1), scores.shape[1])
