"""Verdicts in words."""

import json

import pytest

from primum.selection.statistics import Difference, Posterior
from primum.selection.wording import labels_sentence, percent, verdict_of


def verdict(mean, error, **options):
    posterior = Posterior(Difference(mean, error, 99, 100))
    return verdict_of(posterior, method="the safe stack", baseline="ridge", **options)


def test_help():
    found = verdict(-0.1, 0.02)
    assert found.answer == "help"
    assert found.text.startswith("The safe stack is better than ridge: its error is about 9.")
    assert "points lower (95 % interval -13" in found.text
    assert found.text.endswith("The probability of that is above 99 %.")
    assert found.n_labels_to_settle is None


def test_harm():
    found = verdict(0.1, 0.02)
    assert found.answer == "harm"
    assert "is worse than ridge: its error is about 9." in str(found)


def test_no_difference():
    found = verdict(0.001, 0.002)
    assert found.answer == "no_difference"
    assert "differ by less than 1.0 points of error, which makes no practical" in found.text


def test_cannot_tell():
    found = verdict(-0.02, 0.03)
    assert found.answer == "cannot_tell"
    assert found.text.startswith("With 100 labelled rows we cannot tell whether the safe stack is")
    assert "more labels would settle it" in found.text
    assert found.n_labels_to_settle > 100


def test_harm_may_be_ruled_out_before_help_is_shown():
    found = verdict(-0.025, 0.014)
    assert found.answer == "cannot_tell"
    assert "It is hardly worse (probability of harm" in found.text


def test_the_level_decides():
    assert verdict(-0.03, 0.015).answer == "cannot_tell"
    assert verdict(-0.03, 0.015, level=0.8).answer == "help"


def test_as_plain_values():
    found = json.loads(json.dumps(verdict(-0.1, 0.02).to_dict()))
    assert found["answer"] == "help"
    assert sum(found["probabilities"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("settle", "text"),
    [(121, "About 21 more"), (1234, "About 1200 more"), (None, "Even a hundred times")],
)
def test_numbers_of_labels_are_round(settle, text):
    assert labels_sentence(100, settle).startswith(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 %"), (0.001, "below 1 %"), (0.5, "50 %"), (0.999, "above 99 %"), (1, "100 %")],
)
def test_certainty_is_not_rounded_up(value, text):
    assert percent(value) == text
