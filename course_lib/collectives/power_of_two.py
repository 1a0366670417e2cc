"""Fold any number of ranks into a power of two, for algorithms whose ranks meet in pairs."""

from course_lib.comm.communicator import Array, Communicator

__all__ = ["fold_in", "fold_out"]


def fold_in(comm: Communicator, total: Array, op: str) -> int:
    """Let the ranks beyond the largest power of two give what they have to another.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    total : numpy.ndarray or torch.Tensor, shape (n,)
        What this rank has; it is modified where another's is taken in.
    op : {"sum", "max", "min"}
        How two elements become one.

    Returns
    -------
    int
        How many ranks go on, Q: ranks 0 to Q - 1, a power of two.

    Notes
    -----
    Cost: nothing where P is a power of two; else 1 round and P - Q messages of n bytes.
    """
    active = 1 << (comm.size.bit_length() - 1)
    if comm.rank >= active:
        comm.send(total, comm.rank - active)
    elif comm.rank + active < comm.size:
        comm.recv(comm.rank + active, out=total, op=op)
    return active


def fold_out(comm: Communicator, total: Array, active: int) -> None:
    """Tell the ranks that did not take part what came out.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    total : numpy.ndarray or torch.Tensor, shape (n,)
        The result on ranks below ``active``; the others receive it into theirs.
    active : int
        What ``fold_in`` returned.

    Notes
    -----
    Cost: nothing where P is a power of two; else 1 round and P - Q messages of n bytes.
    """
    if comm.rank >= active:
        comm.recv(comm.rank - active, out=total)
    elif comm.rank + active < comm.size:
        comm.send(total, comm.rank + active)
