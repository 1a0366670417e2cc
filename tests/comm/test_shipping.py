"""What a function captures travels by value; what cannot travel is named."""

import functools
import threading
from typing import Any

import numpy as np
import pytest

from course_lib.comm.errors import SerializationError
from course_lib.comm.shipping import load_call, pack_call, pack_value

LOCK = threading.Lock()


def uses_a_global_lock(comm: Any) -> Any:
    return LOCK


def helper(comm: Any) -> Any:
    return uses_a_global_lock(comm)


def test_mutually_recursive_helpers_and_closures_travel() -> None:
    scale = 3

    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    fn, args = load_call(pack_call(lambda comm, n: (even(n), scale * n), (10,)), 0)
    assert fn(None, *args) == (True, 30)


def test_every_load_is_a_copy_of_its_own() -> None:
    data = pack_call(lambda comm, x: x, (np.zeros(3),))
    first, second = load_call(data, 0)[1][0], load_call(data, 1)[1][0]
    first[0] = 1
    assert second[0] == 0


def test_a_captured_variable_that_cannot_travel_is_named_with_its_type() -> None:
    lock = threading.Lock()
    with pytest.raises(SerializationError, match=r"uses the variable 'lock', a lock"):
        pack_call(lambda comm: lock, ())
    with pytest.raises(SerializationError, match=r"uses the variable 'lock'"):
        pack_call(functools.partial(lambda comm, x: lock, x=1), ())


def test_a_variable_of_a_function_with_a_cache_is_named_too() -> None:
    lock = threading.Lock()
    cached = functools.cache(lambda: lock)
    with pytest.raises(SerializationError, match=r"uses the variable 'lock', a lock"):
        pack_call(lambda comm: cached(), ())


def test_an_argument_that_cannot_travel_is_named_by_its_place() -> None:
    with pytest.raises(SerializationError, match=r"argument 2 of .*, a generator, cannot travel"):
        pack_call(lambda comm, a, b: None, (1, (i for i in range(3))))


def test_a_result_that_cannot_travel_names_the_rank() -> None:
    with pytest.raises(SerializationError, match=r"rank 3 returned a lock") as caught:
        pack_value(LOCK, 3)
    assert caught.value.rank == 3


def test_an_object_whose_pickling_raises_is_an_error_with_its_reason() -> None:
    class Stubborn:
        def __reduce__(self) -> Any:
            raise ValueError("not today")

    with pytest.raises(SerializationError, match=r"argument 1 .* ValueError: not today"):
        pack_call(lambda comm, x: None, (Stubborn(),))
