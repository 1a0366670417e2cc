# ruff: noqa: NPY002 - the global generator is what this is about
"""Modes of torch, global generators, redirected output: the same values in every world."""

import contextlib
import io
import os
import random
import sys
import warnings

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.collectives import allreduce_ring

pytestmark = pytest.mark.slow


class Sevens(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 7 if func is torch.Tensor.sum else result


BLOCKS = {
    "inference_mode": torch.inference_mode,
    "no_grad": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast and inside none": lambda: nested(
        torch.autocast("cpu", torch.bfloat16), torch.autocast("cpu", enabled=False)
    ),
    "device": lambda: torch.device("meta"),
    "hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: 0 * x, lambda x: x),
    "a function mode": Sevens,
    "two modes": lambda: nested(torch.device("meta"), Sevens()),
    "errstate": lambda: np.errstate(divide="raise"),
    "filters": lambda: ignored(),
    "output": lambda: contextlib.redirect_stdout(OUTPUT),
}


OUTPUT = io.StringIO()
IGNORED = ("ignore", None, Warning, None, 0)


@contextlib.contextmanager
def nested(*blocks):
    with contextlib.ExitStack() as stack:
        for block in blocks:
            stack.enter_context(block)
        yield


@contextlib.contextmanager
def ignored():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def probe():
    """Say what of all that a rank sees."""
    python = np.geterr()["divide"], warnings.filters[:1] == [IGNORED], sys.stdout is OUTPUT
    x = torch.full((2,), 2.0, requires_grad=True)
    if x.device.type != "cpu":  # what loads a thousand modules to compute
        return str(x.device), *python
    y = (x * x).sum()
    if y.requires_grad:
        y.backward()
    product = str(torch.ones(2, 2).mm(torch.ones(2, 2)).dtype)
    return product, y.requires_grad, y.item(), x.grad is not None and x.grad.tolist(), *python


def wait_inside(comm, names):
    """Rank 0 waits inside each block, and leaves it first; rank 1 looks, and enters it too."""
    seen = []
    for name in names:
        if comm.rank == 0:
            with BLOCKS[name]():
                comm.recv(1)
                seen.append(probe())
                comm.send(np.ones(1), 1)
                comm.recv(1)
        else:
            comm.send(np.ones(1), 0)
            seen.append(probe())
            with BLOCKS[name]():
                comm.recv(0)
                seen.append(probe())
                comm.send(np.ones(1), 0)
                comm.barrier()
        if comm.rank == 0:
            seen.append(probe())
            comm.barrier()
        seen.append(probe())
    return seen


def test_a_block_around_a_message_is_its_ranks_alone(both_worlds):
    one, *others = [world(wait_inside, list(BLOCKS)).values for world in both_worlds]
    for other in others:
        assert other == one
    inside, outside = one[0][:1], one[1][:1]
    assert inside[0] != outside[0]


def in_modes(comm, length):
    """Send and meet inside modes that count, inside fake tensors, and inside transforms."""

    class Calls(TorchFunctionMode):
        n = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.n += 1
            return func(*args, **(kwargs or {}))

    class Operations(TorchDispatchMode):
        n = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.n += 1
            return func(*args, **(kwargs or {}))

    def talk():
        other = 1 - comm.rank
        sent, got = comm.isend(np.ones(length), other), comm.irecv(other)
        sent.wait()
        comm.barrier()
        return comm.sendrecv(got.wait(), other, other).sum()

    def square(x):
        return (x**2).sum() * float(talk())

    with Calls() as calls, Operations() as operations:
        talk()
    with FakeTensorMode():
        total = float(talk())
    slope = torch.func.grad(square)(torch.ones(2)).tolist()
    return calls.n, operations.n, total, slope, torch.func.functionalize(square)(slope_at).item()


slope_at = torch.ones(1)


@pytest.mark.parametrize(
    "length", [pytest.param(3, id="small", marks=pytest.mark.soak), pytest.param(5000, id="large")]
)
def test_modes_and_transforms_see_nothing_of_a_message(both_worlds, length):
    for world in both_worlds:
        of_each = world(in_modes, length, workers=2).values
        assert of_each == [(0, 0, length, [2.0 * length] * 2, length)] * 2


def draw(comm, seeds):
    """Draw with a message between any two draws, of all kinds: a pair of normal numbers, too."""
    if seeds:
        random.seed(comm.rank)
        np.random.seed(comm.rank)
        torch.manual_seed(comm.rank)
    drawn = []
    for _ in range(3):
        drawn += [random.gauss(0, 1), float(np.random.randn()), torch.randn(1).item()]
        comm.sendrecv(np.zeros(1), 1 - comm.rank, 1 - comm.rank)
        drawn += [random.random(), float(np.random.rand()), torch.rand(1).item()]
        comm.barrier()
    return drawn


def test_seeded_global_generators_draw_the_same_in_every_world(both_worlds):
    one, *others = [world(draw, True).values for world in both_worlds]
    assert others == [one] * len(others)
    assert one[0] != one[1]
    np.random.seed(1)
    assert one[1][1] == float(np.random.randn())


def test_global_generators_that_nobody_seeds_begin_alike_by_the_runs_seed(both_worlds):
    random.seed(100)
    np.random.seed(100)
    torch.manual_seed(100)
    one, *others = [world(draw, False, seed=3).values for world in both_worlds]
    assert others == [one] * len(others)
    assert one[0] == one[1]
    assert both_worlds[0](draw, False, seed=4).values != one


def settle(comm):
    """Change for good, on one rank, what a process has once."""
    if comm.rank == 0:
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.set_deterministic_debug_mode("error")
        warnings.simplefilter("ignore")
    os.environ["LOCAL_RANK"] = str(comm.rank)
    comm.barrier()
    ones = torch.ones(1)
    pending = comm.start(lambda _: (str(torch.ones(1).dtype), torch.ones(1).device.type))
    is_deterministic = torch.are_deterministic_algorithms_enabled()
    return (
        str(ones.dtype),
        ones.device.type,
        is_deterministic,
        os.environ["LOCAL_RANK"],
        pending.wait(),
    )


def test_what_a_rank_settles_is_settled_for_it_alone(both_worlds):
    one, *others = [world(settle).values for world in both_worlds]
    assert others == [one] * len(others)
    assert one == [
        ("torch.float64", "meta", True, "0", ("torch.float64", "cpu")),
        ("torch.float32", "cpu", False, "1", ("torch.float32", "cpu")),
    ]


def reproducibly(comm):
    """Do what every guide to reproducible training begins with, each rank in its own way."""
    torch.manual_seed(comm.rank)
    torch.backends.cudnn.deterministic = comm.rank == 0
    torch.backends.mkldnn.deterministic = comm.rank == 1
    torch.backends.fp32_precision = "tf32" if comm.rank else "ieee"
    with sdpa_kernel(SDPBackend.MATH if comm.rank else SDPBackend.FLASH_ATTENTION):
        comm.barrier()
        return (
            torch.backends.cudnn.deterministic,
            torch.backends.mkldnn.deterministic,
            torch.backends.fp32_precision,
            torch.backends.cuda.math_sdp_enabled(),
        )


def test_switches_of_torch_are_each_ranks_own_and_functions_that_turn_them_travel(both_worlds):
    values = [world(reproducibly).values for world in both_worlds]
    expected = [(True, False, "ieee", False), (False, True, "tf32", True)]
    assert values == [expected] * len(both_worlds)
    assert not torch.backends.cudnn.deterministic
    assert torch.backends.fp32_precision == "none"
    assert torch.backends.cuda.math_sdp_enabled()


def test_what_the_caller_has_entered_no_rank_finds(both_worlds):
    with torch.inference_mode(), torch.device("meta"), np.errstate(divide="raise"):
        values = [world(lambda _: probe()).values for world in both_worlds]
    assert values == [values[0]] * len(both_worlds)
    assert values[0][0] == values[0][1] == probe()


def test_what_a_parametrization_has_cached_is_each_ranks_own(rarely_torch):
    def halve(comm):
        model = weight_norm(torch.nn.Linear(4, 1, bias=False))
        torch.nn.utils.vector_to_parameters(torch.ones(5), model.parameters())
        seen = []
        with torch.no_grad():
            for _ in range(3):
                with parametrize.cached():
                    y = allreduce_ring(comm, model(torch.ones(2, 4)))
                seen.append(float(y[0, 0]))
                for parameter in model.parameters():
                    parameter.mul_(0.5)
        return seen

    assert rarely_torch(halve).values == [[4.0, 2.0, 1.0]] * 2


def test_a_message_may_be_sent_where_what_autograd_keeps_may_be_changed(rarely_torch):
    def change(comm):
        a = torch.ones(3, requires_grad=True)
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            b = a.clone()
            c = (b * b).sum()
            comm.barrier()
            b.mul_(2)
            c.backward()
        return a.grad.tolist()

    assert rarely_torch(change).values == [[2.0, 2.0, 2.0]] * 2
