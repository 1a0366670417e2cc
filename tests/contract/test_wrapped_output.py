"""What ranks do to the program's own output: wrap it anew, redirect its descriptor."""

import subprocess
import sys

import pytest

from tests.programs import REPOSITORY

pytestmark = pytest.mark.slow

SCRIPT = """
import contextlib, gc, os, sys, threading
import numpy as np
from course_lib import run

@contextlib.contextmanager
def quiet():
    kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)

def redirected(comm):
    with quiet():
        comm.sendrecv(np.zeros(1), dst=1 - comm.rank, src=1 - comm.rank)
    threading.current_thread().name = "mine"
    return comm.rank

def wrapped(comm):
    import io, sys
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
    print("hällo", comm.rank)
    comm.barrier()
    return comm.rank

def alone(comm):
    import io, sys
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
    print("alone")

if __name__ == "__main__":
    backend = sys.argv[1]
    name = threading.current_thread().name
    print(run(redirected, workers=2, backend=backend).values, flush=True)
    assert threading.current_thread().name == name
    if backend == "simulated":
        open_before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
        run(redirected, workers=2, backend=backend)
        open_now = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
        assert open_before == open_now
    print(run(wrapped, workers=3, backend=backend).values)
    run(alone, workers=1, backend=backend)
    gc.collect()
    print("the caller's own")
"""


@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_ranks_may_wrap_and_redirect_output_and_the_callers_stays(tmp_path, backend):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), backend], cwd=REPOSITORY, capture_output=True,
        encoding="utf-8", timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.partition("] ")[2] or line for line in done.stdout.splitlines()]
    assert lines[0] == "[0, 1]"
    assert sorted(lines[1:4]) == ["hällo 0", "hällo 1", "hällo 2"]
    assert lines[4:] == ["[0, 1, 2]", "alone", "the caller's own"]
