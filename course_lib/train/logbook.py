"""What a rank does between two epochs: evaluate, write down, keep a checkpoint, go on from one."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array
from course_lib.train import auto
from course_lib.train.beacon import Beacon
from course_lib.train.checkpoint import Checkpoint, load, save
from course_lib.train.entries import Scheme
from course_lib.train.errors import CheckpointError
from course_lib.train.row import Row
from course_lib.train.states import State, pack_states, unpack_states
from course_lib.training import SGD, Optimizer, Plan, Share, Stepper
from course_lib.training.optimizer import copied
from course_lib.words.namespace import as_numpy

__all__ = ["Keeping", "Logbook", "LoggedPlan"]

FIRST = 0


@dataclass(frozen=True)
class Keeping:
    """Where checkpoints are kept.

    Attributes
    ----------
    folder : Path or None
        Where; None keeps none. Only rank 0 needs to see it.
    every : int
        How many epochs lie between two of them; there is one after the last epoch, too.
    resume : bool
        Whether to go on from the one that is there.
    made_with : dict
        What to write into them; see ``Checkpoint``.
    token : str
        That of this training's ``Claim`` to the folder; empty if it has made none.
    is_virtual : bool or None
        Whether seconds are the simulator's, for the rows; None if nobody says.
    """

    folder: Path | None = None
    every: int = 1
    resume: bool = False
    made_with: dict[str, Any] = field(default_factory=dict)
    token: str = ""
    is_virtual: bool | None = None


@dataclass(frozen=True)
class LoggedPlan(Plan):
    """A plan that opens the logbook after each epoch's shares; to a scheme it is any other plan.

    Attributes
    ----------
    logbook : Logbook
        This rank's.
    """

    logbook: Any = field(kw_only=True, repr=False)

    def shares(
        self, n_examples: int, rank: int = 0, size: int = 1, w: Array = None
    ) -> Iterator[Share]:
        """Walk through the steps, count them, and open the logbook where an epoch is over."""
        steps = self.steps_per_epoch(n_examples)
        self.logbook.n_steps_expected = (self.epochs - self.first_epoch) * steps
        shares = super().shares(n_examples, rank, size, w)
        for step, share in enumerate(shares, start=self.first_epoch * steps + 1):
            yield share
            self.logbook.step_taken()
            if step % steps == 0:
                self.logbook.end_epoch(step // steps, is_last=step // steps == self.epochs)

    def keep(self, array: Array) -> Array:
        """Have the logbook keep an array, and return it as it was kept."""
        return self.logbook.keep(array)


class _Beside(NamedTuple):
    """An array that is kept as what an optimizer steps is."""

    w: Array
    state: Mapping[str, Array] = MappingProxyType({})
    n_steps: int = 0


class Logbook:
    """One rank's account of a training.

    Where all ranks hold the same, nothing is sent for it. Where each has a part or a model of its
    own, rank 0 is sent all of them at the end of every epoch, in messages with the tag "state".
    Where no rank holds the model, they evaluate it together; rank 0 is sent it for a checkpoint.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must make one.
    scheme : Scheme
        How they train. Its ``outputs``, where no rank holds the model, is called on all of them
        with the arrays that each steps, and returns on rank 0 what the last layer makes of the
        examples to train on, and of the others.
    evaluate : callable
        Returns the loss over what a model is trained on, and its score: of its parameters, or of
        those outputs.
    keeping : Keeping
        Where checkpoints are kept.
    beacon : Beacon
        Told by rank 0 how far it is.
    make : callable, default: SGD
        What takes the steps.

    Attributes
    ----------
    first_epoch : int
        How many epochs the checkpoint has, from which it goes on; 0 without.
    n_steps_expected : int
        How many steps there will be.
    rates : Rates
        What messages cost, for an all-reduce that chooses: the run's, or those that the training
        began with, so that it goes on with the same algorithm.
    rows : list of Row
        What each epoch came to, on rank 0.
    """

    def __init__(
        self, comm: Communicator, scheme: Scheme, evaluate: Callable[..., tuple[float, float]],
        keeping: Keeping, beacon: Beacon, make: Optimizer = SGD,
    ) -> None:  # fmt: skip
        self._comm, self._scheme, self._evaluate = comm, scheme, evaluate
        self._keeping, self._beacon = keeping, beacon
        self._make = make
        self._steppers: list[Stepper | _Beside] = []
        self._n_steps = self.n_steps_expected = 0
        self.rows: list[Row] = []
        self.first_epoch = 0
        self.rates = comm.rates
        self._kept: Sequence[State] = self._hand_out() if keeping.resume else ()
        comm.barrier()
        self._started_s = comm.clock()

    def optimizer(self, w: Array, plan: Plan) -> Stepper:
        """Make what a scheme takes its steps with, as it was kept, and remember it."""
        stepper = self._make(w, plan)
        if self._keeping.resume:
            state = self._kept_of(len(self._steppers), w)
            w[...] = copied(state.w, w)
            try:
                stepper.load(state.kept)
            except ValueError as error:
                raise CheckpointError(
                    f"the checkpoint in {self._keeping.folder} is damaged, in part "
                    f"{len(self._steppers)} of rank {self._comm.rank}: {error}"
                ) from error
            stepper.n_steps = state.n_steps
        self._steppers.append(stepper)
        return stepper

    def keep(self, array: Array) -> Array:
        """Remember an array that no optimizer steps; fill it with what was kept of it."""
        if self._keeping.resume:
            array[...] = copied(self._kept_of(len(self._steppers), array).w, array)
        self._steppers.append(_Beside(array))
        return array

    def step_taken(self) -> None:
        """Count a step."""
        self._n_steps += 1
        if self._comm.rank == FIRST:
            self._beacon.shine(self._n_steps, self.n_steps_expected)

    def end_epoch(self, epoch: int, is_last: bool) -> None:
        """Have rank 0 evaluate the model and keep a checkpoint; its time counts for no epoch."""
        if self._scheme.settles:
            self._comm.barrier()
        elif self._comm.rank != FIRST:  # the others are somewhere else, and go on
            return
        seconds = self._comm.clock() - self._started_s
        folder, every = self._keeping.folder, self._keeping.every
        is_kept = folder is not None and (is_last or epoch % every == 0)
        compute = self._scheme.outputs
        outputs = compute and compute([stepper.w for stepper in self._steppers])
        states = self._gather() if is_kept or outputs is None else []
        if self._comm.rank == FIRST:
            w: Array = (self._scheme.whole or _stand_for_all)(states) if states else None
            try:
                loss, score = self._evaluate(*(outputs or (w,)))
            except Exception as error:  # of a model or a score of one's own: its training is kept
                if states and np.isfinite(as_numpy(w)).all():
                    loss = getattr(error, "loss", math.nan)
                    self.rows.append(Row(epoch, loss, math.nan, seconds, self._keeping.is_virtual))
                    self._save(w, states)
                raise
            if not math.isfinite(loss):
                raise FloatingPointError(
                    f"the training has diverged: the loss after epoch {epoch} is {loss}; a smaller "
                    "learning_rate may help"
                )
            self.rows.append(Row(epoch, loss, score, seconds, self._keeping.is_virtual))
            self._beacon.shine(self._n_steps, self.n_steps_expected, self.rows[-1])
            if is_kept:
                self._save(w, states)
        if self._scheme.settles:
            self._comm.barrier()
        self._started_s = self._comm.clock()

    def _save(self, w: Array, states: Sequence[Sequence[State]]) -> None:
        """Keep a checkpoint of the epoch of the last row, if there is a folder."""
        if self._keeping.folder is not None:
            made_with = auto.to_keep(self.rates, self._keeping.made_with)
            checkpoint = Checkpoint(made_with, w, states, self.rows)
            save(self._keeping.folder, checkpoint, self._keeping.token)

    def _kept_of(self, index: int, w: Array) -> State:
        """Return what was kept of an optimizer, if it is of the length of the array it steps."""
        lengths = [state.w.size for state in self._kept]
        if lengths[index : index + 1] != [len(w)]:
            raise CheckpointError(
                f"the checkpoint in {self._keeping.folder} is damaged: rank {self._comm.rank} "
                f"needs {len(w)} parameters as its part {index}, and has parts of {lengths}"
            )
        return self._kept[index]

    def _gather(self) -> list[list[State]]:
        """Return what is to be kept: on rank 0 all ranks' states, if they differ."""
        own = [
            State(
                as_numpy(stepper.w),
                {name: as_numpy(array) for name, array in stepper.state.items()},
                stepper.n_steps,
            )
            for stepper in self._steppers
        ]
        if self._scheme.whole is None or not self._scheme.settles:
            return [own]
        if self._comm.rank != FIRST:
            packed = np.frombuffer(pack_states([own]), np.uint8)
            self._comm.send(packed, FIRST, tag="state")
            return []
        others = [self._comm.recv(src, tag="state") for src in range(1, self._comm.size)]
        return [own, *(unpack_states(packed.tobytes())[0][0] for packed in others)]

    def _hand_out(self) -> Sequence[State]:
        """Have rank 0 read the checkpoint and give every rank its states and the epoch."""
        if self._comm.rank != FIRST:
            states, more = unpack_states(self._comm.recv(FIRST, tag="state").tobytes())
            self.first_epoch = int(more["epoch"])
            kept = dict(zip(auto.NUMBERS, more["rates"].tolist(), strict=True))
            self.rates = auto.kept(kept, self.rates)
            return states[0]
        assert self._keeping.folder is not None
        checkpoint = load(self._keeping.folder)
        self.rows = list(checkpoint.rows)
        self.first_epoch = self.rows[-1].epoch
        self.rates = auto.kept(checkpoint.made_with, self.rates)
        for rank in range(1, self._comm.size):
            packed = pack_states(
                [checkpoint.of_rank(rank)], epoch=np.array(self.first_epoch),
                rates=np.array(self.rates.numbers),
            )  # fmt: skip
            self._comm.send(np.frombuffer(packed, np.uint8), rank, tag="state")
        return checkpoint.of_rank(FIRST)


def _stand_for_all(states: Sequence[Sequence[State]]) -> Array:
    return np.concatenate([state.w for state in states[FIRST]])
