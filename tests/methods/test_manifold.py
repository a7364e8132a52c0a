"""Manifold methods against the problems they solve, their limits and RSSL."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.svm import SVC, NuSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from generate import several_classes, two_classes
from primum import (
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    LaplacianLeastSquaresClassifier,
    LaplacianSVMClassifier,
    ManifoldClassifier,
    ManifoldKernel,
)
from primum.equations import kernel_ridge
from primum.methods.manifold import base as _manifold
from primum.methods.manifold.deformed_kernel import deform_kernel, laplacian_power, neighbor_graph
from reference import arrays, reference_problems

PROBLEMS = reference_problems()
MACHINES = [
    LaplacianLeastSquaresClassifier(),
    LaplacianSVMClassifier(),
    ManifoldClassifier(SVC(kernel="precomputed", tol=1e-8)),
]
each_machine = pytest.mark.parametrize("clf", MACHINES, ids=lambda clf: type(clf).__name__)


def two_moons(seed=0, n=200):
    """Return rows, their classes, and y with one label of each class."""
    X, truth = make_moons(n, noise=0.05, random_state=seed)
    y = np.full(n, -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[0]] = label
    return X, truth, y


def moons_of(return_X_y):
    return make_moons(300, noise=0.1, random_state=0)


def laplacian_of(clf, X):
    graph = neighbor_graph(X, clf.graph_neighbors, clf.graph_weights)
    return laplacian_power(graph, normalized=clf.graph_normalized, power=clf.graph_power)


def direct_solution(clf, X, y, X_u, new):
    """Return the scores of new rows, by least squares on the original objective."""
    rows, L = np.vstack([X, X_u]), len(X)
    K, K_new = (rbf_kernel(A, rows, gamma=clf.gamma) for A in (rows, new))
    targets = np.eye(y.max() + 1)[y]
    roots = []
    for matrix in (K, laplacian_of(clf, rows).toarray()):
        values, vectors = eigh(matrix)
        roots.append(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
    of_norm, of_graph = roots
    system = np.vstack(
        [
            np.column_stack([K[:L], np.ones(L)]) / np.sqrt(L),
            np.column_stack([np.sqrt(clf.alpha) * of_norm, np.zeros(len(rows))]),
            np.column_stack([np.sqrt(clf.graph_alpha) * of_graph @ K, np.zeros(len(rows))]),
        ]
    )
    right = np.zeros((len(system), targets.shape[1]))
    right[:L] = targets / np.sqrt(L)
    coef = np.linalg.lstsq(system, right)[0]
    return K_new @ coef[:-1] + coef[-1]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_classes=st.integers(2, 4),
    alpha=st.sampled_from([1e-3, 1e-1]),
    graph_alpha=st.sampled_from([1e-4, 1e-2, 1.0]),
    normalized=st.booleans(),
    power=st.integers(1, 2),
    weights=st.sampled_from(["binary", "heat"]),
)
def test_least_squares_minimises_the_objective(
    seed, n_classes, alpha, graph_alpha, normalized, power, weights
):
    X, y, X_u, _ = several_classes(12, 30, 3, n_classes, seed=seed)
    new = np.random.default_rng(seed).normal(size=(10, 3))
    clf = LaplacianLeastSquaresClassifier(
        alpha,
        graph_alpha,
        gamma=0.5,
        graph_neighbors=4,
        graph_normalized=normalized,
        graph_power=power,
        graph_weights=weights,
    )
    found = clf.fit(X, y, X_u).decision_function(new)
    expected = direct_solution(clf, X, y, X_u, new)
    if n_classes == 2:
        expected = expected[:, 1] - 0.5
    np.testing.assert_allclose(found, expected, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), graph_alpha=st.sampled_from([0.0, 1e-3, 1e-1]))
def test_the_svm_has_no_duality_gap_in_the_original_objective(seed, graph_alpha):
    X, y, X_u, _ = two_classes(15, 30, 3, seed=seed)
    clf = LaplacianSVMClassifier(1e-2, graph_alpha, gamma=0.5, graph_neighbors=4).fit(X, y, X_u)
    dual = np.zeros(15)
    dual[clf.svm_.support_] = clf.svm_.dual_coef_[0]
    coef = clf.expansion_ @ dual
    f = clf.decision_function(clf.X_fit_) - clf.svm_.intercept_
    norm = coef @ f
    rough = f @ (laplacian_of(clf, clf.X_fit_) @ f) if graph_alpha else 0.0
    hinge = np.maximum(0.0, 1.0 - (2 * y - 1) * clf.decision_function(X)).mean()
    primal = hinge + clf.alpha * norm + graph_alpha * rough
    values = clf.decision_function(X) - clf.svm_.intercept_
    lower = 2 * clf.alpha * (np.abs(dual).sum() - 0.5 * dual @ values)
    assert primal == pytest.approx(lower, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_a_graph_least_squares_is_kernel_ridge(n_classes):
    X, y, X_u, _ = several_classes(30, 40, 3, n_classes)
    clf = LaplacianLeastSquaresClassifier(0.02, 0.0, gamma=0.3, fit_intercept=False)
    scores = clf.fit(X, y, X_u).decision_function(X_u)
    targets = np.eye(n_classes)[y] if n_classes > 2 else y - 0.0
    ridge = KernelRidge(alpha=30 * 0.02, kernel="rbf", gamma=0.3).fit(X, targets)
    shift = 0.5 if n_classes == 2 else 0.0
    np.testing.assert_allclose(scores + shift, ridge.predict(X_u), atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_a_graph_the_svm_is_svc(n_classes):
    X, y, X_u, _ = several_classes(30, 40, 3, n_classes)
    clf = LaplacianSVMClassifier(0.02, 0.0, gamma=0.3).fit(X, y, X_u)
    svc = SVC(C=1 / (2 * 0.02 * 30), gamma=0.3, tol=1e-8, break_ties=True).fit(X, y)
    expected = svc.decision_function(X_u)
    np.testing.assert_allclose(clf.decision_function(X_u), expected, atol=1e-6)
    np.testing.assert_array_equal(clf.predict(X_u), svc.predict(X_u))
    of_machine = ManifoldClassifier(
        SVC(C=svc.C, kernel="precomputed", tol=1e-8), 0.0, gamma=0.3
    ).fit(X, y, X_u)
    np.testing.assert_allclose(of_machine.decision_function(X_u), expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_least_squares_is_kernel_least_squares_in_the_deformed_kernel(n_classes):
    X, y, X_u, _ = several_classes(30, 40, 3, n_classes)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 30)
    for graph_alpha in (0.0, 0.1):
        clf = LaplacianLeastSquaresClassifier(0.02, graph_alpha, gamma=0.3)
        scores = clf.fit(X, y, X_u, sample_weight=weight).decision_function(X_u)
        # A kernel that is multiplied by a constant divides the penalty by it.
        factor = ManifoldKernel(graph_alpha / 0.02, gamma=0.3).fit(np.vstack([X, X_u])).scale_
        machine = KernelLeastSquaresClassifier(0.02 * factor, kernel="precomputed")
        twin = ManifoldClassifier(machine, graph_alpha / 0.02, gamma=0.3)
        twin.fit(X, y, X_u, sample_weight=weight)
        assert twin.scale_ == factor
        np.testing.assert_allclose(scores, twin.decision_function(X_u), atol=1e-8)
    plain = KernelLeastSquaresClassifier(0.02, gamma=0.3).fit(X, y, sample_weight=weight)
    expected = plain.decision_function(X_u)
    found = (
        clf.set_params(graph_alpha=0.0).fit(X, y, X_u, sample_weight=weight).decision_function(X_u)
    )
    np.testing.assert_allclose(found, expected, atol=1e-8)


@each_machine
def test_the_limit_of_a_small_penalty_is_the_supervised_machine(clf):
    X, y, X_u, _ = two_classes(20, 60, 3)
    name = "graph_ratio" if hasattr(clf, "graph_ratio") else "graph_alpha"
    # The supervised machine would compute gamma from the labelled rows alone.
    nearly, without = (clone(clf).set_params(gamma=0.5, **{name: value}) for value in (1e-12, 0.0))
    np.testing.assert_allclose(
        nearly.fit(X, y, X_u).decision_function(X_u),
        without.fit(X, y, X_u).decision_function(X_u),
        atol=1e-6,
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
@pytest.mark.parametrize("power", [1, 2])
def test_more_penalty_makes_smoother_scores(power, seed):
    X, y, X_u, _ = two_classes(15, 40, 3, seed=seed)
    roughness = []
    for graph_alpha in (1e-5, 1e-3, 1e-1, 10.0):
        clf = LaplacianLeastSquaresClassifier(1e-2, graph_alpha, graph_power=power).fit(X, y, X_u)
        f = clf.decision_function(clf.X_fit_) - clf.intercept_
        roughness.append(f @ (laplacian_of(clf, clf.X_fit_) @ f))
    assert (np.diff(roughness) <= 1e-9).all()
    assert roughness[-1] < roughness[0]


@each_machine
def test_the_order_of_the_rows_does_not_matter(clf):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(80, 2)).astype(float)  # many ties between neighbours
    y = np.where(np.arange(80) < 20, np.arange(80) % 2, -1)
    order = rng.permutation(80)
    one, other = clone(clf).fit(X, y), clone(clf).fit(X[order], y[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@each_machine
def test_two_moons_with_two_labels(clf, seed):
    X, truth, y = two_moons(seed)
    new, classes = make_moons(300, noise=0.05, random_state=seed + 100)
    fitted = clone(clf).set_params(gamma=5.0).fit(X, y)
    assert fitted.score(X, truth) == 1.0
    assert fitted.score(new, classes) > 0.99
    name = "graph_ratio" if hasattr(clf, "graph_ratio") else "graph_alpha"
    supervised = clone(clf).set_params(gamma=5.0, **{name: 0.0}).fit(X, y)
    assert supervised.score(X, truth) < 0.97


@pytest.mark.parametrize("name", PROBLEMS)
def test_parity_with_rssl(name):
    """RSSL divides gamma by n^2, standardises all rows with n - 1, and centres the labels."""
    problem = PROBLEMS[name]
    expected = np.array(problem["methods"]["laplacian_ls"]["decision_test"])
    X, y, X_u, _, X_test = arrays(problem)
    rows = np.vstack([X, X_u])
    L, alpha, graph_alpha = len(X), 0.01, 0.1 / len(rows) ** 2
    mean, deviation = rows.mean(axis=0), rows.std(axis=0, ddof=1)
    rows, X_test = (rows - mean) / deviation, (X_test - mean) / deviation
    deformed = deform_kernel(
        rbf_kernel(rows, gamma=0.05), laplacian_power(neighbor_graph(rows, 6))
    ).at(graph_alpha / alpha)
    index = np.arange(L)
    V = deformed.features(index)
    coef, _ = kernel_ridge(V @ V.T, y - y.mean(), None, alpha=alpha, fit_intercept=False)
    dual = deformed.expansion(index, coef)
    scores = rbf_kernel(X_test, rows, gamma=0.05) @ dual + y.mean()
    np.testing.assert_allclose(scores, expected, atol=1e-8)
    np.testing.assert_allclose(dual, problem["methods"]["laplacian_ls"]["theta"], atol=1e-8)
    # The estimator fits a free intercept instead, which lowers the objective.
    clf = LaplacianLeastSquaresClassifier(
        alpha, graph_alpha, gamma=0.05, graph_neighbors=6, graph_normalized=False
    ).fit(rows[:L], y, rows[L:])
    assert objective(clf, clf, rows[:L], y) <= objective_of(clf, dual, y.mean(), rows, y) + 1e-12
    without = clone(clf).set_params(fit_intercept=False).fit(rows[:L], y, rows[L:])
    plain, _ = kernel_ridge(V @ V.T, y - 0.0, None, alpha=alpha, fit_intercept=False)
    expected = rbf_kernel(X_test, rows, gamma=0.05) @ deformed.expansion(index, plain)
    np.testing.assert_allclose(without.decision_function(X_test) + 0.5, expected, atol=1e-8)


def objective_of(clf, dual, intercept, rows, y):
    """Return the objective of the method for given coefficients of all rows."""
    f = rbf_kernel(rows, gamma=clf.gamma) @ dual
    loss = np.mean((f[: len(y)] + intercept - y) ** 2)
    return loss + clf.alpha * dual @ f + clf.graph_alpha * f @ (laplacian_of(clf, rows) @ f)


def objective(clf, fitted, X, y):
    f = fitted.decision_function(clf.X_fit_) - fitted.intercept_
    loss = np.mean((fitted.decision_function(X) + 0.5 - y) ** 2)
    rough = f @ (laplacian_of(clf, clf.X_fit_) @ f)
    return loss + clf.alpha * fitted.dual_coef_ @ f + clf.graph_alpha * rough


def test_the_transformer_gives_one_kernel_for_old_and_new_rows():
    X, _, X_u, _ = two_classes(30, 40, 3)
    X = np.vstack([X, X[:3]])  # equal rows have equal columns
    kernel = ManifoldKernel(gamma=0.5, graph_neighbors=4)
    K = kernel.fit_transform(X)
    assert K.shape == (33, 33)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.transform(X), K, atol=1e-10)
    np.testing.assert_allclose(K[:, :3], K[:, 30:], atol=1e-14)
    assert kernel.fit(X).transform(X_u).shape == (40, 33)
    plain = ManifoldKernel(0.0, gamma=0.5).fit(X).transform(X_u)
    np.testing.assert_allclose(plain, rbf_kernel(X_u, X, gamma=0.5), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_mean_diagonal_is_that_of_the_kernel(kernel, storage):
    X, *_ = two_classes(30, 40, 3)
    plain = ManifoldKernel(0.0, kernel=kernel).fit(storage(X))
    assert plain.scale_ == 1.0
    expected = np.trace(plain.transform(storage(X)))
    for ratio in (0.1, 1e4):
        deformed = ManifoldKernel(ratio, kernel=kernel)
        K = deformed.fit_transform(storage(X))
        assert np.trace(K) == pytest.approx(expected)
        assert deformed.scale_ > 1.0
        np.testing.assert_allclose(deformed.transform(storage(X)), K, atol=1e-8)
    # Equal rows are one vertex of the graph, and count once here as well.
    twice = ManifoldKernel(ratio, kernel=kernel).fit(storage(np.vstack([X, X])))
    assert twice.scale_ == pytest.approx(deformed.scale_)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits, moons_of])
def test_real_problems_with_default_parameters(load):
    """A kernel that the deformation shrinks would leave all rows to the majority class."""
    X, truth = load(return_X_y=True)
    X, truth = scale(X[:400]), truth[:400]
    labeled = np.random.default_rng(0).permutation(len(X))[:60]
    y = np.full(len(X), -1)
    y[labeled] = truth[labeled]
    machine = KernelICLSClassifier(kernel="precomputed")
    for clf in (ManifoldClassifier(), make_pipeline(ManifoldKernel(), machine)):
        predicted = clf.fit(X, y).predict(X)
        assert len(np.unique(predicted)) == len(np.unique(truth))
        error = np.mean(predicted != truth)
        supervised = np.mean(ManifoldClassifier(graph_ratio=0.0).fit(X, y).predict(X) != truth)
        assert error < supervised + 0.05


@parametrize_with_checks([ManifoldKernel(), ManifoldKernel(kernel="linear")])
def test_scikit_learn_checks_of_the_transformer(estimator, check):
    check(estimator)


def test_a_machine_in_the_transformed_kernel_is_the_manifold_classifier():
    X, y, X_u, _ = two_classes(30, 60, 3)
    rows = np.vstack([X, X_u])
    kernel = ManifoldKernel(3.0, gamma=0.5).fit(rows)
    K, K_new = kernel.transform(X)[:, :30], kernel.transform(X_u)[:, :30]
    machine = NuSVC(nu=0.3, kernel="precomputed", tol=1e-8)
    clf = ManifoldClassifier(machine, 3.0, gamma=0.5).fit(X, y, X_u)
    expected = clone(machine).fit(K, y).decision_function(K_new)
    np.testing.assert_allclose(clf.decision_function(X_u), expected, atol=1e-6)


def test_the_transformer_gives_data_frames_in_a_pipeline():
    pd = pytest.importorskip("pandas")
    X, y, X_u, _ = two_classes(20, 20, 3)
    frame, labels = pd.DataFrame(np.vstack([X, X_u]), columns=list("abc")), np.r_[y, [-1] * 20]
    machine = make_pipeline(ManifoldKernel(), KernelICLSClassifier(kernel="precomputed"))
    expected = clone(machine).fit(frame, labels).predict_proba(frame)
    machine.set_output(transform="pandas").fit(frame, labels)
    np.testing.assert_array_equal(machine.predict_proba(frame), expected)
    assert machine[0].get_feature_names_out()[39] == "manifoldkernel39"


def test_kernel_icls_in_the_deformed_kernel():
    """The machine learns from unlabelled rows itself, so it is given all of them."""
    X, truth, y = two_moons()
    new, classes = make_moons(300, noise=0.05, random_state=100)
    machine = KernelICLSClassifier(1e-3, kernel="precomputed")
    clf = make_pipeline(ManifoldKernel(gamma=5.0), machine).fit(X, y)
    assert clf[-1].certificate_.converged
    assert clf.score(X, truth) == 1.0
    assert clf.score(new, classes) > 0.99
    plain = make_pipeline(ManifoldKernel(0.0, gamma=5.0), machine).fit(X, y)
    expected = KernelICLSClassifier(1e-3, gamma=5.0).fit(X, y).decision_function(new)
    np.testing.assert_allclose(plain.decision_function(new), expected, atol=1e-6)
    assert plain.score(X, truth) < 0.97


def test_laplacian_machines_are_manifold_classifiers():
    X, y, X_u, _ = two_classes(30, 60, 3)
    svm = LaplacianSVMClassifier(0.01, 0.05).fit(X, y, X_u)
    factor = ManifoldKernel(5.0).fit(np.vstack([X, X_u])).scale_
    machine = SVC(C=1 / (2 * 0.01 * 30 * factor), kernel="precomputed", tol=1e-8)
    clf = ManifoldClassifier(machine, 5.0).fit(X, y, X_u)
    np.testing.assert_allclose(clf.decision_function(X_u), svm.decision_function(X_u), atol=1e-6)


@each_machine
def test_kernels_by_name_by_function_and_sparse(clf):
    X, y, X_u, _ = two_classes(30, 60, 3)
    by_name = clone(clf).set_params(kernel="poly", kernel_params={"degree": 2}, gamma=None)
    by_name.fit(X, y, X_u)
    by_function = clone(clf).set_params(kernel=lambda A, B: (A @ B.T / 3 + 1) ** 2).fit(X, y, X_u)
    of_sparse = clone(by_name).fit(sparse.csr_array(X), y, sparse.csr_array(X_u))
    expected = by_name.decision_function(X_u)
    np.testing.assert_allclose(by_function.decision_function(X_u), expected, atol=1e-6)
    found = of_sparse.decision_function(sparse.csr_array(X_u))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@each_machine
def test_the_scale_of_all_rows_defines_the_kernel(clf):
    X, y, X_u, _ = two_classes(30, 60, 3)
    X, X_u = 1.0 + 5.0 * X, 1.0 + 5.0 * X_u
    gamma = 1 / (3 * np.vstack([X, X_u]).var())
    scaled = clone(clf).fit(X, y, np.vstack([X_u, X_u]))
    explicit = clone(clf).set_params(gamma=gamma).fit(X, y, X_u)
    among_params = clone(clf).set_params(kernel_params={"gamma": gamma}).fit(X, y, X_u)
    assert scaled.gamma_ == pytest.approx(gamma)
    expected = explicit.decision_function(X_u)
    for other in (scaled, among_params):
        np.testing.assert_allclose(other.decision_function(X_u), expected, atol=1e-6)
    assert clone(clf).set_params(gamma=None).fit(X, y, X_u).gamma_ is None
    assert clone(clf).set_params(kernel="linear").fit(X, y, X_u).gamma_ is None


@each_machine
def test_a_linear_kernel_needs_no_kernel_matrix(clf):
    X, y, X_u, _ = two_classes(30, 60, 3)
    plain = clone(clf).set_params(kernel="linear").fit(X, y, X_u)
    by_matrix = clone(clf).set_params(kernel=lambda A, B: A @ B.T).fit(X, y, X_u)
    assert not hasattr(plain, "X_fit_")
    expected = by_matrix.decision_function(X_u)
    np.testing.assert_allclose(plain.decision_function(X_u), expected, atol=1e-6)


def test_features_of_a_kernel_give_its_answer_without_a_limit(monkeypatch):
    X, y, X_u, _ = two_classes(30, 60, 3)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    exact = LaplacianLeastSquaresClassifier(0.01, 0.05, gamma=0.5).fit(rows, labels)
    linear = LaplacianLeastSquaresClassifier(0.01, 0.05, kernel="linear")
    differences = []
    for n_components in (10, 40, 90):
        features = Nystroem(gamma=0.5, n_components=n_components, random_state=0)
        # Distances between features are those of the kernel, so the graph is the same.
        pipeline = make_pipeline(features, linear).fit(rows, labels)
        found = pipeline.decision_function(X_u)
        differences.append(np.abs(found - exact.decision_function(X_u)).max())
    assert differences[-1] < 1e-8
    assert differences[1] < differences[0]
    monkeypatch.setattr(_manifold, "MAX_GRAPH_ROWS", 50)
    make_pipeline(Nystroem(gamma=0.5, n_components=20), linear).fit(rows, labels)
    message = r"90 distinct ones, and at most 50 are supported: .*Nystroem\(\), Laplacian"
    with pytest.raises(ValueError, match=message):
        clone(exact).fit(rows, labels)


@each_machine
def test_equal_rows_count_in_the_loss_and_once_in_the_graph(clf):
    X, y, X_u, _ = two_classes(20, 40, 3)
    weighted = clone(clf).fit(X, y, X_u, sample_weight=np.r_[3.0, np.ones(19)])
    repeated = clone(clf).fit(
        np.vstack([X, X[:1], X[:1]]), np.r_[y, y[:1], y[:1]], np.vstack([X_u, X_u])
    )
    np.testing.assert_allclose(
        weighted.decision_function(X_u), repeated.decision_function(X_u), atol=1e-6
    )


@each_machine
def test_rows_of_weight_zero_are_left_out(clf):
    X, y, X_u, _ = two_classes(20, 40, 3)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(40, -1)]
    weight = np.r_[np.zeros(5), np.ones(45), np.zeros(10)]
    weighted = clone(clf).fit(rows, labels, sample_weight=weight)
    plain = clone(clf).fit(rows[5:50], labels[5:50], sample_weight=np.ones(45))
    np.testing.assert_allclose(
        weighted.decision_function(X_u), plain.decision_function(X_u), atol=1e-8
    )


@each_machine
def test_graphs_of_several_components_and_isolated_rows(clf):
    X, y, X_u, _ = two_classes(20, 40, 3)
    far = 1e3 + np.random.default_rng(0).normal(size=(15, 3))  # a component without labels
    alone = np.full((1, 3), 1e7)
    for weights in ("binary", "heat"):
        fitted = clone(clf).set_params(graph_weights=weights, graph_neighbors=3)
        fitted.fit(X, y, np.vstack([X_u, far, alone]))
        assert np.isfinite(fitted.decision_function(np.vstack([X, far, alone]))).all()


@each_machine
def test_more_neighbours_than_other_rows_are_all_of_them(clf):
    X, y, X_u, _ = two_classes(10, 15, 3)
    many, all_others = (clone(clf).set_params(graph_neighbors=k).fit(X, y, X_u) for k in (1000, 24))
    np.testing.assert_array_equal(many.decision_function(X_u), all_others.decision_function(X_u))


@each_machine
def test_all_rows_labelled_and_few_distinct_rows(clf):
    X, y, *_ = two_classes(30, 0, 3)
    fitted = clone(clf).fit(X, y)
    assert fitted.score(X, y) > 0.6
    pair = clone(clf).fit(np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1]))
    assert np.diff(pair.decision_function([[-0.5], [1.5]])) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal = clone(clf).fit(np.zeros((4, 2)), np.array([0, 1, 1, -1]))
    assert np.isfinite(equal.decision_function(np.ones((2, 2)))).all()


@each_machine
def test_bad_input(clf):
    X, y, X_u, _ = two_classes(20, 40, 3)
    with pytest.raises(ValueError, match=r"not positive semi-definite: the smallest eigenvalue"):
        clone(clf).set_params(kernel=lambda A, B: -rbf_kernel(A, B)).fit(X, y, X_u)
    with pytest.raises(
        ValueError, match=r"kernel returned an array of shape \(60,\) and type .* for 60 and"
    ):
        clone(clf).set_params(kernel=lambda A, B: np.ones(len(A))).fit(X, y, X_u)
    with pytest.raises(ValueError, match="The kernel is not symmetric"):
        clone(clf).set_params(kernel=lambda A, B: np.exp(A @ B[::-1].T)).fit(X, y, X_u)
    with pytest.raises(ValueError, match=r"The kernel of two rows is inf: scale the features"):
        clone(clf).set_params(kernel=lambda A, B: np.full((len(A), len(B)), np.inf)).fit(X, y, X_u)
    with pytest.raises(ValueError, match="'graph_neighbors' parameter"):
        clone(clf).set_params(graph_neighbors=0).fit(X, y, X_u)
    with pytest.raises(ValueError, match="Input X_unlabeled contains NaN in row 0, column 0"):
        clone(clf).fit(X, y, np.full((1, 3), np.nan))


def test_rows_that_are_not_in_memory(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, X_u, _ = two_classes(20, 40, 3)
    pd.DataFrame(X_u, columns=list("abc")).to_parquet(tmp_path / "rows.parquet")
    rows = pd.DataFrame(X, columns=list("abc"))
    clf = LaplacianLeastSquaresClassifier()
    with pytest.raises(ValueError, match=r"needs a graph of all rows, but X_unlabeled is not in"):
        clf.fit(rows, y, tmp_path / "rows.parquet")
    clf.set_params(graph_alpha=0.0).fit(rows, y, tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    "machine", [SVC(), LogisticRegression(), KernelRidge(kernel="precomputed")], ids=str
)
def test_machines_that_are_not_fitted_to_kernels(machine):
    X, y, *_ = two_classes(20, 0, 3)
    with pytest.raises(ValueError, match=r"must be a classifier that is fitted to kernel matrices"):
        ManifoldClassifier(machine).fit(X, y)


def test_weights_of_machines_that_know_none():
    class Unweighted(SVC):
        def fit(self, X, y):
            return super().fit(X, y)

    X, y, *_ = two_classes(20, 0, 3)
    clf = ManifoldClassifier(Unweighted(kernel="precomputed"))
    clf.fit(X, y)
    with pytest.raises(ValueError, match="Unweighted does not support it"):
        clf.fit(X, y, sample_weight=np.ones(20))


@pytest.mark.parametrize("clf", [*MACHINES, ManifoldKernel()], ids=lambda clf: type(clf).__name__)
def test_stored_models(clf, tmp_path):
    io = pytest.importorskip("skops.io")
    X, y, X_u, _ = two_classes(20, 40, 3)
    fitted = clone(clf).fit(np.vstack([X, X_u]), np.r_[y, np.full(40, -1)])
    method = "transform" if isinstance(clf, ManifoldKernel) else "decision_function"
    expected = getattr(fitted, method)(X_u)
    io.dump(fitted, tmp_path / "model.skops")
    own = f"{type(clf).__module__}.{type(clf).__name__}"
    loaded = io.load(tmp_path / "model.skops", trusted=[own])
    for copy in (loaded, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(getattr(copy, method)(X_u), expected)


def test_an_svm_that_stops_early_says_so():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.tile([0, 1], 30)
    clf = LaplacianSVMClassifier(1e-12, 1e-12, kernel="linear", max_iter=100)
    with pytest.warns(ConvergenceWarning, match="max_iter=100"):
        clf.fit(X, y)
