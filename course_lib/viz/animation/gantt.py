"""One rank's step as a Gantt chart that moves: computing above, its collectives below."""

from collections.abc import Mapping, Sequence

from course_lib.trace.events import Compute
from course_lib.trace.trace import Trace
from course_lib.viz.animation.moving_timeline import Timeline, check_trace, timeline

__all__ = ["gantt"]


def gantt(
    runs: Mapping[str, Trace], labels: Mapping[str, Sequence[str]] | None = None, *,
    rank: int = 0, title: str | None = None,
) -> Timeline:  # fmt: skip
    """Show when one rank computed and when it was inside a collective, of one to four runs.

    Time begins with the rank's first computing: what comes before is left out.

    Parameters
    ----------
    runs : dict of str to Trace
        The runs by name, above each other on one axis of time.
    labels : dict of str to sequence of str or None, default: None
        By the run's name, what its collectives were for, in the order in which they began; then
        from the start again. Without them they have their names.
    rank : int, default: 0
        Whose time it is.
    title : str or None, default: None
        What stands above it.

    Returns
    -------
    Timeline
        Two lanes for each run, "computes" and "network". Where a collective begins before another
        has ended, it has a lane of its own, "network 2".

    Raises
    ------
    TypeError
        If ``runs`` is no dict of traces.
    ValueError
        If there is no run or there are more than four, or one in which the rank never computes.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> from course_lib.collectives import allreduce_ring
    >>> def step(comm):
    ...     with comm.compute("backward L1", flops=1e6):
    ...         grad = np.ones(4)
    ...     return allreduce_ring(comm, grad)
    >>> trace = run(step, workers=2, backend="simulated").trace
    >>> picture = gantt({"a step": trace}, {"a step": ["L1"]})
    >>> [doing[1] for doing in picture.scenes[0]["doings"]]
    ['backward L1', 'all-reduce L1']
    """
    if not isinstance(runs, Mapping):
        raise TypeError(f"runs must be a dict of str to Trace, got {type(runs).__name__}")
    for name, trace in runs.items():
        check_trace(f"runs[{name!r}]", trace)
    told = labels or {}
    made = {name: _lanes_of(trace, rank, name, told.get(name, ())) for name, trace in runs.items()}
    n = max((trace.size for trace in made.values()), default=0)
    roles = {0: "computes", 1: "network"} | {lane: f"network {lane}" for lane in range(2, n)}
    for trace in made.values():
        trace.size = n
    return timeline(made, title=title, roles=roles)


def _lanes_of(trace: Trace, rank: int, name: str, labels: Sequence[str]) -> Trace:
    """Make a trace whose "ranks" are the lanes, which begins when the rank first computes."""
    starts = [span.start_s for span in trace.computes if span.rank == rank]
    if not starts:
        raise ValueError(f"rank must be one that computes, got {rank} in the run {name!r}")
    shown = trace.since(min(starts))
    lanes = [span._replace(rank=0) for span in shown.computes if span.rank == rank]
    calls = sorted(
        (event.entered_s, event.left_s, event.name)
        for event in shown.collectives
        if event.rank == rank
    )
    free_s = [0.0]  # from when on each lane of the network has nothing to do
    for number, (start_s, end_s, called) in enumerate(calls):
        text = labels[number % len(labels)] if labels else called
        lane = next((i for i, until_s in enumerate(free_s) if until_s <= start_s + 1e-12), None)
        if lane is None:
            lane = len(free_s)
            free_s.append(0.0)
        free_s[lane] = end_s
        lanes.append(Compute(1 + lane, f"all-reduce {text}", 0.0, start_s, end_s))
    lanes.sort(key=lambda span: (span.start_s, span.rank))
    return Trace(trace.backend, trace.clock, 1 + len(free_s), computes=lanes)
