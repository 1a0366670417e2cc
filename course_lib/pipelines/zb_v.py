"""ZB-V: down the ranks and up again, and no rank is idle between its first action and its last."""

from collections import Counter

from course_lib.pipelines.schedule import Action, Schedule, check_numbers

__all__ = ["zb_v"]


def zb_v(ranks: int, microbatches: int) -> Schedule:
    """Give every rank two stages, one on the way down and one on the way up, and let weights wait.

    The placement is a V: rank 0 has the first stage and the last. So a micro-batch ends where it
    began, and rank 0 can go back with it at once. At the bottom of the V both stages are on one
    rank, and nothing is sent. Gradients of weights wait at the end only, where they fill the time
    of draining, as in ZB-H1.

    Parameters
    ----------
    ranks : int
        How many, P.
    microbatches : int
        Into how many a batch is cut, M; with less than 3P/2 it is slower than its cost says.

    Returns
    -------
    Schedule
        With 2 P stages, stages r and 2P - 1 - r on rank r.

    Notes
    -----
    Cost: 3 M + (P - 1)/2 for forward, inputs' and weights' gradients of a rank's part of length 1
    each, from 3P/2 micro-batches on; no rank is idle between its first action and its last, from
    2P - 1 micro-batches on; 4 M (P - 1) messages; the activations of P micro-batches on every rank
    from there on too, of fewer before.

    References
    ----------
    P. Qi, X. Wan, G. Huang and M. Lin, "Zero bubble pipeline parallelism", ICLR 2024, section 6;
    the order of a rank's actions is that of torch.distributed.pipelining's ScheduleZBVZeroBubble.

    Examples
    --------
    >>> print(*zb_v(ranks=1, microbatches=2).orders[0])
    0F0 1F0 1I0 1W0 0F1 0I0 0W0 1F1 1I1 1W1 0I1 0W1
    """
    check_numbers(ranks, microbatches)
    orders = tuple(
        tuple(
            action
            for action in _order(rank, ranks, microbatches)
            if action.microbatch < microbatches
        )
        for rank in range(ranks)
    )
    placement = (*range(ranks), *range(ranks)[::-1])
    return Schedule("zb_v", orders, placement, microbatches)


def _order(rank: int, ranks: int, microbatches: int) -> list[Action]:
    """Write down one rank's actions, for so many micro-batches that the pipeline becomes full."""
    stages = {"down": rank, "up": 2 * ranks - 1 - rank}
    n = max(2 * ranks - 1, microbatches)
    done: Counter[str] = Counter()
    order = []

    def do(*words: str) -> None:
        """Do each of these, ``"F down"`` for one, with the next micro-batch that it has not had."""
        for word in words:
            kind, way = word.split()
            order.append(Action(kind, stages[way], done[word]))
            done[word] += 1

    # Warm-up: until micro-batch 0 comes up from the bottom of the V,
    for _ in range(2 * (ranks - rank) - 1):
        do("F down")
    for _ in range(rank):  # until it has been on rank 0, where it turns, and its slope is here,
        do("F up", "F down")
    for _ in range(ranks - rank):  # and until the slope has gone down and comes up the other side.
        do("F up", "I up", "W up")

    # One of each, down and up, until all have been forward.
    while done["F up"] < n:
        if done["F down"] < n:
            do("F down")
        do("I down", "W down", "F up", "I up", "W up")

    # Drain: what others wait for comes first.
    for _ in range(rank):
        do("I down", "I up")
    for _ in range(ranks - rank):
        do("I down", "W down")
    for way in ("up", "down"):
        while done[f"W {way}"] < done[f"I {way}"]:
            do(f"W {way}")
    return order
