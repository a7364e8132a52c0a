"""ICLS with several classes: its definition, its theorem and its certificate, by plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from generate import least_squares_family, several_classes, two_classes
from primum import ICLSClassifier, LeastSquaresClassifier
from primum.labellings import Simplex, implicit, implicit_problems
from primum.rows import ArrayRows, LabeledRows
from primum.solvers import solve_problem
from primum_lab.as_published import PublishedICLS

SEEDS = st.integers(0, 2**32 - 1)
METRICS = ("labeled", 0.3, "all", "euclidean")
metrics = st.sampled_from(METRICS)
alphas = st.sampled_from([0.0, 0.1])


class Definition:
    """The objective of any labelling, from least squares on all rows with NumPy."""

    def __init__(self, X, Y, *, weight=None, alpha=0.0, metric="labeled", fit_intercept=True):
        self.X, self.Y, self.L, self.alpha, self.metric = X, Y, len(Y), alpha, metric
        self.weight = np.ones(len(X)) if weight is None else weight
        self.center = np.average(X, axis=0, weights=self.weight) * fit_intercept
        first = np.full((len(X), 1), float(fit_intercept))
        self.D = np.hstack([first, X - self.center])
        self.ridge = np.diag(np.r_[0.0, np.full(X.shape[1], alpha)])

    def model(self, Q):
        """Return the coefficients, after that of the intercept, for labels Q of the others."""
        root = np.sqrt(self.weight / self.weight.sum())[:, None]
        A = np.vstack([root * self.D, np.sqrt(self.ridge)])
        labels = np.vstack([root * np.vstack([self.Y, Q]), np.zeros((len(self.ridge), len(Q.T)))])
        return np.linalg.lstsq(A, labels, rcond=1e-12)[0]

    def parameters(self, clf):
        """Return the same of a fitted classifier."""
        return np.vstack([clf.intercept_ + self.center @ clf.coef_.T, clf.coef_.T])

    def penalised_loss(self, beta, labels, n):
        """Return the mean squared loss over the first n rows plus the ridge."""
        squares = np.sum((self.D[:n] @ beta - labels) ** 2, axis=1)
        return np.average(squares, weights=self.weight[:n]) + np.sum(beta * (self.ridge @ beta))

    def distance(self, step, share):
        """Return the square of a step in the metric of a share s."""
        known, every = (self.penalised_loss(step, 0.0, n) for n in (self.L, len(self.X)))
        return (1 - share) * known + share * every

    def objective(self, beta, twin):
        if self.metric == "labeled":
            return self.penalised_loss(beta, self.Y, self.L)
        if self.metric == "euclidean":
            return np.sum((beta - twin) ** 2) / self.weight[: self.L].sum()
        return self.distance(beta - twin, 1.0 if self.metric == "all" else self.metric)


def random_problem(seed, max_features=6):
    """Return X, all true labels, the number of labelled rows, and the number of classes."""
    rng = np.random.default_rng(seed)
    K, d = rng.integers(3, 6), rng.integers(1, max_features + 1)
    L, U = K + rng.integers(0, 15), rng.integers(1, 20)
    X = rng.normal(size=(L + U, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    truth = np.r_[np.arange(K), rng.integers(0, K, L + U - K)]
    return X, truth, L, K


def known(truth, L):
    return np.r_[truth[:L], np.full(len(truth) - L, -1)]


@given(SEEDS, metrics, alphas, st.booleans(), st.booleans())
def test_no_random_labelling_has_a_lower_objective(seed, metric, alpha, fit_intercept, weighted):
    X, truth, L, K = random_problem(seed)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    clf = ICLSClassifier(alpha, metric=metric, fit_intercept=fit_intercept)
    clf.fit(X, known(truth, L), sample_weight=weight)
    proof = clf.certificate_
    assert proof.converged
    definition = Definition(
        X,
        np.eye(K)[truth[:L]],
        weight=weight,
        alpha=alpha,
        metric=metric,
        fit_intercept=fit_intercept,
    )
    twin = definition.parameters(clf.supervised_)
    beta = definition.model(clf.soft_labels_)
    np.testing.assert_allclose(definition.parameters(clf), beta, atol=1e-7)
    at = definition.objective(beta, twin)
    assert at == pytest.approx(proof.objective, abs=1e-8)
    for spread in (0.05, 1.0):
        other = rng.dirichlet(np.full(K, spread), len(X) - L)
        for Q in (other, np.eye(K)[truth[L:]], 0.99 * clf.soft_labels_ + 0.01 * other):
            found = definition.objective(definition.model(Q), twin)
            assert found >= proof.lower_bound - 1e-9 * (1 + found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", METRICS)
def test_the_optimum_is_that_of_a_generic_solver(seed, metric):
    fit_intercept, K, U = seed % 2 == 0, 3, 6
    X, y, X_u, _ = several_classes(8, U, 2, K, seed=seed, separation=1.0)
    clf = ICLSClassifier(metric=metric, fit_intercept=fit_intercept).fit(X, y, X_unlabeled=X_u)
    definition = Definition(
        np.vstack([X, X_u]), np.eye(K)[y], metric=metric, fit_intercept=fit_intercept
    )
    twin = definition.parameters(clf.supervised_)
    # The model is an affine function of the labels, so that of every unit label is enough.
    none = definition.model(np.zeros((U, K)))
    ways = [definition.model(unit.reshape(U, K)) - none for unit in np.eye(U * K)]

    def objective(q):
        return definition.objective(none + np.tensordot(q, ways, axes=1), twin)

    generic = minimize(
        objective,
        np.full(U * K, 1 / K),
        method="SLSQP",
        bounds=[(0, 1)] * (U * K),
        constraints={"type": "eq", "fun": lambda q: q.reshape(U, K).sum(axis=1) - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert clf.certificate_.objective == pytest.approx(generic.fun, abs=1e-7)
    assert clf.certificate_.objective <= generic.fun + 1e-9


@given(SEEDS, alphas, st.booleans())
def test_the_penalised_loss_on_all_rows_is_never_above_the_twins(seed, alpha, fit_intercept):
    """The sum over the classes, of metric "all", whatever the true labels are."""
    X, truth, L, K = random_problem(seed)
    clf = ICLSClassifier(alpha, metric="all", fit_intercept=fit_intercept)
    clf.fit(X, known(truth, L))
    Y = np.eye(K)[truth]
    definition = Definition(X, Y[:L], alpha=alpha, fit_intercept=fit_intercept)
    ours, twins = (
        definition.penalised_loss(definition.parameters(model), Y, len(X))
        for model in (clf, clf.supervised_)
    )
    assert ours <= twins * (1 + 1e-7) + 1e-8


@given(SEEDS, alphas, st.sampled_from([0.03, 0.2, 0.5, 0.8]))
def test_never_further_from_the_true_model_than_the_twin(seed, alpha, share):
    X, truth, L, K = random_problem(seed)
    clf = ICLSClassifier(alpha, metric=share).fit(X, known(truth, L))
    definition = Definition(X, np.eye(K)[truth[:L]], alpha=alpha)
    oracle = definition.model(np.eye(K)[truth[L:]])
    ours, twins = (
        definition.distance(definition.parameters(model) - oracle, share)
        for model in (clf, clf.supervised_)
    )
    assert ours <= twins * (1 + 1e-7) + 1e-8


@given(SEEDS, metrics, alphas)
def test_permuting_the_classes_permutes_the_columns(seed, metric, alpha):
    X, truth, L, K = random_problem(seed)
    order = np.random.default_rng(seed).permutation(K)
    clf, permuted = (
        ICLSClassifier(alpha, metric=metric, tol=1e-11).fit(X, known(labels, L))
        for labels in (truth, order[truth])
    )
    np.testing.assert_allclose(
        permuted.decision_function(X)[:, order], clf.decision_function(X), atol=1e-6
    )
    assert permuted.certificate_.objective == pytest.approx(clf.certificate_.objective, abs=1e-9)


def solved_as_several_classes(clf, X, y, X_u, weight=None):
    """Return (coefficients, intercepts, labels) of two classes on the simplex."""
    labeled = LabeledRows(X, np.eye(2)[y], None if weight is None else weight[: len(X)])
    unlabeled = ArrayRows(X_u, weight=None if weight is None else weight[len(X) :])
    family = least_squares_family(labeled, unlabeled, alpha=clf.alpha, fit_intercept=True)
    coef, level = clf.supervised_.coef_[0], clf.supervised_.intercept_[0] + 0.5
    twin = np.column_stack([-coef, coef]), np.array([1 - level, level])
    problem = next(implicit_problems(family, clf.alpha, twin, [clf.metric], Simplex(2)))
    q = solve_problem(problem, solver="auto", tol=clf.tol, max_iter=10_000).labels
    return *family.equations.decode(family.gamma(q)), q


@given(SEEDS, metrics, alphas, st.booleans())
def test_two_classes_as_several_are_the_answer_of_two(seed, metric, alpha, weighted):
    rng = np.random.default_rng(seed)
    L, U, d = rng.integers(3, 20), rng.integers(1, 60), rng.integers(1, 8)
    X, y, X_u, _ = two_classes(L, U, d, seed=seed)
    weight = rng.uniform(0.5, 2.0, L + U) if weighted else None
    clf = ICLSClassifier(alpha, metric=metric, tol=1e-11)
    clf.fit(np.vstack([X, X_u]), np.r_[y, np.full(U, -1)], sample_weight=weight)
    coef, intercept, q = solved_as_several_classes(clf, X, y, X_u, weight)
    np.testing.assert_allclose(coef, np.outer(clf.coef_[0], [-1, 1]), atol=1e-8)
    np.testing.assert_allclose(intercept - 0.5, [-1, 1] * clf.intercept_, atol=1e-8)
    if clf.certificate_.determined:
        np.testing.assert_allclose(q[:, 1], clf.soft_labels_, atol=1e-6)


def hard_cases():
    """Return {name: (X, y, X_unlabeled, parameters)}."""

    def plain(*args, **kwargs):
        return several_classes(*args, **kwargs)[:3]

    def mapped(function, *args, **kwargs):
        X, y, X_u = plain(*args, **kwargs)
        return function(X), y, function(X_u)

    def spoilt(X):
        return np.column_stack([X, 250 * X[:, 0], np.full(len(X), 3.0), X[:, 1]])

    X, y, X_u = plain(25, 60, 3, 4)
    outliers = (X, y, np.vstack([1e3 * X_u[:3], X_u[3:]]))
    X, y, X_u = plain(25, 12, 3, 4)
    repeated = (np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(X_u, 6, axis=0))
    X, y, X_u = plain(40, 80, 4, 5)
    rare = (X, np.where(np.arange(40) < 5, y, 0), X_u)
    cases = {
        "plain": plain(25, 60, 5, 4),
        "L < d": plain(8, 60, 15, 4),
        "L < d, fewer rows": plain(8, 40, 15, 4),
        "L < d, the least loss is attained inside": plain(4, 200, 6, 4, separation=0.1),
        "L + U < d": plain(8, 10, 30, 4),
        "one label per class": plain(4, 60, 3, 4),
        "rare classes": rare,
        "U = 0": plain(20, 0, 5, 4),
        "U = 1": plain(20, 1, 5, 4),
        "U < K": plain(30, 3, 5, 6),
        "14 classes": plain(40, 60, 3, 14),
        "30 classes": plain(60, 40, 2, 30),
        "collinear, constant and duplicated columns": mapped(spoilt, 25, 60, 4, 4),
        "columns scaled by 1e-6 and 1e6": mapped(
            lambda X: X * np.array([1e-6, 1e6, 1.0, 1e3, 1e-3]), 25, 60, 5, 4
        ),
        "means of 1e4": mapped(lambda X: X + 1e4, 25, 60, 5, 4),
        "supervised solution inside": plain(200, 150, 2, 3, separation=0.1),
        "repeated rows": repeated,
        "outliers": outliers,
        "integers": mapped(np.round, 20, 80, 3, 4),
    }
    hard = {name: (*case, {}) for name, case in cases.items()}
    hard["no intercept"] = (*plain(20, 80, 3, 4), {"fit_intercept": False})
    hard["no intercept, L < d"] = (*plain(8, 60, 15, 4), {"fit_intercept": False})
    hard["ridge"] = (*plain(12, 80, 20, 4), {"alpha": 0.1})
    hard["ridge on all rows only"] = (
        *plain(12, 80, 20, 4),
        {"alpha": 1e-3, "alpha_labeled": 0.0},
    )
    return hard


CASES = hard_cases()
SLOWEST = ("L < d", "labeled")


@pytest.mark.parametrize(
    ("case", "metric"),
    [
        # There the solver of many rows needs ten seconds; with fewer rows it needs few steps.
        pytest.param(name, metric, marks=[pytest.mark.slow] * ((name, metric) == SLOWEST))
        for name in CASES
        for metric in ("labeled", 0.03, "all")
    ],
)
def test_both_solvers_are_certified_and_give_one_model(case, metric, monkeypatch):
    X, y, X_u, more = CASES[case]
    rows = np.vstack([X, X_u])
    clf = ICLSClassifier(metric=metric, **more, tol=1e-11)
    expected = clf.fit(X, y, X_unlabeled=X_u).decision_function(rows)
    assert clf.solver_ == "newton"
    assert clf.certificate_.converged
    assert clf.soft_labels_.min(initial=0.0) >= 0.0
    np.testing.assert_allclose(clf.soft_labels_.sum(axis=1), 1.0, atol=1e-12)
    monkeypatch.setattr(implicit, "MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 32)
    monkeypatch.setattr("primum.solvers.sample.SAMPLE_PER_DIMENSION", 2)
    streamed = clf.fit(X, y, X_unlabeled=X_u).decision_function(rows)
    assert clf.solver_ == ("scale" if len(X_u) else "newton")
    assert clf.certificate_.converged
    assert np.sqrt(np.mean((streamed - expected) ** 2)) <= 1e-6


# Distances between coefficients have the units of the features.
@pytest.mark.parametrize("case", [name for name in CASES if "scaled" not in name])
def test_euclidean_distances_are_certified(case):
    X, y, X_u, more = CASES[case]
    assert (
        ICLSClassifier(metric="euclidean", **more).fit(X, y, X_unlabeled=X_u).certificate_.converged
    )


def test_a_feasible_twin_is_returned():
    X, y, X_u, more = CASES["supervised solution inside"]
    clf = ICLSClassifier(**more).fit(X, y, X_unlabeled=X_u)
    assert clf.certificate_.supervised_feasible
    assert clf.certificate_.moved is False
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-7)
    outside = ICLSClassifier().fit(*CASES["plain"][:2], X_unlabeled=CASES["plain"][2])
    assert not outside.certificate_.supervised_feasible
    assert outside.certificate_.moved


def test_without_unlabelled_rows_it_is_the_twin():
    X, y, _, _ = several_classes(30, 0, 4, 5)
    clf, twin = ICLSClassifier().fit(X, y), LeastSquaresClassifier().fit(X, y)
    np.testing.assert_allclose(clf.coef_, twin.coef_, atol=1e-10)
    assert clf.soft_labels_.shape == (0, 5)


@pytest.mark.parametrize("n_labeled", [4, 8, 14])
@pytest.mark.parametrize(
    "seed", [*(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1)), 2, 3]
)
def test_the_tie_break_is_the_limit_of_the_metrics(seed, n_labeled):
    X, y, X_u, _ = several_classes(n_labeled, 60, 15, 4, seed=seed)
    limit = ICLSClassifier(tol=1e-10, metric="labeled").fit(X, y, X_unlabeled=X_u)
    near = ICLSClassifier(metric=1e-7, tol=1e-12).fit(X, y, X_unlabeled=X_u)
    assert limit.certificate_.tie_break == "twin"
    rows = np.vstack([X, X_u])
    np.testing.assert_allclose(
        limit.decision_function(rows), near.decision_function(rows), atol=3e-4
    )


@pytest.mark.parametrize("seed", range(5))
def test_no_labelling_with_the_same_loss_is_nearer_to_the_twin(seed):
    """The labelling closest to the centres has the same labelled loss."""
    X, y, X_u, _ = several_classes(8, 60, 15, 4, seed=seed)
    proof = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u).certificate_
    other = PublishedICLS(rcond=None).fit(X, y, X_unlabeled=X_u).certificate_
    assert other.objective == pytest.approx(proof.objective, abs=1e-9)
    assert other.distance >= proof.distance - proof.distance_gap


@pytest.mark.parametrize("seed", [145, 373])
def test_labels_that_are_free_because_the_twin_is_feasible_for_some_classes(seed):
    """Faces have a singular Gram matrix then, and its smallest pivot is rounding."""
    X, y, X_u, _ = several_classes(7, 40, 2, 4, seed=seed)
    weight = np.random.default_rng(seed).integers(1, 4, 47) * 1.0
    clf = ICLSClassifier(metric="all", tol=1e-12)
    clf.fit(np.vstack([X, X_u]), np.r_[y, np.full(40, -1)], sample_weight=weight)
    assert clf.certificate_.converged
    assert clf.n_iter_ < 100


@pytest.mark.parametrize("metric", ["labeled", "all"])
def test_single_precision_rows(metric):
    X, y, X_u, _ = several_classes(30, 100, 4, 5)
    X, X_u = X.astype(np.float32), X_u.astype(np.float32)
    single = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=X_u)
    double = ICLSClassifier(metric=metric).fit(X.astype(float), y, X_unlabeled=X_u.astype(float))
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-9)


@pytest.mark.parametrize("metric", ["labeled", 0.3, "all"])
def test_labels_may_be_scattered_among_the_rows(metric):
    X, y, X_u, _ = several_classes(30, 100, 4, 5)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(100, -1)]
    order = np.random.default_rng(0).permutation(130)
    apart = ICLSClassifier(metric=metric).fit(rows, labels)
    mixed = ICLSClassifier(metric=metric).fit(rows[order], labels[order])
    np.testing.assert_allclose(mixed.coef_, apart.coef_, atol=1e-8)
    of_rows = order[order >= 30] - 30
    np.testing.assert_allclose(mixed.soft_labels_, apart.soft_labels_[of_rows], atol=1e-6)
