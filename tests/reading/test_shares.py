"""One parser of class shares, with one rounding."""

import numpy as np
import pandas as pd
import pytest

from primum.reading.shares import SHARE_ROUNDING, class_shares, share_bounds
from primum.rows import LabeledRows

CLASSES = np.array(["a", "b"])
ROWS = LabeledRows(np.zeros((2, 1)), np.array([0.0, 1.0]), None)


def exact(prior):
    return class_shares(prior, CLASSES)


def bounded(prior):
    return share_bounds(prior, 0.95, CLASSES, ROWS, 10)[:, 0]


@pytest.mark.parametrize("read", [exact, bounded])
@pytest.mark.parametrize(
    "prior", [[0.3, 0.7], {"b": 0.7, "a": 0.3}, pd.Series({"b": 0.7, "a": 0.3})], ids=str
)
def test_shares_are_read_alike(read, prior):
    np.testing.assert_allclose(read(prior), [0.3, 0.7])


@pytest.mark.parametrize("read", [exact, bounded])
def test_the_same_rounding_is_accepted(read):
    shares = read([0.3, 0.7 + SHARE_ROUNDING / 2])
    assert shares.sum() == pytest.approx(1, abs=1e-15)
    with pytest.raises(ValueError, match="The shares of prior add up to"):
        read([0.3, 0.7 + 2 * SHARE_ROUNDING])


@pytest.mark.parametrize("read", [exact, bounded])
def test_unknown_classes_are_named(read):
    with pytest.raises(
        ValueError, match=r"prior names the class 'c', but the classes are \['a', 'b'"
    ):
        read({"a": 0.3, "c": 0.7})


@pytest.mark.parametrize("read", [exact, bounded])
def test_text_is_refused(read):
    with pytest.raises(ValueError, match=r"prior.* is .*: pass shares, numbers"):
        read(["many", 0.7])
