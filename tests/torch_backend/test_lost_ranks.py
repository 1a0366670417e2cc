"""Under torchrun on two machines: whoever dies or stops is named by all others, on both."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from course_lib.comm.torch_backend import witness
from tests.programs import REPOSITORY

pytestmark = pytest.mark.skipif(os.name == "nt", reason="ends processes by signals")

MARK = "TEST_OF_LOST_RANKS"
SCRIPT = """
import os, signal, sys, time
import numpy as np
from course_lib import run
from course_lib.comm.errors import RunError

def work(comm, fault):
    comm.barrier()
    if comm.rank == 3:
        sys.stdout.write(f"FAULT {fault} {os.getpid()}\\n")
        sys.stdout.flush()
        if fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "left":
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSTOP)
    if comm.rank == 0:
        comm.send(np.zeros(10**7), dst=3)
    comm.recv(src=(comm.rank + 1) % 4)

for fault in sys.argv[1].split(","):
    try:
        run(work, fault, backend="torch", time_limit_s=float(sys.argv[2]))
    except RunError as error:
        text = str(error).splitlines()[0]
        sys.stdout.write(f"RANK {os.environ['RANK']} {type(error).__name__} {text}\\n")
        sys.stdout.flush()
time.sleep(1)  # when the first leaves, torchrun ends the others of its machine
sys.exit(1)
"""


def until(met, limit_s):
    """Wait until something holds; return how long that took."""
    began_s = time.monotonic()
    while not met():
        assert time.monotonic() - began_s < limit_s
        time.sleep(0.05)
    return time.monotonic() - began_s


def of_this_test(folder):
    """List what torchrun has started for the test, and torchrun: all have inherited a variable."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == str(folder):
                found.append(process)
    return found


@pytest.fixture
def two_agents(tmp_path):
    """Start torchrun twice, with two ranks each; yield what gives all that they have printed."""
    agents = []

    def start(*arguments):
        script = tmp_path / "script.py"
        script.write_text(SCRIPT)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        for node in range(2):
            with (tmp_path / f"printed-{node}").open("w") as printed:
                agents.append(subprocess.Popen(
                    [sys.executable, "-m", "torch.distributed.run", "--nnodes=2",
                     "--nproc-per-node=2", f"--node-rank={node}", "--master-addr=127.0.0.1",
                     f"--master-port={port}", str(script), *arguments],
                    cwd=REPOSITORY, env={**os.environ, MARK: str(tmp_path)},
                    stdout=printed, stderr=subprocess.STDOUT,
                ))  # fmt: skip

    def printed():
        return "".join(file.read_text() for file in sorted(tmp_path.glob("printed-*")))

    yield start, printed, tmp_path
    for agent in agents:
        agent.terminate()
    for process in of_this_test(tmp_path):
        with suppress(psutil.Error):
            process.kill()
    for agent in agents:
        agent.wait(30)


ENDED = r"WorkerKilled rank 3 has ended before its function had returned"
STALLED = r"WorkerStalled rank 3 has been stopped for 5 seconds"
ERRORS = {"killed": ENDED, "left": ENDED, "stopped": STALLED}
LATE = r"LaunchTimeout .*rank \d still waits in .* when the time limit passes"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "limit_s"),
    [
        # One after the other, by the same agents: who has been stopped goes on, and then leaves.
        (("stopped", "left"), 60),
        pytest.param(("killed",), 60, marks=pytest.mark.soak),  # to others the same as "left"
        pytest.param(("stopped",), 2, marks=pytest.mark.soak),
    ],
)
def test_all_ranks_hear_within_ten_seconds_who_is_lost(two_agents, faults, limit_s):
    start, printed, folder = two_agents
    start(",".join(faults), str(limit_s))
    for fault in faults:
        until(lambda fault=fault: f"FAULT {fault}" in printed(), 120)
        error = LATE if limit_s == 2 else ERRORS[fault]
        # On the machine of a killed rank, torchrun may end the others before they have printed.
        survivors = {0, 1} if fault == "killed" else {0, 1, 2}
        if limit_s == 2:  # all ranks of a machine are late at once
            survivors = {2}

        def all_have(error=error, survivors=survivors):
            told = re.findall(rf"^RANK (\d) {error}", printed(), re.MULTILINE)
            return survivors <= {*map(int, told)} and bool({"0", "1"} & {*told})

        with suppress(AssertionError):
            until(all_have, 10)
        assert all_have(), printed()
        lost = int(re.search(rf"FAULT {fault} (\d+)", printed()).group(1))
        with suppress(ProcessLookupError):
            os.kill(lost, signal.SIGKILL if fault == faults[-1] else signal.SIGCONT)
    until(lambda: not of_this_test(folder), 40)


class Watched:
    """A process to be lost, and its witness."""

    def __init__(self, rank, others=2):
        self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        words = [sys.executable, "-I", witness.__file__, str(rank), str(self.process.pid)]
        self.witness = subprocess.Popen(
            [*words, str(others), "127.0.0.1"] if rank == 0 else words,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def tell(self, line):
        self.witness.stdin.write(line + "\n")
        self.witness.stdin.flush()

    def hear(self):
        return self.witness.stdout.readline().strip()

    def end(self):
        for process in (self.process, self.witness):
            process.kill()
            process.wait()
        self.witness.stdin.close()
        self.witness.stdout.close()


@pytest.fixture
def three():
    """Return three processes whose witnesses know each other, and where they met."""
    watched = [Watched(rank) for rank in range(3)]
    watched[0].tell("token")
    port = int(watched[0].hear().split()[1])
    for rank in (1, 2):
        watched[rank].tell(f"join 127.0.0.1 {port} token")
    yield watched, port
    for one in watched:
        one.end()


@pytest.mark.slow
def test_a_process_that_ends_is_told_to_all(three):
    watched, _ = three
    watched[2].process.kill()
    watched[2].process.wait()
    assert watched[0].hear() == watched[1].hear() == "lost 2 ended"
    watched[1].process.kill()  # the first loss is the one that counts
    watched[0].tell("bye")
    assert watched[0].hear() == ""
    assert watched[0].witness.wait(10) == 0


@pytest.mark.slow
def test_a_process_that_ends_with_its_witness_is_told_to_all(three):
    watched, _ = three
    time.sleep(1)  # they have said hello
    watched[1].witness.kill()
    assert watched[0].hear() == watched[2].hear() == "lost 1 broken"


@pytest.mark.slow
def test_the_end_of_rank_0_is_told_to_all(three):
    watched, _ = three
    watched[0].process.kill()
    watched[0].process.wait()
    assert watched[1].hear() == watched[2].hear() == "lost 0 ended"


@pytest.mark.slow
def test_who_says_goodbye_is_not_lost_and_strangers_are_not_heard(three):
    watched, port = three
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"hello wrong 1\nlost 2 ended\n")
        assert stranger.recv(100) == b""
    watched[2].tell("bye")
    assert watched[2].witness.wait(10) == 0
    watched[2].process.kill()
    watched[1].process.kill()
    watched[1].process.wait()
    assert watched[0].hear() == "lost 1 ended"


@pytest.mark.slow
def test_a_witness_that_comes_late_to_a_run_that_was_over_soon_hears_goodbye():
    hub = Watched(0, others=1)
    hub.tell("token")
    port = int(hub.hear().split()[1])
    with socket.create_connection(("127.0.0.1", port)) as late:
        hub.tell("bye")
        with pytest.raises(subprocess.TimeoutExpired):  # it waits for the other's name
            hub.witness.wait(0.3)
        late.sendall(b"hello token 1\n")
        assert late.makefile().readlines()[-1] == "bye\n"
        assert hub.witness.wait(10) == 0
    hub.end()
