"""Unusable arguments are refused at the call, by name, in every world alike."""

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import WorkerError

# name: (call, exception, words its text must hold)
CASES = {
    "dst too large": (lambda c: c.send(np.zeros(1), dst=2), ValueError, ("dst", "0 to 1", "2")),
    "dst negative": (lambda c: c.send(np.zeros(1), dst=-1), ValueError, ("dst", "0 to 1", "-1")),
    "dst float": (lambda c: c.send(np.zeros(1), dst=1.0), TypeError, ("dst", "1.0", "float")),
    "dst bool": (lambda c: c.send(np.zeros(1), dst=True), TypeError, ("dst", "True", "bool")),
    "dst text": (lambda c: c.send(np.zeros(1), dst="1"), TypeError, ("dst", "'1'", "str")),
    "dst None": (lambda c: c.send(np.zeros(1), dst=None), TypeError, ("dst", "None")),
    "to itself": (lambda c: c.send(np.zeros(1), dst=c.rank), ValueError, ("dst", "itself")),
    "src too large": (lambda c: c.recv(src=99), ValueError, ("src", "0 to 1", "99")),
    "from itself": (lambda c: c.recv(src=c.rank), ValueError, ("src", "itself")),
    "sendrecv src": (lambda c: c.sendrecv(np.zeros(1), 1 - c.rank, 7), ValueError, ("src", "7")),
    "sendrecv dst": (lambda c: c.sendrecv(np.zeros(1), 7, 1 - c.rank), ValueError, ("dst", "7")),
    "tag float": (lambda c: c.recv(1 - c.rank, tag=1.5), TypeError, ("tag", "1.5", "float")),
    "tag bool": (lambda c: c.recv(1 - c.rank, tag=True), TypeError, ("tag", "True")),
    "tag list": (lambda c: c.send(np.zeros(1), 1 - c.rank, tag=[1]), TypeError, ("tag", "[1]")),
    "objects": (
        lambda c: c.send(np.array([{}, None]), 1 - c.rank),
        TypeError,
        ("array", "object", "float", "fixed-length strings"),
    ),
    "structured": (
        lambda c: c.send(np.zeros(2, dtype=[("a", "f8")]), 1 - c.rank),
        TypeError,
        ("array", "allowed are"),
    ),
    "masked": (
        lambda c: c.send(np.ma.masked_array([1.0], [True]), 1 - c.rank),
        TypeError,
        ("array", "masked", "filled"),
    ),
    "a list": (lambda c: c.send([1.0], 1 - c.rank), TypeError, ("array", "list", "np.asarray")),
    "a number": (lambda c: c.send(1.0, 1 - c.rank), TypeError, ("array", "float")),
    "out read-only": (
        lambda c: c.recv(1 - c.rank, out=np.broadcast_to(0.0, 3)),
        ValueError,
        ("out", "read-only", "copy"),
    ),
    "out a list": (lambda c: c.recv(1 - c.rank, out=[0.0]), TypeError, ("out", "list")),
    "op unknown": (
        lambda c: c.recv(1 - c.rank, out=np.zeros(1), op="sum"),
        ValueError,
        ("op", "'add'", "'sum'"),
    ),
    "op without out": (lambda c: c.recv(1 - c.rank, op="add"), ValueError, ("op='add'", "out")),
    "out overlaps": (
        lambda c: (lambda a: c.sendrecv(a[:2], 1 - c.rank, 1 - c.rank, out=a[1:]))(np.zeros(3)),
        ValueError,
        ("out", "overlap"),
    ),
    "label": (lambda c: c.compute(3), TypeError, ("label", "3", "int")),
    "flops negative": (lambda c: c.compute("x", flops=-1.0), ValueError, ("flops", "-1.0")),
    "flops NaN": (lambda c: c.compute("x", flops=float("nan")), ValueError, ("flops", "nan")),
    "note name": (lambda c: c.note(3, 1.0), TypeError, ("name", "3")),
    "note value": (lambda c: c.note("x", object()), TypeError, ("value", "object")),
}


def test_every_bad_argument_is_refused_by_name(world):
    calls = {name: call for name, (call, _, _) in CASES.items()}

    def try_all(comm):
        texts = {}
        for name, call in calls.items():
            try:
                call(comm)
            except Exception as error:
                texts[name] = (type(error).__name__, str(error))
            else:
                texts[name] = ("nothing", "")
        other = 1 - comm.rank
        comm.sendrecv(np.zeros(1), dst=other, src=other)  # all is still well
        return texts

    result = world(try_all)
    for texts in result.values:
        for name, (_, exception, words) in CASES.items():
            kind, text = texts[name]
            assert kind == exception.__name__, (name, kind, text)
            assert all(word in text for word in words), (name, text)
    assert result.trace.n_messages == 2  # nothing of all that was sent


def test_a_data_buffer_is_untouched_by_a_refused_receive(world):
    def refused(comm):
        frozen = np.arange(3.0)
        frozen.setflags(write=False)
        if comm.rank == 0:
            comm.send(np.ones(3), dst=1)
            return None
        try:
            comm.recv(src=0, out=frozen)
        except ValueError:
            comm.recv(src=0)
        return frozen.tolist()

    assert world(refused).values[1] == [0, 1, 2]


def test_run_refuses_before_anything_starts(world):
    def worker(comm):
        return 0

    for workers, exception in (
        (0, ValueError), (-1, ValueError), (10**6, ValueError), (2.0, TypeError),
        (True, TypeError), ("4", TypeError), (None, TypeError),
    ):  # fmt: skip
        with pytest.raises(exception, match="workers must be an int from 1 to"):
            world(worker, workers=workers)
    with pytest.raises(TypeError, match="fn must be a function"):
        world("worker")
    with pytest.raises(TypeError, match=r"worker\(comm, \*args\) with 1 further"):
        world(worker, 3)


def test_an_uncaught_bad_argument_fails_the_run_with_its_line():
    def wrong(comm):
        comm.send(np.zeros(1), dst=5)

    with pytest.raises(WorkerError, match="ValueError: dst must be a rank from 0 to 1, got 5"):
        run(wrong, workers=2, backend="simulated")
