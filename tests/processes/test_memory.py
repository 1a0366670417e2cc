"""Shared memory: little of it, nameless, and a clear sentence when there is none."""

import errno
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import SharedMemoryFull
from course_lib.comm.memory import MUCH_BYTES
from course_lib.comm.processes.memory import shared_memory
from course_lib.comm.processes.memory.header import LARGEST_HEADER
from course_lib.comm.processes.memory.layout import ring_bytes, total_bytes
from tests.residue import SHARED_MEMORY, names_in_shared_memory

pytestmark = pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="only Linux shows its names")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16, 35, 64])
def test_channels_are_small_and_every_ring_holds_an_eager_message(size):
    assert ring_bytes(size) >= EAGER_BYTES + LARGEST_HEADER
    assert ring_bytes(size) % 64 == 0
    assert total_bytes(size) <= (25 if size <= 35 else 80) * 2**20
    assert total_bytes(4) <= 32 * 2**20


@pytest.mark.slow
def test_no_name_is_left_once_workers_are_attached(start_method):
    def work(comm, pid):
        from tests.residue import names_in_shared_memory

        comm.barrier()
        return names_in_shared_memory(pid)

    assert run(work, os.getpid(), workers=2, start_method=start_method).values == [[], []]


def test_names_of_dead_processes_are_swept_and_those_of_living_ones_kept():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead = [f"cl-{child.pid}-0-abcd", f"sem.cl-{child.pid}-1-abcd"]
    living = [f"cl-{os.getppid()}-0-test", "cl-nonsense", "cl-x-y"]
    try:
        for name in dead + living:
            (SHARED_MEMORY / name).touch()
        shared_memory.sweep()
        assert not any((SHARED_MEMORY / name).exists() for name in dead)
        assert all((SHARED_MEMORY / name).exists() for name in living)
    finally:
        for name in dead + living:
            (SHARED_MEMORY / name).unlink(missing_ok=True)


def test_a_folder_with_the_name_of_a_dead_process_stops_nobody():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    folder = SHARED_MEMORY / f"cl-{child.pid}-0-abcd"
    folder.mkdir()
    try:
        shared_memory.sweep()
        assert folder.is_dir()
    finally:
        folder.rmdir()


@pytest.mark.slow
def test_memory_that_has_a_name_for_a_moment_serves_as_well(start_method, monkeypatch):
    monkeypatch.setattr(shared_memory, "_WITHOUT_NAME", False)  # as on macOS

    def work(comm):
        array = comm.sendrecv(np.full(10_000, comm.rank), 1 - comm.rank, 1 - comm.rank)
        return int(array[-1])

    assert run(work, workers=2, start_method=start_method).values == [1, 0]
    assert names_in_shared_memory(os.getpid()) == []


def test_an_event_counts_as_a_semaphore_does():
    event = shared_memory.Event(2)
    assert event.acquire()
    assert event.acquire(False)
    assert not event.acquire(False)
    assert not event.acquire(timeout=0.01)
    event.release()
    assert event.acquire(timeout=10.0)
    waiting = threading.Thread(target=event.acquire)
    waiting.start()
    event.release()
    waiting.join(10.0)
    assert not waiting.is_alive()


def test_an_allocation_that_fails_is_told_with_its_reason(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(SharedMemoryFull, match=r"need 268,439,552 bytes .* No space left on dev"):
        shared_memory.Segment(MUCH_BYTES + 4096)
    assert set(Path("/proc/self/fd").iterdir()) <= before


@pytest.mark.slow
def test_an_all_reduce_holds_little_more_than_its_arrays(usual_method):
    n_bytes = 64 * 2**20

    def work(comm):
        import resource

        from course_lib.collectives import allreduce_ring

        def most():  # the largest the process has been, in bytes; Linux counts in KiB
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

        x = np.full(n_bytes // 8, comm.rank + 1.0)
        allreduce_ring(comm, x[:1])  # loads what it needs
        alone = most()
        allreduce_ring(comm, x, out=x)
        assert x[0] == x[-1] == sum(range(1, comm.size + 1))
        in_place = most()
        comm.barrier()
        total = allreduce_ring(comm, x)
        assert total[0] == comm.size * x[0]
        return in_place - alone, most() - alone

    values = run(work, workers=4, start_method=usual_method).values
    in_place, with_new_arrays = (sum(of_ranks) for of_ranks in zip(*values, strict=True))
    print(f"{in_place / 2**20:.1f} MiB in place, {with_new_arrays / 2**20:.1f} MiB with new arrays")
    # Both ends of a ring count its memory as theirs, so this is more than there is.
    assert in_place <= 32 * 2**20
    # A copy of what is sent, or of what arrives, would be 64 MiB more or at least a chunk of 16.
    assert 4 * n_bytes <= with_new_arrays <= 4 * n_bytes + 32 * 2**20


def test_a_limit_on_files_is_named_where_shared_arrays_meet_it(usual_method):
    def work(comm):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        with pytest.raises(SharedMemoryFull) as raised:
            comm.shared_array(1000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        comm.barrier()
        return str(raised.value), comm.shared_array(1000).shape

    for text, shape in run(work, workers=2, start_method=usual_method).values:
        assert "shared_array needs 8,000 bytes" in text
        assert "files of up to 0 bytes (ulimit -f, RLIMIT_FSIZE): raise that limit" in text
        assert shape == (1000,)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the system gives all pages at once")
def test_memory_is_taken_as_it_is_used():
    segment = shared_memory.Segment(total_bytes(4))
    try:
        segment.memory[0] = 1
        assert os.fstat(segment._block._fd).st_blocks * 512 < total_bytes(4) / 10
        segment.memory[:] = bytes(len(segment.memory))
        assert os.fstat(segment._block._fd).st_blocks * 512 >= total_bytes(4)
    finally:
        segment.close()


_HEAP = """
import re
from pathlib import Path

def in_huge_pages():  # KiB of the heap
    areas = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text())
    heap = next(area for area in areas if area.partition(chr(10))[0].endswith("[heap]"))
    return int(re.search(r"AnonHugePages: *([0-9]+)", heap)[1])

kept = [bytes([n % 251]) * 700 for n in range(50_000)]
before = in_huge_pages()
import course_lib.comm.processes.worker.huge_pages
assert all(text == bytes([n % 251]) * 700 for n, text in enumerate(kept))
print(before, in_huge_pages())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gathers pages when it is asked to")
def test_what_torch_leaves_in_the_heap_of_the_fork_server_is_gathered_in_huge_pages():
    with mmap.mmap(-1, 2**23, mmap.MAP_PRIVATE) as memory:
        memory.write(bytes(2**23))
        try:
            memory.madvise(25)  # MADV_COLLAPSE
        except OSError as error:
            pytest.skip(f"this Linux does not gather pages when it is asked to ({error})")
    ended = subprocess.run([sys.executable, "-c", _HEAP], capture_output=True, text=True)
    assert ended.stderr == ""
    before_kb, after_kb = map(int, ended.stdout.split())
    assert before_kb == 0
    assert after_kb > 20_000
