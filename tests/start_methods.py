"""Both ways of starting processes, for the suites that hold real processes to their promises."""

import sys

import pytest

from course_lib import run

START_METHODS = ["spawn"] if sys.platform == "win32" else ["forkserver", "spawn"]


def _nothing(comm):
    return comm.rank


@pytest.fixture(scope="session", autouse=True)
def warm() -> None:
    """Start the fork server and the resource tracker: they stay, and must not count as left."""
    for method in START_METHODS:
        run(_nothing, workers=1, start_method=method)


@pytest.fixture(params=START_METHODS)
def start_method(request: pytest.FixtureRequest) -> str:
    """Give a test each way of starting in turn."""
    return request.param


@pytest.fixture
def usual_method() -> str:
    """Return the one way of starting that is used here.

    For the finer variants of a test, and for what happens among ranks at work: each file has some
    test that meets them started in every way, and the table of faults has dozens.
    """
    return START_METHODS[0]
