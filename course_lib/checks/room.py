"""The examination room: a process that the learner's code cannot leave, and that can be given up.

What was seen of each case is written to a file at once, the book. So however the process ends
(it crashes, is killed, takes too long), the notebook knows which case was on the table. The verdict
is made there, from the book; here only the hopeless is cut short.
"""

import contextlib
import errno
import os
import pickle
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Any, NamedTuple

from course_lib.checks.forbidden import forbidding
from course_lib.checks.originals import Originals
from course_lib.checks.sandbox import Mishap, Observation, mishap_of, observe
from course_lib.checks.starved import is_idle, starved_s
from course_lib.checks.task import Case, Task
from course_lib.checks.verdict import judge
from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import SerializationError
from course_lib.comm.frames import frames_of_stack, place, user_frame
from course_lib.comm.processes.launcher.resident import resident_bytes
from course_lib.comm.shipping import load_call, load_value, pack_value

__all__ = ["ForkRefusedError", "Limits", "read_book", "sit"]

_LOOK_EVERY_S = 0.1
_GRACE_S = 0.4
_ASKED_NOT_USED = 2**30
_LONGEST_FILE = 256 * 2**20
_CLOSED = (
    "the function closed files that it had not opened (os.closerange, os.close), the check's own "
    "among them"
)


class Limits(NamedTuple):
    """How long an examination may take, in wall seconds.

    Attributes
    ----------
    case_s : float
        One case.
    begin_s : float
        After this no other case is begun.
    end_s : float
        After this the process is ended from outside, whatever it does. Only a single operation of
        compiled code that keeps the interpreter to itself (``10**10**8``) makes it so long.
    more_bytes : int
        How much memory the function may take.
    """

    case_s: float
    begin_s: float
    end_s: float
    more_bytes: int = 2 * 2**30


def sit(
    _: Communicator, packed: bytes, task: Task, cases: Sequence[Case], limits: Limits, book: Path,
    to_the_end: bool = False,
) -> bool:  # fmt: skip
    """Run the learner's function over the cases, until one goes wrong or time is up.

    Parameters
    ----------
    _ : Communicator
        This process's own; it is alone, and needs nobody.
    packed : bytes
        The learner's function, as ``pack_call`` made it.
    task : Task
        Makes the arguments of every rank.
    cases : sequence of Case
        What to run.
    limits : Limits
        How long it may take.
    book : Path
        The file to write what is seen to.
    to_the_end : bool, default: False
        Whether to go on after a case that seems wrong.

    Returns
    -------
    bool
        Whether a case that seems wrong was the reason to stop.
    """
    _leave_group()
    sys.addaudithook(_refuse_forks)
    # What a thread of the function's dies of is not the fault that is told.
    threading.excepthook = lambda _: None
    _turn_away_programs()
    _limit(limits.more_bytes)
    with forbidding(task.forbidden, task.forbidden_functions, task.enough) as changed:
        originals = Originals(changed)
        began_s = monotonic()
        with contextlib.suppress(BaseException):  # what it imports does not count as its time
            load_call(packed, 0)
        watch = _Invigilator(book, limits, originals)
        watch.write(monotonic() - began_s)
        began_s = monotonic()
        for number, case in enumerate(cases):
            if monotonic() - began_s > limits.begin_s:
                return False
            watch.begin()
            thorough = number in (0, len(cases) - 1)  # it takes longer than many a case
            seen = observe(packed, task, case, originals, limits.case_s, thorough)
            watch.end(seen)
            if seen.mishap is not None:
                return False
            if not to_the_end and _seems_wrong(task, case, seen):
                return True
    return False


def _seems_wrong(task: Task, case: Case, seen: Observation) -> bool:
    """Tell what the verdict would be, if the learner's function has left its functions alone.

    Where it takes a run or a module, which are refused here, the case does not seem wrong.
    """
    with contextlib.suppress(Exception):
        return judge(task, case, seen) is not None
    return False


def _leave_group() -> None:
    """Leave the notebook's group: a signal that the function sends its own meets nobody else.

    Ctrl-C does not come here either way: the notebook hears it, and ends this process.
    """
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # where it has a group of its own already
            os.setsid()


def _turn_away_programs() -> None:
    """Let nobody read what other programs print (``os.system``): no report has room for it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for printed in (1, 2):
        os.dup2(nowhere, printed)
    os.close(nowhere)


def _limit(more_bytes: int) -> None:
    """Have the system refuse memory, too, and long files: one operation may take and never look up.

    What counts here of memory is what is asked for, whether it is used or not: threads and
    libraries ask for more than they use. So this limit is wider than that of the invigilator.
    """
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(OSError, ValueError):  # ours is above the one that there is
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LONGEST_FILE, hard))
    if not sys.platform.startswith("linux"):  # others have no such limit, or do not keep to it
        return
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + more_bytes + _ASKED_NOT_USED
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


class ForkRefusedError(RuntimeError):
    """The learner's function copies its process, and would go on with the check in both."""


def _refuse_forks(event: str, _: Any) -> None:
    # An audit hook, because it stands before every way to a copy, and nobody can take it away.
    if event in ("os.fork", "os.forkpty"):
        raise ForkRefusedError(f"{event} was called in the function")


class _Invigilator:
    """A thread that ends the process when a case takes too long, or too much memory.

    The simulator's own limit is an exception, which reaches neither a call that sleeps or waits nor
    a function that catches everything.
    """

    def __init__(self, book: Path, limits: Limits, originals: Originals) -> None:
        self._path = book
        self._book = book.open("ab", buffering=0)
        self._limits = limits
        self._originals = originals
        self._candidate = threading.get_ident()
        self._most_bytes = (resident_bytes(os.getpid()) or 0) + limits.more_bytes
        self._began: tuple[float, float, float] | None = None
        self._writing = threading.Lock()
        threading.Thread(target=self._watch, name="invigilator", daemon=True).start()

    def begin(self) -> None:
        """Start the clock of a case."""
        self._began = monotonic(), process_time(), starved_s()

    def end(self, seen: Observation) -> None:
        """Write down what was seen of it."""
        with self._writing:
            self._began = None
            self.write(seen)

    def write(self, seen: Observation | float) -> None:
        """Write a page of the book: first how long the function took to be loaded, then cases."""
        try:
            page = _page(seen)
        except SerializationError as error:
            page = _page(Observation(mishap=mishap_of(error)))
        try:
            self._book.write(page)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            page = _page(Observation(mishap=Mishap("ClosedFiles", _CLOSED)))
            self._path.open("ab", buffering=0).write(page)
            os._exit(0)

    def _watch(self) -> None:
        while True:
            sleep(_LOOK_EVERY_S)
            with self._writing:
                if self._began is None:
                    continue
                began_s, worked_before_s, starved_before_s = self._began
                wall_s = monotonic() - began_s - (starved_s() - starved_before_s)
                worked_s = process_time() - worked_before_s
                if wall_s > self._limits.case_s + _GRACE_S:
                    text = f"the function had not returned after {wall_s:.0f} s"
                    self._give_up(Mishap("LaunchTimeout", text, idle=is_idle(wall_s, worked_s)))
                if (resident_bytes(os.getpid()) or 0) > self._most_bytes:
                    most = f"{self._limits.more_bytes / 2**20:,.0f} MiB"
                    text = f"the function took more than {most} of memory"
                    self._give_up(Mishap("MemoryError", text))

    def _give_up(self, mishap: Mishap) -> None:
        """Write down where the function is, and end the process."""
        replaced = self._originals.after_case()
        frames = frames_of_stack(sys._current_frames().get(self._candidate))
        text = f"{mishap.text}; it was at {place(user_frame(frames))}"
        self.write(Observation(mishap=replace(mishap, text=text), replaced=replaced))
        os._exit(0)


def _page(content: Observation | float) -> bytes:
    try:
        return pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    except Exception:  # a class of the function's own is in it
        return pickle.dumps(pack_value(content, 0))


def read_book(book: Path) -> tuple[float | None, list[Observation]]:
    """Read how long the function took to be loaded, and what was seen, as far as it was written."""
    pages: list[Any] = []
    if book.exists():
        with book.open("rb") as file, contextlib.suppress(Exception):
            while True:  # to its end, or to a page that is not whole, or cannot be loaded here
                page = pickle.load(file)
                pages.append(load_value(page, 0) if isinstance(page, bytes) else page)
    return (pages[0], pages[1:]) if pages else (None, [])
