"""Lecture 09: old gradients, lost replicas, edges of stability, momentum, bounds."""

from course_lib.lectures.lecture_09.bowl import (
    BOWL,
    CURVATURE,
    RETURNED,
    TIMES,
    VIEW,
    X,
    Y,
    ages,
    landed,
    on_bowl,
    pace,
    whose,
    with_replicas,
)
from course_lib.lectures.lecture_09.edges import (
    descend,
    edge_of,
    edges_chart,
    mean_path,
    momentum_chart,
)
from course_lib.lectures.lecture_09.explorer import (
    explorer_chart,
    histogram,
    history,
    staleness_chart,
)
from course_lib.lectures.lecture_09.lost import Tally, tally, with_a_loss
from course_lib.lectures.lecture_09.prices import price_sheet
from course_lib.lectures.lecture_09.pushes import history_of, push_and_repeat
from course_lib.lectures.lecture_09.watched import watched

__all__ = [
    "BOWL",
    "CURVATURE",
    "RETURNED",
    "TIMES",
    "VIEW",
    "Tally",
    "X",
    "Y",
    "ages",
    "descend",
    "edge_of",
    "edges_chart",
    "explorer_chart",
    "histogram",
    "history",
    "history_of",
    "landed",
    "mean_path",
    "momentum_chart",
    "on_bowl",
    "pace",
    "price_sheet",
    "push_and_repeat",
    "staleness_chart",
    "tally",
    "watched",
    "whose",
    "with_a_loss",
    "with_replicas",
]
