"""Unusable arguments are refused at the call, by name, in every world alike."""

import warnings

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from course_lib import run
from course_lib.collectives import allreduce_ring, broadcast_tree, reduce_tree
from course_lib.comm.errors import WorkerError


def torch_of(_):
    """Import torch where it is needed, in the worker."""
    import torch

    return torch


# name: (call, exception, words its text must hold)
CASES = {
    "dst too large": (lambda c: c.send(np.zeros(1), dst=2), ValueError, ("dst", "0 to 1", "2")),
    "dst negative": (lambda c: c.send(np.zeros(1), dst=-1), ValueError, ("dst", "0 to 1", "-1")),
    "dst float": (lambda c: c.send(np.zeros(1), dst=1.0), TypeError, ("dst", "1.0", "float")),
    "dst bool": (lambda c: c.send(np.zeros(1), dst=True), TypeError, ("dst", "True", "bool")),
    "dst text": (lambda c: c.send(np.zeros(1), dst="1"), TypeError, ("dst", "'1'", "str")),
    "dst None": (lambda c: c.send(np.zeros(1), dst=None), TypeError, ("dst", "None")),
    "dst an array": (
        lambda c: c.send(np.zeros(1), np.array([1 - c.rank])),
        TypeError,
        ("dst must be a rank", "array([", "ndarray"),
    ),
    "src a tensor": (
        lambda c: c.recv(torch_of(c).tensor([1 - c.rank])),
        TypeError,
        ("src must be a rank", "tensor([", "Tensor"),
    ),
    "to itself": (lambda c: c.send(np.zeros(1), dst=c.rank), ValueError, ("dst", "itself")),
    "src too large": (lambda c: c.recv(src=99), ValueError, ("src", "0 to 1", "99")),
    "from itself": (lambda c: c.recv(src=c.rank), ValueError, ("src", "itself")),
    "sendrecv src": (lambda c: c.sendrecv(np.zeros(1), 1 - c.rank, 7), ValueError, ("src", "7")),
    "sendrecv dst": (lambda c: c.sendrecv(np.zeros(1), 7, 1 - c.rank), ValueError, ("dst", "7")),
    "tag float": (lambda c: c.recv(1 - c.rank, tag=1.5), TypeError, ("tag", "1.5", "float")),
    "tag bool": (lambda c: c.recv(1 - c.rank, tag=True), TypeError, ("tag", "True")),
    "tag list": (lambda c: c.send(np.zeros(1), 1 - c.rank, tag=[1]), TypeError, ("tag", "[1]")),
    "tag array": (
        lambda c: c.recv(1 - c.rank, tag=np.array([1])),
        TypeError,
        ("tag", "array([1])"),
    ),
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
        lambda c: c.recv(1 - c.rank, out=np.zeros(1), op="add"),
        ValueError,
        ("op", "'add'", "'sum'"),
    ),
    "op mean": (
        lambda c: c.recv(1 - c.rank, out=np.zeros(1), op="mean"),
        ValueError,
        ("op", "'mean'", "'sum'", "comm.size"),
    ),
    "op without out": (lambda c: c.recv(1 - c.rank, op="sum"), ValueError, ("op='sum'", "out")),
    "out overlaps": (
        lambda c: (lambda a: c.sendrecv(a[:2], 1 - c.rank, 1 - c.rank, out=a[1:]))(np.zeros(3)),
        ValueError,
        ("out", "overlap"),
    ),
    "out expanded": (
        lambda c: c.recv(1 - c.rank, out=as_strided(np.zeros(1), (4, 2), (0, 0))),
        ValueError,
        ("out", "memory for each of its elements"),
    ),
    "out overlaps itself": (
        lambda c: c.recv(1 - c.rank, out=as_strided(np.zeros(10), (4, 4), (8, 16))),
        ValueError,
        ("out", "memory for each of its elements"),
    ),
    "sum of strings": (
        lambda c: c.recv(1 - c.rank, out=np.array(["a"]), op="sum"),
        TypeError,
        ("op='sum'", "<U1", "only numbers and times"),
    ),
    "largest of strings": (
        lambda c: c.recv(1 - c.rank, out=np.array([b"a"]), op="max"),
        TypeError,
        ("op='max'", "S1"),
    ),
    "sum of dates": (
        lambda c: c.sendrecv(np.zeros(1), 1 - c.rank, 1 - c.rank, np.zeros(1, "M8[s]"), "sum"),
        TypeError,
        ("op='sum'", "datetime64[s]", "no date"),
    ),
    "sum of bools": (
        lambda c: c.recv(1 - c.rank, out=np.zeros(1, "?"), op="sum"),
        TypeError,
        ("op='sum'", "bool", "logical or", "int64"),
    ),
    "largest complex": (
        lambda c: c.recv(1 - c.rank, out=np.zeros(1, "c16"), op="max"),
        TypeError,
        ("op='max'", "complex128", "no order"),
    ),
    "all-reduce of bools": (
        lambda c: allreduce_ring(c, np.zeros(4, "?")),
        TypeError,
        ("op='sum'", "bool", "logical or", "int64"),
    ),
    "reduce of strings": (
        lambda c: reduce_tree(c, np.array(["a", "b"]), op="max"),
        TypeError,
        ("op='max'", "<U1"),
    ),
    "all-reduce of bools in torch": (
        lambda c: allreduce_ring(c, torch_of(c).zeros(4, dtype=torch_of(c).bool)),
        TypeError,
        ("op='sum'", "bool", "int64"),
    ),
    "tag too long": (
        lambda c: c.send(np.zeros(1), 1 - c.rank, tag="x" * 5000),
        ValueError,
        ("tag", "1,000 bytes", "5,000"),
    ),
    "tag too long in bytes": (
        lambda c: c.recv(1 - c.rank, tag="ä" * 501),
        ValueError,
        ("tag", "1,000 bytes", "1,002"),
    ),
    "tag too large": (
        lambda c: c.send(np.zeros(1), 1 - c.rank, tag=2**8000),
        ValueError,
        ("tag", "1,000 bytes", "1,001"),
    ),
    "color too large": (lambda c: c.split(2**70), ValueError, ("color", "64 bits", "71")),
    "color without a sign": (lambda c: c.split(2**63), ValueError, ("color", "2**63 - 1", "64")),
    "key too small": (lambda c: c.split(0, -(2**65)), ValueError, ("key", "64 bits", "66")),
    "label": (lambda c: c.compute(3), TypeError, ("label", "3", "int")),
    "flops negative": (lambda c: c.compute("x", flops=-1.0), ValueError, ("flops", "-1.0")),
    "flops of 400 digits": (
        lambda c: c.compute("x", flops=10**400),
        ValueError,
        ("flops", "1000000"),
    ),
    "flops NaN": (lambda c: c.compute("x", flops=float("nan")), ValueError, ("flops", "nan")),
    "flops text": (lambda c: c.compute("x", flops="9"), TypeError, ("flops", "'9'", "str")),
    "flops array": (lambda c: c.compute("x", flops=np.ones(2)), TypeError, ("flops", "ndarray")),
    "rank set": (lambda c: setattr(c, "rank", 5), AttributeError, ("comm.rank", "5", "==")),
    "size set": (lambda c: setattr(c, "size", 5), AttributeError, ("comm.size", "2", "5", "==")),
    "device set": (lambda c: setattr(c, "device", 0), AttributeError, ("comm.device is", "==")),
    "root None": (
        lambda c: broadcast_tree(c, np.zeros(1), root=None),
        TypeError,
        ("root", "0 to 1", "None"),
    ),
    "root float": (
        lambda c: reduce_tree(c, np.zeros(1), root=1.0),
        TypeError,
        ("root", "0 to 1", "float"),
    ),
    "root an array": (
        lambda c: broadcast_tree(c, np.zeros(1), root=np.array([0])),
        TypeError,
        ("root", "0 to 1", "array([0])"),
    ),
    "no communicator": (
        lambda _: allreduce_ring(None, np.zeros(1)),
        TypeError,
        ("comm", "first", "NoneType"),
    ),
    "communicator second": (
        lambda c: allreduce_ring(np.zeros(1), c),
        TypeError,
        ("comm", "first", "ndarray"),
    ),
    "communicator by name": (
        lambda c: allreduce_ring(array=np.zeros(1), comm=c),
        TypeError,
        ("comm", "first", "none"),
    ),
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


TENSORS = {
    "sparse": (lambda t: t.eye(3).to_sparse(), ("is a sparse tensor of layout", "to_dense()")),
    "rows": (lambda t: t.eye(3).to_sparse_csr(), ("layout sparse_csr", "to_dense()")),
    "quantized": (
        lambda t: t.quantize_per_tensor(t.ones(3), 0.1, 0, t.qint8),
        ("is a quantized tensor", "dequantize()"),
    ),
    "nested": (
        lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]),
        ("is a nested tensor", "unbind()"),
    ),
    "meta": (lambda t: t.ones(3, device="meta"), ("on device meta", "no numbers")),
    "half complex": (
        lambda t: t.ones(3, dtype=t.complex64).to(t.complex32),
        ("torch.complex32", "complex64"),
    ),
    "eight bits": (lambda t: t.ones(3).to(t.float8_e4m3fn), ("float8_e4m3fn", "float()")),
}


def try_tensors(comm):
    """Send and receive into tensors that are no plain arrays; return what was said."""
    import torch

    texts, other = {}, 1 - comm.rank
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of these are still in beta, says torch
        for name, (make, _) in TENSORS.items():
            tensor = make(torch)
            with pytest.raises(TypeError) as raised:
                comm.send(tensor, other)
            texts[name, "array"] = str(raised.value)
            with pytest.raises(TypeError) as raised:
                comm.recv(other, out=tensor)
            texts[name, "out"] = str(raised.value)
            if name not in ("half complex", "eight bits"):
                with pytest.raises(TypeError, match="not a plain array of numbers"):
                    allreduce_ring(comm, tensor)
    return texts


def test_tensors_that_are_no_plain_arrays_are_refused_by_what_they_are(world):
    for texts in world(try_tensors).values:
        for (name, argument), text in texts.items():
            assert text.startswith(argument)
            assert all(word in text for word in TENSORS[name][1]), (name, text)


def send_views(comm):
    """Send views that torch conjugates or negates when they are read."""
    import torch

    numbers, other = torch.tensor([1 + 2j, 3 - 4j]), 1 - comm.rank
    found = [comm.sendrecv(view, other, other) for view in (numbers.conj(), numbers.conj().imag)]
    found.append(allreduce_ring(comm, numbers.conj()))
    for out in (numbers.conj(), numbers.conj().imag):
        with pytest.raises(TypeError, match="out is a view that is conjugated or negated"):
            comm.recv(other, out=out)
        with pytest.raises(TypeError, match="out is a view that is conjugated or negated"):
            allreduce_ring(comm, out.clone(), out=out)
    with pytest.raises(ValueError, match="out must have memory for each of its elements"):
        comm.recv(other, out=torch.zeros(1).expand(4))
    return [tensor.tolist() for tensor in found]


def test_a_conjugated_view_arrives_as_what_it_shows(world):
    shown = [[1 - 2j, 3 + 4j], [-2.0, 4.0], [2 - 4j, 6 + 8j]]
    assert world(send_views).values == [shown, shown]


def test_the_longest_tag_of_an_array_with_many_dimensions_travels(world):
    tags = ["x" * 1000, "ä" * 500, 2**7990, -(2**7990)]

    def work(comm):
        array = np.zeros((1,) * 32, "U3")
        if comm.rank == 0:
            for tag in tags:
                comm.send(array, 1, tag=tag)
            return None
        return [comm.recv(0, tag=tag).shape == array.shape for tag in tags]

    assert world(work).values[1] == [True] * 4


def test_a_color_and_a_key_of_64_bits_are_the_largest(world):
    def work(comm):
        group = comm.split(2**63 - 1 if comm.rank else -(2**63), key=-(2**63))
        return group.rank, group.size

    assert world(work).values == [(0, 1), (0, 1)]
