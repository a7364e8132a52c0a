"""Regressors with rows and targets of any kind, in searches, and stored."""

import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold

from generate import BOUNDS
from generate import bounded_targets as problem
from primum import ICLSRegressor, LeastSquaresRegressor


@pytest.fixture(params=["formed", "streamed"])
def columns(request, monkeypatch):
    if request.param == "streamed":
        monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
        monkeypatch.setattr("primum.labellings.implicit.FEW_ROWS_FACTOR", 0)
        monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_ROWS", 0)
        monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 256)
        monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 2**11)


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("metric", ["labeled", "all"])
@pytest.mark.parametrize("n_own", [0, 300])
def test_rows_of_any_kind_give_the_same(metric, n_own, tmp_path):
    """Some unlabelled rows are in X, with bins of their own; the others have common bounds."""
    array = pytest.importorskip("dask.array")
    X, _, y, bins = problem(L=10, U=3_000, d=5)
    n = 10 + n_own
    X_l, y_l, X_u = X[:n], y[:n], X[n:]
    own = np.where(np.isnan(y_l)[:, None], bins[:n], np.nan)
    reg = ICLSRegressor(bounds=BOUNDS, metric=metric)
    expected = clone(reg).fit(X_l, y_l, X_unlabeled=X_u, target_bounds=own)
    assert expected.certificate_.converged
    assert expected.certificate_.moved
    predictions = expected.predict(X_u)
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X_u, columns=list("abcde")).to_parquet(path, row_group_size=500)
    for rows in sparse.csr_array(X_u), path, array.from_array(X_u, chunks=(700, 5)):
        np.testing.assert_allclose(np.asarray(expected.predict(rows)), predictions, atol=1e-10)
        fitted = clone(reg).fit(X_l, y_l, X_unlabeled=rows, target_bounds=own)
        np.testing.assert_allclose(fitted.predict(X_u), predictions, atol=1e-5)
        assert fitted.certificate_.converged
        assert hasattr(fitted, "targets_") == sparse.issparse(rows)
        np.testing.assert_allclose(
            np.asarray(fitted.targets(rows)), expected.targets_[n_own:], atol=1e-3
        )
    on_sparse = clone(reg).fit(sparse.csr_array(X_l), y_l, X_u, target_bounds=own)
    np.testing.assert_allclose(on_sparse.predict(X_u), predictions, atol=1e-5)


def test_targets_of_other_rows_are_refused(tmp_path):
    X, _truth, y, _ = problem()
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X[12:], columns=list("abcd")).to_parquet(path)
    reg = ICLSRegressor(bounds=BOUNDS).fit(X[:12], y[:12], X_unlabeled=path)
    with pytest.raises(ValueError, match="X_unlabeled has 72 rows, but fit was given 60"):
        reg.targets(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda y: pd.Series(y),
        lambda y: pd.Series(y).astype("Float64"),
        lambda y: [None if np.isnan(value) else value for value in y],
        lambda y: np.array([None if np.isnan(value) else value for value in y], dtype=object),
        lambda y: pd.Series([pd.NA if np.isnan(value) else value for value in y], dtype=object),
        lambda y: y.reshape(-1).tolist(),
    ],
    ids=["float", "Float64", "list with None", "object", "pd.NA", "list"],
)
def test_unknown_targets_in_any_form(make):
    X, _truth, y, bins = problem()
    expected = ICLSRegressor(bounds=BOUNDS).fit(X, y, target_bounds=bins)
    pairs = pd.DataFrame(bins, columns=["low", "high"]).astype("Float64")
    found = clone(expected).fit(X, make(y), target_bounds=pairs)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_minus_one_is_a_target():
    X = np.arange(5.0)[:, None]
    reg = LeastSquaresRegressor().fit(X, np.array([-1, 0, 1, 2, 3]))
    np.testing.assert_allclose(reg.predict([[-1.0]]), [-2.0])


def test_score_counts_known_targets_only():
    X, _truth, y, _ = problem(L=30)
    reg = ICLSRegressor(bounds=BOUNDS).fit(X, y)
    weight = np.linspace(1, 2, len(y))
    assert reg.score(X, y) == pytest.approx(r2_score(y[:30], reg.predict(X[:30])))
    expected = r2_score(y[:30], reg.predict(X[:30]), sample_weight=weight[:30])
    assert reg.score(X, y, sample_weight=weight) == pytest.approx(expected)
    with pytest.raises(ValueError, match="No row is labelled: all 90 targets in y are unknown"):
        reg.score(X, np.full(90, np.nan))


def test_a_search_hands_every_fold_its_bounds():
    X, _, y, bins = problem(L=40)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, bins = X[order], y[order], bins[order]
    grid = {"alpha": [0.0, 0.1]}
    search = GridSearchCV(ICLSRegressor(bounds=BOUNDS), grid, cv=KFold(3))
    search.fit(X, y, target_bounds=bins)
    for alpha, score in zip(grid["alpha"], search.cv_results_["mean_test_score"], strict=True):
        reg = ICLSRegressor(alpha, bounds=BOUNDS)
        expected = [
            reg.fit(X[train], y[train], target_bounds=bins[train]).score(X[test], y[test])
            for train, test in KFold(3).split(X)
        ]
        assert score == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("parquet", [False, True])
def test_stored_models_give_the_same(parquet, tmp_path):
    X, _truth, y, _ = problem()
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X[12:], columns=list("abcd")).to_parquet(path)
    reg = ICLSRegressor(bounds=BOUNDS)
    reg.fit(X[:12], y[:12], X_unlabeled=path if parquet else X[12:])
    blob = skops.io.dumps(reg)
    own = [name for name in skops.io.get_untrusted_types(data=blob) if name.startswith("primum.")]
    assert own == skops.io.get_untrusted_types(data=blob)
    for copy in (pickle.loads(pickle.dumps(reg)), skops.io.loads(blob, trusted=own)):
        np.testing.assert_array_equal(copy.predict(X), reg.predict(X))
        np.testing.assert_array_equal(copy.targets(path), reg.targets(path))
        assert str(copy.certificate_) == str(reg.certificate_)
    assert clone(reg).get_params() == reg.get_params()


def test_a_failed_fit_leaves_an_unfitted_estimator():
    X, _truth, y, _ = problem()
    reg = ICLSRegressor(bounds=BOUNDS).fit(X, y)
    with pytest.raises(ValueError, match="rows but y has"):
        reg.fit(X, y[:5])
    assert not hasattr(reg, "coef_")
    assert not hasattr(reg, "targets_")
