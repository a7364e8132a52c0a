"""The convex-concave procedure (Collobert et al. 2006).

Each unlabelled row is a positive and a negative one, and each of the two has a ramp loss
min(l(t), l(s)):  beyond s a row is given up. Drop those given up, refit, repeat. The labels are
not counted; the mean output is held at 2R - 1.
"""

from dataclasses import replace

import numpy as np

from primum._typing import Floats, Mask
from primum.estimators._search import Search, Step
from primum.estimators._svm import Balance

MOST_ROUNDS = 1000
# A mean row this much shorter than the rows is zero.
ROUNDING = 1e-9


def search_by_cccp(search: Search, lambda_u: float, ramp: float) -> Floats:
    """Drop what is beyond the ramp and refit until that rests; return the labels."""
    n_labeled, n = len(search.y), len(search.outputs)
    mean = np.concatenate([np.zeros(n_labeled), np.full(n, 1.0 / n)])
    balance = _balance(search, mean)
    cost, before = lambda_u * search.cost_unlabeled, None
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
            f"stopped after {MOST_ROUNDS} rounds of cccp while rows still crossed the end of the "
            "ramp; raise alpha or lower lambda_u"
        )
    return np.where(search.outputs >= 0, 1.0, -1.0)


def _balance(search: Search, mean: Floats) -> Balance | None:
    """Return the condition on the mean output, if coefficients can have an influence on it."""
    target = 2.0 * search.share - 1.0
    X = search.system.X
    if np.linalg.norm(X.T @ mean) > ROUNDING * np.linalg.norm(abs(X).T @ mean):
        return Balance(mean, target)
    if abs(target) <= ROUNDING:
        return None
    raise ValueError(
        f"method='cccp' holds the mean output of the unlabelled rows at {target:g}, but their mean "
        "is zero and there is no intercept: pass fit_intercept=True."
    )


def _correction(search: Search, cost: Floats, kept: Mask, ramp: float) -> float:
    """Return the ramp losses minus what a refit counted instead of them."""
    loss = np.maximum(0.0, 1.0 - np.stack([search.outputs, -search.outputs])) ** 2
    true = np.minimum(loss, (1.0 - ramp) ** 2)
    return 0.5 * float(((true - kept * loss) @ cost).sum())
