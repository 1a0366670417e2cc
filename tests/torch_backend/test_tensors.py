"""Tensors that NumPy does not know: bfloat16, and those on a GPU."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.comm.errors import MessageMismatchError
from course_lib.comm.torch_backend.arrays import OnDevice, check_out, overlap, store, to_data, wrap
from course_lib.comm.torch_backend.transfers import Receiving, Sending


def exchange(comm, dtype, device):
    """Send tensors of two sizes, receive into others, combine; return what arrived."""
    other, found = 1 - comm.rank, []
    for size in (5, 20_000):
        mine = torch.arange(size, device=device).remainder(7).to(dtype) + comm.rank
        new = comm.sendrecv(mine, dst=other, src=other)
        assert new.dtype is dtype
        assert new.device.type == torch.device(device).type
        wide = torch.zeros(size, 2, dtype=dtype, device=device)
        comm.sendrecv(mine, dst=other, src=other, out=wide[:, 1])
        assert torch.equal(wide[:, 1], new)
        assert not wide[:, 0].any()
        for op in ("sum", "max", "min"):
            total = mine.clone()
            comm.sendrecv(mine, dst=other, src=other, out=total, op=op)
            found.append(total[:3].tolist())
        found.append(new[:3].tolist())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_travels_and_combines(dtype):
    values = run(exchange, dtype, "cpu", workers=2, backend="torch").values
    for rank, found in enumerate(values):
        mine, theirs = [[float(r), r + 1.0, r + 2.0] for r in (rank, 1 - rank)]
        expected = [[a + b for a, b in zip(mine, theirs, strict=True)], [1, 2, 3], [0, 1, 2]]
        assert found == [*expected, theirs] * 2


def reduce_half(comm, dtype):
    x = torch.full((9,), comm.rank + 1, dtype=dtype)
    return {name: allreduce(comm, x).tolist() for name, allreduce in ALLREDUCES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_every_all_reduce_sums_half_precision(dtype):
    for found in run(reduce_half, dtype, workers=3, backend="torch").values:
        assert found == {name: [6.0] * 9 for name in ALLREDUCES}


def test_a_bfloat16_message_does_not_fit_into_another_dtype_of_two_bytes():
    def mismatched(comm):
        if comm.rank == 0:
            comm.send(torch.zeros(3, dtype=torch.bfloat16), dst=1)
        else:
            comm.recv(src=0, out=torch.zeros(3, dtype=torch.float16))

    with pytest.raises(MessageMismatchError, match="rank 0 sent dtype bfloat16"):
        run(mismatched, workers=2, backend="torch")


# A tensor on a GPU is described like this; the CPU can stand in for one in all but speed.


def on_device(values):
    return OnDevice(torch.tensor(values))


def test_a_tensor_on_a_device_is_described_as_numpy_would():
    data = OnDevice(torch.zeros(2, 3, dtype=torch.bfloat16))
    assert (data.dtype.str, data.shape, data.nbytes) == ("|V2", (2, 3), 12)
    assert OnDevice(torch.zeros(2)).dtype == np.dtype("f4")


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("into", [None, "device", "cpu"])
@pytest.mark.parametrize("op", [None, "sum"])
def test_what_lies_on_a_device_is_staged_on_its_way(waits, into, op):
    if op is not None and into is None:
        return
    from course_lib.comm.messages import envelope
    from course_lib.comm.processes.memory.transfers import Wanted
    from course_lib.comm.torch_backend.packets import Packet, PacketKind, unpack

    data = on_device([1.0, 2.0, 3.0])
    sent = envelope(None, data.dtype, data.shape, "device")
    packet = Packet(
        PacketKind.MESSAGE, 0, 1, 2, data.nbytes, waits, on_device=False, stamp=0, sent=sent
    )
    going = Sending(1, data, packet)
    out = {"device": on_device([10.0, 10.0, 10.0]), "cpu": np.full(3, 10, "f4"), None: None}[into]
    receiver = SimpleNamespace(_me=1, name="world", device="cpu")
    coming = Receiving(0, receiver, Wanted(channel=2, stamp=0, out=out, op=op))
    coming.open(unpack(going.packed))
    assert coming.may_be_asked_for == waits
    if waits:
        coming.room.copy_(going.payload)  # what gloo does
    coming.finish()
    result = wrap(coming.result, "device", "cpu")
    assert torch.as_tensor(result).tolist() == ([11, 12, 13] if op else [1, 2, 3])
    assert out is None or coming.result is out


def test_a_buffer_on_a_device_must_not_overlap_what_is_sent():
    x = torch.zeros(10)
    for mine, theirs, expected in ((x[:5], x[4:], True), (x[:5], x[5:], False)):
        assert overlap(OnDevice(mine), OnDevice(theirs)) is expected
    assert not overlap(OnDevice(x), np.zeros(3))


def test_a_message_from_the_cpu_may_go_into_a_buffer_on_a_device():
    out = on_device([1.0, 5.0])
    store(out, "max", np.array([3, 4], "f4"))
    assert out.tensor.tolist() == [3.0, 5.0]


def test_arguments_are_checked_as_everywhere():
    with pytest.raises(ValueError, match="op must be one of"):
        check_out(torch.zeros(3, dtype=torch.bfloat16), "mul")
    with pytest.raises(TypeError, match="must be a NumPy array or a torch tensor"):
        to_data([1, 2])


gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


@gpu
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_ranks_that_share_a_gpu_stage_in_memory_and_results_stay_on_it(dtype):
    workers = 2 * torch.cuda.device_count()

    def on_gpu(comm):
        pair = comm.split(comm.rank // 2)
        return exchange(pair, dtype, comm.device), comm.device

    for rank, (found, device) in enumerate(run(on_gpu, workers=workers, backend="torch").values):
        assert device == f"cuda:{rank % torch.cuda.device_count()}"
        assert found[3] == [1.0 - rank % 2, 2.0 - rank % 2, 3.0 - rank % 2]


@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.device_count() < 2,
    reason="needs two NVIDIA GPUs: NCCL moves nothing between ranks that share one",
)
@pytest.mark.gpu
def test_ranks_with_a_gpu_each_use_nccl():
    def on_gpus(comm):
        return comm._port.wires.between_gpus, exchange(comm, torch.bfloat16, comm.device)

    for rank, (between_gpus, found) in enumerate(run(on_gpus, workers=2, backend="torch").values):
        assert between_gpus
        assert found[3] == found[7] == [1.0 - rank, 2.0 - rank, 3.0 - rank]
