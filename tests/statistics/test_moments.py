import numpy as np
import pytest

from primum.rows import ArrayRows
from primum.statistics import gather_moments


def test_moments_of_blocks_equal_moments_of_the_whole(rng):
    X = rng.normal(size=(70_000, 3)) @ rng.normal(size=(3, 3)) + [0.0, 5.0, 1e6]
    parts = [ArrayRows(X[:10]), ArrayRows(X, np.arange(10, 70_000))]
    moments = gather_moments(parts)
    assert moments.weight == 70_000
    mean = X.astype(np.longdouble).mean(axis=0)
    np.testing.assert_allclose(moments.mean, mean.astype(float), rtol=1e-13, atol=1e-13)
    centred = (X - mean).astype(float)
    np.testing.assert_allclose(moments.scatter, centred.T @ centred, rtol=1e-9)


def test_weights_count_repetitions(rng):
    X = rng.normal(size=(50, 4))
    times = rng.integers(0, 4, 50)
    weighted = gather_moments([ArrayRows(X, weight=times.astype(float))])
    repeated = gather_moments([ArrayRows(np.repeat(X, times, axis=0))])
    assert weighted.weight == repeated.weight
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-14)
    np.testing.assert_allclose(weighted.scatter, repeated.scatter, atol=1e-12)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 3.3, 1e6 + 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_column_has_no_scatter_at_all(rng, value, weighted):
    X = np.column_stack([np.full(100_000, value), rng.normal(size=100_000)])
    weight = rng.uniform(0.1, 3, len(X)) if weighted else None
    moments = gather_moments([ArrayRows(X, weight=weight)])
    assert moments.mean[0] == value
    assert (moments.scatter[0] == 0).all()


def test_merging_rows_without_weight_changes_nothing(rng):
    X = rng.normal(size=(5, 2))
    alone = gather_moments([ArrayRows(X)])
    merged = gather_moments([ArrayRows(X, weight=np.zeros(5)), ArrayRows(X)])
    np.testing.assert_allclose(merged.mean, alone.mean)
    np.testing.assert_allclose(merged.scatter, alone.scatter)


@pytest.mark.parametrize("center", [0.0, 3.0])
def test_scatter_about_another_point(rng, center):
    X = rng.normal(size=(30, 2)) + 7
    about = gather_moments([ArrayRows(X)]).scatter_about(np.full(2, center))
    np.testing.assert_allclose(about, (X - center).T @ (X - center))
