"""Under torchrun: ranks meet for each run, who does not come is named, torch is left as it was."""

import json
import os
import subprocess
import sys

import pytest

from tests.programs import REPOSITORY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="presses Ctrl-C and copies programs by POSIX calls"),
]

SCRIPT = """
import json, os, signal, sys, threading, time
import torch
import torch.distributed as dist
from course_lib import run
from course_lib.comm import launch
from course_lib.comm.torch_backend import meeting, torchrun

RANK = int(os.environ["RANK"])

def numbers(comm):
    import numpy as np
    return comm.rank, float(np.random.rand())

def works(comm):
    for _ in range(100):
        time.sleep(0.02)
        comm.barrier()

def one_is_late(comm):
    time.sleep(1.5 if comm.rank == 0 else 0)

def in_torchs_own(comm):
    total = torch.tensor([comm.rank + 1])
    dist.all_reduce(total)
    comm.barrier()  # gloo resets connections that others may still read from
    dist.destroy_process_group()  # which is the learner's
    comm.barrier()
    return int(total)

def say(*what):
    sys.stdout.write(json.dumps([RANK, *what]) + "\\n")
    sys.stdout.flush()

def attempt(what, fn=numbers, **options):
    begun_s = time.monotonic()
    try:
        result = run(fn, backend="torch", **options)
    except BaseException as error:
        say(what, type(error).__name__, str(error), time.monotonic() - begun_s)
    else:
        told = result.values[RANK], result.trace is not None
        say(what, "went well", told, time.monotonic() - begun_s)
        return result

def attempt_pressed(what, module, name, number=signal.SIGINT):
    before = getattr(module, name)

    def pressed(*args, **options):
        if RANK == 1 and number is None:
            raise MemoryError("none")
        if RANK == 1:
            os.kill(os.getpid(), number)
        return before(*args, **options)

    setattr(module, name, pressed)
    attempt(what)
    setattr(module, name, before)

if RANK == 1:  # before rank 0 has told anything
    attempt("refused", seed=-1)
else:
    attempt("refused")
first = attempt("first", seed=RANK, trace=RANK == 0, rendezvous=RANK == 1)
meeting._LEAST_S = 0.5
if RANK == 1:
    time.sleep(1.5)
attempt("late", time_limit_s=0.1)
meeting._LEAST_S = 20.0
if RANK == 1:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
else:
    time.sleep(2)
attempt("interrupted")
attempt_pressed("interrupted when all had come", meeting, "_connected")
attempt_pressed("interrupted while they agree", torchrun, "common_origin_s")
attempt("refused later", time_limit_s=-1 if RANK == 0 else 5)

def press(number, frame):
    raise TimeoutError("of a handler")

signal.signal(signal.SIGUSR1, press)
attempt_pressed("a handler raises in run", launch, "check_job", signal.SIGUSR1)
attempt("other functions", works if RANK else numbers)
attempt_pressed("cannot connect", meeting, "use_own_gpu", None)
if RANK == 1 and os.fork() == 0:
    attempt("in a copy")
    sys.exit()
torch.set_default_device("meta")
attempt("with another device")
torch.set_default_device(None)
attempt("all again")
try:
    if RANK == 1:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    run(works, backend="torch")
except BaseException as error:
    say("at work", type(error).__name__, str(error))

attempt("together")  # so that they come to the next one at the same time
if RANK == 1:
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
attempt("waiting for the others", one_is_late)
say("left", dist.is_initialized())
if RANK == 0:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
attempt("a group on one rank")
if RANK == 0:
    dist.destroy_process_group()
for _ in range(2):
    attempt("in a group of the run", in_torchs_own)
dist.init_process_group("gloo")
attempt("in a group of the program", in_torchs_own)
os.environ["GLOO_SOCKET_IFNAME"] = "nowhere0"
attempt("no network")
del os.environ["GLOO_SOCKET_IFNAME"]

other = threading.Thread(target=attempt, args=("of one thread", works))
other.start()
time.sleep(0.7)
attempt("of another thread")
other.join()
if first.is_whole:
    attempt("only where it is whole")
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Run all attempts under torchrun; return how they ended, by what and rank."""
    script = tmp_path_factory.mktemp("meeting") / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         str(script)],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends = {}
    for line in done.stdout.splitlines():
        rank, what, *how = json.loads(line)
        ends.setdefault((what, rank), []).append(how)
    return lambda what, rank: ends[what, rank][-1]


def test_all_go_by_the_settings_of_rank_0(told):
    assert [told("first", rank)[0] for rank in (0, 1)] == ["went well"] * 2
    (of_0, traces_0), (of_1, traces_1) = (told("first", rank)[1] for rank in (0, 1))
    assert of_0[1] == of_1[1]
    assert traces_0
    assert traces_1


def test_who_does_not_come_to_a_run_is_named_on_all_others(told):
    for rank in (0, 1):
        kind, text, _ = told("late", rank)
        assert kind == "LaunchTimeout"
        assert text.startswith("rank 1 has not come to this run() within 0.5 s of rank 0;")
    assert told("late", 0)[2] < 5.0
    kind, text, taken_s = told("only where it is whole", 0)
    assert kind == "LaunchError"
    assert text.startswith("rank 1 has ended and will not come to this run(); every rank's program")
    assert "result.is_whole" in text
    assert taken_s < 10.0


def test_an_interrupt_while_others_are_waited_for_is_told_to_them(told):
    assert told("interrupted", 1)[0] == "KeyboardInterrupt"
    assert told("interrupted", 1)[2] < 1.9  # before rank 0 comes
    kind, text, _ = told("interrupted", 0)
    assert kind == "LaunchError"
    assert text == "rank 1 was interrupted before all had come to this run()"


@pytest.mark.parametrize("when", ["when all had come", "while they agree"])
def test_an_interrupt_before_the_function_is_told_to_all(when, told):
    kind, text, _ = told(f"interrupted {when}", 1)
    assert kind == "KeyboardInterrupt"
    assert text == (
        "the run was interrupted: rank 1 was interrupted before its function was called"
    )
    kind, text, taken_s = told(f"interrupted {when}", 0)
    assert (kind, text) == ("LaunchError", "rank 1 was interrupted before its function was called")
    assert taken_s < 5.0
    assert [told("all again", rank)[0] for rank in (0, 1)] == ["went well"] * 2


@pytest.mark.parametrize(
    ("what", "rank", "error", "words"),
    [
        ("refused", 1, "ValueError", "seed must be"),
        ("refused later", 0, "ValueError", "time_limit_s must be"),
        ("a handler raises in run", 1, "TimeoutError", "of a handler"),
    ],
)
def test_a_call_that_ends_before_the_others_come_counts_and_is_told(what, rank, error, words, told):
    assert told(what, rank)[0] == error
    kind, text, taken_s = told(what, 1 - rank)
    assert kind == "LaunchError"
    assert text.startswith(f"rank {rank} will not come to this run(), as its call has failed: ")
    assert f"{error}: {words}" in text
    assert taken_s < 5.0
    for each in (0, 1):  # and the next calls belong together
        assert told("first", each)[0] == told("all again", each)[0] == "went well"


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_come_with_different_functions_are_told_so(rank, told):
    kind, text, _ = told("other functions", rank)
    assert kind == "LaunchError"
    assert text.startswith(
        "the ranks call run() with different functions: rank 0 with numbers, ran"
    )


def test_who_cannot_connect_says_so_to_all(told):
    assert told("cannot connect", 1)[1].startswith("there is not enough memory here")
    kind, text, taken_s = told("cannot connect", 0)
    assert kind == "LaunchError"
    assert text == "rank 1 could not connect to the others: MemoryError: none"
    assert taken_s < 5.0


def test_a_copy_of_a_rank_is_none_and_the_ranks_go_on(told):
    kind, text, _ = told("in a copy", 1)
    assert kind == "LaunchError"
    assert text.startswith("this program is a copy (os.fork) of one that torchrun has started")
    for rank in (0, 1):
        assert told("with another device", rank)[0] == "went well"


def test_an_interrupt_at_work_is_told_to_all(told):
    kind, text = told("at work", 1)
    assert kind == "KeyboardInterrupt"
    assert text.startswith("the run was interrupted; rank 1 was at script.py, line ")
    assert "rank 1" in told("at work", 0)[1]


def test_an_interrupt_of_a_rank_that_has_returned_is_told_as_that(told):
    kind, text, _ = told("waiting for the others", 1)
    assert kind == "KeyboardInterrupt"
    assert text.endswith("rank 1 was interrupted while it waited for the others")
    assert told("waiting for the others", 0)[0] == "went well"  # it has what rank 1 had returned


@pytest.mark.parametrize("rank", [0, 1])
def test_torchs_default_group_is_the_runs_or_the_programs(rank, told):
    assert told("left", rank) == [False]
    for whose in ("run", "program"):
        assert told(f"in a group of the {whose}", rank)[:2] == ["went well", [3, True]]
    kind, text, taken_s = told("a group on one rank", rank)
    assert kind == "LaunchError"
    assert text.startswith("rank 1 has no default process group of torch's, and every other rank")
    assert taken_s < 5.0


@pytest.mark.parametrize("rank", [0, 1])
def test_what_gloo_says_of_a_network_is_told(rank, told):
    kind, text, _ = told("no network", rank)
    assert kind == "LaunchError"
    assert text.startswith(f"rank {rank} could not connect to the others, though all had come")
    assert "nowhere0" in text
    assert "GLOO_SOCKET_IFNAME" in text


@pytest.mark.parametrize("rank", [0, 1])
def test_a_second_thread_is_refused_at_once(rank, told):
    kind, text, taken_s = told("of another thread", rank)
    assert kind == "LaunchError"
    assert text.startswith("another thread of this program is in a run();")
    assert taken_s < 1.0
    assert told("of one thread", rank)[0] == "went well"
