"""What can be wrong with a folder of checkpoints, or with a problem of one's own."""

import math

__all__ = ["CheckpointError", "ProblemError", "ScoreError"]


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, one of another training, or in use; it says which."""


class ProblemError(ValueError):
    """The programs of a training have loaded different problems; it says what differs."""


class ScoreError(ValueError):
    """A score cannot be computed, or its numbers cannot be compared; it says why.

    Attributes
    ----------
    loss : float
        What the model's loss is nevertheless, over the examples to train on; NaN if nobody says.
    """

    loss = math.nan
