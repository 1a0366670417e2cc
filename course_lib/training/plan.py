"""How to train: the numbers that all workers agree on, and who computes with which examples."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.models.model import Array, Batch, Model
from course_lib.training.batches import epoch_batches
from course_lib.training.shards import split_evenly
from course_lib.words.whole import as_int

__all__ = ["Plan", "Share", "Training", "partial_gradient"]


class Training(NamedTuple):
    """What a training run gave one worker.

    Attributes
    ----------
    w : array, shape (n_parameters,)
        The parameters after the last step.
    losses : list of float
        For each step, this worker's share of the mean loss over the step's batch: the sum over the
        workers is the loss before that step.
    """

    w: Array
    losses: list[float]


class Share(NamedTuple):
    """One worker's part of one step's batch.

    Attributes
    ----------
    examples : numpy.ndarray of int
        Their numbers; perhaps none.
    weight : float
        What part of the batch they are, 0 to 1.
    """

    examples: NDArray[np.int64]
    weight: float


@dataclass(frozen=True)
class Plan:
    """How to train; the same on every worker, so that nobody has to tell anybody.

    Attributes
    ----------
    learning_rate : float, default: 0.1
        How far to go against the gradient of the mean loss.
    batch_size : int, default: 64
        How many examples all workers together take in a step.
    epochs : int, default: 1
        How often to go through all examples.
    momentum : float, default: 0.0
        How much of the last step's direction is kept, above -1 and below 1. Below 0 steps damp each
        other, which can pay where stale gradients bring a momentum of their own (Mitliagkas et al.,
        2016).
    warmup_steps : int, default: 0
        Over how many steps the learning rate rises to its full value, in equal parts.
    seed : int, default: 0
        Of the first parameters and of the order of the examples.
    first_epoch : int, default: 0
        Which epoch to begin with: those before it have been trained already.
    weight_decay : float, default: 0.0
        How much parameters shrink in a step, beside the gradient; each optimizer says how.
    schedule : callable or None, default: None
        Called with a step, counted from the end of the warm-up, returns what the learning rate is
        multiplied by: ``Cosine(steps)``, ``StepDecay(every)``, or any function.
    clip : float or None, default: None
        How long the gradient of a step's batch may be, over all parameters together.
    accumulate : int, default: 1
        In how many parts, one after the other, each worker computes its part of a batch's gradient:
        fewer activations to hold, and the same gradient. As many messages where the gradient is
        sent whole, more where it goes to shards, or where activations or parameters are sent.
    on_epoch : callable or None, default: None
        Called on rank 0 with the number of an epoch, from 1, and the parameters after it, which it
        must not change. Where every rank trains alone, in ``serial`` and ``one_shot_training``,
        each calls it; where models are averaged it is rank 0's own; a scheme whose rank 0 does not
        hold the model refuses it.

    Examples
    --------
    >>> plan = Plan(learning_rate=0.4, warmup_steps=4)
    >>> [round(plan.rate(step), 2) for step in range(6)]
    [0.1, 0.2, 0.3, 0.4, 0.4, 0.4]
    """

    learning_rate: float = 0.1
    batch_size: int = 64
    epochs: int = 1
    momentum: float = 0.0
    warmup_steps: int = 0
    seed: int = 0
    first_epoch: int = 0
    weight_decay: float = 0.0
    schedule: Callable[[int], float] | None = None
    clip: float | None = None
    accumulate: int = 1
    on_epoch: Callable[[int, Array], object] | None = None

    def __post_init__(self) -> None:
        """Check every number once, before anything is started."""
        for name in ("batch_size", "epochs", "warmup_steps", "seed", "first_epoch", "accumulate"):
            given: Any = getattr(self, name)
            if (value := as_int(given)) is None:
                raise TypeError(f"{name} must be an int, got {given!r} ({type(given).__name__})")
            object.__setattr__(self, name, value)
            least = 1 if name in ("batch_size", "accumulate") else 0
            if value < least:
                raise ValueError(f"{name} must be {least} or more, got {value}")
        for name in ("learning_rate", "momentum", "weight_decay", "clip"):
            given = getattr(self, name)
            if given is None and name == "clip":
                continue
            if isinstance(given, np.integer | np.floating):
                object.__setattr__(self, name, given.item())
            elif isinstance(given, bool) or not isinstance(given, int | float):
                raise TypeError(f"{name} must be a number, got {given!r} ({type(given).__name__})")
        if not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate must be above 0 and finite, got {self.learning_rate}")
        if not -1 < self.momentum < 1:
            raise ValueError(f"momentum must be above -1 and below 1, got {self.momentum}")
        if not 0 <= self.weight_decay < float("inf"):
            raise ValueError(f"weight_decay must be 0 or more and finite, got {self.weight_decay}")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip must be None or above 0, got {self.clip}")
        for name in ("schedule", "on_epoch"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise TypeError(f"{name} must be None or something to call, got {given!r}")

    def rate(self, step: int) -> float:
        """Return the learning rate of a step.

        Parameters
        ----------
        step : int
            Counted from 0 over all epochs.

        Returns
        -------
        float
            ``learning_rate``, or the part of it that the warm-up allows, and then the schedule.
        """
        if step >= self.warmup_steps:
            factor = 1.0 if self.schedule is None else self.schedule(step - self.warmup_steps)
            return float(self.learning_rate * factor)
        return self.learning_rate * (step + 1) / self.warmup_steps

    def scaled(self, workers: int) -> "Plan":
        """Return the plan for a batch that is ``workers`` times as large.

        The learning rate grows with it: so many fewer steps have to go as far.

        Parameters
        ----------
        workers : int
            The factor.

        Returns
        -------
        Plan
            With ``workers`` times the batch size and the learning rate.

        References
        ----------
        P. Goyal, P. Dollár, R. Girshick et al., "Accurate, large minibatch SGD: training ImageNet
        in 1 hour", arXiv:1706.02677, 2017.
        """
        return replace(
            self,
            batch_size=self.batch_size * workers,
            learning_rate=self.learning_rate * workers,
        )

    def shares(
        self, n_examples: int, rank: int = 0, size: int = 1, w: Array = None
    ) -> Iterator[Share]:
        """Walk through the steps of all epochs and give one worker's part of each batch.

        Parameters
        ----------
        n_examples : int
            How many examples there are.
        rank, size : int, default: 0 and 1
            This worker's number, and how many there are.
        w : array or None, default: None
            The parameters that this rank steps, for ``on_epoch``: where the scheme asks for the
            first step of another epoch, all steps are taken.

        Yields
        ------
        Share
            One for each step; over the workers the weights of a step add up to 1.
        """
        for epoch in range(self.first_epoch, self.epochs):
            for batch in epoch_batches(n_examples, self.batch_size, epoch, self.seed):
                examples = batch[split_evenly(len(batch), size)[rank]]
                yield Share(examples, len(examples) / len(batch))
            if self.on_epoch is not None and rank == 0 and w is not None:
                self.on_epoch(epoch + 1, w)

    def keep(self, array: Array) -> Array:
        """Have checkpoints keep an array that this rank goes on from, beside what it steps.

        Every rank calls it as often, and in the same order as it makes its optimizers; from then on
        the array is changed in place.

        Parameters
        ----------
        array : array, shape (n,)
            What it is at the start, in the dtype of the parameters.

        Returns
        -------
        array
            The same, as it was kept where a training goes on.
        """
        return array

    def steps_per_epoch(self, n_examples: int) -> int:
        """Count the steps of one epoch.

        Parameters
        ----------
        n_examples : int
            How many examples there are.

        Returns
        -------
        int
            As many as there are batches.
        """
        return math.ceil(n_examples / self.batch_size)


def partial_gradient(model: Model, w: Array, batch: Batch, weight: float) -> tuple[float, Array]:
    """Compute what a worker's examples contribute to the gradient of the whole batch.

    Parameters
    ----------
    model : Model
        What is trained.
    w : array, shape (n_parameters,)
        The parameters.
    batch : tuple of arrays
        This worker's examples, perhaps none.
    weight : float
        What part of the whole batch they are.

    Returns
    -------
    loss_partial : float
        Their share of the mean loss over the whole batch.
    grad_partial : array, shape (n_parameters,)
        Their share of its gradient: the sum over the workers is the gradient, however unequal the
        parts are.
    """
    if len(batch[1]) == 0:
        return 0.0, w * 0
    return model.gradient(w, batch, weight)
