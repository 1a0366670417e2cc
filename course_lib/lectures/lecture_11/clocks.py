"""What an update takes on a network: a dry run, where all is sent and nothing is learned."""

from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network
from course_lib.lectures.lecture_11.cases import ASYNCHRONOUS, SERVED, Case
from course_lib.lectures.lecture_11.kept import Best, best, rules
from course_lib.lectures.lecture_11.racing import MODEL, SCHEMES, options_of
from course_lib.models.stand_in import StandIn
from course_lib.trace.trace import Trace
from course_lib.training import Plan

__all__ = [
    "GBIT",
    "LATENCY_S",
    "Pace",
    "Priced",
    "dry",
    "ended",
    "network_with",
    "pace_of",
    "pace_on",
    "priced",
    "takes_part",
]

LATENCY_S, GBIT = 20e-6, 10.0
"""Of the network on which all was measured."""


@dataclass(frozen=True)
class Pace:
    """What an update takes.

    Attributes
    ----------
    seconds : float
        From one update to the next, on average.
    n_bytes : float
        What all ranks send for one.
    age : float
        How many updates old a gradient is on average when it is used.
    """

    seconds: float
    n_bytes: float
    age: float


@dataclass(frozen=True)
class Priced:
    """A scheme on a network: the updates that were measured times the pace there.

    Attributes
    ----------
    best : Best
        How many updates it took to the target, at its best rate.
    pace : Pace
        What an update takes on this network.
    """

    best: Best
    pace: Pace

    @property
    def seconds(self) -> float:
        """To the target."""
        return self.best.median("updates") * self.pace.seconds

    @property
    def n_bytes(self) -> float:
        """Of all ranks, until the target, with the first broadcast where there is no server."""
        case = self.best.case
        told = 0 if case.scheme in SERVED else 8 * MODEL.n_parameters * (case.workers - 1)
        return told + self.best.median("updates") * self.pace.n_bytes

    @property
    def images_per_s(self) -> float:
        """How many images are computed in a second: the throughput."""
        return self.best.case.batch / self.pace.seconds


def network_with(latency_s: float, gbit: float, straggler: float = 1.0, ranks: int = 0) -> Network:
    """Make a network of the race's computers.

    Parameters
    ----------
    latency_s : float
        Of a message.
    gbit : float
        How many gigabits a second a NIC sends and receives.
    straggler : float, default: 1.0
        How many times longer the last rank computes.
    ranks : int, default: 0
        How many ranks there are, where one is a straggler.

    Returns
    -------
    Network
        For the simulator.
    """
    even = Network(f"{gbit:g} Gbit/s", latency_s, gbit * 1e9 / 8, rules().flops_per_s)
    return even.with_straggler(ranks - 1, straggler) if straggler > 1 else even


def takes_part(scheme: str, workers: int, straggler: float, every: int, sent: int) -> Best:
    """Look up how many updates a scheme needs, whatever connects its workers.

    Parameters
    ----------
    scheme : str
        One of ``NAMES``.
    workers : {4, 8}
        How many.
    straggler : {1.0, 3.0, 10.0}
        How many times longer the last worker computes.
    every : {1, 8, 64}
        H; with 1 local SGD is the all-reduce, and with 64 it was measured over two sites.
    sent : {24, 241}
        How many numbers of a gradient top-k sends.

    Returns
    -------
    Best
        Its case names the straggler that is asked for. Where all wait for all it was measured
        without one: it does not change what they compute. Of eight workers, those who do not wait
        for all were measured with 1 and with 10: beside one of 3 they take the updates of 10.
    """
    if scheme == "local_sgd" and every == 1:
        scheme = "data_parallel"
    is_far = scheme == "local_sgd" and every == 64
    waits_for_all = scheme in ("data_parallel", "parameter_server", "local_sgd", "compressed")
    measured = 1.0 if waits_for_all else 10.0 if (workers, straggler) == (8, 3) else straggler
    found = best(scheme, workers, measured, every, sent, is_far)
    if scheme == "serial":
        return found
    return replace(found, case=replace(found.case, is_far=False, straggler=float(straggler)))


def priced(found: Best, latency_s: float, gbit: float) -> Priced:
    """Say what a scheme takes to the target on a network.

    Parameters
    ----------
    found : Best
        How many updates it needs.
    latency_s, gbit : float
        Of the network.

    Returns
    -------
    Priced
        Its seconds and bytes.
    """
    return Priced(found, pace_of(found.case, latency_s, gbit))


@lru_cache(maxsize=4096)
def pace_of(case: Case, latency_s: float, gbit: float) -> Pace:
    """Run a scheme dry for some updates, and take the mean of what they cost.

    Parameters
    ----------
    case : Case
        Who trains.
    latency_s, gbit : float
        Of the network.

    Returns
    -------
    Pace
        Of an update, once all have begun.
    """
    laps = 12 if case.scheme in ASYNCHRONOUS else 4
    return pace_on(case, network_with(latency_s, gbit, case.straggler, case.ranks), laps)


def pace_on(case: Case, network: Network, laps: int) -> Pace:
    """Run a scheme dry on any network.

    Parameters
    ----------
    case : Case
        Who trains.
    network : Network
        What connects the ranks, and how fast each is.
    laps : int
        Over how many laps the mean is: updates, H of them, or a gradient of each worker.

    Returns
    -------
    Pace
        Of an update, once all have begun, and while none is done.
    """
    lap = max(case.every, case.workers if case.scheme in ASYNCHRONOUS else 1)
    trace = dry(case, (laps + 3) * lap, network)
    label = "gradient" if case.scheme == "serial" else "update"
    ends = [span.end_s for span in trace.computes if (span.rank, span.label) == (0, label)]
    first, last = ends[2 * lap - 1], ends[(laps + 2) * lap - 1]
    sent = sum(m.n_bytes for m in trace.messages if first < m.posted_s <= last)
    ages = [float(note.value) for note in trace.notes_named("staleness")][2 * lap :]
    age = sum(ages) / len(ages) if ages else 0.0
    return Pace((last - first) / (laps * lap), sent / (laps * lap), age)


def dry(case: Case, n_updates: int, network: Network) -> Trace:
    """Run a scheme without learning anything: its messages and its times are real.

    Parameters
    ----------
    case : Case
        Who trains.
    n_updates : int
        For how long.
    network : Network
        What connects the ranks.

    Returns
    -------
    Trace
        Of the whole run.
    """
    examples = np.zeros((n_updates * case.batch, 1)), np.zeros(n_updates * case.batch)
    flops = MODEL.flops((np.zeros((1, 64)), np.zeros(1, dtype=int)))
    model = StandIn.of({"all": MODEL.n_parameters}, flops_per_example=flops)
    return run(
        partial(SCHEMES[case.scheme], **options_of(case)), model, *examples,
        Plan(batch_size=case.batch), workers=case.ranks, backend="simulated", network=network,
    ).trace  # fmt: skip


def ended(trace: Trace) -> list[float]:
    """Say when each rank was done: with its last computation, or the last message to it.

    Parameters
    ----------
    trace : Trace
        Of a whole run.

    Returns
    -------
    list of float
        Seconds by rank.
    """
    last = [0.0] * trace.size
    for span in trace.computes:
        last[span.rank] = max(last[span.rank], span.end_s)
    for message in trace.messages:
        last[message.dst] = max(last[message.dst], message.received_s or 0.0)
    return last
