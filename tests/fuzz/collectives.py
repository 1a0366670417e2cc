"""The collectives by name: how each is called, and what it must return."""

import inspect
from typing import Any

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
from course_lib.training.shards import split_evenly
from tests.fuzz.arrays import make, plain_values
from tests.fuzz.layouts import empty_like

__all__ = ["BY_NAME", "COMBINING", "CUTTING", "call", "expected"]

BY_NAME = {
    **{f"allreduce_{name}": function for name, function in ALLREDUCES.items()},
    **{
        function.__name__: function
        for function in (
            allgather_ring, alltoall, broadcast_flat, broadcast_tree, gather, reduce_flat,
            reduce_scatter_ring, reduce_tree, scatter,
        )
    },
}  # fmt: skip

COMBINING = frozenset(
    name for name, each in BY_NAME.items() if "op" in inspect.signature(each).parameters
)
CUTTING = frozenset({"allgather_ring", "alltoall", "gather", "reduce_scatter_ring", "scatter"})
"""Those whose array must have rows."""

_OPS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def call(comm: Any, step: Any) -> tuple[Any, Any]:
    """Call a collective on this rank; return its result, and the ``out`` that it was given."""
    function = BY_NAME[step.name]
    taken = inspect.signature(function).parameters
    options: dict[str, Any] = {}
    if "root" in taken:
        options["root"] = step.root % comm.size
    if "op" in taken:
        options["op"] = step.op
    out = None
    wanted = expected(step, comm.rank, comm.size)
    if step.out is not None and wanted is not None:
        out = options["out"] = empty_like(wanted, _layout(step))
    array = make(step.array, comm.rank)
    before = plain_values(step.array, comm.rank)
    result = function(comm, array, **options)
    after = array.detach().cpu().numpy() if step.array.torch else np.asarray(array)
    assert after.tobytes() == before.tobytes(), f"{step.name} has changed its input"
    return result, out


def _layout(step: Any) -> str:
    """Return that of ``out``: NumPy's or torch's like the array, whatever was made simpler."""
    if step.out.startswith("torch") == step.array.torch:
        return str(step.out)
    return "torch" if step.array.torch else "C"


def expected(step: Any, rank: int, size: int) -> np.ndarray | None:
    """Return what the rank must get, by the textbook; None for nothing."""
    arrays = [plain_values(step.array, each) for each in range(size)]
    name, root = step.name, step.root % size
    if name.startswith("broadcast"):
        return arrays[root]
    if name in ("gather", "allgather_ring"):
        return _joined(arrays) if name == "allgather_ring" or rank == root else None
    if name == "scatter":
        return _cut(arrays[root], size)[rank]
    if name == "alltoall":
        return _joined([_cut(array, size)[rank] for array in arrays])
    total = arrays[0].copy()
    for array in arrays[1:]:
        # A NumPy scalar, and so an operation's result, forgets the order of bytes.
        total = np.asarray(_OPS[step.op](total, array)).astype(array.dtype)
    if name == "reduce_scatter_ring":
        return _cut(total, size)[rank]
    return total if name.startswith("allreduce") or rank == root else None


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays).astype(arrays[0].dtype)  # it forgets the order of bytes


def _cut(array: np.ndarray, size: int) -> list[np.ndarray]:
    return [array[part] for part in split_evenly(len(array), size)]
