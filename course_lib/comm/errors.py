"""Everything that can go wrong in a run, as exceptions that explain themselves.

All of them derive from :class:`RunError`. The text of the exception is the whole explanation: which
rank, what happened, at which cell and line, and what to do next. In a notebook only that text is
shown, not the launcher's own frames.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = [
    "CollectiveMismatchError",
    "DeadlockError",
    "LaunchError",
    "LaunchTimeout",
    "MessageMismatchError",
    "NestedLaunchError",
    "PeerFinishedError",
    "RankLost",
    "RunError",
    "SerializationError",
    "SharedMemoryFull",
    "SimulationError",
    "UnreceivedMessagesWarning",
    "WorkerError",
    "WorkerExited",
    "WorkerKilled",
    "WorkerStalled",
    "WorkerStartError",
    "told_briefly",
]


@contextmanager
def told_briefly() -> Iterator[None]:
    """Let IPython show a refused argument, or an interrupt, as one text without our own frames.

    Yields
    ------
    None
        While arguments are checked and workers run.
    """
    try:
        yield
    except (TypeError, ValueError, KeyboardInterrupt) as error:
        if not isinstance(error, RunError):  # which does so by itself
            text = f"{type(error).__name__}: {error}"
            vars(error)["_render_traceback_"] = lambda: [text]
        raise


class RunError(RuntimeError):
    """A run failed; the message says where, why and what to do next.

    Parameters
    ----------
    message : str
        The whole explanation, first line a one-line summary.
    rank : int or None, default: None
        The rank that failed first, where one rank can be named.
    consequences : sequence of str, default: ()
        One line for every other rank: what the first failure did to it.
    original : BaseException or None, default: None
        The worker's own exception, where it could be brought over.

    Attributes
    ----------
    trace : Trace or None
        What had been recorded until then, where the world keeps it.
    """

    trace: "Trace | None" = None

    def __init__(
        self,
        message: str,
        *,
        rank: int | None = None,
        consequences: Sequence[str] = (),
        original: BaseException | None = None,
    ) -> None:
        super().__init__(message)
        self.rank = rank
        self.consequences = tuple(consequences)
        self.original = original

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as class, message and plain attributes."""
        return _rebuild, (type(self), str(self), self.rank, self.consequences)

    def __str__(self) -> str:
        """Return the explanation, then what the failure did to the other ranks."""
        text = str(self.args[0]) if self.args else ""
        return "\n".join([text, *(f"  {line}" for line in self.consequences)])

    def _render_traceback_(self) -> list[str]:
        """Show the explanation alone in IPython: the launcher's frames teach nothing."""
        return [f"{type(self).__name__}: {self}"]


def _rebuild(
    cls: type[RunError], message: str, rank: int | None, consequences: tuple[str, ...], **more: Any
) -> RunError:
    first_part = message.removesuffix("".join(f"\n  {line}" for line in consequences))
    return cls(first_part, rank=rank, consequences=consequences, **more)


class WorkerError(RunError):
    """A rank's function raised an exception."""


class WorkerExited(RunError):
    """A rank left before it returned a result: ``sys.exit``, ``os._exit`` or the like."""


class WorkerKilled(RunError):
    """A rank's process was ended by a signal, often because memory ran out."""


class WorkerStalled(RunError):
    """A rank's process was stopped, by a signal or a debugger, and has not run for seconds."""


class WorkerStartError(RunError):
    """A worker process died or failed before it could call the function."""


class LaunchError(RunError):
    """The operating system did not let all workers start."""


class LaunchTimeout(RunError, TimeoutError):
    """The time limit passed before all ranks had returned."""


class DeadlockError(RunError):
    """Ranks wait for each other in a circle, or in several, and none of them can go on.

    Parameters
    ----------
    message : str
        As for ``RunError``.
    cycles : sequence of sequence of int, default: ()
        The ranks of each circle, each waiting for the next and the last for the first.
    graph : sequence of (int, int, str, str), default: ()
        Everybody's waiting: a rank, one that it waits for, its call and its place in the code.
    **details : Any
        As for ``RunError``.

    Attributes
    ----------
    cycle : list of int
        The first of ``cycles``, most often the only one.
    """

    _is_drawn = False

    def __init__(
        self,
        message: str,
        *,
        cycles: Sequence[Sequence[int]] = (),
        graph: Sequence[tuple[int, int, str, str]] = (),
        **details: Any,
    ) -> None:
        super().__init__(message, **details)
        self.cycles = [list(cycle) for cycle in cycles]
        self.cycle = self.cycles[0] if cycles else []
        self.graph = list(graph)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the circles and the graph."""
        rebuild, arguments = super().__reduce__()
        return partial(rebuild, cycles=self.cycles, graph=self.graph), arguments

    def _render_traceback_(self) -> list[str]:
        """Show who waits for whom, too, above the explanation."""
        if not self._is_drawn:  # IPython asks again, to keep the text in its history
            self._is_drawn = True
            self._draw()
        return super()._render_traceback_()

    def _draw(self) -> None:
        from IPython import display, get_ipython

        if getattr(get_ipython(), "kernel", None) is None:  # a terminal shows no pictures
            return
        with suppress(Exception):  # the explanation must be told even if the picture fails
            from course_lib.viz import draw_wait_graph

            show: Any = display.display
            show(draw_wait_graph(self.graph, *self.cycles))


class PeerFinishedError(RunError):
    """A rank waits for another that has already returned; raised in the verb in which it waits.

    Parameters
    ----------
    message : str
        As for ``RunError``.
    peer : int or None, default: None
        The rank that has returned, the lowest of several.
    **details : Any
        As for ``RunError``.
    """

    def __init__(self, message: str, *, peer: int | None = None, **details: Any) -> None:
        super().__init__(message, **details)
        self.peer = peer

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the peer."""
        rebuild, arguments = super().__reduce__()
        return partial(rebuild, peer=self.peer), arguments


class RankLost(RunError):
    """A verb needs a rank that is lost, in a run with ``survive=True``; see ``run``.

    Parameters
    ----------
    rank : int
        Who is lost: its rank in the whole run.
    message : str, default: ""
        Who needs it, and for what.
    """

    def __init__(self, rank: int, message: str = "") -> None:
        super().__init__(message or f"rank {rank} is lost", rank=rank)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as rank and message."""
        return type(self), (self.rank, str(self.args[0]))


class MessageMismatchError(RunError, ValueError):
    """What the sender sent is not what the receiver said it would take."""


class CollectiveMismatchError(MessageMismatchError):
    """Ranks are in different collectives, or in one with different options.

    Parameters
    ----------
    message : str
        As for ``RunError``.
    entered : sequence of Entered, default: ()
        What is known of the ranks, as ``course_lib.comm.collective_order`` has it.
    stamp : int, default: 0
        What the message carried that gave it away.
    **details : Any
        As for ``RunError``.
    """

    def __init__(
        self, message: str, *, entered: Sequence[Any] = (), stamp: int = 0, **details: Any
    ) -> None:
        super().__init__(message, **details)
        self.entered = tuple(entered)
        self.stamp = stamp

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with what is known."""
        rebuild, arguments = super().__reduce__()
        return partial(rebuild, entered=self.entered, stamp=self.stamp), arguments


class SerializationError(RunError, TypeError):
    """Something the function captured, took or returned cannot travel between workers."""


class NestedLaunchError(RunError):
    """``run`` was called inside a worker, or by what has interrupted a run of the same thread."""


class SharedMemoryFull(RunError, OSError):
    """There is less free shared memory than the channels need."""

    def __str__(self) -> str:
        """Return the explanation (``OSError`` would print its arguments)."""
        return RunError.__str__(self)


class SimulationError(RunError):
    """The simulator was asked for something that has no meaning in virtual time."""


class UnreceivedMessagesWarning(UserWarning):
    """Messages were sent that nobody received before the run ended."""
