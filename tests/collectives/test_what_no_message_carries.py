"""Every collective refuses, at its entry, an array that no message could carry as it is."""

import numpy as np
import pytest
import scipy.sparse
import torch
from torch.masked import masked_tensor

from course_lib import collectives, run
from course_lib.comm.errors import RunError

ALL = sorted({*collectives.__all__} - {"ALLREDUCES"})
WRONG = {
    "masked": (lambda: np.ma.masked_array(np.arange(4.0), [0, 1, 0, 0]), "whose mask would be"),
    "objects": (lambda: np.array([1.0, 2, 3, 4], object), "has dtype object, which cannot travel"),
    "records": (lambda: np.zeros(4, [("a", "f8")]), "which cannot travel as plain bytes"),
    "sparse": (lambda: scipy.sparse.csr_array(np.eye(4)), r"array\.toarray\(\) makes one"),
}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("name", ALL)
def test_what_would_lose_a_part_or_is_no_number_is_refused(name, kind, workers):
    make, told = WRONG[kind]

    def call(comm):
        return getattr(collectives, name)(comm, make())

    with pytest.raises(RunError, match=rf"TypeError: array .*{told}") as refused:
        run(call, workers=workers, backend="simulated")
    assert len(refused.value.trace.messages) == 0


@pytest.mark.parametrize("name", ALL)
def test_a_masked_out_is_refused(name):
    def call(comm):
        out = np.ma.masked_array(np.zeros(4))
        return getattr(collectives, name)(comm, np.arange(4.0), out=out)

    with pytest.raises(RunError, match="TypeError: out must be a plain array, got a masked"):
        run(call, workers=2, backend="simulated")


@pytest.mark.parametrize("name", ["broadcast_flat", "broadcast_tree", "scatter"])
def test_what_the_other_ranks_have_does_not_count(name):
    def call(comm):
        array = np.arange(4.0) if comm.rank == 0 else np.ma.masked_array(np.zeros(4))
        return getattr(collectives, name)(comm, array).tolist()

    values = run(call, workers=2, backend="simulated").values
    assert values[1] == ([2.0, 3.0] if name == "scatter" else [0.0, 1.0, 2.0, 3.0])


@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", [*ALL, "send"])
def test_a_masked_tensor_is_refused(name, workers):
    def call(comm):
        masked = masked_tensor(torch.ones(4), torch.tensor([True, False, True, True]))
        if name == "send":
            comm.send(masked, dst=(comm.rank + 1) % 2)
        return getattr(collectives, name)(comm, masked)

    if (name, workers) != ("send", 1):
        with pytest.raises(RunError, match="TypeError: array is a masked tensor, whose mask would"):
            run(call, workers=workers, backend="simulated")


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("allreduce")])
def test_a_number_is_no_array_to_write_into(name):
    def call(comm, out):
        return float(getattr(collectives, name)(comm, np.ones(()), out=out))

    with pytest.raises(RunError, match=r"TypeError: out must be an array, got a number, np\.float"):
        run(call, np.float64(0), workers=2, backend="simulated")
    assert run(call, np.zeros(()), workers=2, backend="simulated").values == [2.0, 2.0]
