"""Odd data: every bit, shape, layout and dtype arrives, or is refused by name."""

import time
from functools import partial

import numpy as np

from course_lib.collectives import (
    ALLREDUCES,
    allgather_ring,
    alltoall,
    broadcast_flat,
    broadcast_tree,
    gather,
    reduce_flat,
    reduce_scatter_ring,
    reduce_tree,
    scatter,
)
from course_lib.comm.communicator import EAGER_BYTES
from tests.faults.table import Case, row

LARGE = EAGER_BYTES // 8 + 1  # float64 elements that no eager message holds


def refusal(call):
    """Return what ``call`` raises, in words, and how long that took."""
    begun_s = time.perf_counter()
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}", time.perf_counter() - begun_s
    return "nothing was refused", time.perf_counter() - begun_s


def same(a, b):
    """Tell whether two arrays have the same type, dtype, shape and bits."""
    return (
        type(a) is type(b) is np.ndarray
        and (a.dtype.str, a.shape) == (b.dtype.str, b.shape)
        and a.tobytes() == b.tobytes()
    )


def ring(comm, arrays):
    """Send every array to the right in three ways; count which did not arrive as they were."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    wrong = []
    for number, array in enumerate(arrays):
        plain = np.asarray(array)
        new = comm.sendrecv(array, dst=right, src=left)
        out = np.zeros(plain.shape, plain.dtype)
        comm.sendrecv(array, dst=right, src=left, out=out)
        wide = np.zeros((*plain.shape, 2), plain.dtype)  # every second element of it
        comm.sendrecv(array, dst=right, src=left, out=wide[..., 1])
        strided = np.array(wide[..., 1])
        untouched = wide[..., 0].tobytes() == bytes(plain.nbytes)
        if not (same(new, plain) and same(out, plain) and same(strided, plain) and untouched):
            wrong.append(number)
    return wrong


def arrive_unchanged(case: Case, arrays) -> None:
    for rendezvous in (False, True):
        wrong = case.run(ring, arrays, rendezvous=rendezvous).values
        assert wrong == [[]] * case.workers


@row(54, "NaN, infinities, -0.0, denormal numbers", least=2)
def not_one_bit_of_a_number_changes(case: Case) -> None:
    words = [0x7FF8000000000001, 0x7FF0000000000001, 0xFFF8DEADBEEF0000, 0x7FF0000000000000,
             0xFFF0000000000000, 0x8000000000000000, 0x0000000000000001]  # fmt: skip
    few = np.array(words, "u8").view("f8")
    singles = np.array([0x7F800001, 0xFFC00000, 0x80000000, 1], "u4").view("f4")
    arrive_unchanged(case, [few, np.tile(few, LARGE), np.tile(few, 2)[::2], singles])


SPECIAL = np.array([[np.nan, 1, np.inf, np.inf, -0.0, 5e-324, -np.inf],
                    [1, 2, np.inf, -np.inf, -0.0, 5e-324, 3]])  # fmt: skip
NUMPYS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


@row(54, "collectives of such numbers", least=2, spawned=())
def collectives_combine_odd_numbers_as_numpy_does(case: Case) -> None:
    def work(comm):
        mine = SPECIAL[min(comm.rank, 1)]
        totals = {
            op: [
                *(allreduce(comm, mine, op=op) for allreduce in ALLREDUCES.values()),
                broadcast_flat(comm, reduce_flat(comm, mine, op=op)),
                broadcast_tree(comm, reduce_tree(comm, mine, op=op)),
                allgather_ring(comm, reduce_scatter_ring(comm, mine, op=op)),
            ]
            for op in NUMPYS
        }
        return totals, [allgather_ring(comm, mine), broadcast_flat(comm, gather(comm, mine))]

    brought = [SPECIAL[min(rank, 1)] for rank in range(case.workers)]
    for totals, moved in case.run(work).values:
        for op, found in totals.items():
            with np.errstate(invalid="ignore"):
                expected = NUMPYS[op].reduce(brought)
            for total in found:
                np.testing.assert_array_equal(total, expected)
                assert np.signbit(total[4])
        for rows in moved:
            assert rows.tobytes() == np.concatenate(brought).tobytes()


@row(55, "arrays without elements, without dimensions, fewer elements than ranks", least=2)
def the_smallest_arrays_keep_shape_and_dtype(case: Case) -> None:
    shapes = [(), (0,), (3, 0, 2), (1,), (1, 1, 1), (2,), (7,)]
    arrays = [np.full(shape, 1.5, dtype) for shape in shapes for dtype in ("f8", "i4", "c8")]
    arrive_unchanged(case, [*arrays, np.float64(2.5), np.zeros(0, "S0")])


@row(56, "transposed, reversed, strided, Fortran and broadcast arrays", least=2)
def every_layout_arrives_with_its_values(case: Case) -> None:
    base = np.arange(24.0).reshape(2, 3, 4)
    arrive_unchanged(
        case,
        [
            base.T, base[:, ::-1, ::2], base[..., 1], np.asfortranarray(base),
            np.broadcast_to(np.arange(3.0), (4, 3)), np.arange(2.0 * LARGE)[::-2],
            np.ones((300, 200)).T[::3],
        ],
    )  # fmt: skip


@row(57, "arrays that cannot be written", limit_s=0.1, alone=True)
def a_read_only_array_is_sent_and_never_received_into(case: Case) -> None:
    def work(comm):
        frozen = np.arange(3.0)
        frozen.flags.writeable = False
        other = 1 - comm.rank
        got = comm.sendrecv(frozen, dst=other, src=other)
        got += 1  # its own copy
        told = [
            refusal(lambda: comm.recv(other, out=frozen)),
            refusal(lambda: comm.recv(other, out=np.broadcast_to(0.0, 3))),
            refusal(lambda: comm.sendrecv(got, other, other, out=frozen)),
        ]
        return told, frozen.tolist(), got.tolist()

    result = case.run(work)
    for told, frozen, got in result.values:
        for text, taken_s in told:
            assert text.startswith("ValueError: out must be writable, got a read-only array")
            case.times_s.append(taken_s)
        assert frozen == [0, 1, 2]
        assert got == [1, 2, 3]
    assert result.trace.n_messages == 2  # none by the refused calls


INTO = [*ALLREDUCES.values(), reduce_flat, reduce_tree, reduce_scatter_ring, broadcast_flat,
        broadcast_tree, gather, scatter, allgather_ring, alltoall]  # fmt: skip


@row(57, "collectives into arrays that cannot be written", limit_s=0.1, alone=True, spawned=())
def a_collective_into_a_read_only_array_is_refused_before_any_message(case: Case) -> None:
    def work(comm):
        frozen = np.arange(4.0)
        frozen.flags.writeable = False
        told = []
        for collective in INTO:
            if comm.rank == 0 or collective not in (reduce_flat, reduce_tree):
                told.append(refusal(partial(collective, comm, np.ones(4), out=frozen)))
        return told, frozen.tolist()

    result = case.run(work)
    for told, frozen in result.values:
        assert len(told) >= len(INTO) - 2
        for text, taken_s in told:
            assert text.startswith("ValueError: out must be writable, got a read-only array")
            case.times_s.append(taken_s)
        assert frozen == [0, 1, 2, 3]
    assert result.trace.n_messages == 0
    assert result.trace.collectives == []


@row(58, "dtypes of plain numbers, times and texts", least=2, spawned=())
def every_plain_dtype_arrives_bit_for_bit(case: Case) -> None:
    numbers = ["?", "i1", ">i2", "u1", "<u8", ">u8", "f2", ">f2", "f4", ">f8", "c8", ">c16", "g"]
    arrays = [np.arange(6).astype(dtype) for dtype in [*numbers, "M8[s]", ">M8[ns]", "m8[ms]"]]
    texts = [np.array(["", "a", "bcd"]).astype(dtype) for dtype in ("S3", "U3", ">U5")]
    arrive_unchanged(case, arrays + texts)


NOT_PLAIN = {
    "objects": ("np.array([{}, None])", "dtype object"),
    "objects that look like numbers": ("np.array([1, 2], object)", "dtype object"),
    "structured": ("np.zeros(2, dtype=[('a', 'f8'), ('b', 'O')])", "cannot travel as plain bytes"),
    "masked": ("np.ma.masked_array([1.0], [True])", "masked array"),
    "bfloat16": ("__import__('torch').zeros(2, dtype=__import__('torch').bfloat16)", ".float()"),
    "a list": ("[1.0]", "np.asarray"),
}


@row(
    58,
    "arrays that are not plain",
    limit_s=0.1,
    alone=True,
    variants=NOT_PLAIN,
    spawned=("objects",),
)
def what_is_not_plain_is_refused_and_never_pickled(case: Case) -> None:
    text, words = case.variant

    def work(comm):
        array, other = eval(text, {"np": np}), 1 - comm.rank
        return [
            refusal(lambda: comm.send(array, dst=other)),
            refusal(lambda: comm.recv(other, out=array)),
        ]

    result = case.run(work)
    for told, taken_s in result.values[0] + result.values[1]:
        assert told.startswith("TypeError: ")
        assert words in told
        assert "plain bytes" not in told or "allowed are bool, int, uint, float" in told
        case.times_s.append(taken_s)
    assert result.trace.n_messages == 0


@row(59, "arrays that overlap, or change after they were sent", alone=True)
def aliases_are_refused_and_what_was_sent_is_a_copy(case: Case) -> None:
    def work(comm):
        other, array = 1 - comm.rank, np.zeros(3)
        told = [
            refusal(lambda: comm.sendrecv(array, other, other, out=array))[0],
            refusal(lambda: comm.sendrecv(array[:2], other, other, out=array[1:]))[0],
        ]
        for size in (4, 40 * LARGE):
            mine = np.ones(size)
            if comm.rank == 0:
                comm.send(mine, dst=1)
                mine[:] = -1
            else:
                told.append(set(comm.recv(src=0).tolist()))
        return told

    for rendezvous in (False, True):
        first, second = case.run(work, rendezvous=rendezvous).values
        assert all(text.startswith("ValueError: out must not overlap") for text in first)
        assert second[:2] == [text.replace("rank 0", "rank 1") for text in first]
        assert second[2:] == [{1.0}, {1.0}]


class Evil(np.ndarray):
    """Says that it equals everything."""

    def __eq__(self, other):
        return np.ones(self.shape, bool)

    __hash__ = None


@row(60, "a subclass of an array", least=2)
def a_subclass_arrives_as_a_plain_array(case: Case) -> None:
    def work(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        got = comm.sendrecv(np.arange(3.0).view(Evil), dst=right, src=left)
        return type(got).__name__, (got == np.zeros(3)).tolist()

    expected = ("ndarray", [True, False, False])
    assert case.run(work).values == [expected] * case.workers


@row(62, "more bytes than 32 bits can count", alone=True, spawned=())
def a_ring_counts_further_than_32_bits(case: Case) -> None:
    # Many messages: one that is as large is sent by tests/processes/test_transport.py, in the soak.
    n_bytes, times = 2**26, 65

    def work(comm):
        array = np.zeros(n_bytes, "u1")
        for number in range(times):
            array[-1] = number
            if comm.rank == 0:
                comm.send(array, dst=1)
            else:
                comm.recv(src=0, out=array)
                assert array[-1] == number
        return times * array.nbytes > 2**32

    assert case.run(work, trace=False).values == [True, True]
