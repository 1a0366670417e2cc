"""All-reduce by the algorithm that is fastest for so many ranks and bytes."""

from course_lib.collectives.allreduce_butterfly import allreduce_butterfly
from course_lib.collectives.allreduce_halving_doubling import allreduce_halving_doubling
from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator
from course_lib.comm.rates import Rates
from course_lib.costs.choice import choose_allreduce

__all__ = ["allreduce"]


@collective
def allreduce(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None,
    rates: Rates | None = None,
) -> Array:  # fmt: skip
    """Combine the arrays of all ranks and give every rank the result, in the fastest way.

    Small arrays take few rounds, large ones few bytes. What is fastest is predicted from the
    number of ranks, the bytes of the array and what a message costs here, which are the same on
    every rank: no rank goes by what it alone knows. ``choose_allreduce`` of ``course_lib.costs``
    says which it is, and why. The trace shows the algorithm inside the call.

    Parameters
    ----------
    rates : Rates or None, default: None
        What a message costs; None takes the run's, ``comm.rates``.

    Notes
    -----
    Cost: that of the ring, of halving and doubling, or of the butterfly, whichever takes least.

    References
    ----------
    R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in
    MPICH", International Journal of High Performance Computing Applications 19(1), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    rates = comm.rates if rates is None else rates
    if not isinstance(rates, Rates):
        raise TypeError(f"rates must be a Rates or None, got {rates!r} ({type(rates).__name__})")
    chosen = choose_allreduce(comm.size, array.nbytes, array.itemsize, *rates.numbers)
    return ALGORITHMS[chosen.name](comm, array, op, out)


ALGORITHMS = {
    "ring": allreduce_ring,
    "halving_doubling": allreduce_halving_doubling,
    "butterfly": allreduce_butterfly,
}
