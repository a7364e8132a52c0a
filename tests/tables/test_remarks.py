"""What is suspicious about a table."""

import numpy as np
import pandas as pd
import pytest

from primum.tables.problem import table_problem
from primum.tables.remarks import determined_bits

N, N_LABELED = 100, 40


def remarks(labels=("yes", "no"), **columns):
    rng = np.random.default_rng(0)
    y = np.array(labels, dtype=object)[np.arange(N) % len(labels)]
    y[N_LABELED:] = None
    given = {name: make(y) for name, make in columns.items()}
    frame = pd.DataFrame({"x": rng.normal(size=N), "kind": rng.choice(["a", "b"], N), **given})
    return table_problem(frame.assign(y=y), "y").remarks


def of(mapping):
    return lambda y: [mapping.get(label) for label in y]


def test_nothing_is_said_of_a_usual_table():
    assert remarks() == []


@pytest.mark.parametrize(
    "copy",
    [
        of({"yes": "yes", "no": "no"}),
        of({"yes": 1, "no": 0}),
        of({"yes": pd.Timestamp("2024-05-01"), "no": pd.Timestamp("2024-05-02")}),
        lambda y: np.arange(N) % 2 + 2 * (np.arange(N) % 6),  # the parity is the label
    ],
)
def test_a_column_that_gives_the_label_away_is_named(copy):
    (sentence,) = remarks(leak=copy)
    assert sentence.startswith("The column 'leak' determines the label of every labelled row: if")


def test_a_column_that_only_labelled_rows_have_is_named():
    (sentence,) = remarks(grade=lambda y: [i % 7 if i < N_LABELED else None for i in range(N)])
    assert sentence.startswith("The column 'grade' is empty in every unlabelled row: if it is")
    both = {f"leak {i}": of({"yes": i, "no": -i}) for i in (1, 2)}
    assert remarks(**both)[0].startswith("Each of the columns 'leak 1', 'leak 2' determines")


def test_labels_that_differ_in_case_only_are_named():
    (sentence,) = remarks(("yes", "no", "No", "Yes"))
    assert "count as different classes: 'No' and 'no', 'Yes' and 'yes'. Correct" in sentence


def test_bits_of_a_column():
    assert determined_bits(list("aabb"), [0, 0, 1, 1]) == 2
    assert determined_bits(list("abcd"), [0, 0, 1, 1]) == 0
    assert determined_bits(list("aaab"), [0, 0, 1, 1]) == 0


def test_labelled_rows_with_the_same_identity_are_counted():
    frame = pd.DataFrame(
        {"x": np.random.default_rng(0).normal(size=N), "y": ["a", "b", None, None] * 25}
    ).assign(key=[f"k{min(i, 90)}" for i in range(N)], patient="p")
    (sentence,) = table_problem(frame, "y", id="key").remarks
    assert sentence.startswith("4 of the 50 labelled rows share their value of the id column 'key'")
    assert table_problem(frame, "y", id="key", group="patient").remarks == []
