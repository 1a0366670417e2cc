"""What a rank sends in a step of a net of which only the sizes are known: data, hybrid, model.

Exchanges are rings: of n bytes among R ranks each sends 2 (R - 1) / R n, in an all-reduce as in a
gathering and the sum of its slopes.
"""

from course_lib.models.published import LayerSize
from course_lib.planning.sized_steps import SizedStep

__all__ = ["equal_layers", "grids", "hybrid_bytes", "model_bytes", "pairs_bytes", "ring_bytes"]


def equal_layers(width: int, n_layers: int = 4) -> tuple[LayerSize, ...]:
    """Size fully connected layers that are alike.

    Parameters
    ----------
    width : int
        The inputs of each, and its units.
    n_layers : int, default: 4
        How many, an even number.

    Returns
    -------
    tuple of LayerSize
        In the order of the forward pass.
    """
    weights = width * width
    each = LayerSize("fc", weights + width, 6.0 * weights, width)
    return tuple(each._replace(name=f"fc{k}") for k in range(1, n_layers + 1))


def grids(workers: int) -> list[tuple[int, int]]:
    """List the grids of so many workers.

    Parameters
    ----------
    workers : int
        How many, P.

    Returns
    -------
    list of (int, int)
        Replicas and splits, whose product is P; data parallelism first.
    """
    return [(workers // K, K) for K in range(1, workers + 1) if workers % K == 0]


def pairs_bytes(step: SizedStep, replicas: int, splits: int) -> dict[str, float]:
    """Count what a rank sends where fully connected layers are split in pairs, column and row.

    Parameters
    ----------
    step : SizedStep
        Layers of equal width, an even number of them, and the batch of all replicas together.
    replicas, splits : int
        The grid.

    Returns
    -------
    dict of str to float
        Bytes of "gradients" and of "activations", with their slopes. All exchanges are rings.
    """
    m = step.batch / replicas
    activations = 0.0
    for first, second in zip(step.layers[::2], step.layers[1::2], strict=True):
        outputs = step.input_bytes(second, 1) * m  # as many as the second layer's inputs
        slopes = 0.0 if first is step.layers[0] else step.input_bytes(first, 1) * m
        activations += ring_bytes(splits, outputs) + ring_bytes(splits, slopes)
    gradients = ring_bytes(replicas, step.parameter_bytes(step.layers) / splits)
    return {"gradients": gradients, "activations": activations}


def hybrid_bytes(step: SizedStep, replicas: int, splits: int) -> dict[str, float]:
    """Count what a rank sends where the fully connected layers at the end are split by units.

    Parameters
    ----------
    step : SizedStep
        The net, and the batch of all ranks together.
    replicas, splits : int
        The grid: each row of ``splits`` ranks shares the fully connected layers.

    Returns
    -------
    dict of str to float
        Bytes of "gradients" and of "activations", with their slopes, as ``hybrid_step`` sends them
        where the net begins with other layers; where it does not, the slope of the examples is
        counted and not sent. One split is data parallelism. The last outputs are not counted.
    """
    apart, split = step.layers[: step.split_at], step.layers[step.split_at :]
    gradients = ring_bytes(replicas * splits, step.parameter_bytes(apart))
    gradients += ring_bytes(replicas, step.parameter_bytes(split) / splits)
    inputs = sum(step.input_bytes(layer, step.batch) for layer in split) / replicas
    return {"gradients": gradients, "activations": ring_bytes(splits, inputs)}


def model_bytes(step: SizedStep, workers: int) -> dict[str, float]:
    """Count what a rank sends where every layer is split, by channels or by units.

    Parameters
    ----------
    step : SizedStep
        The net, and the batch, which is everybody's.
    workers : int
        How many ranks.

    Returns
    -------
    dict of str to float
        Bytes of "gradients", which are none, and of "activations", with their slopes.
    """
    inputs = sum(step.input_bytes(layer, step.batch) for layer in step.layers[1:])
    return {"gradients": 0.0, "activations": ring_bytes(workers, inputs)}


def ring_bytes(size: int, n_bytes: float) -> float:
    """Count what each rank sends in a ring all-reduce, or in a gathering and a sum.

    Parameters
    ----------
    size : int
        How many ranks.
    n_bytes : float
        Of the array.

    Returns
    -------
    float
        Bytes.
    """
    return 2 * (size - 1) / size * n_bytes
