"""A new worker is fast to its first collective: it loads NumPy, and no layer around it."""

import sys

import numpy as np

from course_lib import run
from course_lib.collectives import allgather_ring, allreduce_butterfly, allreduce_ring
from course_lib.training.shards import pack


def collect(comm) -> list[str]:
    array = np.arange(4.0)
    allreduce_ring(comm, array, op="max")
    allreduce_butterfly(comm, array)
    allgather_ring(comm, array)
    pack(array, [slice(0, 1), slice(2, 3)])
    return sorted({"array_api_compat", "numpy.f2py", "numpy.testing"} & set(sys.modules))


def test_arrays_of_numpy_need_nothing_but_numpy() -> None:
    assert run(collect, workers=2, backend="processes").values == [[], []]
