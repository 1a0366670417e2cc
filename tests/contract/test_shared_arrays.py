"""``shared_array``: memory that all ranks of a communicator see, in every world."""

import numpy as np
import pytest

from course_lib.comm.errors import MessageMismatchError, PeerFinishedError, WorkerError


@pytest.mark.parametrize("workers", [1, 3])
def test_all_ranks_see_what_one_wrote_before_a_barrier(world, workers):
    def write_and_look(comm):
        seats = comm.shared_array((comm.size, 2), dtype="int64")
        zeros = bool((seats == 0).all())
        comm.barrier()  # all have looked
        seats[comm.rank] = comm.rank + 1
        comm.barrier()
        seen = seats.tolist()
        comm.barrier()
        if comm.rank == 0:
            seats += 10
        comm.barrier()
        return zeros, seen, seats.tolist(), seats.dtype.str, seats.shape

    first = [[rank + 1, rank + 1] for rank in range(workers)]
    second = [[rank + 11, rank + 11] for rank in range(workers)]
    result = world(write_and_look, workers=workers)
    assert result.values == [(True, first, second, "<i8", (workers, 2))] * workers
    assert result.trace.n_messages == 0


def test_a_message_makes_what_was_written_sure_too(world):
    def tell(comm):
        x = comm.shared_array(1000)
        if comm.rank == 0:
            x[:] = 2.5
            comm.send(np.zeros(0), dst=1)
            return None
        comm.recv(src=0)
        return float(x.sum())

    assert world(tell).values[1] == 2500.0


def test_two_shared_arrays_are_two(world):
    def make_two(comm):
        first, second = comm.shared_array(3), comm.shared_array(3)
        if comm.rank == 0:
            first[:] = 1
        comm.barrier()
        return first.tolist(), second.tolist()

    assert world(make_two).values == [([1.0] * 3, [0.0] * 3)] * 2


def test_a_group_shares_among_its_ranks_alone(world):
    def share(comm):
        half = comm.split(comm.rank // 2)
        x = half.shared_array((), dtype="u1")
        half.barrier()
        if half.rank == 0:
            x[...] = comm.rank + 5
        half.barrier()
        return int(x)

    assert world(share, workers=4).values == [5, 5, 7, 7]


@pytest.mark.parametrize("shape", [0, (0,), (3, 0, 2)])
def test_an_array_may_be_empty(world, shape):
    def empty(comm):
        x = comm.shared_array(shape, dtype="f4")
        x += 1
        comm.barrier()
        return x.shape, x.dtype.str

    shape = (0,) if shape == 0 else shape
    assert world(empty).values == [(shape, "<f4")] * 2


def test_what_a_rank_returns_outlives_the_run(world):
    def share(comm):
        x = comm.shared_array(3)
        x[comm.rank] = comm.rank + 1.0
        comm.barrier()
        return x.copy()

    for values in world(share).values:
        assert values.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ([(3, "f8"), (4, "f8")], ["(3,)", "(4,)"]),
        ([((2, 3), "f8"), (6, "f8")], ["(2, 3)", "(6,)"]),
        ([(3, "f8"), (3, "i8")], ["float64", "int64"]),
    ],
)
def test_a_mismatch_names_both_sides(world, asked, words):
    def mismatched(comm):
        shape, dtype = asked[comm.rank]
        comm.shared_array(shape, dtype)

    with pytest.raises(MessageMismatchError) as raised:
        world(mismatched)
    text = str(raised.value)
    assert "rank 0" in text
    assert "rank 1" in text
    assert all(word in text for word in words)


def test_unusable_shapes_and_dtypes_are_refused(world):
    cases = {
        "no negative number, got -1": (ValueError, (-1,)),
        "no negative number, got (2, -3)": (ValueError, ((2, -3),)),
        "shape must be an int or a sequence of int, such as 3 or (2, 3), got 2.0 (float)": (
            TypeError,
            (2.0,),
        ),
        "sequence of int, such as 3 or (2, 3), got (2, None) (tuple)": (TypeError, ((2, None),)),
        "sequence of int, such as 3 or (2, 3), got (2, (3,)) (tuple)": (TypeError, ((2, (3,)),)),
        "sequence of int, such as 3 or (2, 3), got '23' (str)": (TypeError, ("23",)),
        "sequence of int, such as 3 or (2, 3), got None": (TypeError, (None,)),
        "shape must have at most 64 numbers, as every array of NumPy, got 65": (
            ValueError,
            ((1,) * 65,),
        ),
        "shape must have numbers below 2**63, got (2, ": (ValueError, ((2, 10**50),)),
        "shape must have numbers whose product, but for zeros, is below 2**63 bytes": (
            ValueError,
            ((0, 2**62),),
        ),
        "dtype must be one of plain numbers, such as 'float64', got 'flaot' (str)": (
            TypeError,
            (2, "flaot"),
        ),
        "plain numbers, got object": (TypeError, (2, object)),
        "plain numbers, got <U3": (TypeError, (2, "U3")),
    }

    def refused(comm):
        texts = []
        for _, arguments in cases.values():
            try:
                comm.shared_array(*arguments)
            except (TypeError, ValueError) as error:
                texts.append((type(error).__name__, str(error)))
        return texts, comm.shared_array(1).tolist()  # all is still well

    for texts, zeros in world(refused).values:
        assert zeros == [0.0]
        for (words, (kind, _)), (name, text) in zip(cases.items(), texts, strict=True):
            assert name == kind.__name__
            assert words in text


def test_no_shared_array_inside_a_compute_block(world):
    def inside(comm):
        with comm.compute("block"):
            comm.shared_array(3)

    with pytest.raises(WorkerError, match=r"called shared_array\(\) inside comm.compute"):
        world(inside)


@pytest.mark.parametrize("missing", [0, 2])
@pytest.mark.parametrize("verb", ["shared_array", "split", "barrier"])
def test_a_rank_that_leaves_out_what_all_must_call_is_missed(world, verb, missing):
    arguments = {"shared_array": (3,), "split": (0,), "barrier": ()}[verb]

    def work(comm):
        if comm.rank != missing:
            getattr(comm, verb)(*arguments)

    with pytest.raises(PeerFinishedError, match=f"every rank must call {verb}.. equally often"):
        world(work, workers=3)
