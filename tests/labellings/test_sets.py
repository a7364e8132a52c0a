"""Every label set is held to the definitions of its questions, by brute force."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from primum.labellings import sets
from primum.labellings.sets import (
    LabelInterval,
    LabelSet,
    Simplex,
    centres_of,
    directions_of,
    groups,
    keys_of,
    margins_of,
    undecided_rows,
)

MASK = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0], [1, 0, 1, 1]], dtype=bool)
BOUNDS = np.array([[0.0, 1.0], [0.7, 1.0], [0.2, 0.2], [-3.0, 5.0], [0.0, 0.5]])
SETS: dict[str, LabelSet] = {
    "unit interval": LabelInterval(),
    "bounds per row": LabelInterval.of_rows(BOUNDS),
    "two classes": Simplex(2),
    "four classes": Simplex(4),
    "fourteen classes": Simplex(14),
    "partial labels": Simplex.of_rows(MASK),
}
EACH_SET = pytest.mark.parametrize("labels", SETS.values(), ids=SETS.keys())
SEEDS = st.integers(0, 2**32 - 1)


def draw(labels: LabelSet, seed: int, size: float = 1.0) -> np.ndarray:
    return size * np.random.default_rng(seed).normal(size=(5, *labels.shape))


def inner(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return p * q if p.ndim == 1 else (p * q).sum(axis=1)


@EACH_SET
@given(seed=SEEDS)
def test_projection_is_the_nearest_label(labels: LabelSet, seed: int) -> None:
    v, other = draw(labels, seed), labels.project(draw(labels, seed + 1, 3.0))
    q = labels.project(v)
    assert_allclose(labels.project(q), q, atol=1e-14)
    # The characterisation of a projection on a convex set.
    assert (inner(v - q, other - q) <= 1e-12).all()


@EACH_SET
@given(seed=SEEDS)
def test_the_best_label_is_the_minimum(labels: LabelSet, seed: int) -> None:
    p, q = draw(labels, seed), labels.project(draw(labels, seed + 1, 3.0))
    least = inner(p, labels.best(p))
    assert (inner(p, q) >= least - 1e-12).all()
    assert_allclose(labels.slack(p, q), inner(p, q) - least, atol=1e-12)
    assert (labels.slack(p, labels.best(p)) == 0).all()


@EACH_SET
@given(seed=SEEDS)
def test_costs_are_the_slack_of_a_unit(labels: LabelSet, seed: int) -> None:
    p = draw(labels, seed)
    costs = labels.costs(p)
    if not labels.shape:  # from the best end to the centre
        assert_allclose(labels.slack(p, labels.centre), costs * labels.reach, atol=1e-12)
        return
    for k, vertex in enumerate(np.eye(*labels.shape)):
        can = labels.project(np.tile(vertex, (5, 1)))[:, k] == 1.0
        assert_allclose(labels.slack(p, vertex)[can], costs[can, k], atol=1e-12)
        assert (costs[~can, k] > 1e100).all()


@EACH_SET
@given(seed=SEEDS)
def test_derivative_of_the_projection(labels: LabelSet, seed: int) -> None:
    v, step = draw(labels, seed), 1e-7
    q = labels.project(v)
    change = (labels.project(v + step * draw(labels, seed + 1)) - q) / step
    for row, key in enumerate(keys_of(labels.open(q))):
        E = (
            directions_of(labels.shape, int(key))
            if key
            else np.zeros((len(np.atleast_1d(q[row])), 0))
        )
        wanted = E @ (E.T @ np.atleast_1d(draw(labels, seed + 1)[row]))
        assert_allclose(np.atleast_1d(change[row]), wanted, atol=1e-6)


@EACH_SET
def test_centre_is_inside_and_of_every_row(labels: LabelSet) -> None:
    assert_allclose(labels.project(centres_of(labels, 5)), centres_of(labels, 5), atol=1e-15)
    index = np.array([3, 1])
    assert_allclose(centres_of(labels.take(index), 2), centres_of(labels, 5)[index])


@EACH_SET
@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_a_row_is_undecided_within_its_margin(labels: LabelSet, sigma: float) -> None:
    p = draw(labels, 0)
    assert (undecided_rows(labels, p, sigma) == (sigma * margins_of(labels, p) <= 1.0)).all()


@EACH_SET
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e20])  # the last would hide the 1 of a label
def test_a_decided_row_has_its_best_label(labels: LabelSet, sigma: float) -> None:
    p = draw(labels, 0)
    q = labels.project(centres_of(labels, 5) - sigma * p)
    decided = ~undecided_rows(labels, p, sigma)
    assert_allclose(q[decided], labels.best(p)[decided], atol=1e-12)
    assert decided.all() or sigma < 1e20


def test_rows_after_the_given_ones_can_have_every_label() -> None:
    assert_allclose(centres_of(SETS["partial labels"], 7)[5:], 0.25)
    assert_allclose(centres_of(SETS["bounds per row"], 7)[5:], 0.5)


def test_simplex_projection_agrees_with_a_generic_solver() -> None:
    v = np.array([0.4, -0.3, 0.9, 0.25])
    found = minimize(
        lambda q: ((q - v) ** 2).sum(),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
        options={"ftol": 1e-15},
    )
    assert_allclose(Simplex(4).project(v[None])[0], found.x, atol=1e-7)


def test_two_classes_are_the_interval() -> None:
    v = draw(SETS["two classes"], 0)
    second = LabelInterval().project(0.5 + 0.5 * (v[:, 1] - v[:, 0]))
    assert_allclose(Simplex(2).project(v)[:, 1], second, atol=1e-15)


def test_too_many_classes() -> None:
    with pytest.raises(ValueError, match="There are 63 classes, but at most 62 can be fitted"):
        Simplex(63)


def test_rows_are_grouped_by_key() -> None:
    keys = np.array([3, 0, 5, 3, 0])
    assert [(key, rows.tolist()) for key, rows in groups(keys, 0)] == [(3, [0, 3]), (5, [2])]
    assert [(key, rows.tolist()) for key, rows in groups(keys, 3)] == [(0, [1, 4]), (5, [2])]
    assert [(key, rows.tolist()) for key, rows in groups(keys > 3, 0)] == [(1, [2])]
    assert groups(np.zeros(0, dtype=np.intp), 0) == groups(np.zeros(4, dtype=np.intp), 0) == []


def test_a_share_of_rounding_is_none() -> None:
    """The face of a label is not wider because a projection left a remainder."""
    q = np.array([[0.5, 0.5, 1e-17], [1.0, 0.0, 1e-18]])
    assert Simplex(3).open(q).tolist() == [[True, True, False], [True, False, False]]


def test_the_module_lists_what_it_asks_of_a_set() -> None:
    """And nothing else: all other questions are functions of these members."""
    table = [line for line in (sets.__doc__ or "").splitlines() if line.startswith("    ")]
    listed = {name for line in table for name in re.findall(r"[a-z]+", line)} & set(vars(LabelSet))
    public = {name for name in vars(LabelSet) if not name.startswith("_")}
    assert listed == public == LabelSet.__abstractmethods__
