"""What ranks print comes out whatever letters the output knows."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from course_lib import run

def say(comm):
    print(f"caf\\u00e9 {comm.rank}")
    print(f"na\\u00efve {comm.rank}", file=sys.stderr)
    comm.barrier()
    print(f"after {comm.rank}")

if __name__ == "__main__":
    before = sys.stdout.errors, sys.stderr.errors
    run(say, workers=2, backend=sys.argv[1])
    assert (sys.stdout.errors, sys.stderr.errors) == before
"""


@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_letters_that_the_output_does_not_know_come_as_escapes(tmp_path, backend):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = subprocess.run(
        [sys.executable, str(program), backend], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    for rank in range(2):
        assert f"caf\\xe9 {rank}" in told.stdout
        assert f"after {rank}" in told.stdout
        assert f"na\\xefve {rank}" in told.stderr
