"""Lecture 08: layers on several ranks, by units, column and row, images; hybrids; ZeRO."""

from course_lib.lectures.lecture_08.bias import (
    BiasOfEveryRank,
    digits_run,
    put_together,
    with_every_bias,
)
from course_lib.lectures.lecture_08.joins import JOIN_NAMES, join_player
from course_lib.lectures.lecture_08.real_steps import real_steps
from course_lib.lectures.lecture_08.rows_of_images import (
    IMAGES,
    by_channels,
    by_rows,
    conv_chart,
    halo_player,
    two_convolutions,
)
from course_lib.lectures.lecture_08.sent import (
    NETS,
    hybrid_chart,
    net_row,
    pairs_chart,
    price_sheet,
    seconds_chart,
)
from course_lib.lectures.lecture_08.sharded import (
    MODELS,
    most_layers,
    parameters_held,
    sharded_step,
    stages_chart,
    zero_player,
)
from course_lib.lectures.lecture_08.small_alexnet import small_steps
from course_lib.lectures.lecture_08.units import WAYS, one_step, units_player

__all__ = [
    "IMAGES",
    "JOIN_NAMES",
    "MODELS",
    "NETS",
    "WAYS",
    "BiasOfEveryRank",
    "by_channels",
    "by_rows",
    "conv_chart",
    "digits_run",
    "halo_player",
    "hybrid_chart",
    "join_player",
    "most_layers",
    "net_row",
    "one_step",
    "pairs_chart",
    "parameters_held",
    "price_sheet",
    "put_together",
    "real_steps",
    "seconds_chart",
    "sharded_step",
    "small_steps",
    "stages_chart",
    "two_convolutions",
    "units_player",
    "with_every_bias",
    "zero_player",
]
