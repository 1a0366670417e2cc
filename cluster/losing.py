"""A host is lost in the middle of a training: who says so, what is left, and how it goes on."""

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster.launches import start_on
from cluster.network import ThrottledNetwork
from course_lib.lectures.lecture_12 import TRAINING, Hosts
from course_lib.train.checkpoint import INDEX, load, read_index

__all__ = ["EPOCHS", "HOW", "NotAsPromised", "lose_host"]

HOW = {
    "killed": "kill -9 of all that runs on it",
    "unplugged": "its cable is pulled: it runs on, and nobody hears of it",
}
"""How a host is lost."""

EPOCHS = 40
_LOST_AT = 3
_ALL_TOLD_S = 30.0
_ENDED_S = 60.0


class NotAsPromised(AssertionError):
    """What is said of lost hosts does not hold; the text says what, and what was printed."""


def lose_host(
    network: ThrottledNetwork, lost: int, how: str, folder: Path, expected: NDArray[Any]
) -> dict[str, Any]:
    """Train on all hosts, lose one, start all again with ``--resume``, and compare.

    Parameters
    ----------
    network : ThrottledNetwork
        The hosts, each of which has one rank.
    lost : int
        Which is lost.
    how : str
        In ``HOW``.
    folder : Path
        Where checkpoints go; all hosts see it.
    expected : numpy.ndarray
        The parameters of a training that loses nobody.

    Returns
    -------
    dict
        What each other host said, and after how many seconds; the epoch that was kept.

    Raises
    ------
    NotAsPromised
        If a host does not name the one that is lost, a process is left, or a bit differs.
    """
    kept = folder / f"{how}{lost}"
    words = ("-m", "course_lib", "train", *TRAINING, "--epochs", str(EPOCHS))
    program = (*words, "--checkpoint", str(kept))
    with start_on(network, *program, folder=folder, n_hosts=network.n_hosts) as hosts:
        hosts.until(kept / INDEX, f'"epoch": {_LOST_AT}')
        network.unplug(lost) if how == "unplugged" else hosts.kill(lost)
        told = _told_by_others(hosts, network.n_hosts, lost)
        for node in range(network.n_hosts):
            hosts.wait(node, _ENDED_S)
    if left := network.processes():
        raise NotAsPromised(f"left on the hosts: {left}")
    if how == "unplugged":
        network.plug_in(lost)
    at, w_then = int(read_index(kept)["epoch"]), load(kept).w
    with start_on(network, *program, "--resume", folder=folder, n_hosts=network.n_hosts) as hosts:
        for node in range(network.n_hosts):
            if hosts.wait(node):
                raise NotAsPromised(f"--resume failed:\n{hosts.printed(node)}")
    after = load(kept)
    if not at < after.rows[-1].epoch == EPOCHS or np.array_equal(after.w, w_then):
        raise NotAsPromised(f"lost after epoch {at}, went on to {after.rows[-1].epoch}")
    if not np.array_equal(after.w, expected):
        raise NotAsPromised("the parameters are not those of a training that lost nobody")
    return {"lost": lost, "how": how, "kept_epoch": at, "epochs": EPOCHS, "told": told}


def _told_by_others(hosts: Hosts, n_hosts: int, lost: int) -> list[dict[str, Any]]:
    """Wait until each other host has named the lost rank; return the line, and how long it took."""
    since_s, told = time.monotonic(), {}
    others = [node for node in range(n_hosts) if node != lost]
    while len(told) < len(others):
        passed_s = time.monotonic() - since_s
        for node in set(others) - told.keys():
            if found := re.search(rf"^.*\brank {lost}\b.*$", hosts.printed(node), re.MULTILINE):
                told[node] = {"host": node, "seconds": passed_s, "said": found.group().strip()}
        if passed_s > _ALL_TOLD_S:
            silent = sorted(set(others) - told.keys())
            printed = "\n".join(hosts.printed(node) for node in silent)
            raise NotAsPromised(f"hosts {silent} do not name rank {lost}:\n{printed}")
        time.sleep(0.02)
    return [told[node] for node in others]
