"""A plan's batches where nobody waits: dealt in their order, to whichever replica is free."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Array
from course_lib.training.batches import epoch_batches
from course_lib.training.plan import Plan

__all__ = ["Account", "Lots"]


@dataclass(frozen=True)
class Lots:
    """All batches of a plan, numbered through its epochs, in lots of one or more.

    A server deals lots to replicas that ask for work. So every batch is computed once, as in
    ``serial``, and a fast replica computes more of them; an epoch has as many updates as lots.

    Attributes
    ----------
    plan : Plan
        How to train.
    n_examples : int
        How many examples there are.
    size : int, default: 1
        How many batches are in a lot; fewer where an epoch ends.

    Examples
    --------
    >>> lots = Lots(Plan(batch_size=2, epochs=2), n_examples=9, size=3)  # 5 batches an epoch
    >>> [list(lots.steps(number)) for number in range(len(lots))]
    [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]]
    """

    plan: Plan
    n_examples: int
    size: int = 1

    def __len__(self) -> int:
        """Count the lots of all epochs."""
        return max(self.plan.epochs - self.plan.first_epoch, 0) * self._of_an_epoch

    def steps(self, number: int) -> range:
        """Return the numbers of a lot's batches.

        Parameters
        ----------
        number : int
            Which lot, from 0; a number past the last stands for none of the plan's batches.

        Returns
        -------
        range
            Batches are counted from epoch 0 on, whatever the plan's first epoch is.
        """
        epochs, place = divmod(number, self._of_an_epoch)
        n_steps = self.plan.steps_per_epoch(self.n_examples)
        begin = (self.plan.first_epoch + epochs) * n_steps
        return range(begin + place * self.size, begin + min((place + 1) * self.size, n_steps))

    def walk(self, w: Array = None) -> Iterator[int]:
        """Count lots, as a server does that takes a step for each; epochs end where they should.

        Parameters
        ----------
        w : array or None, default: None
            The parameters that are stepped, for ``plan.on_epoch``.

        Yields
        ------
        int
            How many lots have been taken in before.
        """
        number, step = 0, self.steps(0).start
        for _ in self.plan.shares(self.n_examples, w=w):
            step += 1
            if step == self.steps(number).stop:
                yield number
                number += 1

    def account(self, note: Callable[[str, Any], None], *, is_numbered: bool = False) -> "Account":
        """Open the account of a replica; the parameters are those of ``Account``."""
        return Account(self, note, is_numbered=is_numbered)

    @property
    def losses(self) -> list[float]:
        """The losses of a rank that computes none."""
        epochs = max(self.plan.epochs - self.plan.first_epoch, 0)
        return [0.0] * (epochs * self.plan.steps_per_epoch(self.n_examples))

    @property
    def n_before(self) -> int:
        """How many lots the epochs have that are over, those before the plan's first."""
        return self.plan.first_epoch * self._of_an_epoch

    @property
    def _of_an_epoch(self) -> int:
        return math.ceil(self.plan.steps_per_epoch(self.n_examples) / self.size)


@lru_cache(maxsize=4)  # replicas come to an epoch's batches one by one
def _epoch(*how: int) -> list[NDArray[np.int64]]:
    return list(epoch_batches(*how))


class Account:
    """What a replica computes, and its losses: one a batch, in order, 0 for those of others.

    Parameters
    ----------
    lots : Lots
        What is dealt.
    note : callable
        ``comm.note``: told of each batch's loss, once and in order.
    is_numbered : bool, default: False
        Whether others may be lost, so that nobody knows who computes what is left: then only what
        this replica computes is noted, each with its place, as ``loss_curve`` reads it.

    Attributes
    ----------
    losses : list of float
        As ``Training`` has them.
    """

    def __init__(
        self, lots: Lots, note: Callable[[str, Any], None], *, is_numbered: bool = False
    ) -> None:
        self.losses = lots.losses
        self._lots, self._note, self._n_noted = lots, note, 0
        self._is_numbered = is_numbered

    def batches(self, number: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Walk through the batches of a lot: their numbers and their examples."""
        plan, n_examples = self._lots.plan, self._lots.n_examples
        for step in self._lots.steps(number):
            self._note_until(self._place(step))
            epoch, place = divmod(step, plan.steps_per_epoch(n_examples))
            yield step, _epoch(n_examples, plan.batch_size, epoch, plan.seed)[place]

    def enter(self, step: int, loss: float) -> None:
        """Write down what a batch came to."""
        place = self._place(step)
        self.losses[place] = loss
        self._n_noted = place + 1
        self._note("loss_partial", np.array([place, loss]) if self._is_numbered else loss)

    def close(self) -> list[float]:
        """Return all losses; the batches that are left were others'."""
        self._note_until(len(self.losses))
        return self.losses

    def _place(self, step: int) -> int:
        return step - self._lots.steps(0).start

    def _note_until(self, place: int) -> None:
        while self._n_noted < place and not self._is_numbered:
            self._n_noted += 1
            self._note("loss_partial", 0.0)
