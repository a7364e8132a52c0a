"""Solvers of label problems; each is a function of the problem and a tolerance."""

from primum.labellings.problem import Solution
from primum.solvers.implicit import (
    ONE_NUMBER,
    SOLVERS,
    ImplicitFit,
    check_solver,
    fit_implicit,
    fit_least_squares,
    solve,
    solve_and_prove,
    solve_problem,
)
