"""M, formed or streamed, answers like the array that it stands for."""

import numpy as np
import pytest
from scipy import sparse

from primum.equations import Design, Frame
from primum.labellings.problem import FormedColumns
from primum.labellings.sets import LabelInterval
from primum.labellings.streamed import StreamedColumns
from primum.rows import ArrayRows


def both(kind, fit_intercept=True, seed=0):
    """Return M as an array, its weights, and M formed and streamed from the same rows."""
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(40, 4)), rng.normal(size=(3, 4 + int(fit_intercept)))
    weight = rng.uniform(0.5, 2.0, 40) if kind == "weighted" else None
    frame = Frame(X.mean(axis=0), fit_intercept)
    M = B @ frame.expand(X).T
    rows = ArrayRows(sparse.csr_array(X) if kind == "sparse" else X, weight=weight)
    return M, weight, (FormedColumns(M, weight), StreamedColumns(B, Design(rows, frame)))


KINDS = pytest.mark.parametrize("kind", ["plain", "weighted", "sparse"])


@KINDS
def test_products_are_those_of_the_array(kind, rng):
    M, weight, forms = both(kind)
    w = np.ones(40) if weight is None else weight
    xi, q, index = rng.normal(size=3), rng.uniform(size=40), np.array([1, 7, 30])
    factor = np.array([2.0, -3.0])
    for columns in forms:
        assert columns.shape == (3, 40)
        before = columns.passes
        np.testing.assert_allclose(columns.project(xi), M.T @ xi, atol=1e-12)
        np.testing.assert_allclose(columns.accumulate(q), M @ (w * q), atol=1e-12)
        np.testing.assert_allclose(columns.take(index), M[:, index], atol=1e-12)
        np.testing.assert_allclose(columns.products(index), M[:, index].T @ M[:, index], atol=1e-12)
        part = M[:, index] * w[index]
        np.testing.assert_allclose(columns.gram(index), part @ M[:, index].T, atol=1e-12)
        np.testing.assert_allclose(columns.gram(), (w * M) @ M.T, atol=1e-11)
        np.testing.assert_allclose(columns.lengths(), np.linalg.norm(M, axis=0), atol=1e-12)
        scaled = columns.scaled(factor)  # the first dimensions only
        np.testing.assert_allclose(scaled.project(xi[:2]), M[:2].T @ (factor * xi[:2]), atol=1e-12)
        assert columns.passes > before


def test_only_streamed_columns_are_streamed():
    _, _, (formed, streamed) = both("plain")
    assert formed.streamed is None
    assert streamed.streamed is streamed


@KINDS
def test_gaps_are_sums_of_slacks(kind, rng):
    M, weight, forms = both(kind)
    w, labels, q = np.ones(40) if weight is None else weight, LabelInterval(), rng.uniform(size=40)
    duals = rng.normal(size=(2, 3))
    expected = [w @ labels.slack(M.T @ xi, q) for xi in duals]
    for columns in forms:
        np.testing.assert_allclose(columns.gaps(labels, duals, q), expected)


def test_a_row_of_ones_is_found_or_added(rng):
    """u with M'u = 1 exists if M has as many dimensions as its rows, an intercept included."""
    for fit_intercept in (True, False):
        M, _, forms = both("plain", fit_intercept)
        for columns in forms:
            assert columns.ones() is None
            added = columns.with_ones(0.5)
            rows = added.take(np.arange(40))
            np.testing.assert_allclose(rows, np.vstack([M, np.full(40, 0.5)]), atol=1e-12)
    X = rng.normal(size=(40, 2))
    frame, B = Frame(np.zeros(2), True), rng.normal(size=(3, 3))
    M = B @ frame.expand(X).T
    for columns in (FormedColumns(M), StreamedColumns(B, Design(ArrayRows(X), frame))):
        np.testing.assert_allclose(M.T @ columns.ones(), 1.0, atol=1e-9)
