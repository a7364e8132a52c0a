"""A sample has the sums of all rows, which are known without a pass."""

import numpy as np
import pytest

from generate import least_squares_family
from primum import ICLSClassifier
from primum.labellings import implicit
from primum.labellings.implicit import implicit_problems
from primum.labellings.streamed import StreamedColumns
from primum.rows import ArrayRows, LabeledRows
from primum.solvers.sample import sample_columns

KINDS = ["plain", "weighted", "with a ridge", "no intercept"]


@pytest.fixture(autouse=True)
def always_stream(monkeypatch):
    """Never form M, and sample few rows."""
    monkeypatch.setattr(implicit, "MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 1024)


def data(L=12, U=20_000, d=8):
    rng = np.random.default_rng(0)
    y = np.r_[0, 1, rng.integers(0, 2, L - 2)].astype(float)
    return rng.normal(size=(L, d)) + y[:, None], y, rng.normal(size=(U, d)) + 0.5


def streamed_problem(kind):
    """Return (the problem, M as an array, the weights of its columns)."""
    X, y, X_u = data()
    weight, weight_u = np.ones(len(X)), np.ones(len(X_u))
    if kind == "weighted":
        rng = np.random.default_rng(1)
        weight, weight_u = rng.uniform(0.5, 2.0, len(X)), rng.uniform(0.5, 2.0, len(X_u))
    elif kind == "mostly labelled":
        weight *= 1e5
    elif kind == "outliers":
        X_u[:3] *= 1e3
    alpha = 0.3 if kind == "with a ridge" else 0.0
    family = least_squares_family(
        LabeledRows(X, y, weight),
        ArrayRows(X_u, weight=weight_u),
        alpha=alpha,
        fit_intercept=kind != "no intercept",
    )
    problem = next(implicit_problems(family, alpha, (np.zeros(X.shape[1]), 0.5), [0.2]))
    return problem, family.unlabeled.dot(problem.columns.B.T).T, weight_u


def assert_same(found, expected, tolerance):
    """Compare arrays, relative to their largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
def test_sums_over_all_columns_are_known_without_a_pass(kind):
    problem, M, weight = streamed_problem(kind)
    streamed, factor = problem.columns, np.array([1.0, 2.0, 3.0])
    before, scaled = streamed.passes, streamed.scaled(factor)
    gram, total = (M * weight) @ M.T, M @ weight
    assert_same(streamed.gram(), gram, 1e-11)
    assert_same(scaled.gram(), gram[:3, :3] * np.outer(factor, factor), 1e-11)
    if kind == "no intercept":
        assert streamed.sums.of_columns is None
    else:
        assert_same(streamed.sums.of_columns, total, 1e-11)
        assert_same(scaled.sums.of_columns, total[:3] * factor, 1e-11)
    assert streamed.passes == before


def test_sums_are_computed_where_subtracting_the_labelled_rows_would_cancel():
    problem, M, weight = streamed_problem("mostly labelled")
    assert problem.columns.sums is None
    before = problem.columns.passes
    assert_same(problem.columns.gram(), (M * weight) @ M.T, 1e-11)
    assert problem.columns.passes == before + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_has_the_sums_of_all_rows(kind):
    problem, M, weight = streamed_problem(kind)
    sample = sample_columns(problem.columns)[0]
    assert sample.shape[1] == 1024
    np.testing.assert_allclose(sample.weight.sum(), weight.sum())
    assert_same(sample.gram(), (M * weight) @ M.T, 1e-7)
    if kind != "no intercept":
        assert_same(sample.accumulate(np.ones(1024)), M @ weight, 1e-7)


def test_the_mapped_sample_does_not_depend_on_coordinates():
    problem, M, _ = streamed_problem("plain")
    factor = np.geomspace(0.1, 10.0, len(M))
    one = sample_columns(problem.columns)[0]
    other = sample_columns(problem.columns.scaled(factor))[0]
    assert_same(other.matrix / factor[:, None], one.matrix, 1e-6)


def test_a_sample_without_outlying_rows_is_left_as_it_is():
    problem, _, _ = streamed_problem("outliers")
    unknown = StreamedColumns(problem.columns.B, problem.columns.design)
    as_drawn = sample_columns(unknown)[0]
    sample = sample_columns(problem.columns)[0]
    assert problem.columns.sums is not None
    np.testing.assert_array_equal(sample.matrix, as_drawn.matrix)


@pytest.mark.parametrize("share_of_weight", [0.0, 1e-4])
def test_hardly_any_row_has_a_weight(share_of_weight):
    X, y, X_u = data()
    weight = (np.arange(len(X) + len(X_u)) < len(X) + share_of_weight * len(X_u)).astype(float)
    labels = np.r_[y, np.full(len(X_u), np.nan)]
    clf = ICLSClassifier().fit(np.vstack([X, X_u]), labels, sample_weight=weight)
    assert clf.certificate_.converged
