"""Prepared candidates give the scores of the plain estimators, fitted to the same training set."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from generate import several_classes, two_classes
from primum import ICLSClassifierCV, L2SVMClassifier, TSVMClassifier
from primum._sklearn import logistic_regression_cv
from primum.labellings.sets import nearest_shares
from primum.methods.manifold.deformed_kernel import laplacian_power, neighbor_graph
from primum.safe.candidates import (
    CANDIDATES,
    graphs,
    linear,
    machines,
)
from primum.safe.candidates.base import LinearModel, labeled_sample, prepare
from primum.safe.candidates.paths import Principal
from primum.safe.rows import Affine, SharedRows, Targets

L, U, D = 36, 90, 4
TRAIN, TEST = np.arange(L)[np.arange(L) % 4 > 0], np.arange(L)[np.arange(L) % 4 == 0]


def problem(n_classes=2, *, weighted=False, seed=0):
    """Return the shared rows, the labels, and new rows."""
    if n_classes == 2:
        X, y, more, _ = two_classes(L, U, D, seed=seed, separation=2.0)
    else:
        X, y, more, _ = several_classes(L, U, D, n_classes, seed=seed)
        y[n_classes : 3 * n_classes] = np.tile(np.arange(n_classes), 2)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, L).astype(float) if weighted else None
    rows = SharedRows(X, more, None, 0, weighted=weighted)
    return rows, Targets.of_classes(y, n_classes, weight), rng.normal(size=(7, D))


TWO_AND_FOUR = [
    (name, n) for n in (2, 4) for name, found in CANDIDATES.items() if found.applies_to(n)
]


@pytest.mark.parametrize(("name", "n_classes"), TWO_AND_FOUR)
def test_held_out_scores_are_those_of_the_fitted_model(name, n_classes):
    """Sharing the preparation changes nothing, and scores are points of the simplex."""
    rows, labels, new = problem(n_classes)
    prepared = CANDIDATES[name].prepare(rows)
    held_out = prepared.held_out(TRAIN, TEST, labels)
    model = prepared.fit(TRAIN, labels)
    for scores in (held_out, model.predict(new)):
        assert scores.min() >= 0.0
        np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-12)
    if name != "spreading":  # which scores new rows by their neighbours
        # Of the kernel, held-out scores have single precision, and the final model double.
        atol = 1e-5 if name == "kernel" else 1e-7
        np.testing.assert_allclose(held_out, model.predict(rows.labeled[TEST]), atol=atol)


@pytest.mark.parametrize(("name", "n_classes"), TWO_AND_FOUR)
def test_held_out_labels_are_not_used(name, n_classes):
    rows, labels, _ = problem(n_classes)
    prepared = CANDIDATES[name].prepare(rows)
    others = labels.y.copy()
    others[TEST] = (others[TEST] + 1) % n_classes
    np.testing.assert_array_equal(
        prepared.held_out(TRAIN, TEST, labels),
        prepared.held_out(TRAIN, TEST, Targets.of_classes(others, n_classes)),
    )


@pytest.mark.parametrize("name", [n for n, c in CANDIDATES.items() if not c.uses_unlabeled])
def test_supervised_candidates_see_only_their_training_rows(name):
    rows, labels, new = problem()
    moved = SharedRows(rows.labeled.copy(), 5.0 + rows.unlabeled)
    moved.labeled[TEST] *= 3.0
    ours, others = (CANDIDATES[name].prepare(r).fit(TRAIN, labels) for r in (rows, moved))
    np.testing.assert_array_equal(ours.predict(new), others.predict(new))


@pytest.mark.parametrize("n_present", [1, 2])
@pytest.mark.parametrize("name", list(CANDIDATES))
def test_a_class_without_training_rows_has_the_score_zero(name, n_present):
    n_classes = 3 if CANDIDATES[name].applies_to(3) else 2
    n_present = min(n_present, n_classes - 1)
    rows, labels, new = problem(n_classes)
    train = np.flatnonzero(labels.y < n_present)
    scores = CANDIDATES[name].prepare(rows).fit(train, labels).predict(new)
    np.testing.assert_allclose(scores[:, n_present:], 0.0, atol=1e-12)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_sparse_rows_are_accepted(name):
    rows, labels, new = problem()
    thin = SharedRows(sparse.csr_array(rows.labeled), sparse.csr_array(rows.unlabeled))
    prepared = CANDIDATES[name].prepare(thin)
    assert prepared.held_out(TRAIN, TEST, labels).shape == (len(TEST), 2)
    scores = prepared.fit(TRAIN, labels).predict(sparse.csr_array(new))
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-12)


def test_ridge_is_scikit_learns():
    rows, labels, new = problem(4, weighted=True)
    own = labels.take(TRAIN)
    pipeline = make_pipeline(StandardScaler(), RidgeCV(alphas=linear.RIDGES))
    pipeline.fit(rows.labeled[TRAIN], own.values, ridgecv__sample_weight=own.weight)
    ours = CANDIDATES["ridge"].prepare(rows).fit(TRAIN, labels)
    expected = nearest_shares(pipeline.predict(new))
    np.testing.assert_allclose(ours.predict(new), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("n_classes", "most_axes", "atol"), [(2, 80, 1e-6), (2, 0, 1e-5), (4, 80, 1e-5)]
)
def test_logistic_is_scikit_learns(n_classes, most_axes, atol, monkeypatch):
    """Few axes and two classes are fitted by Newton's method, others by L-BFGS."""
    monkeypatch.setattr(linear, "MAX_NEWTON_AXES", most_axes)
    rows, labels, new = problem(n_classes)
    own = labels.take(TRAIN)
    n_folds = int(min(5, np.bincount(own.y).min()))
    pipeline = make_pipeline(
        StandardScaler(),
        logistic_regression_cv(
            Cs=linear.INVERSE_PENALTIES,
            cv=n_folds,
            scoring="neg_log_loss",
            tol=1e-10,
            max_iter=9999,
        ),
    )
    pipeline.fit(rows.labeled[TRAIN], own.y)
    ours = CANDIDATES["logistic"].prepare(rows).fit(TRAIN, labels)
    np.testing.assert_allclose(ours.predict(new), pipeline.predict_proba(new), atol=atol)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_forest_is_scikit_learns(n_classes, weighted, convert):
    rows, labels, new = problem(n_classes, weighted=weighted)
    rows = replace(rows, labeled=convert(rows.labeled), unlabeled=convert(rows.unlabeled))
    own = labels.take(TRAIN)
    forest = ExtraTreesClassifier(100, random_state=0)
    forest.fit(rows.labeled[TRAIN], own.y, sample_weight=own.weight)
    ours = CANDIDATES["forest"].prepare(rows).fit(TRAIN, labels)
    np.testing.assert_allclose(ours.predict(new), forest.predict_proba(new), atol=1e-12)


def test_neighbours_are_scikit_learns():
    rows, labels, new = problem(4)
    model = CANDIDATES["neighbours"].prepare(rows).fit(TRAIN, labels)
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(model.n_neighbors))
    pipeline.fit(rows.labeled[TRAIN], labels.y[TRAIN])
    np.testing.assert_allclose(model.predict(new), pipeline.predict_proba(new), atol=1e-12)


def test_number_of_neighbours_has_the_least_leave_one_out_loss():
    rows, labels, _ = problem(4)
    own, X = labels.take(TRAIN), StandardScaler().fit_transform(rows.labeled[TRAIN])

    def loss(count):
        scores = np.empty((len(TRAIN), 4))
        for i in range(len(TRAIN)):
            rest = np.delete(np.arange(len(TRAIN)), i)
            nearest = NearestNeighbors(n_neighbors=count).fit(X[rest])
            found = nearest.kneighbors(X[[i]], return_distance=False)[0]
            scores[i] = own.values[rest][found].mean(axis=0)
        return graphs.half_brier(scores, own)

    losses = {count: loss(count) for count in graphs.NEIGHBOR_COUNTS if count < len(TRAIN)}
    model = CANDIDATES["neighbours"].prepare(rows).fit(TRAIN, labels)
    assert losses[model.n_neighbors] == pytest.approx(min(losses.values()), abs=1e-12)


def diffusion(W, damping, n_labeled):
    """Return the option of one graph, from a run of conjugate gradients for several dampings."""
    S, units = graphs.normalised(W), np.eye(W.shape[0], n_labeled)
    both = graphs.spread(S, [0.7, damping], units, np.arange(n_labeled))
    return graphs.Diffusion(5, S, damping, both[1])


def test_shifted_systems_share_their_iterations():
    """Every damping has the solution of its own linear system."""
    W = neighbor_graph(np.random.default_rng(0).normal(size=(60, 3)), 4)
    S, B = graphs.normalised(W), np.random.default_rng(1).normal(size=(60, 5))
    rows = np.array([3, 1, 50])
    found = graphs.spread(S, graphs.DAMPINGS, np.abs(B), rows)
    for damping, part in zip(graphs.DAMPINGS, found, strict=True):
        exact = np.linalg.solve(np.eye(60) - damping * S.toarray(), np.abs(B))
        np.testing.assert_allclose(part, exact[rows], rtol=1e-6)


@pytest.mark.parametrize("damping", graphs.DAMPINGS)
def test_spreading_is_the_limit_of_scikit_learns(damping):
    """On the same graph, LabelSpreading run to convergence gives the same scores."""
    rows, labels, _ = problem(4)
    X = StandardScaler().fit_transform(rows.all)
    W = neighbor_graph(X, 10)
    y = np.full(L + U, -1)
    y[TRAIN] = labels.y[TRAIN]
    reference = LabelSpreading(
        kernel=lambda A, B: W.toarray(), alpha=damping, tol=1e-13, max_iter=100_000
    ).fit(X, y)
    option = diffusion(W, damping, L)
    ours = graphs.scores_of_all(option.S, damping, TRAIN, labels.take(TRAIN))
    test = np.setdiff1d(np.arange(L), TRAIN)
    held_out = option.scores(test, TRAIN, labels.take(TRAIN))
    np.testing.assert_allclose(held_out, ours[test], atol=1e-6)
    np.testing.assert_allclose(ours, reference.label_distributions_, atol=1e-6)


def test_spreading_leaves_one_out_as_if_its_label_were_unknown():
    rows, labels, _ = problem(4)
    W = neighbor_graph(StandardScaler().fit_transform(rows.all), 5)
    option = diffusion(W, 0.9, L)
    rests = [np.delete(TRAIN, i) for i in range(len(TRAIN))]
    one_by_one = [
        option.scores(TRAIN[[i]], rest, labels.take(rest))[0] for i, rest in enumerate(rests)
    ]
    own = labels.take(TRAIN)
    expected = graphs.half_brier(np.array(one_by_one), own)
    assert option.left_out_loss(TRAIN, own) == pytest.approx(expected, abs=1e-12)


def test_spreading_gives_unreachable_rows_the_shares_of_the_classes():
    labels = Targets.of_classes(np.array([0, 0, 1, 1]), 2)
    W = neighbor_graph(np.array([[0.0], [0.1], [9.0], [9.1], [50.0], [50.1]]), 1)
    option = diffusion(W, 0.9, 4)
    scores = graphs.scores_of_all(option.S, 0.9, np.arange(3), labels.take(np.arange(3)))
    np.testing.assert_allclose(scores[4:], [[2 / 3, 1 / 3]] * 2)
    np.testing.assert_allclose(scores[3], [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_spreading_many_labels_is_spreading_each_of_them(monkeypatch, weighted):
    """If all labelled rows are checked, the same option is chosen, with the same scores."""
    rows, labels, new = problem(4, weighted=weighted)
    few = CANDIDATES["spreading"].prepare(rows)
    monkeypatch.setattr(graphs, "MAX_GRAM_LABELS", L - 1)
    monkeypatch.setattr(graphs, "MAX_CHECKED_LABELS", L)
    many = CANDIDATES["spreading"].prepare(rows)
    assert isinstance(many, graphs.PreparedManyLabels)
    own = labels.take(TRAIN)
    losses = [option.left_out_loss(TRAIN, own) for option in few.options]
    for number, path in enumerate(many.paths):
        masses = graphs.spread_labels(path.S, graphs.DAMPINGS, TRAIN, own, np.arange(L), np.float64)
        found = [
            many._left_out_loss(mass, diagonal, TRAIN, labels)
            for mass, diagonal in zip(masses, path.diagonal, strict=True)
        ]
        np.testing.assert_allclose(found, losses[5 * number : 5 * number + 5], atol=1e-4)
    expected = few.held_out(TRAIN, TEST, labels)
    np.testing.assert_allclose(many.held_out(TRAIN, TEST, labels), expected, atol=1e-4)
    models = few.fit(TRAIN, labels), many.fit(TRAIN, labels)
    np.testing.assert_allclose(*(model.predict(new) for model in models), atol=1e-7)


def test_only_some_of_many_labels_are_checked(monkeypatch):
    rows, labels, _ = problem(2)
    monkeypatch.setattr(graphs, "MAX_GRAM_LABELS", L - 1)
    monkeypatch.setattr(graphs, "MAX_CHECKED_LABELS", 10)
    prepared = CANDIDATES["spreading"].prepare(rows)
    assert len(prepared.checked) == 10
    assert {path.diagonal.shape for path in prepared.paths} == {(5, 10)}
    own, path = labels.take(TRAIN), prepared.paths[0]
    masses = graphs.spread_labels(path.S, graphs.DAMPINGS, TRAIN, own, np.arange(L), np.float64)
    checked = np.intersect1d(prepared.checked, TRAIN)
    monkeypatch.setattr(graphs, "MAX_GRAM_LABELS", L)
    among = CANDIDATES["spreading"].prepare(rows).options[2].among[np.ix_(TRAIN, TRAIN)]
    np.fill_diagonal(among, 0.0)
    scores = graphs.shares_of_mass(among @ own.weighted, own.mean)[np.isin(TRAIN, checked)]
    expected = graphs.half_brier(scores, labels.take(checked))
    found = prepared._left_out_loss(masses[2], path.diagonal[2], TRAIN, labels)
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["spreading", "kernel", "kernel (labelled)"])
def test_a_training_set_may_have_no_row_of_a_sample(monkeypatch, name):
    """Of many labels, folds of the user may train on few, none of which is sampled or checked."""
    rows, labels, _ = problem(2)
    candidate = CANDIDATES[name]
    monkeypatch.setattr(graphs, "MAX_GRAM_LABELS", L - 1)
    monkeypatch.setattr(graphs, "MAX_CHECKED_LABELS", 10)
    if name != "spreading":
        monkeypatch.setattr(candidate, "most_labeled", 20)
    prepared = prepare(candidate, rows, labels)
    used = prepared.checked if name == "spreading" else labeled_sample(candidate, labels, 0)
    train, test = np.setdiff1d(np.arange(L), used)[:4], used[:5]
    scores = prepared.held_out(train, test, labels)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-6)
    if name != "spreading":
        np.testing.assert_allclose(scores, [labels.take(train).mean] * 5, atol=1e-12)
    np.testing.assert_allclose(prepared.fit(train, labels).predict(rows.labeled).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["kernel", "kernel (labelled)"])
def test_kernels_learn_from_a_sample_of_many_labels(monkeypatch, name):
    """The model is the one that a fit to the sample gives, and scores all held-out rows."""
    rows, labels, new = problem(4)
    candidate = CANDIDATES[name]
    monkeypatch.setattr(candidate, "most_labeled", 20)
    prepared = prepare(candidate, rows, labels)
    sample = labeled_sample(candidate, labels, rows.seed)
    assert prepared.note.startswith(f"{name} uses a random sample of {len(sample)} of the 36 lab")
    assert len(sample) <= 20
    assert set(labels.y[sample]) == set(labels.y)
    fitted = prepared.fit(TRAIN, labels)
    own = np.flatnonzero(np.isin(sample, TRAIN))
    alone = candidate.prepare(rows.with_labeled(sample)).fit(own, labels.take(sample))
    np.testing.assert_allclose(fitted.predict(new), alone.predict(new), atol=1e-10)
    expected = fitted.predict(rows.labeled[TEST])
    np.testing.assert_allclose(prepared.held_out(TRAIN, TEST, labels), expected)
    monkeypatch.setattr(candidate, "most_labeled", 36)
    assert labeled_sample(candidate, labels, rows.seed) is None
    assert prepare(candidate, rows, labels).note == ""


@pytest.mark.parametrize("name", ["kernel", "kernel (labelled)"])
def test_a_sample_chooses_the_kernel_and_all_rows_are_fitted(monkeypatch, name):
    rows, labels, _ = problem(2)
    prepared = CANDIDATES[name].prepare(rows)
    monkeypatch.setattr(linear, "MAX_CHOICE_ROWS", 15)
    model = prepared.fit(TRAIN, labels)
    own = labels.take(TRAIN)
    compared = own.part(15 / len(TRAIN), 0)
    X = StandardScaler().fit_transform(rows.labeled[TRAIN])
    if name == "kernel":
        grams = [option.gram[np.ix_(TRAIN, TRAIN)] for option in prepared.options]
        gammas = [option.gamma for option in prepared.options]
    else:
        gammas = graphs.gammas_of(graphs.distances_among(X))
        grams = [rbf_kernel(X, gamma=gamma) for gamma in gammas]
    few = [gram[np.ix_(compared, compared)] for gram in grams]
    scores = [linear.fit_kernel_ridge(gram, own.take(compared))[1] for gram in few]
    best = int(np.argmax(scores))
    assert model.gamma == pytest.approx(gammas[best])
    expected = linear.fit_kernel_ridge(grams[best], own)[0].predict(grams[best])
    np.testing.assert_allclose(model.predict(rows.labeled[TRAIN]), expected, atol=1e-4)
    held_out = prepared.held_out(TRAIN, TEST, labels)
    np.testing.assert_allclose(held_out, model.predict(rows.labeled[TEST]), atol=1e-4)


def test_components_are_whitened():
    rows, _, _ = problem()
    Z = linear.find_components(rows.all, 0).transform(rows.all)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(Z.shape[1]), atol=1e-10)


@pytest.mark.parametrize("n_rows", [30, 230])  # the second has components of its covariance
def test_directions_without_variance_are_no_components(n_rows):
    for seed in range(6):  # rounding may be 0
        X = np.random.default_rng(seed).normal(size=(n_rows, 3))
        flat = np.column_stack([X, X[:, 0] + X[:, 1], np.full(n_rows, 2.0)])
        assert linear.find_components(flat, 0).transform(flat).shape == (n_rows, 3)


def test_deformed_kernel_has_its_definition():
    """K~ = (I + r K Lap)^-1 K, for the rows (to choose, in single precision) and for new ones."""
    rows, _, new = problem(seed=3)
    prepared = CANDIDATES["kernel"].prepare(rows)
    scaler = StandardScaler().fit(rows.all)
    X = scaler.transform(rows.all)
    lap = laplacian_power(neighbor_graph(X, graphs.KERNEL_NEIGHBORS), normalized=True).toarray()
    gammas = graphs.gammas_of(graphs.distances_among(X))
    pairs = [(gamma, r) for gamma in gammas for r in graphs.STRENGTHS]
    for option, (gamma, r) in zip(prepared.options, pairs, strict=True):
        K = rbf_kernel(X, gamma=gamma)
        deformed = np.linalg.solve(np.eye(len(K)) + r * K @ lap, K)
        final = prepared.deformed(option)
        np.testing.assert_allclose(option.gram, deformed[:L, :L], atol=1e-5)
        np.testing.assert_allclose(final.gram(np.arange(L)), deformed[:L, :L], atol=1e-8)
        k = rbf_kernel(scaler.transform(new), X, gamma=gamma)
        extended = k @ (np.eye(len(K)) - r * lap @ deformed)[:, :L]
        np.testing.assert_allclose(k @ final.expansion(np.arange(L)), extended, atol=1e-6)


def test_labelled_kernel_is_kernel_ridge_with_an_intercept():
    rows, labels, _ = problem()
    model = CANDIDATES["kernel (labelled)"].prepare(rows).fit(TRAIN, labels)
    X, y = StandardScaler().fit_transform(rows.labeled[TRAIN]), labels.values[TRAIN]
    K = rbf_kernel(X, gamma=model.gamma)
    residual = y - K @ model.coef - model.intercept
    np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-8)
    ridge = residual[:, 0] @ model.coef[:, 0] / (model.coef[:, 0] @ model.coef[:, 0])
    assert np.isclose(linear.RIDGES, ridge, rtol=1e-6).any()
    reference = KernelRidge(alpha=ridge, kernel="precomputed").fit(K, y - model.intercept)
    np.testing.assert_allclose(reference.dual_coef_, model.coef, atol=1e-6)


def svm_penalty(X, own):
    return machines.tuned_svm(Principal.of(X, own.weight), own)[2]


def test_tsvm_is_that_of_the_library():
    rows, labels, new = problem()
    own, scaler = labels.take(TRAIN), StandardScaler().fit(rows.all)
    X = scaler.transform(rows.labeled[TRAIN])
    unknown = np.concatenate([rows.unlabeled, np.delete(rows.labeled, TRAIN, axis=0)])
    reference = TSVMClassifier("annealing", alpha=svm_penalty(X, own))
    reference.fit(X, own.y, scaler.transform(unknown))
    ours = CANDIDATES["tsvm"].prepare(rows).fit(TRAIN, labels).predict(new)
    values = reference.decision_function(scaler.transform(new))
    np.testing.assert_allclose(ours[:, 1], expit(machines.SCORE_SLOPE * values), atol=1e-9)


def test_svm_is_that_of_the_library():
    rows, labels, new = problem()
    own, scaler = labels.take(TRAIN), StandardScaler().fit(rows.labeled[TRAIN])
    X = scaler.transform(rows.labeled[TRAIN])
    reference = L2SVMClassifier(svm_penalty(X, own)).fit(X, own.y)
    ours = CANDIDATES["svm"].prepare(rows).fit(TRAIN, labels).predict(new)
    values = reference.decision_function(scaler.transform(new))
    np.testing.assert_allclose(ours[:, 1], expit(machines.SCORE_SLOPE * values), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_icls_is_that_of_the_library(n_classes):
    rows, labels, new = problem(n_classes)
    own, scaler = labels.take(TRAIN), StandardScaler().fit(rows.all)
    unknown = np.concatenate([rows.unlabeled, np.delete(rows.labeled, TRAIN, axis=0)])
    folds = linear.inner_folds(own, machines.ICLS_FOLDS)
    reference = ICLSClassifierCV(machines.ICLS_PENALTIES, machines.ICLS_METRICS, cv=folds)
    reference.fit(scaler.transform(rows.labeled[TRAIN]), own.y, scaler.transform(unknown))
    ours = CANDIDATES["icls"].prepare(rows).fit(TRAIN, labels).predict(new)
    expected = reference.predict_proba(scaler.transform(new))
    np.testing.assert_allclose(ours, expected, atol=1e-6)


def test_a_sample_of_the_unlabelled_rows_is_named():
    rows, _, _ = problem()
    few = rows.with_at_most(20)
    assert few.unlabeled.shape == (20, D)
    assert few.labeled is rows.labeled
    assert rows.with_at_most(U) is rows
    many = SharedRows(rows.labeled, np.random.default_rng(0).normal(size=(1501, D)))
    note = CANDIDATES["tsvm"].prepare(many).note
    assert note == "tsvm uses a random sample of 1500 of the 1501 unlabelled rows."


def test_affine_changes_are_absorbed():
    rng = np.random.default_rng(0)
    change = Affine(rng.random(5) + 0.5, rng.normal(size=3), rng.normal(size=(5, 3)))
    model = LinearModel(rng.normal(size=(3, 4)), rng.normal(size=4), probabilities=True)
    X = rng.normal(size=(6, 5))
    expected = model.predict(change.transform(X))
    np.testing.assert_allclose(model.after(change).predict(X), expected, atol=1e-12)
