"""Fits of every method but the safe choice are as recorded, digit for digit."""

import numpy as np
import pytest

from golden import recordings
from golden.method_fits import FITS, FITS_ON_DEVICES, PATH


def check(name):
    exact, fits = recordings.read(PATH)
    assert recordings.differences(recordings.recorded(FITS[name]), fits[name], exact=exact) == []


@pytest.mark.parametrize("name", [name for name in FITS if name not in FITS_ON_DEVICES])
def test_a_fit_is_as_recorded(name):
    check(name)


def test_every_recording_is_compared():
    assert recordings.read(PATH)[1].keys() == FITS.keys()


def test_a_recording_tells_the_last_digit():
    """A recording that does not change with a coefficient could not fail."""
    model, X = FITS["USM"]()
    before = recordings.recorded(lambda: (model, X))
    model.coef_ = model.coef_.copy()
    model.coef_[0, 0] = np.nextafter(model.coef_[0, 0], np.inf)
    after = recordings.recorded(lambda: (model, X))
    assert recordings.differences(after, before, exact=True) == ["coef_"]
    assert recordings.differences(after, before, exact=False) == []
    model.coef_[0, 0] += 1e-6 * np.abs(model.coef_).max()
    wrong = recordings.differences(recordings.recorded(lambda: (model, X)), before, exact=False)
    assert len(wrong) == 1
    assert wrong[0].startswith("coefficients, by 1.")
