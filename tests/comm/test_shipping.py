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


@pytest.mark.parametrize("body", ["[lock for _ in range(1)]", "(lambda: lock)()"])
def test_a_global_variable_is_named_also_where_a_function_inside_uses_it(body: str) -> None:
    names: dict[str, Any] = {"lock": threading.Lock(), "__name__": "__main__"}
    exec(f"def fn(comm):\n    return {body}", names)
    with pytest.raises(SerializationError, match=r"fn uses the variable 'lock', a lock"):
        pack_call(names["fn"], ())


def test_a_variable_of_a_function_with_a_cache_is_named_too() -> None:
    lock = threading.Lock()
    cached = functools.cache(lambda: lock)
    with pytest.raises(SerializationError, match=r"uses the variable 'lock', a lock"):
        pack_call(lambda comm: cached(), ())


def test_a_function_with_a_variant_for_each_type_travels_and_shares_no_variants() -> None:
    class Pair(list[Any]):
        pass

    @functools.singledispatch
    def depth(value: object) -> int:
        return 0

    @depth.register
    def _(value: list) -> int:  # type: ignore[type-arg]
        return 1 + max(map(depth, value))

    class Deep:
        @functools.singledispatchmethod
        def of(self, value: object) -> int:
            return depth(value)

        @of.register
        def _(self, value: str) -> int:
            return -1

    depth.unit = "lists"  # type: ignore[attr-defined]
    given = [Pair([1]), 2]
    assert depth(given) == 2  # fills the cache
    data = pack_call(lambda comm, value: (Deep().of(value), Deep().of("")), (given,))
    fn, args = load_call(data, 0)
    assert fn(None, *args) == (2, -1)
    loaded, _ = load_call(pack_call(depth, ()), 0)
    assert (loaded.unit, loaded.__name__, loaded(given)) == ("lists", "depth", 2)
    loaded.register(int, lambda value: 7)
    assert (loaded(1), depth(1)) == (7, 0)


def test_a_variable_of_a_variant_is_named_too() -> None:
    lock = threading.Lock()
    say = functools.singledispatch(lambda value: None)
    say.register(int, lambda value: lock)
    with pytest.raises(SerializationError, match=r"uses the variable 'lock', a lock"):
        pack_call(lambda comm: say(comm.rank), ())


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
