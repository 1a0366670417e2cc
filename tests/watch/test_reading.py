"""Reading marked numbers: the places and the contributions in any sum of inputs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from course_lib.watch.reading import marks, ranks_a_run, read


def test_as_many_ranks_share_a_run_as_float64_can_keep_apart():
    assert [ranks_a_run(size) for size in (1, 4, 13, 14, 64)] == [1, 4, 13, 13, 8]


@given(st.data(), st.integers(1, 20), st.integers(1, 30))
def test_any_sum_of_contributions_is_read(data, size, n):
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start + 1, n))
    counts = data.draw(
        st.lists(st.integers(0, 2), min_size=size, max_size=size).filter(lambda c: sum(c) <= size)
    )
    inputs = [marks(size, rank, np.arange(n)) for rank in range(size)]
    runs = [
        np.sum([count * own[k] for count, own in zip(counts, inputs, strict=True)], axis=0)
        for k in range(len(inputs[0]))
    ]
    pieces = read([array[start:stop] for array in runs], size, n)
    expected = [(start, stop, tuple(counts))] if any(counts) else []
    assert pieces == expected


@given(st.integers(2, 20), st.integers(0, 8), st.floats(0.25, 4.0))
def test_what_is_no_sum_is_not_read_as_one(size, place, factor):
    runs = [array[place : place + 1] for array in marks(size, size - 1, np.arange(9))]
    runs[-1] = runs[-1] * factor
    pieces = read(runs, size, 9)
    where = (place + 1) * factor - 1
    is_a_place = where == int(where) and 0 <= where < 9
    assert pieces[0].counts is None or (is_a_place and pieces[0].start == where)
