"""Small helpers for messages and tables of a terminal."""

import pytest

from primum._words import shortened


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
