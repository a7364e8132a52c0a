"""Random number generators seeded by purpose, independent of the order of calls.

Any subset of an experiment, run anywhere and in any order, then gives the same numbers.
"""

import hashlib

import numpy as np


def rng_for(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return a generator for a purpose such as ``("cross-validation", "wdbc", 17)``."""
    name = "\x1f".join(str(part) for part in (seed, *purpose))
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
