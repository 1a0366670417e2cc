"""Lecture 04: NICs of servers and rings, efficiency, shards, two servers, throttled processes."""

from course_lib.lectures.lecture_04.pictures import (
    PUBLISHED_POINTS,
    bandwidth_chart,
    best_number,
    busiest_nic,
    efficiency_chart,
    evenly,
    fullest_shard,
    gradients_a_second,
    rows_of,
)
from course_lib.lectures.lecture_04.throttle import (
    Throttled,
    TokenBucket,
    throttled_step_s,
    throttled_steps,
)
from course_lib.lectures.lecture_04.two_servers import (
    answers_each,
    spread_ms,
    step_of_slowest_ms,
    waits_for_all,
)

__all__ = [
    "PUBLISHED_POINTS",
    "Throttled",
    "TokenBucket",
    "answers_each",
    "bandwidth_chart",
    "best_number",
    "busiest_nic",
    "efficiency_chart",
    "evenly",
    "fullest_shard",
    "gradients_a_second",
    "rows_of",
    "spread_ms",
    "step_of_slowest_ms",
    "throttled_step_s",
    "throttled_steps",
    "waits_for_all",
]
