"""L-BFGS-B (SciPy): first-order, in U variables. What the paper used.

It starts at q = 1/2 and stops once the proven gap is within the tolerance. When it has come
close to the least P(q), the labelling closest to 1/2 with the same M q is looked up.
"""

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from primum._typing import Floats
from primum.problems import BoxProblem, duality_gap
from primum.solvers.newton import solve_newton
from primum.solvers.solution import Solution

MEMORY = 20


def solve_lbfgsb(problem: BoxProblem, tol: float, max_iter: int) -> Solution:
    """Return an optimal labelling, as close to 1/2 as its precision allows."""
    objective = _Objective(problem)

    def stop_at_gap(intermediate_result: OptimizeResult) -> None:
        if objective.gap_at(intermediate_result.x) * problem.loss_unit <= tol:
            raise StopIteration

    result = minimize(
        objective,
        np.full(problem.n_rows, 0.5),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * problem.n_rows,
        callback=stop_at_gap,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "maxcor": MEMORY,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    return Solution(_least_committed(problem, result.x, tol), int(result.nit))


class _Objective:
    """P and its gradient, remembering the gradient for the stopping test."""

    def __init__(self, problem: BoxProblem) -> None:
        self.problem = problem
        self.q = np.zeros(0)
        self.p = np.zeros(0)

    def __call__(self, q: Floats) -> tuple[float, Floats]:
        columns = self.problem.columns
        xi = columns.accumulate(q) - self.problem.target
        self.q, self.p = q.copy(), columns.project(xi)
        gradient = self.p if columns.weight is None else self.p * columns.weight
        return 0.5 * float(xi @ xi), gradient

    def gap_at(self, q: Floats) -> float:
        if not np.array_equal(q, self.q):
            self(q)
        return duality_gap(self.p, q, self.problem.columns.weight)


def _least_committed(problem: BoxProblem, q: Floats, tol: float) -> Floats:
    """Return the labelling closest to 1/2 that gives the same M q, unless it proves less."""
    reached = BoxProblem(problem.columns, problem.columns.accumulate(q), problem.loss_unit)
    closer = solve_newton(reached, tol, max_iter=1000).labels
    before, after = problem.judge(q), problem.judge(closer)
    return closer if after.gap <= max(before.gap, tol) else q
