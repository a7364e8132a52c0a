"""Settings shared by all tests."""

import gc

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# No test may fail because the machine is busy.
settings.register_profile(
    "primum",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("primum")
# Hypothesis also draws constants of all modules in the project that happen to be imported, so that
# examples would depend on the other tests of a process, in spite of `derandomize`.
NO_CONSTANTS = getattr(providers, "_local_constants", None)
providers._get_local_constants = lambda: NO_CONSTANTS


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Hide modules and collected tests from the garbage collector: visiting them took a sixth."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture
def rng():
    return np.random.default_rng(20170301)


@pytest.fixture
def quick_drift(monkeypatch):
    """Look for drift by a logistic regression alone: the forest takes a quarter of a comparison."""
    from primum.judging import drift

    classifiers = drift._classifiers
    monkeypatch.setattr(drift, "_classifiers", lambda seed: classifiers(seed)[:1])
