"""What a rank returns leaves the run as a copy; what lives in the run stays there."""

import pickle
import threading

import numpy as np
import pytest

from course_lib.comm.errors import SerializationError, WorkerError


def returns(kind):
    def work(comm):
        things = {
            "a generator": lambda: (number for number in range(3)),
            "the communicator": lambda: comm,
            "the communicator in a list": lambda: [1, {"it": comm}],
            "a verb": lambda: comm.send,
            "a function that uses it": lambda: lambda: comm.rank,
            "a pending result": lambda: comm.start(lambda child: child.rank),
            "a lock": threading.Lock,
        }
        thing = things[kind]()
        return thing if comm.rank == 0 else None

    return work


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("a generator", "returned a generator, which cannot travel back"),
        ("the communicator", "a communicator lives in its rank, and only as long as the run"),
        ("the communicator in a list", "returned a list, .*: a communicator lives in its rank"),
        ("a verb", "a communicator lives in its rank"),
        ("a function that uses it", "a communicator lives in its rank"),
        ("a pending result", r"irecv\(\) return lives in its rank"),
        ("a lock", "returned a lock, which cannot travel back"),
    ],
)
def test_what_lives_in_the_run_cannot_leave_it(world, kind, words):
    with pytest.raises(SerializationError, match=f"rank 0 .*{words}") as raised:
        world(returns(kind))
    assert raised.value.rank == 0
    assert "rank 0 had returned" not in str(raised.value)


def test_a_result_that_cannot_be_loaded_is_told_alike(both_worlds):
    class Sealed:
        def __reduce__(self):
            return int, ("not a number",)

    for world in both_worlds:
        with pytest.raises(SerializationError, match="what rank 0 returned could not be loaded"):
            world(lambda comm: Sealed())


def test_an_array_comes_back_in_the_order_and_as_writable_as_everywhere(both_worlds):
    def work(comm):
        x = np.arange(24.0).reshape(2, 3, 4)
        sealed = x.copy()
        sealed.flags.writeable = False
        return {
            1: sealed,
            2: np.broadcast_to(x[0], (2, 3, 4)),
            3: x.transpose(1, 0, 2),
            4: x[:, ::-1],
            5: x[:0].transpose(2, 0, 1),
            6: np.asfortranarray(x),
        }[comm.rank + 1]

    found = [
        [(array.strides, array.flags.writeable, array.tolist()) for array in values]
        for values in (world(work, workers=6).values for world in both_worlds)
    ]
    assert found[0] == found[1]
    assert [writable for _, writable, _ in found[0]] == [False] + 5 * [True]


def test_a_result_that_calls_itself_interrupted_is_a_failure_and_no_ctrl_c(world):
    class Interrupts:
        def __reduce__(self):
            raise KeyboardInterrupt

    with pytest.raises(WorkerError, match=r"rank 1 failed at .*KeyboardInterrupt"):
        world(lambda comm: Interrupts() if comm.rank == 1 else None)


def test_results_share_nothing(world):
    def work(comm, mine):
        seats = comm.shared_array(2)
        seats[comm.rank] = comm.rank + 1.0
        comm.barrier()
        found = {"seats": seats, "again": seats, "mine": mine[::2], "text": "x", "none": None}
        comm.barrier()
        return found

    mine = np.arange(4.0)
    first, second = world(work, mine).values
    assert first["again"] is first["seats"]  # one thing is still one thing
    first["seats"][:] = -1.0
    assert second["seats"].tolist() == [1.0, 2.0]
    assert first["mine"].tolist() == second["mine"].tolist() == [0.0, 2.0]
    assert mine.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_result_holds_what_started_functions_added_after_the_return(world):
    def later(child, found):
        child.barrier()
        found.append(child.rank)

    def work(comm):
        found = []
        comm.start(later, found)
        return found

    assert world(work).values == [[0], [1]]


def test_an_array_keeps_its_dtype_and_its_memory_order(world):
    def work(comm):
        return np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))

    for value in world(work).values:
        assert value.dtype == np.dtype(">i4")
        assert value.flags.f_contiguous
        assert value.tolist() == [[0, 1, 2], [3, 4, 5]]


UNLOADED = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")


def test_tensors_whose_pickles_torch_cannot_load_travel_there_and_back(world):
    torch = pytest.importorskip("torch")
    sent = [torch.arange(6).reshape(3, 2).float().to(getattr(torch, name)).T for name in UNLOADED]
    sent.append(torch.ones(2).to(torch.float8_e5m2).requires_grad_())
    with pytest.raises(AttributeError, match="no attribute 'dtype'"):  # else all this is not needed
        pickle.loads(pickle.dumps(sent))
    for values in world(lambda comm, tensors: tensors, sent).values:
        for before, after in zip(sent, values, strict=True):
            assert (after.dtype, after.stride()) == (before.dtype, before.stride())
            assert after.requires_grad == before.requires_grad
            assert after.float().tolist() == before.float().tolist()
