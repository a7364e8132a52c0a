"""The rooms of the core stay readable: few helpers with one caller, no endless page."""

import importlib.util
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1] / ".ci" / "house.py"
# Lower it whenever there are fewer.
MOST_HELPERS = 55


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", HOUSE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_few_functions_are_used_once_and_named_by_no_test(house):
    found = house.helpers()
    assert len(found) <= MOST_HELPERS, "\n".join(f"{place}: {n} lines" for place, n in found)


def test_no_function_and_no_file_is_endless(house):
    assert house.too_long() == []
