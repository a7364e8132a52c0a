"""Multiple switching (Sindhwani & Keerthi 2006).

Give the highest outputs the positive labels. Raise the weight of the unlabelled rows from 1e-5 by
factors of 1.5. At each value, switch the labels of pairs, one positive and one negative, where that
lowers the loss, the worst pairs first, and refit, until no pair improves.
"""

import numpy as np

from primum._typing import Floats
from primum.methods.svm.search import TransductiveSearch, balanced_labels

# The schedule of Sindhwani and Keerthi: where unlabelled rows hardly count, labels are those of the
# supervised SVM.
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
    while search.machine.objective < before:  # each switch lowers it, except for rounding
        n_switches = _switch(labels, search.outputs, search.cost_unlabeled, most)
        if n_switches == 0:
            return
        before = search.machine.objective
        search.refit_labels(labels, unlabeled_weight, n_switches)


def _switch(labels: Floats, o: Floats, cost: Floats, most: int) -> int:
    """Switch the labels of the worst pairs inside the margin; return how many."""
    # The loss of a row as a positive minus its loss as a negative.
    excess = cost * (np.maximum(1.0 - o, 0.0) ** 2 - np.maximum(1.0 + o, 0.0) ** 2)
    positive = np.flatnonzero((labels > 0) & (o < 1.0))
    negative = np.flatnonzero((labels < 0) & (o > -1.0))
    if len(positive) == 0 or len(negative) == 0:
        return 0
    level = excess[negative].min()
    positive = positive[excess[positive] > level]
    negative = negative[excess[negative] < excess[positive].max(initial=level)]
    n = min(len(positive), len(negative), most)
    positive = positive[np.argsort(-excess[positive], kind="stable")[:n]]
    negative = negative[np.argsort(excess[negative], kind="stable")[:n]]
    better = excess[positive] > excess[negative] + 1e-12 * cost[positive]
    labels[positive[better]], labels[negative[better]] = -1.0, 1.0
    return int(np.count_nonzero(better))
