"""What the kernel refuses a candidate's process, where no audit hook is asked."""

import os
import subprocess
import sys

import pytest

from authoring.build import ROOT
from course_lib.grading.landlock import version

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(version() == 0, reason="this system's kernel has no Landlock"),
]

_PROGRAM = """
import os, socket, sys
from pathlib import Path
import numpy as np
from course_lib.grading.landlock import confine

own, other, confined = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "True"
def connect():
    with socket.create_connection(("127.0.0.1", int(sys.argv[4]))):
        pass
if confined:
    assert confine(own, [Path(sys.prefix), Path(sys.base_prefix), Path("/usr"), own / "not there"])
for deed in (
    lambda: (own / "new").write_text("x"),
    lambda: (own / "new").rename(own / "newer"),
    lambda: (own / "newer").unlink(),
    lambda: open(os.devnull, "w").close(),
    lambda: open(np.__file__).close(),
    lambda: (other / "there").read_text(),
    lambda: (other / "there").write_text("y"),
    lambda: os.truncate(other / "there", 0),
    lambda: (other / "new").write_text("x"),
    lambda: os.listdir(other),
    lambda: (other / "there").rename(other / "elsewhere"),
    lambda: (other / "elsewhere").unlink(),
    connect,
    lambda: os.kill(os.getppid(), 0),
):
    try:
        deed()
    except OSError:
        print("refused")
    else:
        print("done")
"""


@pytest.fixture
def listening():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("confined", [True, False])
def test_only_its_own_folder_can_be_changed_and_nobody_else_reached(tmp_path, confined, listening):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "there").write_text("x")
    words = [str(own), str(other), str(confined), str(listening)]
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, check=True,
    )  # fmt: skip
    # Truncating is refused from the third version on, connections from the fourth, signals from
    # the sixth.
    known = version()
    refused = [True] * 2 + [known >= 3] + [True] * 4 + [known >= 4, known >= 6]
    expected = ["done"] * 5 + ["refused" if no and confined else "done" for no in refused]
    assert ended.stdout.split() == expected
    assert list(own.iterdir()) == []
    assert [path.name for path in other.iterdir()] == (["there"] if confined else ["new"])
