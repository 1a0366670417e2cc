"""A rank that waits for one that has returned is told so in its verb, and may go on."""

import time
from itertools import product

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives.broadcast_tree import broadcast_tree
from course_lib.comm.errors import PeerFinishedError, UnreceivedMessagesWarning

LARGE = np.arange(100_000.0)
SMALL = np.arange(3.0)

VERBS = {
    "recv": lambda comm: comm.recv(src=2),
    "recv into an array": lambda comm: comm.recv(src=2, out=SMALL.copy(), op="sum", tag=3),
    "large send": lambda comm: comm.send(LARGE, dst=2),
    "sendrecv": lambda comm: comm.sendrecv(SMALL, dst=2, src=2),
    "large sendrecv": lambda comm: comm.sendrecv(LARGE, dst=2, src=2),
    "barrier": lambda comm: comm.barrier(),
    "split": lambda comm: comm.split(0),
    "shared_array": lambda comm: comm.shared_array(3),
    "collective": lambda comm: broadcast_tree(comm, SMALL, root=2),
}


def missed(comm, verb):
    """Call a verb that needs a rank that has returned; return what the error says of that."""
    try:
        VERBS[verb](comm)
    except PeerFinishedError as error:
        return type(error).__name__, error.peer
    return "nothing"


def wait_for_both(comm, what):
    """Wait for posted messages of a rank that has returned, then for one that computes long."""
    if comm.rank == 1:
        return None
    if comm.rank == 2:
        with comm.compute("long", flops=1e12):  # a hundred virtual seconds
            pass
        return comm.recv(0)[0] if what == "send" else comm.send(np.array([7.0]), 0)
    with comm.compute("until rank 1 has returned", flops=1e7):
        time.sleep(0.1)
    told = []
    for posted in (comm.irecv(1), comm.irecv(1), comm.isend(LARGE, 1)):
        try:
            posted.wait()
        except PeerFinishedError as error:
            told.append(error.peer)
    found = comm.recv(2)[0] if what == "recv" else comm.send(LARGE + 9, 2)
    return told, found


def test_a_posted_message_to_or_from_it_raises_and_the_rank_goes_on(world):
    assert world(wait_for_both, "recv", workers=3).values == [([1, 1, 1], 7.0), None, None]
    assert world(wait_for_both, "send", workers=3).values == [([1, 1, 1], None), None, 9.0]


@pytest.mark.parametrize("what", ["recv", "send"])
def test_what_a_rank_waits_for_afterwards_takes_its_time(what):
    made = run(wait_for_both, what, workers=3, backend="simulated")
    (last,) = (m for m in made.trace.messages if m.dst == (0 if what == "recv" else 2))
    assert last.received_s > 100
    assert [wait.end_s for wait in made.trace.waits if wait.rank == 0][-1] > 99


WAITS = np.arange(3000.0)
ONES = {  # what rank 0 does with rank 1, which has returned, and whether that raises
    "i": (lambda comm: comm.irecv(1), False), "r": (lambda comm: comm.recv(1), True),
    "s": (lambda comm: comm.isend(SMALL, 1), False), "x": (lambda comm: comm.send(SMALL, 1), False),
    "S": (lambda comm: comm.isend(WAITS, 1), False), "X": (lambda comm: comm.send(WAITS, 1), True),
}  # fmt: skip


def try_all(comm, order):
    """Do that in an order, then wait for what was posted; say what raises. Rank 2 lives on."""
    if comm.rank:
        return None if comm.rank == 1 else comm.recv(0)[0]
    told, posted = [], []
    for name in order:
        try:
            posted.append(ONES[name][0](comm))
            told.append(False)
        except PeerFinishedError:
            told.append(True)
    for each in filter(None, posted):
        try:
            each.wait()
            told.append(False)
        except PeerFinishedError:
            told.append(True)
    comm.send(SMALL, 2)
    return told


def expected(order):
    return [ONES[name][1] for name in order] + [name in "iS" for name in order if name in "isS"]


@pytest.mark.filterwarnings("ignore::course_lib.comm.errors.UnreceivedMessagesWarning")
@pytest.mark.parametrize("order", ["iisS", "Sx", "SxXXs", "SxSsX", "rsSi", "xXsSxi"])
def test_what_is_small_is_lost_and_all_else_raises_in_any_order(world, order):
    assert world(try_all, order, workers=3).values == [expected(order), None, SMALL[0]]


@pytest.mark.filterwarnings("ignore::course_lib.comm.errors.UnreceivedMessagesWarning")
def test_so_it_is_in_every_order_of_three():
    for order in product(ONES, repeat=3):
        values = run(try_all, order, workers=3, backend="simulated").values
        assert values == [expected(order), None, SMALL[0]], order


def verbs_of(world):
    """List the verbs that there are: where ranks share no memory, ``shared_array`` is refused."""
    return [verb for verb in VERBS if world.backend != "mpi" or verb != "shared_array"]


@pytest.mark.filterwarnings("ignore::course_lib.comm.errors.UnreceivedMessagesWarning")
def test_every_verb_raises_and_the_rank_goes_on(world):
    verbs = verbs_of(world)

    def work(comm):
        if comm.rank == 2:
            return None
        told = [missed(comm, verb) for verb in verbs]
        other = 1 - comm.rank
        theirs = comm.sendrecv(LARGE + comm.rank, dst=other, src=other)
        return told, float(theirs[0])

    found = world(work, workers=3)
    for rank in range(2):
        told, theirs = found.values[rank]
        assert told == [("PeerFinishedError", 2)] * len(told)
        assert theirs == 1 - rank
    assert found.values[2] is None


def test_what_a_sendrecv_has_sent_to_a_rank_that_has_returned_is_counted(world):
    def work(comm):
        if comm.rank == 1:
            for array in (SMALL, LARGE):  # a large one waits for its receive
                with pytest.raises(PeerFinishedError):
                    comm.sendrecv(array, dst=0, src=0)

    for trace in (True, False):
        with pytest.warns(UnreceivedMessagesWarning, match="1 message from rank 1 to rank 0"):
            result = world(work, trace=trace)
        assert not trace or result.trace.n_messages == 1


@pytest.mark.filterwarnings("ignore::course_lib.comm.errors.UnreceivedMessagesWarning")
def test_every_verb_raises_in_those_that_wait_already(world):
    verbs = verbs_of(world)

    def work(comm):
        begun = [comm.start(missed if comm.rank < 2 else leave, verb) for verb in verbs]
        with comm.compute("long", flops=1e9 * (comm.rank == 2)):
            time.sleep(0.3 * (comm.rank == 2))
        return [pending.wait() for pending in begun], comm.clock()

    def leave(child, verb):
        return None

    values = world(work, workers=3).values
    for rank in range(2):
        told, ended_s = values[rank]
        assert told == [("PeerFinishedError", 2)] * len(told)
        assert ended_s >= values[2][1] >= 0.1


@pytest.mark.parametrize("verb", ["barrier", "split", "shared_array"])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_all_that_wait_in_what_all_enter_together_are_told(world, verb, missing):
    if verb not in verbs_of(world):
        pytest.skip("ranks under mpiexec share no memory: shared_array is refused, in words")

    def work(comm):
        if comm.rank == missing:
            return None
        told = [missed(comm, verb) for _ in range(3)]
        pair = [rank for rank in range(3) if rank != missing]
        other = pair[1 - pair.index(comm.rank)]
        return told, comm.sendrecv(SMALL, dst=other, src=other).tolist()

    values = world(work, workers=3).values
    for rank in {0, 1, 2} - {missing}:
        assert values[rank] == ([("PeerFinishedError", missing)] * 3, SMALL.tolist())


def test_recv_any_raises_when_all_others_have_returned(world):
    def work(comm):
        if comm.rank:
            return comm.send(SMALL, dst=0)
        heard = []
        try:
            while True:
                heard.append(comm.recv_any()[0])
        except PeerFinishedError:
            return sorted(heard)

    assert world(work, workers=3).values[0] == [1, 2]


def test_what_has_been_sent_is_received_before_the_error(world):
    def work(comm):
        if comm.rank:
            return [comm.send(array, dst=0) for array in (SMALL, LARGE, SMALL)] and None
        heard = []
        try:
            while True:
                heard.append(comm.recv(src=1).size)
        except PeerFinishedError:
            return heard

    assert world(work).values[0] == [3, 100_000, 3]


def test_a_started_function_is_told_and_its_wait_returns(world):
    def listen(child):
        try:
            return child.recv(src=1)
        except PeerFinishedError as error:
            return error.peer

    def work(comm):
        if comm.rank == 0:
            both = [comm.start(listen), comm.start(listen)]
            return [pending.wait() for pending in both]
        if comm.rank == 2:
            return [comm.start(listen).wait()]
        return None

    assert world(work, workers=3).values == [[1, 1], None, [1]]


def test_a_rank_has_returned_when_all_that_it_has_started_has(world):
    def answer(child):
        return child.recv(src=1) if child.rank == 0 else child.send(SMALL, dst=0)

    def work(comm):
        pending = comm.start(answer)
        if comm.rank == 1:
            return None
        heard = pending.wait().tolist()
        return heard, missed_on_world(comm)

    def missed_on_world(comm):
        try:
            return comm.recv(src=1)
        except PeerFinishedError as error:
            return error.peer

    assert world(work).values[0] == (SMALL.tolist(), 1)


def test_what_a_sendrecv_sends_has_been_sent_when_it_raises(world):
    def work(comm):
        if comm.rank == 1:
            return None
        if comm.rank == 0:
            try:
                comm.sendrecv(LARGE, dst=2, src=1)
            except PeerFinishedError as error:
                return error.peer, comm.recv(src=2).tolist()
        received = comm.recv(src=0).size
        comm.send(SMALL, dst=0)
        return received

    values = world(work, workers=3).values
    assert values == [(1, SMALL.tolist()), None, LARGE.size]


def test_a_send_that_raised_was_none_and_the_trace_has_all_the_rest(world):
    def work(comm):
        if comm.rank == 1:
            return comm.send(SMALL, dst=0, tag="unread")
        try:
            comm.send(LARGE, dst=1, tag="never sent")
        except PeerFinishedError:
            comm.note("raised", True)
        return None

    with pytest.warns(UnreceivedMessagesWarning, match="1 unreceived message"):
        found = world(work)
    assert [(m.tag, m.received_s) for m in found.trace.messages] == [("unread", None)]
    assert [note.name for note in found.trace.notes] == ["raised"]


def test_uncaught_it_ends_the_run_and_says_who_where_and_whom(world):
    def work(comm):
        if comm.rank != 1:
            comm.recv(src=1)

    with pytest.raises(PeerFinishedError, match=r"rank 0.*rank 1") as raised:
        world(work)
    assert (raised.value.rank, raised.value.peer) == (0, 1)
    assert str(raised.value).count("test_peers_that_have_returned.py, line") == 1


IN_VAIN = {
    "recv": lambda child: child.recv(src=1),
    "large send": lambda child: child.send(LARGE, dst=1),
    "large sendrecv": lambda child: child.sendrecv(LARGE, dst=1, src=1),
    "recv_any": lambda child: child.recv_any(),
    "barrier": lambda child: child.barrier(),
    "collective": lambda child: broadcast_tree(child, SMALL, root=1),
    "of a split": lambda child: child.split(0).recv(src=1),
    "started fewer": None,
}


@pytest.mark.filterwarnings("ignore::course_lib.comm.errors.UnreceivedMessagesWarning")
def test_who_waits_for_a_function_that_has_returned_is_told_while_the_rank_lives_on(world):
    def leave(child, verb):
        if verb == "of a split":
            child.split(0)

    def told(child, verb):
        try:
            IN_VAIN[verb](child)
        except PeerFinishedError as error:
            return error.rank, error.peer, "from 'world/start " in str(error)

    def below(child):
        try:
            return child.recv(src=1)
        except PeerFinishedError as error:
            return error.rank, error.peer, "from 'world/start " in str(error)

    def work(comm):
        heard = []
        for verb in IN_VAIN:
            if comm.rank == 1:
                comm.start(leave, verb).wait()
                heard.append(comm.recv(src=0).size)
            elif verb == "started fewer":
                heard.append(comm.start(lambda child: child.start(below).wait()).wait())
                comm.send(LARGE, dst=1)
            else:
                heard.append(comm.start(told, verb).wait())
                comm.send(LARGE, dst=1)
        return heard

    values = world(work).values
    assert values == [[(0, 1, True)] * len(IN_VAIN), [LARGE.size] * len(IN_VAIN)]


def test_uncaught_it_says_which_function_has_returned(world):
    def work(comm):
        comm.start(lambda child: child.recv(src=1) if child.rank == 0 else None).wait()
        comm.sendrecv(SMALL, dst=1 - comm.rank, src=1 - comm.rank)

    says = r"rank 0 waits in recv.*rank 1.*has already returned from 'world/start 1'"
    with pytest.raises(PeerFinishedError, match=says) as raised:
        world(work)
    assert (raised.value.rank, raised.value.peer) == (0, 1)


def test_the_function_of_a_rank_has_returned_while_what_it_has_started_waits(world):
    def answer(child):
        return child.recv(src=0).size if child.rank == 1 else child.send(LARGE, dst=1)

    def work(comm):
        if comm.rank == 1:
            comm.start(answer)
            return None
        try:
            comm.send(LARGE, dst=1)
        except PeerFinishedError as error:
            comm.start(answer).wait()
            return error.peer

    assert world(work).values[0] == 1
