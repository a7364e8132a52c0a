"""Deterministic annealing (Sindhwani & Keerthi 2006).

Labels are probabilities p_j, of mean R, and  T/2U sum_j (p_j log p_j + (1 - p_j) log(1 - p_j))  is
added to the objective. Refit and relabel in turn while the temperature T falls; then switch.
"""

import numpy as np
from scipy.special import entr, expit, rel_entr

from primum._typing import Floats
from primum.machines.nearby import nearby
from primum.machines.search import Search, Step, balanced_labels
from primum.machines.switching import switch_all

FIRST_TEMPERATURE, COOLING_RATE = 10.0, 1.5
ENTROPY_ENOUGH, CHANGE_ENOUGH, MOST_ROUNDS = 1e-6, 1e-6, 1000
# Tolerance of the refits on the way, whose labels are about to change anyway: if the Newton steps
# are exact, and for conjugate gradients, where it is also the accuracy of a step.
ROUGH, ROUGH_STEPS = 1e-4, 1e-6


def search_by_annealing(search: Search, lambda_u: float, max_switches: int) -> Floats:
    """Lower the temperature until the labels are almost 0 or 1, then switch; return the labels."""
    cost = lambda_u * search.cost_unlabeled
    enough = _least_entropy(search.share, len(cost)) + ENTROPY_ENOUGH
    p = np.full(len(cost), search.share)
    temperature, nu = FIRST_TEMPERATURE, 0.0
    original = search.system
    tol = max(search.tol, ROUGH if original.exact else ROUGH_STEPS)
    # Labels change little between two refits, so an earlier inverse is used again.
    search.system = nearby(original)
    while True:
        for _ in range(MOST_ROUNDS):
            search.refit(search.two_sided(p * cost, (1.0 - p) * cost), tol=tol)
            search.history.append(Step(temperature, search.machine.objective, 0))
            before = p
            p, nu = _soft_labels(search.outputs, cost, search.share, temperature, nu)
            if _is_close(p, before):
                break
        else:
            search.unfinished.add(
                f"stopped after {MOST_ROUNDS} rounds of annealing at one temperature with labels "
                "still changing; raise alpha or lower lambda_u"
            )
        if _entropy(p) < enough or temperature < 1e-8:
            break
        temperature /= COOLING_RATE
    search.system = original
    labels = balanced_labels(search.outputs, search.share)
    search.refit_labels(labels, lambda_u)
    switch_all(search, labels, lambda_u, max_switches)
    return labels


def _soft_labels(
    o: Floats, cost: Floats, share: float, temperature: float, nu: float
) -> tuple[Floats, float]:
    """Return (best probabilities of mean ``share``, their common shift) for given outputs."""
    g = np.maximum(1.0 - o, 0.0) ** 2 - np.maximum(1.0 + o, 0.0) ** 2
    g *= len(o) * cost
    low, high = g.min() - 50 * temperature, g.max() + 50 * temperature
    nu = min(max(nu, low), high)
    for _ in range(200):
        p = expit((nu - g) / temperature)
        excess = p.sum() / len(p) - share
        if abs(excess) < 1e-12:
            break
        low, high = (nu, high) if excess < 0 else (low, nu)
        slope = p @ (1.0 - p) / len(p) / temperature
        newton = nu - excess / slope if slope > 0 else low
        nu = newton if low < newton < high else 0.5 * (low + high)
    return p, nu


def _is_close(p: Floats, q: Floats) -> bool:
    """Return whether the mean Kullback-Leibler divergence of p from q is small."""
    change = p - q
    if 2.0 * float(change @ change) >= CHANGE_ENOUGH * len(p):  # a lower bound (Pinsker)
        return False
    q = np.clip(q, 1e-300, 1.0 - 1e-16)
    return float(np.mean(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))) < CHANGE_ENOUGH


def _entropy(p: Floats) -> float:
    return float(np.mean(entr(p) + entr(1.0 - p)))


def _least_entropy(share: float, n: int) -> float:
    """Return the least entropy of n probabilities of a given mean: at most one is not 0 or 1."""
    rest = round(share * n, 9) % 1.0
    return float(entr(rest) + entr(1.0 - rest)) / n
