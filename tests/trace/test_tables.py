"""A table of events is a list to whoever looks at it; its columns are the fields of that list."""

import copy
import pickle

import numpy as np
import pytest

from course_lib import Trace, run
from course_lib.collectives import allreduce_ring
from course_lib.trace.events import Message
from course_lib.trace.table import Table, column


def busy(comm):
    """All verbs that leave messages or waits, and at the end one message that nobody reads."""
    half = comm.split(color=comm.rank % 2)
    allreduce_ring(half, np.ones(5))
    comm.start(allreduce_ring, np.ones((2, 3), "f4")).wait()
    if comm.rank == 0:
        for _ in range(comm.size - 1):
            comm.recv_any()
        comm.send(np.zeros(0), dst=1, tag="unread")
    else:
        comm.send(np.arange(comm.rank), dst=0, tag=comm.rank)
    comm.barrier()


@pytest.fixture(scope="module")
def trace():
    with pytest.warns(UserWarning, match="unread"):
        return run(busy, workers=6, backend="simulated").trace


def test_a_table_is_read_like_a_list(trace):
    table, events = trace.messages, list(trace.messages)
    assert type(table) is Table
    assert len(table) == len(events) > 40
    assert all(type(event) is Message for event in events)
    assert [table[index] for index in range(len(table))] == events
    assert (table[-1], table[2:5], table[::-7]) == (events[-1], events[2:5], events[::-7])
    assert events[3] in table
    assert table.index(events[3]) == events.index(events[3])
    with pytest.raises(IndexError):
        table[len(table)]


def test_a_table_equals_what_holds_the_same_events(trace):
    table, events = trace.messages, list(trace.messages)
    assert table == events
    assert events == table
    assert table == copy.deepcopy(table) == pickle.loads(pickle.dumps(table))
    assert repr(table) == repr(events)
    for other in (events[:-1], [*events[:-1], events[0]], tuple(events), None):
        assert table != other


def test_fields_are_pythons_own_numbers_and_nobody_is_none(trace):
    assert {type(rank) for rank in column(trace.messages, "src")} == {int}
    assert {type(time_s) for time_s in column(trace.messages, "posted_s")} == {float}
    assert {type(time_s) for time_s in column(trace.messages, "received_s")} == {float, type(None)}
    assert {type(peer) for peer in column(trace.waits, "peer")} == {int, type(None)}
    (unread,) = trace.unreceived()
    assert (unread.tag, unread.arrived_s, unread.received_s) == ("unread", None, None)


@pytest.mark.parametrize("name", Message._fields)
def test_a_column_is_the_field_of_all_events(trace, name):
    events = list(trace.messages)
    assert column(trace.messages, name) == column(events, name)
    assert column(events, name) == [getattr(event, name) for event in events]


def test_a_trace_answers_alike_from_tables_and_from_lists(trace):
    as_lists = Trace.from_json(trace.to_json())
    assert type(as_lists.messages) is list
    assert as_lists == trace
    for question in (
        "messages_sent", "messages_received", "bytes_sent", "bytes_received", "rounds", "table",
        "unreceived",
    ):  # fmt: skip
        assert getattr(as_lists, question)() == getattr(trace, question)()
    assert (as_lists.n_bytes, as_lists.end_s) == (trace.n_bytes, trace.end_s)
    assert as_lists.between(1, 0) == trace.between(1, 0)


def test_events_of_one_instant_keep_the_order_of_the_ranks_and_of_their_sending(trace):
    order = [(message.posted_s, message.src) for message in trace.messages]
    assert order == sorted(order)
    free = run(at_once, workers=3, backend="simulated").trace
    assert [(m.src, m.tag) for m in free.messages] == [
        (src, tag) for src in range(3) for tag in range(4)
    ]


def at_once(comm):
    """Empty messages: all are posted in one instant."""
    for tag in range(4):
        comm.send(np.zeros(0), dst=(comm.rank + 1) % comm.size, tag=tag)
    for _ in range(4):
        comm.recv(src=(comm.rank - 1) % comm.size)
