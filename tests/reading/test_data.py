"""Rows below each other, whatever they are stored in."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from primum.reading.data import stack_rows

A, B = np.arange(6.0).reshape(3, 2), np.ones((1, 2))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix, pd.DataFrame])
@pytest.mark.parametrize("other", [np.asarray, sparse.csr_array])
def test_in_the_format_of_the_first(make, other):
    if make is pd.DataFrame and other is sparse.csr_array:
        pytest.skip("rows of a table are never sparse")
    stacked = stack_rows([make(A), other(B)])
    if sparse.issparse(stacked):
        stacked = stacked.toarray()
    np.testing.assert_array_equal(stacked, np.vstack([A, B]))


def test_columns_keep_their_names():
    frame = pd.DataFrame(A, columns=["a", "b"], index=[7, 8, 9])
    stacked = stack_rows([frame, B])
    assert stacked.columns.tolist() == ["a", "b"]
    assert stacked.index.tolist() == [0, 1, 2, 3]


def test_rows_are_not_copied_for_nothing():
    assert stack_rows([A, B[:0]]) is A
    assert stack_rows([A[:0], B[:0]]).shape == (0, 2)


def test_precision():
    assert stack_rows([A.astype(np.float32), B.astype(np.float32)]).dtype == np.float32
    assert stack_rows([A.astype(np.float32)], np.float64).dtype == np.float64
