"""Convolutions whose images are cut into rows: halos that go to neighbours, and what they cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.data.digits import load_digits
from course_lib.lectures.lecture_08.held import Cells, in_order
from course_lib.models.chain import Chain
from course_lib.models.convolution import Convolution
from course_lib.planning.sized_bytes import ring_bytes
from course_lib.split import Columns, ImageRows, backward, forward
from course_lib.trace.events import Compute
from course_lib.viz import Chart, Player, chart, player
from course_lib.words.split import split_evenly
from course_lib.words.units import in_bytes

__all__ = ["IMAGES", "by_channels", "by_rows", "conv_chart", "halo_player", "two_convolutions"]

_SIDE, _BYTES, _EXAMPLES = 8, 4, 32

IMAGES: dict[str, tuple[int, int]] = {
    "224 × 224, 64 channels": (224, 64),
    "56 × 56, 256 channels": (56, 256),
    "14 × 14, 512 channels": (14, 512),
    "7 × 7, 512 channels": (7, 512),
}
"""Side and channels of images between convolutions, as in networks for 224 x 224 pixels."""


def two_convolutions(comm: Communicator | None = None) -> Chain:
    """Make two convolutions for images of 8 x 8 pixels, whole or this rank's rows.

    Parameters
    ----------
    comm : Communicator or None, default: None
        The ranks, from the top of the image to its bottom; None for whole ones.

    Returns
    -------
    Chain
        With 4 channels after the first, 8 after the second.
    """
    image = _SIDE, _SIDE
    convs = [Convolution("conv1", 1, 4, 3, image), Convolution("conv2", 4, 8, 3, image)]
    if comm is None:
        return Chain(convs, (1, *image))
    own = split_evenly(_SIDE, comm.size)[comm.rank]
    return Chain([ImageRows(comm, conv) for conv in convs], (1, own.stop - own.start, _SIDE))


def by_rows(comm: Communicator, examples: int = 16) -> tuple[Any, Any]:
    """Take images through two convolutions and back, of which this rank has some rows.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    examples : int, default: 16
        How many images of digits.

    Returns
    -------
    y : numpy.ndarray, shape (examples, 8, own rows, 8)
        What the second makes of them.
    grad : numpy.ndarray
        The gradient of all weights, for a slope of 1 in every output.
    """
    net = two_convolutions(comm)
    own = split_evenly(_SIDE, comm.size)[comm.rank]
    images = load_digits().X_train[:examples].reshape(-1, 1, _SIDE, _SIDE)
    w, grad = net.initial(), np.zeros(net.n_parameters)
    y, kept = forward(net, range(2), w, images[:, :, own])
    backward(net, range(2), w, kept, np.ones_like(y), grad)
    return y, grad


def by_channels(comm: Communicator, conv: Convolution, w: Any, x: Any) -> Any:
    """Compute a convolution of which every rank has some channels, and put them together.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    conv : Convolution
        The whole layer.
    w : numpy.ndarray, shape (n_parameters,)
        Its parameters; a rank uses those of its channels.
    x : numpy.ndarray, shape (m, n_in, rows, columns)
        All input channels.

    Returns
    -------
    numpy.ndarray, shape (m, n_out, rows, columns)
        All output channels.
    """
    layer = Columns(comm, conv, gathers=True)
    return layer.forward(layer.share(w), x)[0]


def halo_player(workers: int = 4) -> Player:
    """Play two convolutions forward and back: in each box a cell for each row of the images.

    Parameters
    ----------
    workers : int, default: 4
        How many ranks.

    Returns
    -------
    Player
        It shows the halos come and go.
    """
    trace = run(by_rows, workers=workers, backend="simulated").trace
    cut, cells = split_evenly(_SIDE, workers), Cells(trace, _SIDE, called="row")
    own = [list(range(part.start, part.stop)) for part in cut]
    for rank in range(workers):
        for row in own[rank]:
            cells.begin(rank, row, 1)
    goes_back: set[int] = set()
    for at in in_order(trace):
        if isinstance(at.event, Compute):
            word = at.event.label.rsplit(" ", 1)[0]
            halo = _halo(own[at.rank])
            if word == "input gradient":  # it knows what its rows say of the halo, too
                goes_back.add(at.rank)
                cells.put(at.rank, halo, 1, at.time_s)
            elif word == "forward":
                cells.put(at.rank, halo, 0, at.time_s)
        elif at.event.tag == "halo":
            owner = at.event.dst if at.event.src in goes_back else at.event.src
            other = at.event.src + at.event.dst - owner
            row = own[owner][-1 if other > owner else 0]
            cells.carry(at.number, row)
            if at.what == "received":
                cells.put(at.rank, [row], 1, at.time_s)
            elif at.rank != owner:
                cells.put(at.rank, [row], 0, at.time_s)
    return player(
        trace, "line", contributions=cells.contributions, even_steps=True, moments=4,
        title="Two convolutions, forward and back, two rows of every image on each rank",
    )  # fmt: skip


def conv_chart(image: tuple[int, int], kernel: int, workers: int) -> Chart:
    """Draw what a rank sends in a step of one convolution, cut by channels or by rows.

    Parameters
    ----------
    image : tuple of int
        Side and channels, a value of ``IMAGES``; the convolution makes as many channels.
    kernel : int
        Its side.
    workers : int
        How many ranks, P.

    Returns
    -------
    Chart
        A bar for each, for 32 examples and numbers of 4 bytes; the cheaper one is marked.
    """
    side, channels = image
    P, row = workers, side * channels * _EXAMPLES * _BYTES
    halos = 2 * 2 * (kernel // 2) * row  # to two neighbours, forward and back
    weights = ring_bytes(P, kernel**2 * channels**2 * _BYTES)
    bars = {"by channels": ring_bytes(P, side * row), "by rows": halos + weights}
    return chart(
        bars, unit="bytes", told=min(bars, key=lambda name: bars[name]),
        x_label="bytes that a rank sends in a step",
        said=f"By rows: {in_bytes(halos)} of halos, {in_bytes(weights)} of the weights' gradient.",
    )  # fmt: skip


def _halo(own: Sequence[int]) -> list[int]:
    return [row for row in (own[0] - 1, own[-1] + 1) if 0 <= row < _SIDE]
