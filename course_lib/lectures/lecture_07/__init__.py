"""Lecture 07: layers over workers, branches side by side, micro-batches through stages."""

from course_lib.lectures.lecture_07.flow import NAMES, Flow, flow, of_one_batch
from course_lib.lectures.lecture_07.orders import eager_1f1b, one_by_one
from course_lib.lectures.lecture_07.prices import latency_chart, price, real_steps
from course_lib.lectures.lecture_07.splits import (
    BYTES_A_PARAMETER,
    SIZES,
    branches,
    branches_s,
    row_of_layers,
)

__all__ = [
    "BYTES_A_PARAMETER",
    "NAMES",
    "SIZES",
    "Flow",
    "branches",
    "branches_s",
    "eager_1f1b",
    "flow",
    "latency_chart",
    "of_one_batch",
    "one_by_one",
    "price",
    "real_steps",
    "row_of_layers",
]
