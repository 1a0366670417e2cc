"""Layers that several ranks compute together: the parts of a model that is too large for one.

One way to split a file. Each is a layer of a chain like any other, of which this rank keeps a part;
all ranks of its communicator call it in the same order. Activations and their slopes are sent,
weights never. In a ``Cost``, P is the number of ranks and m that of the examples.
"""

from course_lib.split.columns import Columns
from course_lib.split.exchange import gather_parts, sum_parts
from course_lib.split.heads import HalfBlock, split_block
from course_lib.split.image_rows import ImageRows
from course_lib.split.joins import JOINS, all_at_once, by_slices, by_turns
from course_lib.split.model import (
    check_grid,
    count_once,
    join_model,
    n_unsplit,
    seat,
    split_by_units,
    split_in_pairs,
)
from course_lib.split.norm import norm_of_split
from course_lib.split.partition import overlap, parts_by_units, pieces_of, shards_by_partition
from course_lib.split.passes import backward, forward
from course_lib.split.rows import Rows
from course_lib.split.split_layer import SplitLayer, Whole
from course_lib.split.units import Units

__all__ = [
    "JOINS",
    "Columns",
    "HalfBlock",
    "ImageRows",
    "Rows",
    "SplitLayer",
    "Units",
    "Whole",
    "all_at_once",
    "backward",
    "by_slices",
    "by_turns",
    "check_grid",
    "count_once",
    "forward",
    "gather_parts",
    "join_model",
    "n_unsplit",
    "norm_of_split",
    "overlap",
    "parts_by_units",
    "pieces_of",
    "seat",
    "shards_by_partition",
    "split_block",
    "split_by_units",
    "split_in_pairs",
    "sum_parts",
]
