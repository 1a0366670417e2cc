"""Lecture 06: critical paths, buckets, orders; scaling; published speed-ups."""

from course_lib.lectures.lecture_06.history import (
    BAND,
    REPORTED,
    Reported,
    allreduce_s,
    history_chart,
    possible,
    ratio,
)
from course_lib.lectures.lecture_06.orders import in_order, one_step_of, planned
from course_lib.lectures.lecture_06.scaling import (
    CASES,
    efficiency_chart,
    priced,
    step_chart,
    worth,
)
from course_lib.lectures.lecture_06.steps import (
    GPU_FLOPS_PER_S,
    SHOWN,
    bucket_chart,
    efficiency,
    in_turn,
    networks_chart,
    real_steps,
    step_s,
    switch,
)

__all__ = [
    "BAND",
    "CASES",
    "GPU_FLOPS_PER_S",
    "REPORTED",
    "SHOWN",
    "Reported",
    "allreduce_s",
    "bucket_chart",
    "efficiency",
    "efficiency_chart",
    "history_chart",
    "in_order",
    "in_turn",
    "networks_chart",
    "one_step_of",
    "planned",
    "possible",
    "priced",
    "ratio",
    "real_steps",
    "step_chart",
    "step_s",
    "switch",
    "worth",
]
