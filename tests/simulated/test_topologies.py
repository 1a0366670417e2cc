"""Rings, tori, hosts with uplinks, slow NICs and links: hand-computed cases, and wrong models.

The hand-computed cases use a latency of 10 s and 1 s a byte, so that every time is a small integer.
"""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.collectives import allgather_ring, allreduce_ring, reduce_scatter_ring
from course_lib.comm.simulated import routes
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.routes import Hop, Link, Route, Routes
from course_lib.comm.simulated.topologies import SlowNic
from tests.contract import test_started_programs as started
from tests.simulated.test_random_programs import follow, programs

HAND = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)
FAR = Network("far", latency_s=100.0, bandwidth_bytes_per_s=0.5, flops_per_s=1.0)
RING = networks.ring(HAND)
TORUS = networks.torus(HAND, 4, 5)  # ranks 0 to 4 stand in the first row


def hosts_of(ranks, between=HAND, inside=HAND):
    return networks.two_level(inside, between, ranks_per_host=ranks)


def send_all(comm, messages):
    """Send (src, dst, n_bytes, late_s) each, receive in that order; return when each was there."""
    seen = []
    for src, dst, n_bytes, late_s in messages:
        if comm.rank == src:
            with comm.compute("late", flops=max(0.0, late_s - comm.clock())):
                pass
            comm.send(np.zeros(n_bytes, "u1"), dst=dst)
        elif comm.rank == dst:
            comm.recv(src=src)
            seen.append(comm.clock())
    return seen


def arrivals(network, workers, *messages):
    whole = [(*message, 0.0)[:4] for message in messages]
    values = run(send_all, whole, workers=workers, backend="simulated", network=network).values
    return [values[dst].pop(0) for _, dst, *_ in whole]


# (network, workers, messages (src, dst, n_bytes, late_s = 0), when each arrives)
CASES = {
    "a ring's neighbours": (RING, 6, [(0, 1, 5)], [15]),
    "a ring's far ranks": (RING, 6, [(0, 2, 5)], [25]),
    "the shorter way round": (RING, 6, [(0, 4, 5)], [25]),
    "half way round goes right": (RING, 4, [(0, 2, 5), (1, 3, 5, 10.0)], [25, 40]),
    "room on a link before it is used": (RING, 8, [(0, 3, 5), (1, 2, 5, 5.0)], [35, 20]),
    "a link on the way is shared": (RING, 8, [(0, 3, 5), (1, 2, 5, 7.0)], [35, 30]),
    "a ring's directions are not shared": (RING, 6, [(0, 2, 5), (3, 1, 5)], [25, 25]),
    "a torus's neighbours": (TORUS, 20, [(6, 7, 5), (6, 5, 5)], [15, 20]),
    "a torus's rows and columns are rings": (TORUS, 20, [(4, 0, 5), (18, 3, 5)], [15, 15]),
    "from row to row": (TORUS, 20, [(4, 5, 5)], [25]),
    "the shorter way along both": (TORUS, 20, [(0, 18, 5)], [10 * 3 + 5]),
    "half way round a column goes down": (TORUS, 20, [(3, 13, 5), (8, 18, 5, 10.0)], [25, 40]),
    "the row first": (TORUS, 20, [(0, 11, 5), (1, 6, 5, 7.0)], [35, 30]),
    "the column is not the first": (TORUS, 20, [(0, 11, 5), (5, 10, 5, 7.0)], [35, 22]),
    "a torus's directions are not shared": (TORUS, 20, [(0, 2, 5), (3, 1, 5)], [25, 25]),
    "rows share no links": (TORUS, 20, [(0, 2, 5), (6, 7, 5, 7.0)], [25, 22]),
    "one row is a ring": (networks.torus(HAND, 1, 6), 6, [(0, 4, 5)], [25]),
    "one column is a ring": (networks.torus(HAND, 6, 1), 6, [(0, 4, 5)], [25]),
    "a slow link of a torus": (TORUS.with_slow_link(0, 6, 3.0), 20, [(0, 6, 5)], [75]),
    "inside a host": (hosts_of(2, FAR), 4, [(0, 1, 5)], [15]),
    "between hosts": (hosts_of(2, FAR), 4, [(0, 2, 5)], [110]),
    "two share an uplink": (hosts_of(2), 4, [(0, 2, 5), (1, 3, 5)], [15, 20]),
    "two do not share an uplink": (hosts_of(1), 4, [(0, 2, 5), (1, 3, 5)], [15, 15]),
    "two share a slow uplink": (hosts_of(2, FAR), 4, [(0, 2, 5), (1, 3, 5)], [110, 120]),
    "two share the way in": (hosts_of(2), 6, [(2, 0, 5), (4, 1, 5)], [15, 20]),
    "an uplink carries both ways": (hosts_of(2), 4, [(0, 2, 5), (3, 1, 5)], [15, 15]),
    "inside does not use the uplink": (hosts_of(2), 4, [(0, 2, 5), (1, 0, 5)], [15, 15]),
    "the last host may be smaller": (hosts_of(2), 5, [(0, 4, 5), (2, 3, 5)], [15, 15]),
    "a far message leaves room for a near one": (
        hosts_of(2, FAR), 4, [(0, 2, 5), (3, 2, 5, 20.0)], [110, 110]
    ),
    "a slow NIC sends": (HAND.with_slow_nic(0, 3.0), 2, [(0, 1, 5)], [45]),
    "a slow NIC receives": (HAND.with_slow_nic(1, 3.0), 2, [(0, 1, 5)], [45]),
    "slow twice": (HAND.with_slow_nic(1, 3.0).with_slow_nic(1, 2.0), 2, [(0, 1, 5)], [90]),
    "others' NICs are as they were": (HAND.with_slow_nic(2, 3.0), 3, [(0, 1, 5)], [15]),
    "slow senders to a fast NIC": (
        HAND.with_slow_nic(0, 3.0).with_slow_nic(1, 3.0), 3, [(0, 2, 5), (1, 2, 5)], [45, 45]
    ),
    "a slow receiver serves one by one": (
        HAND.with_slow_nic(2, 3.0), 3, [(0, 2, 5), (1, 2, 5)], [45, 60]
    ),
    "no bytes have their turn too": (
        HAND.with_slow_nic(3, 2.0), 4, [(1, 2, 0), (0, 2, 5)], [15, 15]
    ),
    "a slow link": (HAND.with_slow_link(0, 1, 3.0), 3, [(0, 1, 5)], [45]),
    "a slow link's other direction": (HAND.with_slow_link(0, 1, 3.0), 3, [(1, 0, 5)], [15]),
    "a slow link of a ring": (RING.with_slow_link(0, 2, 3.0), 6, [(0, 2, 5)], [75]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_times_computed_by_hand(name):
    network, workers, messages, expected = CASES[name]
    assert arrivals(network, workers, *messages) == expected


def test_two_large_messages_over_one_uplink_take_twice_as_long_as_one():
    one, two = (8_000, 8_000), (8_000, 16_000)  # far more than the latency of 10
    alone = arrivals(hosts_of(2), 4, (0, 2, 8_000))
    together = arrivals(hosts_of(2), 4, (0, 2, 8_000), (1, 3, 8_000))
    assert alone == [10 + one[1]]
    assert together == [10 + size for size in two]


WRONG_BOOKINGS = {
    "nobody queues": lambda self, head_s, n_bytes, now_s: head_s,
    "a late message blocks all before it": None,  # see below
    "half the time": lambda self, head_s, n_bytes, now_s: BOOK(self, head_s, n_bytes / 2, now_s),
    "links of one speed": lambda self, head_s, n_bytes, now_s: BOOK(
        Link(1.0), head_s, n_bytes, now_s
    ),
}
BOOK = Link.book


def no_gaps(self, head_s, n_bytes, now_s):
    """Serve strictly in the order of booking."""
    begin_s = max([head_s, *(until_s for _, until_s in self._booked)])
    self._booked.append((begin_s, begin_s + n_bytes * self.beta_s_per_byte))
    return begin_s


WRONG_ROUTES = {
    "store and forward": lambda self, n_bytes, start_s, late_s=0.0: (
        start_s + n_bytes,
        start_s + sum(lat + n_bytes * link.beta_s_per_byte for link, lat in self._hops_at(start_s)),
    ),
    "only the last link counts": lambda self, n_bytes, start_s, late_s=0.0: CARRY(
        Route(self._nic, self._hops[-1:]), n_bytes, start_s
    ),
    "the slowest link does not decide": lambda self, n_bytes, start_s, late_s=0.0: CARRY(
        Route(Hop(Link(0.0), 0.0), self._hops_at(start_s)), n_bytes, start_s
    ),
}
CARRY = Route.carry


def through(*places):
    return [
        place for place, before in zip(places, (None, *places), strict=False) if place != before
    ]


def straight(a, b):
    return range(a, b + 1) if a <= b else range(a, b - 1, -1)


WRONG_WAYS = {
    "a mesh, whose ends are not joined": lambda src, dst, torus: through(
        *straight(src, src // torus.columns * torus.columns + dst % torus.columns),
        *(y * torus.columns + dst % torus.columns
          for y in straight(src // torus.columns, dst // torus.columns)),
    ),
    "the column first": lambda src, dst, torus: WAY(dst, src, torus)[::-1],
    "column by column": lambda src, dst, torus: [
        place % torus.columns * torus.rows + place // torus.columns
        for place in WAY(
            *(rank % torus.rows * torus.columns + rank // torus.rows for rank in (src, dst)), torus
        )
    ],
    "a ring of all": lambda src, dst, torus: routes._round(src, dst, torus.size),
    "straight there": lambda src, dst, torus: [src, dst],
}  # fmt: skip
WAY = routes._row_then_column


@pytest.mark.parametrize("name", WRONG_WAYS)
def test_another_way_through_a_torus_would_be_seen(monkeypatch, name):
    monkeypatch.setattr(routes, "_row_then_column", WRONG_WAYS[name])
    cases = [case for case in CASES.values() if case[0] is TORUS]
    wrong = [
        arrivals(network, workers, *messages)
        for network, workers, messages, expected in cases
        if arrivals(network, workers, *messages) != expected
    ]
    assert wrong


def test_a_torus_is_for_as_many_ranks_as_stand_on_it():
    assert run(len_of, workers=20, backend="simulated", network=TORUS).values == [20] * 20
    for workers in (19, 21):
        said = rf"'4 x 5 torus of hand' is for 4 x 5 = 20 ranks, but workers={workers}"
        with pytest.raises(ValueError, match=said):
            run(len_of, workers=workers, backend="simulated", network=TORUS)


def len_of(comm):
    return comm.size


@pytest.mark.parametrize("name", [*WRONG_BOOKINGS, *WRONG_ROUTES])
def test_a_wrong_model_would_be_seen(monkeypatch, name):
    if name in WRONG_BOOKINGS:
        monkeypatch.setattr(Link, "book", WRONG_BOOKINGS[name] or no_gaps)
    else:
        monkeypatch.setattr(Route, "carry", WRONG_ROUTES[name])
    wrong = [
        name
        for name, (network, workers, messages, expected) in CASES.items()
        if arrivals(network, workers, *messages) != expected
    ]
    assert wrong


def test_a_straggler_computes_longer_and_its_nic_is_as_it_was():
    def work(comm):
        with comm.compute("work", flops=60.0):
            pass
        computed_s = comm.clock()
        comm.barrier()
        other = 1 - comm.rank
        comm.sendrecv(np.zeros(5, "u1"), other, other)
        return computed_s, comm.clock()

    network = HAND.with_straggler(1, 4.0)
    assert network.is_star
    values = run(work, workers=2, backend="simulated", network=network).values
    assert values == [(60.0, 255.0), (240.0, 255.0)]


# The model as a whole

LIKE = Network("like", 3e-5, 1e8, flops_per_s=1e9)
UNSLOWED = dataclasses.replace(LIKE, slow=(SlowNic(0, 1.0),))


@given(programs, st.integers(1, 7), st.booleans())
@settings(max_examples=40, deadline=None)
def test_routes_over_a_plain_star_give_its_times_to_the_last_bit(program, workers, rendezvous):
    assert LIKE.is_star
    assert not UNSLOWED.is_star
    like, routed = (
        run(follow, program, workers=workers, backend="simulated", network=network,
            rendezvous=rendezvous).trace.to_json()
        for network in (LIKE, UNSLOWED)
    )  # fmt: skip
    assert like == routed


@given(st.lists(started.steps, max_size=8), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_groups_and_started_functions_take_the_same_routes(program, workers):
    like, routed = (
        run(started.follow, program, workers=workers, backend="simulated", network=network)
        for network in (LIKE, UNSLOWED)
    )
    assert like.values == routed.values
    assert like.trace.to_json() == routed.trace.to_json()


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 20), st.integers(0, 9)), max_size=30),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_a_link_carries_one_message_at_a_time_and_none_before_it_is_there(requests, beta):
    link, now_s, carried = Link(beta), 0.0, []
    for later_s, away_s, n_bytes in requests:
        now_s += later_s
        head_s = now_s + away_s
        entered_s = link.book(head_s, n_bytes, now_s)
        assert entered_s >= head_s
        carried.append((entered_s, entered_s + n_bytes * beta))
    busy = sorted((begin, end) for begin, end in carried if end > begin)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(busy))


networks_of_any_kind = st.builds(
    Network,
    st.just("any"),
    latency_s=st.floats(1e-7, 1e-2),
    bandwidth_bytes_per_s=st.floats(1e6, 1e11),
    flops_per_s=st.just(1e9),
)


@given(networks_of_any_kind, st.integers(2, 9), st.integers(0, 8), st.integers(0, 2000))
@settings(max_examples=40, deadline=None)
def test_a_message_alone_takes_the_sum_of_latencies_and_the_largest_beta(link, size, dst, n_bytes):
    dst %= size
    if dst == 0:
        return
    slow = networks.ring(link).with_slow_nic(0, 2.0).with_slow_link(0, dst, 3.0)
    hops = min(dst, size - dst)
    plain_s = hops * link.latency_s + n_bytes * link.beta_s_per_byte
    slow_s = 3.0 * ((hops + 1) * link.latency_s + n_bytes * 2.0 * link.beta_s_per_byte)
    for network, expected_s in ((networks.ring(link), plain_s), (slow, slow_s)):
        _, arrived_s = Routes(network, size).between(0, dst).carry(n_bytes, 0.0)
        assert math.isclose(arrived_s, expected_s, rel_tol=1e-9)


@given(networks_of_any_kind, st.integers(2, 8), st.integers(1, 500))
@settings(max_examples=20, deadline=None)
def test_a_ring_of_messages_is_as_fast_on_links_as_on_a_star(link, workers, length):
    def reduce(comm):
        allreduce_ring(comm, np.ones(length * comm.size))

    star_s, ring_s = (
        run(reduce, workers=workers, backend="simulated", network=network).elapsed_s
        for network in (link, networks.ring(link))
    )
    assert math.isclose(star_s, ring_s, rel_tol=1e-9)


def along_rows_and_columns(comm, array, columns):
    """Reduce-scatter in each row, all-reduce in each column, all-gather in each row."""
    row = comm.split(color=comm.rank // columns, key=comm.rank)
    column = comm.split(color=comm.rank % columns, key=comm.rank)
    return allgather_ring(row, allreduce_ring(column, reduce_scatter_ring(row, array)))


def whole_in_rows_and_columns(comm, array, columns):
    """The likely mistake: all of the array goes round the column, too."""
    row = comm.split(color=comm.rank // columns, key=comm.rank)
    column = comm.split(color=comm.rank % columns, key=comm.rank)
    return allreduce_ring(column, allreduce_ring(row, array))


@given(networks_of_any_kind, st.integers(2, 4), st.integers(2, 5), st.integers(1, 300))
@settings(max_examples=15, deadline=None)
def test_an_all_reduce_along_a_torus_costs_what_its_formula_says(link, rows, columns, length):
    size = rows * columns
    array = np.ones(length * size)
    alpha, beta, n = link.latency_s, link.beta_s_per_byte, array.nbytes
    formula_s = 2 * (columns - 1) * (alpha + n / columns * beta)
    formula_s += 2 * (rows - 1) * (alpha + n / size * beta)
    turns = -(-2 * (size - 1) // columns)  # from row to row are two links
    ring_s = 2 * (size - 1) * (alpha + n / size * beta) + turns * alpha
    network = networks.torus(link, rows, columns)

    def seconds(collective, *args):
        result = run(
            lambda comm: collective(comm, array, *args),
            workers=size, backend="simulated", network=network,
        )  # fmt: skip
        assert all((value == size).all() for value in result.values)
        return result.elapsed_s

    assert math.isclose(seconds(along_rows_and_columns, columns), formula_s, rel_tol=1e-9)
    assert math.isclose(seconds(allreduce_ring), ring_s, rel_tol=1e-9)
    wrong_s = seconds(whole_in_rows_and_columns, columns)
    assert abs(wrong_s - formula_s) > 1e-8 * formula_s


@given(networks_of_any_kind, st.integers(1, 4), st.integers(1, 4), st.integers(1, 2000))
@settings(max_examples=20, deadline=None)
def test_ranks_that_share_an_uplink_share_its_bandwidth(link, ranks, hosts, n_bytes):
    def shift(comm):
        """Send to the same place on the next host."""
        there, back = ((comm.rank + d * ranks) % comm.size for d in (1, -1))
        if hosts > 1:
            comm.sendrecv(np.zeros(n_bytes, "u1"), there, back)

    network = hosts_of(ranks, between=link, inside=dataclasses.replace(link, latency_s=0.0))
    elapsed_s = run(shift, workers=ranks * hosts, backend="simulated", network=network).elapsed_s
    shared_s = link.latency_s + ranks * n_bytes * link.beta_s_per_byte
    assert math.isclose(elapsed_s, shared_s if hosts > 1 else 0.0, rel_tol=1e-9)
