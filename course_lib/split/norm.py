"""The length of a gradient of which every rank has a part, and some numbers several ranks."""

from functools import partial
from typing import Any

from numpy.typing import NDArray

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain
from course_lib.split.model import count_once
from course_lib.training import Plan, norm_of_all

__all__ = ["norm_of_split"]


def norm_of_split(comm: Communicator, plan: Plan, chain: Chain, grad: NDArray[Any]) -> float | None:
    """Return the norm of the whole gradient, if the plan clips by it.

    Parameters
    ----------
    comm : Communicator
        The ranks that have the parts.
    plan : Plan
        Without ``clip`` nothing is computed or sent, and None is returned.
    chain : Chain
        This rank's part of a model.
    grad : numpy.ndarray, shape (n_parameters,)
        Its gradient.

    Returns
    -------
    float or None
        What an optimizer's ``step`` takes as ``norm``; the same bits on all ranks.

    Notes
    -----
    Cost: an all-reduce of one number.
    """
    if plan.clip is None:
        return None
    return norm_of_all(plan, count_once(chain, grad), partial(allreduce_ring, comm))
