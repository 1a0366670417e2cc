"""Lecture 03: bugs of data parallelism, orders of adding, steps over the batch size."""

from course_lib.lectures.lecture_03.batches import rates_chart, steps_chart, steps_to
from course_lib.lectures.lecture_03.broken import BUGS, broken, diagnose, mean_loss
from course_lib.lectures.lecture_03.orders import in_all_orders

__all__ = [
    "BUGS",
    "broken",
    "diagnose",
    "in_all_orders",
    "mean_loss",
    "rates_chart",
    "steps_chart",
    "steps_to",
]
