"""The common entry point of all solvers.

A solver takes a ``LabelProblem``, a tolerance and a limit on its iterations, and returns a
labelling. It does not judge that labelling: the certificate does. All solvers return the optimal
labelling closest to the centres of the label sets, up to rounding.

The solvers themselves keep within the bounds of a prior. It remains to remove the cost of a row of
ones, if M needed one (``labellings.prior_problem``): each round takes the shares of the previous
solution as its anchor.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from primum._typing import Floats
from primum.labellings.labelling import LabelsInFrame
from primum.labellings.prior import Prior
from primum.labellings.prior_problem import anchored
from primum.labellings.problem import LabelProblem, ProblemColumns, Solution
from primum.labellings.sets import centres_of
from primum.solvers.all_rows import MeasureLabels
from primum.solvers.lbfgsb import solve_lbfgsb
from primum.solvers.nearest_twin import SolveLabels, solve_nearest_twin
from primum.solvers.newton import GAP_GOAL, solve_from, solve_newton
from primum.solvers.scale import solve_scale

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
    if problem.n_rows == 0:
        return Solution(centres_of(problem.labels, 0), iterations=0)
    if solver == "auto":
        solver = "newton" if streamed is None else "scale"
    if solver == "scale":
        return solve_scale(problem, tol, max_iter, measure)
    if streamed is not None and not streamed.design.rows.in_memory:
        raise ValueError(
            f"solver={solver!r} stores one number per row, but the {problem.n_rows} unlabelled "
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
    unique = problem.determined and problem.prior is None and problem.n_rows > 0
    if start is not None and unique and solver == "newton":
        solution = solve_from(problem, start, tol, max_iter)
        if solution is not None:
            return solution
    solve_labels = partial(_solve_labels, solver)
    if problem.prior is not None and problem.prior.extended is not None:
        return _solve_anchored(problem, problem.prior, solve_labels, tol, max_iter)
    if problem.tie is not None and problem.n_rows:
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
