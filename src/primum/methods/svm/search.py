"""What all searches for transductive labels share: start at the supervised SVM, refits, history."""

import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from primum._typing import Floats
from primum.methods.base import copy_feature_names
from primum.methods.svm import newton
from primum.methods.svm.base import L2SVMClassifier, MachineData
from primum.reading.shares import class_shares


class Step(NamedTuple):
    """A step of the search: where it was, the objective there, and the labels just switched.

    ``at`` is the weight of the unlabelled rows (switching), the temperature (annealing) or
    the round (cccp).
    """

    at: float
    objective: float
    n_switches: int


@dataclass
class TransductiveSearch:
    """The state of a search; ``cost`` is each row's weight in its mean loss, labelled rows first.

    ``unfinished`` describes every part of the search that ended early.
    """

    system: newton.NewtonSystem
    y: Floats
    cost: Floats
    machine: newton.Machine
    share: float
    history: list[Step]
    tol: float
    max_iter: int
    unfinished: set[str] = field(default_factory=set)

    @property
    def outputs(self) -> Floats:
        """Outputs of the unlabelled rows."""
        return self.machine.o[len(self.y) :]

    @property
    def cost_unlabeled(self) -> Floats:
        """Weight of each unlabelled row in their mean loss."""
        return self.cost[len(self.y) :]

    def refit(
        self,
        costs: newton.HingeCosts,
        balance: newton.Balance | None = None,
        tol: float | None = None,
    ) -> None:
        """Move to the minimum for given costs, to the tolerance of the search unless given."""
        self.machine = newton.minimize(
            self.system,
            costs,
            self.machine,
            tol=self.tol if tol is None else tol,
            max_iter=self.max_iter,
            balance=balance,
        )
        if not self.machine.converged:
            self.unfinished.add(
                f"stopped a refit after max_iter={self.max_iter} Newton steps before reaching tol; "
                "raise max_iter or tol, or scale the features"
            )

    def warn_if_unfinished(self, name: str) -> None:
        """Warn about every part of the search that ended early."""
        for clause in sorted(self.unfinished):
            warnings.warn(f"{name} {clause}.", ConvergenceWarning, stacklevel=4)

    def refit_labels(self, labels: Floats, unlabeled_weight: float, n_switches: int = 0) -> None:
        """Move to the minimum for given labels of the unlabelled rows, and record it."""
        cost = self.cost.copy()
        cost[len(self.y) :] *= unlabeled_weight
        self.refit(newton.HingeCosts(np.concatenate([self.y, labels]), cost))
        self.history.append(Step(unlabeled_weight, self.machine.objective, n_switches))

    def two_sided(self, plus: Floats, minus: Floats) -> newton.HingeCosts:
        """Return the costs if unlabelled rows count on both sides."""
        L, ones = len(self.y), np.ones(len(plus))
        sign = np.concatenate([self.y, ones, -ones])
        return newton.HingeCosts(sign, np.concatenate([self.cost[:L], plus, minus]), len(plus))


def _share(prior: Any, data: MachineData) -> float:
    """Return the share of the second class; raise an error if a given one leaves a class empty."""
    if prior is None:
        return float(np.mean(data.y > 0))
    given = prior if isinstance(prior, Real) else class_shares(prior, data.classes)[1]
    share, n = float(given), data.n_unlabeled
    if n and not 0.5 < round(share * n, 9) < n - 0.5:
        rows = f"{n} unlabelled row" + ("s" if n > 1 else "")
        raise ValueError(
            f"prior={share} of {rows} is {share * n:.2g} rows, which leaves one class "
            "empty: pass more unlabelled rows, a share closer to 1/2, or prior=None."
        )
    return share


def balanced_labels(outputs: Floats, share: float) -> Floats:
    """Return labels -1 and 1: the given fraction of rows, those with the highest outputs, get 1.

    If the fraction ends in half a row, the row in the middle is labelled by the sign of its output,
    so that exchanging the classes exchanges the labels.
    """
    n = len(outputs)
    exact = round(share * n, 9)
    n_positive = int(np.floor(exact + 0.5))
    order = np.argsort(-outputs, kind="stable")
    if exact % 1 == 0.5 and outputs[order[n_positive - 1]] < 0:
        n_positive -= 1
    labels = np.full(n, -1.0)
    labels[order[:n_positive]] = 1.0
    return labels


def start_search(clf: Any, data: MachineData) -> tuple[TransductiveSearch, L2SVMClassifier]:
    """Return (a search that starts at the supervised SVM, that SVM)."""
    twin = L2SVMClassifier(
        clf.alpha,
        fit_intercept=clf.fit_intercept,
        penalize_intercept=clf.penalize_intercept,
        tol=min(clf.tol, 1e-8),
    )._fit_data(data)
    copy_feature_names(clf, twin)
    L, cost = data.n_labeled, data.weight.copy()
    cost[:L] /= cost[:L].sum()
    cost[L:] /= cost[L:].sum() if data.n_unlabeled else 1.0
    share = _share(clf.prior, data)
    groups = [slice(0, L), slice(L, len(cost))]
    system, w = (
        newton.newton_system(data.X, twin._ridge(data.X.shape[1]), groups),
        twin._weights()[0],
    )
    start = newton.Machine(w, system.X @ w, twin.objective_)
    return TransductiveSearch(system, data.y, cost, start, share, [], clf.tol, clf.max_iter), twin
