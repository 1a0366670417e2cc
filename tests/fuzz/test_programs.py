"""Random programs: one result in every world, one kind of failure, and nothing is left."""

import pytest

from course_lib.comm.errors import CollectiveMismatchError, PeerFinishedError
from tests.fuzz import program as p
from tests.fuzz.arrays import Array
from tests.fuzz.hunt import hunt
from tests.fuzz.invalid import _as_good, disagreements, faulty, hunt_invalid
from tests.fuzz.options import SEED, programs
from tests.fuzz.program import Program
from tests.fuzz.worlds import in_world
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


def test_of_one_who_has_returned_each_world_may_tell_what_it_knows():
    program = Program(ranks=2, steps=(p.Faulty("circle", 0, (p.Refused(src=1, then=False),)),))
    assert not disagreements(program, ["simulated", "processes"])


def test_faulty_programs_do_not_depend_on_which_message_comes_first():
    for number in range(200):
        program = faulty(0, number)
        kinds = {type(step).__name__ for step in program.all_steps()}
        assert program.ranks <= 2 or "Collect" not in kinds


def test_of_two_ranks_in_different_collectives_either_may_tell_and_no_third():
    array = Array(dtype="f8", shape=(1,), layout="C")
    gathered = p.Collective("gather", array, root=2)
    elsewhere = Program(ranks=3, steps=(p.Faulty("name", 1, (gathered,)),))
    # The simulator sees first that rank 0 has returned, for which rank 1 waits; processes tell of
    # rank 1, which is in all-reduce, where rank 2 has noticed it.
    assert type(in_world("simulated", [elsewhere]).error) is PeerFinishedError
    assert not disagreements(elsewhere, ["simulated", "processes"])
    told = next(
        error
        for _ in range(100)
        if isinstance(error := in_world("processes", [elsewhere]).error, CollectiveMismatchError)
    )  # on a busy computer they may tell what the simulator does
    assert _as_good(None, told, {("CollectiveMismatchError", 2)})
    assert not _as_good(None, told, {("CollectiveMismatchError", 0)})
