"""What is suspicious about a table."""

import numpy as np
import pandas as pd
import pytest

from primum.tables.problem import table_problem
from primum.tables.remarks import cell_codes, corresponds, right_alone

N, N_LABELED = 100, 40


def alerts(labels=("yes", "no"), **columns):
    rng = np.random.default_rng(0)
    y = np.array(labels, dtype=object)[np.arange(N) % len(labels)]
    y[N_LABELED:] = None
    given = {name: make(y) for name, make in columns.items()}
    frame = pd.DataFrame({"x": rng.normal(size=N), "kind": rng.choice(["a", "b"], N), **given})
    return [(alert.kind, alert.text) for alert in table_problem(frame.assign(y=y), "y").alerts]


def of(mapping):
    return lambda y: [mapping.get(label) for label in y]


def everywhere(mapping):
    """A column that all rows have, also those whose label is hidden."""
    return lambda y: [mapping[i % len(mapping)] for i in range(N)]


def test_nothing_is_said_of_a_usual_table():
    assert alerts() == []


@pytest.mark.parametrize(
    "copy",
    [
        everywhere(["yes", "no"]),
        everywhere([1, 0]),
        everywhere([pd.Timestamp("2024-05-01"), pd.Timestamp("2024-05-02")]),
    ],
)
def test_the_label_in_other_words_is_named(copy):
    ((kind, text),) = alerts(leak=copy)
    assert kind == "leak"
    assert text.startswith("The column 'leak' is the label in other words (values and classes corr")
    assert text.endswith("the model is for, exclude it (--exclude, in Python exclude).")


@pytest.mark.parametrize(
    "telling",
    [
        lambda y: np.arange(N) % 2 + 2 * (np.arange(N) % 6),  # the parity is the label
        lambda y: np.arange(N) % 2 + np.linspace(0, 0.5, N),  # numbers, none of which repeats
    ],
)
def test_evidence_is_shown_of_a_column_that_tells_what_no_other_does(telling):
    ((kind, text),) = alerts(leak=telling)
    assert kind == "leak"
    assert text.startswith(
        "The column 'leak' may give the label away: it alone predicts 40 of 40 labels correctly, "
        "and all other columns together "
    )


def test_measurements_that_tell_species_apart_are_no_leak():
    """Wings, weights and tails in whole units determine the species, each alone and all together.

    A column like them is no reason to suspect anything.
    """
    rng = np.random.default_rng(1)
    species = np.array(["cooper", "sharp", "red"], dtype=object)[np.arange(N) % 3]
    size = pd.Series(species).map({"cooper": 0, "sharp": 1, "red": 2}).to_numpy()
    frame = pd.DataFrame(
        {
            name: np.rint(step * (10 + 4 * size + rng.normal(size=N) / 3))
            for name, step in {"wing": 4, "weight": 20, "tail": 2}.items()
        }
    )
    hidden = np.arange(N) >= 60
    y = np.where(hidden, None, species)
    codes = size[~hidden].astype(int)
    for name in frame:
        assert right_alone(cell_codes(frame[name].to_numpy()[~hidden]), codes) >= 59
    assert table_problem(frame.assign(y=y), "y").alerts == []
    # One of them among columns that say nothing is worth the question.
    noise = {f"noise {i}": rng.normal(size=N) for i in range(3)}
    (alert,) = table_problem(frame[["wing"]].assign(**noise, y=y), "y").alerts
    assert "'wing' may give the label away" in alert.text


def test_columns_that_only_labelled_rows_have_are_named():
    ((_, text),) = alerts(grade=lambda y: [i % 7 if i < N_LABELED else None for i in range(N)])
    assert text.startswith(
        "The column 'grade' is empty in every unlabelled row. If it is not known"
    )
    both = {f"leak {i}": of({"yes": i, "no": -i}) for i in (1, 2)}
    ((_, text),) = alerts(**both)
    assert text.startswith("The columns 'leak 1', 'leak 2' are empty in every unlabelled row. If")


def test_labels_that_differ_in_case_only_are_named():
    ((kind, text),) = alerts(("yes", "no", "No", "Yes"))
    assert kind == "labels"
    assert "count as different classes: 'No' and 'no', 'Yes' and 'yes'. Correct" in text


def test_correspondence_needs_evidence():
    codes = np.arange(24) % 2
    assert corresponds(1 - codes, codes)
    assert not corresponds(np.arange(24) % 4, codes)
    assert not corresponds(codes[:20], codes[:20])  # 18 bits


def test_a_row_does_not_vote_for_itself():
    apart = cell_codes(np.array([0.0, 1.0, 10.0, 11.0]))
    assert right_alone(apart, np.array([0, 0, 1, 1])) == 4
    assert right_alone(apart, np.array([0, 1, 0, 1])) == 0
    names = cell_codes(np.array(["a", "b", "c", None], dtype=object))
    assert right_alone(names, np.array([0, 0, 1, 1])) == 0
    missing = cell_codes(np.array([np.nan, np.nan, 1.0, 2.0]))
    assert right_alone(missing, np.array([0, 0, 1, 1])) == 4
    # As near to both sides: the votes of both count.
    assert right_alone(cell_codes(np.array([0.0, 1.0, 2.0])), np.array([0, 1, 0])) == 0


def test_labelled_rows_with_the_same_identity_are_counted():
    frame = pd.DataFrame(
        {"x": np.random.default_rng(0).normal(size=N), "y": ["a", "b", None, None] * 25}
    ).assign(key=[f"k{min(i, 90)}" for i in range(N)], patient="p")
    (alert,) = table_problem(frame, "y", id="key").alerts
    assert alert.kind == "groups"
    assert not alert.withholds
    assert alert.text.startswith("4 of the 50 labelled rows share their value of the id column")
    assert table_problem(frame, "y", id="key", group="patient").alerts == []
    assert table_problem(frame, "y", id="key", independent_rows=True).alerts == []
