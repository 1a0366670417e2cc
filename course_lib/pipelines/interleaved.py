"""Interleaved 1F1B: every rank has several stages, so that filling the pipeline takes less time."""

from course_lib.pipelines.schedule import Action, Schedule, check_numbers

__all__ = ["interleaved"]


def interleaved(ranks: int, microbatches: int, chunks: int = 2) -> Schedule:
    """Deal out thin stages one by one, ``chunks`` to a rank, and take turns among them.

    A stage takes 1/v of the time, so the pipeline is full after 1/v of the time. Every micro-batch
    goes round all ranks v times, and each time it is sent: the bubble is paid for with messages. A
    rank takes about P micro-batches through its first stage, then the same through its next.

    Parameters
    ----------
    ranks : int
        How many, P.
    microbatches : int
        Into how many a batch is cut, M: P or more, and a multiple of the number of rounds, M // P.
    chunks : int, default: 2
        How many stages a rank has, v.

    Returns
    -------
    Schedule
        With v P stages, stage s on rank s mod P.

    Raises
    ------
    ValueError
        If M is below P, or no multiple of M // P.

    Notes
    -----
    Cost: M + (P - 1)/v times a pass forward and back through a rank's part, (P - 1)/v of them idle;
    2 M (v P - 1) messages (for one rank none); the activations of (2 (P - 1 - r) + (v - 1) P + 1)/v
    micro-batches, M at most, on rank r, where P divides M.

    References
    ----------
    D. Narayanan, M. Shoeybi, J. Casper et al., "Efficient large-scale language model training on
    GPU clusters using Megatron-LM", SC 2021, section 2.2.2.

    Examples
    --------
    >>> print(*interleaved(ranks=2, microbatches=2).orders[0])
    0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1
    """
    check_numbers(ranks, microbatches, chunks)
    n_rounds = _rounds(ranks, microbatches)
    at_once = microbatches // n_rounds  # through one stage before the next stage has its turn

    def one_pass(kind: str, rank: int, order: range) -> list[Action]:
        return [
            Action(kind, chunk * ranks + rank, round_ * at_once + m)
            for round_ in range(n_rounds) for chunk in order for m in range(at_once)
        ]  # fmt: skip

    orders = []
    for rank in range(ranks):
        forward = one_pass("F", rank, range(chunks))
        backward = one_pass("B", rank, range(chunks)[::-1])
        # Twice as far ahead as in 1F1B, the rule of Megatron-LM: something is left to do while a
        # message travels. If none took time, once as far would be as fast and would hold no more.
        ahead = min((chunks - 1) * at_once + 2 * (ranks - 1 - rank), len(forward))
        turns = [action for pair in zip(forward[ahead:], backward, strict=False) for action in pair]
        orders.append((*forward[:ahead], *turns, *backward[len(forward) - ahead :]))
    placement = tuple(stage % ranks for stage in range(chunks * ranks))
    return Schedule("interleaved", tuple(orders), placement, microbatches)


def _rounds(ranks: int, microbatches: int) -> int:
    """Return how often the ranks turn to their first stage."""
    if microbatches < ranks:
        raise ValueError(
            f"microbatches must be as many as there are ranks or more, {ranks}, got {microbatches}"
        )
    n_rounds = microbatches // ranks
    if microbatches % n_rounds:
        raise ValueError(
            f"microbatches must be a multiple of the number of rounds, {microbatches} // {ranks} = "
            f"{n_rounds}, got {microbatches}: for one, {n_rounds * ranks}"
        )
    return n_rounds
