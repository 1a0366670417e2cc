"""Lecture 00: what a message costs on this computer, kept for later; attempts that may hang."""

from course_lib.lectures.lecture_00.attempts import attempt, with_received
from course_lib.lectures.lecture_00.ping_pong import line_over_points, message_prices
from course_lib.lectures.lecture_00.this_computer import STATED, keep, this_computer

__all__ = [
    "STATED",
    "attempt",
    "keep",
    "line_over_points",
    "message_prices",
    "this_computer",
    "with_received",
]
