"""Every test of real processes runs with both ways of starting them."""

import sys

import pytest

from course_lib import run

START_METHODS = ["spawn"] if sys.platform == "win32" else ["forkserver", "spawn"]


def _nothing(comm):
    return comm.rank


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    # The fork server and the resource tracker stay; they must not count as left behind.
    for method in START_METHODS:
        run(_nothing, workers=1, start_method=method)


@pytest.fixture(params=START_METHODS)
def start_method(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def usual_method() -> str:
    """Return the one way of starting that is used here, for the finer variants of a test."""
    return START_METHODS[0]
