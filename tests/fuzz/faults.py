"""One fault in a valid program: the ways in which a rank does a step wrongly."""

import random
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz import program as p

__all__ = ["WRONGLY", "Left", "plant"]


def _skip(flow: Any, steps: p.Steps) -> None:
    """Leave it out."""


def _twice(flow: Any, steps: p.Steps) -> None:
    flow.take(steps)
    flow.take(steps)


def _swapped(flow: Any, steps: p.Steps) -> None:
    flow.take(steps[::-1])


def _raise(flow: Any, steps: p.Steps) -> None:
    raise ValueError("planted")


def _leave(flow: Any, steps: p.Steps) -> None:
    sys.exit(3)


class Left(Exception):
    """A flow has returned early; whoever called it sees no error."""


def _return(flow: Any, steps: p.Steps) -> None:
    flow.log.append("left")
    raise Left


def _in_a_thread(flow: Any, steps: p.Steps) -> None:
    """Take the steps in a thread that the library knows nothing of; what is raised there counts."""

    def barrier_and_steps() -> None:
        flow.comm.barrier()
        flow.take(steps)

    _elsewhere(barrier_and_steps)


def _elsewhere(act: Callable[[], Any]) -> None:
    raised: list[BaseException] = []

    def attempt() -> None:
        try:
            act()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def _while_computing(flow: Any, steps: p.Steps) -> None:
    with flow.comm.compute("too much", flops=1.0):
        flow.comm.barrier()


def _to_nobody(flow: Any, steps: p.Steps) -> None:
    flow.comm.send(np.zeros(1), flow.comm.size)


def _to_itself(flow: Any, steps: p.Steps) -> None:
    flow.comm.recv(flow.comm.rank)


def _an_object(flow: Any, steps: p.Steps) -> None:
    flow.comm.send(np.array([None]), (flow.comm.rank + 1) % flow.comm.size)


def _nobody_sends(flow: Any, steps: p.Steps) -> None:
    """Wait for one message more than is sent; what comes next goes there."""
    flow.comm.irecv((flow.comm.rank + 1) % flow.comm.size).wait()
    flow.take(steps)


def _nobody_waits(flow: Any, steps: p.Steps) -> None:
    """Post the receive of one message more, and leave it to the end."""
    flow.comm.irecv((flow.comm.rank + 1) % flow.comm.size)
    flow.take(steps)


def _nobody_takes(flow: Any, steps: p.Steps) -> None:
    """Send one large message more."""
    flow.comm.isend(np.zeros(1 << 15), (flow.comm.rank + 1) % flow.comm.size, tag="more")
    flow.take(steps)


def _anybody(flow: Any, steps: p.Steps) -> None:
    """Take what comes while a receive is posted."""
    flow.comm.irecv((flow.comm.rank + 1) % flow.comm.size)
    flow.comm.recv_any()


def _circle(flow: Any, steps: p.Steps) -> None:
    """Have a started function wait for a message that follows after its own end, on this rank."""
    before = flow.comm.irecv((flow.comm.rank + 1) % flow.comm.size)
    flow.comm.start(lambda _: before.wait()).wait()
    flow.take(steps)


def _posted_in_a_thread(flow: Any, steps: p.Steps) -> None:
    _elsewhere(lambda: flow.comm.irecv((flow.comm.rank + 1) % flow.comm.size))


def _posted_while_computing(flow: Any, steps: p.Steps) -> None:
    with flow.comm.compute("too much", flops=1.0):
        flow.comm.isend(np.zeros(1), (flow.comm.rank + 1) % flow.comm.size)


def _otherwise(**changes: Callable[[Any], Any]) -> Callable[[Any, p.Steps], None]:
    """Return a way of taking steps with some of their fields changed."""

    def take(flow: Any, steps: p.Steps) -> None:
        for step in steps:
            known = {name: change(getattr(step, name)) for name, change in changes.items()
                     if hasattr(step, name)}  # fmt: skip
            flow.take((replace(step, **known),))

    return take


def _other_dtype(array: Any) -> Any:
    return replace(array, dtype="i8" if array.dtype != "i8" else "f8", odd=False)


def _other_shape(array: Any) -> Any:
    return replace(array, shape=(*array.shape, 2))


def _other_collective(name: str) -> str:
    return "allreduce_ring" if name != "allreduce_ring" else "allgather_ring"


WRONGLY: dict[str, Callable[[Any, p.Steps], None]] = {
    "skip": _skip,
    "twice": _twice,
    "swap": _swapped,
    "raise": _raise,
    "exit": _leave,
    "return": _return,
    "thread": _in_a_thread,
    "compute": _while_computing,
    "nobody": _to_nobody,
    "itself": _to_itself,
    "object": _an_object,
    "nobody sends": _nobody_sends,
    "nobody waits": _nobody_waits,
    "nobody takes": _nobody_takes,
    "anybody": _anybody,
    "circle": _circle,
    "posted in a thread": _posted_in_a_thread,
    "posted while computing": _posted_while_computing,
    "tag": _otherwise(tag=lambda tag: "other" if tag != "other" else 0),
    "dtype": _otherwise(array=_other_dtype),
    "shape": _otherwise(array=_other_shape),
    "op": _otherwise(op=lambda op: "max" if op != "max" else "min"),
    "root": _otherwise(root=lambda root: root + 1),
    "name": _otherwise(name=_other_collective),
}
"""What each kind of fault does instead of the steps."""

_ANYWHERE = (
    "skip", "twice", "raise", "exit", "return", "thread", "compute", "nobody",
    "itself", "object", "nobody sends", "nobody waits", "nobody takes", "anybody", "circle",
    "posted in a thread", "posted while computing",
)  # fmt: skip
_WITH_FIELDS = {"tag": "tag", "dtype": "array", "shape": "array", "op": "op", "root": "root",
                "name": "name"}  # fmt: skip


def plant(rng: random.Random, program: p.Program) -> p.Program:
    """Return the program with one fault somewhere in it."""
    places = len(list(program.all_steps()))
    if not places:
        return replace(program, steps=(p.Faulty("raise", rng.randrange(program.ranks)),))
    place = [rng.randrange(places)]
    rank = rng.randrange(program.ranks)
    return replace(program, steps=_planted(rng, program.steps, place, rank))


def _planted(rng: random.Random, steps: p.Steps, place: list[int], rank: int) -> p.Steps:
    result: list[p.Step] = []
    rest = list(steps)
    while rest:
        step = rest.pop(0)
        if place[0] == 0:
            pair = (step, rest.pop(0)) if rest and rng.random() < 0.2 else (step,)
            result.append(p.Faulty(_kind(rng, pair), rank, pair))
        elif within := p.inner(step):
            place[0] -= 1
            result.append(p.with_inner(step, _planted(rng, within, place, rank)))
            continue
        else:
            result.append(step)
        place[0] -= 1
    return tuple(result)


def _kind(rng: random.Random, steps: p.Steps) -> str:
    if len(steps) == 2:
        return "swap"
    fitting = [kind for kind, name in _WITH_FIELDS.items() if hasattr(steps[0], name)]
    if fitting and rng.random() < 0.5:
        return rng.choice(fitting)
    return rng.choice(_ANYWHERE)
