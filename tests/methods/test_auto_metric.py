"""What ``metric="auto"``, the default, stands for: a matter of the labelled rows' column rank."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from generate import several_classes, two_classes
from primum import (
    ICLSClassifier,
    ICLSClassifierCV,
    ICLSRegressor,
    ICLSRegressorCV,
    KernelICLSClassifier,
    LeastSquaresClassifier,
    UndeterminedModelWarning,
)

D = 6
ridges = pytest.mark.parametrize(
    "ridges",
    [{}, {"alpha": 1e-3}, {"alpha": 0.1, "alpha_labeled": 0.0}, {"alpha_labeled": 0.1}],
    ids=str,
)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def by_default(X, y, X_u, **parameters):
    """Fit with the default metric; no warning is expected."""
    return ICLSClassifier(**parameters).fit(X, y, X_unlabeled=X_u)


@pytest.mark.parametrize("cls", [ICLSClassifier, ICLSRegressor, KernelICLSClassifier])
def test_it_is_the_default(cls):
    assert cls().metric == "auto"


@ridges
@intercepts
@pytest.mark.parametrize("missing", [0, 1, 4])
def test_it_follows_the_rank_whatever_the_ridge(ridges, fit_intercept, missing):
    n_labeled = D + int(fit_intercept) - missing
    X, y, X_u, _ = two_classes(n_labeled, 40, D, seed=1)
    clf = by_default(X, y, X_u, fit_intercept=fit_intercept, **ridges)
    chosen = 0.2 if missing else "labeled"
    assert clf.metric_ == clf.certificate_.metric == chosen
    same = ICLSClassifier(metric=chosen, fit_intercept=fit_intercept, **ridges)
    same.fit(X, y, X_unlabeled=X_u)
    np.testing.assert_array_equal(clf.coef_, same.coef_)
    assert clf.get_params()["metric"] == "auto"


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_units_and_means_do_not_matter(alpha, unit, shift):
    X, y, X_u, _ = two_classes(2 * D, 60, D, seed=2)
    units = np.r_[unit, np.ones(D - 1)]

    def moved(rows):
        return (rows + shift) * units

    assert by_default(moved(X), y, moved(X_u), alpha=alpha).metric_ == "labeled"
    X[:, 0] = X[:, 1] - 2.0 * X[:, 2]  # among the labelled rows alone
    assert by_default(moved(X), y, moved(X_u), alpha=alpha).metric_ == 0.2


@ridges
@pytest.mark.parametrize("kind", ["constant", "repeated", "sum"])
def test_columns_that_repeat_others_lower_the_rank(ridges, kind):
    X, y, X_u, _ = two_classes(30, 40, D, seed=3)
    more = {
        "constant": lambda rows: np.full(len(rows), 7.0),
        "repeated": lambda rows: rows[:, 2],
        "sum": lambda rows: rows[:, 0] + rows[:, 3] - 1.0,
    }[kind]
    wider, wider_u = (np.column_stack([rows, more(rows)]) for rows in (X, X_u))
    assert by_default(wider, y, wider_u, **ridges).metric_ == 0.2


def test_a_constant_column_without_intercept_is_one():
    X, y, X_u, _ = two_classes(30, 40, D, seed=3)
    wider, wider_u = (np.column_stack([rows, np.ones(len(rows))]) for rows in (X, X_u))
    assert by_default(wider, y, wider_u, fit_intercept=False).metric_ == "labeled"


@ridges
def test_only_rows_of_positive_weight_count(ridges):
    X, y, X_u, _ = two_classes(D + 3, 40, D, seed=4)
    weight = np.linspace(0.5, 2, D + 3)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(40, -1)]

    def chosen(weight):
        weights = np.r_[weight, np.ones(40)]
        return ICLSClassifier(**ridges).fit(rows, labels, sample_weight=weights).metric_

    assert chosen(weight) == "labeled"
    weight[[0, 2, 4]] = 0.0  # three of the first five: both classes remain
    assert chosen(weight) == 0.2


@pytest.mark.parametrize("n_labeled", [D, 4 * D])
def test_rows_in_other_places_choose_the_same(n_labeled, tmp_path):
    X, y, X_u, _ = several_classes(n_labeled, 60, D, 3, seed=5)
    here = by_default(X, y, X_u)
    assert here.metric_ == (0.2 if n_labeled == D else "labeled")
    stored = by_default(sparse.csr_array(X), y, sparse.csr_array(X_u))
    assert stored.metric_ == here.metric_
    np.testing.assert_allclose(stored.coef_, here.coef_, atol=1e-7)


def test_no_unlabelled_rows_and_more_columns_than_rows():
    X, y, _, _ = two_classes(8, 3, 20, seed=0)
    clf = ICLSClassifier().fit(X, y)
    assert clf.metric_ == 0.2
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-9)


def test_a_regression_chooses_by_the_same_rule():
    X, _, X_u, _ = two_classes(2 * D, 60, D, seed=6)
    rows = np.vstack([X, X_u])
    target = np.clip(0.5 + rows[:, 0], -3, 4)
    for n_labeled, chosen in ((D, 0.2), (2 * D, "labeled")):
        y = np.where(np.arange(len(rows)) < n_labeled, target, np.nan)
        reg = ICLSRegressor(bounds=(-3, 4)).fit(rows, y)
        assert reg.metric_ == reg.certificate_.metric == chosen


@intercepts
@pytest.mark.parametrize("n_labeled", [D - 1, D, D + 1, 3 * D])
def test_the_linear_kernel_chooses_what_the_linear_model_does(n_labeled, fit_intercept):
    X, y, X_u, _ = two_classes(n_labeled, 40, D, seed=7)
    linear = by_default(X, y, X_u, alpha=0.05, fit_intercept=fit_intercept)
    clf = KernelICLSClassifier(0.05, kernel="linear", fit_intercept=fit_intercept).fit(X, y, X_u)
    assert clf.metric_ == clf.certificate_.metric == linear.metric_
    np.testing.assert_allclose(clf.decision_function(X_u), linear.decision_function(X_u), atol=1e-6)


def test_a_kernel_of_many_dimensions_is_not_determined():
    X, y, X_u, _ = two_classes(3 * D, 40, D, seed=8)
    assert KernelICLSClassifier().fit(X, y, X_u).metric_ == 0.2
    assert KernelICLSClassifier(metric="labeled").fit(X, y, X_u).metric_ == "labeled"


def test_the_theorem_holds_for_what_is_chosen():
    """Whatever the true labels are, no fit is further from their model than the twin."""
    rng = np.random.default_rng(9)
    for _ in range(40):
        L, U, d = rng.integers(3, 12), rng.integers(5, 25), rng.integers(1, 9)
        rows, truth = rng.normal(size=(L + U, d)), np.r_[0, 1, rng.integers(0, 2, L + U - 2)]
        clf = by_default(rows[:L], truth[:L], rows[L:])
        share = 0.0 if clf.metric_ == "labeled" else 0.2
        assert (share == 0.0) == (np.linalg.matrix_rank(np.c_[np.ones(L), rows[:L]]) == d + 1)
        oracle = LeastSquaresClassifier().fit(rows, truth)

        def distance(model, rows=rows, L=L, share=share, oracle=oracle):
            squares = (model.decision_function(rows) - oracle.decision_function(rows)) ** 2
            return (1 - share) * squares[:L].mean() + share * squares.mean()

        assert distance(clf) <= distance(clf.supervised_) + 1e-7


def test_fewer_labels_than_features_cause_no_warning_unless_asked_for():
    X, y, X_u, _ = two_classes(12, 400, 20, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_default(X, y, X_u)
    with pytest.warns(UndeterminedModelWarning, match="do not determine a model of 20 features"):
        by_default(X, y, X_u, metric="labeled")


def test_a_prior_needs_no_ridge():
    X, y, X_u, _ = two_classes(8, 60, 20, seed=1)
    clf = by_default(X, y, X_u, prior=[0.5, 0.5])
    assert clf.metric_ == 0.2
    assert clf.certificate_.converged
    assert clf.soft_labels_.mean() == pytest.approx(0.5, abs=1e-6)


class TestTuned:
    """A grid can contain "auto"; by default it contains what that stands for."""

    def test_every_training_set_decides(self):
        """Two folds of D + 4 labelled rows do not determine the model, all rows do."""
        X, y, X_u, _ = two_classes(D + 4, 60, D, seed=11)
        search = {"alphas": [0.01], "cv": 2}
        auto, share, loss = (
            ICLSClassifierCV(metrics=[metric], **search).fit(X, y, X_u)
            for metric in ("auto", 0.2, "labeled")
        )
        assert auto.best_params_["metric"] == "auto"
        assert auto.metric_ == auto.best_estimator_.metric_ == "labeled"
        assert auto.best_score_ == share.best_score_ != loss.best_score_
        np.testing.assert_array_equal(auto.coef_, loss.coef_)

    def test_the_default_grid_has_no_auto(self):
        assert ICLSClassifierCV().metrics == ICLSRegressorCV().metrics == (0.0, 0.2, 0.5, 1.0)
