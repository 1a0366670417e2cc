"""What may travel, and how both sides are compared."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.comm.buffers import check_out
from course_lib.comm.errors import MessageMismatchError
from course_lib.comm.messages import (
    Envelope,
    check_match,
    check_peer,
    check_tag,
    to_numpy,
)

SENT = Envelope(tag=3, dtype="<f8", shape=(2,), kind="numpy")


@pytest.mark.parametrize(
    ("array", "named"),
    [
        (np.array([None]), "dtype object"),
        (np.zeros(2, dtype=[("a", int)]), "cannot travel as plain bytes"),
        (np.zeros(2, dtype=[("a", "U0")])["a"], r"strings of length 0, .*astype\('U1'\)"),
        (np.zeros(2, dtype=[("a", "S0")])["a"], r"strings of length 0, .*astype\('S1'\)"),
        (np.ma.masked_array([1], [True]), "masked array"),
        ([1, 2], "got list; np.asarray"),
        (3.0, "got float"),
    ],
)
def test_what_cannot_travel_is_refused(array: Any, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        to_numpy(array)


def test_a_subclass_travels_as_a_plain_array() -> None:
    class Evil(np.ndarray):
        def __eq__(self, other: object) -> Any:
            return True

    data, kind = to_numpy(np.zeros(2).view(Evil))
    assert type(data) is np.ndarray
    assert kind == "numpy"


def test_a_torch_tensor_is_viewed_and_one_numpy_cannot_hold_is_refused() -> None:
    torch = pytest.importorskip("torch")
    data, kind = to_numpy(torch.arange(3))
    assert kind == "torch"
    assert data.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="bfloat16"):
        to_numpy(torch.zeros(2, dtype=torch.bfloat16))


@pytest.mark.parametrize("peer", [-1, 4, 10**9])
def test_a_peer_out_of_range_is_refused(peer: int) -> None:
    with pytest.raises(ValueError, match=rf"dst must be a rank from 0 to 3, got {peer}"):
        check_peer("dst", peer, 1, 4)


@pytest.mark.parametrize("peer", [1.0, "1", None, True])
def test_a_peer_that_is_no_int_is_refused(peer: Any) -> None:
    with pytest.raises(TypeError, match="src must be a rank"):
        check_peer("src", peer, 1, 4)


def test_a_message_to_oneself_is_refused_and_numpy_ints_are_taken() -> None:
    with pytest.raises(ValueError, match="this rank itself"):
        check_peer("dst", 1, 1, 4)
    assert check_peer("dst", np.int64(2), 1, 4) == 2


@pytest.mark.parametrize("tag", [1.5, True, (1,), b"x"])
def test_a_tag_is_none_an_int_or_a_text(tag: Any) -> None:
    with pytest.raises(TypeError, match="tag must be"):
        check_tag(tag)


@pytest.mark.parametrize(
    ("tag", "out"),
    [(4, None), ("3", None), (3, np.zeros(3)), (3, np.zeros((2, 1))), (3, np.zeros(2, "f4")),
     (3, np.zeros(2, ">f8"))],
)  # fmt: skip
def test_a_mismatch_names_both_ranks(tag: Any, out: Any) -> None:
    with pytest.raises(MessageMismatchError, match=r"rank 7 sent .* rank 5 receives"):
        check_match(SENT, 7, 5, tag, out)


def test_a_match_passes_and_no_tag_takes_any() -> None:
    check_match(SENT, 7, 5, 3, np.zeros(2))
    check_match(SENT, 7, 5, None, None)


def test_out_must_be_writable_and_op_known() -> None:
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        check_out(frozen, None)
    with pytest.raises(ValueError, match="op must be one of 'sum', 'max', 'min' or None"):
        check_out(np.zeros(2), "add")
    with pytest.raises(ValueError, match=r"op must be one of .*, got \['sum'\]"):
        check_out(np.zeros(2), ["sum"])
    with pytest.raises(ValueError, match="out was not given"):
        check_out(None, "sum")


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-12, 24)), min_size=1, max_size=4),
    st.sampled_from(["f8", "i2", "u1"]),
)
def test_an_array_is_received_into_unless_two_of_its_elements_share_a_byte(
    axes: list[tuple[int, int]], dtype: str
) -> None:
    """Look at every byte of every element."""
    shape, strides = tuple(n for n, _ in axes), tuple(2 * step for _, step in axes)
    before = -sum(min(step, 0) * (n - 1) for n, step in zip(shape, strides, strict=True))
    after = sum(max(step, 0) * (n - 1) for n, step in zip(shape, strides, strict=True))
    out = np.ndarray(shape, dtype, bytearray(before + after + 8), before, strides)
    places = [
        np.dot(index, strides) + k for index in np.ndindex(shape) for k in range(out.itemsize)
    ]
    if len(set(places)) == len(places):
        assert check_out(out, None) is out
    else:
        with pytest.raises(ValueError, match="out must have memory for each of its elements"):
            check_out(out, None)
