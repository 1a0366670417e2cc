"""A message that is there before its receive is posted is opened early; nobody may notice."""

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import MessageMismatchError
from course_lib.comm.simulated.networks import Network

NETWORK = Network("slow", latency_s=5.0, bandwidth_bytes_per_s=8.0, flops_per_s=1.0)


def receive_late(comm, out, op, tag=None):
    """Rank 1 posts its receive at 2 s, when the message is on its way; it arrives at 8 s."""
    if comm.rank == 0:
        x = np.array([1.0, 5.0, 3.0])
        comm.send(x, dst=1, tag="x")
        x[:] = -1.0  # the message has been copied
        return None
    with comm.compute("wait", flops=2.0):
        pass
    received = comm.recv(src=0, out=out, op=op, tag=tag)
    assert received is out
    return out.tolist(), comm.clock()


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (None, [1.0, 5.0, 3.0]),
        ("sum", [3.0, 7.0, 5.0]),
        ("max", [2.0, 5.0, 3.0]),
        ("min", [1.0, 2.0, 2.0]),
    ],
)
@pytest.mark.parametrize("tag", [None, "x"])
def test_it_is_combined_once_and_received_when_it_arrives(op, expected, tag):
    result = run(
        receive_late, np.full(3, 2.0), op, tag, workers=2, backend="simulated", network=NETWORK
    )
    assert result.values[1] == (expected, 8.0)
    (message,) = result.trace.messages
    assert (message.arrived_s, message.received_s) == (8.0, 8.0)


@pytest.mark.parametrize(
    ("out", "tag", "what"),
    [
        (np.zeros(2), None, "shape"),
        (np.zeros(3, "f4"), None, "dtype"),
        (np.zeros(3), "y", "tags"),
    ],
)
def test_what_does_not_fit_is_told_when_it_arrives_and_not_before(out, tag, what):
    with pytest.raises(MessageMismatchError, match=what) as raised:
        run(receive_late, out, None, tag, workers=2, backend="simulated", network=NETWORK)
    (fault,) = raised.value.trace.faults
    assert fault.time_s == 8.0
    assert raised.value.rank == 1
