"""What the numbers of a verdict are measured in."""

import re

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Task

__all__ = ["with_units"]


def with_units(task: Task, wrong: Difference) -> Difference:
    """Write behind two numbers what they are measured in.

    Parameters
    ----------
    task : Task
        Knows the units.
    wrong : Difference
        A number that should be another.

    Returns
    -------
    Difference
        The same, with units; what is no pair of numbers stays as it is.
    """
    unit = task.units.get(wrong.where.strip("'"), task.units.get("", ""))
    pair = map(re.escape, (wrong.expected, wrong.got))
    sides = re.compile(r"should be {}, got {}(?![^\s;])".format(*pair))
    if not unit or not re.match(r"-?[\d.]", wrong.expected) or not sides.search(wrong.says):
        return wrong
    expected, given = f"{wrong.expected} {unit}", f"{wrong.got} {unit}"
    says = sides.sub(lambda _: f"should be {expected}, got {given}", wrong.says)
    return wrong._replace(says=says, expected=expected, got=given)
