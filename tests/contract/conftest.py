"""The worlds that one suite holds to one contract."""

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from course_lib import run

HAS_PROCESSES = importlib.util.find_spec("course_lib.comm.processes.launcher") is not None

PROCESSES = pytest.param(
    "processes",
    marks=[
        pytest.mark.slow,
        pytest.mark.skipif(not HAS_PROCESSES, reason="the processes backend is not there yet"),
    ],
)


class World:
    """``run`` on one backend; launching processes takes a while, so tests batch their cases."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def __call__(self, fn: Callable[..., Any], *args: Any, workers: int = 2, **options: Any) -> Any:
        options.setdefault("time_limit_s", 30.0)
        return run(fn, *args, workers=workers, backend=self.backend, **options)


@pytest.fixture(params=["simulated", PROCESSES])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


@pytest.fixture
def both_worlds() -> list[World]:
    if not HAS_PROCESSES:
        pytest.skip("the processes backend is not there yet")
    return [World("simulated"), World("processes")]
