"""Traces of real runs on the simulator, for the tests of the pictures."""

from functools import cache

import numpy as np

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.simulated.network import Network
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.linear_regression import LinearRegression
from course_lib.pipelines import one_f_one_b, zb_h1
from course_lib.schemes import backup_workers, downpour, hogwild, pipeline
from course_lib.schemes.map_reduce import map_reduce as map_reduce_scheme
from course_lib.trace.events import Fault, Message
from course_lib.trace.trace import Trace
from course_lib.training import Plan
from course_lib.watch import watch_collective


@cache
def ring(size=4, length=8192):
    """A ring all-reduce of ``length`` float64."""
    return run(allreduce_ring, np.ones(length), workers=size, backend="simulated").trace


@cache
def map_reduce(size=4, steps=1, features=10):
    """Linear regression on 400 examples, ``steps`` steps of MapReduce."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, features))
    y = X @ np.arange(features) + rng.normal(size=400)
    return run(
        map_reduce_scheme, X, y, Plan(0.1, epochs=steps), workers=size, backend="simulated"
    ).trace


@cache
def watched(fn=allreduce_ring, size=4, **options):
    """A collective that was watched."""
    return watch_collective(fn, workers=size, **options)


@cache
def stale(scheme="downpour"):
    """Three replicas, or ranks, on a network on which one of them is late once."""
    schemes = {"downpour": downpour, "hogwild": hogwild, "backup_workers": backup_workers}
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    model = LinearRegression(1)
    network = Network("slow", 0.05, 1e3, model.flops((X, y)))
    return run(
        schemes[scheme], model, X, y, Plan(0.01, 2, 6), workers=4, backend="simulated",
        network=network.with_service_times({3: [None, 3.0]}),
    ).trace  # fmt: skip


def accident():
    """Rank 0 sent twice what nobody received, rank 1 failed."""
    sent = [
        Message(0, 1, tag, "<f8", (4,), 32, posted_s, posted_s, None, None, "world")
        for tag, posted_s in (("a </script>", 1e-3), (None, 2e-3))
    ]
    return Trace(
        "processes", "measured", 3, messages=sent, faults=[Fault(1, "WorkerDied", "killed", 3e-3)]
    )


def restarted():
    """Rank 1 crashed, lost a message, and was started again; rank 2 crashed for good."""
    sent = Message(0, 1, None, "<f8", (4,), 32, 2e-3, 2e-3, None, None, "world")
    faults = [
        Fault(1, "Crash", "rank 1 crashed", 1e-3),
        Fault(None, "Lost", "message 1 from rank 0 to rank 1 was lost", 2e-3),
        Fault(1, "Restart", "rank 1 was started again", 3e-3),
        Fault(2, "Crash", "rank 2 crashed", 4e-3),
    ]
    return Trace("simulated", "virtual", 3, messages=[sent], faults=faults)


@cache
def pipelined(halves=True):
    """One step of four micro-batches through two stages, going back in two halves or whole."""
    rng = np.random.default_rng(0)
    model = deep_mlp(6, 5, 4, 3, 3)
    data = rng.normal(size=(16, 6)), rng.integers(0, 3, 16)
    make = zb_h1 if halves else one_f_one_b
    return run(
        pipeline, model, *data, Plan(0.1, 16), make, 4, workers=2, backend="simulated"
    ).trace  # fmt: skip
