"""When everything in a schedule happens, in exact fractions: no clock, no rounding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from course_lib.pipelines.checking import check_schedule
from course_lib.pipelines.schedule import Action, Exact, Schedule

__all__ = ["Times", "evaluate"]


@dataclass(frozen=True)
class Times:
    """When every action of a schedule begins and ends.

    Attributes
    ----------
    schedule : Schedule
        Of which.
    begins, ends : mapping of Action to Fraction
        Its times; the first action begins at 0.
    """

    schedule: Schedule
    begins: Mapping[Action, Fraction]
    ends: Mapping[Action, Fraction]

    @property
    def makespan(self) -> Fraction:
        """From the first action to the end of the last one."""
        return max(self.ends.values())

    def busy(self, rank: int) -> Fraction:
        """Return how long a rank computes."""
        return sum((self.ends[a] - self.begins[a] for a in self.schedule.orders[rank]), Fraction(0))

    def idle(self, rank: int) -> Fraction:
        """Return how long a rank has nothing to do in the makespan: its bubble."""
        return self.makespan - self.busy(rank)

    def idle_within(self, rank: int) -> Fraction:
        """Return how long it has nothing to do between its own first action and its last."""
        order = self.schedule.orders[rank]
        return self.ends[order[-1]] - self.begins[order[0]] - self.busy(rank)


def evaluate(schedule: Schedule, duration: Callable[[Action], Exact], latency: Exact = 0) -> Times:
    """Work out when every action begins and ends.

    Every rank does its actions in their order, each as soon as what it needs is there: at once if
    it was made on the same rank, else ``latency`` after it was made. Nothing else takes time, so
    this is the longest path through the actions.

    Parameters
    ----------
    schedule : Schedule
        Whose; it is checked.
    duration : callable
        Says how long an action takes, as an int or a Fraction to stay exact.
    latency : int or Fraction, default: 0
        How long a message travels between two ranks.

    Returns
    -------
    Times
        In the unit of the durations.

    Raises
    ------
    TypeError, ValueError
        If the schedule cannot be carried out, as ``check_schedule`` says, or ``latency`` is below
        0.

    Examples
    --------
    >>> from course_lib.pipelines import gpipe
    >>> times = evaluate(gpipe(ranks=2, microbatches=3), lambda a: 2 if a.kind == "B" else 1)
    >>> print(times.makespan, times.idle(0))
    12 3
    """
    check_schedule(schedule)
    if latency < 0:
        raise ValueError(f"latency must be 0 or more, got {latency}")
    begins: dict[Action, Fraction] = {}
    ends: dict[Action, Fraction] = {}
    made: dict[Action, Fraction] = {}
    position = [0] * schedule.n_ranks
    free = [Fraction(0)] * schedule.n_ranks
    while len(ends) < sum(map(len, schedule.orders)):
        for rank, order in enumerate(schedule.orders):
            while position[rank] < len(order):
                action = order[position[rank]]
                needs = action.needs(schedule.n_stages)
                if any(needed not in made for needed in needs):
                    break  # until another rank has gone on
                travels = [latency * (schedule.placement[n.stage] != rank) for n in needs]
                there = [made[n] + c for n, c in zip(needs, travels, strict=True)]
                begins[action] = max(free[rank], *there) if there else free[rank]
                ends[action] = free[rank] = begins[action] + Fraction(duration(action))
                made.update(dict.fromkeys(action.made, ends[action]))
                position[rank] += 1
    return Times(schedule, begins, ends)
