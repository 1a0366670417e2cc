"""Lecture 11: all schemes in one race, and the network that decides it."""

from course_lib.lectures.lecture_11.cases import Case, Rules
from course_lib.lectures.lecture_11.clocks import Pace, Priced, dry, network_with, pace_of, priced
from course_lib.lectures.lecture_11.front import (
    ahead_from,
    front_chart,
    on_the_front,
    prices,
    when_nobody_waits_wins,
)
from course_lib.lectures.lecture_11.kept import NAMES, Best, best, grid, rules
from course_lib.lectures.lecture_11.late import late_s, who_is_late
from course_lib.lectures.lecture_11.racing import launched, trained
from course_lib.lectures.lecture_11.rates import best_rates, rates_chart, trade_chart
from course_lib.lectures.lecture_11.records import points_of, sent_in
from course_lib.lectures.lecture_11.runs import (
    first_gradients,
    near_runs,
    per_epoch,
    price_sheet,
    reached,
    run_again,
    three_clocks,
)
from course_lib.lectures.lecture_11.sites import (
    N_BYTES,
    STEP_S,
    every_chart,
    far_runs,
    least_every,
    sites,
)

__all__ = [
    "NAMES",
    "N_BYTES",
    "STEP_S",
    "Best",
    "Case",
    "Pace",
    "Priced",
    "Rules",
    "ahead_from",
    "best",
    "best_rates",
    "dry",
    "every_chart",
    "far_runs",
    "first_gradients",
    "front_chart",
    "grid",
    "late_s",
    "launched",
    "least_every",
    "near_runs",
    "network_with",
    "on_the_front",
    "pace_of",
    "per_epoch",
    "points_of",
    "price_sheet",
    "priced",
    "prices",
    "rates_chart",
    "reached",
    "rules",
    "run_again",
    "sent_in",
    "sites",
    "three_clocks",
    "trade_chart",
    "trained",
    "when_nobody_waits_wins",
    "who_is_late",
]
