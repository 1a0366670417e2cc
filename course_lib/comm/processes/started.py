"""What a rank has started beside its function: one thread for each, up to the places of a port.

What finds no place waits for one, in the order of the calls. That order is the same on every rank,
so the first in the queue can always end: nothing waits for what stands behind it.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from course_lib.comm.pending import Pending
from course_lib.comm.processes.crew import Crew
from course_lib.comm.processes.flows import Call, Flow

__all__ = ["Started", "Starter"]

T = TypeVar("T")


class Started(Pending[T]):
    """A function that runs, or will run, beside its rank.

    Parameters
    ----------
    port : Crew
        The rank's port.
    name : str
        The communicator it is given.
    body : callable
        Calls it, in the thread of the flow that it is handed.
    refuse : callable
        Raises where no result may be waited for.

    Attributes
    ----------
    done : bool
        Whether it has returned.
    """

    def __init__(
        self, port: Crew, name: str, body: Callable[[Flow], T], refuse: Callable[[], None]
    ) -> None:
        self.name = name
        self.done = False
        self._port = port
        self._body = body
        self._refuse = refuse
        self._value: T

    def wait(self) -> T:
        """Wait until the function has returned; return what it returned, however often asked."""
        self._refuse()
        if not self.done:
            flow = self._port.this_flow()
            if flow is None:
                raise RuntimeError(
                    f"wait() for {self.name!r} was called in a thread that run has not started; "
                    "call it where the result is needed, in the rank's function"
                )
            self._port.wait_until(flow, Call("wait"), lambda: self.done)
        return self._value

    def live(self, flow: Flow) -> None:
        """Run the function, in the thread of ``flow``."""
        self._value = self._body(flow)
        self.done = True


class Starter:
    """Gives what a rank starts a thread and a place.

    Parameters
    ----------
    port : Crew
        The rank's port.
    fail : callable
        Told of an exception that left a started function; the run ends then.
    """

    def __init__(self, port: Crew, fail: Callable[[BaseException], None]) -> None:
        self._port = port
        self._fail = fail
        self._queue: deque[Started[Any]] = deque()
        self._busy = threading.Lock()

    def start(self, started: Started[Any]) -> None:
        """Start a function, now or when a place is free."""
        self._queue.append(started)
        self._start_next()

    def wait_for_all(self, flow: Flow) -> None:
        """Wait until everything that was started has returned."""
        port = self._port
        port.wait_until(flow, Call("wait"), lambda: len(port.flows) == 1 and not self._queue)

    def _start_next(self) -> None:
        with self._busy:
            if not self._queue or not self._port.has_place():
                return
            flow = self._port.open_flow(self._queue[0].name)
            flow.thread = 0  # not ours: its own thread says who it is
            started = self._queue.popleft()
            threading.Thread(
                target=self._live, args=(started, flow), name=started.name, daemon=True
            ).start()

    def _live(self, started: Started[Any], flow: Flow) -> None:
        flow.thread = threading.get_ident()
        try:
            started.live(flow)
        except BaseException as error:  # sys.exit and the like are failures too
            self._fail(error)
            return  # its place stays taken: nobody is to go on as if it had returned
        self._port.close_flow(flow)
        self._start_next()
