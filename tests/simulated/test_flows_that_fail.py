"""Started functions that wait for ever, fail, or use what is not theirs: told with their lines."""

import _thread
import gc
import sys
import types
import weakref

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import (
    DeadlockError,
    LaunchTimeout,
    MessageMismatchError,
    PeerFinishedError,
    SharedMemoryFull,
    WorkerError,
)
from tests.source_lines import line_of


def simulate(fn, *args, workers=2, **options):
    return run(fn, *args, workers=workers, backend="simulated", **options)


def swap(comm):
    other = 1 - comm.rank
    return comm.sendrecv(np.zeros(1), dst=other, src=other).size


def listen(comm):
    comm.recv(src=1 - comm.rank)  # both


def both_listen(comm):
    comm.start(listen).wait()


def test_started_functions_that_wait_for_each_other():
    with pytest.raises(DeadlockError) as raised:
        simulate(both_listen)
    text = str(raised.value)
    assert raised.value.cycle == [0, 1]
    for rank in (0, 1):
        call = f"recv(src={1 - rank}) on 'world/start 1', at {line_of(listen, '# both')}"
        assert f"rank {rank} waits in {call}" in text
        waiting = f"rank {rank} waited in wait() for its started function 'world/start 1', at "
        assert waiting + line_of(both_listen, "wait") in text
    assert "let one of them send first" in text
    unfinished = [(w.rank, w.verb, w.peer, w.comm) for w in raised.value.trace.waits]
    assert unfinished == []  # nobody's clock has moved


def answer(comm):
    comm.recv(src=0) if comm.rank else comm.send(np.zeros(1), dst=1)  # started


def wait_too_early(comm):
    if comm.rank == 0:
        comm.start(answer).wait()  # its send has no partner yet
        comm.send(np.zeros(1), dst=1)
    else:
        comm.recv(src=0)  # before the start
        comm.start(answer)


def test_a_circle_through_a_wait_and_a_function_that_is_not_started_yet():
    simulate(wait_too_early)
    with pytest.raises(DeadlockError) as raised:
        simulate(wait_too_early, rendezvous=True)
    text = str(raised.value)
    assert raised.value.cycle == [0, 1]
    told = "rank 0 waits in wait() for its started function 'world/start 1', which waits in send"
    assert f"{told}(dst=1) on 'world/start 1', at {line_of(answer, '# started')}" in text
    assert f"rank 1 waits in recv(src=0), at {line_of(wait_too_early, '# before')}" in text
    assert raised.value.consequences == ()


def test_a_circle_in_groups_names_ranks_of_the_whole_run():
    def halves(comm):
        half = comm.split(comm.rank // 2)
        half.recv(src=1 - half.rank, tag=3)

    with pytest.raises(DeadlockError) as raised:
        simulate(halves, workers=4)
    assert raised.value.cycle == [0, 1]
    assert "rank 0 waits in recv(src=1, tag=3) on 'world/split 1 color 0'" in str(raised.value)
    assert "rank 3 waits in recv(src=2, tag=3) on 'world/split 1 color 1'" in str(raised.value)


def test_a_function_that_returned_too_early_on_one_rank():
    def once(comm):
        if comm.rank == 0:
            comm.recv(src=1)

    def main(comm):
        comm.start(once)
        comm.barrier()

    with pytest.raises(PeerFinishedError) as raised:
        simulate(main)
    text = str(raised.value)
    assert "rank 0 waits in recv(src=1) on 'world/start 1'" in text
    assert "rank 1 has already returned from 'world/start 1'; it sent 0 messages" in text
    assert raised.value.peer == 1


def test_a_rank_that_does_not_start_what_the_others_start():
    def main(comm):
        if comm.rank == 0:
            comm.start(listen)

    with pytest.raises(PeerFinishedError, match="without having started 'world/start 1'") as raised:
        simulate(main)
    assert "every rank must call start() equally often" in str(raised.value)


@pytest.mark.parametrize("verb", ["split", "shared_array", "barrier"])
def test_a_meeting_that_one_rank_does_not_reach(verb):
    arguments = {"split": (0,), "shared_array": (1,)}

    def main(comm):
        if comm.rank:
            getattr(comm, verb)(*arguments.get(verb, ()))

    with pytest.raises(PeerFinishedError, match="rank 0 has already returned") as raised:
        simulate(main, workers=3)
    assert f"rank 1 waits in {verb}()" in str(raised.value)
    assert f"every rank must call {verb}() equally often" in str(raised.value)


def test_ranks_that_meet_in_different_verbs():
    def main(comm):
        comm.barrier() if comm.rank == 0 else comm.split(0)

    with pytest.raises(MessageMismatchError) as raised:
        simulate(main)
    assert "rank 1 calls split() where rank 0 calls barrier()" in str(raised.value)


def test_a_shared_array_that_is_too_large():
    with pytest.raises(
        SharedMemoryFull, match=r"needs 9,223,372,036,854,775,808 bytes of .* are free"
    ):
        simulate(lambda comm: comm.shared_array(2**60))


@pytest.mark.slow
def test_a_loop_in_a_started_function_meets_the_time_limit():
    def loop(comm):
        while True:
            swap(comm)

    def main(comm):
        comm.start(loop).wait()

    with pytest.raises(LaunchTimeout) as raised:
        simulate(main, time_limit_s=1.0)
    text = str(raised.value)
    assert "in 'world/start 1' was running, at test_flows_that_fail.py, line" in text
    assert "rank 0 waited in wait() for its started function 'world/start 1'" in text


def test_an_interrupt_says_where_every_function_was():
    def loop(comm):
        if comm.rank == 0:
            comm.recv(src=1)
        _thread.interrupt_main()
        while True:
            pass

    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(lambda comm: comm.start(loop).wait())
    text = str(caught.value)
    assert "rank 1 in 'world/start 1' was running, at test_flows_that_fail.py, line" in text
    assert "rank 0 waited in recv(src=1) on 'world/start 1'" in text
    assert "rank 0 waited in wait() for its started function 'world/start 1'" in text


def test_the_communicator_of_a_function_that_has_returned_is_refused():
    def main(comm):
        swap(comm.start(lambda child: child).wait())

    words = r"called sendrecv\(\) of 'world/start 1', whose function has returned, in the function"
    with pytest.raises(WorkerError, match=words):
        simulate(main)


@pytest.mark.parametrize("use", ["note", "clock", "compute", "wait"])
def test_what_has_a_time_is_refused_on_the_parents_communicator(use):
    def child(_, comm, other):
        if use == "note":
            comm.note("loss", 1.0)
        elif use == "clock":
            comm.clock()
        elif use == "compute":
            with comm.compute("work"):
                pass
        else:
            other.wait()  # a result may be awaited anywhere on its rank

    def main(comm):
        comm.start(child, comm, comm.start(swap))

    if use == "wait":
        simulate(main)
        return
    with pytest.raises(WorkerError, match="uses the communicator that it was given"):
        simulate(main)


def test_functions_that_are_cut_off_clean_up(monkeypatch):
    module = types.ModuleType("what_functions_saw")
    module.seen = []
    monkeypatch.setitem(sys.modules, "what_functions_saw", module)

    def sleep(comm):
        import what_functions_saw

        try:
            comm.recv(src=1 - comm.rank)
        finally:
            what_functions_saw.seen.append(comm.name)

    def main(comm):
        comm.start(sleep)
        comm.start(sleep)
        swap(comm)
        raise ValueError("the cause")

    with pytest.raises(WorkerError, match="the cause"):
        simulate(main)
    assert sorted(module.seen) == ["world/start 1", "world/start 1", *["world/start 2"] * 2]


def test_what_a_started_function_held_is_freed_when_it_has_returned(monkeypatch):
    module = types.ModuleType("what_functions_held")
    module.held = []
    monkeypatch.setitem(sys.modules, "what_functions_held", module)

    def hold(comm, array):
        import what_functions_held

        what_functions_held.held.append(weakref.ref(array))
        swap(comm.split(0))

    def main(comm):
        import what_functions_held

        for _ in range(3):
            comm.start(hold, np.zeros(10)).wait()
        comm.barrier()
        return [ref() is None for ref in what_functions_held.held]

    gc.collect()
    gc.disable()
    try:
        assert simulate(main).values == [[True] * 6] * 2
    finally:
        gc.enable()


def test_many_started_functions_do_not_use_up_the_stack():
    def hop(comm):
        comm.barrier()
        return comm.rank

    def main(comm):
        return [comm.start(hop).wait() for _ in range(3)] + [
            each.wait() for each in [comm.start(hop) for _ in range(3)]
        ]

    values = simulate(main, workers=800, trace=False).values
    assert values == [[rank] * 6 for rank in range(800)]
