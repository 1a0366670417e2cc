"""Lots: every batch of a plan is in one, none reaches into another epoch."""

from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.training import Lots, Plan
from course_lib.training.batches import epoch_batches


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


def test_a_replica_notes_each_batch_once_in_order_and_nothing_for_those_of_others():
    plan = Plan(batch_size=2, epochs=2, first_epoch=1, seed=3)
    lots, noted = Lots(plan, 9, size=2), []  # lots of batches 5 and 6, 7 and 8, 9
    account = lots.account(lambda name, loss: noted.append((name, loss)))
    expected = list(epoch_batches(9, 2, epoch=1, seed=3))
    for number in (1, 2):
        for step, examples in account.batches(number):
            assert examples.tolist() == expected[step - 5].tolist()
            account.enter(step, float(step))
    assert account.close() == [0.0, 0.0, 7.0, 8.0, 9.0]
    assert noted == [("loss_partial", loss) for loss in (0.0, 0.0, 7.0, 8.0, 9.0)]
    late = lots.account(lambda name, loss: noted.append((name, loss)))
    assert late.close() == [0.0] * 5
    assert noted[5:] == [("loss_partial", 0.0)] * 5


def test_where_others_may_be_lost_a_replica_notes_the_places_of_what_it_computes():
    plan, noted = Plan(batch_size=2, epochs=2, first_epoch=1), []
    account = Lots(plan, 9, size=2).account(
        lambda _, pair: noted.append(pair.tolist()), is_numbered=True
    )
    for number in (1, 2, 0):  # another had lost the first, and it comes last
        for step, _ in account.batches(number):
            account.enter(step, float(step))
    assert account.close() == [5.0, 6.0, 7.0, 8.0, 9.0]
    assert noted == [[2.0, 7.0], [3.0, 8.0], [4.0, 9.0], [0.0, 5.0], [1.0, 6.0]]
