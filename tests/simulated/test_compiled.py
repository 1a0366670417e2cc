"""``torch.compile`` in simulated ranks, and what it has learnt there of torch's functions."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.soak]  # tests/contract compiles in all worlds

PROGRAM = """
import torch
from course_lib import run

def turn(x):
    with torch.no_grad(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        torch.backends.cudnn.benchmark = False
        torch._C._set_cudnn_benchmark(False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        return torch.relu(x) + 1

def compiled():
    torch._dynamo.reset()
    return torch.compile(turn, backend="eager", fullgraph=True)

def work(comm):
    fast, x = compiled(), torch.full((2,), float(comm.rank))
    seen = [fast(x).tolist()]
    comm.barrier()
    return [*seen, fast(x).tolist(), torch.is_grad_enabled()]

for _ in range(2):  # the second time the compiler was there before
    assert run(work, workers=2, backend="simulated").values == [
        [[1.0, 1.0], [1.0, 1.0], True], [[2.0, 2.0], [2.0, 2.0], True]
    ]
    assert compiled()(torch.zeros(2)).tolist() == [1.0, 1.0]
"""


def test_functions_are_compiled_whole_in_ranks_and_after_them():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)
