"""What is usual with schemes for which a model's usual plan is not."""

from dataclasses import replace

from course_lib.training import Plan

__all__ = ["averaged", "slower_without_momentum", "stale", "without_momentum"]


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


def of_one_replica(plan: Plan) -> Plan:
    """Take a quarter of the batch: where nobody waits it is one replica's, not that of all."""
    return replace(plan, batch_size=max(plan.batch_size // 4, 1))


def stale(plan: Plan) -> Plan:
    """Be gentle with gradients that are old when they land: both of these."""
    return of_one_replica(slower_without_momentum(plan))


def averaged(plan: Plan) -> Plan:
    """Make up in part for the models of some replicas counting as one."""
    return of_one_replica(replace(plan, learning_rate=2 * plan.learning_rate))
