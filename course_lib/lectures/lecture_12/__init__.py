"""Lecture 12: more than one machine."""

from course_lib.lectures.lecture_12.crossing import (
    BETWEEN,
    WAYS,
    between_hosts,
    crossing_bytes,
    crossing_table,
)
from course_lib.lectures.lecture_12.hosts import IMPORTS, Hosts, on_two_hosts, words_of
from course_lib.lectures.lecture_12.intervals import (
    best_interval_s,
    interval_chart,
    lost_factor,
    saved_training,
    until_first_s,
)
from course_lib.lectures.lecture_12.measured import measured, measured_table
from course_lib.lectures.lecture_12.menu import (
    BUDGET_US,
    EXAMPLE_US,
    MENU,
    N_DIGITS,
    NETWORKS_US,
    RATES,
    digits_losses,
    menu_table,
)
from course_lib.lectures.lecture_12.problem import X, kept, model, plan, y
from course_lib.lectures.lecture_12.restart import TRAINING, Restarted, restarted, undisturbed
from course_lib.lectures.lecture_12.roofline import (
    DEVICES,
    NICS,
    flops_a_byte,
    least_batch,
    reached,
    ridge_table,
    roofline_chart,
)
from course_lib.planning.rounds import Way, reached_by, round_us

__all__ = [
    "BETWEEN",
    "BUDGET_US",
    "DEVICES",
    "EXAMPLE_US",
    "IMPORTS",
    "MENU",
    "NETWORKS_US",
    "NICS",
    "N_DIGITS",
    "RATES",
    "TRAINING",
    "WAYS",
    "Hosts",
    "Restarted",
    "Way",
    "X",
    "best_interval_s",
    "between_hosts",
    "crossing_bytes",
    "crossing_table",
    "digits_losses",
    "flops_a_byte",
    "interval_chart",
    "kept",
    "least_batch",
    "lost_factor",
    "measured",
    "measured_table",
    "menu_table",
    "model",
    "on_two_hosts",
    "plan",
    "reached",
    "reached_by",
    "restarted",
    "ridge_table",
    "roofline_chart",
    "round_us",
    "saved_training",
    "undisturbed",
    "until_first_s",
    "words_of",
    "y",
]
