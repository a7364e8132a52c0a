"""What a fit can prove about itself.

The certificate is computed from the problem and the answer alone. It does not trust the solver,
so a solver that goes wrong cannot look right.
"""

from dataclasses import dataclass

from primum._typing import Floats
from primum.problems.box import BoxProblem


@dataclass(frozen=True)
class Certificate:
    """Proof of how good a constrained fit is.

    Attributes
    ----------
    labeled_loss : float
        Mean squared loss of the fit on the labelled rows.
    supervised_loss : float
        The same of the supervised twin, which no fit can go below.
    objective : float
        What was minimised: for ``metric="labeled"`` the labelled loss plus the labelled ridge,
        otherwise the squared distance to the supervised solution, divided by L.
    gap : float
        Proven bound: no labelling of the unlabelled rows has an objective below
        ``objective - gap``.
    tol : float
        The gap that was asked for, absolute plus relative.
    converged : bool
        Whether the gap is within tol.
    moved : bool
        Whether the unlabelled rows moved the answer: no supervised solution can be had by
        labelling them.
    iterations : int
        Steps of the solver.
    passes : int
        How often the solver and this proof went over the unlabelled rows.
    """

    labeled_loss: float
    supervised_loss: float
    objective: float
    gap: float
    tol: float
    converged: bool
    moved: bool
    iterations: int
    passes: int

    @property
    def lower_bound(self) -> float:
        """No labelling of the unlabelled rows has an objective below this."""
        return self.objective - self.gap


def certify(
    problem: BoxProblem,
    q: Floats,
    *,
    tol: float,
    iterations: int,
    labeled_loss: float,
    supervised_loss: float,
    supervised_objective: float,
) -> Certificate:
    """Judge the labelling q as an answer to the problem."""
    judgement = problem.judge(q)
    risen = judgement.objective - supervised_objective
    return Certificate(
        labeled_loss=labeled_loss,
        supervised_loss=supervised_loss,
        objective=judgement.objective,
        gap=judgement.gap,
        tol=tol,
        converged=judgement.within(tol),
        moved=risen > max(judgement.gap, ROUNDING * (1.0 + judgement.objective)),
        iterations=iterations,
        passes=problem.columns.passes,
    )


# Differences in mean loss below this are rounding.
ROUNDING = 1e-12
