"""What the launcher says of ranks that wait for each other: a deadlock, or other collectives."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from course_lib.comm import circles, collective_order, wait_graph
from course_lib.comm.collective_order import Entered
from course_lib.comm.errors import CollectiveMismatchError, DeadlockError
from course_lib.comm.frames import place, user_frame
from course_lib.comm.processes.launcher import describe
from course_lib.comm.processes.launcher.deadlock import DeadlockWatch, Edge, awaited, find_circles
from course_lib.comm.processes.launcher.worker_handle import WorkerHandle
from course_lib.comm.processes.memory.mailbox import NOBODY
from course_lib.comm.processes.memory.wait_board import WaitBoard, Waiting, call_text
from course_lib.comm.wait_graph import MOST_LINES, WaitingRank, quoted

__all__ = ["explain_deadlock"]


def explain_deadlock(
    workers: list[WorkerHandle], board: WaitBoard, watch: DeadlockWatch, eager_bytes: int,
    lost: Collection[int] = (),
) -> DeadlockError | CollectiveMismatchError:  # fmt: skip
    """Return the error for ranks that wait for each other in a circle, or in several.

    Where ranks of a circle are in different collectives, that is the error.

    Parameters
    ----------
    workers : list of WorkerHandle
        All ranks.
    board : WaitBoard
        What each waited for.
    watch : DeadlockWatch
        What has found the circles.
    eager_bytes : int
        Up to what size ``send`` returns after copying.
    lost : collection of int, default: ()
        The ranks that have been lost for good, in a run that survives that.

    Returns
    -------
    DeadlockError or CollectiveMismatchError
        With the circles, every rank's call and place, and the graph.
    """
    watch.circles = _circles_of_ranks(workers, watch) or watch.circles
    for circle in _circles_of_functions(workers, watch) or watch.circles:
        entered = [_entered(workers[edge.rank], edge.entry, watch) for edge in circle]
        if collective_order.apart(entered):
            return collective_order.mismatch(entered, consequences=_rest(workers, board, [circle]))
    told = [_told(circle, workers, watch) for circle in watch.circles]
    ranks = {edge.rank for circle in watch.circles for edge in circle}
    outside = [
        _waiting(worker, entry, watch)
        for worker in workers
        for entry in range(len(watch.states[worker.rank].waiting))
        if worker.rank not in ranks and not watch.states[worker.rank].at_work
    ]
    rest = _rest(workers, board, watch.circles)
    return wait_graph.deadlock(
        told,
        outside,
        consequences=rest,
        eager_bytes=eager_bytes,
        all_wait=watch.all_wait,
        lost=lost,
    )


def _circles_of_ranks(workers: list[WorkerHandle], watch: DeadlockWatch) -> list[list[Edge]]:
    """Find the circles that no message is part of which was begun and which nobody waits for.

    A rank whose functions all wait for other ranks waits for none of its own messages, and the
    simulator does not tell of those.
    """
    states = list(watch.states)
    for worker in workers:
        state = states[worker.rank]
        names = [name for name, _ in _flows(worker, watch)]
        pairs = list(zip(names, state.waiting, strict=False))  # none where it has not answered
        if pairs and not any(name and _for_nobody(entry) for name, entry in pairs):
            waiting = [
                entry if name else entry._replace(src=NOBODY, dst=NOBODY) for name, entry in pairs
            ]
            states[worker.rank] = state._replace(waiting=tuple(waiting))
    return find_circles(states, watch.stuck)


def _circles_of_functions(workers: list[WorkerHandle], watch: DeadlockWatch) -> list[list[Edge]]:
    """Find the circles of what waits for what, where all ranks have said it.

    An entry of the board says for which rank it waits, not for which of its functions. So a circle
    of ranks may be shorter than the true one, and hide it: what two functions that were started on
    different communicators send does not meet.
    """
    flows = {
        Edge(worker.rank, entry): flow
        for worker in workers
        if worker.rank in watch.stuck
        for entry, flow in enumerate(_flows(worker, watch))
    }
    if {edge.rank for edge in flows} != watch.stuck:
        return []

    def of_rank(rank: int, name: str = "") -> list[Edge]:
        functions = [edge for edge, flow in flows.items() if edge.rank == rank and flow[0]]
        return [edge for edge in functions if flows[edge][0] == name] or functions

    def next_of(edge: Edge) -> list[Edge]:
        name, call = flows[edge]
        waiting = watch.states[edge.rank].waiting[edge.entry]
        if _for_nobody(waiting):  # for something of its own, which the call tells
            own = [other for other in flows if other.rank == edge.rank and other != edge]
            if (call or "").startswith(("wait() for isend(", "wait() for irecv(")):
                return [other for other in own if not flows[other][0]]
            return [other for other in own if quoted(flows[other][0]) in (call or "")] or own
        peers = awaited(edge.rank, waiting, len(watch.states))
        return [other for peer in peers if peer in watch.stuck for other in of_rank(peer, name)]

    return [
        [edge for edge in circle if not _for_nobody(watch.states[edge.rank].waiting[edge.entry])]
        for circle in circles.find_circles(flows, next_of)
    ]


def _flows(worker: WorkerHandle, watch: DeadlockWatch) -> list[tuple[str, str | None]]:
    """List a rank's flows by the board: the name, "" for a message that was begun; and the call.

    Nothing where the rank has not answered.
    """
    flows = [("its function", worker.call), *((name, call) for name, _, call, _ in worker.beside)]
    return flows if len(flows) == len(watch.states[worker.rank].waiting) else []


def _for_nobody(entry: Waiting) -> bool:
    """Tell whether an entry waits for something in its own rank."""
    return (entry.src, entry.dst) == (NOBODY, NOBODY)


def _rest(
    workers: list[WorkerHandle], board: WaitBoard, circles: Sequence[Sequence[Edge]]
) -> list[str]:
    """Say what became of the ranks of no circle."""
    ranks = {edge.rank for circle in circles for edge in circle}
    rest = [f"rank {m.rank} {describe.fate(m, board)}" for m in workers if m.rank not in ranks]
    if len(rest) > MOST_LINES:
        rest[MOST_LINES:] = [f"and {len(rest) - MOST_LINES} more ranks"]
    return rest


def _told(
    circle: list[Edge], workers: list[WorkerHandle], watch: DeadlockWatch
) -> list[WaitingRank]:
    told = []
    for edge, following in zip(circle, [*circle[1:], circle[0]], strict=True):
        waiting = _waiting(workers[edge.rank], edge.entry, watch)
        others = (peer for peer in waiting.waits_for if peer != following.rank)
        told.append(replace(waiting, waits_for=(following.rank, *others)))
    return told


def _waiting(worker: WorkerHandle, entry: int, watch: DeadlockWatch) -> WaitingRank:
    """Say what a rank that cannot go on says of an entry of the board, or what the board does."""
    state = watch.states[worker.rank]
    waiting = state.waiting[entry]
    call, frames = call_text(*waiting), worker.frames or worker.crash
    flows = [("", frames, worker.call, None), *worker.beside]
    started = ""
    if len(flows) == len(state.waiting):  # else it has not answered
        started, frames, said, _ = flows[entry]
        call = (said or call) + (f" in {quoted(started)}" if started else "")
    return WaitingRank(
        rank=worker.rank,
        verb=waiting.verb,
        call=call,
        place=place(user_frame(frames)) if frames else "a place that it did not tell",
        waits_for=tuple(awaited(worker.rank, waiting, len(watch.states))),
        started=started,
    )


def _entered(worker: WorkerHandle, entry: int, watch: DeadlockWatch) -> Entered:
    """Say in which collective a rank of a circle is, or in what else it waits."""
    waiting = watch.states[worker.rank].waiting
    nowhere = Entered(worker.rank, "", instead=call_text(*waiting[entry]))
    flows = [(worker.frames, worker.entered), *((f, e) for _, f, _, e in worker.beside)]
    if len(flows) != len(waiting):  # it has not answered
        return nowhere
    frames, entered = flows[entry]
    if entered is None and entry > 0:
        entered = _that_waits_for(worker, worker.beside[entry - 1][0])
    return entered or nowhere._replace(frame=user_frame(frames) if frames else None)


def _that_waits_for(worker: WorkerHandle, started: str) -> Entered | None:
    """Find the collective that has started a function and waits for it, if one does."""
    waits = f"wait() for its started function {quoted(started)}"
    flows = [(worker.call, worker.entered), *((call, e) for _, _, call, e in worker.beside)]
    return next((entered for call, entered in flows if call == waits), None)
