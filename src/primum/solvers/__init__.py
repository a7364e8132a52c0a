"""Solvers of label problems; each is a function of the problem and a tolerance."""

from primum.labellings.problem import Solution
from primum.solvers.base import (
    ONE_NUMBER,
    SOLVERS,
    check_solver,
    solve,
    solve_problem,
)
from primum.solvers.implicit import ImplicitFit, fit_implicit, fit_least_squares, solve_and_prove
