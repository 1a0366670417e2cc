"""Scripts for ranks that are programs of their own: what ``run`` does under torchrun and mpiexec.

They name torchrun's backend and variables; ``under_mpiexec`` makes them name those of mpiexec.
"""

__all__ = [
    "APART", "BADLY", "EARLY", "OWN", "SCRIPT", "WELL", "check_apart", "check_badly", "check_early",
    "check_own", "check_well", "told", "under_mpiexec",
]  # fmt: skip

import re

SCRIPT = """
import decimal, os, sys, time
here = time.perf_counter
time.perf_counter = lambda: here() + 1000 * int(os.environ["RANK"])  # as of as many computers
import numpy as np
import torch
from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.collectives import allreduce_ring

def say(*parts):  # in one piece: all ranks write into one pipe
    sys.stdout.write(" ".join(map(str, parts)) + "\\n")
    sys.stdout.flush()

def work(comm, size):
    total = allreduce_ring(comm, np.full(size, comm.rank + 1.0))
    half = allreduce_ring(comm, torch.full((size,), comm.rank + 1, dtype=torch.bfloat16))
    pending = comm.start(lambda child: child.split(0).size)
    comm.barrier()
    return comm.rank, float(total[-1]), float(half[-1]), pending.wait()

def fail(comm):
    if comm.rank == 1:
        raise KeyError("planned")
    comm.recv(src=1)

def wait_in_vain(comm):
    if comm.rank == 0:
        comm.recv(src=1)
    time.sleep(2)

def return_late(comm):
    sys.excepthook = None
    time.sleep(4 * comm.rank)

def share(comm):
    return comm.shared_array(3)

def refused(call):
    try:
        call()
    except (ValueError, RunError) as error:
        say("RANK", os.environ["RANK"], type(error).__name__, str(error).splitlines()[0])
"""

# Clocks are compared by messages: each is wrong by up to half of its fastest exchange. That is a
# fraction of a millisecond, on a busy computer more. The clocks of these ranks are 1000 s apart.
WELL = """
SLACK_S = 0.1
for size in (3, 10_000):  # a group is joined, then joined again
    result = run(work, size, backend="torch")
    say("values", result.values, result.trace.n_messages)
    for m in result.trace.messages:
        assert -SLACK_S < m.posted_s < 60, m
        assert m.received_s is None or m.posted_s - SLACK_S < m.received_s < 60, m
    assert len(result.trace.collectives) == (8 if os.environ["RANK"] == "0" else 2)
refused(lambda: run(work, 3, backend="torch", workers=3))
assert run(work, 3, backend="torch", workers=int(os.environ["WORLD_SIZE"])).values is not None
"""

APART = """
def with_other_shapes(comm):
    allreduce_ring(comm, np.ones(3 + comm.rank))

def into_another(comm):
    if comm.rank == 0:
        allreduce_ring(comm, np.ones(3))
    else:
        comm.recv(src=0)

for call in (with_other_shapes, into_another):
    refused(lambda: run(call, backend="torch"))
"""

OWN = """
class Tally:
    count = 0

KEPT = {"by": "the caller"}

def change(comm, given):
    given[:] = comm.rank + 1
    KEPT["by"] = comm.rank
    for _ in range(3):
        Tally.count += 1
        comm.barrier()
    return Tally(), Tally.count, KEPT["by"], given.tolist()

def drawn(comm, *_):
    return float(np.random.rand())

class Draws:
    def __setstate__(self, state):
        np.random.rand()

rank, given = int(os.environ["RANK"]), np.zeros(2)
tally, *rest = run(change, given, backend="torch").values[rank]
assert type(tally) is Tally
for other in run(change, given, backend="torch").values:
    assert other is None or type(other[0]) is Tally, other

class Planned(Exception):
    pass

def plan(comm):
    if comm.rank == 1:
        raise Planned("as planned")

try:
    run(plan, backend="torch")
except RunError as error:
    assert type(error.original) is Planned, error.original
    say("planned", rank)
say("changed", rest, given.tolist(), Tally.count, KEPT["by"])
draws = Draws()
draws.state = 1
assert run(drawn, backend="torch").values[rank] == run(
    drawn, draws, backend="torch").values[rank]
refused(lambda: run(drawn, (i for i in range(3)), backend="torch"))

def divide(comm):
    decimal.getcontext().prec += 1
    np.seterr(all="ignore")
    return float(np.ones(1)[0] / np.zeros(1)[0]), decimal.getcontext().prec

decimal.getcontext().prec = 3
np.seterr(all="raise")
say("divided", run(divide, backend="torch").values[rank], decimal.getcontext().prec,
    np.geterr()["divide"])
"""

BADLY = """
refused(lambda: run(fail, backend="torch"))
refused(lambda: run(wait_in_vain, backend="torch", time_limit_s=1))
refused(lambda: run(share, backend="torch"))
refused(lambda: run(return_late, backend="torch", time_limit_s=1))
assert sys.excepthook is not None
say("again", run(work, 3, backend="torch").values[int(os.environ["RANK"])])
"""


EARLY = """
from course_lib.comm.errors import PeerFinishedError

LARGE = np.zeros(100_000)

def leave_early(comm, who):
    if comm.rank == who:
        return LARGE
    told = []
    for call in (lambda: comm.recv(src=who), lambda: comm.send(LARGE, dst=who), comm.barrier,
                 lambda: comm.split(0), comm.recv_any):
        try:
            call()
        except PeerFinishedError as error:
            told.append(error.peer)
    return told

def miss(comm):
    if comm.rank == 0:
        comm.barrier()
    return LARGE

def function_returned(comm):
    def listen(child):
        try:
            return child.recv(src=1)
        except PeerFinishedError as error:
            return error.peer, str(error).count("from 'world/start ")

    def leave(child):
        pass

    heard = [comm.start(leave if comm.rank else listen).wait() for _ in range(2)]
    comm.sendrecv(LARGE, dst=1 - comm.rank, src=1 - comm.rank)
    return heard

rank = int(os.environ["RANK"])
say("functions", rank, run(function_returned, backend="torch").values[rank])
for who in (0, 1):
    value = run(leave_early, who, backend="torch").values[rank]
    say("early", who, rank, value if rank != who else value.size)
refused(lambda: run(miss, backend="torch"))
"""


def check_well(printed, size, launcher="torchrun"):
    total = size * (size + 1) / 2
    values = [(rank, total, total, size) for rank in range(size)]
    for others in (values, *([None] * r + [values[r]] + [None] * (size - r - 1)
                             for r in range(1, size))):  # fmt: skip
        assert printed.count(f"values {others} ") == 2, printed
    assert (
        printed.count(f"ValueError {launcher} has started {size} ranks, got workers=3: leave")
        == size
    )


def told(printed, error):
    return {int(rank) for rank in re.findall(rf"^RANK (\d) {error}", printed, re.MULTILINE)}


def check_badly(printed):
    """All ranks are told what goes wrong, and can run again."""
    for error in (
        r"WorkerError rank 1 failed at script.py, line \d+: KeyError: 'planned'",
        r"LaunchTimeout .*rank 0 still waits in recv\(src=1\) when the time limit passes",
        r"WorkerError rank \d failed at .*: rank \d called shared_array\(\), which needs",
        r"LaunchTimeout .*rank 0 still waits until the function of rank 1 has returned when",
    ):
        assert told(printed, error) == {0, 1}, printed
    assert {"again (0, 3.0, 3.0, 2)", "again (1, 3.0, 3.0, 2)"} <= set(printed.splitlines())


def check_own(printed):
    """A rank works on its own copy of all that the program has."""
    for rank in (0, 1):
        changed = [3, rank, [rank + 1.0] * 2]
        assert f"changed {changed} [0.0, 0.0] 0 the caller" in printed.splitlines(), printed
        assert "divided (inf, 29) 3 raise" in printed.splitlines(), printed
    assert {"planned 0", "planned 1"} <= set(printed.splitlines()), printed
    assert told(printed, "SerializationError argument 1 of .*, a generator, cannot") == {0, 1}


def check_apart(printed):
    """Ranks in different collectives are both named, on both."""
    for told_apart in (
        r"rank 0 is in allreduce_ring #0 with shape \(3,\), rank 1 in allreduce_ring #0 with shape "
        r"\(4,\):",
        "rank 0 is in allreduce_ring #0, rank 1 in no collective:",
    ):
        error = f"CollectiveMismatchError the collectives do not match: {told_apart}"
        assert told(printed, error) == {0, 1}, printed


def check_early(printed):
    """A rank that returns early is told as one that has returned."""
    early = {f"early {who} {1 - who} {[who] * 5}" for who in (0, 1)}
    early |= {"early 0 0 100000", "early 1 1 100000"}
    early |= {"functions 0 [(1, 1), (1, 1)]", "functions 1 [None, None]"}
    assert early <= set(printed.splitlines()), printed
    error = (
        r"PeerFinishedError .*rank 0 waits in barrier\(\) for rank 1, which has already returned"
    )
    assert told(printed, error) == {0, 1}, printed


def under_mpiexec(text):
    """Return a script for mpiexec."""
    for torchruns, mpis in (
        ('backend="torch"', 'backend="mpi"'),
        ('["RANK"]', '["PMI_RANK"]'),
        ('["WORLD_SIZE"]', '["PMI_SIZE"]'),
    ):
        text = text.replace(torchruns, mpis)
    return text
