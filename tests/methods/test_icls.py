"""What an ICLS fit promises beyond the scikit-learn contract."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from generate import two_classes
from primum import ICLSClassifier, LeastSquaresClassifier, UndeterminedModelWarning


def test_the_soft_labels_give_the_model():
    X, y, X_u, _ = two_classes(12, 80, 4)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    D = np.column_stack([np.ones(92), np.vstack([X, X_u])])
    beta = np.linalg.lstsq(D, np.r_[y, clf.soft_labels_])[0]
    np.testing.assert_allclose(clf.coef_[0], beta[1:], atol=1e-10)
    np.testing.assert_allclose(clf.intercept_ + 0.5, beta[:1], atol=1e-10)
    assert clf.soft_labels_.min() >= 0
    assert clf.soft_labels_.max() <= 1


def test_the_certificate_reports_the_losses_of_both_twins():
    X, y, X_u, _ = two_classes(8, 400, 6)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    proof = clf.certificate_

    def loss(model):
        return np.mean((model.decision_function(X) + 0.5 - y) ** 2)

    assert proof.labeled_loss == pytest.approx(loss(clf), abs=1e-12)
    assert proof.labeled_loss == pytest.approx(proof.objective, abs=1e-12)
    assert proof.supervised_loss == pytest.approx(loss(clf.supervised_), abs=1e-12)
    assert proof.moved
    assert not proof.supervised_feasible
    everything = np.vstack([X, X_u])
    shift = clf.decision_function(everything) - clf.supervised_.decision_function(everything)
    assert proof.shift == pytest.approx(np.sqrt(np.mean(shift**2)))
    assert proof.converged
    assert proof.passes > 0
    twin = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_allclose(clf.supervised_.coef_, twin.coef_, rtol=1e-10)


@pytest.mark.parametrize("L", [5, 8, 30])  # fewer labels than features, hardly more, and many
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"alpha": 0.1}, {"fit_intercept": False}, {"metric": "euclidean"}],
    ids=str,
)
def test_the_twin_is_that_of_the_labelled_rows(L, n_classes, weighted, parameters):
    rng = np.random.default_rng(L)
    X = rng.normal(size=(90, 6)) + 3.0
    X[:L, 5] *= 1e-3
    y = np.where(np.arange(90) < L, np.arange(90) % n_classes, -1)
    weight = rng.uniform(0.5, 2.0, 90) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedModelWarning)
        found = ICLSClassifier(**parameters).fit(X, y, sample_weight=weight).supervised_
    parameters = {key: parameters[key] for key in parameters if key != "metric"}
    of_labels = None if weight is None else weight[:L]
    twin = LeastSquaresClassifier(**parameters).fit(X[:L], y[:L], sample_weight=of_labels)
    np.testing.assert_allclose(found.coef_, twin.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.intercept_, twin.intercept_, rtol=1e-8, atol=1e-10)
    assert found.solver_ == twin.solver_
    assert found.n_features_in_ == 6


def test_nothing_moves_when_the_supervised_solution_is_feasible():
    X, y, X_u, _ = two_classes(200, 150, 2, separation=0.1)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    assert not clf.certificate_.moved
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-9)


@pytest.mark.parametrize("mean", [0.0, 1e4, 1e7])
def test_large_means_do_not_look_like_movement(mean):
    for seed in range(10):
        X, y, X_u, _ = two_classes(200, 150, 2, separation=0.1, seed=seed)
        proof = ICLSClassifier().fit(X + mean, y, X_unlabeled=X_u + mean).certificate_
        assert proof.supervised_feasible
        assert not proof.moved


def test_with_fewer_labels_than_features_a_feasible_twin_can_still_be_left():
    X, y, X_u, _ = two_classes(8, 60, 15)
    clf = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u)
    proof = clf.certificate_
    assert proof.supervised_feasible  # the labelled loss is 0 as well
    assert proof.moved
    assert np.abs(clf.decision_function(X_u) - clf.supervised_.decision_function(X_u)).max() > 0.1


@pytest.mark.parametrize("units", [1e-3, 0.1, 10.0, 1e3])
def test_the_euclidean_metric_is_solved_in_any_unit(units):
    X, y, X_u, _ = two_classes(12, 80, 4)
    clf = ICLSClassifier(metric="euclidean").fit(units * X, y, X_unlabeled=units * X_u)
    plain = ICLSClassifier(metric="euclidean").fit(X, y, X_unlabeled=X_u)
    assert clf.certificate_.converged
    assert clf.certificate_.moved == plain.certificate_.moved


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1])
def test_a_constant_column_changes_nothing(value):
    X, y, X_u, _ = two_classes(300, 3000, 3)
    wide, wide_u = (np.column_stack([rows, np.full(len(rows), value)]) for rows in (X, X_u))
    plain = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    clf = ICLSClassifier().fit(wide, y, X_unlabeled=wide_u)
    np.testing.assert_allclose(clf.coef_[0, :3], plain.coef_[0], atol=1e-10)
    assert clf.coef_[0, 3] == 0


@pytest.mark.parametrize("closeness", [1e-5, 1e-7, 1e-8])
def test_nearly_collinear_columns_are_kept_apart(rng, closeness):
    X = rng.normal(size=(60, 3))
    X[:, 2] = X[:, 0] + closeness * rng.normal(size=60)
    y = rng.integers(0, 2, 20)
    proof = ICLSClassifier().fit(X[:20], y, X_unlabeled=X[20:]).certificate_
    D = np.column_stack([np.ones(20), X[:20]])
    best = np.mean((D @ np.linalg.lstsq(D, y)[0] - y) ** 2)
    assert proof.supervised_loss == pytest.approx(best, abs=1e-8)
    assert proof.labeled_loss >= proof.supervised_loss - 1e-9


def test_fits_in_threads_restore_blas():
    from threadpoolctl import threadpool_info

    X, y, X_u, _ = two_classes(20, 500, 5)
    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ICLSClassifier().fit(X, y, X_unlabeled=X_u), range(20)))
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_a_tolerance_out_of_reach_gets_advice_that_helps():
    X, y, X_u, _ = two_classes(12, 80, 4)
    with pytest.warns(ConvergenceWarning, match="rounding limits it, so raise tol"):
        ICLSClassifier(tol=0.0).fit(X, y, X_unlabeled=X_u)


def test_without_unlabelled_rows_it_is_the_supervised_twin():
    X, y, *_ = two_classes(20, 0, 3)
    clf = ICLSClassifier(alpha=0.2).fit(X, y)
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-12)
    assert clf.soft_labels_.shape == (0,)
    assert clf.certificate_.gap == 0
    assert not clf.certificate_.moved


def test_alpha_labeled_defaults_to_alpha():
    X, y, X_u, _ = two_classes(12, 80, 4)
    clf = ICLSClassifier(alpha=0.3).fit(X, y, X_unlabeled=X_u)
    same = ICLSClassifier(alpha=0.3, alpha_labeled=0.3).fit(X, y, X_unlabeled=X_u)
    other = ICLSClassifier(alpha=0.3, alpha_labeled=0.0).fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(clf.coef_, same.coef_)
    assert clf.supervised_.alpha == 0.3
    assert other.supervised_.alpha == 0.0
    assert clf.alpha_labeled is None


def test_alpha_is_per_row():
    """Every row twice, labelled or not, is the same problem."""
    X, y, X_u, _ = two_classes(12, 40, 4)
    once = ICLSClassifier(alpha=0.3).fit(X, y, X_unlabeled=X_u)
    twice = ICLSClassifier(alpha=0.3).fit(
        np.vstack([X, X]), np.r_[y, y], X_unlabeled=np.vstack([X_u, X_u])
    )
    np.testing.assert_allclose(once.coef_, twice.coef_, atol=1e-9)


@pytest.mark.parametrize("metric", ["labeled", "all"])
def test_weights_count_rows(metric):
    X, y, X_u, _ = two_classes(12, 40, 3)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(40, -1)]
    times = np.random.default_rng(1).integers(0, 4, 52)
    times[:2] = 1
    weighted = ICLSClassifier(metric=metric).fit(rows, labels, sample_weight=times)
    repeated = ICLSClassifier(metric=metric).fit(
        np.repeat(rows, times, axis=0), np.repeat(labels, times)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    unlabeled = times[12:]
    np.testing.assert_allclose(
        np.repeat(weighted.soft_labels_, unlabeled), repeated.soft_labels_, atol=1e-7
    )
    assert (weighted.soft_labels_[unlabeled == 0] == 0.5).all()


@pytest.mark.parametrize("metric", ["labeled", "all"])
def test_shifting_and_scaling_features_changes_nothing(metric):
    X, y, X_u, _ = two_classes(12, 60, 3)
    scale, shift = np.array([1e-3, 2.0, 50.0]), np.array([7.0, -300.0, 0.0])
    plain = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=X_u)
    moved = ICLSClassifier(metric=metric).fit(X * scale + shift, y, X_unlabeled=X_u * scale + shift)
    np.testing.assert_allclose(
        plain.decision_function(X_u), moved.decision_function(X_u * scale + shift), atol=1e-8
    )


def test_order_of_rows_does_not_matter():
    X, y, X_u, _ = two_classes(12, 60, 3)
    order = np.random.default_rng(0).permutation(60)
    plain = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    mixed = ICLSClassifier().fit(X, y, X_unlabeled=X_u[order])
    np.testing.assert_allclose(plain.coef_, mixed.coef_, atol=1e-10)
    np.testing.assert_allclose(plain.soft_labels_[order], mixed.soft_labels_, atol=1e-8)


def test_helps_on_average_where_labels_are_few():
    """The paper's point, in small: a lower test loss than supervised on average."""
    gains = []
    for seed in range(40):
        X, y, X_u, y_u = two_classes(10, 400, 6, seed=seed, separation=2.0)
        clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u[:200])

        def loss(model, rows=X_u[200:], truth=y_u[200:]):
            return np.mean((model.decision_function(rows) + 0.5 - truth) ** 2)

        gains.append(loss(clf.supervised_) - loss(clf))
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains))


def test_a_gap_says_how_far_the_coefficients_are_from_their_labelling(rng):
    """Nearly collinear features with large means: rounding moves the loss of the coefficients."""
    z = rng.normal(size=(3000, 4))
    z[:, 3] = z[:, 0] + 1e-8 * z[:, 3]
    y = np.full(3000, -1)
    y[:30] = np.tile([0, 1], 15)
    with pytest.warns(ConvergenceWarning, match="rounding limits it"):
        proof = ICLSClassifier().fit(z + 1e4, y).certificate_
    assert abs(proof.labeled_loss - proof.objective) <= proof.gap
    assert not proof.converged


@pytest.mark.parametrize("constant", [1.7e12, -3e15])
def test_a_large_constant_column_changes_nothing(rng, constant):
    z = rng.normal(size=300)
    X = np.column_stack([z, z + 0.05 * rng.normal(size=300)])
    y = np.where(np.arange(300) < 40, (X[:, 0] > X[:, 1]).astype(int), -1)
    # The default metric would not be the same: a constant column is one that has no rank.
    alone = ICLSClassifier(metric="labeled").fit(X, y)
    beside = ICLSClassifier(metric="labeled").fit(np.column_stack([X, np.full(300, constant)]), y)
    np.testing.assert_allclose(beside.coef_[:, :2], alone.coef_, rtol=1e-6)
    assert beside.certificate_.objective == pytest.approx(alone.certificate_.objective, rel=1e-6)


def test_soft_labels_are_given_for_the_rows_of_the_fit_only(rng):
    X, y, X_u = (
        rng.normal(size=(8, 2)),
        np.array([0, 1, 0, 1, 0, 1, -1, -1]),
        rng.normal(size=(9, 2)),
    )
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(clf.soft_labels(X_u), clf.soft_labels_[2:])
    with pytest.raises(ValueError, match="X_unlabeled has 8 rows, but fit was given 9"):
        clf.soft_labels(X_u[:8])
