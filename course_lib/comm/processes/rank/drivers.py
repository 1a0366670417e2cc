"""Threads that move a rank's messages while it computes; one that is through waits for more."""

import threading
from collections.abc import Callable

from course_lib.comm.limits import start_thread

__all__ = ["Drivers"]

_MOST_IDLE = 8  # threads; beginning one takes several times as long as waking one


class Drivers:
    """A rank's threads for the messages that it has begun."""

    def __init__(self) -> None:
        self._idle: list[_Driver] = []
        self._changing = threading.Lock()
        self._closed = False

    def call(self, work: Callable[[], None]) -> None:
        """Have a thread call ``work``, an idle one if there is any.

        Raises
        ------
        RuntimeError, MemoryError
            If there is none, and the operating system gives no more.
        """
        with self._changing:
            driver = self._idle.pop() if self._idle else None
        if driver is not None:
            driver.work = work
            driver.has_work.release()
            return
        driver = _Driver(work)
        thread = threading.Thread(
            target=driver.live, args=(self._rests,), name="messages", daemon=True
        )
        start_thread(thread)

    def close(self) -> None:
        """Let idle threads end, and others when they are through."""
        with self._changing:
            self._closed = True
            idle, self._idle = self._idle, []
        for driver in idle:
            driver.work = None
            driver.has_work.release()

    def _rests(self, driver: "_Driver") -> bool:
        """Keep an idle thread; False if there are enough."""
        with self._changing:
            keeps = not self._closed and len(self._idle) < _MOST_IDLE
            if keeps:
                self._idle.append(driver)
            return keeps


class _Driver:
    """What one of the threads does: some work, then the next."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work: Callable[[], None] | None = work
        self.has_work = threading.Semaphore(0)

    def live(self, rests: "Callable[[_Driver], bool]") -> None:
        """Work until nobody wants this thread any more."""
        while self.work is not None:
            work, self.work = self.work, None
            work()
            del work  # what it holds goes now
            if not rests(self):
                return
            self.has_work.acquire()
