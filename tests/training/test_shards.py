"""Nothing is lost, nothing is twice, sizes differ by at most one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.models.model import Layer
from course_lib.training.shards import shards_by_name, shards_by_size, split_evenly


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
