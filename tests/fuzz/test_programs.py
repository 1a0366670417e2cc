"""Random programs: one result in every world, one kind of failure, and nothing is left."""

import pytest

from tests.fuzz.hunt import hunt
from tests.fuzz.invalid import faulty, hunt_invalid
from tests.fuzz.options import SEED, programs
from tests.residue import assert_nothing_left, residue

pytestmark = pytest.mark.slow

REAL = ["processes", "torch"]


def assert_none(findings):
    """Fail with the first finding, as a script."""
    first = next(findings, None)
    assert first is None, f"COURSE_FUZZ_SEED={SEED}:\n{first}"


def test_valid_programs_do_in_the_simulator_what_they_must():
    assert_none(hunt(SEED, programs(100), ["simulated"]))


@pytest.mark.parametrize("world", REAL)
def test_valid_programs_do_the_same_as_in_the_simulator(usual_method, world):
    assert_none(hunt(SEED, programs(60), ["simulated", world]))


@pytest.mark.parametrize("world", REAL)
def test_invalid_programs_fail_as_in_the_simulator(usual_method, world):
    before = residue()
    assert_none(hunt_invalid(SEED, programs(8), ["simulated", world]))
    assert_nothing_left(before)


@pytest.mark.soak
@pytest.mark.parametrize("world", REAL)
def test_two_thousand_valid_programs_do_the_same_as_in_the_simulator(usual_method, world):
    assert_none(hunt(SEED + 1, programs(2000), ["simulated", world]))


@pytest.mark.soak
@pytest.mark.parametrize("world", REAL)
def test_five_hundred_invalid_programs_fail_as_in_the_simulator(usual_method, world):
    before = residue()
    assert_none(hunt_invalid(SEED + 1, programs(500), ["simulated", world]))
    assert_nothing_left(before)


def test_faulty_programs_do_not_depend_on_which_message_comes_first():
    for number in range(200):
        program = faulty(0, number)
        kinds = {type(step).__name__ for step in program.all_steps()}
        assert program.ranks <= 2 or "Collect" not in kinds
