"""Weak duality, the certificate's arithmetic, and M formed or streamed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from primum.equations import Design, Frame
from primum.labellings.problem import FormedColumns, LabelProblem
from primum.labellings.sets import LabelInterval, Simplex
from primum.labellings.streamed import StreamedColumns
from primum.rows import ArrayRows


def dual(problem, xi):
    M, weight = problem.columns.matrix, problem.columns.weight
    hinge = np.maximum(0.0, -(M.T @ xi))
    total = hinge.sum() if weight is None else weight @ hinge
    return -0.5 * xi @ xi - problem.target @ xi - total


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_no_labelling_gets_below_the_bound(seed, weighted):
    rng = np.random.default_rng(seed)
    r, U = rng.integers(1, 6), rng.integers(1, 12)
    weight = rng.uniform(0.1, 3, U) if weighted else None
    problem = LabelProblem(FormedColumns(rng.normal(size=(r, U)), weight), rng.normal(size=r))
    q, other = rng.uniform(size=(2, U))
    judged = problem.judge(q)
    xi = problem.columns.accumulate(q) - problem.target
    assert judged.gap == pytest.approx(judged.objective - dual(problem, xi), abs=1e-10)
    assert judged.gap >= 0
    for labelling in (other, other.round()):
        assert problem.judge(labelling).objective >= judged.objective - judged.gap - 1e-12


def test_streamed_and_formed_columns_agree(rng):
    X, B = rng.normal(size=(30, 4)), rng.normal(size=(3, 5))
    weight = rng.uniform(size=30)
    design = Design(ArrayRows(X, weight=weight), Frame(X.mean(axis=0), True))
    D = np.column_stack([np.ones(30), X - X.mean(axis=0)])
    formed = FormedColumns(B @ D.T, weight)
    streamed = StreamedColumns(B, design)
    index = np.array([0, 3, 29])
    q, xi = rng.uniform(size=30), rng.normal(size=3)
    assert formed.shape == streamed.shape
    for method, argument in (
        ("project", xi),
        ("accumulate", q),
        ("gram", index),
        ("take", index),
    ):
        expected = getattr(formed, method)(argument)
        np.testing.assert_allclose(getattr(streamed, method)(argument), expected, atol=1e-12)
    np.testing.assert_allclose(streamed.lengths(), formed.lengths())
    duals = np.stack([xi, -2 * xi])
    labels = LabelInterval()
    np.testing.assert_allclose(streamed.gaps(labels, duals, q), formed.gaps(labels, duals, q))
    factor = np.array([2.0, -1.0, 0.5])
    np.testing.assert_allclose(
        streamed.scaled(factor).project(xi), formed.scaled(factor).project(xi), atol=1e-12
    )
    assert formed.passes == 6
    assert streamed.passes > 0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_streamed_and_formed_columns_agree_for_several_classes(rng, n_classes):
    """Gaps also for multipliers of a prior, which are added to the scores of every row."""
    X, B, labels = rng.normal(size=(30, 4)), rng.normal(size=(3, 5)), Simplex(n_classes)
    weight = rng.uniform(size=30)
    design = Design(ArrayRows(X, weight=weight), Frame(X.mean(axis=0), True))
    D = np.column_stack([np.ones(30), X - X.mean(axis=0)])
    formed, streamed = FormedColumns(B @ D.T, weight), StreamedColumns(B, design)
    q = rng.dirichlet(np.ones(n_classes), 30)
    xi = rng.normal(size=(3, n_classes))
    for duals in (xi[None], np.stack([xi, -2 * xi])):
        found = streamed.gaps(labels, duals, q)
        np.testing.assert_allclose(found, formed.gaps(labels, duals, q), atol=1e-12)
    centred = xi - xi.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(streamed.project(xi), formed.project(xi), atol=1e-12)
    np.testing.assert_allclose(streamed.accumulate(q), formed.accumulate(q), atol=1e-12)
    for _ in range(2):  # the first sweep adds up all classes, later ones all but the last
        sweep = streamed.sweep(labels, centred, 2.0)
        expected = labels.project(1 / n_classes - 2.0 * formed.project(centred))
        np.testing.assert_allclose(sweep.Mq, formed.accumulate(expected), atol=1e-12)
