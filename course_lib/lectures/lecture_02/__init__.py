"""Lecture 02: what a rank holds of a table, descent on any surface, the price of a step."""

from course_lib.lectures.lecture_02.descent import descend
from course_lib.lectures.lecture_02.held import held
from course_lib.lectures.lecture_02.step_cost import step_chart, step_s

__all__ = ["descend", "held", "step_chart", "step_s"]
