"""What the supervised least-squares estimators share: their parameters and their fit."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

from primum._sklearn import Interval
from primum._threads import using_threads
from primum._typing import Floats
from primum.equations import equations_of
from primum.estimators._base import N_JOBS
from primum.labellings import LabeledRows, Model
from primum.rows import ArrayRows


class SupervisedLeastSquares:
    """A mixin: least squares on labelled rows, with a ridge on the mean loss."""

    solver_: str
    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "rcond": [Interval(Real, 0, 1, closed="left"), None],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        fit_intercept: bool = True,
        rcond: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.rcond = rcond
        self.n_jobs = n_jobs

    def _fitted_to(self, labeled: LabeledRows, known: Model | None) -> Model:
        """Fit to rows, or take a fit that is known, and return its (coefficients, intercept)."""
        if known is None:
            return self._fitter(labeled.X, labeled.weight)(labeled.y)
        # A known fit is of more rows than columns, for which _fitter solves normal equations, too.
        self.solver_, self.n_features_in_ = "normal_equations", labeled.X.shape[1]
        return known

    def _fitter(
        self, X: Any, weight: Floats | None = None
    ) -> Callable[[Floats], tuple[Floats, Any]]:
        """Return a function from labels of the rows to the (coefficients, intercept) of their fit.

        Calling it again for other labels is cheap.
        """
        rows = ArrayRows(X, weight=weight)
        with using_threads(self.n_jobs):
            equations = equations_of(
                [rows], alpha=self.alpha, fit_intercept=self.fit_intercept, rcond=self.rcond
            )
        design = equations.design(rows)
        last: list[Floats | None] = [None]  # warm start: other labels give a similar fit

        def fit(y: Floats) -> tuple[Floats, Any]:
            with using_threads(self.n_jobs):
                last[0] = gamma = equations.solve(design.weighted_sum(y), last[0])
            return equations.decode(gamma)

        self.solver_ = equations.solver
        self.n_features_in_ = X.shape[1]
        return fit
