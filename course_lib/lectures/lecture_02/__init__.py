"""Lecture 02: what a rank holds of a table, descent on any surface, the price of a step."""

from course_lib.lectures.lecture_02.descent import descend
from course_lib.lectures.lecture_02.held import held, who_holds
from course_lib.lectures.lecture_02.pictures import ends, shuffles_chart
from course_lib.lectures.lecture_02.step_cost import step_chart, step_s

__all__ = ["descend", "ends", "held", "shuffles_chart", "step_chart", "step_s", "who_holds"]
