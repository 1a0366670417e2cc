"""Whatever an answer does: one verdict, soon, with the case and the cause, and then peace."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from course_lib import checks
from course_lib.checks.check import LIMITS, _end_of
from course_lib.checks.room import Limits
from course_lib.comm.errors import LaunchTimeout
from course_lib.comm.frames import AGAIN
from tests.kernels import REPOSITORY, Kernel
from tests.programs import Program, assert_all_gone
from tests.residue import assert_nothing_left, residue
from tests.start_methods import warm  # noqa: F401 - a fixture for all tests

MOST_S = 10.0
QUICK = Limits(case_s=0.5, begin_s=0.8, end_s=2.5, more_bytes=100 * 2**20)
PATIENT = QUICK._replace(case_s=LIMITS.case_s, begin_s=LIMITS.begin_s, end_s=LIMITS.end_s)
"""For what is not about time: a busy computer may need some."""
FORKS = Path(__file__).with_name("forking_answers.py")


def right(comm: Any, x: Any) -> Any:
    if comm.size == 1:
        return x.copy()
    return comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)


def looping_list() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def deep_list() -> list[Any]:
    items: list[Any] = []
    for _ in range(100_000):
        items = [items]
    return items


def replaces(home: str, name: str) -> Callable[[], None]:
    def replace() -> None:
        setattr(sys.modules[home], name, lambda *_, **__: 0)

    return replace


def changes_everything() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.chdir("/")
    os.environ.clear()
    sys.path.clear()
    sys.modules.pop("numpy.random")
    sys.setrecursionlimit(10**6)
    sys.settrace(lambda *_: None)
    threading.settrace(lambda *_: None)
    sys.stdout = None  # type: ignore[assignment]
    np.seterr(all="raise")
    raise ValueError("and that is that")


def opens_the_way() -> None:
    sys.meta_path.clear()


def spoils_numpy() -> None:
    np.zeros = replaces  # type: ignore[assignment]
    raise ValueError("and that is that")


def leaves_things() -> None:
    threading.Thread(target=time.sleep, args=(1000,)).start()
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    raise ValueError("and that is that")


def writes_without_end() -> None:
    with tempfile.TemporaryFile() as file:
        file.seek(1 << 40)
        file.write(b"x")


def leaves_a_program_and_sleeps() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    time.sleep(1000)


def swallows_its_end() -> None:
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


def takes_memory() -> None:
    held = []
    while True:
        held.append(np.ones(10**7))


def prints_for_ever() -> None:
    while True:
        print("flood")


# What the function does before it answers, the hint, and words of the verdict.
DEEDS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "sleeps": (lambda: time.sleep(1000), "too-slow", "it was at test_nasty_answers.py, line "),
    "waits for a lock": (lambda: threading.Semaphore(0).acquire(), "too-slow", "it slept, or"),
    "swallows its end": (swallows_its_end, "too-slow", "had not returned"),
    "is compiled and endless": (lambda: sum(range(10**12)), "too-slow", "that cannot be inter"),
    "takes memory": (takes_memory, "too-much-memory", "more than 100 MiB of memory"),
    "takes memory at once": (lambda: b"x" * (6 << 30), "too-much-memory", "MemoryError"),
    "prints for ever": (prints_for_ever, "too-slow", "is there a loop whose end never comes"),
    "replaces len": (replaces("builtins", "len"), "replaces-names", "replaced the built-in len"),
    "replaces isinstance": (replaces("builtins", "isinstance"), "replaces-names", "isinstance"),
    "replaces numpy": (replaces("numpy", "array"), "replaces-names", "numpy.array"),
    "replaces numpy and fails": (spoils_numpy, "one-worker", "had replaced numpy.zeros, which"),
    "replaces the clock": (replaces("time", "monotonic"), "", ""),
    "opens the way to the answer": (opens_the_way, "library-answer", "sys.meta_path"),
    "forgets the modules": (lambda: setattr(sys, "modules", {}), "", ""),
    "closes all files": (lambda: os.closerange(3, 256), "closes-files", "os.closerange"),
    "leaves": (lambda: os._exit(0), "exited", "exited with code 0"),
    "exits": (sys.exit, "exited", "sys.exit"),
    "aborts": (os.abort, "exited", "SIGABRT"),
    "crashes": (lambda: ctypes.string_at(0), "exited", "SIGSEGV"),
    "changes everything": (changes_everything, "one-worker", "and that is that"),
    "kills its group": (lambda: os.killpg(0, signal.SIGKILL), "exited", "SIGKILL"),
    "kills its group by a shell": (lambda: os.system("kill -9 0"), "exited", "SIGKILL"),
    "stops what started it": (lambda: os.kill(os.getppid(), signal.SIGSTOP), "", ""),
    "leaves things": (leaves_things, "one-worker", "and that is that"),
    "leaves a shell's program": (lambda: os.system("sleep 1000 &"), "", ""),
    "writes without end": (writes_without_end, "one-worker", "File too large"),
    "leaves a program and sleeps": (leaves_a_program_and_sleeps, "too-slow", "had not returned"),
    "asks the keyboard": (input, "one-worker", "EOFError"),
}  # fmt: skip
POSIX_ONLY = {
    "aborts", "crashes", "closes all files", "kills its group", "kills its group by a shell",
    "stops what started it", "leaves a shell's program", "writes without end",
}  # fmt: skip


@pytest.fixture
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course_lib.checks.check.LIMITS", QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("deed", DEEDS)
def test_deed_is_named_with_its_case_and_nothing_is_left(
    deed: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if deed in POSIX_ONLY and sys.platform == "win32":
        pytest.skip("ends otherwise on Windows")
    do, hint, words = DEEDS[deed]
    limits = QUICK if hint == "too-slow" else PATIENT
    monkeypatch.setattr("course_lib.checks.check.LIMITS", limits)

    def shift_right(comm: Any, x: Any) -> Any:
        if comm.size == 1:  # the second case
            do()
        return right(comm, x)

    before, started_s = residue(), time.monotonic()
    report = checks.shift_right(shift_right)
    assert time.monotonic() - started_s < MOST_S
    assert report.hint_id == hint, report
    assert words in " ".join(repr(report).split())
    assert report.passed or report.case.startswith("1 worker, ")
    if "replaces" not in deed and deed != "opens the way to the answer":
        assert "replaced" not in repr(report)
    assert "Traceback" not in "".join(capfd.readouterr())
    assert_nothing_left(before)


def test_a_stack_that_goes_on_and_on_is_taken_for_calls_without_end() -> None:
    text = (
        "the run did not end within 8.5 s (time_limit_s):\n  rank 0 is running, at a.py, line 6\n\n"
        f"Stack of rank 0 (most recent call last):\n  a.py, line 6, in deeper\n{AGAIN}\n"
    )
    mishap = _end_of(LaunchTimeout(text), LIMITS, used_s=1.0)
    assert mishap.original == "RecursionError"
    assert mishap.text.endswith("it was at a.py, line 6")
    mishap = _end_of(LaunchTimeout(text.replace(AGAIN, "")), LIMITS, used_s=1.0)
    assert mishap.original == ""
    assert mishap.text.endswith("in an operation of compiled code that cannot be interrupted")


@pytest.mark.usefixtures("_fast")
def test_verb_of_the_library_that_was_replaced_is_named() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        result = right(comm, x)
        type(comm).barrier = right
        return result

    report = checks.shift_right(shift_right)
    assert report.hint_id == "replaces-names"
    assert "SimulatedCommunicator.barrier" in repr(report)


class Post:
    box: ClassVar[dict[int, Any]] = {}


@pytest.mark.usefixtures("_fast")
def test_answer_that_passes_its_data_through_a_class_is_not_right() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        Post.box[comm.rank] = x
        right(comm, np.zeros_like(x))  # messages as they should be, with nothing in them
        result = Post.box[(comm.rank - 1) % comm.size].copy()
        return result

    report = checks.shift_right(shift_right)
    assert not report.passed
    assert "KeyError" in repr(report), "in the box is what the rank itself has put there"


@pytest.mark.usefixtures("_fast")
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (looping_list, "a list that contains itself"),
        (deep_list, "a list nested more than 20 deep"),
        (lambda: np.zeros(10**8), "an array of shape (100000000,), 800 MB"),
        (lambda: np.broadcast_to(0.0, (10**12,)), "an array of shape (1000000000000,), 8,000,000"),
        (lambda: np.ma.masked_all(3), "a masked array"),
        (lambda: np.array([1, None]), "an array of dtype object"),
        (lambda: (n for n in range(3)), "a value of type generator"),
        (lambda: 10**1000, "a whole number of 3,322 bits"),
        (lambda: [0] * 10**6, "a list of more than 100,000 items"),
        (lambda: "x" * 10**6, "a text of 1,000,000 characters"),
    ],
)
def test_result_without_end_is_called_what_it_is(make: Callable[[], Any], kind: str) -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        right(comm, x)
        return make()

    report = checks.shift_right(shift_right)
    assert report.fault is not None
    assert report.fault.says.startswith(f"rank 0: expected a NumPy array, got {kind}")
    assert report.case.startswith("4 workers")


@pytest.mark.slow
def test_million_messages_end_in_a_verdict_soon() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        for _ in range(10**6 if comm.size > 1 else 0):
            arrived = comm.sendrecv(x, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
        return arrived if comm.size > 1 else x.copy()

    started_s = time.monotonic()
    report = checks.shift_right(shift_right)
    assert time.monotonic() - started_s < MOST_S
    assert report.hint_id == "too-slow"


@pytest.mark.usefixtures("_fast")
def test_right_but_slow_answer_is_called_right_but_slow() -> None:
    def shift_right(comm: Any, x: Any) -> Any:
        time.sleep(0.03)
        return right(comm, x)

    report = checks.shift_right(shift_right)
    assert report.hint_id == "too-slow"
    assert "it is right in the first " in repr(report)
    assert "cases, but slow" in repr(report)


@pytest.mark.usefixtures("_fast")
def test_function_that_is_forbidden_is_refused_under_its_other_name() -> None:
    def shard_bounds(n_rows: int, rank: int, size: int) -> tuple[int, int]:
        home = next(m for m in list(sys.modules) if m.endswith("._shape_base_impl"))
        part = sys.modules[home].array_split(np.arange(n_rows), size)[rank]
        return int(part[0]), int(part[-1]) + 1

    report = checks.shard_bounds(shard_bounds)
    assert report.hint_id == "library-answer"
    assert "without numpy.array_split" in repr(report)


def test_a_kind_function_of_numpy_that_stands_on_a_forbidden_one_is_not_refused() -> None:
    def shard_bounds(n_rows: int, rank: int, size: int) -> tuple[int, int]:
        np.split(np.arange(4), 2)
        short, longer = divmod(n_rows, size)
        start = rank * short + min(rank, longer)
        return start, start + short + (rank < longer)

    assert checks.shard_bounds(shard_bounds).passed


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent there")
def test_ctrl_c_ends_a_check_whose_process_is_in_no_group_of_the_notebook(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def shift_right(comm: Any, x: Any) -> Any:
        begun.write_text(str(os.getpgid(0)))
        time.sleep(1000)

    def press() -> None:
        while not (begun.exists() and begun.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before, finger = residue(), threading.Thread(target=press)
    finger.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        checks.shift_right(shift_right)
    finger.join()
    assert "the run was interrupted" in str(caught.value)
    assert int(begun.read_text()) != os.getpgid(0)
    assert_nothing_left(before)


KILLED = """
import pathlib, threading, time
from course_lib import checks

BEGUN = pathlib.Path("begun")

def hello(comm):
    BEGUN.touch()
    time.sleep(1000)

def tell():
    while not BEGUN.exists():
        time.sleep(0.01)
    print("at work", flush=True)

threading.Thread(target=tell).start()
checks.hello(hello)
"""


@pytest.mark.soak
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="by what only Linux has")
def test_a_check_ends_with_a_program_whose_whole_group_is_killed(tmp_path: Path) -> None:
    with Program(tmp_path, KILLED, "forkserver") as program:
        program.wait_for("at work")
        below = program.descendants()
        assert len(below) >= 2
        os.killpg(program.pid, signal.SIGKILL)
        program.process.wait()
        assert_all_gone(below, program.pid)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be copied on Windows")
def test_copies_of_an_answer_do_not_go_on_with_the_check(tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, str(FORKS), str(tmp_path)], cwd=REPOSITORY, text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        printed, _ = program.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    assert printed.splitlines()[-1] == "all is well", printed


@pytest.mark.slow
def test_kernel_goes_on_after_nasty_answers(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("import builtins, os, sys, time\nfrom course_lib import checks")
        lines = "builtins.len = lambda x: 0", "os._exit(0)", "sys.meta_path.clear()", "exit()"
        for line in lines:
            cell = (
                f"def hello(comm):\n    {line}\n    return f'rank {{comm.rank}} of {{comm.size}}'"
            )
            assert kernel.run(cell)[1] is None
            printed, error = kernel.run("print(repr(checks.hello(hello)))")
            assert error is None
            assert printed.count("not right yet") == 1, printed
        kernel.run("def hello(comm): return f'rank {comm.rank} of {comm.size}'")
        printed, _ = kernel.run("print(len([1, 2]), repr(checks.hello(hello)))")
        assert "2 hello: right, in all" in printed
