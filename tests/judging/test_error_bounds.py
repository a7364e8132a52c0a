"""Exact bounds on the difference in errors, from labels of the rows on which two models differ."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from primum.judging import error_bounds
from primum.judging.error_bounds import (
    BASELINE,
    BLANK,
    CHALLENGER,
    NEITHER,
    UNDECIDED,
    Pair,
    bounds_after,
    forecast,
    shared_level,
)

ALPHAS = (0.5, 0.2, 0.1, 0.05, 0.01)
KNOWN = {True: [CHALLENGER, BASELINE], False: [CHALLENGER, BASELINE, NEITHER]}


def pair_of(n_different, two_outcomes=True, alpha=0.05, n_rows=1000, margin=0.01):
    return Pair(n_rows, n_different, two_outcomes, alpha, margin)


def states_of(n, two_outcomes):
    pairs = ((t, f) for t in range(n + 1) for f in range(n + 1 - t))
    return [(t, f, n - t - f) for t, f in pairs if not two_outcomes or t + f == n]


def counts_of(codes):
    return tuple(sum(code == outcome for code in codes) for outcome in range(3))


def change_of(codes):
    t, f, _ = counts_of(codes)
    return f - t


def naive_evidence(n, two_outcomes, counts):
    """Return the likelihood of every state relative to the mean over all, by its definition."""
    states = states_of(n, two_outcomes)
    likelihood = [np.prod([comb(*both) for both in zip(s, counts, strict=True)]) for s in states]
    total = sum(int(value) for value in likelihood)
    return {
        state: Fraction(int(value) * len(states), total)
        for state, value in zip(states, likelihood, strict=True)
    }


def naive_possible(n, two_outcomes, counts, alpha):
    evidence = naive_evidence(n, two_outcomes, counts)
    return {s for s, value in evidence.items() if value > 0 and value >= Fraction(str(alpha))}


def change_range(states):
    changes = [f - t for t, f, _ in states]
    return [min(changes), max(changes)]


def naive_path(n, two_outcomes, codes, alpha):
    """Return the running bounds, None where no state is possible, with unknowns by enumeration."""
    possible, path = set(states_of(n, two_outcomes)), []
    for end in range(len(codes) + 1):
        choices = [[c] if c <= NEITHER else KNOWN[two_outcomes] for c in codes[:end]]
        completed = {counts_of(full) for full in product(*choices)}
        possible &= set().union(*(naive_possible(n, two_outcomes, c, alpha) for c in completed))
        path.append(change_range(possible) if possible else None)
    return path


def all_orders(n, n_outcomes):
    """Return all sequences of outcomes, and their running counts."""
    orders = np.array(list(product(range(n_outcomes), repeat=n)))
    counts = np.cumsum(orders[..., None] == np.arange(3), axis=1)
    return orders, np.concatenate([np.zeros_like(counts[:, :1]), counts], axis=1)


def violated(path, empty, change):
    """Return for every order whether its running bounds ever exclude the truth."""
    outside = (path[..., 0] > change[:, None]) | (path[..., 1] < change[:, None]) | empty
    return outside.any(axis=1)


def ever_outside(paths, change):
    """Return the same for reported bounds, which need not be equally long."""
    both = zip(paths, change, strict=True)
    return np.array([np.any((path[:, 0] > at) | (path[:, 1] < at)) for path, at in both])


def worst_share(wrong, final):
    """Return the largest share of orders that are wrong, over the true states."""
    codes = np.unique(final, axis=0, return_inverse=True)[1].reshape(-1)
    return (np.bincount(codes, wrong) / np.bincount(codes)).max()


# --- The guarantee, monitored after every label ---------------------------------------------------


@pytest.mark.parametrize("n", range(1, 13))
def test_all_orders_with_two_outcomes_keep_the_guarantee(n):
    _, counts = all_orders(n, 2)
    change = counts[:, -1, BASELINE] - counts[:, -1, CHALLENGER]
    for alpha in ALPHAS:
        wrong = violated(*error_bounds._by_ends(pair_of(n, alpha=alpha), counts), change)
        assert worst_share(wrong, counts[:, -1]) <= alpha


@pytest.mark.parametrize("n", range(1, 9))
def test_all_orders_with_three_outcomes_bounded_one_by_one_keep_the_guarantee(n):
    _, counts = all_orders(n, 3)
    change = counts[:, -1, BASELINE] - counts[:, -1, CHALLENGER]
    for alpha in ALPHAS:
        wrong = violated(*error_bounds._by_ends(pair_of(n, False, alpha), counts), change)
        assert worst_share(wrong, counts[:, -1]) <= alpha


def evidence_by_counts(n):
    """Return the log evidence that the enumerated states have after all possible counts."""
    found = {}
    for counts in product(range(n + 1), repeat=3):
        if sum(counts) <= n:
            states = error_bounds._States(n, alpha=0.0)
            for code in np.repeat([CHALLENGER, BASELINE, NEITHER], counts):
                states.read(int(code))
            keys = (tuple(int(v) for v in state) for state in states.rows.T)
            found[counts] = dict(zip(keys, states.evidence, strict=True))
    return found


def probability_of_exclusion(truth, evidence, alpha):
    """Return the probability that a random order ever excludes the truth, over all orders."""
    reached, excluded, n = {(0, 0, 0): Fraction(1)}, Fraction(0), sum(truth)
    for n_read in range(n):
        following = {}
        for counts, probability in reached.items():
            for k in range(3):
                left = Fraction(truth[k] - counts[k], n - n_read)
                after = (*counts[:k], counts[k] + 1, *counts[k + 1 :])
                if left and evidence[after][truth] < error_bounds._cut(alpha):
                    excluded += probability * left
                elif left:
                    following[after] = following.get(after, 0) + probability * left
        reached = following
    return excluded


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_all_orders_with_three_outcomes_keep_the_guarantee(n):
    """The evidence depends on counts alone, so that the orders are summed up count by count."""
    evidence = evidence_by_counts(n)
    worst = {
        alpha: max(probability_of_exclusion(s, evidence, alpha) for s in states_of(n, False))
        for alpha in ALPHAS
    }
    assert all(probability <= alpha for alpha, probability in worst.items())
    assert worst[0.5] > 0.05 or n < 8  # it is not that nothing is ever excluded


@pytest.mark.parametrize("n", [4, 6])
def test_the_reported_bounds_keep_the_guarantee_over_all_orders(n):
    for two_outcomes in (True, False):
        orders, counts = all_orders(n, 2 if two_outcomes else 3)
        paths = [bounds_after(pair_of(n, two_outcomes, 0.2), order).path for order in orders]
        change = counts[:, -1, BASELINE] - counts[:, -1, CHALLENGER]
        wrong = ever_outside(paths, change)
        assert worst_share(wrong, counts[:, -1]) <= 0.2


def exact_probability_of_exclusion(n, right, alpha):
    """Return the probability that a random order ever excludes the truth, two outcomes."""
    at, reached, excluded = np.arange(right + 1), np.zeros(right + 1), 0.0
    reached[0] = 1.0
    for n_read in range(1, n + 1):
        next_is_right = np.clip((right - at) / (n - n_read + 1), 0, 1)
        stay, move = reached * (1 - next_is_right), reached * next_is_right
        reached = stay + np.concatenate([[0.0], move[:-1]])
        counted = np.clip(at, n_read - (n - right), n_read)  # others are not reached
        least = error_bounds._least_right(n, counted, n_read - counted, alpha)
        least_wrong = error_bounds._least_right(n, n_read - counted, counted, alpha)
        outside = (right < least) | (n - right < least_wrong)
        excluded += reached[outside].sum()
        reached = np.where(outside, 0.0, reached)
    assert reached.sum() + excluded == pytest.approx(1)
    return excluded


@pytest.mark.parametrize("n", [50, 100, 318])
@pytest.mark.parametrize("share", [0, 0.03, 0.3, 0.5])
def test_the_exact_probability_of_a_wrong_bound_is_below_alpha(n, share):
    """All orders of more rows, summed up count by count: no simulation."""
    for alpha in (0.2, 0.05):
        probability = exact_probability_of_exclusion(n, round(share * n), alpha)
        assert probability <= alpha
        assert probability > alpha / 2 or share < 0.3  # and it is not far below


def shuffled_counts(rng, state, n_orders):
    codes = np.repeat([CHALLENGER, BASELINE, NEITHER], state)
    orders = rng.permuted(np.tile(codes, (n_orders, 1)), axis=1)
    counts = np.cumsum(orders[..., None] == np.arange(3), axis=1, dtype=np.int32)
    return np.concatenate([np.zeros_like(counts[:, :1]), counts], axis=1).astype(np.intp)


def share_of_wrong_orders(rng, state, two_outcomes, n_orders, chunk=1000):
    pair = pair_of(sum(state), two_outcomes)
    change = np.full(chunk, state[1] - state[0])
    wrong = [
        violated(*error_bounds._by_ends(pair, shuffled_counts(rng, state, chunk)), change).mean()
        for _ in range(n_orders // chunk)
    ]
    return np.mean(wrong)


def share_of_excluded_truths(rng, state, n_orders, chunk=1000):
    """Return how often the states enumerated would exclude the truth, by Laplace's rule."""
    n, share = sum(state), []
    for _ in range(n_orders // chunk):
        counts = shuffled_counts(rng, state, chunk)
        step = np.diff(counts, axis=1).argmax(axis=2)[..., None]
        before = np.take_along_axis(counts[:, :-1], step, axis=2)[..., 0]
        left = np.array(state)[step[..., 0]] - before
        n_read = np.arange(n)
        evidence = np.cumsum(np.log(left * (n_read + 3) / ((n - n_read) * (before + 1))), axis=1)
        share.append(np.mean((evidence < error_bounds._cut(0.05)).any(axis=1)))
    return np.mean(share)


LARGER = [(25, 25, 0), (5, 45, 0), (100, 100, 0), (150, 150, 0), (10, 290, 0), (0, 200, 0)]
LARGER_OF_THREE = [(20, 20, 20), (60, 30, 10), (100, 100, 0), (5, 5, 190)]


@pytest.mark.parametrize("state", LARGER[:3])
def test_random_orders_keep_the_guarantee(rng, state):
    assert share_of_wrong_orders(rng, state, True, 3000) <= 0.05


@pytest.mark.parametrize("state", LARGER_OF_THREE[:2])
def test_random_orders_of_three_outcomes_keep_the_guarantee(rng, state):
    assert share_of_wrong_orders(rng, state, False, 2000) <= 0.05
    assert share_of_excluded_truths(rng, state, 3000) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("state", LARGER)
def test_many_random_orders_keep_the_guarantee(rng, state):
    assert share_of_wrong_orders(rng, state, True, 10**5) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("state", LARGER_OF_THREE)
def test_many_random_orders_of_three_outcomes_keep_the_guarantee(rng, state):
    assert share_of_wrong_orders(rng, state, False, 10**5) <= 0.05
    assert share_of_excluded_truths(rng, state, 10**5) <= 0.05


@pytest.mark.parametrize("two_outcomes", [True, False])
def test_blanks_that_depend_on_the_outcomes_keep_the_guarantee(two_outcomes):
    """Every second row for the baseline is left blank: without the blanks, few would be for it."""
    orders, counts = all_orders(6, 2 if two_outcomes else 3)
    hidden = (orders == BASELINE) & (np.cumsum(orders == BASELINE, axis=1) % 2 == 1)
    pair = pair_of(6, two_outcomes, 0.2)
    paths = [bounds_after(pair, order).path for order in np.where(hidden, BLANK, orders)]
    change = counts[:, -1, BASELINE] - counts[:, -1, CHALLENGER]
    assert worst_share(ever_outside(paths, change), counts[:, -1]) <= 0.2


# --- The same bounds as by definition -------------------------------------------------------------


def test_the_evidence_is_that_of_the_definition():
    for counts, found in evidence_by_counts(6).items():
        exact = naive_evidence(6, False, counts)
        assert {state for state, value in exact.items() if value > 0} == set(found)
        expected = [float(np.log(float(exact[state]))) for state in found]
        np.testing.assert_allclose(list(found.values()), expected, atol=1e-12)


def path_of_the_note(n, codes, alpha, rounding=0.0):
    """Return the running bounds by prior / posterior < 1 / alpha, two outcomes, no unknowns."""
    every = np.arange(n + 1)
    possible, path = np.ones(n + 1, bool), []
    for end in range(len(codes) + 1):
        right = np.sum(codes[:end] == CHALLENGER)
        likelihood = stats.hypergeom.pmf(right, n, every, end)
        posterior = likelihood / likelihood.sum()
        with np.errstate(divide="ignore"):
            possible &= (1 / (n + 1)) / posterior < (1 + rounding) / alpha
        kept = every[possible]
        path.append([n - 2 * kept.max(), n - 2 * kept.min()] if len(kept) else [n + 1, -n - 1])
    return np.array(path)


@pytest.mark.parametrize("right", [0, 9, 20, 31])
def test_two_outcomes_are_bounded_by_prior_over_posterior(rng, right):
    """With 40 rows the first label leaves two states with a ratio of exactly 20: they are kept."""
    for _ in range(4):
        codes = rng.permutation(np.repeat([CHALLENGER, BASELINE], [right, 40 - right]))
        found = bounds_after(pair_of(40), codes).path
        expected = path_of_the_note(40, codes, 0.05, 1e-6)
        possible = expected[:, 0] <= expected[:, 1]
        np.testing.assert_array_equal(found[possible], expected[possible])


@pytest.mark.parametrize("right", [50, 60, 75])
def test_never_more_labels_are_needed_than_by_prior_over_posterior(rng, right):
    for _ in range(5):
        codes = rng.permutation(np.repeat([CHALLENGER, BASELINE], [right, 100 - right]))
        pair = pair_of(100)
        settled = error_bounds._is_settled(pair, path_of_the_note(100, codes, 0.05))
        assert bounds_after(pair, codes).labels_needed <= np.argmax(settled)


CODES = {
    True: st.sampled_from([CHALLENGER, BASELINE, UNDECIDED, BLANK]),
    False: st.sampled_from([CHALLENGER, BASELINE, NEITHER, UNDECIDED, BLANK]),
}


@pytest.mark.parametrize("two_outcomes", [True, False])
@given(data=st.data(), alpha=st.sampled_from([0.5, 0.2, 0.05]))
def test_unknowns_are_as_good_as_their_best_completions(two_outcomes, data, alpha):
    n = data.draw(st.integers(1, 7 if two_outcomes else 6))
    codes = data.draw(st.lists(CODES[two_outcomes], min_size=1, max_size=n))
    found = bounds_after(pair_of(n, two_outcomes, alpha), codes)
    expected = naive_path(n, two_outcomes, codes[: found.n_read], alpha)
    for own, other in zip(found.path.tolist(), expected, strict=True):
        assert other is None or own == other
    assert found.contradicted == (expected[-1] is None and not found.complete)


@pytest.mark.parametrize("two_outcomes", [True, False])
@given(data=st.data())
def test_the_bounds_contain_those_of_every_completion(two_outcomes, data):
    n = data.draw(st.integers(3, 30))
    codes = data.draw(st.lists(CODES[two_outcomes], min_size=1, max_size=n))
    pair = pair_of(n, two_outcomes, 0.2)
    found = bounds_after(pair, codes)
    outcomes = st.sampled_from(KNOWN[two_outcomes])
    full = [c if c <= NEITHER else data.draw(outcomes) for c in codes[: found.n_read]]
    completed = bounds_after(pair, full)
    if not found.contradicted and not completed.contradicted:
        assert found.low <= completed.low <= completed.high <= found.high


@pytest.mark.parametrize("limit", [0, 100])
@pytest.mark.parametrize("two_outcomes", [True, False])
@given(data=st.data())
def test_more_labels_never_widen_and_swapped_models_mirror(two_outcomes, limit, data):
    n = data.draw(st.integers(1, 30))
    codes = np.array(data.draw(st.lists(CODES[two_outcomes], max_size=n)), dtype=int)
    pair = pair_of(n, two_outcomes, 0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_bounds, "MAX_ENUMERATED_ROWS", limit)
        found = bounds_after(pair, codes)
        others = np.array([BASELINE, CHALLENGER, NEITHER, UNDECIDED, BLANK])
        swapped = bounds_after(pair, others[codes])
        filled = bounds_after(pair, np.where(codes == BLANK, CHALLENGER, codes))
    np.testing.assert_array_equal(swapped.path, -found.path[:, ::-1])
    if not found.contradicted:
        assert np.all(np.diff(found.path[:, 0]) >= 0)
        assert np.all(np.diff(found.path[:, 1]) <= 0)
    if not found.contradicted and not filled.contradicted:
        assert found.low <= filled.low <= filled.high <= found.high


@pytest.mark.parametrize("limit", [0, 100])
@pytest.mark.parametrize("two_outcomes", [True, False])
@given(data=st.data())
def test_a_complete_sheet_gives_the_exact_answer_in_any_order(two_outcomes, limit, data):
    n = data.draw(st.integers(0, 40))
    outcomes = st.sampled_from(KNOWN[two_outcomes])
    codes = data.draw(st.lists(outcomes, min_size=n, max_size=n))
    if data.draw(st.booleans()):
        codes = sorted(codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_bounds, "MAX_ENUMERATED_ROWS", limit)
        found = bounds_after(pair_of(n, two_outcomes, n_rows=200), codes)
    assert found.complete
    assert not found.contradicted
    assert found.low == found.high == change_of(codes)
    assert found.settled
    assert found.labels_needed <= n


# --- Answers, several pairs, undecided rows -------------------------------------------------------

# The medians over random orders that `What it costs` of the design lists.
COSTS = [(1000, 50, 0, 41), (1000, 100, 0, 92), (1000, 100, -40, 49), (5293, 318, 0, 195)]


@pytest.mark.parametrize(("n_rows", "n_different", "change", "expected"), COSTS)
def test_the_labels_that_are_needed(rng, n_rows, n_different, change, expected):
    right = (n_different - change) // 2
    codes = np.repeat([CHALLENGER, BASELINE], [right, n_different - right])
    pair = pair_of(n_different, n_rows=n_rows)
    found = [bounds_after(pair, rng.permutation(codes)) for _ in range(400)]
    needed = np.median([bounds.labels_needed for bounds in found])
    assert needed == pytest.approx(expected, rel=0.07)
    assert np.median([b.labels_for_not_worse for b in found]) < needed


def test_models_that_hardly_differ_need_no_label():
    """At the edge, a decimal margin is what it says: 29 of 2900 rows are one point."""
    found = bounds_after(pair_of(29, n_rows=2900), [])
    assert (found.low, found.high, found.answer, found.labels_needed) == (
        -29,
        29,
        "no_difference",
        0,
    )
    assert not found.pair.needs_labels
    assert pair_of(30, n_rows=2900).needs_labels
    assert bounds_after(pair_of(30, n_rows=2900), []).answer == "open"


def test_the_margin_in_rows_is_exact_for_every_number_of_rows():
    for n_rows in range(1, 3000):
        for hundredths in (0, 1, 3, 29):
            pair = pair_of(0, n_rows=n_rows, margin=hundredths / 100)
            assert pair.n_margin == hundredths * n_rows // 100


@pytest.mark.parametrize(
    ("bounds", "answer"),
    [
        ((-20, -11), "help"), ((-20, -10), "not_worse"), ((-20, 10), "not_worse"),
        ((-10, 10), "no_difference"), ((-10, 11), "not_better"), ((10, 20), "not_better"),
        ((11, 20), "harm"), ((-11, 11), "open"),
    ],
)  # fmt: skip
def test_answers_by_bounds(bounds, answer):
    pair = pair_of(100)
    assert error_bounds._answer(pair, *bounds) == answer
    settled = answer in ("help", "no_difference", "harm")
    assert bool(error_bounds._is_settled(pair, np.array(bounds))) == settled


def test_labels_for_one_model_settle_early():
    found = bounds_after(pair_of(100), [CHALLENGER] * 20)
    assert found.answer == "help"
    assert found.labels_needed == np.argmax(found.path[:, 1] < -10)
    assert found.labels_for_not_worse == np.argmax(found.path[:, 1] <= 10)
    assert found.labels_for_not_worse <= found.labels_needed
    assert found.interval == (found.low / 1000, found.high / 1000)
    assert bounds_after(pair_of(100), [BASELINE] * 20).answer == "harm"
    assert bounds_after(pair_of(100), [BASELINE] * 20).labels_for_not_worse is None


@pytest.mark.parametrize("limit", [0, 1000])
def test_three_outcomes_without_a_third_are_close_to_two(monkeypatch, rng, limit):
    monkeypatch.setattr(error_bounds, "MAX_ENUMERATED_ROWS", limit)
    codes = rng.permutation(np.repeat([CHALLENGER, BASELINE], [70, 30]))[:60]
    two, three = (bounds_after(pair_of(100, two_outcomes), codes) for two_outcomes in (True, False))
    assert three.low <= two.low
    assert two.high < three.high
    assert three.high - three.low < 1.6 * (two.high - two.low)


@pytest.mark.parametrize("two_outcomes", [True, False])
@pytest.mark.parametrize("limit", [0, 1000])
def test_labels_that_contradict_the_random_order_leave_what_is_certain(
    monkeypatch, two_outcomes, limit
):
    monkeypatch.setattr(error_bounds, "MAX_ENUMERATED_ROWS", limit)
    codes = [CHALLENGER] * 40 + [BASELINE] * 50
    found = bounds_after(pair_of(100, two_outcomes), codes)
    assert found.contradicted
    assert (found.low, found.high) == (0, 20)
    assert found.answer == "not_better"
    assert found.labels_needed is None
    complete = bounds_after(pair_of(100, two_outcomes), codes + [BASELINE] * 10)
    assert (complete.low, complete.answer, complete.contradicted) == (20, "harm", False)
    assert complete.labels_needed > 90


def test_without_alpha_the_bounds_are_certain():
    codes = [CHALLENGER] * 12 + [BASELINE] * 3
    for two_outcomes in (True, False):
        found = bounds_after(pair_of(40, two_outcomes, alpha=0.0), codes)
        np.testing.assert_array_equal(
            found.path,
            error_bounds._certain(found.pair, error_bounds._running_counts(np.array(codes))),
        )


def test_undecided_rows_are_left_out_beside_the_answer_on_all_rows(rng):
    codes = rng.permutation(np.repeat([CHALLENGER, BASELINE, UNDECIDED], [60, 15, 25]))
    found = bounds_after(pair_of(100), codes)
    assert found.answer == "help"
    assert (found.low, found.high) == (-45 - 25, -45 + 25)
    assert (found.n_read, found.n_labels, found.n_undecided, found.n_blank) == (100, 75, 25, 0)
    assert not found.complete
    assert (found.decidable.low, found.decidable.high) == (-45, -45)
    assert (found.decidable.n_labels, found.decidable.n_undecided) == (75, 25)
    assert found.decidable.complete
    assert found.decidable.labels_needed < found.labels_needed
    assert bounds_after(pair_of(100), codes[codes != UNDECIDED]).decidable is None


def test_the_bounds_on_decidable_rows_keep_the_guarantee():
    """Which rows are decidable is fixed; only the order is random."""
    orders, counts = all_orders(6, 3)
    change = counts[:, -1, BASELINE] - counts[:, -1, CHALLENGER]
    some = counts[:, -1, NEITHER] > 0
    undecided = np.where(orders == NEITHER, UNDECIDED, orders)[some]
    paths = [bounds_after(pair_of(6, alpha=0.2), order).decidable.path for order in undecided]
    assert worst_share(ever_outside(paths, change[some]), counts[some, -1]) <= 0.2


def test_blanks_at_the_end_are_not_read():
    codes = [CHALLENGER, BLANK, BASELINE]
    found = bounds_after(pair_of(20), [*codes, BLANK, BLANK])
    assert found.n_read == 3
    assert found.n_blank == 1
    assert found.path.tolist() == bounds_after(pair_of(20), codes).path.tolist()


def test_pairs_that_need_no_labels_take_no_share():
    assert shared_level(0.95, 1000, [100, 10, 50, 0, 11]) == pytest.approx(
        [0.05 / 3, 0, 0.05 / 3, 0, 0.05 / 3]
    )
    assert shared_level(0.95, 1000, [100]) == [0.05]
    assert shared_level(0.95, 1000, [10, 3]) == [0.0, 0.0]
    assert shared_level(0.95, 1000, [100, 30], margin=0.05) == [0.05, 0.0]


def test_many_rows_are_bounded_without_enumeration(rng):
    codes = rng.integers(0, 2, 5000)
    found = bounds_after(Pair(10**7, 10**6, True, 0.05), codes)
    share = np.mean(codes == CHALLENGER)
    middle, width = (found.low + found.high) / 2e6, (found.high - found.low) / 2e6
    assert middle == pytest.approx(1 - 2 * share, abs=0.01)
    # The standard error is 1 / sqrt(5000); the price of looking after every label is moderate.
    assert 2 / np.sqrt(5000) < width < 4 / np.sqrt(5000)
    three = bounds_after(Pair(10**7, 10**6, False, 0.05), codes)
    assert found.high - found.low < three.high - three.low < 1.3 * (found.high - found.low)


# --- Forecasts ------------------------------------------------------------------------------------


def needed_in_simulation(rng, pair, wins, n_draws):
    """Return how many labels ``bounds_after`` needs where the share is drawn as in a forecast."""
    needed = []
    for _ in range(n_draws):
        prior = np.array(wins) / error_bounds.DESIGN_EFFECT + 0.5
        n_outcomes = 2 if pair.two_outcomes else 3
        share = rng.dirichlet(prior[:n_outcomes])
        codes = rng.choice(n_outcomes, pair.n_different, p=share)
        needed.append(bounds_after(pair, codes).labels_needed)
    return np.array(needed)


@pytest.mark.parametrize("two_outcomes", [True, False])
@pytest.mark.parametrize("wins", [(0, 0, 0), (9, 3, 2)])
def test_about_eight_of_ten_need_as_many_labels_as_forecast(rng, two_outcomes, wins):
    pair = pair_of(60, two_outcomes)
    expected = forecast(pair, wins=wins, n_draws=1000)
    needed = needed_in_simulation(rng, pair, wins, 150)
    inside = np.mean((expected.low <= needed) & (needed <= expected.high))
    assert 0.7 <= inside <= 0.95
    assert expected.not_worse_low <= expected.low
    assert expected.not_worse_high <= expected.high


def test_a_forecast_goes_down_with_labels_and_ends_at_none():
    pair = pair_of(100)
    first = forecast(pair, wins=(12, 4))
    later = forecast(pair, [CHALLENGER] * 6, wins=(12, 4))
    assert later.high < first.high
    settled = forecast(pair, [CHALLENGER] * 20, wins=(12, 4))
    assert settled == error_bounds.Forecast(0, 0, 0, 0)
    assert forecast(pair_of(10)) == settled
    assert forecast(pair, wins=(12, 4)) == first


def test_a_forecast_for_many_rows_looks_at_some_numbers_of_labels():
    expected = forecast(Pair(10**7, 10**6, True, 0.05), wins=(30, 10))
    assert 1 <= expected.low <= expected.high < 10**6
    assert len(error_bounds._looks(10**6)) <= error_bounds.MAX_LOOKS + 2


def test_unknowns_delay_what_is_forecast():
    codes = [CHALLENGER, UNDECIDED] * 10
    known = forecast(pair_of(100), [CHALLENGER] * 10, wins=(12, 4))
    assert forecast(pair_of(100), codes, wins=(12, 4)).high >= known.high


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            (10, 11, True, 0.05),
            "n_different must be from 0 to n_rows, and n_rows at least 1, got 11 of 10",
        ),
        ((0, 0, True, 0.05), "got 0 of 0"),
        ((10, 5, True, 1.0), "alpha must be at least 0 and below 1, got 1.0"),
        ((10, 5, True, np.nan), "alpha must be at least 0 and below 1, got nan"),
        ((10, 5, True, 0.05, -1), "margin must not be negative, got -1"),
    ],
)
def test_pairs_that_cannot_be_are_refused(values, text):
    with pytest.raises(ValueError, match=text):
        Pair(*values)


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ([0] * 6, "differ on 5 rows, but there are 6 outcomes"),
        ([0, 5], "a code from 0 to 4, got 5"),
        ([0, 1, NEITHER], "Neither model is right on row 2 of the order.*use two_outcomes=False"),
    ],
)
def test_outcomes_that_cannot_be_are_refused(codes, text):
    with pytest.raises(ValueError, match=text):
        bounds_after(pair_of(5), codes)


def test_a_level_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"level must be above 0 and at most 1, got 1\.5"):
        shared_level(1.5, 10, [5])
