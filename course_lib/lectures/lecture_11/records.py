"""Records of races: points on every clock, and a race that somebody has sent in."""

import bisect
import itertools
from typing import Any

from course_lib.comm.result import Result
from course_lib.lectures.lecture_11.clocks import GBIT, LATENCY_S, dry, network_with, pace_of
from course_lib.lectures.lecture_11.kept import NAMES, best, grid, rules

__all__ = ["points_of", "sent_in"]

_STRAGGLER = 10.0
_PLANTED: dict[str, dict[str, Any]] = {
    "data_parallel": {"rate": 0.4},
    "backup_workers": {},
    "downpour": {"first_loss": 1.24, "clock": 1},
    "local_sgd": {"rate": 0.05, "target": 0.2},
}
"""What is unfair: a rate that is not best, a warm start, a worker's clock, an easier target."""


def points_of(made: Result) -> list[tuple[int, float, int, float]]:
    """List updates, seconds, bytes and the loss of a run of the race.

    Parameters
    ----------
    made : Result
        Of ``near_runs``.

    Returns
    -------
    list of (int, float, int, float)
        A point for each update.
    """
    sent = sorted((message.posted_s, message.n_bytes) for message in made.trace.messages)
    totals = [0, *itertools.accumulate(n_bytes for _, n_bytes in sent)]
    posted = [time_s for time_s, _ in sent]
    return [
        (k, note.time_s, totals[bisect.bisect_left(posted, note.time_s)], float(note.value))
        for k, note in enumerate(made.trace.notes_named("loss"), start=1)
    ]


def sent_in() -> list[dict[str, Any]]:
    """Make the records of a race beside a straggler, some of them unfair.

    Returns
    -------
    list of dict
        The times are made of the kept updates and of dry runs on the race's network: nobody trained
        at a planted rate, or to a planted target. For each rate ``tried`` holds the seconds to the
        target, or None.
    """
    records = []
    for scheme, planted in _PLANTED.items():
        found = best(scheme, straggler=_STRAGGLER)
        case = found.case
        each_s = pace_of(case, LATENCY_S, GBIT).seconds
        tried = {
            rate: round(each_s * point["updates"], 5) if "updates" in point else None
            for (rate, momentum), point in sorted(grid(scheme, 4, _STRAGGLER).items())
            if momentum == found.momentum
        }  # fmt: skip
        there = {rate: seconds for rate, seconds in tried.items() if seconds is not None}
        rate = planted.get("rate", min(there, key=there.__getitem__))
        trace = dry(case, 60, network_with(LATENCY_S, GBIT, _STRAGGLER, case.ranks))
        longer = found.median("updates") / 60
        ends = [max(s.end_s for s in trace.computes if s.rank == r) for r in range(case.ranks)]
        ended_s = [round(longer * end_s, 5) for end_s in ends]
        records.append({
            "scheme": NAMES[scheme], "tried": tried, "rate": rate,
            "first_loss": planted.get("first_loss", 2.3),
            "target": planted.get("target", rules().target),
            "ended_s": ended_s, "holder": 0, "seconds": ended_s[planted.get("clock", 0)],
        })  # fmt: skip
    return records
