"""Searches for transductive labels: they start at the supervised SVM, refit, and keep a history.

Two are due to Sindhwani & Keerthi (2006): multiple switching and deterministic annealing.

Switching: give the highest outputs the positive labels. Raise the weight of the unlabelled rows
from 1e-5 by factors of 1.5. At each value, switch the labels of pairs, one positive and one
negative, where that lowers the loss, the worst pairs first, and refit, until no pair improves.

Annealing: labels are probabilities p_j with mean R, and
T/2U sum_j (p_j log p_j + (1 - p_j) log(1 - p_j))  is added to the objective. Refit and relabel in
turn while the temperature T falls; then switch.

While labels change little from one refit to the next, an earlier inverse helps (``nearby.py``).
"""

from dataclasses import dataclass, field
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import entr, expit, rel_entr
from sklearn.exceptions import ConvergenceWarning

from primum._typing import Floats
from primum._warnings import warn
from primum.methods.base import copy_feature_names
from primum.methods.svm import newton
from primum.methods.svm.base import L2SVMClassifier, MachineData, TransductiveMachine
from primum.methods.svm.nearby import nearby
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
            warn(f"{name} {clause}.", ConvergenceWarning)

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


def balanced_labels(outputs: Floats, share: float) -> Floats:
    """Return labels -1 and 1: a given fraction of rows, those with the highest outputs, get 1.

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


def start_search(
    clf: TransductiveMachine, data: MachineData
) -> tuple[TransductiveSearch, L2SVMClassifier]:
    """Return (a search that starts at the supervised SVM, that SVM)."""
    twin = L2SVMClassifier(
        clf.alpha,
        fit_intercept=clf.fit_intercept,
        penalize_intercept=clf.penalize_intercept,
        tol=min(clf.tol, 1e-8),
    )._fit_data(data)
    copy_feature_names(clf, twin)
    L = data.n_labeled
    cost = data.weight.copy()
    cost[:L] /= cost[:L].sum()
    cost[L:] /= cost[L:].sum() if data.n_unlabeled else 1.0
    # The share of the second class: a given one must not leave a class empty.
    share = float(np.mean(data.y > 0))
    if clf.prior is not None:
        prior, n = clf.prior, data.n_unlabeled
        share = float(prior if isinstance(prior, Real) else class_shares(prior, data.classes)[1])
        # Rounded, because 0.3 * 10 is not quite 3.
        if n and not 0.5 < round(share * n, 9) < n - 0.5:
            rows = f"{n} unlabelled row" + ("s" if n > 1 else "")
            raise ValueError(
                f"prior={share} of {rows} is {share * n:.2g} rows, which leaves one class "
                "empty: pass more unlabelled rows, a share closer to 1/2, or prior=None."
            )
    groups = [slice(0, L), slice(L, len(cost))]
    system = newton.newton_system(data.X, twin._ridge(data.X.shape[1]), groups)
    w = twin._weights()[0]
    start = newton.Machine(w, system.X @ w, twin.objective_)
    return TransductiveSearch(system, data.y, cost, start, share, [], clf.tol, clf.max_iter), twin


# The schedule of Sindhwani and Keerthi, whose losses are of order 1.
FIRST_TEMPERATURE, COOLING_RATE = 10.0, 1.5
# Cooling ends when the mean entropy exceeds the least one by no more than this. Rounds at one
# temperature end at this mean divergence between two labellings, or after this many rounds. Both
# are in nats per row.
ENTROPY_TOLERANCE, CHANGE_TOLERANCE, MAX_ANNEALING_ROUNDS = 1e-6, 1e-6, 1000
# Tolerances of the refits on the way, whose labels are about to change anyway: for exact Newton
# steps, and for conjugate gradients, where it is also the accuracy of a step.
NEWTON_REFIT_TOLERANCE, CG_REFIT_TOLERANCE = 1e-4, 1e-6


def search_by_annealing(
    search: TransductiveSearch, unlabeled_weight: float, max_switches: int
) -> Floats:
    """Lower the temperature until the labels are almost 0 or 1, then switch; return the labels."""
    cost = unlabeled_weight * search.cost_unlabeled
    # The least entropy of labels of this mean: at most one of them is not 0 or 1.
    rest = round(search.share * len(cost), 9) % 1.0
    enough = float(entr(rest) + entr(1.0 - rest)) / len(cost) + ENTROPY_TOLERANCE
    p = np.full(len(cost), search.share)
    temperature = FIRST_TEMPERATURE
    nu = 0.0
    original = search.system
    tol = max(search.tol, NEWTON_REFIT_TOLERANCE if original.exact else CG_REFIT_TOLERANCE)
    # Labels change little between two refits, so an earlier inverse is used again.
    search.system = nearby(original)
    # The pull of each row's loss, with its sign, if unlabelled rows do not count.
    L = len(search.y)
    slack = np.maximum(0.0, 1.0 - search.y * search.machine.o[:L])
    pull = np.append(search.cost[:L] * search.y * slack, np.zeros(len(cost)))
    search.machine = search.system.entered(search.machine, pull)
    while True:
        for _ in range(MAX_ANNEALING_ROUNDS):
            search.refit(search.two_sided(p * cost, (1.0 - p) * cost), tol=tol)
            search.history.append(Step(temperature, search.machine.objective, 0))
            before = p
            p, nu = soft_labels(search.outputs, cost, search.share, temperature, nu)
            # The mean Kullback-Leibler divergence of p from those before, if a lower bound
            # (Pinsker) is small; clipped, so that the logarithms are finite.
            change = p - before
            if 2.0 * float(change @ change) < CHANGE_TOLERANCE * len(p):
                q = np.clip(before, 1e-300, 1.0 - 1e-16)
                if np.mean(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)) < CHANGE_TOLERANCE:
                    break
        else:
            search.unfinished.add(
                f"stopped after {MAX_ANNEALING_ROUNDS} rounds of annealing at one temperature with "
                "labels still changing; raise alpha or lower unlabeled_weight"
            )
        # Losses are of order 1: below this temperature, labels are hard up to rounding.
        if np.mean(entr(p) + entr(1.0 - p)) < enough or temperature < 1e-8:
            break
        temperature /= COOLING_RATE
    search.system, search.machine = original, search.system.left(search.machine)
    labels = balanced_labels(search.outputs, search.share)
    search.refit_labels(labels, unlabeled_weight)
    switch_all(search, labels, unlabeled_weight, max_switches)
    return labels


def soft_labels(
    o: Floats, cost: Floats, share: float, temperature: float, nu: float
) -> tuple[Floats, float]:
    """Return (best probabilities of mean ``share``, their common shift) for given outputs."""
    g = np.maximum(1.0 - o, 0.0) ** 2 - np.maximum(1.0 + o, 0.0) ** 2
    g *= len(o) * cost
    # Beyond 50 temperatures, all probabilities are 0 or 1 up to rounding.
    low, high = g.min() - 50 * temperature, g.max() + 50 * temperature
    nu = min(max(nu, low), high)
    for _ in range(200):  # a guard: even bisection alone needs fewer
        p = expit((nu - g) / temperature)
        excess = p.sum() / len(p) - share
        if abs(excess) < 1e-12:  # as a share of the rows, far less than one of them
            break
        low, high = (nu, high) if excess < 0 else (low, nu)
        slope = p @ (1.0 - p) / len(p) / temperature
        newton = nu - excess / slope if slope > 0 else low
        nu = newton if low < newton < high else 0.5 * (low + high)
    return p, nu


# The schedule of Sindhwani and Keerthi: as long as unlabelled rows hardly count, labels are those
# of the supervised SVM.
FIRST_WEIGHT, WEIGHT_RATE = 1e-5, 1.5


def search_by_switching(
    search: TransductiveSearch, unlabeled_weight: float, max_switches: int
) -> Floats:
    """Raise the weight step by step, switching labels at each; return the labels."""
    labels = balanced_labels(search.outputs, search.share)
    now = min(FIRST_WEIGHT, unlabeled_weight)
    while True:
        search.refit_labels(labels, now)
        switch_all(search, labels, now, max_switches)
        if now >= unlabeled_weight:
            return labels
        now = min(WEIGHT_RATE * now, unlabeled_weight)


def switch_all(
    search: TransductiveSearch, labels: Floats, unlabeled_weight: float, most: int
) -> None:
    """Switch labels and refit until no pair improves."""
    before = np.inf
    cost = search.cost_unlabeled
    while search.machine.objective < before:  # each switch lowers it, except for rounding
        # The loss of a row as a positive minus its loss as a negative; rows inside the margin.
        o = search.outputs
        excess = cost * (np.maximum(1.0 - o, 0.0) ** 2 - np.maximum(1.0 + o, 0.0) ** 2)
        positive = np.flatnonzero((labels > 0) & (o < 1.0))
        negative = np.flatnonzero((labels < 0) & (o > -1.0))
        if len(positive) == 0 or len(negative) == 0:
            return
        # The worst pairs.
        level = excess[negative].min()
        positive = positive[excess[positive] > level]
        negative = negative[excess[negative] < excess[positive].max(initial=level)]
        n = min(len(positive), len(negative), most)
        positive = positive[np.argsort(-excess[positive], kind="stable")[:n]]
        negative = negative[np.argsort(excess[negative], kind="stable")[:n]]
        # An exchange has to gain more than rounding, or rows would be exchanged for ever.
        better = excess[positive] > excess[negative] + 1e-12 * cost[positive]
        if not better.any():
            return
        labels[positive[better]] = -1.0
        labels[negative[better]] = 1.0
        before = search.machine.objective
        search.refit_labels(labels, unlabeled_weight, int(np.count_nonzero(better)))
