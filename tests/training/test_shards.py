"""Nothing is lost, nothing is twice, sizes differ by at most one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.models.model import Layer
from course_lib.training.shards import (
    length,
    shards_by_name,
    shards_by_size,
    shards_evenly,
    split_evenly,
)
from course_lib.training.whole_shards import check_shards


@given(n_items=st.integers(0, 300), n_parts=st.integers(1, 64))
def test_every_item_is_in_exactly_one_part(n_items: int, n_parts: int) -> None:
    parts = split_evenly(n_items, n_parts)
    assert len(parts) == n_parts
    assert [item for part in parts for item in range(n_items)[part]] == list(range(n_items))
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("n_items", "n_parts"), [(-1, 2), (3, 0), (3, -1)])
def test_impossible_cuts_are_refused(n_items: int, n_parts: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        split_evenly(n_items, n_parts)


@pytest.mark.parametrize("cut", [shards_by_name, shards_by_size])
@pytest.mark.parametrize("n_shards", [0, -1])
def test_no_shard_at_all_is_refused_in_a_sentence(cut, n_shards):
    with pytest.raises(ValueError, match=rf"n_shards must be an int of 1 or more, got {n_shards}"):
        cut([Layer("a", slice(0, 3))], n_shards)


@pytest.mark.parametrize(
    ("shards", "told"),
    [
        ([[slice(0, 4)], [slice(6, 10)]], "2 that none keeps and 0 kept twice"),
        ([[slice(1, 4), slice(5, 9)]], "3 that none keeps and 0 kept twice"),
        ([[slice(0, 10)], [slice(0, 10)], [slice(2, 3)]], "0 that none keeps and 10 kept twice"),
        ([[slice(0, 6)], [slice(4, 6), slice(7, 10)]], "1 that none keeps and 2 kept twice"),
        ([[], [slice(0, 0)]], "10 that none keeps and 0 kept twice"),
        ([[slice(0, 11)]], "without a step for each server; got .* for server 0"),
        ([[slice(0, 10)], [slice(-10, 0)]], "without a step for each server; got .* for server 1"),
        ([[slice(10, 0)]], "without a step"),
        ([[slice(0, 10, 2)], [slice(1, 10, 2)]], "without a step"),
        ([[slice(None, None)]], "without a step"),
        ([[0, 10]], "a list of slices without a step"),
        ([slice(0, 10)], "a list of slices without a step"),
        (3, "a list of slices for each server, got 3"),
        ([], "from 1 to 3 of 4 ranks, so that a replica is left; got 0"),
    ],
)
def test_shards_that_do_not_keep_every_parameter_once_are_refused(shards, told):
    with pytest.raises((TypeError, ValueError), match=f"shards must .*{told}"):
        check_shards(shards, 10, size=4)


def test_shards_may_be_empty_and_in_any_order():
    shards = [[slice(7, 10), slice(0, 2)], [], [slice(2, 7)]]
    assert check_shards(shards, 10, size=4) == shards
    assert list(map(length, check_shards(shards_evenly(2, 3), 2, size=4))) == [0, 1, 1]
