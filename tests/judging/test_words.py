"""Verdicts in words."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primum.judging.difference import Difference, Disagreement, Posterior
from primum.judging.losses import Measure
from primum.judging.words import (
    Alert,
    JudgedSample,
    percent,
    percent_of_level,
    quoted,
    rounded_up,
    verdict_of,
    withheld,
)


def verdict(mean, error, **options):
    posterior = Posterior(Difference(mean, error, 99, 100))
    return verdict_of(posterior, method="the safe stack", baseline="ridge", **options)


def test_help():
    found = verdict(-0.1, 0.02)
    assert found.answer == "help"
    assert found.text.startswith("The safe stack is better than ridge: its error is about 9.")
    assert "points lower (90% interval -12" in found.text
    assert found.text.endswith(" points, probability above 99%).")
    assert found.n_labels_to_settle is None


def test_harm():
    found = verdict(0.1, 0.02)
    assert found.answer == "harm"
    assert "is worse than ridge: its error is about 9." in str(found)


def test_no_difference():
    found = verdict(0.001, 0.002)
    assert found.answer == "no_difference"
    assert "differ in error by less than 1 point, which makes no practical" in found.text


def test_cannot_tell():
    found = verdict(-0.02, 0.03)
    assert found.answer == "cannot_tell"
    assert found.text.startswith("With 100 labelled rows we cannot tell whether the safe stack is")
    assert "more rows at random would settle it" in found.next_step
    assert found.n_labels_to_settle > 100


def test_what_is_probable_is_said_though_it_is_not_clear():
    found = verdict(-0.035, 0.018)
    assert found.answer == "cannot_tell"
    share = percent(found.probabilities.help)
    assert found.text.startswith(f"The safe stack is probably better ({share}) than ridge, but")
    assert "with 100 labelled rows this is not certain: the error may change by" in found.text
    worse = verdict(0.035, 0.018).text
    assert worse.startswith(f"The safe stack is probably worse ({share}) than ridge, but with")
    same = verdict(0.0, 0.008).text
    assert same.startswith("The safe stack and ridge probably (8")


@given(st.floats(-0.3, 0.3), st.floats(1e-4, 0.2), st.floats(0.5, 0.999))
def test_the_interval_agrees_with_the_answer(mean, error, level):
    """What is claimed holds in the whole interval, so 0 is never in that of a clear help."""
    found = verdict(mean, error, level=level)
    low, high = found.interval
    assert found.interval_level == pytest.approx(2 * level - 1)
    tolerance = 1e-6
    assert found.answer != "help" or high <= -0.01 + tolerance
    assert found.answer != "harm" or low >= 0.01 - tolerance
    if found.answer == "no_difference":
        assert low >= -0.01 - tolerance
        assert high <= 0.01 + tolerance


def test_names_of_users_are_not_changed():
    posterior = Posterior(Difference(-0.1, 0.02, 99, 100))
    found = verdict_of(posterior, method=quoted("icls"), baseline="ridge")
    assert found.text.startswith('"icls" is better than ridge')


def test_the_level_decides():
    assert verdict(-0.03, 0.015).answer == "cannot_tell"
    assert verdict(-0.03, 0.015, level=0.8).answer == "help"


def test_as_plain_values():
    found = json.loads(json.dumps(verdict(-0.1, 0.02).to_dict()))
    assert found["answer"] == "help"
    assert sum(found["probabilities"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("settle", "text"),
    [
        (101, "Labelling about 1 more row at random would"),
        (121, "Labelling about 21 more rows at random would settle it, if the estimate stays"),
        (1234, "Labelling about 1,200 more rows at random would settle it"),
        (None, "Labelling more rows at random would probably not settle which is better."),
    ],
)
def test_numbers_of_labels_are_round(settle, text):
    assert JudgedSample(100, n_unlabeled=5000).settling(settle).startswith(text)


@given(
    st.integers(2, 500),
    st.integers(1, 60_000),
    st.none() | st.integers(0, 2000),
    st.booleans(),
)
def test_no_number_is_printed_that_cannot_be_labelled(now, settle, n_unlabeled, grouped):
    """Neither of rows nor of groups; without unlabelled rows, more can be collected."""
    sample = JudgedSample(now, n_groups=now if grouped else None, n_unlabeled=n_unlabeled)
    possible = sample.to_settle(now, settle)
    numbers = [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", sample.settling(possible))]
    assert len(numbers) == (possible is not None)
    if n_unlabeled:
        assert all(number <= n_unlabeled for number in numbers)
        assert possible is not None or rounded_up(settle - now) > n_unlabeled


def test_groups_are_not_called_rows():
    sample = JudgedSample(36, 36, 22, 3600)
    posterior = Posterior(Difference(-0.02, 0.03, 21, 22))
    found = verdict_of(posterior, sample=sample)
    assert found.text.startswith("With 36 labelled rows in 22 groups we cannot tell")
    assert "more groups at random would settle it" in found.text
    assert found.n_labels_to_settle > 22


def test_rows_that_no_split_holds_out_are_counted_as_labelled():
    """The forecast is scaled from the rows that are held out to all that have to be labelled."""
    posterior = Posterior(Difference(-0.02, 0.03, 27, 28))
    found = verdict_of(posterior, sample=JudgedSample(36, 28))
    assert found.text.startswith("With 36 labelled rows, of which 28 are held out, we cannot tell")
    assert found.n_labels_to_settle == -(-posterior.labels_to_settle() * 36 // 28)


def test_ranges_have_signs_except_zero():
    assert Measure().show_range(-5e-18, 0.012) == "0.0 to +1.2 points"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-0.0002, 0.0003, "-0.1 to +0.1 points"),
        (0.0101, 0.0104, "+1.0 to +1.1 points"),
        (0.0, 0.0, "0.0 to 0.0 points"),
        (0.012, 0.012, "+1.2 to +1.2 points"),
    ],
)
def test_ends_of_a_range_are_not_rounded_away(low, high, shown):
    assert Measure().show_range(low, high) == shown


@pytest.mark.parametrize(("margin", "digits"), [(0.24, 2), (1.2, 1), (240.0, 0), (0.01, 3), (0, 0)])
def test_digits_show_a_tenth_of_the_margin(margin, digits):
    whole = Measure("RMSE", " EUR", 1.0, 0)
    assert whole.in_steps_of(margin).digits == digits
    assert Measure().in_steps_of(0.01) == Measure()
    posterior = Posterior(Difference(0.1, 0.2, 49, 50), equivalence=0.02, baseline_loss=12.0)
    text = verdict_of(posterior, measure=whole).text
    assert re.search(r"the RMSE may change by -0\.\d\d to \+0\.\d\d EUR", text)


def test_whole_numbers_of_rows_are_counted_on_any_version_of_python():
    both = Disagreement(12, 2, 0, 80, 1000, 0.8, 2)  # ints, which had no is_integer before 3.12
    text = verdict_of(Posterior(Difference(-0.1, 0.04, 99, 100), both)).text
    assert "They differ on 14 of 100 held-out rows, of which the method gets 12 right" in text
    assert percent_of_level(0.975) == "97.5%"
    assert [percent_of_level(one) for one in (0, 1, 0.9999, 0.00002)] == [
        *("0%", "100%", "99.99%", "0.002%")
    ]


def test_limits_have_no_digits_that_they_do_not_need():
    assert [Measure().show_limit(x) for x in (0.01, 0.025)] == ["1 point", "2.5 points"]
    assert Measure("Brier score", "", 1.0, 3).show_limit(0.01) == "0.01"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0%"), (0.001, "below 1%"), (0.5, "50%"), (0.999, "above 99%"), (1, "100%")],
)
def test_certainty_is_not_rounded_up(value, text):
    assert percent(value) == text


def test_an_alert_withholds_every_claim_and_says_what_it_would_assume():
    alert = Alert("copies", "Copies!", withholds=True, assumes="no rows belong together")
    for mean in (-0.2, 0.2, 0.0):
        claim = verdict_of(Posterior(Difference(mean, 0.001, 99, 100)))
        assert claim.answer != "cannot_tell"
        left = withheld(claim, [Alert("drift", "They differ."), alert])
        assert left.answer == "cannot_tell"
        assert left.text == f"If no rows belong together: {claim.text}"
        assert withheld(claim, [Alert("drift", "They differ.")]) is claim
