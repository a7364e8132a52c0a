"""Settings shared by all tests."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("primum", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("primum")


@pytest.fixture
def rng():
    return np.random.default_rng(20170301)
