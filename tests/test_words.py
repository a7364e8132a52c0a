"""Small helpers for messages and tables of a terminal."""

import pytest

from primum._words import shortened, suggestion


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ICLS", "ICLS"),
        ("exactly 18 letters", "exactly 18 letters"),
        ("hist_gradient_boosting", "hist_gradient_b..."),  # a single word, and not only dots
        ("self-learning with boosting", "self-learning w..."),
        ("self-learning, m boosting", "self-learning,..."),
    ],
)
def test_a_long_name_keeps_its_beginning(text, expected):
    assert shortened(text, 18) == expected


NAMES = ["safe-stack", "tsvm", "forest", "boosting", "hist-gradient-boosting", "catboost", "lda"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("boost", "boosting"),
        ("boosted", "boosting"),
        ("gradient", "hist-gradient-boosting"),
        ("safe", "safe-stack"),
        ("svm", "tsvm"),
        ("forrest", "forest"),
        ("ld", "lda"),
        ("xyz", None),
        ("", None),
    ],
)
def test_names_that_begin_alike_are_suggested_first(name, meant):
    assert suggestion(name, NAMES) == (f" (did you mean {meant!r}?)" if meant else "")
    assert suggestion(name, []) == ""
