"""The game: choose an all-reduce for a network, P workers and n bytes."""

import math
from typing import NamedTuple

from course_lib.comm.simulated import networks
from course_lib.comm.simulated.networks import Network
from course_lib.lectures.lecture_05.prices import simulated_s
from course_lib.viz import Chart, chart
from course_lib.words.units import in_bytes, in_seconds

__all__ = ["CASES", "OFFERED", "Case", "play", "score"]

OFFERED = (
    "central", "tree", "double tree, 16 KB", "butterfly", "halving-doubling", "ring",
    "hierarchical",
)  # fmt: skip
"""What can be chosen, by the names of ``SHOWN``.

All-to-all is left out: two numbers do not say what its P - 1 messages a round cost a processor.
"""


class Case(NamedTuple):
    """One round of the game.

    Attributes
    ----------
    network : Network
        What connects the ranks.
    words : str
        What the learner is told of it.
    workers, n_bytes : int
        How many ranks, and how long the vector of each is.
    why : str
        What decides.
    """

    network: Network
    words: str
    workers: int
    n_bytes: int
    why: str


_HOSTS = networks.two_level(networks.nvlink_4, networks.ethernet_10g, ranks_per_host=4)
_LINKS = networks.ring(networks.ethernet_10g)

CASES = {
    "A": Case(
        networks.ethernet_10g, "a 10 Gbit/s switch", 16, 2_048,
        "2 KB are all latency: four rounds beat everything else",
    ),
    "B": Case(
        networks.ethernet_10g, "a 10 Gbit/s switch", 16, 8_388_608,
        "8 MB are all bytes: 15/8 n is the bound, and eight rounds reach it",
    ),
    "C": Case(
        networks.ethernet_1g, "a 1 Gbit/s switch", 7, 7_340_032,
        "seven is no power of two: who swaps halves must fold three ranks in and out, n each",
    ),
    "D": Case(
        _LINKS, "a link to each neighbour, no switch", 16, 4_194_304,
        "only neighbours are connected: everything else is forwarded through others",
    ),
    "E": Case(
        _HOSTS, "three hosts of 4, NVLink inside, 10 Gbit/s between", 12, 3_145_728,
        "4/3 n is the least that leaves a host; three hosts are no power of two, and a ring of "
        "twelve sends 11/6 n through every host's link",
    ),
    "F": Case(
        networks.wan, "an ocean, 75 ms there and back", 4, 1_048_576,
        "8.4 ms of bytes against 37.5 ms a message: rounds decide, even for a megabyte",
    ),
    "G": Case(
        networks.ethernet_10g, "a 10 Gbit/s switch", 3, 49_152,
        "with three ranks a tree has two rounds, a ring four, and two trees share the bytes",
    ),
    "H": Case(
        networks.ethernet_10g, "a 10 Gbit/s switch", 64, 262_144,
        "126 rounds of a ring are 2.5 ms of latency; six halvings and six doublings are 0.24 ms",
    ),
}  # fmt: skip
"""The rounds, by letter."""


def _took(case: str) -> dict[str, float]:
    network, _, workers, n_bytes, _ = CASES[case]
    return {name: simulated_s(name, workers, n_bytes, network) for name in OFFERED}


def score(case: str, answer: str) -> int:
    """Return the points of an answer: 100 times the best time over the chosen one's.

    Parameters
    ----------
    case : str
        A key of ``CASES``.
    answer : str
        One of ``OFFERED``.

    Returns
    -------
    int
        1 to 100.
    """
    took = _took(case)
    return round(100 * min(took.values()) / took[answer])


def play(case: str, answer: str) -> Chart:
    """Show a round of the game, and judge the answer.

    Parameters
    ----------
    case : str
        A key of ``CASES``.
    answer : str
        One of ``OFFERED``, or "?": then no time is shown.

    Returns
    -------
    Chart
        A bar for each algorithm, the chosen one marked, and the points.
    """
    took, (_, words, workers, n_bytes, why) = _took(case), CASES[case]
    title = f"{case}: {workers} workers, {in_bytes(n_bytes)} each, {words}"
    shown, said = dict.fromkeys(OFFERED, math.nan), "Which all-reduce do you take?"
    if answer != "?":
        best = min(took, key=lambda name: took[name])
        shown, points = took, score(case, answer)
        said = f"{points} points: {in_seconds(took[answer])}. "
        said += "That is the best: " if answer == best else f"Best is {best}: "
        said += f"{why}."
    return chart(
        shown, told="" if answer == "?" else answer, unit="s", title=title, said=said,
        x_label="virtual seconds", x_range=(0.0, max(took.values())),
    )  # fmt: skip
