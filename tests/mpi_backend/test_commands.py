"""``train`` and ``bench`` under mpiexec, and what they say where nothing has started them so."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from course_lib.cli.bench import main as bench
from course_lib.cli.search import main as search
from course_lib.cli.train import main
from course_lib.cli.train_arguments import read_arguments
from course_lib.comm import started
from course_lib.comm.mpi_backend import start
from course_lib.console import options
from course_lib.train.checkpoint import INDEX, load, read_index
from tests.mpi_ranks import MPIEXEC, WHY_NOT
from tests.programs import REPOSITORY

SMALL = "--model logistic --epochs 2 --scheme data_parallel"

# Both commands in one launch, because torch takes long to load.
BOTH = """
import sys
from course_lib.__main__ import main

train, bench = (words.split() for words in sys.argv[1:])
sys.exit(main(train) or main(bench))
"""


@pytest.fixture
def under_mpi(monkeypatch):
    """Have an environment as mpiexec -n 3 makes it for its last rank."""
    monkeypatch.setattr(start, "find_spec", lambda name: name)
    monkeypatch.setattr(options, "_FIRST_SPEAKS_S", 0.0)  # no mpiexec would end this program
    for name, value in [("PMI_SIZE", "3"), ("PMI_RANK", "2"), ("MPI_LOCALRANKID", "0")]:
        monkeypatch.setenv(name, value)


@pytest.mark.slow
@pytest.mark.mpiexec
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_mpiexecs_programs_train_and_measure_together_and_one_of_them_prints(tmp_path):
    (tmp_path / "both.py").write_text(BOTH)
    done = subprocess.run(
        [MPIEXEC, "-n", "2", sys.executable, "both.py", f"train {SMALL} --checkpoint mpi",
         "bench allreduce --backend mpi --sizes 4KB --algorithms ring --repeats 1"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True,
        text=True, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(", 2 workers, backend mpi\n") == 1
    assert done.stdout.count("all-reduce of float32, backend mpi") == 1
    assert "ring" in done.stdout.split("all-reduce of float32")[1]
    there = [tmp_path / name for name in ("mpi", "simulated")]
    words = f"{SMALL} --backend simulated --workers 2 --checkpoint {there[1]}"
    assert main(words.split()) == 0
    ours, expected = map(load, there)
    assert ours.w.tolist() == expected.w.tolist(), "trained by two, as two are simulated"


@pytest.mark.soak
@pytest.mark.mpiexec
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_a_training_that_has_lost_a_rank_goes_on_to_the_bit(tmp_path):
    kept, printed = tmp_path / "mpi", tmp_path / "printed"
    training = f"{SMALL.replace('--epochs 2', '--epochs 400')} --checkpoint {kept}"
    words = [MPIEXEC, "-n", "2", sys.executable, "-m", "course_lib", "train", *training.split()]
    with printed.open("w") as out:
        mpiexec = subprocess.Popen(words, cwd=REPOSITORY, stdout=out, stderr=subprocess.STDOUT)
    try:
        until_s = time.monotonic() + 250
        while not (kept / INDEX).exists():
            assert mpiexec.poll() is None, printed.read_text()
            assert time.monotonic() < until_s, printed.read_text()
            time.sleep(0.01)
        started_here = psutil.Process(mpiexec.pid).children(recursive=True)
        ranks = [one for one in started_here if one.environ().get("PMI_RANK") == "1"]
        ranks[0].kill()  # the other one is its witness
        killed_s = time.monotonic()
        assert mpiexec.wait(250) != 0
        assert time.monotonic() - killed_s < 30
    finally:
        mpiexec.kill()
    assert "Killed (signal 9)" in printed.read_text()
    _, left = psutil.wait_procs(started_here, timeout=30)
    assert left == []
    assert read_index(kept)["epoch"] < 400
    subprocess.run([*words, "--resume"], cwd=REPOSITORY, check=True, timeout=250)
    twin = tmp_path / "simulated"
    alone = training.replace(str(kept), f"{twin} --backend simulated --workers 2")
    assert main(alone.split()) == 0
    assert load(kept).w.tolist() == load(twin).w.tolist()


@pytest.mark.parametrize("command", [main, bench, search])
def test_where_mpiexec_has_started_nothing_the_error_says_how(command, monkeypatch, capsys):
    words = ["allreduce"] if command is bench else []
    for is_there, told in (
        (True, "has not started this program: put mpiexec -n 4 before the same command; --backend "
               "processes starts ranks by itself"),
        (False, "needs mpi4py and an MPI, which are not installed; to install both: python -m pip "
                "install mpi4py mpich; then put mpiexec -n 4"),
    ):  # fmt: skip
        monkeypatch.setattr(start, "find_spec", lambda name, is_there=is_there: is_there or None)
        with pytest.raises(SystemExit) as left:
            command([*words, "--backend", "mpi"])
        assert left.value.code == 2
        assert told in capsys.readouterr().err


def test_under_mpiexec_its_ranks_are_the_workers(under_mpi, monkeypatch, capsys):
    asked = read_arguments(["--model", "logistic"])
    assert (asked.backend, asked.workers) == ("mpi", 3)
    for words, told in (
        ("--backend processes", "mpiexec has started 3 ranks already: leave --backend out"),
        ("--backend torch", "mpiexec has started 3 ranks already: leave --backend out"),
        ("--workers 2", "mpiexec has started 3 ranks, got workers=2"),
    ):
        with pytest.raises(SystemExit):
            main(f"--model logistic {words}".split())
        assert capsys.readouterr().err == "", "the first rank says it"
        with monkeypatch.context() as first:
            first.setenv("PMI_RANK", "0")
            with pytest.raises(SystemExit):
                main(f"--model logistic {words}".split())
        assert told in capsys.readouterr().err


def test_of_mpiexecs_other_programs_none_simulates_and_one_of_each_computer_tells(
    under_mpi, capsys
):
    assert main(f"--backend simulated {SMALL}".split()) == 0
    assert capsys.readouterr().out == ""
    assert not options.is_first_program()
    assert options.is_first_of_computer()


def test_torchrun_counts_where_slurm_has_started_it_and_one_rank_is_a_shell(under_mpi, monkeypatch):
    assert started.started_by().launcher == "mpiexec"
    for name, value in [("TORCHELASTIC_RUN_ID", "none"), ("WORLD_SIZE", "2"), ("RANK", "1")]:
        monkeypatch.setenv(name, value)
    assert started.started_by()[:4] == ("torchrun", "torch", 1, 2)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    monkeypatch.setenv("PMI_SIZE", "1")
    assert started.started_by() is None
