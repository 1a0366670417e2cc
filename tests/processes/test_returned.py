"""Which functions of a rank have returned, as it says when another one asks."""

from course_lib.comm.communicator import WORLD
from course_lib.comm.processes.returned import Standing


def test_a_rank_that_still_loads_its_function_has_not_returned_from_it():
    loading = Standing(running={}, started={}, calls={})
    for comm in (WORLD, f"{WORLD}/split 1 color 0", f"{WORLD}/start 1", f"{WORLD}/start 1/start 2"):
        assert loading.returned(comm) == ""


def test_a_function_is_over_with_what_it_would_have_had_to_start():
    over = Standing(running={WORLD: True}, started={WORLD: 1}, calls={})
    assert over.returned(f"{WORLD}/split 1 color 0") == WORLD
    assert over.returned(f"{WORLD}/start 1") == f"{WORLD}/start 1"
    assert over.returned(f"{WORLD}/start 2") == WORLD
    assert Standing({WORLD: False}, {}, {}).returned(f"{WORLD}/start 1") == ""
