"""Transductive machines: parity with RSSL, and what no search may break."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from generate import two_classes
from primum import L2SVMClassifier, TSVMClassifier
from reference import arrays, reference_problems

PROBLEMS = reference_problems()
METHODS = ["switching", "annealing", "cccp"]
COUNTED = METHODS[:2]


def hinge(t):
    return np.maximum(0, 1 - t) ** 2


def tsvm_objective(w, b, X, y, X_u, labels, *, alpha=1.0, unlabeled_weight=1.0, penalize=True):
    """The formula at the top of tsvm.py, word for word."""
    labeled = hinge((2 * y - 1) * (X @ w + b)).mean()
    unlabeled = hinge(labels * (X_u @ w + b)).mean()
    return (alpha * (w @ w + penalize * b**2) + labeled + unlabeled_weight * unlabeled) / 2


def highest(outputs, n_positive):
    labels = np.full(len(outputs), -1.0)
    labels[np.argsort(-outputs)[:n_positive]] = 1.0
    return labels


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    ("method", "reference"),
    [("switching", "tsvm_multiswitch"), ("annealing", "tsvm_annealing")],
)
def test_objective_is_no_higher_than_rssls(name, method, reference):
    X, y, X_u, *_ = arrays(PROBLEMS[name])
    *w, b = PROBLEMS[name]["methods"][reference]["theta"]
    # RSSL rounds the number of positives down, and 45 of 100 down to 44.
    n_positive = 44 if name == "sonar_few" else int(y.mean() * len(X_u) + 1e-9)
    clf = TSVMClassifier(method, penalize_intercept=True, prior=n_positive / len(X_u))
    clf.fit(X, y, X_unlabeled=X_u)

    def best(w, b):
        labels = highest(X_u @ w + b, n_positive)
        return tsvm_objective(w, b, X, y, X_u, labels)

    theirs, ours = best(np.array(w), b), best(clf.coef_[0], clf.intercept_[0])
    assert ours <= theirs * (1 + 1e-6)
    assert clf.objective_ == pytest.approx(ours, rel=1e-9)
    if method == "switching":
        np.testing.assert_allclose([*clf.coef_[0], *clf.intercept_], [*w, b], atol=1e-6)


problems = st.builds(
    lambda L, U, d, seed: (*two_classes(L, U, d, seed=seed)[:3], seed),
    L=st.integers(3, 30),
    U=st.integers(2, 80),
    d=st.integers(1, 20),
    seed=st.integers(0, 2**16),
)


@given(problem=problems, unlabeled_weight=st.sampled_from([1e-6, 0.1, 1.0, 10.0]))
def test_the_objective_never_rises_across_switches(problem, unlabeled_weight):
    X, y, X_u, _ = problem
    clf = TSVMClassifier(unlabeled_weight=unlabeled_weight, alpha=0.1).fit(X, y, X_unlabeled=X_u)
    history = clf.history_
    for before, after in pairwise(history):
        if after.n_switches:
            assert after.at == before.at
            assert after.objective <= before.objective * (1 + 1e-9)
    assert history[-1].at == unlabeled_weight
    assert clf.n_switches_ == sum(step.n_switches for step in history)
    labels = 2.0 * clf.transduction_[len(X) :] - 1
    value = tsvm_objective(
        clf.coef_[0], clf.intercept_[0], X, y, X_u, labels,
        alpha=0.1, unlabeled_weight=unlabeled_weight, penalize=False,
    )  # fmt: skip
    assert clf.objective_ == pytest.approx(value, rel=1e-9)


@given(problem=problems)
def test_no_pair_inside_the_margin_improves_at_the_end(problem):
    X, y, X_u, _ = problem
    clf = TSVMClassifier().fit(X, y, X_unlabeled=X_u)
    o, positive = clf.decision_function(X_u), clf.transduction_[len(X) :] == 1
    lowest = o[positive & (o < 1)].min(initial=np.inf)
    highest = o[~positive & (o > -1)].max(initial=-np.inf)
    assert lowest >= highest - 1e-6


@given(problem=problems, method=st.sampled_from(COUNTED), share=st.floats(0.3, 0.7))
def test_class_balance_is_kept_exactly(problem, method, share):
    X, y, X_u, _ = problem
    U = len(X_u)
    clf = TSVMClassifier(method, prior=share).fit(X, y, X_unlabeled=X_u)
    assert clf.n_positive_ == np.count_nonzero(clf.transduction_[len(X) :] == 1)
    assert abs(clf.n_positive_ - round(share * U, 9)) <= 0.5
    for prior in ({0: 1 - share, 1: share}, [1 - share, share]):
        again = TSVMClassifier(method, prior=prior).fit(X, y, X_unlabeled=X_u)
        np.testing.assert_array_equal(again.transduction_, clf.transduction_)


@given(problem=problems, penalize=st.booleans())
def test_cccp_lowers_its_objective_and_holds_the_mean_output(problem, penalize):
    X, y, X_u, _ = problem
    clf = TSVMClassifier("cccp", alpha=0.1, penalize_intercept=penalize)
    clf.fit(X, y, X_unlabeled=X_u)
    values = [step.objective for step in clf.history_]
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    mean = clf.decision_function(X_u).mean()
    np.testing.assert_allclose(mean, 2 * y.mean() - 1, atol=1e-8)


@given(problem=problems, method=st.sampled_from(METHODS))
def test_order_of_rows_does_not_matter(problem, method):
    X, y, X_u, seed = problem
    rng = np.random.default_rng(seed)
    clf = TSVMClassifier(method, alpha=0.3)
    expected = clone(clf).fit(X, y, X_unlabeled=X_u).decision_function(X_u)
    first, second = rng.permutation(len(X)), rng.permutation(len(X_u))
    mixed = clone(clf).fit(X[first], y[first], X_unlabeled=X_u[second])
    np.testing.assert_allclose(mixed.decision_function(X_u), expected, atol=1e-5)


@given(problem=problems, method=st.sampled_from(METHODS))
def test_flipping_the_classes_only_flips_the_sign(problem, method):
    X, y, X_u, _ = problem
    clf = TSVMClassifier(method, alpha=0.3)
    expected = clone(clf).fit(X, y, X_unlabeled=X_u).decision_function(X_u)
    flipped = clone(clf).fit(X, 1 - y, X_unlabeled=X_u)
    np.testing.assert_allclose(flipped.decision_function(X_u), -expected, atol=1e-5)
    flipped = clone(clf).fit(-X, y, X_unlabeled=-X_u)
    np.testing.assert_allclose(flipped.decision_function(-X_u), expected, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_no_unlabelled_rows(method):
    X, y, X_u, _ = two_classes(20, 0, 3)
    clf = TSVMClassifier(method).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(clf.transduction_, y)
    np.testing.assert_array_equal(clf.coef_, L2SVMClassifier(tol=1e-8).fit(X, y).coef_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("U", [1, 2])
def test_too_few_unlabelled_rows_for_the_labelled_share_all_get_one_class(method, U):
    X, _, X_u, _ = two_classes(20, U, 3)
    for rare in (0, 1):
        y = np.where(np.arange(20) < 2, rare, 1 - rare)
        clf = TSVMClassifier(method).fit(X, y, X_unlabeled=X_u)
        assert clf.n_positive_ == np.count_nonzero(clf.transduction_[20:] == 1)
        if method in COUNTED:
            assert clf.n_positive_ == (U if rare == 0 else 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("U", "d"), [(80, 200), (2500, 30)])
def test_sparse_rows_give_the_dense_answer(method, U, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40 + U, d)) * (rng.uniform(size=(40 + U, d)) < 0.2)
    y = (X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=len(X)) > 0).astype(int)
    labels = np.where(np.arange(len(X)) < 40, y, -1)
    clf = TSVMClassifier(method, alpha=0.1)
    dense = clone(clf).fit(X, labels)
    mixed = clone(clf).fit(sparse.csr_array(X), labels)
    assert mixed.objective_ == pytest.approx(dense.objective_, rel=1e-5)
    apart = clone(clf).fit(X[:40], y[:40], X_unlabeled=sparse.csr_array(X[40:]))
    assert apart.objective_ == pytest.approx(dense.objective_, rel=1e-5)


def test_weights():
    X, y, X_u, _ = two_classes(20, 60, 3)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    weight = np.ones(80)
    weight[70:] = 0.0
    light = TSVMClassifier().fit(rows, labels, sample_weight=weight)
    fewer = TSVMClassifier().fit(rows[:70], labels[:70])
    np.testing.assert_allclose(light.coef_, fewer.coef_, atol=1e-9)
    np.testing.assert_array_equal(light.transduction_[70:], light.predict(rows[70:]))
    weight = np.random.default_rng(0).uniform(0.1, 2, 80)
    history = TSVMClassifier().fit(rows, labels, sample_weight=weight).history_
    for before, after in pairwise(history):
        assert not after.n_switches or after.objective <= before.objective * (1 + 1e-9)


def test_ramp_at_zero_is_the_loss_of_the_others():
    """min(l(t), 1) + min(l(-t), 1) is l(|t|) + 1."""
    X, y, X_u, _ = two_classes(20, 60, 3)
    clf = TSVMClassifier("cccp", ramp=0.0).fit(X, y, X_unlabeled=X_u)
    w, b = clf.coef_[0], clf.intercept_[0]
    value = tsvm_objective(w, b, X, y, X_u, np.sign(X_u @ w + b), penalize=False)
    assert clf.objective_ == pytest.approx(value + 0.5, rel=1e-9)
