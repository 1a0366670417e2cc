"""Each backend in turn: the fixtures of ``tests.worlds``; with ``-m soak`` under mpiexec, too."""

import pytest

from tests.contract.under_mpiexec import REASONS
from tests.mpi_ranks import WHY_NOT
from tests.worlds import REAL, World, launching_world

__all__ = ["both_worlds", "launching_world", "world"]

MPI = pytest.param("mpi", marks=[pytest.mark.soak, pytest.mark.mpiexec])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run under mpiexec, or cannot hold there."""
    for item in items:
        if item.get_closest_marker("mpiexec") is not None:
            name = getattr(item, "originalname", item.name)
            if reason := WHY_NOT or REASONS.get(item.path.name) or REASONS.get(name):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(
    params=["simulated", *(pytest.param(name, marks=pytest.mark.slow) for name in REAL), MPI]
)
def world(request: pytest.FixtureRequest) -> World:
    """Give a test each backend in turn."""
    return World(request.param)


@pytest.fixture(
    params=[
        "simulated",
        pytest.param("processes", marks=pytest.mark.slow),
        pytest.param("torch", marks=[pytest.mark.slow, pytest.mark.soak]),
        MPI,
    ]
)
def rarely_torch(request: pytest.FixtureRequest) -> World:
    """Give a test each backend in turn, torch in the soak alone.

    For programs of their own, each of whose fork servers loads torch for two seconds, and for ranks
    that load its compiler: how their processes start and end is what ``processes`` does, too.
    """
    return World(request.param)


@pytest.fixture(params=["usual", MPI])
def both_worlds(request: pytest.FixtureRequest) -> list[World]:
    """Give a test all backends at once, to compare them."""
    real = ("mpi",) if request.param == "mpi" else REAL
    return [World(name) for name in ("simulated", *real)]
