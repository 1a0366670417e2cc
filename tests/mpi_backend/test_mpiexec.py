"""Under mpiexec: ``run`` joins the ranks that there are, and all of them end."""

import os
import re
import subprocess
import sys
import time

import psutil
import pytest

from course_lib import run
from course_lib.comm.errors import LaunchError
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
    told,
    under_mpiexec,
)
from tests.mpi_ranks import MPIEXEC, WHY_NOT
from tests.programs import REPOSITORY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.mpiexec,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]

FAULTS = """
import signal

def work(comm, fault):
    comm.barrier()
    if comm.rank == 3:
        say("FAULT", time.time())
        if fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if fault == "raises":
            raise KeyError("planned")
        if fault == "hangs":
            time.sleep(1000)
    if comm.rank == 0:
        comm.send(np.zeros(10**7), dst=3)
    comm.recv(src=(comm.rank + 1) % 4)

FAULT = sys.argv[1]
run(lambda comm: comm.barrier(), backend="mpi")
if FAULT == "outside" and os.environ["RANK"] == "3":
    say("FAULT", time.time())
    raise KeyError("planned")
try:
    run(work, FAULT, backend="mpi", time_limit_s=3 if FAULT == "hangs" else 60)
except RunError as error:
    say("RANK", os.environ["RANK"], type(error).__name__, str(error).splitlines()[0])
    say("HEARD", time.time())
    raise SystemExit(1) from None
"""


def texts(folder, text, n, *arguments):
    """Run a script under mpiexec; return the exit code, and what all its ranks printed."""
    script = folder / "script.py"
    script.write_text(under_mpiexec(SCRIPT + text))
    done = subprocess.run(
        [MPIEXEC, "-n", str(n), sys.executable, str(script), *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=250,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    """Run all scripts as one, because torch takes long to load."""
    text = WELL.replace("(8 if", "(4 if") + BADLY + EARLY + APART + OWN
    code, printed = texts(tmp_path_factory.mktemp("one machine"), text, 2)
    assert code == 0, printed
    return printed


def test_run_joins_the_ranks_that_mpiexec_has_started(one_machine):
    check_well(one_machine, 2, "mpiexec")


def test_all_ranks_are_told_what_goes_wrong(one_machine):
    check_badly(one_machine)


def test_a_rank_works_on_its_own_copy_of_all_that_the_program_has(one_machine):
    check_own(one_machine)


def test_ranks_in_different_collectives_are_both_named_on_both(one_machine):
    check_apart(one_machine)


def test_a_rank_that_returns_early_is_told_as_one_that_has_returned(one_machine):
    check_early(one_machine)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("raises", r"WorkerError rank 3 failed at .*: KeyError: 'planned'"),
        pytest.param(
            "stopped",
            r"WorkerStalled rank 3 has been stopped for 5 seconds",
            marks=pytest.mark.soak,
        ),
        pytest.param("hangs", "LaunchTimeout .* when the time limit", marks=pytest.mark.soak),
        pytest.param("outside", None, marks=pytest.mark.soak),
        pytest.param("killed", None, marks=pytest.mark.soak),  # mpiexec tells it, and ends all
    ],
)
def test_a_rank_that_fails_is_told_by_the_others_and_nothing_is_left(tmp_path, fault, error):
    code, printed = texts(tmp_path, FAULTS, 4, fault)
    ended_s = time.time()
    assert code != 0, "a shell sees it too"
    failed_s = float(re.search(r"^FAULT (.*)", printed, re.MULTILINE).group(1))
    heard_s = [float(at) for at in re.findall(r"^HEARD (.*)", printed, re.MULTILINE)]
    if error is not None:
        assert {0, 1, 2} <= told(printed, error), printed
        assert max(heard_s) - failed_s < 15
    elif fault == "killed":
        assert "Killed (signal 9)" in printed
    else:
        assert "KeyError: 'planned'" in printed
    assert ended_s - failed_s < 30
    there = [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(tmp_path)]
    _, left = psutil.wait_procs(there, timeout=10)  # the system takes a while to clear the killed
    assert left == [], "neither a rank nor its witness"


def test_a_program_that_mpiexec_has_not_started_is_told_how_to():
    with pytest.raises(LaunchError, match=r"start the script by mpiexec -n 4 python script.py"):
        run(lambda comm: comm.rank, backend="mpi")
    with pytest.raises(ValueError, match="start_method is only for"):
        run(lambda comm: comm.rank, backend="mpi", start_method="spawn")
