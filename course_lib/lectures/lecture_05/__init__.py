"""Lecture 05: sums on the boxes, rings of whole vectors, prices over sizes, the game."""

from course_lib.lectures.lecture_05.game import CASES, OFFERED, play, score
from course_lib.lectures.lecture_05.meter import meter, vectors_sent
from course_lib.lectures.lecture_05.prices import (
    busiest_nic,
    price_sheet,
    simulated_s,
    times_over_bytes,
)
from course_lib.lectures.lecture_05.variants import (
    direct_in_turn,
    double_tree_16k,
    hierarchical,
    ten_rounds,
    twice_round,
    unchunked_ring,
)
from course_lib.lectures.lecture_05.with_sums import with_sums

__all__ = [
    "CASES",
    "OFFERED",
    "busiest_nic",
    "direct_in_turn",
    "double_tree_16k",
    "hierarchical",
    "meter",
    "play",
    "price_sheet",
    "score",
    "simulated_s",
    "ten_rounds",
    "times_over_bytes",
    "twice_round",
    "unchunked_ring",
    "vectors_sent",
    "with_sums",
]
