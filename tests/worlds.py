"""The worlds that one suite holds to one contract."""

from collections.abc import Callable
from typing import Any

import pytest

from course_lib import run
from tests import mpi_ranks

REAL = ("processes", "torch")
"""The backends with a process for each rank."""


class World:
    """``run`` on one backend; launching processes takes a while, so tests batch their cases."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def __call__(self, fn: Callable[..., Any], *args: Any, workers: int = 2, **options: Any) -> Any:
        options.setdefault("time_limit_s", 60.0)
        if self.backend == "mpi":  # a pool of ranks that stays, for torch takes seconds to load
            return mpi_ranks.ranks(workers).call(fn, args, options)
        return run(fn, *args, workers=workers, backend=self.backend, **options)

    def device(self, rank: int) -> str:
        """Say where a rank's arrays live: only torch's ranks use GPUs, in turn."""
        if self.backend != "torch":
            return "cpu"
        from course_lib.comm.torch_backend.groups import own_device  # with torch

        return own_device(rank)


@pytest.fixture(
    params=["simulated", *(pytest.param(name, marks=pytest.mark.slow) for name in REAL)]
)
def world(request: pytest.FixtureRequest) -> World:
    """Give a test each backend in turn."""
    return World(request.param)


@pytest.fixture(params=["simulated", pytest.param("processes", marks=pytest.mark.slow)])
def launching_world(request: pytest.FixtureRequest) -> World:
    """Give a test each way of launching in turn.

    The torch backend starts, watches and ends its processes by the text of ``processes``, and every
    program that uses it has a fork server load torch for two seconds. So what a program does before
    its ranks run, and what becomes of what they print, is not tried there a second time.
    """
    return World(request.param)


@pytest.fixture
def both_worlds() -> list[World]:
    """Give a test all backends at once, to compare them."""
    return [World("simulated"), *map(World, REAL)]
