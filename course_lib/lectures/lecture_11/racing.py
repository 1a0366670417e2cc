"""One training in virtual time, watched: how long until the loss over all examples is low."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from course_lib.collectives import allreduce_ring, allreduce_two_level
from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RunError
from course_lib.comm.launch import run
from course_lib.comm.result import Result
from course_lib.comm.simulated import networks
from course_lib.comm.simulated.network import Network
from course_lib.compression import TopK
from course_lib.data.digits import DigitsData, load_digits
from course_lib.lectures.lecture_11.cases import Case, Rules
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    backup_workers,
    bounded_staleness,
    compressed,
    data_parallel,
    downpour,
    local_sgd,
    parameter_server,
    serial,
)
from course_lib.training import SGD, Training

__all__ = ["FAR", "MODEL", "SCHEMES", "Found", "data", "launched", "network_of", "options_of",
           "trained"]  # fmt: skip

SCHEMES: dict[str, Callable[..., Any]] = {
    "serial": serial,
    "data_parallel": data_parallel,
    "parameter_server": parameter_server,
    "backup_workers": backup_workers,
    "bounded_staleness": bounded_staleness,
    "downpour": downpour,
    "local_sgd": local_sgd,
    "compressed": compressed,
}
FAR = replace(networks.wan, latency_s=0.1)
"""What connects two sites."""
MODEL = mlp(64, 32, 10)
DIVERGED = 100.0
TIME_LIMIT_S = 600.0

Found = dict[str, Any]
"""What a training has shown: seconds, updates, epochs and bytes to the target, and its end."""


class Seen(NamedTuple):
    """The last loss over all examples, and when the first one was low enough."""

    loss: float
    updates: int | None = None
    clock_s: float = math.inf


class Over(Exception):
    """Raised in a training to end it, with what was seen: it has got there, or never will."""


class Watch:
    """Looks at rank 0's model after every so many updates, between two moments of virtual time."""

    def __init__(self, comm: Communicator, case: Case, rules: Rules, is_whole: bool) -> None:
        self.comm, self.rules, self.is_whole = comm, rules, is_whole
        self.look_every = max(1, rules.look_after // case.batch)
        self.seen = Seen(math.inf)

    def look(self, w: Any, updates: int) -> None:
        """Compute the loss over all examples; remember when it was first low enough.

        Parameters
        ----------
        w : array
            The model.
        updates : int
            After how many.
        """
        loss = MODEL.loss(w, data(self.rules.n_images)[:2])
        self.seen = self.seen._replace(loss=loss)
        if not loss < DIVERGED:
            raise Over(*self.seen)
        if self.seen.updates is None and loss <= self.rules.target:
            self.seen = Seen(loss, updates, self.comm.clock())
            if not self.is_whole:
                raise Over(*self.seen)

    def note(self) -> None:
        """Note the last loss over all examples; before the first, that of chance."""
        at_first = math.log(10)
        self.comm.note("loss", self.seen.loss if math.isfinite(self.seen.loss) else at_first)


class WatchedSGD(SGD):
    """SGD on the rank that holds the model; the clock is read when an update begins."""

    def __init__(self, watch: Watch, w: Any, plan: Any) -> None:
        super().__init__(w, plan)
        self.watch = watch

    def _go(self, grad: Any, rate: float) -> None:
        super()._go(grad, rate)
        updates = self.n_steps + 1
        if self.watch.comm.rank == 0:
            if updates % self.watch.look_every == 0:
                self.watch.look(self.w, updates)
            self.watch.note()


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
            for _ in range(self.case.every - 1):
                self.watch.note()  # in the steps until now there was no other model
            self.watch.look(total / comm.size, self.n_means * self.case.every)
            self.watch.note()
        return total


def launched(
    case: Case, rate: float, momentum: float, seed: int, rules: Rules, is_whole: bool = True
) -> Result:
    """Train in virtual time, watched.

    Parameters
    ----------
    case : Case
        Who trains, and where.
    rate, momentum : float
        Of the training.
    seed : int
        Of its plan: the first parameters and the order of the images.
    rules : Rules
        What is the same for all.
    is_whole : bool, default: True
        Whether it goes on to the last epoch, with a trace, or ends at the target.

    Returns
    -------
    Result
        The first rank's value is the training, and what was seen. After each update rank 0 notes
        the last ``"loss"`` over all images; it is computed after every ``rules.look_after`` images.
    """
    plan = case.plan(rate, momentum, seed, rules)
    return run(
        _task, case, plan, rules, is_whole, workers=case.ranks, backend="simulated",
        network=network_of(case, rules), trace=is_whole, time_limit_s=TIME_LIMIT_S,
    )  # fmt: skip


def trained(
    case: Case, rate: float, momentum: float, seed: int, rules: Rules, is_whole: bool = False
) -> Found:
    """Train, and return what was found: up to the target only, or to the end with ``is_whole``.

    Parameters
    ----------
    case : Case
        Who trains, and where.
    rate, momentum : float
        Of the training.
    seed : int
        Of its plan.
    rules : Rules
        What is the same for all.
    is_whole : bool, default: False
        Whether it goes on to the last epoch.

    Returns
    -------
    dict
        Bytes and the accuracy on the images for testing are counted in a whole training only. One
        that diverges is a finding; any other failure is an error.
    """
    examples = data(rules.n_images)
    try:
        result = launched(case, rate, momentum, seed, rules, is_whole)
    except RunError as error:
        if isinstance(error.original, FloatingPointError):
            return {"is_diverged": True}
        if not isinstance(error.original, Over):
            raise
        return _found_by(Seen(*error.original.args), case, rules)
    training, seen = result.values[0]
    found = _found_by(seen, case, rules)
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


def options_of(case: Case) -> dict[str, Any]:
    """Return what the scheme of a case is given besides its plan.

    Parameters
    ----------
    case : Case
        Who trains.

    Returns
    -------
    dict
        H of local SGD, k of top-k; else nothing.
    """
    if case.scheme == "local_sgd":
        return {"every": case.every}
    return {"compressor": TopK(case.sent)} if case.scheme == "compressed" else {}


def _task(comm: Communicator, case: Case, plan: Any, rules: Rules, is_whole: bool) -> Any:
    """Train by the scheme, with somebody watching rank 0's model."""
    examples, scheme = data(rules.n_images), SCHEMES[case.scheme]
    watch, options = Watch(comm, case, rules, is_whole), options_of(case)
    if case.scheme == "local_sgd":
        options["allreduce"] = WatchedMean(watch, case)
    else:
        options["optimizer"] = partial(WatchedSGD, watch)
    training: Training = scheme(comm, MODEL, *examples[:2], plan, **options)
    return training, watch.seen


def _found_by(seen: Seen, case: Case, rules: Rules) -> Found:
    """Put what was seen into words."""
    if not seen.loss < DIVERGED:
        return {"is_diverged": True}
    found: Found = {"is_diverged": False, "loss": seen.loss}
    if seen.updates is not None:
        updates = min(seen.updates, case.n_updates(rules))  # the last mean may come early
        epochs = updates / case.updates_per_epoch(rules)
        found |= {"updates": updates, "epochs": epochs, "seconds": seen.clock_s}
    return found


def network_of(case: Case, rules: Rules) -> Network:
    """Return ten-gigabit Ethernet between ranks of that speed, the last of them perhaps slow.

    Parameters
    ----------
    case : Case
        Whether there are two sites, or a straggler.
    rules : Rules
        How fast ranks are.

    Returns
    -------
    Network
        For the simulator.
    """
    network = replace(networks.ethernet_10g, flops_per_s=rules.flops_per_s)
    if case.is_far:
        network = networks.two_level(network, FAR, ranks_per_host=case.workers // 2)
    if case.straggler > 1:
        network = network.with_straggler(case.ranks - 1, case.straggler)
    return network


@cache  # ranks only read it
def data(n_images: int) -> DigitsData:
    """Load the digits; fewer to train on for a fast look.

    Parameters
    ----------
    n_images : int
        How many to train on.

    Returns
    -------
    DigitsData
        All images for testing.
    """
    X, y, X_test, y_test = load_digits()
    return DigitsData(X[:n_images], y[:n_images], X_test, y_test)
