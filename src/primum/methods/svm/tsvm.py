"""Transductive support vector machines: a wide margin on the unlabelled rows too. Not safe.

    minimise over w, b and labels v of the unlabelled rows

        alpha/2 ||w||^2 + 1/2L sum_i l(y_i o_i) + lambda/2U sum_j l(v_j o_j),

    o = w'x + b,  l(t) = max(0, 1 - t)^2,  with a given number of the v_j positive,

and lambda the ``unlabeled_weight``. It has many local minima, and the three methods are three ways
to search for a good one. All start from the supervised SVM and use the finite Newton method of
``newton.py``:

    switching   switch labels while the weight of the unlabelled rows increases (``search.py``)
    annealing   labels are probabilities; cooling drives them to 0 or 1 (``search.py``)
    cccp        rows count on both sides, with a ramp loss; labels are not balanced

The last is the convex-concave procedure (Collobert et al. 2006). Each unlabelled row counts as a
positive and as a negative one, both with the ramp loss min(l(t), l(s)), which is constant beyond s.
Drop the terms beyond s, refit, repeat. Not the number of positive labels is constrained, but the
mean output, to 2R - 1.
"""

from dataclasses import field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from primum._sklearn import Interval, StrOptions
from primum._typing import Floats
from primum.methods.base import AT_LEAST_ONE, with_parameters
from primum.methods.svm.base import MachineData, TransductiveMachine
from primum.methods.svm.newton import Balance
from primum.methods.svm.search import (
    Step,
    TransductiveSearch,
    search_by_annealing,
    search_by_switching,
    start_search,
)

# Rounds of cccp, at most: a handful is typical.
MAX_CCCP_ROUNDS = 1000
# A mean row counts as zero if its norm is below this fraction of that of the rows: the constraint
# on the class shares could then not be met by the weights.
ZERO_MEAN_TOLERANCE = 1e-9


def search_by_cccp(search: TransductiveSearch, unlabeled_weight: float, ramp: float) -> Floats:
    """Drop the terms beyond the ramp and refit until they no longer change; return the labels."""
    # The constraint on the mean output, unless the coefficients cannot affect it.
    X = search.system.X
    n = len(search.outputs)
    mean = np.concatenate([np.zeros(len(search.y)), np.full(n, 1.0 / n)])
    target = 2.0 * search.share - 1.0
    balance = None
    if np.linalg.norm(X.T @ mean) > ZERO_MEAN_TOLERANCE * np.linalg.norm(abs(X).T @ mean):
        balance = Balance(mean, target)
    elif abs(target) > ZERO_MEAN_TOLERANCE:
        raise ValueError(
            f"method='cccp' constrains the mean output of the unlabelled rows to {target:g}, but "
            "their mean is zero and there is no intercept: pass fit_intercept=True."
        )
    cost = unlabeled_weight * search.cost_unlabeled
    before = None
    for round_ in range(1, MAX_CCCP_ROUNDS + 1):
        within_ramp = np.stack([search.outputs, -search.outputs]) >= ramp
        if before is not None and np.array_equal(before, within_ramp):
            break
        before = within_ramp
        plus, minus = within_ramp * cost
        search.refit(search.two_sided(plus, minus), balance)
        # The ramp losses take the place of the losses that the refit uses.
        loss = np.maximum(0.0, 1.0 - np.stack([search.outputs, -search.outputs])) ** 2
        true = np.minimum(loss, (1.0 - ramp) ** 2)
        correction = 0.5 * float(((true - within_ramp * loss) @ cost).sum())
        value = search.machine.objective + correction
        search.machine = replace(search.machine, objective=value)
        search.history.append(Step(round_, value, 0))
    else:
        search.unfinished.add(
            f"stopped after {MAX_CCCP_ROUNDS} rounds of cccp with rows still crossing the end of "
            "the ramp; raise alpha or lower unlabeled_weight"
        )
    return np.where(search.outputs >= 0, 1.0, -1.0)


@with_parameters
class TSVMClassifier(TransductiveMachine):
    """Transductive support vector machine with squared hinge loss. Not safe.

    Parameters
    ----------
    method : {"switching", "annealing", "cccp"}, default="switching"
        How to search for a minimum.
    alpha : float, default=1.0
        Penalty ``alpha/2 * ||w||^2``, added to the mean losses.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    unlabeled_weight : float, default=1.0
        Weight of the mean loss of the unlabelled rows relative to that of the labelled rows.
    prior : float, dict or array-like of shape (2,), default=None
        Share of the unlabelled rows that get the second class, or the shares of both classes: a
        dict, or an array in the order of ``classes_``. None means those of the labelled rows. Rows
        are counted regardless of their weight, except those of weight 0. The share times the
        number of unlabelled rows is rounded; if it ends in 1/2, the row in the middle is labelled
        by the sign of its output. Shares that you pass raise an error if they leave a class without
        unlabelled rows. With None there is no error: the few unlabelled rows then all get one
        class, as ``n_positive_`` shows. With ``method="cccp"`` labels are not counted; instead the
        mean output of the unlabelled rows is constrained to ``2 * share - 1``.
    penalize_intercept : bool, default=False
        Whether the intercept is penalised like a coefficient.
    ramp : float, default=-0.3
        Where the ramp loss of ``method="cccp"`` becomes flat, in (-1, 0]; at 0 it is the loss of
        the other two methods.
    max_switches : int, default=10000
        Maximum number of pairs switched at once.
    tol : float, default=1e-8
        Accuracy of each refit, as in L2SVMClassifier.
    max_iter : int, default=1000
        Maximum number of Newton steps per refit.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; the second is encoded as 1.
    coef_ : array of shape (1, n_features)
        Coefficients.
    intercept_ : array of shape (1,)
        Intercept.
    transduction_ : array of shape (n_samples + n_more,)
        Class of every row, known or inferred: the rows of X, then those of X_unlabeled.
    n_positive_ : int
        Number of unlabelled rows of positive weight that got the second class.
    objective_ : float
        Value of the objective.
    n_switches_ : int
        Number of pairs switched.
    n_iter_ : int
        Number of refits.
    solver_ : {"primal", "dual", "conjugate_gradients"}
        How the linear systems of the refits were solved, as in L2SVMClassifier.
    history_ : list of Step
        For every refit: weight of the unlabelled rows, temperature or round; objective; pairs
        switched before it.
    supervised_ : L2SVMClassifier
        The SVM fitted to the labelled rows, where the search starts.

    References
    ----------
    V. Sindhwani and S. S. Keerthi, "Large scale semi-supervised linear SVMs", SIGIR 2006.
    R. Collobert, F. Sinz, J. Weston and L. Bottou, "Large scale transductive SVMs", Journal of
    Machine Learning Research 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import TSVMClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0], [-5.0]]), np.array([0, 0, 1, -1, -1])
    >>> TSVMClassifier().fit(X, y).transduction_
    array([0, 0, 1, 1, 0])
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions({"switching", "annealing", "cccp"})],
        "ramp": [Interval(Real, -1, 0, closed="right")],
        "max_switches": AT_LEAST_ONE,
    }

    method: str = field(default="switching", kw_only=False)
    alpha: float = 1.0
    penalize_intercept: bool = False
    ramp: float = -0.3
    max_switches: int = 10_000
    tol: float = 1e-8
    max_iter: int = 1000

    def _fit_data(self, data: MachineData) -> None:
        search, self.supervised_ = start_search(self, data)
        labels = np.zeros(0)
        weight = self.unlabeled_weight
        if data.n_unlabeled and self.method == "cccp":
            labels = search_by_cccp(search, weight, self.ramp)
        elif data.n_unlabeled and self.method == "annealing":
            labels = search_by_annealing(search, weight, self.max_switches)
        elif data.n_unlabeled:
            labels = search_by_switching(search, weight, self.max_switches)
        search.warn_if_unfinished(type(self).__name__)
        self.solver_ = search.system.name
        self.objective_ = search.machine.objective
        self.history_ = search.history
        self.n_iter_ = max(1, len(search.history))
        self.n_switches_ = sum(step.n_switches for step in search.history)
        self.n_positive_ = int(np.count_nonzero(labels > 0))
        self._remember_labels(data, search.machine.w, labels)
