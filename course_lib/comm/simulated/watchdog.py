"""A limit of wall time for code that runs on this very thread, on any operating system.

A second thread sleeps until the time is over and then asks the interpreter to raise ``TimeIsUp`` in
the first one, at its next Python instruction (``PyThreadState_SetAsyncExc``; signals would work on
the main thread of POSIX systems only).
"""

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

__all__ = ["TimeIsUp", "Watchdog"]

_AGAIN_AFTER_S = 1.0
_LOOK_EVERY_S = 0.1

_set_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_async_exc.argtypes = (ctypes.c_ulong, ctypes.py_object)
_set_async_exc.restype = ctypes.c_int


class TimeIsUp(BaseException):
    """The wall time is over. Not an ``Exception``, so that a learner's ``except`` lets it pass."""


class Watchdog:
    """Raise ``TimeIsUp`` in the thread that entered, if it has not left in time.

    Parameters
    ----------
    limit_s : float
        Wall seconds.
    on_time_up : callable
        Called from the watchdog's thread just before.
    is_too_much : callable or None, default: None
        Asked from there some times a second; if it says so, the time is up early.
    """

    def __init__(
        self,
        limit_s: float,
        on_time_up: Callable[[], None],
        is_too_much: Callable[[], bool] | None = None,
    ) -> None:
        self._limit_s = min(limit_s, threading.TIMEOUT_MAX)
        self._is_too_much = is_too_much
        self._on_time_up = on_time_up
        self._left = threading.Event()
        self._rang = False
        self._target = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="time limit", daemon=True)

    def __enter__(self) -> None:
        """Start the clock."""
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Stop the clock; after this nothing is raised any more."""
        try:
            self._leave()
        except TimeIsUp:  # it came while we were leaving, and it will not come again
            self._leave()
            raise

    def _leave(self) -> None:
        self._left.set()
        self._thread.join()
        if not self._rang:
            return
        # What was not raised yet cannot be taken back: the interpreter would go on looking for it
        # at every call, and under a tracer (a debugger, say) never get any further. So let it come,
        # again and again: a callback of the garbage collector may get it instead, and swallow it.
        with suppress(TimeIsUp):
            while True:
                _set_async_exc(self._target, ctypes.py_object(TimeIsUp))

    def _watch(self) -> None:
        time_is_up = self._wait()
        while time_is_up:
            self._on_time_up()
            self._rang = True
            _set_async_exc(self._target, ctypes.py_object(TimeIsUp))
            time_is_up = not self._left.wait(_AGAIN_AFTER_S)  # for code that swallowed it

    def _wait(self) -> bool:
        """Return True when the time is up, or False as soon as the other thread has left."""
        if self._is_too_much is None:
            return not self._left.wait(self._limit_s)
        ends_s = time.monotonic() + self._limit_s
        while (left_s := ends_s - time.monotonic()) > 0:
            if self._left.wait(min(left_s, _LOOK_EVERY_S)):
                return False
            if self._is_too_much():
                return True
        return not self._left.is_set()
