"""All all-reduces: every contribution once, whatever size, length, dtype and op; equal bits."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.collectives import (
    ALLREDUCES,
    allreduce,
    allreduce_double_tree,
    allreduce_two_level,
)
from course_lib.comm.errors import WorkerError
from course_lib.trace.fingerprint import counts, weight

SIZES = range(1, 9)

ALGORITHMS = ALLREDUCES | {  # and one of them, and those that can be set in another way
    "chosen": allreduce,
    "double_tree in 1 segment": partial(allreduce_double_tree, segments=1),
    "double_tree in 7 segments": partial(allreduce_double_tree, segments=7),
    "two_level, 3 on a host": partial(allreduce_two_level, ranks_per_host=3),
    "two_level, 1 on a host": partial(allreduce_two_level, ranks_per_host=1),
    "two_level, 99 on a host": partial(allreduce_two_level, ranks_per_host=99),
}


def fingerprint(comm, length, dtype):
    return np.full(length, weight(comm.rank, comm.size), dtype=dtype)


def lengths(size):
    return sorted({0, 1, size - 1, size, size + 1, 3 * size + 2, 101})


def reduce_many(comm, cases):
    """Reduce fingerprints of all these lengths and dtypes with every algorithm."""
    return [
        [algorithm(comm, fingerprint(comm, *case)) for case in cases]
        for algorithm in ALGORITHMS.values()
    ]


@pytest.mark.parametrize("size", SIZES)
def test_every_contribution_is_counted_once(world, size):
    cases = list(itertools.product(lengths(size), ("f4", "f8", "i8")))
    if world.backend != "simulated":  # every length once, the dtypes by turns
        cases = list(zip(lengths(size), itertools.cycle(["f8", "i8", "f4"]), strict=False))
    for found in world(reduce_many, cases, workers=size).values:
        for name, totals in zip(ALGORITHMS, found, strict=True):
            for (length, dtype), total in zip(cases, totals, strict=True):
                assert total.shape == (length,), name
                assert total.dtype == np.dtype(dtype), name
                for value in set(total.tolist()):
                    assert counts(value, size) == [1] * size, name


def reduce_numbers(comm):
    """Reduce random numbers with every op and algorithm; return them, and what went in."""
    x = comm.rng.normal(size=(7, 3))
    whole = comm.rng.integers(-(10**17), 10**17, size=11)
    found = {}
    for name, algorithm in ALGORITHMS.items():
        for op in ("sum", "max", "min"):
            found[name, op] = algorithm(comm, x, op=op)
        for op in ("sum", "max", "min"):
            found[name, op, "whole"] = algorithm(comm, whole, op=op)
    return x, whole, found


@pytest.mark.parametrize("size", SIZES)
def test_all_ops_agree_with_one_process_and_bit_for_bit_between_ranks(world, size):
    values = world(reduce_numbers, workers=size, seed=size).values
    x = np.array([value[0] for value in values])
    whole = np.array([value[1] for value in values])
    first = values[0][2]
    for _, _, found in values:
        assert {k: v.tobytes() for k, v in found.items()} == {
            k: v.tobytes() for k, v in first.items()
        }
    for name in ALGORITHMS:
        np.testing.assert_array_equal(first[name, "max"], x.max(axis=0))
        np.testing.assert_array_equal(first[name, "min"], x.min(axis=0))
        # Every order of P - 1 additions is within (P - 1) * eps / 2 of the sum of magnitudes.
        bound = size * np.finfo(float).eps * np.abs(x).sum(axis=0)
        assert (np.abs(first[name, "sum"] - x.sum(axis=0)) <= bound).all()
        if size > 1:  # the likely mistake, sum for mean, would be far outside
            assert (np.abs(first[name, "sum"] - x.mean(axis=0)) > 10 * bound).any()
        # Whole numbers: not a bit may differ, whatever the order.
        np.testing.assert_array_equal(first[name, "sum", "whole"], whole.sum(axis=0))
        np.testing.assert_array_equal(first[name, "max", "whole"], whole.max(axis=0))
        np.testing.assert_array_equal(first[name, "min", "whole"], whole.min(axis=0))


def test_float32_depends_on_the_order_by_no_more_than_the_bound():
    """P - 1 additions round P - 1 times, by half a unit each: two orders differ by twice that."""

    def reduce(comm):
        x = comm.rng.normal(size=2000).astype("f4")
        return x, {name: algorithm(comm, x) for name, algorithm in ALLREDUCES.items()}

    for size in (3, 4, 7, 8):
        values = run(reduce, workers=size, backend="simulated").values
        x = np.array([value[0] for value in values])
        totals = values[0][1]
        bound = (size - 1) * np.finfo("f4").eps * np.abs(x.astype("f8")).sum(axis=0)
        for one, other in itertools.combinations(totals, 2):
            assert (np.abs(totals[one].astype("f8") - totals[other]) <= bound).all()
        assert len({total.tobytes() for total in totals.values()}) > 1  # they do differ
        # The likely mistake, adding up in float16, is far outside.
        halves = np.add.reduce(x.astype("f2"), axis=0).astype("f8")
        assert (np.abs(halves - totals["ring"]) > 10 * bound).any()


def reduce_layouts(comm, algorithm):
    """Two dimensions, other memory orders, and results put where they are wanted."""
    base = np.arange(24.0).reshape(4, 6) * (comm.rank + 1)
    given = base.copy()
    for x in (base, base.T, base[:, ::-2], np.asfortranarray(base), base[1:3, 2:5]):
        before = x.copy()
        result = algorithm(comm, x)
        assert result.shape == x.shape
        assert not np.shares_memory(result, x)
        np.testing.assert_array_equal(x, before)
        factor = comm.size * (comm.size + 1) / 2 / (comm.rank + 1)
        np.testing.assert_allclose(result, x * factor, rtol=1e-15)
        wide = np.full((*x.shape, 2), -1.0)
        assert algorithm(comm, x, out=wide[..., 0]) is not None
        np.testing.assert_array_equal(wide[..., 0], result)
        assert (wide[..., 1] == -1).all()
    np.testing.assert_array_equal(base, given)
    out = np.zeros((4, 6))
    assert algorithm(comm, base, out=out) is out
    total = algorithm(comm, np.array(1.0))
    assert total.shape == ()
    assert total == comm.size
    in_place = algorithm(comm, base, out=base)
    np.testing.assert_array_equal(in_place, out)
    again = algorithm(comm, given)  # nothing is left over from the calls before
    np.testing.assert_array_equal(again, out)


def reduce_all_layouts(comm, algorithms):
    for name in algorithms:
        reduce_layouts(comm, ALGORITHMS[name])
    return True


@pytest.mark.parametrize(("size", "rendezvous"), [(1, False), (3, True), (4, False)])
def test_any_layout_and_any_place_for_the_result(world, size, rendezvous):
    # Over torch, where a message takes a hundred times as long, each in its usual setting.
    names = list(ALLREDUCES if world.backend == "torch" else ALGORITHMS)
    assert all(world(reduce_all_layouts, names, workers=size, rendezvous=rendezvous).values)


def refused(comm):
    texts = {}
    for name, algorithm in ALGORITHMS.items():
        for op, array, out in (
            ("mean", np.zeros(3), None),
            ("average", np.zeros(3), None),
            ("sum", np.zeros(3), np.zeros(4)),
            ("sum", np.zeros(3), np.zeros(3, "f4")),
        ):
            try:
                algorithm(comm, array, op=op, out=out)
            except ValueError as error:
                texts.setdefault(name, []).append(str(error))
    return texts


def test_what_cannot_be_done_is_refused_before_anything_is_sent(world):
    result = world(refused)
    assert result.trace.n_messages == 0
    for texts in result.values:
        assert texts.keys() == ALGORITHMS.keys()
        for mean, unknown, shape, dtype in texts.values():
            assert "got 'mean': divide the sum by comm.size" in mean
            assert "op must be one of 'sum'" in unknown
            assert "out must have shape (3,) and dtype float64, got shape (4,)" in shape
            assert "got shape (3,) and dtype float32" in dtype


@pytest.mark.parametrize(
    ("algorithm", "setting", "value", "told"),
    [
        (allreduce_double_tree, "segments", 0, "an int from 1 to 1,024, got 0"),
        (allreduce_double_tree, "segments", 10**9, "an int from 1 to 1,024, got 1,000,000,000"),
        (allreduce_double_tree, "segments", 2.0, r"an int from 1 to 1,024, got 2\.0"),
        (allreduce_two_level, "ranks_per_host", 0, "an int of 1 or more, got 0"),
        (allreduce_two_level, "ranks_per_host", 2.0, r"an int of 1 or more, got 2\.0"),
        (allreduce, "rates", 3, r"a Rates or None, got 3 \(int\)"),
    ],
)
def test_a_setting_that_is_none_is_refused_by_its_name(algorithm, setting, value, told):
    def reduce(comm):
        algorithm(comm, np.zeros(3), **{setting: value})

    with pytest.raises(WorkerError, match=f"{setting} must be {told}"):
        run(reduce, workers=2, backend="simulated")


def reduce_tensors(comm):
    import torch

    found = []
    for algorithm in ALGORITHMS.values():
        for dtype in (torch.float32, torch.float16, torch.int32):
            x = torch.full((5, 2), comm.rank + 1).to(dtype)
            for op in ("sum", "max"):
                result = algorithm(comm, x, op=op)
                assert isinstance(result, torch.Tensor)
                assert result.dtype == dtype
                found.append(set(result.flatten().tolist()))
        assert set(x.flatten().tolist()) == {comm.rank + 1}
    return found


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "uint16", "uint32"])
def test_tensors_are_combined_as_arrays_are_to_the_bit_on_all_ranks(dtype, workers):
    import torch

    numbers = np.array([complex(np.inf, 1), complex(-0.0, -0.0), 3 + 4j, complex(np.nan, 2)])
    if dtype.startswith("u"):
        numbers = np.arange(4)

    def work(comm, fn, kind):
        array = numbers.astype(dtype)
        if kind == "tensor":
            return np.asarray(fn(comm, torch.from_numpy(array)).numpy()).tobytes()
        return fn(comm, array).tobytes()

    for fn in ALGORITHMS.values():
        found = {
            value
            for kind in ("array", "tensor")
            for value in run(work, fn, kind, workers=workers, backend="simulated").values
        }
        assert len(found) == 1, fn


def test_a_torch_tensor_in_gives_a_tensor_out(world):
    for found in world(reduce_tensors, workers=3).values:
        assert found == [{6}, {3}] * 3 * len(ALGORITHMS)


@given(
    name=st.sampled_from(list(ALGORITHMS)),
    size=st.integers(1, 9),
    length=st.integers(0, 40),
    dtype=st.sampled_from(["f4", "f8", "i8", "i4", "u8", "f2"]),
    op=st.sampled_from(["sum", "max", "min"]),
    rendezvous=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=150, deadline=None)
def test_any_size_length_dtype_and_op(name, size, length, dtype, op, rendezvous, seed):
    def reduce(comm):
        x = comm.rng.integers(0, 50, size=length).astype(dtype)  # sums are exact in every dtype
        return x, ALGORITHMS[name](comm, x, op=op)

    result = run(reduce, workers=size, backend="simulated", rendezvous=rendezvous, seed=seed)
    inputs = np.array([x for x, _ in result.values])
    expected = getattr(inputs, op)(axis=0, **({"dtype": dtype} if op == "sum" else {}))
    for _, total in result.values:
        assert total.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(total, expected)
    assert not result.trace.unreceived()


def meet(comm):
    """Reduce zeros of both signs, and NaNs that differ, with every algorithm."""
    zeros = np.array([-0.0 if comm.rank % 2 else 0.0, 0.0 if comm.rank % 2 else -0.0] * 4)
    nans = np.array([0x7FF8000000000001 + comm.rank, 0xFFF8000000000001 + comm.rank] * 4)
    return {
        (name, op): algorithm(comm, array, op).tobytes()
        for name, algorithm in ALGORITHMS.items()
        for op, array in (("max", zeros), ("min", zeros), ("sum", nans.view(np.float64)))
    }


@pytest.mark.parametrize("size", SIZES)
def test_bits_are_the_same_on_all_ranks_where_the_order_of_two_counts(size):
    first, *others = run(meet, workers=size, backend="simulated").values
    for other in others:
        assert {key for key in first if first[key] != other[key]} == set()


@pytest.mark.parametrize("op", [["sum"], None, 1, ("sum",)])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_op_that_is_no_text_is_refused_like_one_that_is_unknown(name, op):
    with pytest.raises(WorkerError, match="op must be one of 'sum', 'max', 'min', got"):
        run(ALGORITHMS[name], np.zeros(3), op, workers=2, backend="simulated")
