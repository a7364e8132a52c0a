"""Ways to solve the box problem; each is a function of the problem and a tolerance."""

from primum.solvers.base import SOLVERS, Solution, solve

__all__ = ["SOLVERS", "Solution", "solve"]
