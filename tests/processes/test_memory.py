"""Shared memory: little of it, nameless, and a clear sentence when there is none."""

import os
import subprocess
import sys

import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import SharedMemoryFull
from course_lib.comm.processes import segment
from course_lib.comm.processes.channels import ring_bytes, total_bytes
from course_lib.comm.processes.header import LARGEST_HEADER
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
        segment.sweep()
        assert not any((SHARED_MEMORY / name).exists() for name in dead)
        assert all((SHARED_MEMORY / name).exists() for name in living)
    finally:
        for name in dead + living:
            (SHARED_MEMORY / name).unlink(missing_ok=True)


def test_more_than_is_free_is_refused_without_taking_any(monkeypatch):
    free = segment._free_bytes()
    assert free is not None
    with pytest.raises(SharedMemoryFull) as raised:
        segment.Segment(free + 2**30)
    text = str(raised.value)
    assert f"need {free + 2**30:,} bytes" in text
    assert "bytes are free" in text
    assert names_in_shared_memory(os.getpid()) == []


FULL = """
import numpy as np
from course_lib import run
from course_lib.comm.errors import SharedMemoryFull
from course_lib.comm.processes import segment
if {blind}:
    segment._free_bytes = lambda: None  # nobody warns: the allocation itself must notice
try:
    run(lambda comm: comm.barrier(), workers=4)
except SharedMemoryFull as error:
    print("refused:", error)
print(run(lambda comm: comm.rank, workers=1).values)
"""


@pytest.mark.slow
@pytest.mark.parametrize("blind", [False, True])
def test_a_full_shared_memory_is_an_error_and_never_a_crash(blind):
    # A /dev/shm of one megabyte, seen by this child alone.
    command = f"mount -t tmpfs -o size=1m tmpfs {SHARED_MEMORY} && exec {sys.executable} -"
    child = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", command],
        input=FULL.format(blind=blind), capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p or "." for p in sys.path)},
    )  # fmt: skip
    if "unshare:" in child.stderr or "mount:" in child.stderr:
        pytest.skip(f"this system allows no private mounts: {child.stderr.strip()}")
    assert child.returncode == 0, child.stderr
    refused, after = child.stdout.splitlines()
    assert "the channels need 25,1" in refused
    assert after == "[0]"
