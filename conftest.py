"""Settings shared by all tests."""

import gc
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from sklearn.base import BaseEstimator

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
# scikit-learn inspects the signature of a class whenever an object is cloned, checked or printed.
# That was a tenth of the time of all tests.
names_of = cache(BaseEstimator._get_param_names.__func__)
BaseEstimator._get_param_names = classmethod(lambda kind: list(names_of(kind)))


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
