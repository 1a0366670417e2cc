"""The model in parts, and the batch too: while one rank has a micro-batch, the next has another."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.comm.pending import Pending
from course_lib.models.model import Array, Batch
from course_lib.pipelines import Action, MakesSchedule, Schedule, check_schedule, one_f_one_b
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.stages import Stage, cut_into_stages
from course_lib.words.split import split_evenly

if TYPE_CHECKING:
    from course_lib.models.chain import Chain

__all__ = ["joined", "pipeline", "schedule_for"]

_WORDS = {"F": "forward", "I": "input gradient", "W": "weight gradient", "B": "backward"}


def pipeline(
    comm: Communicator, model: "Chain", X: Array, y: Array, plan: Plan,
    schedule: MakesSchedule = one_f_one_b, microbatches: int = 8, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train a model that is cut into stages, with batches that are cut into micro-batches.

    A schedule says what each rank does, one action after another, and this does it, whatever it
    says: wait for what the action needs, compute, hand on what it has made. Messages travel while
    the rank computes. All micro-batches of a step see the same parameters, and the step is taken
    when all have been back; so it is the step of the whole batch, as if nothing had been cut.

    Parameters
    ----------
    schedule : callable, default: one_f_one_b
        Called with P and ``microbatches``; one of ``course_lib.pipelines``, or your own.
    microbatches : int, default: 8
        Into how many parts a batch is cut, M. If they are not equally large, each counts for as
        many examples as it has; where a last batch has fewer than M, some of them are left out.

    Notes
    -----
    Cost of one step: the time that ``Schedule.times`` works out, and for each micro-batch two
    messages over each cut between ranks: what a stage makes of it, and back its slope. On a rank:
    the parameters of its stages, and the activations of ``Schedule.peak`` micro-batches; how many
    it holds is noted as "activations_held", in pairs of a stage and a micro-batch.

    Invariant: a rank's parameters are those of its own layers, and no other rank has them.

    What is returned are the parameters of this rank's stages, one after another; ``joined`` puts
    together the model. On the timeline and on messages an action is called as in the schedule:
    ``forward 2F1`` is stage 2's, of micro-batch 1.

    References
    ----------
    Y. Huang, Y. Cheng, A. Bapna et al., "GPipe: Efficient training of giant neural networks using
    pipeline parallelism", NeurIPS 2019. The files of ``course_lib.pipelines`` name those of the
    other schedules.
    """
    check_training(model, X, y)
    made = schedule_for(comm.size, schedule, microbatches, min(plan.batch_size, len(y)))
    layers = cut_into_stages(model, made.n_stages)
    stages = {k: Stage(model, layers[k], plan.seed) for k in made.stages_of(comm.rank)}
    sgds = {k: optimizer(stage.w, plan) for k, stage in stages.items()}
    losses = []
    for examples, _ in plan.shares(len(y)):  # the whole batch: everybody has the same
        step = _Step(comm, made, stages, (model.examples(X[examples]), y[examples]))
        losses.append(step.perform())
        comm.note("loss_partial", losses[-1])
        for k, stage in stages.items():
            with comm.compute("update", flops=2.0 * len(stage.w)):
                sgds[k].step(stage.grad)
            stage.grad[...] = 0
    return Training(np.concatenate([stage.w for stage in stages.values()]), losses)


class _Step:
    """One rank's part of a step: its actions in their order, and the messages between them."""

    def __init__(
        self, comm: Communicator, schedule: Schedule, stages: Mapping[int, Stage], batch: Batch
    ) -> None:
        self.comm, self.schedule, self.stages = comm, schedule, stages
        self.X, self.y = batch
        self.rows = split_evenly(len(self.y), schedule.microbatches)
        self.here: dict[Action, Array] = {}  # made by one of our stages for another
        self.coming = {
            made: comm.irecv(src, tag=str(made))
            for src in range(comm.size) if src != comm.rank
            for made, dst in self._sent_by(src) if dst == comm.rank
        }  # fmt: skip
        self.going: dict[Action, Pending[None]] = {}
        self.loss = 0.0

    def perform(self) -> float:
        """Do all actions; return this rank's part of the loss."""
        for action in self._order(self.comm.rank):
            stage, n = self.stages[action.stage], self._size(action)
            given = self._given(action)
            name = f"{_WORDS[action.kind]} {action}"
            with self.comm.compute(name, flops=stage.flops(action.kind, n)):
                result = self._computed(action, stage, given)
            self._hand_on(action, result)
            if action.kind != "I":
                n_held = sum(stage.n_held for stage in self.stages.values())
                self.comm.note("activations_held", n_held)
        for message in self.going.values():
            message.wait()
        return self.loss

    def _order(self, rank: int) -> Sequence[Action]:
        """Return a rank's actions without those for micro-batches that have no example."""
        return [action for action in self.schedule.orders[rank] if self._size(action)]

    def _size(self, action: Action) -> int:
        rows = self.rows[action.microbatch]
        return int(rows.stop - rows.start)

    def _sent_by(self, src: int) -> list[tuple[Action, int]]:
        """Return what a rank makes for other ranks, and for whom, in the order in which it does."""
        sent = [(action, self._home(action)) for action in self._order(src)]
        return [(_known_as(action), dst) for action, dst in sent if dst not in (None, src)]

    def _home(self, action: Action) -> int | None:
        """Return the rank that needs what an action makes; None if no other stage does."""
        to = {"F": action.stage + 1, "W": -1}.get(action.kind, action.stage - 1)
        return self.schedule.placement[to] if 0 <= to < self.schedule.n_stages else None

    def _given(self, action: Action) -> Array:
        """Wait for what an action needs from another stage."""
        kind, k, microbatch = action
        if kind == "W":
            return None
        if kind == "F" and k == 0:
            return self.X[self.rows[microbatch]]
        other = Action("F", k - 1, microbatch) if kind == "F" else Action("I", k + 1, microbatch)
        found = self.here.pop(other) if other in self.here else self.coming.pop(other).wait()
        if kind != "F" and (sent := self.going.pop(Action("F", k, microbatch), None)):
            sent.wait()  # it has been received, or nothing could have come back
        return found

    def _computed(self, action: Action, stage: Stage, given: Array) -> Array:
        kind, k, microbatch = action
        result = None
        if kind == "F":
            result = stage.forward(given, microbatch)
            if k == self.schedule.n_stages - 1:
                self._begin_back(action, result)
        if kind in "IB":
            result = stage.input_gradient(given, microbatch)
        if kind in "WB":
            stage.weight_gradient(microbatch)
        return result

    def _begin_back(self, action: Action, outputs: Array) -> None:
        """Compute the loss: its slope comes to the last stage as if from a stage behind it."""
        from course_lib.models.torch_passes import loss_and_slope  # torch takes seconds to load

        weight = self._size(action) / len(self.y)  # so that the parts add up to the batch's mean
        y = self.y[self.rows[action.microbatch]]
        loss, slope = loss_and_slope(outputs, y, weight)
        self.loss += loss
        self.here[Action("I", action.stage + 1, action.microbatch)] = slope

    def _hand_on(self, action: Action, result: Array) -> None:
        """Give what an action has made to the stage that needs it, wherever that is."""
        home, made = self._home(action), _known_as(action)
        if home == self.comm.rank:
            self.here[made] = result
        elif home is not None:
            self.going[made] = self.comm.isend(result, home, tag=str(made))


def _known_as(action: Action) -> Action:
    """Name what another stage gets from an action: the slope is the same from an I and a B."""
    return action if action.kind == "F" else action._replace(kind="I")


def schedule_for(
    ranks: int, schedule: MakesSchedule, microbatches: int, n_examples: int
) -> Schedule:
    """Make a schedule, and refuse it if it is not for these ranks and batches.

    Parameters
    ----------
    ranks : int
        How many there are.
    schedule : callable
        Makes it, of the number of ranks and of micro-batches.
    microbatches : int
        Into how many parts a batch is cut.
    n_examples : int
        How many examples a batch has.

    Returns
    -------
    Schedule
        It can be carried out.

    Raises
    ------
    TypeError, ValueError
        If it cannot, or is for other numbers, or if there are more micro-batches than examples.
    """
    if not callable(schedule):
        raise TypeError(
            "schedule must be a function of the number of ranks and of micro-batches, such as "
            f"gpipe of course_lib.pipelines, got {schedule!r} ({type(schedule).__name__})"
        )
    made: Schedule = schedule(ranks, microbatches)
    check_schedule(made)
    if made.n_ranks != ranks:
        raise ValueError(f"schedule must be for {ranks} ranks, got one for {made.n_ranks}")
    if made.microbatches != microbatches:
        raise ValueError(
            f"schedule must be for {microbatches} micro-batches, got one for {made.microbatches}"
        )
    if microbatches > n_examples:
        raise ValueError(
            f"microbatches must be no more than the examples of a batch, {n_examples}, "
            f"got {microbatches}"
        )
    return made


def joined(schedule: Schedule, model: "Chain", parts: Sequence[Array]) -> Array:
    """Put the model together from what ``pipeline`` has returned on all ranks.

    Parameters
    ----------
    schedule : Schedule
        By which it was trained: it says where each stage is.
    model : Chain
        The model.
    parts : sequence of array
        Each rank's parameters.

    Returns
    -------
    numpy.ndarray, shape (n_parameters,)
        All of them, in the order of the layers.
    """
    layers = cut_into_stages(model, schedule.n_stages)
    found: dict[int, Array] = {}
    for rank, part in enumerate(parts):
        own = schedule.stages_of(rank)
        lengths = [sum(model.layers[k].n_parameters for k in layers[stage]) for stage in own]
        found |= dict(zip(own, np.split(part, list(accumulate(lengths))[:-1]), strict=True))
    return np.concatenate([found[stage] for stage in range(schedule.n_stages)])
