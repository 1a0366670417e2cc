"""Barriers, compute blocks, notes, clocks, random numbers, and what ranks do not share."""

import enum
import time

import numpy as np
import pytest

from course_lib import networks
from course_lib.comm.errors import (
    DeadlockError,
    NestedLaunchError,
    SerializationError,
    UnreceivedMessagesWarning,
    WorkerError,
    WorkerExited,
)
from course_lib.trace.trace import Trace


@pytest.mark.parametrize("workers", [1, 2, 5, 8])
def test_values_come_back_by_rank(world, workers):
    def identify(comm, offset):
        comm.barrier()
        return comm.rank + offset, comm.size, comm.device

    result = world(identify, 10, workers=workers)
    assert result.values == [(rank + 10, workers, world.device(rank)) for rank in range(workers)]
    assert result.backend == world.backend
    assert result.elapsed_s >= 0
    assert result.trace.n_messages == 0


@pytest.mark.parametrize("what", ["rank", "size", "incarnation", "device"])
def test_what_a_communicator_is_cannot_be_set(world, what):
    def assign(comm):
        before = getattr(comm, what)
        with pytest.raises(AttributeError, match=f"comm.{what} is what the run .* got 1"):
            setattr(comm, what, 1)
        return getattr(comm, what) == before

    assert world(assign).values == [True, True]


def test_nobody_leaves_a_barrier_before_all_have_entered(world):
    def meet(comm):
        times = []
        for meeting in range(3):
            with comm.compute("late", flops=1e8 * ((comm.rank + meeting) % comm.size)):
                time.sleep(0.02 * ((comm.rank + meeting) % comm.size))
            entered = comm.clock()
            comm.barrier()
            times.append((entered, comm.clock()))
        return times

    values = world(meet, workers=3).values
    for meeting in range(3):
        last_entry = max(times[meeting][0] for times in values)
        assert all(times[meeting][1] >= last_entry for times in values)
    assert world(meet, workers=3).trace.n_messages == 0


def test_clocks_never_go_back(world):
    def watch(comm):
        other = 1 - comm.rank
        times = [comm.clock()]
        for _ in range(20):
            comm.sendrecv(np.zeros(3), dst=other, src=other)
            times.append(comm.clock())
            with comm.compute("work", flops=1e3):
                pass
            times.append(comm.clock())
        return times

    for times in world(watch).values:
        assert times[0] >= 0
        assert times == sorted(times)
        assert times[-1] > times[0]


def test_compute_is_measured_in_real_worlds_and_priced_in_the_simulator(world):
    def work(comm):
        with comm.compute("nap", flops=2e8):
            time.sleep(0.05)
        with comm.compute("nothing"):
            pass
        time.sleep(0.01)  # outside a block: on no record

    options = {}
    if world.backend == "simulated":
        options["network"] = networks.Network("n", 0.0, 1.0, flops_per_s=(1e9, 4e9))
    computes = world(work, **options).trace.computes
    assert sorted((c.rank, c.label, c.flops) for c in computes) == [
        (0, "nap", 2e8), (0, "nothing", 0.0), (1, "nap", 2e8), (1, "nothing", 0.0)
    ]  # fmt: skip
    naps = [c.end_s - c.start_s for c in computes if c.label == "nap"]
    if world.backend == "simulated":
        assert sorted(naps) == pytest.approx([0.05, 0.2], rel=1e-12)
    else:
        assert all(0.05 <= nap < 5.0 for nap in naps)


def test_a_compute_block_holds_no_messages_and_no_block(world):
    def misuse(comm):
        other = 1 - comm.rank
        calls = {
            "send": lambda: comm.send(np.zeros(1), dst=other),
            "recv": lambda: comm.recv(src=other),
            "recv_any": lambda: comm.recv_any(),
            "sendrecv": lambda: comm.sendrecv(np.zeros(1), dst=other, src=other),
            "barrier": lambda: comm.barrier(),
            "compute": lambda: comm.compute("inner"),
        }
        texts = {}
        for name, call in calls.items():
            try:
                with comm.compute("the outer block"):
                    call()
            except RuntimeError as error:
                texts[name] = str(error)
        comm.sendrecv(np.zeros(1), dst=other, src=other)  # outside it works again
        return texts

    for rank, texts in enumerate(world(misuse).values):
        assert len(texts) == 6
        for name, text in texts.items():
            assert f"rank {rank} called {name}()" in text
            assert "the outer block" in text


def test_notes_are_on_the_trace_as_they_were(world):
    def take_notes(comm):
        vector = np.arange(3.0) + comm.rank
        comm.note("loss", 0.5)
        comm.note("vector", vector)
        vector[:] = 0  # the note keeps what it was
        comm.note("text", "done")
        comm.note("none", None)
        comm.note("scalar", np.float32(0.25))

    trace = world(take_notes).trace
    for rank in range(2):
        notes = [(note.name, note.value) for note in trace.notes if note.rank == rank]
        assert notes == [
            ("loss", 0.5), ("vector", [rank, rank + 1, rank + 2]), ("text", "done"),
            ("none", None), ("scalar", 0.25),
        ]  # fmt: skip


def test_random_numbers_depend_on_seed_and_rank_alone(world):
    def draw(comm):
        return comm.rng.integers(0, 2**62, 4).tolist()

    first = world(draw, workers=3, seed=7).values
    expected = [np.random.default_rng([7, r]).integers(0, 2**62, 4).tolist() for r in range(3)]
    assert first == expected
    assert world(draw, workers=3, seed=8).values != first
    assert len({tuple(numbers) for numbers in first}) == 3


def test_ranks_share_nothing(world):
    array, box, captured = np.zeros(3), {"count": 0}, []

    def change(comm, given, box):
        given += comm.rank + 1
        box["count"] += 1
        captured.append(comm.rank)
        comm.barrier()
        return given.tolist(), box["count"], list(captured)

    values = world(change, array, box, workers=3).values
    assert values == [([rank + 1.0] * 3, 1, [rank]) for rank in range(3)]
    assert array.tolist() == [0, 0, 0]
    assert box == {"count": 0}
    assert captured == []


def both_send_first(comm, size):
    other = 1 - comm.rank
    comm.send(np.zeros(size), dst=other)
    return comm.recv(src=other).size


def test_both_send_first_passes_only_while_messages_are_eager(world):
    assert world(both_send_first, 2048).values == [2048, 2048]  # exactly EAGER_BYTES


@pytest.mark.parametrize(("size", "rendezvous"), [(2049, False), (1, True)])
def test_both_send_first_is_explained_where_send_waits(world, size, rendezvous):
    with pytest.raises(DeadlockError) as raised:
        world(both_send_first, size, rendezvous=rendezvous)
    assert raised.value.cycle == [0, 1]
    text = str(raised.value)
    for rank in (0, 1):
        assert f"rank {rank} waits in send(dst={1 - rank})" in text
    assert "test_ranks_and_their_clocks.py, line" in text


@pytest.mark.parametrize("bad_rank", [0, 2])
def test_an_exception_names_the_rank_and_the_line(world, bad_rank):
    def fail(comm):
        if comm.rank == bad_rank:
            raise KeyError("missing")
        comm.recv(src=bad_rank)

    with pytest.raises(WorkerError, match=f"rank {bad_rank} failed at test_ranks") as raised:
        world(fail, workers=3)
    assert raised.value.rank == bad_rank
    assert isinstance(raised.value.original, KeyError)
    assert "KeyError: 'missing'" in str(raised.value)
    assert len(raised.value.consequences) == 2


def explode():
    raise ValueError("not to be loaded")


class Trap:
    """Packs well, and fails when it is loaded."""

    def __reduce__(self):
        return explode, ()


def test_what_cannot_be_loaded_is_said_to_be_so(world):
    def idle(comm, trap):
        return comm.rank

    with pytest.raises(SerializationError, match=r"rank \d could not load the function or its arg"):
        world(idle, Trap())


@pytest.mark.parametrize("code", [0, 3, "enough"])
def test_sys_exit_is_not_a_result(world, code):
    def leave(comm):
        if comm.rank == 1:
            raise SystemExit(code)
        comm.recv(src=1)

    with pytest.raises(WorkerExited, match=r"rank 1 called sys.exit") as raised:
        world(leave)
    assert repr(code) in str(raised.value)


def test_a_nested_run_is_refused(world):
    def nest(comm):
        from course_lib import run

        run(both_send_first, 1, backend="simulated", workers=2)

    with pytest.raises(NestedLaunchError, match="inside a worker"):
        world(nest)
    assert world(both_send_first, 1).values == [1, 1]  # and the refusal does not stay


def test_unreceived_messages_are_counted_in_a_warning(world):
    def send_too_much(comm):
        if comm.rank == 1:
            for _ in range(2):
                comm.send(np.zeros(2), dst=0, tag=3)
        comm.barrier()

    with pytest.warns(UnreceivedMessagesWarning, match="2 messages from rank 1 to rank 0") as seen:
        result = world(send_too_much)
    assert "tag=3" in str(seen[0].message)
    assert seen[0].filename.endswith("worlds.py")  # the line that called run
    assert [(m.src, m.dst) for m in result.trace.unreceived()] == [(1, 0), (1, 0)]
    assert result.trace.messages_received() == [0, 0]


def test_the_trace_can_be_off(world):
    result = world(both_send_first, 4, trace=False)
    assert result.values == [4, 4]
    with pytest.raises(ValueError, match="trace=False"):
        _ = result.trace


def test_waits_and_messages_lie_in_time_order(world):
    def talk(comm):
        comm.barrier()  # so that none begins long before the other
        if comm.rank == 0:
            with comm.compute("late", flops=1e9):
                time.sleep(0.3)
            comm.send(np.zeros(3), dst=1)
        else:
            comm.recv(src=0)

    trace = world(talk).trace
    (message,) = trace.messages
    assert message.posted_s <= message.sent_s
    assert message.posted_s <= message.arrived_s <= message.received_s <= trace.end_s
    waits = [w for w in trace.waits if w.rank == 1 and w.verb != "barrier"]
    assert [(w.verb, w.peer) for w in waits] == [("recv", 0)]
    assert waits[0].end_s - waits[0].start_s > 0.04


@pytest.mark.parametrize("where", ["in its function", "in what it has started"])
def test_an_interrupt_that_a_rank_raises_itself_is_its_failure(world, where):
    def interrupt(comm):
        if comm.rank == 1:
            raise KeyboardInterrupt("planned")

    def work(comm):
        if where == "in its function":
            interrupt(comm)
        else:
            comm.start(interrupt).wait()
        if comm.rank == 0:
            comm.recv(src=1)

    with pytest.raises(WorkerError, match=r"rank 1 failed at .*: KeyboardInterrupt: planned"):
        world(work)


def test_a_note_is_of_pythons_own_kinds_whatever_was_given(world):
    class Level(enum.IntEnum):
        HIGH = 3

    class Text(str):
        __slots__ = ()

    def take_notes(comm):
        for value in (Level.HIGH, Text("a"), [Level.HIGH], np.array([Level.HIGH, None]),
                      np.longdouble(0.5), np.float64(-0.0)):  # fmt: skip
            comm.note("own", value)

    trace = world(take_notes).trace
    values = [note.value for note in trace.notes if note.rank == 1]
    assert values == [3, "a", [3], [3, None], 0.5, -0.0]
    assert [type(value) for value in values] == [int, str, list, list, float, float]
    assert [type(values[2][0]), type(values[3][0])] == [int, int]
    assert Trace.from_json(trace.to_json()).notes == trace.notes


@pytest.mark.parametrize(
    "value",
    [1j, np.array([1j]), np.datetime64("2020-01-01"), np.array([b"x"]), 10**5000, {1: object()},
     np.array([print])],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_note_that_no_file_could_hold_is_refused_at_once(world, value):
    def take_note(comm):
        with pytest.raises((TypeError, ValueError), match="a note's "):
            comm.note("strange", value)
        comm.note("after", 1)

    assert [note.name for note in world(take_note).trace.notes] == ["after"] * 2
