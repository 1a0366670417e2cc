"""What a run cost, and whether that is too much, or too little for what it measures."""

import math

from course_lib.checks.diagnosis import Diagnosis
from course_lib.checks.sandbox import Observation
from course_lib.checks.task import Case, Hint, Price, Task

__all__ = ["measured_price", "too_cheap", "too_expensive"]


def measured_price(seen: Observation, calls: int) -> Price:
    """Count what one call cost.

    Parameters
    ----------
    seen : Observation
        A run that gave results.
    calls : int
        How many equal calls there were in it.

    Returns
    -------
    Price
        Rounded up where the calls were not equal after all.
    """
    trace = seen.trace
    assert trace is not None
    busiest = max([*trace.bytes_sent(), *trace.bytes_received()])
    return Price(
        math.ceil(trace.n_messages / calls),
        math.ceil(trace.n_bytes / calls),
        math.ceil(busiest / calls),
        seen.elapsed_s / calls,
        math.ceil(trace.rounds() / calls),
    )


def too_cheap(task: Task, case: Case, seen: Observation) -> Diagnosis | None:
    """Notice a measurement of less than was to be measured, or of much more.

    Parameters
    ----------
    task : Task
        Knows what a measurement costs at least.
    case : Case
        What was run.
    seen : Observation
        What was seen.

    Returns
    -------
    Diagnosis or None
        None if it is as it should be.
    """
    least, budget = task.least(case), task.budget(case)
    if least is None:
        return None
    cost = measured_price(seen, case.calls)
    for what, sent, lower, upper in (
        ("messages", cost.messages, least.messages, budget.messages),
        ("bytes", cost.n_bytes, least.n_bytes, budget.n_bytes),
    ):
        few_or_many = "few" if sent < lower else "many" if sent > upper else ""
        if few_or_many:
            hint_id = f"too-{few_or_many}-{what}"
            return Diagnosis(
                f"{sent:,} {what} were sent; the measurement takes {lower:,}",
                Hint(hint_id, task.price_hints[hint_id]),
                expected=f"{lower:,} {what}", got=f"{sent:,} {what}",
            )  # fmt: skip
    return None


def too_expensive(task: Task, case: Case, seen: Observation) -> Diagnosis | None:
    """Notice a right result that cost more than the budget that the task states.

    Parameters
    ----------
    task : Task
        Knows the budget.
    case : Case
        What was run.
    seen : Observation
        What was seen.

    Returns
    -------
    Diagnosis or None
        None if it is as it should be.
    """
    cost, budget = measured_price(seen, case.calls), task.budget(case)
    if cost.messages > budget.messages:
        hint = Hint("too-many-messages", "look at the pictures: which message could be left out?")
        return _over(task, "messages", cost.messages, budget.messages, hint)
    if cost.n_bytes > budget.n_bytes:
        hint = Hint("too-many-bytes", "what is sent that the receiver already has?")
        return _over(task, "bytes", cost.n_bytes, budget.n_bytes, hint)
    if cost.busiest_bytes > budget.busiest_bytes:
        what, hint = (
            "bytes at the busiest rank",
            Hint("one-rank-carries-all", "share the work of sending"),
        )
        return _over(task, what, cost.busiest_bytes, budget.busiest_bytes, hint)
    if case.calls > 1:
        return None  # the rounds of two calls may overlap, and so may their times
    if cost.rounds is not None and budget.rounds is not None and cost.rounds > budget.rounds:
        hint = Hint("too-many-rounds", "which messages wait for each other, and need not?")
        return _over(task, "rounds", cost.rounds, budget.rounds, hint)
    timed = case.network is None and not case.stagger
    limit_s, took_s = budget.seconds, cost.seconds
    if timed and limit_s is not None and took_s is not None and took_s > limit_s * (1 + 1e-9):
        hint = Hint("too-long", "which ranks wait although they could already be sending?")
        return _over(
            task, "virtual microseconds", round(took_s * 1e6), round(limit_s * 1e6), hint
        )  # fmt: skip
    return None


def _over(task: Task, what: str, cost: int, budget: int, hint: Hint) -> Diagnosis:
    return Diagnosis(
        f"the result is right, but it took {cost:,} {what} where {budget:,} are enough",
        hint._replace(text=task.price_hints.get(hint.id, hint.text)),
        expected=f"{budget:,} {what} or fewer", got=f"{cost:,} {what}",
    )  # fmt: skip
