"""Exceptions, endless loops, interrupts, foreign threads: a run ends, and the next one works."""

import _thread
import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import types
import weakref

import numpy as np
import pytest
from greenlet import getcurrent, greenlet

from course_lib import networks, run
from course_lib.comm.ambient.surroundings import Surroundings
from course_lib.comm.errors import LaunchTimeout, RunError, SimulationError, WorkerError
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.watchdog import TimeIsUp, Watchdog
from tests import worlds


def simulate(fn, *args, workers=2, **options):
    return run(fn, *args, workers=workers, backend="simulated", **options)


def swap(comm):
    other = 1 - comm.rank
    return comm.sendrecv(np.zeros(1), dst=other, src=other).size


@pytest.fixture(autouse=True)
def nothing_stays():
    threads = threading.active_count()
    yield
    gc.collect()  # a rank that was left behind must not be ended once more now: it never would be
    assert threading.active_count() == threads
    assert simulate(swap).values == [1, 1]


@pytest.fixture
def seen(monkeypatch):
    """Give ranks, which get copies of all else, a list in a module that all of them import."""
    module = types.ModuleType("what_ranks_saw")
    module.seen = []
    monkeypatch.setitem(sys.modules, "what_ranks_saw", module)
    return module.seen


def test_the_other_ranks_are_ended_and_clean_up(seen):
    def fail(comm):
        import what_ranks_saw

        try:
            if comm.rank == 1:
                comm.recv(src=0)
                raise ValueError("no")
            comm.send(np.zeros(1), dst=1) if comm.rank == 0 else None
            comm.recv(src=1)
        finally:
            what_ranks_saw.seen.append(comm.rank)

    with pytest.raises(WorkerError, match="rank 1 failed") as raised:
        simulate(fail, workers=3)
    assert sorted(seen) == [0, 1, 2]
    assert "rank 0 waited in recv(src=1)" in str(raised.value)
    assert raised.value.trace.faults[0].kind == "WorkerError"


def swallow_the_end(comm):
    if comm.rank == 0:
        raise ValueError("the cause")
    while True:
        try:
            comm.recv(src=0)
        except BaseException:
            continue


def communicate_in_finally(comm):
    if comm.rank == 1:
        comm.recv(src=0)  # so that the others begin
        raise ValueError("the cause")
    try:
        if comm.rank == 0:
            comm.send(np.zeros(1), dst=1)
        comm.recv(src=1)
    finally:
        comm.barrier()


@pytest.mark.parametrize("fn", [swallow_the_end, communicate_in_finally])
def test_a_rank_that_will_not_end_does_not_hold_up_the_run(fn):
    def others_first(comm):
        if comm.rank == 0 and fn is swallow_the_end:
            comm.recv(src=2)
        elif comm.rank == 2 and fn is swallow_the_end:
            comm.send(np.zeros(1), dst=0)
        return fn(comm)

    started = time.perf_counter()
    with pytest.raises(WorkerError, match="ValueError: the cause"):
        simulate(others_first, workers=3)
    assert time.perf_counter() - started < 5.0


def loop_without_verbs(comm):
    if comm.rank == 1:
        while True:
            pass
    comm.recv(src=1)


def loop_with_verbs(comm):
    other = 1 - comm.rank
    while True:
        comm.sendrecv(np.zeros(1), dst=other, src=other)


def loop_that_catches_exceptions(comm):
    other = 1 - comm.rank
    while True:
        try:
            comm.sendrecv(np.zeros(1), dst=other, src=other)
        except Exception:
            continue


def loop_that_catches_everything(comm):
    other = 1 - comm.rank
    while True:
        try:
            comm.sendrecv(np.zeros(1), dst=other, src=other)
        except BaseException:
            continue


def loop_in_compute(comm):
    with comm.compute("for ever", flops=1.0):
        while True:
            np.zeros(10).sum()


# The end may come in a callback of the garbage collector (hypothesis has one), where Python reports
# an exception and goes on; a second later it comes again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "fn",
    [
        loop_without_verbs,
        loop_with_verbs,
        loop_that_catches_exceptions,
        loop_that_catches_everything,
        loop_in_compute,
    ],
)
def test_a_loop_without_end_meets_the_time_limit(fn):
    started = time.perf_counter()
    with pytest.raises(LaunchTimeout) as raised:
        simulate(fn, time_limit_s=0.3)
    assert 0.3 <= time.perf_counter() - started < 10.0
    text = str(raised.value)
    assert "0.3 s of wall time (time_limit_s)" in text
    told = ["was running"]
    if fn in (loop_with_verbs, loop_that_catches_exceptions, loop_that_catches_everything):
        told.append("could go on")  # the time was up between one rank's turn and the next
    assert any(f"{words}, at test_how_runs_end.py, line" in text for words in told)
    assert "loop that does not end" in text
    if fn is loop_without_verbs:
        assert "rank 1 was running" in text
        assert "rank 0 waited in recv(src=1), at test_how_runs_end.py, line" in text
        assert raised.value.rank == 1


@pytest.mark.slow
def test_a_finally_block_that_does_not_end_is_left_behind():
    def stay(comm):
        if comm.rank == 0:
            comm.recv(src=1)
            raise ValueError("the cause")
        comm.send(np.zeros(1), dst=0)
        try:
            comm.recv(src=0)
        finally:
            while True:
                pass

    with pytest.raises(WorkerError, match="the cause"):
        simulate(stay)


def test_a_long_run_within_its_limit_is_left_alone():
    def nap(comm):
        time.sleep(0.05)
        return comm.rank

    assert simulate(nap, time_limit_s=5.0).values == [0, 1]


def test_an_interrupt_ends_the_run_and_says_where_every_rank_was():
    def interrupted(comm):
        if comm.rank == 0:
            comm.recv(src=1)
        _thread.interrupt_main()
        while True:
            pass

    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(interrupted)
    head, *ranks = str(caught.value).splitlines()
    assert head == "the run was interrupted and has ended"
    assert "rank 1 was running, at test_how_runs_end.py, line" in ranks[0]
    assert "rank 0 waited in recv(src=1), at test_how_runs_end.py, line" in ranks[1]


def test_a_thread_of_a_ranks_own_that_outlives_the_run_may_run_but_call_no_verb(monkeypatch):
    over, results = threading.Event(), []

    def go_on():
        over.wait(30)
        with contextlib.suppress(RuntimeError):
            results.append(worlds.comm.barrier())
        results.append(simulate(swap).values)

    def begin(comm):  # a module is one for all ranks
        if comm.rank == 0:
            worlds.comm = comm
            worlds.thread.start()

    monkeypatch.setattr(worlds, "comm", None, raising=False)
    monkeypatch.setattr(worlds, "thread", threading.Thread(target=go_on), raising=False)
    simulate(begin)
    over.set()
    worlds.thread.join(30)
    assert results == [[1, 1]]


def test_verbs_from_a_foreign_greenlet_are_refused():
    def from_a_greenlet(comm):
        greenlet(lambda: comm.barrier()).switch()

    with pytest.raises(WorkerError, match=r"barrier\(\) of rank 0 was called by another"):
        simulate(from_a_greenlet)


def test_a_communicator_is_of_no_use_after_its_run():
    def keep(comm):
        worlds.kept = comm  # a module is one for all ranks; what they return is a copy

    simulate(keep)
    comm = worlds.__dict__.pop("kept")
    with pytest.raises(SimulationError, match="after its run was over"):
        comm.barrier()


def test_a_run_in_another_thread_works_beside_this_one():
    results = []
    thread = threading.Thread(target=lambda: results.append(simulate(swap).values))
    thread.start()
    thread.join()
    assert results == [[1, 1]]


def test_gradients_are_recorded_for_each_rank_apart():
    torch = pytest.importorskip("torch")

    def mixed(comm):
        import torch

        other = 1 - comm.rank
        if comm.rank == 0:
            with torch.no_grad():
                comm.sendrecv(np.zeros(1), dst=other, src=other)
                inside = torch.is_grad_enabled()
                comm.barrier()
        else:
            inside = torch.is_grad_enabled()
            comm.sendrecv(np.zeros(1), dst=other, src=other)
            comm.barrier()
        w = torch.ones(2, requires_grad=True)
        comm.barrier()
        (w * 3).sum().backward()
        return inside, torch.is_grad_enabled(), w.grad.tolist()

    assert simulate(mixed).values == [(False, True, [3.0, 3.0]), (True, True, [3.0, 3.0])]
    assert torch.is_grad_enabled()


def test_verbs_in_an_autograd_hook_are_refused():
    pytest.importorskip("torch")

    def hooked(comm):
        import torch

        w = torch.ones(2, requires_grad=True)
        w.register_hook(lambda grad: comm.barrier())
        w.sum().backward()

    with pytest.raises(SimulationError, match=r"called barrier\(\) inside backward"):
        simulate(hooked)


def test_what_the_ranks_held_is_freed_when_the_run_is_over(seen):
    def hold(comm):
        import what_ranks_saw

        array = np.zeros(10)
        what_ranks_saw.seen.append(weakref.ref(array))
        comm.barrier()

    gc.collect()
    gc.disable()
    try:
        simulate(hold)
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


class Holder:
    array = np.zeros(1000)

    def held(self):
        return Holder.array


def test_classes_of_ranks_are_gone_when_the_run_is_over(seen, monkeypatch):
    def hold(comm):
        import what_ranks_saw

        what_ranks_saw.seen += [weakref.ref(Holder), weakref.ref(Holder().held())]
        comm.barrier()
        return Holder()

    values = simulate(hold).values
    gc.collect()
    assert [ref() for ref in seen] == [None] * 4
    assert [type(value) for value in values] == [Holder, Holder]

    seen.clear()
    monkeypatch.setattr("course_lib.comm.simulated.endings._MUCH_BYTES", 2 * Holder.array.nbytes)
    gc.disable()
    try:
        simulate(hold)
        assert [ref() for ref in seen] == [None] * 4, "what is large is freed at once"
    finally:
        gc.enable()


def test_many_ranks_do_not_use_up_the_stack():
    def ring(comm):
        for _ in range(2):
            comm.sendrecv(np.zeros(1), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
        return comm.rank

    assert simulate(ring, workers=1500, trace=False).values == list(range(1500))


def test_a_network_must_fit_the_run():
    with pytest.raises(TypeError, match="network must be a Network such as"):
        simulate(swap, network="ethernet_10g")
    with pytest.raises(ValueError, match="3 speeds in flops_per_s, but workers=2"):
        simulate(swap, network=networks.Network("n", 0.0, 1.0, (1.0, 2.0, 3.0)))


@pytest.mark.parametrize(
    ("value", "exception"), [(0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)]
)
def test_a_limit_of_events_is_a_whole_number(value, exception):
    with pytest.raises(exception, match="max_events must be"):
        simulate(swap, max_events=value)


def test_a_limit_of_events_is_for_the_simulator():
    with pytest.raises(ValueError, match='max_events is only for backend="simulated"'):
        run(swap, workers=2, max_events=5)


def test_a_run_with_as_many_events_as_it_may_have_is_left_alone():
    def work_slowly(comm):
        for _ in range(4):
            comm.note("at work", 1)
        if comm.rank == 1:
            time.sleep(0.3)  # three looks

    assert simulate(work_slowly, max_events=8).trace.notes_named("at work")[7].rank == 1
    with pytest.raises(SimulationError, match="more than 7 events"):
        simulate(work_slowly, max_events=7)


def test_the_watchdog_is_silent_once_left():
    assert Watchdog(0.05, lambda: None).call(lambda: 3) == 3
    time.sleep(0.1)


def endless():
    while True:
        pass


def test_the_watchdog_interrupts_python_code():
    calls = []
    with pytest.raises(TimeIsUp):
        Watchdog(0.05, lambda: calls.append(1)).call(endless)
    assert calls == [1]


@pytest.mark.slow
def test_the_watchdog_interrupts_again_what_swallowed_it():
    def swallow_once():
        with pytest.raises(TimeIsUp):
            endless()
        endless()

    with pytest.raises(TimeIsUp):
        Watchdog(0.02, lambda: None).call(swallow_once)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_the_watchdog_interrupts_again_what_a_callback_of_the_garbage_collector_swallowed():
    calls = []

    def swallow_once(*_):
        if not calls:
            calls.append(1)
            endless()

    def collect_and_go_on():
        gc.collect()
        endless()

    gc.callbacks.append(swallow_once)
    try:
        with pytest.raises(TimeIsUp):
            Watchdog(0.02, lambda: None).call(collect_and_go_on)
    finally:
        gc.callbacks.remove(swallow_once)
    assert calls == [1]


@pytest.mark.parametrize("limit_s", [60.0, 0.2])
def test_a_debugger_can_follow_what_comes_after_a_run(limit_s):
    # Something left behind for the interpreter to look at made it stand still under a tracer.
    text = f"""
import sys, time
from course_lib import run

def work(comm):
    while {limit_s} < 1:
        time.sleep(0.01)

def traced():
    return "well"

try:
    run(work, workers=2, backend="simulated", time_limit_s={limit_s})
except TimeoutError:
    print("too long")
sys.settrace(lambda *event: None)
print(traced())
"""
    child = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=30,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
    )  # fmt: skip
    assert child.stdout.splitlines() == (["well"] if limit_s > 1 else ["too long", "well"])


@pytest.mark.slow
def test_torch_has_one_thread_as_in_a_worker_and_afterwards_as_many_as_before():
    import torch

    def threads(comm, fails):
        assert not fails
        return torch.get_num_threads()

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert simulate(threads, False).values == [1, 1]
        assert torch.get_num_threads() == 2
        with pytest.raises(WorkerError):
            simulate(threads, True)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def fail_in_a_collective(comm):
    comm.start(lambda child: child.recv(src=1 - child.rank))
    if comm.rank == 1:
        raise KeyError("planned")
    comm.send(np.zeros(10_000), dst=1)


def wait_for_each_other(comm):
    comm.recv(src=1 - comm.rank)


def meet_too_few(comm):
    if comm.rank == 0:
        raise ValueError("planned")
    comm.barrier()


@pytest.mark.parametrize("fn", [fail_in_a_collective, wait_for_each_other, meet_too_few])
@pytest.mark.parametrize("faults", [None, Faults([Crash(rank=1, at_s=0.5)])])
def test_greenlets_are_freed_by_the_thread_that_has_made_them(fn, faults):
    def greenlets():
        return sum(issubclass(type(each), greenlet) for each in gc.get_objects())

    getcurrent()  # the thread's own is there from now on
    gc.collect()
    before = greenlets()
    gc.disable()
    try:
        with contextlib.suppress(RunError):
            simulate(fn, faults=faults)
        left = greenlets()
    finally:
        gc.enable()
    assert left <= before


def note_for_ever(comm):
    while comm.rank == 0:
        comm.note("loss", 1.0)
    comm.barrier()


def wait_first(comm):
    comm.recv(src=1) if comm.rank == 0 else comm.send(np.zeros(1), dst=0)


def test_a_rank_that_is_struck_twice_is_told_with_its_own_line(monkeypatch):
    """Its verb is refused first; on a busy computer the watchdog's strike comes after that."""
    n_again = []
    put_aside = Surroundings.put_aside

    def put_aside_and_strike(self, of_rank):
        result = put_aside(self, of_rank)
        if sys.exc_info()[0] is TimeIsUp and not n_again:
            n_again.append(1)
            raise TimeIsUp
        return result

    monkeypatch.setattr(Surroundings, "put_aside", put_aside_and_strike)
    first = note_for_ever.__code__.co_firstlineno
    lines = rf"test_how_runs_end\.py, line ({first + 1}|{first + 2})\n"
    with pytest.raises(LaunchTimeout, match=f"rank 0 was running, at {lines}"):
        simulate(note_for_ever, time_limit_s=0.2)
    assert n_again == [1]


def test_a_rank_that_is_struck_as_it_begins_to_wait_is_told_too(monkeypatch):
    def strike(self):
        raise TimeIsUp

    monkeypatch.setattr(Flow, "_sleep", strike)
    with pytest.raises(LaunchTimeout, match=r"rank 0 was running, at test_how_runs_end\.py, line"):
        simulate(wait_first)
