"""A small convolutional network for 8 x 8 images, with BatchNorm or without."""

from torch import nn

from course_lib.models.torch_model import TorchModel

__all__ = ["conv_net"]


def conv_net(
    channels: int = 8, n_classes: int = 10, batch_norm: bool = False, dtype: str = "float64"
) -> TorchModel:
    """Make two convolutions, each followed by a halving of the image, and one full layer.

    With BatchNorm every channel is scaled to mean 0 and variance 1 *over the batch*. A worker that
    holds a part of the batch then sees another mean, which is why such a model gives another
    gradient when a batch is partitioned.

    Parameters
    ----------
    channels : int, default: 8
        Of the first convolution; the second has twice as many.
    n_classes : int, default: 10
        The number of outputs.
    batch_norm : bool, default: False
        Whether to put BatchNorm after each convolution. It always takes the statistics of the
        batch at hand, in ``predict`` too: running averages would be a state beside the parameters.
    dtype : {"float64", "float32"}, default: "float64"
        Of the parameters and the arithmetic.

    Returns
    -------
    TorchModel
        With layers ``"conv1"``, ``"conv2"`` and ``"fc"``; examples are rows of 64 pixels.

    Notes
    -----
    Cost: as for a fully connected layer, 6 flops for each use of a weight (2 less where no gradient
    of the inputs is needed); a convolution's weights are used once for each pixel.

    Examples
    --------
    >>> model = conv_net(channels=4)
    >>> [(layer.name, layer.n_parameters) for layer in model.layers]
    [('conv1', 40), ('conv2', 296), ('fc', 330)]
    """
    if channels < 1 or n_classes < 1:
        raise ValueError(
            f"channels and n_classes must be 1 or more, got {channels} and {n_classes}"
        )

    def convolution(n_in: int, n_out: int) -> list[nn.Module]:
        norm: list[nn.Module] = []
        if batch_norm:
            norm = [nn.BatchNorm2d(n_out, track_running_stats=False)]
        return [nn.Conv2d(n_in, n_out, 3, padding=1), *norm, nn.ReLU(), nn.MaxPool2d(2)]

    layers: list[tuple[str, nn.Module]] = [
        ("conv1", nn.Sequential(nn.Unflatten(1, (1, 8, 8)), *convolution(1, channels))),
        ("conv2", nn.Sequential(*convolution(channels, 2 * channels), nn.Flatten())),
        ("fc", nn.Linear(2 * channels * 4, n_classes)),
    ]
    uses = [64 * 9 * channels, 16 * 9 * channels * 2 * channels, 8 * channels * n_classes]
    return TorchModel(layers, uses, dtype)
