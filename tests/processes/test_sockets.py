"""No worker, nor a process that helps it, can be reached over a network."""

import os
import socket
import subprocess
import sys
import tempfile

import psutil
import pytest

from course_lib.comm.processes.launcher import fork_server_folder
from tests.programs import Program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="programs are ended the POSIX way here"),
]

AT_WORK = """
import socket, time
import numpy as np
from course_lib import run

def work(comm):
    comm.sendrecv(np.zeros(100_000), dst=1 - comm.rank, src=1 - comm.rank)
    if OPENS is not None and comm.rank == 1:
        opened = socket.socket(socket.AF_INET, getattr(socket, OPENS))
        opened.bind(("127.0.0.1", 0))
        if OPENS == "SOCK_STREAM":
            opened.listen()
    print("at work", flush=True)
    time.sleep(1000)

run(work, workers=2, start_method=METHOD, time_limit_s=100)
"""


def sockets_of(program):
    """List the TCP and UDP sockets of a program and of all below it."""
    tree = [psutil.Process(program.pid), *program.descendants()]
    return [found for process in tree for found in process.net_connections(kind="inet")]


def started(folder, method, opens):
    program = Program(folder, f"OPENS = {opens!r}\n{AT_WORK}", method)
    program.wait_for("at work")
    program.wait_for("at work")
    return program


def test_no_process_of_a_run_has_a_socket_of_a_network(tmp_path, start_method):
    with started(tmp_path, start_method, None) as program:
        assert len(program.descendants()) >= 3
        assert sockets_of(program) == []


def test_a_dead_programs_folder_is_swept_and_one_that_is_merely_called_so_is_not(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    left, mine = tmp_path / f"cl-{child.pid}-abcd1234", tmp_path / f"cl-{child.pid}-my-results"
    for folder in (left, mine):
        folder.mkdir()
    (mine / "precious").touch()
    (left / fork_server_folder.STORE).touch()
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(left / "listener-x"))
    fork_server_folder.sweep()
    assert not left.exists()
    assert (mine / "precious").exists()


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_one_that_a_worker_opens_would_be_seen(tmp_path, usual_method, kind):
    with started(tmp_path, usual_method, kind) as program:
        assert len(sockets_of(program)) == 1


def test_a_long_name_of_the_temporary_folder_is_no_obstacle(tmp_path, usual_method):
    """A socket's path has room for a hundred bytes; names of temporary folders may be longer."""
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    text = """
from course_lib import run
print(run(lambda comm: comm.rank, workers=2, start_method=METHOD).values, flush=True)
"""
    code = f"METHOD = {usual_method!r}\n{text}"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[0, 1]\n", "")
    assert list(folder.iterdir()) == []
