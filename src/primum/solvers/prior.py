"""Solutions within a prior (``labellings.prior_problem``).

The solvers of label problems keep the bounds of a prior themselves. What is left to do is to remove
the cost of a row of ones, if M needed one: each round takes the shares of the previous solution as
its anchor.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from primum.labellings import Columns, LabelProblem, LabelsInFrame, PriorProblem
from primum.labellings.problem import Solution
from primum.solvers.newton import GAP_GOAL

MAX_ROUNDS = 50
# A share that is outside its bounds by no more than this differs by rounding.
SHARE_ROUNDING = 1e-12


def solve_prior(
    prior: PriorProblem,
    solve_labels: Callable[[LabelProblem, int], Solution],
    tol: float,
    max_iter: int,
) -> Solution:
    """Return the optimal labelling with shares within the bounds of a prior.

    ``solve_labels`` solves a label problem in a given number of iterations. All rounds together
    have ``max_iter`` of them.
    """
    shares = prior.prior.shares
    if not prior.has_row_of_ones:
        return solve_labels(prior.at(prior.prior.offset), max_iter)
    solution = _in_frame(solve_labels(prior.problem, max_iter), prior.problem.columns)
    s, iterations = prior.of(solution.labels), solution.iterations
    solution = replace(solution, multipliers=np.zeros_like(s))
    if shares.violation(s) <= SHARE_ROUNDING:
        return solution
    enough = GAP_GOAL * prior.problem.gap_within(tol)
    for _ in range(MAX_ROUNDS):
        if iterations >= max_iter:
            break
        anchor = shares.project(s)
        found = solve_labels(prior.at(anchor), max_iter - iterations)
        solution = _in_frame(found, prior.columns)
        s, iterations = prior.of(solution.labels), iterations + solution.iterations
        if prior.penalty(s, anchor) <= enough:
            break
    return replace(solution, iterations=iterations)


def _in_frame(solution: Solution, columns: Columns) -> Solution:
    """Return a solution whose labels are a function of the design rows of some columns.

    A row of ones in M needs a leading 1 in the design rows, which those of the model may lack.
    """
    if isinstance(solution.labels, np.ndarray) or columns.streamed is None:
        return solution
    labels = LabelsInFrame(solution.labels, columns.streamed.design.frame)
    return replace(solution, labels=labels, moment=None)
