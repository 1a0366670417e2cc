"""The search for circles, compared with one that tries every way."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.circles import find_circles
from course_lib.comm.errors import DeadlockError


def all_circles(edges):
    """List every circle without repetition, from its first on."""
    return [
        list(way)
        for length in range(1, len(edges) + 1)
        for way in permutations(edges, length)
        if way[0] == min(way)
        and all(b in edges[a] for a, b in zip(way, [*way[1:], way[0]], strict=True))
    ]


def reached(start, edges):
    found, ahead = set(), [start]
    while ahead:
        new = set(edges[ahead.pop()]) - found
        found |= new
        ahead += new
    return found


@given(
    st.integers(1, 5).flatmap(
        lambda size: st.lists(
            st.sets(st.integers(0, size - 1)).map(sorted), min_size=size, max_size=size
        )
    )
)
def test_of_every_tangle_the_smallest_circle_is_found_and_nothing_else(awaited):
    edges = dict(enumerate(awaited))
    found = find_circles(edges, edges.get)
    every = all_circles(edges)
    assert all(circle in every for circle in found)
    assert bool(found) == bool(every)
    assert [len(circle) for circle in found] == sorted(len(circle) for circle in found)
    tangles = {frozenset(b for b in reached(a, edges) if a in reached(b, edges)) for a in edges} - {
        frozenset()
    }
    assert len(found) == len(tangles)
    for circle in found:
        (tangle,) = (tangle for tangle in tangles if tangle >= set(circle))
        within = [other for other in every if tangle >= set(other)]
        assert len(circle) == min(map(len, within))
        assert circle == min(other for other in within if len(other) == len(circle)) or (
            circle[0] == min(other[0] for other in within if len(other) == len(circle))
        )


@pytest.mark.parametrize("size", [1, 2, 3000])
def test_large_circles_and_crowds_are_searched_in_a_moment(size):
    following = {rank: [(rank + 1) % size] for rank in range(size)}
    assert find_circles([0], following.get) == [list(range(size))]
    crowd = range(min(size, 300))
    found = find_circles(crowd, lambda rank: [peer for peer in crowd if peer != rank])
    assert found == ([[0, 1]] if size > 1 else [])


def waits_for_two(comm):
    """Be one of a long circle of receives, of which a sendrecv makes a short one."""
    if comm.rank == 0:
        comm.sendrecv(np.zeros(10_000), dst=1, src=3)
    elif comm.rank == 3:
        comm.recv(0)
    else:
        comm.recv(comm.rank + 1)


@pytest.mark.parametrize("backend", ["simulated", "processes"])
def test_every_world_tells_the_smallest_circle(backend):
    with pytest.raises(DeadlockError) as caught:
        run(waits_for_two, workers=4, backend=backend)
    assert caught.value.cycles == [[0, 3]]
    assert "rank 0 waits in sendrecv(" in str(caught.value)
