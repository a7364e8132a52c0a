"""Few rows in memory that stand for all rows: a surrogate of the problem, corrected by every pass.

Newton's method takes many passes where rows change sides in bulk: thousands of rows of a tight
cluster have nearly the same p, and a quadratic model of psi ends where the first of them is
decided. A surrogate made of rows knows about clusters. Its columns N are those of a sample of the
rows, weighted to represent all of them, and of rows that are known exactly:

    M Q  ~  N R + c,        c = M q(Xi) - N r(Xi),

where q(Xi) = project(centre - sigma p) and r(Xi) are the labels of all rows and of its own rows
at the last dual point Xi, so it is exact there. It is a label problem in memory: its solution is
the next dual point, and a pass gives the next c. Its error comes from rows that change sides
between two points and are not among the exact ones. The pass collects these and the rows close to
the hyperplane. In the end, all rows whose labels are still to be determined are exact; then the
labels of the surrogate are optimal for all rows.

If a great many rows are tied, because they are copies of each other or because some classes could
be told apart without an error, they cannot be collected. The next dual point is then that of the
surrogate's path at a finite sigma, where the labels of tied rows are a function of their p. Tied
rows are on a few faces of the label set, with a great many rows each, and the sample represents
those. All others are collected, and so are rows that have moved to or from one of those faces: a
single label that is not exact costs more than the tolerance.

The sample is not mapped to match the moments of all rows (``sample.py``): that would move clusters
by many times their width.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from primum._typing import Floats, Index, Mask
from primum.labellings.problem import FormedColumns, LabelProblem, centred, total_of
from primum.labellings.sets import keys_of, margins_of
from primum.labellings.streamed import RowSelection, SweptPoint
from primum.rows import joined_weights
from primum.solvers.all_rows import BestSoFar, SampledProblem, labels_on_path
from primum.solvers.newton import (
    MAX_STEPS_PER_SIGMA,
    SIGMA_GROWTH,
    Point,
    Stage,
    follow_path,
    minimise_psi,
    predicted_start,
)
from primum.solvers.open_labels import n_contrasts
from primum.solvers.sample import copies_in

# Surrogates, at most, each of which takes a pass or two: with more, Newton's steps on all rows are
# no slower.
MAX_SURROGATES = 12
# A pass collects about this many rows close to the hyperplane: few enough to be solved for exactly
# in no time.
CLOSE_ROWS = 2**12
# A row with at least this many copies in the sample is never collected: all its copies would be
# collected with it, and there are many times as many of them.
MIN_MANY_COPIES = 16
# At most this many rows are exact (or per dimension and contrast, or as many as a pass may collect,
# if that is more): those closest to the hyperplane, which a step is the most likely to move.
EXACT_ROWS, EXACT_PER_DIMENSION = 2**14, 8
# The path of a surrogate is entered at this fraction of the last sigma, two steps of the path back,
# or earlier: the new rows move its optimum.
ENTRY_SHARE = 1 / SIGMA_GROWTH**2
# Values of sigma after the optimum of a surrogate is known, at most: a guard, because the path ends
# as soon as undecided rows cost little.
MAX_EXTRA_SIGMAS = 20
# On the path, rows that are not decided may cost this fraction of the goal: little compared with
# what the surrogate itself may cost.
UNDECIDED_GAP_SHARE = 1e-2


@dataclass(frozen=True)
class SurrogateRows:
    """Rows in memory: columns of M with weights, the positions of these rows, numbers of copies.

    Copies in a sample are merged into one row at the position of the first.
    """

    columns: FormedColumns
    positions: Index
    copies: Index

    @classmethod
    def of(cls, columns: FormedColumns, positions: Index) -> Self:
        """Return rows without copies."""
        return cls(columns, positions, np.ones(len(positions), dtype=np.intp))

    @property
    def many(self) -> Mask:
        """Which rows have too many copies to be collected."""
        return self.copies >= MIN_MANY_COPIES

    def merged(self) -> "SurrogateRows":
        """Return the rows, those with many copies merged."""
        weight = np.ones(len(self.copies)) if self.columns.weight is None else self.columns.weight
        first, which = copies_in(self.columns)
        copies = np.bincount(which)
        merge = copies[which] >= MIN_MANY_COPIES
        kept = np.union1d(np.flatnonzero(~merge), first)
        totals = np.where(merge, np.bincount(which, weight)[which], weight)
        columns = FormedColumns(self.columns.matrix[:, kept], totals[kept])
        return SurrogateRows(columns, self.positions[kept], np.where(merge, copies[which], 1)[kept])

    def take(self, chosen: Index) -> "SurrogateRows":
        """Return some of the rows."""
        weight = self.columns.weight
        few = FormedColumns(
            self.columns.matrix[:, chosen], None if weight is None else weight[chosen]
        )
        return SurrogateRows(few, self.positions[chosen], self.copies[chosen])

    def without(self, positions: Index) -> "SurrogateRows":
        """Return the rows that are not at some positions."""
        return self.take(np.flatnonzero(~np.isin(self.positions, positions)))

    def joined(self, others: "SurrogateRows") -> "SurrogateRows":
        """Return these rows and others after them."""
        matrix = np.hstack([self.columns.matrix, others.columns.matrix])
        parts = [(len(part.positions), part.columns.weight) for part in (self, others)]
        return SurrogateRows(
            FormedColumns(matrix, joined_weights(parts)),
            np.concatenate([self.positions, others.positions]),
            np.concatenate([self.copies, others.copies]),
        )


def surrogate_at(
    point: SweptPoint, problem: LabelProblem, exact: SurrogateRows, sample: SurrogateRows
) -> LabelProblem:
    """Return the surrogate that is exact at a swept point."""
    rows = exact.joined(sample.without(exact.positions))
    labels = problem.labels.take(rows.positions)
    q = labels.project(labels.centre - point.sigma * rows.columns.project(point.xi))
    fixed = point.Mq - centred(rows.columns.accumulate(q))
    return replace(
        problem,
        columns=rows.columns,
        labels=labels,
        target=problem.target - fixed,
        prior=None if problem.prior is None else problem.prior.without(fixed),
    )


def follow_surrogates(
    full: SampledProblem, sample: SurrogateRows, start: Stage, tol: float, max_iter: int
) -> tuple[BestSoFar, int]:
    """Return (the best labelling found with surrogates, iterations): a pass for each."""
    goal = full.problem.gap_within(tol)
    iterations = start.iterations
    labels, columns = full.problem.labels, full.columns
    best, exact = BestSoFar(np.inf, start.xi, feasible=False), sample.take(np.arange(0))
    copied = sample.take(np.flatnonzero(sample.many)).columns
    xi = start.xi
    sigma = start.sigma
    close = RowSelection(start.sigma / 2.0, full.largest_band)
    for _ in range(MAX_SURROGATES):
        # A pass, which collects no rows with many copies: those with their p (of the first class).
        p = copied.project(xi)
        apart = np.sort(p if p.ndim == 1 else p[:, 0])
        point = columns.look(labels, xi, sigma, replace(close, apart=apart))
        point = replace(point, Mq=centred(point.Mq))
        best = min((best, labels_on_path(full, point, goal)), key=lambda labelling: labelling.order)
        if best.suffices(goal) or iterations >= max_iter:
            break

        # The exact rows, and those that the pass has collected: not too many.
        if point.can_be_solved and point.band is not None:
            band = FormedColumns(*point.band.columns(columns.B))
            collected = SurrogateRows.of(band, point.band.positions)
            exact = collected.joined(exact.without(collected.positions))
            most = EXACT_PER_DIMENSION * columns.shape[0] * n_contrasts(labels)
            most = max(EXACT_ROWS, most, full.largest_band)
            if len(exact.positions) > most:
                margins = margins_of(labels.take(exact.positions), exact.columns.project(xi))
                exact = exact.take(np.argpartition(margins, most)[:most])

        # The next dual point, that of the surrogate.
        surrogate = surrogate_at(point, full.problem, exact, sample)
        enter = min(close.sigma, ENTRY_SHARE * sigma), xi
        last, steps = _solve(surrogate, enter, tol, max_iter - iterations)
        iterations += steps

        # A sigma at which a pass collects about CLOSE_ROWS rows, undecided ones aside.
        weight = surrogate.columns.weight
        decided = keys_of(surrogate.labels.open(last.q)) == 0
        margins = margins_of(surrogate.labels, last.p)[decided]
        order = np.argsort(margins)
        count = np.cumsum((np.ones(len(last.q)) if weight is None else weight)[decided][order])
        some = int(np.searchsorted(count, min(CLOSE_ROWS, 0.25 * full.largest_band)))
        width = margins[order[min(some, len(order) - 1)]] if len(order) else 0.0
        close = replace(
            close,
            sigma=float(1.0 / max(width, 1e-300)),
            before=xi,
            sigma_before=sigma,
            common=_common_faces(surrogate, last, 0.5 * close.limit),
        )
        xi, sigma = last.xi, last.sigma
    return best, iterations


def _solve(
    problem: LabelProblem, start: tuple[float, Floats], tol: float, max_iter: int
) -> tuple[Point, int]:
    """Return (a point of the path of a surrogate where labels cost next to nothing, steps).

    The path is entered at ``start``, (sigma, Xi).
    """
    columns = problem.columns
    labels = problem.labels
    previous = None
    enough = UNDECIDED_GAP_SHARE * problem.gap_within(tol)

    def cost_of(last: Point) -> float:
        return total_of(labels.slack(last.p, last.q), columns.weight)

    for stage in follow_path(problem, tol, max_iter, start):
        p = columns.project(stage.xi)
        steps = stage.iterations
        q = labels.project(labels.centre - stage.sigma * p)
        last = Point(stage.sigma, stage.xi, p, q)
        if stage.sigma > 0 and cost_of(last) <= enough:
            return last, steps
    # The optimum may be known before the path gets that close to it.
    for _ in range(MAX_EXTRA_SIGMAS):
        if steps >= max_iter:
            break
        sigma = max(last.sigma * SIGMA_GROWTH, start[0])
        xi, p = last.xi, last.p
        if last.sigma > 0:
            xi, p = predicted_start(problem, sigma, last, previous)
        most = min(MAX_STEPS_PER_SIGMA, max_iter - steps)
        previous = last
        last, _, further_steps = minimise_psi(problem, sigma, xi, p, most)
        steps += further_steps
        if cost_of(last) <= enough:
            break
    return last, steps


def _common_faces(surrogate: LabelProblem, last: Point, most: float) -> tuple[int, ...]:
    """Return the keys of the commonest faces; at most ``most`` rows are on the others."""
    weight = surrogate.columns.weight
    keys, which = np.unique(keys_of(surrogate.labels.open(last.q)), return_inverse=True)
    counts = np.bincount(which, weight) * (keys != 0)  # rows of key 0 are decided
    order = np.argsort(counts)
    return tuple(keys[order[np.cumsum(counts[order]) > most]].tolist())
