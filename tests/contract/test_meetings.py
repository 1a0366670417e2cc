"""A barrier, a split or a shared array has one outcome for all ranks, in every world."""

import re

import numpy as np
import pytest

from course_lib.comm.errors import MessageMismatchError, SharedMemoryFull


def told(call):
    """Return the name and the text of the error that a call raises."""
    try:
        call()
    except (MessageMismatchError, SharedMemoryFull) as error:
        return type(error).__name__, str(error), error.rank
    return None


def test_ranks_that_disagree_all_hear_the_same_and_go_on(world):
    def work(comm):
        heard = [
            told(lambda: comm.barrier() if comm.rank != 1 else comm.split(0)),
            told(lambda: comm.split(0) if comm.rank == 3 else comm.shared_array(2)),
            told(lambda: comm.shared_array(3 if comm.rank < 2 else 4)),
            told(lambda: comm.shared_array(3, "f8" if comm.rank else "i8")),
            told(lambda: comm.shared_array(2**50)),
        ]
        pair = comm.split(comm.rank % 2)  # the first split that all have called
        theirs = pair.sendrecv(np.array([comm.rank]), 1 - pair.rank, 1 - pair.rank)
        comm.barrier()
        return heard, pair.name, theirs.tolist(), comm.shared_array(2).tolist()

    values = world(work, workers=4).values
    heard = values[0][0]
    assert [value[0] for value in values] == [heard] * 4
    verbs, later_verbs, shapes, dtypes, full = heard
    assert verbs[:2] == (
        "MessageMismatchError",
        "rank 1 calls split() where rank 0 calls barrier(); all ranks must call barrier, split and "
        "shared_array in the same order",
    )
    assert "rank 3 calls split() where rank 0 calls shared_array()" in later_verbs[1]
    assert "rank 0 asks for dtype float64 and shape (3,), rank 2 for dtype float64" in shapes[1]
    assert "rank 0 asks for dtype int64 and shape (3,), rank 1 for dtype float64" in dtypes[1]
    assert full[0] == "SharedMemoryFull"
    assert re.search(r"shared_array needs [\d,]{10,} bytes of shared memory, ", full[1])
    assert [value[1:] for value in values] == [
        (f"world/split 1 color {rank % 2}", [(rank + 2) % 4], [0.0, 0.0]) for rank in range(4)
    ]


def test_an_uncaught_one_names_the_rank_that_is_elsewhere(both_worlds):
    def work(comm):
        pair = comm.split(comm.rank // 2)
        if comm.rank == 3:
            pair.barrier()
        else:
            pair.split(0)

    for world in both_worlds:
        with pytest.raises(MessageMismatchError, match="rank 3 calls barrier") as raised:
            world(work, workers=4)
        assert "on 'world/split 1 color 1' where rank 2 calls split()" in str(raised.value)
