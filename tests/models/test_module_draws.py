"""What a module draws in training is drawn again by who goes on, or is refused before it starts."""

import random
import time
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.models import from_module
from course_lib.models.torch_layer import TorchLayer
from course_lib.schemes import train
from course_lib.training import Plan

F = nn.functional
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(24, 6)), RNG.integers(0, 3, 24)
OF_NUMPY, OF_TORCH = np.random.default_rng(0), torch.Generator()
OF_PYTHON = random.Random(0)


class Scaling(nn.Module):
    """Multiplies its inputs by what it draws in training."""

    def __init__(self, draw):
        super().__init__()
        self.last, self.draw = nn.Linear(6, 3).double(), [draw]

    def forward(self, x):
        return self.last(x * self.draw[0]() if self.training else x)


class Seeding(Scaling):
    """Draws the same each time."""

    def forward(self, x):
        random.seed(1)
        return super().forward(x)


class DrawingBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, draw):
        ctx.draw = draw
        return x.clone()

    @staticmethod
    def backward(ctx, slope):
        return slope * ctx.draw(), None


class OnTheWayBack(Scaling):
    def forward(self, x):
        return DrawingBack.apply(self.last(x), self.draw[0])


def of_numpy():
    return float(np.random.uniform(0.5, 1.5))  # noqa: NPY002


def of_python():
    return random.gauss(1, 0.1)


def rarely():
    return 0.0 if random.random() < 0.01 else 1.0


def rarely_of_numpy():
    return 0.0 if OF_NUMPY.random() < 0.01 else 1.0


def held_by_an_object():
    class Draws:
        def __init__(self):
            self.ours = torch.Generator()

        def factor(self):
            return 0.0 if torch.rand((), generator=self.ours) < 0.01 else 1.0

    return Draws().factor


ELSEWHERE = {
    "numpy.random": (of_numpy, "module draws from NumPy's generator"),
    "random": (of_python, "module draws from Python's generator"),
    "rarely": (rarely, "module draws from Python's generator"),
    "a generator of NumPy": (
        lambda: OF_NUMPY.uniform(0.5, 1.5), "module draws from the generator 'OF_NUMPY'",
    ),
    "rarely of NumPy": (rarely_of_numpy, "module draws from the generator 'OF_NUMPY'"),
    "a generator of torch": (
        lambda: torch.rand((), generator=OF_TORCH), "module draws from the generator 'OF_TORCH'",
    ),
    "a clock": (lambda: time.perf_counter() % 1, "module gives something else when it is called"),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("inside", [False, True])
def test_a_module_that_draws_elsewhere_is_refused(name, inside):
    draw, told = ELSEWHERE[name]
    module = nn.Sequential(Scaling(draw), nn.Linear(3, 3).double()) if inside else Scaling(draw)
    with pytest.raises(ValueError, match=f"{told}.*o checkpoint keeps that.*draw in the module"):
        from_module(module, example=(X, Y))


@pytest.mark.parametrize(
    "draw", [partial(OF_PYTHON.uniform, 0.5, 1.5), OF_NUMPY.random, held_by_an_object()]
)
def test_a_generator_that_a_module_reaches_through_what_it_holds_is_refused(draw):
    """It is copied with the module, so that every worker has its own."""
    with pytest.raises(ValueError, match="module changes draw while it trains"):
        from_module(Scaling(draw), example=(X, Y))


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (lambda z, y: F.cross_entropy(z * of_numpy(), y), "loss draws from NumPy's generator"),
        (lambda z, y: F.cross_entropy(F.dropout(z), y), "loss draws from torch's generator"),
        (
            lambda z, y: F.cross_entropy(z * OF_NUMPY.uniform(0.5, 1.5), y),
            "loss draws from the generator 'OF_NUMPY'",
        ),
    ],
)
def test_a_loss_that_draws_is_refused(loss, told):
    with pytest.raises(ValueError, match=told):
        from_module(nn.Linear(6, 3), loss, example=(X, Y))


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (of_numpy, "module draws from NumPy's generator .* while autograd"),
        (lambda: torch.rand(()), "module draws from torch's generator while autograd goes back"),
        (lambda: OF_NUMPY.uniform(0.5, 1.5), "module finds another gradient"),
    ],
)
def test_what_is_drawn_on_the_way_back_is_refused(draw, told):
    with pytest.raises(ValueError, match=told):
        from_module(OnTheWayBack(draw), example=(X, Y))


@pytest.mark.parametrize(
    "module", [Scaling(lambda: torch.rand(()).double()), Seeding(lambda: random.gauss(1, 0.1))]
)
def test_what_is_drawn_by_torch_or_anew_each_time_is_drawn_again(module):
    model = from_module(module, example=(X, Y))
    first, again = (train(model, X, Y, Plan(0.5, 8, epochs=2)) for _ in range(2))
    assert first.w.tobytes() == again.w.tobytes()
    # The likely mistake: nothing is drawn at all.
    without = train(from_module(Scaling(lambda: 1.0), example=(X, Y)), X, Y, Plan(0.5, 8, epochs=2))
    assert np.abs(first.w - without.w).max() > 1e-3


def test_a_look_leaves_the_generators_alone():
    module = Scaling(lambda: torch.rand(()).double())
    before = torch.get_rng_state(), np.random.get_state()[2], random.getstate()  # noqa: NPY002
    from_module(module, example=(X, Y))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[2] == before[1]  # noqa: NPY002
    assert random.getstate() == before[2]


class Holding(nn.Module):
    """Has generators that it never uses, one of them inside of something."""

    def __init__(self, uses=False):
        super().__init__()
        self.last, self.uses = nn.Linear(6, 3).double(), uses
        self.generator, self.settings = torch.Generator(), {"draws": Held(torch.Generator())}

    def forward(self, x):
        if self.uses:
            x = x * torch.rand((), generator=self.settings["draws"].generator)
        return self.last(x)


class Held:
    def __init__(self, generator):
        self.generator = generator


def test_a_generator_that_a_module_never_uses_is_left_alone():
    for _ in range(5):  # it was a matter of chance
        from_module(Holding(), example=(X, Y))
    with pytest.raises(ValueError, match="module changes settings while it trains"):
        from_module(Holding(uses=True), example=(X, Y))


@pytest.mark.parametrize("draw", [of_numpy, of_python, rarely_of_numpy, held_by_an_object()])
def test_a_layer_of_a_chain_that_draws_elsewhere_is_refused_too(draw):
    layer = TorchLayer("block", Scaling(draw), uses=1)
    with pytest.raises(ValueError, match="'block' must not draw random numbers"):
        layer.output_shape((6,))
