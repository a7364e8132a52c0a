"""L-BFGS-B (SciPy), a first-order method in U variables, as used in the paper.

It starts at the centre of the intervals and stops once the proven gap is within the tolerance. Each
variable is scaled by the length of its column of M, so that one outlying row does not slow down all
others. If SciPy stops early, it is restarted from there, as long as that helps.

If there are several optima, it may end at any of them. The objective depends only on M q, so the
solution is the labelling closest to the centres with the same M q.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from primum._typing import Floats
from primum.labellings.problem import LabelProblem, Solution, total_of
from primum.solvers.newton import solve_newton

# Steps that L-BFGS-B remembers, twice as many as by SciPy's default: they cost little compared with
# a gradient.
LBFGSB_MEMORY = 20
# Where SciPy gives up early, it is started again from there, at most this often: a guard, because
# each start makes progress.
MAX_LBFGSB_STARTS = 100


def solve_lbfgsb(problem: LabelProblem, tol: float, max_iter: int) -> Solution:
    """Return the optimal labelling closest to the centres, as far as precision allows."""
    objective = _Objective(problem)
    z = objective.lengths * problem.labels.centre
    enough = problem.gap_within(tol)
    iterations = 0
    value = np.inf
    for _ in range(MAX_LBFGSB_STARTS):
        left = max_iter - iterations
        result = minimise_to_gap(objective, z, objective.bounds, objective.gap_at, enough, left)
        # SciPy counts no iterations if the bounds of every variable are equal.
        z = result.x
        iterations = iterations + int(result.get("nit", 0))
        stuck = result.fun >= value
        if stuck or iterations >= max_iter or objective.gap_at(z) <= enough:
            break
        value = result.fun
    q = objective.labels(z)
    # Of all labellings with this M q, take the one closest to the centres, unless its gap is worse.
    reached = replace(problem, target=problem.columns.accumulate(q))
    closer = solve_newton(reached, tol, max_iter - iterations)
    before, after = problem.judge(q), problem.judge(closer.labels)
    if after.within(tol) or after.gap <= before.gap:
        return replace(closer, iterations=iterations + closer.iterations)
    return Solution(q, iterations + closer.iterations)


def minimise_to_gap(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Bounds,
    gap_at: Callable[[Floats], float],
    gap: float,
    max_iter: int,
) -> OptimizeResult:
    """Return SciPy's result for an objective and its gradient, stopped once the gap is small."""

    def stop_at_gap(intermediate_result: OptimizeResult) -> None:
        if gap_at(intermediate_result.x) <= gap:
            raise StopIteration

    return minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=stop_at_gap,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "maxcor": LBFGSB_MEMORY,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )


class _Objective:
    """P and its gradient in scaled variables; stores p for the stopping criterion."""

    def __init__(self, problem: LabelProblem) -> None:
        self.problem = problem
        lengths = problem.columns.lengths()
        # Columns that are rounding are not stretched: their labels hardly matter.
        self.lengths = np.where(lengths > 1e-12 * lengths.max(), lengths, 1.0)
        self.z = np.zeros(0)
        self.p = np.zeros(0)

    @property
    def bounds(self) -> Bounds:
        best = self.problem.labels.best
        ones = np.ones(self.problem.columns.shape[1])
        return Bounds(self.lengths * best(ones), self.lengths * best(-ones))

    def labels(self, z: Floats) -> Floats:
        return np.asarray(self.problem.labels.project(z / self.lengths))

    def __call__(self, z: Floats) -> tuple[float, Floats]:
        columns = self.problem.columns
        xi = columns.accumulate(self.labels(z)) - self.problem.target
        self.z, self.p = z.copy(), columns.project(xi)
        gradient = self.p if columns.weight is None else self.p * columns.weight
        return 0.5 * float(xi @ xi), gradient / self.lengths

    def gap_at(self, z: Floats) -> float:
        if not np.array_equal(z, self.z):
            self(z)
        slack = self.problem.labels.slack(self.p, self.labels(z))
        return total_of(slack, self.problem.columns.weight)
