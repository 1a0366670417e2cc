"""ZB-H1: weights' gradients wait, and fill the gaps in which others wait for inputs' gradients."""

from course_lib.pipelines.schedule import Action, Schedule, check_numbers

__all__ = ["zb_h1"]


def zb_h1(ranks: int, microbatches: int) -> Schedule:
    """Take going back apart: first the gradient of the inputs, and that of the weights later.

    The stage before waits for the gradient of the inputs and for nothing else. So that one comes
    first, and goes on its way; the gradient of the weights can wait until there is nothing else to
    do. Rank r lets r of them wait, so at the end, when 1F1B drains, everybody still has work.

    Parameters
    ----------
    ranks : int
        How many, P; each has one stage.
    microbatches : int
        Into how many a batch is cut, M: P or more.

    Returns
    -------
    Schedule
        With P stages, stage r on rank r.

    Raises
    ------
    ValueError
        If M is below P.

    Notes
    -----
    Cost: 3 M + P - 1 for forward, inputs' and weights' gradients of length 1 each, P - 1 of them
    idle: a third of 1F1B's bubble; 2 M (P - 1) messages; the activations of P micro-batches on
    every rank.

    References
    ----------
    P. Qi, X. Wan, G. Huang and M. Lin, "Zero bubble pipeline parallelism", ICLR 2024, section 2.

    Examples
    --------
    >>> print(*zb_h1(ranks=2, microbatches=3).orders[1])
    1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2
    """
    check_numbers(ranks, microbatches)
    if microbatches < ranks:
        raise ValueError(
            f"microbatches must be as many as there are ranks or more, {ranks}, got {microbatches}"
        )
    orders = []
    for rank in range(ranks):
        forward, inputs, weights = (
            [Action(kind, rank, m) for m in range(microbatches)] for kind in "FIW"
        )
        ahead = ranks - 1 - rank  # until the first can come back
        order = forward[:ahead]
        for m in range(microbatches):
            order += [*forward[ahead + m : ahead + m + 1], inputs[m]]
            if m >= rank:
                order.append(weights[m - rank])
        orders.append((*order, *weights[microbatches - rank :]))
    return Schedule("zb_h1", tuple(orders), tuple(range(ranks)), microbatches)
