"""Batches of an epoch: every example once, the same whoever shares them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data.batches import epoch_batches


@given(
    n=st.integers(0, 60), batch=st.integers(1, 70), size=st.integers(1, 9), epoch=st.integers(0, 3)
)
@settings(max_examples=80, deadline=None)
def test_no_example_is_lost_or_taken_twice(n, batch, size, epoch):
    workers = [
        list(epoch_batches(n, batch, epoch, seed=5, rank=rank, size=size)) for rank in range(size)
    ]
    steps = list(zip(*workers, strict=True))
    assert len(steps) == -(-n // batch)
    taken = [int(i) for step in steps for part in step for i in part]
    assert sorted(taken) == list(range(n))
    for step in steps:
        lengths = [len(part) for part in step]
        assert max(lengths) - min(lengths) <= 1
    alone = list(epoch_batches(n, batch, epoch, seed=5))
    for step, whole in zip(steps, alone, strict=True):
        np.testing.assert_array_equal(np.concatenate(step), whole)


def test_epochs_and_seeds_have_their_own_orders():
    orders = [
        tuple(np.concatenate(list(epoch_batches(50, 8, epoch, seed))))
        for epoch in (0, 1)
        for seed in (0, 1)
    ]
    assert len(set(orders)) == 4
    assert tuple(range(50)) not in orders


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"n_examples": -1}, "n_examples must be 0 or more"),
        ({"batch_size": 0}, "batch_size must be 1 or more"),
        ({"epoch": -1}, "epoch must be 0 or more"),
        ({"rank": 2, "size": 2}, "rank must be from 0 to size - 1, got rank 2 of size 2"),
    ],
)
def test_unusable_numbers_are_refused(bad, text):
    with pytest.raises(ValueError, match=text):
        list(epoch_batches(**({"n_examples": 5, "batch_size": 2, "epoch": 0} | bad)))
