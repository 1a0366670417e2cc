"""A message that is refused has been received: it is gone, and all goes on, in every world."""

import time
import warnings

import numpy as np
import pytest

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.comm.errors import CollectiveMismatchError, MessageMismatchError

SIZES = (3, 3_000, 400_000)  # small, one that waits for its receive, larger than a ring


def refused(call):
    """Return the name of the error that a receive raises, or what it returned."""
    try:
        return call().tolist()
    except (MessageMismatchError, FloatingPointError) as error:
        return type(error).__name__


def ways_to_refuse(n):
    """List ``recv``'s arguments for a message of n zeros with tag 1, and what ``out`` is then."""
    return [
        {"tag": 2},
        {"out": np.full(n, 7, "f4")},
        {"out": np.full(n + 1, 7.0)},
        {"out": np.full((n, 1), 7.0), "op": "sum"},
        {"out": np.full(2 * n + 1, 7.0)[: n + 1], "tag": 1},
    ]


def send_two(comm, number, mine, verb):
    """Be rank 0: send a message of zeros, or so, and one that tells its number."""
    if verb == "sendrecv":
        return [comm.sendrecv(x, 1, 1, tag=1)[0].item() for x in (mine, mine + number)]
    comm.send(mine, 1, tag=1)
    comm.send(mine + number, 1, tag=1)
    return []


def refuse_the_first(comm, options, mine, verb):
    """Be rank 1: refuse the one, take the other; return how that went, and what ``out`` holds."""
    if verb == "sendrecv":
        options = {"out": np.full(1, 7.0), "op": "sum", **options}
        options.pop("tag", None)
        error = refused(lambda: comm.sendrecv(mine, 0, 0, **options))
        later = comm.sendrecv(mine, 0, 0)
    else:
        error = refused(lambda: comm.recv(0, **options))
        later = comm.recv(0) if verb == "recv" else comm.recv_any()[1]
    out = options.get("out", np.full(1, 7.0))
    return error, later[0].item(), type(later).__module__, set(out.reshape(-1).tolist())


def refuse_in_all_ways(comm, n, sender_is_late, module, verb):
    seen = []
    for number, options in enumerate(ways_to_refuse(n)):
        comm.barrier()
        if (comm.rank == 0) == sender_is_late:
            time.sleep(0.002)  # who is ready first; on the simulator it makes no difference
        if module == "numpy":
            mine = np.zeros(n)
        else:
            import torch

            mine = torch.zeros(n, dtype=torch.float64)
        if comm.rank == 0:
            seen.append(send_two(comm, number, mine, verb))
        else:
            seen.append(refuse_the_first(comm, options, mine + 5, verb))
    return seen


@pytest.mark.parametrize("sender_is_late", [False, True])
def test_the_next_message_is_the_next_one_and_out_is_untouched(world, sender_is_late):
    cases = [
        (n, sender_is_late, *case)
        for n in SIZES
        for case in [("numpy", "recv"), ("numpy", "sendrecv"), ("torch", "recv_any")]
    ]

    def work(comm):
        return [refuse_in_all_ways(comm, *case) for case in cases]

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left that nobody received
        sender, receiver = world(work, trace=False).values
    for case, sent, seen in zip(cases, sender, receiver, strict=True):
        back = [5.0, 5.0] if case[3] == "sendrecv" else []
        assert sent == [back] * 5, case
        for number, found in enumerate(seen):
            assert found == ("MessageMismatchError", number, case[2], {7.0}), (case, number)


def test_the_trace_says_that_it_was_received(world):
    def work(comm):
        if comm.rank == 0:
            comm.send(np.zeros(4), 1, tag=1)
            comm.send(np.ones(2), 1, tag=2)
            return None
        return refused(lambda: comm.recv(0, tag=2)), comm.recv(0).tolist()

    result = world(work)
    assert result.values[1] == ("MessageMismatchError", [1.0, 1.0])
    assert [m.received_s is not None for m in result.trace.messages] == [True, True]


def test_a_message_of_another_collective_is_gone_too(world):
    def refuse(comm, n):
        mine = np.full(n, 1.0 + comm.rank)
        if comm.rank == 0:
            comm.sendrecv(mine, 1, 1)
        else:
            out = np.zeros(n)
            with np.testing.assert_raises(CollectiveMismatchError):
                broadcast_tree(comm, out, out=out)
            assert not out.any()  # also where the message had been there long before
            comm.send(mine, 0)
        return allreduce_ring(comm, mine)[-1]

    values = world(lambda comm: [refuse(comm, n) for n in SIZES]).values
    assert values == [[3.0, 3.0, 3.0]] * 2


@pytest.mark.parametrize("sender_is_late", [False, True])
def test_what_numpy_refuses_to_add_is_gone_and_has_been_added_once(world, sender_is_late):
    def add(comm, n):
        comm.barrier()
        if (comm.rank == 0) == sender_is_late:
            time.sleep(0.005)
        if comm.rank == 0:
            comm.send(np.array([1e308] + [1.0] * n), 1)
            comm.send(np.zeros(1), 1)
            return None
        out = np.array([1e308] + [2.0] * n)
        with np.errstate(over="raise"):
            error = refused(lambda: comm.recv(0, out=out, op="sum"))
        return error, out[0], out[-1], comm.recv(0).tolist()

    values = world(lambda comm: [add(comm, n) for n in SIZES]).values
    assert values[1] == [("FloatingPointError", np.inf, 3.0, [0.0])] * 3


def test_an_operation_that_the_dtype_lacks_is_refused_before_anything_is_received(world):
    def work(comm):
        if comm.rank == 0:
            for dtype in ("U3", "M8[D]", "?"):
                comm.send(np.ones(2, "i8").astype(dtype), 1)
            return None
        texts = []
        for dtype in ("U3", "M8[D]", "?"):
            out = np.zeros(2, "i8").astype(dtype)
            before = out.copy()
            try:
                comm.recv(0, out=out, op="sum")
            except TypeError as error:
                texts.append(str(error))
            assert (out == before).all()
            comm.recv(0, out=out)
        return texts

    strings, dates, bools = world(work).values[1]
    assert strings == (
        "op='sum' cannot combine arrays of dtype <U3: only numbers and times can be combined"
    )
    assert "datetime64[D]: a sum of dates is no date" in dates
    assert "dtype bool: that would be a logical or; to count, convert" in bools


@pytest.mark.parametrize("n", [3, 3_000])
def test_a_refusal_is_told_although_what_was_being_sent_is_never_taken(both_worlds, n):
    def work(comm):
        if comm.rank == 0:
            comm.send(np.zeros(n), 1)
        else:
            comm.sendrecv(np.zeros(3_000), 0, 0, out=np.zeros(2))

    for world in both_worlds:
        with pytest.raises(MessageMismatchError, match="rank 1 receives into out") as raised:
            world(work)
        assert raised.value.rank == 1


def test_a_refused_message_in_a_started_function_leaves_the_others_alone(world):
    def swap_what_does_not_fit(child):
        mine, other = np.zeros(3_000), 1 - child.rank
        first = refused(lambda: child.sendrecv(mine, other, other, out=np.zeros(2)))
        return first, child.sendrecv(mine + 1, other, other)[0]

    def work(comm):
        beside = [comm.start(swap_what_does_not_fit) for _ in range(3)]
        total = allreduce_ring(comm, np.ones(5_000))[0]
        return total, [pending.wait() for pending in beside]

    assert world(work).values == [(2.0, [("MessageMismatchError", 1.0)] * 3)] * 2
