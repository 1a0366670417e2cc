"""What a worker writes down about its own failure, and how the launcher tells it.

An exception object often cannot travel (its class needs two arguments, it holds a lock), so its
type, text and frames travel as plain strings and numbers; the object itself comes along only if it
survived a round trip in the worker.
"""

import linecache
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import TypeVar

from course_lib.comm.errors import (
    CollectiveMismatchError,
    DeadlockError,
    PeerFinishedError,
    RunError,
    WorkerError,
    WorkerExited,
)
from course_lib.comm.limits import start_thread
from course_lib.comm.pickling import dumps, load_here

__all__ = [
    "Failure",
    "Frame",
    "frames_of",
    "frames_of_dump",
    "frames_of_stack",
    "place",
    "render",
    "to_error",
    "user_frame",
]

_HERE = (Path(__file__), Path(__file__).resolve())  # a link, or "..", may lead here
_COMM = tuple(str(path.parent) for path in _HERE)
_PACKAGE = tuple(str(path.parents[1]) for path in _HERE)
_LIBRARIES = (
    *_PACKAGE,
    "<frozen",
    "<string>",  # what namedtuple and dataclass write
    *(sysconfig.get_path(name) for name in ("stdlib", "purelib")),
)
_OF_A_NEW_THREAD = ("_bootstrap", "_bootstrap_inner", "run")
_LONGEST_TEXT = 2_000
_MOST_FRAMES = 40
_T = TypeVar("_T")

Frame = tuple[str, int, str]
"""File name, line number, function name."""


@dataclass(frozen=True)
class Failure:
    """What one rank can say about its end, in plain values.

    Attributes
    ----------
    rank : int
        Who failed.
    type_name, text : str
        The exception's class name and its message.
    frames : tuple of Frame
        Where it was raised, outermost first, the launcher's own frames left out.
    time_s : float
        When, on the run's clock.
    original : bytes or None
        The pickled exception, where it survived a round trip.
    """

    rank: int
    type_name: str
    text: str
    frames: tuple[Frame, ...]
    time_s: float
    original: bytes | None = None

    @classmethod
    def of(
        cls, error: BaseException, rank: int, time_s: float, patience_s: float | None = None
    ) -> "Failure":
        """Write down an exception that ``rank``'s function raised.

        Parameters
        ----------
        error : BaseException
            The exception.
        rank : int
            Who raised it.
        time_s : float
            When, on the run's clock.
        patience_s : float or None, default: None
            How long the exception's own code may take to say its text, and to be pickled. What does
            not come back goes on in a thread, so this is for a process that ends soon.

        Returns
        -------
        Failure
            What can be told of it.
        """
        frames = frames_of(error.__traceback__)
        if isinstance(error, MemoryError):  # telling it takes room: let go of what the frames hold
            traceback.clear_frames(error.__traceback__)
        return cls(
            rank=rank,
            type_name=type(error).__name__,
            text=_safe_text(error, patience_s),
            frames=frames,
            time_s=time_s,
            original=_safe_pickle(error, patience_s),
        )


def frames_of(tb: TracebackType | None) -> tuple[Frame, ...]:
    """List the frames of a traceback, outermost first, without the launcher's own."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(tb)
    ]
    return _without_launcher(frames)


def frames_of_stack(frame: FrameType | None) -> tuple[Frame, ...]:
    """List the frames of a running or suspended function, outermost first."""
    frames = [(f.f_code.co_filename, line, f.f_code.co_name) for f, line in _walk(frame)]
    return _without_launcher(frames[::-1])


def frames_of_dump(text: str) -> tuple[Frame, ...]:
    """List the frames in what Python's fault handler wrote, outermost first."""
    found = re.findall(r'^  File "(.*)", line (\d+) in (.*)$', text, re.MULTILINE)
    return _without_launcher([(name, int(line), where) for name, line, where in found][::-1])


def _walk(frame: FrameType | None) -> Iterable[tuple[FrameType, int]]:
    while frame is not None:
        yield frame, frame.f_lineno
        frame = frame.f_back


def _without_launcher(frames: list[Frame]) -> tuple[Frame, ...]:
    kept = [frame for frame in frames if not frame[0].startswith(_COMM)]
    start = 0  # below the learner's function lies only what started it
    for index, (name, _, function) in enumerate(kept):
        begins_thread = name == threading.__file__ and function in _OF_A_NEW_THREAD
        if begins_thread or any(what in name for what in ("multiprocess", "runpy", "greenlet")):
            start = index + 1
    return tuple(kept[start:][-_MOST_FRAMES:])


def user_frame(frames: tuple[Frame, ...]) -> Frame | None:
    """Pick the frame a learner wants to see: the innermost outside this and other libraries."""
    for not_wanted in (_LIBRARIES, _PACKAGE):
        for frame in reversed(frames):
            if not frame[0].startswith(not_wanted):
                return frame
    return frames[-1] if frames else None


def place(frame: Frame | None) -> str:
    """Say where a frame is: ``cell In[5], line 3`` in a notebook, else ``file.py, line 3``."""
    if frame is None:
        return "an unknown line"
    filename, line, _ = frame
    if "IPython" in sys.modules:
        from IPython import get_ipython

        shell = get_ipython()
        name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(
            filename
        )
        if name is not None:
            return f"cell {name[1]}, line {line}"
    return f"{Path(filename).name}, line {line}"


def render(frames: tuple[Frame, ...]) -> str:
    """Lay out frames with their source lines, as Python does, notebook cells by their number."""
    lines = []
    for frame in frames:
        source = linecache.getline(frame[0], frame[1]).strip()
        lines.append(f"  {place(frame)}, in {frame[2]}")
        if source:
            lines.append(f"    {source}")
    return "\n".join(lines)


def to_error(failure: Failure, others: Iterable[str] = ()) -> RunError:
    """Turn a rank's failure into the exception that ``run`` raises.

    Parameters
    ----------
    failure : Failure
        The first failure of the run.
    others : iterable of str, default: ()
        A line for each other rank.

    Returns
    -------
    RunError
        The library's own error as it was raised in the worker (a mismatch, a deadlock), or
        ``WorkerExited`` for ``sys.exit``, or ``WorkerError`` for anything else.
    """
    consequences = tuple(others)
    where = place(user_frame(failure.frames))
    original = _load(failure.original)
    if isinstance(original, CollectiveMismatchError):  # it tells every line by itself
        return CollectiveMismatchError(
            str(original.args[0]), rank=failure.rank, consequences=consequences,
            entered=original.entered, stamp=original.stamp,
        )  # fmt: skip
    if isinstance(original, DeadlockError):
        return DeadlockError(
            str(original.args[0]), rank=failure.rank, consequences=consequences,
            cycles=original.cycles, graph=original.graph,
        )  # fmt: skip
    if isinstance(original, RunError):
        text = str(original.args[0])
        who = "" if text.startswith(f"rank {failure.rank} ") else f"rank {failure.rank}, "
        says_where = not failure.frames or where in text
        message = text if says_where else f"{who}{where}: {text}"
        error = type(original)(message, rank=failure.rank, consequences=consequences)
        if isinstance(error, PeerFinishedError) and isinstance(original, PeerFinishedError):
            error.peer = original.peer
        return error
    if failure.type_name == "SystemExit":
        return WorkerExited(
            f"rank {failure.rank} called sys.exit({failure.text}) at {where}, before its function "
            "returned a result; use return to end a worker",
            rank=failure.rank,
            consequences=consequences,
            original=original,
        )
    summary = f"{failure.type_name}: {failure.text}" if failure.text else failure.type_name
    message = f"rank {failure.rank} failed at {where}: {summary}"
    if failure.frames:
        message += f"\n\nTraceback of rank {failure.rank} (most recent call last):\n"
        message += f"{render(failure.frames)}\n{summary}"
    if failure.original is None:
        message += "\n(The exception object itself could not travel; this is its text.)"
    return WorkerError(message, rank=failure.rank, consequences=consequences, original=original)


def _safe_text(error: BaseException, patience_s: float | None) -> str:
    if isinstance(error, SystemExit):
        return "" if error.code is None else _shorten(repr(error.code))
    if isinstance(error, RunError):
        return _shorten(str(error.args[0]) if error.args else "")
    text = _attempt(lambda: str(error), patience_s)
    return "<unprintable>" if text is None else _shorten(text)


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]} ... ({len(text):,} characters)"


def _safe_pickle(error: BaseException, patience_s: float | None) -> bytes | None:
    def there_and_back() -> bytes:
        data = dumps(error, of_rank=True)
        load_here(data)
        return data

    return _attempt(there_and_back, patience_s)


def _attempt(step: Callable[[], _T], patience_s: float | None) -> _T | None:
    """Do what calls a learner's code, which may raise, exit or never come back: then None."""
    results: list[_T] = []

    def attempt() -> None:
        with suppress(BaseException):
            results.append(step())

    if patience_s is None:
        attempt()
    else:
        thread = threading.Thread(target=attempt, daemon=True)
        try:
            start_thread(thread)
            thread.join(patience_s)
        except RuntimeError:  # no room for a thread
            attempt()
    return results[0] if results else None


def _load(data: bytes | None) -> BaseException | None:
    if data is None:
        return None
    try:
        error = load_here(data)
    except BaseException:
        return None
    return error if isinstance(error, BaseException) else None
