"""Schedules as data: the table of the literature in exact fractions, worked out in two ways."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from course_lib.pipelines import (
    SCHEDULES,
    Action,
    Schedule,
    check_schedule,
    evaluate,
    gpipe,
    interleaved,
    one_f_one_b,
    zb_h1,
    zb_v,
)

PAIRS = [(2, 4), (2, 8), (4, 8), (4, 12), (4, 16), (8, 16), (8, 32)]
HALF = Fraction(1, 2)


def longest_path(schedule, duration, latency=0):
    """The makespan by another way: the end of an action is one more than what it waits for."""
    before = {b: a for order in schedule.orders for a, b in pairwise(order)}
    by_what = {(a.kind in "IB", *a[1:]): a for o in schedule.orders for a in o if a.kind in "FIB"}

    @cache
    def end(action):
        kind, stage, m = action
        waits = [(before[action], 0)] if action in before else []
        other = stage + 1 if kind in "IB" else stage - 1
        if kind != "W" and 0 <= other < schedule.n_stages:
            is_sent = schedule.placement[other] != schedule.placement[stage]
            waits.append((by_what[kind in "IB", other, m], latency * is_sent))
        return max((end(a) + c for a, c in waits), default=Fraction(0)) + duration(action)

    for order in schedule.orders:
        for action in order:  # in order, so that no recursion goes deep
            end(action)
    return max(end(order[-1]) for order in schedule.orders)


def thirds(schedule):
    """F = I = W = 1 for a rank's whole part of the model."""
    v = schedule.n_stages // schedule.n_ranks
    return lambda action: Fraction(2 if action.kind == "B" else 1, v)


def peaks(schedule):
    return [schedule.peak(rank) for rank in range(schedule.n_ranks)]


# The table: what the formulas say for a name, P, M and v, and the most activations of rank r.
TABLE = {
    "gpipe": (gpipe, lambda P: 3 * (P - 1), lambda P, M, r: M),
    "1f1b": (one_f_one_b, lambda P: 3 * (P - 1), lambda P, M, r: P - r),
    "interleaved, 2": (
        interleaved,
        lambda P: Fraction(3 * (P - 1), 2),
        lambda P, M, r: Fraction(2 * (P - 1 - r) + P + 1, 2),
    ),
    "interleaved, 4": (
        partial(interleaved, chunks=4),
        lambda P: Fraction(3 * (P - 1), 4),
        lambda P, M, r: Fraction(2 * (P - 1 - r) + 3 * P + 1, 4),
    ),
    "zb_h1": (zb_h1, lambda P: P - 1, lambda P, M, r: P),
    "zb_v": (zb_v, lambda P: Fraction(P - 1, 2), lambda P, M, r: P),
}


@pytest.mark.parametrize(("P", "M"), PAIRS)
@pytest.mark.parametrize("name", TABLE)
def test_makespan_bubble_and_activations_are_those_of_the_literature(name, P, M):
    make, bubble, peak = TABLE[name]
    schedule = make(P, M)
    times = schedule.times()
    assert times.makespan == longest_path(schedule, thirds(schedule)) == 3 * M + bubble(P)
    assert {times.idle(rank) for rank in range(P)} == {bubble(P)}
    own = max(times.idle_within(rank) for rank in range(P))
    assert own == (0 if name == "zb_v" else bubble(P))
    assert peaks(schedule) == [min(M, peak(P, M, rank)) for rank in range(P)]


def test_the_odd_cases():
    ten = interleaved(4, 10)  # two rounds of five
    assert ten.times().makespan == longest_path(ten, thirds(ten)) == Fraction(69, 2)
    assert peaks(ten) == [6, 5, 4, 3]
    assert peaks(interleaved(4, 4)) == [4, 4, 7 * HALF, 5 * HALF]  # never more than M
    for M, makespan in ((4, 15), (5, 17), (6, 18 + 3 * HALF)):  # from 3P/2 on there is no gap
        assert zb_v(4, M).times().makespan == longest_path(zb_v(4, M), thirds(zb_v(4, M)))
        assert zb_v(4, M).times().makespan == makespan


@pytest.mark.parametrize(
    ("c", "makespans"),
    [
        (Fraction(1, 10), {"interleaved": 29.9, "zb_h1": 28.2, "zb_v": 26.8}),
        (HALF, {"interleaved": 35.5, "zb_h1": 33, "zb_v": 32.5}),
        (Fraction(1), {"interleaved": 46, "zb_h1": 41, "zb_v": 41.5}),
    ],
)
def test_messages_that_take_time(c, makespans):
    for name, makespan in makespans.items():
        schedule = SCHEDULES[name](4, 8)
        found = schedule.times(latency=c).makespan
        assert found == longest_path(schedule, thirds(schedule), c)
        assert float(found) == makespan


def test_with_latency_1f1b_is_slower_than_gpipe_and_without_it_is_not():
    def difference(P, M, c=Fraction(1, 10)):
        found = [make(P, M).times(latency=c).makespan for make in (one_f_one_b, gpipe)]
        assert found == [
            longest_path(make(P, M), thirds(make(P, M)), c) for make in (one_f_one_b, gpipe)
        ]
        # GPipe waits for a message where it fills and where it drains, and never else.
        assert found[1] == 3 * (M + P - 1) + 2 * (P - 1) * c
        return found[0] - found[1]

    assert [difference(4, M) for M in (4, 8, 16, 32)] == [Fraction(n, 10) for n in (4, 10, 22, 46)]
    assert [difference(P, 16) for P in (2, 3, 4, 8)] == [Fraction(n, 10) for n in (14, 20, 22, 26)]
    assert [difference(4, 8, c) for c in (Fraction(0), HALF, Fraction(1))] == [0, 5, 10]


def test_interleaving_costs_messages_and_the_bottom_of_the_v_saves_some():
    found = {name: make(4, 8).n_messages for name, make in SCHEDULES.items()}
    assert found == {"gpipe": 48, "1f1b": 48, "interleaved": 112, "zb_h1": 48, "zb_v": 96}


def test_weights_that_take_half_as_long_leave_zb_v_a_gap():
    """The published times of a real model: W is about half of F and I."""
    schedule = zb_v(4, 8)
    lighter = schedule.times(weight_gradient=HALF)
    duration = {"F": HALF, "I": HALF, "W": Fraction(1, 4)}
    assert lighter.makespan == longest_path(schedule, lambda action: duration[action.kind])
    assert max(map(lighter.idle_within, range(4))) > 0


@st.composite
def schedules(draw):
    P, M = draw(st.integers(1, 6)), draw(st.integers(1, 18))
    name = draw(st.sampled_from(sorted(TABLE)))
    assume(name in ("gpipe", "1f1b", "zb_v") or (P <= M and M % (M // P) == 0))
    return TABLE[name][0](P, M)


@pytest.mark.slow
@given(schedules(), st.fractions(0, 3), st.tuples(*[st.integers(1, 4)] * 3))
def test_every_schedule_can_be_carried_out_and_both_ways_agree(schedule, latency, three):
    check_schedule(schedule)
    took = dict(zip("FIW", three, strict=True)) | {"B": three[1] + three[2]}
    times = evaluate(schedule, lambda action: took[action.kind], latency)
    assert times.makespan == longest_path(schedule, lambda action: took[action.kind], latency)
    work = schedule.microbatches * sum(three) * schedule.n_stages
    assert sum(times.busy(rank) for rank in range(schedule.n_ranks)) == work
    for rank in range(schedule.n_ranks):
        assert schedule.held(rank)[-1] == 0
        assert schedule.peak(rank) <= schedule.microbatches
    assert times.idle(0) >= times.idle_within(0) >= 0


@pytest.mark.slow
@given(st.data())
def test_what_is_missing_doubled_or_waits_for_ever_is_refused_by_name(data):
    schedule = data.draw(schedules())
    rank = data.draw(st.integers(0, schedule.n_ranks - 1))
    order = list(schedule.orders[rank])
    index = data.draw(st.integers(0, len(order) - 1))
    action = order[index]

    def with_order(changed):
        orders = (*schedule.orders[:rank], tuple(changed), *schedule.orders[rank + 1 :])
        return replace(schedule, orders=orders)

    part = action.made[0]
    with pytest.raises(ValueError, match=f"must hold {part} once .* got it 0 times"):
        check_schedule(with_order(order[:index] + order[index + 1 :]))
    with pytest.raises(ValueError, match=f"must hold {part} once .* got it 2 times"):
        check_schedule(with_order([*order, action]))
    last = order.index(next(a for a in order if a.kind in "IB" and a.microbatch == 0))
    first = order.index(Action("F", order[last].stage, 0))
    order[first], order[last] = order[last], order[first]
    with pytest.raises(ValueError, match=r"must come to an end, got \d+\w\d+ on rank .* for ever"):
        check_schedule(with_order(order))


def test_a_circle_of_two_ranks_is_named():
    """Rank 0 wants to go back before it sends the second micro-batch, rank 1 wants both first."""
    words = ("0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1")
    orders = tuple(
        tuple(Action(word[1], int(word[0]), int(word[2])) for word in own.split()) for own in words
    )
    with pytest.raises(ValueError, match="got 0B0 on rank 0, which waits for 1I0 on rank 1 for"):
        check_schedule(Schedule("mine", orders, (0, 1), 2))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"placement": (0, 2)}, "ranks 0 to 1, got 2 for stage 1: it has no worker"),
        ({"placement": (0, 0)}, "every rank a stage, got none for rank 1"),
        ({"placement": (1, 0)}, "0F0 to rank 1, got it on rank 0"),
        ({"placement": ()}, "a stage and a micro-batch at least, got 0 stages"),
        ({"microbatches": 1}, "actions of this pipeline, got 0F1"),
        ({"microbatches": 3}, "must hold 0F2 once .* got it 0 times"),
        ({"placement": (0, 1, 0)}, "must hold 2F0 once"),
        ({"orders": ((Action("X", 0, 0),), ())}, "actions of this pipeline, got 0X0"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_named(change, told):
    with pytest.raises(ValueError, match=told):
        check_schedule(replace(gpipe(2, 2), **change))


def test_what_is_no_schedule_is_refused():
    with pytest.raises(TypeError, match=r"must be a Schedule, as gpipe.* got 'gpipe'"):
        check_schedule("gpipe")


@pytest.mark.parametrize("make", [*SCHEDULES.values()], ids=[*SCHEDULES])
def test_numbers_out_of_range_are_refused_by_name(make):
    for numbers, argument in (((0, 4), "ranks"), ((2, 0), "microbatches")):
        with pytest.raises(ValueError, match=f"{argument} must be an int of 1 or more, got 0"):
            make(*numbers)
    with pytest.raises(TypeError, match="ranks must be an int"):
        make(2.0, 4)


@pytest.mark.parametrize("make", [interleaved, zb_h1], ids=["interleaved", "zb_h1"])
def test_less_microbatches_than_ranks_are_refused_where_the_schedule_needs_them(make):
    with pytest.raises(ValueError, match=r"microbatches must be as many .* more, 4, got 3"):
        make(4, 3)
    assert gpipe(4, 3).times().makespan == one_f_one_b(4, 3).times().makespan == 18


def test_rounds_of_unequal_length_and_no_chunk_are_refused():
    with pytest.raises(ValueError, match=r"multiple of the number of rounds, 9 // 4 = 2, got 9"):
        interleaved(4, 9)
    with pytest.raises(ValueError, match="chunks must be an int of 1 or more, got 0"):
        interleaved(4, 8, chunks=0)
    with pytest.raises(ValueError, match="latency must be 0 or more, got -1"):
        gpipe(2, 2).times(latency=-1)


def test_the_action_of_each_stage_is_where_the_stage_lives():
    for make in SCHEDULES.values():
        schedule = make(3, 6)
        homes = Counter(schedule.placement)
        assert set(homes.values()) == {schedule.n_stages // 3}
        assert [s for r in range(3) for s in schedule.stages_of(r)] != []
