"""A run over torch.distributed on one computer: whom it talks to, what it needs, what it leaves."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import (
    DeadlockError,
    LaunchTimeout,
    RunError,
    UnreceivedMessagesWarning,
)
from tests.processes.test_sockets import sockets_of
from tests.programs import Program, assert_gone, start_next_program

pytestmark = pytest.mark.slow
posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="programs are ended the POSIX way here"
)

AT_WORK = """
import time
import numpy as np
from course_lib import run

def work(comm):
    import torch
    import torch.distributed as dist
    comm.sendrecv(np.zeros(100_000), dst=1 - comm.rank, src=1 - comm.rank)
    dist.all_reduce(torch.ones(10))
    print("at work", flush=True)
    time.sleep(1000)

run(work, workers=2, backend="torch", start_method=METHOD, time_limit_s=100)
"""


@posix_only
def test_sockets_stay_on_this_computer_and_a_killed_program_leaves_no_worker_and_no_folder(
    tmp_path, start_method
):
    # One program for both, because its workers load torch, which takes long.
    with Program(tmp_path, AT_WORK, start_method) as program:
        program.wait_for("at work")
        program.wait_for("at work")
        found = sockets_of(program)
        workers = program.descendants()
        assert list(Path(tempfile.gettempdir()).glob(f"cl-{program.pid}-*"))
        program.process.kill()
        assert_gone(workers)
    assert len(found) >= 4  # each rank listens, and is connected to the other
    assert {socket.laddr.ip for socket in found} == {"127.0.0.1"}
    start_next_program(tmp_path)  # it removes the folder of the one that was killed
    assert not list(Path(tempfile.gettempdir()).glob(f"cl-{program.pid}-*"))


def store_of_the_run(comm):
    """Return the path of the file by which the ranks found each other, and its folder's rights."""
    from torch.distributed import distributed_c10d

    store = distributed_c10d._get_default_store()
    while not hasattr(store, "path"):
        store = store.underlying_store
    folder = Path(store.path).parent
    return store.path, folder.stat().st_mode & 0o777, os.environ["GLOO_SOCKET_IFNAME"]


def test_ranks_find_each_other_by_a_file_of_their_own_that_nobody_else_may_read(usual_method):
    runs = [run(store_of_the_run, workers=2, backend="torch").values for _ in range(2)]
    paths = []
    for values in runs:
        (path, rights, interface), same = values
        assert same == (path, rights, interface)
        assert rights == 0o700 or sys.platform == "win32"
        assert interface.startswith(("lo", "Lo"))
        assert not Path(path).parent.exists()
        paths.append(path)
    assert paths[0] != paths[1]


def use_torch_itself(comm):
    import torch
    import torch.distributed as dist

    x = torch.full((3,), comm.rank + 1.0)
    dist.all_reduce(x)
    comm.barrier()
    timeout = dist.group.WORLD._get_backend(torch.device("cpu")).options._timeout
    return x.tolist(), dist.get_backend(), timeout.total_seconds()


def test_the_default_group_is_there_for_collectives_of_torch_with_a_short_time_limit(usual_method):
    values = run(use_torch_itself, workers=3, backend="torch").values
    assert values == [([6.0] * 3, "gloo", 20.0)] * 3


def test_the_learners_messages_in_the_default_group_do_not_meet_ours(usual_method):
    def both(comm):
        import torch
        import torch.distributed as dist

        other, theirs = 1 - comm.rank, torch.zeros(2)
        sending = dist.isend(torch.full((2,), comm.rank + 5.0), other, tag=0)
        received = comm.sendrecv(np.array([comm.rank]), dst=other, src=other)
        dist.recv(theirs, other, tag=0)
        sending.wait()
        return int(received[0]), theirs.tolist()

    values = run(both, workers=2, backend="torch").values
    assert values == [(1, [6.0, 6.0]), (0, [5.0, 5.0])]


def test_messages_go_on_when_the_learner_has_destroyed_the_default_group(usual_method):
    def destroy(comm):
        import torch.distributed as dist

        dist.destroy_process_group()
        other = 1 - comm.rank
        return int(comm.sendrecv(np.full(10_000, comm.rank), dst=other, src=other)[-1])

    assert run(destroy, workers=2, backend="torch").values == [1, 0]


def ring_receive_first(comm, size):
    received = comm.recv(src=(comm.rank - 1) % comm.size)
    comm.send(np.zeros(size), dst=(comm.rank + 1) % comm.size)
    return received


@pytest.mark.parametrize("beside", [False, True])
def test_a_deadlock_is_found_and_told_as_in_shared_memory(usual_method, beside):
    def in_a_started_function(comm):
        return comm.start(ring_receive_first, 1).wait()

    fn, arguments = (in_a_started_function, ()) if beside else (ring_receive_first, (1,))
    told = []
    for backend in ("processes", "torch"):
        begun_s = time.monotonic()
        with pytest.raises(DeadlockError) as raised:
            run(fn, *arguments, workers=3, backend=backend)
        print(f"{backend}: {time.monotonic() - begun_s:.2f} s with the launch")
        told.append((str(raised.value), raised.value.cycle, raised.value.graph))
    assert told[0] == told[1]
    assert told[1][1] == [0, 2, 1]


def test_a_time_limit_says_where_everybody_is(usual_method):
    def wait_for_a_slow_one(comm):
        if comm.rank == 0:
            comm.recv(src=1)
        time.sleep(60)

    with pytest.raises(LaunchTimeout) as raised:
        run(wait_for_a_slow_one, workers=2, backend="torch", time_limit_s=1.0)
    assert "rank 0 waits in recv(src=1), at test_life.py" in str(raised.value)
    assert "rank 1 is running, at test_life.py" in str(raised.value)


def test_ranks_may_leave_while_others_go_on(usual_method):
    def leave_in_turn(comm):
        for last in range(comm.size - 1, 0, -1):
            if comm.rank <= last:
                right, left = (comm.rank + 1) % (last + 1), (comm.rank - 1) % (last + 1)
                for size in (1, 10_000):
                    found = comm.sendrecv(np.full(size, comm.rank), dst=right, src=left)
                    assert set(found.tolist()) == {left}
            if comm.rank == last:
                break
        return comm.rank

    for rendezvous in (False, True) * 3:
        values = run(leave_in_turn, workers=4, backend="torch", rendezvous=rendezvous).values
        assert values == [0, 1, 2, 3]


def test_without_a_group_there_is_nothing_to_import_torch_for():
    # What the launcher loads for this world is light; torch is loaded by the workers.
    code = "import course_lib.comm.torch_backend.transport, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_rank_that_dies_in_a_message_is_the_one_that_is_named(usual_method):
    def die(comm):
        if comm.rank == 1:
            os._exit(7)
        for _ in range(100):
            comm.sendrecv(np.zeros(100_000), dst=1 - comm.rank, src=1 - comm.rank)

    with pytest.raises(RunError, match="rank 1 exited with code 7") as raised:
        run(die, workers=2, backend="torch")
    assert raised.value.rank == 1


def test_a_rank_that_leaves_while_packets_come_keeps_no_lock_that_others_need(usual_method):
    def leave_between_packets(comm):
        if comm.rank == 0:
            begun_s = time.monotonic()
            while time.monotonic() - begun_s < 1:  # a few go nowhere: that rank has returned
                comm.send(np.zeros(3), dst=1)
                time.sleep(0.01)
            return "done"
        mailbox = comm._progress._mailboxes[1]
        release = mailbox._release

        def late():  # its listening thread holds the lock nearly all the time
            time.sleep(0.1)
            release()

        mailbox._release = late
        return comm.recv(src=0).size

    with pytest.warns(UnreceivedMessagesWarning):
        made = run(leave_between_packets, workers=2, backend="torch", time_limit_s=20)
    assert made.values == ["done", 3]
