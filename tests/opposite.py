"""Run a cell that must fail, in the kernel of its lecture: it leaves nothing for the next cell."""

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["ended"]


def ended(source: str, names: dict[str, Any]) -> str:
    """Run a cell on a copy of the names; return which exception ended it, "nothing" for none."""
    with contextlib.redirect_stdout(io.StringIO()), _generators_put_back(names), _figures_closed():
        try:
            exec(compile(source, "planted", "exec"), dict(names))
        except Exception as error:
            return type(error).__name__
    return "nothing"


@contextlib.contextmanager
def _generators_put_back(names: dict[str, Any]) -> Iterator[None]:
    """Have the cell itself draw the numbers that it draws without its opposite."""
    generators = [value for value in names.values() if isinstance(value, np.random.Generator)]
    states = [generator.bit_generator.state for generator in generators]
    yield
    for generator, state in zip(generators, states, strict=True):
        generator.bit_generator.state = state


@contextlib.contextmanager
def _figures_closed() -> Iterator[None]:
    """Close what was drawn: the next cell would show it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
