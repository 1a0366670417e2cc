"""All placements of a module, the one that a planner chooses, and what it believed."""

from collections.abc import Mapping
from functools import cache
from itertools import product

from course_lib.lectures.lecture_13.module import inception
from course_lib.lectures.lecture_13.placing import NETWORKS, run_placed
from course_lib.planning.planner import Planned, plan_by_list, plan_exhaustively
from course_lib.planning.prediction import predict
from course_lib.trace.trace import Trace
from course_lib.viz import Chart, Table, chart, table
from course_lib.words.units import in_seconds

__all__ = [
    "BATCH", "all_makespans", "as_believed", "belief_table", "best_plan", "list_plan",
    "longest_path", "makespan_s", "placements_chart",
]  # fmt: skip

BATCH = 8
"""How many images the lecture's module takes."""

_MOST_POINTS = 160


def makespan_s(placement: Mapping[str, int], network: str, workers: int = 2) -> float:
    """Predict what a placement of the lecture's module takes.

    Parameters
    ----------
    placement : mapping of str to int
        The rank of each node.
    network : str
        A name of ``NETWORKS``.
    workers : int, default: 2
        How many.

    Returns
    -------
    float
        Seconds.
    """
    return predict(inception(BATCH), placement, NETWORKS[network], workers).makespan_s


@cache
def best_plan(network: str) -> Planned:
    """Choose the best of all placements on two workers; see ``plan_exhaustively``."""
    return plan_exhaustively(inception(BATCH), NETWORKS[network], 2)


@cache
def list_plan(network: str, workers: int = 2) -> Planned:
    """Choose a placement node by node; see ``plan_by_list``."""
    return plan_by_list(inception(BATCH), NETWORKS[network], workers)


@cache
def all_makespans(network: str) -> list[float]:
    """Predict every placement on two workers, "x" on worker 0; the shortest makespan first."""
    graph = inception(BATCH)
    _, *others = graph.nodes
    placements = (
        {"x": 0, **dict(zip(others, ranks, strict=True))}
        for ranks in product((0, 1), repeat=len(others))
    )
    return sorted(
        predict(graph, placement, NETWORKS[network], 2).makespan_s for placement in placements
    )


def longest_path(network: str) -> float:
    """Say how long the longest path of the graph computes: no placement is faster.

    Parameters
    ----------
    network : str
        A name of ``NETWORKS``.

    Returns
    -------
    float
        Seconds.
    """
    graph, speed = inception(BATCH), min(NETWORKS[network].speeds(1))
    done_s: dict[str, float] = {}
    for name, node in graph.nodes.items():
        before_s = max((done_s[used] for used in node.inputs), default=0.0)
        done_s[name] = before_s + node.flops / speed
    return max(done_s.values())


def placements_chart(network: str) -> Chart:
    """Draw the makespans of all placements, sorted, and whom planners have chosen.

    Parameters
    ----------
    network : str
        A name of ``NETWORKS``.

    Returns
    -------
    Chart
        A curve over the place in that order; single points for what was chosen.
    """
    ordered = all_makespans(network)
    one_s = makespan_s(dict.fromkeys(inception(1).nodes, 0), network)
    chosen = {
        "one worker": one_s, "node by node": list_plan(network).makespan_s,
        "best": best_plan(network).makespan_s,
    }  # fmt: skip
    shown: dict[float, list[str]] = {}
    for name, seconds in chosen.items():
        shown.setdefault(seconds, []).append(name)
    places = {
        ", ".join(names): (_place(seconds, ordered), 1e3 * seconds)
        for seconds, names in shown.items()
    }
    step = len(ordered) ** (1 / _MOST_POINTS)
    kept = sorted({min(len(ordered), round(step**k)) for k in range(_MOST_POINTS + 1)})
    return chart(
        {"all placements": [(k, 1e3 * ordered[k - 1]) for k in kept]},
        points=places, x_log=True, y_log=True, x_label="place among all placements, best first",
        y_label="makespan, ms", x_range=(0.8, 1.3 * len(ordered)), y_range=(0.4, 60),
        said=f"{sum(s < one_s for s in ordered):,} of {len(ordered):,} beat one worker.",
    )  # fmt: skip


def _place(seconds: float, ordered: list[float]) -> int:
    """Say which of all placements it is, from 1, but for rounding."""
    return 1 + sum(other < seconds * (1 - 1e-9) for other in ordered)


def as_believed(believed: str, true: str) -> tuple[dict[str, Trace], str]:
    """Plan for one network and run on another.

    Parameters
    ----------
    believed, true : str
        Names of ``NETWORKS``: what the planner's cost model has, and what is there.

    Returns
    -------
    runs : dict of str to Trace
        The run that the planner expects, and the one that it gets.
    title : str
        What they take, and what would be best.
    """
    graph, (placement, expected_s) = inception(BATCH), best_plan(believed)
    runs = {
        "as planned": run_placed(graph, placement, NETWORKS[believed]),
        "as it runs": run_placed(graph, placement, NETWORKS[true]),
    }
    title = (
        f"Planned {in_seconds(expected_s)}, takes {in_seconds(makespan_s(placement, true))}; "
        f"the best here: {in_seconds(best_plan(true).makespan_s)}"
    )
    return runs, title


def belief_table() -> Table:
    """Lay out what the best plan for each network takes on each network.

    Returns
    -------
    Table
        Rows are what the planner believed, columns what is there; the best of a column is marked.
    """
    rows = {
        f"planned for {believed}": {
            f"on {true}": makespan_s(best_plan(believed).placement, true) for true in NETWORKS
        }
        for believed in NETWORKS
    }
    told = [(k, f"on {name}") for k, name in enumerate(NETWORKS)]
    return table(rows, units={f"on {name}": "s" for name in NETWORKS}, told=told)
