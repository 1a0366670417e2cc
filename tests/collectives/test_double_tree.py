"""The double tree on the simulator: segments that do not wait make it as fast as it is said."""

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.collectives import allreduce_double_tree
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.measure.collectives import virtual_s

N_BYTES = 8_000_000
TWO_VECTORS_S = 2 * N_BYTES * networks.ethernet_10g.beta_s_per_byte


@pytest.mark.slow
@pytest.mark.parametrize("workers", [3, 4, 7, 8, 13, 16, 32])
def test_gradients_take_about_twice_their_bytes(workers):
    took_s = virtual_s(allreduce_double_tree, workers, N_BYTES, segments=None)
    assert TWO_VECTORS_S <= took_s <= 1.15 * TWO_VECTORS_S
    waiting_s = virtual_s(allreduce_double_tree, workers, N_BYTES, segments=4)
    assert workers < 7 or waiting_s > 1.5 * TWO_VECTORS_S


@pytest.mark.parametrize("shape", [(0,), (1,), (2048, 3), (4097,), (5000,), (3, 5000)])
def test_a_segment_waits_only_where_one_row_does(shape):
    def reduce(comm):
        allreduce_double_tree(comm, np.ones(shape), segments=None)

    trace = run(reduce, workers=4, backend="simulated").trace
    row_bytes = np.ones(shape[1:]).nbytes
    assert max(m.n_bytes for m in trace.messages) <= max(EAGER_BYTES, row_bytes)
