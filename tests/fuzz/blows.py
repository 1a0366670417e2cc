"""Blows from outside, at random moments: Ctrl-C for the program, a signal for a worker."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import psutil

from course_lib.comm.errors import LaunchError, WorkerKilled, WorkerStartError
from tests.faults.random_kills import a_worker
from tests.fuzz.generate import generate
from tests.fuzz.worlds import in_world
from tests.programs import REPOSITORY
from tests.residue import assert_nothing_left, residue

__all__ = ["interrupt", "kill"]

_OF_A_KILL = (WorkerKilled, WorkerStartError, LaunchError)


def interrupt(world: str, seed: int, count: int, longest_s: float = 0.15) -> None:
    """Interrupt a program that runs random programs; it checks that nothing is left.

    Parameters
    ----------
    world : str
        Where they run.
    seed, count : int
        Which programs, and how many interrupts.
    longest_s : float, default: 0.15
        Interrupts come up to so long after a run began.
    """
    moments = random.Random(f"interrupts {seed}")
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.interrupted"]
    with subprocess.Popen(
        [*command, world, str(seed), str(count)], cwd=REPOSITORY, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as child:  # fmt: skip
        guard = threading.Timer(60.0 + 30.0 * count, child.kill)
        guard.start()
        try:
            lines = _interrupted(child, moments, longest_s)
        finally:
            guard.cancel()
            guard.join()
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    told = "".join(lines)
    n_clean = sum("nothing left" in line for line in lines)
    assert n_clean == count, f"after {n_clean} of {count} interrupts (seed {seed}):\n{told[-3000:]}"


def _interrupted(
    child: "subprocess.Popen[str]", moments: random.Random, longest_s: float
) -> list[str]:
    """Interrupt whenever it says ``go``; return all that it said."""
    lines = []
    assert child.stdout is not None
    for line in child.stdout:
        lines.append(line)
        if line.startswith("go "):
            time.sleep(moments.uniform(0.0, longest_s))
            child.send_signal(signal.SIGINT)
    child.wait()
    return lines


def kill(world: str, seed: int, count: int, longest_s: float = 0.1) -> int:
    """Run random programs and send a worker of each SIGKILL or SIGTERM; return how many died of it.

    Parameters
    ----------
    world : str
        One with processes.
    seed, count : int
        Which programs.
    longest_s : float, default: 0.1
        The signal comes up to so long after there is a worker.
    """
    moments, n_dead = random.Random(f"kills {seed}"), 0
    before = residue()
    for number in range(count):
        program = generate(seed, number)
        blow = moments.choice((signal.SIGKILL, signal.SIGTERM))
        late_s = moments.uniform(0.0, longest_s)
        thread = threading.Thread(target=_strike, args=(blow, late_s))
        thread.start()
        outcome = in_world(world, [program])
        thread.join()
        where = f"program {number} of seed {seed}, {blow.name}: {outcome.error}"
        assert outcome.error is None or isinstance(outcome.error, _OF_A_KILL), where
        n_dead += outcome.error is not None
        assert_nothing_left(before)
    assert in_world(world, [generate(seed, count)]).logs, "the next run works"
    return n_dead


def _strike(blow: signal.Signals, late_s: float) -> None:
    deadline = time.monotonic() + 5.0
    while (victim := a_worker()) is None and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(late_s)
    if victim is not None:
        with suppress(psutil.Error):
            victim.send_signal(blow)
