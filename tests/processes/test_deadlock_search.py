"""The search for deadlocks, on boards that were never in shared memory."""

from itertools import combinations, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.comm.processes.launcher.deadlock import (
    DeadlockWatch,
    awaited,
    find_circles,
    stuck_ranks,
)
from course_lib.comm.processes.memory.mailbox import ANYONE, NOBODY
from course_lib.comm.processes.memory.wait_board import RankState, Waiting

AT_WORK = RankState(True, (), 0)
WAITS_FOR_ITS_OWN = Waiting("wait", NOBODY, NOBODY)


def asleep(*waiting, stamp=1):
    return RankState(False, waiting, stamp)


def receives(src, stamp=1):
    return asleep(Waiting("recv", src, NOBODY), stamp=stamp)


def is_closed(group, states, returned):
    """Whether nothing in ``group`` can go on unless somebody outside of it gives a hand."""

    def holds_up(rank, waiting):
        if waiting == WAITS_FOR_ITS_OWN:
            return True
        lost = {*group, *returned}
        return any(
            lost >= {*range(len(states))} - {rank} if peer == ANYONE else peer in lost
            for peer in (waiting.src, waiting.dst)
            if peer != NOBODY
        )

    return all(
        not states[rank].at_work and all(holds_up(rank, w) for w in states[rank].waiting)
        for rank in group
    )


@st.composite
def boards(draw):
    size = draw(st.integers(1, 5))
    states = []
    for rank in range(size):
        peers = [peer for peer in range(size) if peer != rank]
        someone = st.sampled_from([*peers, ANYONE] if peers else [ANYONE])
        entry = st.one_of(
            st.builds(Waiting, st.just("recv"), someone, st.just(NOBODY)),
            st.builds(Waiting, st.just("send"), st.just(NOBODY), someone),
            st.builds(Waiting, st.just("sendrecv"), someone, someone),
            st.just(WAITS_FOR_ITS_OWN),
        )
        waiting = tuple(draw(st.lists(entry, min_size=1, max_size=3)))
        states.append(RankState(draw(st.integers(0, 3)) == 0, waiting, draw(st.integers(0, 9))))
    returned = draw(st.sets(st.integers(0, size - 1)))
    return states, returned


@given(boards())
@settings(max_examples=250, deadline=None)
def test_the_stuck_ranks_are_the_largest_group_that_nobody_outside_can_help(board):
    states, returned = board
    here = [rank for rank in range(len(states)) if rank not in returned]
    closed = [
        set(group)
        for n in range(len(here) + 1)
        for group in combinations(here, n)
        if is_closed(group, states, returned)
    ]
    assert stuck_ranks(states, returned) == set().union(*closed)


@given(boards())
@settings(max_examples=250, deadline=None)
def test_the_circle_is_the_smallest_there_is(board):
    states, returned = board
    stuck = stuck_ranks(states, returned)

    def leads(rank, peer):
        return any(peer in awaited(rank, waiting, len(states)) for waiting in states[rank].waiting)

    lengths = [
        n
        for n in range(2, len(stuck) + 1)
        for ring in permutations(stuck, n)
        if all(leads(a, b) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True))
    ]
    circles = find_circles(states, stuck)
    assert bool(circles) == bool(lengths)
    for circle in circles[:1]:
        ranks = [link.rank for link in circle]
        assert len(ranks) == min(lengths)
        assert ranks[0] == min(ranks)
        for link, following in zip(circle, [*ranks[1:], ranks[0]], strict=True):
            assert following in awaited(
                link.rank, states[link.rank].waiting[link.entry], len(states)
            )


def looks(watch, boards, every_s=0.1, returned=()):
    return [watch.look(board, returned, k * every_s) for k, board in enumerate(boards)]


def test_three_looks_and_a_moment_are_needed():
    board = [receives(1), receives(0)]
    assert looks(DeadlockWatch(), [board] * 4) == [False, False, True, True]
    assert looks(DeadlockWatch(), [board] * 4, every_s=0.07) == [False, False, False, True]
    assert looks(DeadlockWatch(), [board] * 2, every_s=9.0) == [False, False]


def test_who_has_moved_between_two_looks_is_not_stuck():
    busy = [[receives(1, stamp), receives(0)] for stamp in range(20)]
    assert not any(looks(DeadlockWatch(), busy))
    awake = [[AT_WORK, receives(0)], [receives(1), receives(0)]] * 10
    assert not any(looks(DeadlockWatch(), awake))


def test_who_comes_to_wait_for_a_circle_does_not_put_it_off():
    board = [receives(1), receives(0)]
    growing = [[*board, *[receives(0)] * k, *[AT_WORK] * (3 - k)] for k in range(4)]
    watch = DeadlockWatch()
    assert looks(watch, growing) == [False, False, True, True]
    assert [[link.rank for link in circle] for circle in watch.circles] == [[0, 1]]
    assert watch.all_wait


def test_who_waits_for_one_that_has_returned_is_no_deadlock():
    board = [receives(1), AT_WORK, receives(0)]
    assert not any(looks(DeadlockWatch(), [board] * 5, returned=[1]))
    assert stuck_ranks(board, [1]) == {0, 2}


def test_a_rank_goes_on_if_something_that_it_has_started_can():
    started = Waiting("recv", 1, NOBODY)
    board = [asleep(WAITS_FOR_ITS_OWN, started), AT_WORK]
    assert stuck_ranks(board, []) == set()
    board[1] = receives(0)
    assert stuck_ranks(board, []) == {0, 1}
    (circle,) = find_circles(board, [0, 1])
    assert circle == [(0, 1), (1, 0)]  # what it has started is its second entry


def test_circles_that_do_not_wait_for_each_other_are_all_found():
    board = [receives(src) for src in (1, 0, 0, 4, 5, 3)]
    circles = find_circles(board, range(6))
    assert [[link.rank for link in circle] for circle in circles] == [[0, 1], [3, 4, 5]]


def test_ranks_of_one_tangle_make_one_circle():
    """Each of four waits for all others: 2 and 3 wait for 0 and 1 as well as for each other."""
    board = [asleep(Waiting("recv_any", ANYONE, NOBODY))] * 4
    assert len(find_circles(board, range(4))) == 1
