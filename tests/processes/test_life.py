"""A run that goes well: results by rank, code by value, one world for each run."""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
import pytest

from course_lib import run
from course_lib.comm.errors import LaunchTimeout, WorkerError
from course_lib.comm.processes.launcher import launcher
from tests.programs import assert_gone

pytestmark = pytest.mark.slow


def test_a_worker_sees_the_launchers_folder_path_and_environment(
    start_method, tmp_path, monkeypatch
):
    (tmp_path / "a_module_beside.py").write_text("ANSWER = 42\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("A_VARIABLE_OF_THIS_TEST", "seen")
    monkeypatch.delenv("HOME", raising=False)

    def work(comm):
        import a_module_beside

        environment = (os.environ.get("A_VARIABLE_OF_THIS_TEST"), os.environ.get("HOME"))
        return a_module_beside.ANSWER, str(Path.cwd()), environment

    values = run(work, workers=1, start_method=start_method).values
    assert values == [(42, str(tmp_path), ("seen", None))]


def test_results_of_classes_made_here_come_back_as_these_classes(start_method):
    class Pair:
        def __init__(self, a):
            self.a = a

    (value,) = run(lambda comm: Pair(5), workers=1, start_method=start_method).values
    assert type(value) is Pair
    assert value.a == 5


def test_large_arguments_and_results_travel(start_method):
    data = np.arange(3_000_000.0)

    def work(comm, given):
        given += comm.rank
        return given

    values = run(work, data, workers=2, start_method=start_method).values
    assert np.array_equal(values[0], data)
    assert np.array_equal(values[1], data + 1)
    assert data[0] == 0


def test_a_worker_computes_with_one_thread(start_method):
    def work(comm):
        import torch
        from threadpoolctl import threadpool_info

        np.ones((300, 300)) @ np.ones((300, 300))
        pools = {pool["num_threads"] for pool in threadpool_info()}
        return torch.get_num_threads(), pools

    assert run(work, workers=1, start_method=start_method).values == [(1, {1})]


def test_all_ranks_share_one_clock(start_method):
    def work(comm):
        times = []
        for _ in range(20):
            if comm.rank == 0:
                comm.send(np.array(comm.clock()), dst=1)
                comm.recv(src=1)
            else:
                sent_s = float(comm.recv(src=0))
                times.append((sent_s, comm.clock()))
                comm.send(np.zeros(0), dst=0)
        return times

    times = run(work, workers=2, start_method=start_method).values[1]
    assert all(0 < sent_s < seen_s for sent_s, seen_s in times)
    assert min(seen_s - sent_s for sent_s, seen_s in times) < 0.05


def test_the_trace_holds_messages_computing_waiting_notes(start_method):
    def work(comm):
        if comm.rank == 0:
            with comm.compute("nap", flops=10):
                time.sleep(0.05)
            comm.note("loss", 0.5)
            comm.send(np.zeros(4), dst=1, tag="t")
        else:
            comm.recv(src=0)

    trace = run(work, workers=2, start_method=start_method).trace
    (message,) = trace.messages
    assert message[:6] == (0, 1, "t", "<f8", (4,), 32)
    assert message.posted_s <= message.sent_s
    assert message.posted_s <= message.arrived_s <= message.received_s
    (nap,) = trace.computes
    assert (nap.rank, nap.label, nap.flops) == (0, "nap", 10.0)
    assert 0.05 <= nap.end_s - nap.start_s < 5
    assert nap.end_s <= message.posted_s
    assert [(n.rank, n.name, n.value) for n in trace.notes] == [(0, "loss", 0.5)]
    waited = [wait for wait in trace.waits if wait.rank == 1]
    assert {(wait.verb, wait.peer) for wait in waited} == {("recv", 0)}
    assert waited[-1].end_s <= message.received_s


def test_a_run_without_trace_records_nothing(start_method):
    def work(comm):
        comm.sendrecv(np.zeros(3), dst=1 - comm.rank, src=1 - comm.rank)
        comm.note("x", 1)
        recorder = comm._context.recorder
        return [recorder.sends, recorder.receives, recorder.notes, recorder.waits]

    result = run(work, workers=2, trace=False, start_method=start_method)
    assert result.values == [[[], [], [], []]] * 2
    assert result.recorded is None


def test_an_unknown_way_of_starting_is_refused():
    with pytest.raises(ValueError, match="start_method must be one of"):
        run(lambda comm: None, start_method="fork")


def test_no_warning_is_given_when_all_is_well(start_method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(lambda comm: 1, workers=3, start_method=start_method).values == [1, 1, 1]


class Slow:
    """It takes a while to be loaded."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __reduce__(self):
        return time.sleep, (self.seconds,)


def test_loading_has_as_long_as_the_run_and_a_least_time_of_its_own(usual_method, monkeypatch):
    monkeypatch.setattr(launcher, "LOAD_LEAST_S", 0.5)
    options = {"workers": 2, "start_method": usual_method}
    assert run(lambda comm, _: 1, Slow(0.7), time_limit_s=20, **options).values == [1, 1]
    with pytest.raises(LaunchTimeout, match=r"rank 0, 1 did not load its function within 0.5 s"):
        run(lambda comm, _: 1, Slow(1000), time_limit_s=0.3, **options)


def test_a_worker_does_not_wait_for_dill_and_finds_it_if_it_asks():
    def work(comm):
        import sys

        before = "dill" in sys.modules
        import dill

        return before, dill.loads(dill.dumps(5))

    assert run(work, workers=1, start_method="spawn").values == [(False, 5)]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such shell")
@pytest.mark.parametrize("backend", ["processes", "torch"])
def test_what_a_program_of_a_worker_has_started_ends_with_a_run_that_goes_well(backend):
    def work(comm):
        # The shell has ended before the worker does, so that nobody is its program's parent.
        with tempfile.TemporaryFile("w+") as file:
            subprocess.run("sleep 1000 & echo $!", shell=True, stdout=file, check=True)
            file.seek(0)
            return int(file.read())

    pids = run(work, workers=2, backend=backend).values
    assert_gone([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)])


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="lists names in shared memory")
@pytest.mark.parametrize("fails", [False, True])
def test_shared_memory_of_a_rank_s_own_goes_with_the_run(start_method, fails):
    mark = f"of-a-rank-of-{os.getpid()}-"

    def take(comm):
        from multiprocessing.shared_memory import SharedMemory

        mine = SharedMemory(name=f"{mark}{comm.rank}", create=True, size=10_000)
        comm.barrier()
        assert not (fails and comm.rank == 1)
        return mine.size

    if fails:
        with pytest.raises(WorkerError, match="rank 1 failed"):
            run(take, workers=2, start_method=start_method)
    else:
        assert min(run(take, workers=2, start_method=start_method).values) >= 10_000
    assert list(Path("/dev/shm").glob(f"{mark}*")) == []
