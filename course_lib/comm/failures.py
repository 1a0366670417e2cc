"""What a worker writes down about its own failure, and how the launcher tells it.

An exception object often cannot travel (its class needs two arguments, it holds a lock), so its
type, text and frames travel as plain strings and numbers; the object itself comes along only if it
survived a round trip in the worker.
"""

import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from course_lib.comm import errors
from course_lib.comm.errors import (
    CollectiveMismatchError,
    DeadlockError,
    PeerFinishedError,
    RankLost,
    RunError,
    WorkerError,
    WorkerExited,
)
from course_lib.comm.frames import END, Frame, frames_of, of_exception, place, render, user_frame
from course_lib.comm.limits import start_thread
from course_lib.comm.pickling import dumps, load_here

__all__ = ["Failure", "first_line", "to_error"]

_LONGEST_TEXT = 2_000
_MOST_TOLD = 5
"""How many causes of an exception, and exceptions of a group."""
_T = TypeVar("_T")
_UNPRINTABLE = "<unprintable>"


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
    also : str
        Its notes, what is in it if it is a group, and its causes, in lines.
    """

    rank: int
    type_name: str
    text: str
    frames: tuple[Frame, ...]
    time_s: float
    original: bytes | None = None
    also: str = ""

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
        raised_at = of_exception(error, "__traceback__")
        frames = frames_of(raised_at)
        if issubclass(type(error), MemoryError):  # telling it takes room: let go of what they hold
            traceback.clear_frames(raised_at)
        name = type(error).__name__
        if _is_ours(error):  # no code of the learner's, and on a busy computer no time is enough
            patience_s = None
        try:
            text, also = _safe_text(error, patience_s), _also_said(error, patience_s)
        except Exception:  # it does not even say what it is
            return cls(rank, name, _UNPRINTABLE, frames, time_s)
        return cls(rank, name, text, frames, time_s, _safe_pickle(error, patience_s), also)


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
    if isinstance(original, RankLost):
        text = f"rank {failure.rank} did not catch RankLost: {original.args[0]}"
        return WorkerError(text, rank=failure.rank, consequences=consequences, original=original)
    if isinstance(original, RunError):
        text = str(original.args[0])
        who = "" if text.startswith(f"rank {failure.rank} ") else f"rank {failure.rank}, "
        says_where = not failure.frames or where in text
        at = "at " if where == END else ""
        message = text if says_where else f"{who}{at}{where}: {text}"
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
    return _raised(failure, where, consequences, original)


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's text: what gloo says goes on for many."""
    return str(error).partition("\n")[0]


def _raised(
    failure: Failure, where: str, consequences: tuple[str, ...], original: BaseException | None
) -> WorkerError:
    summary = f"{failure.type_name}: {failure.text}" if failure.text else failure.type_name
    message = f"rank {failure.rank} failed at {where}: {summary}"
    if failure.frames:
        message += f"\n\nTraceback of rank {failure.rank} (most recent call last):\n"
        message += f"{render(failure.frames)}\n{summary}"
    message += failure.also
    if failure.original is None:
        message += "\n(The exception object itself could not travel; this is its text.)"
    return WorkerError(message, rank=failure.rank, consequences=consequences, original=original)


def _is_ours(error: BaseException) -> bool:
    """Say whether an exception is the library's own, in its own words."""
    own = vars(errors).get(type(error).__name__)
    return own is type(error) and all(type(each) is str for each in error.args)


def _safe_text(error: BaseException, patience_s: float | None) -> str:
    if isinstance(error, SystemExit):
        text = "" if error.code is None else _attempt(lambda: repr(error.code), patience_s)
        return _UNPRINTABLE if text is None else _shorten(text)
    if isinstance(error, RunError):
        return _shorten(str(error.args[0]) if error.args else "")
    text = _attempt(lambda: str(error), patience_s)
    return _UNPRINTABLE if text is None else _shorten(text)


def _also_said(error: BaseException, patience_s: float | None) -> str:
    """Say what an exception carries besides its text: notes, what is in a group, its causes."""
    if isinstance(error, RunError | SystemExit):
        return ""
    lines = _attempt(lambda: _notes_of(error), patience_s) or []  # not every one has any
    if isinstance(error, BaseExceptionGroup):
        lines += [f"in it: {_in_a_line(one, patience_s)}" for one in error.exceptions[:_MOST_TOLD]]
    told: set[int] = {id(error)}
    while len(told) <= _MOST_TOLD:
        cause = of_exception(error, "__cause__")
        how = "caused by" if cause is not None else "while handling"
        if cause is None and not of_exception(error, "__suppress_context__"):
            cause = of_exception(error, "__context__")
        if cause is None or id(cause) in told:
            break
        lines.append(f"{how} {_in_a_line(cause, patience_s)}")
        told.add(id(cause))
        error = cause
    return "".join(f"\n  {_shorten(line)}" for line in lines)


def _notes_of(error: BaseException) -> list[str]:
    lines = []
    for note in error.__notes__:
        lines.append(_UNPRINTABLE)
        with suppress(Exception):
            lines[-1] = str(note)
    return lines


def _in_a_line(error: BaseException, patience_s: float | None) -> str:
    frames = frames_of(of_exception(error, "__traceback__"))
    where = f", at {place(user_frame(frames))}" if frames else ""
    text = _safe_text(error, patience_s)
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"


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
