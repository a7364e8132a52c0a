"""From rows to a proven model: the whole of implicitly constrained least squares.

    minimise over q, q_i in S_i    || W (gamma(q) - gamma_sup) ||^2,    gamma(q) = Z_l'y + Z_u'q

    fit_implicit             equations, supervised twin, metric, and then
      labeled_loss           || W gamma - goal ||^2 + rest       (labellings/implicit.py)
      implicit_problem       that loss as a LabelProblem         (labellings/implicit.py)
      solve_and_prove        its solution, one pass that measures it, and the proof
        solve_problem        the labelling, by the solver that suits it
        LabelPass            the model of a labelling and what that pass measured
          measure_labels     the pass
        certify              the proof: a duality gap, from the measured sums
                                                                 (labellings/certificate.py)

Once a labelling and its model are known, the sum of the design rows times the labels, the slack of
every row, the predictions that differ from the twin's and the labels themselves need the same
products with the rows. So all of them are computed together, from scratch: the certificate relies
on none of the solver's sums. A solver for many rows ends with a pass that measures the gap of its
labels; this same pass does so. It needs the model beforehand, which is computed from the solver's
own sum of the design rows times their labels. The pass recomputes that sum from scratch; if it
gives a different model, one more pass is made.

A solver takes a ``LabelProblem``, a tolerance and a limit on its iterations, and returns a
labelling. It does not judge that labelling: the certificate does. All solvers return the optimal
labelling closest to the centres of the label sets, up to rounding, and keep within the bounds of a
prior. It remains to remove the cost of a row of ones, if M needed one (``prior_problem.py``): each
round takes the shares of the previous solution as its anchor.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.linalg import lapack

from primum import labellings
from primum._typing import Floats
from primum.equations import Frame, Linear, View, equations_of, in_span_is_faster, span_of
from primum.equations.coordinates import EPS
from primum.labellings import (
    Certificate,
    Labelling,
    LabelProblem,
    LabelSet,
    LeastSquaresFamily,
    ShareBounds,
    per_row,
)
from primum.labellings.implicit import SHARE_IF_UNDETERMINED
from primum.labellings.labelling import LabelsInFrame
from primum.labellings.prior import Prior
from primum.labellings.prior_problem import anchored
from primum.labellings.problem import ProblemColumns, Solution
from primum.labellings.sets import centres_of, sets_at
from primum.rows import ArrayRows, LabeledRows, Rows, library_of, to_numpy
from primum.solvers.all_rows import MeasureLabels
from primum.solvers.lbfgsb import solve_lbfgsb
from primum.solvers.nearest_twin import SolveLabels, solve_nearest_twin
from primum.solvers.newton import GAP_GOAL, solve_from, solve_newton
from primum.solvers.scale import solve_scale

# Sums over rows that differ by less than this fraction count as equal: rounding leaves less.
ROW_SUM_TOLERANCE = 1e-9
# Sums of rows in single precision differ by more. Models then count as equal if the root mean
# square difference of their scores is at most this, half of ``certificate.SCORE_TOLERANCE``.
SINGLE_TOLERANCE = 5e-7
SOLVERS: dict[str, Callable[[LabelProblem, float, int], Solution]] = {
    "newton": solve_newton,
    "scale": solve_scale,
    "lbfgsb": solve_lbfgsb,
}
# Solvers for problems whose labels are one number, without a prior.
ONE_NUMBER = ("lbfgsb",)
# Rounds of anchors, at most: few are needed, because the row of ones is small
# (``prior_problem.ONES_ROW_SIZE``).
MAX_ANCHOR_ROUNDS = 50
# A share outside its bounds by no more than this counts as inside: rounding of a mean over rows.
SHARE_VIOLATION = 1e-12


@dataclass(frozen=True)
class ImplicitFit:
    """A proven fit: what an estimator turns into its attributes.

    Models are (coefficients, intercept): (d,) and a number, or (d, K) and (K,). ``labels`` are
    those of the unlabelled rows that have weight: an array or, if the rows are not in memory,
    perhaps a function of their design rows in ``frame``.
    """

    model: Linear
    twin: Linear
    twin_solver: str
    labels: Any
    frame: Frame
    metric: str | float
    solver: str
    certificate: Certificate


def fit_least_squares(
    labeled: LabeledRows, *, alpha: float, fit_intercept: bool, rcond: float | None = None
) -> tuple[Linear, str]:
    """Return the (coefficients, intercept) of least squares on labelled rows, and the solver."""
    rows = ArrayRows(labeled.X, weight=labeled.weight)
    equations = equations_of([rows], alpha=alpha, fit_intercept=fit_intercept, rcond=rcond)
    gamma = equations.solve(equations.design(rows).weighted_sum(labeled.y))
    return equations.decode(gamma), equations.solver


def fit_implicit(
    labeled: LabeledRows,
    unlabeled: Rows,
    labels: LabelSet | None,
    shares: ShareBounds | None,
    *,
    alpha: float,
    alpha_labeled: float,
    fit_intercept: bool,
    metric: str | float,
    solver: str,
    tol: float,
    max_iter: int,
    threshold: float = 0.0,
    narrower: Callable[[LabelSet], Iterable[LabelSet]] | None = None,
    in_span: bool = True,
    tie_break: str = "twin",
    rcond: float | None = None,
) -> ImplicitFit:
    """Fit to labelled and unlabelled rows, and prove how good the fit is.

    ``labels`` are the label sets of the unlabelled rows and ``shares`` bounds on their mean label;
    None: any. ``threshold`` is what an estimator subtracts from the intercept of the twin that it
    stores, ``narrower`` returns smaller label sets that may suffice, and ``in_span`` allows a fit
    in the span of the rows.
    """
    if solver in ONE_NUMBER:
        n_classes = labeled.y.shape[1] if labeled.y.ndim == 2 else 2
        check_solver(solver, n_classes, has_prior=shares is not None)

    # Far more columns than rows: fit in the span of the rows.
    parts, given, span = [labeled.rows, unlabeled], labeled, None
    if in_span and tie_break == "twin" and in_span_is_faster(parts):
        span = span_of(parts, min(alpha, alpha_labeled))
    if span is not None:
        n_labeled = len(labeled.y)
        labeled = replace(labeled, X=span.rows[:n_labeled])
        unlabeled = ArrayRows(span.rows[n_labeled:], weight=unlabeled.weight)

    # Least squares on all rows, in coordinates in which it is a plain sum, and the labelled loss.
    family = labellings.least_squares_family(
        labeled, unlabeled, alpha=alpha, fit_intercept=fit_intercept, rcond=rcond
    )
    loss, equations = labellings.labeled_loss(family, alpha_labeled), family.equations

    # The supervised twin: that loss determines it, unless there are too few rows. The problem is
    # about the twin as it is stored, class by class and with its intercept less the threshold.
    n_columns, rank = family.coordinates.basis.shape
    enough = span is None and rcond is None and rank == n_columns < len(labeled.y)
    twin_solver = "normal_equations"
    if enough and loss.well_determined:
        coef, intercept = equations.decode(lapack.dtrtrs(loss.W, loss.goal, lower=1)[0])
    else:
        (coef, intercept), twin_solver = fit_least_squares(
            given, alpha=alpha_labeled, fit_intercept=fit_intercept, rcond=rcond
        )
    twin = np.ascontiguousarray(coef.T).T, intercept
    if coef.ndim == 1:
        twin = coef, float((intercept - threshold) + threshold)
    twin = twin if span is None else span.coordinates(twin)

    # The metric, from the labelled rows alone.
    if metric == "auto" and span is None and not loss.determined:
        metric = SHARE_IF_UNDETERMINED
    elif metric == "auto" and span is None and rank == n_columns and alpha == alpha_labeled == 0:
        metric = "labeled"  # the loss, in coordinates of all columns, is determined: no ridge
    elif metric == "auto":
        metric = labellings.metric_of_rows(metric, given, fit_intercept)

    # The problem, its solution and its proof.
    problem = labellings.implicit_problem(family, loss, twin, labels, shares, metric, tie_break)
    if solver == "auto":
        solver = "newton" if problem.columns.streamed is None else "scale"
    model, q, certificate = solve_and_prove(
        family,
        problem,
        twin,
        metric=metric,
        alpha=alpha,
        alpha_labeled=alpha_labeled,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        narrower=narrower,
    )
    model = model if span is None else span.model(model)
    frame = equations.frame
    fitted_twin = coef, intercept
    return ImplicitFit(model, fitted_twin, twin_solver, q, frame, metric, solver, certificate)


def solve_and_prove(
    family: LeastSquaresFamily,
    problem: LabelProblem,
    twin: Linear,
    *,
    metric: str | float,
    alpha: float,
    alpha_labeled: float,
    solver: str,
    tol: float,
    max_iter: int,
    narrower: Callable[[LabelSet], Iterable[LabelSet]] | None = None,
) -> tuple[Linear, Any, Certificate]:
    """Return the model (coefficients, intercept) of the best labelling, its labels, its proof."""
    labeled, iterations = family.labeled, 0
    of_labels = labellings.share_of_all(metric) == 0

    def losses(coef: Floats, intercept: Floats | float) -> tuple[float, float]:
        """Return the mean loss on the labelled rows, and the ridge."""
        squares, weight = per_row((labeled.X @ coef + intercept - labeled.y) ** 2), labeled.weight
        mean = squares.mean() if weight is None else weight @ squares / weight.sum()
        return float(mean), alpha_labeled * float(np.vdot(coef, coef))

    # Narrow label sets first; the proof is always about the sets themselves.
    easier = (
        replace(
            problem,
            labels=near,
            tie=None if problem.tie is None else replace(problem.tie, labels=near),
        )
        # The model of the labels closest to the centres depends on the sets themselves.
        for near in (narrower(problem.labels) if narrower and problem.tie_break != "half" else ())
    )
    for narrowed in chain(easier, [problem]):
        label_pass = LabelPass(family, narrowed, twin)
        solution = solve_problem(
            narrowed,
            solver=solver,
            tol=tol,
            max_iter=max_iter - iterations,
            measure=label_pass.measure,
        )
        iterations += solution.iterations
        model, found, slack = label_pass.of(solution)
        # The slack of narrower sets is not that of the sets themselves.
        slack = slack if narrowed is problem else None
        twin_loss, loss, step = losses(*twin), losses(*model), model[0] - twin[0]
        squares = found.squares / family.equations.weight
        certificate = labellings.certify(
            problem,
            replace(solution, iterations=iterations, moment=found.moment, slack=slack),
            labeled_loss=loss[0],
            supervised_loss=twin_loss[0],
            objective=sum(loss) if of_labels else None,
            supervised_objective=sum(twin_loss) if of_labels else 0.0,
            shift=squares**0.5,
            changed=found.changed,
            distance=squares + alpha * float(np.vdot(step, step)),
            score_rounding=label_pass.rounding,
            metric=metric,
            tol=tol,
        )
        if certificate.converged or iterations >= max_iter:
            break
    return model, solution.labels if found.labels is None else found.labels, certificate


@dataclass(frozen=True)
class Measured:
    """What one pass measures, summed over the rows.

    ``squares`` are the weighted squares of the differences between two models' scores, summed over
    the classes, and ``changed`` the number of rows with different predicted classes. For labels q,
    ``moment`` is the sum of the design rows times q and their weights, ``slack`` the weighted sum
    of ``slack(p, q)``, ``P = M'Xi``, and ``labels`` are those of all rows, on their device.
    """

    squares: Any
    changed: Any
    moment: Any = None
    slack: Any = None
    labels: Any = None

    def __add__(self, other: "Measured") -> "Measured":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Measured(*(None if mine is None else mine + others for mine, others in pairs))


class LabelPass:
    """The model of a labelling and its measurements, from one pass over the rows."""

    def __init__(self, family: LeastSquaresFamily, problem: LabelProblem, twin: Linear) -> None:
        self.family, self.problem, self.twin = family, problem, twin
        self.keep = family.unlabeled.rows.in_memory
        # The rounding error of a score, given the size of its summands: a sum of two products, and
        # those of its factors.
        coef, intercept = twin
        summands = np.max(np.abs(intercept) + np.abs(family.equations.center) @ np.abs(coef))
        self.rounding = float(8 * EPS * summands)
        # The last labels, their presumed sum x q and its coordinates, Xi and what was measured.
        self.last: tuple[Any, Floats, Floats, Floats | None, Measured] | None = None

    def measure(self, xi: Floats | None, q: Labelling, moment: Floats) -> tuple[Floats, float]:
        """Return the sum of the design rows times q, presumed to be ``moment``, and slack at Xi."""
        gamma = self.family.gamma_of(moment)
        model, problem = self.family.equations.decode(gamma), self.problem
        found = measure_labels(
            self.family, model, self.twin, self.rounding, q, xi, problem, keep=self.keep
        )
        self.last = q, moment, gamma, xi, found
        return found.moment, found.slack

    def of(self, solution: Solution) -> tuple[Linear, Measured, tuple[Floats, float] | None]:
        """Return (model, its measurements, (Xi, slack) or None) of a solution."""
        family, problem, equations = self.family, self.problem, self.family.equations
        q, moment = solution.labels, solution.moment
        if moment is None:
            moment = family.unlabeled.weighted_sum(q)
        if isinstance(q, np.ndarray):
            model = equations.decode(family.gamma_of(moment))
            found = measure_labels(family, model, self.twin, self.rounding)
            return model, replace(found, moment=moment, labels=q if self.keep else None), None

        # The labels were measured by the solver, unless they are those of another problem. The
        # certificate uses the slack at M Q - T, if there is no prior.
        dual = None if problem.prior is not None else problem.residual
        if self.last is None or self.last[0] is not q:
            self.measure(dual and dual(q, moment), q, moment)
        assert self.last is not None
        _, presumed, gamma, _, found = self.last
        off = np.linalg.norm(presumed - found.moment)
        if off > ROW_SUM_TOLERANCE * np.linalg.norm(found.moment):
            again = family.gamma_of(found.moment)
            within = SINGLE_TOLERANCE * equations.weight**0.5
            if family.unlabeled.rows.single and equations.length(again - gamma) <= within:
                gamma = again
            else:
                self.measure(dual and dual(q, found.moment), q, found.moment)
                gamma = self.last[2]
        _, _, _, xi, found = self.last
        return equations.decode(gamma), found, None if xi is None else (xi, found.slack)


def measure_labels(
    family: LeastSquaresFamily,
    one: Linear,
    other: Linear,
    rounding: float,
    q: Labelling | None = None,
    xi: Floats | None = None,
    problem: LabelProblem | None = None,
    *,
    keep: bool = False,
) -> Measured:
    """Compare the scores of two models, and measure labels q of the unlabelled rows: one pass.

    Differences between scores up to their rounding do not count as a change of the class. The slack
    is measured at the dual point Xi of the problem, and ``keep`` keeps the label of every row.
    """
    frame, design = family.equations.frame, family.equations.design(family.labeled.rows)
    of_models = np.column_stack([frame.coefficients(*model) for model in (one, other)])
    K, plane = of_models.shape[1] // 2, None if q is None else q.hyperplane

    # All products with the rows as one: with both models, with P at Xi, and with the hyperplane.
    directions = [of_models]
    if xi is not None and problem is not None and problem.columns.streamed is not None:
        directions.append((problem.columns.streamed.B.T @ xi).reshape(-1, K))
    if plane is not None:
        directions.append(plane.V.reshape(-1, K))
    V = np.concatenate(directions, axis=1)

    def scores_only(view: View) -> Measured:
        return compare_scores(view, view.dot(of_models, by_column=True), rounding)

    def everything(view: View) -> Measured:
        P, slack = view.dot(V, by_column=True), None

        def products(first: int) -> Any:
            return P[first : first + K, :].T if K > 1 else P[first, :]

        assert q is not None
        of_rows = q(view) if plane is None else plane.from_p(view, products(P.shape[0] - K))
        if xi is not None and problem is not None:
            slack = view.total(sets_at(problem.labels, view).slack(products(2 * K), of_rows))
        compared = compare_scores(view, P[: 2 * K, :], rounding)
        labels = [of_rows] if keep else None
        return replace(compared, moment=view.sum(of_rows), slack=slack, labels=labels)

    of_labeled, total = design.add_up(scores_only), Measured(0.0, 0)
    if family.unlabeled.rows.n_rows:
        total = family.unlabeled.add_up(scores_only if q is None else everything)
    return Measured(
        float(of_labeled.squares) + float(total.squares),
        int(total.changed),
        None if total.moment is None else to_numpy(total.moment),
        None if total.slack is None else float(total.slack),
        None if total.labels is None else library_of(total.labels[0]).concat(total.labels, axis=0),
    )


def compare_scores(view: View, scores: Any, rounding: float) -> Measured:
    """Return the squares and changes of some rows, from the scores (2 K, n) of two models."""
    xp, K = view.xp, scores.shape[0] // 2
    difference = (scores[:K, :] - scores[K:, :]).T
    if K == 1:
        difference = difference[:, 0]  # a dot product, which needs no temporary array
        # On different sides of 1/2.
        one, other = scores[0, :] - 0.5, scores[1, :] - 0.5
        apart = (xp.minimum(one, other) < -rounding) & (xp.maximum(one, other) > rounding)
    else:
        # Both models must prefer their own class by more than the rounding of two scores.
        one, other, classes = scores[:K, :], scores[K:, :], view.convert(np.arange(K))[:, None]
        chosen, by_other = (
            xp.astype(xp.argmax(some, axis=0)[None, :] == classes, xp.float64)
            for some in (one, other)
        )
        apart = xp.sum((chosen - by_other) * one, axis=0) > 2 * rounding
        apart = apart & (xp.sum((by_other - chosen) * other, axis=0) > 2 * rounding)
    return Measured(view.product(difference, difference), xp.count_nonzero(apart))


def check_solver(solver: str, n_classes: int, *, has_prior: bool) -> None:
    """Raise an error if a solver does not support several classes or priors."""
    if solver in ONE_NUMBER and n_classes > 2:
        raise ValueError(
            f"Only binary classification is supported. solver={solver!r} is for two classes, but y "
            f"has {n_classes}: use solver='auto'."
        )
    if solver in ONE_NUMBER and has_prior:
        raise ValueError(f"solver={solver!r} does not support priors: use solver='auto'.")


def solve(
    problem: LabelProblem,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    measure: MeasureLabels | None = None,
) -> Solution:
    """Solve a label problem with the named solver.

    ``auto`` is ``newton`` if M is formed, because there are few rows, and ``scale`` otherwise,
    which measures its labellings with ``measure``, if given.
    """
    streamed = problem.columns.streamed
    if solver in ONE_NUMBER:
        n_classes = problem.labels.shape[0] if problem.labels.shape else 2
        check_solver(solver, n_classes, has_prior=problem.prior is not None)
    n_rows = problem.columns.shape[1]
    if n_rows == 0:
        return Solution(centres_of(problem.labels, 0), iterations=0)
    if solver == "auto":
        solver = "newton" if streamed is None else "scale"
    if solver == "scale":
        return solve_scale(problem, tol, max_iter, measure)
    if streamed is not None and not streamed.design.rows.in_memory:
        raise ValueError(
            f"solver={solver!r} stores one number per row, but the {n_rows} unlabelled "
            "rows are not in memory: use solver='auto'."
        )
    return SOLVERS[solver](problem, tol, max_iter)


def solve_problem(
    problem: LabelProblem,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    measure: MeasureLabels | None = None,
) -> Solution:
    """Minimise the objective, within a prior, and break a tie between models that attain it.

    ``start``, the labelling of a similar problem, is a warm start: it does not change the model,
    but if several labellings give that model, any of them may be returned. ``measure`` is called in
    place of the pass that computes the gap of a labelling, if neither a prior nor a tie-break is
    involved.
    """
    if solver == "auto":
        solver = "newton" if problem.columns.streamed is None else "scale"
    # If the model depends only on M Q, any optimal labelling will do.
    unique = problem.determined and problem.prior is None and problem.columns.shape[1]
    if start is not None and unique and solver == "newton":
        solution = solve_from(problem, start, tol, max_iter)
        if solution is not None:
            return solution
    solve_labels = partial(_solve_labels, solver)
    if problem.prior is not None and problem.prior.extended is not None:
        return _solve_anchored(problem, problem.prior, solve_labels, tol, max_iter)
    if problem.tie is not None and problem.columns.shape[1]:
        return solve_nearest_twin(problem, problem.tie, solve_labels, tol, max_iter)
    measure = measure if problem.prior is None else None
    return solve(problem, solver=solver, tol=tol, max_iter=max_iter, measure=measure)


def _solve_labels(solver: str, problem: LabelProblem, tol: float, max_iter: int) -> Solution:
    return solve(problem, solver=solver, tol=tol, max_iter=max_iter)


def _solve_anchored(
    problem: LabelProblem, prior: Prior, solve_labels: SolveLabels, tol: float, max_iter: int
) -> Solution:
    """Return the optimal labelling with shares within bounds, if M needs a row of ones for that.

    All rounds of anchors together take ``max_iter`` iterations, at most.
    """
    columns, shares = prior.extended, prior.shares
    assert columns is not None
    solution = solve_labels(replace(problem, prior=None), tol, max_iter)
    solution = _in_frame(solution, problem.columns)
    s = np.asarray(prior.direction @ columns.accumulate(solution.labels))
    iterations = solution.iterations
    solution = replace(solution, multipliers=np.zeros_like(s))
    if shares.violation(s) <= SHARE_VIOLATION:
        return solution
    enough = GAP_GOAL * problem.gap_within(tol)
    for _ in range(MAX_ANCHOR_ROUNDS):
        if iterations >= max_iter:
            break
        anchor = shares.project(s)
        solution = solve_labels(anchored(problem, anchor), tol, max_iter - iterations)
        solution = _in_frame(solution, columns)
        s = np.asarray(prior.direction @ columns.accumulate(solution.labels))
        iterations += solution.iterations
        # What the row of ones costs, in units of P.
        if 0.5 * float(np.sum(((s - anchor) / prior.direction[-1]) ** 2)) <= enough:
            break
    return replace(solution, iterations=iterations)


def _in_frame(solution: Solution, columns: ProblemColumns) -> Solution:
    """Return a solution whose labels are a function of the design rows of some columns.

    A row of ones in M needs a leading 1 in the design rows, which those of the model may lack.
    """
    if isinstance(solution.labels, np.ndarray) or columns.streamed is None:
        return solution
    labels = LabelsInFrame(solution.labels, columns.streamed.design.frame)
    return replace(solution, labels=labels, moment=None)
