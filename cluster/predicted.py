"""The same all-reduces on the simulator, on a network of the same shape."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cluster.timing import ways_of
from cluster.wire import payload_bytes_per_s
from course_lib import networks, run
from course_lib.costs.fit import Line

__all__ = ["network_of", "predict_all"]


def network_of(
    rate_mbit: float, between: Line, inside: Line | None = None, each: int = 1
) -> networks.Network:
    """Describe the hosts for the simulator.

    The bandwidth between hosts is computed from the link's rate, not fitted. What is measured is
    how long a message takes that has no bytes, and what messages inside a host cost.

    Parameters
    ----------
    rate_mbit : float
        Of each NIC.
    between, inside : Line
        Fitted to messages between hosts, and inside one, which exist if a host has several ranks.
    each : int, default: 1
        Ranks on a host.
    """
    nic = networks.Network(
        f"{rate_mbit:g} Mbit/s", between.alpha_s, payload_bytes_per_s(rate_mbit),
        networks.DEFAULT.flops_per_s,
    )  # fmt: skip
    if inside is None:
        return nic
    bandwidth = 1 / inside.beta_s_per_byte
    memory = networks.Network("a host", inside.alpha_s, bandwidth, networks.DEFAULT.flops_per_s)
    return networks.two_level(memory, nic, ranks_per_host=each)


def predict_all(
    network: networks.Network, workers: int, each: int, measured: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return what the simulator says of each all-reduce that has been measured.

    Returns
    -------
    list of dict
        What was measured, with ``predicted_s`` and ``predicted_bytes``: the seconds of a call, and
        what the first host sends to others.
    """
    ways = ways_of(each)
    found = []
    for one in measured:
        made = run(
            ways[one["way"]], np.zeros(one["n_bytes"] // 4, np.float32), workers=workers,
            backend="simulated", network=network,
        )  # fmt: skip
        crossed = sum(m.n_bytes for m in made.trace.messages if m.src < each <= m.dst)
        found.append({**one, "predicted_s": made.elapsed_s, "predicted_bytes": crossed})
    return found
