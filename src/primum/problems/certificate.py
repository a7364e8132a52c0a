"""What a fit can prove about itself.

The certificate is computed from the problem and the answer alone. It does not trust the solver,
so a solver that goes wrong cannot look right.
"""

from dataclasses import dataclass, replace

from primum._typing import Floats
from primum.problems.box import BoxProblem
from primum.rows import Labels

# Differences in mean loss below this are rounding, for features of moderate means.
ROUNDING = 1e-12
# Scores that differ by less than this, root mean square, are the same.
SAME_SCORES = 1e-6


@dataclass(frozen=True)
class Certificate:
    """Proof of how good a constrained fit is.

    Attributes
    ----------
    labeled_loss : float
        Mean squared loss of the fit on the labelled rows.
    supervised_loss : float
        The same of the supervised twin.
    objective : float
        What was minimised: for ``metric="labeled"`` the labelled loss plus the labelled ridge,
        otherwise the squared distance to the supervised solution as it was computed, divided by L.
    supervised_objective : float
        The same of the supervised twin. No labelling can go below it.
    gap : float
        Proven bound: no labelling of the unlabelled rows has an objective below
        ``objective - gap``.
    tol : float
        The gap that was asked for, absolute plus relative.
    converged : bool
        Whether the gap is within tol.
    supervised_feasible : bool
        False if it is proven that no labelling of the unlabelled rows gives a model as good on
        the labelled rows as the supervised one.
    shift : float
        Root mean square difference between the scores of the fit and of its supervised twin, over
        all rows given to ``fit``.
    moved : bool
        Whether the unlabelled rows moved the answer away from the supervised twin.
    iterations : int
        Steps of the solver.
    passes : int
        How often all unlabelled rows were visited, or, where they are few, the small matrix that
        was made of them.
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
    moved: bool
    iterations: int
    passes: int

    @property
    def lower_bound(self) -> float:
        """No labelling of the unlabelled rows has an objective below this."""
        return self.objective - self.gap


@dataclass(frozen=True)
class Facts:
    """What is known about a fit and its twin beside the box problem.

    ``score_rounding`` is how exactly a score can be known, given the size of its summands.
    ``objective`` is that of the fitted coefficients, where it can be measured on the labelled
    rows. It differs from that of the labelling as far as the normal equations were not solved
    exactly, by rounding or iteratively, and the gap must say so.
    """

    labeled_loss: float
    supervised_loss: float
    supervised_objective: float
    shift: float
    score_rounding: float
    objective: float | None = None


def certify(
    problem: BoxProblem,
    q: Floats | Labels,
    facts: Facts,
    *,
    tol: float,
    iterations: int,
    dual: Floats | None = None,
    moment: Floats | None = None,
) -> Certificate:
    """Judge the labelling q as an answer to the problem; a dual point may help to prove it.

    ``moment`` is the sum of the design rows times q, if it is known already.
    """
    judged = problem.judge(q, dual, tol, moment)
    rounding = ROUNDING * (problem.scale + judged.objective)
    if facts.objective is not None:
        off = abs(facts.objective - judged.objective)
        judged = replace(judged, gap=judged.gap + (off if off > rounding else 0.0))
    rounding += facts.score_rounding
    risen = judged.objective - facts.supervised_objective
    feasible = bool(risen <= max(judged.gap, rounding))
    # A gap leaves the labelled loss, a square, uncertain; scores are uncertain by its root.
    same = max(SAME_SCORES, 10 * (judged.gap / problem.scale) ** 0.5, 10 * facts.score_rounding)
    return Certificate(
        labeled_loss=facts.labeled_loss,
        supervised_loss=facts.supervised_loss,
        objective=judged.objective,
        supervised_objective=facts.supervised_objective,
        gap=judged.gap,
        tol=tol,
        converged=judged.within(tol),
        supervised_feasible=feasible,
        shift=facts.shift,
        moved=not feasible or bool(facts.shift > same),
        iterations=iterations,
        passes=problem.columns.passes,
    )
