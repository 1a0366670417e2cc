"""A link with a chosen bandwidth in front of real processes: a token bucket in each direction."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_lib import run
from course_lib.comm.communicator import Array, Communicator
from course_lib.comm.messages import Tag
from course_lib.models.model import Model
from course_lib.schemes import parameter_server
from course_lib.training import Plan

__all__ = ["Throttled", "TokenBucket", "throttled_step_s", "throttled_steps"]


class TokenBucket:
    """Let so many bytes a second through: who takes more than has flowed in sleeps.

    Parameters
    ----------
    bytes_per_s : float
        The bandwidth of the link.
    clock : callable, default: time.perf_counter
        Says the time, in seconds.
    sleep : callable, default: time.sleep
        Waits for so many seconds.
    """

    def __init__(
        self,
        bytes_per_s: float,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not bytes_per_s > 0:
            raise ValueError(f"bytes_per_s must be more than 0, got {bytes_per_s!r}")
        self.bytes_per_s = bytes_per_s
        self._clock, self._sleep = clock, sleep
        self._free_at = float("-inf")  # when all that was let through has passed the link

    def take(self, n_bytes: int) -> None:
        """Return when so many bytes have passed the link.

        Parameters
        ----------
        n_bytes : int
            How many pass now, behind those that were let through before.
        """
        now = self._clock()
        self._free_at = max(now, self._free_at) + n_bytes / self.bytes_per_s
        self._sleep(self._free_at - now)


class Throttled:
    """A communicator behind a slow NIC: what its rank sends and receives passes a token bucket.

    Both directions are apart, as on a full-duplex link. It has the verbs that the schemes of
    lecture 04 use; all else is the communicator's own.

    Parameters
    ----------
    comm : Communicator
        The rank's own.
    bytes_per_s : float
        The bandwidth, each way.
    """

    def __init__(self, comm: Communicator, bytes_per_s: float) -> None:
        self._comm = comm
        self._out, self._in = TokenBucket(bytes_per_s), TokenBucket(bytes_per_s)

    def __getattr__(self, name: str) -> Any:
        """Return what the communicator has."""
        return getattr(self._comm, name)

    def send(self, array: Array, dst: int, tag: Tag = None) -> None:
        """Send, at the link's pace; see ``Communicator.send``."""
        self._out.take(array.nbytes)
        self._comm.send(array, dst, tag=tag)

    def recv(
        self, src: int, out: Array | None = None, op: str | None = None, tag: Tag = None
    ) -> Array:
        """Receive, at the link's pace; see ``Communicator.recv``."""
        arrived = self._comm.recv(src, out=out, op=op, tag=tag)
        self._in.take(arrived.nbytes)
        return arrived

    def sendrecv(self, array: Array, dst: int, src: int, **how: Any) -> Array:
        """Send and receive at once, each way at the link's pace; see ``Communicator.sendrecv``."""
        self._out.take(array.nbytes)  # what arrives has passed its sender's link meanwhile
        return self._comm.sendrecv(array, dst, src, **how)


def throttled_step_s(
    scheme: Callable[..., Any], model: Model, workers: int, bytes_per_s: float, steps: int = 4
) -> float:
    """Train on real processes behind slow links, and take the time.

    Parameters
    ----------
    scheme : callable
        How to train, called as ``scheme(comm, model, X, y, plan)``.
    model : Model
        What is trained; with a ``StandIn`` communication is all there is.
    workers : int
        How many processes compute; the dedicated server of ``parameter_server`` is one more.
    bytes_per_s : float
        The bandwidth of each rank's link, each way.
    steps : int, default: 4
        How many steps the mean is taken over.

    Returns
    -------
    float
        Wall seconds a step, of the slowest rank.
    """
    examples = np.zeros((workers, 1)), np.zeros(workers)
    plan = Plan(batch_size=workers, epochs=steps)

    def train(comm: Communicator) -> float:
        behind: Any = Throttled(comm, bytes_per_s)
        comm.barrier()
        start_s = comm.clock()
        scheme(behind, model, *examples, plan)
        return (comm.clock() - start_s) / steps

    ranks = workers + (scheme is parameter_server)
    return float(max(run(train, workers=ranks, trace=False).values))


def throttled_steps(
    schemes: Mapping[str, Callable[..., Any]], model: Model, workers: list[int], bytes_per_s: float
) -> dict[str, list[tuple[float, float]]]:
    """Measure several schemes for several numbers of workers, as curves to draw.

    Parameters
    ----------
    schemes : mapping of str to callable
        How to train, by name.
    model : Model
        What is trained.
    workers : list of int
        For how many workers.
    bytes_per_s : float
        The bandwidth of each rank's link.

    Returns
    -------
    dict of str to list of (float, float)
        By name, the number of workers and milliseconds a step.
    """
    return {
        name: [(P, 1e3 * throttled_step_s(scheme, model, P, bytes_per_s)) for P in workers]
        for name, scheme in schemes.items()
    }
