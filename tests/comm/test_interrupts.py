"""Ctrl-C at any moment: the run ends with it, the next one works, and nothing comes later."""

import _thread
import signal
import sys
import threading
import time
from contextlib import suppress

import pytest

from course_lib import run
from course_lib.comm.errors import LaunchTimeout, WorkerError
from tests.programs import Program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="a program presses Ctrl-C the POSIX way"),
]

BEGIN = """
from tests.comm.pressing import *
from tests.residue import assert_nothing_left, residue
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts with & ignores it
"""


def finish(folder, text):
    with Program(folder, BEGIN + text, "") as program:
        out, err = program.process.communicate(timeout=3600)
    assert program.process.returncode == 0, err.decode()
    assert err == b""
    return out.decode().splitlines()


def test_ctrl_c_while_the_time_limit_is_being_set_up_leaves_no_time_limit_behind(tmp_path):
    text = """
real = threading.Thread.start
def start(self):
    real(self)
    if self.name == "time limit":
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread.start = start
try:
    run(return_the_rank, workers=2, backend="simulated", time_limit_s=0.3)
except KeyboardInterrupt:
    print("interrupted")
threading.Thread.start = real
for _ in range(5):
    try:
        time.sleep(0.3)
    except BaseException as error:
        print("a later cell gets", type(error))
"""
    assert finish(tmp_path, text) == ["interrupted"]


@pytest.mark.parametrize(
    ("fn", "step"), [("return_the_rank", 13), ("wait_and_fail", 31), ("wait_for_ever", 41)]
)
def test_ctrl_c_at_any_line_of_a_simulated_run_ends_it_and_is_not_lost(tmp_path, fn, step):
    text = f"""
print(press_at_lines({fn}, {step}, backend="simulated"))
time.sleep(1.2)  # longer than ranks may take to end
print([thread.name for thread in threading.enumerate()])
"""
    n_presses, threads = finish(tmp_path, text)
    assert int(n_presses) > 300 // step
    assert threads == "['MainThread']"


@pytest.mark.parametrize("fn", ["return_the_rank", "wait_and_fail"])
def test_ctrl_c_at_any_line_of_a_real_run_ends_it_and_leaves_nothing(tmp_path, fn):
    text = f"""
run(return_the_rank, workers=2)
before = residue()
print(press_at_lines({fn}, 401, backend="processes"))
assert_nothing_left(before)
"""
    (n_presses,) = finish(tmp_path, text)
    assert int(n_presses) > 3


@pytest.mark.parametrize(
    ("call", "backend"),
    [("compute, None", "simulated"), ("sleep", "simulated"), ("compute, Packed()", "processes")],
    ids=["in a rank", "in one that sleeps", "while a call is packed"],
)
def test_ctrl_c_where_python_swallows_it_ends_the_run_all_the_same(tmp_path, call, backend):
    text = f"""
import weakref

class Thing:
    pass

def press_in_a_callback():
    thing = Thing()
    noted = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing

class Packed:
    def __reduce__(self):
        press_in_a_callback()
        return Packed, ()

def compute(comm, packed):
    if packed is None:
        press_in_a_callback()
    while True:
        pass

def sleep(comm):
    press_in_a_callback()
    time.sleep(100)

threads = threading.enumerate()
try:
    run({call}, workers=2, backend={backend!r}, time_limit_s=60)
except KeyboardInterrupt as error:
    print(str(error).splitlines()[0])
assert sys.unraisablehook is sys.__unraisablehook__
assert threading.enumerate() == threads
assert_quiet(n_runs=1)
"""
    (told,) = finish(tmp_path, text)
    assert told.startswith("the run was interrupted and ")


STORM = """
run(return_the_rank, workers=2, **OPTIONS)
before = residue()
print(storm(exchange_for_a_while, N, seed=13, **OPTIONS))
assert_quiet(n_runs=20 if OPTIONS["backend"] == "simulated" else 3, **OPTIONS)
assert_nothing_left(before)
"""


@pytest.mark.parametrize(("backend", "n_presses"), [("simulated", 200), ("processes", 10)])
def test_random_interrupts_are_told_once_each_and_nothing_comes_later(tmp_path, backend, n_presses):
    text = f"N, OPTIONS = {n_presses}, {{'backend': {backend!r}}}\n{STORM}"
    (n_within,) = finish(tmp_path, text)
    assert int(n_within) > n_presses // 10


@pytest.mark.soak
@pytest.mark.parametrize("backend", ["simulated", "processes", "torch"])
def test_a_thousand_random_interrupts(tmp_path, backend):
    (n_within,) = finish(tmp_path, f"N, OPTIONS = 1000, {{'backend': {backend!r}}}\n{STORM}")
    print(f"{n_within} of 1000 within a run")


@pytest.mark.soak
@pytest.mark.parametrize(("backend", "step"), [("simulated", 1), ("processes", 5), ("torch", 23)])
@pytest.mark.parametrize("fn", ["return_the_rank", "wait_and_fail", "wait_for_ever"])
def test_ctrl_c_at_every_line(tmp_path, backend, step, fn):
    text = f"""
run(return_the_rank, workers=2, backend={backend!r})
before = residue()
print(press_at_lines({fn}, {step}, backend={backend!r}))
assert_quiet(backend={backend!r})
assert_nothing_left(before)
"""
    print(f"{finish(tmp_path, text)} presses")


def swallow_it(comm, how_it_goes_on):
    with suppress(BaseException):
        signal.raise_signal(signal.SIGINT)
    while how_it_goes_on == "waits":
        with suppress(BaseException):
            comm.recv(src=1 - comm.rank)
    while how_it_goes_on == "loops":
        pass


@pytest.mark.parametrize("how_it_goes_on", ["returns", "waits", "loops"])
def test_a_rank_that_swallows_ctrl_c_is_ended_all_the_same(how_it_goes_on):
    with pytest.raises(KeyboardInterrupt, match="the run was interrupted"):
        run(swallow_it, how_it_goes_on, workers=2, backend="simulated")


class Stop(Exception):
    """What a program's own handler raises."""


@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_a_handler_of_the_programs_own_is_called_and_may_end_the_run(backend, monkeypatch):
    calls = []

    def handle(signum, frame):
        calls.append(signum)
        if len(calls) == 2:
            raise Stop

    def launch():
        return run(lambda comm: time.sleep(0.2), workers=1, backend=backend)

    before = signal.signal(signal.SIGINT, handle)
    try:
        for number in (1, 2):
            timer = threading.Timer(0.1, _thread.interrupt_main)
            timer.start()
            if number == 1:
                assert launch().values == [None]
            else:
                with pytest.raises((Stop, WorkerError)):
                    launch()
            timer.join()
            assert signal.getsignal(signal.SIGINT) is handle
        assert calls == [signal.SIGINT] * 2
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_program_that_ignores_ctrl_c_goes_on_ignoring_it_and_has_a_time_limit():
    def loop(comm):
        signal.raise_signal(signal.SIGINT)
        while True:
            pass

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(LaunchTimeout):
            run(loop, workers=1, backend="simulated", time_limit_s=0.2)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def endless():
    while True:
        threading.Thread(target=int).start()


def sleep_long(comm):
    time.sleep(1000)


def test_a_time_limit_that_ends_a_loop_of_new_threads_never_strikes_one_of_them():
    for _ in range(20):
        with pytest.raises(LaunchTimeout):
            run(lambda comm: endless(), workers=1, backend="simulated", time_limit_s=0.05)


def test_a_time_limit_wakes_up_a_rank_that_sleeps():
    begun_s = time.monotonic()
    with pytest.raises(LaunchTimeout, match=r"was running, at test_interrupts\.py, line"):
        run(sleep_long, workers=1, backend="simulated", time_limit_s=0.1)
    assert time.monotonic() - begun_s < 20.0


class SlowToGo:
    def __del__(self):
        until_s = time.perf_counter() + 0.6
        while time.perf_counter() < until_s:
            pass


def test_a_time_limit_that_strikes_where_python_swallows_it_strikes_again_and_nothing_is_told(
    monkeypatch,
):
    def let_go_and_loop(comm):
        thing = SlowToGo()
        del thing
        while True:
            pass

    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with pytest.raises(LaunchTimeout):
        run(let_go_and_loop, workers=1, backend="simulated", time_limit_s=0.3)
    assert told == []


def test_a_time_limit_holds_in_a_thread_too():
    errors = []

    def loop(comm):
        while True:
            pass

    def launch():
        try:
            run(loop, workers=2, backend="simulated", time_limit_s=0.1)
        except LaunchTimeout as error:
            errors.append(error)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert len(errors) == 1
