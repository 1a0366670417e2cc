"""What a trace answers: counts, rounds, tables, and itself out of JSON."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Trace, run
from course_lib.trace.events import Collective, Compute, Fault, Message, Note, Wait
from course_lib.trace.recorder import Recorder, assemble

ranks = st.integers(0, 7)
times = st.floats(0, 1e6, allow_nan=False)
tags = st.none() | st.integers(-(2**70), 2**70) | st.text(max_size=5)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)
spans = st.tuples(times, times).map(sorted)
arrivals = spans | st.tuples(st.none() | times, st.none()) | st.tuples(st.none(), times)
messages = st.builds(
    lambda span, *rest: Message(*rest[:6], *span, *rest[6], rest[7]), spans, ranks, ranks, tags,
    st.sampled_from(["<f8", "|b1", "<M8[s]"]), st.lists(st.integers(0, 9), max_size=3).map(tuple),
    st.integers(0, 2**40), arrivals, st.just("world"),
)  # fmt: skip
computes = st.builds(lambda span, *rest: Compute(*rest, *span), spans, ranks, st.text(), times)
waits = st.builds(
    lambda span, rank, peer: Wait(rank, "recv", peer, *span, "world"),
    spans, ranks, st.none() | ranks,
)  # fmt: skip
collectives = st.builds(
    lambda span, *rest: Collective(*rest, *span, "world"), spans, ranks, st.text(),
    st.integers(0, 9),
)  # fmt: skip
traces = st.builds(
    Trace,
    backend=st.sampled_from(["simulated", "processes"]),
    clock=st.sampled_from(["virtual", "measured"]),
    size=st.just(8),
    messages=st.lists(messages, max_size=4),
    computes=st.lists(computes, max_size=2),
    waits=st.lists(waits, max_size=2),
    notes=st.lists(st.builds(Note, ranks, st.text(), plain, times), max_size=2),
    faults=st.lists(st.builds(Fault, st.none() | ranks, st.text(), st.text(), times), max_size=2),
    collectives=st.lists(collectives, max_size=2),
)


@given(traces, times)
@settings(max_examples=60, deadline=None)
def test_since_a_moment_keeps_what_began_then_or_later_and_counts_from_there(trace, start_s):
    shown = trace.since(start_s)
    begins = {"messages": 6, "computes": 3, "waits": 3, "notes": 3, "faults": 3, "collectives": 3}
    for kind, begin in begins.items():
        kept = [event for event in getattr(trace, kind) if event[begin] >= start_s]
        found = getattr(shown, kind)
        assert [event[:begin] for event in found] == [event[:begin] for event in kept]
        for old, new in zip(kept, found, strict=True):
            for name, time_s in old._asdict().items():
                is_time = name.endswith("_s") and time_s is not None
                assert getattr(new, name) == (time_s - start_s if is_time else time_s)
    assert (shown.backend, shown.clock, shown.size) == (trace.backend, trace.clock, 8)


@given(traces)
@settings(max_examples=60, deadline=None)
def test_a_trace_survives_json(trace):
    text = trace.to_json()
    again = Trace.from_json(text)
    assert again == trace
    assert again.to_json() == text
    assert all(type(message.shape) is tuple for message in again.messages)
    assert all(type(message) is Message for message in again.messages)


def pipeline(comm, size):
    """0 -> 1 -> 2, one round each; rank 2 also has a message that nobody reads."""
    if comm.rank > 0:
        comm.recv(src=comm.rank - 1, tag="down")
    if comm.rank < comm.size - 1:
        comm.send(np.zeros(size), dst=comm.rank + 1, tag="down")
    with comm.compute("end", flops=10.0):
        comm.note("loss", comm.rank / 2)


@pytest.fixture
def trace():
    return run(pipeline, 2, workers=3, backend="simulated").trace


def test_counts_by_rank(trace):
    assert trace.n_messages == 2
    assert trace.n_bytes == 32
    assert trace.messages_sent() == [1, 1, 0]
    assert trace.messages_received() == [0, 1, 1]
    assert trace.bytes_sent() == [16, 16, 0]
    assert trace.bytes_received() == [0, 16, 16]
    assert [(m.src, m.tag) for m in trace.between(1, 2)] == [(1, "down")]
    assert trace.between(2, 1) == []
    assert trace.unreceived() == []
    assert [(note.rank, note.value) for note in trace.notes_named("loss")] == [
        (0, 0.0), (1, 0.5), (2, 1.0)
    ]  # fmt: skip
    assert trace.notes_named("gain") == []
    assert trace.end_s == max(compute.end_s for compute in trace.computes)


def all_at_once(comm):
    """Everybody sends to everybody: one round, however many messages."""
    for step in range(1, comm.size):
        comm.send(np.zeros(1), dst=(comm.rank + step) % comm.size)
    for step in range(1, comm.size):
        comm.recv(src=(comm.rank - step) % comm.size)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_rounds_are_the_longest_chain_from_receive_to_send(workers):
    chain = run(pipeline, 1, workers=workers, backend="simulated").trace
    assert chain.rounds() == workers - 1
    one_round = run(all_at_once, workers=workers, backend="simulated").trace
    assert one_round.rounds() == min(1, workers - 1)
    assert one_round.n_messages == workers * (workers - 1)


def test_a_table_lists_messages_and_says_how_many_more(trace):
    lines = trace.table().splitlines()
    assert len(lines) == 3
    assert lines[0].split() == ["from", "to", "tag", "shape", "bytes", "sent", "at", "received"]
    assert lines[1].split()[:5] == ["0", "1", "down", "(2,)", "16"]
    assert trace.table(limit=1).splitlines()[-1] == "... and 1 more messages"


def test_a_table_of_measured_times_leaves_them_out(trace):
    trace.clock = "measured"
    assert trace.table().splitlines()[0].split() == ["from", "to", "tag", "shape", "bytes"]


def test_a_message_that_nobody_received_says_so():
    trace = Trace("simulated", "virtual", 2)
    trace.messages.append(Message(0, 1, None, "<f8", (1,), 8, 0.0, 0.0, 1.0, None, "world"))
    assert trace.table().splitlines()[1].split()[-1] == "never"
    assert trace.messages_received() == [0, 0]
    assert trace.bytes_received() == [0, 0]
    assert len(trace.unreceived()) == 1


def test_an_empty_trace_answers_too():
    trace = Trace("simulated", "virtual", 2)
    assert (trace.n_messages, trace.n_bytes, trace.end_s, trace.rounds()) == (0, 0, 0.0, 0)
    assert len(trace.table().splitlines()) == 1
    assert repr(trace) == "Trace(2 ranks, simulated: 0 messages, 0 bytes, virtual time)"


def test_a_trace_is_saved_and_loaded(trace, tmp_path):
    path = tmp_path / "trace.json"
    trace.save(path)
    assert Trace.load(path) == trace
    assert Trace.load(str(path)).to_json() == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"schema": 2}', "2"),
        ("{}", "None"),
        ("[1, 2]", "list"),
        ('"trace"', "str"),
    ],
)
def test_other_schemas_are_refused(text, found):
    with pytest.raises(ValueError, match=f"trace of schema 1, got .*{found}"):
        Trace.from_json(text)


def test_rows_that_do_not_fit_their_fields_are_refused(trace):
    content = json.loads(trace.to_json())
    content["messages"]["rows"][0].pop()
    with pytest.raises(ValueError, match="messages must have rows of 11 values each"):
        Trace.from_json(json.dumps(content))


def test_assemble_pairs_the_kth_send_with_the_kth_receive():
    sender, receiver = Recorder(0), Recorder(1)
    for k in range(3):
        sender.sends.append(("world", 1, k, "<f8", (1,), 8, float(k), k + 0.5))
    for k in range(2):
        receiver.receives.append(("world", 0, k + 1.0, k + 1.25))
    trace = assemble([sender, receiver], backend="simulated", clock="virtual")
    assert [(m.tag, m.arrived_s) for m in trace.messages] == [(0, 1.0), (1, 2.0), (2, None)]
    assert math.isclose(trace.end_s, 2.5)
