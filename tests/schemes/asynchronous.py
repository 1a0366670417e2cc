"""What tests of schemes in which replicas do not wait have in common."""

import math

import numpy as np

from course_lib import run
from course_lib.comm.simulated.network import Network
from course_lib.models.linear_regression import LinearRegression
from course_lib.training import Plan

BOWL = LinearRegression(1)
"""Its loss over the two examples below is half the square of the distance to (0, 1)."""
X_BOWL, Y_BOWL = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
CURVATURE = 1.0
GRADIENT_FLOPS = BOWL.flops((X_BOWL, Y_BOWL))


def free(n_replicas, speed=1.0):
    """A network in which nothing but a gradient takes time: one second, at speed 1."""
    speeds = (1e12,) + (speed * GRADIENT_FLOPS,) * n_replicas
    return Network("free", 0.0, math.inf, speeds)


SERVICE = {
    "constant": free,
    "exponential": lambda n_replicas: free(n_replicas).with_exponential_service(seed=1),
    "a straggler": lambda n_replicas: free(n_replicas).with_straggler(rank=1, factor=7.3),
}


def on_bowl(scheme, n_replicas, n_updates, network, rate=0.01, **plan):
    """Train on the bowl, a batch of all examples an epoch; rank 0 serves."""
    plan = Plan(rate, 2, n_updates, **plan)
    return run(
        scheme, BOWL, X_BOWL, Y_BOWL, plan, workers=n_replicas + 1, backend="simulated",
        network=network,
    )  # fmt: skip


def staleness(trace, rank=0):
    return [note.value for note in trace.notes_named("staleness") if note.rank == rank]


def landed(trace, server=0):
    """By replica, the numbers of the updates that its pushes became."""
    found, arrived = {}, 0
    for message in sorted(trace.messages, key=lambda message: message.received_s):
        if message.tag == "gradient" and message.dst == server:
            found.setdefault(message.src, []).append(arrived)
            arrived += 1
    return found
