"""Systems in the labels of several classes, solved class by class, against the joint system."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from primum import KernelICLSClassifier
from primum.labellings.problem import FormedColumns, LabelProblem, total_of
from primum.labellings.sets import Simplex, contrasts_of
from primum.solvers.class_blocks import ClassSystem
from primum.solvers.gradient import minimise_by_gradients
from primum.solvers.newton import follow_path
from primum.solvers.open_labels import OpenLabels, unflat


def faces(rng, n, K):
    """Return faces of at least two classes each."""
    mask = rng.random((n, K)) < 0.5
    mask[np.arange(n), np.arange(n) % K] = mask[np.arange(n), (np.arange(n) + 1) % K] = True
    return mask


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("all_open", [False, True])
def test_the_joint_system_has_the_same_solution(rng, weighted, all_open):
    n, K, r, ridge = 12, 4, 9, 0.3
    columns = FormedColumns(rng.normal(size=(r, n)), rng.uniform(0.5, 2, n) if weighted else None)
    labels, mask = Simplex(K), np.ones((n, K), dtype=bool) if all_open else faces(rng, n, K)
    b = rng.normal(size=(r, K))
    b -= b.mean(axis=1, keepdims=True)
    open_labels = OpenLabels(columns, labels, mask)
    S = open_labels.gram() + ridge * np.eye(open_labels.gram().shape[0])
    wanted = open_labels.sum(np.linalg.solve(S, open_labels.along(b)))
    in_face, root = open_labels.mask, np.sqrt(np.ones(n) if not weighted else columns.weight)
    M = columns.matrix[:, open_labels.rows] * root[open_labels.rows]
    Y = ClassSystem.of(M.T @ M, in_face, ridge).solve(open_labels.weighted_columns.T @ b)
    assert_allclose(Y.sum(axis=1), 0, atol=1e-12)
    assert (Y[~in_face] == 0).all()
    assert_allclose(open_labels.weighted_columns @ Y, wanted, atol=1e-11)


@pytest.mark.parametrize("r", [3, 40])
def test_the_least_norm(rng, r):
    """With few equations many labels fit equally well."""
    n, K = 15, 5
    columns, labels, mask = FormedColumns(rng.normal(size=(r, n))), Simplex(K), faces(rng, n, K)
    b = rng.normal(size=(r, K))
    b -= b.mean(axis=1, keepdims=True)
    open_labels = OpenLabels(columns, labels, mask)
    A = open_labels.matrix()
    shortest = np.linalg.pinv(A) @ (contrasts_of(K).T @ b.T).ravel()
    Y = open_labels.least_norm.least_norm(open_labels.weighted_columns.T @ b)
    assert_allclose(np.linalg.norm(Y), np.linalg.norm(shortest), rtol=1e-6)
    assert_allclose(open_labels.weighted_columns @ Y, unflat(labels, A @ shortest), atol=1e-7)


def test_a_singular_system_has_no_answer():
    G = np.ones((3, 3))
    assert ClassSystem.of(G, np.ones((3, 2), dtype=bool), 0.0) is None


def test_newton_direction_does_not_depend_on_the_way(rng, monkeypatch):
    n, K, r = 30, 6, 200
    columns, labels, mask = FormedColumns(rng.normal(size=(r, n))), Simplex(K), faces(rng, n, K)
    g = rng.normal(size=(r, K))
    g -= g.mean(axis=1, keepdims=True)
    directions = []
    for least in (1, 10**9):
        monkeypatch.setattr("primum.solvers.open_labels.MIN_BY_CLASS_SIZE", least)
        directions.append(OpenLabels(columns, labels, mask).newton_direction(50.0, g))
    assert_allclose(*directions, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_and_newton_find_the_same(rng, weighted):
    n, K, r = 60, 12, 80
    M = rng.normal(size=(r, n)) / r**0.5
    T = rng.normal(size=(r, K))
    columns = FormedColumns(M, rng.uniform(0.5, 2.0, n) if weighted else None)
    problem = LabelProblem(columns, T - T.mean(axis=1, keepdims=True), Simplex(K))
    q = minimise_by_gradients(problem, 1e-13, settled=-1.0).labels
    *_, last = follow_path(problem, 1e-12, 1000)
    assert_allclose(q, last.best.q, atol=1e-5)
    p = columns.project(problem.residual(q))
    assert total_of(problem.labels.slack(p, q), columns.weight) <= 1e-12


def test_gradients_give_up_early():
    """An ill-conditioned problem is left to Newton's method."""
    rng = np.random.default_rng(0)
    M = np.geomspace(1.0, 1e-6, 40)[:, None] * rng.normal(size=(40, 90))
    T = M @ rng.normal(size=(90, 8))
    problem = LabelProblem(FormedColumns(M), T - T.mean(axis=1, keepdims=True), Simplex(8))
    assert not minimise_by_gradients(problem, 1e-14).suffices


@pytest.mark.parametrize("K", [20, 50])
def test_a_kernel_and_many_classes(K):
    L, U = 110, 150
    rng = np.random.default_rng(0)
    c = np.r_[np.tile(range(K), 2), rng.integers(0, K, L + U - 2 * K)]
    X = rng.normal(size=(L + U, 5)) + rng.normal(size=(K, 5))[c]
    clf = KernelICLSClassifier(gamma=0.5).fit(X, np.where(np.arange(L + U) < L, c, -1))
    assert clf.certificate_.converged
    assert clf.n_iter_ <= 500
