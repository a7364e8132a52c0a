"""All models of a grid on one training set, with as little repeated work as possible.

once                the moments of the unlabelled rows
per training set    those of its labelled rows; the singular values of few rows
per alpha           one factorisation, one matrix of the unlabelled rows for all metrics
per metric          a solution that starts from that of the previous metric, and is proven
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.equations import Moments, RidgePath
from primum.labellings import (
    ImplicitProblem,
    LabeledRows,
    LabelSet,
    LeastSquaresFamily,
    Shares,
    Witness,
    implicit_problems,
    is_proven,
    metric_of_rows,
    with_prior,
)
from primum.rows import Rows
from primum.solvers import solve_implicit

# Coefficients (d,) and intercept of the score, or (d, K) and (K,) for several classes.
Model = tuple[Floats, Any]


@dataclass(frozen=True)
class Grid:
    """The grid of a search, and what all of its models have in common.

    ``alpha_labeled`` None means that it is tuned together with alpha.
    """

    alphas: Sequence[float]
    metrics: Sequence[str | float]
    fit_intercept: bool
    alpha_labeled: float | None = None
    tol: float = 1e-8
    max_iter: int = 10000

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points of the grid in order, as parameters of an estimator."""
        return [{"alpha": alpha, "metric": m} for alpha in self.alphas for m in self.metrics]


def supervised_models(
    labeled: LabeledRows, alphas: Sequence[float], fit_intercept: bool
) -> Iterator[Model]:
    """Yield the supervised model of every alpha."""
    path = RidgePath([labeled.rows], fit_intercept)
    for alpha in alphas:
        equations = path.at(alpha)
        sums = equations.design(labeled.rows).weighted_sum(labeled.y)
        yield equations.decode(equations.solve(sums))


@dataclass(frozen=True)
class TrainingSet:
    """Labelled rows, unlabelled rows, and the moments and possible labels of the latter.

    ``shares`` are bounds on their mean label, if there is a prior.
    """

    labeled: LabeledRows
    unlabeled: Rows
    moments: Moments | None
    labels: LabelSet | None = None
    shares: Shares | None = None

    def constrained_models(self, grid: Grid, twins: Sequence[Model]) -> list[tuple[Model, bool]]:
        """Return (model, whether it is proven) of every alpha and, for each, every metric.

        ``twins`` are the supervised models of every alpha.
        """
        # Large ridges first: their problems are the easiest to solve without a start.
        order = np.argsort(-np.asarray(grid.alphas), kind="stable").tolist()
        solved = dict(zip(order, self._in_order(grid, twins, order), strict=True))
        return [found for number in range(len(order)) for found in solved[number]]

    def _in_order(
        self, grid: Grid, twins: Sequence[Model], order: Sequence[int]
    ) -> Iterator[list[tuple[Model, bool]]]:
        """Yield the models of all metrics for each of some alphas."""
        parts = [self.labeled.rows, self.unlabeled]
        path, start = RidgePath(parts, grid.fit_intercept, self.moments), None
        metrics = [metric_of_rows(m, self.labeled, grid.fit_intercept) for m in grid.metrics]
        for alpha, twin in ((grid.alphas[number], twins[number]) for number in order):
            equations = path.at(alpha)
            family = LeastSquaresFamily(equations, self.labeled, equations.design(self.unlabeled))
            problems = implicit_problems(
                family,
                metrics=metrics,
                alpha_labeled=alpha if grid.alpha_labeled is None else grid.alpha_labeled,
                supervised=twin,
                labels=self.labels,
            )
            labellings, proven = [], []
            for problem in self._within_prior(problems, family):
                q, is_optimal = _solve(problem, grid, start)
                start = q if isinstance(q, np.ndarray) else None
                labellings.append(q)
                proven.append(is_optimal)
            gammas = _gammas(family, labellings)
            yield list(zip(map(equations.decode, gammas), proven, strict=True))

    def _within_prior(
        self, problems: Sequence[ImplicitProblem], family: LeastSquaresFamily
    ) -> Sequence[ImplicitProblem]:
        if self.shares is None:
            return problems
        return [with_prior(problem, family, self.shares) for problem in problems]


def _gammas(family: LeastSquaresFamily, labellings: Sequence[Any]) -> list[Floats]:
    """Return the coordinates of the fits to several labellings: in memory, one pass for all."""
    if not all(isinstance(q, np.ndarray) for q in labellings):
        return [family.gamma(q) for q in labellings]
    several = labellings[0].ndim == 2
    moments = family.unlabeled.weighted_sum(np.column_stack(labellings))
    each = np.split(moments, len(labellings), axis=1)
    return [family.gamma_of(moment if several else moment[:, 0]) for moment in each]


def _solve(problem: ImplicitProblem, grid: Grid, start: Floats | None) -> tuple[Any, bool]:
    """Return a labelling, and whether it is proven to be optimal."""
    solution = solve_implicit(
        problem, solver="auto", tol=grid.tol, max_iter=grid.max_iter, start=start
    )
    if solution.proven or problem.problem.n_rows == 0:
        return solution.labels, True
    witness = Witness(solution.dual, solution.pull, multipliers=solution.multipliers)
    return solution.labels, is_proven(problem, solution.labels, tol=grid.tol, witness=witness)
