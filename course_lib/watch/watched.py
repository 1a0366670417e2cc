"""``watch_collective``: run an algorithm with marked numbers, and tell what they did."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.simulated.topologies import Torus
from course_lib.trace.contributions import Contributions, Counts
from course_lib.trace.trace import Trace
from course_lib.watch.fills import follow
from course_lib.watch.listener import Sent, keeper, listen
from course_lib.watch.reading import Piece, marks, read
from course_lib.words.split import split_evenly
from course_lib.words.whole import whole

if TYPE_CHECKING:
    from course_lib.comm.simulated.networks import Network
    from course_lib.viz.animation.message_player import Player
    from course_lib.viz.stills.parts import Still

__all__ = ["Watched", "watch_collective"]

_BRINGS = ("all", "own", "root")
_MOST_WORKERS = 1_024  # what is marked grows with their square


@dataclass(frozen=True)
class Watched:
    """A run whose contributions are known; it shows itself as a player.

    Attributes
    ----------
    name : str
        The function's.
    trace : Trace
        What happened, in virtual time.
    contributions : Contributions
        Whose numbers were where.
    columns : int or None
        How many ranks stand in a row of the torus that it ran on; then pictures show that grid.
    """

    name: str
    trace: Trace
    contributions: Contributions
    columns: int | None = None

    def player(self, layout: str | None = None, **options: Any) -> "Player":
        """Play it.

        Parameters
        ----------
        layout : str or None, default: None
            Where the workers stand, as in ``course_lib.viz.player``.
        **options
            The other parameters of ``course_lib.viz.player``.

        Returns
        -------
        Player
            A widget with its still picture and its text.
        """
        from course_lib.viz import player

        options = self._titled(layout, options)
        return player(self.trace, layout, contributions=self.contributions, **options)

    def filmstrip(self, layout: str | None = None, moments: int = 6, **options: Any) -> "Still":
        """Draw a few telling moments.

        Parameters
        ----------
        layout : str or None, default: None
            Where the workers stand, as in ``course_lib.viz.filmstrip``.
        moments : int, default: 6
            How many moments at most.
        **options
            The other parameters of ``course_lib.viz.filmstrip``.

        Returns
        -------
        matplotlib.figure.Figure
            A figure that shows itself in a notebook.
        """
        from course_lib.viz import filmstrip

        options = self._titled(layout, options)
        return filmstrip(self.trace, layout, moments, contributions=self.contributions, **options)

    def _titled(self, layout: str | None, options: dict[str, Any]) -> dict[str, Any]:
        """Add the title, and the columns where ranks stand on a grid that nobody has described."""
        is_free = layout is None and not options.keys() & {"hosts", "places"}
        if self.columns is not None and (layout == "grid" or is_free):
            options = {"columns": self.columns} | options
        return {"title": self.name} | options

    def __repr__(self) -> str:
        """Summarise in one line that is the same for every run of a deterministic algorithm."""
        ranks = f"{self.trace.size} rank{'s' * (self.trace.size != 1)}"
        return f"Watched({self.name}, {ranks}: {self.trace.traffic})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.player()._repr_mimebundle_(**kwargs)


def watch_collective(
    fn: Callable[..., Any],
    *args: Any,
    workers: int = 4,
    length: int | None = None,
    brings: str = "all",
    network: "Network | None" = None,
    rendezvous: bool = False,
) -> Watched:
    """Run a collective on the simulator and see chunks change hands and buffers fill.

    The function is run a few times with numbers that tell whose they are and where they belong;
    what it sends is read on the way, what it returns at the end. So it works with any function that
    adds up, passes on or collects arrays, a learner's own too, and shows what that really did.

    Parameters
    ----------
    fn : callable
        The collective; it is called as ``fn(comm, array, *args)`` on every rank, must do the same
        in every run, and must add, not average: a maximum cannot be read.
    *args
        Further arguments, the same for every rank.
    workers : int, default: 4
        How many ranks.
    length : int or None, default: None
        How many float64 the vector has; None takes 8,192 (64 KB), or a few more so that every rank
        has as large a part.
    brings : {"all", "own", "root"}, default: "all"
        What a rank brings: a contribution to every place of the vector (all-reduce, reduce,
        reduce-scatter); the part of the vector that is its own (gather, all-gather, all-to-all); or
        rank 0 the whole vector, the others None (broadcast, scatter).
    network : Network or None, default: None
        The simulator's network.
    rendezvous : bool, default: False
        Whether every send waits for its receive.

    Returns
    -------
    Watched
        It shows itself; ``player()`` and ``filmstrip()`` take options.

    Raises
    ------
    TypeError, ValueError
        If ``workers`` is no whole number from 1 to 1,024.
    ValueError
        If ``brings`` is unknown or ``length`` is negative.
    RunError
        If the run fails.

    Notes
    -----
    What a rank holds in a chunk are the contributions that have reached it, added up or not yet;
    one that is added twice is told as soon as that is sent on. What the rank returns in the end
    overrules all that: a contribution that was received and forgotten is gone.

    Examples
    --------
    >>> from course_lib.collectives import allreduce_ring
    >>> watched = watch_collective(allreduce_ring, workers=4, length=8)
    >>> watched
    Watched(allreduce_ring, 4 ranks: 24 messages, 384 bytes)
    >>> watched.contributions.carried[4]
    {3: (1, 0, 0, 1)}
    """
    if brings not in _BRINGS:
        raise ValueError(f"brings must be one of {_BRINGS}, got {brings!r}")
    workers = whole("workers", workers, 1, _MOST_WORKERS)
    n = -(-8192 // workers) * workers if length is None else length
    places = [_places(brings, rank, workers, n) for rank in range(workers)]
    inputs = [None if own is None else marks(workers, rank, own) for rank, own in enumerate(places)]
    n_runs = len(marks(workers, 0, np.arange(0)))
    results = [
        run(
            _listened, fn, [None if own is None else own[k] for own in inputs], args,
            workers=workers, backend="simulated", network=network, rendezvous=rendezvous,
        )
        for k in range(n_runs)
    ]  # fmt: skip
    name = getattr(fn, "__name__", type(fn).__name__)
    trace = results[0].trace
    topology = None if network is None else network.topology
    columns = topology.columns if isinstance(topology, Torus) else None
    return Watched(name, trace, _tell(results, trace, places, n), columns)


def _places(brings: str, rank: int, workers: int, n: int) -> NDArray[np.int64] | None:
    """List the places of the vector that a rank contributes to; None where it has no array."""
    if brings == "root":
        return np.arange(n) if rank == 0 else None
    return np.arange(n) if brings == "all" else np.arange(n)[split_evenly(n, workers)[rank]]


def _listened(
    comm: Communicator,
    fn: Callable[..., Any],
    inputs: list[NDArray[Any] | None],
    args: tuple[Any, ...],
) -> tuple[Any, Sent]:
    sent: Sent = {}
    listen(comm, keeper(sent))
    return fn(comm, inputs[comm.rank], *args), sent


def _tell(
    results: list[Result], trace: Trace, places: list[NDArray[np.int64] | None], n: int
) -> Contributions:
    """Put together what the arrays of all runs say."""
    understand = partial(read, size=trace.size, n=n)
    carried = [understand(arrays) for arrays in _payloads(results, trace)]
    returned = [
        understand(values) if _are_arrays(values) else []
        for values in zip(*([value for value, _ in r.values] for r in results), strict=True)
    ]
    starts = [(int(own[0]), int(own[-1]) + 1) for own in places if own is not None and len(own)]
    cuts = {0, n, *(bound for start in starts for bound in start)}
    cuts.update(bound for pieces in carried + returned for p in pieces for bound in p[:2])
    bounds = sorted(cuts)
    owners = [
        [own is not None and a in own for own in places] for a, b in pairwise(bounds) if b > a
    ]
    in_chunks = partial(_in_chunks, bounds=bounds)
    held = [
        [_only(rank, trace.size, had=own[rank]) for own in owners] for rank in range(trace.size)
    ]
    by_message = [in_chunks(pieces) for pieces in carried]
    return Contributions(
        goals=[sum(own) for own in owners],
        held=held,
        carried=by_message,
        fills=follow(trace, held, by_message, [in_chunks(pieces) for pieces in returned]),
    )


def _only(rank: int, size: int, *, had: bool) -> Counts:
    return tuple(int(had and rank == other) for other in range(size))


def _are_arrays(values: tuple[Any, ...]) -> bool:
    return all(hasattr(value, "shape") and hasattr(value, "dtype") for value in values)


def _payloads(results: list[Result], trace: Trace) -> list[list[NDArray[Any]]]:
    """Find the array that each message carried, in every run.

    Between two ranks of a communicator the k-th message of the trace is the k-th that was sent.
    """
    order: dict[tuple[str, int, int], int] = defaultdict(int)
    found = []
    for m in trace.messages:
        number = order[m.comm, m.src, m.dst]
        order[m.comm, m.src, m.dst] += 1
        found.append([r.values[m.src][1][m.comm, m.dst][number] for r in results])
    return found


def _in_chunks(pieces: list[Piece], bounds: list[int]) -> dict[int, Counts]:
    chunks: dict[int, Counts] = {}
    for piece in pieces:
        for chunk in range(bisect_left(bounds, piece.start), bisect_left(bounds, piece.stop)):
            chunks[chunk] = piece.counts
    return chunks
