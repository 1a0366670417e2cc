"""Each collective against one line of NumPy, on whatever arrays, roots, sizes and worlds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
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
from course_lib.comm.errors import WorkerError
from course_lib.training.shards import split_evenly

SIZES = range(1, 9)


def on_root(result, inputs, root):
    return [result if rank == root else None for rank in range(len(inputs))]


def columns(inputs, _root):
    """Part j of everybody's rows, for rank j."""
    parts = [[x[p] for p in split_evenly(len(x), len(inputs))] for x in inputs]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


SPECS = {
    broadcast_flat: lambda inputs, root: [inputs[root]] * len(inputs),
    broadcast_tree: lambda inputs, root: [inputs[root]] * len(inputs),
    reduce_flat: lambda inputs, root: on_root(sum(inputs), inputs, root),
    reduce_tree: lambda inputs, root: on_root(sum(inputs), inputs, root),
    gather: lambda inputs, root: on_root(np.concatenate(inputs), inputs, root),
    scatter: lambda inputs, root: [
        inputs[root][part] for part in split_evenly(len(inputs[root]), len(inputs))
    ],
    allgather_ring: lambda inputs, _: [np.concatenate(inputs)] * len(inputs),
    reduce_scatter_ring: lambda inputs, _: [
        sum(inputs)[part] for part in split_evenly(len(inputs[0]), len(inputs))
    ],
    alltoall: columns,
}
"""What each rank gets, None for nothing, from what all ranks bring (of one shape) and the root."""

ROOTED = [broadcast_flat, broadcast_tree, reduce_flat, reduce_tree, gather, scatter]
REDUCING = [reduce_flat, reduce_tree, reduce_scatter_ring]


def options_of(collective, root):
    return {"root": root} if collective in ROOTED else {}


def call_all(comm, shapes, dtypes, roots):
    """Call every collective with every shape, dtype and root, without and with ``out``."""
    found = []
    for collective in SPECS:
        for shape, dtype, root in [(s, d, r) for s in shapes for d in dtypes for r in roots]:
            x = comm.rng.integers(0, 50, size=shape).astype(dtype)
            before = x.copy()
            result = collective(comm, x, **options_of(collective, root))
            np.testing.assert_array_equal(x, before)
            if result is not None:
                assert not np.shares_memory(result, x)
                out = np.full_like(result, 7)
                assert collective(comm, x, out=out, **options_of(collective, root)) is out
                np.testing.assert_array_equal(out, result)
            else:
                collective(comm, x, **options_of(collective, root))
            found.append((x, result))
    return found


def check_all(result, shapes, dtypes, roots):
    """Compare with the specs; a spec for other ranks' results must differ where ranks differ."""
    by_call = list(zip(*result.values, strict=True))
    cases = [(c, r) for c in SPECS for _ in shapes for _ in dtypes for r in roots]
    assert len(by_call) == len(cases) > 0
    for (collective, root), call in zip(cases, by_call, strict=True):
        inputs = [x for x, _ in call]
        for (_, got), wanted in zip(call, SPECS[collective](inputs, root), strict=True):
            if wanted is None:
                assert got is None, collective.__name__
            else:
                assert got.dtype == inputs[0].dtype
                assert got.shape == wanted.shape
                np.testing.assert_array_equal(got, wanted, err_msg=collective.__name__)


@pytest.mark.parametrize("size", SIZES)
def test_every_rank_gets_what_the_spec_says(world, size):
    shapes = [(0,), (1,), (size,), (size + 1, 2), (23,)]
    arguments = shapes, ["f8", "i4"], sorted({0, size // 2, size - 1})
    result = world(call_all, *arguments, workers=size, seed=size)
    check_all(result, *arguments)


def test_the_specs_can_fail():
    """The likely mistakes, on inputs that differ between ranks, are not what the specs say."""
    inputs = [np.arange(6) + 10 * rank for rank in range(3)]
    for collective, spec in SPECS.items():
        right = spec(inputs, 1)
        mistakes = [inputs, [None] * 3, [None if x is None else x[::-1] for x in right]]
        if collective in ROOTED:
            mistakes.append(spec(inputs, 2))
        if collective in REDUCING:
            mistakes.append([None if x is None else x / 3 for x in right])
        if collective in (alltoall, scatter, reduce_scatter_ring):
            mistakes.append(right[1:] + right[:1])
        for results in mistakes:
            assert not all(map(np.array_equal, right, results)), collective.__name__


@given(
    collective=st.sampled_from(list(SPECS)),
    size=st.integers(1, 9),
    shape=st.lists(st.integers(0, 12), min_size=1, max_size=2),
    dtype=st.sampled_from(["f8", "f4", "f2", "i8", "i4", "u8"]),
    root=st.integers(0, 8),
    rendezvous=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=150, deadline=None)
def test_any_size_shape_dtype_and_root(collective, size, shape, dtype, root, rendezvous, seed):
    root %= size

    def call(comm):
        x = comm.rng.integers(0, 50, size=shape).astype(dtype)
        return x, collective(comm, x, **options_of(collective, root))

    result = run(call, workers=size, backend="simulated", rendezvous=rendezvous, seed=seed)
    inputs = [x for x, _ in result.values]
    for (_, got), wanted in zip(result.values, SPECS[collective](inputs, root), strict=True):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_array_equal(got, wanted)
    assert not result.trace.unreceived()


def reduce_numbers(comm, root):
    x = comm.rng.normal(size=(2 * comm.size + 1, 3))[:, ::-1]
    ops = ("sum", "max", "min")
    return x, {
        (c.__name__, op): c(comm, x, op=op, **options_of(c, root)) for c in REDUCING for op in ops
    }


@pytest.mark.parametrize("size", SIZES)
def test_all_ops_agree_with_numpy(world, size):
    values = world(reduce_numbers, size - 1, workers=size).values
    inputs = np.array([x for x, _ in values])
    rows = split_evenly(inputs.shape[1], size)
    bound = size * np.finfo(float).eps * np.abs(inputs).sum(axis=0)
    for rank, (_, found) in enumerate(values):
        for (name, op), got in found.items():
            if name != "reduce_scatter_ring" and rank != size - 1:
                assert got is None
                continue
            part = rows[rank] if name == "reduce_scatter_ring" else slice(None)
            error = np.abs(got - getattr(inputs, op)(axis=0)[part])
            assert (error <= (bound[part] if op == "sum" else 0)).all()


def gather_unequal(comm):
    """Ranks may bring different numbers of rows, none among them."""
    x = np.full((comm.rank, 2), comm.rank)
    return gather(comm, x, root=comm.size - 1), allgather_ring(comm, x)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_unequal_numbers_of_rows_are_put_together(world, size):
    wanted = [[rank] * 2 for rank in range(size) for _ in range(rank)]
    for rank, (gathered, allgathered) in enumerate(world(gather_unequal, workers=size).values):
        assert allgathered.tolist() == wanted
        if rank == size - 1:
            assert gathered.tolist() == wanted


def put_back_together(comm):
    x = np.arange(33.0).reshape(11, 3)
    return gather(comm, scatter(comm, x)), allgather_ring(comm, reduce_scatter_ring(comm, x))


@pytest.mark.parametrize("size", SIZES)
def test_gather_undoes_scatter_and_two_halves_make_an_all_reduce(size):
    values = run(put_back_together, workers=size, backend="simulated").values
    x = np.arange(33.0).reshape(11, 3)
    np.testing.assert_array_equal(values[0][0], x)
    for _, total in values:
        np.testing.assert_array_equal(total, size * x)


def move_tensors(comm):
    import torch

    x = torch.arange(6, dtype=torch.float32).reshape(3, 2) + comm.rank
    found = []
    for collective in SPECS:
        result = collective(comm, x)
        assert result is None or isinstance(result, torch.Tensor)
        found.append(None if result is None else result.tolist())
    return found


def test_tensors_in_give_tensors_out(world):
    inputs = [np.arange(6.0).reshape(3, 2) + rank for rank in range(3)]
    for rank, found in enumerate(world(move_tensors, workers=3).values):
        for spec, got in zip(SPECS.values(), found, strict=True):
            wanted = spec(inputs, 0)[rank]
            assert got == (None if wanted is None else wanted.tolist())


@pytest.mark.parametrize("collective", [gather, allgather_ring, alltoall])
def test_what_is_put_together_keeps_its_dtype_in_any_mode(collective):
    torch = pytest.importorskip("torch")

    def together(comm):
        with torch.autocast("cpu", torch.bfloat16):
            half = collective(comm, torch.ones(4, dtype=torch.float16))
        big = collective(comm, np.arange(4.0).astype(">f8"))
        both = collective(comm, np.ones(4, ["f8", "c16"][comm.rank]))
        return None if half is None else (half.dtype, big.dtype.str, both.dtype.str, len(big))

    values = run(together, workers=2, backend="simulated").values
    assert values[0][:3] == (torch.float16, ">f8", "<c16")


@pytest.mark.parametrize("collective", ROOTED)
def test_a_root_that_is_no_rank_is_refused(collective):
    with pytest.raises(WorkerError, match="root must be a rank from 0 to 1, got 2"):
        run(lambda comm: collective(comm, np.zeros(3), root=2), workers=2, backend="simulated")


@pytest.mark.parametrize("collective", [broadcast_flat, broadcast_tree, scatter])
def test_a_root_without_an_array_is_refused(collective):
    with pytest.raises(WorkerError, match="array must be given on the root, rank 0, got None"):
        run(lambda comm: collective(comm), workers=2, backend="simulated")


@pytest.mark.parametrize(
    "collective", [gather, scatter, allgather_ring, reduce_scatter_ring, alltoall]
)
def test_a_single_number_has_no_rows(collective):
    with pytest.raises(WorkerError, match="array must have at least one axis"):
        run(lambda comm: collective(comm, np.array(1.0)), workers=2, backend="simulated")


@pytest.mark.parametrize("value", [7, 7.0, [7, 8]], ids=repr)
@pytest.mark.parametrize("collective", [*SPECS, *ALLREDUCES.values()], ids=lambda fn: fn.__name__)
def test_what_is_no_array_is_refused_in_a_sentence(collective, value):
    says = f"array must be a NumPy array or a torch tensor, got {type(value).__name__}; np.asarray"
    with pytest.raises(WorkerError, match=says):
        run(lambda comm: collective(comm, value), workers=2, backend="simulated")


@pytest.mark.parametrize("collective", SPECS)
def test_an_out_of_another_shape_is_refused(collective):
    def call(comm):
        collective(comm, np.zeros(4), out=np.zeros(9))

    with pytest.raises(WorkerError, match=r"out"):
        run(call, workers=2, backend="simulated")


@pytest.mark.parametrize("collective", [gather, allgather_ring, alltoall])
@pytest.mark.parametrize("shapes", [[(4, 4), (4, 1)], [(4, 3), (4,)], [(4,), (4, 2, 2)]])
def test_parts_of_other_rows_are_refused_and_not_spread(collective, shapes):
    def call(comm):
        return collective(comm, np.full(shapes[comm.rank], comm.rank))

    says = r"in their number of rows only, got shape \(.*\) from rank 0 and \(.*\) from rank 1"
    with pytest.raises(WorkerError, match=says):
        run(call, workers=2, backend="simulated")


@pytest.mark.parametrize("how", [np.asfortranarray, lambda x: np.broadcast_to(x[:1], x.shape)])
def test_rows_that_do_not_lie_one_after_the_other_are_summed_too(how):
    X = how(np.arange(12.0).reshape(4, 3))
    values = run(lambda comm: reduce_scatter_ring(comm, X), workers=2, backend="simulated").values
    assert np.array_equal(np.concatenate(values), 2 * X)
