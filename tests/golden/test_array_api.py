"""Fits of arrays on a device are what they were; ``make test`` runs them for themselves."""

import os

import pytest

from golden import test_method_fits
from golden.core_cases import CASES
from golden.method_fits import FITS_ON_DEVICES
from golden.test_core_fits import check
from primum._sklearn import ARRAY_API

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("SCIPY_ARRAY_API") != "1", reason="make test runs it, with SCIPY_ARRAY_API=1"
    ),
    pytest.mark.skipif(not ARRAY_API, reason="needs scikit-learn 1.9"),
]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.device])
def test_fits_on_a_device_are_as_recorded(name):
    pytest.importorskip("array_api_strict")
    check(name)


@pytest.mark.parametrize("name", FITS_ON_DEVICES)
def test_fits_of_many_rows_on_a_device_are_as_recorded(name):
    pytest.importorskip("array_api_strict")
    test_method_fits.check(name)
