"""Columns that look like identifiers, by their names and values."""

import numpy as np
import pytest

from primum.tables.columns import looks_like_identifier

SHUFFLED = np.random.default_rng(0).permutation(50) + 1000.0


@pytest.mark.parametrize(
    "name", ["id", "ID", "patient_id", "CustomerID", "patientId", "Row number", "case-nr", "index"]
)
def test_distinct_integers_with_such_a_name(name):
    assert looks_like_identifier(name, SHUFFLED)
    assert not looks_like_identifier(name, SHUFFLED + 0.5)
    assert not looks_like_identifier(name, np.r_[SHUFFLED, SHUFFLED[:1]])
    assert not looks_like_identifier(name, SHUFFLED[:20])


@pytest.mark.parametrize("name", ["width", "identity", "x1"])
def test_distinct_integers_in_order_with_any_name(name):
    assert looks_like_identifier(name, np.arange(50.0))
    assert looks_like_identifier(name, -np.arange(50.0))
    assert not looks_like_identifier(name, SHUFFLED)
    assert not looks_like_identifier(name, np.arange(50.0) // 2)
