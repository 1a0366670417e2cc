"""What data parallelism keeps on every worker, and what is left where it is sharded: ZeRO."""

from course_lib.costs.checking import amount, checked, count, ranks

__all__ = ["bytes_held"]

STAGES = 3
"""Which of a parameter's three belongings are sharded: state, gradient too, parameter too."""


def _stage(name: str, value: int) -> None:
    count(name, value)
    if value > STAGES:
        raise ValueError(f"{name} must be 0, 1, 2 or 3, got {value}")


@checked(
    stage=_stage, n_parameters=count, workers=ranks,
    parameter_bytes=amount, gradient_bytes=amount, state_bytes=amount,
)  # fmt: skip
def bytes_held(
    stage: int, n_parameters: int, workers: int,
    parameter_bytes: float = 2, gradient_bytes: float = 2, state_bytes: float = 12,
) -> float:  # fmt: skip
    """Return what one worker holds from step to step, where the shards are equal.

    The optimizer's state is sharded from stage 1 on, gradients from stage 2 on, parameters in
    stage 3. Activations, and what is there for a moment, are not counted.

    Parameters
    ----------
    stage : {0, 1, 2, 3}
        Of ZeRO; 0 is plain data parallelism.
    n_parameters : int
        Of the model.
    workers : int
        How many share them.
    parameter_bytes, gradient_bytes, state_bytes : float, default: 2, 2 and 12
        Of each parameter: those of Adam with 16-bit arithmetic, whose state is a parameter and two
        moments of 32 bits. SGD with momentum has as many of each as a number has bytes.

    Returns
    -------
    float
        Bytes.

    References
    ----------
    S. Rajbhandari, J. Rasley, O. Ruwase and Y. He, "ZeRO: Memory optimizations toward training
    trillion parameter models", SC 2020, figure 1.

    Examples
    --------
    >>> [bytes_held(stage, 7_500_000_000, 64) / 1e9 for stage in (0, 1, 2, 3)]
    [120.0, 31.40625, 16.640625, 1.875]
    """
    held = (parameter_bytes, gradient_bytes, state_bytes)
    first_sharded = STAGES - stage
    return sum(
        n_parameters * each / (workers if place >= first_sharded else 1)
        for place, each in enumerate(held)
    )
