"""Whole numbers: what is one, what is none, and the sentence that says so."""

import numpy as np
import pytest

from course_lib.words.whole import whole


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_every_kind_of_whole_number_comes_back_as_int(value):
    assert type(whole("n", value, 1, 64)) is int


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (True, {}, r"n must be an int, got True \(bool\)"),
        (np.True_, {}, r"n must be an int, got .*True.* \(bool\)"),
        (2.0, {"least": 1}, r"n must be an int of 1 or more, got 2.0 \(float\)"),
        ("2", {"least": 1, "most": 64}, r"n must be an int from 1 to 64, got '2' \(str\)"),
        (None, {"or_what": " or 'all'"}, r"n must be an int or 'all', got None \(NoneType\)"),
    ],
)
def test_what_is_no_whole_number_is_refused_by_name(value, bounds, words):
    with pytest.raises(TypeError, match=f"^{words}$"):
        whole("n", value, **bounds)


def test_an_array_of_one_number_is_none():
    with pytest.raises(TypeError, match=r"^color must be an int or None, got array\(\[1\]\) \("):
        whole("color", np.array([1]), or_what=" or None")


@pytest.mark.parametrize(("value", "words"), [(0, "got 0"), (65, "got 65"), (1000, "got 1,000")])
def test_what_lies_outside_is_refused_with_the_bounds(value, words):
    with pytest.raises(ValueError, match=f"^n must be an int from 1 to 64, {words}$"):
        whole("n", value, 1, 64)
