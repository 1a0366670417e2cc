"""Reduce without a tree: the root adds up one rank's array after another."""

from course_lib.collectives.reduction import finish, message_op, working_copy
from course_lib.collectives.rows import check_root
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Array

__all__ = ["reduce_flat"]


@collective
def reduce_flat(
    comm: Communicator, array: Array, root: int = 0, op: str = "sum", out: Array | None = None
) -> Array | None:
    """Combine the arrays of all ranks on ``root``, straight into the root.

    The obvious way: everybody sends, the root receives in the order of the ranks and combines. The
    root's network card carries all of it.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    array : numpy.ndarray or torch.Tensor, any shape
        This rank's contribution, the same shape and dtype on every rank; it is not modified.
    root : int, default: 0
        The rank that gets the result; the same on every rank.
    op : {"sum", "mean", "max", "min"}, default: "sum"
        How two elements become one.
    out : array or None, default: None
        Where the root puts the result, same shape and dtype as ``array``; no other rank uses it.

    Returns
    -------
    numpy.ndarray or torch.Tensor or None
        The combined array on the root, a new one unless ``out`` is given; None on the others.

    Raises
    ------
    ValueError
        If ``root`` is not a rank, ``op`` is unknown, or is ``"mean"`` and the numbers are whole.

    Notes
    -----
    Cost: 1 round; P - 1 messages in all; the root receives (P-1) n bytes, every other rank sends n,
    P ranks and n bytes.

    Invariant: after its k-th message the root holds k + 1 contributions.

    References
    ----------
    E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
    practice, and experience", Concurrency and Computation: Practice and Experience 19(13), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def collect(comm):
    ...     return reduce_flat(comm, np.full(3, comm.rank))
    >>> run(collect, workers=4, backend="simulated").values
    [array([6, 6, 6]), None, None, None]
    """
    check_root(root, comm.size)
    combine = message_op(op, array)
    if comm.rank != root:
        comm.send(array, root)
        return None
    total = working_copy(array, out)
    received = total.reshape(array.shape)  # the same elements, in the shape they arrive in
    for shift in range(1, comm.size):
        comm.recv((root + shift) % comm.size, out=received, op=combine)
    return finish(total, op, comm.size, array, out)
