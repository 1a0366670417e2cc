"""Real programs: runs in threads that end, no room for more files, a package found by a link."""

import signal
import sys

import pytest

from tests.programs import REPOSITORY, Program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="programs are ended the POSIX way here"),
]


@pytest.fixture
def start_program(tmp_path):
    programs = []

    def start(text, method):
        programs.append(Program(tmp_path, text, method))
        return programs[-1]

    yield start
    for program in programs:
        program.__exit__()


def test_a_run_in_a_thread_that_ends_does_not_end_later_workers(start_program, start_method):
    text = """
import threading, time
from course_lib import run

def work(comm):
    time.sleep(0.2)
    comm.barrier()
    return comm.rank

def launch():
    print(run(work, workers=2, start_method=METHOD).values, flush=True)

for _ in range(2):
    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
launch()
"""
    out, err = start_program(text, start_method).finish()
    assert out.splitlines() == ["[0, 1]"] * 3, err


def test_a_system_without_room_for_more_files_refuses_and_cleans_up(start_program, start_method):
    text = """
import resource
from course_lib import run
from course_lib.comm.errors import LaunchError

def work(comm):
    comm.barrier()
    return comm.rank

print(run(work, workers=2, start_method=METHOD).values)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (60, hard))
try:
    run(work, workers=30, start_method=METHOD)
except LaunchError as error:
    print("refused:", error)
print(run(work, workers=2, start_method=METHOD).values)
"""
    out, err = start_program(text, start_method).finish()
    first, refused, last = out.splitlines()
    assert first == last == "[0, 1]"
    assert "refused: the operating system did not let worker" in refused
    assert "Too many open files" in refused
    assert err == ""


def test_errors_name_the_script_also_where_the_package_is_found_by_a_link(
    tmp_path, start_program, start_method
):
    (tmp_path / "link").symlink_to(REPOSITORY)
    text = """
import sys
sys.path.insert(0, "link")
from course_lib import run

def work(comm):
    comm.recv(src=1 - comm.rank)

for options in ({"start_method": METHOD}, {"backend": "simulated"}):
    try:
        run(work, workers=2, **options)
    except Exception as error:
        print(str(error).count("at script.py, line 8"), str(error).count("course_lib"))
"""
    out, err = start_program(text, start_method).finish()
    assert out.splitlines() == ["2 0", "2 0"], err


def test_a_fork_server_that_is_told_again_and_again_to_end_says_nothing(start_program):
    """A kernel that is shut down tells its children more than once; torch takes a while to end."""
    text = """
import os, signal, time
import psutil
import torch
from course_lib import run

run(lambda comm: comm.rank, workers=1)
(server,) = (p for p in psutil.Process().children() if "forkserver" in " ".join(p.cmdline()))
while server.is_running() and server.status() != psutil.STATUS_ZOMBIE:
    server.send_signal(signal.SIGTERM)
    time.sleep(0.001)
print("ended")
"""
    assert start_program(text, "forkserver").finish() == ("ended\n", "")


def test_an_interrupt_ends_a_result_whose_loading_does_not(start_program, start_method):
    text = """
import time
from course_lib import run

class Endless:
    def __reduce__(self):
        return load, ()

def load():
    print("loading", flush=True)
    while True:
        time.sleep(0.01)

if __name__ == "__main__":
    try:
        run(lambda comm: Endless(), workers=2, start_method=METHOD)
    except KeyboardInterrupt:
        print("interrupted", run(lambda comm: comm.rank, workers=2, start_method=METHOD).values)
"""
    program = start_program(text, start_method)
    program.wait_for("loading")
    program.process.send_signal(signal.SIGINT)
    out, err = program.finish()
    assert out.splitlines() == ["interrupted [0, 1]"], err


def test_signals_that_the_program_blocks_reach_workers_and_stay_blocked_here(
    start_program, start_method
):
    text = """
import signal
from course_lib import run

BLOCKED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)

def blocked(comm):
    return list(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

print(run(blocked, workers=2, start_method=METHOD).values)
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()) == BLOCKED)
from multiprocess import forkserver
if METHOD == "forkserver":  # it must have learned that its workers have ended
    status = open(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read()
    print([line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")])
"""
    if not sys.platform.startswith("linux"):
        text = text.partition("from multiprocess")[0]
    out, err = start_program(text, start_method).finish()
    said = out.splitlines()
    assert said[:2] == ["[[], []]", "True"], err
    assert said[2:] in ([], ["['0000000000000002']"])  # Ctrl-C alone


def test_a_program_that_ignores_the_end_of_its_children_starts_and_replaces_fork_servers(
    start_program, start_method
):
    text = """
import os, signal, time
from course_lib import run
from course_lib.comm.errors import LaunchError

signal.signal(signal.SIGCHLD, signal.SIG_IGN)

def child(comm):
    return signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL

def try_it():
    try:
        print(run(child, workers=2, start_method=METHOD).values)
    except LaunchError as error:
        print(error)

try_it()
import course_lib.checks  # now the workers need another server
try_it()
if METHOD == "forkserver":
    from multiprocess import forkserver
    from course_lib.comm.processes.memory.shared_memory import is_alive
    pid = forkserver._forkserver._forkserver_pid
    os.kill(pid, signal.SIGKILL)
    while is_alive(pid):
        time.sleep(0.01)
    try_it()
"""
    out, err = start_program(text, start_method).finish()
    if start_method == "forkserver":
        assert out.splitlines() == ["[True, True]"] * 3, err
    else:
        refusals = out.splitlines()
        assert len(refusals) == 2
        assert all("this program ignores SIGCHLD" in line for line in refusals)


def test_a_working_directory_that_is_gone_is_said_to_be_that(start_program, start_method):
    text = """
import os, tempfile
from course_lib import run
from course_lib.comm.errors import LaunchError

gone = tempfile.mkdtemp()
os.chdir(gone)
os.rmdir(gone)
for backend in ("processes", "torch"):
    try:
        run(lambda comm: comm.rank, workers=2, backend=backend, start_method=METHOD)
    except LaunchError as error:
        print(error)
"""
    out, err = start_program(text, start_method).finish()
    assert err == ""
    assert len(out.splitlines()) == 2
    assert all("working directory of this program has been removed" in o for o in out.splitlines())


@pytest.mark.parametrize("backend", ["processes", "torch"])
def test_workers_load_nothing_of_the_working_directory_that_the_program_does_not(
    tmp_path, start_program, start_method, backend
):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "course_lib").mkdir(parents=True)
    for name in ("numpy.py", "random.py", "multiprocess.py", "course_lib/__init__.py"):
        (elsewhere / name).write_text("raise SystemExit('a file of the working directory')\n")
    text = f"""
import os
os.chdir("elsewhere")
from course_lib import run

def where(comm):
    import course_lib
    return course_lib.__file__

print(run(where, workers=2, backend={backend!r}, start_method=METHOD).values)
"""
    out, err = start_program(text, start_method).finish()
    assert out.strip() == str([str(REPOSITORY / "course_lib" / "__init__.py")] * 2), err
