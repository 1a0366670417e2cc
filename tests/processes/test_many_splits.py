"""A communicator may be split at every step of a long training: nothing grows with that."""

import gc

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import allreduce_two_level
from course_lib.comm.errors import UnreceivedMessagesWarning

MANY = 300  # more than are remembered each


@pytest.mark.slow
def test_communicators_that_nobody_uses_are_let_go():
    def grown(comm):
        def reduce_often(n_times):
            for _ in range(n_times):
                allreduce_two_level(comm, np.ones(10))
            gc.collect()
            return len(gc.get_objects())

        before = reduce_often(MANY)
        return reduce_often(100) - before

    objects = run(grown, workers=4, trace=False).values
    assert max(objects) < 50, objects  # at two splits a call, and several objects a communicator


def talk_in_many_parts(comm, n_heard, keeps):
    """Send a message in each of many parts of two; the last are not received."""
    parts = []
    for step in range(MANY):
        part = comm.split(0)
        if comm.rank == 0:
            part.send(np.ones(1), dst=1, tag="in a part")
        elif step < n_heard:
            part.recv(src=0)
        if comm.rank in keeps:
            parts.append(part)
    if comm.rank == 0:
        comm.send(np.ones(1), dst=1, tag="at last")
    elif n_heard == MANY:
        comm.recv(src=0)
    comm.barrier()


KEEPS = [(), (0,), (1,), (0, 1)]


@pytest.mark.parametrize("keeps", KEEPS)
def test_what_was_received_in_a_part_that_is_over_is_not_called_unreceived(keeps):
    run(talk_in_many_parts, MANY, keeps, workers=2, trace=False)  # a warning would be an error


@pytest.mark.parametrize("keeps", KEEPS)
@pytest.mark.parametrize("n_heard", [0, 1, MANY - 1])
def test_what_was_left_in_parts_that_are_over_is_counted(n_heard, keeps):
    with pytest.warns(UnreceivedMessagesWarning) as told:
        run(talk_in_many_parts, n_heard, keeps, workers=2, trace=False)
    n_left = MANY - n_heard
    text = str(told[0].message)
    assert text.startswith(f"{n_left + 1} unreceived messages: ")
    assert "1 message from rank 0 to rank 1 (tag='at last')" in text
    assert ("tag='unknown'" in text) == (n_heard < MANY - 1)
