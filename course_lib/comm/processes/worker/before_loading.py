"""Importing this makes a process ready for what it loads afterwards: libraries, then the program.

Only workers and the fork server import it, before NumPy or torch.
"""

import gc
import os

__all__ = ["VARIABLES", "make_ready"]

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)

_COLLECT_EVERY = 50_000
"""New objects between two looks of the garbage collector. Every 700, as usual, it looks again and
again at what stays: torch takes a fourth longer to load, and a trace costs 15 %."""


def make_ready() -> None:
    """Give each library one thread, and let the garbage collector look rarely.

    The workers are the parallel part: P workers with P threads each would stand in each other's
    way. The libraries read how many they may have when they are loaded.
    """
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    gc.set_threshold(_COLLECT_EVERY, 10, 10)


make_ready()
