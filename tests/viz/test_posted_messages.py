"""A pipeline of isend and irecv: what overlaps is drawn as overlapping, as the trace has it.

A latency of 10 s and 1 s a byte: every time is a small integer.
"""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from course_lib import run
from course_lib.comm.simulated.network import Network
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.snapshot import what_is_where
from course_lib.viz.stills.stills import timeline_still

HAND = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)
COMPUTE_S, MESSAGE_S, PARTS = 20, 15, 3


def pipeline(comm):
    """Each rank works on each part, while the next one comes and the last one leaves."""
    left, right = comm.rank - 1, comm.rank + 1
    coming = [comm.irecv(left) for _ in range(PARTS if left >= 0 else 0)]
    going = []
    for part in range(PARTS):
        x = coming[part].wait() if coming else np.zeros(5, "u1")
        with comm.compute(f"part {part}", flops=COMPUTE_S):
            pass
        if right < comm.size:
            going.append(comm.isend(x, right, tag=part))
    for pending in going:
        pending.wait()


@pytest.fixture(scope="module")
def trace():
    return run(pipeline, workers=3, network=HAND, backend="simulated").trace


def begin_s(rank, part):
    """When a rank begins with a part: messages take less time than the work, and run beside it."""
    return rank * (COMPUTE_S + MESSAGE_S) + part * COMPUTE_S


def test_only_the_first_part_is_waited_for(trace):
    found = {(c.rank, c.label): (c.start_s, c.end_s) for c in trace.computes}
    assert found == {
        (rank, f"part {part}"): (begin_s(rank, part), begin_s(rank, part) + COMPUTE_S)
        for rank in range(3)
        for part in range(PARTS)
    }
    waits = [(w.rank, w.verb, w.peer, w.start_s, w.end_s) for w in trace.waits if w.verb == "irecv"]
    assert waits == [(1, "irecv", 0, 0, begin_s(1, 0)), (2, "irecv", 1, 0, begin_s(2, 0))]


def test_the_scene_has_the_spans_and_flights_of_the_trace(trace):
    scene = make_scene(trace)
    spans = {
        (s.rank, scene.doings[s.doing].word, round(s.start * scene.tick_s, 3)) for s in scene.spans
    }
    work = {(c.rank, c.label, c.start_s) for c in trace.computes}
    assert work <= spans
    assert {(1, "waits for 0", 0.0), (2, "waits for 1", 0.0)} <= spans
    for m, flight in zip(
        sorted(trace.messages, key=lambda m: m.posted_s), scene.messages, strict=True
    ):
        assert flight.posted * scene.tick_s == pytest.approx(m.posted_s, abs=scene.tick_s)
        assert flight.arrived * scene.tick_s == pytest.approx(m.arrived_s, abs=scene.tick_s)
        assert m.arrived_s - m.posted_s == MESSAGE_S


def test_a_rank_computes_in_the_picture_while_its_messages_are_on_their_way(trace):
    scene = make_scene(trace)
    now = what_is_where(scene, begin_s(1, 1) - 5.0)
    assert now.workers[1].state == "compute"
    assert (0, 1) in {(token.src, token.dst) for token in now.tokens}


def test_who_waits_for_its_isend_waits_for_the_receiver():
    def late(comm):
        if comm.rank == 0:
            comm.isend(np.zeros(5, "u1"), 1).wait()
        else:
            with comm.compute("late", flops=50.0):
                pass
            comm.recv(0)

    trace = run(late, workers=2, network=HAND, backend="simulated", rendezvous=True).trace
    doings = {each.one for each in make_scene(trace).doings}
    assert "sends, or waits for rank 1 to receive" in doings


def test_who_waits_for_a_function_waits_for_nobody_else():
    def beside(child):
        with child.compute("beside", flops=5.0):
            pass

    trace = run(lambda comm: comm.start(beside).wait(), workers=1, backend="simulated").trace
    assert "waits for what it has started" in {each.one for each in make_scene(trace).doings}


def test_a_timeline_of_it_has_a_box_for_each_span(trace):
    (axes, *_) = timeline_still(trace).axes
    filled = [each for each in axes.collections if isinstance(each, PolyCollection)]
    *computes, waits = [len(each.get_paths()) for each in filled]
    assert sum(computes) == len(trace.computes)
    assert waits == len(trace.waits)


def everybody_sends_first(comm, n_bytes, late=0.0):
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        with comm.compute("late", flops=late):
            pass
        theirs = comm.recv(left)
        comm.send(np.zeros(n_bytes, "u1"), right)
        return theirs
    comm.send(np.zeros(n_bytes, "u1"), right)
    return comm.recv(left)


@pytest.mark.parametrize("rendezvous", [False, True])
def test_a_sender_waits_from_its_send_to_the_receive_and_then_only_sends(rendezvous):
    trace = run(
        everybody_sends_first, 5, 7.0, workers=3, network=HAND, backend="simulated",
        rendezvous=rendezvous,
    ).trace  # fmt: skip
    scene = make_scene(trace)
    at_first, later = (what_is_where(scene, time_s).workers for time_s in (0.0, 7.5))
    # Rank 2's receiver computes for 7 s. An eager message has left by then; a large one waits.
    assert at_first[2].state == ("wait" if rendezvous else "send")
    assert at_first[0].state == "compute"
    if rendezvous:
        assert later[2].state == "send", "rank 0 has called recv"
    assert len(trace.waits) > len([s for s in scene.spans if scene.doings[s.doing].kind == "wait"])
