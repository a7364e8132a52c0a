"""Of all labellings with the same M q, the one closest to 1/2.

For solvers that find an arbitrary optimum: the objective depends only on M q, so moving to the
closest labelling with the same M q does not change it.
"""

from dataclasses import replace

from primum._typing import Floats
from primum.labellings import LabelProblem
from primum.solvers.newton import solve_newton


def least_committed(problem: LabelProblem, q: Floats, tol: float) -> Floats:
    """Return the labelling closest to 1/2 with the same M q, unless its proven gap is worse."""
    reached = replace(problem, target=problem.columns.accumulate(q))
    closer = solve_newton(reached, tol, max_iter=1000).labels
    before, after = problem.judge(q), problem.judge(closer)
    return closer if after.within(tol) or after.gap <= before.gap else q
