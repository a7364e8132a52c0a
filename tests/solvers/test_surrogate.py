"""Rows that change sides in bulk: few passes, and a model that is exact where it was made."""

from dataclasses import replace

import numpy as np
import pytest

from generate import least_squares_family
from primum import ICLSClassifier
from primum.labellings import implicit
from primum.labellings.implicit import implicit_problems
from primum.labellings.problem import FormedColumns, LabelProblem, centred
from primum.labellings.sets import LabelInterval, Simplex, best_differs, keys_of, undecided_rows
from primum.labellings.streamed import RowSelection
from primum.rows import ArrayRows, LabeledRows
from primum.solvers.newton import Point
from primum.solvers.sample import sample_columns
from primum.solvers.surrogate import MIN_MANY_COPIES, SurrogateRows, _common_faces, surrogate_at

MOST_PASSES = 30


@pytest.fixture(autouse=True)
def always_stream(monkeypatch):
    """Never form M, and sample few rows."""
    monkeypatch.setattr(implicit, "MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 2048)


def labels_of(rng, K, n):
    return np.r_[np.arange(K), rng.integers(0, K, n - K)]


def clustered(seed, K=6, d=10, L=30, U=12_000):
    """Return clusters whose width is a thousandth of their distance."""
    rng = np.random.default_rng(seed)
    X = 5 * rng.normal(size=(20, d))[rng.integers(0, 20, L + U)]
    X += 0.01 * rng.normal(size=X.shape)
    return X[:L], labels_of(rng, K, L), X[L:]


def classes_told_apart(seed, K=3, d=10, L=30, U=12_000):
    """Return so many clusters that two classes of three can be told apart without an error."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(K), rng.integers(0, K, L + U)[K:L]]
    X = 5 * rng.normal(size=(200, d))[rng.integers(0, 200, L + U)]
    X += 0.01 * rng.normal(size=X.shape)
    return X[:L], y, X[L:]


def half_copies(seed, K=6, d=6, L=30, U=12_000):
    """Return rows of which half are copies of one point."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(L + U, d))
    X[L + np.flatnonzero(rng.random(U) < 0.5)] = X[L]
    return X[:L], labels_of(rng, K, L), X[L:]


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("rows", "K"), [(clustered, 6), (clustered, 2), (half_copies, 6), (half_copies, 2)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_that_change_sides_in_bulk_take_few_passes(rows, K, seed, in_memory, monkeypatch):
    monkeypatch.setattr("primum.rows.array.ArrayRows.in_memory", in_memory)
    X, y, X_u = rows(seed, K=K)
    proof = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    assert proof.passes <= MOST_PASSES


@pytest.mark.parametrize("seed", [0, 1, 11])
def test_classes_that_can_be_told_apart_without_an_error_take_few_passes(seed):
    """Half of the rows are tied, so that the labels of single others decide about the last digits.

    For seed 0 this needs rows that enter or leave the common face: 225 passes without them.
    """
    X, y, X_u = classes_told_apart(seed)
    proof = ICLSClassifier().fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    assert proof.passes <= 20


@pytest.mark.parametrize("rows", [clustered, half_copies])
def test_the_solution_is_that_of_newton(rows):
    X, y, X_u = rows(2, K=3, U=5000)
    ours, theirs = (
        ICLSClassifier(solver=solver).fit(X, y, X_unlabeled=X_u) for solver in ("scale", "newton")
    )
    gaps = ours.certificate_.gap + theirs.certificate_.gap + 1e-11
    assert abs(ours.certificate_.objective - theirs.certificate_.objective) <= gaps
    # The labelled loss is quadratic, so models within a gap of the optimum are close on these rows.
    apart = ours.decision_function(X) - theirs.decision_function(X)
    assert np.mean(np.sum(apart**2, axis=1)) <= 4 * gaps


def problem_of(X, y, X_u):
    data = least_squares_family(
        LabeledRows(X, np.eye(y.max() + 1)[y]), ArrayRows(X_u), alpha=0.0, fit_intercept=True
    )
    zero = np.zeros((X.shape[1], y.max() + 1)), np.zeros(y.max() + 1)
    return next(implicit_problems(data, 0.0, zero, ["labeled"]))


def test_a_model_is_exact_at_its_point():
    problem = problem_of(*clustered(0))
    sample = SurrogateRows.of(*sample_columns(problem.columns.streamed, matched=False))
    rng = np.random.default_rng(0)
    xi = centred(rng.normal(size=problem.target.shape))
    sigma = 3.0 / float(np.abs(sample.columns.project(xi)).mean())
    point = problem.columns.streamed.look(problem.labels, xi, sigma, RowSelection(sigma, 1000))
    point = replace(point, Mq=centred(point.Mq))
    exact = sample.take(np.arange(0, 900, 3))
    model = surrogate_at(point, problem, exact, sample)
    q = model.labels.project(model.labels.centre - sigma * model.columns.project(xi))
    np.testing.assert_allclose(model.residual(q), point.Mq - problem.target, atol=1e-9)
    assert model.columns.shape[1] == len(sample.positions)


def test_a_look_is_a_sweep_without_gram_matrices():
    problem = problem_of(*clustered(1))
    columns, xi = problem.columns.streamed, centred(np.ones_like(problem.target) * np.arange(6))
    sigma = 2.0 / float(np.abs(columns.project(xi)).mean())
    look = columns.look(problem.labels, xi, sigma, RowSelection(0.5 * sigma, 10**6))
    sweep = columns.sweep(problem.labels, xi, sigma, close=(0.5 * sigma, 10**6))
    for name in ("moment", "Mq", "inside", "slack", "inner"):
        np.testing.assert_allclose(getattr(look, name), getattr(sweep, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(look.band.positions, sweep.band.positions)


@pytest.mark.parametrize("labels", [LabelInterval(), Simplex(3)])
def test_which_rows_are_collected(labels, rng):
    p, before = rng.normal(size=(2, 200, *labels.shape))
    undecided, moved = undecided_rows(labels, p, 2.0), best_differs(labels, p, before)
    keys = keys_of(labels.open(labels.project(labels.centre - 0.5 * p)))
    common = tuple(np.unique(keys[keys != 0])[:2].tolist())
    of_common = np.isin(keys, common)
    assert (undecided & of_common).any()
    close, without = RowSelection(2.0, 1000), RowSelection(2.0, 1000, common=common)
    assert set(close.rows(labels, p, None, keys)) == set(np.flatnonzero(undecided))
    assert set(without.rows(labels, p, None, keys)) == set(np.flatnonzero(undecided & ~of_common))
    assert set(close.rows(labels, p, before, keys)) == set(np.flatnonzero(undecided | moved))
    without = replace(without, before=before, sigma_before=0.5)
    now = keys_of(labels.open(labels.project(labels.centre - 0.5 * before))) != keys
    both = without.rows(labels, p, before, keys)
    assert set(both) == set(np.flatnonzero(((undecided | moved) & ~of_common) | now))
    first = p if p.ndim == 1 else p[:, 0]
    here = np.flatnonzero(undecided)
    apart = replace(close, apart=np.sort(first[here[:3]]))
    assert set(apart.rows(labels, p, None, keys)) == set(here[3:])


def test_common_faces_leave_no_more_rows_than_asked_for(rng):
    """Decided rows are on no face, however many they are, and a weight counts as many rows."""
    kinds = np.array([[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]) / 2
    q = np.repeat(kinds, [90, 5, 2, 30], axis=0)
    problem = LabelProblem(
        FormedColumns(rng.normal(size=(2, len(q))), np.where(q[:, 2] * q[:, 0] > 0, 10.0, 1.0)),
        np.zeros((2, 3)),
        Simplex(3),
    )
    found = Point(1.0, np.zeros((2, 3)), np.zeros_like(q), q)
    first_two, first_and_third, last_two = 3, 5, 6
    assert _common_faces(problem, found, 4) == (first_two, first_and_third, last_two)
    assert _common_faces(problem, found, 5) == (first_and_third, last_two)
    assert _common_faces(problem, found, 25) == (last_two,)
    assert _common_faces(problem, found, 55) == ()


def test_only_many_copies_are_merged(rng):
    X = rng.normal(size=(100, 3))
    X[:MIN_MANY_COPIES] = X[0]
    X[50:53] = X[50]
    rows = SurrogateRows.of(FormedColumns(X.T, np.arange(1.0, 101.0)), np.arange(100)).merged()
    assert len(rows.positions) == 100 - MIN_MANY_COPIES + 1
    assert rows.columns.weight.sum() == np.arange(1.0, 101.0).sum()
    assert rows.many.tolist() == [True] + [False] * (100 - MIN_MANY_COPIES)
