"""One last pass over the rows that measures everything a fit reports about them.

Once a labelling and its model are known, the sum of the design rows times the labels, the slack of
every row, the predictions that differ from the twin's and the labels themselves need the same
products with the rows. So all of them are computed together, from scratch: the certificate relies
on none of the solver's sums.

A solver for many rows ends with a pass that measures the gap of its labels; this same pass does so
(``LastPass.measure``). It needs the model beforehand, which is computed from the solver's own sum
of the design rows times their labels. The pass recomputes that sum from scratch; if it gives a
different model, one more pass is made.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.equations import Frame, Linear, View
from primum.equations.coordinates import EPS
from primum.labellings.family import LeastSquaresFamily
from primum.labellings.implicit import ImplicitProblem
from primum.labellings.labelling import HyperplaneLabels, Labelling
from primum.labellings.problem import LabelProblem, Solution
from primum.labellings.sets import sets_at
from primum.rows import library_of, to_numpy

# Sums over rows that differ by less than this fraction count as equal: rounding leaves less.
ROW_SUM_TOLERANCE = 1e-9
# Sums of rows in single precision differ by more. Models then count as equal if the root mean
# square difference of their scores is at most this, half of ``certificate.SCORE_TOLERANCE``.
SINGLE_TOLERANCE = 5e-7


@dataclass(frozen=True)
class PassMeasures:
    """The measurements of one pass.

    Attributes
    ----------
    squares : float
        Weighted sum over the rows of the squared differences between two models' scores, summed
        over the classes if there are several.
    changed : int
        Number of rows with different predicted classes.
    moment : array or None
        Sum of the design rows times their labels and weights.
    slack : float or None
        Weighted sum of ``slack(p, q)``, ``P = M'Xi``.
    labels : array or None
        The labels of all rows, on their device.
    """

    squares: Any
    changed: Any
    moment: Any = None
    slack: Any = None
    labels: Any = None

    def __add__(self, other: "PassMeasures") -> "PassMeasures":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return PassMeasures(*(None if mine is None else mine + others for mine, others in pairs))


@dataclass(frozen=True)
class ScoreComparison:
    """Compares the scores of two models, (coefficients, intercept), row by row.

    Differences between scores up to their rounding do not count as a change of the class.
    """

    one: Linear
    other: Linear
    rounding: float

    def directions(self, frame: Frame) -> Floats:
        """Return the coefficients of both models for design rows, as columns."""
        models = (self.one, self.other)
        return np.column_stack([frame.coefficients(*model) for model in models])

    def read(self, view: View, scores: Any) -> PassMeasures:
        """Return the squares and changes of some rows, from the scores of all directions."""
        half, xp = scores.shape[0] // 2, view.xp
        difference = (scores[:half, :] - scores[half:, :]).T
        apart = _on_different_sides if half == 1 else _of_different_classes
        if half == 1:  # a dot product, which needs no temporary array
            difference = difference[:, 0]
        squares = view.product(difference, difference)
        return PassMeasures(squares, xp.count_nonzero(apart(view, scores, self.rounding)))


@dataclass(frozen=True)
class LabellingToMeasure:
    """A labelling, and what to measure about it.

    Attributes
    ----------
    q : Labelling
        The labelling.
    xi : array or None
        A dual point of the problem at which the slack is measured.
    problem : LabelProblem
        The problem.
    keep : bool
        Whether to keep the label of every row.
    """

    q: Labelling
    xi: Floats | None
    problem: LabelProblem
    keep: bool = False

    def directions(self, n_entries: int) -> list[Floats]:
        """Return the coefficients of P at Xi, and of the hyperplane of the labels."""
        streamed, parts = self.problem.columns.streamed, []
        if self.xi is not None and streamed is not None:
            parts.append(streamed.B.T @ self.xi)
        if self.q.hyperplane is not None:
            parts.append(self.q.hyperplane.V)
        return [part.reshape(-1, n_entries) for part in parts]


def measure_rows(
    family: LeastSquaresFamily, scores: ScoreComparison, labelling: LabellingToMeasure | None = None
) -> PassMeasures:
    """Measure the unlabelled rows, and compare the scores of all rows: one pass."""
    equations, total = family.equations, PassMeasures(0.0, 0)
    labeled = equations.design(family.labeled.rows).add_up(_kernel(equations.frame, scores))
    if family.unlabeled.n_rows:
        total = family.unlabeled.add_up(_kernel(equations.frame, scores, labelling))
    return PassMeasures(
        float(labeled.squares) + float(total.squares),
        int(total.changed),
        None if total.moment is None else to_numpy(total.moment),
        None if total.slack is None else float(total.slack),
        None if total.labels is None else library_of(total.labels[0]).concat(total.labels, axis=0),
    )


def _kernel(
    frame: Frame, scores: ScoreComparison, labelling: LabellingToMeasure | None = None
) -> Callable[[View], PassMeasures]:
    """Return the kernel of the pass, which computes all products with the rows as one."""
    models = scores.directions(frame)
    if labelling is None:
        return lambda view: scores.read(view, view.dot_by_column(models))
    q, plane = labelling.q, labelling.q.hyperplane
    K, labels = models.shape[1] // 2, labelling.problem.labels
    V = np.concatenate([models, *labelling.directions(K)], axis=1)

    def columns_from(P: Any, first: int) -> Any:
        return P[first : first + K, :].T if K > 1 else P[first, :]

    def measures_of(view: View) -> PassMeasures:
        P, slack = view.dot_by_column(V), None
        of_rows = plane.from_p(view, columns_from(P, P.shape[0] - K)) if plane else q(view)
        if labelling.xi is not None:
            slack = view.total(sets_at(labels, view).slack(columns_from(P, 2 * K), of_rows))
        return replace(
            scores.read(view, P[: 2 * K, :]),
            moment=view.sum(of_rows),
            slack=slack,
            labels=[of_rows] if labelling.keep else None,
        )

    return measures_of


def _on_different_sides(view: View, scores: Any, rounding: float) -> Any:
    """Return where the two rows of scores are on different sides of 1/2."""
    one, other = scores[0, :] - 0.5, scores[1, :] - 0.5
    low, high = view.xp.minimum(one, other), view.xp.maximum(one, other)
    return (low < -rounding) & (high > rounding)


def _of_different_classes(view: View, scores: Any, rounding: float) -> Any:
    """Return where the first K scores and the last K are largest for different classes.

    Both models must prefer their own class to the other's by more than the rounding of two scores.
    """
    xp, K = view.xp, scores.shape[0] // 2
    one, other, classes = scores[:K, :], scores[K:, :], view.convert(np.arange(K))[:, None]
    chosen, by_other = (
        xp.astype(xp.argmax(some, axis=0)[None, :] == classes, xp.float64) for some in (one, other)
    )
    apart = xp.sum((chosen - by_other) * one, axis=0) > 2 * rounding
    return apart & (xp.sum((by_other - chosen) * other, axis=0) > 2 * rounding)


# (model, its measurements, (dual point, sum of the slacks there) or None)
Measured = tuple[Linear, PassMeasures, tuple[Floats, float] | None]


@dataclass(frozen=True)
class _MeasuredLabelling:
    """The measurements of a labelling at a dual point, given its presumed sum and model."""

    q: Labelling
    moment: Floats
    gamma: Floats
    xi: Floats | None
    measures: PassMeasures


@dataclass
class LastPass:
    """Measures labellings, and remembers the last measurements.

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
    twin: Linear
    keep: bool
    _last: _MeasuredLabelling | None = field(default=None, init=False)

    def measure(self, xi: Floats, q: HyperplaneLabels, moment: Floats) -> tuple[Floats, float]:
        """Return the sum of the design rows times q, and the sum of the slacks at Xi: one pass.

        ``moment`` is the solver's own value of the first sum.
        """
        self._last = self._read(q, moment, xi)
        return self._last.measures.moment, self._last.measures.slack

    def of(self, solution: Solution) -> Measured:
        """Return the model of a solution and its measurements: one pass, unless already made."""
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
            moment = last.measures.moment
            last = self._read(q, moment, self._residual(q, moment))
            gamma = last.gamma
        slack = None if last.xi is None else (last.xi, last.measures.slack)
        return self.family.equations.decode(gamma), last.measures, slack

    def _of_given_labels(self, q: Floats, moment: Floats) -> Measured:
        fit = self.family.equations.decode(self.family.gamma_of(moment))
        measures = measure_rows(self.family, self._comparison(fit))
        return fit, replace(measures, moment=moment, labels=q if self.keep else None), None

    def _residual(self, q: Labelling, moment: Floats) -> Floats | None:
        """Return ``M Q - T``, if the certificate uses the slack at this point."""
        return self.implicit.problem.residual(q, moment) if self.implicit.prior is None else None

    def _read(self, q: Labelling, moment: Floats, xi: Floats | None) -> _MeasuredLabelling:
        gamma = self.family.gamma_of(moment)
        scores = self._comparison(self.family.equations.decode(gamma))
        labelling = LabellingToMeasure(q, xi, self.implicit.problem, keep=self.keep)
        return _MeasuredLabelling(
            q, moment, gamma, xi, measure_rows(self.family, scores, labelling)
        )

    def _comparison(self, fit: Linear) -> ScoreComparison:
        return ScoreComparison(fit, self.twin, score_rounding(self.family, self.twin))

    def _gamma_of(self, last: _MeasuredLabelling) -> Floats | None:
        """Return the coordinates of the model; None if another model was measured."""
        presumed, measured = last.moment, last.measures.moment
        if np.linalg.norm(presumed - measured) <= ROW_SUM_TOLERANCE * np.linalg.norm(measured):
            return last.gamma
        if not self.family.unlabeled.rows.single:
            return None
        gamma, equations = self.family.gamma_of(measured), self.family.equations
        same = equations.length(gamma - last.gamma) <= SINGLE_TOLERANCE * equations.weight**0.5
        return gamma if same else None


def score_rounding(family: LeastSquaresFamily, twin: Linear) -> float:
    """Return the rounding error of a score, given the size of its summands."""
    coef, intercept = twin
    summands = np.max(np.abs(intercept) + np.abs(family.equations.center) @ np.abs(coef))
    return float(8 * EPS * summands)  # a sum of two products, and those of its factors
