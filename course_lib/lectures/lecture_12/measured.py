"""What a run of ``make cluster`` measured: hosts on a real network, made on one computer."""

import json
import statistics
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.viz import Table, table
from course_lib.words.units import in_seconds

__all__ = ["RECORDED", "measured", "measured_table"]

RECORDED = Path(__file__).with_name("recorded.json")
"""Written by ``python -m cluster --record``."""
_N_BYTES = 4_000_000


@cache
def measured() -> dict[str, Any]:
    """Return the recorded run; ``cluster`` describes what is in it."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def measured_table() -> Table:
    """List what left host 0, and how long 4 MB took, measured and as the simulator says.

    Returns
    -------
    Table
        A row for each way, on two hosts of two ranks.
    """
    rows: dict[str, dict[str, object]] = {}
    for one in measured()["allreduces"]:
        if (one["hosts"], one["each"], one["n_bytes"]) == (2, 2, _N_BYTES):
            rows[one["way"]] = {
                "left host 0": f"{one['sent_bytes'] / _N_BYTES:.2f} n",
                "4 MB": in_seconds(statistics.median(one["seconds"])),
                "simulated": in_seconds(one["predicted_s"]),
            }
    return table(rows)
