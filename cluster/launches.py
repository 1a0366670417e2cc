"""Torchrun on every host, with the words that one would type there."""

from pathlib import Path

from cluster.network import ThrottledNetwork
from course_lib.lectures.lecture_12 import Hosts

__all__ = ["run_on", "start_on"]

_LIMIT_S = 1800.0


def start_on(
    network: ThrottledNetwork, *program: str, folder: Path, n_hosts: int, each: int = 1
) -> Hosts:
    """Start a program on the first hosts of a network, ``each`` ranks on every one."""
    return Hosts(
        *program, folder=folder, each=each, address=network.address(0),
        enter=[network.enter(node) for node in range(n_hosts)],
    )  # fmt: skip


def run_on(
    network: ThrottledNetwork, *program: str, folder: Path, n_hosts: int, each: int = 1
) -> str:
    """Run a program on the first hosts of a network to its end; return what was typed on host 0."""
    with start_on(network, *program, folder=folder, n_hosts=n_hosts, each=each) as hosts:
        for node in range(n_hosts):
            if hosts.wait(node, _LIMIT_S):
                raise RuntimeError(f"{hosts.commands[node]}\n{hosts.printed(node)}")
        return hosts.commands[0]
