"""Lecture 03: bugs of data parallelism, orders of adding, epochs over the batch size."""

from course_lib.lectures.lecture_03.batches import epochs_chart, epochs_to
from course_lib.lectures.lecture_03.broken import BUGS, broken, diagnose
from course_lib.lectures.lecture_03.orders import in_all_orders

__all__ = ["BUGS", "broken", "diagnose", "epochs_chart", "epochs_to", "in_all_orders"]
