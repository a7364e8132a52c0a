import numpy as np
import pytest
from scipy import sparse

from primum.equations import gather_columns, gather_moments
from primum.rows import ArrayRows


def test_moments_of_blocks_equal_moments_of_the_whole(rng):
    X = rng.normal(size=(70_000, 3)) @ rng.normal(size=(3, 3)) + [0.0, 5.0, 1e6]
    parts = [ArrayRows(X[:10]), ArrayRows(X, np.arange(10, 70_000))]
    moments = gather_moments(parts)
    assert moments.weight == 70_000
    mean = X.astype(np.longdouble).mean(axis=0)
    np.testing.assert_allclose(moments.mean, mean.astype(float), rtol=1e-13, atol=1e-13)
    centred = (X - mean).astype(float)
    np.testing.assert_allclose(moments.scatter, centred.T @ centred, rtol=1e-9)


@pytest.mark.parametrize("later", [0.0, 1.0, 1e6])
def test_first_rows_about_zero_say_nothing_of_later_ones(rng, later):
    X = rng.normal(size=(5_000, 3))
    X[100:, 1] += later
    before, moments = X.copy(), gather_moments([ArrayRows(X)])
    np.testing.assert_array_equal(X, before)
    mean = X.astype(np.longdouble).mean(axis=0)
    np.testing.assert_allclose(moments.mean, mean.astype(float), rtol=1e-13, atol=1e-14)
    centred = (X - mean).astype(float)
    np.testing.assert_allclose(moments.scatter, centred.T @ centred, rtol=1e-11, atol=1e-9)


def test_weights_count_repetitions(rng):
    X = rng.normal(size=(50, 4))
    times = rng.integers(0, 4, 50)
    weighted = gather_moments([ArrayRows(X, weight=times.astype(float))])
    repeated = gather_moments([ArrayRows(np.repeat(X, times, axis=0))])
    assert weighted.weight == repeated.weight
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-14)
    np.testing.assert_allclose(weighted.scatter, repeated.scatter, atol=1e-12)


# The squares of the last two underflow: to a few digits, and to 0.
@pytest.mark.parametrize("value", [0.1, 1 / 3, 3.3, 1e6 + 0.1, 1.6e-162, 1e-200])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_column_has_no_scatter_at_all(rng, value, weighted):
    X = np.column_stack([np.full(100_000, value), rng.normal(size=100_000)])
    weight = rng.uniform(0.1, 3, len(X)) if weighted else None
    moments = gather_moments([ArrayRows(X, weight=weight)])
    assert moments.mean[0] == value
    assert (moments.scatter[0] == 0).all()


def test_a_first_row_far_from_the_mean_costs_no_digits(rng):
    X = rng.normal(size=(500, 6))
    X[0, [1, 4]] = 30.0, -1e7
    X[:, 4] += 1e9
    moments = gather_moments([ArrayRows(X)])
    centred = X - X.mean(axis=0)
    scale = np.sqrt(np.diag(centred.T @ centred))
    difference = (moments.scatter - centred.T @ centred) / np.outer(scale, scale)
    np.testing.assert_allclose(difference, 0.0, atol=1e-12)
    np.testing.assert_array_equal(moments.scatter, moments.scatter.T)


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


def nearly_full(rng, n):
    """Columns: a constant, a year, an identifier, counts of which most are zero."""
    return np.column_stack(
        [
            np.full(n, 2024.1),
            rng.integers(2020, 2025, n),
            1e9 + rng.integers(0, 10, n),
            rng.poisson(0.1, (n, 3)),
        ]
    ).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kinds", [[sparse.csr_array] * 2, [np.asarray, sparse.csr_array]])
def test_sparse_columns_lose_no_digits_to_their_means(rng, monkeypatch, weighted, kinds):
    monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 2**14)  # several blocks
    X = nearly_full(rng, 3000)
    weight = rng.uniform(0.1, 3, len(X)) if weighted else np.ones(len(X))
    parts = [
        ArrayRows(kind(X[some]), weight=weight[some] if weighted else None)
        for kind, some in zip(kinds, (slice(0, 1000), slice(1000, 3000)), strict=True)
    ]
    moments = gather_moments(parts)
    exact, w = X.astype(np.longdouble), weight.astype(np.longdouble)
    centred = exact - w @ exact / w.sum()
    expected = ((centred.T * w) @ centred).astype(float)
    lengths = np.sqrt(expected.diagonal())
    np.testing.assert_allclose(moments.mean, (w @ exact / w.sum()).astype(float), rtol=1e-13)
    error = np.abs(moments.scatter - expected)[1:, 1:] / np.outer(lengths, lengths)[1:, 1:]
    assert error.max() < 1e-12
    assert moments.scatter[0, 0] <= (1e-16 * 2024) ** 2 * len(X)


@pytest.mark.parametrize(("first", "passes"), [(1, 2), (3, 1)])
def test_only_sparse_columns_that_nearly_agree_cost_a_second_pass(rng, first, passes):
    rows = ArrayRows(sparse.csr_array(nearly_full(rng, 200)[:, first:]))
    gather_moments([rows])
    assert rows.passes == passes


def test_few_rows_of_great_weight_are_densified_in_parts(rng, monkeypatch):
    """Few values are stored, but nearly all of the weight is theirs."""
    monkeypatch.setattr("primum.equations.moments.BLOCK_NUMBERS", 64)
    X = np.zeros((500, 4))
    X[:5] = 3.0 + rng.normal(size=(5, 4))
    weight = np.where(np.arange(500) < 5, 1e6, 1.0)
    moments = gather_moments([ArrayRows(sparse.csr_array(X), weight=weight)])
    expected = gather_moments([ArrayRows(X, weight=weight)])
    np.testing.assert_allclose(moments.scatter, expected.scatter, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_faint_values_do_not_matter_beside_others_in_their_column(rng, kind):
    """As probabilities have them: some rows far below what squares can hold, others not."""
    X = np.concatenate([np.full((50, 2), 1e-200) * rng.uniform(size=(50, 2)), np.eye(50, 2) + 1])
    moments = gather_moments([ArrayRows(kind(X[:50])), ArrayRows(kind(X[50:]))])
    assert not moments.faint.any()
    np.testing.assert_allclose(moments.scatter, np.cov(X.T, bias=True) * 100, rtol=1e-12)


def test_columns_that_differ_faintly_between_parts_are_found(rng):
    X = np.column_stack([np.repeat([0.0, 1e-200], 10), rng.normal(size=20)])
    with pytest.warns(UserWarning, match="Column 0 has values so small"):
        gather_moments([ArrayRows(X[:10]), ArrayRows(X[10:])])
    with pytest.warns(UserWarning, match="Column 0 has values so small"):
        gather_columns([ArrayRows(X)])
