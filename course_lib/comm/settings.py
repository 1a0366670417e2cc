"""What every rank of a run goes by; importing this loads nothing that computes."""

from dataclasses import dataclass

from course_lib.comm.rates import USUAL, Rates

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
    rates : Rates
        What a message costs, by rank 0's account. The simulator's ranks go by their network.
    survive : bool
        Whether the others go on when a rank is lost.
    restart : int
        How often such a rank is started again at most.
    """

    eager_bytes: int
    seed: int
    trace: bool
    rates: Rates = USUAL["processes"]
    survive: bool = False
    restart: int = 0
