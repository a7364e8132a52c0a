"""Partial labels: the classes that a row may have, and bounds on a label."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from generate import bounded_labels, masked_labels
from primum import ICLSClassifier, LeastSquaresClassifier
from reference_solver import solving

METRICS = [
    {},
    {"alpha": 0.05},
    {"metric": "all"},
    {"metric": 0.3, "fit_intercept": False},
    {"metric": "euclidean"},
]
each_metric = pytest.mark.parametrize("parameters", METRICS, ids=str)
SEEDS = st.integers(0, 2**16)


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
    X, y, _, possible = masked_labels()
    plain = ICLSClassifier(**parameters).fit(X, y)
    allowed = ICLSClassifier(**parameters).fit(X, y, possible=np.ones_like(possible))
    np.testing.assert_array_equal(allowed.coef_, plain.coef_)
    np.testing.assert_array_equal(allowed.soft_labels_, plain.soft_labels_)


@each_metric
def test_a_few_free_rows_among_masked_ones_are_free(parameters):
    """The general code with masks, not only the shortcut, agrees with that without masks."""
    X, y, truth, possible = masked_labels()
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
    X, y, truth, possible = masked_labels()
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
    expected = twin.fit(X[:40], y[:40]).coef_
    np.testing.assert_allclose(by_mask.supervised_.coef_, expected, rtol=1e-10)


def test_two_classes_take_masks_too():
    X, y, truth, _ = bounded_labels()
    possible = np.ones((len(X), 2), dtype=bool)
    possible[20:30] = np.eye(2, dtype=bool)[truth[20:30]]
    by_mask = ICLSClassifier().fit(X, y, possible=possible)
    by_label = ICLSClassifier().fit(X, np.r_[truth[:30], y[30:]])
    assert by_mask.coef_.shape == (1, 3)
    np.testing.assert_array_equal(by_mask.coef_, by_label.coef_)
    np.testing.assert_array_equal(by_mask.soft_labels_, by_label.soft_labels_)


@each_metric
def test_bounds_of_zero_and_one_change_nothing(parameters):
    X, y, _, _ = bounded_labels()
    plain = ICLSClassifier(**parameters).fit(X, y)
    for bounds in [0.0, 1.0], [np.nan, np.nan]:
        free = ICLSClassifier(**parameters).fit(X, y, label_bounds=np.tile(bounds, (len(X), 1)))
        np.testing.assert_array_equal(free.coef_, plain.coef_)


def test_a_known_soft_label_is_no_labelled_row():
    """It is fitted in all models, but does not enter the labelled loss and the twin."""
    X, y, truth, bounds = bounded_labels()
    bounds[20:] = np.nan
    bounds[20:40] = truth[20:40, None]
    clf = ICLSClassifier().fit(X, y, label_bounds=bounds)
    np.testing.assert_array_equal(clf.soft_labels_[:20], truth[20:40])
    twin = LeastSquaresClassifier().fit(X[:20], y[:20])
    np.testing.assert_allclose(clf.supervised_.coef_, twin.coef_, rtol=1e-10)
    labelled = ICLSClassifier().fit(X, np.r_[truth[:40], y[40:]])
    assert clf.certificate_.n_unlabeled == 60
    assert labelled.certificate_.n_unlabeled == 40
    assert np.abs(clf.coef_ - labelled.coef_).max() > 1e-3


def test_all_soft_labels_known_give_the_least_squares_fit_to_them():
    X, y, _, _ = bounded_labels()
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
    X, y, _, possible = masked_labels(12, 10, 3, K, seed=seed)
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
    X, y, _, bounds = bounded_labels(12, 15, seed=seed)
    bounds[-3:] = [0.4, 0.4]
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(X)) if seed else None
    with solving(solver) as name:
        clf = ICLSClassifier(solver=name, **parameters)
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
    X, y, truth, possible = masked_labels(8, 12, 2, K, seed=seed)
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
    X, y, _, possible = masked_labels(12, 20, 3, seed=seed, keep=0.3)
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
    X, y, _, bounds = bounded_labels(12, 20, seed=seed)
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
    X, y, truth, possible = masked_labels(10, 25, 3, seed=seed)
    clf = ICLSClassifier(metric="all", fit_intercept=fit_intercept).fit(X, y, possible=possible)
    loss, twin = (np.sum((scores(m, X) - np.eye(4)[truth]) ** 2) for m in (clf, clf.supervised_))
    assert loss <= twin * (1 + 1e-6)
    X, y, truth, bounds = bounded_labels(10, 25, seed=seed)
    clf = ICLSClassifier(metric="all", fit_intercept=fit_intercept).fit(X, y, label_bounds=bounds)
    loss, twin = (np.sum((scores(m, X) + 0.5 - truth) ** 2) for m in (clf, clf.supervised_))
    assert loss <= twin * (1 + 1e-6)


# Invariances


@each_metric
def test_permuting_the_classes_permutes_the_columns(parameters):
    X, y, _, possible = masked_labels()
    order = np.array([2, 0, 3, 1])
    renamed = np.where(y < 0, -1, order[y])
    inverse = np.argsort(order)
    expected = scores(ICLSClassifier(**parameters).fit(X, y, possible=possible), X)
    permuted = ICLSClassifier(**parameters).fit(X, renamed, possible=possible[:, inverse])
    np.testing.assert_allclose(scores(permuted, X)[:, order], expected, atol=1e-7)


def test_a_data_frame_names_the_classes_in_any_order():
    X, y, _, possible = masked_labels()
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
    X, _, truth, possible = masked_labels()
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
    X, y, _, possible = masked_labels()
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
    X, y, _, bounds = bounded_labels()
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
