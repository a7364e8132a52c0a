"""One last pass over the rows that measures everything a fit reports of them.

Once a labelling and its model are known, the sum of the design rows times the labels, the slack of
every row, the predictions that differ from the twin's and the labels themselves need the same
products with the rows. So all of them are computed together, from scratch: the certificate relies
on no sum of the solver.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np

from primum._sklearn import library_of
from primum._typing import Floats
from primum.equations import Frame, RowValues, View
from primum.labellings.columns import StreamedColumns
from primum.labellings.implicit import LeastSquaresFamily
from primum.labellings.labelling import HyperplaneLabels
from primum.labellings.problem import LabelProblem
from primum.rows import Block, to_numpy

Model = tuple[Floats, Any]


@dataclass(frozen=True)
class Reading:
    """What was measured.

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

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(
            self.squares + other.squares,
            self.changed + other.changed,
            None if self.moment is None else self.moment + other.moment,
            None if self.slack is None else self.slack + other.slack,
            None if self.labels is None else self.labels + other.labels,
        )


@dataclass(frozen=True)
class ScoreComparison:
    """Compares the scores of two models, (coefficients, intercept), row by row.

    Differences between scores up to their rounding do not count as a change of the class.
    """

    one: Model
    other: Model
    rounding: float

    def directions(self, frame: Frame) -> Floats:
        """Return the coefficients of both models for design rows, as columns."""
        models = (self.one, self.other)
        return np.column_stack([frame.coefficients(*model) for model in models])

    def read(self, view: View, scores: Any) -> Reading:
        """Return the squares and changes of some rows, from the scores of all directions."""
        half, xp = scores.shape[0] // 2, view.xp
        difference = (scores[:half, :] - scores[half:, :]).T
        apart = _on_different_sides if half == 1 else _of_different_classes
        if half == 1:  # a dot product, which needs no temporary array
            difference = difference[:, 0]
        squares = view.product(difference, difference)
        return Reading(squares, xp.count_nonzero(apart(view, scores, self.rounding)))


@dataclass(frozen=True)
class LabellingToRead:
    """A labelling, and what to measure of it.

    Attributes
    ----------
    q : RowValues
        The labelling.
    xi : array or None
        A dual point of the problem at which the slack is measured.
    problem : LabelProblem
        The problem.
    keep : bool
        Whether to keep the label of every row.
    """

    q: RowValues
    xi: Floats | None
    problem: LabelProblem
    keep: bool = False

    def directions(self, n_entries: int) -> list[Floats]:
        """Return the coefficients of P at Xi, and of the hyperplane of the labels."""
        columns, parts = self.problem.columns, []
        if self.xi is not None:
            assert isinstance(columns, StreamedColumns)
            parts.append(columns.B.T @ self.xi)
        if isinstance(self.q, HyperplaneLabels):
            parts.append(self.q.V)
        return [part.reshape(-1, n_entries) for part in parts]


def read_rows(
    family: LeastSquaresFamily, scores: ScoreComparison, labelling: LabellingToRead | None = None
) -> Reading:
    """Measure the unlabelled rows, and compare the scores of all rows: one pass."""
    frame = family.equations.frame
    total = family.labeled.rows.map_reduce(_comparison(frame, scores), add)
    found = Reading(0.0, 0)
    if family.unlabeled.n_rows:
        kernel = (
            _comparison(frame, scores) if labelling is None else _kernel(frame, scores, labelling)
        )
        found = family.unlabeled.rows.map_reduce(kernel, add)
    return Reading(
        float(total.squares) + float(found.squares),
        int(found.changed),
        None if found.moment is None else to_numpy(found.moment),
        None if found.slack is None else float(found.slack),
        None if found.labels is None else _joined(found.labels),
    )


def _comparison(frame: Frame, scores: ScoreComparison) -> Callable[[Block], Reading]:
    V = scores.directions(frame)

    def block_reading(block: Block) -> Reading:
        view = frame.view(block)
        return scores.read(view, view.dot_by_column(V))

    return block_reading


def _kernel(
    frame: Frame, scores: ScoreComparison, labelling: LabellingToRead
) -> Callable[[Block], Reading]:
    """Return the kernel of the pass, with all products of the rows as one."""
    models, q = scores.directions(frame), labelling.q
    K, labels = models.shape[1] // 2, labelling.problem.labels
    V = np.concatenate([models, *labelling.directions(K)], axis=1)

    def columns_from(P: Any, first: int) -> Any:
        return P[first : first + K, :].T if K > 1 else P[first, :]

    def block_reading(block: Block) -> Reading:
        view = frame.view(block)
        P, slack = view.dot_by_column(V), None
        if isinstance(q, HyperplaneLabels):
            of_rows = q.given(view, columns_from(P, P.shape[0] - K))
        else:
            of_rows = q(view)
        if labelling.xi is not None:
            slack = view.total(labels.at(view).slack(columns_from(P, 2 * K), of_rows))
        return replace(
            scores.read(view, P[: 2 * K, :]),
            moment=view.sum(of_rows),
            slack=slack,
            labels=[of_rows] if labelling.keep else None,
        )

    return block_reading


def _joined(parts: list[Any]) -> Any:
    return library_of(parts[0]).concat(parts, axis=0)


def _on_different_sides(view: View, scores: Any, rounding: float) -> Any:
    """Return where the two rows of scores are on different sides of 1/2."""
    one, other = scores[0, :] - 0.5, scores[1, :] - 0.5
    low, high = view.xp.minimum(one, other), view.xp.maximum(one, other)
    return (low < -rounding) & (high > rounding)


def _of_different_classes(view: View, scores: Any, rounding: float) -> Any:
    """Return where the largest of the first K scores and of the last K are of different classes.

    Both models must prefer their own class to the other's by more than the rounding of two scores.
    """
    xp, K = view.xp, scores.shape[0] // 2
    one, other, classes = scores[:K, :], scores[K:, :], view.like(np.arange(K))[:, None]
    chosen, by_other = (
        xp.astype(xp.argmax(some, axis=0)[None, :] == classes, xp.float64) for some in (one, other)
    )
    own = xp.sum((chosen - by_other) * one, axis=0) > 2 * rounding
    return own & (xp.sum((by_other - chosen) * other, axis=0) > 2 * rounding)
