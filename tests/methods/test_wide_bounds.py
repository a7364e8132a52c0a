"""Bounds that no target reaches: they change neither the model nor what is proven of it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from primum import ICLSRegressor
from primum.labellings import LabelInterval

WIDTHS = (1e3, 1e6, 1e9, 1e12)


def problem(n=40, n_labeled=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    truth = X[:, 0] + 0.1 * rng.normal(size=n)
    return X, truth, np.where(np.arange(n) < n_labeled, truth, np.nan)


@pytest.mark.parametrize(
    "parameters", [{}, {"metric": 0.2}, {"metric": "all"}, {"alpha": 0.1}], ids=str
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_wide_bounds_give_the_model_of_moderate_ones(parameters, fit_intercept):
    X, _, y = problem()
    parameters = {**parameters, "fit_intercept": fit_intercept}
    moderate = ICLSRegressor(bounds=(-20, 20), **parameters).fit(X, y)
    for width in WIDTHS:
        for bounds in ((-width, width), (-20, width)):
            reg = ICLSRegressor(bounds=bounds, **parameters).fit(X, y)
            proof = reg.certificate_
            np.testing.assert_allclose(reg.coef_, moderate.coef_, atol=1e-9)
            np.testing.assert_allclose(reg.predict(X), moderate.predict(X), atol=1e-9)
            assert proof.converged
            assert proof.gap < 2e-5
            assert proof.labeled_loss == pytest.approx(moderate.certificate_.labeled_loss, abs=1e-9)
            assert proof.moved is moderate.certificate_.moved
            assert (reg.targets_ >= bounds[0]).all()
            assert (reg.targets_ <= bounds[1]).all()


def test_a_fit_that_is_said_to_be_the_twin_is_the_twin():
    X, _, y = problem()
    for width in WIDTHS:
        reg = ICLSRegressor(bounds=(-width, width)).fit(X, y)
        assert "it is the supervised twin" in str(reg.certificate_)
        np.testing.assert_allclose(reg.predict(X), reg.supervised_.predict(X), atol=1e-9)


def test_tolerances_do_not_grow_with_the_bounds():
    X, _, y = problem()
    scales = [
        ICLSRegressor(bounds=(-width, width)).fit(X, y).certificate_.scale for width in WIDTHS
    ]
    assert max(scales) == pytest.approx(min(scales))
    assert max(scales) <= (10 * np.nanmax(y) - 10 * np.nanmin(y)) ** 2 * (1 + 1e-9)


def test_units_and_origin_of_the_targets_do_not_matter():
    X, _, y = problem()
    plain = ICLSRegressor(bounds=(-1e9, 1e9), metric="all").fit(X, y)
    other = ICLSRegressor(bounds=(-1e6, 1e6), metric="all").fit(X, 1e-3 * y + 2e-3)
    np.testing.assert_allclose(1e3 * other.coef_, plain.coef_, rtol=1e-9)
    assert other.certificate_.scale == pytest.approx(1e-6 * plain.certificate_.scale)


def test_narrow_bounds_of_some_rows_beside_wide_ones_of_others():
    """The narrow ones move the model, and the wide ones leave the optimum where it is."""
    X, truth, y = problem(42)
    bins = np.column_stack([truth + 0.1, truth + 0.3])
    bins[:10] = bins[41:] = np.nan
    fits = [
        ICLSRegressor(bounds=(-width, width), metric="all").fit(X, y, target_bounds=bins)
        for width in (1e2, 1e6, 1e9)
    ]
    for reg in fits:
        assert reg.certificate_.converged
        assert reg.certificate_.moved
        np.testing.assert_allclose(reg.coef_, fits[0].coef_, atol=1e-9)
    with pytest.warns(ConvergenceWarning, match="not within the requested tol"):
        # A dual point is zero for the wide rows only up to rounding, which such bounds magnify.
        reg = ICLSRegressor(bounds=(-1e14, 1e14), metric="all").fit(X, y, target_bounds=bins)
    assert not reg.certificate_.converged


def test_bounds_far_from_the_known_targets_are_kept():
    """They are active: no target near the known ones is possible."""
    X, truth, y = problem()
    bounds = np.column_stack([truth + 1e6, truth + 1e6 + 1])
    bounds[:10] = np.nan
    reg = ICLSRegressor(bounds=(-1e9, 1e9), metric="all").fit(X, y, target_bounds=bounds)
    assert reg.certificate_.converged
    assert reg.certificate_.moved
    assert reg.targets_.min() >= truth[10:].min() + 1e6


def test_the_near_parts_of_intervals():
    near = LabelInterval(-5.0, 1e9).near(-10.0, 10.0)
    assert (near.low, near.high) == (-5.0, 10.0)
    rows = LabelInterval.of_rows(np.array([[-1e9, 1e9], [20.0, 30.0], [-30.0, -20.0], [1.0, 2.0]]))
    near = rows.near(-10.0, 10.0)
    np.testing.assert_array_equal(near.low, [-10, 20, -20, 1])
    np.testing.assert_array_equal(near.high, [10, 20, -20, 2])
