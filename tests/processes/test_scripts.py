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
