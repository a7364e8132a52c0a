"""The convex-concave procedure (Collobert et al. 2006).

Each unlabelled row counts as a positive and as a negative one, both with the ramp loss
min(l(t), l(s)), which is constant beyond s. Drop the terms beyond s, refit, repeat. The number of
positive labels is not constrained; the mean output is, to 2R - 1.
"""

from dataclasses import replace

import numpy as np

from primum._typing import Floats, Mask
from primum.methods.svm.newton import Balance
from primum.methods.svm.search import Step, TransductiveSearch

# A handful of rounds is typical.
MOST_ROUNDS = 1000
# A mean row counts as zero if its norm is below this fraction of that of the rows.
ZERO_MEAN = 1e-9


def search_by_cccp(search: TransductiveSearch, unlabeled_weight: float, ramp: float) -> Floats:
    """Drop the terms beyond the ramp and refit until they no longer change; return the labels."""
    n_labeled, n = len(search.y), len(search.outputs)
    mean = np.concatenate([np.zeros(n_labeled), np.full(n, 1.0 / n)])
    balance = _balance(search, mean)
    cost, before = unlabeled_weight * search.cost_unlabeled, None
    for round_ in range(1, MOST_ROUNDS + 1):
        kept = np.stack([search.outputs, -search.outputs]) >= ramp
        if before is not None and np.array_equal(before, kept):
            break
        before = kept
        search.refit(search.two_sided(*(kept * cost)), balance)
        value = search.machine.objective + _correction(search, cost, kept, ramp)
        search.machine = replace(search.machine, objective=value)
        search.history.append(Step(round_, value, 0))
    else:
        search.unfinished.add(
            f"stopped after {MOST_ROUNDS} rounds of cccp with rows still crossing the end of the "
            "ramp; raise alpha or lower unlabeled_weight"
        )
    return np.where(search.outputs >= 0, 1.0, -1.0)


def _balance(search: TransductiveSearch, mean: Floats) -> Balance | None:
    """Return the constraint on the mean output, or None if the coefficients cannot affect it."""
    target = 2.0 * search.share - 1.0
    X = search.system.X
    if np.linalg.norm(X.T @ mean) > ZERO_MEAN * np.linalg.norm(abs(X).T @ mean):
        return Balance(mean, target)
    if abs(target) <= ZERO_MEAN:
        return None
    raise ValueError(
        f"method='cccp' constrains the mean output of the unlabelled rows to {target:g}, but their "
        "mean is zero and there is no intercept: pass fit_intercept=True."
    )


def _correction(search: TransductiveSearch, cost: Floats, kept: Mask, ramp: float) -> float:
    """Return the ramp losses minus the losses that a refit uses instead of them."""
    loss = np.maximum(0.0, 1.0 - np.stack([search.outputs, -search.outputs])) ** 2
    true = np.minimum(loss, (1.0 - ramp) ** 2)
    return 0.5 * float(((true - kept * loss) @ cost).sum())
