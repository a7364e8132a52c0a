"""The certificate: a proof of how good a fit is.

It is computed from the problem and the solution alone. It does not rely on the solver, so a wrong
solution cannot be certified.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from primum.equations.coordinates import EPS
from primum.labellings.implicit import share_of_all
from primum.labellings.prior import PriorProof
from primum.labellings.prior_problem import judge_with_prior
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
        of_classes = self._of_classes
        tolerance = self.tol * (self.scale + self.objective)

        # What is proven about the objective. A ridge that adds less than a millionth is not worth a
        # word.
        rounding = 1e-6 * self.objective + self.gap + LOSS_ROUNDING * self.scale
        if self.metric == "euclidean":
            what = "Squared distance between the coefficients and the twin's, per labelled row"
        elif share_of_all(self.metric) > 0:
            what = "Squared distance to the twin"
        elif abs(self.objective - self.labeled_loss) > rounding:
            what = "Penalised loss on the labelled rows"
        else:
            what = "Loss on the labelled rows"
        proven = (
            f"{what}: {self.objective:.6g}. No possible {'labelling' if of_classes else 'targets'} "
            f"of the {self.n_unlabeled} unlabelled rows can lower it by more than {self.gap:.1e}"
        )
        if self.converged:
            proven += f" (proven; tolerance {tolerance:.1e})."
        elif self.gap <= tolerance:
            proven += f", but the fit did not converge: it has {self.shortfall}."
        else:
            proven += f". The fit did not reach its tolerance of {tolerance:.1e}."

        # Which of several models was chosen.
        which = "The labelled rows alone do not determine the model. Of all models with this loss, "
        if self.determined:
            which = "The model is unique."
        elif self.tie_break == "half":
            labels = "soft labels closest to 1/2"
            if not of_classes:
                labels = "targets closest to the middle of their bounds"
            which += f"the one with {labels} was chosen, which is often worse than the twin."
        elif self.distance_gap is None or not self.converged:
            which += "the one nearest to the twin was sought, but not proven."
        else:
            difference = "score difference" if of_classes else "difference"
            which += (
                f"the one nearest to the twin was chosen: no other has a mean squared {difference} "
                f"from the twin that is smaller by more than {self.distance_gap:.1e}."
            )

        # What the unlabelled rows moved.
        if self.n_unlabeled == 0:
            moved = "There are no unlabelled rows."
        elif self.moved is None:
            moved = "It is not known whether the unlabelled rows move the model."
        elif self.moved and of_classes:
            moved = (
                f"The unlabelled rows moved the model: {self.changed} of {self.n_unlabeled} "
                "predictions differ from the twin's, with an RMS score difference of "
                f"{self.shift:.2g}."
            )
        elif self.moved:
            moved = (
                "The unlabelled rows moved the model: its predictions differ from the twin's, with "
                f"an RMS difference of {self.shift:.2g} over all rows."
            )
        elif not self.changed:
            moved = "The unlabelled rows did not move the model: it is the supervised twin."
        else:
            moved = (
                "The unlabelled rows did not move the model: within the tolerance, it is the "
                f"supervised twin, although {self.changed} of {self.n_unlabeled} predictions "
                "differ."
            )
        lines = [proven, which, moved]
        return "\n".join(lines if self.prior is None else [*lines, str(self.prior)])


def judge(
    problem: LabelProblem, solution: Solution, tol: float
) -> tuple[ProvenGap, ProvenGap | None, PriorProof | None]:
    """Return (objective and its gap, distance to the twin and its gap, the proof for the shares).

    The second is None unless the twin breaks a tie, the third unless there is a prior.
    """
    tie, q, moment = problem.tie, solution.labels, solution.moment
    if problem.prior is not None and solution.multipliers.size:
        nu, bounds = solution.multipliers, problem.prior.shares
        judged, shares = judge_with_prior(problem, q, nu, moment, solution.dual, tol)
        signed = problem.loss_unit * bounds.signed(nu, shares)
        return judged, None, PriorProof(bounds.low, bounds.high, shares, signed)
    judged = problem.judge(q, solution.dual, tol, moment, solution.slack)
    if tie is None:
        if not judged.within(tol):
            # No model has a lower objective than the twin. If labels may be huge, their bounds
            # magnify the rounding of every other dual point.
            above = judged.objective - problem.loss_floor + EPS * judged.objective
            judged = replace(judged, gap=min(judged.gap, above))
        return judged, None, None
    # The least loss over all models is another lower bound.
    above = problem.loss_unit * tie.excess(tie.reached(q, moment))
    judged = replace(judged, gap=min(judged.gap, above))
    if solution.pull is None:
        return judged, None, None
    return judged, tie.judge(q, solution.pull, judged.gap / problem.loss_unit, moment), None


def is_proven(
    judged: ProvenGap, distance: ProvenGap | None, prior: PriorProof | None, tol: float
) -> bool:
    """Return whether what is judged is within a tolerance."""
    if prior is not None and prior.violation > SHARE_TOLERANCE:
        return False
    # A labelled loss known within tol determines M_1 q, and so the distance, within tol**0.5.
    return judged.within(tol) and (distance is None or distance.within(tol**0.5))


def certify(
    problem: LabelProblem,
    solution: Solution,
    *,
    labeled_loss: float,
    supervised_loss: float,
    objective: float | None,
    supervised_objective: float,
    shift: float,
    changed: int,
    distance: float,
    score_rounding: float,
    metric: str | float,
    tol: float,
) -> Certificate:
    """Return the certificate of a solution; its moment and slack must not be the solver's own.

    ``objective`` is that of the fitted coefficients, if it can be measured on the labelled rows,
    and ``score_rounding`` the rounding error of a score, given the size of its summands.
    """
    judged, judged_distance, prior = judge(problem, solution, tol)
    distance_gap = None if judged_distance is None else judged_distance.gap

    # The objective of the model differs from that of the labelling if the normal equations were
    # not solved exactly, because of rounding or an iterative solver.
    rounding = LOSS_ROUNDING * (problem.scale + judged.objective)
    if objective is not None:
        off = abs(objective - judged.objective)
        judged = replace(judged, gap=judged.gap + (off if off > rounding else 0.0))
    excess = judged.objective - supervised_objective
    feasible = bool(excess <= judged.gap + (rounding + score_rounding))
    converged = is_proven(judged, judged_distance, prior, tol)

    # Did the scores move? The gap is the uncertainty of a squared quantity; that of the scores is
    # its square root.
    moved: bool | None = False
    n_rows = problem.columns.shape[1]
    if n_rows:
        gap = max(judged.gap / problem.scale, distance_gap or 0.0)
        uncertain = 10 * gap**0.5
        same = max(SCORE_TOLERANCE, 10 * score_rounding, min(uncertain, MAX_EXPLAINED_SHIFT))
        moved = False if shift <= same else True if shift > uncertain else None
    if not converged:
        moved = None
    if not feasible and n_rows:  # no labelling attains the twin: that is proof enough
        moved = True
    return Certificate(
        labeled_loss=labeled_loss,
        supervised_loss=supervised_loss,
        objective=judged.objective,
        supervised_objective=supervised_objective,
        gap=judged.gap,
        tol=tol,
        converged=converged,
        supervised_feasible=feasible,
        shift=shift,
        moved=moved,
        changed=changed,
        n_unlabeled=n_rows,
        metric=metric,
        determined=problem.determined,
        tie_break=problem.tie_break,
        distance=distance,
        distance_gap=distance_gap,
        iterations=solution.iterations,
        passes=problem.columns.passes,
        prior=prior,
    )
