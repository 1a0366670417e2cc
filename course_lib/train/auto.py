"""``--allreduce auto``: what it chooses by, which a checkpoint keeps so that the choice stays."""

from collections.abc import Mapping
from typing import Any

from course_lib.comm.rates import Rates

__all__ = ["AUTO", "NUMBERS", "is_auto", "kept", "to_keep"]

AUTO = "auto"
"""The all-reduce that is fastest where the training runs."""

NUMBERS = ("alpha_s", "beta_s_per_byte", "gamma_s_per_byte")
"""What stands in a checkpoint for each of its rates."""


def is_auto(options: Mapping[str, Any]) -> bool:
    """Say whether a training chooses its all-reduce."""
    return options.get("allreduce") == AUTO


def to_keep(rates: Rates, made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint holds: the options, and the rates of a training that chooses."""
    kept = map(float, rates.numbers)
    numbers = dict(zip(NUMBERS, kept, strict=True)) if is_auto(made_with) else {}
    return {**made_with, **numbers}


def kept(made_with: Mapping[str, Any], else_: Rates) -> Rates:
    """Return the rates of a checkpoint, or others where it has none."""
    if not all(name in made_with for name in NUMBERS):
        return else_
    numbers = {name: float(made_with[name]) for name in NUMBERS}
    return Rates(**numbers, source="kept in the checkpoint")
