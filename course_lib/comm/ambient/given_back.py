"""What all ranks of a run share, and the caller gets back at its end.

None of it changes what a rank computes, or nothing tells cheaply that it has changed; so it is
looked at twice in a run, and costs nothing in between.
"""

import gc
import locale
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from course_lib.comm.ambient.entries import Setting

__all__ = ["given_back"]


class Unknown:
    """What could not be read."""


UNKNOWN = Unknown()


def given_back() -> list[Setting]:
    """List it."""
    return [
        Shared("the working directory", "cwd", _here, os.chdir),
        Shared("where modules are found", "path", lambda: (sys.path, [*sys.path]), _find_in),
        Shared("whether garbage is collected", "collects", gc.isenabled, _collect),
        Shared("when garbage is collected", "gc_thresholds", gc.get_threshold, _collect_at),
        Shared("how deep calls may go", "depth", sys.getrecursionlimit, sys.setrecursionlimit),
        Shared("how often threads switch", "slice", sys.getswitchinterval, sys.setswitchinterval),
        Shared("who may read new files", "umask", _umask, os.umask),
        Shared("who traces", "tracer", sys.gettrace, sys.settrace),
        Shared("who profiles", "profiler", sys.getprofile, sys.setprofile),
        Shared("who hears of asynchronous generators", "hooks", sys.get_asyncgen_hooks, _hook),
        Shared(
            "how far back coroutines know their origin", "origin_depth",
            sys.get_coroutine_origin_tracking_depth, sys.set_coroutine_origin_tracking_depth,
        ),
        Shared(
            "how long a number may be as a text", "digits", sys.get_int_max_str_digits,
            sys.set_int_max_str_digits,
        ),
        Shared(
            "how large stacks of threads are", "stack", _stack_size, threading.stack_size
        ),
        Shared("the language of texts", "locale", _locale, _speak),
        Shared("what signals do", "handlers", _handlers, _handle),
        *_of_signals(),
    ]  # fmt: skip


class Shared(Setting):
    """A setting that a run begins with as the caller has it.

    Parameters
    ----------
    what, name : str
        See ``Setting``.
    read, write : callable
        The two; ``write`` is called with what the caller had, if it has changed.
    """

    def __init__(
        self, what: str, name: str, read: Callable[[], Any], write: Callable[[Any], Any]
    ) -> None:
        super().__init__(what, "run", name, read, write, None)

    def begin(self) -> Any:
        """Return what the caller has, and leave it."""
        return self._read()

    def end(self, callers: Any) -> None:
        """Give the caller back what it had, unless that could not be read."""
        if callers is not UNKNOWN and self._read() != callers:
            self._write(callers)


def _here() -> str | Unknown:
    try:
        return os.getcwd()  # noqa: PTH109 - a path would be normalised
    except OSError:  # it has been removed
        return UNKNOWN


def _find_in(callers: tuple[list[str], list[str]]) -> None:
    sys.path, sys.path[:] = callers[0], callers[1]


def _collect(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()


def _collect_at(thresholds: tuple[int, int, int]) -> None:
    gc.set_threshold(*thresholds)


def _umask() -> int:
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mask


def _stack_size() -> int:
    size = threading.stack_size()  # which sets it to 0
    threading.stack_size(size)
    return size


def _hook(callers: tuple[Any, Any]) -> None:
    sys.set_asyncgen_hooks(*callers)


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


def _speak(callers: str) -> None:
    locale.setlocale(locale.LC_ALL, callers)


def _handlers() -> dict[signal.Signals, Any] | Unknown:
    """Return what Python does at each signal but Ctrl-C, which ``interrupts`` looks after."""
    if threading.current_thread() is not threading.main_thread():
        return UNKNOWN  # only there they may be set
    return {each: signal.getsignal(each) for each in signal.Signals if each != signal.SIGINT}


def _handle(callers: dict[signal.Signals, Any]) -> None:
    for each, handler in callers.items():
        if handler is not None and handler is not signal.getsignal(each):
            signal.signal(each, handler)


def _of_signals() -> list[Setting]:
    """List what is blocked, and timers: without its handler, the signal of a rank's would kill."""
    if sys.platform == "win32":
        return []
    timers = signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF

    def blocked() -> set[Any]:
        return signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def block(callers: set[Any]) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, callers)

    def run() -> tuple[bool, ...] | Unknown:
        if threading.current_thread() is not threading.main_thread():
            return UNKNOWN
        return tuple(signal.getitimer(timer) != (0.0, 0.0) for timer in timers)

    def stop(callers: tuple[bool, ...]) -> None:
        for timer, runs in zip(timers, callers, strict=True):
            if not runs:
                signal.setitimer(timer, 0)

    return [
        Shared("timers that send signals", "timers", run, stop),
        Shared("which signals are blocked", "blocked", blocked, block),
    ]
