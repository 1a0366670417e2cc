"""Whose numbers are in a sum, and how often."""

from hypothesis import given
from hypothesis import strategies as st

from course_lib.trace.fingerprint import counts, describe, weight


@given(st.data(), st.integers(1, 8))
def test_counts_are_read_off_a_sum(data: st.DataObject, size: int) -> None:
    how_often = data.draw(st.lists(st.integers(0, size), min_size=size, max_size=size))
    total = float(sum(n * weight(rank, size) for rank, n in enumerate(how_often)))
    assert counts(total, size) == how_often


def test_what_is_no_sum_of_weights_is_not_decoded() -> None:
    for number in (-1.0, 0.5, float("nan"), float("inf"), 5.0**4):
        assert counts(number, 4) is None


def test_the_sentence_names_every_wrong_rank() -> None:
    assert describe([1, 1, 1], [1, 1, 1]) == ""
    assert describe([0, 1, 0, 2], [1, 1, 1, 1]) == (
        "the numbers of ranks 0 and 2 are missing, those of rank 3 were added twice instead of once"
    )
    assert describe([1, 1], [1, 0], "sums") == "the sums of rank 1 should not be in it"
