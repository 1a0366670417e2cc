"""The model in parts, and the batch too: while one rank has a micro-batch, the next has another."""

from typing import TYPE_CHECKING

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array
from course_lib.pipelines import MakesSchedule, Schedule, one_f_one_b, schedule_for
from course_lib.pipelines.step import Step
from course_lib.training import SGD, Optimizer, Plan, Training, check_training
from course_lib.training.stages import Stage, cut_into_stages

if TYPE_CHECKING:
    from course_lib.models.chain import Chain

__all__ = ["joined", "pipeline"]


def pipeline(
    comm: Communicator, model: "Chain", X: Array, y: Array, plan: Plan,
    schedule: MakesSchedule = one_f_one_b, microbatches: int = 8, optimizer: Optimizer = SGD,
) -> Training:  # fmt: skip
    """Train a model that is cut into stages, with batches that are cut into micro-batches.

    A ``Step`` carries out what the schedule says. All micro-batches see the same parameters, which
    change when all have been forward and back: it is the step of the whole batch.

    Parameters
    ----------
    schedule : callable, default: one_f_one_b
        Called with P and ``microbatches``; one of ``course_lib.pipelines``, or your own.
    microbatches : int, default: 8
        Into how many parts a batch is cut, M. Each counts for as many examples as it has.

    Notes
    -----
    Cost of one step: time and activations as ``Schedule.times`` and ``Schedule.peak`` say; 2 M
    messages over each cut between ranks, what a stage makes of a micro-batch and back its slope.

    Invariant: a rank's parameters are those of its own layers, and no other rank has them: they are
    what is returned, stage after stage, and ``joined`` makes the model of them.

    References
    ----------
    Y. Huang, Y. Cheng, A. Bapna et al., "GPipe", NeurIPS 2019; ``pipelines`` names others.
    """
    check_training(model, X, y)
    made = schedule_for(comm.size, schedule, microbatches, min(plan.batch_size, len(y)))
    layers = cut_into_stages(model, made.n_stages)
    stages = {k: Stage(model, layers[k], plan.seed) for k in made.stages_of(comm.rank)}
    sgds = {k: optimizer(stage.w, plan) for k, stage in stages.items()}
    losses = []
    for examples, _ in plan.shares(len(y)):  # the whole batch: everybody has the same
        step = Step(comm, made, stages, (model.examples(X[examples]), y[examples]))
        losses.append(step.perform())
        comm.note("loss_partial", losses[-1])
        for k, stage in stages.items():
            with comm.compute("update", flops=2.0 * len(stage.w)):
                sgds[k].step(stage.grad)
            stage.grad[...] = 0
    return Training(np.concatenate([stage.w for stage in stages.values()]), losses)


def joined(schedule: Schedule, model: "Chain", parts: list[Array]) -> Array:
    """Put the model together from what ``pipeline`` has returned on all ranks.

    Parameters
    ----------
    schedule : Schedule
        By which it was trained: it says where each stage is.
    model : Chain
        The model.
    parts : list of array
        Each rank's parameters.

    Returns
    -------
    numpy.ndarray, shape (n_parameters,)
        All of them, in the order of the layers.
    """
    layers = cut_into_stages(model, schedule.n_stages)
    found: dict[int, Array] = {}
    for rank, part in enumerate(parts):
        rest = part
        for stage in schedule.stages_of(rank):
            n = sum(model.layers[k].n_parameters for k in layers[stage])
            found[stage], rest = rest[:n], rest[n:]
    return np.concatenate([found[stage] for stage in range(schedule.n_stages)])
