"""The contract: what a worker may ask of the world, the same in every world.

An algorithm of the course is plain, blocking Python over a :class:`Communicator`. The class checks
every argument once, here, and hands the checked call to the world it lives in, which implements the
methods whose names begin with an underscore.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.messages import (
    Array,
    Envelope,
    Tag,
    check_out,
    check_peer,
    check_tag,
    to_numpy,
    wrap_like,
)

__all__ = ["EAGER_BYTES", "Communicator", "collective"]

EAGER_BYTES = 16 * 1024
"""Messages up to this size are copied by ``send``, which then returns at once; larger ones wait
until their receive is posted. The same in every world; ``run(..., rendezvous=True)`` makes it 0."""

P = ParamSpec("P")
R = TypeVar("R")


class Communicator(ABC):
    """How one worker talks to the others.

    Messages between two ranks arrive in the order they were sent. A ``tag`` is a label that travels
    with a message and is checked on arrival; it never reorders messages.

    Parameters
    ----------
    rank : int
        The number of this worker, 0 to ``size - 1``.
    size : int
        How many workers there are.
    seed : int, default: 0
        The run's seed, for ``rng``.

    Attributes
    ----------
    device : str
        Where this worker's arrays live, ``"cpu"`` here.
    """

    rank: int
    size: int
    device: str = "cpu"

    def __init__(self, rank: int, size: int, seed: int = 0) -> None:
        self.rank = rank
        self.size = size
        self._seed = seed
        self._computing: str | None = None

    @property
    def rng(self) -> np.random.Generator:
        """This rank's own random generator, made from the run's seed and the rank."""
        if not hasattr(self, "_rng"):
            self._rng = np.random.default_rng([self._seed, self.rank])
        return self._rng

    def send(self, array: Array, dst: int, tag: Tag = None) -> None:
        """Send an array to another rank.

        Returns when the array may be changed again: at once after copying, up to ``EAGER_BYTES``;
        for a larger message not before the receive is posted.

        Parameters
        ----------
        array : numpy.ndarray or torch.Tensor, any shape
            What to send; it is not modified.
        dst : int
            The rank to send to.
        tag : int or str or None, default: None
            A label, checked by a receiver that names one.

        Raises
        ------
        TypeError
            If ``array`` cannot travel as plain bytes (object dtype, for one) or ``dst`` is no int.
        ValueError
            If ``dst`` is not another rank of this run.
        """
        self._no_compute("send")
        data, kind = to_numpy(array)
        dst = check_peer("dst", dst, self.rank, self.size)
        self._send(data, Envelope(check_tag(tag), data.dtype.str, data.shape, kind), dst)

    def recv(
        self, src: int, out: Array | None = None, op: str | None = None, tag: Tag = None
    ) -> Array:
        """Receive the next array from another rank.

        Parameters
        ----------
        src : int
            The rank to receive from.
        out : numpy.ndarray or torch.Tensor or None, default: None
            Where to put the message; same dtype and shape as what was sent.
        op : {"add", "max", "min"} or None, default: None
            Combine the message into ``out`` while it arrives, instead of overwriting it.
        tag : int or str or None, default: None
            The label the message must carry; None takes any.

        Returns
        -------
        numpy.ndarray or torch.Tensor
            ``out`` where it was given, else a new array of what the sender handed over.

        Raises
        ------
        MessageMismatchError
            If the tag, dtype or shape is not what was sent; it names both sides.
        TypeError, ValueError
            If an argument is unusable.
        """
        self._no_compute("recv")
        src = check_peer("src", src, self.rank, self.size)
        data, sent = self._recv(src, check_out(out, op), op, check_tag(tag))
        return wrap_like(data, sent.kind) if out is None else out

    def recv_any(self) -> tuple[int, Array]:
        """Receive the array that arrives first, from whichever rank.

        Returns
        -------
        src : int
            The rank that sent it.
        array : numpy.ndarray or torch.Tensor
            What it sent.
        """
        self._no_compute("recv_any")
        src, data, sent = self._recv_any()
        return src, wrap_like(data, sent.kind)

    def sendrecv(
        self,
        array: Array,
        dst: int,
        src: int,
        out: Array | None = None,
        op: str | None = None,
        tag: Tag = None,
    ) -> Array:
        """Send to one rank and receive from another (or the same) at the same time.

        Neither waits for the other, so a ring of ``sendrecv`` cannot deadlock.

        Parameters
        ----------
        array : numpy.ndarray or torch.Tensor, any shape
            What to send to ``dst``.
        dst, src : int
            The ranks to send to and to receive from.
        out : numpy.ndarray or torch.Tensor or None, default: None
            Where to put what is received; it must not overlap ``array``.
        op : {"add", "max", "min"} or None, default: None
            Combine what is received into ``out``, as ``recv`` does.
        tag : int or str or None, default: None
            A label for what is sent. What is received brings its own, which is not compared.

        Returns
        -------
        numpy.ndarray or torch.Tensor
            What was received: ``out`` where it was given, else a new array.
        """
        self._no_compute("sendrecv")
        data, kind = to_numpy(array)
        dst = check_peer("dst", dst, self.rank, self.size)
        src = check_peer("src", src, self.rank, self.size)
        buffer = check_out(out, op)
        if buffer is not None and np.may_share_memory(buffer, data):
            raise ValueError(
                f"out must not overlap the array that is sent (on rank {self.rank}); "
                "receive into another array, or send array.copy()"
            )
        sending = Envelope(check_tag(tag), data.dtype.str, data.shape, kind)
        received, sent = self._sendrecv(data, sending, dst, src, buffer, op)
        return wrap_like(received, sent.kind) if out is None else out

    def barrier(self) -> None:
        """Wait until every rank has called ``barrier``. It does not count as a message."""
        self._no_compute("barrier")
        self._barrier()

    def compute(self, label: str, flops: float | None = None) -> AbstractContextManager[None]:
        """Mark the arithmetic in a ``with`` block as work.

        Real worlds measure how long the block takes. The simulator charges
        ``flops / speed`` of virtual time for it; arithmetic outside such a block is free there.
        No message may be sent or received inside the block.

        Parameters
        ----------
        label : str
            What is computed, for the timeline.
        flops : float or None, default: None
            Floating-point operations in the block, 0 or more; None counts as 0.

        Returns
        -------
        context manager
            To be used as ``with comm.compute("gradient", flops=2 * X.size): ...``.
        """
        self._no_compute("compute")
        if not isinstance(label, str):
            raise TypeError(f"label must be a str, got {label!r} ({type(label).__name__})")
        if flops is not None and not 0 <= flops < float("inf"):
            raise ValueError(f"flops must be 0 or more and finite, got {flops!r}")
        return self._computing_block(label, 0.0 if flops is None else float(flops))

    def note(self, name: str, value: Any) -> None:
        """Put a number, a text or a small array on the trace: a loss, a staleness, a buffer.

        Parameters
        ----------
        name : str
            What it is.
        value : float or int or bool or str or None or numpy.ndarray
            Its value now; an array is copied as nested lists.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, got {name!r} ({type(name).__name__})")
        self._note(name, _plain(value))

    def clock(self) -> float:
        """Return the time on the run's clock.

        Returns
        -------
        float
            Seconds since the run began: wall time, or virtual time in the simulator.
        """
        return self._clock()

    @contextmanager
    def _computing_block(self, label: str, flops: float) -> Iterator[None]:
        self._computing = label
        started_s = self._clock()
        try:
            yield
        finally:
            self._computing = None
        self._computed(label, flops, started_s)

    def _no_compute(self, verb: str) -> None:
        if self._computing is not None:
            raise RuntimeError(
                f"rank {self.rank} called {verb}() inside comm.compute({self._computing!r}); "
                "a compute block holds arithmetic only: end the block first"
            )

    @abstractmethod
    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None: ...

    @abstractmethod
    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]: ...

    @abstractmethod
    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]: ...

    @abstractmethod
    def _sendrecv(
        self,
        data: NDArray[Any],
        sending: Envelope,
        dst: int,
        src: int,
        out: NDArray[Any] | None,
        op: str | None,
    ) -> tuple[NDArray[Any], Envelope]: ...

    @abstractmethod
    def _barrier(self) -> None: ...

    @abstractmethod
    def _computed(self, label: str, flops: float, started_s: float) -> None:
        """Put a finished compute block on the trace; the simulator lets its time pass first."""

    @abstractmethod
    def _note(self, name: str, value: Any) -> None: ...

    @abstractmethod
    def _clock(self) -> float: ...

    @abstractmethod
    def _collective(self, name: str, entered_s: float) -> None:
        """Put on the trace that this rank has just left the collective ``name``."""


def collective(fn: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as a collective, so that the trace shows who was in it and when.

    Parameters
    ----------
    fn : callable
        A function whose first argument is a communicator.

    Returns
    -------
    callable
        The same function, traced.
    """

    @wraps(fn)
    def traced(*args: P.args, **kwargs: P.kwargs) -> R:
        comm: Any = args[0]
        entered_s = comm.clock()
        result = fn(*args, **kwargs)
        comm._collective(fn.__name__, entered_s)
        return result

    return traced


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "detach"):
        return np.asarray(value).tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"a note's value must be a number, a text, an array or lists of them, got {type(value)}"
    )
