"""What puts arithmetic on a timeline: ``comm.compute`` of a rank, or nothing."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

__all__ = ["Compute", "untimed"]

Compute: TypeAlias = Callable[..., AbstractContextManager[None]]
"""``comm.compute``, or what is called like it: with a label and ``flops``."""


def untimed(*_: Any, **__: Any) -> AbstractContextManager[None]:
    """Put nothing anywhere: for who trains without a communicator."""
    return nullcontext()
