"""Fits of the safe choice leave behind what they left behind before, digit for digit."""

import pytest

from golden import safe_fits
from golden.machine import differences, machine


@pytest.mark.parametrize("name", safe_fits.FITS)
def test_fits_are_as_recorded(name):
    expected, written_by = safe_fits.written(name)
    found = safe_fits.record(name)
    changed = list(differences(found, expected, exact=written_by == machine()))
    assert not changed, "\n".join(
        [*changed[:20], "On purpose? python tests/golden/safe_fits.py writes the records anew."]
    )


def test_every_record_belongs_to_a_fit():
    assert {path.stem for path in safe_fits.FOLDER.iterdir()} == set(safe_fits.FITS)


@pytest.mark.parametrize(
    ("found", "expected", "exact", "words"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-12]}, True, ["a[1] is 2.0, was 2.000000000001"]),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-12]}, False, []),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-7]}, False, ["a[1] is 2.0, was 2.0000001"]),
        ({"a": "yes"}, {"a": "no"}, False, ["a is 'yes', was 'no'"]),
        ({"a": 1}, {"a": 1, "b": 2}, False, ["b is only in the record"]),
        ({"a": 1, "b": 2}, {"a": 1}, False, ["b is only in the fit"]),
        ([1], [1, 2], False, [" is [1], was [1, 2]"]),
        (["b"], ["a", "b"], True, [" --- recorded", " +++ found", " @@ -1 +0,0 @@", " -a"]),
        (1, 1.0, False, [" is 1, was 1.0"]),
        (float("nan"), float("nan"), True, []),
    ],
)
def test_differences_are_named(found, expected, exact, words):
    assert list(differences(found, expected, exact=exact)) == words
