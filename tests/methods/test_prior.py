"""Priors: bounds on the share of each class among the unlabelled rows."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import betabinom

from generate import several_classes, two_classes
from primum import ICLSClassifier
from primum.reading.shares import share_bounds
from primum.rows import LabeledRows
from reference import arrays, reference_problems

PROBLEMS = reference_problems()
SEEDS = st.integers(0, 2**32 - 1)


def problem(n_classes, seed=0, n_labeled=24, n_unlabeled=15, d=2):
    if n_classes == 2:
        return two_classes(n_labeled, n_unlabeled, d, seed=seed)[:3]
    return several_classes(n_labeled, n_unlabeled, d, n_classes, seed=seed)[:3]


def random_bounds(rng, n_classes):
    centre, width = rng.dirichlet(np.full(n_classes, 2.0)), rng.uniform(0, 0.15, n_classes)
    return np.column_stack([np.maximum(centre - width, 0), np.minimum(centre + width, 1)])


def labelled_loss(X, y, X_u, Q, n_classes, weight=None):
    """Return the mean labelled loss of the model of a labelling, by plain least squares."""
    Y = np.eye(n_classes)[y]
    D = np.column_stack([np.ones(len(X) + len(X_u)), np.vstack([X, X_u])])
    beta = np.linalg.lstsq(D, np.vstack([Y, Q]), rcond=None)[0]
    off = D[: len(X)] @ beta - Y
    # The loss of two classes is that of one score.
    return float((off**2).sum() / len(X)) / (2 if n_classes == 2 else 1)


def one_hot(soft):
    return np.column_stack([1 - soft, soft]) if soft.ndim == 1 else soft


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "sonar_few"])
def test_parity(name):
    """RSSL's answer with the mean of the soft labels equal to the labelled share of class 1."""
    reference = PROBLEMS[name]
    X, y, X_u, _, X_test = arrays(reference)
    share = np.mean(y)
    clf = ICLSClassifier(prior=[1 - share, share]).fit(X, y, X_unlabeled=X_u)
    expected = np.array(reference["methods"]["icls_prior_qp"]["decision_test"])
    assert np.abs(clf.decision_function(X_test) + 0.5 - expected).max() < 1e-5
    assert clf.soft_labels_.mean() == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(3))
def test_agreement_with_a_generic_solver(n_classes, seed):
    rng = np.random.default_rng(seed)
    X, y, X_u = problem(n_classes, seed, n_unlabeled=10)
    bounds = random_bounds(rng, n_classes)
    clf = ICLSClassifier(prior=bounds).fit(X, y, X_unlabeled=X_u)
    shape = (len(X_u), n_classes)

    def shares(q):
        return q.reshape(shape).mean(axis=0)

    D = np.column_stack([np.ones(len(X) + len(X_u)), np.vstack([X, X_u])])
    known, unknown = np.hsplit((D @ np.linalg.pinv(D))[: len(X)], [len(X)])
    scale = 1 if n_classes == 2 else 2  # as in the loss

    def gradient(q):
        off = known @ np.eye(n_classes)[y] + unknown @ q.reshape(shape) - np.eye(n_classes)[y]
        return scale * (unknown.T @ off).ravel() / len(X)

    found = minimize(
        lambda q: labelled_loss(X, y, X_u, q.reshape(shape), n_classes),
        np.full(shape, 1 / n_classes).ravel(),
        jac=gradient,
        bounds=[(0, 1)] * (len(X_u) * n_classes),
        constraints=[
            {"type": "eq", "fun": lambda q: q.reshape(shape).sum(axis=1) - 1},
            {"type": "ineq", "fun": lambda q: shares(q) - bounds[:, 0]},
            {"type": "ineq", "fun": lambda q: bounds[:, 1] - shares(q)},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert clf.certificate_.objective == pytest.approx(found.fun, abs=2e-6)


@given(seed=SEEDS, n_classes=st.integers(2, 5))
@settings(max_examples=25)
def test_no_labelling_within_the_prior_is_better_than_proven(seed, n_classes):
    rng = np.random.default_rng(seed)
    X, y, X_u = problem(n_classes, seed % 1000)
    share = rng.dirichlet(np.full(n_classes, 2.0))
    bounds = np.column_stack([share - 0.05, share + 0.05]).clip(0, 1)
    proof = ICLSClassifier(prior=bounds).fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    for _ in range(20):
        Q = rng.dirichlet(np.full(n_classes, 0.5), size=len(X_u))
        # Move all labels towards the share until their mean is within the bounds.
        far = np.abs(Q.mean(axis=0) - share).max()
        Q = share + min(1.0, 0.05 / far) * (Q - share)
        assert labelled_loss(X, y, X_u, Q, n_classes) >= proof.lower_bound - 1e-12


def extreme_bounds(rng, n_classes, kind):
    """Return bounds of which a few, or hardly any, labellings are within reach."""
    share = rng.dirichlet(np.full(n_classes, 2.0))
    if kind == "interval":
        return random_bounds(rng, n_classes)
    if kind == "narrow":
        return np.column_stack([share * (1 - 1e-9), np.minimum(share * (1 + 1e-9), 1)])
    if kind != "point":
        rest = {"far": 0.05, "farther": 1e-4, "all but one class": 1e-7}[kind]
        share = np.roll([1 - rest, *[rest / (n_classes - 1)] * (n_classes - 1)], rng.integers(6))
    return np.column_stack([share, share])


@given(
    seed=SEEDS,
    n_classes=st.integers(2, 6),
    kind=st.sampled_from(["point", "interval", "narrow", "far", "farther", "all but one class"]),
    metric=st.sampled_from([0.0, 0.3, 1.0, "euclidean"]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
)
@settings(max_examples=40)
def test_the_shares_of_the_labels_are_within_the_prior(
    seed, n_classes, kind, metric, fit_intercept, weighted
):
    rng = np.random.default_rng(seed)
    X, y, X_u = problem(n_classes, seed % 1000, n_unlabeled=int(rng.integers(8, 120)))
    bounds = extreme_bounds(rng, n_classes, kind)
    weight = rng.uniform(0.2, 3.0, len(X) + len(X_u)) if weighted else None
    clf = ICLSClassifier(prior=bounds, metric=metric, fit_intercept=fit_intercept)
    clf.fit(np.vstack([X, X_u]), np.r_[y, np.full(len(X_u), -1)], sample_weight=weight)
    of_rows = None if weight is None else weight[len(X) :]
    shares = np.average(one_hot(clf.soft_labels_), axis=0, weights=of_rows)
    assert (shares >= bounds[:, 0] - 1e-9).all()
    assert (shares <= bounds[:, 1] + 1e-9).all()
    proof = clf.certificate_
    assert proof.converged
    np.testing.assert_allclose(clf.prior_, bounds, atol=1e-12)


@given(seed=SEEDS, n_classes=st.integers(2, 5))
@settings(max_examples=20)
def test_a_wider_prior_never_raises_the_objective(seed, n_classes):
    X, y, X_u = problem(n_classes, seed % 1000)
    share = np.random.default_rng(seed).dirichlet(np.full(n_classes, 2.0))
    values = [
        ICLSClassifier(prior=np.column_stack([share - w, share + w]).clip(0, 1))
        .fit(X, y, X_unlabeled=X_u)
        .certificate_.objective
        for w in (0.0, 0.05, 0.2, 1.0)
    ]
    assert (np.diff(values) <= 1e-9).all()
    free = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_.objective
    assert values[-1] == pytest.approx(free, abs=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_prior_that_the_plain_fit_meets_changes_nothing(n_classes):
    X, y, X_u = problem(n_classes, n_unlabeled=60)
    plain = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    share = one_hot(plain.soft_labels_).mean(axis=0)
    same = ICLSClassifier(prior=share).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_allclose(same.coef_, plain.coef_, atol=1e-7)
    inside = np.column_stack([share - 0.01, share + 0.01]).clip(0, 1)
    proof = ICLSClassifier(prior=inside).fit(X, y, X_unlabeled=X_u).certificate_
    assert not np.any(proof.prior.multipliers)


def test_a_prior_far_from_the_truth_converges():
    X, y, X_u = problem(5, n_labeled=60, n_unlabeled=500, d=8)
    proof = ICLSClassifier(prior=[0.6, 0.1, 0.1, 0.1, 0.1]).fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    np.testing.assert_allclose(proof.prior.shares, [0.6, 0.1, 0.1, 0.1, 0.1], atol=1e-9)


def test_multipliers_are_derivatives_of_the_objective():
    X, y, X_u = problem(2, n_unlabeled=100, d=4)
    plain = ICLSClassifier().fit(X, y, X_unlabeled=X_u).soft_labels_.mean()

    def proof(high):
        fit = ICLSClassifier(prior={1: (0.0, high)}).fit(X, y, X_unlabeled=X_u)
        return fit.certificate_

    high, step = plain - 0.1, 1e-5
    slope = (proof(high + step).objective - proof(high - step).objective) / (2 * step)
    assert float(proof(high).prior.multipliers) == pytest.approx(-slope, rel=1e-3)


@pytest.mark.parametrize("metric", ["all", 0.3])
def test_classes_can_be_permuted(metric):
    X, y, X_u = problem(4, n_unlabeled=80)
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    clf = ICLSClassifier(metric=metric, prior=prior).fit(X, y, X_unlabeled=X_u)
    order = np.array([2, 0, 3, 1])
    renamed = np.argsort(order)[y]
    other = ICLSClassifier(metric=metric, prior=prior[order]).fit(X, renamed, X_unlabeled=X_u)
    np.testing.assert_allclose(other.coef_, clf.coef_[order], atol=1e-7)


@given(seed=SEEDS)
@settings(max_examples=20)
def test_the_squared_loss_on_all_rows_is_not_raised_if_the_true_shares_are_inside(seed):
    rng = np.random.default_rng(seed)
    X, y, X_u = problem(3, seed % 1000)
    truth = rng.integers(0, 3, len(X_u))
    share = np.bincount(truth, minlength=3) / len(truth)
    clf = ICLSClassifier(metric="all", prior=share).fit(X, y, X_unlabeled=X_u)
    rows, labels = np.vstack([X, X_u]), np.eye(3)[np.r_[y, truth]]
    loss, twin = (
        ((model.decision_function(rows) - labels) ** 2).sum() for model in (clf, clf.supervised_)
    )
    assert loss <= twin + 1e-8


@pytest.mark.parametrize("n_classes", [2, 3])
def test_integer_weights_repeat_rows(n_classes):
    X, y, X_u = problem(n_classes, n_unlabeled=40)
    rows = np.vstack([X, X_u])
    labels = np.r_[y, np.full(len(X_u), -1)]
    weight = np.random.default_rng(0).integers(1, 4, len(rows))
    prior = np.full(n_classes, 1 / n_classes)
    weighted = ICLSClassifier(prior=prior).fit(rows, labels, sample_weight=weight)
    index = np.repeat(np.arange(len(rows)), weight)
    repeated = ICLSClassifier(prior=prior).fit(rows[index], labels[index])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


@pytest.mark.parametrize("unit", [1.0, 1e12])
def test_streamed_rows_have_the_same_fit(unit):
    X, y, X_u = problem(3, n_labeled=40, n_unlabeled=20_000, d=4)
    prior = [0.5, 0.25, 0.25]
    formed = ICLSClassifier(prior=prior, solver="newton").fit(unit * X, y, X_unlabeled=unit * X_u)
    scaled = ICLSClassifier(prior=prior).fit(unit * X, y, X_unlabeled=unit * X_u)
    assert scaled.solver_ == "scale"
    assert scaled.certificate_.converged
    np.testing.assert_allclose(scaled.soft_labels_.mean(axis=0), prior, atol=1e-8)
    np.testing.assert_allclose(unit * scaled.coef_, unit * formed.coef_, atol=1e-5)


@pytest.mark.parametrize("prior", ["confidence", [0.25] * 4, [0.4, 0.2, 0.2, 0.2]], ids=str)
@pytest.mark.parametrize("metric", ["labeled", 0.2])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_priors_of_streamed_rows_are_proven(prior, metric, fit_intercept, monkeypatch):
    """Where some labelling attains the supervised model, M Q - T is rounding and proves little."""
    X, y, X_u = several_classes(160, 9000, 2, 4, separation=0.5)[:3]
    monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 512)
    parameters = {"metric": metric, "fit_intercept": fit_intercept, "solver": "scale"}
    clf = ICLSClassifier(alpha=1.0, prior=prior, **parameters).fit(X, y, X_u)
    assert clf.certificate_.converged
    if prior != "confidence":
        np.testing.assert_allclose(clf.soft_labels_.mean(axis=0), prior, atol=1e-8)


def test_partial_labels_and_a_prior():
    X, y, X_u = problem(3, n_unlabeled=30)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]
    possible = np.ones((len(rows), 3), dtype=bool)
    possible[len(X) : len(X) + 15, 0] = False
    clf = ICLSClassifier(prior=[0.4, 0.3, 0.3]).fit(rows, labels, possible=possible)
    np.testing.assert_allclose(clf.soft_labels_.mean(axis=0), [0.4, 0.3, 0.3], atol=1e-9)
    assert (clf.soft_labels_[:15, 0] == 0).all()
    message = "share of class 0 between 0.6 and 0.6 of the unlabelled rows.*it is between 0 and 0.5"
    with pytest.raises(ValueError, match=message):
        ICLSClassifier(prior=[0.6, 0.2, 0.2]).fit(rows, labels, possible=possible)


def labeled(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    targets = y.astype(float) if len(counts) == 2 else np.eye(len(counts))[y]
    return LabeledRows(np.zeros((len(y), 1)), targets)


class TestConfidence:
    def test_bounds_are_quantiles_of_the_beta_binomial(self):
        counts, U, error = [7, 2, 11], 50, 0.05 / 6
        bounds = share_bounds("confidence", 0.95, np.arange(3), labeled(counts), U)
        for n, (low, high) in zip(counts, bounds, strict=True):
            below = betabinom.cdf(np.arange(-1, U + 1), U, n, 20 - n + 1)
            assert below[round(low * U)] <= error < below[round(low * U) + 1]
            above = betabinom.sf(round(high * U), U, n + 1, 20 - n)
            assert above <= error

    def test_two_classes_mirror_each_other(self):
        bounds = share_bounds("confidence", 0.9, np.arange(2), labeled([5, 12]), 30)
        np.testing.assert_allclose(bounds[0], 1 - bounds[1][::-1])

    def test_coverage(self, rng):
        """The intervals contain all shares among the unlabelled rows at least that often."""
        share, L, U, hits, repeats = np.array([0.6, 0.3, 0.1]), 30, 40, 0, 400
        for _ in range(repeats):
            counts = np.maximum(rng.multinomial(L, share), 1)
            bounds = share_bounds("confidence", 0.9, np.arange(3), labeled(counts), U)
            drawn = rng.multinomial(U, share) / U
            hits += bool(((drawn >= bounds[:, 0]) & (drawn <= bounds[:, 1])).all())
        assert hits / repeats >= 0.9

    def test_many_rows_have_nearly_the_limit(self):
        few = share_bounds("confidence", 0.95, np.arange(3), labeled([20, 30, 50]), 2**17)
        many = share_bounds("confidence", 0.95, np.arange(3), labeled([20, 30, 50]), 2**17 + 1)
        np.testing.assert_allclose(few, many, atol=0.02)

    def test_fit(self):
        X, y, X_u = problem(3, n_unlabeled=100)
        clf = ICLSClassifier(prior="confidence").fit(X, y, X_unlabeled=X_u)
        labelled = np.bincount(y) / len(y)
        assert (clf.prior_[:, 0] < labelled).all()
        assert (clf.prior_[:, 1] > labelled).all()


def test_a_dict_can_leave_classes_out():
    X, y, X_u = problem(3)
    names = np.array(["a", "b", "c"])[y]
    clf = ICLSClassifier(prior={"b": (0.2, 0.4)}).fit(X, names, X_unlabeled=X_u)
    np.testing.assert_allclose(clf.prior_, [[0, 1], [0.2, 0.4], [0, 1]])
    series = ICLSClassifier(prior=pd.Series({"c": 0.5, "a": 0.2, "b": 0.3}))
    prior = series.fit(X, names, X_unlabeled=X_u).prior_
    np.testing.assert_allclose(prior[:, 0], [0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.2, 0.2], "shares of prior add up to 0.9: pass shares"),
        ([[0.5, 0.6], [0.5, 0.6], [0.1, 0.2]], "allow sums between 1.1 and 1.4"),
        ([[0.5, 0.4], [0, 1], [0, 1]], "share of class 0 by 0.5 and 0.4: pass a lower"),
        ([1.5, -0.5, 0], "share of class 0 by 1.5 and 1.5"),
        ([0.5, 0.5], r"prior has shape \(2,\) but there are 3 classes"),
        ({7: 0.5}, "prior names the class 7, but the classes are"),
        ([np.nan, 0.5, 0.5], "share of class 0 by nan and nan"),
        (["a", "b", "c"], "prior is .*: pass shares"),
        ("labelled", "'prior' parameter of ICLSClassifier must be a str among {'confidence'}"),
    ],
    ids=str,
)
@pytest.mark.parametrize("unlabelled", [True, False])
def test_bad_priors(prior, message, unlabelled):
    X, y, X_u = problem(3)
    more = X_u if unlabelled else None
    with pytest.raises(ValueError, match=message):
        ICLSClassifier(prior=prior).fit(X, y, X_unlabeled=more)


def test_prior_level_is_a_probability():
    X, y, X_u = problem(3)
    with pytest.raises(ValueError, match="'prior_level' parameter of ICLSClassifier must be a flo"):
        ICLSClassifier(prior="confidence", prior_level=1.5).fit(X, y, X_unlabeled=X_u)


def test_a_prior_needs_a_model_that_is_determined():
    X, y, X_u = problem(2, n_labeled=6, n_unlabeled=40, d=20)
    with pytest.raises(ValueError, match=r"The 6 labelled rows do not determine .*metric=0\.2"):
        ICLSClassifier(prior=[0.5, 0.5], metric="labeled").fit(X, y, X_unlabeled=X_u)
    assert ICLSClassifier(prior=[0.5, 0.5], metric=0.2).fit(X, y, X_u).certificate_.converged


def test_the_certificate_names_the_classes():
    X, y, X_u = problem(3, n_unlabeled=60)
    names = np.array(["ash", "elm", "yew"])[y]
    fixed = ICLSClassifier(prior={"ash": 0.7, "elm": (0.0, 0.3)}).fit(X, names, X_unlabeled=X_u)
    assert fixed.certificate_.prior.classes == ("ash", "elm", "yew")
    words = str(fixed.certificate_).splitlines()[-1]
    assert words.startswith(
        "The shares of the classes among the unlabelled rows: 'ash' 0.7, 'elm' 0."
    )
    assert re.search(r"'elm' 0\.\d+ \(bounds 0 to 0\.3\), 'yew' 0\.\d+; the prior changed", words)
    assert "; the prior changed the fit (active: 'ash'" in words
    free = ICLSClassifier(prior={"elm": (0.0, 1.0)}).fit(X, names, X_unlabeled=X_u)
    assert str(free.certificate_).endswith("; no bound of the prior is active.")


@pytest.mark.parametrize(
    ("prior", "shares"),
    [
        ({"no": 0.8}, "'no' 0.8, 'yes' 0.2; the prior changed"),
        ({"yes": (0.1, 0.2)}, "'no' 0.8 (bounds 0.8 to 0.9), 'yes' 0.2 (bounds 0.1 to 0.2); the"),
    ],
)
def test_the_certificate_names_both_of_two_classes(prior, shares):
    X, y, X_u = problem(2, n_unlabeled=60)
    clf = ICLSClassifier(prior=prior).fit(X, np.array(["no", "yes"])[y], X_unlabeled=X_u)
    words = str(clf.certificate_).splitlines()[-1]
    assert words.startswith(f"The shares of the classes among the unlabelled rows: {shares}")


@pytest.mark.parametrize("unit", [1e-5, 1e-7])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_prior_is_met_where_labels_hardly_affect_the_objective(n_classes, unit):
    """Features that are tiny against the ridge: any labelling is optimal within the tolerance."""
    X, y, X_u = problem(n_classes, n_labeled=30, n_unlabeled=80, d=3)
    share = [0.3, 0.7] if n_classes == 2 else [0.5, 0.3, 0.2]
    clf = ICLSClassifier(0.1, prior=share, fit_intercept=False)
    clf.fit(unit * X, y, X_unlabeled=unit * X_u)
    np.testing.assert_allclose(one_hot(clf.soft_labels_).mean(axis=0), share, atol=1e-9)
    assert clf.certificate_.converged


@pytest.mark.parametrize("bounds", [(0.01, 0.99), (0.8, 0.9)], ids=["idle", "active"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_solver_without_priors_says_so_whatever_the_data(bounds, fit_intercept):
    X, y, X_u = problem(2)
    model = ICLSClassifier(solver="lbfgsb", prior={0: bounds}, fit_intercept=fit_intercept)
    with pytest.raises(ValueError, match="solver='lbfgsb' does not support priors"):
        model.fit(X, y, X_u)
