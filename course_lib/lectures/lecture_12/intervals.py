"""How often to save: what saving takes, and what is lost when a host dies in between."""

import math

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RankLost
from course_lib.comm.launch import run
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.comm.simulated.network import Network
from course_lib.trace.trace import Trace
from course_lib.viz import Chart, chart

__all__ = ["GPU_YEARS", "best_interval_s", "interval_chart", "lost_factor", "saved_training",
           "until_first_s"]  # fmt: skip

_HOUR_S = 3600.0
_YEAR_S = 365.25 * 24 * _HOUR_S
GPU_YEARS = 54 * 24 * 16_384 / 419 / (365.25 * 24)
"""How long a GPU runs until something stops the whole training, in the mean: on 16,384 of them
there were 419 unexpected interruptions in 54 days (Llama 3, 2024)."""

_MINUTES = (0.2, 5000.0)
"""The chart's: eight GPUs that take ten minutes to save do so every two days."""

_ASKS, _SAVES = 0, 1
_CLOCK = Network("a second a flop", 1e-6, float("inf"), flops_per_s=1.0)


def until_first_s(gpus: int) -> float:
    """Return how long it takes until the first of so many GPUs fails, in the mean.

    Parameters
    ----------
    gpus : int
        How many.

    Returns
    -------
    float
        Seconds.
    """
    return GPU_YEARS * _YEAR_S / gpus


def lost_factor(interval_s: float, save_s: float, mean_s: float) -> float:
    """Return how long a second of training takes, with saving and with what is done again.

    Parameters
    ----------
    interval_s : float
        Training between two checkpoints.
    save_s : float
        What one takes.
    mean_s : float
        Between two failures, in the mean; they come independently of each other.

    Returns
    -------
    float
        Seconds a second, 1 or more (Daly 2006, with a restart that takes no time).

    Examples
    --------
    >>> round(lost_factor(600.0, 60.0, 3 * 3600.0), 3)
    1.134
    """
    return mean_s / interval_s * math.expm1((interval_s + save_s) / mean_s)


def best_interval_s(save_s: float, mean_s: float) -> float:
    """Return about the best interval: the square root of 2 · save · mean (Young 1974).

    Parameters
    ----------
    save_s, mean_s : float
        As above.

    Returns
    -------
    float
        Seconds.
    """
    return math.sqrt(2 * save_s * mean_s)


def interval_chart(gpus: int, save: float) -> Chart:
    """Draw how much is lost, over the interval between checkpoints.

    Parameters
    ----------
    gpus : int
        How many.
    save : float
        Seconds that a checkpoint takes.

    Returns
    -------
    Chart
        A curve, and on it the interval of Young's formula.
    """
    mean_s = until_first_s(gpus)
    minutes = np.geomspace(*_MINUTES, 80)
    lost = [(float(m), 100 * (lost_factor(60 * m, save, mean_s) - 1)) for m in minutes]
    shown = [(m, percent) for m, percent in lost if percent < 1e4]
    young = best_interval_s(save, mean_s)
    percent = 100 * (lost_factor(young, save, mean_s) - 1)
    digits = 2 if percent < 1 else 1 if percent < 10 else 0
    return chart(
        {"saving, and doing again": shown},
        points={"Young": (young / 60, percent)},
        x_label="minutes between checkpoints", y_label="% more time", x_log=True, y_log=True,
        x_range=_MINUTES, y_range=(0.01, 1e3),
        said=f"One fails every {mean_s / _HOUR_S:,.1f} h. Save every {young / 60:,.1f} minutes: "
             f"{percent:.{digits}f} % more time.",
    )  # fmt: skip


def _kept(comm: Communicator, n_steps: int) -> int:
    """Be the disk: keep the last step that was saved, and say it to whoever asks."""
    last, n_asked = 0, 0
    while last < n_steps:
        try:
            what, step = comm.recv(src=1)
        except RankLost:  # it will ask again
            continue
        if what == _ASKS:
            n_asked += 1
            comm.send(np.array([last]), dst=1)
        else:
            last = int(step)
    return n_asked


def _trains(comm: Communicator, n_steps: int, every: int, save_s: float) -> int:
    """Be the host: train from the last step that was saved."""
    comm.send(np.array([_ASKS, 0]), dst=0)
    step = int(comm.recv(src=0)[0])
    done = 0
    while step < n_steps:
        with comm.compute(f"step {step + 1}", flops=1.0):
            step, done = step + 1, done + 1
        if step % every == 0 or step == n_steps:
            with comm.compute("save", flops=save_s):
                saved = np.array([_SAVES, step])
            comm.send(saved, dst=0)
    return done


def saved_training(
    every: int, dies_s: float = 8.2, back_s: float = 9.0, n_steps: int = 12, save_s: float = 0.5
) -> Trace:
    """Train in virtual time, a second a step; the host dies once, and goes on from what was saved.

    Parameters
    ----------
    every : int
        After how many steps it saves.
    dies_s, back_s : float, default: 8.2 and 9.0
        When the host dies, and when it is started again.
    n_steps : int, default: 12
        How many steps are to be taken.
    save_s : float, default: 0.5
        What saving takes.

    Returns
    -------
    Trace
        Rank 0 is the disk, rank 1 the host.
    """

    def disk_and_host(comm: Communicator) -> int:
        if comm.rank == 0:
            return _kept(comm, n_steps)
        return _trains(comm, n_steps, every, save_s)

    made = run(
        disk_and_host, workers=2, backend="simulated", network=_CLOCK, survive=True, restart=1,
        faults=Faults([Crash(1, dies_s, back_s)]),
    )  # fmt: skip
    assert made.trace is not None
    return made.trace
