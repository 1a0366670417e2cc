"""A rank is lost and the others go on: who is told, in which verb, and what still works."""

import ctypes
import os
import signal
import time

import numpy as np
import pytest

from course_lib import Lost, RankLost, Trace, run
from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.collectives.broadcast_tree import broadcast_tree
from course_lib.comm.errors import DeadlockError, PeerFinishedError, RunError, WorkerError
from course_lib.comm.result import WORKER_VARIABLE
from course_lib.trace.events import LOST
from course_lib.viz import player, to_html
from tests.worlds import World

SMALL, LARGE = np.arange(3.0), np.zeros(100_000)


class Planned(Exception):
    pass


def die(how="raises"):
    """Be lost; in a simulated rank, which has no process of its own, by an exception."""
    if how == "raises" or WORKER_VARIABLE not in os.environ:
        raise Planned
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    if how == "leaves":
        os._exit(0)
    ctypes.string_at(0)


def pause(comm, seconds):
    """Let time pass in any world."""
    with comm.compute("pause", flops=seconds * 1e10):
        if WORKER_VARIABLE in os.environ:
            time.sleep(seconds)


def lost_in(call, *args):
    """Call something that needs a lost rank; return which rank the error names."""
    try:
        call(*args)
    except RankLost as error:
        return error.rank
    return "nothing"


@pytest.fixture(params=["simulated", pytest.param("processes", marks=pytest.mark.slow)])
def surviving(request):
    backend = request.param

    def call(fn, *args, **options):
        return World(backend)(fn, *args, survive=True, **options)

    return call


VERBS = {
    "recv": lambda comm: comm.recv(src=2),
    "small send": lambda comm: comm.send(SMALL, dst=2),
    "large send": lambda comm: comm.send(LARGE, dst=2),
    "sendrecv": lambda comm: comm.sendrecv(SMALL, dst=2, src=2),
    "large sendrecv": lambda comm: comm.sendrecv(LARGE, dst=2, src=2),
    "sendrecv past it": lambda comm: comm.sendrecv(SMALL, dst=1 - comm.rank, src=2),
    "isend": lambda comm: comm.isend(SMALL, 2).wait(),
    "large isend": lambda comm: comm.isend(LARGE, 2).wait(),
    "irecv": lambda comm: comm.irecv(2).wait(),
    "barrier": lambda comm: comm.barrier(),
    "split": lambda comm: comm.split(0),
    "shared_array": lambda comm: comm.shared_array(3),
    "start": lambda comm: comm.start(print),
    "ring": lambda comm: allreduce_ring(comm, SMALL),
    "tree": lambda comm: broadcast_tree(comm, SMALL, root=2),
}


@pytest.mark.parametrize("how", ["raises", "killed", "leaves", "crashes"])
def test_every_verb_that_needs_a_lost_rank_raises_and_the_others_go_on(surviving, how):
    def work(comm):
        both = comm.split(0 if comm.rank < 2 else None)
        if comm.rank == 2:
            for peer in range(2):  # all have left the split
                comm.recv(src=peer)
            die(how)
        comm.send(SMALL, dst=2)
        told = [lost_in(comm.recv, 2)]
        told += [lost_in(verb, comm) for verb in VERBS.values() if verb is not VERBS["start"]]
        other = 1 - comm.rank
        theirs = comm.sendrecv(LARGE + comm.rank, dst=other, src=other)
        comm.isend(SMALL, 2)  # nobody waits for it
        return told, float(theirs[0]), float(allreduce_ring(both, SMALL)[2])

    result = surviving(work, workers=3)
    for rank in range(2):
        told, theirs, total = result.values[rank]
        assert told == [2] * len(told)
        assert (theirs, total) == (1 - rank, 4.0)
    lost = result.values[2]
    assert isinstance(lost, Lost)
    assert lost.reason.startswith("rank 2 ")
    assert "1 lost" in repr(result)
    (fault,) = (fault for fault in result.trace.faults if fault.kind == "RankLost")
    assert (fault.rank, fault.text) == (2, lost.reason)


WAITED_IN = {name: verb for name, verb in VERBS.items() if name not in ("small send", "isend")}


@pytest.mark.parametrize("verb", [*WAITED_IN, "wait for a started function", "recv_any"])
def test_who_is_in_a_verb_when_a_rank_is_lost_is_told(surviving, verb):
    def hear(child):
        child.recv(src=2)

    def work(comm, name):
        if comm.rank == 2:
            pause(comm, 0.05)
            die("killed")
        if name == "start":
            return lost_in(comm.start(hear).wait)
        if name == "wait for a started function":
            return lost_in(comm.start(lambda child: child.barrier()).wait)
        if name == "recv_any":
            if comm.rank == 1:
                return 2
            return lost_in(comm.recv_any)
        began = comm.clock()
        told = lost_in(VERBS[name], comm)
        assert comm.clock() - began < 5.0  # promised is 1 s
        return told

    assert surviving(work, verb, workers=3).values[:2] == [2, 2]


def test_what_a_lost_rank_has_sent_and_nobody_has_received_is_dropped(surviving):
    def work(comm):
        if comm.rank == 1:
            comm.send(SMALL, dst=0)
            comm.send(SMALL, dst=0)
            comm.recv(src=0)
            die("killed")
        comm.recv(src=1)
        comm.send(SMALL, dst=1)
        pause(comm, 0.3)
        return lost_in(comm.recv, 1)

    assert surviving(work).values[0] == 1


def test_recv_any_passes_over_lost_ranks_until_nobody_is_left(surviving):
    def work(comm):
        if comm.rank == 0:
            heard = sorted(comm.recv_any()[0] for _ in range(2))
            comm.send(SMALL, dst=3)
            return heard, lost_in(comm.recv_any)
        if comm.rank == 2:
            die("killed")
        pause(comm, 0.1)
        comm.send(SMALL, dst=0)
        if comm.rank == 3:
            comm.recv(src=0)
            die("raises")
        return None

    assert surviving(work, workers=4).values[0] == ([1, 3], 2)


def test_a_rank_that_is_started_again_is_talked_to_after_the_loss_was_told(surviving):
    def work(comm):
        if comm.rank == 0:
            told = [lost_in(comm.recv, 1)]
            told.append(comm.recv(src=1).tolist())
            comm.send(LARGE + 7, dst=1)
            return told, lost_in(comm.barrier), lost_in(comm.split, 0)
        comm.send(np.full(2, comm.incarnation), dst=0) if comm.incarnation else None
        if comm.incarnation == 0:
            die("killed")
        found = comm.recv(src=0)
        return comm.incarnation, float(found[0]), lost_in(comm.barrier)

    result = surviving(work, restart=1)
    assert result.values == [([1, [1, 1]], 1, 1), (1, 7.0, 1)]
    kinds = [fault.kind for fault in result.trace.faults if fault.kind != "NoRecord"]
    assert kinds == ["RankLost", "Restart"]
    assert [m.src for m in result.trace.messages if m.received_s is not None] == [1, 0]


@pytest.mark.parametrize("begun", ["isend", "irecv"])
def test_all_that_was_begun_for_a_lost_rank_is_lost_and_the_next_life_gets_what_comes_later(
    surviving, begun
):
    def work(comm):
        if comm.rank == 1:
            if comm.incarnation == 0:
                pause(comm, 0.2)
                die("raises")
            if begun == "irecv":
                return [comm.send(np.array([k]), dst=0) for k in range(2)]
            return [float(comm.recv(src=0)[0]) for _ in range(2)]
        if begun == "isend":
            under_way = [comm.isend(LARGE + k, 1) for k in range(3)]
        else:
            under_way = [comm.irecv(1) for _ in range(3)]
        pause(comm, 0.4)
        told = [lost_in(each.wait) for each in under_way]
        if begun == "irecv":
            return told, [comm.recv(src=1).tolist() for _ in range(2)]
        return told, [comm.send(LARGE + k, dst=1) for k in (7, 8)]

    late = {"isend": ([None, None], [7.0, 8.0]), "irecv": ([[0], [1]], [None, None])}[begun]
    assert surviving(work, restart=1).values == [([1, 1, 1], late[0]), late[1]]


def test_a_run_has_a_name_of_its_own_in_all_lives_of_all_ranks(surviving):
    def work(comm):
        if comm.rank == 1 and not comm.incarnation:
            die("killed")
        return comm.run_name, comm.incarnation

    names = [surviving(work, restart=1).values for _ in range(2)]
    assert all(len({name for name, _ in values}) == 1 for values in names)
    assert [life for _, life in names[0]] == [0, 1]
    assert names[0][0][0] != names[1][0][0] != ""


def test_a_server_serves_replicas_that_are_lost_again_and_again(surviving):
    def work(comm, n_pulls):
        if comm.rank == 0:
            said = []
            while True:
                try:
                    src, asked = comm.recv_any()
                except (RankLost, PeerFinishedError):
                    return said
                said.append((src, int(asked[0])))
                try:
                    comm.send(np.full(50_000, len(said)), dst=src)
                except RankLost as error:  # it has got its answer, or will not need it
                    said.append((error.rank - src, -1))
        for _ in range(n_pulls):
            comm.send(np.array([comm.incarnation]), dst=0)
            comm.recv(src=0)
        if comm.rank == 2 or comm.incarnation == 2:
            return comm.incarnation
        die("killed")

    result = surviving(work, 3, workers=4, restart=2)
    assert result.values[1:] == [2, 0, 2]
    said = result.values[0]
    assert len([src for src, _ in said if src]) == 21
    assert {told for told in said if not told[0]} <= {(0, -1)}
    assert [inc for src, inc in said if src == 1] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_who_hears_of_a_new_incarnation_by_recv_any_has_been_told(surviving):
    def work(comm):
        if comm.rank == 1:
            if comm.incarnation == 0:
                die("killed")
            comm.send(SMALL, dst=0)
            return float(comm.recv(src=0)[1])
        src, _ = comm.recv_any()
        comm.send(SMALL, dst=src)
        return src

    assert surviving(work, restart=1).values == [1, 1.0]


def test_a_rank_is_started_again_as_often_as_is_allowed_and_no_more(surviving):
    def work(comm):
        if comm.rank == 1:
            die("killed")
        return [lost_in(comm.recv, 1) for _ in range(4)]

    result = surviving(work, restart=2)
    assert result.values[0] == [1] * 4
    assert isinstance(result.values[1], Lost)
    kinds = [fault.kind for fault in result.trace.faults if fault.kind != "NoRecord"]
    assert kinds == ["RankLost", "Restart"] * 2 + ["RankLost"]


def test_the_last_rank_goes_on_alone_and_the_loss_of_all_is_the_first_error(surviving):
    def work(comm, survivors):
        if comm.rank >= survivors:
            if comm.rank > survivors:  # one after the other
                lost_in(comm.recv, comm.rank - 1)
            die()
        return [lost_in(comm.recv, peer) for peer in range(1, comm.size)], lost_in(comm.recv_any)

    assert surviving(work, 1, workers=4).values[0] == ([1, 2, 3], 1)
    with pytest.raises(WorkerError, match=r"rank 0 failed at .*Planned") as raised:
        surviving(work, 0, workers=3)
    assert raised.value.rank == 0


def test_a_loss_that_nobody_catches_is_the_next_loss(surviving):
    def work(comm):
        if comm.rank == 2:
            die()
        if comm.rank == 1:
            comm.recv(src=2)
        return lost_in(comm.recv, 1)

    first, second, third = surviving(work, workers=3).values
    assert first == 1
    assert "did not catch RankLost" in second.reason
    assert "Planned" in third.reason


def bomb(child, seconds):
    """Be lost beside what the rank is doing."""
    pause(child, seconds)
    die("killed")


@pytest.mark.parametrize("dies", ["sender", "receiver"])
def test_a_rank_is_lost_in_the_middle_of_a_large_message(surviving, dies):
    def work(comm, seconds):
        sends = (comm.rank == 1) == (dies == "sender")
        buffer = np.zeros(64 * 2**20, np.uint8)
        if comm.rank == 1 and comm.incarnation:
            return float(comm.sendrecv(SMALL + 1, dst=0, src=0)[0])
        if comm.rank == 1:
            comm.start(bomb, seconds)
        if sends:
            told = lost_in(comm.send, buffer, 1 - comm.rank)
        else:
            told = lost_in(lambda: comm.recv(1 - comm.rank, out=buffer))
        if comm.rank == 1:
            pause(comm, 10.0)
        if told == "nothing":  # it was through before
            told = lost_in(comm.recv, 1)
        return told, float(comm.sendrecv(SMALL, dst=1, src=1)[0])

    for seconds in (0.0, 0.005):
        assert surviving(work, seconds, restart=1).values == [(1, 1.0), 0.0]


@pytest.mark.parametrize("n", [1, 3_000, 2_000_000])
def test_after_an_interrupted_collective_messages_between_the_living_are_their_own(surviving, n):
    def work(comm):
        if comm.rank == 3:
            pause(comm, 0.02)
            die("killed")
        told = lost_in(allreduce_ring, comm, np.ones(n))
        left, right = (2, 1) if comm.rank == 0 else (comm.rank - 1, (comm.rank + 1) % 3)
        found = comm.sendrecv(np.full(n, float(comm.rank)), dst=right, src=left)
        going = comm.isend(np.full(n, 10.0 + comm.rank), dst=right)
        later = comm.recv(src=left)
        going.wait()
        return told, set(found.tolist()), set(later.tolist()), left

    for told, found, later, left in surviving(work, workers=4).values[:3]:
        assert (told, found, later) == (3, {left}, {10 + left})


def test_what_an_interrupted_collective_has_left_half_way_holds_up_nobody(surviving):
    large = 2_000_000  # a chunk of it does not fit into a ring

    def work(comm):
        if comm.rank == 3:
            pause(comm, 0.1)
            die("killed")
        told = lost_in(allreduce_ring, comm, np.zeros(4 * large))
        if comm.rank == 0:  # copied and gone, though 1 receives from 2 first
            comm.send(SMALL, dst=1)
            comm.send(SMALL + 5, dst=2)
            return told
        if comm.rank == 2:
            comm.send(comm.recv(src=0), dst=1)
            return told
        return told, float(comm.recv(src=2)[0] + comm.recv(src=0)[0])

    assert surviving(work, workers=4).values[:3] == [3, (3, 5.0), 3]


def test_recv_any_passes_over_a_rank_that_is_lost_in_the_middle_of_its_message(surviving):
    def work(comm):
        if comm.rank == 0:
            pause(comm, 0.1)
            heard = comm.recv_any()[0]
            return heard, lost_in(comm.recv, 1)
        if comm.rank == 1:
            comm.start(bomb, 0.15)
            comm.send(np.zeros(10**9, np.uint8), dst=0)
        pause(comm, 0.5)
        comm.send(SMALL, dst=0)
        return None

    assert surviving(work, workers=3).values[0] == (2, 1)


def test_an_incarnation_that_returns_at_once_has_returned_and_is_not_lost(surviving):
    def work(comm):
        if comm.rank == 1:
            if comm.incarnation == 0:
                die("leaves")
            return "back"
        told = lost_in(comm.recv, 1)
        with pytest.raises(PeerFinishedError):
            comm.recv(src=1)
        return told

    assert surviving(work, restart=1).values == [1, "back"]


def test_started_functions_are_told_each_on_its_own_communicator(surviving):
    def half(child):
        return float(allreduce_ring(child, SMALL)[2])

    def hear(child):
        return None if child.rank == 2 else child.recv(src=2)

    def work(comm):
        early = comm.start(half)
        before = early.wait()
        pending = [comm.start(half), comm.start(hear)]
        if comm.rank == 2:
            for peer in range(2):
                comm.recv(src=peer)
            die("killed")
        comm.send(SMALL, dst=2)
        late = [lost_in(each.wait) for each in pending]
        return before, late[1], lost_in(comm.start, half), early.wait()

    for before, late, start, again in surviving(work, workers=3).values[:2]:
        assert (before, late, start, again) == (6.0, 2, 2, 6.0)


def test_a_trace_with_losses_draws_itself_and_is_read_again(surviving, tmp_path):
    def work(comm):
        if comm.rank == 1 and comm.incarnation == 0:
            comm.note("life", 0)
            die()
        if comm.rank == 1:
            comm.note("life", 1)
            comm.send(SMALL, dst=0)
        if comm.rank == 0:
            return lost_in(comm.recv, 1), comm.recv(src=1).tolist()
        return None

    trace = surviving(work, restart=1, workers=3).trace
    assert [note.value for note in trace.notes_named("life")] == [0, 1]
    assert (trace.size, len(trace.messages)) == (3, 1)
    assert trace.messages[0].received_s is not None
    assert "image/png" in trace._repr_mimebundle_()
    assert "started again" in {fault.text[-13:] for fault in trace.faults}
    assert "RankLost" in to_html(player(trace))
    trace.save(tmp_path / "trace.json")
    assert Trace.load(tmp_path / "trace.json").faults == trace.faults


def test_a_circle_among_the_living_is_a_deadlock_as_ever(surviving):
    def work(comm):
        if comm.rank == 2:
            die()
        lost_in(comm.recv, 2)
        comm.recv(src=1 - comm.rank)

    with pytest.raises(DeadlockError) as raised:
        surviving(work, workers=3)
    assert raised.value.cycle == [0, 1]


def test_who_returns_what_cannot_travel_is_lost_and_the_others_go_on(surviving):
    def work(comm):
        if comm.rank == 1:
            return (number for number in range(3))
        return lost_in(comm.recv, 1)

    result = surviving(work, workers=3)
    assert result.values[::2] == [1, 1]
    assert isinstance(result.values[1], Lost)
    assert "rank 1 returned a generator, which cannot travel back" in result.values[1].reason
    assert [(fault.rank, fault.kind) for fault in result.trace.faults] == [(1, LOST)]


def test_who_waits_for_a_rank_that_has_returned_is_told_that_as_ever(surviving):
    def work(comm):
        if comm.rank == 1:
            return None
        if comm.rank == 2:
            die()
        with pytest.raises(PeerFinishedError):
            comm.recv(src=1)
        return lost_in(comm.recv_any)

    assert surviving(work, workers=3).values[0] == 2


def test_every_world_says_that_nobody_has_been_started_again():
    for backend in ("simulated",):
        assert run(lambda comm: comm.incarnation, workers=2, backend=backend).values == [0, 0]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"survive": True, "backend": "torch"}, ValueError, "survive=True is only for backend="),
        ({"survive": 1}, TypeError, "survive must be True or False"),
        ({"restart": 1}, ValueError, "restart=1 needs survive=True"),
        ({"survive": True, "restart": -1}, ValueError, "restart must be an int from 0 to 100"),
        ({"survive": True, "restart": True}, TypeError, "restart must be an int"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, error, text):
    with pytest.raises(error, match=text):
        run(print, **options)


def test_when_nobody_survives_the_error_says_how_each_was_lost(surviving):
    def work(comm):
        with comm.compute("so that rank 0 is lost first", flops=comm.rank * 1e9):
            time.sleep(0.1 * comm.rank if WORKER_VARIABLE in os.environ else 0)
        raise Planned(f"reason {comm.rank}")

    with pytest.raises(RunError) as caught:
        surviving(work, workers=3)
    assert "rank 0 failed" in str(caught.value)
    assert "reason 0" in str(caught.value)
    lines = caught.value.consequences
    assert [line[:13] for line in lines] == ["rank 1 failed", "rank 2 failed"]
    assert ["reason 1" in lines[0], "reason 2" in lines[1]] == [True, True]


def test_a_deadlock_of_too_few_that_are_left_names_the_lost(surviving):
    def work(comm):
        if comm.rank in (2, 3):
            die()
        if comm.rank == 0:
            return [comm.recv_any()[0] for _ in range(2)]
        comm.send(SMALL, dst=0)
        return comm.recv(src=0)

    told = "ranks 2 and 3 are lost: recv_any goes on waiting for the others"
    with pytest.raises(DeadlockError, match=told) as raised:
        surviving(work, workers=4)
    assert "let one of them send first" not in str(raised.value)
