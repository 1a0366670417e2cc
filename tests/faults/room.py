"""No room in the system: for processes, files, shared memory, or the memory of a worker."""

import os
import shutil
import subprocess
import sys

import numpy as np
import psutil
import pytest

from course_lib.comm.errors import SharedMemoryFull, WorkerError
from course_lib.comm.processes.memory import shared_memory
from tests.faults.table import Case, row
from tests.programs import REPOSITORY, Program

LINUX = sys.platform.startswith("linux")

SWEEP = """
import os, resource, sys, time
from contextlib import suppress
from course_lib import run
from course_lib.comm.errors import LaunchError, WorkerStartError
from tests.residue import assert_nothing_left, residue

METHOD, LIMIT, MOST, STEP = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def work(comm):
    comm.barrier()
    return comm.rank

def new_fork_server():
    if METHOD == "forkserver":  # limits are inherited, so it has to be born under them
        from multiprocess import forkserver
        with suppress(FileNotFoundError):
            forkserver._forkserver._stop()

def in_use():
    if LIMIT == "RLIMIT_NOFILE":
        return len(os.listdir("/proc/self/fd")) - 1
    import psutil
    me = os.getuid()
    mine = [p for p in psutil.process_iter(["uids", "num_threads"]) if p.info["uids"].real == me]
    return sum(p.info["num_threads"] or 1 for p in mine)

limit = getattr(resource, LIMIT)
soft, hard = resource.getrlimit(limit)
run(work, workers=2, start_method=METHOD)
worked = False
for extra in range(0, MOST, STEP):
    before = residue()
    if LIMIT == "RLIMIT_NPROC":
        new_fork_server()
    resource.setrlimit(limit, (in_use() + extra, hard))
    begun_s = time.monotonic()
    try:
        assert run(work, workers=4, start_method=METHOD).values == [0, 1, 2, 3]
        worked = True
    except (LaunchError, WorkerStartError) as error:
        told = f"{time.monotonic() - begun_s} {type(error).__name__} {error}"
        print(told.replace(chr(10), " | "), flush=True)
        del error
    resource.setrlimit(limit, (soft, hard))
    assert_nothing_left(before)
    if LIMIT == "RLIMIT_NPROC":
        new_fork_server()
    assert run(work, workers=1, start_method=METHOD).values == [0]
    if worked:  # as it will with more room
        break
print("worked in the end:", worked)
"""

LIMITS = {
    "no more files": ("RLIMIT_NOFILE", 70, 5),
    "no more processes": ("RLIMIT_NPROC", 14, 2),
}


@row(52, "the system lets worker k not start", limit_s=3.0, alone=True, posix=True, variants=LIMITS,
     spawned=("no more files",), rare=("no more processes",))  # fmt: skip
def a_start_that_the_system_refuses_is_told_and_leaves_nothing(case: Case) -> None:
    if not LINUX:
        pytest.skip("counts files and threads as Linux shows them")
    limit, most, step = case.variant
    command = [sys.executable, "-c", SWEEP, case.start_method, limit, str(most), str(step)]
    if limit == "RLIMIT_NPROC" and os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("the limit does not bind root, and there is no setpriv to be another")
        # Root's rights to files, but not to exceed limits, and another user to count for.
        command = ["setpriv", "--ruid", "65534", "--bounding-set", "-sys_resource,-sys_admin",
                   *command]  # fmt: skip
    child = subprocess.run(
        command, capture_output=True, text=True, timeout=250, cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert child.returncode == 0, child.stdout + child.stderr
    *told, end = child.stdout.splitlines()
    assert end == "worked in the end: True"
    # A worker that is not the first was refused: others had been started already.
    assert any(f"worker {rank} of 4" in text for rank in (1, 2, 3) for text in told)
    for text in told:
        case.times_s.append(float(text.split()[0]))
        assert "start" in text


IN_PRIVATE = """
import sys
import numpy as np
from course_lib import run
from tests.residue import assert_nothing_left, residue

def work(comm):
    array = np.full(100_000, float(comm.rank))
    got = comm.sendrecv(array, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)
    comm.barrier()
    return float(got[0])

run(work, workers=2, start_method=sys.argv[1])
before = residue()
for _ in range(3 if sys.argv[1] == "forkserver" else 1):
    assert run(work, workers=4, start_method=sys.argv[1]).values == [3.0, 0.0, 1.0, 2.0]
assert_nothing_left(before)
print("all is well")
"""

MOUNTS = {
    "one megabyte": "mount -t tmpfs -o size=1m tmpfs /dev/shm",
    "full": "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero > /dev/shm/x",
    "read-only": "mount -t tmpfs -o ro tmpfs /dev/shm",
    "absent": 'mkdir "$0/dev" && mount -t tmpfs tmpfs "$0/dev" && cd "$0/dev" && for name in null '
    "zero urandom random; do touch $name; mount --bind /dev/$name $name || exit 1; done && "
    'mount --rbind "$0/dev" /dev && test ! -e /dev/shm',
}


@row(61, "/dev/shm is small, full, read-only or absent", alone=True, posix=True, variants=MOUNTS,
     spawned=("absent",))  # fmt: skip
def a_run_needs_no_room_in_the_folder_of_shared_memory(case: Case) -> None:
    if not LINUX:
        pytest.skip("only Linux has this folder")
    # Mounts that this child alone can see.
    program = f'{case.variant} && cd "$1" && exec "$2" -c "$3" "$4"'
    child = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", program, str(case.folder),
         str(REPOSITORY), sys.executable, IN_PRIVATE, case.start_method],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    if "unshare:" in child.stderr or "mount:" in child.stderr:
        pytest.skip(f"this system allows no private mounts: {child.stderr.strip()}")
    assert child.returncode == 0, child.stderr
    assert child.stdout == "all is well\n"


@row(61, "more shared memory than there is", limit_s=1.0, alone=True)
def more_shared_memory_than_there_is_is_refused_with_both_numbers(case: Case) -> None:
    n_bytes = 2**50
    case.fault()
    with pytest.raises(SharedMemoryFull) as raised:
        shared_memory.Segment(n_bytes)
    case.reported()
    assert f"the ranks need {n_bytes:,} bytes of shared memory" in str(raised.value)
    assert "bytes of memory are free" in str(raised.value)
    assert isinstance(raised.value, OSError)


@row(63, "a worker takes more memory than it may", limit_s=5.0, posix=True)
def too_much_memory_in_a_worker_ends_that_run_alone(case: Case) -> None:
    if not LINUX:
        pytest.skip("macOS does not enforce the limit")
    fault, bad_rank = case.fault, case.bad_rank

    def work(comm):
        import resource

        if comm.rank == bad_rank:
            most = psutil.Process().memory_info().vms + 2**28  # filling more takes seconds
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            hoard = []
            fault()
            while True:
                hoard.append(np.ones(2**20))
        comm.recv(src=bad_rank)

    error = case.failing(WorkerError, work)
    assert error.rank == bad_rank
    assert f"rank {bad_rank} failed at room.py, line " in str(error)
    assert "MemoryError" in str(error)
    assert "hoard.append(np.ones(2**20))" in str(error)


LITTLE_ROOM = """
import resource, time, warnings
import numpy as np
from course_lib import run
from course_lib.comm.errors import RunError

warnings.simplefilter("ignore")  # that much is copied
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (650 * 2**20, hard))
run(lambda comm: 0, workers=1, start_method=METHOD)  # the fork server is born under this limit
resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
data = np.ones(300 * 2**17)
begun_s = time.monotonic()
try:
    run(lambda comm, data: len(data), data, workers=2, start_method=METHOD)
except RunError as error:
    print(time.monotonic() - begun_s, type(error).__name__, str(error).splitlines()[0])
print(run(lambda comm: comm.rank, workers=2, start_method=METHOD).values)
"""


@row(34, "a worker has no room for its copy", limit_s=5.0, alone=True, posix=True)
def a_worker_that_has_no_room_for_its_copy_says_so(case: Case) -> None:
    if case.start_method == "spawn" or not LINUX:
        pytest.skip("a limit that binds workers and not the program needs a fork server, on Linux")
    with Program(case.folder, LITTLE_ROOM, case.start_method) as program:
        out, err = program.finish()
    told, after = out.splitlines() or ("", err)
    case.times_s.append(float(told.split()[0]))
    # Which step runs out first is the system's matter; none of them waits for a time limit.
    assert "SerializationError rank " in told or "WorkerStartError the worker of rank " in told
    assert "ran out of memory" in told or "while loading the function" in told
    assert after == "[0, 1]"
