"""What an epoch came to: a line of the table, and of a checkpoint."""

from typing import NamedTuple

__all__ = ["Row"]


class Row(NamedTuple):
    """What an epoch came to.

    Attributes
    ----------
    epoch : int
        Its number, from 1.
    loss : float
        The mean loss over all examples to train on, at the model after it.
    score : float
        The accuracy, or for a regression the loss, over the examples kept for testing.
    seconds : float
        How long its steps took, until the last rank was done: wall or virtual seconds.
    is_virtual : bool or None, default: None
        Which of them; None where it is not known.
    """

    epoch: int
    loss: float
    score: float
    seconds: float
    is_virtual: bool | None = None
