"""The sentence that says what happens now, and the words it is made of.

The player's JavaScript says the same; a test compares the two.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from course_lib.viz.animation.scene import Scene

if TYPE_CHECKING:
    from course_lib.viz.animation.snapshot import Token, Worker

__all__ = ["are_named", "are_names", "caption", "down", "tag_words"]

_LISTED = 4
_SENTENCES = 2


def tag_words(tag: int | str | None, called: str = "chunk") -> str:
    """Put a message's label in words: numbers are chunks, or what they are called."""
    return "" if tag is None else f"{called} {tag}" if isinstance(tag, int) else tag


def are_named(scene: Scene) -> bool:
    """Say whether every rank has a name of its own: then nobody speaks of ranks."""
    return are_names(scene.roles)


def are_names(roles: Sequence[str]) -> bool:
    """Say whether every role is there, and none twice."""
    return all(roles) and len(set(roles)) == len(roles)


def _name(scene: Scene, rank: int) -> str:
    return scene.roles[rank] if are_named(scene) else str(rank)


def _who(scene: Scene, rank: int) -> str:
    return _name(scene, rank) if are_named(scene) else f"rank {rank}"


def down(scene: Scene, tick: float) -> dict[int, str]:
    """List the ranks that have failed, and how; not those that have been started again."""
    down: dict[int, str] = {}
    for rank, at, kind in scene.faults:
        if at <= tick and kind == "Restart":
            down.pop(rank, None)
        elif at <= tick:
            down[rank] = kind
    return down


def caption(scene: Scene, tick: float, workers: "list[Worker]", tokens: "list[Token]") -> str:
    """Say in a sentence what happens at a time.

    Parameters
    ----------
    scene : Scene
        A trace on a layout.
    tick : float
        The time.
    workers : list of Worker
        What every rank does then.
    tokens : list of Token
        Where every message is then.

    Returns
    -------
    str
        Parts joined by semicolons.
    """
    if not scene.messages and all(scene.roles):
        return _say_plan(scene, tick, workers)
    failed = [f"rank {rank} has failed ({kind})" for rank, kind in down(scene, tick).items()]
    if tick >= scene.end:
        return "; ".join([f"the run is over: {scene.total}", *failed])
    moving = [token for token in tokens if token.state == "moving"]
    parts = _moving(scene, moving, "of those drawn, " if scene.thinned else "")
    parts += _resting(sum(token.state == "arrived" for token in tokens), "arrived")
    parts += _resting(sum(token.state == "lost" for token in tokens), "lost")
    for kind in ("compute", "wait"):
        parts += _doing(scene, kind, [worker for worker in workers if worker.state == kind])
    parts += _noted(scene, workers)
    return "; ".join([*parts, *failed]) or "no rank computes, sends or waits"


def _say_plan(scene: Scene, tick: float, workers: "list[Worker]") -> str:
    """Say what is done on lanes that all have names of their own, as in a Gantt chart."""
    if tick >= scene.end:
        return "the run is over"
    busy = [worker for worker in workers if worker.state == "compute"]
    said = [f"{scene.roles[worker.rank]}: {scene.doings[worker.doing].word}" for worker in busy]
    return "; ".join(said) or "nothing goes on"


def _moving(scene: Scene, moving: "list[Token]", drawn: str) -> list[str]:
    if len(moving) <= _SENTENCES:
        ends = [(t, _who(scene, t.src), _who(scene, t.dst)) for t in moving]
        return [f"{src} sends {_named(t)} to {dst}" for t, src, dst in ends]
    loads = {token.load for token in moving}
    each = f", each with {loads.pop()}" if len(loads) == 1 and "" not in loads else ""
    listed = ", ".join(
        f"{_name(scene, t.src)} to {_name(scene, t.dst)}" + (f" ({t.label})" if t.label else "")
        for t in moving[:_LISTED]
    )
    more = f" and {len(moving) - _LISTED} more" if len(moving) > _LISTED else ""
    return [f"{drawn}{len(moving)} messages are between send and arrival{each}: {listed}{more}"]


def _named(token: "Token") -> str:
    """Name what a message is: "chunk 2 (2 of 4 contributions), 16 KB,"."""
    what = f"{token.label} ({token.load})" if token.label and token.load else ""
    what = what or token.label or token.load
    return f"{what}, {token.size}," if what else token.size


def _resting(count: int, state: str) -> list[str]:
    if count == 0:
        return []
    messages, verb, have = ("1 message", "is", "has") if count == 1 else (
        f"{count} messages", "are", "have"
    )  # fmt: skip
    if state == "arrived":
        return [f"{messages} {have} arrived and {verb} not yet received"]
    return [f"{messages} {verb} never received"]


def _noted(scene: Scene, workers: "list[Worker]") -> list[str]:
    told = [(worker.rank, scene.sayings[worker.said]) for worker in workers if worker.said >= 0]
    if len(told) <= _SENTENCES:
        return [f"rank {rank} {saying.long}" for rank, saying in told]
    listed = ", ".join(f"rank {rank}: {saying.short}" for rank, saying in told[:_LISTED])
    return [listed + (f" and {len(told) - _LISTED} more" if len(told) > _LISTED else "")]


def _doing(scene: Scene, kind: str, workers: "list[Worker]") -> list[str]:
    groups: dict[int, list[int]] = {}
    for worker in workers:
        groups.setdefault(worker.doing, []).append(worker.rank)
    if len(groups) > _SENTENCES:
        return [f"{len(workers)} ranks {kind}"]
    parts = []
    for number, ranks in groups.items():
        doing = scene.doings[number]
        if len(ranks) == 1:
            parts.append(f"{_who(scene, ranks[0])} {doing.one}")
        elif len(ranks) <= _LISTED:
            *others, last = [_name(scene, rank) for rank in ranks]
            whose = "" if are_named(scene) else "ranks "
            parts.append(f"{whose}{', '.join(others)} and {last} {doing.many}")
        else:
            parts.append(f"{len(ranks)} ranks {doing.many}")
    return parts
