"""The comparison that all verdicts stand on, with the values that fool the usual ones."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from course_lib.checks.comparator import difference, first_difference
from course_lib.checks.plain import plain
from course_lib.checks.shown import show

THREE = np.array([1.0, 2.0, 3.0])


class Agreeable(np.ndarray):
    """Equal to everything, and as close to it as one could wish."""

    def __eq__(self, other: object) -> Any:
        return np.True_

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return np.ones(np.shape(inputs[0]), dtype=bool)


class SmoothFloat(float):
    """A float whose distance from everything is nothing."""

    def __sub__(self, other: float) -> float:
        return 0.0

    __rsub__ = __sub__

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = float.__hash__


class Half(Fraction):
    """A fraction of a class of one's own, which may count as it likes."""


@pytest.mark.parametrize(
    ("expected", "got", "says"),
    [
        pytest.param(np.ones(3), 1.0, "array", id="scalar"),
        pytest.param(np.ones(3), np.ones(1), "shape", id="one-element"),
        pytest.param(np.ones(4), np.ones((3, 4)), "shape", id="broadcast"),
        pytest.param(np.ones(3), np.ones(3, dtype=int), "dtype", id="int"),
        pytest.param(THREE, np.zeros(3).view(Agreeable), "element 0", id="evil-array"),
        pytest.param(2.0, SmoothFloat(7.0), "7", id="evil-float"),
        pytest.param(THREE, np.array([1.0, np.nan, 3.0]), "element 1", id="nan"),
        pytest.param(np.zeros(0), np.zeros(0), "nothing was compared", id="empty"),
        pytest.param(np.zeros(3), np.full(3, 5e-9), "5e-09", id="nearly-zero"),
    ],
)
def test_values_that_fool_usual_comparisons_are_told_apart(
    expected: Any, got: Any, says: str
) -> None:
    found = difference(expected, got)
    assert found is not None
    assert says in found.says


def test_no_ranks_and_missing_ranks_are_a_difference() -> None:
    assert first_difference([], []) is not None
    missing = first_difference([THREE, THREE], [THREE])
    assert missing is not None
    assert "2 ranks" in missing.says


def test_the_usual_comparisons_are_fooled_indeed() -> None:
    """Otherwise the ten inputs above would prove nothing."""
    assert np.allclose(np.ones(3), 1.0)
    assert np.allclose(np.ones(4), np.ones((3, 4)))
    assert np.allclose(THREE, np.zeros(3).view(Agreeable))
    assert np.allclose(np.zeros(3), 5e-9)
    assert all([])
    assert not abs(np.nan - 2.0) > 1e-9


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (THREE, THREE + 1e-12),
        (THREE, THREE.astype(">f8")),
        (THREE, [1.0, 2.0, 3.0]),
        (THREE, THREE.astype(object)),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([np.nan, 1.0]), np.array([1.0, np.nan])),
        (np.array([np.inf, 1.0]), np.array([-np.inf, 1.0])),
        (3, 3.0),
        (3, True),
        (1.0, "1.0"),
        ("rank 0", "rank 1"),
        (None, 0),
        ([1, 2], [1, 2, 3]),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 2}),
        (1.0, float("nan")),
        (1.0, np.array([1.0])),
        (THREE, None),
        (THREE, object()),
        (2.5, Fraction(2)),
        (3, Fraction(5, 2)),
        (2.5, Fraction(10**400, 3)),
        (2.5, Half(5, 2)),
    ],
)
def test_different_values_differ(expected: Any, got: Any) -> None:
    found = difference(expected, got)
    assert found is not None
    assert found.expected
    assert found.got


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (THREE, THREE.copy()),
        (THREE, THREE * (1 + 2e-16)),
        (THREE[::-1], THREE[::-1].copy()),
        (THREE.reshape(3, 1), np.asfortranarray(THREE.reshape(3, 1))),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
        (3, np.int64(3)),
        (3.0, 3),
        (3.0, np.float64(3)),
        (2.5, Fraction(5, 2)),
        (3.0, Fraction(3)),
        (3, Fraction(3)),
        ({"a": 0.1}, {"a": Fraction(1, 10)}),
        ([1, None, "x"], (1, None, "x")),
        ({"a": THREE}, {"a": THREE.copy()}),
        (None, None),
        (True, True),
    ],
)
def test_equal_values_do_not_differ(expected: Any, got: Any) -> None:
    assert difference(expected, got) is None


def test_tolerance_grows_with_terms_and_scale_and_not_beyond() -> None:
    eps = np.finfo(float).eps
    assert difference(THREE, THREE + 100 * eps) is not None
    assert difference(THREE, THREE + 100 * eps, n_terms=10) is None
    assert difference(THREE, THREE + 100 * eps, scale=10.0) is None
    assert difference(THREE, THREE + 1000 * eps, n_terms=10) is not None  # ten times outside


def test_an_empty_right_value_may_be_allowed() -> None:
    assert difference(np.zeros(0), np.zeros(0), may_be_empty=True) is None
    assert difference(np.zeros(0), np.zeros(1), may_be_empty=True) is not None


@given(
    arrays(np.float64, array_shapes(max_dims=3, max_side=4), elements=st.floats(-1e6, 1e6)),
    st.data(),
)
def test_one_changed_element_is_found_where_it_is(array: Any, data: st.DataObject) -> None:
    index = data.draw(st.sampled_from(list(np.ndindex(array.shape))))
    other = array.copy()
    other[index] += 1e-6 * max(1.0, np.abs(array).max())
    found = difference(array, other)
    assert found is not None
    assert found.where == f"element {index[0] if len(index) == 1 else index}"
    assert difference(array, array.copy()) is None


def test_plain_leaves_no_class_of_the_learner() -> None:
    value = plain([np.zeros(3).view(Agreeable), SmoothFloat(2.0), object(), {1: np.float32(2)}])
    assert type(value[0]) is np.ndarray
    assert type(value[1]) is float
    assert value[2].kind == "object"
    assert type(value[3]["1"]) is np.ndarray


def test_values_of_other_kinds_are_named_also_when_they_were_made_plain_before() -> None:
    for value, kind in ((torch.zeros(3), "torch tensor"),
                        (torch.nn.Parameter(torch.zeros(3)), "torch tensor"),
                        (object(), "value of type object")):  # fmt: skip
        for got in (value, plain(value)):
            found = difference(THREE, got)
            assert found is not None
            assert found.says == f"expected a NumPy array, got a {kind}"
            inside = difference([THREE], [got])
            assert inside is not None
            assert inside.says == f"item 0: expected a NumPy array, got a {kind}"


def test_show_is_one_short_line() -> None:
    for value in (np.zeros((100, 100)), THREE, [1.0, None], {"a": THREE}, "x", 1e-300, None):
        assert "\n" not in show(value)
        assert len(show(value)) < 100


def test_a_long_double_is_a_number_also_where_no_float_is_as_large():
    right, large = np.array(np.longdouble("0.5")), np.array(np.longdouble("1e4000"))
    assert difference(0.5, right) is None
    assert difference(0.5, large) is not None
