"""Why nobody can go on, or where everybody was: the sentences of the simulator's errors."""

import math

from course_lib.comm import wait_graph
from course_lib.comm.errors import DeadlockError, LaunchTimeout, PeerFinishedError, RunError
from course_lib.comm.failures import Frame, frames_of_stack, place, user_frame
from course_lib.comm.simulated.communicator import SimulatedCommunicator
from course_lib.comm.simulated.letters import ANY
from course_lib.comm.simulated.world import World
from course_lib.comm.wait_graph import MOST_LINES, WaitingRank, unread_note

__all__ = ["interrupted", "others", "stuck", "timed_out"]

_MOST_DRAWN = 32  # ranks; of larger worlds an error carries the circle alone


def stuck(world: World) -> RunError:
    """Explain why no rank can go on: a circle of ranks, or one that has returned too early."""
    comm = next(comm for comm in world.ranks if not comm.finished)
    path: dict[int, SimulatedCommunicator] = {}  # by rank, in the order of who waits for whom
    while comm.rank not in path:
        path[comm.rank] = comm
        peer = world.ranks[_waits_for(world, comm)[0]]
        if peer.finished:
            return _peer_finished(world, comm, peer)
        comm = peer
    start = list(path).index(comm.rank)
    return _deadlock(world, list(path.values())[start:])


def _waits_for(world: World, comm: SimulatedCommunicator) -> list[int]:
    """List the ranks without which ``comm`` cannot go on, those that have returned first."""
    if comm.verb == "barrier":
        inside = {c.rank for c in world.in_barrier}
        peers = [c.rank for c in world.ranks if c.rank not in inside]
    elif comm.listens_to == ANY:  # one of them is enough, so one that has returned is no harm
        others = [c.rank for c in world.ranks if c is not comm]
        return sorted(others, key=lambda rank: world.ranks[rank].finished)
    else:
        peers = [peer for peer in (comm.listens_to, comm.sends_to) if peer is not None]
    return sorted(peers, key=lambda rank: not world.ranks[rank].finished)


def _deadlock(world: World, cycle: list[SimulatedCommunicator]) -> DeadlockError:
    ranks = {comm.rank for comm in cycle}
    rest = [comm for comm in world.ranks if comm.open_parts and comm.rank not in ranks]
    return wait_graph.deadlock(
        [_waiting(world, comm) for comm in cycle],
        [_waiting(world, comm) for comm in rest] if world.size <= _MOST_DRAWN else [],
        consequences=others(world, [*ranks]),
        eager_bytes=world.eager_bytes,
    )


def _waiting(world: World, comm: SimulatedCommunicator) -> WaitingRank:
    waits_for = _waits_for(world, comm)
    return WaitingRank(
        rank=comm.rank,
        verb=comm.verb,
        call=_call(comm),
        place=_place(comm),
        waits_for=tuple(waits_for if world.size <= _MOST_DRAWN else waits_for[:1]),
        unread=tuple(_unread(comm)),
    )


def _peer_finished(
    world: World, comm: SimulatedCommunicator, peer: SimulatedCommunicator
) -> PeerFinishedError:
    what = f"rank {comm.rank} waits in {_call(comm)}, at {_place(comm)}"
    if comm.verb == "barrier":
        text = f"{what}, but rank {peer.rank} has already returned"
        hint = "every rank must call barrier() equally often"
    elif comm.listens_to == ANY:
        text = f"{what}, but all other ranks have already returned"
        hint = f"count how many messages are sent to rank {comm.rank}, and receive no more"
    elif comm.sends_to == peer.rank:
        text = f"{what}, but rank {peer.rank} has already returned without receiving it"
        hint = f"let rank {peer.rank} receive as many messages as rank {comm.rank} sends to it"
    else:
        text = f"{what}, but rank {peer.rank} has already returned"
        hint = f"let rank {peer.rank} send as many messages as rank {comm.rank} receives from it"
        if world.log is not None:
            pair = (peer.rank, comm.rank)
            n_sent = sum(1 for row in world.log.messages if row[:2] == pair)
            text += f"; it sent {n_sent} message{'s' * (n_sent != 1)} to rank {comm.rank}"
    return PeerFinishedError(
        "\n".join([text, *(f"    ({note})" for note in _unread(comm)), hint]),
        rank=comm.rank,
        consequences=others(world, [comm.rank, peer.rank]),
    )


def timed_out(world: World, limit_s: float, frames: tuple[Frame, ...]) -> LaunchTimeout:
    """Say where every rank was when the wall time was over.

    Parameters
    ----------
    world : World
        The run.
    limit_s : float
        Its limit in wall seconds.
    frames : tuple of Frame
        Where the rank was that was running.

    Returns
    -------
    LaunchTimeout
        The error to raise.
    """
    running = _running(world, frames)
    head = (
        f"the run was not over after {limit_s:g} s of wall time (time_limit_s); in virtual time it "
        f"had come to {world.virtual_time_s():.3g} s"
    )
    hint = "look for a loop that does not end, or raise time_limit_s"
    return LaunchTimeout(
        "\n".join([head, *(f"  {line}" for line in running.values()), hint]),
        rank=next(iter(running), None),
        consequences=others(world, list(running)),
    )


def interrupted(world: World, frames: tuple[Frame, ...]) -> KeyboardInterrupt:
    """Say where every rank was when the user pressed Ctrl-C.

    Parameters
    ----------
    world : World
        The run.
    frames : tuple of Frame
        Where the rank was that was running.

    Returns
    -------
    KeyboardInterrupt
        The exception to raise.
    """
    running = _running(world, frames)
    lines = [*running.values(), *others(world, list(running))]
    return KeyboardInterrupt(
        "\n".join(["the run was interrupted and has ended", *(f"  {line}" for line in lines)])
    )


def _running(world: World, frames: tuple[Frame, ...]) -> dict[int, str]:
    """Say of the rank whose turn it was, by its number, where it was."""
    can_go_on = {rank for _, rank in world.heap}
    lines = {}
    for comm in world.ranks:
        if not (comm.finished or comm.open_parts or comm.rank in can_go_on):
            here = user_frame(frames_of_stack(comm.thread.gr_frame) or frames)
            lines[comm.rank] = f"rank {comm.rank} was running, at {place(here)}"
    return lines


def others(world: World, named: list[int]) -> list[str]:
    """Say in one line each where the ranks were that an error does not name; at most ten lines."""
    known = set(named)
    rest = [comm for comm in world.ranks if comm.rank not in known]
    lines = [f"rank {comm.rank} {_state(comm)}" for comm in rest[:MOST_LINES]]
    if len(rest) > MOST_LINES:
        lines.append(f"and {len(rest) - MOST_LINES:,} more ranks")
    return lines


def _state(comm: SimulatedCommunicator) -> str:
    if comm.finished:
        return "had returned"
    if comm.open_parts:
        return f"waited in {_call(comm)}, at {_place(comm)}"
    if comm.verb == "start":
        return "had not begun"
    return f"could go on, at {_place(comm)}"


def _call(comm: SimulatedCommunicator) -> str:
    """Write the verb a rank waits in, with the part of it that is still open."""
    parts = []
    if comm.listens_to is not None and comm.listens_to != ANY:
        parts.append(f"src={comm.listens_to}")
    if comm.sends_to is not None:
        parts.append(f"dst={comm.sends_to}")
    if comm.tag is not None:
        parts.append(f"tag={comm.tag!r}")
    return f"{comm.verb}({', '.join(parts)})"


def _place(comm: SimulatedCommunicator) -> str:
    return place(user_frame(frames_of_stack(comm.thread.gr_frame)))


def _unread(comm: SimulatedCommunicator) -> list[str]:
    """Name the messages that have arrived at a waiting rank, which listens to somebody else."""
    return [
        unread_note(src, letters[0].sent.tag, letters[0].sent.shape)
        for src, letters in sorted(comm.inbox.items())
        if letters and letters[0].arrived_s < math.inf
    ][:3]
