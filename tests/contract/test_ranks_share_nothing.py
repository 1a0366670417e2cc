# ruff: noqa: NPY002 - the global generators are what one test is about
"""What comes with a function is each rank's own, and a result changes nothing of the caller's."""

import dataclasses
import enum
import functools
import random
from random import gauss, randint
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from numpy.random import rand

from course_lib.comm.errors import WorkerError

pytestmark = pytest.mark.slow


class Tally:
    count = 0
    names: ClassVar[list] = ["the caller's"]

    def __init__(self):
        self.counted = type(self).count


class Kind:
    known: ClassVar[list] = []

    def __init_subclass__(cls):
        Kind.known.append(cls.__name__)


class Special(Kind):
    pass


class Planned(Exception):
    told = 0


class Planet(enum.Enum):
    MERCURY = (0.33, 2.44)
    EARTH = (5.97, 6.37)
    HOME = (5.97, 6.37)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @functools.cached_property
    def density(self):
        return self.mass / self.radius**3


class Tenfold(enum.IntEnum):
    ONE = 1
    TWO = 2

    def __new__(cls, number):
        member = int.__new__(cls, 10 * number)
        member._value_ = 10 * number
        member.number = number
        return member


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    BOTH = READ | WRITE


CALLS = []


@functools.cache
def fibonacci(n):
    """Say it again."""
    CALLS.append(n)
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.lru_cache(maxsize=1, typed=True)
def halved(x):
    return x / 2


def test_a_class_is_each_ranks_own_and_stays_the_callers(both_worlds):
    def work(comm, given):
        for _ in range(3):
            Tally.count += 1
            Tally.names.append(comm.rank)
            comm.barrier()
        return Tally.count, Tally.names, type(given) is Tally, Tally()

    for world in both_worlds:
        values = world(work, Tally()).values
        for rank, (count, names, is_ours, tally) in enumerate(values):
            assert count == tally.counted == 3
            assert names == ["the caller's", *[rank] * 3]
            assert is_ours, "arguments and globals travel together"
            assert type(tally) is Tally, "what comes back is of the caller's class"
        assert (Tally.count, Tally.names) == (0, ["the caller's"])


def test_an_exceptions_class_stays_the_callers_however_it_arrives(both_worlds):
    def work(comm):
        Planned.told += 1
        try:
            raise Planned("first")
        except Planned:
            raise Planned("again") from None

    for world in both_worlds:
        with pytest.raises(WorkerError) as raised:
            world(work)
        assert type(raised.value.original) is Planned
        assert Planned.told == 0


def test_classes_that_list_themselves_are_listed_once_on_each_rank(both_worlds):
    def work(comm):
        comm.barrier()
        return Special(), len(Kind.known)

    before = list(Kind.known)
    for world in both_worlds:
        values = world(work).values
        assert values[0][1] == values[1][1]
        assert type(values[1][0]) is Special
        assert Kind.known == before


def test_a_class_with_slots_has_no_more_than_those(both_worlds):
    @dataclasses.dataclass(slots=True)
    class Step:
        number: int
        __secret: int = 0

    class Last(Step):
        __slots__ = ()

    class Pair(NamedTuple):
        one: int
        other: int = 2

    def work(comm, step):
        with pytest.raises(AttributeError):
            step.other = 1
        return step, Step(comm.rank), Last(1), Pair(3)

    for world in both_worlds:
        for rank, values in enumerate(world(work, Step(7)).values):
            assert values == (Step(7), Step(rank), Last(1), Pair(3, 2))
            assert list(map(type, values)) == [Step, Step, Last, Pair]


def test_a_class_that_a_rank_has_made_arrives_whole(both_worlds):
    def work(comm):
        class Found(Tally):
            where = comm.rank

            def twice(self):
                return 2 * self.where

        return Found(), Found()

    for world in both_worlds:
        values = world(work).values
        for rank, (one, other) in enumerate(values):
            assert type(one) is type(other)
            assert isinstance(one, Tally)
            assert one.twice() == 2 * rank


def test_generators_are_drawn_from_by_whatever_name_they_have(both_worlds):
    def work(comm):
        random.seed(comm.rank)
        np.random.seed(comm.rank)
        comm.barrier()
        drawn = [randint(0, 10**9), float(rand()), gauss(0, 1)]
        random.seed(comm.rank)
        np.random.seed(comm.rank)
        return drawn == [random.randint(0, 10**9), np.random.rand(), random.gauss(0, 1)], drawn

    def unseeded(comm):
        return randint(0, 10**9), float(rand())

    for fn in (work, unseeded):
        one, *others = [world(fn).values for world in both_worlds]
        assert others == [one] * len(others)
        random.seed(17)
        np.random.seed(17)
        expected = random.random(), np.random.rand()
        random.seed(17)
        np.random.seed(17)
        assert both_worlds[0](fn).values == one, "whatever the caller has drawn"
        assert (random.random(), np.random.rand()) == expected
    one = both_worlds[0](work).values
    assert one[0][0]
    assert one[1][0]
    assert one[0][1] != one[1][1]


def test_a_function_with_a_cache_travels_without_what_is_in_it(both_worlds):
    def work(comm):
        first = fibonacci(30), len(CALLS), fibonacci.cache_info().misses
        halved(1)
        halved(1.0)
        return *first, fibonacci.__doc__, halved.cache_parameters(), halved.cache_info().misses

    expected = (832040, 31, 31, "Say it again.", {"maxsize": 1, "typed": True}, 2)
    fibonacci(3)
    for world in both_worlds:
        CALLS.clear()
        assert world(work).values == [expected] * 2
        assert CALLS == []
    assert fibonacci.cache_info().currsize == 4


def test_an_enum_keeps_its_second_names_and_what_its_own_code_has_set(both_worlds):
    def work(comm):
        assert Planet.HOME is Planet["HOME"] is Planet.EARTH is Planet((5.97, 6.37))
        assert Access.READ | Access.WRITE is Access.BOTH
        return Planet.EARTH.density, list(Planet), Tenfold.TWO.number, Tenfold(20), Access.BOTH

    expected = (Planet.EARTH.density, list(Planet), 2, Tenfold.TWO, Access.BOTH)
    for world in both_worlds:
        for value in world(work).values:
            assert value == expected
            assert all(a is b for a, b in zip(value[1], Planet, strict=True))
