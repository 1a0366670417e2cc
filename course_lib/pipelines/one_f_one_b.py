"""1F1B: one forward, one backward, so that activations do not pile up."""

from course_lib.pipelines.schedule import Action, Schedule, check_numbers

__all__ = ["one_f_one_b"]


def one_f_one_b(ranks: int, microbatches: int) -> Schedule:
    """Let every rank go back with a micro-batch as soon as it can, before it takes the next.

    It is as fast as GPipe, and idle as long. But the last rank goes back at once with every
    micro-batch, and rank r has P - r of them on their way at most, however many there are.

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
    messages; the activations of min(M, P - r) micro-batches on rank r. Where messages take time it
    is slower than GPipe: forward and back take turns, and each turn waits for a message.

    References
    ----------
    D. Narayanan, A. Harlap, A. Phanishayee et al., "PipeDream: Generalized pipeline parallelism for
    DNN training", SOSP 2019, and "Memory-efficient pipeline-parallel DNN training", ICML 2021
    (PipeDream-Flush, which is this).

    Examples
    --------
    >>> print(*one_f_one_b(ranks=2, microbatches=3).orders[0])
    0F0 0F1 0B0 0F2 0B1 0B2
    """
    check_numbers(ranks, microbatches)
    orders = []
    for rank in range(ranks):
        forward = [Action("F", rank, m) for m in range(microbatches)]
        backward = [Action("B", rank, m) for m in range(microbatches)]
        ahead = min(ranks - 1 - rank, microbatches)  # until the first can come back
        turns = [action for pair in zip(forward[ahead:], backward, strict=False) for action in pair]
        orders.append((*forward[:ahead], *turns, *backward[microbatches - ahead :]))
    return Schedule("1f1b", tuple(orders), tuple(range(ranks)), microbatches)
