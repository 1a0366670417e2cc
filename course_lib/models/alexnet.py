"""AlexNet's shape at the size of a digit: five convolutions, then three fully connected layers."""

from itertools import pairwise

from torch import nn

from course_lib.models.chain import Chain
from course_lib.models.fully_connected import FullyConnected
from course_lib.models.torch_layer import TorchLayer

__all__ = ["alexnet"]

_SIDE = 8


def alexnet(channels: int = 8, units: int = 64, n_classes: int = 10) -> Chain:
    """Make a small network of AlexNet's shape for 8 x 8 images.

    The convolutions have few parameters and take most of the time; the fully connected layers have
    most of the parameters. The image is halved after the first, second and fifth convolution.

    Parameters
    ----------
    channels : int, default: 8
        Of the first convolution; the others have twice as many.
    units : int, default: 64
        Of the first two fully connected layers.
    n_classes : int, default: 10
        The number of outputs.

    Returns
    -------
    Chain
        With layers ``"conv1"`` to ``"conv5"`` and ``"fc6"`` to ``"fc8"``; examples are rows of 64
        pixels.

    References
    ----------
    A. Krizhevsky, I. Sutskever and G. E. Hinton, "ImageNet classification with deep convolutional
    neural networks", NIPS 2012, section 3.

    Examples
    --------
    >>> [part.name for part in alexnet().parts]
    ['conv1', 'conv2', 'conv3', 'conv4', 'conv5', 'fc6', 'fc7', 'fc8']
    """
    wide = 2 * channels
    widths = [1, channels, wide, wide, wide, wide]
    sides = [_SIDE, 4, 2, 2, 2]  # of the image that each convolution sees
    parts: list[TorchLayer | FullyConnected] = []
    for k, (n_in, n_out) in enumerate(pairwise(widths), start=1):
        side = sides[k - 1]
        halves = [nn.MaxPool2d(2)] if k in (1, 2, 5) else []
        opens = [nn.Unflatten(1, (1, _SIDE, _SIDE))] if k == 1 else []
        module = nn.Sequential(*opens, nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU(), *halves)
        parts.append(TorchLayer(f"conv{k}", module, side * side * 9 * n_in * n_out))
    parts += [
        FullyConnected("fc6", wide, units),
        FullyConnected("fc7", units, units),
        FullyConnected("fc8", units, n_classes, bends=False),
    ]
    return Chain(parts, (_SIDE * _SIDE,))
