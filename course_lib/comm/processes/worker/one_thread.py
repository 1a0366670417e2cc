"""Importing this limits the libraries that are loaded afterwards to one thread each.

Only workers and the fork server import it, before NumPy or torch: the workers are the parallel
part, and P workers with P threads each would stand in each other's way.
"""

import os

__all__ = ["VARIABLES", "limit_threads"]

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def limit_threads() -> None:
    """Set what the numerical libraries read when they are loaded."""
    os.environ.update(dict.fromkeys(VARIABLES, "1"))


limit_threads()
