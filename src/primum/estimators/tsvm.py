"""Transductive support vector machines: look for a wide margin on unlabelled rows too. Not safe.

    minimise over w, b and labels v of the unlabelled rows

        alpha/2 ||w||^2 + 1/2L sum_i l(y_i o_i) + lambda_u/2U sum_j l(v_j o_j),

    o = w'x + b,  l(t) = max(0, 1 - t)^2,  with a given number of the v_j positive.

It has many local minima, and the three methods are three ways to look for a good one:

    switching   Start from the supervised machine and give the highest outputs the positive
                labels. Raise lambda_u from 1e-5 by factors of 1.5; at each value exchange the
                labels of pairs, one positive and one negative, where that lowers the loss, the
                worst pairs first, and refit, until no pair improves.
    annealing   Labels are probabilities p_j, of mean R, with T/2U sum_j (p_j log p_j + ...) added.
                Refit and relabel in turn while the temperature T falls; then switch.
    cccp        Each unlabelled row is a positive and a negative one, and each of the two has a
                ramp loss  min(l(t), l(s)):  beyond s a row is given up. Drop those given up, refit,
                repeat. The labels are not counted; the mean output is held at 2R - 1.

The kernel of all three is the finite Newton of ``_svm``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import expit, xlogy
from sklearn.utils._param_validation import Interval, StrOptions

from primum._threads import one_blas_thread
from primum._typing import Floats, Mask
from primum.estimators._svm import (
    Balance,
    Costs,
    Machine,
    NewtonSystem,
    machine_at,
    minimise,
    newton_system,
    two_sided_costs,
    warn_if_short,
)
from primum.estimators._svm_data import (
    LinearMachineMixin,
    MachineData,
    read_machine_data,
    ridge_of,
)
from primum.estimators.l2_svm import L2SVMClassifier

# As in Sindhwani & Keerthi (2006).
FIRST_LAMBDA, LAMBDA_RATE = 1e-5, 1.5
FIRST_TEMPERATURE, COOLING_RATE = 10.0, 1.5
ENTROPY_ENOUGH, CHANGE_ENOUGH, MOST_ROUNDS = 1e-6, 1e-6, 100


class Step(NamedTuple):
    """A moment of the search: where it was, the objective there, and the labels just exchanged.

    ``at`` is lambda_u (switching), the temperature (annealing) or the round (cccp).
    """

    at: float
    objective: float
    n_switches: int


class TSVMClassifier(LinearMachineMixin):
    """Transductive support vector machine with a squared hinge. Not safe.

    Parameters
    ----------
    method : {"switching", "annealing", "cccp"}, default="switching"
        How to look for a minimum.
    lambda_u : float, default=1.0
        Weight of the unlabelled rows' mean loss beside the labelled rows' mean loss.
    positive_fraction : "labeled" or float, default="labeled"
        Share of the unlabelled rows that are of the second class; "labeled" is the share among
        the labelled rows. The share times U is rounded; if it ends in 1/2, the row in the
        middle goes by the sign of its output.
    alpha : float, default=1.0
        Penalty ``alpha/2 * ||w||^2`` beside the mean losses.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    penalize_intercept : bool, default=False
        Whether the intercept is penalised like a coefficient.
    ramp : float, default=-0.3
        Where the ramp of ``method="cccp"`` ends, in (-1, 0]; at 0 its loss is that of the other
        two methods.
    max_switches : int, default=10000
        Most pairs exchanged at once.
    tol : float, default=1e-8
        Accuracy of each refit, as in L2SVMClassifier.
    max_iter : int, default=1000
        Most Newton steps of a refit.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; the second one is coded 1.
    coef_ : array of shape (1, n_features)
        Coefficients.
    intercept_ : array of shape (1,)
        Intercept.
    transduction_ : array of shape (n_unlabeled,)
        Class given to every unlabelled row: those of X, then those of X_unlabeled.
    n_positive_ : int
        How many unlabelled rows (with weight) were given the second class.
    objective_ : float
        Value of the objective.
    n_switches_ : int
        Pairs exchanged.
    n_iter_ : int
        Refits.
    history_ : list of Step
        Every refit: lambda_u, temperature or round; objective; pairs exchanged before it.
    supervised_ : L2SVMClassifier
        The machine fitted to the labelled rows, where the search starts.

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
    array([1, 0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions({"switching", "annealing", "cccp"})],
        "lambda_u": [Interval(Real, 0, None, closed="neither")],
        "positive_fraction": [StrOptions({"labeled"}), Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "penalize_intercept": ["boolean"],
        "ramp": [Interval(Real, -1, 0, closed="right")],
        "max_switches": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        method: str = "switching",
        *,
        lambda_u: float = 1.0,
        positive_fraction: str | float = "labeled",
        alpha: float = 1.0,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        ramp: float = -0.3,
        max_switches: int = 10_000,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.method = method
        self.lambda_u = lambda_u
        self.positive_fraction = positive_fraction
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.ramp = ramp
        self.max_switches = max_switches
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels of two classes; -1 (integers) or None, NaN, pd.NA (any other type) where
            the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), default=None
            Further unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row of X counts in its mean loss. Class shares count rows.

        Returns
        -------
        TSVMClassifier
            This estimator, fitted.
        """
        data = read_machine_data(
            self, X, y, X_unlabeled, sample_weight, fit_intercept=self.fit_intercept
        )
        with one_blas_thread():
            return self._fit_data(data)

    def _fit_data(self, data: MachineData) -> Self:
        search, self.supervised_ = start_search(self, data)
        labels = SEARCHES[self.method](search, self) if data.n_unlabeled else np.zeros(0)
        warn_if_short(search.machine, type(self).__name__, self.max_iter, stacklevel=4)
        self.objective_ = search.machine.objective
        self.history_ = search.history
        self.n_iter_ = max(1, len(search.history))
        self.n_switches_ = sum(step.n_switches for step in search.history)
        self.n_positive_ = int(np.count_nonzero(labels > 0))
        self._remember(data.classes, search.machine.w)
        self.transduction_ = data.spread(labels)
        return self


def start_search(clf: Any, data: MachineData) -> "tuple[Search, L2SVMClassifier]":
    """Return a search where it starts, at the supervised machine, and that machine."""
    twin = L2SVMClassifier(
        clf.alpha,
        fit_intercept=clf.fit_intercept,
        penalize_intercept=clf.penalize_intercept,
        tol=min(clf.tol, 1e-8),
    )._fit_data(data)
    if hasattr(clf, "feature_names_in_"):
        twin.feature_names_in_ = clf.feature_names_in_
    L, cost = data.n_labeled, data.weight.copy()
    cost[:L] /= cost[:L].sum()
    cost[L:] /= cost[L:].sum() if data.n_unlabeled else 1.0
    if isinstance(clf.positive_fraction, str):
        share = float(cost[:L] @ (data.y > 0))
    else:
        share = float(clf.positive_fraction)
        check_share(share, data.n_unlabeled)
    ridge = ridge_of(clf.alpha, data.X.shape[1], clf.fit_intercept, clf.penalize_intercept)
    system = newton_system(data.X, ridge, data.groups())
    start = replace(machine_at(system, twin._weights()), objective=twin.objective_)
    return Search(system, data.y, cost, start, share, [], clf.tol, clf.max_iter), twin


def check_share(share: float, n: int) -> None:
    """Refuse a share of positives that n rows cannot show."""
    if n and not 1 <= round(share * n) <= n - 1:
        raise ValueError(
            f"positive_fraction={share} of {n} unlabelled rows is {share * n:.2g} rows, which "
            "leaves one class empty: give more unlabelled rows or a share closer to 1/2."
        )


def balanced_labels(outputs: Floats, share: float) -> Floats:
    """Return labels -1 and 1: the given share of rows, those with the highest outputs, is 1.

    Where the share ends in half a row, the row in the middle goes by the sign of its output, so
    that exchanging the classes exchanges the labels.
    """
    n = len(outputs)
    exact = round(share * n, 9)
    n_positive = int(np.floor(exact + 0.5))
    order = np.argsort(-outputs, kind="stable")
    if exact % 1 == 0.5 and outputs[order[n_positive - 1]] <= 0:
        n_positive -= 1
    labels = np.full(n, -1.0)
    labels[order[:n_positive]] = 1.0
    return labels


@dataclass
class Search:
    """Where a search stands; ``cost`` is each row's share of its mean loss, labelled rows first."""

    system: NewtonSystem
    y: Floats
    cost: Floats
    machine: Machine
    share: float
    history: list[Step]
    tol: float
    max_iter: int

    @property
    def outputs(self) -> Floats:
        """Outputs of the unlabelled rows."""
        return self.machine.o[len(self.y) :]

    @property
    def cost_unlabeled(self) -> Floats:
        """Each unlabelled row's share of their mean loss."""
        return self.cost[len(self.y) :]

    def refit(self, costs: Costs, balance: Balance | None = None) -> None:
        """Move to the minimum for given costs."""
        self.machine = minimise(
            self.system,
            costs,
            self.machine,
            tol=self.tol,
            max_iter=self.max_iter,
            balance=balance,
        )

    def refit_labels(self, labels: Floats, lambda_u: float, n_switches: int = 0) -> None:
        """Move to the minimum for given labels of the unlabelled rows, and note it."""
        cost = self.cost.copy()
        cost[len(self.y) :] *= lambda_u
        self.refit(Costs(np.concatenate([self.y, labels]), cost))
        self.history.append(Step(lambda_u, self.machine.objective, n_switches))

    def two_sided(self, plus: Floats, minus: Floats) -> Costs:
        """Return the costs if unlabelled rows count on both sides."""
        return two_sided_costs(self.y, self.cost[: len(self.y)], plus, minus)


def search_by_switching(search: Search, clf: TSVMClassifier) -> Floats:
    """Raise lambda_u step by step, exchanging labels at each; return the labels."""
    labels = balanced_labels(search.outputs, search.share)
    lambda_u = min(FIRST_LAMBDA, clf.lambda_u)
    while True:
        search.refit_labels(labels, lambda_u)
        switch_all(search, labels, lambda_u, clf.max_switches)
        if lambda_u >= clf.lambda_u:
            return labels
        lambda_u = min(LAMBDA_RATE * lambda_u, clf.lambda_u)


def switch_all(search: Search, labels: Floats, lambda_u: float, most: int) -> None:
    """Exchange labels and refit until no pair improves."""
    while n_switches := _switch(labels, search.outputs, search.cost_unlabeled, most):
        search.refit_labels(labels, lambda_u, n_switches)


def _switch(labels: Floats, o: Floats, cost: Floats, most: int) -> int:
    """Exchange the labels of the worst pairs inside the margin; return how many."""
    # What a row loses as a positive minus what it would as a negative.
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


def search_by_annealing(search: Search, clf: TSVMClassifier) -> Floats:
    """Lower the temperature until the labels are certain, then switch; return the labels."""
    cost = clf.lambda_u * search.cost_unlabeled
    p = np.full(len(cost), search.share)
    temperature, nu = FIRST_TEMPERATURE, 0.0
    while True:
        for _ in range(MOST_ROUNDS):
            search.refit(search.two_sided(p * cost, (1.0 - p) * cost))
            search.history.append(Step(temperature, search.machine.objective, 0))
            before = p
            p, nu = _soft_labels(search.outputs, cost, search.share, temperature, nu)
            if _divergence(p, before) < CHANGE_ENOUGH:
                break
        if _entropy(p) < ENTROPY_ENOUGH or temperature < 1e-8:
            break
        temperature /= COOLING_RATE
    labels = balanced_labels(search.outputs, search.share)
    search.refit_labels(labels, clf.lambda_u)
    switch_all(search, labels, clf.lambda_u, clf.max_switches)
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
        excess = p.mean() - share
        if abs(excess) < 1e-12:
            break
        low, high = (nu, high) if excess < 0 else (low, nu)
        slope = np.mean(p * (1.0 - p)) / temperature
        newton = nu - excess / slope if slope > 0 else low
        nu = newton if low < newton < high else 0.5 * (low + high)
    return p, nu


def _divergence(p: Floats, q: Floats) -> float:
    """Return the mean Kullback-Leibler divergence of p from q."""
    q = np.clip(q, 1e-300, 1.0 - 1e-16)
    return float(np.mean(xlogy(p, p / q) + xlogy(1.0 - p, (1.0 - p) / (1.0 - q))))


def _entropy(p: Floats) -> float:
    return float(-np.mean(xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)))


def search_by_cccp(search: Search, clf: TSVMClassifier) -> Floats:
    """Drop what is beyond the ramp and refit until that rests; return the labels."""
    n_labeled, n = len(search.y), len(search.outputs)
    mean = np.concatenate([np.zeros(n_labeled), np.full(n, 1.0 / n)])
    balance = Balance(mean, 2.0 * search.share - 1.0)
    cost, before = clf.lambda_u * search.cost_unlabeled, None
    for round_ in range(1, 10 * MOST_ROUNDS):
        kept = np.stack([search.outputs, -search.outputs]) >= clf.ramp
        if before is not None and np.array_equal(before, kept):
            break
        before = kept
        search.refit(search.two_sided(*(kept * cost)), balance)
        value = search.machine.objective + _correction(search, cost, kept, clf.ramp)
        search.machine = replace(search.machine, objective=value)
        search.history.append(Step(round_, value, 0))
    return np.where(search.outputs > 0, 1.0, -1.0)


def _correction(search: Search, cost: Floats, kept: Mask, ramp: float) -> float:
    """Return the ramp losses minus what a refit counted instead of them."""
    loss = np.maximum(0.0, 1.0 - np.stack([search.outputs, -search.outputs])) ** 2
    true = np.minimum(loss, (1.0 - ramp) ** 2)
    return 0.5 * float(((true - kept * loss) @ cost).sum())


SEARCHES: dict[str, Callable[[Search, TSVMClassifier], Floats]] = {
    "switching": search_by_switching,
    "annealing": search_by_annealing,
    "cccp": search_by_cccp,
}
