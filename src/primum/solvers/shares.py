"""Solutions within a prior (``labellings.prior_problem``).

The solvers of label problems keep the bounds of a prior themselves. What is left to do is to remove
the cost of a row of ones, if M needed one: each round takes the shares of the previous solution as
its anchor.
"""

from dataclasses import replace

import numpy as np

from primum.labellings import Columns, LabelsInFrame, PriorProblem, StreamedColumns
from primum.solvers.nearest_twin import SolveLabels
from primum.solvers.newton import AIM
from primum.solvers.solution import Solution

# Rounds, and the violation of a bound that is rounding.
ROUNDS, ROUNDING = 50, 1e-12


def solve_prior(prior: PriorProblem, solve_labels: SolveLabels, tol: float) -> Solution:
    """Return the optimal labelling with shares within the bounds of a prior."""
    shares = prior.prior.shares
    if not prior.has_row_of_ones:
        return solve_labels(prior.at(prior.prior.offset), tol)
    solution = _in_frame(solve_labels(prior.problem, tol), prior.problem.columns)
    s, iterations = prior.of(solution.labels), solution.iterations
    if shares.violation(s) <= ROUNDING:
        return replace(solution, multipliers=np.zeros_like(s))
    enough = AIM * prior.problem.gap_within(tol)
    for _ in range(ROUNDS):
        anchor = shares.project(s)
        solution = _in_frame(solve_labels(prior.at(anchor), tol), prior.columns)
        s, iterations = prior.of(solution.labels), iterations + solution.iterations
        if prior.penalty(s, anchor) <= enough:
            break
    return replace(solution, iterations=iterations)


def _in_frame(solution: Solution, columns: Columns) -> Solution:
    """Return a solution whose labels are a function of the design rows of some columns.

    A row of ones in M needs a leading 1 in the design rows, which those of the model may lack.
    """
    if isinstance(solution.labels, np.ndarray) or not isinstance(columns, StreamedColumns):
        return solution
    labels = LabelsInFrame(solution.labels, columns.design.frame)
    return replace(solution, labels=labels, moment=None)
