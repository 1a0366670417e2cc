"""Batches of an epoch: every example once, in an order of the epoch's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.training.batches import epoch_batches


@given(n=st.integers(0, 60), batch_size=st.integers(1, 70), epoch=st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_no_example_is_lost_or_taken_twice(n, batch_size, epoch):
    batches = list(epoch_batches(n, batch_size, epoch, seed=5))
    assert len(batches) == -(-n // batch_size)
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert sorted(int(i) for batch in batches for i in batch) == list(range(n))


def test_epochs_and_seeds_have_their_own_orders():
    orders = [
        tuple(np.concatenate(list(epoch_batches(50, 8, epoch, seed))))
        for epoch in (0, 1)
        for seed in (0, 1)
    ]
    assert len(set(orders)) == 4
    assert tuple(range(50)) not in orders
    assert orders[0] == tuple(np.concatenate(list(epoch_batches(50, 13, 0, 0))))  # any size


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"n_examples": -1}, "n_examples must be 0 or more"),
        ({"batch_size": 0}, "batch_size must be 1 or more"),
        ({"epoch": -1}, "epoch must be 0 or more"),
    ],
)
def test_unusable_numbers_are_refused(bad, text):
    with pytest.raises(ValueError, match=text):
        list(epoch_batches(**({"n_examples": 5, "batch_size": 2, "epoch": 0} | bad)))
