"""What a rank measures: messages to the next rank, and each way of adding up.

``torchrun … -m cluster.timing FILE EACH REPEATS SIZE …`` is one of the ranks, EACH of which are on
a host; the first one writes the file.
"""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from course_lib.lectures.lecture_12 import WAYS
from course_lib.measure.allreduce import measure_allreduce
from course_lib.measure.messages import message_times

__all__ = ["MESSAGES", "time_all", "ways_of"]

MESSAGES = (8, 1_000, 16_000, 64_000, 500_000)
"""Bytes of the messages that alpha and beta are fitted to."""

_SENT = Path("/sys/class/net/eth0/statistics/tx_bytes")


def ways_of(each: int) -> Mapping[str, Any]:
    """Return the ways of adding up by name, for ``each`` ranks on a host."""
    ways = {**WAYS, "hierarchical": partial(WAYS["hierarchical"], ranks_per_host=each)}
    if each == 1:
        del ways["hierarchical"]  # it is the ring
    return ways


def time_all(each: int, repeats: int, sizes: list[int]) -> dict[str, Any]:
    """Measure as one of the ranks; what rank 0 returns is whole."""
    workers = int(os.environ["WORLD_SIZE"])
    points = message_times(MESSAGES, backend="torch", workers=workers, repeats=repeats)
    found = []
    for name, way in ways_of(each).items():
        for n_bytes in sizes:
            sent_before = int(_SENT.read_text())
            measured = measure_allreduce(
                _named(way), [n_bytes], workers=workers, backend="torch", repeats=repeats, calls=1
            )
            found += [
                {
                    "way": name, "n_bytes": n_bytes, "seconds": list(one.seconds),
                    "sent_bytes": (int(_SENT.read_text()) - sent_before) / (repeats + 1),
                }
                for one in measured
            ]  # fmt: skip
    return {"messages": points, "allreduces": found}


def come_first() -> None:
    """Have this program's threads run before those of all others.

    A host has processors of its own. Here the hosts share those of one computer, with whatever else
    runs there: a rank would get its message when somebody else lets it.
    """
    with suppress(OSError):  # a container may forbid it
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def _named(way: Any) -> Any:
    if isinstance(way, partial):
        way.__name__ = way.func.__name__  # type: ignore[attr-defined]
    return way


def main(file: str, each: str, repeats: str, *sizes: str) -> None:
    import course_lib.comm.torch_backend.torchrun  # noqa: F401 - takes its time, as everybody else

    come_first()
    found = time_all(int(each), int(repeats), list(map(int, sizes)))
    if os.environ["RANK"] == "0":
        Path(file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
