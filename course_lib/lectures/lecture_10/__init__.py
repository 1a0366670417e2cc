"""Lecture 10: additions that are lost, what sparse updates forgive, and what it pays."""

from course_lib.lectures.lecture_10.bowl import on_bowl, walks
from course_lib.lectures.lecture_10.memory import (
    MemoryRun,
    add_in_memory,
    drawn,
    in_turn,
    on_memory,
)
from course_lib.lectures.lecture_10.odds import (
    COLUMNS,
    EPOCHS,
    EXAMPLES,
    SPARSITY,
    STEP,
    explorer_chart,
    losses,
    lost_share,
    lost_share_chart,
    problem,
    share_lost,
    trained,
)
from course_lib.lectures.lecture_10.orders import outcomes
from course_lib.lectures.lecture_10.prices import price_sheet
from course_lib.lectures.lecture_10.shared_tensor import (
    RATE,
    count_with_torch,
    count_with_us,
    torch_steps,
    two_halves,
)
from course_lib.lectures.lecture_10.speed import lost_here, measured_here, pace_table

__all__ = [
    "COLUMNS",
    "EPOCHS",
    "EXAMPLES",
    "RATE",
    "SPARSITY",
    "STEP",
    "MemoryRun",
    "add_in_memory",
    "count_with_torch",
    "count_with_us",
    "drawn",
    "explorer_chart",
    "in_turn",
    "losses",
    "lost_here",
    "lost_share",
    "lost_share_chart",
    "measured_here",
    "on_bowl",
    "on_memory",
    "outcomes",
    "pace_table",
    "price_sheet",
    "problem",
    "share_lost",
    "torch_steps",
    "trained",
    "two_halves",
    "walks",
]
