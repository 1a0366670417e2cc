"""What is sent arrives bit for bit, whatever its type, shape, layout, size and the way it takes."""

import time
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.processes.memory.layout import ring_bytes

pytestmark = pytest.mark.slow

DTYPES = (
    "?", "i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "u1", "<u2", "<u8", ">u8", "<f2", ">f2",
    "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", "g", "G", "<M8[s]", ">M8[ns]", "<m8[ms]",
    "S3", "<U2", ">U5", "S0",
)  # fmt: skip
LAYOUTS = ("C", "F", "reversed", "strided", "broadcast")
SHAPES = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6)
LARGE = st.sampled_from([(EAGER_BYTES,), (3000, 11), (70, 70, 70), (1_500_001,)])
TAGS = st.none() | st.integers() | st.integers(-(10**60), 10**60) | st.text(max_size=40)


def layout_of(array, layout):
    """Return the same elements in another arrangement in memory."""
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "reversed":
        return array[(..., *(slice(None, None, -1) for _ in array.shape))]  # 0-d stays an array
    if layout == "strided" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if layout == "broadcast":
        return np.broadcast_to(array, (2, *array.shape))
    return array


def array_of(seed, dtype, shape, layout):
    """Make an array of random bits: NaNs with payloads and all."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    bits = rng.integers(0, 256, n_bytes, dtype=np.uint8)
    if dtype.kind == "b":
        bits &= 1
    if dtype.kind == "U":  # not every number is a character
        bits = rng.integers(0, 0x7F, n_bytes // 4, dtype=np.uint32)
        bits = bits.astype(bits.dtype.newbyteorder(dtype.byteorder)).view(np.uint8)
    if dtype.itemsize == 0:
        return layout_of(np.zeros(shape, dtype), layout)
    return layout_of(np.frombuffer(bits.tobytes(), dtype).reshape(shape), layout)


CASES = st.tuples(
    st.integers(0, 2**32), st.sampled_from(DTYPES), SHAPES, st.sampled_from(LAYOUTS), TAGS
)
LARGE_CASES = st.tuples(
    st.integers(0, 2**32), st.sampled_from(["<f8", ">f4", "i1", "<U3", "g"]), LARGE,
    st.sampled_from(LAYOUTS), TAGS,
)  # fmt: skip


def carry(comm, cases):
    """Rank 0 sends every case, rank 1 compares with what it makes itself, in three ways."""
    wrong = []
    for number, (seed, dtype, shape, layout, tag) in enumerate(cases):
        array = array_of(seed, dtype, shape, layout)
        if comm.rank == 0:
            for _ in range(3):
                comm.send(array, dst=1, tag=tag)
            continue
        received = comm.recv(src=0, tag=tag)
        out = np.empty(array.shape, array.dtype)
        comm.recv(src=0, out=out, tag=tag)
        wide = np.empty((*array.shape, 2), array.dtype)
        comm.recv(src=0, out=wide[..., 1], tag=tag)
        for copy in (received, out, wide[..., 1]):
            same_kind = copy.dtype.str == array.dtype.str and copy.shape == array.shape
            if not same_kind or copy.tobytes() != array.tobytes():
                wrong.append((number, dtype, shape, layout, tag))
    return wrong


# Every example is a launch: shrinking a failure would take minutes, and the list of what arrived
# wrongly already says which arrays those were.
QUIET = settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@QUIET
@given(cases=st.lists(CASES, min_size=10, max_size=30), rendezvous=st.booleans())
def test_every_array_arrives_bit_for_bit(usual_method, cases, rendezvous):
    result = run(carry, cases, workers=2, rendezvous=rendezvous, start_method=usual_method)
    assert result.values[1] == []
    sent = [message.tag for message in result.trace.between(0, 1)]
    assert sent == [case[4] for case in cases for _ in range(3)]


@QUIET
@given(cases=st.lists(LARGE_CASES, min_size=2, max_size=4))
def test_large_arrays_arrive_bit_for_bit(usual_method, cases):
    assert run(carry, cases, workers=2, start_method=usual_method).values[1] == []


def test_the_comparison_above_would_see_one_wrong_bit():
    array = array_of(1, "<f8", (5,), "C")
    changed = array.copy()
    changed.view(np.uint8)[-1] ^= 1
    assert changed.tobytes() != array.tobytes()


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_op_combines_every_dtype_and_layout_as_numpy_does(usual_method, op):
    reference = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
    dtypes = ["<i4", ">i4", "<f8", ">f8", "<f4", "<f2", "u1", "g", "<c16" if op == "sum" else "?"]

    def combine(comm):
        wrong = []
        rng = np.random.default_rng(0)
        for dtype in dtypes:
            for n in (0, 1, 1000, 200_001):
                a = rng.integers(0, 50, n).astype(dtype)
                b = rng.integers(0, 50, n).astype(dtype)
                if comm.rank == 0:
                    comm.send(b, dst=1)
                    comm.send(b, dst=1)
                    continue
                out = a.copy()
                assert comm.recv(src=0, out=out, op=op) is out
                wide = np.zeros((n, 2), dtype)
                wide[:, 0] = a
                comm.recv(src=0, out=wide[:, 0], op=op)
                expected = reference(a, b)
                if not (np.array_equal(out, expected) and np.array_equal(wide[:, 0], expected)):
                    wrong.append((dtype, n))
        return wrong

    assert run(combine, workers=2, start_method=usual_method).values[1] == []


@pytest.mark.parametrize("n", [4, 100_000])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_an_op_brings_no_warning_that_numpy_gives_about_calls(usual_method, op, n):
    def strictly(comm):
        other = 1 - comm.rank
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return comm.sendrecv(np.ones(n), other, other, out=np.zeros(n), op=op).sum()

    assert (
        run(strictly, workers=2, start_method=usual_method).values == [n if op != "min" else 0] * 2
    )


def test_an_op_that_a_dtype_lacks_leaves_out_and_message_untouched(usual_method):
    def combine(comm):
        if comm.rank == 0:
            comm.send(np.array(["2020-01-01"], "M8[D]"), dst=1)
            return None
        out = np.array(["2021-01-01"], "M8[D]")
        try:
            comm.recv(src=0, out=out, op="sum")
        except TypeError as error:
            return str(error), str(out[0]), str(comm.recv(src=0)[0])

    text, out, message = run(combine, workers=2, start_method=usual_method).values[1]
    assert "op='sum' cannot combine arrays of dtype datetime64[D]: a sum of dates" in text
    assert (out, message) == ("2021-01-01", "2020-01-01")


def test_a_ring_of_sendrecv_with_64_megabytes_does_not_deadlock(usual_method):
    def go_round(comm):
        mine = np.full(8 * 2**20, float(comm.rank))
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        out = comm.sendrecv(mine, dst=right, src=left)
        return float(out[0]), float(out[-1]), out.nbytes

    values = run(go_round, workers=4, start_method=usual_method).values
    assert values == [((rank - 1) % 4, (rank - 1) % 4, 64 * 2**20) for rank in range(4)]


def test_small_messages_never_block_however_many_are_on_their_way(usual_method):
    n_messages = 4 * ring_bytes(3) // EAGER_BYTES  # several times what a ring holds

    def flood(comm):
        others = [rank for rank in range(comm.size) if rank != comm.rank]
        for number in range(n_messages):
            for dst in others:
                comm.send(np.full(EAGER_BYTES // 8, float(number)), dst=dst, tag=number)
        for src in others:
            for number in range(n_messages):
                array = comm.recv(src=src, tag=number)
                assert array.min() == array.max() == number
        return True

    assert run(flood, workers=3, start_method=usual_method).values == [True] * 3


def test_a_flood_to_a_rank_that_waits_for_somebody_else_gets_through(usual_method):
    n_messages = 3 * ring_bytes(3) // EAGER_BYTES

    def work(comm):
        if comm.rank == 0:
            comm.recv(src=1)  # comes last
            return sum(float(comm.recv(src=2)[0]) for _ in range(n_messages))
        if comm.rank == 1:
            comm.recv(src=2)
            comm.send(np.zeros(1), dst=0)
        else:
            for _ in range(n_messages):
                comm.send(np.ones(EAGER_BYTES // 8), dst=0)
            comm.send(np.zeros(1), dst=1)
        return None

    result = run(work, workers=3, start_method=usual_method)
    assert result.values[0] == n_messages


def test_a_large_send_returns_only_when_its_receive_is_posted(start_method):
    def work(comm):
        if comm.rank == 0:
            begun_s = comm.clock()
            comm.send(np.zeros(EAGER_BYTES), dst=1)
            return comm.clock() - begun_s
        time.sleep(0.3)
        comm.recv(src=0)
        return None

    assert run(work, workers=2, start_method=start_method).values[0] > 0.2


def test_recv_any_takes_the_message_that_was_sent_first(usual_method):
    order = [2, 1, 3]

    def work(comm):
        if comm.rank != 0:
            turn = order.index(comm.rank)
            if turn > 0:
                comm.recv(src=order[turn - 1], tag="your turn")
            comm.send(np.zeros(1), dst=0)
            if turn < 2:
                comm.send(np.zeros(0), dst=order[turn + 1], tag="your turn")
        comm.barrier()
        return [comm.recv_any()[0] for _ in range(3)] if comm.rank == 0 else None

    assert run(work, workers=4, start_method=usual_method).values[0] == order


def test_a_tag_that_no_header_could_hold_is_refused(usual_method):
    def work(comm):
        if comm.rank == 0:
            try:
                comm.send(np.zeros(1), dst=1, tag="x" * 5000)
            except ValueError as error:
                comm.send(np.zeros(1), dst=1, tag="y" * 1000)
                return str(error)
        else:
            comm.recv(src=0, tag="y" * 1000)
        return None

    assert "tag must be at most" in run(work, workers=2, start_method=usual_method).values[0]


@pytest.mark.soak
@pytest.mark.parametrize("n_bytes", [2**31 + 2**27, 2**32 + 2**27], ids=["2.1 GiB", "4.1 GiB"])
def test_a_message_larger_than_32_bits_can_count_arrives(usual_method, n_bytes):
    import psutil

    if psutil.virtual_memory().available < 3 * n_bytes:
        pytest.skip(f"needs {3 * n_bytes:,} bytes of free memory, for both ranks")

    def work(comm):
        marks = [0, 2**31 - 1, 2**31, n_bytes - 1]
        if comm.rank == 0:
            array = np.zeros(n_bytes, "u1")
            array[marks] = [1, 2, 3, 4]
            comm.send(array, dst=1)
            return None
        array = comm.recv(src=0)
        return array.nbytes, array[marks].tolist(), int(np.count_nonzero(array))

    result = run(work, workers=2, start_method=usual_method, time_limit_s=300.0)
    assert result.values[1] == (n_bytes, [1, 2, 3, 4], 4)
    assert result.trace.messages[0].n_bytes == n_bytes
    print(f"{n_bytes / 2**30:.2f} GiB in {result.elapsed_s:.1f} s")
