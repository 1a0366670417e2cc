"""What crosses the link between two hosts, by which all-reduce."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from course_lib.collectives import ALLREDUCES, allreduce_two_level
from course_lib.comm.simulated import networks
from course_lib.viz import Table, table
from course_lib.watch import Watched, watch_collective

__all__ = ["BETWEEN", "WAYS", "between_hosts", "crossing_bytes", "crossing_table"]

BETWEEN = replace(networks.ethernet_1g, name="100 Mbit/s", bandwidth_bytes_per_s=1.25e7)
"""The link between two hosts."""

_HOSTS = networks.two_level(networks.nvlink_4, BETWEEN, ranks_per_host=2)
_LENGTH = 8_192

WAYS: Mapping[str, Callable[..., Any]] = {
    "server": ALLREDUCES["central"],
    "tree": ALLREDUCES["tree"],
    "ring": ALLREDUCES["ring"],
    "hierarchical": allreduce_two_level,
}
"""By name; the server is rank 0, who trains, too."""


@cache
def between_hosts(way: str) -> Watched:
    """Run an all-reduce of four ranks on two hosts, with a vector of 64 KB.

    Parameters
    ----------
    way : str
        In ``WAYS``.

    Returns
    -------
    Watched
        Ranks 0 and 1 are on the first host, 2 and 3 on the second.
    """
    return watch_collective(WAYS[way], workers=4, length=_LENGTH, network=_HOSTS)


def crossing_bytes(way: str, src_host: int) -> float:
    """Say how often the vector crosses from one host to the other.

    Parameters
    ----------
    way : str
        In ``WAYS``.
    src_host : {0, 1}
        From which.

    Returns
    -------
    float
        Bytes, in lengths of the vector.
    """
    sent = between_hosts(way).trace.messages
    crossed = (m.n_bytes for m in sent if m.src // 2 == src_host and m.dst // 2 != src_host)
    return sum(crossed) / (8 * _LENGTH)


def crossing_table() -> Table:
    """List what crosses, each way, and how long 64 KB take.

    Returns
    -------
    Table
        A row for each way.
    """
    rows: dict[str, dict[str, object]] = {}
    for way in WAYS:
        both = [crossing_bytes(way, host) for host in (0, 1)]
        rows[way] = {
            "0 → 1": f"{both[0]:g} n", "1 → 0": f"{both[1]:g} n",
            "64 KB, ms": round(1e3 * between_hosts(way).trace.end_s, 1),
        }  # fmt: skip
    return table(rows)
