"""What can be wrong with a folder of checkpoints."""

__all__ = ["CheckpointError"]


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, one of another training, or in use; it says which."""
