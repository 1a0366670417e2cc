"""What goes wrong in functions that run beside their rank, in every world."""

import inspect
import threading

import numpy as np
import pytest

from course_lib.comm.errors import RunError, UnreceivedMessagesWarning, WorkerError, WorkerExited


def swap(comm, value):
    """Give a number to the partner in a pair; return what the partner gave."""
    other = 1 - comm.rank
    return float(comm.sendrecv(np.array([float(value)]), dst=other, src=other)[0])


def fail_beside(comm, bad_rank):
    if comm.rank == bad_rank:
        raise KeyError("missing")  # here
    comm.recv(src=bad_rank)


def wait_for_it(comm, bad_rank):
    comm.start(fail_beside, bad_rank).wait()


def do_not_wait(comm, bad_rank):
    comm.start(fail_beside, bad_rank)


def be_busy_elsewhere(comm, bad_rank):
    comm.start(fail_beside, bad_rank)
    comm.recv(src=1 - comm.rank)


@pytest.mark.parametrize("fn", [wait_for_it, do_not_wait, be_busy_elsewhere])
@pytest.mark.parametrize("bad_rank", [0, 1])
def test_a_failure_in_a_started_function_fails_the_run(world, fn, bad_rank):
    lines, start = inspect.getsourcelines(fail_beside)
    (offset,) = [k for k, line in enumerate(lines) if "# here" in line]
    where = f"rank {bad_rank} failed at test_started_failures.py, line {start + offset}"
    with pytest.raises(WorkerError, match=where) as raised:
        world(fn, bad_rank)
    assert raised.value.rank == bad_rank
    assert isinstance(raised.value.original, KeyError)
    assert "KeyError: 'missing'" in str(raised.value)


def test_sys_exit_in_a_started_function_is_no_result(world):
    def leave(comm):
        raise SystemExit(3)

    with pytest.raises(WorkerExited, match=r"rank \d called sys.exit\(3\)"):
        world(lambda comm: comm.start(leave).wait())


@pytest.mark.parametrize("verb", ["send", "recv", "barrier", "split", "start", "shared_array"])
def test_a_started_function_must_use_the_communicator_it_was_given(world, verb):
    arguments = {
        "send": (np.zeros(1), 1), "recv": (1,), "split": (0,), "start": (swap, 1),
        "shared_array": (3,),
    }  # fmt: skip

    def main(comm):
        def use_the_wrong_one(child):
            getattr(comm, verb)(*arguments.get(verb, ()))

        if comm.rank == 0:
            comm.start(use_the_wrong_one).wait()
        else:
            comm.recv(src=0)

    with pytest.raises(RunError, match=rf"rank 0 called {verb}\(\)") as raised:
        world(main)
    assert "the communicator that it " in str(raised.value)


def use_the_parents(comm):
    comm.start(lambda child: comm.send(np.ones(1), 1 - child.rank)).wait()


def use_the_childs(comm):
    comms = []
    comm.start(comms.append).wait()
    swap(comms[0], 1)


@pytest.mark.parametrize("fn", [use_the_parents, use_the_childs])
def test_another_functions_communicator_is_a_runtime_error_of_its_rank(world, fn):
    with pytest.raises(WorkerError, match=r"RuntimeError: rank . called send") as raised:
        world(fn)
    assert type(raised.value.original) is RuntimeError


def wait_in_threads(comm):
    """Wait in a thread for a function that runs, and for one that is over; return what was said."""
    said = []

    def wait(pending):
        try:
            said.append(pending.wait())
        except RuntimeError as error:
            said.append(type(error).__name__)

    for is_over in (False, True):
        pending = comm.start(lambda child: child.barrier())
        if is_over:
            pending.wait()
        thread = threading.Thread(target=wait, args=(pending,))
        thread.start()
        thread.join()
        pending.wait()
    return said


def test_only_functions_of_the_run_wait_for_what_was_started(world):
    assert world(wait_in_threads).values == [["RuntimeError", "RuntimeError"]] * 2


def test_a_function_that_cannot_be_called_is_refused(world):
    def wrong(comm):
        texts = []
        for arguments in ((swap,), ("swap",), (swap, 1, 2, 3)):
            try:
                comm.start(*arguments)
            except TypeError as error:
                texts.append(str(error))
        return texts, swap(comm, comm.rank)

    for rank, (texts, found) in enumerate(world(wrong).values):
        assert found == 1 - rank  # all is still well
        assert "swap(child, *args) with 0 further" in texts[0]
        assert "fn must be a function" in texts[1]
        assert "swap(child, *args) with 3 further" in texts[2]


def test_no_start_inside_a_compute_block(world):
    def inside(comm):
        with comm.compute("block"):
            comm.start(swap, 2)

    with pytest.raises(WorkerError, match=r"called start\(\) inside comm.compute\('block'\)"):
        world(inside)


def test_messages_that_a_started_function_left_unread_are_counted(world):
    def send_too_much(comm):
        if comm.rank == 0:
            comm.send(np.zeros(2), dst=1, tag=8)
        comm.barrier()

    def main(comm):
        comm.start(send_too_much).wait()

    with pytest.warns(UnreceivedMessagesWarning, match="1 message from rank 0 to rank 1") as seen:
        result = world(main)
    assert "tag=8" in str(seen[0].message)
    assert [(m.src, m.dst, m.comm) for m in result.trace.unreceived()] == [(0, 1, "world/start 1")]


def test_a_compute_block_is_for_all_communicators_of_a_function(world):
    def main(comm):
        half, pending = comm.split(0), comm.start(swap, 1.0)
        texts = []
        for call in (half.barrier, pending.wait):
            try:
                with comm.compute("the block", flops=1e6):
                    call()
            except RuntimeError as error:
                texts.append(str(error))
        return texts

    for texts in world(main).values:
        for verb, text in zip(("barrier", "wait"), texts, strict=True):
            assert f"called {verb}() inside comm.compute('the block')" in text
