"""What an ICLS fit promises beyond the scikit-learn contract."""

import numpy as np
import pytest

from generate import two_classes
from primum import ICLSClassifier, LeastSquaresClassifier


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
    X, y, X_u, _ = two_classes(12, 80, 4)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    proof = clf.certificate_

    def loss(model):
        return np.mean((model.decision_function(X) + 0.5 - y) ** 2)

    assert proof.labeled_loss == pytest.approx(loss(clf), abs=1e-12)
    assert proof.labeled_loss == pytest.approx(proof.objective, abs=1e-12)
    assert proof.supervised_loss == pytest.approx(loss(clf.supervised_), abs=1e-12)
    assert proof.moved == (proof.labeled_loss > proof.supervised_loss + 1e-9)
    assert proof.converged
    assert proof.passes > 0
    twin = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_array_equal(clf.supervised_.coef_, twin.coef_)


def test_nothing_moves_when_the_supervised_solution_is_feasible():
    X, y, X_u, _ = two_classes(200, 150, 2, separation=0.1)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    assert not clf.certificate_.moved
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-9)


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
