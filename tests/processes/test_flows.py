"""Flows of control and communicators of one rank share its rings and never get mixed up."""

import threading

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import WorkerError
from course_lib.comm.processes.memory.layout import ring_bytes

pytestmark = pytest.mark.slow

LARGE = 3 * ring_bytes(2) // 8
"""Elements of an array that is several times as long as a ring."""


def test_a_large_message_that_nobody_takes_yet_lets_those_behind_it_pass(usual_method):
    def send_large(comm):
        if comm.rank == 0:
            comm.send(np.arange(float(LARGE)), dst=1)
            return None
        return float(comm.recv(src=0).sum())

    def work(comm):
        if comm.rank == 0:
            pending = comm.start(send_large)
            for number in range(50):
                comm.send(np.full(EAGER_BYTES // 8, number), dst=1)
            comm.send(np.arange(float(LARGE)), dst=1)
            return pending.wait()
        # Nothing of what was started is taken before all of this has come past it.
        small = [int(comm.recv(src=0)[-1]) for _ in range(50)]
        large = float(comm.recv(src=0).sum())
        return small, large, comm.start(send_large).wait()

    small, large, beside = run(work, workers=2, start_method=usual_method).values[1]
    assert small == list(range(50))
    assert large == beside == sum(range(LARGE))


def test_a_message_set_aside_is_taken_over_while_it_is_still_coming(usual_method):
    def large_one(comm, event):
        if comm.rank == 0:
            comm.send(np.arange(float(LARGE)), dst=1)
            return None
        event.wait()
        return float(comm.recv(src=0).sum())

    def work(comm):
        event = threading.Event()
        pending = comm.start(large_one, event)
        if comm.rank == 0:
            comm.recv(src=1)
            comm.send(np.zeros(1), dst=1)
        else:
            comm.send(np.zeros(1), dst=0)
            event.set()  # from here on both flows want something of the same ring
            comm.recv(src=0)
        return pending.wait()

    for _ in range(10):
        assert run(work, workers=2, start_method=usual_method).values[1] == sum(range(LARGE))


def test_more_can_be_started_than_the_board_has_room_for_at_first(usual_method):
    n_started = 100

    def add(comm, number):
        return int(comm.sendrecv(np.array([number]), dst=1 - comm.rank, src=1 - comm.rank)[0])

    def work(comm):
        pending = [comm.start(add, 100 * comm.rank + number) for number in range(n_started)]
        return [one.wait() for one in reversed(pending)]

    values = run(work, workers=2, start_method=usual_method).values
    assert values[0] == [100 + number for number in reversed(range(n_started))]
    assert values[1] == list(reversed(range(n_started)))


def test_every_large_message_of_many_is_accepted_by_name(usual_method):
    """Each sender waits for its own receive, and these are posted in the opposite order."""

    def send_one(comm, number):
        if comm.rank == 0:
            comm.send(np.full(LARGE // 10, float(number)), dst=1)
            return number
        return float(comm.recv(src=0)[-1])

    def work(comm):
        numbers = range(60)
        pending = [comm.start(send_one, number) for number in numbers]
        return [each.wait() for each in pending]

    def backwards(comm):
        events = [threading.Event() for _ in range(60)]

        def late(child, number):
            if child.rank == 1:
                events[number].wait()
            got = send_one(child, number)
            if number:
                events[number - 1].set()
            return got

        pending = [comm.start(late, number) for number in range(60)]
        events[-1].set()
        return [each.wait() for each in pending]

    for fn in (work, backwards):
        assert run(fn, workers=2, start_method=usual_method).values == [[*range(60)]] * 2


def test_the_flow_that_sleeps_for_all_hands_over_when_it_is_done(usual_method):
    def pass_on(comm, n_rounds):
        for number in range(n_rounds):
            if comm.rank == 0:
                comm.send(np.array([number]), dst=1)
                assert int(comm.recv(src=1)[0]) == number
            else:
                comm.send(comm.recv(src=0), dst=0)
        return n_rounds

    def work(comm):
        started = [comm.start(pass_on, 50 * (k + 1)) for k in range(4)]
        own = pass_on(comm, 100)
        return own, [one.wait() for one in started]

    assert (
        run(work, workers=2, start_method=usual_method).values == [(100, [50, 100, 150, 200])] * 2
    )


def test_flows_take_turns_to_stream_large_messages_through_one_ring(usual_method):
    def stream(comm, base):
        sums = []
        for number in range(8):
            if comm.rank == 0:
                n = EAGER_BYTES if (base + number) % 3 else LARGE  # fits into the ring, or not
                comm.send(np.full(n, float(base + number)), dst=1, tag=number)
            else:
                array = comm.recv(src=0, tag=number)
                assert array.min() == array.max()
                sums.append(int(array[0]))
        return sums

    def work(comm):
        started = [comm.start(stream, 100 * (k + 1)) for k in range(3)]
        return [stream(comm, 0), *(one.wait() for one in started)]

    for _ in range(5):
        values = run(work, workers=2, start_method=usual_method).values[1]
        assert values == [[100 * k + number for number in range(8)] for k in range(4)]


def test_a_flood_beside_the_function_is_set_aside(usual_method):
    n_messages = 2 * ring_bytes(3) // EAGER_BYTES

    def flood(comm):
        if comm.rank == 2:
            for number in range(n_messages):
                comm.send(np.full(EAGER_BYTES // 8, number), dst=0)
        if comm.rank == 0:
            return [int(comm.recv(src=2)[0]) for _ in range(n_messages)]
        return None

    def work(comm):
        if comm.rank == 0:
            comm.recv(src=1)
        pending = comm.start(flood)
        if comm.rank == 2:
            pending.wait()
            comm.send(np.zeros(1), dst=1)
        if comm.rank == 1:
            comm.recv(src=2)
            comm.send(np.zeros(1), dst=0)
        return pending.wait()

    assert run(work, workers=3, start_method=usual_method).values[0] == list(range(n_messages))


def test_what_was_started_and_fails_ends_the_run_though_nobody_waits(start_method):
    def fail(comm):
        if comm.rank == 1:
            raise ZeroDivisionError("planned")

    def work(comm):
        comm.start(fail)
        comm.recv(src=1 - comm.rank)

    with pytest.raises(WorkerError) as raised:
        run(work, workers=2, start_method=start_method, time_limit_s=30)
    assert raised.value.rank == 1
    assert "ZeroDivisionError: planned" in str(raised.value)
    assert "in fail" in str(raised.value)


SIZES = (
    0,
    1,
    7,
    8,
    63,
    64,
    500,
    2000,
    EAGER_BYTES // 8 - 1,
    EAGER_BYTES // 8,
    2 * EAGER_BYTES // 8,
)


def exchange(comm, short_way, seed):
    """Let both ranks send and receive random arrays in all ways; return what came."""
    if not short_way:
        from course_lib.comm.processes.rank import communicator

        communicator.send_small = lambda *args: False
        communicator.receive_small = lambda *args: None
    rng = np.random.default_rng(seed)
    peer, came = 1 - comm.rank, []
    for _ in range(400):
        n, kind = int(rng.choice(SIZES)), rng.integers(4)
        array = rng.integers(0, 100, n).astype(rng.choice(["<f8", "<i4", "u1", "<c16"]))
        if kind == 0:
            came.append(comm.sendrecv(array, dst=peer, src=peer, tag=n))
        elif kind == 1:
            came.append(comm.sendrecv(array, dst=peer, src=peer, out=array[::-1].copy(), op="sum"))
        elif kind == 2:
            out = np.zeros((n, 2), array.dtype)[:, 1]
            came.append(comm.sendrecv(np.repeat(array, 2)[::2], dst=peer, src=peer, out=out))
        elif comm.rank == 0:
            comm.send(array, dst=peer, tag="down")
        else:
            came.append(comm.recv(src=peer, tag="down"))
    return [(array.dtype.str, array.shape, array.tobytes()) for array in came]


@pytest.mark.parametrize("rendezvous", [False, True])
def test_the_short_way_of_small_messages_gives_what_the_general_way_gives(usual_method, rendezvous):
    for seed in range(3):
        short, general = (
            run(exchange, way, seed, workers=2, start_method=usual_method, rendezvous=rendezvous)
            for way in (True, False)
        )
        assert short.values == general.values
        assert len(short.values[1]) > len(short.values[0]) > 250
        records = [
            [(m.src, m.dst, m.tag, m.dtype, m.shape) for m in result.trace.between(0, 1)]
            for result in (short, general)
        ]
        assert records[0] == records[1]
