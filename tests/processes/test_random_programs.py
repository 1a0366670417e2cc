"""Random programs: planted deadlocks are found as on the simulator, correct programs left alone."""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import psutil
import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import DeadlockError, RunError

LIMIT_S = 60.0
BIG = EAGER_BYTES + 8


def correct_program(rng, size, n_steps=12):
    """Write what each rank does: parts of messages that are in one order for all of them."""
    parts = [[] for _ in range(size)]
    for _ in range(n_steps):
        a, b = rng.sample(range(size), 2)
        n_bytes = rng.choice([0, 8, BIG, 40 * BIG])
        what = rng.choice(["message", "message", "message", "swap", "ring", "barrier"])
        if what == "message":
            parts[a].append(("send", b, n_bytes))
            parts[b].append(("recv", a))
        elif what == "swap":
            parts[a].append(("sendrecv", b, b, n_bytes))
            parts[b].append(("sendrecv", a, a, n_bytes))
        else:
            for rank in range(size):
                right, left = (rank + 1) % size, (rank - 1) % size
                ring = ("sendrecv", right, left, n_bytes)
                parts[rank].append(ring if what == "ring" else ("barrier",))
    return parts


def plant_mistake(rng, parts):
    """Move or drop one receive, or let it listen to somebody else."""
    places = [
        (rank, k)
        for rank, own in enumerate(parts)
        for k, part in enumerate(own)
        if part[0] == "recv"
    ]
    if not places:
        return
    rank, k = rng.choice(places)
    part = parts[rank].pop(k)
    kind = rng.choice(["move", "drop", "change"])
    if kind == "move":
        parts[rank].insert(rng.randrange(len(parts[rank]) + 1), part)
    elif kind == "change":
        other = rng.choice([peer for peer in range(len(parts)) if peer != rank])
        parts[rank].insert(k, ("recv", other))


def obey(comm, parts):
    for verb, *details in parts[comm.rank]:
        if verb == "send":
            comm.send(np.zeros(details[1], "u1"), dst=details[0])
        elif verb == "recv":
            comm.recv(src=details[0])
        elif verb == "sendrecv":
            comm.sendrecv(np.zeros(details[2], "u1"), dst=details[0], src=details[1])
        else:
            comm.barrier()


def calls(error):
    return {(rank, call) for rank, _, call, _ in error.graph}


def planted_deadlock(seed):
    """Return a program that the simulator says deadlocks, and the simulator's error.

    None if the mistake does no harm, or if some rank also waits for one that has returned: which of
    the two is told then is a matter of who comes first.
    """
    rng = random.Random(seed)
    parts = correct_program(rng, rng.randint(2, 5))
    plant_mistake(rng, parts)
    rendezvous = rng.random() < 0.3
    try:
        with suppress(UserWarning):
            run(obey, parts, workers=len(parts), backend="simulated", rendezvous=rendezvous)
    except DeadlockError as error:
        waiting = {edge[0] for edge in error.graph}
        if {edge[1] for edge in error.graph} <= waiting:
            return parts, rendezvous, error
    except RunError:
        pass
    return None


def find_planted(n_wanted, first_seed=0):
    seed = first_seed
    while n_wanted:
        if (found := planted_deadlock(seed)) is not None:
            yield seed, *found
            n_wanted -= 1
        seed += 1


def compare(case, start_method, backend="processes"):
    """Return what processes say of a planted deadlock that the simulator does not, if anything."""
    seed, parts, rendezvous, expected = case
    begun_s = time.monotonic()
    try:
        run(
            obey, parts, workers=len(parts), rendezvous=rendezvous, start_method=start_method,
            time_limit_s=LIMIT_S, backend=backend,
        )  # fmt: skip
        said = "it went well"
    except DeadlockError as error:
        circle = {(rank, call) for rank, call in calls(error) if rank in error.cycle}
        said = "" if circle <= calls(expected) else f"{circle} instead of {calls(expected)}"
    except RunError as error:
        said = f"{type(error).__name__}: {error}"
    return f"seed {seed}: {said}" if said else "", time.monotonic() - begun_s


def check_planted(n_wanted, start_method, backend="processes"):
    with ThreadPoolExecutor(4) as pool:  # most of the time is spent waiting for the watch
        cases = find_planted(n_wanted)
        told = list(pool.map(lambda case: compare(case, start_method, backend), cases))
    times = sorted(taken_s for _, taken_s in told)
    median_s = times[len(times) // 2]
    print(
        f"{len(told)} deadlocks, four launches at once: {median_s:.2f}, at most {times[-1]:.2f} s"
    )
    assert [text for text, _ in told if text] == []
    assert len(told) == n_wanted


@pytest.mark.slow
def test_planted_deadlocks_are_found_as_on_the_simulator(usual_method):
    # What is found does not depend on how processes were started, and spawning them takes long.
    check_planted(20 if usual_method == "forkserver" else 5, usual_method)


@pytest.mark.soak
def test_two_hundred_planted_deadlocks_are_found_as_on_the_simulator(start_method):
    check_planted(200, start_method)


def stall(rng):
    """Do what makes a rank late, or nothing."""
    what = rng.random()
    if what < 0.01:
        time.sleep(rng.uniform(0.1, 0.5))
    elif what < 0.1:
        time.sleep(rng.uniform(0.0, 0.01))
    elif what < 0.3:
        for _ in range(rng.randrange(20)):
            time.sleep(0)  # gives the processor away


def obey_haltingly(comm, programs, seed, folder, beside):
    """Follow one program after the other, or two at a time: one in a function started beside."""
    (folder / str(comm.rank)).write_text(str(os.getpid()))
    for first, second in zip(programs[::2], programs[1::2], strict=True):
        if beside:
            pending = comm.start(halt_now_and_then, second, seed)
            halt_now_and_then(comm, first, seed)
            comm.barrier()
            pending.wait()
        else:
            halt_now_and_then(comm, first, seed)
            comm.barrier()
            halt_now_and_then(comm, second, seed)
    return len(programs)


def halt_now_and_then(comm, parts, seed):
    rng = random.Random(f"{seed} {comm.name} {comm.rank}")
    for part in parts[comm.rank]:
        stall(rng)
        obey(comm, {comm.rank: [part]})


class Halter:
    """Stops ranks for up to half a second each, from outside, as a busy computer might."""

    def __init__(self, folder, seed):
        self.n_halts = 0
        self._folder, self._rng = folder, random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(self._rng.uniform(0.0, 0.1)):
            files = sorted(self._folder.iterdir())
            if not files:
                continue
            with suppress(psutil.Error, ValueError):  # ended, or not written yet
                process = psutil.Process(int(self._rng.choice(files).read_text()))
                process.suspend()
                self._over.wait(self._rng.choice([0.001, 0.01, 0.1, 0.5]))
                process.resume()
                self.n_halts += 1


def check_correct(seed, n_programs, start_method, folder, beside, backend="processes"):
    """Run correct programs on the same ranks while ranks are halted; count how often they were."""
    rng = random.Random(seed)
    size = rng.randint(2, 5)
    programs = [correct_program(rng, size) for _ in range(n_programs)]
    folder.mkdir()
    with Halter(folder, seed) as halter:
        values = run(
            obey_haltingly, programs, seed, folder, beside, workers=size,
            rendezvous=rng.random() < 0.3, start_method=start_method,
            time_limit_s=30.0 + 3.0 * n_programs, backend=backend,
        ).values  # fmt: skip
    assert values == [n_programs] * size
    return halter.n_halts


TOGETHER = pytest.mark.parametrize("beside", [False, True], ids=["in turn", "two at a time"])


@pytest.mark.slow
@TOGETHER
def test_correct_programs_with_late_ranks_are_never_called_deadlocks(
    usual_method, tmp_path, beside
):
    n_runs = 10 if usual_method == "forkserver" else 2
    halts = [check_correct(k, 4, usual_method, tmp_path / str(k), beside) for k in range(n_runs)]
    print(f"{n_runs} runs of four programs, ranks halted {sum(halts)} times: no false alarm")
    assert sum(halts) > 0


@pytest.mark.soak
@TOGETHER
def test_ten_thousand_correct_programs_are_never_called_deadlocks(usual_method, tmp_path, beside):
    n_halts = 0
    for k in range(50):
        n_halts += check_correct(k, 100, usual_method, tmp_path / str(k), beside)
        print(
            f"{100 * (k + 1):,} programs, ranks halted {n_halts} times: no false alarm", flush=True
        )
