"""Published networks as a list of sizes: what a layer weighs, and what one example costs there.

No network is built. A scheme's price depends on the bytes of its gradients and on the time between
them; these are the numbers for it.
"""

from typing import NamedTuple

__all__ = ["PUBLISHED", "LayerSize", "parameters_and_flops"]


class LayerSize(NamedTuple):
    """One layer with weights.

    Attributes
    ----------
    name : str
        Its name, as in the publication.
    n_parameters : int
        Weights and biases.
    flops : float
        Of the forward and the backward pass for one example: three products of 2 flops for each
        multiply-add.
    n_inputs : int, default: 0
        How many numbers of one example come in, after pooling; 0 where it is not said.
    """

    name: str
    n_parameters: int
    flops: float
    n_inputs: int = 0

    @property
    def is_fully_connected(self) -> bool:
        """Whether each weight is used once for an example, and not at every place of a picture."""
        return self.flops <= 6.0 * self.n_parameters


def parameters_and_flops(layers: tuple[LayerSize, ...]) -> tuple[int, float]:
    """Add up the layers of a network.

    Parameters
    ----------
    layers : tuple of LayerSize
        In the order of the forward pass.

    Returns
    -------
    n_parameters : int
        Of all layers.
    flops : float
        Of one example's forward and backward pass.

    Examples
    --------
    >>> n_parameters, flops = parameters_and_flops(PUBLISHED["AlexNet"])
    >>> f"{n_parameters:,} parameters, {flops / 1e9:.1f} billion flops"
    '60,965,224 parameters, 4.3 billion flops'
    """
    return sum(layer.n_parameters for layer in layers), sum(layer.flops for layer in layers)


def _conv(
    name: str, n_in: int, n_out: int, kernel: int, side: int, groups: int = 1,
    entered: int | None = None,
) -> LayerSize:  # fmt: skip
    """Size a convolution with biases whose result has ``side`` times ``side`` places."""
    weights = n_out * n_in // groups * kernel**2
    n_inputs = n_in * (side if entered is None else entered) ** 2
    return LayerSize(name, weights + n_out, 6.0 * weights * side**2, n_inputs)


def _fc(name: str, n_in: int, n_out: int) -> LayerSize:
    return LayerSize(name, n_in * n_out + n_out, 6.0 * n_in * n_out, n_in)


def _alexnet() -> tuple[LayerSize, ...]:
    return (
        _conv("conv1", 3, 96, 11, 55, entered=224),
        _conv("conv2", 96, 256, 5, 27, groups=2),
        _conv("conv3", 256, 384, 3, 13),
        _conv("conv4", 384, 384, 3, 13, groups=2),
        _conv("conv5", 384, 256, 3, 13, groups=2),
        _fc("fc6", 256 * 6 * 6, 4096),
        _fc("fc7", 4096, 4096),
        _fc("fc8", 4096, 1000),
    )


def _vgg(convolutions: tuple[int, ...]) -> tuple[LayerSize, ...]:
    """Size a VGG network: so many convolutions with 64, 128, 256, 512 and 512 channels."""
    layers, n_in = [], 3
    for block, (count, n_out) in enumerate(
        zip(convolutions, (64, 128, 256, 512, 512), strict=True)
    ):
        for number in range(count):
            name = f"conv{block + 1}_{number + 1}"
            layers.append(_conv(name, n_in, n_out, 3, 224 >> block))
            n_in = n_out
    classifier = (_fc("fc6", 512 * 7 * 7, 4096), _fc("fc7", 4096, 4096), _fc("fc8", 4096, 1000))
    return (*layers, *classifier)


_INCEPTIONS = (
    ("3a", 28, 192, 64, 96, 128, 16, 32, 32),
    ("3b", 28, 256, 128, 128, 192, 32, 96, 64),
    ("4a", 14, 480, 192, 96, 208, 16, 48, 64),
    ("4b", 14, 512, 160, 112, 224, 24, 64, 64),
    ("4c", 14, 512, 128, 128, 256, 24, 64, 64),
    ("4d", 14, 512, 112, 144, 288, 32, 64, 64),
    ("4e", 14, 528, 256, 160, 320, 32, 128, 128),
    ("5a", 7, 832, 256, 160, 320, 32, 128, 128),
    ("5b", 7, 832, 384, 192, 384, 48, 128, 128),
)
"""Name, side, channels in; of 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5 and behind the pooling."""


def _googlenet() -> tuple[LayerSize, ...]:
    """Size GoogLeNet without its auxiliary classifiers; an inception module counts as one layer."""
    layers = [_conv("conv1", 3, 64, 7, 112, entered=224), _conv("conv2_reduce", 64, 64, 1, 56)]
    layers.append(_conv("conv2", 64, 192, 3, 56))
    for name, side, n_in, one, reduce3, three, reduce5, five, pooled in _INCEPTIONS:
        branches = (
            _conv("", n_in, one, 1, side), _conv("", n_in, reduce3, 1, side),
            _conv("", reduce3, three, 3, side), _conv("", n_in, reduce5, 1, side),
            _conv("", reduce5, five, 5, side), _conv("", n_in, pooled, 1, side),
        )  # fmt: skip
        whole = parameters_and_flops(branches)
        layers.append(LayerSize(f"inception{name}", *whole, n_inputs=n_in * side**2))
    return (*layers, _fc("fc", 1024, 1000))


def _resnet50() -> tuple[LayerSize, ...]:
    """Size ResNet-50; a block of three convolutions counts as one layer."""

    def normalised(n_in: int, n_out: int, kernel: int, side: int) -> LayerSize:
        """Size a convolution without biases, with a scale and a shift for each channel."""
        plain = _conv("", n_in, n_out, kernel, side)
        return plain._replace(n_parameters=plain.n_parameters + n_out)

    layers = [normalised(3, 64, 7, 112)._replace(name="conv1", n_inputs=3 * 224**2)]
    n_in, side = 64, 56
    for stage, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), start=2):
        for number in range(count):
            entered = side  # the first block of a stage halves the side, in its 3x3 convolution
            if stage > 2 and number == 0:
                side //= 2
            parts = [normalised(n_in, width, 1, entered), normalised(width, width, 3, side)]
            parts.append(normalised(width, 4 * width, 1, side))
            if number == 0:
                parts.append(normalised(n_in, 4 * width, 1, side))
            whole = parameters_and_flops((*parts,))
            name = f"block{stage}_{number + 1}"
            layers.append(LayerSize(name, *whole, n_inputs=n_in * entered**2))
            n_in = 4 * width
    return (*layers, _fc("fc", 2048, 1000))


PUBLISHED: dict[str, tuple[LayerSize, ...]] = {
    "AlexNet": _alexnet(),
    "VGG-A": _vgg((1, 1, 2, 2, 2)),
    "VGG-16": _vgg((2, 2, 3, 3, 3)),
    "GoogLeNet": _googlenet(),
    "ResNet-50": _resnet50(),
}
"""By name, in the order of the forward pass.

References
----------
A. Krizhevsky, I. Sutskever and G. E. Hinton, "ImageNet classification with deep convolutional
neural networks", NIPS 2012. K. Simonyan and A. Zisserman, "Very deep convolutional networks for
large-scale image recognition", ICLR 2015. C. Szegedy, W. Liu, Y. Jia et al., "Going deeper with
convolutions", CVPR 2015. K. He, X. Zhang, S. Ren and J. Sun, "Deep residual learning for image
recognition", CVPR 2016 (there the stride is in 1x1 convolutions, here in those of 3x3, as is usual
since).
"""
