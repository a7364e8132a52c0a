"""Kernel ICLS and its twin: their objectives, limits, invariances and theorem."""

import numpy as np
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import lsq_linear
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from generate import several_classes, two_classes
from primum import (
    ICLSClassifier,
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    LeastSquaresClassifier,
)

seeds = st.integers(0, 2**32 - 1)
metrics = pytest.mark.parametrize("metric", ["labeled", 0.3, "all", "euclidean"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def rings(L, U, *, seed=0):
    """Return X, the true labels and y with unknown ones: a class inside another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(L + U, 2))
    truth = (np.linalg.norm(X, axis=1) + 0.2 * rng.normal(size=L + U) > 1.2).astype(int)
    truth[:2] = [0, 1]
    return X, truth, np.where(np.arange(L + U) < L, truth, -1)


class TestTheTwin:
    @pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "cosine"])
    def test_it_is_kernel_ridge_regression_without_an_intercept(self, kernel):
        X, truth, y = rings(30, 20)
        weight = np.random.default_rng(0).uniform(0.5, 2.0, 50)
        clf = KernelLeastSquaresClassifier(0.02, kernel=kernel, gamma=0.7, fit_intercept=False)
        clf.fit(X, y, sample_weight=weight)
        ridge = KernelRidge(
            alpha=0.02 * weight[:30].sum(), kernel=kernel, gamma=0.7, degree=3, coef0=1
        ).fit(X[:30], truth[:30], weight[:30])
        np.testing.assert_allclose(clf.decision_function(X) + 0.5, ridge.predict(X), atol=1e-10)

    @intercepts
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_with_the_linear_kernel_it_is_the_linear_twin(self, fit_intercept, n_classes):
        X, y, X_u, _ = several_classes(30, 20, 3, n_classes)
        options = {"alpha": 0.1, "fit_intercept": fit_intercept}
        linear = LeastSquaresClassifier(**options).fit(X, y)
        clf = KernelLeastSquaresClassifier(kernel="linear", **options).fit(X, y)
        for method in ("decision_function", "predict_proba", "predict"):
            expected = getattr(linear, method)(X_u)
            np.testing.assert_allclose(getattr(clf, method)(X_u), expected, atol=1e-12)

    def test_only_labelled_rows_matter(self):
        X, _, y = rings(20, 30)
        with_others, alone = (
            KernelLeastSquaresClassifier().fit(*data) for data in ((X, y), (X[:20], y[:20]))
        )
        np.testing.assert_array_equal(with_others.dual_coef_, alone.dual_coef_)
        assert with_others.X_fit_.shape == (20, 2)

    @intercepts
    def test_every_icls_has_it(self, fit_intercept):
        X, _, y = rings(20, 30)
        options = {"gamma": 0.8, "fit_intercept": fit_intercept}
        clf = KernelICLSClassifier(0.1, alpha_labeled=0.03, **options).fit(X, y)
        twin = KernelLeastSquaresClassifier(0.03, **options).fit(X, y)
        assert clf.supervised_.get_params() == twin.get_params()
        np.testing.assert_allclose(
            clf.supervised_.decision_function(X), twin.decision_function(X), atol=1e-12
        )


def affine_model(K, alpha, fit_intercept):
    """Return the matrix and the vector that take labels z of all rows to the fit (a, b) to them.

    It minimises (1/n) ||K a + b - z||^2 + alpha a'K a.
    """
    n = len(K)
    if not fit_intercept:
        A = np.linalg.inv(K + n * alpha * np.eye(n))
        return A, np.zeros(n)
    system = np.block([[K + n * alpha * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), 0]])
    inverse = np.linalg.inv(system)[:, :n]
    return inverse[:n], inverse[n]


@intercepts
@pytest.mark.parametrize("alpha_labeled", [None, 0.2])
def test_the_objective_is_least_according_to_a_generic_solver(fit_intercept, alpha_labeled):
    """With everything from its definition: a'K a is the squared norm, a and b are linear in z."""
    X, truth, y = rings(12, 25, seed=4)
    alpha, K, L = 0.01, rbf_kernel(X, gamma=0.5), 12
    ridge = alpha if alpha_labeled is None else alpha_labeled
    of_dual, of_intercept = affine_model(K, alpha, fit_intercept)
    root = np.linalg.cholesky(K + 1e-13 * np.eye(len(K))).T
    lines = np.vstack([(K @ of_dual + of_intercept)[:L], (L * ridge) ** 0.5 * root @ of_dual])
    goal = np.r_[truth[:L], np.zeros(len(K))] - lines[:, :L] @ truth[:L]
    best = lsq_linear(lines[:, L:], goal, bounds=(0, 1), method="bvls", tol=1e-14)
    clf = KernelICLSClassifier(
        alpha,
        gamma=0.5,
        alpha_labeled=alpha_labeled,
        metric="labeled",
        fit_intercept=fit_intercept,
    ).fit(X, y)
    assert clf.certificate_.objective == pytest.approx(2 * best.cost / L, rel=1e-9)
    z = np.r_[truth[:L], best.x]
    scores = K @ of_dual @ z + of_intercept @ z
    np.testing.assert_allclose(clf.decision_function(X) + 0.5, scores, atol=1e-6)
    assert 0 < np.mean((best.x > 0) & (best.x < 1)) < 1


@metrics
@intercepts
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_gives_linear_icls(metric, fit_intercept, n_classes, weighted):
    X, y, X_u, _ = several_classes(25, 60, 4, n_classes, separation=0.7)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 85) if weighted else None
    options = {"alpha": 0.1, "metric": metric, "fit_intercept": fit_intercept}
    linear = ICLSClassifier(**options).fit(rows, labels, sample_weight=weight)
    clf = KernelICLSClassifier(kernel="linear", **options).fit(rows, labels, sample_weight=weight)
    for model, other in ((clf, linear), (clf.supervised_, linear.supervised_)):
        np.testing.assert_allclose(
            model.decision_function(rows), other.decision_function(rows), atol=1e-8
        )
    for name in ("labeled_loss", "supervised_loss", "objective", "shift", "changed", "converged"):
        ours, theirs = getattr(clf.certificate_, name), getattr(linear.certificate_, name)
        assert ours == pytest.approx(theirs, abs=1e-10), name
    np.testing.assert_allclose(clf.soft_labels_, linear.soft_labels_, atol=1e-6)


@pytest.mark.parametrize("prior", [{0: 0.2}, [0.75, 0.25], {1: (0.0, 0.3)}, "confidence"], ids=str)
@intercepts
def test_priors_with_the_linear_kernel(prior, fit_intercept):
    X, y, X_u, _ = two_classes(25, 60, 4)
    options = {"alpha": 0.1, "prior": prior, "fit_intercept": fit_intercept}
    linear = ICLSClassifier(**options).fit(X, y, X_u)
    clf = KernelICLSClassifier(kernel="linear", **options).fit(X, y, X_u)
    np.testing.assert_allclose(clf.decision_function(X_u), linear.decision_function(X_u), atol=1e-8)
    np.testing.assert_array_equal(clf.prior_, linear.prior_)


@intercepts
@pytest.mark.parametrize("metric", ["labeled", "all"])
def test_shares_are_within_the_prior(fit_intercept, metric):
    X, y, X_u, _ = several_classes(30, 90, 4, 3, separation=0.7)
    shares = np.array([0.6, 0.1, 0.3])
    clf = KernelICLSClassifier(prior=shares, metric=metric, fit_intercept=fit_intercept)
    clf.fit(X, y, X_u)
    assert clf.certificate_.converged
    np.testing.assert_allclose(clf.soft_labels_.mean(axis=0), shares, atol=1e-7)
    np.testing.assert_allclose(clf.soft_labels_.sum(axis=1), 1.0, atol=1e-12)


def test_partial_labels_with_the_linear_kernel():
    X, y, X_u, _ = several_classes(25, 60, 4, 3, separation=0.7)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    possible = np.ones((85, 3), dtype=bool)
    possible[25:55, 2] = False
    linear = ICLSClassifier(0.1).fit(rows, labels, possible=possible)
    clf = KernelICLSClassifier(0.1, kernel="linear").fit(rows, labels, possible=possible)
    np.testing.assert_allclose(
        clf.decision_function(rows), linear.decision_function(rows), atol=1e-8
    )
    np.testing.assert_array_equal(clf.soft_labels_[:30, 2], 0.0)


def test_bounds_on_labels_hold():
    X, _, y = rings(20, 60)
    bounds = np.full((80, 2), np.nan)
    bounds[30:50] = [0.7, 0.9]
    clf = KernelICLSClassifier().fit(X, y, label_bounds=bounds)
    assert clf.certificate_.converged
    assert (np.clip(clf.soft_labels_[10:30], 0.7, 0.9) == clf.soft_labels_[10:30]).all()


@given(seeds, st.sampled_from([2, 3]), st.booleans(), st.sampled_from(["rbf", "poly"]))
@settings(max_examples=25, deadline=None)
def test_no_labels_make_the_projection_worse_than_its_twin(seed, n_classes, fit_intercept, kernel):
    """The theorem of metric="all", for the penalised loss on all rows and any true labels."""
    rng = np.random.default_rng(seed)
    X, y, X_u, _ = several_classes(10, 30, 3, n_classes, seed=seed, separation=0.5)
    alpha, rows = 10.0 ** rng.uniform(-4, 0), np.vstack([X, X_u])
    truth = np.r_[y, rng.integers(0, n_classes, 30)]
    options = {"kernel": kernel, "fit_intercept": fit_intercept}
    clf = KernelICLSClassifier(alpha, metric="all", **options).fit(X, y, X_u)
    K = pairwise_kernels(rows, metric=kernel, filter_params=True, degree=3, coef0=1)
    one_hot = np.eye(n_classes)[truth] if n_classes > 2 else truth.astype(float)

    def penalised_loss(model):
        dual = np.zeros((40, *model.dual_coef_.shape[1:]))
        dual[: len(model.dual_coef_)] = model.dual_coef_
        scores = model.decision_function(rows) + (0.5 if n_classes == 2 else 0.0)
        return np.sum((scores - one_hot) ** 2) / 40 + alpha * np.sum(dual * (K @ dual))

    twin = penalised_loss(clf.supervised_)
    assert penalised_loss(clf) <= twin + 1e-7 * (1 + twin)


@given(seeds, st.sampled_from([2, 3]), st.sampled_from(["labeled", 0.5, "all"]))
@settings(max_examples=15, deadline=None)
def test_weights_count_copies(seed, n_classes, metric):
    X, y, X_u, _ = several_classes(10, 20, 3, n_classes, seed=seed, separation=0.5)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(20, -1)]
    copies = np.random.default_rng(seed).integers(0, 3, 30)
    copies[:10] += 1
    clf = KernelICLSClassifier(metric=metric)
    weighted = clone(clf).fit(rows, labels, sample_weight=copies)
    repeated = clone(clf).fit(np.repeat(rows, copies, axis=0), np.repeat(labels, copies))
    np.testing.assert_allclose(
        weighted.decision_function(rows), repeated.decision_function(rows), atol=1e-6
    )


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_the_order_of_the_rows_does_not_matter(seed):
    X, _, y = rings(15, 40, seed=seed % 100)
    order = np.random.default_rng(seed).permutation(55)
    clf, mixed = (KernelICLSClassifier().fit(*data) for data in ((X, y), (X[order], y[order])))
    np.testing.assert_allclose(clf.decision_function(X), mixed.decision_function(X), atol=1e-7)
    soft = np.full(55, np.nan)
    soft[y == -1] = clf.soft_labels_
    np.testing.assert_allclose(mixed.soft_labels_, soft[order][y[order] == -1], atol=1e-6)


@pytest.mark.parametrize("estimator", [KernelICLSClassifier, KernelLeastSquaresClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_precomputed_and_callable_kernels_are_the_named_one(estimator, n_classes):
    X, y, X_u, _ = several_classes(25, 40, 3, n_classes)
    order = np.random.default_rng(0).permutation(65)
    rows, labels = np.vstack([X, X_u])[order], np.r_[y, np.full(40, -1)][order]
    weight = np.where(np.arange(65) % 9 == 0, 0.0, 1.5)
    new = np.random.default_rng(1).normal(size=(10, 3))
    named = estimator(kernel="laplacian", gamma=0.4).fit(rows, labels, sample_weight=weight)
    expected = named.decision_function(new)
    K, K_new = laplacian_kernel(rows, gamma=0.4), laplacian_kernel(new, rows, gamma=0.4)
    kept = K.copy()
    precomputed = estimator(kernel="precomputed").fit(K, labels, sample_weight=weight)
    np.testing.assert_array_equal(K, kept)
    np.testing.assert_allclose(precomputed.decision_function(K_new), expected, atol=1e-10)
    assert precomputed.dual_coef_.shape[0] == 65
    assert not precomputed.dual_coef_[weight == 0].any()
    function = estimator(kernel=laplacian_kernel, kernel_params={"gamma": 0.4})
    function.fit(rows, labels, sample_weight=weight)
    np.testing.assert_allclose(function.decision_function(new), expected, atol=1e-10)
    if hasattr(named, "supervised_"):
        np.testing.assert_allclose(
            precomputed.supervised_.decision_function(K_new),
            named.supervised_.decision_function(new),
            atol=1e-10,
        )


class TestGamma:
    """gamma="scale" against its definition, which is that of SVC."""

    @pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
    @pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
    def test_it_is_the_variance_of_all_rows(self, kernel, storage):
        X, _, y = rings(20, 30)
        X = 1.0 + 7.0 * X
        labeled, others = storage(X[:20]), storage(X[20:])
        for estimator, rows in (
            (KernelICLSClassifier, X),
            (KernelLeastSquaresClassifier, X[:20]),
        ):
            gamma = 1 / (2 * rows.var())
            clf = estimator(kernel=kernel).fit(labeled, y[:20], others)
            explicit = estimator(kernel=kernel, gamma=gamma).fit(labeled, y[:20], others)
            assert clf.gamma_ == pytest.approx(gamma)
            np.testing.assert_allclose(
                clf.decision_function(X), explicit.decision_function(X), atol=1e-8
            )

    def test_the_twin_has_the_same_kernel(self):
        X, _, y = rings(20, 30)
        clf = KernelICLSClassifier().fit(10 * X, y)
        assert clf.supervised_.gamma == clf.supervised_.gamma_ == clf.gamma_
        again = clone(clf.supervised_).fit(10 * X, y)
        np.testing.assert_allclose(
            again.decision_function(X), clf.supervised_.decision_function(X), atol=1e-12
        )

    @pytest.mark.parametrize("estimator", [KernelICLSClassifier, KernelLeastSquaresClassifier])
    def test_the_unit_of_the_features_does_not_matter(self, estimator):
        X, _, y = rings(20, 30)
        one, other = estimator().fit(X, y), estimator().fit(1000 * X, y)
        np.testing.assert_allclose(
            one.decision_function(X), other.decision_function(1000 * X), atol=1e-7
        )

    def test_standardised_features_have_the_default_of_the_kernel(self):
        X, _, y = rings(20, 30)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        scaled, default = (KernelICLSClassifier(gamma=gamma).fit(X, y) for gamma in ("scale", None))
        assert scaled.gamma_ == pytest.approx(0.5)
        assert default.gamma_ is None
        np.testing.assert_allclose(
            scaled.decision_function(X), default.decision_function(X), atol=1e-10
        )

    @pytest.mark.parametrize("kernel", ["linear", "cosine", rbf_kernel])
    def test_other_kernels_have_none(self, kernel):
        X, _, y = rings(20, 30)
        assert KernelICLSClassifier(kernel=kernel).fit(X, y).gamma_ is None

    def test_rows_that_do_not_vary_and_rows_that_overflow(self):
        equal = KernelICLSClassifier().fit(np.ones((4, 2)), [0, 1, 1, -1])
        assert equal.gamma_ == 1.0
        X, _, y = rings(20, 30)
        with pytest.raises(ValueError, match="variance of the features overflows: standardise"):
            KernelICLSClassifier().fit(1e200 * X, y)

    def test_features_that_are_not_standardised(self):
        X, truth = load_digits(return_X_y=True)
        X, truth = X[:300], truth[:300]
        y = np.where(np.arange(300) < 80, truth, -1)
        clf = KernelICLSClassifier().fit(X, y)
        assert clf.certificate_.converged
        assert np.mean(clf.predict(X[80:]) == truth[80:]) > 0.8
        # With the kernel's own default, all rows are orthogonal.
        assert np.mean(KernelICLSClassifier(gamma=None).fit(X, y).predict(X) == truth) < 0.6


def test_kernels_of_gaussian_processes_and_functions_of_two_rows():
    X, _, y = rings(20, 30)
    expected = KernelICLSClassifier(gamma=0.5).fit(X, y).decision_function(X)
    gaussian = KernelICLSClassifier(kernel=RBF(1.0)).fit(X, y)
    np.testing.assert_allclose(gaussian.decision_function(X), expected, atol=1e-7)

    def of_two_rows(x, z):
        return np.exp(-0.5 * np.sum((x - z) ** 2))

    clf = KernelICLSClassifier(kernel=lambda X, Z: pairwise_kernels(X, Z, metric=of_two_rows))
    np.testing.assert_allclose(clf.fit(X, y).decision_function(X), expected, atol=1e-7)


def test_a_kernel_matrix_that_its_function_keeps_is_not_changed():
    X, _, y = rings(20, 30)
    stored = rbf_kernel(X)
    kept = stored.copy()
    KernelICLSClassifier(kernel=lambda X, Z: stored).fit(X, y)
    np.testing.assert_array_equal(stored, kept)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "cosine"])
def test_sparse_rows(kernel):
    X, _, y = rings(20, 30)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense = KernelICLSClassifier(kernel=kernel).fit(X[:40], y[:40], X[40:])
    filled = KernelICLSClassifier(kernel=kernel).fit(
        sparse.csr_array(X[:40]), y[:40], sparse.csr_array(X[40:])
    )
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(
            filled.decision_function(rows), dense.decision_function(X), atol=1e-7
        )


def test_precomputed_kernels_in_cross_validation():
    X, truth, _ = rings(80, 0)
    named = cross_val_score(KernelICLSClassifier(), X, truth, error_score="raise")
    clf = KernelICLSClassifier(kernel="precomputed")
    np.testing.assert_allclose(cross_val_score(clf, rbf_kernel(X, gamma=0.5), truth), named)


def test_nystroem_approaches_the_exact_model_and_reaches_it():
    X, _, y = rings(30, 170)
    exact = KernelICLSClassifier(0.01, gamma=0.5).fit(X, y)

    def error(transformer):
        clf = make_pipeline(transformer, ICLSClassifier(0.01)).fit(X, y)
        off = clf.decision_function(X) - exact.decision_function(X)
        return np.sqrt(np.mean(off**2))

    errors = [error(Nystroem(gamma=0.5, n_components=r, random_state=0)) for r in (5, 20, 60, 200)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[3] < 1e-6
    samples = [error(RBFSampler(gamma=0.5, n_components=r, random_state=0)) for r in (10, 4000)]
    assert samples[0] > 5 * samples[1]


def test_all_rows_labelled_or_none_unlabelled_gives_the_twin():
    X, truth, _ = rings(40, 0)
    clf = KernelICLSClassifier().fit(X, truth)
    np.testing.assert_allclose(
        clf.decision_function(X), clf.supervised_.decision_function(X), atol=1e-10
    )
    assert clf.soft_labels_.shape == (0,)
    assert clf.certificate_.converged


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_ridge_is_proven(alpha, n_classes):
    X, y, X_u, _ = several_classes(20, 60, 2, n_classes, separation=0.7)
    clf = KernelICLSClassifier(alpha, gamma=0.5).fit(X, y, X_u)
    assert clf.certificate_.converged
    assert clf.certificate_.tie_break is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_can_be_stored(tmp_path, n_classes):
    X, y, X_u, _ = several_classes(20, 40, 3, n_classes)
    fitted = KernelICLSClassifier(prior="confidence").fit(X, y, X_u)
    for model in (fitted, fitted.supervised_):
        skops.io.dump(model, tmp_path / "m.skops")
        types = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
        assert all(name.startswith("primum.") for name in types)
        stored = skops.io.load(tmp_path / "m.skops", trusted=types)
        np.testing.assert_array_equal(stored.decision_function(X_u), model.decision_function(X_u))


X, _, Y = rings(20, 30)
ASYMMETRIC = rbf_kernel(X)
ASYMMETRIC[3, 7] += 0.1


@pytest.mark.parametrize("estimator", [KernelICLSClassifier, KernelLeastSquaresClassifier])
@pytest.mark.parametrize(
    ("parameters", "data", "text"),
    [
        ({"kernel": "precomputed"}, (X, Y), r"square matrix .* but its shape is \(50, 2\)"),
        (
            {"kernel": "precomputed"},
            (rbf_kernel(X[:40]), Y[:40], rbf_kernel(X[40:], X[:40])),
            "X_unlabeled must be None: include the unlabelled rows in X",
        ),
        ({"kernel": "precomputed"}, (sparse.csr_array(rbf_kernel(X)), Y), "pass a dense kernel"),
        (
            {"kernel": "precomputed"},
            (ASYMMETRIC, Y),
            "not symmetric: the kernel of rows 3 and 7 is .*, and .* in the other order",
        ),
        (
            {"kernel": "precomputed"},
            (rbf_kernel(X) - 0.5 * np.eye(50), Y),
            r"not positive semi-definite: its smallest eigenvalue is -0\.\d+;",
        ),
        ({"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}, (X, Y), "not positive semi-definite"),
        ({"kernel": "poly", "degree": 1e4}, (X, Y), "infinite or not numbers: standardise"),
        (
            {"kernel": lambda x, z: np.sum(x * z)},
            (X, Y),
            r"kernel returned an array of shape \(\) and type .* for .* pass a function of two",
        ),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), "a")}, (X, Y), "and type <U1 for"),
        ({"alpha": 0.0}, (X, Y), "The 'alpha' parameter .* must be a float in the range"),
        ({"kernel": "gauss"}, (X, Y), "The 'kernel' parameter"),
    ],
)
def test_bad_input(estimator, parameters, data, text):
    if estimator is KernelLeastSquaresClassifier and data[0] is ASYMMETRIC:
        text = "not symmetric"
    with pytest.raises(ValueError, match=text):
        estimator(**parameters).fit(*data)


def test_a_kernel_function_may_return_a_sparse_matrix():
    rows, kernel = sparse.csr_array(X), lambda A, B: A @ B.T
    found = KernelICLSClassifier(kernel=kernel).fit(rows, Y).decision_function(rows)
    expected = KernelICLSClassifier(kernel="linear").fit(X, Y).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_too_many_rows_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr("primum.methods.kernels.MAX_KERNEL_ROWS", 40)
    text = (
        "^KernelICLSClassifier computes the kernel matrix of all 50 rows, more than 40: "
        r"approximate the kernel, for example by make_pipeline\(Nystroem\(n_components=1000\), "
        r"ICLSClassifier\(alpha=0.03\)\)\.$"
    )
    with pytest.raises(ValueError, match=text):
        KernelICLSClassifier(0.03).fit(X, Y)
    with pytest.raises(ValueError, match=text):
        KernelICLSClassifier(0.03).fit(X[:30], Y[:30], X[30:])
    # Its twin needs the kernel matrix of the labelled rows only.
    KernelLeastSquaresClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=r"all 50 rows, .* LeastSquaresClassifier\(alpha=0.01\)"):
        KernelLeastSquaresClassifier().fit(X, Y % 2)


def test_rows_outside_memory_are_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(tmp_path / "rows.parquet")
    frame = pd.DataFrame(X[:20], columns=["a", "b"])
    with pytest.raises(
        ValueError, match="needs all rows in memory, and X_unlabeled is not: load it"
    ):
        KernelICLSClassifier().fit(frame, Y[:20], tmp_path / "rows.parquet")
