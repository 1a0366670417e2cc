"""What all ranks of a run share, and the caller gets back at its end.

None of it changes what a rank computes, or it cannot change hands in the middle of a call, as how
deep calls may go; so it is looked at twice in a run, and costs nothing in between.
"""

import faulthandler
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from course_lib.comm.ambient.entries import Setting
from course_lib.comm.interrupts import getsignal

__all__ = ["given_back"]


class Unknown:
    """What could not be read."""


UNKNOWN = Unknown()


def given_back() -> list[Setting]:
    """List it."""
    return [
        Shared("whether garbage is collected", "collects", gc.isenabled, _collect),
        Shared("when garbage is collected", "gc_thresholds", gc.get_threshold, _collect_at),
        Shared("who hears of collections", "gc_callbacks", lambda: [*gc.callbacks], _tell_of),
        Shared("what is told of garbage", "gc_debug", gc.get_debug, gc.set_debug),
        Shared("how deep calls may go", "depth", sys.getrecursionlimit, sys.setrecursionlimit),
        Shared("how often threads switch", "slice", sys.getswitchinterval, sys.setswitchinterval),
        OfThread("who traces", "tracer", sys.gettrace, sys.settrace),
        OfThread("who profiles", "profiler", sys.getprofile, sys.setprofile),
        Shared("who traces new threads", "tracer_of_threads", threading.gettrace, _trace_threads),
        Shared(
            "who profiles new threads", "profiler_of_threads", threading.getprofile,
            _profile_threads,
        ),
        OfThread(
            "how far back coroutines know their origin", "origin_depth",
            sys.get_coroutine_origin_tracking_depth, sys.set_coroutine_origin_tracking_depth,
        ),
        Shared(
            "how large stacks of threads are", "stack", _stack_size, threading.stack_size
        ),
        Shared("what signals do", "handlers", _handlers, _handle),
        OfThread("what the thread is called", "thread_name", _thread_name, _call_thread),
        Descriptors(),
        Shared("whether crashes are told", "faults", faulthandler.is_enabled, _tell_crashes),
        *_of_signals(),
        *_of_limits(),
        *_of_cores(),
        _escapes(),
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


class OfThread(Shared):
    """A setting of the thread in which the ranks are."""

    def end_in_copy(self, callers: Any) -> None:
        """Leave it: another thread has its own."""


class Descriptors(Setting):
    """Where the descriptors of output and errors lead.

    Who redirects them around a message, one inside the other on each rank, puts them back
    crosswise: then nobody would see any more what the caller prints.
    """

    def __init__(self) -> None:
        super().__init__(
            "where output and errors lead", "run", "leads", _leads, lambda _: None, None
        )

    def begin(self) -> Any:
        """Keep a second descriptor of each."""
        return [(fd, place, os.dup(fd)) for fd, place in _leads().items()]

    def end(self, callers: Any) -> None:
        """Have them lead where they did."""
        for fd, place, kept in callers:
            with suppress(OSError):  # a rank has closed all files
                if _leads().get(fd) != place:
                    os.dup2(kept, fd)
                os.close(kept)


def _leads() -> dict[int, tuple[int, int]]:
    found = {}
    for fd in (1, 2):
        with suppress(OSError):  # it is closed
            status = os.fstat(fd)
            found[fd] = status.st_dev, status.st_ino
    return found


def _thread_name() -> str:
    return threading.current_thread().name


def _call_thread(name: str) -> None:
    threading.current_thread().name = name


def _collect(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()


def _collect_at(thresholds: tuple[int, int, int]) -> None:
    gc.set_threshold(*thresholds)


def _tell_of(callers: list[Any]) -> None:
    gc.callbacks[:] = callers


def _trace_threads(callers: Any) -> None:
    threading.settrace(callers)


def _profile_threads(callers: Any) -> None:
    threading.setprofile(callers)


def _tell_crashes(enabled: bool) -> None:
    if not enabled:
        faulthandler.disable()
    elif sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)


def _stack_size() -> int:
    size = threading.stack_size()  # which sets it to 0
    threading.stack_size(size)
    return size


def _handlers() -> dict[signal.Signals, Any] | Unknown:
    """Return what Python does at each signal but Ctrl-C, which ``interrupts`` looks after."""
    if threading.current_thread() is not threading.main_thread():
        return UNKNOWN  # only there they may be set
    return {each: getsignal(each) for each in signal.Signals if each != signal.SIGINT}


def _handle(callers: dict[signal.Signals, Any]) -> None:
    for each, handler in callers.items():
        if handler is not None and handler is not getsignal(each):
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
        OfThread("which signals are blocked", "blocked", blocked, block),
    ]


def _escapes() -> Setting:
    """Have the output show letters that it does not know as escapes, as that of workers does."""
    streams: list[Any] = [one for one in (sys.stdout, sys.stderr) if hasattr(one, "reconfigure")]

    def read() -> list[str]:
        return [one.errors for one in streams]

    def write(own: list[str]) -> None:
        for one, errors in zip(streams, own, strict=True):
            if one.errors != errors:
                with suppress(OSError, ValueError):  # it is closed, or its disk is full
                    one.reconfigure(errors=errors)

    escaped = ["backslashreplace" if errors == "strict" else errors for errors in read()]
    setting = Setting(
        "letters that the output does not know", "run", "escapes", read, write, escaped
    )
    setting.usual = "escapes() == usual_escapes"
    return setting


def _of_cores() -> list[Setting]:
    """List on which cores the process may run, where a program can choose that."""
    if not hasattr(os, "sched_setaffinity"):  # on Linux
        return []
    return [
        Shared(
            "on which cores it runs", "cores", lambda: os.sched_getaffinity(0),
            lambda callers: os.sched_setaffinity(0, callers),
        )
    ]  # fmt: skip


def _of_limits() -> list[Setting]:
    """List what the system grants: open files, memory, seconds."""
    if sys.platform == "win32":
        return []
    import resource

    kinds = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]

    def granted() -> dict[int, tuple[int, int]]:
        return {kind: resource.getrlimit(kind) for kind in kinds}

    def grant(callers: dict[int, tuple[int, int]]) -> None:
        for kind, (soft, most) in callers.items():
            now = resource.getrlimit(kind)
            # A lower most is for good, but for a privileged program.
            for limits in ((soft, most), (soft, now[1]), (now[1], now[1])):
                with suppress(ValueError, OSError):
                    if now != (soft, most):
                        resource.setrlimit(kind, limits)
                        break

    return [Shared("limits of the process", "limits", granted, grant)]
