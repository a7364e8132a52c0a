"""Memory of blocks is used again, but never that of a block that is still in use."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from primum.rows.base import BlockMemory


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again():
    memory = BlockMemory()
    first = address(memory.empty(4, 3))
    assert address(memory.empty(4, 3)) == first
    assert address(memory.empty(2, 3)) == first
    assert memory.empty(5, 3).shape == (5, 3)


def test_a_block_in_use_is_not_overwritten():
    memory = BlockMemory()
    kept = []
    for k in range(3):
        block = memory.empty(4, 3)
        block[:] = k
        kept.append(block.T[1:])
        del block
    np.testing.assert_array_equal([part[0, 0] for part in kept], [0, 1, 2])


def test_threads_do_not_share_memory():
    memory = BlockMemory()
    here = memory.empty(2, 2)
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(memory.empty, 2, 2).result()
    assert not np.shares_memory(here, there)
