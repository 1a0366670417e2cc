"""Lecture 01: slices of a loss, noise and batch size, two ways to cut a gradient."""

from course_lib.lectures.lecture_01.batches import (
    StepTime,
    best_steps,
    fit_step_time,
    noise_scales,
    on_a_machine,
    step_seconds,
    time_chart,
    trainings,
)
from course_lib.lectures.lecture_01.cuts import by_columns, by_rows, one_step
from course_lib.lectures.lecture_01.plateau import off_a_plateau
from course_lib.lectures.lecture_01.slices import Slice, rescaled, valley

__all__ = [
    "Slice",
    "StepTime",
    "best_steps",
    "by_columns",
    "by_rows",
    "fit_step_time",
    "noise_scales",
    "off_a_plateau",
    "on_a_machine",
    "one_step",
    "rescaled",
    "step_seconds",
    "time_chart",
    "trainings",
    "valley",
]
