"""Several trainings on several workers: each on all of them in turn, or one on each."""

from dataclasses import replace

import numpy as np

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import ethernet_10g
from course_lib.trace.trace import Trace
from course_lib.viz import Chart, chart

__all__ = ["ALLREDUCE_MS", "STEP_MS", "one_step_of_all", "steps_chart", "steps_ms", "traced"]

STEP_MS, ALLREDUCE_MS = 8.0, 6.0
_ETHERNET = replace(ethernet_10g, latency_s=0.0, flops_per_s=1e3)
"""Without latency, and on which a flop takes a millisecond: the text counts in milliseconds."""


def one_step_of_all(comm: Communicator, trials: int, shared: bool) -> None:
    """Take a step of every trial: a gradient of 8 ms of work, and an all-reduce of 5 MB if shared.

    Parameters
    ----------
    comm : Communicator
        The workers.
    trials : int
        How many trainings there are.
    shared : bool
        Whether all workers share a trial, one trial after another, or each takes every P-th.
    """
    numbers = int(ALLREDUCE_MS / 1e3 / _ETHERNET.beta_s_per_byte / 8 / 1.5)  # a ring of 4 sends 3/2
    for trial in range(trials) if shared else range(comm.rank, trials, comm.size):
        with comm.compute(f"trial {trial}", flops=STEP_MS / comm.size if shared else STEP_MS):
            grad = np.zeros(numbers)
        if shared and comm.size > 1:
            allreduce_ring(comm, grad)


def traced(trials: int, shared: bool, workers: int = 4) -> Trace:
    """Run ``one_step_of_all`` in virtual time.

    Parameters
    ----------
    trials : int
        How many trainings there are.
    shared : bool
        As above.
    workers : int, default: 4
        How many.

    Returns
    -------
    Trace
        What happened.
    """
    made = run(one_step_of_all, trials, shared, workers=workers, backend="simulated",
               network=_ETHERNET)  # fmt: skip
    assert made.trace is not None
    return made.trace


def steps_ms(trials: int, workers: int, allreduce_ms: float) -> tuple[float, float]:
    """Say how long a step of all trials takes.

    Parameters
    ----------
    trials, workers : int
        How many.
    allreduce_ms : float
        What an all-reduce takes.

    Returns
    -------
    in_turn : float
        Milliseconds, one trial after another on all workers.
    side_by_side : float
        Milliseconds, one trial on each.

    Examples
    --------
    >>> steps_ms(16, 4, 6.0)
    (128.0, 32.0)
    """
    rounds = -(-trials // workers)
    exchange_ms = allreduce_ms if workers > 1 else 0.0
    return trials * (STEP_MS / workers + exchange_ms), rounds * STEP_MS


def steps_chart(workers: int, allreduce: float) -> Chart:
    """Draw what a step of all trials takes, over how many trials there are.

    Parameters
    ----------
    workers : int
        How many.
    allreduce : float
        Milliseconds.

    Returns
    -------
    Chart
        One curve for trials in turn, one for trials side by side.
    """
    counts = range(1, 17)
    both = [steps_ms(trials, workers, allreduce) for trials in counts]
    behind = [n for n, (turn, side) in zip(counts, both, strict=True) if side > turn]
    said = "Side by side is never slower"
    if behind:
        s = "s" * (behind != [1])
        said = f"Side by side is slower with {', '.join(map(str, behind))} trial{s}"
    return chart(
        {name: [(float(n), ms[k]) for n, ms in zip(counts, both, strict=True)]
         for k, name in enumerate(("in turn, on all workers", "side by side"))},
        x_label="trials", y_label="ms for a step of each", x_range=(1, 16), y_range=(0.4, 200),
        y_log=True, x_ticks=(1, 2, 4, 8, 12, 16),
        said=f"{said}.",
    )  # fmt: skip
