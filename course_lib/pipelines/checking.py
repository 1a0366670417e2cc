"""What a schedule must be: complete, on the right ranks, and without a wait-for cycle."""

from collections import Counter

from course_lib.pipelines.schedule import Action, MakesSchedule, Schedule
from course_lib.words.whole import whole

__all__ = ["check_schedule", "schedule_for"]


def check_schedule(schedule: Schedule) -> None:
    """Refuse a schedule that cannot be carried out, before anybody begins.

    Parameters
    ----------
    schedule : Schedule
        What was written.

    Raises
    ------
    TypeError
        If it is no ``Schedule``.
    ValueError
        If a stage has no worker, an action is missing, there twice, on another rank than its stage
        or none at all, or if ranks would wait for ever; it names the action.
    """
    if not isinstance(schedule, Schedule):
        raise TypeError(
            "schedule must be a Schedule, as gpipe(ranks=4, microbatches=8) makes one, "
            f"got {schedule!r} ({type(schedule).__name__})"
        )
    _check_placement(schedule)
    _check_actions(schedule)
    _check_progress(schedule)


def _check_placement(schedule: Schedule) -> None:
    if not schedule.placement or schedule.microbatches < 1:
        raise ValueError(
            "schedule must have a stage and a micro-batch at least, got "
            f"{schedule.n_stages} stages and {schedule.microbatches} micro-batches"
        )
    for stage, home in enumerate(schedule.placement):
        if not 0 <= home < schedule.n_ranks:
            raise ValueError(
                f"placement must give every stage one of the ranks 0 to {schedule.n_ranks - 1}, "
                f"got {home} for stage {stage}: it has no worker"
            )
    if idle := set(range(schedule.n_ranks)) - set(schedule.placement):
        raise ValueError(f"placement must give every rank a stage, got none for rank {min(idle)}")


def _check_actions(schedule: Schedule) -> None:
    """Every stage must go forward once with every micro-batch, and once back."""
    found: Counter[Action] = Counter()
    for rank, order in enumerate(schedule.orders):
        for action in order:
            kind, stage, microbatch = action
            is_known = kind in ("F", "I", "W", "B") and 0 <= microbatch < schedule.microbatches
            if not is_known or not 0 <= stage < schedule.n_stages:
                raise ValueError(f"orders must hold actions of this pipeline, got {action}")
            if schedule.placement[stage] != rank:
                raise ValueError(
                    f"orders must give an action to the rank of its stage, {action} to rank "
                    f"{schedule.placement[stage]}, got it on rank {rank}"
                )
            found.update(action.made)
    for stage in range(schedule.n_stages):
        for microbatch in range(schedule.microbatches):
            for kind in "FIW":
                action = Action(kind, stage, microbatch)
                if found[action] != 1:
                    raise ValueError(
                        f"orders must hold {action} once (a B is an I and a W), "
                        f"got it {found[action]} times"
                    )


def _check_progress(schedule: Schedule) -> None:
    """Let every rank go as far as it can; whoever is left waits for ever."""
    done: set[Action] = set()
    position = [0] * schedule.n_ranks
    is_moving = True
    while is_moving:
        is_moving = False
        for rank, order in enumerate(schedule.orders):
            while position[rank] < len(order) and not _missing(
                order[position[rank]], schedule, done
            ):
                done.update(order[position[rank]].made)
                position[rank] += 1
                is_moving = True
    stuck = [
        (rank, order[position[rank]])
        for rank, order in enumerate(schedule.orders)
        if position[rank] < len(order)
    ]
    if stuck:
        rank, action = stuck[0]
        awaited = _missing(action, schedule, done)[0]
        raise ValueError(
            f"orders must come to an end, got {action} on rank {rank}, which waits for {awaited} "
            f"on rank {schedule.placement[awaited.stage]} for ever"
        )


def _missing(action: Action, schedule: Schedule, done: set[Action]) -> list[Action]:
    return [needed for needed in action.needs(schedule.n_stages) if needed not in done]


def schedule_for(
    ranks: int, schedule: MakesSchedule, microbatches: int, n_examples: int
) -> Schedule:
    """Make a schedule, and refuse it if it is not for these ranks and batches.

    Parameters
    ----------
    ranks : int
        How many there are.
    schedule : callable
        Makes it, of the number of ranks and of micro-batches.
    microbatches : int
        Into how many parts a batch is cut.
    n_examples : int
        How many examples a batch has.

    Returns
    -------
    Schedule
        It can be carried out.

    Raises
    ------
    TypeError, ValueError
        If it cannot, or is for other numbers, or if there are more micro-batches than examples.
    """
    if not callable(schedule):
        raise TypeError(
            "schedule must be a function of the number of ranks and of micro-batches, such as "
            f"gpipe of course_lib.pipelines, got {schedule!r} ({type(schedule).__name__})"
        )
    # Before a schedule is made: it has an action or two for each micro-batch and stage.
    whole("microbatches", microbatches, 1)
    if microbatches > n_examples:
        raise ValueError(
            f"microbatches must be no more than the examples of a batch, {n_examples}, "
            f"got {microbatches}"
        )
    made: Schedule = schedule(ranks, microbatches)
    check_schedule(made)
    if made.n_ranks != ranks:
        raise ValueError(f"schedule must be for {ranks} ranks, got one for {made.n_ranks}")
    if made.microbatches != microbatches:
        raise ValueError(
            f"schedule must be for {microbatches} micro-batches, got one for {made.microbatches}"
        )
    return made
