"""Two operations on images, by torch: what nodes of a dataflow graph compute."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch.nn import functional

__all__ = ["convolved", "window_means"]


def convolved(images: NDArray[Any], weights: NDArray[Any]) -> Any:
    """Convolve images, of which each keeps its size, and let nothing below 0 through (ReLU).

    Parameters
    ----------
    images : numpy.ndarray, shape (m, channels, rows, columns)
        The images.
    weights : numpy.ndarray, shape (outputs, channels, high, wide)
        The kernels, of odd sizes.

    Returns
    -------
    numpy.ndarray, shape (m, outputs, rows, columns)
        What the kernels make of them.
    """
    high, wide = weights.shape[2:]
    made = functional.conv2d(
        torch.from_numpy(images), torch.from_numpy(weights), padding=(high // 2, wide // 2)
    )
    return made.relu().numpy()


def window_means(images: NDArray[Any]) -> Any:
    """Take the mean of each pixel's window of 3 x 3; beyond the edge there are zeros.

    Parameters
    ----------
    images : numpy.ndarray, shape (m, channels, rows, columns)
        The images.

    Returns
    -------
    numpy.ndarray, shape (m, channels, rows, columns)
        The means.
    """
    return functional.avg_pool2d(torch.from_numpy(images), 3, 1, 1).numpy()
