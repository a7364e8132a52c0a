"""WellSVM (Li, Tsang, Kwok & Zhou 2013): a convex relaxation of the transductive SVM.

The TSVM searches for the labels v whose SVM has the lowest objective. In the dual,

    min over v   max over a >= 0   sum_i a_i - 1/2 sum_i a_i^2 / c_i - 1/(2 alpha) ||X'(a v)||^2,

with c_i = 1/L for labelled rows (whose v is known) and lambda/U for unlabelled ones, where lambda
is the ``unlabeled_weight``. Exchanging min and max gives a convex problem with a lower optimum,
over mixtures mu of labellings v_1 ... v_T instead of single ones,

    min over mu in the simplex   max over a   ... - 1/(2 alpha) sum_t mu_t ||X'(a v_t)||^2.

Its primal has one w_t for each labelling, with penalty alpha / mu_t, and the sum of v_t w_t'x as
output: an SVM on T times the columns (``newton.py``). Fitting it alternates with multiplying mu_t
by ||X'(a v_t)||^2, until the largest of these is close to their mean, which bounds the gap.
Labellings are generated one by one: the next is the one with the largest ||X'(a v)||, found by
maximising its linear lower bound, which amounts to sorting. This ends when a labelling hardly
lowers the objective. The classifier is the sum of the w_t.
"""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from primum._typing import Floats
from primum.methods.base import POSITIVE, with_parameters
from primum.methods.svm import newton
from primum.methods.svm.base import MachineData, TransductiveMachine
from primum.methods.svm.search import balanced_labels, start_search

# The smallest weight of a labelling, which keeps its penalty alpha / mu finite.
MIN_LABELLING_WEIGHT = 1e-7
# The maximum numbers of rounds of reweighting and of Newton steps of a refit, far more than usual.
MAX_REWEIGHTING_ROUNDS, MAX_REFIT_STEPS = 300, 1000


@with_parameters
class WellSVMClassifier(TransductiveMachine):
    """Weakly labelled support vector machine: a mixture of labellings. Not safe.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty ``alpha/2 * ||w||^2``, added to the mean losses.
    fit_intercept : bool, default=True
        Whether to fit an intercept; it is penalised like a coefficient.
    unlabeled_weight : float, default=1.0
        Weight of the mean loss of the unlabelled rows.
    prior : float, dict or array-like of shape (2,), default=None
        Share of the unlabelled rows that a labelling assigns to the second class, as in
        TSVMClassifier: rows are counted regardless of their weight, except those of weight 0.
    tol : float, default=1e-2
        Stop when a further labelling lowers the objective by less than this fraction of it.
    max_iter : int, default=30
        Maximum number of labellings generated.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; the second is encoded as 1.
    coef_, intercept_ : arrays
        The sum of the SVMs of the mixture.
    transduction_ : array of shape (n_samples + n_more,)
        Class of every row, known or predicted: the rows of X, then those of X_unlabeled.
    soft_labels_ : array of shape (n_unlabeled,)
        Share of the second class among the labels that the mixture gives to every unlabelled row:
        the rows of X, then those of X_unlabeled. Rows of weight 0 have the predicted class.
    mixture_ : array of shape (n_labelings,)
        Weights of the generated labellings, which sum to 1.
    objective_ : float
        Objective of the relaxed problem: at most that of the best generated labelling, up to a
        tenth of ``tol``.
    n_iter_ : int
        Number of labellings generated.
    solver_ : {"primal", "conjugate_gradients"}
        How the linear systems of the mixture were solved, as in L2SVMClassifier.
    history_ : list of float
        The objective after each labelling; it never increases.
    supervised_ : L2SVMClassifier
        The SVM fitted to the labelled rows.

    References
    ----------
    Y.-F. Li, I. W. Tsang, J. T. Kwok and Z.-H. Zhou, "Convex and scalable weakly labeled SVMs",
    Journal of Machine Learning Research 14 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import WellSVMClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0], [-5.0]]), np.array([0, 0, 1, -1, -1])
    >>> WellSVMClassifier().fit(X, y).transduction_
    array([0, 0, 1, 1, 0])
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {"tol": POSITIVE}

    penalize_intercept = True

    tol: float = 1e-2
    max_iter: int = 30

    def _fit_data(self, data: MachineData) -> None:
        search, self.supervised_ = start_search(self, data)
        X, L = data.X, data.n_labeled
        cost = search.cost.copy()
        cost[L:] *= self.unlabeled_weight
        mixture = _Mixture(X, cost, self.alpha, self.tol, search.unfinished)
        mixture.add(np.concatenate([data.y, balanced_labels(search.outputs, search.share)]))
        self.history_ = [mixture.machine.objective]

        # Add labellings until one of them hardly lowers the objective.
        for _ in range(self.max_iter if data.n_unlabeled else 0):
            # Climb to long ones, from the longest so far. ||X'(a v)||^2 is convex in v, so labels
            # that maximise its tangent have at least its value.
            a = mixture.dual()
            lengths = mixture.lengths(a)
            labels = mixture.labels[int(np.argmax(lengths))]
            length = -np.inf
            while True:
                direction = X.T @ (a * labels)
                if direction @ direction <= length * (1 + 1e-12):  # up to rounding
                    break
                length = float(direction @ direction)
                # Rows outside the margin have a = 0 and add nothing: label them by their side.
                pull = np.maximum(a, 1e-12 * a.max()) * (X @ direction)
                labels = np.concatenate([labels[:L], balanced_labels(pull[L:], search.share)])
            # A gain of less is within the accuracy of the dual variables.
            if length <= lengths.max() * (1 + 1e-9) or not mixture.add(labels):
                break
            self.history_.append(mixture.machine.objective)
            if self.history_[-2] - self.history_[-1] <= self.tol * self.history_[-2]:
                break
        else:
            if data.n_unlabeled:
                mixture.unfinished.add(
                    f"stopped after max_iter={self.max_iter} labellings although the last one "
                    f"still lowered the objective by more than tol={self.tol}; raise max_iter or "
                    "tol"
                )
        search.warn_if_unfinished(type(self).__name__)

        self.solver_ = mixture.solver
        self.objective_ = mixture.machine.objective
        self.n_iter_ = len(self.history_)
        self.mixture_ = mixture.shares
        w = mixture.machine.w.reshape(len(mixture.labels), -1).sum(axis=0)
        self._remember_labels(data, w, np.where(X[L:] @ w >= 0, 1.0, -1.0))
        positive = np.array(mixture.labels)[:, L:] > 0
        self.soft_labels_ = self._shares(data, mixture.shares @ positive)


class _Mixture:
    """Labellings, their mixture weights, and the SVM on one copy of the columns for each.

    ``unfinished`` describes the parts of the search that ended early.
    """

    def __init__(
        self, X: Any, cost: Floats, alpha: float, tol: float, unfinished: set[str]
    ) -> None:
        self.X, self.cost, self.alpha, self.tol, self.unfinished = X, cost, alpha, tol, unfinished
        self.labels: list[Floats] = []
        self.shares = np.zeros(0)
        self.machine = newton.Machine(np.zeros(0), np.zeros(0), np.inf)

    def add(self, labels: Floats) -> bool:
        """Add a labelling and refit the mixture; undo this and return False if it does not help."""
        before = self.labels, self.shares, self.machine
        T = len(self.labels)
        self.labels = [*self.labels, labels]
        self.shares = np.append(self.shares * T / (T + 1), 1 / (T + 1))
        system: newton.NewtonSystem
        if sparse.issparse(self.X):
            signs: list[Any] = [sparse.diags_array(labels) for labels in self.labels]
            copies = [sign @ self.X for sign in signs]
            system = newton.Conjugate(sparse.hstack(copies, format="csr"), self._ridge())
        else:
            Z = np.hstack([labels[:, None] * self.X for labels in self.labels])
            system = newton.Primal(Z, self._ridge(), [slice(0, len(Z))])
        self.solver = system.name
        self.machine = newton.machine_at(
            system, np.append(self.machine.w, np.zeros(self.X.shape[1]))
        )
        self._mix(system)
        helps = self.machine.objective <= before[2].objective
        if not helps:
            self.labels, self.shares, self.machine = before
        return helps

    def _ridge(self) -> Floats:
        return np.repeat(self.alpha / self.shares, self.X.shape[1])

    def _mix(self, system: newton.NewtonSystem) -> None:
        """Alternate between fitting and reweighting, until no weight can gain."""
        costs = newton.HingeCosts(np.ones(len(self.cost)), self.cost)
        for _ in range(MAX_REWEIGHTING_ROUNDS):
            system.ridge = self._ridge()
            self.machine = newton.minimize(
                system, costs, self.machine, tol=1e-9, max_iter=MAX_REFIT_STEPS
            )
            if not self.machine.converged:
                self.unfinished.add(
                    f"stopped a refit after {MAX_REFIT_STEPS} Newton steps; scale the features or "
                    "raise alpha"
                )
            lengths = self.lengths(self.dual())
            gap = (lengths.max() - self.shares @ lengths) / (2 * self.alpha)
            # Reweighting may cost a tenth of the tolerance, so that the search has the rest.
            if gap <= 0.1 * self.tol * self.machine.objective or len(self.labels) == 1:
                return
            shares = np.maximum(self.shares * lengths, MIN_LABELLING_WEIGHT)
            self.shares = shares / shares.sum()
        self.unfinished.add(
            f"stopped reweighting labellings after {MAX_REWEIGHTING_ROUNDS} rounds with a gap "
            f"above a tenth of tol={self.tol}; raise tol"
        )

    def dual(self) -> Floats:
        """Return the dual variables a of the rows."""
        return self.cost * np.maximum(0.0, 1.0 - self.machine.o)

    def lengths(self, a: Floats) -> Floats:
        """Return ``||X'(a v_t)||^2`` for every labelling."""
        pulls = self.X.T @ (a[:, None] * np.array(self.labels).T)
        return np.asarray((pulls**2).sum(axis=0))
