"""A split layer computes what the whole layer computes: forward, and both halves of going back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.models.alexnet import alexnet
from course_lib.models.chain import Chain
from course_lib.models.convolution import Convolution
from course_lib.models.fully_connected import FullyConnected
from course_lib.split import (
    Columns,
    ImageRows,
    Rows,
    Units,
    backward,
    count_once,
    forward,
    split_by_units,
    split_in_pairs,
)
from course_lib.words.split import split_evenly

# A few hundred additions of numbers around 1, in another order.
CLOSE = {"rtol": 0, "atol": 1e-11}
EVERYTHING = slice(None)


def passes(comm, make, w, x, dy):
    """Go forward and back on this rank's part."""
    layer = make(comm)
    x_own, dy_own = x[comm.rank], dy[comm.rank]
    own = layer.share(w)
    y, saved = layer.forward(own, x_own)
    weights = layer.weight_gradient(saved, dy_own)
    return y, layer.input_gradient(own, saved, dy_own), weights, layer.n_parameters == len(own)


def split_run(make, w, xs, dys):
    return run(passes, make, w, xs, dys, workers=len(xs), backend="simulated")


def whole_passes(layer, w, x, dy):
    y, saved = layer.forward(w, x)
    return y, layer.input_gradient(w, saved, dy), layer.weight_gradient(saved, dy)


class Seat:
    """Who asks a layer for no more than how it is cut needs no run."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size


def joined(make, parts):
    return make(Seat(0, len(parts))).join(parts)


@st.composite
def cuts(draw, size, least=1, most=6):
    """Draw a cut without an empty part, mostly an uneven one."""
    heights = draw(st.lists(st.integers(least, most), min_size=size, max_size=size))
    ends = np.cumsum([0, *heights]).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


def numbers(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.slow
@settings(max_examples=40)
@given(data=st.data(), size=st.integers(1, 6), bends=st.booleans(), gathers=st.booleans())
def test_columns_rows_and_units_with_any_cut_are_the_whole_layer(data, size, bends, gathers):
    inputs, outputs = data.draw(cuts(size)), data.draw(cuts(size))
    m, n_in, n_out = data.draw(st.integers(1, 4)), inputs[-1].stop, outputs[-1].stop
    layer = FullyConnected("fc", n_in, n_out, bends)
    w, x, dy = numbers(0, layer.n_parameters, (m, n_in), (m, n_out))
    y, dx, dw = whole_passes(layer, w, x, dy)
    every, of_in, of_out = [EVERYTHING] * size, inputs, outputs
    y_cut = every if gathers else of_out
    cases = [
        (lambda comm: Columns(comm, layer, outputs, gathers), every, y_cut),
        (lambda comm: Rows(comm, layer, inputs), of_in, every),
        (lambda comm: Units(comm, layer, n_in, inputs, outputs, gathers), of_in, y_cut),
    ]
    for make, x_cut, y_cut in cases:
        dys = [dy[:, part] for part in y_cut]
        values = split_run(make, w, [x[:, part] for part in x_cut], dys).values
        for value, x_part, y_part in zip(values, x_cut, y_cut, strict=True):
            np.testing.assert_allclose(value[0], y[:, y_part], **CLOSE)
            np.testing.assert_allclose(value[1], dx[:, x_part], **CLOSE)
            assert value[3]
        np.testing.assert_allclose(joined(make, [value[2] for value in values]), dw, **CLOSE)


class BiasOfEveryRank(Rows):
    """The classic mistake: every rank adds the bias to its part, and the parts are added up."""

    def forward(self, w, x):
        y, saved = super().forward(w, x)
        return y + (self._comm.size - 1) * self._mine.unpack(w)[1], saved


def left_alone(comm, array, out=None):
    return array


def test_a_bias_of_every_rank_and_a_forgotten_sum_would_be_seen():
    layer = FullyConnected("fc", 8, 6, bends=False)
    w, x, dy = numbers(1, layer.n_parameters, (5, 8), (5, 6))
    y, dx, _ = whole_passes(layer, w, x, dy)
    inputs, outputs = split_evenly(8, 2), split_evenly(6, 2)
    xs, dys = [x[:, part] for part in inputs], [dy[:, part] for part in outputs]
    wrong = [
        (lambda comm: BiasOfEveryRank(comm, layer), xs, [dy, dy], 0, y),
        (lambda comm: Rows(comm, layer, allreduce=left_alone), xs, [dy, dy], 0, y),
        (lambda comm: Columns(comm, layer, allreduce=left_alone), [x, x], dys, 1, dx),
    ]
    for make, x_parts, dy_parts, which, right in wrong:
        found = split_run(make, w, x_parts, dy_parts).values[0][which]
        assert np.abs(found - right).max() > 1e9 * CLOSE["atol"]


@given(size=st.integers(1, 5), n_in=st.integers(1, 9), extra=st.integers(0, 7), seed=st.integers(0))
def test_every_rank_draws_its_part_of_the_same_layer(size, n_in, extra, seed):
    n_out, n_in = size + extra, n_in + size
    layers = [
        FullyConnected("fc", n_in, n_out),
        FullyConnected("fc", n_in, n_out, bends=False),
    ]
    for layer in layers:
        whole = layer.initial(np.random.default_rng(seed))
        for kind in (Columns, Rows):
            for rank in range(size):
                part = kind(Seat(rank, size), layer)
                drawn = part.initial(np.random.default_rng(seed))
                assert drawn.tobytes() == part.share(whole).tobytes()
            parts = [kind(Seat(rank, size), layer).share(whole) for rank in range(size)]
            assert joined(lambda comm, k=kind, of=layer: k(comm, of), parts).tobytes() == (
                whole.tobytes()
            )


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3])
def test_channels_of_a_convolution_are_columns(size):
    layer = Convolution("conv", 2, 7, 3, (5, 4))
    w, x, dy = numbers(2, layer.n_parameters, (3, 2, 5, 4), (3, 7, 5, 4))
    y, dx, dw = whole_passes(layer, w, x, dy)
    for gathers in (False, True):
        cut = [EVERYTHING] * size if gathers else split_evenly(7, size)

        def make(comm, gathers=gathers):
            return Columns(comm, layer, gathers=gathers)

        dys = [np.ascontiguousarray(dy[:, part]) for part in cut]
        result = split_run(make, w, [x] * size, dys)
        for value, part in zip(result.values, cut, strict=True):
            np.testing.assert_allclose(value[0], y[:, part], **CLOSE)
            np.testing.assert_allclose(value[1], dx, **CLOSE)
        np.testing.assert_allclose(joined(make, [v[2] for v in result.values]), dw, **CLOSE)
        gathered = (size - 1) * y.nbytes if gathers else 0
        assert result.trace.n_bytes == gathered + 2 * (size - 1) * x.nbytes
    if size <= 2:  # every rank has some channels of the layer before, too
        before = split_evenly(2, size)

        def units(comm):
            return Units(comm, layer, 2)

        dys = [np.ascontiguousarray(dy[:, part]) for part in split_evenly(7, size)]
        values = split_run(units, w, [x[:, part] for part in before], dys).values
        np.testing.assert_allclose(np.hstack([v[0] for v in values]), y, **CLOSE)
        np.testing.assert_allclose(np.hstack([v[1] for v in values]), dx, **CLOSE)
    whole = layer.initial(np.random.default_rng(5))
    for rank in range(size):
        part = Columns(Seat(rank, size), layer)
        drawn = part.initial(np.random.default_rng(5))
        assert drawn.tobytes() == part.share(whole).tobytes()


@pytest.mark.slow
@settings(max_examples=30)
@given(data=st.data(), size=st.integers(1, 4), kernel=st.sampled_from([1, 3, 5]))
def test_rows_of_an_image_with_their_halo_are_the_whole_image(data, size, kernel):
    halo = kernel // 2
    rows = data.draw(cuts(size, least=max(1, halo), most=4))
    image = rows[-1].stop, 4
    layer = Convolution("conv", 2, 3, kernel, image)
    w, x, dy = numbers(3, layer.n_parameters, (2, 2, *image), (2, 3, *image))
    y, dx, dw = whole_passes(layer, w, x, dy)

    def make(comm):
        return ImageRows(comm, layer, rows)

    result = split_run(make, w, [x[:, :, part] for part in rows], [dy[:, :, part] for part in rows])
    for value, part in zip(result.values, rows, strict=True):
        np.testing.assert_allclose(value[0], y[:, :, part], **CLOSE)
        np.testing.assert_allclose(value[1], dx[:, :, part], **CLOSE)
        np.testing.assert_allclose(value[2], dw, **CLOSE)
    halos = [m for m in result.trace.messages if m.tag == "halo"]
    assert len(halos) == (4 * (size - 1) if halo else 0)
    assert {m.n_bytes for m in halos} <= {2 * 2 * halo * 4 * 8}  # m, channels, rows, columns


class WithoutHalo(ImageRows):
    """The classic mistake: the image ends where a rank's rows end."""

    def _swap(self, up, down):
        return None, None


def test_a_forgotten_halo_would_be_seen():
    layer = Convolution("conv", 1, 2, 3, (6, 4))
    w, x, dy = numbers(4, layer.n_parameters, (2, 1, 6, 4), (2, 2, 6, 4))
    right = whole_passes(layer, w, x, dy)
    parts = split_evenly(6, 2)
    values = split_run(
        lambda comm: WithoutHalo(comm, layer), w,
        [x[:, :, part] for part in parts], [dy[:, :, part] for part in parts],
    ).values  # fmt: skip
    for which in (0, 1):
        found = np.concatenate([value[which] for value in values], axis=2)
        assert np.abs(found - right[which]).max() > 1e9 * CLOSE["atol"]


def counted(comm, divide, model, X, y):
    net = divide(comm, model)
    grad = net.gradient(net.initial(), (X, y))[1]
    return count_once(net, grad), grad


@pytest.mark.parametrize("divide", [split_in_pairs, split_by_units])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_norm_of_a_gradient_counts_every_number_once(divide, size):
    model = alexnet(channels=4, units=12, n_classes=5)
    X, y = numbers(6, (9, 64))[0], np.arange(9) % 5
    whole = np.sum(model.gradient(model.initial(), (X, y))[1] ** 2)
    values = run(counted, divide, model, X, y, workers=size, backend="simulated").values
    assert abs(sum(np.sum(once**2) for once, _ in values) / whole - 1) < 1e-12
    if size > 1:  # what all ranks have, counted by all
        assert abs(sum(np.sum(grad**2) for _, grad in values) / whole - 1) > 1e-6


# Bytes across a cut


@pytest.mark.slow
@settings(max_examples=30)
@given(data=st.data(), size=st.integers(2, 5), m=st.integers(1, 4))
def test_activations_cross_a_cut_and_weights_never(data, size, m):
    before, units = data.draw(cuts(size)), data.draw(cuts(size))
    layer = FullyConnected("fc", before[-1].stop, units[-1].stop)
    w, x, dy = numbers(5, layer.n_parameters, (m, layer.n_in), (m, layer.n_out))
    trace = split_run(
        lambda comm: Units(comm, layer, layer.n_in, before, units), w,
        [x[:, part] for part in before], [dy[:, part] for part in units],
    ).trace  # fmt: skip
    for src in range(size):
        for dst in set(range(size)) - {src}:
            there, back = trace.between(src, dst)  # forward, then the slope of the other's units
            assert there.n_bytes == m * (before[src].stop - before[src].start) * 8
            assert back.n_bytes == m * (before[dst].stop - before[dst].start) * 8
    assert trace.n_messages == 2 * size * (size - 1)


# Bad input


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda comm, fc, conv: Columns(comm, fc, [slice(0, 6), slice(6, 6)]),
         "cut must leave no rank without work: rank 1 of 2 would have none of the 6 out"),
        (lambda comm, fc, conv: Columns(comm, FullyConnected("fc", 4, 1)),
         "each of 2 ranks must have one of the 1 outputs of fc at least: use 1 ranks at most"),
        (lambda comm, fc, conv: Rows(comm, fc, [slice(0, 3)]),
         "cut must have a part for each of 2 ranks, got 1 parts"),
        (lambda comm, fc, conv: Rows(comm, fc, [slice(0, 3), slice(4, 8)]),
         "cut must share out the 8 inputs of fc in order"),
        (lambda comm, fc, conv: Rows(comm, fc, [slice(0, 3), slice(3, 7)]),
         "cut must share out all 8 inputs of fc, got parts up to 7"),
        (lambda comm, fc, conv: Units(comm, fc, 8, [slice(0, 8), slice(8, 8)]),
         "none of the 8 units of the layer before fc"),
        (lambda comm, fc, conv: ImageRows(comm, conv, [slice(0, 1), slice(1, 4)]),
         "cut must leave every rank the 2 rows that its neighbours need"),
    ],
)  # fmt: skip
def test_a_cut_that_cannot_be_is_refused_before_anything_is_sent(make, told):
    fc, conv = FullyConnected("fc", 8, 6), Convolution("conv", 1, 1, 5, (4, 4))
    with pytest.raises(WorkerError, match=told) as caught:
        run(lambda comm: make(comm, fc, conv), workers=2, backend="simulated")
    assert caught.value.trace.n_messages == 0


@pytest.mark.parametrize("kernel", [0, 2])
def test_a_convolution_whose_image_would_change_its_size_is_refused(kernel):
    with pytest.raises(ValueError, match=f"kernel must be odd and 1 or more, got {kernel}"):
        Convolution("conv", 1, 1, kernel, (4, 4))


CONVS = [Convolution("conv1", 2, 6, 3, (7, 4)), Convolution("conv2", 6, 3, 5, (7, 4))]


def train_convolutions(comm, rows):
    """Take 20 steps towards some images, split by channels or, given ``ImageRows``, by rows."""
    if rows is None:
        own = EVERYTHING
        parts = [Columns(comm, CONVS[0]), Units(comm, CONVS[1], 6, gathers=True)]
    else:
        parts = [rows(comm, conv) for conv in CONVS]
        own = parts[0].own
    x, target = (array[:, :, own] for array in numbers(6, (4, 2, 7, 4), (4, 3, 7, 4)))
    net = Chain(parts, x.shape[1:])
    w, losses = net.initial(), []
    for _ in range(20):
        y, kept = forward(net, range(2), w, x)
        backward(net, range(2), w, kept, y - target, grad := np.zeros_like(w))
        w -= 0.003 * grad
        losses.append(np.square(y - target).sum() / 2)
    return losses


@pytest.mark.parametrize("rows", [None, ImageRows], ids=["channels", "rows"])
def test_twenty_steps_of_split_convolutions_are_those_of_whole_ones(rows):
    def trained(size, rows=rows):
        values = run(train_convolutions, rows, workers=size, backend="simulated").values
        return np.sum(values, axis=0) if rows else values[0]

    alone = trained(1)
    assert alone[-1] < 0.8 * alone[0]
    for size in (2, 3):
        np.testing.assert_allclose(trained(size), alone, rtol=1e-11)
    if rows:
        assert abs(trained(2, WithoutHalo)[-1] / alone[-1] - 1) > 1e-4
