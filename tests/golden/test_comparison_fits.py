"""Comparisons, settlements and commands leave behind what they left behind before."""

import pytest

from golden import comparison_fits

AGAIN = "On purpose? python tests/golden/comparison_fits.py writes the records anew."


@pytest.mark.parametrize("name", comparison_fits.RUNS)
def test_runs_are_as_recorded(name):
    changed = comparison_fits.changes(name)
    assert not changed, "\n".join([*changed[:20], AGAIN])


def test_every_record_belongs_to_a_run():
    stored = {path.name.removesuffix(".json.gz") for path in comparison_fits.FOLDER.iterdir()}
    assert stored == set(comparison_fits.RUNS)
