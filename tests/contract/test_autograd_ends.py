"""Autograd ends at a message: what is received never requires grad, in every world."""

import contextlib
import warnings

import numpy as np
import pytest

from course_lib.collectives import (
    ALLREDUCES,
    allgather_ring,
    alltoall,
    broadcast_flat,
    broadcast_tree,
    gather,
    reduce_flat,
    reduce_scatter_ring,
    reduce_tree,
    scatter,
)
from tests.worlds import REAL

MOVING = [broadcast_flat, broadcast_tree, scatter, gather, allgather_ring, alltoall]
REDUCING = [reduce_flat, reduce_tree, reduce_scatter_ring, *ALLREDUCES.values()]


def results_of_all(comm, x):
    """Call every collective with a tensor that requires grad, in all its ways."""
    for collective in MOVING:
        yield collective.__name__, collective(comm, x)
    for collective in REDUCING:
        for op in ("sum", "max"):
            yield f"{collective.__name__} {op}", collective(comm, array=x, op=op)
        beside = comm.start(collective, x * 2)  # not a leaf
        yield f"{collective.__name__} started", beside.wait()
    if comm.size > 1:
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        yield "sendrecv", comm.sendrecv(x * 2, right, left)
        comm.send(x, right)
        yield "recv_any", comm.recv_any()[1]


def call_all(comm, has_a_process):
    import torch

    if has_a_process:  # else warnings are errors already, and the filters are those of all ranks
        warnings.simplefilter("error")
    x = torch.arange(12.0, requires_grad=True)
    x.grad = torch.full((12,), 7.0)
    wrong, n_seen = [], 0
    for name, result in results_of_all(comm, x):
        n_seen += 1
        if result is not None and (result.requires_grad or result.grad_fn is not None):
            wrong.append(name)
        if result is not None and result.data_ptr() == x.data_ptr():
            wrong.append(f"{name} is its argument")
    untouched = torch.equal(x, torch.arange(12.0)) and x.requires_grad and x.grad_fn is None
    return wrong, n_seen, bool(untouched), set(x.grad.tolist())


def test_no_collective_of_any_size_returns_what_requires_grad(world):
    pytest.importorskip("torch")  # now: loading it takes a while, which is no part of a run
    for workers in (1, 2, 3, 4):
        n_results = len(MOVING) + 3 * len(REDUCING) + 2 * (workers > 1)
        for found in world(call_all, world.backend in REAL, workers=workers).values:
            assert found == ([], n_results, True, {7.0}), workers


def refuse_all(comm):
    """Try to receive into tensors that require grad."""
    import torch

    leaf = torch.zeros(4, requires_grad=True)
    calls = [lambda out: comm.recv(1 - comm.rank, out=out)] if comm.size == 2 else []
    if comm.size == 2:
        calls.append(lambda out: comm.sendrecv(out, 1 - comm.rank, 1 - comm.rank, out=out))
    for collective in (*MOVING, *REDUCING):
        calls.append(lambda out, c=collective: c(comm, torch.ones(4), out=out))
    texts = set()
    for call in calls:
        for out in (leaf, leaf * 1):
            with pytest.raises(ValueError, match="out must be a tensor that does not requi") as e:
                call(out)
            texts.add(str(e.value))
    assert not leaf.detach().any()
    ALLREDUCES["ring"](comm, torch.ones(4), out=leaf.detach())  # as the sentence says
    return texts, leaf.tolist(), leaf.requires_grad


def test_out_that_requires_grad_is_refused_before_anything_is_sent(world):
    for workers in (1, 2):
        result = world(refuse_all, workers=workers)
        for texts, leaf, requires_grad in result.values:
            (text,) = texts
            assert "pass out=out.detach(), which shares its memory" in text
            assert (leaf, requires_grad) == ([float(workers)] * 4, True)
        assert result.trace.n_messages == 2 * (workers - 1) * workers


def test_a_gradient_through_a_collective_is_an_error_and_not_an_invention():
    import torch

    from course_lib import run

    def work(comm, name):
        x = torch.full((4,), 2.0, requires_grad=True)
        with pytest.raises(RuntimeError, match="does not require grad"):
            ALLREDUCES[name](comm, x).sum().backward()
        return x.grad

    for name in ALLREDUCES:
        assert run(work, name, workers=3, backend="simulated").values == [None] * 3


def test_what_is_no_tensor_is_left_as_it_is():
    from course_lib import run

    def work(comm):
        x = np.ones(3)
        return ALLREDUCES["ring"](comm, x, out=x) is x

    assert run(work, workers=3, backend="simulated").values == [True] * 3


def overwrite_what_autograd_needs(comm):
    """Put messages into what a loss was computed from; name what is differentiated for all that."""
    import torch

    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    def received(out):
        comm.send(out.clone(), right)
        comm.recv(left, out=out)

    def posted(out):
        coming = comm.irecv(left, out=out)
        comm.send(out.clone(), right)
        coming.wait()

    ways = [received, posted, lambda out: comm.sendrecv(out.clone(), right, left, out=out)]
    for collective in (*MOVING, *REDUCING):
        ways.append(lambda out, c=collective: c(comm, out.clone(), out=out))
    for allreduce in ALLREDUCES.values():
        ways.append(lambda out, c=allreduce: c(comm, out, out=out))
    silent = []
    for number, way in enumerate(ways):
        x = torch.ones(4, requires_grad=True)
        loss = x.square().sum()
        before = x._version
        with contextlib.suppress(ValueError):  # rows of another number are no matter here
            way(x.detach())
        if x._version > before:
            with contextlib.suppress(RuntimeError):
                loss.backward()
                silent.append(number)
        else:
            silent.append(number)
    return silent


def test_what_was_computed_from_overwritten_numbers_is_not_differentiated(world):
    pytest.importorskip("torch")
    for found in world(overwrite_what_autograd_needs, workers=4).values:
        assert found == []
