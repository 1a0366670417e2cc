"""What is sent is what arrives: order, tags, dtypes, shapes, bits; in every world."""

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.errors import MessageMismatchError

BIG = EAGER_BYTES // 8 + 1  # float64 elements that do not fit an eager message

DTYPES = [
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
    "g", ">f8", ">i4", "M8[s]", "m8[ms]", "S5", "U5",
]  # fmt: skip


def sample(dtype):
    """Six different values of any dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind in "SU":
        return np.array(["", "a", "bc", "def", "ghij", "klmno"]).astype(dtype)
    return np.arange(6).astype(dtype)


def test_messages_between_two_ranks_arrive_in_the_order_sent(world):
    sizes = [1, BIG, 2, 3, BIG, BIG, 1, 0, 5]

    def numbered(comm):
        if comm.rank < 2:
            for number, size in enumerate(sizes):
                comm.send(np.full(size, 100.0 * comm.rank + number), dst=2, tag=number)
            return None
        received = []
        for number in range(len(sizes)):  # the two senders by turns, in both orders
            for src in (0, 1) if number % 2 else (1, 0):
                array = comm.recv(src=src, tag=number)
                received.append((src, number, array.shape, set(array.tolist())))
        return received

    for src, number, shape, values in world(numbered, workers=3).values[2]:
        assert shape == (sizes[number],)
        assert values <= {100.0 * src + number}


@pytest.mark.parametrize("rendezvous", [False, True])
def test_every_dtype_arrives_as_it_was(world, rendezvous):
    def exchange(comm):
        mine = [sample(dtype) for dtype in DTYPES]
        if comm.rank == 0:
            for array in mine:
                comm.send(array, dst=1)
            return None
        new = [comm.recv(src=0) for _ in DTYPES]
        pairs = zip(new, mine, strict=True)
        return [(a.dtype.str, bool(np.all(a == b)) and a.shape == b.shape) for a, b in pairs]

    found = world(exchange, rendezvous=rendezvous).values[1]
    assert found == [(np.dtype(dtype).str, True) for dtype in DTYPES]


class Labelled(np.ndarray):
    """A subclass, which travels as the plain array it is made of."""


def arrays_of_all_layouts():
    base = np.arange(24.0).reshape(2, 3, 4)
    return [
        np.array(7.5),
        np.float64(2.5),
        np.zeros(0),
        np.zeros((3, 0, 2), dtype="i4"),
        base,
        base.T,
        np.asfortranarray(base),
        base[:, ::-1, ::2],
        base[..., 1],
        np.broadcast_to(np.arange(3.0), (4, 3)),
        np.arange(3.0).view(Labelled),
    ]


def test_every_shape_and_layout_arrives_and_can_be_received_into(world):
    def exchange(comm):
        arrays = arrays_of_all_layouts()
        if comm.rank == 0:
            for array in arrays:
                comm.send(array, dst=1)
                comm.send(array, dst=1)
                comm.send(array, dst=1)
            return None
        new, into, strided = [], [], []
        for array in arrays:
            received = comm.recv(src=0)
            received[...] = received  # it is the receiver's own and may be changed
            new.append((type(received) is np.ndarray, received.shape, received))
            out = np.empty(np.shape(array), np.asarray(array).dtype)
            assert comm.recv(src=0, out=out) is out
            into.append(out)
            wide = np.empty((*np.shape(array), 2), np.asarray(array).dtype)
            comm.recv(src=0, out=wide[..., 1])  # every second element
            strided.append(wide[..., 1])
        return new, into, strided

    new, into, strided = world(exchange).values[1]
    for k, array in enumerate(arrays_of_all_layouts()):
        is_plain, shape, received = new[k]
        assert is_plain
        assert shape == np.shape(array)
        for copy in (received, into[k], strided[k]):
            np.testing.assert_array_equal(copy, array)


def bit_patterns():
    """Quiet and signalling NaNs with payloads, infinities, -0.0 and denormal numbers."""
    words = [0x7FF8000000000001, 0x7FF0000000000001, 0xFFF8DEADBEEF0000, 0x7FF0000000000000,
             0xFFF0000000000000, 0x8000000000000000, 0x0000000000000001]  # fmt: skip
    return np.array(words, dtype="u8")


def test_not_one_bit_of_a_number_changes(world):
    def exchange(comm):
        patterns = bit_patterns()
        if comm.rank == 0:
            comm.send(patterns.view("f8"), dst=1)
            comm.send(patterns.view("f8"), dst=1)
            comm.send(np.tile(patterns, 2)[::2].view("f8"), dst=1)
            return None
        out = np.zeros(len(patterns))
        new = [comm.recv(src=0), comm.recv(src=0, out=out), comm.recv(src=0)]
        return [array.view("u8").tolist() for array in new]

    expected = bit_patterns().tolist()
    again = np.tile(bit_patterns(), 2)[::2].tolist()
    assert world(exchange).values[1] == [expected, expected, again]


def test_op_combines_into_out_on_arrival(world):
    def combine(comm):
        mine = np.array([1.0, np.nan, 3.0]) * (comm.rank + 1)
        results = []
        for op in ("sum", "max", "min"):
            if comm.rank == 0:
                comm.send(mine, dst=1)
            else:
                out = mine.copy()
                assert comm.recv(src=0, out=out, op=op) is out
                results.append(out.tolist())
        for op in ("sum", "max", "min"):  # the same in sendrecv
            out = mine.copy()
            comm.sendrecv(mine, dst=1 - comm.rank, src=1 - comm.rank, out=out, op=op)
            results.append(out.tolist())
        return results

    results = world(combine).values
    expected = [[3.0, np.nan, 9.0], [2.0, np.nan, 6.0], [1.0, np.nan, 3.0]]
    np.testing.assert_array_equal(results[0], expected)
    np.testing.assert_array_equal(results[1], expected + expected)


@pytest.mark.parametrize("rendezvous", [False, True])
def test_the_sender_may_change_its_array_after_send(world, rendezvous):
    def overwrite(comm):
        for size in (4, BIG, 40 * BIG):
            if comm.rank == 0:
                array = np.ones(size)
                comm.send(array, dst=1)
                array[:] = -1
                comm.barrier()
            else:
                assert set(comm.recv(src=0).tolist()) == {1.0}
                comm.barrier()

    world(overwrite, rendezvous=rendezvous)


def test_what_is_sent_is_not_modified_and_may_be_read_only(world):
    def send_constant(comm):
        array = np.arange(5.0)
        array.setflags(write=False)
        other = 1 - comm.rank
        received = comm.sendrecv(array, dst=other, src=other)
        received += 1  # a copy of its own
        return array.tolist(), received.tolist()

    for mine, received in world(send_constant).values:
        assert mine == [0, 1, 2, 3, 4]
        assert received == [1, 2, 3, 4, 5]


def test_messages_of_four_megabytes_go_both_ways_at_once(world):
    def exchange(comm):
        mine = np.full(2**19, float(comm.rank))
        other = 1 - comm.rank
        received = comm.sendrecv(mine, dst=other, src=other)
        out = np.full(2**19, 10.0)
        comm.sendrecv(mine, dst=other, src=other, out=out, op="sum")
        return set(received.tolist()), set(out.tolist())

    result = world(exchange)
    assert result.values == [({1.0}, {11.0}), ({0.0}, {10.0})]
    assert result.trace.bytes_sent() == [2**23, 2**23]


def test_sendrecv_goes_round_a_ring_of_any_size(world):
    def go_round(comm):
        token = np.array([float(comm.rank)])
        for _ in range(comm.size):
            token = comm.sendrecv(
                token + 100, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size
            )
        return float(token[0])

    for workers in (2, 3, 5, 8):
        values = world(go_round, workers=workers, rendezvous=workers % 2 == 0).values
        assert values == [rank + 100.0 * workers for rank in range(workers)]


def test_tags_are_carried_and_checked(world):
    tags = [None, 0, 7, -3, "a text", "", np.int64(5)]

    def labelled(comm):
        if comm.rank == 0:
            for tag in tags:
                comm.send(np.zeros(1), dst=1, tag=tag)
                comm.send(np.zeros(1), dst=1, tag=tag)
        else:
            for tag in tags:
                comm.recv(src=0, tag=tag)
                comm.recv(src=0)  # none asked for: any will do

    sent = [message.tag for message in world(labelled).trace.between(0, 1)]
    assert sent == [tag for tag in tags for _ in range(2)]


@pytest.mark.parametrize(
    ("tag", "dtype", "shape"),
    [(8, "f8", (4,)), (7, "f4", (4,)), (7, "f8", (3,)), (7, "f8", (2, 2)), (7, "i8", (4,))],
    ids=["tag", "dtype", "too small", "other shape", "same size, other dtype"],
)
def test_a_mismatch_names_both_sides(world, tag, dtype, shape):
    def mismatched(comm):
        if comm.rank == 0:
            comm.send(np.zeros(4), dst=1, tag=7)
        else:
            comm.recv(src=0, out=np.zeros(shape, dtype), tag=tag)

    with pytest.raises(MessageMismatchError) as raised:
        world(mismatched)
    text = str(raised.value)
    assert raised.value.rank == 1
    assert "rank 0 sent" in text
    assert "rank 1 receives" in text
    if tag == 8:
        assert "tag=7" in text
        assert "tag=8" in text
    else:
        assert "float64 and shape (4,)" in text
        assert f"{np.dtype(dtype)} and shape {shape}" in text


def test_recv_any_takes_whoever_comes(world):
    def gather(comm):
        if comm.rank > 0:
            for number in range(3):
                comm.send(np.array([comm.rank, number]), dst=0)
            return None
        return [(src, array.tolist()) for src, array in (comm.recv_any() for _ in range(9))]

    found = world(gather, workers=4).values[0]
    assert sorted(found) == [(src, [src, number]) for src in (1, 2, 3) for number in range(3)]
    for src in (1, 2, 3):  # first in, first out from each
        assert [array[1] for who, array in found if who == src] == [0, 1, 2]


def test_recv_any_and_rendezvous(world):
    def gather(comm):
        if comm.rank > 0:
            comm.send(np.full(BIG, float(comm.rank)), dst=0)
            return None
        return sorted(
            (src, set(array.tolist())) for src, array in (comm.recv_any(), comm.recv_any())
        )

    assert world(gather, workers=3, rendezvous=True).values[0] == [(1, {1.0}), (2, {2.0})]


def test_a_torch_tensor_arrives_as_a_torch_tensor(world):
    def exchange(comm):
        import torch

        if comm.rank == 0:
            comm.send(torch.arange(3.0, requires_grad=True), dst=1)
            comm.send(np.ones(3, dtype="f4"), dst=1)
            return None
        received = comm.recv(src=0)
        out = torch.zeros(3)
        assert comm.recv(src=0, out=out) is out
        return isinstance(received, torch.Tensor), received.tolist(), out.tolist()

    assert world(exchange).values[1] == (True, [0.0, 1.0, 2.0], [1.0, 1.0, 1.0])


def conversation(comm):
    """A mixed exchange whose order per pair is fixed, though not its timing."""
    rng = np.random.default_rng(5)  # the same decisions on every rank
    for step in range(30):
        src, dst = (int(r) for r in rng.choice(comm.size, 2, replace=False))
        size = int(rng.integers(0, 5)) * (BIG if step % 7 == 0 else 1)
        if comm.rank == src:
            comm.send(np.full(size, float(step)), dst=dst, tag=step)
        elif comm.rank == dst:
            comm.recv(src=src, tag=step)
        if step % 10 == 0:
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            comm.sendrecv(np.zeros((step, 2), "f4"), dst=right, src=left, tag=f"ring {step}")
            comm.barrier()
    return comm.rank


@pytest.mark.slow
def test_the_same_text_sends_the_same_messages_in_every_world(both_worlds):
    simulated, *real_ones = (world(conversation, workers=4) for world in both_worlds)
    for real in real_ones:
        for src in range(4):
            for dst in range(4):
                assert [m[:6] for m in simulated.trace.between(src, dst)] == [
                    m[:6] for m in real.trace.between(src, dst)
                ]
        assert simulated.values == real.values
    assert simulated.trace.n_messages == 42


def test_conversation_has_messages_to_compare():
    trace = run(conversation, workers=4, backend="simulated").trace
    assert trace.n_messages == 30 + 3 * 4
    assert {message.n_bytes > EAGER_BYTES for message in trace.messages} == {True, False}
