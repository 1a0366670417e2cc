"""Schedules in the notation of torch.distributed.pipelining, which can check and run them."""

import csv
import io

from course_lib.pipelines.schedule import Schedule

__all__ = ["to_torch", "to_torch_csv"]


def to_torch(schedule: Schedule) -> dict[int, list[str]]:
    """Write a schedule as torch does: for each rank ``0F0``, ``2I1``, ``0W3``, ``1B0``, in order.

    Parameters
    ----------
    schedule : Schedule
        Any.

    Returns
    -------
    dict of int to list of str
        The actions by rank; torch finds out from them where each stage lives, and adds messages.

    Examples
    --------
    >>> from course_lib.pipelines import one_f_one_b
    >>> to_torch(one_f_one_b(ranks=2, microbatches=2))
    {0: ['0F0', '0F1', '0B0', '0B1'], 1: ['1F0', '1B0', '1F1', '1B1']}
    """
    return {rank: [str(action) for action in order] for rank, order in enumerate(schedule.orders)}


def to_torch_csv(schedule: Schedule) -> str:
    r"""Write a schedule as torch keeps it in files: a line for each rank.

    Parameters
    ----------
    schedule : Schedule
        Any.

    Returns
    -------
    str
        What ``_PipelineScheduleRuntime._load_csv(file, "compute_only")`` reads.

    Examples
    --------
    >>> from course_lib.pipelines import gpipe
    >>> to_torch_csv(gpipe(ranks=2, microbatches=1))
    '0F0,0B0\n1F0,1B0\n'
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(to_torch(schedule).values())
    return file.getvalue()
