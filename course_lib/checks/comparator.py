"""The one comparison of a learner's result with the right one: strict, and explained in a sentence.

Usual comparisons let wrong answers through: ``np.allclose`` broadcasts, ignores the dtype, trusts
whatever ``__array_ufunc__`` an object brings, and takes 5e-9 for 0; ``not error > tolerance`` is
true for NaN; ``all([])`` is true. Here every value is first copied into a plain base array.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.plain import plain
from course_lib.checks.shown import kind, show, told_apart

__all__ = ["Difference", "as_list", "difference", "differing_bits", "first_difference"]

ROUNDING = 16
"""How many rounding errors per added term are forgiven; a wrong algorithm is off by far more."""


class Difference(NamedTuple):
    """Where a result is wrong, and how.

    Attributes
    ----------
    says : str
        The whole difference in one sentence.
    expected, got : str
        Both sides, short enough for a table.
    where : str
        The place: an element, an item, or the value as a whole.
    rank : int or None
        Whose result it is, where results of several ranks were compared.
    """

    says: str
    expected: str
    got: str
    where: str = "the value"
    rank: int | None = None


def as_list(value: Any) -> Any:
    """Return an array of one row as a list, for tasks that ask for a list; anything else as it is.

    Parameters
    ----------
    value : object
        What a learner's function has returned.

    Returns
    -------
    object
        A list of Python's numbers, or the value.
    """
    return value.tolist() if getattr(value, "ndim", 0) == 1 else value


def difference(
    expected: Any,
    got: Any,
    *,
    n_terms: int = 1,
    scale: Any = None,
    may_be_empty: bool = False,
) -> Difference | None:
    """Compare a result with the right one.

    Parameters
    ----------
    expected : array, number, str, None, or a list or dict of them
        The right value. Where it is an array, the result must be an array of exactly its shape and
        dtype; where it is a Python number, a NumPy scalar will do as well.
    got : object
        The learner's value; it is made ``plain`` first.
    n_terms : int, default: 1
        How many numbers were added up on the way to one element: rounding grows with it.
    scale : array or float or None, default: None
        How large the added numbers were; None takes the largest magnitude in ``expected``. There is
        no absolute tolerance: 5e-9 is not 0.
    may_be_empty : bool, default: False
        Whether the right value may have no elements. Otherwise comparing nothing is a failure.

    Returns
    -------
    Difference or None
        None when they agree.
    """
    expected, got = plain(expected), plain(got)
    if isinstance(expected, list):
        return _compare_items(expected, got, n_terms, scale, may_be_empty)
    if isinstance(expected, dict):
        return _compare_dicts(expected, got, n_terms, scale, may_be_empty)
    if isinstance(expected, np.ndarray):
        return _compare_arrays(expected, got, n_terms, scale, may_be_empty)
    return _compare_scalars(expected, got, n_terms, scale)


def differing_bits(got: Sequence[NDArray[Any]], what: str) -> Difference | None:
    """Find a rank whose array differs from rank 0's in any bit, where rounding is no excuse.

    Parameters
    ----------
    got : sequence of numpy.ndarray
        By rank.
    what : str
        What they are, in the plural.

    Returns
    -------
    Difference or None
        The first; None if all have the same bits.
    """
    for rank, value in enumerate(got):
        if value.tobytes() != got[0].tobytes():
            says = f"the {what} of ranks 0 and {rank} differ in the last bits"
            return Difference(says, "the same bits on every rank", "other bits", "bits", rank)
    return None


def first_difference(
    expected: Sequence[Any], got: Sequence[Any], **options: Any
) -> Difference | None:
    """Compare the results of all ranks, in rank order.

    Parameters
    ----------
    expected, got : sequence
        The right values and the learner's, by rank.
    **options
        As for ``difference``.

    Returns
    -------
    Difference or None
        The first difference, with its rank; also if ranks are missing, or there are none at all.
    """
    if not expected:
        return Difference("there is no rank to compare", "1 rank or more", "0 ranks", "the ranks")
    if len(expected) != len(got):
        return Difference(
            f"{len(expected)} ranks should have returned a result, {len(got)} did",
            f"{len(expected)} results", f"{len(got)} results", "the ranks",
        )  # fmt: skip
    for rank, (right, given) in enumerate(zip(expected, got, strict=True)):
        found = difference(right, given, **options)
        if found is not None:
            return found._replace(rank=rank, says=f"rank {rank}: {found.says}")
    return None


def _differs(expected: Any, got: Any, sentence: str, where: str = "the value") -> Difference:
    return Difference(sentence, *told_apart(expected, got), where)


def _should_be(expected: Any, got: Any) -> str:
    right, given = told_apart(expected, got)
    return f"should be {right}, got {given}"


def _values(expected: list[Any]) -> str:
    return "1 value" if len(expected) == 1 else f"{len(expected)} values"


def _compare_items(
    expected: list[Any], got: Any, n_terms: int, scale: Any, may_be_empty: bool
) -> Difference | None:
    if not isinstance(got, list):
        return _differs(
            expected, got, f"expected {_values(expected)} (a tuple or list), got {kind(got)}"
        )
    if len(got) != len(expected):
        return _differs(expected, got, f"expected {_values(expected)}, got {len(got)}")
    if not expected and not may_be_empty:
        return _differs(expected, got, "nothing was compared: there are no values")
    for index, (right, given) in enumerate(zip(expected, got, strict=True)):
        found = difference(right, given, n_terms=n_terms, scale=scale, may_be_empty=may_be_empty)
        if found is not None:
            return found._replace(
                where=f"item {index}, {found.where}", says=f"item {index}: {found.says}"
            )
    return None


def _compare_dicts(
    expected: dict[str, Any], got: Any, n_terms: int, scale: Any, may_be_empty: bool
) -> Difference | None:
    if not isinstance(got, dict):
        return _differs(expected, got, f"expected a dict, got {kind(got)}")
    if set(got) != set(expected):
        return _differs(
            sorted(expected),
            sorted(got),
            f"expected the keys {sorted(expected)}, got {sorted(got)}",
        )
    for key, right in expected.items():
        found = difference(right, got[key], n_terms=n_terms, scale=scale, may_be_empty=may_be_empty)
        if found is not None:
            return found._replace(where=repr(key), says=f"{key!r}: {found.says}")
    return None


def _compare_arrays(
    expected: NDArray[Any], got: Any, n_terms: int, scale: Any, may_be_empty: bool
) -> Difference | None:
    if not isinstance(got, np.ndarray):
        return _differs(expected, got, f"expected a NumPy array, got {kind(got)}")
    if got.shape != expected.shape:
        return _differs(expected, got, f"expected shape {expected.shape}, got {got.shape}")
    if got.dtype != expected.dtype:
        return _differs(expected, got, f"expected dtype {expected.dtype}, got {got.dtype}")
    if expected.size == 0:
        empty = "nothing was compared: the arrays have no elements"
        return None if may_be_empty else _differs(expected, got, empty)
    wrong = _wrong_elements(expected, got, n_terms, scale)
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    right, given = expected[index].item(), got[index].item()
    where = f"element {index[0] if len(index) == 1 else index}" if index else "the value"
    more = f" ({int(wrong.sum())} of {wrong.size} elements are wrong)" if wrong.size > 1 else ""
    return _differs(expected, got, f"{where} {_should_be(right, given)}{more}", where)


def _wrong_elements(
    expected: NDArray[Any], got: NDArray[Any], n_terms: int, scale: Any
) -> NDArray[np.bool_]:
    if expected.dtype.kind not in "fc":
        return np.asarray(expected != got)
    finite = np.isfinite(expected)
    wrong = np.isfinite(got) != finite
    same_special = (expected == got) | (np.isnan(expected) & np.isnan(got))
    wrong |= ~finite & ~same_special
    magnitude = np.abs(expected[finite]).max(initial=0.0) if scale is None else np.asarray(scale)
    tolerance = ROUNDING * n_terms * np.finfo(expected.dtype).eps * magnitude
    both = finite & np.isfinite(got)
    with np.errstate(over="ignore", invalid="ignore"):
        close = np.abs(expected - got) <= tolerance
    return np.asarray(wrong | (both & ~close))


def _compare_scalars(expected: Any, got: Any, n_terms: int, scale: Any) -> Difference | None:
    if isinstance(expected, bool) and isinstance(got, np.ndarray) and got.dtype == np.bool_:
        got = got.item() if got.shape == () else got
    if isinstance(expected, bool | str) or expected is None:
        same = type(got) is type(expected) and got == expected
        return None if same else _differs(expected, got, f"expected {expected!r}, got {show(got)}")
    if isinstance(got, np.ndarray) and got.shape == () and got.dtype.kind in "iuf":
        got = float(got) if got.dtype.kind == "f" else got.item()  # a long double has no item
    wanted: tuple[type, ...] = (int,) if isinstance(expected, int) else (int, float)
    if isinstance(got, bool) or not isinstance(got, wanted):
        name = "a whole number" if isinstance(expected, int) else "a number"
        return _differs(expected, got, f"expected {name}, got {kind(got)}")
    if isinstance(expected, int):
        wrong = got != expected
    else:
        as_arrays = np.array(expected, dtype=np.float64), np.array(got, dtype=np.float64)
        wrong = bool(_wrong_elements(*as_arrays, n_terms, scale))
    if wrong:
        return _differs(expected, got, _should_be(expected, got))
    return None
