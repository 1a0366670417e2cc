"""What is left of a message that its receiver has given up half-way, as a loss may make it do."""

import threading
from types import SimpleNamespace

import numpy as np

from course_lib.comm.errors import RankLost
from course_lib.comm.messages import envelope
from course_lib.comm.processes.memory.header import Header, describe
from course_lib.comm.processes.memory.layout import prepare, total_bytes
from course_lib.comm.processes.memory.renewed import RenewedChannels
from course_lib.comm.processes.memory.renewed_receiving import RenewedReceiving
from course_lib.comm.processes.memory.roll import Roll
from course_lib.comm.processes.memory.transfers import Sending, Wanted

SIZE = 4


def both_ends():
    """Return the sender's and the receiver's end of one ring, in this process."""
    memory = memoryview(bytearray(total_bytes(SIZE) + Roll.n_bytes(SIZE)))
    prepare(memory, SIZE)
    semaphores = [threading.Semaphore(1) for _ in range(2 * SIZE)]
    shared = SimpleNamespace(
        segment=SimpleNamespace(memory=memory), locks=semaphores[:SIZE], bells=semaphores[SIZE:],
        arena=None,
    )  # fmt: skip
    return RenewedChannels(shared, 0, 0).outlets(0)[1], RenewedChannels(shared, 1, 0).inlets(1)[0]


def test_one_look_takes_out_all_that_is_there_of_it():
    # Its sender may have put in the rest, and a message behind it, and returned: then nothing
    # wakes the receiver, which waits for that message, for another look.
    outlet, inlet = both_ends()
    message = np.zeros(9 * outlet.largest_step // 2, np.uint8)  # a ring holds four steps
    sent = envelope(None, message.dtype, message.shape, "numpy")
    header = Header(len(describe(sent)), True, True, 0, 8, 1, message.nbytes, 0.0, 0)
    going = Sending(outlet, message, describe(sent), header)
    coming = RenewedReceiving(inlet, SimpleNamespace(_me=1, name="world"), Wanted(8, 0))

    going.advance(0)
    inlet.head = outlet.head
    assert coming.advance(set())
    assert not coming.done
    coming.leave(RankLost("another rank is lost"))
    inlet.left = coming
    while going.is_half_way:
        outlet.tail = inlet.tail
        assert going.advance(0)
    assert outlet.put_small(bytes(8), describe(sent), 8, 2, 0.0, 0)

    inlet.head = outlet.head
    assert inlet.between_messages
    assert inlet.left is None
    assert inlet.peek().number == 2
