"""The all-reduces by name, for tables, the command line and whatever compares them."""

from collections.abc import Callable

from course_lib.collectives.allreduce_butterfly import allreduce_butterfly
from course_lib.collectives.allreduce_central import allreduce_central
from course_lib.collectives.allreduce_direct import allreduce_direct
from course_lib.collectives.allreduce_double_tree import allreduce_double_tree
from course_lib.collectives.allreduce_halving_doubling import allreduce_halving_doubling
from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.collectives.allreduce_tree import allreduce_tree
from course_lib.collectives.allreduce_two_level import allreduce_two_level
from course_lib.comm.messages import Array

__all__ = ["ALLREDUCES"]

ALLREDUCES: dict[str, Callable[..., Array]] = {
    "central": allreduce_central,
    "direct": allreduce_direct,
    "tree": allreduce_tree,
    "double_tree": allreduce_double_tree,
    "butterfly": allreduce_butterfly,
    "halving_doubling": allreduce_halving_doubling,
    "ring": allreduce_ring,
    "two_level": allreduce_two_level,
}
"""In the order of the lecture: from the obvious to the clever."""
