"""What is usual with schemes for which a model's usual plan is not."""

from dataclasses import replace

from course_lib.training import Plan

__all__ = ["faster", "slower_without_momentum", "without_momentum"]


def without_momentum(plan: Plan) -> Plan:
    """Take as long steps without momentum m as with it in the end: 1 / (1 - m) times as long."""
    rate = plan.learning_rate / (1 - plan.momentum)
    return replace(plan, learning_rate=rate, momentum=0.0)


def slower_without_momentum(plan: Plan) -> Plan:
    """Leave momentum to asynchrony, and take a fifth of what it would have added up to."""
    if not plan.momentum:
        return plan
    whole = without_momentum(plan)
    return replace(whole, learning_rate=whole.learning_rate / 5)


def faster(plan: Plan) -> Plan:
    """Make up for three replicas' models counting as one."""
    return replace(plan, learning_rate=3 * plan.learning_rate)
