"""A limit of the program itself refuses something: the error names it, and nothing is left."""

import errno
import re
import sys

import pytest

from course_lib.comm.limits import limit_behind, what_to_do
from tests.programs import Program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces all these limits"),
]

BEGIN = """
import gc, resource, sys, threading
import numpy as np
from course_lib import run
from course_lib.comm.errors import RunError
from tests.residue import assert_nothing_left, residue

def meet(comm):
    comm.barrier()
    return comm.rank

def return_much(comm):
    comm.barrier()
    return np.ones(50_000_000 // 8)

def share(comm):
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    return comm.shared_array((1000,))

def in_use():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

def limited(name, soft, fn, workers):
    kind = getattr(resource, name)
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, hard))
    try:
        result = run(fn, workers=workers, start_method=METHOD)
    except RunError as error:
        told = f"{type(error).__name__} {error}".replace(chr(10), " | ")
    else:
        told = repr(result)
    resource.setrlimit(kind, (before, hard))
    return told

run(meet, workers=1, start_method=METHOD)
before = residue()
def tell(*arguments):
    print(limited(*arguments), flush=True)
    assert_nothing_left(before)
    assert run(meet, workers=2, start_method=METHOD).values == [0, 1]
"""


def told_by(folder, text, method):
    with Program(folder, BEGIN + text, method) as program:
        out, err = program.finish()
    assert program.process.returncode == 0, err
    assert err == ""
    return out.splitlines()


def test_memory_that_a_limit_refuses_is_not_called_free(tmp_path, usual_method):
    text = """
tell("RLIMIT_AS", in_use() + 6 * 2**20, meet, 4)
tell("RLIMIT_FSIZE", 0, meet, 4)
tell("RLIMIT_FSIZE", 2**40, share, 1)
"""
    address_space, file_size, of_a_worker = told_by(tmp_path, text, usual_method)
    for told in (address_space, file_size, of_a_worker):
        assert told.startswith("SharedMemoryFull")
        assert "free" not in told
        assert "close other programs" not in told
        assert "this program may " in told
        assert ": raise that limit or use " in told
    assert "(ulimit -v, RLIMIT_AS)" in address_space
    assert "write files of up to 0 bytes (ulimit -f, RLIMIT_FSIZE)" in file_size
    assert "write files of up to 0 bytes (ulimit -f, RLIMIT_FSIZE)" in of_a_worker


NO_FILES = """
import resource, sys
if LIMITED:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
else:
    import tempfile
    def refuse():
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")
    tempfile._get_default_tempdir = refuse
from course_lib import run
from course_lib.comm.errors import RunError

for backend in ("simulated", "processes", "torch"):
    try:
        print(run(lambda comm: comm.rank, workers=2, backend=backend).values)
    except RunError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("limited", [True, False])
def test_a_program_that_may_write_no_files_is_told_so_at_its_first_run(tmp_path, limited):
    with Program(tmp_path, f"LIMITED = {limited}\n{NO_FILES}", None) as program:
        out, err = program.finish()
    simulated, *real = out.splitlines()
    assert simulated == "[0, 1]", err
    assert len(real) == 2
    for told in real:
        assert told.startswith("LaunchError the operating system refused what is needed")
        assert "No usable temporary directory" in told
        assert ("write files of up to 0 bytes (ulimit -f, RLIMIT_FSIZE)" in told) == limited
        assert ("TMPDIR" in told) != limited


def test_a_worker_that_a_limit_of_files_does_not_let_start_names_the_limit(tmp_path, usual_method):
    text = """
import os
n_open = len(os.listdir("/proc/self/fd"))
for more in (12, 30, 45):
    tell("RLIMIT_NOFILE", n_open + more, meet, 8)
"""
    for told in told_by(tmp_path, text, usual_method):
        assert told.startswith("LaunchError the operating system")
        assert "Too many open files; this program may have " in told
        assert "(ulimit -n, RLIMIT_NOFILE): raise that limit or use fewer workers" in told
        assert "close other programs" not in told


def test_results_that_do_not_fit_here_are_told_as_that_and_leave_nothing(tmp_path, usual_method):
    text = """
for more in (45, 240):  # MiB: 33 are for shared memory and a thread
    tell("RLIMIT_AS", in_use() + more * 2**20, return_much, 4)
    gc.collect()
"""
    for told in told_by(tmp_path, text, usual_method):
        assert told.startswith("SerializationError there is not enough memory here for what rank ")
        # Which report of the rank meets the limit depends on how fast the others are.
        assert re.search(r"has sent back, its result and its trace: [\d,]+ bytes", told)
        assert "(ulimit -v, RLIMIT_AS): raise that limit or return less" in told


def test_a_fork_server_that_a_limit_ends_prints_nothing_beside_the_error(tmp_path):
    text = """
import psutil
from multiprocess import forkserver
server = psutil.Process(forkserver._forkserver._forkserver_pid)
server.rlimit(psutil.RLIMIT_NOFILE, (16, 16))
tell("RLIMIT_NOFILE", 500, meet, 4)
"""
    (told,) = told_by(tmp_path, text, "forkserver")
    assert "the fork server, the process that starts workers, has ended" in told
    assert "this program may have 500 files open (ulimit -n, RLIMIT_NOFILE)" in told


@pytest.mark.parametrize("free_kb", [3 * 1024, 6 * 1024, 12 * 1024])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_no_memory_for_the_run_itself_is_told_in_words(tmp_path, free_kb, in_pieces):
    text = f"""
def rank(comm):
    return comm.rank

for _ in range(4):  # their stacks are kept for the next threads: one can start without new memory
    thread = threading.Thread(target=print, args=("", ), kwargs=dict(end=""))
    thread.start()
    thread.join()
run(rank, workers=2, backend="simulated")
kind = resource.RLIMIT_AS
soft, hard = resource.getrlimit(kind)
resource.setrlimit(kind, (in_use() + {free_kb} * 1024, hard))
taken, size = [], 2**20  # what lies free in the heap: a limit on addresses does not count that
while size >= 2**14:
    try:
        while True:
            taken.append(bytearray(size))
    except MemoryError:
        size //= 2
del taken[{-100 if in_pieces else -3}:]
try:
    run(rank, workers=10_000, backend="simulated")
except RunError as error:
    told = str(error).splitlines()[0]
    del error
resource.setrlimit(kind, (soft, hard))
taken.clear()
print(told)
"""
    (told,) = told_by(tmp_path, text, "forkserver")  # and neither a MemoryError nor a long wait
    assert "not enough memory here" in told or "did not let a thread start" in told
    assert "(ulimit -v, RLIMIT_AS)" in told


def test_what_no_limit_has_refused_is_not_blamed_on_one():
    assert limit_behind(OSError(errno.ENOSPC, "no space")) == ""
    assert what_to_do(OSError(errno.ENFILE, "")) == "close other programs or use fewer workers"


NO_TIME = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
from course_lib import run
from course_lib.comm.errors import RunError

def compute(comm):
    while True:
        pass

try:
    run(compute, workers=1)
except RunError as error:
    print(str(error).splitlines()[0])
"""


def test_a_limit_on_processor_time_is_named_where_it_may_have_killed(tmp_path):
    with Program(tmp_path, NO_TIME, None) as program:
        out, err = program.finish()
    assert out.startswith("rank 0 was killed by SIGKILL; often: the computer ran out"), err
    limit = "this program may compute for 2 s in each of its processes (ulimit -t, RLIMIT_CPU)"
    assert out.rstrip().endswith(f", or out of processor time: {limit}")
