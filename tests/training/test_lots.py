"""Lots: every batch of a plan is in one, none reaches into another epoch."""

from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.training import Lots, Plan


@given(
    n_examples=st.integers(1, 30), batch=st.integers(1, 8), epochs=st.integers(0, 4),
    first=st.integers(0, 5), size=st.integers(1, 6),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_every_batch_is_in_one_lot_of_its_epoch(n_examples, batch, epochs, first, size):
    plan = Plan(batch_size=batch, epochs=epochs, first_epoch=first)
    lots, n_steps = Lots(plan, n_examples, size), plan.steps_per_epoch(n_examples)
    dealt = [list(lots.steps(number)) for number in range(len(lots))]
    assert list(chain(*dealt)) == list(range(first * n_steps, max(epochs, first) * n_steps))
    for lot in dealt:
        assert 1 <= len(lot) <= size
        assert lot[0] // n_steps == lot[-1] // n_steps
        assert len(lot) == size or (lot[-1] + 1) % n_steps == 0
    assert list(lots.walk()) == list(range(len(lots)))
    assert lots.losses == [0.0] * len(list(plan.shares(n_examples)))
