"""A convolution as a layer of a chain, of which some channels, or some rows, can be computed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from course_lib.models.torch_layer import TorchLayer

__all__ = ["Convolution"]


class Convolution(TorchLayer):
    """Every output pixel is a weighted sum of its surroundings in all input channels; then a ReLU.

    What lies outside of the image counts as 0, so that it keeps its size.

    Parameters
    ----------
    name : str
        What to call it.
    n_in, n_out : int
        Channels before it and after it, 1 or more.
    kernel : int
        The side of the surroundings, odd.
    image : tuple of int
        Rows and columns of the image.
    pads_rows : bool, default: True
        Whether it sees zeros above and below. If not, the rows that it needs there have to be in
        what it is given: it makes ``kernel - 1`` rows fewer than it gets.

    Raises
    ------
    ValueError
        If the kernel is even, or a number below 1.
    """

    def __init__(
        self, name: str, n_in: int, n_out: int, kernel: int, image: tuple[int, int],
        pads_rows: bool = True,
    ) -> None:  # fmt: skip
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(f"kernel must be odd and 1 or more, got {kernel}")
        if n_in < 1 or n_out < 1:
            raise ValueError(f"n_in and n_out must be 1 or more, got {n_in} and {n_out}")
        self.n_in, self.n_out, self.kernel, self.image = n_in, n_out, kernel, image
        self.halo = kernel // 2
        padding = (self.halo if pads_rows else 0, self.halo)
        rows, columns = image
        module = nn.Sequential(nn.Conv2d(n_in, n_out, kernel, padding=padding), nn.ReLU())
        super().__init__(name, module, rows * columns * kernel**2 * n_in * n_out)

    def of_outputs(self, n_out: int) -> "Convolution":
        """Return the mathematics of so many of its channels."""
        return Convolution(self.name, self.n_in, n_out, self.kernel, self.image)

    def of_rows(self, n_rows: int) -> "Convolution":
        """Return the mathematics of so many rows, whose surroundings are given."""
        image = n_rows, self.image[1]
        return Convolution(self.name, self.n_in, self.n_out, self.kernel, image, pads_rows=False)

    def initial_part(
        self, rng: np.random.Generator, outputs: slice, inputs: slice = slice(None)
    ) -> NDArray[Any]:
        """Draw what ``initial`` draws, and keep these channels' weights for these inputs."""
        shape = self.n_in, self.kernel, self.kernel
        limit = np.sqrt(6 / np.prod(shape))
        kept = []
        for channel in range(outputs.stop):
            weights = rng.uniform(-limit, limit, shape)
            if channel >= outputs.start:
                kept.append(weights[inputs].ravel())
        return np.concatenate([*kept, np.zeros(outputs.stop - outputs.start)])
