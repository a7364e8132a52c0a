"""Columns that look like identifiers are used, with a warning."""

import numpy as np
import pytest


@pytest.fixture(name="call")
def call_with_numbers(call_without_preparation):
    return call_without_preparation


def test_fit_warns_unless_told_what_the_column_is(call, rows, tmp_path):
    data = rows[:40].assign(patient=np.arange(40))
    data.to_csv("data.csv", index=False)
    fit = ("fit", "data.csv", "--target", "label", "--out", "model.skops")
    answer = call(*fit)
    assert answer.exit_code == 0
    assert "Warning: 'patient' of data.csv is used as a feature but looks like an" in answer.output
    assert "pass --id 'patient' or --exclude 'patient'" in answer.output
    for told in (("--id", "patient"), ("--exclude", "patient"), ("--features", "a,patient")):
        assert "identifier" not in call(*fit, *told).output


def test_only_the_rows_of_data_are_looked_at(call, rows):
    """Further rows may be numbered from 0 again."""
    numbered = rows.assign(patient=np.arange(500) % 40)
    numbered[:40].to_csv("data.csv", index=False)
    numbered[40:].drop(columns="label").to_csv("more.csv", index=False)
    answer = call(
        *("fit", "data.csv", "--target", "label", "--unlabeled", "more.csv"), "--out", "model.skops"
    )
    assert "'patient' of data.csv is used as a feature" in answer.output
