"""Solvers of the box problem; each is a function of the problem and a tolerance."""

from primum.solvers.base import SOLVERS, Solution, chosen_solver, solve, solve_implicit

__all__ = ["SOLVERS", "Solution", "chosen_solver", "solve", "solve_implicit"]
