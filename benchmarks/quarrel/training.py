"""One training in virtual time, watched: how long until the loss over all examples is low."""

import math
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from course_lib import Communicator, networks, run
from course_lib.collectives import allreduce_ring, allreduce_two_level
from course_lib.comm.errors import RunError
from course_lib.comm.simulated.network import Network
from course_lib.data.digits import DigitsData, load_digits
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    backup_workers,
    bounded_staleness,
    data_parallel,
    downpour,
    local_sgd,
    parameter_server,
    serial,
)
from course_lib.training import SGD, Plan, Training

__all__ = [
    "ASYNCHRONOUS", "FAR", "MODEL", "SCHEMES", "SERVED", "Case", "Found", "Rules", "data",
    "n_updates", "network_of", "trained",
]  # fmt: skip

SCHEMES = {
    "serial": serial,
    "data_parallel": data_parallel,
    "parameter_server": parameter_server,
    "backup_workers": backup_workers,
    "bounded_staleness": bounded_staleness,
    "downpour": downpour,
    "local_sgd": local_sgd,
}
SERVED = ("parameter_server", "backup_workers", "bounded_staleness", "downpour")
"""Those with a server, on a rank besides the workers."""
ASYNCHRONOUS = ("bounded_staleness", "downpour")
"""Those in which each gradient is an update, so that a batch is one worker's."""
FAR = replace(networks.wan, latency_s=0.1)
MODEL = mlp(64, 32, 10)
DIVERGED = 100.0
TIME_LIMIT_S = 600.0

Found = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """What is the same for all.

    Attributes
    ----------
    target : float
        The loss over all examples to get down to.
    epochs, far_epochs : int
        After which a training ends: on one network, and over two sites.
    per_worker : int
        How many images a worker takes for one gradient.
    flops_per_s : float
        How fast a rank computes, if it is no straggler.
    look_after : int
        After how many images the loss over all examples is computed, which takes no virtual time.
    n_images : int
        How many images there are to train on.
    """

    target: float = 0.1
    epochs: int = 12
    far_epochs: int = 22
    per_worker: int = 16
    flops_per_s: float = 5e8
    look_after: int = 128
    n_images: int = 1437


@dataclass(frozen=True)
class Case:
    """Who trains, and where.

    ``batch`` is the plan's: of all workers together, or of one where each gradient is an update.
    ``straggler`` is how many times longer the last rank computes; ``every`` is local SGD's.
    """

    scheme: str
    workers: int
    batch: int
    straggler: float = 1.0
    every: int = 0
    is_far: bool = False

    @property
    def ranks(self) -> int:
        return self.workers + (self.scheme in SERVED)

    def plan(self, rate: float, momentum: float, seed: int, rules: Rules) -> Plan:
        epochs = rules.far_epochs if self.is_far else rules.epochs
        return Plan(rate, self.batch, epochs, momentum, seed=seed)


class Seen(NamedTuple):
    """The last loss over all examples, and when the first one was low enough."""

    loss: float
    updates: int | None = None
    clock_s: float = math.inf


class Over(Exception):
    """Raised in a training to end it, with what was seen: it has got there, or never will."""


class Watch:
    """Looks at rank 0's model after every so many updates, between two moments of virtual time."""

    def __init__(self, comm: Communicator, look_every: int, rules: Rules, is_whole: bool) -> None:
        self.comm, self.look_every, self.rules, self.is_whole = comm, look_every, rules, is_whole
        self.seen = Seen(math.inf)

    def look(self, w: Any, updates: int) -> None:
        loss = MODEL.loss(w, data(self.rules.n_images)[:2])
        self.seen = self.seen._replace(loss=loss)
        if not loss < DIVERGED:
            raise Over(*self.seen)
        if self.seen.updates is None and loss <= self.rules.target:
            self.seen = Seen(loss, updates, self.comm.clock())
            if not self.is_whole:
                raise Over(*self.seen)


class WatchedSGD(SGD):
    """SGD on the rank that holds the model; the clock is read when an update begins."""

    def __init__(self, watch: Watch, w: Any, plan: Plan) -> None:
        super().__init__(w, plan)
        self.watch = watch

    def _go(self, grad: Any, rate: float) -> None:
        super()._go(grad, rate)
        updates = self.n_steps + 1
        if self.watch.comm.rank == 0 and updates % self.watch.look_every == 0:
            self.watch.look(self.w, updates)


class WatchedMean:
    """Local SGD's all-reduce: only after it there is one model to look at."""

    def __init__(self, watch: Watch, case: Case) -> None:
        self.watch, self.case, self.n_means = watch, case, 0
        self.allreduce = (
            partial(allreduce_two_level, ranks_per_host=case.workers // 2)
            if case.is_far
            else allreduce_ring
        )

    def __call__(self, comm: Communicator, w: Any, out: Any) -> Any:
        total = self.allreduce(comm, w, out=out)
        self.n_means += 1
        if comm.rank == 0:
            self.watch.look(total / comm.size, self.n_means * self.case.every)
        return total


def trained(
    case: Case, rate: float, momentum: float, seed: int, rules: Rules, is_whole: bool = False
) -> Found:
    """Train, and return what was found: up to the target only, or to the end with ``is_whole``.

    Bytes and the accuracy on the images for testing are counted in a whole training only. One that
    diverges is a finding; any other failure is an error.
    """
    examples = data(rules.n_images)
    try:
        result = run(
            task, case, case.plan(rate, momentum, seed, rules), rules, is_whole,
            workers=case.ranks, backend="simulated", network=network_of(case, rules),
            trace=is_whole, time_limit_s=TIME_LIMIT_S,
        )  # fmt: skip
    except RunError as error:
        if isinstance(error.original, FloatingPointError):
            return {"is_diverged": True}
        if not isinstance(error.original, Over):
            raise
        return found_by(Seen(*error.original.args), case, rules)
    training, seen = result.values[0]
    found = found_by(seen, case, rules)
    if is_whole:
        messages = result.trace.messages
        if seen.updates is not None:
            until_s = seen.clock_s + 1e-9  # what is sent in that very moment counts
            found["bytes"] = sum(m.n_bytes for m in messages if m.posted_s <= until_s)
        right = MODEL.predict(training.w, examples.X_test) == examples.y_test
        found |= {
            "accuracy": float(np.mean(right)),
            "whole_seconds": result.elapsed_s,
            "whole_bytes": sum(m.n_bytes for m in messages),
        }
    return found


def task(
    comm: Communicator, case: Case, plan: Plan, rules: Rules, is_whole: bool
) -> tuple[Training, Seen]:
    """What every rank does: the scheme, with somebody watching rank 0's model."""
    examples, scheme = data(rules.n_images), SCHEMES[case.scheme]
    watch = Watch(comm, max(1, rules.look_after // case.batch), rules, is_whole)
    options: dict[str, Any] = {"optimizer": partial(WatchedSGD, watch)}
    if case.scheme == "local_sgd":
        options = {"every": case.every, "allreduce": WatchedMean(watch, case)}
    training = scheme(comm, MODEL, *examples[:2], plan, **options)
    return training, watch.seen


def found_by(seen: Seen, case: Case, rules: Rules) -> Found:
    """Put what was seen into words."""
    if not seen.loss < DIVERGED:
        return {"is_diverged": True}
    found: Found = {"is_diverged": False, "loss": seen.loss}
    if seen.updates is not None:
        updates = min(seen.updates, n_updates(case, rules))  # the last mean may come early
        epochs = updates / math.ceil(rules.n_images / case.batch)
        found |= {"updates": updates, "epochs": epochs, "seconds": seen.clock_s}
    return found


def n_updates(case: Case, rules: Rules) -> int:
    """Count the updates of a whole training."""
    epochs = rules.far_epochs if case.is_far else rules.epochs
    return epochs * math.ceil(rules.n_images / case.batch)


def network_of(case: Case, rules: Rules) -> Network:
    """Return ten-gigabit Ethernet between ranks of that speed, the last of them perhaps slow."""
    network = replace(networks.ethernet_10g, flops_per_s=rules.flops_per_s)
    if case.is_far:
        network = networks.two_level(network, FAR, ranks_per_host=case.workers // 2)
    if case.straggler > 1:
        network = network.with_straggler(case.ranks - 1, case.straggler)
    return network


@cache  # ranks only read it
def data(n_images: int) -> DigitsData:
    """Load the digits; fewer to train on for a fast look."""
    X, y, X_test, y_test = load_digits()
    return DigitsData(X[:n_images], y[:n_images], X_test, y_test)
