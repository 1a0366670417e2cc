"""The contract: what a worker may ask of the world, the same in every world.

An algorithm of the course is plain, blocking Python over a :class:`Communicator`. The class checks
every argument once, here, and hands the checked call to the world it lives in, which implements the
methods whose names begin with an underscore. ``docs/from_mpi_and_torch.md`` has it beside those of
mpi4py and torch.distributed.
"""

import math
import reprlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from numbers import Real
from typing import Any, ClassVar, NoReturn, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.buffers import check_out
from course_lib.comm.collective_order import Entered, Site, Sites, entered_with, mismatch
from course_lib.comm.errors import CollectiveMismatchError, MessageMismatchError
from course_lib.comm.frames import frames_of_stack, user_frame
from course_lib.comm.functions import check_function
from course_lib.comm.messages import (
    Array,
    Envelope,
    Tag,
    check_peer,
    check_tag,
    envelope,
    to_numpy,
    wrap_like,
)
from course_lib.comm.notes import plain
from course_lib.comm.pending import Pending, Received
from course_lib.comm.rates import Rates
from course_lib.comm.uncompiled import uncompiled_methods
from course_lib.words.whole import whole

__all__ = ["EAGER_BYTES", "WORLD", "Array", "Communicator", "in_another_thread"]

EAGER_BYTES = 16 * 1024
"""Messages up to this size are copied by ``send``, which then returns at once; larger ones wait
until their receive is posted. The same in every world; ``run(..., rendezvous=True)`` makes it 0."""

WORLD = "world"
"""The name of the communicator that ``run`` hands out."""

_MOST_DIMENSIONS = 64  # of an array of NumPy

T = TypeVar("T")


def in_another_thread(rank: int, verb: str, name: str) -> RuntimeError:
    """Return the error for a verb that is called in a thread which is not the communicator's.

    Parameters
    ----------
    rank : int
        Whose communicator it is, in the whole run.
    verb : str
        What was called.
    name : str
        Of the communicator; of ``wait``, that of the function for which it waits.

    Returns
    -------
    RuntimeError
        The error to raise.
    """
    return RuntimeError(
        f"rank {rank} called {verb}() of communicator {name!r} in another thread than its own; one "
        "communicator belongs to one thread: a function given to start() is to use the "
        "communicator that it is handed"
    )


@uncompiled_methods
class Communicator(ABC):
    """How one worker talks to the others.

    Messages between two ranks arrive in the order they were sent. A ``tag`` is a label that travels
    with a message and is checked on arrival; it never reorders messages.

    An argument that is unusable is refused before anything is sent or received. A message that is
    refused because it is not what was wanted (another tag, dtype or shape, or one of another
    collective) has been received: it is gone, its sender goes on, ``out`` is as it was, and the
    next receive gets the next message. What a ``sendrecv`` sends has then been sent. Where all
    ranks call a verb together, all of them get the same error.

    Who waits for a rank that has returned (its function, and all that it had started) gets
    ``PeerFinishedError`` in the verb that waits, when all that it had sent has been received, and
    may catch it. ``recv_any`` raises it when all other ranks have returned. A ``sendrecv`` still
    sends, if it can. A message of up to ``EAGER_BYTES`` to such a rank may be sent, and is lost.
    What all ranks enter together can never be again; all that enter it get the error. Where only
    the function has returned that used this communicator there, and its rank lives on, who waits
    for it is told at the latest when no rank can go on otherwise.

    In a run with ``survive=True``, who needs a rank that is lost gets ``RankLost``; ``run`` says
    when.

    A communicator belongs to the function that it was handed to. A verb that is called in another
    one, or in another thread, raises ``RuntimeError``.

    Autograd ends at a message: what is received, or returned by a collective, never requires grad
    and has no graph, and an ``out`` that requires grad is refused.

    Ranks share nothing, in any world: a verb may be called inside ``torch.no_grad()`` and the like,
    between two draws of a global generator, or with redirected output, and no other rank sees that.
    Global generators that nobody seeds begin alike on all ranks; ``rng`` differs between them.

    Parameters
    ----------
    rank : int
        The number of this worker, 0 to ``size - 1``.
    size : int
        How many workers there are.
    seed : int, default: 0
        The run's seed, for ``rng``.
    name : str, default: "world"
        Which communicator this is, the same on all its ranks; traces and errors use it.
    members : sequence of int or None, default: None
        The rank in the whole run of each rank of this communicator; None where they are the same.
    sites : Sites or None, default: None
        Where to note the places that call collectives; None makes a new one.

    Attributes
    ----------
    survives : bool
        Whether the others go on when a rank is lost: ``survive`` of ``run``.
    """

    # Slots, because every message goes through them; and an object whose attributes lie in a dict
    # has its methods looked up anew at every call.
    __slots__ = (
        "_computing", "_device", "_family", "_incarnation", "_last_stamp", "_marks", "_members",
        "_n_splits", "_n_started", "_next_number", "_promised", "_rank", "_rates", "_rng", "_seed",
        "_sites", "_size", "_stamp", "_stamped_on", "_stays_usual", "name",
    )  # fmt: skip
    survives: bool = False
    _rates: Rates
    _records = True

    # What becomes of arrays on their way; a world that moves other tensors too has its own.
    _to_data: ClassVar[Callable[..., tuple[NDArray[Any], str]]] = staticmethod(to_numpy)
    _check_out: ClassVar[Callable[..., NDArray[Any] | None]] = staticmethod(check_out)
    _overlap: ClassVar[Callable[..., bool]] = staticmethod(np.may_share_memory)

    def __init__(
        self,
        rank: int,
        size: int,
        seed: int = 0,
        name: str = WORLD,
        members: Sequence[int] | None = None,
        sites: Sites | None = None,
    ) -> None:
        self._rank, self._size, self._incarnation, self._device = rank, size, 0, "cpu"
        self.name = name
        self._members = range(size) if members is None else members
        self._seed = seed
        self._computing: list[str] = []  # the block's label; a split shares it with its parent
        # Where irecv is to write; a split shares it with its parent.
        self._promised: dict[Received[Array], tuple[int, NDArray[Any]]] = {}
        self._n_splits = 0
        self._n_started = 0
        self._next_number = 0  # of its collectives, where a stamp has it
        self._last_stamp = 0
        self._stamp = 0  # of the messages of the collective that this rank is in,
        self._stamped_on = name  # on this communicator, or on the one that this is a part of
        # For the simulator. None: any code may run between two verbs. False: only the library's,
        # in one of its collectives. True: and before that nothing had been changed.
        self._stays_usual: bool | None = None
        # With all that were split from it and are still used, the outermost first.
        self._family: list[ref[Communicator]] = [ref(self)]
        self._sites = Sites() if sites is None else sites
        self._marks = self._sites.marks

    @property
    def rank(self) -> int:
        """The number of this worker, 0 to ``size - 1``."""
        return self._rank

    @rank.setter
    def rank(self, value: Any) -> None:
        self._stays("rank", value)

    @property
    def size(self) -> int:
        """How many workers there are."""
        return self._size

    @size.setter
    def size(self, value: Any) -> None:
        self._stays("size", value)

    @property
    def incarnation(self) -> int:
        """How often this rank has been started again; 0 but in a run with ``restart``."""
        return self._incarnation

    @incarnation.setter
    def incarnation(self, value: Any) -> None:
        self._stays("incarnation", value)

    @property
    def device(self) -> str:
        """Where this worker's arrays live, ``"cpu"`` but where a GPU is used."""
        return self._device

    @device.setter
    def device(self, value: Any) -> None:
        self._stays("device", value)

    def _stays(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"comm.{name} is what the run has made it, {getattr(self, name)!r}, and cannot be set, "
            f"got {value!r}; to compare the two, write =="
        )

    def __reduce__(self) -> NoReturn:
        """Refuse to travel."""
        raise TypeError("a communicator lives in its rank, and only as long as the run")

    @property
    def rates(self) -> Rates:
        """What a message costs, the same on every rank: the simulator's network, or a fit."""
        return self._rates

    @property
    def rng(self) -> np.random.Generator:
        """This rank's own random generator, made from the run's seed and the rank."""
        if not hasattr(self, "_rng"):
            own = [] if self.name == WORLD else [*self.name.encode()]
            self._rng = np.random.default_rng([self._seed, self._members[self.rank], *own])
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
            If ``array`` cannot travel as plain bytes (object dtype, a sparse tensor) or ``dst`` is
            no int.
        ValueError
            If ``dst`` is not another rank of this run, or ``tag`` is longer than 1,000 bytes.
        """
        if self._computing:
            self._no_compute("send")
        data, kind = self._to_data(array)
        dst = check_peer("dst", dst, self._rank, self._size)
        self._send(data, envelope(check_tag(tag), data.dtype, data.shape, kind), dst)

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
        op : {"sum", "max", "min"} or None, default: None
            Combine the message into ``out`` while it arrives, instead of overwriting it; numbers
            and times only. If NumPy raises while it does (``np.errstate``), the message is gone.
        tag : int or str or None, default: None
            The label the message must carry; None takes any.

        Returns
        -------
        numpy.ndarray or torch.Tensor
            ``out`` where it was given, else a new array of what the sender handed over.

        Raises
        ------
        MessageMismatchError
            If the tag, dtype or shape is not what was sent; it names both sides, and the message
            is gone.
        TypeError, ValueError
            If an argument is unusable; nothing has been received.
        """
        if self._computing:
            self._no_compute("recv")
        src = check_peer("src", src, self._rank, self._size)
        data, sent = self._recv(src, self._check_out(out, op), op, check_tag(tag))
        return self._wrap(data, sent.kind) if out is None else out

    def isend(self, array: Array, dst: int, tag: Tag = None) -> Pending[None]:
        """Begin to send an array to another rank, and return at once.

        Messages to one rank leave in the order in which ``send``, ``isend`` and ``sendrecv`` were
        called, and each may be received by any of ``recv``, ``irecv`` and ``sendrecv``.

        Parameters
        ----------
        array : numpy.ndarray or torch.Tensor, any shape
            What to send. Leave it alone until ``wait`` has returned.
        dst : int
            The rank to send to.
        tag : int or str or None, default: None
            A label, checked by a receiver that names one.

        Returns
        -------
        Pending
            Its ``wait()`` returns None when the array may be changed again, as ``send`` does, and
            ``test()`` tells whether it would. A function that returns waits for what it has begun.

        Raises
        ------
        TypeError, ValueError
            As ``send`` does.

        Examples
        --------
        >>> import numpy as np
        >>> from course_lib import run
        >>> def swap(comm):
        ...     other = 1 - comm.rank
        ...     going = comm.isend(np.full(3, comm.rank), other)
        ...     coming = comm.irecv(other)
        ...     with comm.compute("meanwhile", flops=1e6):
        ...         pass
        ...     going.wait()
        ...     return coming.wait().tolist()
        >>> run(swap, workers=2, backend="simulated").values
        [[1, 1, 1], [0, 0, 0]]
        """
        self._no_compute("isend")
        data, kind = self._to_data(array)
        dst = check_peer("dst", dst, self._rank, self._size)
        return self._isend(data, envelope(check_tag(tag), data.dtype, data.shape, kind), dst)

    def irecv(
        self, src: int, out: Array | None = None, op: str | None = None, tag: Tag = None
    ) -> Pending[Array]:
        """Begin to receive the next array from another rank, and return at once.

        Messages of one rank are taken in the order in which ``recv``, ``irecv`` and ``sendrecv``
        were called. Until its ``wait`` has returned, ``recv_any`` of this communicator is refused:
        it could take what belongs to that.

        Parameters
        ----------
        src : int
            The rank to receive from.
        out : numpy.ndarray or torch.Tensor or None, default: None
            Where to put the message, as in ``recv``. Leave it alone until ``wait`` has returned;
            one that overlaps that of another ``irecv`` is refused.
        op : {"sum", "max", "min"} or None, default: None
            Combine the message into ``out`` instead of overwriting it.
        tag : int or str or None, default: None
            The label the message must carry; None takes any.

        Returns
        -------
        Pending
            Its ``wait()`` returns what ``recv`` would return, and raises what that would raise;
            ``test()`` tells whether the message is there.

        Raises
        ------
        TypeError, ValueError
            If an argument is unusable; nothing will be received.
        """
        self._no_compute("irecv")
        src = check_peer("src", src, self._rank, self._size)
        buffer = self._check_out(out, op)
        if buffer is not None:
            self._refuse_promised(buffer)
        coming = self._irecv(src, buffer, op, check_tag(tag))
        received: Received[Array] = Received(
            coming, lambda data, sent: self._wrap(data, sent.kind) if out is None else out
        )
        if buffer is not None:
            self._promised[received] = src, buffer
        return received

    def _refuse_promised(self, buffer: NDArray[Any]) -> None:
        """Refuse an ``out`` that another ``irecv`` of this rank writes to, whoever is first."""
        for pending in [each for each in self._promised if each.is_waited_for]:
            del self._promised[pending]
        for src, other in self._promised.values():
            if self._overlap(buffer, other):
                raise ValueError(
                    f"out must not overlap that of irecv(src={src}) (on rank {self.rank}), for "
                    "which nobody has waited yet: wait() for that first, or receive into another "
                    "array"
                )

    def recv_any(self) -> tuple[int, Array]:
        """Receive the array that arrives first, from whichever rank.

        Returns
        -------
        src : int
            The rank that sent it.
        array : numpy.ndarray or torch.Tensor
            What it sent.

        Raises
        ------
        ValueError
            If this rank is alone: nobody else can send.
        RuntimeError
            If an ``irecv`` of this communicator has not been waited for.
        """
        self._no_compute("recv_any")
        if self.size == 1:
            raise ValueError(
                f"recv_any() has nobody to receive from: rank {self.rank} is the only one of "
                f"communicator {self.name!r}; a rank keeps its own data in a variable instead of "
                "sending it to itself"
            )
        self._check_flow("recv_any")
        if (src := self._awaited_by_irecv()) is not None:
            raise RuntimeError(
                f"rank {self._members[self.rank]} called recv_any() before wait() of its "
                f"irecv(src={src}), whose message it could take: wait for that first, or receive "
                "from each rank by irecv"
            )
        src, data, sent = self._recv_any()
        return src, self._wrap(data, sent.kind)

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
        op : {"sum", "max", "min"} or None, default: None
            Combine what is received into ``out``, as ``recv`` does.
        tag : int or str or None, default: None
            A label for what is sent. What is received brings its own, which is not compared.

        Returns
        -------
        numpy.ndarray or torch.Tensor
            What was received: ``out`` where it was given, else a new array.

        Raises
        ------
        MessageMismatchError
            As ``recv`` does, when ``array`` has been sent.
        TypeError, ValueError
            If an argument is unusable; nothing has been sent or received.
        """
        if self._computing:
            self._no_compute("sendrecv")
        data, kind = self._to_data(array)
        dst = check_peer("dst", dst, self._rank, self._size)
        src = check_peer("src", src, self._rank, self._size)
        buffer = self._check_out(out, op)
        if buffer is not None and self._overlap(buffer, data):
            raise ValueError(
                f"out must not overlap the array that is sent (on rank {self.rank}); "
                "receive into another array, or send array.copy()"
            )
        sending = envelope(check_tag(tag), data.dtype, data.shape, kind)
        received, sent = self._sendrecv(data, sending, dst, src, buffer, op)
        return self._wrap(received, sent.kind) if out is None else out

    def barrier(self) -> None:
        """Wait until every rank has called ``barrier``. It does not count as a message."""
        self._no_compute("barrier")
        self._barrier()

    def split(self, color: int | None, key: int = 0) -> "Communicator | None":
        """Divide the ranks into groups, each with a communicator of its own.

        Every rank of this communicator must call. Those that name the same color form a group, in
        which they are numbered from 0 by (key, rank). The groups can be used at the same time. A
        split does not count as a message.

        Parameters
        ----------
        color : int or None
            Which group this rank joins, from ``-2**63`` to ``2**63 - 1``; None joins none.
        key : int, default: 0
            The order inside the group; ranks with equal keys keep their order.

        Returns
        -------
        Communicator or None
            This rank's group; None where ``color`` is None.

        Examples
        --------
        >>> from course_lib import run
        >>> def halves(comm):
        ...     half = comm.split(color=comm.rank // 2)
        ...     return half.rank, half.size
        >>> run(halves, workers=4, backend="simulated").values
        [(0, 2), (1, 2), (0, 2), (1, 2)]
        """
        self._no_compute("split")
        if color is not None:
            color = _in_64_bits("color", whole("color", color, or_what=" or None"))
        key = _in_64_bits("key", whole("key", key))
        self._n_splits += 1
        try:
            group = self._split(color, key)
        except MessageMismatchError:
            self._n_splits -= 1  # nobody has been divided
            raise
        if group is not None:
            group._computing = self._computing
            group._belong_to(self)
            group._promised = self._promised
            group._family = self._family
            self._family.append(ref(group, self._family.remove))
        return group

    def start(
        self, fn: Callable[..., T], *args: Any, after: Pending[Any] | None = None
    ) -> Pending[T]:
        """Run ``fn(child, *args)`` beside what this rank goes on to do.

        ``child`` is a communicator over the same ranks whose messages never mix with those of this
        one. Every rank must call ``start`` equally often and in the same order: the k-th call on a
        communicator of one rank belongs to the k-th call on that communicator of the others,
        whenever each comes to it. If ``fn`` raises, the run fails at once. A run is over when all
        that was started has returned, whether waited for or not.

        Any number may be under way, at any depth: every function begins at once, also where it is
        started by a started one, and may wait for those that were started before it, while the rank
        computes. On real processes each has a thread of its own.

        Parameters
        ----------
        fn : callable
            What to run; its first argument is the child communicator.
        *args
            Further arguments. They are not copied: leave them alone until ``wait`` has returned.
        after : Pending or None, default: None
            What has to be over before ``fn`` begins; None begins at once.

        Returns
        -------
        Pending
            Its ``wait()`` returns what ``fn`` returned. Any function of this rank may call it, but
            not inside a ``compute`` block of its own, nor in a thread that the function has made.

        Raises
        ------
        RuntimeError
            If the operating system gives the rank no more threads; that call does not count.

        Examples
        --------
        >>> import numpy as np
        >>> from course_lib import run
        >>> def swap(comm, x):
        ...     return comm.sendrecv(x, dst=1 - comm.rank, src=1 - comm.rank)
        >>> def beside(comm):
        ...     pending = comm.start(swap, np.array([comm.rank]))
        ...     with comm.compute("meanwhile", flops=1e6):
        ...         pass
        ...     return int(pending.wait()[0])
        >>> run(beside, workers=2, backend="simulated").values
        [1, 0]
        """
        self._no_compute("start")
        check_function(fn, args, first="child")
        if after is None:
            return self._start(fn, args)
        if not isinstance(after, Pending):
            raise TypeError(
                "after must be what start() returned, or None, "
                f"got {after!r} ({type(after).__name__})"
            )
        return self._start(_begin_after, (after, fn, args))

    @property
    def run_name(self) -> str:
        """A name that this run has alone, the same in all lives of all ranks, for what they keep.

        Empty where a run does not survive losses.
        """
        return ""

    def shared_array(self, shape: int | Sequence[int], dtype: Any = "float64") -> NDArray[Any]:
        """Return an array of zeros whose memory all ranks of this communicator share.

        Every rank must call, with the same shape and dtype. What one rank writes the others see,
        with no lock and no order but the computer's own: use messages or ``barrier`` to be sure
        that something has been written. The memory goes with the run; a copy may be returned.

        Parameters
        ----------
        shape : int or sequence of int
            The array's shape.
        dtype : numpy dtype, default: "float64"
            Its dtype; plain numbers only.

        Returns
        -------
        numpy.ndarray
            The same memory on every rank.

        Raises
        ------
        MessageMismatchError
            If ranks ask for different shapes or dtypes; it names both sides.
        SharedMemoryFull
            If there is not that much shared memory.

        Examples
        --------
        >>> from course_lib import run
        >>> def write_and_look(comm):
        ...     seats = comm.shared_array(comm.size, dtype="int64")
        ...     seats[comm.rank] = comm.rank + 1
        ...     comm.barrier()
        ...     return seats.tolist()
        >>> run(write_and_look, workers=3, backend="simulated").values[0]
        [1, 2, 3]
        """
        self._no_compute("shared_array")
        sizes = _lengths(shape)
        kind = _dtype(dtype)
        if kind.kind not in "biufc":
            raise TypeError(f"dtype must be one of plain numbers, got {kind}")
        if 0 in sizes and math.prod(filter(None, sizes)) * kind.itemsize >= 2**63:
            raise ValueError(
                "shape must have numbers whose product, but for zeros, is below 2**63 bytes, as "
                f"every array of NumPy, got {_short(shape)} of {kind}"
            )
        return self._shared_array(sizes, kind)

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
        self._check_flow("compute")
        self._no_compute("compute")
        if not isinstance(label, str):
            raise TypeError(f"label must be a str, got {label!r} ({type(label).__name__})")
        if isinstance(flops, bool) or not isinstance(flops, Real | None):
            raise TypeError(
                f"flops must be a number or None, got {flops!r} ({type(flops).__name__})"
            )
        with suppress(OverflowError):  # of an integer or a fraction that no float holds
            n = 0.0 if flops is None else float(flops)
            if 0 <= n < math.inf:
                return self._computing_block(label, n)
        raise ValueError(f"flops must be 0 or more and finite, got {reprlib.repr(flops)}")

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
        self._note(name, plain(value))

    def clock(self) -> float:
        """Return the time on the run's clock.

        Returns
        -------
        float
            Seconds since the run began: wall time, or virtual time in the simulator.
        """
        return self._clock()

    def _wrap(self, data: NDArray[Any], kind: str) -> Array:
        return wrap_like(data, kind)

    @contextmanager
    def _computing_block(self, label: str, flops: float) -> Iterator[None]:
        self._computing.append(label)
        started_s = self._clock()
        try:
            yield
        finally:
            self._computing.clear()
        self._computed(label, flops, started_s)

    def _no_compute(self, verb: str) -> None:
        if self._computing:
            self._check_flow(verb)  # the block belongs to this communicator's own function
            raise RuntimeError(
                f"rank {self.rank} called {verb}() inside comm.compute({self._computing[0]!r}); "
                "a compute block holds arithmetic only: end the block first"
            )

    def _belong_to(self, parent: "Communicator", stamp: int | None = None) -> None:
        """Be a part of the collective that the parent is in, or was with that stamp, if any."""
        self._stamp = parent._stamp if stamp is None else stamp
        if self._stamp:
            self._stamped_on = parent._stamped_on

    def _entered(self) -> Entered | None:
        """Say in which collective this rank's flow is: the outermost, of whatever communicator."""
        family = [comm for member in self._family if (comm := member()) is not None]
        return next((comm._here() for comm in family if comm._stamp), None)

    def _here(self) -> Entered:
        entered = self._entered_with(self._stamp)
        if self._stamp:
            return entered
        return entered._replace(frame=user_frame(frames_of_stack(sys._getframe())))

    def _entered_with(self, stamp: int) -> Entered:
        return entered_with(stamp, self._members[self.rank], self._stamped_on, self._sites.known)

    def _other_stamp(
        self, src: int, theirs: int, known: Sequence[Site] = ()
    ) -> CollectiveMismatchError:
        """Say that a message of rank ``src`` of the whole run belongs to another collective."""
        sender = entered_with(theirs, src, self._stamped_on, known)
        return mismatch([self._here(), sender], stamp=theirs)

    @abstractmethod
    def _check_flow(self, verb: str) -> None:
        """Refuse a verb that is called in another function than the one it was given to."""

    @abstractmethod
    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None: ...

    @abstractmethod
    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]: ...

    @abstractmethod
    def _isend(self, data: NDArray[Any], sent: Envelope, dst: int) -> Pending[None]: ...

    @abstractmethod
    def _irecv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> Pending[tuple[NDArray[Any], Envelope]]: ...

    @abstractmethod
    def _awaited_by_irecv(self) -> int | None:
        """Return the sender, in the run, of an ``irecv`` that has not been waited for, or None."""

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
    def _split(self, color: int | None, key: int) -> "Communicator | None": ...

    @abstractmethod
    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]: ...

    @abstractmethod
    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]: ...

    @abstractmethod
    def _computed(self, label: str, flops: float, started_s: float) -> None:
        """Put a finished compute block on the trace; the simulator lets its time pass first."""

    @abstractmethod
    def _note(self, name: str, value: Any) -> None: ...

    @abstractmethod
    def _clock(self) -> float: ...

    @abstractmethod
    def _collective(self, name: str, number: int, entered_s: float) -> None:
        """Put on the trace that this rank has just left the collective ``name``."""


def _lengths(shape: Any) -> tuple[int, ...]:
    """Check a shape; return its lengths."""
    try:
        lengths = tuple(shape) if np.iterable(shape) and not isinstance(shape, str) else (shape,)
        sizes = tuple(whole("shape", length) for length in lengths)
    except TypeError:
        raise TypeError(
            "shape must be an int or a sequence of int, such as 3 or (2, 3), "
            f"got {_short(shape)} ({type(shape).__name__})"
        ) from None
    if any(length < 0 for length in sizes):
        raise ValueError(f"shape must have no negative number, got {_short(shape)}")
    if len(sizes) > _MOST_DIMENSIONS:
        raise ValueError(
            f"shape must have at most {_MOST_DIMENSIONS} numbers, as every array of NumPy, got "
            f"{len(sizes):,}"
        )
    if any(length >= 2**63 for length in sizes):
        raise ValueError(f"shape must have numbers below 2**63, got {_short(shape)}")
    return sizes


def _dtype(dtype: Any) -> np.dtype[Any]:
    """Check a dtype of plain numbers."""
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise TypeError(
            f"dtype must be one of plain numbers, such as 'float64', got {_short(dtype)} "
            f"({type(dtype).__name__})"
        ) from None
    if kind.kind not in "biufc":
        raise TypeError(f"dtype must be one of plain numbers, got {kind}")
    return kind


def _short(value: Any) -> str:
    return reprlib.repr(value)


def _in_64_bits(argument: str, number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise ValueError(
            f"{argument} must be from -2**63 to 2**63 - 1 (64 bits, one for the sign), got "
            f"a number of {number.bit_length()} without it"
        )
    return number


def _begin_after(
    child: Communicator, before: Pending[Any], fn: Callable[..., T], args: tuple[Any, ...]
) -> T:
    """Call a function when another one that has been started is over."""
    before.wait()
    return fn(child, *args)
