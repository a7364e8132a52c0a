"""The certificate: a proof of how good a fit is.

It is computed from the problem and the solution alone. It does not rely on the solver, so a wrong
solution cannot be certified.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from primum.equations.coordinates import EPS
from primum.labellings.implicit import ImplicitProblem, share_of_all
from primum.labellings.prior import PriorProof
from primum.labellings.prior_problem import PriorProblem
from primum.labellings.problem import LOSS_ROUNDING, LabelProblem, ProvenGap, Solution

# Shares of a converged fit may be outside their bounds by this much: a hundred times what the
# solvers leave (``prior.MET_TOLERANCE``), and far below one row in most tables.
SHARE_TOLERANCE = 1e-8
# Scores whose root mean square difference is below this count as equal: scores are of order 1, and
# nobody reads them to six digits.
SCORE_TOLERANCE = 1e-6
# A score difference up to this size that the gap can explain does not count as a move: it changes
# only predictions of rows at the boundary.
MAX_EXPLAINED_SHIFT = 1e-4
# The attributes whose unit is that of a squared target.
SQUARES = (
    *("labeled_loss", "supervised_loss", "objective", "supervised_objective", "gap"),
    *("distance", "distance_gap"),
)


@dataclass(frozen=True)
class Certificate:
    """Proof of how good a constrained fit is. Print it for a summary in words.

    Attributes
    ----------
    labeled_loss : float
        Mean squared loss of the fit on the labelled rows.
    supervised_loss : float
        The same for the supervised twin.
    objective : float
        The value that is minimised: for ``metric="labeled"`` the labelled loss plus the labelled
        ridge, otherwise the squared distance to the supervised twin in the chosen metric (for
        ``"euclidean"`` divided by the number of labelled rows).
    supervised_objective : float
        The same for the supervised twin. No labelling has a lower objective.
    gap : float
        Proven bound: no labelling of the unlabelled rows that is consistent with what is known
        about them has an objective below ``objective - gap``.
    tol : float
        The tolerance on the gap, absolute plus relative.
    converged : bool
        Whether the gap is within tol, and ``distance_gap`` within the square root of tol, because
        the distance changes like the square root of a change in the labelled loss.
    supervised_feasible : bool
        False if it is proven that no possible labelling of the unlabelled rows gives a model as
        good on the labelled rows as the supervised one.
    shift : float
        Root mean square difference between the scores of the fit and of its supervised twin, over
        all rows passed to ``fit``.
    moved : bool or None
        Whether the unlabelled rows moved the model away from the supervised twin; None if that is
        not proven, because the fit did not converge or the tolerance is too large.
    changed : int or None
        Number of unlabelled rows that the fit and its supervised twin assign to different classes,
        whether partial labels allow them or not; rows whose scores equal 1/2 up to rounding are
        not counted. None for regression.
    n_unlabeled : int
        Number of unlabelled rows, including those with partial labels.
    metric : str or float
        The metric of the fit.
    determined : bool
        Whether the labelled rows (with their ridge) determine the model. If not, many models have
        the smallest labelled loss. Always True for metrics other than ``"labeled"``.
    tie_break : {"twin", "half"} or None
        How one of these models was chosen; None if the labelled rows determine it.
    distance : float
        Squared distance to the supervised twin in the metric of all rows: the mean squared
        difference of the scores, plus ``alpha`` times that of the coefficients.
    distance_gap : float or None
        Proven bound for ``tie_break="twin"``: no labelling with as small a labelled loss gives a
        model whose squared distance to the twin is below ``distance - distance_gap``.
    iterations : int
        Number of solver iterations.
    passes : int
        Number of passes over all unlabelled rows or, if they are few, over the small matrix formed
        from them.
    prior : PriorProof or None
        The class shares with their bounds and multipliers, if there is a prior. Only labellings
        within the bounds are possible then, and the fit has converged only if its own shares are
        within them, too.
    scale : float
        The loss that counts as 1 when a tolerance is applied: 1 for classification, and the squared
        range of the targets for regression.

    Examples
    --------
    >>> from primum import ICLSClassifier
    >>> clf = ICLSClassifier().fit([[0.0], [2.0], [1.0]], [0, 1, -1])
    >>> clf.certificate_.converged
    True
    >>> print(str(clf.certificate_).splitlines()[-1])
    The unlabelled rows did not move the model: it is the supervised twin.
    """

    labeled_loss: float
    supervised_loss: float
    objective: float
    supervised_objective: float
    gap: float
    tol: float
    converged: bool
    supervised_feasible: bool
    shift: float
    moved: bool | None
    changed: int | None
    n_unlabeled: int
    metric: str | float
    determined: bool
    tie_break: str | None
    distance: float
    distance_gap: float | None
    iterations: int
    passes: int
    prior: PriorProof | None = None
    scale: float = 1.0

    def in_units(self, width: float) -> "Certificate":
        """Return the certificate of a regression whose targets were divided by ``width``.

        Losses and squared distances are multiplied by its square.

        Parameters
        ----------
        width : float
            The range of the targets.

        Returns
        -------
        Certificate
            The certificate in the units of the targets.
        """
        values = {name: getattr(self, name) for name in SQUARES}
        squares = {name: value and width**2 * value for name, value in values.items()}
        return replace(self, shift=width * self.shift, changed=None, scale=width**2, **squares)

    def with_classes(self, classes: Sequence[Any]) -> "Certificate":
        """Return the certificate with the names of the classes, for the shares of its prior.

        Parameters
        ----------
        classes : sequence
            The classes, sorted.

        Returns
        -------
        Certificate
            The certificate; the same if there is no prior.
        """
        if self.prior is None:
            return self
        return replace(self, prior=replace(self.prior, classes=tuple(classes)))

    @property
    def lower_bound(self) -> float:
        """No possible labelling of the unlabelled rows has an objective below this."""
        return self.objective - self.gap

    @property
    def shortfall(self) -> str:
        """What is proven about a fit that did not converge, next to the tolerance."""
        if self.prior is not None and self.prior.violation > SHARE_TOLERANCE:
            off = self.prior.violation
            return f"shares of the classes outside the bounds of the prior by {off:.1e}"
        of_range = "" if self._of_classes else " of the squared range of the targets"
        if self.gap > self.tol * (self.scale + self.objective) or self.distance_gap is None:
            return (
                f"an objective proven to be within {self.gap / self.scale:.1e}{of_range} of the "
                f"optimum, not within the requested tol={self.tol:.1e}"
            )
        return (
            "a squared distance to the supervised twin proven to be within "
            f"{self.distance_gap / self.scale:.1e}{of_range} of the minimum, not within "
            f"{self.tol**0.5:.1e}, the square root of tol={self.tol:.1e}"
        )

    @property
    def change_in_words(self) -> str:
        """How much the predictions differ from those of the supervised twin, as text."""
        if self._of_classes:
            return f"{self.changed} of {self.n_unlabeled} predictions changed"
        return f"the root mean square difference of the predictions is {self.shift:.2g}"

    @property
    def _of_classes(self) -> bool:
        return self.changed is not None

    def __str__(self) -> str:
        lines = [self._what_is_proven(), self._which_model(), self._what_moved()]
        return "\n".join(lines if self.prior is None else [*lines, str(self.prior)])

    def _what_is_proven(self) -> str:
        values = "labelling" if self._of_classes else "targets"
        proven = (
            f"{self._objective_in_words()}: {self.objective:.6g}. No possible {values} of the "
            f"{self.n_unlabeled} unlabelled rows can lower it by more than {self.gap:.1e}"
        )
        tolerance = self.tol * (self.scale + self.objective)
        if self.converged:
            return f"{proven} (proven; tolerance {tolerance:.1e})."
        if self.gap <= self.tol * (self.scale + self.objective):
            return f"{proven}, but the fit did not converge: it has {self.shortfall}."
        return f"{proven}. The fit did not reach its tolerance of {tolerance:.1e}."

    def _objective_in_words(self) -> str:
        if self.metric == "euclidean":
            return "Squared distance between the coefficients and the twin's, per labelled row"
        if share_of_all(self.metric) > 0:
            return "Squared distance to the twin"
        # A ridge that adds less than a millionth is not worth a word.
        rounding = 1e-6 * self.objective + self.gap + LOSS_ROUNDING * self.scale
        ridge = abs(self.objective - self.labeled_loss) > rounding
        return f"{'Penalised loss' if ridge else 'Loss'} on the labelled rows"

    def _which_model(self) -> str:
        if self.determined:
            return "The model is unique."
        start = "The labelled rows alone do not determine the model. Of all models with this loss, "
        if self.tie_break == "half":
            labels = "soft labels closest to 1/2"
            if not self._of_classes:
                labels = "targets closest to the middle of their bounds"
            return f"{start}the one with {labels} was chosen, which is often worse than the twin."
        if self.distance_gap is None or not self.converged:
            return start + "the one nearest to the twin was sought, but not proven."
        difference = "score difference" if self._of_classes else "difference"
        return start + (
            f"the one nearest to the twin was chosen: no other has a mean squared {difference} "
            f"from the twin that is smaller by more than {self.distance_gap:.1e}."
        )

    def _what_moved(self) -> str:
        if self.n_unlabeled == 0:
            return "There are no unlabelled rows."
        if self.moved is None:
            return "It is not known whether the unlabelled rows move the model."
        if not self.moved:
            return self._what_equals_the_twin()
        if not self._of_classes:
            return (
                "The unlabelled rows moved the model: its predictions differ from the twin's, with "
                f"an RMS difference of {self.shift:.2g} over all rows."
            )
        return (
            f"The unlabelled rows moved the model: {self.changed} of {self.n_unlabeled} "
            f"predictions differ from the twin's, with an RMS score difference of {self.shift:.2g}."
        )

    def _what_equals_the_twin(self) -> str:
        if not self.changed:
            return "The unlabelled rows did not move the model: it is the supervised twin."
        return (
            "The unlabelled rows did not move the model: within the tolerance, it is the "
            f"supervised twin, although {self.changed} of {self.n_unlabeled} predictions differ."
        )


@dataclass(frozen=True)
class FitSummary:
    """The measurements of a fit and its twin that do not follow from the problem.

    ``score_rounding`` is the rounding error of a score, given the size of its summands.
    ``objective`` is that of the fitted coefficients, if it can be measured on the labelled rows. It
    differs from that of the labelling if the normal equations were not solved exactly, because of
    rounding or an iterative solver, and the gap must include the difference.
    """

    labeled_loss: float
    supervised_loss: float
    supervised_objective: float
    shift: float
    changed: int
    distance: float
    score_rounding: float
    objective: float | None = None


def certify(
    implicit: ImplicitProblem,
    solution: Solution,
    summary: FitSummary,
    *,
    metric: str | float,
    tol: float,
) -> Certificate:
    """Return the certificate of a solution; its moment and slack must not be the solver's own."""
    problem = implicit.problem
    judged, prior = _judge_labelling(implicit, solution, tol)
    judged_distance = _judge_distance(implicit, solution, judged)
    rounding = LOSS_ROUNDING * (problem.scale + judged.objective)
    if summary.objective is not None:
        off = abs(summary.objective - judged.objective)
        judged = replace(judged, gap=judged.gap + (off if off > rounding else 0.0))
    rounding += summary.score_rounding
    excess = judged.objective - summary.supervised_objective
    feasible = bool(excess <= judged.gap + rounding)
    converged = _converged(judged, judged_distance, prior, tol)
    moved = _moved(problem, judged, judged_distance, summary) if converged else None
    return Certificate(
        labeled_loss=summary.labeled_loss,
        supervised_loss=summary.supervised_loss,
        objective=judged.objective,
        supervised_objective=summary.supervised_objective,
        gap=judged.gap,
        tol=tol,
        converged=converged,
        supervised_feasible=feasible,
        shift=summary.shift,
        # If no labelling attains the twin, that is proof enough, whatever else is not proven.
        moved=moved if feasible or problem.n_rows == 0 else True,
        changed=summary.changed,
        n_unlabeled=problem.n_rows,
        metric=metric,
        determined=implicit.determined,
        tie_break=implicit.tie_break,
        distance=summary.distance,
        distance_gap=None if judged_distance is None else judged_distance.gap,
        iterations=solution.iterations,
        passes=problem.columns.passes,
        prior=prior,
    )


def is_proven(implicit: ImplicitProblem, solution: Solution, *, tol: float) -> bool:
    """Return whether a solution is proven to be optimal within tol, as ``certify`` does."""
    judged, prior = _judge_labelling(implicit, solution, tol)
    return _converged(judged, _judge_distance(implicit, solution, judged), prior, tol)


def _converged(
    judged: ProvenGap, distance: ProvenGap | None, prior: PriorProof | None, tol: float
) -> bool:
    if prior is not None and prior.violation > SHARE_TOLERANCE:
        return False
    # A labelled loss known within tol determines M_1 q, and so the distance, within tol**0.5.
    return judged.within(tol) and (distance is None or distance.within(tol**0.5))


def _judge_labelling(
    implicit: ImplicitProblem, solution: Solution, tol: float
) -> tuple[ProvenGap, PriorProof | None]:
    """Return the objective of a labelling and its gap, and the proof for its shares."""
    if implicit.prior is not None and solution.multipliers.size:
        return _judge_prior(implicit.prior, solution, tol)
    q, moment = solution.labels, solution.moment
    judged = implicit.problem.judge(q, solution.dual, tol, moment, solution.slack)
    if implicit.tie is None:
        return _above_the_twin(implicit.problem, judged, tol), None
    # The least loss over all models is another lower bound.
    above = implicit.tie.excess(implicit.tie.reached(q, moment))
    return replace(judged, gap=min(judged.gap, implicit.problem.loss_unit * above)), None


def _above_the_twin(problem: LabelProblem, judged: ProvenGap, tol: float) -> ProvenGap:
    """Tighten a judgement that is not within tol: no model has a lower objective than the twin.

    If labels may be huge, their bounds magnify the rounding of every other dual point.
    """
    if judged.within(tol):
        return judged
    rounding = EPS * judged.objective
    return replace(judged, gap=min(judged.gap, judged.objective - problem.loss_floor + rounding))


def _judge_prior(
    prior: PriorProblem, solution: Solution, tol: float
) -> tuple[ProvenGap, PriorProof]:
    nu = solution.multipliers
    judged, shares = prior.judge(solution.labels, nu, solution.moment, solution.dual, tol)
    bounds, unit = prior.prior.shares, prior.problem.loss_unit
    return judged, PriorProof(bounds.low, bounds.high, shares, unit * bounds.signed(nu, shares))


def _judge_distance(
    implicit: ImplicitProblem, solution: Solution, judged: ProvenGap
) -> ProvenGap | None:
    """Return the squared distance to the twin and its gap, if it breaks the tie."""
    if implicit.tie is None or solution.pull is None:
        return None
    gap = judged.gap / implicit.problem.loss_unit
    return implicit.tie.judge(solution.labels, solution.pull, gap, solution.moment)


def _moved(
    problem: LabelProblem, judged: ProvenGap, distance: ProvenGap | None, summary: FitSummary
) -> bool | None:
    """Return whether the scores moved; None if the gaps are too large to decide."""
    if problem.n_rows == 0:
        return False
    # The gap is the uncertainty of a squared quantity; that of the scores is its square root.
    gap = max(judged.gap / problem.scale, 0.0 if distance is None else distance.gap)
    uncertain = 10 * gap**0.5
    same = max(SCORE_TOLERANCE, 10 * summary.score_rounding, min(uncertain, MAX_EXPLAINED_SHIFT))
    if summary.shift <= same:
        return False
    return True if summary.shift > uncertain else None
