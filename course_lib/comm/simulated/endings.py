"""How flows that are asleep are ended, and a run that is over is forgotten."""

import ctypes
import gc
from collections.abc import Sequence
from heapq import heapify
from typing import TYPE_CHECKING

from greenlet import GreenletExit, getcurrent, greenlet

from course_lib.comm.pickling import brings_classes
from course_lib.comm.simulated.flow import Flow
from course_lib.comm.simulated.in_flight import ANY

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["forget", "kill", "log_open_wait", "take_out"]

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


def take_out(world: "EventLoop", flows: Sequence[Flow], now_s: float) -> None:
    """End the flows of a rank in the middle of a run, as if they had never been there."""
    for flow in flows:
        if not flow.finished:
            world.n_open[flow.rank] -= 1
        log_open_wait(world, flow, now_s)
        del world.flows[flow.rank, flow.number]
    world.heap[:] = [entry for entry in world.heap if entry[3] not in flows]
    heapify(world.heap)
    world.ending = True
    try:
        kill(flows)
    finally:
        world.ending = False
    for flow in flows:
        flow.finished = False  # even if it caught its own end and returned


def log_open_wait(world: "EventLoop", flow: Flow, end_s: float) -> None:
    """Write down what a flow waits for when it will wait no longer."""
    if world.log is not None and flow.open_parts and end_s > flow.posted_s:
        comm = flow.comm
        peer = flow.sends if flow.hears is None else flow.hears
        whom = None if peer is None or peer == ANY else comm.group.members[peer]
        world.log.waits.add(flow.rank, flow.waits_in, whom, flow.posted_s, end_s, comm.name)


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
