"""What every rank of a run goes by; importing this loads nothing that computes."""

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """What every rank of a run goes by.

    Attributes
    ----------
    eager_bytes : int
        Up to what size ``send`` returns after copying; 0 makes every send wait for its receive.
    seed : int
        For the ranks' random generators.
    trace : bool
        Whether to record what happens.
    """

    eager_bytes: int
    seed: int
    trace: bool
