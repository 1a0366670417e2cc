"""Under torchrun: a run that not all ranks come to ends on those that have, and says why."""

import json
import subprocess
import sys

import pytest

from tests.programs import REPOSITORY

pytestmark = pytest.mark.slow

SCRIPT = """
import json, os, signal, sys, threading, time
from course_lib import run
from course_lib.comm.torch_backend import roll_call

RANK = int(os.environ["RANK"])

def numbers(comm):
    import numpy as np
    return comm.rank, float(np.random.rand())

def works(comm):
    for _ in range(200):
        time.sleep(0.02)
        comm.barrier()

def say(*what):
    sys.stdout.write(json.dumps([RANK, *what]) + "\\n")
    sys.stdout.flush()

def attempt(what, **options):
    begun_s = time.monotonic()
    try:
        result = run(numbers, backend="torch", **options)
    except BaseException as error:
        say(what, type(error).__name__, str(error), time.monotonic() - begun_s)
    else:
        told = result.values[RANK], result.trace is not None
        say(what, "went well", told, time.monotonic() - begun_s)
        return result

first = attempt("first", seed=RANK, trace=RANK == 0, rendezvous=RANK == 1)
roll_call._LEAST_S = 0.5
if RANK == 1:
    time.sleep(1.5)
attempt("late", time_limit_s=0.1)
roll_call._LEAST_S = 20.0
if RANK == 1:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
else:
    time.sleep(1.5)
attempt("interrupted")
attempt("all again")
try:
    if RANK == 1:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    run(works, backend="torch")
except BaseException as error:
    say("at work", type(error).__name__, str(error))
if first.is_whole:
    attempt("only where it is whole")
"""


def test_who_does_not_come_to_a_run_is_named_on_all_others(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         str(script)],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = {}
    for line in done.stdout.splitlines():
        rank, what, *how = json.loads(line)
        told[what, rank] = how
    # All go by the settings of rank 0, whatever their own.
    assert [told["first", rank][0] for rank in (0, 1)] == ["went well"] * 2
    (of_0, traces_0), (of_1, traces_1) = (told["first", rank][1] for rank in (0, 1))
    assert of_0[1] == of_1[1]
    assert traces_0
    assert traces_1
    for rank in (0, 1):
        kind, text, _ = told["late", rank]
        assert kind == "LaunchTimeout"
        assert text.startswith("rank 1 has not come to this run() within 0.5 s of rank 0;")
    assert told["late", 0][2] < 5.0
    assert told["interrupted", 1][0] == "KeyboardInterrupt"
    assert told["interrupted", 1][2] < 1.4  # before rank 0 comes
    kind, text, _ = told["interrupted", 0]
    assert kind == "LaunchError"
    assert text.startswith("rank 1 was interrupted while it waited for the others")
    assert [told["all again", rank][0] for rank in (0, 1)] == ["went well"] * 2
    kind, text = told["at work", 1]
    assert kind == "KeyboardInterrupt"
    assert text.startswith("the run was interrupted; rank 1 was at script.py, line ")
    assert "rank 1" in told["at work", 0][1]
    kind, text, taken_s = told["only where it is whole", 0]
    assert kind == "LaunchError"
    assert text.startswith("rank 1 has ended and will not come to this run(); every rank's program")
    assert "result.is_whole" in text
    assert taken_s < 10.0
