"""Under torchrun: ``run`` joins the ranks that there are, on one machine or several."""

import socket
import subprocess
import sys

import pytest

from course_lib import run
from tests.joined_ranks import (
    APART,
    BADLY,
    EARLY,
    OWN,
    SCRIPT,
    WELL,
    check_apart,
    check_badly,
    check_early,
    check_own,
    check_well,
)
from tests.programs import REPOSITORY

pytestmark = pytest.mark.slow

# The first rank leaves while Python ends in the other, which takes a while.
FAILED = """
class Late:
    def __del__(self, rest=time.sleep):
        rest(2)

late = Late() if rank == 1 else None
refused(lambda: run(fail, backend="torch"))
say("ends", rank)
"""


def texts(folder, text, *arguments, n_programs=1):
    """Run a script under torchrun; return the exit code, and what all its ranks printed."""
    script = folder / "script.py"
    script.write_text(SCRIPT + text)
    programs = [
        subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *arguments, *where, str(script)],
            cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for where in ([], ["--node-rank=1"])[:n_programs]
    ]  # fmt: skip
    printed = "".join(program.communicate(timeout=250)[0] for program in programs)
    return [program.returncode for program in programs], printed


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    """Run all scripts for one machine as one, because torch takes long to load."""
    text = WELL.replace("(8 if", "(4 if") + BADLY + EARLY + APART + OWN + FAILED
    folder = tmp_path_factory.mktemp("one machine")
    codes, printed = texts(folder, text, "--standalone", "--nproc-per-node=2")
    assert set(codes) == {0}, printed
    return printed


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        ({"LOCAL_WORLD_SIZE": ""}, "but LOCAL_WORLD_SIZE='': start this program with torchrun"),
        ({"MASTER_ADDR": "", "MASTER_PORT": "x"}, "but MASTER_PORT='x', MASTER_ADDR='': start"),
    ],
)
def test_what_torchrun_has_not_set_is_named(lacks, told, monkeypatch):
    whole = {
        "TORCHELASTIC_RUN_ID": "none", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
    }  # fmt: skip
    for name, value in (whole | lacks).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=told):
        run(len, backend="torch")


def test_run_joins_the_ranks_of_one_machine(one_machine):
    check_well(one_machine, 2)


def test_all_ranks_of_one_machine_are_told_what_goes_wrong(one_machine):
    check_badly(one_machine)


def test_a_rank_works_on_its_own_copy_of_all_that_the_program_has(one_machine):
    check_own(one_machine)


def test_ranks_in_different_collectives_are_both_named_on_both(one_machine):
    check_apart(one_machine)


def test_a_rank_that_returns_early_is_told_as_one_that_has_returned(one_machine):
    check_early(one_machine)


def test_a_program_ends_as_it_likes_after_a_run_that_has_failed(one_machine):
    assert {"ends 0", "ends 1"} <= set(one_machine.splitlines())


@pytest.mark.soak  # test_lost_ranks has two machines
def test_run_joins_the_ranks_of_two_machines(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    codes, printed = texts(
        tmp_path, WELL, "--nnodes=2", "--nproc-per-node=2", "--master-addr=127.0.0.1",
        f"--master-port={port}", n_programs=2,
    )  # fmt: skip
    assert set(codes) == {0}, printed
    check_well(printed, 4)


def test_a_rank_that_never_comes_to_its_first_run_is_named(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "if os.environ['RANK'] == '1':\n"
        "    sys.exit(0)\n"
        "from course_lib import run\n"
        "from course_lib.comm.torch_backend import meeting\n"
        "meeting._LEAST_S = 2.0  # 20 as a rule\n"
        "run(lambda comm: comm.barrier(), backend='torch', time_limit_s=1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         str(script)],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "LaunchTimeout: rank 1 has not come to this run() within 2 s of rank 0" in done.stderr


AGAIN = """
import os
import numpy as np
from course_lib import run
from course_lib.collectives import allreduce_ring

def add_up(comm):
    return float(allreduce_ring(comm, np.full(4, comm.rank + 1.0))[0])

attempt, rank = os.environ["TORCHELASTIC_RESTART_COUNT"], int(os.environ["RANK"])
for _ in range(2):
    print(f"attempt {attempt} {run(add_up, backend='torch').values[rank]}", flush=True)
    if attempt == "0" and rank == 1:
        os._exit(3)
"""


def test_programs_that_torchrun_starts_again_meet_each_other_and_not_those_before(tmp_path):
    (tmp_path / "script.py").write_text(AGAIN)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         "--max-restarts=1", str(tmp_path / "script.py")],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    n_told = [done.stdout.count(f"attempt {attempt} 3.0\n") for attempt in "01"]
    assert n_told[0] >= 1  # the first that is gone has the other ended, maybe before it tells
    assert n_told[1] == 4
    assert "could not connect" not in done.stderr
