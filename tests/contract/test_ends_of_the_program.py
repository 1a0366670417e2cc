"""The program ends while ``run`` is under way, or ``run`` is called at its very end."""

import sys
import tempfile
from pathlib import Path

import pytest

from tests.programs import Program, assert_all_gone

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="programs are ended the POSIX way here"),
]

DAEMON = """
import threading, time
from pathlib import Path
from course_lib import run

def work(comm):
    if comm.rank == 0:
        Path("at work").touch()
        while HOW == "loop":
            pass
        time.sleep(1000)
    comm.recv(src=0)

def again_and_again():
    while True:
        try:
            run(work, workers=2, backend=BACKEND, time_limit_s=1000)
        except Exception as error:
            print("raised", error)

threading.Thread(target=again_and_again, daemon=True).start()
while not Path("at work").exists():
    time.sleep(0.01)
print("at work", flush=True)
input()
print("the end")
"""


@pytest.mark.parametrize("how", ["loop", "sleep"])
def test_a_run_in_a_daemon_thread_does_not_hold_up_the_programs_end(rarely_torch, how, tmp_path):
    text = f"BACKEND, HOW = {rarely_torch.backend!r}, {how!r}\n{DAEMON}"
    with Program(tmp_path, text, None, stdin=-1) as program:
        program.wait_for("at work")
        below = program.descendants()
        assert len(below) >= (0 if rarely_torch.backend == "simulated" else 2)
        program.process.stdin.write(b"\n")
        out, err = program.finish()
        assert (out, err, program.process.returncode) == ("the end\n", "", 0)
        assert_all_gone(below, program.pid)
    assert list(Path(tempfile.gettempdir()).glob(f"cl-{program.pid}-*")) == []


AT_EXIT = """
import atexit
from course_lib import run
from course_lib.comm.errors import LaunchError

def run_it():
    try:
        print(run(lambda comm: comm.rank, workers=2, backend=BACKEND).values)
    except LaunchError as error:
        print("refused:", error)

if HOW == "second":
    run_it()
atexit.register(run_it)
"""


@pytest.mark.parametrize("how", ["first", "second"])
def test_a_run_at_the_programs_very_end_is_refused_in_words(launching_world, how, tmp_path):
    with Program(
        tmp_path, f"BACKEND, HOW = {launching_world.backend!r}, {how!r}\n{AT_EXIT}", None
    ) as program:
        out, err = program.finish()
    *before, refused = out.splitlines()
    assert before == (["[0, 1]"] if how == "second" else []), err
    assert refused.startswith("refused: run was called when the program was ending")
    assert err == ""


LAST_THREAD = """
import threading, time
from course_lib import run

def run_it():
    while threading.main_thread().is_alive():
        time.sleep(0.001)
    print(run(lambda comm: comm.rank, workers=2, backend=BACKEND).values)

run(lambda comm: comm.rank, workers=2, backend=BACKEND)
threading.Thread(target=run_it).start()
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="no threads can be started there any more")
def test_a_run_in_a_thread_for_which_the_program_waits_works(launching_world, tmp_path):
    with Program(
        tmp_path, f"BACKEND = {launching_world.backend!r}\n{LAST_THREAD}", None
    ) as program:
        out, err = program.finish()
    assert out == "[0, 1]\n", err
