"""A step of the synchronous parameter server on paper: its time, and what follows from it."""

import math

from course_lib.costs.bounds import AtMost
from course_lib.costs.checking import (
    amount,
    at_least_one,
    checked,
    count,
    duration,
    positive,
    ranks,
)

__all__ = ["bandwidth_for", "best_servers", "server_step_s"]


@checked(
    workers=at_least_one, n_bytes=amount, compute_s=duration, update_s=duration, latency_s=duration,
    beta_s_per_byte=duration, servers=ranks,
)  # fmt: skip
def server_step_s(
    workers: int,
    n_bytes: int,
    compute_s: float,
    update_s: float,
    latency_s: float,
    beta_s_per_byte: float,
    servers: int = 1,
) -> float:
    """Predict a step with dedicated servers, and equal shards if they are several.

    With one it is the longer of two chains, and the update. With several there are as many rounds
    as there are workers, or servers, of fetching, then the gradient, and as many of pushing; what
    overlaps is not counted.

    Parameters
    ----------
    workers : int
        How many ranks compute, 1 or more.
    n_bytes : int
        The parameters' bytes, so many that each message is of more than 16 KB and waits for its
        receive.
    compute_s, update_s : float
        What a worker's gradient and the update of all parameters by one server take.
    latency_s, beta_s_per_byte : float
        Alpha and beta.
    servers : int, default: 1
        How many ranks only serve, besides the workers.

    Returns
    -------
    float
        Seconds from one fetch to the next: an ``AtMost`` with several servers, unless they are as
        many as the workers.

    Examples
    --------
    >>> round(server_step_s(4, 1_000_000, 2e-3, 0.0, 20e-6, 1e-9) * 1e3, 3)  # milliseconds
    8.08
    >>> 1e3 * server_step_s(4, 1_000_000, 2e-3, 0.0, 20e-6, 1e-9, servers=4)
    4.16
    """
    if servers > 1:
        rounds = max(workers, servers)
        transfer_s = latency_s + n_bytes / servers * beta_s_per_byte
        step_s = 2 * rounds * transfer_s + compute_s + update_s / servers
        return step_s if servers == workers else AtMost(step_s)
    transfer_s = latency_s + n_bytes * beta_s_per_byte
    computing_s = compute_s + (workers + 1) * transfer_s
    nic_s = 2 * workers * n_bytes * beta_s_per_byte + workers * latency_s
    return max(computing_s, nic_s) + update_s


@checked(
    efficiency=positive, workers=at_least_one, n_bytes=amount, compute_s=duration,
    update_s=duration, latency_s=duration,
)  # fmt: skip
def bandwidth_for(
    efficiency: float,
    workers: int,
    n_bytes: int,
    compute_s: float,
    update_s: float,
    latency_s: float,
) -> float:
    """Solve ``server_step_s`` for the bandwidth at which a worker computes so much of the time.

    Parameters
    ----------
    efficiency : float
        The part of a step in which a worker computes, between 0 and 1.
    workers : int
        How many ranks compute.
    n_bytes : int
        The parameters' bytes.
    compute_s, update_s : float
        What a worker's gradient and the server's update take.
    latency_s : float
        Alpha.

    Returns
    -------
    float
        Bytes a second of each NIC.

    Raises
    ------
    ValueError
        If the latencies alone take too long.

    Examples
    --------
    >>> f"{bandwidth_for(0.5, 4, 1_000_000, 2e-3, 0.0, 20e-6):,.0f} bytes a second"
    '2,631,578,947 bytes a second'
    """
    rest_s = compute_s / efficiency - update_s
    computing_s = (rest_s - compute_s) / (workers + 1) - latency_s
    nic_s = (rest_s - workers * latency_s) / (2 * workers)
    if min(computing_s, nic_s) <= 0:
        raise ValueError(
            f"efficiency must be lower: {efficiency} is out of reach with a latency of "
            f"{latency_s} s, however large the bandwidth"
        )
    return n_bytes / min(computing_s, nic_s)


@checked(
    computers=lambda name, value: count(name, value, least=2), transfer_s=duration,
    compute_s=positive,
)  # fmt: skip
def best_servers(computers: int, transfer_s: float, compute_s: float) -> int:
    """Say how many of the computers should serve equal shards to the others.

    A step takes about ``compute_s + 2 W / S * transfer_s`` while there are fewer servers than
    workers; the most gradients a second come from S / W, the root of ``2 transfer_s / compute_s``.

    Parameters
    ----------
    computers : int
        Workers and dedicated servers together, 2 or more.
    transfer_s : float
        What all parameters take on one NIC.
    compute_s : float
        What a worker's gradient takes.

    Returns
    -------
    int
        At least one, and at most half of them.

    Examples
    --------
    >>> best_servers(12, transfer_s=1e-3, compute_s=8e-3)  # S / W = 1 / 2
    4
    """
    ratio = math.sqrt(2 * transfer_s / compute_s)
    below = math.floor(computers * ratio / (1 + ratio))

    def gradients_a_second(servers: int) -> float:
        workers = computers - servers
        return workers / (compute_s + 2 * workers / servers * transfer_s)

    nearest = {min(max(1, servers), computers // 2) for servers in (below, below + 1)}
    return max(sorted(nearest), key=gradients_a_second)
