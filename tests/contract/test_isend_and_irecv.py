"""What travels while a rank computes: order, results, refusals and ends, in every world."""

import time

import numpy as np
import pytest

from course_lib.collectives import allreduce_ring, broadcast_tree, reduce_flat, reduce_tree
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import (
    CollectiveMismatchError,
    DeadlockError,
    MessageMismatchError,
    PeerFinishedError,
    WorkerError,
)

BIG = EAGER_BYTES // 8 + 1  # float64 elements that do not fit an eager message
SIZES = [1, BIG, 2, 10 * BIG, 0, 3, BIG]


@pytest.mark.parametrize("rendezvous", [False, True])
def test_messages_keep_the_order_of_posting_whatever_verb_posts_them(world, rendezvous):
    def numbered(comm):
        if comm.rank == 0:
            for number, size in enumerate(SIZES):
                send = comm.isend if number % 2 else comm.send
                send(np.full(size, float(number)), 1, tag=number)
            return None
        posted = []
        for number in range(len(SIZES)):
            if number % 3:
                posted.append(comm.irecv(0, tag=number))
            else:
                posted.append(comm.recv(0, tag=number))
        arrays = [each if isinstance(each, np.ndarray) else each.wait() for each in posted]
        return [(len(array), set(array.tolist())) for array in arrays]

    found = world(numbered, workers=2, rendezvous=rendezvous).values[1]
    expected = [(size, {float(n)} if size else set()) for n, size in enumerate(SIZES)]
    assert found == expected


def test_all_ranks_may_send_large_messages_at_once_and_receive_them_later(world):
    def everybody(comm):
        others = [rank for rank in range(comm.size) if rank != comm.rank]
        going = [comm.isend(np.full(4 * BIG, comm.rank), dst) for dst in others]
        coming = {src: comm.irecv(src) for src in others}
        found = {src: set(pending.wait().tolist()) for src, pending in coming.items()}
        assert [pending.wait() for pending in going] == [None] * len(going)
        return found

    values = world(everybody, workers=3).values
    assert values == [{src: {src} for src in range(3) if src != rank} for rank in range(3)]


def test_a_message_is_put_or_combined_where_it_was_asked_for(world):
    def work(comm):
        other = 1 - comm.rank
        total, place = np.ones(3), np.zeros(BIG)
        summed = comm.irecv(other, out=total, op="sum")
        placed = comm.irecv(other, out=place)
        comm.send(np.array([1.0, 2.0, 3.0]), other)
        comm.send(np.full(BIG, 5.0), other)
        same = summed.wait() is total and placed.wait() is place and summed.wait() is total
        return same, total.tolist(), set(place.tolist()), summed.test(), placed.test()

    for value in world(work, workers=2).values:
        assert value == (True, [2.0, 3.0, 4.0], {5.0}, True, True)


def test_the_messages_are_on_the_trace_as_those_of_send_and_recv(world):
    def posted(comm):
        if comm.rank == 0:
            comm.isend(np.ones(BIG), 1, tag="a").wait()
        else:
            comm.irecv(0).wait()

    (message,) = world(posted, workers=2).trace.messages
    assert (message.src, message.dst, message.tag, message.n_bytes) == (0, 1, "a", 8 * BIG)
    assert message.posted_s <= message.arrived_s <= message.received_s


def test_what_nobody_waits_for_is_over_before_the_run_is(world):
    def work(comm):
        if comm.rank == 0:
            comm.isend(np.ones(4 * BIG), 1)
        else:
            comm.irecv(0)

    assert world(work, workers=2).trace.bytes_sent() == [32 * BIG, 0]


def test_a_message_that_is_not_what_was_asked_for_is_refused_by_wait_and_is_gone(world):
    def work(comm):
        other = 1 - comm.rank
        comm.isend(np.ones(3), other, tag=1)
        comm.isend(np.ones(4), other, tag=2)
        refused, right = comm.irecv(other, tag=5), comm.irecv(other, tag=2)
        right.wait()
        texts = []
        for _ in range(2):
            with pytest.raises(MessageMismatchError) as caught:
                refused.wait()
            texts.append(str(caught.value))
        assert refused.test()
        return texts

    for rank, (first, again) in enumerate(world(work, workers=2).values):
        assert first == again
        assert f"rank {1 - rank} sent" in first
        assert "tag=5" in first


def test_a_refusal_that_nobody_waits_for_ends_the_run(world):
    def work(comm):
        comm.isend(np.ones(3), 1 - comm.rank, tag=1)
        comm.irecv(1 - comm.rank, tag=5)

    with pytest.raises(MessageMismatchError, match="tag=5"):
        world(work, workers=2)


def test_a_collective_between_posting_and_waiting_does_not_take_the_message(world):
    def work(comm):
        other = 1 - comm.rank
        going = comm.isend(np.full(2, float(comm.rank)), other)
        coming = comm.irecv(other)
        first = coming.wait().tolist()
        going.wait()
        return first, allreduce_ring(comm, np.ones(2)).tolist()

    assert world(work, workers=2).values == [([1.0, 1.0], [2, 2]), ([0.0, 0.0], [2, 2])]


def test_a_message_posted_outside_a_collective_is_not_one_of_its_own(world):
    def work(comm):
        coming = comm.irecv(0) if comm.rank == 1 else None
        broadcast_tree(comm, np.ones(2) if comm.rank == 0 else None)
        if coming is None:
            comm.send(np.zeros(2), 1)
        else:
            coming.wait()

    with pytest.raises(CollectiveMismatchError, match="broadcast_tree"):
        world(work, workers=2)


def test_two_that_wait_for_what_neither_has_sent_are_a_deadlock(world):
    def work(comm):
        coming = comm.irecv(1 - comm.rank, tag=4)
        coming.wait()
        comm.send(np.ones(1), 1 - comm.rank)

    with pytest.raises(DeadlockError) as caught:
        world(work, workers=2)
    assert caught.value.cycles == [[0, 1]]
    assert "irecv(src=1, tag=4), at test_isend_and_irecv.py" in str(caught.value)


def test_two_that_wait_for_what_neither_takes_are_a_deadlock(world):
    def work(comm):
        comm.isend(np.ones(4 * BIG), 1 - comm.rank).wait()
        comm.recv(1 - comm.rank)

    with pytest.raises(DeadlockError) as caught:
        world(work, workers=2)
    assert "isend(dst=1), at test_isend_and_irecv.py" in str(caught.value)


def test_a_small_message_leaves_behind_a_large_one(world):
    def work(comm):
        if comm.rank == 1:
            comm.barrier()
            comm.barrier()
            return [comm.recv(0).size for _ in range(2)]
        large, small = comm.isend(np.ones(4 * BIG), 1), comm.isend(np.ones(1), 1)
        comm.barrier()
        over = small.test()
        comm.barrier()
        small.wait()
        return over, large.test()

    assert world(work, workers=2).values == [(False, True), [4 * BIG, 1]]


def test_who_waits_for_a_rank_that_has_returned_is_told_whatever_lies_behind_that(world):
    def work(comm):
        if comm.rank == 0:
            large, _ = comm.isend(np.ones(4 * BIG), 1), comm.isend(np.ones(1), 1)
            large.wait()

    with pytest.raises(PeerFinishedError, match=r"rank 0 waits in .*isend.*rank 1"):
        world(work, workers=2)


def test_a_started_function_outlives_one_that_has_waited_for_a_message(world):
    def apart(child):
        if child.rank == 0:
            child.split(0)
        else:
            allreduce_ring(child, np.ones(2))

    def work(comm):
        other = 1 - comm.rank
        comm.start(apart)
        going = comm.isend(np.ones(1), other)
        comm.irecv(other).wait()
        going.wait()

    with pytest.raises(CollectiveMismatchError, match="allreduce_ring"):
        world(work, workers=2)


def test_many_large_messages_follow_one_another(world):
    def work(comm):
        if comm.rank == 0:
            for number in range(6):
                comm.isend(np.full(3, number), 1)
            return None
        coming = [comm.irecv(0) for _ in range(6)]
        return [int(pending.wait()[0]) for pending in coming]

    assert world(work, workers=2, rendezvous=True).values[1] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("verb", ["isend", "irecv"])
def test_who_waits_for_a_rank_that_has_returned_is_told(world, verb, waits):
    def work(comm):
        if comm.rank == 0:
            pending = comm.irecv(1) if verb == "irecv" else comm.isend(np.ones(4 * BIG), 1)
            if waits:
                pending.wait()

    with pytest.raises(PeerFinishedError, match=rf"rank 0 waits in .*{verb}.*rank 1") as raised:
        world(work, workers=2)
    assert ("at the end of its function" in str(raised.value)) != waits


def test_a_rank_that_asks_again_and_again_gets_its_message(world):
    def work(comm):
        if comm.rank == 1:
            with comm.compute("late", flops=1e7):
                pass
            comm.send(np.ones(2), 0)
            return None
        coming, n_asked = comm.irecv(1), 0
        while not coming.test():
            n_asked += 1
        return coming.wait().tolist()

    assert world(work, workers=2).values[0] == [1.0, 1.0]


def test_asking_whether_a_started_function_is_over(world):
    def told(comm):
        return comm.sendrecv(np.ones(1), 1 - comm.rank, 1 - comm.rank).tolist()

    def work(comm):
        pending = comm.start(told)
        while not pending.test():
            pass
        return pending.wait()

    assert world(work, workers=2).values == [[1.0]] * 2


def test_recv_any_is_refused_until_what_was_posted_has_been_waited_for(world):
    def work(comm):
        if comm.rank == 1:
            comm.send(np.ones(1), 0)
            return comm.send(np.full(1, 2.0), 0)
        coming = comm.irecv(1)
        with pytest.raises(RuntimeError) as caught:
            comm.recv_any()
        coming.wait()
        src, array = comm.recv_any()
        return str(caught.value), src, array.tolist()

    text, src, array = world(work, workers=2).values[0]
    assert "rank 0 called recv_any() before wait() of its irecv(src=1)" in text
    assert (src, array) == (1, [2.0])


def test_messages_of_groups_and_of_started_functions_do_not_mix(world):
    def swap(child, value):
        other = 1 - child.rank
        going = child.isend(np.full(BIG, value), other)
        found = set(child.irecv(other).wait().tolist())
        going.wait()
        return found

    def work(comm):
        other = 1 - comm.rank
        group = comm.split(0, key=-comm.rank)
        mine, of_group = comm.irecv(other), group.irecv(1 - group.rank)
        started = comm.start(swap, 30.0 + comm.rank)
        group.isend(np.full(1, 10.0 + comm.rank), 1 - group.rank)
        comm.isend(np.full(1, 20.0 + comm.rank), other)
        return mine.wait().tolist(), of_group.wait().tolist(), started.wait()

    expected = [([20.0 + other], [10.0 + other], {30.0 + other}) for other in (1, 0)]
    assert world(work, workers=2).values == expected


def test_bad_arguments_are_refused_before_anything_is_posted(world):
    def work(comm):
        other = 1 - comm.rank
        for wrong in (
            lambda: comm.isend(np.ones(1), 7),
            lambda: comm.isend([1.0], other),
            lambda: comm.irecv(comm.rank),
            lambda: comm.irecv(other, op="sum"),
            lambda: comm.irecv(other, out=[1.0]),
            lambda: comm.isend(np.ones(1), other, tag=1.5),
        ):
            with pytest.raises((TypeError, ValueError)):
                wrong()
        with comm.compute("nothing"):
            for verb in (lambda: comm.isend(np.ones(1), other), lambda: comm.irecv(other)):
                with pytest.raises(RuntimeError, match="called i"):
                    verb()
        return comm.sendrecv(np.ones(1), other, other).tolist()

    assert world(work, workers=2).values == [[1.0]] * 2


def test_what_wait_belongs_to_cannot_travel(world):
    def work(comm):
        comm.send(np.ones(1), 1 - comm.rank)
        return comm.irecv(1 - comm.rank)

    with pytest.raises((TypeError, WorkerError), match="lives in its rank"):
        world(work, workers=2)


def test_whoever_waits_first_takes_what_was_posted_and_others_get_it_too(world):
    def first(child, pending):
        return [int(each.wait()[0]) for each in pending]

    def work(comm):
        other, n = 1 - comm.rank, 6
        coming = [comm.irecv(other) for _ in range(n)]
        started = comm.start(first, coming[:3])
        more = [comm.irecv(other) for _ in range(n)]  # while that function waits, perhaps
        for number in range(2 * n):
            comm.isend(np.full(BIG, number), other)
        return started.wait(), [int(each.wait()[0]) for each in (*coming, *more)]

    assert world(work, workers=2).values == [([0, 1, 2], [*range(12)])] * 2


def test_a_rank_that_begins_many_messages_one_after_another_needs_few_threads(world):
    def work(comm):
        import threading

        other, before = 1 - comm.rank, threading.active_count()
        for _ in range(20):
            coming = [comm.irecv(other, tag=tag) for tag in ("a", "b")]
            going = [comm.isend(np.ones(BIG), other, tag=tag) for tag in ("a", "b")]
            comm.barrier()  # others than this one move them
            for pending in (*coming, *going):
                pending.wait()
        return threading.active_count() - before

    # Two, and those that have not rested yet, of the 40 that were begun.
    assert max(world(work, workers=2).values) <= 8


def test_who_waits_in_a_collective_for_what_was_posted_before_is_told_to_be_in_it(world):
    def work(comm):
        before = comm.irecv(1 - comm.rank)
        comm.barrier()
        if comm.rank == 0:
            reduce_flat(comm, np.ones(2))
        else:
            before.wait()

    with pytest.raises(CollectiveMismatchError, match="reduce_flat"):
        world(work, workers=2)


def test_a_message_that_nobody_waits_for_hides_no_collective_in_a_circle(world):
    def one_message_more(comm):
        if comm.rank == 2:
            comm.irecv(0).wait()
        left, right = (comm.rank - 1) % 3, (comm.rank + 1) % 3
        posted = comm.isend(np.ones(3), right), comm.irecv(left)
        time.sleep(0.1)  # until what was begun waits as well
        reduce_tree(comm, np.ones(3), root=1)
        return [pending.wait() for pending in posted]

    with pytest.raises(CollectiveMismatchError, match="reduce_tree #0, rank 2 in irecv") as found:
        world(one_message_more, workers=3, rendezvous=True)
    assert "rank 0 called reduce_tree, at test_isend_and_irecv.py" in str(found.value)


def test_what_numpy_is_told_to_raise_holds_for_what_was_begun_under_it(world):
    def work(comm):
        other = 1 - comm.rank
        total = np.full(3, 3e38, np.float32)
        with np.errstate(over="raise"):
            raises = comm.irecv(other, out=total.copy(), op="sum")
        with np.errstate(over="ignore"):
            overflows = comm.irecv(other, out=total.copy(), op="sum")
        comm.send(total, other)
        comm.send(total, other)
        with pytest.raises(FloatingPointError):
            raises.wait()
        return overflows.wait().tolist()

    assert world(work, workers=2).values == [[np.inf] * 3] * 2


def test_asking_in_vain_is_no_waiting(world):
    def work(comm):
        other = 1 - comm.rank
        pending = [comm.irecv(other) for _ in range(3)]
        asked = [each.test() for each in pending]
        n_asked = 0
        while not pending[0].test() and n_asked < 50:
            n_asked += 1
        for each in pending:
            each.test()
            comm.barrier()
        for number in range(3):
            comm.isend(np.full(1, number), other)
        return asked, [each.wait().tolist() for each in pending]

    assert world(work, workers=2).values == [([False] * 3, [[0], [1], [2]])] * 2


def test_many_large_messages_that_are_awaited_already_arrive_in_order(world):
    def work(comm):
        other = 1 - comm.rank
        coming = [comm.irecv(other) for _ in range(9)]
        going = [comm.isend(np.full(4 * BIG, number), other) for number in range(9)]
        found = [set(each.wait().tolist()) for each in coming]
        assert [each.wait() for each in going] == [None] * 9
        return found

    for rendezvous in (False, True):
        found = world(work, workers=2, rendezvous=rendezvous).values
        assert found == [[{number} for number in range(9)]] * 2


def test_what_nobody_waits_for_is_told_to_be_at_the_end_of_the_function(world):
    def work(comm):
        comm.irecv(1 - comm.rank)

    with pytest.raises(DeadlockError, match=r"irecv\(src=1\), at the end of its function"):
        world(work, workers=2)


def test_two_receives_that_would_write_to_the_same_place_are_refused_until_one_is_waited_for(world):
    def write(comm, second):
        other, group, room = 1 - comm.rank, comm.split(0), np.zeros(8)
        going = [comm.isend(np.ones(4), other), group.isend(np.ones(4), other)]
        said = []
        coming = comm.irecv(other, out=room[:4])
        try:
            group.irecv(other, out=room[second], op="sum").wait()
        except ValueError as error:
            said.append(str(error))
        coming.wait()
        if said:  # it has not been received, and may be now
            group.irecv(other, out=room[second], op="sum").wait()
        for each in going:
            each.wait()
        return said, room.tolist()

    for said, room in world(write, slice(3, 7), workers=2).values:
        assert len(said) == 1
        assert "out must not overlap that of irecv(src=" in said[0]
        assert room == [1, 1, 1, 2, 1, 1, 1, 0]
    assert world(write, slice(4, 8), workers=2).values == [([], [1] * 8)] * 2
