"""Fits of the core are what they were: to the last digit where the machine that recorded them runs.

Elsewhere coefficients agree to 1e-8 of their size, classes are the same, and proofs are valid.
"""

import numpy as np
import pytest

from golden import core_fits
from golden.core_cases import CASES
from golden.machine import TOLERANCE, differences, machine

HOST = [
    pytest.param(name, marks=pytest.mark.slow if case.slow else ())
    for name, case in CASES.items()
    if not case.device
]


def check(name):
    """Compare a fit with its record."""
    records, written_by = core_fits.written()
    found, expected = core_fits.record_of(CASES[name]), records[name]
    if written_by == machine():
        changed = list(differences(found, expected, exact=True))
        assert not changed, "\n".join([*changed[:20], "On purpose? See make goldens."])
    else:
        assert_close(found, expected)


def assert_close(found, expected):
    """Compare what rounding leaves: models, classes, and whether the model is proven."""
    assert found["attributes"].keys() == expected["attributes"].keys()
    assert found.get("codes") == expected.get("codes")
    for name in ("coef_", "dual_coef_", "intercept_"):
        if name in expected:
            known = np.array(expected[name])
            scale = np.abs(np.array(expected.get("coef_", known))).max(initial=1e-300)
            np.testing.assert_allclose(found[name], known, rtol=0.0, atol=TOLERANCE * scale)
    converged = "certificate_.converged"
    assert found["attributes"].get(converged) == expected["attributes"].get(converged)


@pytest.mark.parametrize("name", HOST)
def test_fits_are_as_recorded(name):
    check(name)


def test_every_record_belongs_to_a_fit():
    records, _ = core_fits.written()
    assert records.keys() == CASES.keys()
    assert None not in records.values()


def test_other_machines_notice_another_model():
    records, _ = core_fits.written()
    known = records["two classes"]
    assert_close(known, known)
    moved = known | {"coef_": (np.array(known["coef_"]) * (1 + 1e-6)).tolist()}
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_close(moved, known)
