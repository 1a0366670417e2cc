"""Two more orders: a pipeline that is none, and 1F1B that lets more micro-batches in."""

from course_lib.pipelines import Action, Schedule

__all__ = ["eager_1f1b", "one_by_one"]


def one_by_one(ranks: int, microbatches: int) -> Schedule:
    """Take each micro-batch forward and back before the next one.

    Parameters
    ----------
    ranks, microbatches : int
        How many, P and M.

    Returns
    -------
    Schedule
        With P stages, stage r on rank r.
    """
    orders = tuple(
        tuple(Action(kind, rank, m) for m in range(microbatches) for kind in "FB")
        for rank in range(ranks)
    )
    return Schedule("one by one", orders, tuple(range(ranks)), microbatches)


def eager_1f1b(ranks: int, microbatches: int) -> Schedule:
    """Take turns as in 1F1B, after two forward passes for each rank behind instead of one.

    Parameters
    ----------
    ranks, microbatches : int
        How many, P and M.

    Returns
    -------
    Schedule
        With P stages, stage r on rank r.

    References
    ----------
    Y. Zhuang, L. Zheng, Z. Li et al., "On optimizing the communication of model parallelism",
    MLSys 2023.
    """
    orders = []
    for rank in range(ranks):
        forward, back = ([Action(kind, rank, m) for m in range(microbatches)] for kind in "FB")
        ahead = min(2 * (ranks - 1 - rank), microbatches)  # 1F1B: ranks - 1 - rank
        turns = [action for pair in zip(forward[ahead:], back, strict=False) for action in pair]
        orders.append((*forward[:ahead], *turns, *back[microbatches - ahead :]))
    return Schedule("eager 1F1B", tuple(orders), tuple(range(ranks)), microbatches)
