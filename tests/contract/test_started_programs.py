"""Random programs with groups and started functions: one result, in every world and every way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES

BIG = EAGER_BYTES // 8 + 1  # float64 elements that do not fit an eager message

steps = st.recursive(
    st.one_of(
        st.tuples(st.just("message"), st.integers(0, 4), st.integers(0, 3)),
        st.tuples(st.just("ring"), st.sampled_from([1, BIG])),
        st.tuples(st.just("barrier")),
        st.tuples(st.just("wait")),
    ),
    lambda inner: st.tuples(
        st.sampled_from(["split", "start"]), st.integers(1, 3), st.lists(inner, max_size=6)
    ),
    max_leaves=25,
)


def follow(comm, program):
    """Do this rank's part of a program that all ranks read in one order: it cannot deadlock."""
    seen, pending = [], []
    for number, (what, *how) in enumerate(program):
        if what == "barrier":
            comm.barrier()
        elif what == "wait":
            seen += [each.wait() for each in pending]
        elif what == "start":
            pending.append(comm.start(follow, how[1]))
        elif what == "split":
            seen.append(follow(comm.split(comm.rank % how[0]), how[1]))
        elif comm.size == 1:
            continue
        elif what == "ring":
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            array = np.full(how[0], float(comm.rank))
            seen.append((number, comm.sendrecv(array, right, left, tag=number)[-1]))
        else:
            src = how[0] % comm.size
            dst = (src + 1 + how[1] % (comm.size - 1)) % comm.size
            if comm.rank == src:
                comm.send(np.array([number]), dst=dst, tag=number)
            elif comm.rank == dst:
                seen.append((number, int(comm.recv(src=src, tag=number)[0])))
    return comm.name, seen


@given(st.lists(steps, max_size=8), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_random_programs_give_the_same_whether_sends_wait_or_not(program, workers):
    def simulate(rendezvous):
        return run(
            follow, program, workers=workers, backend="simulated", rendezvous=rendezvous
        )  # fmt: skip

    eager, waiting = simulate(False), simulate(True)
    assert eager.values == waiting.values
    assert eager.trace.unreceived() == waiting.trace.unreceived() == []
    assert eager.trace.bytes_sent() == waiting.trace.bytes_sent()
    assert simulate(True).trace.to_json() == waiting.trace.to_json()


@pytest.mark.slow
def test_a_program_with_groups_and_starts_gives_the_same_in_every_world(both_worlds):
    inner = [("ring", BIG), ("split", 2, [("ring", 1), ("message", 0, 0)]), ("barrier",)]
    program = [
        ("start", 1, inner), ("message", 1, 2), ("split", 2, [("start", 1, inner), ("ring", 1)]),
        ("ring", BIG), ("start", 1, [("start", 1, inner), ("wait",), ("ring", 1)]), ("wait",),
    ]  # fmt: skip
    simulated, *real_ones = (world(follow, program, workers=4) for world in both_worlds)
    assert simulated.trace.n_messages > 30

    def of_each_pair(trace):
        return sorted((m.comm, m.src, m.dst, m.tag or 0, m.n_bytes) for m in trace.messages)

    for real in real_ones:
        assert simulated.values == real.values
        assert of_each_pair(simulated.trace) == of_each_pair(real.trace)
