"""What can be wrong with a folder of checkpoints, or with a problem of one's own."""

__all__ = ["CheckpointError", "ProblemError"]


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, one of another training, or in use; it says which."""


class ProblemError(ValueError):
    """The programs of a training have loaded different problems; it says what differs."""
