"""What was found, in words: of this run, or of the recorded one."""

import statistics
from copy import deepcopy
from typing import Any

from benchmarks.machine import describe
from cluster.losing import HOW
from course_lib.lectures.lecture_12.measured import RECORDED, measured
from course_lib.words.tables import as_text
from course_lib.words.units import in_bytes, in_seconds

__all__ = ["RECORDED", "far_off", "lines_of", "load"]

MOST_OFF = 0.2
"""How far a measured time may be from the predicted one, of arrays of ``LEAST_BYTES`` or more."""
LEAST_BYTES = 1_000_000
_HEAD = ("hosts x ranks", "way", "size", "measured", "predicted", "ratio", "leaves host 0", "of it")


def load() -> dict[str, Any]:
    """Return the recorded run, which may be changed."""
    return deepcopy(measured())


def far_off(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was measured of large arrays and is not what was predicted."""
    return [
        one for one in found["allreduces"]
        if one["n_bytes"] >= LEAST_BYTES and abs(_ratio(one) - 1) > MOST_OFF
    ]  # fmt: skip


def _ratio(one: dict[str, Any]) -> float:
    return statistics.median(one["seconds"]) / float(one["predicted_s"])


def lines_of(found: dict[str, Any]) -> list[str]:
    """Write what was found, a line or a table each."""
    rows = [
        (
            f"{one['hosts']} x {one['each']}", one["way"], in_bytes(one["n_bytes"]),
            in_seconds(statistics.median(one["seconds"])), in_seconds(one["predicted_s"]),
            f"{_ratio(one):.2f}", f"{one['sent_bytes'] / one['n_bytes']:.2f} n",
            f"{one['predicted_bytes'] / one['n_bytes']:g} n",
        )
        for one in found["allreduces"]
    ]  # fmt: skip
    lines = [
        f"measured on {describe(found['machine'])}",
        f"{found['rate_mbit']:g} Mbit/s; a message between hosts begins after "
        f"{in_seconds(found['alpha_s'])}",
        as_text(_HEAD, rows),
        "What leaves host 0 has 4.6 % of headers, and acknowledges what comes.",
    ]
    steps = ", ".join(f"{name} {in_seconds(s)}" for name, s in found["training"].items())
    lines.append(f"a step of data parallelism, the same losses to 1e-12: {steps}")
    for lost in found["lost"]:
        lines.append(f"host {lost['lost']} lost ({HOW[lost['how']]}):")
        lines += [f"  host {o['host']}, {o['seconds']:.1f} s: {o['said']}" for o in lost["told"]]
        lines.append(
            f"  nothing was left; --resume went on after epoch {lost['kept_epoch']} of "
            f"{lost['epochs']}, to the bit as if nothing had happened"
        )
    return lines
