"""Random programs interrupted or robbed of a worker at random moments: nothing is left."""

import sys

import pytest

from tests.fuzz.blows import interrupt, kill
from tests.fuzz.options import SEED, programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process"),
]

WORLDS = ["simulated", "processes", pytest.param("torch", marks=pytest.mark.soak)]


@pytest.mark.parametrize("world", WORLDS)
def test_an_interrupt_at_any_moment_leaves_nothing_and_the_next_run_works(world):
    interrupt(world, SEED, programs(5))


@pytest.mark.parametrize("world", WORLDS[1:])
def test_a_killed_worker_is_told_and_the_next_run_works(usual_method, world):
    kill(world, SEED, programs(4))


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS)
def test_a_thousand_interrupts_leave_nothing(world):
    interrupt(world, SEED + 1, programs(1000))


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS[1:])
def test_five_hundred_killed_workers_are_told(usual_method, world):
    assert kill(world, SEED + 1, programs(500)) > 0
