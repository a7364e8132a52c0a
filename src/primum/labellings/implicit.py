"""The implicit-constraint problem of Krijthe & Loog (2017).

Least squares on all rows turns every labelling q of the unlabelled rows into a coefficient vector
beta(q), or into one for each class. If every q_i ranges over its label set, these form a convex set
C_beta; for q in [0, 1]^U it is a zonotope. The method returns the point of C_beta nearest to the
supervised solution, the twin. In the coordinates of ``coordinates.py``,

    gamma(q) = Z_l'y + Z_u'q,        || W (gamma(q) - gamma_sup) ||   is minimised,

where W is the metric of the distance:

    metric       W'W                              meaning
    labeled, 0   Z_l'Z_l (+ L alpha_labeled D)    least labelled loss: ICLS, the paper
    0 < s < 1    (1 - s) n/L (the above) + s I    between the two
    all, 1       identity                         the projected estimator (Krijthe & Loog 2017)
    euclidean    T'T                              distance between coefficients

With ``M = W Z_u'`` and ``t = W (gamma_sup - Z_l'y)`` this is the label problem. For ``labeled``,
W and ``W gamma_sup`` come from a factorisation of the labelled rows (``labeled_loss``), so the
supervised solution, unique or not, is never needed. If the labelled rows do not determine the
model, W is singular and many models have the least labelled loss: ``nearest_twin.py`` defines
which one is chosen.

C_beta is convex and contains the model of the true labels. So, for every s, the solution is at
least as close to that model as the twin is, in the metric of s. At s = 1 this is the squared loss
on all rows (plus the ridge, if there is one).

The metric "auto" is ``labeled`` if the labelled rows have full column rank, with the column of ones
for the intercept: they then determine every coefficient, and the labelled loss is a distance
between models. If not, models that differ along a null direction of the labelled rows have the same
labelled loss, and only the unlabelled rows decide between them. A ridge makes the model unique, but
in these directions the ridge alone then measures how far a model is from its twin. The mixture with
s = 0.2 measures them by all rows. Since the theorem holds for every s, it holds for whichever of
the two is chosen, and the choice depends on the labelled rows alone, never on the labels. The rank
is that of columns scaled to unit length, without a ridge (``coordinates.py``), so the units of the
features do not matter. A column that is constant or repeats others lowers it too.

The problems of several metrics share most of their work. In the coordinates gamma, a metric s is
``W'W = (1 - s) n/L H + s I`` with ``H = R'R``, the second moment of the labelled rows and their
ridge. With the singular value decomposition ``R = U S V'``,

    W = diag(sqrt((1 - s) n/L S^2 + s)) V'

for every s: the matrices ``M = W Z_u'`` differ only in the scale of their rows, and only one of
them is computed from the unlabelled rows.

All least-squares fits (``LeastSquaresFamily``) share one set of normal equations: only the sum of
the unlabelled rows times their labels differs. In the coordinates gamma, the loss of a fit on the
labelled rows is ``|| W gamma - goal ||^2 + rest``, where W is the L of a QL factorisation of these
rows and ``goal`` is ``Q'y``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.utils.extmath import row_norms

from primum._typing import Floats
from primum.equations import Design, Linear, by_row, equations_of
from primum.equations.coordinates import (
    MIN_ACCURATE_RCOND,
    VALUE_ROUNDING,
    Coordinates,
    NormalEquations,
    coordinates_of,
    determined,
    rank_tolerance,
)
from primum.equations.design import View, product
from primum.equations.normal import MAX_FORMED_COLUMNS, solver_of
from primum.labellings.labelling import Labelling
from primum.labellings.nearest_twin import NearestTwin
from primum.labellings.prior import ShareBounds
from primum.labellings.prior_problem import with_prior
from primum.labellings.problem import (
    FormedColumns,
    LabelProblem,
    ProblemColumns,
    centred,
    without_mean,
)
from primum.labellings.sets import LabelSet, any_class
from primum.labellings.streamed import ColumnSums, StreamedColumns
from primum.rows import ArrayRows, LabeledRows, Rows

# The weight s of all rows, from 0 to 1, in every metric by name; NaN where W is no mixture.
METRIC_SHARES = {"labeled": 0.0, "all": 1.0, "euclidean": np.nan}
# "auto" stands for another metric, which ``fit_implicit`` and ``metric_of_rows`` determine.
METRICS = ("auto", *METRIC_SHARES)
# Z_l'Z_l is subtracted from Z'Z, the identity, up to this norm: at most one bit then cancels.
MAX_LABELED_PART = 0.5
# The metric "auto" if the labelled rows do not determine the model. On average it gains with half
# as many labels as features, where the labelled loss does most harm (``docs/icls.md``).
SHARE_IF_UNDETERMINED = 0.2
# M is formed up to this many numbers (16 MB) and rows: with more rows, a few passes over all are
# faster than many over M. ...
MAX_FORMED_NUMBERS, MAX_FORMED_ROWS = 2**21, 2**14
# ... It may have this many times as many numbers if there are at most this many rows for each of
# the r dimensions: many rows are then undecided, and solving for a few at a time does not help.
FEW_ROWS_FACTOR, FEW_ROWS_PER_DIMENSION = 16, 64
# Directions in which the labelled rows are shorter than this fraction of the longest one change the
# labelled loss by less than its rounding, the square of this: they count as not determined.
DETERMINED_TOLERANCE = 1e-8
# Block size of LAPACK's QR factorisation, which determines the size of its workspace: that of its
# reference implementation.
QR_BLOCK_SIZE = 32


@dataclass(frozen=True)
class LeastSquaresFamily:
    """All least-squares fits that differ only in the labels of the unlabelled rows."""

    equations: NormalEquations
    labeled: LabeledRows
    unlabeled: Design

    @cached_property
    def labeled_sum(self) -> Floats:
        """The part of the sums that comes from the labelled rows, ``X'y``."""
        return self.equations.design(self.labeled.rows).weighted_sum(self.labeled.y)

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates of all rows; raise an error if there are too many columns for them."""
        if not isinstance(self.equations, Coordinates):
            raise ValueError(
                f"With {len(self.equations.center)} features, more than {MAX_FORMED_COLUMNS}, and "
                "so many rows, this fit cannot be computed: reduce the number of features, for "
                "example with TruncatedSVD(200), and use a ridge."
            )
        return self.equations

    def gamma(self, q: Floats | Labelling, start: Floats | None = None) -> Floats:
        """Return the coordinates of the least-squares fit to the labels y and q.

        ``start``, the coordinates of a similar fit, is a warm start.
        """
        return self.gamma_of(self.unlabeled.weighted_sum(q), start)

    def gamma_of(self, moment: Floats, start: Floats | None = None) -> Floats:
        """Return these coordinates from ``sum x q``, the only quantity that depends on q."""
        return self.equations.solve(self.labeled_sum + moment, start)

    def columns(
        self, B: Floats, sums: Callable[[], ColumnSums | None] | None = None
    ) -> ProblemColumns:
        """Return the matrix ``M = B X_u'`` of a label problem in the form that suits its size.

        ``sums`` computes sums over all columns without a pass, or returns None if that would lose
        accuracy. It is only called if M is not formed.
        """
        design = self.unlabeled
        r = len(B)
        n = design.rows.n_rows
        few_rows = n <= FEW_ROWS_PER_DIMENSION * r and design.rows.in_memory
        limit = MAX_FORMED_NUMBERS * (FEW_ROWS_FACTOR if few_rows else 1)
        if r * n <= limit and (n <= MAX_FORMED_ROWS or few_rows):
            # Rows of M' are read one at a time, so each is contiguous in memory.
            return FormedColumns(design.dot(B.T).T, design.rows.weight)
        return StreamedColumns(B, design, None if sums is None else sums())

    def label_sets(self, labels: LabelSet | None) -> LabelSet:
        """Return the label sets of the unlabelled rows, one by one unless there are too many.

        None means [0, 1] or the simplex.
        """
        if labels is None:
            return any_class(self.labeled.y)
        rows = self.unlabeled.rows
        # If M is formed, the solvers need the set of every row.
        few = rows.in_memory or rows.n_rows <= MAX_FORMED_ROWS
        return labels.take(np.arange(rows.n_rows)) if few else labels

    def scores(self, gamma: Floats) -> Floats:
        """Return the scores of the unlabelled rows."""
        return self.unlabeled.dot(self.equations.expand(gamma))


def least_squares_family(
    labeled: LabeledRows,
    unlabeled: Rows,
    *,
    alpha: float,
    fit_intercept: bool,
    rcond: float | None = None,
) -> LeastSquaresFamily:
    """Return the fits to labelled rows and to any labels of the unlabelled ones."""
    parts = [labeled.rows, unlabeled]
    equations = equations_of(parts, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    return LeastSquaresFamily(equations, labeled, equations.design(unlabeled))


class Loss:
    """The labelled loss ``|| W gamma - goal ||^2 + rest``, summed over rows.

    ``rcond`` is a cheap estimate of the reciprocal condition of W, 0 if W has fewer rows than
    columns, and ``well_determined`` whether it shows that the minimum is unique, with a safety
    factor of 100.
    """

    def __init__(self, W: Floats, goal: Floats, rest: float) -> None:
        self.W, self.goal, self.rest = W, goal, rest
        rows, columns = W.shape
        self.rcond = 1.0 if columns == 0 else 0.0
        if 0 < columns <= rows:
            sizes = np.abs(W)
            bound = float(sizes.sum(axis=0).max(initial=0.0) * sizes.sum(axis=1).max(initial=0.0))
            self.rcond = float(lapack.dpocon(W, bound, uplo="L")[0]) ** 0.5
        self.well_determined = self.rcond > 100 * DETERMINED_TOLERANCE

    @cached_property
    def determined(self) -> bool:
        """Whether the gamma with the smallest loss is unique."""
        rows, columns = self.W.shape
        if self.well_determined or rows < columns:
            return self.well_determined
        singular = np.linalg.svd(self.W, compute_uv=False)
        return bool(singular[-1] > DETERMINED_TOLERANCE * singular[0])


def labeled_loss(family: LeastSquaresFamily, alpha_labeled: float) -> Loss:
    """Return the labelled loss of a family's coordinates, by a QR factorisation.

    Rounding would be amplified in directions that the labelled rows leave open and a small ridge
    determines: if e is the rounding of the rows along such a direction and r^2 its ridge, gamma is
    wrong by ``e'(y - Z gamma) / r^2``. Where such directions exist, the rows are first reduced to
    as many as their rank, and these have hardly any residual.
    """
    labeled, coordinates = family.labeled, family.coordinates
    T = coordinates.full_basis
    first = int(coordinates.fit_intercept)
    Z = coordinates.design(labeled.rows).dot(T)
    y = labeled.y
    if labeled.weight is not None:
        Z = Z * labeled.root[:, None]
        y = by_row(y, labeled.root)
    if alpha_labeled == 0:
        return Loss(*_triangular(Z, y))
    ridge = (labeled.total * alpha_labeled) ** 0.5 * T[first:]
    loss = Loss(*_triangular(*_with_ridge(Z, y, ridge)))
    if loss.rcond > MIN_ACCURATE_RCOND**0.5:
        return loss
    # As many rows as the rank of Z, given the rounding of the centred labelled rows in every
    # column, as a length.
    lengths = row_norms(labeled.X.T) + len(labeled.y) ** 0.5 * np.abs(coordinates.center)
    noise = np.asarray(VALUE_ROUNDING * labeled.root.max() * lengths)
    W, goal, rest = _triangular(Z, y)
    U, S, Vt = np.linalg.svd(W, full_matrices=False)
    kept = determined(S, T[first:] @ Vt.T, noise, rank_tolerance(*Z.shape))
    in_reach = U[:, kept].T @ goal
    lost = float(np.vdot(goal, goal) - np.vdot(in_reach, in_reach))
    rows, goal, rest = S[kept, None] * Vt[kept], in_reach, rest + max(lost, 0.0)
    W, goal, further_rest = _triangular(*_with_ridge(rows, goal, ridge))
    return Loss(W, goal, rest + further_rest)


def _with_ridge(Z: Floats, y: Floats, ridge: Floats) -> tuple[Floats, Floats]:
    """Return rows and labels with the ridge appended: one row per feature, with label 0."""
    return np.vstack([Z, ridge]), np.concatenate([y, np.zeros((len(ridge), *y.shape[1:]))])


def _triangular(Z: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """Return (W, goal, rest): ``||Z g - y||^2 = ||W g - goal||^2 + rest``, with W lower triangular.

    T is usually upper triangular, so that ``W T'`` is lower triangular, too.
    """
    rows, columns = Z.shape
    if columns == 0:
        return Z[:0], y[:0], float(np.vdot(y, y))
    # A QR factorisation of the columns in reverse order is a QL factorisation. Q is not formed:
    # that would take as long again.
    factor, tau, _, _ = lapack.dgeqrf(Z[:, ::-1], lwork=QR_BLOCK_SIZE * columns)
    of_y, rank = y.reshape(rows, -1), len(tau)
    size = QR_BLOCK_SIZE * of_y.shape[1]
    turned = lapack.dormqr("L", "T", factor[:, :rank], tau, of_y, lwork=size)[0].reshape(y.shape)
    # This is R reversed in both directions. LAPACK needs it in Fortran order, and np.triu returns C
    # order, hence the transposes.
    W = np.triu(factor[:rank].T[::-1, ::-1], rank - columns).T
    return W, turned[:rank][::-1], float(np.vdot(turned[rank:], turned[rank:]))


def share_of_all(metric: str | float) -> float:
    """Return the weight s of all rows in a metric; NaN for one that has none."""
    if not isinstance(metric, str):
        return float(metric)
    if metric not in METRIC_SHARES:
        raise ValueError(
            f"Unknown metric {metric!r}: pass a number from 0 to 1 or one of "
            f"{', '.join(map(repr, METRIC_SHARES))}."
        )
    return METRIC_SHARES[metric]


def no_metric(metric: str | float) -> ValueError:
    """Return the error for a metric that is not implemented for a kind of models."""
    return ValueError(f"The metric {metric!r} has no matrix W for these models.")


def metric_of_rows(metric: str | float, labeled: LabeledRows, fit_intercept: bool) -> str | float:
    """Return the metric of a fit to labelled rows, from these rows alone.

    Sparse rows with so many columns that their products are not formed count as if they did not
    determine all coefficients.
    """
    if metric != "auto":
        return metric
    X, n_columns = labeled.X, labeled.X.shape[1]
    if labeled.weight is not None and not (labeled.weight > 0).all():
        X = X[np.flatnonzero(labeled.weight > 0)]
    if X.shape[0] < n_columns + int(fit_intercept):
        return SHARE_IF_UNDETERMINED
    if n_columns == 0:
        return "labeled"
    rows = ArrayRows(X)
    if solver_of([rows]) == "conjugate_gradients":
        return SHARE_IF_UNDETERMINED
    coordinates = coordinates_of([rows], alpha=0.0, fit_intercept=fit_intercept)
    return "labeled" if coordinates.basis.shape[1] == n_columns else SHARE_IF_UNDETERMINED


def implicit_problem(
    family: LeastSquaresFamily,
    loss: Loss,
    supervised: Linear,
    labels: LabelSet | None,
    shares: ShareBounds | None,
    metric: str | float,
    tie_break: str = "twin",
) -> LabelProblem:
    """Return the problem of a metric, with bounds on the shares of the classes if there are any.

    ``supervised`` is the twin's (coefficients, intercept); labels of None mean [0, 1] or the
    simplex. ``tie_break`` is "twin" or "half".
    """
    coordinates, total, share = family.coordinates, family.labeled.total, share_of_all(metric)
    labels, twin = family.label_sets(labels), coordinates.encode(*supervised)
    unit, floor, scale, determined = 2.0 / total, 0.0, 1.0, True
    # W, and its product with the twin.
    if metric == "euclidean":
        W = np.linalg.qr(coordinates.full_basis)[1]
        goal = W @ twin
        # Coefficients have units: measure relative to the supervised ones.
        scale = 0.5 * unit * float(np.sum(goal**2)) or 1.0
    elif share == 0:
        determined = loss.determined or family.unlabeled.rows.n_rows == 0
        W, goal, floor = loss.W, loss.goal, 0.5 * unit * loss.rest
    elif share > 0:  # W'W = (1 - s) n/L H + s I
        W = np.eye(loss.W.shape[1])
        if share < 1:
            weighted = ((1 - share) * (coordinates.weight / total)) ** 0.5 * loss.W
            W = np.asarray(np.linalg.qr(np.vstack([weighted, share**0.5 * W]), mode="r"))
        goal, unit = W @ twin, 2.0 / coordinates.weight
    else:
        raise no_metric(metric)
    if not determined and tie_break != "half":
        problem = nearest_twin_problem(family, labels, loss, twin, unit)
    else:
        target = goal - W @ coordinates.solve(family.labeled_sum)
        problem = LabelProblem(
            _columns(family, W), target, labels, unit, floor, scale, determined=determined
        )
        if target.ndim == 2:
            problem = without_level(problem, coordinates.fit_intercept)
    if shares is None or family.unlabeled.rows.n_rows == 0:
        return problem
    if problem.tie is not None:
        raise ValueError(
            f"The {len(family.labeled.y)} labelled rows do not determine the model, and a prior "
            "then needs a ridge or another metric: pass alpha above 0 or, for example, metric=0.2."
        )
    return with_prior(problem, shares, family.equations.weight - total)


def implicit_problems(
    family: LeastSquaresFamily,
    alpha_labeled: float,
    supervised: Linear,
    metrics: Sequence[str | float],
    labels: LabelSet | None = None,
    shares: ShareBounds | None = None,
) -> Iterator[LabelProblem]:
    """Yield the problems of several metrics, which share most of their work."""
    loss: Loss | None = None
    shared: dict[str | float, LabelProblem] = {}
    if len(metrics) > 1:
        shared = diagonal_problems(family, alpha_labeled, supervised, labels, metrics)
    for metric in metrics:
        problem = shared.get(metric)
        if problem is None:
            loss = loss or labeled_loss(family, alpha_labeled)
            problem = implicit_problem(family, loss, supervised, labels, shares, metric)
        elif shares is not None and family.unlabeled.rows.n_rows:
            total = family.equations.weight - family.labeled.total
            problem = with_prior(problem, shares, total)
        yield problem


def _columns(family: LeastSquaresFamily, W: Floats) -> ProblemColumns:
    """Return ``M = W Z_u'``."""
    coordinates, labeled = family.coordinates, family.labeled
    T, first = coordinates.full_basis, int(coordinates.fit_intercept)

    def known_sums() -> ColumnSums | None:
        """Return the sums over all rows less those over the labelled ones."""
        Z = coordinates.design(labeled.rows).dot(T)
        of_labeled = (labeled.root**2 * Z.T) @ Z
        if np.linalg.norm(of_labeled) > MAX_LABELED_PART:
            return None
        ridge = coordinates.ridge * (T[first:].T @ T[first:])
        of_unlabeled = np.eye(len(ridge)) - ridge - of_labeled
        of_columns = coordinates.weight**0.5 * (W @ of_unlabeled[0]) if first else None
        return ColumnSums(of_columns, np.asarray(W @ of_unlabeled @ W.T))

    return family.columns(product(T, W.T).T, known_sums)


def without_level(problem: LabelProblem, fit_intercept: bool) -> LabelProblem:
    """Move the part of the target that no labelling can change to the floor of the loss."""
    target, floor = problem.target, problem.loss_floor
    if target.ndim == 1:
        return problem
    if not fit_intercept:  # with an intercept, the scores of a row add up to 1
        floor += 0.5 * problem.loss_unit * _misfit_of_sums(problem.columns, target)
    return replace(problem, target=without_mean(target), loss_floor=floor)


def _misfit_of_sums(columns: ProblemColumns, target: Floats) -> float:
    """Return the squares of ``M Q - T`` along the direction that is equal for all classes."""
    ones = np.ones(columns.shape[1]) if columns.streamed is None else _Ones()
    off = columns.accumulate(ones) - target.sum(axis=1)
    return float(off @ off) / target.shape[1]


class _Ones(Labelling):
    """The label 1 for every row."""

    def __call__(self, view: View) -> Any:
        return view.convert(np.ones(view.block.n_rows))


def nearest_twin_problem(
    family: LeastSquaresFamily, labels: LabelSet, loss: Loss, twin: Floats, unit: float
) -> LabelProblem:
    """Return the problem of the labelled loss, with ties broken towards the twin."""
    coordinates, (U, S, Vt) = family.coordinates, np.linalg.svd(loss.W)
    rank = int(np.count_nonzero(S / S[0] > DETERMINED_TOLERANCE))
    S = S[:rank]
    of_labeled = Vt @ coordinates.solve(family.labeled_sum)
    in_reach = U[:, :rank].T @ loss.goal
    columns = _columns(family, Vt)
    out_of_reach = float(np.vdot(loss.goal, loss.goal) - np.vdot(in_reach, in_reach))
    floor = 0.5 * unit * (loss.rest + max(out_of_reach, 0.0))
    goal, twin = (in_reach.T / S).T - of_labeled[:rank], Vt @ twin - of_labeled
    if goal.ndim == 2 and not coordinates.fit_intercept:
        floor += 0.5 * unit * _misfit_of_sums(columns.scaled(S), by_row(goal, S))
    tie = NearestTwin(columns, S, centred(goal), centred(twin), coordinates.weight, labels)
    return replace(tie.loss(unit, floor), determined=False, tie=tie)


def diagonal_problems(
    family: LeastSquaresFamily,
    alpha_labeled: float,
    supervised: Linear,
    labels: LabelSet | None,
    metrics: Sequence[str | float],
) -> dict[str | float, LabelProblem]:
    """Return the problems of metrics with an s and without a tie, which differ in scales only.

    In the directions V, the labelled metric and that of all rows are both diagonal: the labelled
    loss is ``|| S V'gamma - goal ||^2 + rest``, summed over rows.
    """
    # The labelled loss, from H if it is well-conditioned: that takes a third of the time.
    coordinates, labeled, determined = family.coordinates, family.labeled, True
    T, first = coordinates.full_basis, int(coordinates.fit_intercept)
    Z = coordinates.design(labeled.rows).dot(T) * labeled.root[:, None]
    H = Z.T @ Z
    if alpha_labeled > 0:
        H += labeled.total * alpha_labeled * (T[first:].T @ T[first:])
    squares, V = np.linalg.eigh(H)
    if len(squares) == 0 or squares[0] <= MIN_ACCURATE_RCOND * squares[-1]:
        loss = labeled_loss(family, alpha_labeled)
        U, S, Vt = np.linalg.svd(loss.W)
        S = np.concatenate([S, np.zeros(len(Vt) - len(S))])
        goal, rest, determined = U.T @ loss.goal, loss.rest, loss.determined
    else:
        S, Vt, y = np.sqrt(squares), V.T, by_row(labeled.y, labeled.root)
        goal = by_row(V.T @ (Z.T @ y), 1.0 / S)
        rest = max(float(np.vdot(y, y) - np.vdot(goal, goal)), 0.0)

    # One matrix of the unlabelled rows for all metrics.
    labels, weight = family.label_sets(labels), family.equations.weight
    columns = family.columns(Vt @ coordinates.full_basis.T)
    of_labeled = Vt @ coordinates.solve(family.labeled_sum)
    twin = Vt @ coordinates.encode(*supervised)
    problems: dict[str | float, LabelProblem] = {}
    for metric in metrics:
        share = share_of_all(metric)
        if share > 0:
            scale = np.sqrt((1 - share) * weight / labeled.total * S**2 + share)
            target, unit, floor = by_row(twin - of_labeled, scale), 2.0 / weight, 0.0
        elif share == 0 and determined:
            scale, unit = S, 2.0 / labeled.total
            target, floor = goal - by_row(of_labeled, S), 0.5 * unit * rest
        else:  # the metric has no s, or its problem has a tie
            continue
        scaled = columns if (scale == 1.0).all() else columns.scaled(scale)
        problem = LabelProblem(scaled, target, labels, unit, floor)
        problems[metric] = without_level(problem, family.equations.fit_intercept)
    return problems
