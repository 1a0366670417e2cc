"""What the launcher says of ranks that wait for each other: a deadlock, or other collectives."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from course_lib.comm import collective_order, wait_graph
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
    workers: list[WorkerHandle], board: WaitBoard, watch: DeadlockWatch, eager_bytes: int
) -> DeadlockError | CollectiveMismatchError:
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

    Returns
    -------
    DeadlockError or CollectiveMismatchError
        With the circles, every rank's call and place, and the graph.
    """
    watch.circles = _circles_of_waiting_functions(workers, watch) or watch.circles
    for circle in [*watch.circles, *_circles_without_started(workers, watch)]:
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
    )


def _circles_of_waiting_functions(
    workers: list[WorkerHandle], watch: DeadlockWatch
) -> list[list[Edge]]:
    """Find the circles that no message is part of which was begun and which nobody waits for.

    A rank whose functions all wait for other ranks waits for none of its own messages, and the
    simulator does not tell of those.
    """

    def unawaited(flows: Sequence[str | None], waiting: Sequence[Waiting]) -> list[bool]:
        pairs = list(zip(flows, waiting, strict=True))
        waits_here = any(name != "" and _for_nobody(entry) for name, entry in pairs)
        return [name == "" and not waits_here for name in flows]

    return _circles_without(unawaited, workers, watch)


def _circles_without_started(workers: list[WorkerHandle], watch: DeadlockWatch) -> list[list[Edge]]:
    """Find the circles that no started function is part of.

    An entry of the board says for which rank it waits, not for which of its functions. So a circle
    through a started function may be shorter than the true one, and hide it.
    """
    return _circles_without(lambda flows, _: [bool(name) for name in flows], workers, watch)


def _circles_without(
    left_out: Callable[[Sequence[str | None], Sequence[Waiting]], list[bool]],
    workers: list[WorkerHandle],
    watch: DeadlockWatch,
) -> list[list[Edge]]:
    """Find the circles that some entries are no part of.

    ``left_out`` gets the names of a rank's flows, None for its function and "" for a message that
    was begun, and what each waits for.
    """
    states = list(watch.states)
    for worker in workers:
        state = states[worker.rank]
        flows = [None, *(started for started, *_ in worker.beside)]
        if len(flows) == len(state.waiting):  # else it has not answered
            waiting = [
                entry._replace(src=NOBODY, dst=NOBODY) if out else entry
                for out, entry in zip(left_out(flows, state.waiting), state.waiting, strict=True)
            ]
            states[worker.rank] = state._replace(waiting=tuple(waiting))
    return find_circles(states, watch.stuck)


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
