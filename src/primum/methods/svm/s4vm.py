"""S4VM (Li & Zhou 2011): guard against the worst of several low-density separators.

There are many low-density separators, and nobody knows which one is right. So collect several
different ones, v_1 ... v_T (labels -1 and 1 of the unlabelled rows), and choose the labels v with
the largest gain over the labels s of the supervised SVM in the worst case, whichever v_t is right:

    maximise over v    min over t    earn(v, v_t) - risk * lose(v, v_t),

    earn = rows where v is right and s wrong,    lose = rows where v is wrong and s right.

With v in [-1, 1] this is a linear program, because a row adds (1 + v v_t) / 2 to earn where s is
not v_t, and (1 - v v_t) / 2 to lose where it is. Its vertices have at most T fractional labels,
which are rounded. s itself gains 0 in every case; if the rounded labels gain less, s is kept.

The separators are local minima of the TSVM objective, from random directions; directions come in
opposite pairs, so that neither the order of the rows nor the names of the classes matter. Similar
separators are clustered, and the best of each cluster is kept.
"""

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from primum._typing import Floats, Index
from primum._warnings import warn
from primum.methods.base import AT_LEAST_ONE, NOT_NEGATIVE, with_parameters
from primum.methods.svm.base import MachineData, TransductiveMachine
from primum.methods.svm.search import balanced_labels, start_search, switch_all


@with_parameters
class S4VMClassifier(TransductiveMachine):
    """S4VM, a semi-supervised support vector machine that guards against its worst separator.

    If one of the separators it finds is right, its labels for the unlabelled rows are no less
    accurate than the supervised ones (for ``risk`` of at least 1). Nothing ensures that one of them
    is right, and there is no guarantee for other rows: it can be worse than the supervised SVM.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty ``alpha/2 * ||w||^2``, added to the mean losses.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    unlabeled_weight : float, default=1.0
        Weight of the mean loss of the unlabelled rows.
    prior : float, dict or array-like of shape (2,), default=None
        Share of the unlabelled rows that a separator assigns to the second class, as in
        TSVMClassifier: rows are counted regardless of their weight, except those of weight 0.
    risk : float, default=3.0
        Weight of a lost row relative to an earned one.
    n_init : int, default=50
        Number of random starts of the search for separators.
    n_separators : int, default=10
        Maximum number of separators kept.
    penalize_intercept : bool, default=False
        Whether the intercept is penalised like a coefficient.
    tol : float, default=1e-6
        Accuracy of each refit, as in L2SVMClassifier.
    max_iter : int, default=1000
        Maximum number of Newton steps per refit.
    random_state : int, RandomState or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; the second is encoded as 1.
    coef_, intercept_ : arrays
        The SVM fitted to the labelled rows and the chosen labels, or the supervised SVM if the
        chosen labels are the supervised ones.
    transduction_ : array of shape (n_samples + n_more,)
        Class of every row, known or inferred: the rows of X, then those of X_unlabeled.
    separators_ : array of shape (n_separators, n_unlabeled)
        Labels -1 and 1 of the separators, for the unlabelled rows of positive weight.
    gains_ : array of shape (n_separators,)
        For each separator, earned minus ``risk`` times lost rows if it were right; never below 0.
    n_iter_ : int
        Number of refits.
    solver_ : {"primal", "dual", "conjugate_gradients"}
        How the linear systems of the refits were solved, as in L2SVMClassifier.
    supervised_ : L2SVMClassifier
        The SVM fitted to the labelled rows.

    References
    ----------
    Y.-F. Li and Z.-H. Zhou, "Towards making unlabeled data never hurt", ICML 2011; IEEE TPAMI 37
    (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import S4VMClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0], [-5.0]]), np.array([0, 0, 1, -1, -1])
    >>> S4VMClassifier().fit(X, y).transduction_
    array([0, 0, 1, 1, 0])
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {"risk": NOT_NEGATIVE, "n_separators": AT_LEAST_ONE}

    risk: float = 3.0
    n_init: int = 50
    n_separators: int = 10
    penalize_intercept: bool = False
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: Any = 0

    def _fit_data(self, data: MachineData) -> None:
        search, self.supervised_ = start_search(self, data)
        supervised = np.where(search.outputs >= 0, 1.0, -1.0)
        labels = supervised
        self.separators_ = np.zeros((0, data.n_unlabeled))
        self.gains_ = np.zeros(0)
        if data.n_unlabeled:
            # Local minima from random directions, and the best of each kind of them. The share of
            # positives, not the intercept, sets the threshold of a direction.
            X = search.system.X
            rng = check_random_state(self.random_state)
            half = rng.normal(size=((self.n_init + 1) // 2, X.shape[1]))
            if self.fit_intercept:
                half[:, -1] = 0.0
            directions = np.stack([half, -half], axis=1).reshape(-1, X.shape[1])
            start = search.machine
            minima = {}
            for direction in directions[: self.n_init]:
                labels = balanced_labels(X[len(search.y) :] @ direction, search.share)
                search.machine = start
                search.refit_labels(labels, self.unlabeled_weight)
                switch_all(search, labels, self.unlabeled_weight, len(labels))
                minima[labels.tobytes()] = (search.machine.objective, labels)
            search.machine = start
            values, candidates = map(np.array, zip(*minima.values(), strict=True))
            self.separators_ = best_of_clusters(values, candidates, self.n_separators)
            labels, self.gains_ = safest_labels(self.separators_, supervised, self.risk)
            if np.any(labels != supervised):
                search.refit_labels(labels, self.unlabeled_weight)
        search.warn_if_unfinished(type(self).__name__)
        self.solver_ = search.system.name
        self.n_iter_ = max(1, len(search.history))
        self._remember_labels(data, search.machine.w, labels)


def best_of_clusters(values: Floats, candidates: Floats, most: int) -> Floats:
    """Return the candidate with the lowest value in each of at most ``most`` clusters."""
    if len(candidates) <= most:
        return candidates
    # Importing it takes half as long as importing this package, and no other method needs it.
    from scipy.cluster.hierarchy import fcluster, linkage

    cluster = fcluster(linkage(candidates, "average", metric="hamming"), most, "maxclust")
    order = np.argsort(values, kind="stable")
    _, first = np.unique(cluster[order], return_index=True)
    return candidates[order[np.sort(first)]]


def gains(labels: Floats, separators: Floats, supervised: Floats, risk: float) -> Floats:
    """Return earned minus ``risk`` times lost rows over ``supervised``, for each separator."""
    agrees, contested = labels == separators, separators != supervised
    earned = np.count_nonzero(agrees & contested, axis=1)
    lost = np.count_nonzero(~agrees & ~contested, axis=1)
    return np.asarray(earned - risk * lost, dtype=np.float64)


def safest_labels(separators: Floats, supervised: Floats, risk: float) -> tuple[Floats, Floats]:
    """Return (labels whose smallest gain over the supervised ones is largest, their gains)."""
    labels = supervised.copy()
    contested: Index = np.flatnonzero((separators != supervised).any(axis=0))
    if len(contested):
        # The v in [-1, 1] that maximises the smallest gain. The gain from separator t is
        # slope_t'v + level_t; minimise -tau with tau below all gains.
        others, known = separators[:, contested], supervised[contested]
        slope = np.where(others != known, 0.5, 0.5 * risk) * others
        level = np.where(others != known, 0.5, -0.5 * risk).sum(axis=1)
        T, n = others.shape
        answer = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=np.column_stack([-slope, np.ones(T)]),
            b_ub=level,
            bounds=[(-1.0, 1.0)] * n + [(None, None)],
            method="highs",
        )
        worst = known
        if answer.success and answer.x is not None:
            worst = np.asarray(answer.x[:n])
        else:
            warn(
                "S4VMClassifier kept the supervised labels, because the linear program for better "
                f"labels was not solved: {answer.message}",
                ConvergenceWarning,
            )
        labels[contested] = np.where(worst == 0, known, np.sign(worst))
    gained = gains(labels, separators, supervised, risk)
    if gained.min() < 0:
        return supervised, np.zeros(len(separators))
    return labels, gained
