"""GPipe: all micro-batches forward, then all of them back."""

from course_lib.pipelines.schedule import Action, Schedule, check_numbers

__all__ = ["gpipe"]


def gpipe(ranks: int, microbatches: int) -> Schedule:
    """Send all micro-batches forward, one behind the other, and then all of them back.

    While stage 1 computes the first micro-batch, stage 0 computes the second. Only filling and
    draining the pipeline leaves somebody idle. But nobody goes back before the last has come
    through: every rank keeps the activations of the whole batch.

    Parameters
    ----------
    ranks : int
        How many, P; each has one stage.
    microbatches : int
        Into how many a batch is cut, M.

    Returns
    -------
    Schedule
        With P stages, stage r on rank r.

    Notes
    -----
    Cost: M + P - 1 times a forward and a backward pass of a stage, P - 1 of them idle; 2 M (P - 1)
    messages; the activations of M micro-batches on every rank.

    References
    ----------
    Y. Huang, Y. Cheng, A. Bapna et al., "GPipe: Efficient training of giant neural networks using
    pipeline parallelism", NeurIPS 2019.

    Examples
    --------
    >>> print(*gpipe(ranks=2, microbatches=3).orders[1])
    1F0 1F1 1F2 1B0 1B1 1B2
    """
    check_numbers(ranks, microbatches)
    orders = tuple(
        tuple(Action(kind, rank, m) for kind in "FB" for m in range(microbatches))
        for rank in range(ranks)
    )
    return Schedule("gpipe", orders, tuple(range(ranks)), microbatches)
