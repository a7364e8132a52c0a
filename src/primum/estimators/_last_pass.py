"""The last pass over the rows of an implicitly constrained fit.

A solver for many rows ends with a pass that measures the gap of its labels. Everything that a fit
reports of the rows is measured in that pass, too (``reading.py``). This needs the model before the
pass, so it is computed from the solver's value of the sum of the design rows times their labels.
The pass computes that sum from scratch. If the result gives a different model, one more pass is
made.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from primum._typing import Floats
from primum.equations import RowValues
from primum.labellings import (
    HyperplaneLabels,
    ImplicitProblem,
    LabellingToRead,
    LeastSquaresFamily,
    Model,
    Reading,
    ScoreComparison,
    StreamedColumns,
    read_rows,
)
from primum.solvers import Solution

# Sums over rows that differ by less than this fraction differ by rounding.
SAME_SUMS = 1e-9
# Sums of rows in single precision differ by more. Models then count as equal if the root mean
# square difference of their scores is at most this.
SAME_SCORES = 5e-7

# (model, what was measured, (dual point, sum of the slacks there) or None)
Measured = tuple[Model, Reading, tuple[Floats, float] | None]


@dataclass(frozen=True)
class _Read:
    """What was read of a labelling at a dual point, given its presumed sum and model."""

    q: RowValues
    moment: Floats
    gamma: Floats
    xi: Floats | None
    reading: Reading


@dataclass
class LastPass:
    """Measures labellings, and remembers what it has measured last.

    Attributes
    ----------
    family : LeastSquaresFamily
        The models of all labellings.
    implicit : ImplicitProblem
        The problem whose gap is measured.
    twin : (coefficients, intercept)
        The supervised twin.
    keep : bool
        Whether to keep the label of every row.
    """

    family: LeastSquaresFamily
    implicit: ImplicitProblem
    twin: Model
    keep: bool
    _last: _Read | None = field(default=None, init=False)

    def measure(self, xi: Floats, q: HyperplaneLabels, moment: Floats) -> tuple[Floats, float]:
        """Return the sum of the design rows times q, and the sum of the slacks at Xi: one pass.

        ``moment`` is what the solver presumes the first one to be.
        """
        self._last = self._read(q, moment, xi)
        return self._last.reading.moment, self._last.reading.slack

    def of(self, solution: Solution) -> Measured:
        """Return the model of a solution and what was measured of it: a pass, if not done yet."""
        q, moment = solution.labels, solution.moment
        if moment is None:
            moment = self.family.unlabeled.weighted_sum(q)
        if isinstance(q, np.ndarray):
            return self._of_given_labels(q, moment)
        last = self._last
        if last is None or last.q is not q:
            last = self._read(q, moment, self._residual(q, moment))
        gamma = self._gamma_of(last)
        if gamma is None:
            moment = last.reading.moment
            last = self._read(q, moment, self._residual(q, moment))
            gamma = last.gamma
        slack = None if last.xi is None else (last.xi, last.reading.slack)
        return self.family.equations.decode(gamma), last.reading, slack

    def _of_given_labels(self, q: Floats, moment: Floats) -> Measured:
        fit = self.family.equations.decode(self.family.gamma_of(moment))
        reading = read_rows(self.family, self._comparison(fit))
        return fit, replace(reading, moment=moment, labels=q if self.keep else None), None

    def _residual(self, q: RowValues, moment: Floats) -> Floats | None:
        """Return ``M Q - T``, if the certificate is to use the slack at this point."""
        problem = self.implicit.problem
        if self.implicit.prior is None and isinstance(problem.columns, StreamedColumns):
            return problem.residual(q, moment)
        return None

    def _read(self, q: RowValues, moment: Floats, xi: Floats | None) -> _Read:
        gamma = self.family.gamma_of(moment)
        scores = self._comparison(self.family.equations.decode(gamma))
        labelling = LabellingToRead(q, xi, self.implicit.problem, keep=self.keep)
        return _Read(q, moment, gamma, xi, read_rows(self.family, scores, labelling))

    def _comparison(self, fit: Model) -> ScoreComparison:
        return ScoreComparison(fit, self.twin, score_rounding(self.family, self.twin))

    def _gamma_of(self, last: _Read) -> Floats | None:
        """Return the coordinates of the model; None if what was read is of another one."""
        presumed, found = last.moment, last.reading.moment
        if np.linalg.norm(presumed - found) <= SAME_SUMS * np.linalg.norm(found):
            return last.gamma
        if not self.family.unlabeled.rows.single:
            return None
        gamma, equations = self.family.gamma_of(found), self.family.equations
        same = equations.length(gamma - last.gamma) <= SAME_SCORES * equations.weight**0.5
        return gamma if same else None


def score_rounding(family: LeastSquaresFamily, twin: Model) -> float:
    """Return the rounding error of a score, given the size of its summands."""
    coef, intercept = twin
    summands = np.max(np.abs(intercept) + np.abs(family.equations.center) @ np.abs(coef))
    return float(8 * np.finfo(float).eps * summands)
