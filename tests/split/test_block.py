"""A transformer block split by heads is the block as torch computes it, gradients included."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.models.chain import Chain
from course_lib.models.fully_connected import FullyConnected
from course_lib.split import Whole, split_block
from course_lib.split.heads import HalfBlock

D_MODEL, HEADS, HIDDEN, TOKENS, EXAMPLES = 12, 6, 10, 5, 3
CLOSE = {"rtol": 0, "atol": 1e-11}  # sums of some hundred numbers around 1, in another order


class Block(nn.Module):
    """The block as it is written with torch's own layers, and not split."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        self.attention = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True)
        self.hidden, self.out = nn.Linear(D_MODEL, HIDDEN), nn.Linear(HIDDEN, D_MODEL)

    def forward(self, x):
        normed = self.norm1(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return x + self.out(nn.functional.gelu(self.hidden(self.norm2(x))))

    def halves(self, of):
        """Return, of parameters or gradients, the flat vector of each half."""
        attention = self.attention
        ((wq, wk, wv), (bq, bk, bv)) = (
            of(attention.in_proj_weight).chunk(3),
            of(attention.in_proj_bias).chunk(3),
        )
        norm1, norm2 = ([of(n.weight), of(n.bias)] for n in (self.norm1, self.norm2))
        first = [*norm1, wq, bq, wk, bk, wv, bv, *map(of, attention.out_proj.parameters())]
        second = [*norm2, *map(of, self.hidden.parameters()), *map(of, self.out.parameters())]
        return [torch.cat([t.reshape(-1) for t in half]).numpy() for half in (first, second)]


def unsplit():
    """Return parameters, inputs and a slope, and what torch's autograd makes of them."""
    torch.manual_seed(3)
    block = Block().double()
    with torch.no_grad():
        for parameter in block.parameters():  # biases and norms other than 0 and 1, too
            parameter.copy_(torch.randn_like(parameter))
    x = torch.randn(EXAMPLES, TOKENS, D_MODEL, dtype=torch.float64, requires_grad=True)
    dy = torch.randn(EXAMPLES, TOKENS, D_MODEL, dtype=torch.float64)
    y = block(x)
    y.backward(dy)
    given = block.halves(lambda p: p.detach()), x.detach().numpy(), dy.numpy()
    return given, (y.detach().numpy(), x.grad.numpy(), block.halves(lambda p: p.grad))


def passes(comm, ws, x, dy):
    halves = split_block(comm, D_MODEL, HEADS, HIDDEN, TOKENS)
    own = [half.share(w) for half, w in zip(halves, ws, strict=True)]
    kept = []
    for half, w in zip(halves, own, strict=True):
        x, saved = half.forward(w, x)
        kept.append(saved)
    grads = []
    for half, w in zip(halves[::-1], own[::-1], strict=True):
        saved = kept.pop()
        grads.append(half.weight_gradient(saved, dy))
        dy = half.input_gradient(w, saved, dy)
    grads = grads[::-1]
    once = [half.once(grad) for half, grad in zip(halves, grads, strict=True)]
    return x, dy, grads, [half.n_parameters for half in halves], once


class Seat:
    def __init__(self, rank, size):
        self.rank, self.size = rank, size


def joined(values):
    halves = split_block(Seat(0, len(values)), D_MODEL, HEADS, HIDDEN, TOKENS)
    return [half.join([value[2][k] for value in values]) for k, half in enumerate(halves)]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_split_block_is_torchs_block(size):
    given, (y, dx, grads) = unsplit()
    result = run(passes, *given, workers=size, backend="simulated")
    for value in result.values:
        np.testing.assert_allclose(value[0], y, **CLOSE)
        np.testing.assert_allclose(value[1], dx, **CLOSE)
        assert value[3] == [len(grad) for grad in value[2]]
    for found, grad in zip(joined(result.values), grads, strict=True):
        np.testing.assert_allclose(found, grad, **CLOSE)
    squares = sum(np.sum(grad**2) for grad in grads)
    once = [np.sum(part**2) for value in result.values for part in value[4]]
    assert abs(sum(once) / squares - 1) < 1e-12
    # Two all-reduces forward and two back, of the activations alone.
    per_rank = sum(c.name == "allreduce_ring" for c in result.trace.collectives) / size
    assert per_rank == 4
    assert result.trace.n_bytes == 4 * 2 * (size - 1) * y.nbytes


@pytest.mark.slow
def test_on_real_processes_too(both_worlds):
    given, (y, dx, grads) = unsplit()
    for world in both_worlds[1:]:
        result = world(passes, *given, workers=2)
        np.testing.assert_allclose(result.values[1][0], y, **CLOSE)
        np.testing.assert_allclose(result.values[1][1], dx, **CLOSE)
        for found, grad in zip(joined(result.values), grads, strict=True):
            np.testing.assert_allclose(found, grad, **CLOSE)
        assert result.trace.n_bytes == 4 * 2 * y.nbytes


@pytest.mark.parametrize("mistake", ["bias of every rank", "no sum at the norm"])
def test_classic_mistakes_would_be_seen(mistake, monkeypatch):
    given, (y, dx, _) = unsplit()
    if mistake == "bias of every rank":
        forward = HalfBlock.forward

        def wrong(self, w, x):
            out, saved = forward(self, w, x)
            return out + (self._comm.size - 1) * self._unpack(w)[2], saved

        monkeypatch.setattr(HalfBlock, "forward", wrong)
    else:
        monkeypatch.setattr(
            HalfBlock, "_at_norm",
            lambda self, saved, dy: self._mine.input_gradient(saved.inside, saved.within, dy),
        )  # fmt: skip
    value = run(passes, *given, workers=2, backend="simulated").values[0]
    worst = max(np.abs(value[0] - y).max(), np.abs(value[1] - dx).max())
    assert worst > 1e9 * CLOSE["atol"]


def first_parameters(comm):
    halves = split_block(comm, D_MODEL, HEADS, HIDDEN, TOKENS)
    return [half.initial(np.random.default_rng(k)) for k, half in enumerate(halves)]


def test_every_rank_begins_with_its_part_of_one_block():
    (alone,) = run(first_parameters, workers=1, backend="simulated").values
    values = run(first_parameters, workers=3, backend="simulated").values
    for k, half in enumerate(split_block(Seat(0, 3), D_MODEL, HEADS, HIDDEN, TOKENS)):
        assert half.join([value[k] for value in values]).tobytes() == alone[k].tobytes()


@pytest.mark.parametrize(
    ("n_heads", "n_hidden", "told"),
    [
        (5, 10, "n_heads must divide d_model, 12; got 5"),
        (6, 10, "n_heads must be a multiple of the number of ranks, 4, since .*; got 6"),
        (4, 3, "each of 4 ranks must have one of the 3 hidden units at least"),
    ],
)  # fmt: skip
def test_heads_that_do_not_divide_are_refused(n_heads, n_hidden, told):
    with pytest.raises(WorkerError, match=told) as caught:
        run(split_block, D_MODEL, n_heads, n_hidden, TOKENS, workers=4, backend="simulated")
    assert caught.value.trace.n_messages == 0


@pytest.mark.slow
def test_a_network_of_split_blocks_is_trained_like_any_chain():
    """Two blocks and a classifier, 20 steps: with 3 ranks the losses of 1."""
    one, three = (run(train_blocks, workers=size, backend="simulated").values[0] for size in (1, 3))
    np.testing.assert_allclose(three, one, rtol=0, atol=1e-11)
    assert one[-1] < 0.9 * one[0]


def train_blocks(comm):
    blocks = [part for _ in range(2) for part in split_block(comm, D_MODEL, HEADS, HIDDEN, TOKENS)]
    classifier = FullyConnected("classifier", TOKENS * D_MODEL, 4, bends=False)
    net = Chain([*blocks, Whole(comm, classifier)], (TOKENS, D_MODEL))
    rng = np.random.default_rng(0)
    batch = rng.normal(size=(8, TOKENS, D_MODEL)), rng.integers(0, 4, size=8)
    w, losses = net.initial(), []
    for _ in range(20):
        loss, grad = net.gradient(w, batch)
        w -= 0.02 * grad
        losses.append(loss)
    return losses
