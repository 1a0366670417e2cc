"""A plan's batches where nobody waits: dealt in their order, to whichever replica is free."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Array
from course_lib.training.plan import Plan

__all__ = ["Lots"]


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

    def batches(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Walk through the batches of all epochs, round and round.

        Lots come in order, but for those that a replica has lost: they are dealt last, and another
        walk comes to them.

        Yields
        ------
        tuple of int and numpy.ndarray of int
            A batch's number and its examples.
        """
        begin = self.steps(0).start
        while self.losses:
            for step, (examples, _) in enumerate(self.plan.shares(self.n_examples), start=begin):
                yield step, examples

    @property
    def losses(self) -> list[float]:
        """The losses of a rank that computes none."""
        epochs = max(self.plan.epochs - self.plan.first_epoch, 0)
        return [0.0] * (epochs * self.plan.steps_per_epoch(self.n_examples))

    @property
    def _of_an_epoch(self) -> int:
        return math.ceil(self.plan.steps_per_epoch(self.n_examples) / self.size)
