"""What a rank has started beside its function: one thread for each, at once.

Nothing waits in a queue: a function that has not begun could be the one that all others wait for.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

from course_lib.comm.errors import RankLost
from course_lib.comm.limits import start_thread
from course_lib.comm.pending import Pending
from course_lib.comm.processes.rank.flow import Flow
from course_lib.comm.processes.rank.flows import Flows
from course_lib.comm.wait_graph import quoted

__all__ = ["Started", "start"]

T = TypeVar("T")


class Started(Pending[T]):
    """A function that runs beside its rank.

    Parameters
    ----------
    progress : Flows
        The rank's progress.
    flow : Flow
        What runs it.
    body : callable
        Calls it.
    """

    def __init__(self, progress: Flows, flow: Flow, body: Callable[[Flow], T]) -> None:
        self._progress = progress
        self._flow = flow
        self._body = body
        self._value: T
        self._lost: RankLost | None = None

    def wait(self) -> T:
        """Wait until the function has returned; return what it returned, however often asked."""
        waiter = self._progress.flow_that_asks("wait", self._flow.name)
        if not self._flow.over:
            self._progress.wait_for(waiter, self._flow)
        if self._lost is not None:
            raise self._lost
        return self._value

    def test(self) -> bool:
        """Tell whether the function has returned."""
        self._progress.flow_that_asks("test", self._flow.name)
        return self._flow.over

    def live(self, fail: Callable[[BaseException], None]) -> None:
        """Run the function, in the thread of its flow."""
        self._progress.enter(self._flow)
        try:
            self._value = self._body(self._flow)
            self._progress.settle_all(self._flow)
        except RankLost as lost:  # only that function needed it; whoever waits for this is told
            self._lost = lost.with_traceback(None)
        except BaseException as error:  # sys.exit and the like are failures too
            fail(error)
            return  # the flow stays open: nobody is to go on as if it had returned
        del self._body  # what it holds goes now, not with the last reference to the result
        self._progress.close_flow(self._flow)


def start(
    progress: Flows, parent: Flow, comm: str, body: Callable[[Flow], T],
    fail: Callable[[BaseException], None],
) -> Started[T]:  # fmt: skip
    """Run a function in a thread of its own.

    Parameters
    ----------
    progress : Flows
        The rank's progress.
    parent : Flow
        What starts it.
    comm : str
        The communicator from which it is started.
    body : callable
        Calls it, in the thread of the flow that it is handed.
    fail : callable
        Told of an exception that leaves it; the run ends then.

    Returns
    -------
    Started
        Its result, which is still to come.

    Raises
    ------
    RuntimeError
        If the operating system lets the process have no more threads.
    """
    name = f"{comm}/start {parent.started.get(comm, 0) + 1}"
    flow = progress.open_flow(name)
    started = Started(progress, flow, body)
    parent.started[comm] = parent.started.get(comm, 0) + 1
    thread = threading.Thread(target=started.live, args=(fail,), name=name, daemon=True)
    try:
        start_thread(thread)
    except (RuntimeError, MemoryError) as error:
        parent.started[comm] -= 1  # what was refused does not count
        progress.close_flow(flow)
        n_open = len(progress.flows) - 1
        raise RuntimeError(
            f"rank {progress.rank} could not start {quoted(name)} beside the {n_open:,} functions "
            "that it has started and that still run: the operating system let it have no more "
            f"threads ({error}); "
            "wait() for some of them before you start more, close other programs, or raise the "
            "limits on processes and memory (ulimit -a, or the container's, shows them)"
        ) from error
    return started
