"""What the launcher says when a run ends badly: one error, and a line for every other rank."""

import signal

from course_lib.comm.errors import (
    LaunchTimeout,
    RunError,
    WorkerExited,
    WorkerKilled,
    WorkerStartError,
)
from course_lib.comm.failures import place, render, to_error, user_frame
from course_lib.comm.processes.board import Board
from course_lib.comm.processes.member import Member, Phase

__all__ = ["explain_failure", "explain_interrupt", "explain_timeout"]

_MOST_STACKS = 4


def explain_failure(members: list[Member], board: Board, origin_s: float) -> RunError:
    """Return the error for the rank that failed first, once all are gone.

    Parameters
    ----------
    members : list of Member
        All ranks.
    board : Board
        What each waited for.
    origin_s : float
        The run's time 0, on the clock that all processes share.

    Returns
    -------
    RunError
        The error to raise, with a line for every other rank.
    """
    failed = [m for m in members if m.failure is not None or (not m.done and not m.ended_by_us)]
    if failed:
        first = min(failed, key=lambda member: _failed_at(member, origin_s))
        others = _others(members, first, board)
        if first.failure is not None:
            return to_error(first.failure.failure, others)
        return _explain_death(first, others)
    first = next(m for m in members if m.done is None)
    return WorkerExited(
        f"rank {first.rank} closed its line to the launcher and was ended; "
        "do not close file descriptors that you have not opened",
        rank=first.rank,
        consequences=_others(members, first, board),
    )


def explain_timeout(members: list[Member], board: Board, limit_s: float) -> RunError:
    """Return the error for a time limit that passed: where each rank was, what each waited for."""
    if any(member.phase < Phase.RUNNING for member in members):
        late = [str(m.rank) for m in members if m.phase < Phase.LOADED]
        return LaunchTimeout(
            f"rank {', '.join(late)} did not load its function within {limit_s:g} s; "
            "look at what is imported and at the size of the arguments"
        )
    lines = [f"the run did not end within {limit_s:g} s (time_limit_s):"]
    lines += [f"  rank {m.rank} {_state(m, board, now=True)}" for m in members]
    running = [m for m in members if m.done is None and _call(m, board) is None]
    for member in running[:_MOST_STACKS]:
        frames = member.frames or member.crash
        if frames:
            lines.append(
                f"\nStack of rank {member.rank} (most recent call last):\n{render(frames)}"
            )
    advice = "look for a loop that does not end, or raise time_limit_s"
    if not running:
        advice = "look for ranks that wait for each other: each send needs its recv in that place"
    return LaunchTimeout("\n".join([*lines, advice]))


def explain_interrupt(members: list[Member], board: Board) -> KeyboardInterrupt:
    """Return the exception for Ctrl-C, saying where each rank was."""
    lines = ["the run was interrupted and all its workers have ended"]
    lines += [f"  rank {m.rank} {_state(m, board)}" for m in members]
    return KeyboardInterrupt("\n".join(lines))


def _explain_death(member: Member, consequences: tuple[str, ...]) -> RunError:
    rank, code = member.rank, member.exit_code
    printed = f"\nIts last words:\n{member.printer.tail}" if member.printer.tail else ""
    if member.phase < Phase.LOADED:
        doing = "loading the function" if member.phase is Phase.ATTACHED else "starting"
        return WorkerStartError(
            f"the worker of rank {rank} ended while {doing} ({_how(code)}), before it could call "
            f"the function{printed}",
            rank=rank,
            consequences=consequences,
        )
    if code is not None and code < 0:
        stack = ""
        if member.crash:
            stack = f"\n\nStack of rank {rank} (most recent call last):\n{render(member.crash)}"
        at = f" at {place(user_frame(member.crash))}" if member.crash else ""
        hint = ""
        if -code == getattr(signal, "SIGKILL", 9):
            hint = "; often: the computer ran out of memory"
        return WorkerKilled(
            f"rank {rank} was killed by {_signal_name(-code)}{at}{hint}{stack}",
            rank=rank,
            consequences=consequences,
        )
    return WorkerExited(
        f"rank {rank} {_how(code)} before returning a result; os._exit and the like end a worker "
        f"without a trace: use return{printed}",
        rank=rank,
        consequences=consequences,
    )


def _others(members: list[Member], first: Member, board: Board) -> tuple[str, ...]:
    return tuple(f"rank {m.rank} {_fate(m, board)}" for m in members if m is not first)


def _fate(member: Member, board: Board) -> str:
    if member.failure is not None:
        failure = member.failure.failure
        text = failure.text.splitlines()[0] if failure.text else ""
        return f"failed too: {failure.type_name}{': ' if text else ''}{text}"
    if member.done is None and not member.ended_by_us:
        return f"{_how(member.exit_code)} too"
    return _state(member, board)


def _state(member: Member, board: Board, *, now: bool = False) -> str:
    if member.done is not None:
        return "has returned" if now else "had returned"
    if member.failure is not None:
        return f"had failed: {member.failure.failure.type_name}"
    if member.phase < Phase.RUNNING:
        return "was starting"
    call = _call(member, board)
    if call is None:
        return f"{'is' if now else 'was'} running{_where(member)}"
    return f"{'waits' if now else 'waited'} in {call}{_where(member)}"


def _call(member: Member, board: Board) -> str | None:
    # What it said itself belongs to the place it named; the board knows of those that are silent.
    return member.call if member.frames is not None else board.call(member.rank)


def _where(member: Member) -> str:
    frames = member.frames or member.crash
    if frames:
        return f", at {place(user_frame(frames))}"
    return " (it did not say where)" if member.frames is None else ""


def _how(code: int | None) -> str:
    if code is None:
        return "ended"
    if code < 0:
        return f"was killed by {_signal_name(-code)}"
    return f"exited with code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _failed_at(member: Member, origin_s: float) -> float:
    if member.failure is not None:
        return member.failure.failure.time_s
    return member.gone_s - origin_s
