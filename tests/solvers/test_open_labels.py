"""Linear systems in the directions of faces agree with dense linear algebra."""

import numpy as np
import pytest

from primum.labellings.prior import HeldDirections
from primum.labellings.problem import FormedColumns, without_mean
from primum.labellings.sets import LabelInterval, Simplex, contrasts_of
from primum.solvers import open_labels as systems
from primum.solvers.open_labels import (
    OpenLabels,
    flat,
    solve_hessian,
    solve_positive,
    unflat,
)


def open_problem(n_classes, n_rows, weighted, seed=0):
    """Return the columns of rows whose labels are inside their sets, some of several."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    columns = FormedColumns(rng.normal(size=(3, n_rows)), weight)
    if n_classes == 2:
        labels = LabelInterval()
        q = np.clip(rng.normal(0.5, 0.7, n_rows), 0.0, 1.0)
    else:
        labels = Simplex(n_classes)
        q = labels.project(rng.normal(size=(n_rows, n_classes)))
    return OpenLabels(columns, labels, labels.open(q))


def dense(open_labels):
    """Return A with a column for every row and direction, weighted, in contrasts."""
    columns, labels = open_labels.columns, open_labels.labels
    weight = np.ones(columns.shape[1]) if columns.weight is None else columns.weight
    C = contrasts_of(labels.shape[0]) if labels.shape else np.ones((1, 1))
    parts = [
        np.kron(C.T @ E[:, None], root * columns.matrix[:, [i]])
        for rows, directions in open_labels.faces
        for E in directions.T
        for i, root in zip(rows, np.sqrt(weight[rows]), strict=True)
    ]
    return np.hstack(parts)


CASES = pytest.mark.parametrize(
    ("n_classes", "n_rows", "weighted"),
    [(2, 4, False), (2, 30, True), (3, 4, True), (4, 30, False)],
)


@CASES
@pytest.mark.parametrize("held", [False, True])
def test_a_newton_direction_solves_the_dense_system(n_classes, n_rows, weighted, held, rng):
    """With fewer labels than equations, and with more; also where a prior holds a direction."""
    open_labels = open_problem(n_classes, n_rows, weighted)
    A, sigma, labels = dense(open_labels), 0.7, open_labels.labels
    g = rng.normal(size=3) if n_classes == 2 else without_mean(rng.normal(size=(3, n_classes)))
    H = np.eye(len(A)) + sigma * A @ A.T
    holding = None
    if held:
        V = np.linalg.qr(rng.normal(size=(len(A), 1)))[0]
        holding = HeldDirections(V, 0.1)
        H -= 0.9 * V @ V.T
    direction = open_labels.newton_direction(sigma, g, holding, exact=True)
    np.testing.assert_allclose(
        flat(labels, direction), -np.linalg.solve(H, flat(labels, g)), atol=1e-10
    )


@CASES
def test_products_with_open_labels_are_those_of_the_dense_matrix(n_classes, n_rows, weighted, rng):
    open_labels = open_problem(n_classes, n_rows, weighted)
    A = dense(open_labels)
    x, b = rng.normal(size=A.shape[1]), rng.normal(size=len(A))
    assert (open_labels.n_equations, open_labels.freedom) == A.shape
    np.testing.assert_allclose(open_labels.gram(), A.T @ A, atol=1e-12)
    np.testing.assert_allclose(open_labels.along_flat(b), A.T @ b, atol=1e-12)
    np.testing.assert_allclose(open_labels.sum_flat(x), A @ x, atol=1e-12)
    np.testing.assert_allclose(open_labels.hessian(), A @ A.T, atol=1e-12)
    if not weighted:
        np.testing.assert_allclose(open_labels.matrix(), A, atol=1e-12)


def test_many_equations_are_solved_by_conjugate_gradients(monkeypatch, rng):
    open_labels = open_problem(4, 30, False)
    A, b, labels = dense(open_labels), rng.normal(size=9), open_labels.labels
    grams = list(open_labels.grams())
    exact = np.linalg.solve(np.eye(9) + A @ A.T, b)
    np.testing.assert_allclose(solve_hessian(labels, grams, 1.0, b), exact, atol=1e-10)
    monkeypatch.setattr(systems, "MAX_DIRECT_SIZE", 1)
    np.testing.assert_allclose(solve_hessian(labels, grams, 1.0, b), exact, atol=1e-5)
    g = unflat(labels, b)
    found = open_labels.newton_direction(1.0, g)
    np.testing.assert_allclose(flat(labels, found), -exact, atol=1e-5)


def test_vectors_are_flattened_and_split_without_loss(rng):
    labels, xi = Simplex(4), without_mean(rng.normal(size=(3, 4)))
    np.testing.assert_allclose(unflat(labels, flat(labels, xi)), xi, atol=1e-14)
    open_labels = open_problem(4, 30, False)
    values = without_mean(rng.normal(size=(30, 4)))
    parts = open_labels.split(open_labels.components(values))
    for (rows, directions), part in zip(open_labels.faces, parts, strict=True):
        np.testing.assert_allclose(part, directions.T @ values[rows].T)


def test_a_singular_system_has_the_shortest_solution():
    S, b = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])
    for overwrite in (False, True):
        found = solve_positive(S.copy(), b, overwrite=overwrite)
        np.testing.assert_allclose(S @ found, b, atol=1e-7)
