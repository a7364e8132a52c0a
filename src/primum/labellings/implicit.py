"""The implicit-constraint problem of Krijthe & Loog (2017).

Every labelling q of the unlabelled rows gives, by least squares on all rows, a coefficient
vector beta(q), or one for each class. Over all q_i in their label sets these form a convex set
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
W is the L of a QL factorisation of the labelled rows and ``W gamma_sup`` is ``Q'y``, so the
supervised solution, unique or not, is never needed. If the labelled rows do not determine the
model, W is singular and many models have the least labelled loss: ``nearest_twin.py`` defines
which one is chosen.

C_beta is convex and contains the model of the true labels. So, for every s, the solution is at
least as close to that model as the twin is, in the metric of s. At s = 1 this is the squared loss
on all rows (plus the ridge, if there is one).

If there are so many columns that A is not factorised, ``labeled`` without a ridge can still be
solved: ``B = X A^+`` has as many rows as there are labelled ones, and each is one solution of the
normal equations. The labelled loss is then ``||B X_u'q - (y - B X'y)||^2``.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.utils.extmath import row_norms

from primum._typing import Floats
from primum.equations import Design, RowValues
from primum.equations.coordinates import (
    CORRECT_BELOW,
    VALUE_ROUNDING,
    Coordinates,
    determined,
    rounding_of,
)
from primum.equations.design import product
from primum.equations.normal import FORM_A_UP_TO, NormalEquations, equations_of
from primum.labellings.columns import FORM_ROWS_UP_TO, Columns, KnownSums, columns_of
from primum.labellings.nearest_twin import NearestTwin
from primum.labellings.prior import Shares
from primum.labellings.prior_problem import PriorProblem, prior_problem
from primum.labellings.problem import LabelProblem, without_mean
from primum.labellings.sets import LabelSet, any_class
from primum.rows import ArrayRows, Rows, to_numpy

# "auto" is one of the others: which one, ``auto_metric.py`` decides before a problem is defined.
METRICS = ("auto", "labeled", "all", "euclidean")
TIE_BREAKS = ("twin", "half")
# The weight s of all rows in the metrics that have one.
SHARES = {"labeled": 0.0, "all": 1.0}
# Directions in which the labelled rows are shorter than this fraction of the longest change the
# labelled loss by less than its rounding: they are not determined.
DETERMINED = 1e-8
# Z_l'Z_l is subtracted from Z'Z, the identity, if its norm is at most this: no more than one bit
# then cancels.
LARGEST_LABELED_PART = 0.5
# Block size of LAPACK's QR factorisation, which determines the size of its workspace.
BLOCK = 32


def share_of_all(metric: str | float) -> float:
    """Return the weight s of all rows in a metric; NaN for one that has none."""
    return SHARES.get(metric, np.nan) if isinstance(metric, str) else float(metric)


@dataclass(frozen=True)
class LabeledRows:
    """Rows, dense or CSR, with a known label and a weight (None: 1).

    The labels y are numbers in {0, 1} for two classes, one-hot rows (L, K) for K > 2, and any
    numbers for a regression.
    """

    X: Any
    y: Floats
    weight: Floats | None = None

    @property
    def rows(self) -> ArrayRows:
        """The features as rows."""
        return ArrayRows(self.X, weight=self.weight)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def root(self) -> Floats:
        """The square root of every row's weight."""
        return np.ones(len(self.y)) if self.weight is None else np.sqrt(self.weight)


@dataclass(frozen=True)
class LeastSquaresFamily:
    """All least-squares fits that differ only in the labels of the unlabelled rows."""

    equations: NormalEquations
    labeled: LabeledRows
    unlabeled: Design

    @cached_property
    def known(self) -> Floats:
        """The part of the sums that comes from the labelled rows, ``X'y``."""
        return self.equations.design(self.labeled.rows).weighted_sum(self.labeled.y)

    def gamma(self, q: Floats | RowValues, start: Floats | None = None) -> Floats:
        """Return the coordinates of the least-squares fit to the labels y and q.

        ``start``, the coordinates of a similar fit, is a warm start.
        """
        return self.gamma_of(self.unlabeled.weighted_sum(q), start)

    def gamma_of(self, moment: Floats, start: Floats | None = None) -> Floats:
        """Return the same from ``sum x q``, the only quantity that depends on q."""
        return self.equations.solve(self.known + moment, start)

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
    """Return the least-squares fits on labelled and unlabelled rows together."""
    equations = equations_of(
        [labeled.rows, unlabeled], alpha=alpha, fit_intercept=fit_intercept, rcond=rcond
    )
    return LeastSquaresFamily(equations, labeled, equations.design(unlabeled))


def labeled_loss(family: LeastSquaresFamily, alpha_labeled: float) -> "LabeledLoss | None":
    """Return the labelled loss in coordinates; None if the equations are solved iteratively."""
    coordinates = family.equations
    if not isinstance(coordinates, Coordinates):
        return None
    return LabeledLoss.of(family.labeled, coordinates, alpha_labeled)


def determined_twin(
    family: LeastSquaresFamily, loss: "LabeledLoss | None"
) -> tuple[Floats, Any] | None:
    """Return the (coefficients, intercept) of least labelled loss.

    They follow from the factorisation that the problem needs anyway. None if the labelled rows may
    not determine them, or if there are so few that the twin is fitted in the row space.
    """
    coordinates = family.equations
    if loss is None or not isinstance(coordinates, Coordinates) or not loss.well_determined:
        return None
    n_columns, rank = coordinates.basis.shape
    if rank < n_columns or len(family.labeled.y) <= n_columns:
        return None
    return coordinates.decode(lapack.dtrtrs(loss.W, loss.goal, lower=1)[0])


@dataclass(frozen=True)
class ImplicitProblem:
    """What is minimised, and how ties between models are broken.

    Attributes
    ----------
    problem : LabelProblem
        The problem of the metric.
    determined : bool
        Whether the labelled rows, with their ridge, determine the model.
    tie : NearestTwin or None
        How to choose among the optimal models, if they do not; None: by the labelling closest to
        the centres of the label sets.
    prior : PriorProblem or None
        The problem with bounds on the shares of the classes, if there are any.
    """

    problem: LabelProblem
    determined: bool = True
    tie: NearestTwin | None = None
    prior: PriorProblem | None = None

    @property
    def tie_break(self) -> str | None:
        """Name of the tie-break; None if there is no tie."""
        if self.determined:
            return None
        return "half" if self.tie is None else "twin"


def implicit_problem(
    family: LeastSquaresFamily,
    *,
    metric: str | float,
    alpha_labeled: float,
    supervised: tuple[Floats, float],
    tie_break: str = "twin",
    labels: LabelSet | None = None,
    loss: "LabeledLoss | None" = None,
) -> ImplicitProblem:
    """Return the problem of a metric and a label set; None is [0, 1] or the simplex.

    ``supervised`` is the twin's (coefficients, intercept), ``loss`` the labelled loss, if known.
    """
    coordinates, labels = family.equations, label_set_of(family, labels)
    if not isinstance(coordinates, Coordinates):
        return _unfactorised_problem(family, metric, alpha_labeled, tie_break, labels)
    twin = coordinates.encode(*supervised)
    if metric == "euclidean":
        W = np.linalg.qr(coordinates.full_basis)[1]
        unit = 2.0 / family.labeled.total
        # Coefficients have units: measure relative to the supervised ones.
        scale = 0.5 * unit * float(np.sum((W @ twin) ** 2)) or 1.0
        return _problem(family, labels, W, W @ twin, unit, scale=scale)
    share = share_of_all(metric)
    loss = loss if loss is not None else LabeledLoss.of(family.labeled, coordinates, alpha_labeled)
    if share > 0:
        W = _mixed_metric(loss.W, share, coordinates.weight / family.labeled.total)
        return _problem(family, labels, W, W @ twin, 2.0 / coordinates.weight)
    unit = 2.0 / family.labeled.total
    if loss.determined or family.unlabeled.n_rows == 0 or tie_break == "half":
        floor = 0.5 * unit * loss.rest
        problem = _problem(family, labels, loss.W, loss.goal, unit, floor=floor)
        return replace(problem, determined=loss.determined or family.unlabeled.n_rows == 0)
    return _tied_problem(family, labels, loss, twin, unit)


def with_prior(
    implicit: ImplicitProblem, family: LeastSquaresFamily, shares: Shares
) -> ImplicitProblem:
    """Return the problem with bounds on the shares of the classes among the unlabelled rows."""
    if implicit.tie is not None:
        raise ValueError(
            f"The {len(family.labeled.y)} labelled rows do not determine the model, and a prior is "
            "then supported only with a ridge or another metric: pass alpha above 0 or, for "
            "example, metric=0.2."
        )
    total = family.equations.weight - family.labeled.total
    return replace(implicit, prior=prior_problem(implicit.problem, shares, total))


def label_set_of(family: LeastSquaresFamily, labels: LabelSet | None) -> LabelSet:
    """Return the label sets of the unlabelled rows: of each, unless there are too many."""
    if labels is None:
        labels = any_class(family.labeled.y)
    rows = family.unlabeled.rows
    # Where M is formed, the solvers need the set of every row.
    few = rows.in_memory or rows.n_rows <= FORM_ROWS_UP_TO
    return labels.take(np.arange(rows.n_rows)) if few and not labels.uniform else labels


def _problem(
    family: LeastSquaresFamily,
    labels: LabelSet,
    W: Floats,
    goal: Floats,
    unit: float,
    *,
    floor: float = 0.0,
    scale: float = 1.0,
) -> ImplicitProblem:
    """Return the problem of a metric W; ``goal`` is W times the coordinates to approach."""
    coordinates = family.equations
    assert isinstance(coordinates, Coordinates)
    columns = _columns(family, coordinates, W)
    target = goal - W @ coordinates.solve(family.known)
    return ImplicitProblem(label_problem(family, labels, columns, target, unit, floor, scale))


def _columns(family: LeastSquaresFamily, coordinates: Coordinates, W: Floats) -> Columns:
    """Return ``M = W Z_u'``."""
    T, first, labeled = coordinates.full_basis, int(coordinates.fit_intercept), family.labeled

    def known() -> KnownSums | None:
        """Return the sums over all rows less those over the labelled ones."""
        Z = coordinates.design(labeled.rows).dot(T)
        of_labeled = (labeled.root**2 * Z.T) @ Z
        if np.linalg.norm(of_labeled) > LARGEST_LABELED_PART:
            return None
        ridge = coordinates.ridge * (T[first:].T @ T[first:])
        of_unlabeled = np.eye(len(ridge)) - ridge - of_labeled
        of_columns = coordinates.weight**0.5 * (W @ of_unlabeled[0]) if first else None
        return KnownSums(of_columns, np.asarray(W @ of_unlabeled @ W.T))

    return columns_of(product(T, W.T).T, family.unlabeled, known)


def label_problem(
    family: LeastSquaresFamily,
    labels: LabelSet,
    columns: Columns,
    target: Floats,
    unit: float,
    floor: float = 0.0,
    scale: float = 1.0,
) -> LabelProblem:
    """Return the problem; what does not depend on the labelling moves from target to floor."""
    if target.ndim == 1:
        return LabelProblem(columns, target, labels, unit, floor, scale)
    if not family.equations.fit_intercept:  # with an intercept, the scores of a row add up to 1
        floor += 0.5 * unit * _misfit_of_sums(columns, target)
    return LabelProblem(columns, without_mean(target), labels, unit, floor, scale)


def _misfit_of_sums(columns: Columns, target: Floats) -> float:
    """Return the squares of ``M Q - T`` in the direction of equal numbers for all classes."""
    n_classes = target.shape[1]
    off = columns.sum_of_all() - target.sum(axis=1)
    return float(off @ off) / n_classes


def _mixed_metric(labeled: Floats, share: float, rows_per_label: float) -> Floats:
    """Return W with ``W'W = (1 - share) rows_per_label labeled'labeled + share I``."""
    identity = np.eye(labeled.shape[1])
    if share == 1.0:
        return identity
    weighted = ((1 - share) * rows_per_label) ** 0.5 * labeled
    return np.asarray(np.linalg.qr(np.vstack([weighted, share**0.5 * identity]), mode="r"))


def _tied_problem(
    family: LeastSquaresFamily,
    labels: LabelSet,
    loss: "LabeledLoss",
    twin: Floats,
    unit: float,
) -> ImplicitProblem:
    """Return the problem of the labelled loss, with ties broken towards the twin."""
    coordinates = family.equations
    assert isinstance(coordinates, Coordinates)
    U, S, Vt = np.linalg.svd(loss.W)
    rank = int(np.count_nonzero(S / S[0] > DETERMINED))
    S = S[:rank]
    known = Vt @ coordinates.solve(family.known)
    in_reach = U[:, :rank].T @ loss.goal
    columns = _columns(family, coordinates, Vt)
    out_of_reach = float(np.vdot(loss.goal, loss.goal) - np.vdot(in_reach, in_reach))
    floor = 0.5 * unit * (loss.rest + max(out_of_reach, 0.0))
    goal, twin = (in_reach.T / S).T - known[:rank], Vt @ twin - known
    if goal.ndim == 2:
        if not coordinates.fit_intercept:
            of_loss = columns.first(rank).scaled(S)
            floor += 0.5 * unit * _misfit_of_sums(of_loss, (S * goal.T).T)
        goal, twin = without_mean(goal), without_mean(twin)
    tie = NearestTwin(columns, S, goal, twin, coordinates.weight, labels)
    return ImplicitProblem(tie.loss(unit, floor), False, tie)


def _unfactorised_problem(
    family: LeastSquaresFamily,
    metric: str | float,
    alpha_labeled: float,
    tie_break: str,
    labels: LabelSet,
) -> ImplicitProblem:
    """Return the problem of the labelled loss, from one solve per labelled row."""
    labeled, equations = family.labeled, family.equations
    if share_of_all(metric) != 0 or alpha_labeled > 0 or tie_break != "half":
        raise ValueError(
            f"With {len(equations.center)} features, more than {FORM_A_UP_TO}, and so many rows, "
            "this fit cannot be computed: reduce the number of features, for example with "
            "TruncatedSVD(200), and use a ridge."
        )
    X_t = equations.frame.expand(to_numpy(labeled.X)).T
    B = equations.solve(X_t).T * labeled.root[:, None]
    target = (labeled.root * labeled.y.T).T - B @ family.known
    columns, unit = columns_of(B, family.unlabeled), 2.0 / labeled.total
    problem = label_problem(family, labels, columns, target, unit)
    return ImplicitProblem(problem, determined=False)


@dataclass(frozen=True)
class LabeledLoss:
    """The labelled loss ``|| W gamma - goal ||^2 + rest``, summed over rows.

    Directions that the labelled rows do not distinguish and that only a small ridge determines
    would amplify rounding: with the rounding e of the rows along such a direction, its ridge r^2
    and the residual y - Z gamma, gamma is wrong by ``e'(y - Z gamma) / r^2``. So the rows are first
    reduced to those that their rank leaves (``_reduced``), which have hardly any residual.
    """

    W: Floats
    goal: Floats
    rest: float

    @classmethod
    def of(
        cls, labeled: LabeledRows, coordinates: Coordinates, alpha_labeled: float
    ) -> "LabeledLoss":
        """Return the labelled loss in the given coordinates, by a QR factorisation."""
        T, first = coordinates.full_basis, int(coordinates.fit_intercept)
        Z, y = coordinates.design(labeled.rows).dot(T), labeled.y
        if labeled.weight is not None:
            Z, y = Z * labeled.root[:, None], (labeled.root * y.T).T
        if alpha_labeled == 0:
            return cls(*_triangular(Z, y))
        ridge = (labeled.total * alpha_labeled) ** 0.5 * T[first:]
        loss = cls(*_triangular(*_with_ridge(Z, y, ridge)))
        if loss.reciprocal_condition > CORRECT_BELOW**0.5:
            return loss
        rows, goal, rest = _reduced(Z, y, T[first:], _value_rounding(labeled, coordinates.center))
        W, goal, more = _triangular(*_with_ridge(rows, goal, ridge))
        return cls(W, goal, rest + more)

    @cached_property
    def reciprocal_condition(self) -> float:
        """An inexpensive estimate of the reciprocal condition of W; 0 if it has too few rows."""
        rows, columns = self.W.shape
        if columns == 0:
            return 1.0
        if rows < columns:
            return 0.0
        sizes = np.abs(self.W)
        bound = float(sizes.sum(axis=0).max(initial=0.0) * sizes.sum(axis=1).max(initial=0.0))
        return float(lapack.dpocon(self.W, bound, uplo="L")[0]) ** 0.5

    @property
    def well_determined(self) -> bool:
        """Whether the condition shows, with a margin of a factor of 100, a unique minimum."""
        return self.reciprocal_condition > 100 * DETERMINED

    @cached_property
    def determined(self) -> bool:
        """Whether the gamma of least loss is unique."""
        if self.well_determined:
            return True
        rows, columns = self.W.shape
        if rows < columns:
            return False
        singular = np.linalg.svd(self.W, compute_uv=False)
        return bool(singular[-1] > DETERMINED * singular[0])


def _value_rounding(labeled: LabeledRows, center: Floats) -> Floats:
    """Return the rounding of the centred labelled rows in every column, as a length."""
    lengths = row_norms(labeled.X.T) + len(labeled.y) ** 0.5 * np.abs(center)
    return np.asarray(VALUE_ROUNDING * labeled.root.max() * lengths)


def _with_ridge(Z: Floats, y: Floats, ridge: Floats) -> tuple[Floats, Floats]:
    """Return rows and labels with those of the ridge: one row per feature, with label 0."""
    return np.vstack([Z, ridge]), np.concatenate([y, np.zeros((len(ridge), *y.shape[1:]))])


def _reduced(Z: Floats, y: Floats, T: Floats, noise: Floats) -> tuple[Floats, Floats, float]:
    """Return (rows, goal, rest) like ``_triangular``, with as many rows as the rank of Z.

    ``T`` turns directions of Z into those of the features, whose rounding is ``noise``.
    """
    W, goal, rest = _triangular(Z, y)
    U, S, Vt = np.linalg.svd(W, full_matrices=False)
    kept = determined(S, T @ Vt.T, noise, rounding_of(*Z.shape))
    in_reach = U[:, kept].T @ goal
    lost = float(np.vdot(goal, goal) - np.vdot(in_reach, in_reach))
    return S[kept, None] * Vt[kept], in_reach, rest + max(lost, 0.0)


def _triangular(Z: Floats, y: Floats) -> tuple[Floats, Floats, float]:
    """Return (W, goal, rest): ``||Z g - y||^2 = ||W g - goal||^2 + rest``, with W lower triangular.

    T is usually upper triangular, so that ``W T'`` is lower triangular, too.
    """
    rows, columns = Z.shape
    if columns == 0:
        return Z[:0], y[:0], float(np.vdot(y, y))
    # A QR factorisation of the columns in reverse order is a QL factorisation. Q is not formed:
    # that would take as long again.
    factor, tau, _, _ = lapack.dgeqrf(Z[:, ::-1], lwork=BLOCK * columns)
    of_y, rank = y.reshape(rows, -1), len(tau)
    size = BLOCK * of_y.shape[1]
    turned = lapack.dormqr("L", "T", factor[:, :rank], tau, of_y, lwork=size)[0].reshape(y.shape)
    # This is R reversed in both directions. LAPACK needs it in Fortran order, and np.triu returns C
    # order, hence the transposes.
    W = np.triu(factor[:rank].T[::-1, ::-1], rank - columns).T
    return W, turned[:rank][::-1], float(np.vdot(turned[rank:], turned[rank:]))
