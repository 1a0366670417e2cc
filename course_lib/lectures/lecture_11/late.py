"""Who is late: always the last, always the last two, or each time another."""

from course_lib.comm.simulated.network import Network
from course_lib.lectures.lecture_11.clocks import (
    GBIT,
    LATENCY_S,
    network_with,
    pace_on,
    takes_part,
)
from course_lib.lectures.lecture_11.kept import NAMES

__all__ = ["late_s", "who_is_late"]

_SHOWN = ("data_parallel", "backup_workers", "bounded_staleness", "downpour", "local_sgd")
_SLOWER = 10.0


def who_is_late() -> dict[str, dict[str, float]]:
    """Say what four workers take to the target, by who is late.

    Returns
    -------
    dict of dict of str to float
        By what ``NAMES`` calls a scheme the seconds. The updates are those that were measured:
        beside one straggler, or, where times vary, without any. What an update takes there is a
        dry run.
    """
    even = network_with(LATENCY_S, GBIT)
    rows = {}
    for scheme in _SHOWN:
        last = takes_part(scheme, 4, _SLOWER, 8, 24).case.ranks - 1
        one = even.with_straggler(last, _SLOWER)
        laps = 15 if scheme == "local_sgd" else 120  # a lap of local SGD is eight steps
        rows[NAMES[scheme]] = {
            "one always": late_s(scheme, one),
            "two always": late_s(scheme, one.with_straggler(last - 1, _SLOWER)),
            "each time another": late_s(scheme, even.with_exponential_service(), 1.0, laps),
        }
    return rows


def late_s(scheme: str, network: Network, straggler: float = _SLOWER, laps: int = 8) -> float:
    """Say what a scheme of four workers takes to the target.

    Parameters
    ----------
    scheme : str
        One of ``NAMES``.
    network : Network
        What connects the ranks, and how fast each of them is.
    straggler : {1.0, 3.0, 10.0}, default: 10.0
        Beside which straggler the updates were measured.
    laps : int, default: 8
        How long it runs dry; where times vary, longer.

    Returns
    -------
    float
        Seconds: the updates that were measured times what one takes in the dry run.
    """
    found = takes_part(scheme, 4, straggler, 8, 24)
    return found.median("updates") * pace_on(found.case, network, laps).seconds
