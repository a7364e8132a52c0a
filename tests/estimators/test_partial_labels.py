"""Partial labels: the classes that a row may have, and bounds on a label."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score

from generate import several_classes, two_classes
from primum import ICLSClassifier, LeastSquaresClassifier, UnlabeledRows
from primum.estimators._implicit import UndeterminedModelWarning
from primum.labellings import columns
from primum.selection import SemiSupervisedSplit

METRICS = [
    {},
    {"alpha": 0.05},
    {"metric": "all"},
    {"metric": 0.3, "fit_intercept": False},
    {"metric": "euclidean"},
]
each_metric = pytest.mark.parametrize("parameters", METRICS, ids=str)
SEEDS = st.integers(0, 2**16)


def masked(L=30, U=60, d=3, K=4, *, seed=0, separation=1.0, keep=0.6):
    """Return rows, y, the true labels, and masks that contain them and leave a choice."""
    X, y, X_u, truth = several_classes(L, U, d, K, seed=seed, separation=separation)
    truth = np.r_[y, truth]
    rng = np.random.default_rng(seed)
    possible = rng.random((L + U, K)) < keep
    possible[np.arange(L + U), truth] = True
    possible[np.arange(L + U), (truth + rng.integers(1, K, L + U)) % K] = True
    return np.vstack([X, X_u]), np.r_[y, np.full(U, -1)], truth, possible


def bounded(L=20, U=60, d=3, *, seed=0):
    """Return rows, y, the true labels, and bounds on the unlabelled ones that contain them."""
    X, y, X_u, truth = two_classes(L, U, d, seed=seed)
    rng = np.random.default_rng(seed)
    bounds = np.column_stack([np.minimum(truth, rng.random(U)), np.maximum(truth, rng.random(U))])
    bounds[rng.random(U) < 0.2] = np.nan
    bounds = np.vstack([np.full((L, 2), np.nan), bounds])
    return np.vstack([X, X_u]), np.r_[y, np.full(U, -1)], np.r_[y, truth], bounds


def scores(clf, X):
    return clf.decision_function(X)


class Objective:
    """The objective of soft labels, for a ridge or for metric="all", from its definition."""

    def __init__(self, X, y, targets, alpha=0.0, metric="labeled", weight=None):
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
        E = np.column_stack([np.ones(len(X)), X])
        D = np.diag(np.r_[0.0, np.ones(X.shape[1])])
        known, unknown = y >= 0, y < 0
        total, labeled = weight.sum(), weight[known].sum()
        inverse = np.linalg.inv(E.T @ (weight[:, None] * E) + total * alpha * D)
        to_beta = inverse @ (weight[:, None] * E).T
        E_l, w_l, Y = E[known], weight[known], targets[known]
        if metric == "all":
            twin = np.linalg.lstsq(np.sqrt(w_l)[:, None] * E_l, (np.sqrt(w_l) * Y.T).T)[0]
            root = np.sqrt(weight / total)[:, None] * E
            goal = root @ twin
        else:
            ridge = np.sqrt(alpha) * D
            root = np.vstack([np.sqrt(w_l / labeled)[:, None] * E_l, ridge])
            goal = np.concatenate(
                [(np.sqrt(w_l / labeled) * Y.T).T, 0.0 * ridge @ to_beta[:, known] @ Y]
            )
        self.R = root @ to_beta[:, unknown]
        self.T = goal - root @ (to_beta[:, known] @ Y)

    def __call__(self, q):
        return float(np.sum((self.R @ q - self.T) ** 2))

    def gradient(self, q):
        return 2 * self.R.T @ (self.R @ q - self.T)

    def minimum(self, low, high, *, on_simplex):
        """Return the minimum over low <= q <= high, by a generic solver."""
        shape, n = low.shape, len(low)
        sums = np.kron(np.eye(n), np.ones(shape[1])) if on_simplex else None
        found = minimize(
            lambda q: self(q.reshape(shape)),
            ((low + high) / (high.sum(axis=1, keepdims=True) if on_simplex else 2)).ravel(),
            jac=lambda q: self.gradient(q.reshape(shape)).ravel(),
            bounds=np.column_stack([low.ravel(), high.ravel()]),
            constraints={"type": "eq", "fun": lambda q: sums @ q - 1, "jac": lambda q: sums}
            if on_simplex
            else (),
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        assert found.success
        return found.fun


OF_OBJECTIVE = [{"alpha": 0.05}, {"metric": "all"}, {}]


# What partial labels mean


@each_metric
def test_masks_that_allow_every_class_change_nothing(parameters):
    X, y, _, possible = masked()
    plain = ICLSClassifier(**parameters).fit(X, y)
    allowed = ICLSClassifier(**parameters).fit(X, y, possible=np.ones_like(possible))
    np.testing.assert_array_equal(allowed.coef_, plain.coef_)
    np.testing.assert_array_equal(allowed.soft_labels_, plain.soft_labels_)


@each_metric
def test_a_few_free_rows_among_masked_ones_are_free(parameters):
    """The general code with masks, not only the shortcut, agrees with that without masks."""
    X, y, truth, possible = masked()
    possible[:] = True
    possible[-1] = np.arange(4) != (truth[-1] + 1) % 4
    weight = np.r_[np.ones(len(X) - 1), 1e-12]
    plain = ICLSClassifier(tol=1e-12, **parameters).fit(X, y, sample_weight=weight)
    almost = ICLSClassifier(tol=1e-12, **parameters).fit(
        X, y, sample_weight=weight, possible=possible
    )
    np.testing.assert_allclose(almost.coef_, plain.coef_, atol=1e-6)


@each_metric
def test_a_row_with_one_possible_class_is_a_labelled_row(parameters):
    X, y, truth, possible = masked()
    possible[30:40] = np.eye(4, dtype=bool)[truth[30:40]]
    by_mask = ICLSClassifier(**parameters).fit(X, y, possible=possible)
    y[30:40] = truth[30:40]
    by_label = ICLSClassifier(**parameters).fit(X, y, possible=possible)
    np.testing.assert_array_equal(by_mask.coef_, by_label.coef_)
    np.testing.assert_array_equal(by_mask.supervised_.coef_, by_label.supervised_.coef_)
    np.testing.assert_array_equal(by_mask.soft_labels_, by_label.soft_labels_)
    assert by_mask.certificate_ == by_label.certificate_
    assert by_mask.certificate_.n_unlabeled == 50
    twin = LeastSquaresClassifier(by_mask.alpha, fit_intercept=by_mask.fit_intercept)
    np.testing.assert_array_equal(by_mask.supervised_.coef_, twin.fit(X[:40], y[:40]).coef_)


def test_two_classes_take_masks_too():
    X, y, truth, _ = bounded()
    possible = np.ones((len(X), 2), dtype=bool)
    possible[20:30] = np.eye(2, dtype=bool)[truth[20:30]]
    by_mask = ICLSClassifier().fit(X, y, possible=possible)
    by_label = ICLSClassifier().fit(X, np.r_[truth[:30], y[30:]])
    assert by_mask.coef_.shape == (1, 3)
    np.testing.assert_array_equal(by_mask.coef_, by_label.coef_)
    np.testing.assert_array_equal(by_mask.soft_labels_, by_label.soft_labels_)


@each_metric
def test_bounds_of_zero_and_one_change_nothing(parameters):
    X, y, _, _ = bounded()
    plain = ICLSClassifier(**parameters).fit(X, y)
    for bounds in [0.0, 1.0], [np.nan, np.nan]:
        free = ICLSClassifier(**parameters).fit(X, y, label_bounds=np.tile(bounds, (len(X), 1)))
        np.testing.assert_array_equal(free.coef_, plain.coef_)


def test_a_known_soft_label_is_no_labelled_row():
    """It is fitted in all models, but does not enter the labelled loss and the twin."""
    X, y, truth, bounds = bounded()
    bounds[20:] = np.nan
    bounds[20:40] = truth[20:40, None]
    clf = ICLSClassifier().fit(X, y, label_bounds=bounds)
    np.testing.assert_array_equal(clf.soft_labels_[:20], truth[20:40])
    np.testing.assert_array_equal(
        clf.supervised_.coef_, LeastSquaresClassifier().fit(X[:20], y[:20]).coef_
    )
    labelled = ICLSClassifier().fit(X, np.r_[truth[:40], y[40:]])
    assert clf.certificate_.n_unlabeled == 60
    assert labelled.certificate_.n_unlabeled == 40
    assert np.abs(clf.coef_ - labelled.coef_).max() > 1e-3


def test_all_soft_labels_known_give_the_least_squares_fit_to_them():
    X, y, _, _ = bounded()
    soft = np.r_[y[:20], np.random.default_rng(0).random(60)]
    clf = ICLSClassifier().fit(X, y, label_bounds=np.column_stack([soft, soft]))
    E = np.column_stack([np.ones(80), X])
    np.testing.assert_allclose(scores(clf, X) + 0.5, E @ np.linalg.lstsq(E, soft)[0], atol=1e-10)
    assert clf.certificate_.gap == 0.0


# The optimum


@pytest.mark.parametrize("parameters", OF_OBJECTIVE, ids=str)
@pytest.mark.parametrize("K", [3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_masks_agree_with_a_generic_solver(parameters, K, seed):
    X, y, _, possible = masked(12, 10, 3, K, seed=seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(X)) if seed else None
    clf = ICLSClassifier(**parameters).fit(X, y, possible=possible, sample_weight=weight)
    objective = Objective(X, y, np.eye(K)[y], weight=weight, **parameters)
    assert clf.certificate_.converged
    assert objective(clf.soft_labels_) == pytest.approx(clf.certificate_.objective, abs=1e-10)
    high = possible[12:].astype(float)
    least = objective.minimum(np.zeros_like(high), high, on_simplex=True)
    assert clf.certificate_.objective == pytest.approx(least, abs=1e-8)
    assert np.all(clf.soft_labels_[~possible[12:]] == 0.0)
    np.testing.assert_allclose(clf.soft_labels_.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("solver", ["newton", "lbfgsb", "reference"])
@pytest.mark.parametrize("parameters", OF_OBJECTIVE, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_agree_with_a_generic_solver(parameters, seed, solver):
    X, y, _, bounds = bounded(12, 15, seed=seed)
    bounds[-3:] = [0.4, 0.4]
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(X)) if seed else None
    clf = ICLSClassifier(solver=solver, **parameters)
    clf.fit(X, y, label_bounds=bounds, sample_weight=weight)
    objective = Objective(X, y, y[:, None].astype(float), weight=weight, **parameters)
    low, high = np.where(np.isnan(bounds), [0.0, 1.0], bounds)[12:].T
    assert clf.certificate_.converged
    assert objective(clf.soft_labels_[:, None]) == pytest.approx(
        clf.certificate_.objective, abs=1e-9
    )
    least = objective.minimum(low[:, None], high[:, None], on_simplex=False)
    assert clf.certificate_.objective == pytest.approx(least, abs=1e-8)
    assert np.all((low <= clf.soft_labels_) & (clf.soft_labels_ <= high))


@pytest.mark.parametrize("parameters", OF_OBJECTIVE, ids=str)
@settings(max_examples=25)
@given(seed=SEEDS, K=st.integers(3, 5))
def test_no_possible_labelling_is_below_the_bound(parameters, seed, K):
    X, y, truth, possible = masked(8, 12, 2, K, seed=seed)
    clf = ICLSClassifier(**parameters).fit(X, y, possible=possible)
    objective, rng = Objective(X, y, np.eye(K)[y], **parameters), np.random.default_rng(seed)
    for concentration in (0.05, 1.0):
        q = possible[8:] * rng.gamma(concentration, size=(12, K)) + 1e-300 * possible[8:]
        assert objective(q / q.sum(axis=1, keepdims=True)) >= clf.certificate_.lower_bound - 1e-12
    assert objective(np.eye(K)[truth[8:]]) >= clf.certificate_.lower_bound - 1e-12


@each_metric
@settings(max_examples=10)
@given(seed=SEEDS)
def test_excluding_classes_never_lowers_the_objective(parameters, seed):
    X, y, _, possible = masked(12, 20, 3, seed=seed, keep=0.3)
    wider = possible | (np.random.default_rng(seed).random(possible.shape) < 0.5)
    proofs = [
        ICLSClassifier(**parameters).fit(X, y, possible=mask).certificate_
        for mask in (possible, wider, np.ones_like(wider))
    ]
    for narrow, wide in pairwise(proofs):
        assert narrow.converged
        assert narrow.objective >= wide.lower_bound - 1e-12


@each_metric
@settings(max_examples=10)
@given(seed=SEEDS)
def test_narrower_bounds_never_lower_the_objective(parameters, seed):
    X, y, _, bounds = bounded(12, 20, seed=seed)
    wider = np.clip(bounds + np.array([-0.2, 0.2]), 0.0, 1.0)
    proofs = [
        ICLSClassifier(**parameters).fit(X, y, label_bounds=some).certificate_
        for some in (bounds, wider, None)
    ]
    for narrow, wide in pairwise(proofs):
        assert narrow.converged
        assert narrow.objective >= wide.lower_bound - 1e-12


@settings(max_examples=20)
@given(seed=SEEDS, fit_intercept=st.booleans())
def test_true_labels_that_are_possible_bound_the_loss(seed, fit_intercept):
    """The theorem of metric="all": the squared loss on all rows is not above the twin's."""
    X, y, truth, possible = masked(10, 25, 3, seed=seed)
    clf = ICLSClassifier(metric="all", fit_intercept=fit_intercept).fit(X, y, possible=possible)
    loss, twin = (np.sum((scores(m, X) - np.eye(4)[truth]) ** 2) for m in (clf, clf.supervised_))
    assert loss <= twin * (1 + 1e-6)
    X, y, truth, bounds = bounded(10, 25, seed=seed)
    clf = ICLSClassifier(metric="all", fit_intercept=fit_intercept).fit(X, y, label_bounds=bounds)
    loss, twin = (np.sum((scores(m, X) + 0.5 - truth) ** 2) for m in (clf, clf.supervised_))
    assert loss <= twin * (1 + 1e-6)


# Invariances


@each_metric
def test_permuting_the_classes_permutes_the_columns(parameters):
    X, y, _, possible = masked()
    order = np.array([2, 0, 3, 1])
    renamed = np.where(y < 0, -1, order[y])
    inverse = np.argsort(order)
    expected = scores(ICLSClassifier(**parameters).fit(X, y, possible=possible), X)
    permuted = ICLSClassifier(**parameters).fit(X, renamed, possible=possible[:, inverse])
    np.testing.assert_allclose(scores(permuted, X)[:, order], expected, atol=1e-7)


def test_a_data_frame_names_the_classes_in_any_order():
    X, y, _, possible = masked()
    names = np.array(["blue", "green", "red", "white"])
    labels = [None if code < 0 else names[code] for code in y]
    expected = ICLSClassifier().fit(X, y, possible=possible)
    for dtype in bool, "boolean", object, float:
        frame = pd.DataFrame(possible, columns=names).astype(dtype)[
            ["red", "blue", "white", "green"]
        ]
        clf = ICLSClassifier().fit(X, labels, possible=frame)
        np.testing.assert_array_equal(clf.classes_, names)
        np.testing.assert_array_equal(clf.coef_, expected.coef_)
    frame = pd.DataFrame(possible[:, ::-1], columns=[3, 2, 1, 0])
    as_numbers = ICLSClassifier().fit(X, np.where(y < 0, np.nan, y), possible=frame)
    assert as_numbers.classes_.dtype == float
    np.testing.assert_array_equal(as_numbers.coef_, expected.coef_)


@pytest.mark.parametrize("n_known", [30, 0])
def test_classes_can_be_labelled_by_masks_alone(n_known):
    X, _, truth, possible = masked()
    names = np.array(["blue", "green", "red", "white"])
    expected = ICLSClassifier().fit(X, names[truth[:30]].tolist() + [None] * 60, possible=possible)
    possible[:30] = np.eye(4, dtype=bool)[truth[:30]]
    in_y = (np.arange(90) < n_known) & (truth < 2)
    labels = [names[code] if known else None for code, known in zip(truth, in_y, strict=True)]
    clf = ICLSClassifier().fit(X, labels, possible=pd.DataFrame(possible, columns=names))
    np.testing.assert_array_equal(clf.classes_, names)
    np.testing.assert_array_equal(clf.coef_, expected.coef_)


@each_metric
def test_integer_weights_repeat_rows(parameters):
    X, y, _, possible = masked()
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weight[:30] += 1
    heavy = ICLSClassifier(**parameters).fit(X, y, sample_weight=weight, possible=possible)
    often = ICLSClassifier(**parameters).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight), possible=np.repeat(possible, weight, 0)
    )
    np.testing.assert_allclose(heavy.coef_, often.coef_, atol=1e-7)
    without, masks = weight[30:] == 0, possible[30:]
    assert 0 < without.sum() < 60
    centres = masks / masks.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(heavy.soft_labels_[without], centres[without])
    assert np.all(heavy.soft_labels_[~masks] == 0.0)


def test_rows_without_weight_have_the_centre_of_their_bounds():
    X, y, _, bounds = bounded()
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    weight[:20] += 1
    X_more = X[30:40] + 0.1
    heavy = ICLSClassifier().fit(X, y, X_more, sample_weight=weight, label_bounds=bounds)
    often = ICLSClassifier().fit(
        np.repeat(X, weight, axis=0),
        np.repeat(y, weight),
        X_more,
        label_bounds=np.repeat(bounds, weight, axis=0),
    )
    np.testing.assert_allclose(heavy.coef_, often.coef_, atol=1e-7)
    without = weight[20:] == 0
    centres = np.where(np.isnan(bounds), [0.0, 1.0], bounds)[20:].mean(axis=1)
    np.testing.assert_array_equal(heavy.soft_labels_[:60][without], centres[without])
    assert heavy.soft_labels_.shape == (70,)


# Where the rows are


@pytest.fixture(params=["in memory", "outside"])
def streamed(request, monkeypatch):
    """Never form M, and sample few rows, so that the solver for many rows is used."""
    monkeypatch.setattr(columns, "FORM_UP_TO", 0)
    monkeypatch.setattr("primum.solvers.copies.SAMPLE", 128)
    monkeypatch.setattr("primum.rows.array.ArrayRows.in_memory", request.param == "in memory")


@pytest.mark.usefixtures("streamed")
@each_metric
def test_many_masked_rows_give_the_same_model_as_few(parameters):
    X, y, _, possible = masked(40, 1500)
    many = ICLSClassifier(**parameters).fit(X, y, possible=possible)
    assert many.solver_ == "scale"
    few = ICLSClassifier(solver="newton", **parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("primum.rows.array.ArrayRows.in_memory", True)
        few.fit(X, y, possible=possible)
    ours, theirs = many.certificate_, few.certificate_
    assert ours.converged
    assert abs(ours.objective - theirs.objective) <= ours.gap + theirs.gap + 1e-11
    np.testing.assert_allclose(scores(many, X), scores(few, X), atol=1e-4)


@pytest.mark.usefixtures("streamed")
@each_metric
def test_many_bounded_rows_give_the_same_model_as_few(parameters):
    X, y, _, bounds = bounded(30, 1500)
    many = ICLSClassifier(**parameters).fit(X, y, label_bounds=bounds)
    assert many.solver_ == "scale"
    few = ICLSClassifier(solver="newton", **parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("primum.rows.array.ArrayRows.in_memory", True)
        few.fit(X, y, label_bounds=bounds)
    ours, theirs = many.certificate_, few.certificate_
    assert ours.converged
    assert abs(ours.objective - theirs.objective) <= ours.gap + theirs.gap + 1e-11
    np.testing.assert_allclose(scores(many, X), scores(few, X), atol=1e-4)


@pytest.fixture(params=["wrapped", "sparse", "parquet", "dask"])
def stored(request, tmp_path):
    """Return a function that stores further rows in some form."""
    if request.param == "wrapped":
        return UnlabeledRows
    if request.param == "sparse":
        return sparse.csr_array
    if request.param == "dask":
        da = pytest.importorskip("dask.array")
        return lambda X: da.from_array(X, chunks=(70, -1))

    def write(X):
        pd.DataFrame(X).rename(columns=str).to_parquet(tmp_path / "rows.parquet")
        return tmp_path / "rows.parquet"

    return write


@pytest.mark.parametrize("form", [True, False], ids=["formed", "streamed"])
@pytest.mark.parametrize("kind", ["masks", "bounds"])
def test_further_rows_have_any_label_wherever_they_are(kind, form, stored, monkeypatch):
    if kind == "masks":
        X, y, _, possible = masked(10, 60)
        partial, extended = {"possible": possible}, np.ones((300, 4), dtype=bool)
    else:
        X, y, _, bounds = bounded()
        partial, extended = {"label_bounds": bounds}, np.full((300, 2), np.nan)
    more = np.random.default_rng(0).normal(size=(300, 3))
    ((name, own),) = partial.items()
    expected = ICLSClassifier().fit(
        np.vstack([X, more]), np.r_[y, np.full(300, -1)], **{name: np.vstack([own, extended])}
    )
    if not form:
        monkeypatch.setattr(columns, "FORM_UP_TO", 0)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=stored(more), **partial)
    assert clf.certificate_.converged
    assert clf.certificate_.n_unlabeled == 360
    np.testing.assert_allclose(scores(clf, more), scores(expected, more), atol=1e-5)
    if not hasattr(clf, "soft_labels_"):
        labels = np.asarray(clf.soft_labels(stored(more)))
        np.testing.assert_allclose(labels, expected.soft_labels_[60:], atol=1e-4)


def test_weights_and_rows_outside_memory(tmp_path):
    X, y, _, possible = masked()
    more = np.random.default_rng(0).normal(size=(300, 3))
    pd.DataFrame(more).rename(columns=str).to_parquet(tmp_path / "rows.parquet")
    weight = np.random.default_rng(0).integers(0, 3, len(X)) + (y >= 0)
    here, there = (
        ICLSClassifier().fit(X, y, rows, sample_weight=weight, possible=possible)
        for rows in (more, tmp_path / "rows.parquet")
    )
    np.testing.assert_allclose(here.coef_, there.coef_, atol=1e-8)


# Fewer labels than features


def undetermined(seed, L, K=3, U=60, d=15):
    X, y, _, possible = masked(L, U, d, K, seed=seed, separation=2.0, keep=0.7)
    return X, y, possible


@pytest.mark.filterwarnings("ignore::primum.estimators._implicit.UndeterminedModelWarning")
@pytest.mark.parametrize("L", [4, 8, 14])
@pytest.mark.parametrize("seed", range(3))
def test_the_tie_break_is_the_limit_of_the_metrics(seed, L):
    X, y, possible = undetermined(seed, L)
    limit = ICLSClassifier(tol=1e-13).fit(X, y, possible=possible)
    near = ICLSClassifier(metric=1e-7, tol=1e-13).fit(X, y, possible=possible)
    assert limit.certificate_.tie_break == "twin"
    np.testing.assert_allclose(scores(limit, X), scores(near, X), atol=3e-4)
    assert np.all(limit.soft_labels_[~possible[L:]] == 0.0)


@pytest.mark.filterwarnings("ignore::primum.estimators._implicit.UndeterminedModelWarning")
@settings(max_examples=25)
@given(seed=SEEDS, L=st.integers(3, 14), K=st.integers(3, 4), U=st.integers(1, 60))
def test_the_tie_break_is_proven_with_masks(seed, L, K, U):
    X, y, possible = undetermined(seed, max(L, K), K, U)
    proof = ICLSClassifier().fit(X, y, possible=possible).certificate_
    assert proof.converged
    if not proof.determined:
        assert proof.distance_gap <= 1e-4 * (1 + proof.distance)
        half = ICLSClassifier(tie_break="half").fit(X, y, possible=possible).certificate_
        assert half.objective == pytest.approx(proof.objective, abs=1e-7)
        assert half.distance >= proof.distance - proof.distance_gap - 1e-4


@pytest.mark.filterwarnings("ignore::primum.estimators._implicit.UndeterminedModelWarning")
@pytest.mark.parametrize("L", [4, 8, 14])
@pytest.mark.parametrize("seed", range(3))
def test_the_tie_break_is_the_limit_with_bounds_too(seed, L):
    X, y, _, bounds = bounded(L, 60, 15, seed=seed)
    bounds[-5:] = [0.3, 0.3]
    limit = ICLSClassifier(tol=1e-13).fit(X, y, label_bounds=bounds)
    near = ICLSClassifier(metric=1e-7, tol=1e-13).fit(X, y, label_bounds=bounds)
    assert limit.certificate_.tie_break == "twin"
    np.testing.assert_allclose(scores(limit, X), scores(near, X), atol=3e-4)
    np.testing.assert_allclose(limit.soft_labels_[-5:], 0.3)


@pytest.mark.filterwarnings("ignore::primum.estimators._implicit.UndeterminedModelWarning")
@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("L", [4, 8])
def test_ties_of_many_masked_rows(L):
    X, y, possible = undetermined(1, L, U=400)
    many = ICLSClassifier().fit(X, y, possible=possible)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("primum.rows.array.ArrayRows.in_memory", True)
        few = ICLSClassifier(solver="newton").fit(X, y, possible=possible)
    assert many.certificate_.converged
    assert many.certificate_.tie_break == "twin"
    assert np.sqrt(np.mean((scores(many, X) - scores(few, X)) ** 2)) < 1e-3


def test_an_undetermined_model_that_masks_moved_is_warned_about():
    X, y, possible = undetermined(0, 8)
    with pytest.warns(UndeterminedModelWarning, match="8 labelled rows .* of 60 predictions"):
        ICLSClassifier().fit(X, y, possible=possible)


# scikit-learn


def test_cross_validation_takes_the_rows_of_masks_and_bounds():
    X, y, _, possible = masked(60, 60)
    frame = pd.DataFrame(possible)
    for mask in possible, frame:
        found = cross_val_score(
            ICLSClassifier(), X, y, cv=SemiSupervisedSplit(3), params={"possible": mask}
        )
        expected = [
            ICLSClassifier().fit(X[a], y[a], possible=possible[a]).score(X[b], y[b])
            for a, b in SemiSupervisedSplit(3).split(X, y)
        ]
        np.testing.assert_array_equal(found, expected)
    search = GridSearchCV(ICLSClassifier(), {"alpha": [0.1]}, cv=SemiSupervisedSplit(3))
    search.fit(X, y, possible=possible)
    expected = ICLSClassifier(alpha=0.1).fit(X, y, possible=possible)
    np.testing.assert_array_equal(search.best_estimator_.coef_, expected.coef_)
    X, y, _, bounds = bounded()
    search.fit(X, y, label_bounds=bounds)
    expected = ICLSClassifier(alpha=0.1).fit(X, y, label_bounds=bounds)
    np.testing.assert_array_equal(search.best_estimator_.coef_, expected.coef_)


def test_metadata_routing_knows_partial_labels():
    X, y, _, possible = masked(60, 60)
    with config_context(enable_metadata_routing=True):
        clf = ICLSClassifier().set_fit_request(possible=True, label_bounds=True)
        requests = clf.get_metadata_routing().fit.requests
        assert requests["possible"]
        assert requests["label_bounds"]
        search = GridSearchCV(clf, {"alpha": [0.1]}, cv=SemiSupervisedSplit(3))
        search.fit(X, y, possible=possible)
    expected = ICLSClassifier(alpha=0.1).fit(X, y, possible=possible)
    np.testing.assert_array_equal(search.best_estimator_.coef_, expected.coef_)


# Bad input


def frame(columns):
    return pd.DataFrame(np.ones((6, len(columns)), dtype=bool), columns=columns)


def changed(values, row, value):
    values = np.array(values)
    values[row] = value
    return values


ROWS = np.arange(12.0).reshape(6, 2) % 5
THREE, ALL = ["a", "b", "c", None, None, None], np.ones((6, 3), dtype=bool)
BAD_MASKS = {
    "all false": (
        changed(ALL, [3, 5], False),
        "possible excludes every class in row 3 and 1 more: give every row at least one class, and "
        "all of them if nothing is known about its label.",
    ),
    "too few rows": (
        ALL[:5],
        "possible has shape (5, 3) but X has 6 rows: pass one row for every row of X and one "
        "column for every class.",
    ),
    "one axis": (ALL[:, 0], "possible has shape (6,) but X has 6 rows: pass one row"),
    "too few columns": (
        ALL[:, :2],
        "possible has 2 columns but y has 3 classes, 'a', 'b', 'c': pass one column for every "
        "class, in this order, or a DataFrame whose columns are the names of all classes.",
    ),
    "own label": (
        changed(ALL, 1, [True, False, True]),
        "possible excludes class 'b' in row 1, which is its label in y: correct one of the two.",
    ),
    "numbers": (
        changed(ALL.astype(float), 4, [0.5, 1.0, 0.0]),
        "possible has the value 0.5 in row 4, column 0: pass True for the classes that a row may "
        "have and False for the others.",
    ),
    "missing": (frame(list("abc")).astype("boolean").replace({True: pd.NA}), "possible has the"),
    "text": (np.full((6, 3), "x"), "possible has the value 'x' in row 0, column 0: pass True"),
    "other names": (
        frame(["a", "b", "d"]),
        "The columns of possible are 'a', 'b', 'd', but y has 3 classes, 'a', 'b', 'c': name one "
        "column after every class, or pass an array whose columns are these classes.",
    ),
    "names twice": (frame(["a", "b", "c", "c"]), "The columns of possible are 'a', 'b', 'c', 'c',"),
    "numbers as names": (frame([0, 1, 2]), "The columns of possible are 0, 1, 2, but y has 3"),
    "mixed names": (frame(["a", "b", "c", 1]), "The columns of possible are 'a', 'b', 'c', '1',"),
    "two levels of names": (
        frame(pd.MultiIndex.from_tuples([("a", "x"), ("b", "x"), ("c", "x")])),
        "The columns of possible are ['a', 'x'], ['b', 'x'], ['c', 'x'], but y has",
    ),
    "class without labelled rows": (
        frame(["a", "b", "c", "d"]),
        "No row is labelled as class 'd', a column of possible: label at least one row of each "
        "class, in y or with this class as its only possible one, or drop the column.",
    ),
}


@pytest.mark.parametrize("case", BAD_MASKS)
def test_bad_masks(case):
    possible, sentence = BAD_MASKS[case]
    with pytest.raises(ValueError) as refusal:
        ICLSClassifier().fit(ROWS, THREE, possible=possible)
    assert str(refusal.value).startswith(sentence)
    assert "\n" not in str(refusal.value)


def test_bad_masks_of_a_y_without_classes():
    with pytest.raises(ValueError, match="possible has 3 columns but y has no known label: pass"):
        ICLSClassifier().fit(ROWS, np.full(6, -1), possible=ALL)
    with pytest.raises(ValueError, match="No row is labelled as class 'a', a column of possible"):
        ICLSClassifier().fit(ROWS, np.full(6, -1), possible=frame(["a", "b"]))
    with pytest.raises(ValueError, match="There is only one class among the 6 labelled rows, 'a'"):
        ICLSClassifier().fit(ROWS, [None] * 6, possible=frame(["a"]))
    with pytest.raises(ValueError, match="possible has a column -1, which marks unknown labels"):
        ICLSClassifier().fit(ROWS, [0, 1, -1, -1, -1, -1], possible=frame([-1, 0, 1]))


def test_a_class_whose_masked_rows_have_no_weight():
    possible = frame(["a", "b", "c"])
    possible.loc[3, ["a", "b"]] = False
    labels = ["a", "b", None, None, None, None]
    with pytest.raises(ValueError, match="All labelled rows of class 'c' have sample_weight 0"):
        ICLSClassifier().fit(ROWS, labels, possible=possible, sample_weight=[1, 1, 1, 0, 1, 1])


TWO, FREE = [0, 1, -1, -1, -1, -1], np.full((6, 2), np.nan)
BAD_BOUNDS = {
    "lower above upper": (
        changed(FREE, 3, [0.7, 0.6]),
        "label_bounds has lower > upper in row 3, [0.7, 0.6]: pass the lower one first.",
    ),
    "outside": (
        changed(FREE, 3, [0.7, 1.2]),
        "label_bounds has a bound outside [0, 1] in row 3, [0.7, 1.2]: pass shares of the second",
    ),
    "infinite": (changed(FREE, 2, [-np.inf, 1.0]), "label_bounds has a bound outside [0, 1] in"),
    "half given": (
        changed(FREE, 4, [0.7, np.nan]),
        "label_bounds has only one of two bounds in row 4, [0.7, nan]: pass both, or NaN twice.",
    ),
    "shape": (
        FREE[:, 0],
        "label_bounds has shape (6,) but X has 6 rows: pass a lower and an upper bound for every",
    ),
    "rows": (FREE[:4], "label_bounds has shape (4, 2) but X has 6 rows: pass a lower and an upper"),
    "own label": (
        changed(FREE, 0, [0.7, 1.0]),
        "label_bounds has [0.7, 1.0] in row 0, which excludes its label 0: pass NaN for labelled "
        "rows, or mark the label as unknown in y.",
    ),
}


@pytest.mark.parametrize("case", BAD_BOUNDS)
def test_bad_bounds(case):
    bounds, sentence = BAD_BOUNDS[case]
    with pytest.raises(ValueError) as refusal:
        ICLSClassifier().fit(ROWS, TWO, label_bounds=bounds)
    assert str(refusal.value).startswith(sentence)


def test_bounds_are_for_two_classes():
    sentence = (
        "label_bounds are for two classes, but there are 3 classes, 'a', 'b', 'c': use possible, "
        "which takes the classes that a row may have."
    )
    with pytest.raises(ValueError) as refusal:
        ICLSClassifier().fit(ROWS, THREE, label_bounds=FREE)
    assert str(refusal.value) == sentence


def test_a_failed_fit_leaves_nothing():
    clf = ICLSClassifier().fit(ROWS, TWO)
    with pytest.raises(ValueError, match="lower > upper"):
        clf.fit(ROWS, TWO, label_bounds=changed(FREE, 3, [0.7, 0.6]))
    assert not hasattr(clf, "coef_")
