"""Least squares with labels estimated for the unlabelled rows (EM, alternating minimisation).

    minimise over beta and q in [0, 1]^U (soft) or {0, 1}^U (hard)
        || X beta - y ||^2 + || X_u beta - q ||^2    (+ ridge)

With K > 2 classes, y, q and beta have one column per class, and the squares are summed over the
classes; every row of q is a point of the simplex (soft) or one of its vertices (hard).

Refitting to all rows with the current labels, and relabelling the unlabelled rows with the fitted
scores, each lower this objective. For hard labels this alternation is self-learning, and it ends in
a local minimum. All refits share one factorisation: only ``X_u'q`` changes.

For soft labels the objective is convex, and its minimum over q is known, so it is minimised over
beta directly, by Newton's method. The alternation is a gradient method and would take thousands of
rounds where Newton's method takes a dozen steps.

Soft labels. The best label in a label set S for a score is the nearest point of S: the score
itself, clipped to [0, 1], for two classes; the nearest point of the simplex to the K scores, for
more. With these,

    f(beta) = 1/2 sum_l w |x'beta - y|^2 + 1/2 sum_u w dist(x'beta, S)^2 + n alpha/2 ||coef||^2

is convex, smooth and piecewise quadratic. Write a ridge as further labelled rows with label 0, and
r for the residuals: ``x'beta - y`` of labelled rows, ``x'beta - project(x'beta)`` of unlabelled
ones. The gradient is ``g = X'Wr``. The derivative of r with respect to the score is 1 for labelled
rows and ``M = 1 - C`` for unlabelled ones. C, the derivative of ``project``, is the orthogonal
projection on the directions of the face of S that the label is inside of. The Hessian H is the
normal matrix of all rows with these M, and g is in its range even where H is singular. Newton steps
``beta - t H^+ g`` with the best t are taken until the gap is closed.

The labels of K classes add up to 1, so the sum of the K scores is fitted by plain least squares to
labels that are 1 everywhere. Every fit to labels has this sum, so steps are taken in the other
directions only, K - 1 contrasts.

Gap. By Fenchel's inequality, for any residuals v with ``X'Wv = 0``,

    f(beta) - min f  <=  1/2 sum w |r - v|^2 + sum_u w (max over q in S of v.q - v.c),

where ``c = project(x'beta)``, and every term is non-negative. The residuals after the Newton step
satisfy this: with ``H step + A rest = g`` (A is the normal matrix of all rows),

    v = r - M x'step - x'rest,       X'Wv = g - H step - A rest = 0.

If the step moves no label to another face, and rest = 0, the gap is ``1/2 step'H step``, which is
exactly the decrease of the step.

The normal matrix H of several classes is ``sum w (x x') (x) M`` with a small matrix M per row, the
identity for labelled rows. Only a few of these matrices differ, so a row costs one rank-one update
however many classes there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from primum._sklearn import StrOptions
from primum._typing import Floats, Index
from primum._warnings import warn
from primum.equations import Coordinates, Design, Linear, NormalEquations, View
from primum.equations.conjugate import RESIDUAL_TOLERANCE, conjugate_gradients
from primum.equations.coordinates import EPS
from primum.equations.iterative import MAX_RESIDUAL, IterativeEquations
from primum.labellings import LeastSquaresFamily, least_squares_family, sets
from primum.labellings.sets import LabelSet, along, contrasts_of, directions_of, keys_of
from primum.methods.base import convergence_advice, with_parameters
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.methods.self_learning import alternate
from primum.reading.data import ClassRows, not_in_memory
from primum.reading.labels import targets_of
from primum.rows import Block, to_numpy

# A step has the best length if the slope there is below this fraction of the initial one; the
# search for it takes at most this many steps, which halve an interval or do better.
FLAT_SLOPE_SHARE, MAX_LENGTH_STEPS = 1e-9, 100
# H is factorised up to this many unknowns (features times classes), which take 32 MB; beyond that,
# conjugate gradients are faster. One column is always factorised, as A is.
MAX_FACTORISED_UNKNOWNS = 2**11
# H, in coordinates where A is the identity, counts as singular if a pivot of its Cholesky factor is
# below this: its square is close to the rounding of the sums.
MIN_PIVOT = 1e-5
# The Tikhonov term on the diagonal of a singular H far exceeds that rounding, and every round
# divides the residual along an eigenvalue h by 1 + h / TIKHONOV_TERM.
TIKHONOV_TERM, TIKHONOV_ROUNDS = 1e-9, 4


@dataclass(frozen=True)
class RowCurvature:
    """A weight (n,) and the number (n,) of a matrix for every row.

    There are few matrices (p, c, c), all symmetric; the first is the identity.
    """

    weight: Floats
    kind: Index
    matrices: Floats

    def times(self, V: Floats, where: slice = slice(None)) -> Floats:
        """Return the rows of V (n, c), each times its matrix but not its weight."""
        kind, product = self.kind[where], np.zeros_like(V)
        for number, matrix in enumerate(self.matrices):
            if matrix.any():
                chosen = kind == number
                product[chosen] = V[chosen] @ matrix
        return product


CurvedRows = tuple[Design, RowCurvature]


def curved_product(parts: Sequence[CurvedRows], V: Floats) -> Floats:
    """Return ``sum w x (x'V) M`` over all rows, for coefficients V (m, c): one pass."""

    def of_part(design: Design, curvature: RowCurvature) -> Floats:
        def block_product(block: Block) -> Floats:
            weight = curvature.weight[block.where]
            view = View(replace(block, weight=weight), design.frame)
            return view.sum(view.convert(curvature.times(to_numpy(view.dot(V)), block.where)))

        return design.rows.map_reduce(block_product, np.add)

    return reduce(np.add, (of_part(*part) for part in parts if part[0].rows.n_rows))


def solve_part(
    equations: NormalEquations, sums: Floats, parts: Sequence[CurvedRows], size: float
) -> tuple[Floats, Floats]:
    """Return gammas (r, c) with ``H step + A rest = sums``, for a right-hand side (m, c).

    H is A for the given rows, with their curvatures, and the ridge. ``rest`` is practically zero
    unless H is nearly singular. ``size`` is the norm of the sums whose difference is the right-hand
    side: anything below their rounding counts as zero.
    """
    first = int(equations.fit_intercept)
    if isinstance(equations, IterativeEquations):
        kept = equations.varying

        def curved(V: Floats) -> Floats:
            coef = V.reshape(sums.shape)
            product = curved_product(parts, coef)
            product[first:] = kept * product[first:] + equations.ridge * coef[first:]
            return product.reshape(V.shape)

        nothing = np.zeros_like(sums)
        sums = sums.copy()
        sums[first:] *= kept
        if np.linalg.norm(sums) <= RESIDUAL_TOLERANCE * size:  # the equations hold up to rounding
            return nothing, nothing
        diagonal = None
        if equations.ridge > 0:
            diagonal = np.concatenate([[equations.weight][:first], equations.diagonal])
            diagonal = diagonal.repeat(sums.shape[1])
        solved = conjugate_gradients(curved, sums.reshape(-1, 1), diagonal)
        step = solved.X.reshape(sums.shape)
        if solved.residual <= MAX_RESIDUAL:
            return step, nothing
        return step, equations.solve(sums - curved(step))

    # In coordinates, A is the identity.
    assert isinstance(equations, Coordinates)
    T = equations.full_basis
    ridge, right = equations.ridge * (T[first:].T @ T[first:]), T.T @ sums
    if right.size > max(len(right), MAX_FACTORISED_UNKNOWNS):

        def apply(V: Floats) -> Floats:
            step = V.reshape(right.shape)
            return (T.T @ curved_product(parts, T @ step) + ridge @ step).reshape(V.shape)

        step = conjugate_gradients(apply, right.reshape(-1, 1)).X
        return step.reshape(right.shape), right - apply(step).reshape(right.shape)

    # H: the Gram matrices of all rows with the same M, times that M.
    r, c = right.shape
    plain = ridge
    grams, matrices = [], []
    for design, curvature in parts:
        for number, matrix in enumerate(curvature.matrices):
            chosen = curvature.weight * (curvature.kind == number)
            if not (matrix.any() and chosen.any()):
                continue
            gram = design.gram(T, chosen)
            if number == 0:
                plain = plain + gram
            else:
                grams.append(gram)
                matrices.append(matrix)
    blocks = np.zeros((r, c, r, c))
    for k in range(c):
        blocks[:, k, :, k] = plain
    if grams:
        of_kinds = np.tensordot(np.stack(grams), np.stack(matrices), axes=(0, 0))
        blocks += of_kinds.transpose(0, 2, 1, 3)
    H = blocks.reshape(r * c, r * c)

    # The minimum-norm solution; a singular H is regularised, and the remaining residual is solved
    # for again (iterated Tikhonov regularisation).
    flat = right.ravel()
    factor, info = lapack.dpotrf(H, lower=1)
    if info == 0 and np.diag(factor).min(initial=1.0) > MIN_PIVOT:
        step = np.asarray(lapack.dpotrs(factor, flat, lower=1)[0])
    else:
        factor, _ = lapack.dpotrf(H + TIKHONOV_TERM * np.eye(len(H)), lower=1)
        step = np.zeros_like(flat)
        for _ in range(TIKHONOV_ROUNDS):
            step += lapack.dpotrs(factor, flat - H @ step, lower=1)[0]
    return step.reshape(right.shape), right - (H @ step).reshape(right.shape)


@dataclass(frozen=True)
class SoftLabelPoint:
    """A fit given by its coordinates, and the value of f there with its ingredients.

    ``scores`` and ``labels`` are those of the unlabelled rows, ``errors`` the residuals of the
    labelled ones, with one column, or one per class; ``slope`` is the gradient with respect to the
    coefficients of design rows.
    """

    gamma: Floats
    value: float
    slope: Floats
    scores: Floats
    labels: Floats

    @property
    def excess(self) -> Floats:
        """How far the scores of unlabelled rows are outside the label set."""
        return self.scores - self.labels


class SoftLabelProblem:
    """The function f of a family of least-squares fits and a label set."""

    def __init__(self, family: LeastSquaresFamily, label_set: LabelSet) -> None:
        equations = self.equations = family.equations
        self.label_set = label_set
        shape = label_set.shape
        self.contrasts = contrasts_of(shape[0]) if shape else np.ones((1, 1))
        self.labeled, self.unlabeled = equations.design(family.labeled.rows), family.unlabeled
        self.y = _columns(family.labeled.y)
        self.size = float(np.linalg.norm(family.labeled_sum))  # of the slope at beta = 0
        self.weight, self.weight_u = _weight(self.labeled), _weight(self.unlabeled)

    def _coef(self, beta: Floats) -> Floats:
        return beta[int(self.equations.fit_intercept) :]

    def _squares(self, errors: Floats, excess: Floats, coef: Floats) -> float:
        """Return half the weighted sum of squares over labelled rows, unlabelled ones and ridge."""
        ridge = self.equations.ridge * float(np.vdot(coef, coef))
        of_rows = self.weight @ _dots(errors, errors) + self.weight_u @ _dots(excess, excess)
        return 0.5 * float(of_rows + ridge)

    def _natural(self, labels: Floats) -> Floats:
        """Return labels, or scores, in the shape that the label set has."""
        return labels.reshape(len(labels), *self.label_set.shape)

    def _project(self, scores: Floats) -> Floats:
        return _columns(np.asarray(self.label_set.project(self._natural(scores))))

    def per_labeled_row(self, value: float) -> float:
        """Return a value of f, or a difference, in units of the labelled rows' mean squared loss.

        The constant scores 1/2, or 1/K, show that min f is below 1 in these units, for any number
        of rows.
        """
        return 2.0 * value / float(self.weight.sum())

    def labels_of(self, point: SoftLabelPoint) -> Floats:
        """Return the labels of a point, one per row or one per row and class."""
        return self._natural(point.labels)

    def at(self, gamma: Floats) -> SoftLabelPoint:
        """Return the point with the given coordinates: two passes over the rows."""
        beta = _columns(self.equations.expand(gamma))
        scores, errors = self.unlabeled.dot(beta), self.labeled.dot(beta) - self.y
        labels = self._project(scores)
        slope = self.labeled.weighted_sum(errors) + self.unlabeled.weighted_sum(scores - labels)
        self._coef(slope)[:] += self.equations.ridge * self._coef(beta)
        value = self._squares(errors, scores - labels, self._coef(beta))
        return SoftLabelPoint(gamma, value, slope, scores, labels)

    def newton(self, point: SoftLabelPoint) -> tuple[SoftLabelPoint, float]:
        """Return (the lowest point in the Newton direction, a proven gap of the given point)."""
        # M of every row; an unlabelled one whose label cannot move, of key 0, has full curvature.
        n_values = self.contrasts.shape[1]
        full = np.eye(n_values)
        keys = keys_of(self.label_set.open(self._natural(point.labels)))
        distinct = np.unique(keys)
        distinct = distinct[distinct != 0]
        matrices = [full]
        for key in distinct:
            free = self.contrasts.T @ directions_of(self.label_set.shape, int(key))
            matrices.append(full - free @ free.T)
        kind = np.where(keys == 0, 0, 1 + np.searchsorted(distinct, keys))
        curvature = RowCurvature(self.weight_u, kind, np.stack(matrices))
        of_labeled = np.zeros(len(self.weight), dtype=np.intp)
        parts = [
            (self.labeled, RowCurvature(self.weight, of_labeled, full[None])),
            (self.unlabeled, curvature),
        ]
        step, rest = solve_part(self.equations, point.slope @ self.contrasts, parts, self.size)
        betas = np.hstack([self.equations.expand(step), self.equations.expand(rest)])
        on_labeled, on_unlabeled = self.labeled.dot(betas), self.unlabeled.dot(betas)
        # The gap, from the coefficients and the scores of the step and of the rest.
        off = curvature.times(on_unlabeled[:, :n_values]) + on_unlabeled[:, n_values:]
        v = self._natural(point.excess - off @ self.contrasts.T)
        slack = self.label_set.slack(-v, self._natural(point.labels))
        both, errors = (V[:, :n_values] + V[:, n_values:] for V in (betas, on_labeled))
        gap = self._squares(errors, off, self._coef(both)) + float(self.weight_u @ slack)
        # The step that lowers f the most.
        step, beta, change, change_u = (
            V[:, :n_values] @ self.contrasts.T for V in (step, betas, on_labeled, on_unlabeled)
        )
        t = self._best_length(point, beta, change, change_u)
        return self.at(point.gamma - t * step.reshape(point.gamma.shape)), gap

    def _best_length(
        self, point: SoftLabelPoint, beta: Floats, change: Floats, change_u: Floats
    ) -> float:
        """Return the t at which f is lowest if coefficients and scores fall by t times the changes.

        The slope of f along the step is continuous, increasing and piecewise linear.
        """
        start = -float(np.vdot(point.slope, beta))
        bend = 2.0 * self._squares(change, np.zeros_like(change_u), self._coef(beta))
        if -start <= EPS * point.value:  # whatever the length, f does not change
            return 1.0
        low, high, t = 0.0, np.inf, 1.0
        for n_steps in range(MAX_LENGTH_STEPS):
            # What unlabelled rows add, at t, to the change of the slope and the curvature.
            scores = point.scores - t * change_u
            labels = self._project(scores)
            moved = scores - labels - point.excess
            face = self.label_set.open(self._natural(labels))
            free = _columns(np.asarray(along(face, self._natural(change_u))))
            bent = float(self.weight_u @ (_dots(change_u, change_u) - _dots(free, free)))
            slope = start + t * bend - float(self.weight_u @ _dots(change_u, moved))
            curvature = bend + bent
            if abs(slope) <= -FLAT_SLOPE_SHARE * start:
                return t
            low, high = (t, high) if slope < 0.0 else (low, t)
            newton = t - slope / curvature if curvature > 0.0 else np.inf
            # Newton's method for the slope can alternate between two pieces: bisect now and then.
            if low < newton < high and n_steps % 4 < 3:
                t = newton
            else:
                t = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        return t


def _columns(values: Floats) -> Floats:
    """Return values as columns: one, or one per class."""
    return values[:, None] if values.ndim == 1 else values


def _dots(V: Floats, W: Floats) -> Floats:
    """Return the products of the rows of V with those of W."""
    return np.asarray(np.einsum("ij,ij->i", V, W))


def _weight(design: Design) -> Floats:
    weight = design.rows.weight
    return np.ones(design.rows.n_rows) if weight is None else weight


@with_parameters
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
    max_iter : int, default=10000
        Maximum number of Newton steps (soft), or of rounds of refitting and relabelling (hard).
    tol : float, default=1e-8
        With soft labels, the tolerance on the proven gap, absolute plus relative, in units of the
        mean squared loss on the labelled rows, as for ICLSClassifier. Hard labels have converged
        when none of them changes.
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
        Label in [0, 1] of every unlabelled row, or its shares of the classes, which add up to 1:
        the rows of X, then those of X_unlabeled.
    supervised_ : LeastSquaresClassifier
        The supervised twin, fitted to the labelled rows only.
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

    labels: str = field(default="soft", kw_only=False)
    alpha: float = 0.0
    fit_intercept: bool = True
    max_iter: int = 10000
    tol: float = 1e-8
    n_jobs: int | None = None

    _ranges: ClassVar[dict[str, list[Any]]] = {"labels": [StrOptions({"soft", "hard"})]}

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
        q = self._relabel(family.scores(family.equations.encode(*twin)))
        if self.labels == "soft":
            gamma, q = self._descend(family, q)
        else:
            gamma, q, _ = alternate(
                self, family.gamma, lambda gamma: self._relabel(family.scores(gamma)), q
            )
        self.soft_labels_ = data.for_all_rows(q)
        self._remember(data.labels.classes, *family.equations.decode(gamma))

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
            advice = convergence_advice(self.max_iter, reached=falls)
            warn(
                f"EMLeastSquaresClassifier stopped after {self.n_iter_} Newton steps with an "
                f"objective proven to be within {self.gap_:.1e} of the optimum, not within the "
                f"requested tol={self.tol:.1e}; {advice}.",
                ConvergenceWarning,
            )
        return point.gamma, problem.labels_of(point)

    def _relabel(self, scores: Floats) -> Floats:
        """Return the best labels for scores (U,) of two classes, or (U, K) of more."""
        if self.labels == "soft":
            return np.asarray(sets.any_class(scores).project(scores))
        if scores.ndim == 1:
            return (scores >= 0.5).astype(np.float64)
        return targets_of(scores.argmax(axis=1), scores.shape[1])
