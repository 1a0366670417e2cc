"""A run of the benchmarks with two sizes and one round measures, checks, writes and tidies up."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks import launch, mpich, sums
from benchmarks.__main__ import main
from benchmarks.exchange import Task
from benchmarks.peers import PeerFailed, measure_peer, running, shared_names
from benchmarks.plan import Progress
from benchmarks.sums import measurable_engines
from course_lib import run
from tests.residue import SHARED_MEMORY, assert_nothing_left, residue

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
LONG_MPICH = (
    "from benchmarks.exchange import Task; from benchmarks.mpich import measure_mpich; "
    "measure_mpich(Task((2**20,), n_batches=100_000), 2)"
)


@pytest.mark.soak  # test_algorithms makes a tiny run of fewer engines
def test_a_tiny_run_measures_every_engine_that_is_there_and_writes_what_it_printed(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(sums, "_N_BUSY", 1)  # the computer has other tests to run
    run(lambda comm: comm.rank, workers=1)  # starts the fork server, which stays
    before = residue()
    output = tmp_path / "results.json"
    topics = "allreduce,latency,busy,tracing"
    words = f"--quick --only {topics} --sizes 1024,1048576 --processes 2 --rounds 1"
    assert main([*words.split(), "--output", str(output)]) == 0
    assert_nothing_left(before)

    found = json.loads(output.read_text(encoding="utf-8"))
    medians = {(entry["engine"], entry["what"]): entry["median"] for entry in found["seconds"]}
    assert min(medians.values()) > 0
    engines = {"ours", "gloo"} | (set() if mpich.why_missing() else {"MPICH"})
    whats = {"1024", "1048576", "ping"}
    expected = {(e, w) for e in engines for w in whats}
    for other in ("ours, new array", "ours, chosen"):
        expected |= {(other, "1024"), (other, "1048576")}
    assert {key for key in medians if key[1] in whats} == expected
    assert {key for key in medians if "busy" in key[1]} == {
        (engine, "1048576, busy") for engine in ("ours", "gloo")
    }
    row = next(row for row in found["rows"] if row["peer"] == "gloo")
    ratio = medians["gloo", "1048576"] / medians["ours", "1048576"]
    assert row["value"] == pytest.approx(ratio, rel=0.01)  # both are rounded to three digits
    assert f"{row['value']:.3g} × faster" in capsys.readouterr().out


def test_the_simulator_is_measured_alone_and_in_a_process_of_its_own(tmp_path, capsys):
    output = tmp_path / "results.json"
    words = f"--quick --only simulator --rounds 1 --output {output}"
    assert main(words.split()) == 0
    speed, memory = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert speed["what"] == "simulated ring of 128 ranks, 32,512 messages, with trace"
    assert (speed["peer"], speed["unit"], speed["verdict"]) == ("", "messages/s", "")
    assert memory["unit"] == "GB"
    assert 0.01 < memory["value"] < 4
    assert f"no peer: {speed['value']:,.0f} messages/s" in capsys.readouterr().out


def test_a_missing_mpi_is_told_with_how_to_install_it_and_the_rest_goes_on(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(mpich, "SCRIPTS", tmp_path)  # as if there were no mpiexec
    with Progress() as progress:
        assert measurable_engines(progress) == ["ours", "gloo", "ours, chosen", "ours, new array"]
    told = capsys.readouterr().out
    assert "MPICH is left out" in told
    assert "pip install mpi4py mpich" in told


def test_a_peer_that_fails_is_told_in_its_own_words_and_takes_the_other_ranks_along():
    before = residue()
    waits = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    fails = [sys.executable, "-c", "raise ValueError('planted')"]
    with pytest.raises(PeerFailed, match="ValueError: planted"):
        measure_peer(lambda _: [waits, fails], Task((1024,)), 2)
    assert_nothing_left(before)


def test_a_notebook_measures_launches():
    before = residue()
    with launch.notebook() as kernel:
        kernel.execute(launch.CELL_OF_OURS)
        (seconds,) = kernel.seconds("launch_seconds(1)")
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            kernel.execute("1 / 0")
    assert 0 < seconds < PATIENCE_S
    assert residue().processes <= before.processes


def test_ctrl_c_in_the_moment_in_which_a_peer_is_begun_leaves_nothing_behind(tmp_path, monkeypatch):
    born = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            born.append(psutil.Process(self.pid))
            if len(born) == 2:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    waits = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    with pytest.raises(KeyboardInterrupt), running([waits] * 3, tmp_path / "output"):
        pass
    assert [process.is_running() for process in born] == [False, False]


@pytest.mark.skipif(sys.platform == "win32", reason="a parent cannot send Ctrl-C there")
@pytest.mark.parametrize(
    ("words", "peer"),
    [
        (["-m", "benchmarks", "--only", "allreduce", "--sizes", "1024"], "benchmarks.gloo"),
        (["-c", LONG_MPICH], "benchmarks.mpich"),
    ],
)
@pytest.mark.soak
def test_ctrl_c_leaves_nothing_behind(tmp_path, words, peer):
    if peer == "benchmarks.mpich" and mpich.why_missing():
        pytest.skip(mpich.why_missing())
    names_before = shared_memory_of_mpich()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, *words], cwd=REPOSITORY, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    below = wait_for_ranks(process, peer)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    if words[0] == "-m":
        assert process.returncode == 130
        assert "stopped; the topics measured so far are kept" in errors
    _, alive = psutil.wait_procs(below, timeout=PATIENCE_S)
    assert alive == [], [command(process) for process in alive]
    assert list(tmp_path.glob("peer-*")) == []
    assert shared_memory_of_mpich() <= names_before


def shared_memory_of_mpich():
    return set(SHARED_MEMORY.glob("mpich*"))


def wait_for_ranks(process, peer):
    """Wait until two ranks of a peer run and share memory; return all processes below."""
    needs_names = peer == "benchmarks.mpich" and sys.platform.startswith("linux")
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        below = psutil.Process(process.pid).children(recursive=True)
        ranks = [p for p in below if command(p)[1:3] == ["-m", peer]]
        if len(ranks) == 2 and (shared_names(ranks) or not needs_names):
            return below
        time.sleep(0.01)
    raise AssertionError(f"{peer} did not start: {process.communicate()}")


def command(process):
    try:
        return process.cmdline() or [""]
    except psutil.Error:
        return [""]
