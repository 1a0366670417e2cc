"""How flows that are asleep are ended, and a run that is over is forgotten."""

import ctypes
import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from greenlet import GreenletExit, getcurrent, greenlet

from course_lib.comm.pickling import brings_classes
from course_lib.comm.simulated.flow import Flow

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["forget", "kill"]

_MUCH_BYTES = 100 * 2**20


def kill(flows: Sequence[Flow]) -> None:
    """End some flows now; ``ending`` has been set, so that nobody takes it for a failure."""
    for flow in flows:
        flow.caller = None
    asleep = [flow for flow in flows if not flow.dead]
    try:
        while asleep:
            asleep[-1].parent = getcurrent()  # where it comes back to
            asleep[-1].throw(GreenletExit)
            if asleep[-1].dead:
                asleep.pop()
            else:
                _leave_behind(asleep.pop())
    finally:  # also when interrupted
        for thread in asleep:
            _leave_behind(thread)


def _leave_behind(thread: greenlet) -> None:
    """Keep a rank that could not be ended for ever: collecting it would try once more to end it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thread))


def forget(world: "EventLoop") -> None:
    """Break the circles of references: what the ranks hold is freed now, not later.

    Greenlets go in the thread that has made them, while it lives. Left to the garbage
    collector, they and the thread's own, their ``parent``, would be freed in whatever thread
    that runs next, perhaps when theirs has ended.
    """
    world.flows.clear()
    world.heap.clear()
    world.newborn.clear()
    world.everybody.close()
    del world.loop
    call = world.packed_call
    if world.size * len(call) > _MUCH_BYTES and brings_classes(call):
        gc.collect()  # a class is a circle, and its methods hold all globals that came with it
