"""Tuned regressors: the same scores and choices as a grid search over the plain ones."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from primum import ICLSRegressor, ICLSRegressorCV, LeastSquaresRegressor, LeastSquaresRegressorCV
from primum.reading.folds import SemiSupervisedSplit

ALPHAS, METRICS, BOUNDS = (0.003, 0.1, 3.0), (0.0, 0.2, 1.0), (0.0, 100.0)


def partly_known(n_labeled=30, n_unlabeled=50, d=4, seed=0):
    """Return rows, targets of which most are NaN, and indices of the labelled rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_labeled + n_unlabeled, d))
    y = np.clip(50 + 20 * X[:, 0] + 25 * rng.normal(size=len(X)), *BOUNDS)
    known = np.sort(rng.permutation(len(X))[:n_labeled])
    return X, np.where(np.isin(np.arange(len(X)), known), y, np.nan), known


def splits_of(y, splitter, groups=None):
    """Return splits of the labelled rows, with the others in every training set."""
    known, unknown = np.flatnonzero(~np.isnan(y)), np.flatnonzero(np.isnan(y))
    groups = None if groups is None else groups[known]
    return [
        (np.concatenate([known[train], unknown]), known[test])
        for train, test in splitter.split(known, groups=groups)
    ]


def grid_search(cv, scoring="neg_mean_squared_error", **parameters):
    grid = {"alpha": ALPHAS, "metric": METRICS}
    return GridSearchCV(ICLSRegressor(bounds=BOUNDS, **parameters), grid, cv=cv, scoring=scoring)


def assert_same_search(tuned, search, unit=100.0**2):
    """Scores are in units of the squared target."""
    for key, values in search.cv_results_.items():
        if key.endswith("test_score") and not key.startswith("rank"):
            np.testing.assert_allclose(tuned.cv_results_[key], values, rtol=0, atol=1e-8 * unit)
    assert tuned.cv_results_["params"] == search.cv_results_["params"]
    # Where the twin is feasible, all metrics give its model, and rounding decides between them.
    scores = dict(
        zip(
            map(str, search.cv_results_["params"]),
            search.cv_results_["mean_test_score"],
            strict=True,
        )
    )
    assert scores[str(tuned.best_params_)] == pytest.approx(search.best_score_, rel=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [4, 40, 90])
def test_same_as_grid_search(d, fit_intercept):
    X, y, _ = partly_known(d=d)
    tuned = ICLSRegressorCV(ALPHAS, METRICS, bounds=BOUNDS, cv=3, fit_intercept=fit_intercept)
    search = grid_search(splits_of(y, KFold(3)), fit_intercept=fit_intercept).fit(X, y)
    assert_same_search(tuned.fit(X, y), search)
    np.testing.assert_allclose(tuned.predict(X), search.predict(X))
    np.testing.assert_allclose(tuned.targets_, search.best_estimator_.targets_)


def test_twin():
    X, y, _ = partly_known()
    tuned = ICLSRegressorCV(ALPHAS, METRICS, bounds=BOUNDS, cv=3).fit(X, y)
    search = GridSearchCV(
        LeastSquaresRegressor(),
        {"alpha": ALPHAS},
        cv=splits_of(y, KFold(3)),
        scoring="neg_mean_squared_error",
    ).fit(X, y)
    for twin in (tuned.supervised_, LeastSquaresRegressorCV(ALPHAS, cv=3).fit(X, y)):
        assert_same_search(twin, search)
        np.testing.assert_allclose(twin.predict(X), search.predict(X))


def test_bounds_of_rows_groups_scorers_and_sparse_rows():
    X, y, _ = partly_known()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    truth = np.where(np.isnan(y), 50 + 20 * X[:, 0], y)
    low = np.clip(20 * np.floor(truth / 20), 0, 80)
    bins = np.column_stack([low, low + 20])
    groups = np.arange(len(y)) % 4
    tuned = ICLSRegressorCV(ALPHAS, METRICS, bounds=BOUNDS, cv=GroupKFold(4), scoring="r2")
    tuned.fit(sparse.csr_array(X), y, target_bounds=bins, groups=groups)
    search = grid_search(splits_of(y, GroupKFold(4), groups), "r2")
    search.fit(X, y, target_bounds=bins)
    assert_same_search(tuned, search, unit=1.0)


def test_weights_are_repetitions():
    X, y, known = partly_known()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    test = known[:10]
    repeated = np.repeat(np.arange(len(y)), weight)
    held_out = np.isin(repeated, test)
    weighted = ICLSRegressorCV(ALPHAS, METRICS, bounds=BOUNDS, cv=[(known[10:], test)])
    plain = clone(weighted).set_params(cv=[(~held_out, held_out)])
    weighted.fit(X, y, sample_weight=weight)
    plain.fit(X[repeated], y[repeated])
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


def test_held_out_targets_change_nothing_but_their_score():
    X, y, known = partly_known()
    changed, seen = y.copy(), []
    changed[known[:8]] = 100 - y[known[:8]]

    def record(reg, X, y):
        seen.append(reg.predict(X))
        return 0.0

    for targets in (y, changed):
        tuned = ICLSRegressorCV(ALPHAS, METRICS, bounds=BOUNDS, scoring=record)
        tuned.set_params(cv=[(known[8:], known[:8])]).fit(X, targets)
    before, after = np.split(np.array(seen), 2)
    np.testing.assert_array_equal(before, after)


def test_clone_pickle_and_one_point():
    X, y, _ = partly_known()
    tuned = ICLSRegressorCV([0.1], [0.5], bounds=BOUNDS, cv=3).fit(X, y)
    plain = ICLSRegressor(0.1, metric=0.5, bounds=BOUNDS).fit(X, y)
    for fitted in (tuned, pickle.loads(pickle.dumps(tuned)), clone(tuned).fit(X, y)):
        np.testing.assert_array_equal(fitted.coef_, plain.coef_)
        np.testing.assert_array_equal(fitted.predict(X), plain.predict(X))
        assert fitted.score(X, y) == plain.score(X, y)


@pytest.mark.parametrize("n_known", [2, 4, 9])
def test_the_default_number_of_folds_is_at_most_that_of_targets(n_known):
    X, y, known = partly_known()
    y[known[n_known:]] = np.nan
    reg = LeastSquaresRegressorCV().fit(X, y)
    assert reg.n_splits_ == min(n_known, 5)
    y[known[1:]] = np.nan
    message = "Cross-validation needs at least 2 labelled rows, but there is only one sample: label"
    with pytest.raises(ValueError, match=message):
        reg.fit(X, y)


def test_semi_supervised_splits_of_targets_are_plain_folds():
    X, y, _ = partly_known()
    for plain in (3, KFold(3)):
        given, wrapped = (
            LeastSquaresRegressorCV(cv=cv).fit(X, y).cv_results_["mean_test_score"]
            for cv in (plain, SemiSupervisedSplit(plain))
        )
        np.testing.assert_array_equal(given, wrapped)


def test_score_is_that_of_the_scoring():
    X, y, known = partly_known()
    reg = LeastSquaresRegressorCV(scoring="neg_mean_absolute_error").fit(X, y)
    expected = -np.mean(np.abs(reg.predict(X[known]) - y[known]))
    assert reg.score(X, y) == pytest.approx(expected, rel=1e-14)


def test_bad_input():
    X, y, known = partly_known()
    with pytest.raises(ValueError, match="50 unlabelled rows have no bounds"):
        ICLSRegressorCV().fit(X, y)
    with pytest.raises(ValueError, match="cv=40 folds need at least 40 labelled rows, but there a"):
        ICLSRegressorCV(bounds=BOUNDS, cv=40).fit(X, y)
    with pytest.raises(ValueError, match="Split 0 trains on 0 labelled rows and holds out 3"):
        LeastSquaresRegressorCV(cv=[([], known[:3])]).fit(X, y)
    with pytest.raises(ValueError, match="groups has the shape"):
        LeastSquaresRegressorCV(cv=GroupKFold(2)).fit(X, y, groups=[1, 2])
    weight = np.ones(len(y))
    weight[known[3:]] = 0.0
    with pytest.raises(
        ValueError, match="rows in the training set of split 0 have sample_weight 0"
    ):
        LeastSquaresRegressorCV(cv=[(known[3:], known[:3])]).fit(X, y, sample_weight=weight)


@parametrize_with_checks(
    [
        ICLSRegressorCV((0.01, 1.0), (0.0, 1.0), bounds=(-1000.0, 1000.0), cv=2),
        LeastSquaresRegressorCV((0.01, 1.0), cv=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
