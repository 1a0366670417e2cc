"""What a step costs: through a server, and in memory that all share."""

from course_lib.comm.launch import run
from course_lib.lectures.lecture_09 import RETURNED, ages
from course_lib.lectures.lecture_10.odds import EPOCHS, EXAMPLES, STEP, problem, share_lost, trained
from course_lib.training import Plan
from course_lib.viz import Table, table

__all__ = ["price_sheet"]

_LOCKS = {"none": "Hogwild, no lock", "striped": "Hogwild, 8 locks", "one": "Hogwild, one lock"}


def price_sheet(workers: int = 4) -> Table:
    """Lay out what the explorer's trainings cost in virtual time, and Downpour's beside them.

    Parameters
    ----------
    workers : int, default: 4
        How many train.

    Returns
    -------
    Table
        Messages a step, the mean age of a gradient, what is lost, and how many times as fast the
        steps are as one worker's; for examples with 2 of 100 parameters, and with all.
    """
    rows = {}
    for name, lock in (("Downpour, a push returns", ""), *((n, k) for k, n in _LOCKS.items())):
        row: dict[str, float] = {}
        for touched, few in ((2, "2 of 100"), (100, "all 100")):
            if lock:
                trace = trained(touched, workers, lock)
            else:
                plan = Plan(STEP, 1, EPOCHS)
                made = run(RETURNED, *problem(touched), plan, workers=workers + 1,
                           backend="simulated")  # fmt: skip
                assert made.trace is not None
                trace = made.trace
            row.setdefault("messages a step", round(trace.n_messages / (EPOCHS * EXAMPLES), 1))
            row.setdefault("mean age", round(_mean_age(ages(trace)), 2))
            row[f"lost, %, {few}"] = round(100 * share_lost(trace, touched), 1)
            alone_s = trained(touched, 1).end_s
            row[f"times as fast, {few}"] = round(alone_s / trace.end_s, 3)
        rows[name] = row
    return table(rows)


def _mean_age(found: list[int]) -> float:
    return sum(found) / len(found)
