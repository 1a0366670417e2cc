"""A limit of wall time for code that runs on this very thread, on any operating system.

A second thread waits until the time is over and then has ``TimeIsUp`` raised in the first one, at
its next Python instruction. In the main thread the handler of Ctrl-C does it, which ``Interrupts``
has taken over: there it is certain whether the code still runs, and what sleeps is woken up. For
any other thread the interpreter is asked (``PyThreadState_SetAsyncExc``).
"""

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from course_lib.comm.errors import LaunchError
from course_lib.comm.interrupts import Interrupts, WatchedCall
from course_lib.comm.limits import start_thread, what_to_do

__all__ = ["TimeIsUp", "Watchdog"]

_AGAIN_AFTER_S = 1.0
_LOOK_EVERY_S = 0.1
T = TypeVar("T")

_set_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_async_exc.argtypes = (ctypes.c_ulong, ctypes.py_object)
_set_async_exc.restype = ctypes.c_int


class TimeIsUp(BaseException):
    """The wall time is over. Not an ``Exception``, so that a learner's ``except`` lets it pass."""


class Watchdog:
    """Raise ``TimeIsUp`` in a function that does not return in time.

    Parameters
    ----------
    limit_s : float
        Wall seconds.
    on_time_up : callable
        Called from the watchdog's thread just before.
    is_too_much : callable or None, default: None
        Asked from there ten times a second; if it says so, the time is up early.
    interrupts : Interrupts or None, default: None
        What has taken over Ctrl-C; without it the interpreter is asked.
    """

    def __init__(
        self,
        limit_s: float,
        on_time_up: Callable[[], None],
        is_too_much: Callable[[], bool] | None = None,
        interrupts: Interrupts | None = None,
    ) -> None:
        self._limit_s = limit_s
        self._is_too_much = is_too_much
        self._on_time_up = on_time_up
        self._interrupts = Interrupts() if interrupts is None else interrupts
        self._turn = threading.Lock()  # who strikes, or leaves
        self._left = threading.Event()
        self._asked_interpreter = False
        self._target = threading.get_ident()
        self._watched: WatchedCall[Any] | None = None

    def call(self, fn: Callable[[], T], *, lets_in: bool = True) -> T:
        """Call a function under the limit; nothing is raised any more once this returns.

        Parameters
        ----------
        fn : callable
            Without arguments.
        lets_in : bool, default: True
            Whether Ctrl-C, too, is raised in there.

        Returns
        -------
        Any
            What it returns.

        Raises
        ------
        LaunchError
            If the system has no room for the watchdog's thread.
        """

        def watched() -> T:
            with self._thread():
                return self._interrupts.call(fn, lets_in=lets_in)

        call: WatchedCall[T] = WatchedCall(watched)
        self._watched = call
        return call()

    @contextmanager
    def _thread(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch, name="time limit", daemon=True)
        try:
            start_thread(thread)
        except RuntimeError as error:
            raise LaunchError(
                f"the operating system did not let a thread start: {error}; {what_to_do(error)}"
            ) from error
        try:
            yield
        finally:
            try:
                self._leave(thread)
            except TimeIsUp:  # it came while we were leaving, and it will not come again
                self._leave(thread)
                raise

    def _leave(self, thread: threading.Thread) -> None:
        with self._turn:
            self._left.set()
        thread.join()
        if not self._asked_interpreter:
            return
        # What was not raised yet cannot be taken back: the interpreter would go on looking for it
        # at every call, and under a tracer (a debugger, say) never get any further. So let it come,
        # again and again: a callback of the garbage collector may get it instead, and swallow it.
        with suppress(TimeIsUp):
            while True:
                _set_async_exc(self._target, ctypes.py_object(TimeIsUp))

    def _watch(self) -> None:
        if not self._wait():
            return
        self._on_time_up()
        is_first = True
        while self._strike(is_first) and not self._left.wait(_AGAIN_AFTER_S):
            is_first = False  # it was swallowed, or sleeps in compiled code

    def _strike(self, is_first: bool) -> bool:
        """Have it raised, if the function has not ended; return whether to come again."""
        with self._turn:
            if self._left.is_set() or not self._is_watched():
                return False
            if not self._interrupts.is_inside:  # it has ended just now, or not begun
                return True
            if not self._interrupts.strike(TimeIsUp, wake=not is_first):
                self._asked_interpreter = True
                # Before Python 3.12 a thread that is just being started would get it in our place.
                _set_async_exc(self._target, ctypes.py_object(TimeIsUp))
            return True

    def _wait(self) -> bool:
        """Return True when the time is up, or False as soon as the other thread has left."""
        ends_s = time.monotonic() + self._limit_s
        while (left_s := ends_s - time.monotonic()) > 0:
            if self._left.wait(min(left_s, _LOOK_EVERY_S)) or not self._is_watched():
                return False
            if self._is_too_much is not None and self._is_too_much():
                return True
        return not self._left.is_set()

    def _is_watched(self) -> bool:
        """Whether the other thread is where it stops this one; else nothing must come any more."""
        return self._watched is not None and self._watched.is_under_way
