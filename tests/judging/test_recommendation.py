"""What is recommended: the largest expected gain among models that can hardly do harm."""

from dataclasses import replace

import numpy as np
import pytest

from primum.judging.difference import Difference, Disagreement, Posterior, Probabilities
from primum.judging.recommendation import MAX_DOUBT, recommend
from primum.judging.words import verdict_of


def verdict(better, worse, n_different=200, **options):
    """Return the verdict on a method that alone is right on some rows, the baseline on others."""
    counts = float(better), float(worse), 0.0
    disagreement = Disagreement(*counts, n_different, 1000, 0.8, 2)
    mean = (worse - better) / 100
    return verdict_of(Posterior(Difference(mean, 0.05, 99, 100), disagreement), **options)


def test_a_safe_stack_needs_only_to_be_more_likely_to_help_than_to_harm():
    leading, behind, even = verdict(6, 4), verdict(4, 6), verdict(5, 5)
    assert leading.answer == "cannot_tell"
    assert recommend({"stack": leading}, ["stack"]) == "stack"
    assert recommend({"stack": leading}) is None
    assert recommend({"stack": behind}, ["stack"]) is None
    assert recommend({"stack": even}, ["stack"]) is None


@pytest.mark.parametrize("n_others", [1, 4, 20])
def test_the_thresholds_of_other_methods_depend_on_their_number(n_others):
    even = verdict(3, 3)
    others = {f"other {number}": even for number in range(n_others - 1)}
    rest = {"stack": even, **others}  # the stack is none of the others
    sure = verdict(60, 1, level=0.9999)
    for help_, harm, expected in (
        (1 - 0.1 / n_others, 0.05 / n_others, "own"),
        (1 - 0.11 / n_others, 0.05 / n_others, None),
        (1 - 0.09 / n_others, 0.06 / n_others, None),
    ):
        odds = Probabilities(help_, 1 - help_ - harm, harm)
        own = replace(sure, probabilities=odds, answer="cannot_tell")
        assert recommend({**rest, "own": own}, ["stack"]) == expected


@pytest.mark.parametrize("count", [0, 1, 3, 10, 40])
@pytest.mark.parametrize("n_different", [12, 200, 900])
def test_an_even_count_is_no_reason_for_a_stack_and_a_third_of_a_row_is_one(count, n_different):
    """With three repeats, a row that is held out three times counts by thirds."""
    assert recommend({"stack": verdict(count, count, n_different)}, ["stack"]) is None
    if n_different > 12:
        assert recommend({"stack": verdict(count + 1 / 3, count, n_different)}, ["stack"])


def test_harm_that_is_not_improbable_rules_a_method_out():
    risky = verdict(30, 1)
    odds = replace(risky.probabilities, help=0.94, no_difference=0.0, harm=0.06)
    risky = replace(risky, probabilities=odds, answer="cannot_tell")
    assert recommend({"own": risky}) is None
    assert recommend({"own": risky}, safe=["own"]) == "own"
    odds = replace(odds, no_difference=0.02, harm=0.04)
    assert recommend({"own": replace(risky, probabilities=odds)}) == "own"


def test_of_all_that_qualify_the_largest_estimated_gain_is_recommended():
    small, large = verdict(20, 3), verdict(40, 3, n_different=400)
    assert large.change < small.change < 0
    for names in (("a", "b"), ("b", "a")):
        verdicts = dict(zip(names, (small, large), strict=True))
        assert recommend(verdicts, names) == names[1]
    assert small.answer == "help"  # a claim does not outweigh a larger gain of a safe stack
    unproven = replace(large, answer="cannot_tell")
    assert recommend({"proven": small, "stack": unproven}, ["stack"]) == "stack"


def test_a_claim_of_help_is_always_enough():
    claimed = verdict(16, 8, level=0.8)
    assert claimed.answer == "help"
    assert claimed.probabilities.help < 1 - MAX_DOUBT / 3
    rest = {"a": verdict(3, 3), "b": verdict(3, 3)}
    assert recommend({**rest, "own": claimed}) == "own"


def test_the_baseline_is_used_where_nothing_matters_or_claims_are_withheld():
    same = verdict(60, 59, n_different=30)
    assert same.answer == "no_difference"
    assert same.probabilities.help > same.probabilities.harm
    assert recommend({"stack": same}, ["stack"]) is None
    few = verdict(3, 0, n_different=10)  # one row in a hundred: no practical difference here
    assert few.answer == "cannot_tell"
    assert few.probabilities.help > few.probabilities.harm
    assert recommend({"stack": few}, ["stack"]) is None
    assert recommend({"stack": few}, ["stack"], equivalence=0.005) == "stack"
    assert recommend({"stack": verdict(60, 1)}, ["stack"], withheld=True) is None
    assert recommend({}) is None


def test_losses_other_than_the_error_have_no_rows_on_which_models_differ():
    numbers = Posterior(Difference(-0.03, 0.02, 40, 60), equivalence=0.02, baseline_loss=1.0)
    probable = verdict_of(numbers)
    assert probable.answer == "cannot_tell"
    assert recommend({"stack": probable}, ["stack"], equivalence=0.02) == "stack"
    assert recommend({"stack": probable}) is None
    wide = Posterior(numbers.difference, equivalence=0.5, baseline_loss=1.0)
    assert recommend({"stack": verdict_of(wide)}, ["stack"]) is None
    none = Posterior(numbers.difference, equivalence=0.0, baseline_loss=1.0)
    assert np.isclose(verdict_of(none).probabilities.no_difference, 0)
    assert recommend({"stack": verdict_of(none)}, ["stack"], equivalence=0.0) == "stack"
