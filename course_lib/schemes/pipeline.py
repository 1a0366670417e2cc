"""The model in parts, and the batch too: while one rank has a micro-batch, the next has another."""

from functools import partial

import numpy as np

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.chain import Chain
from course_lib.models.model import Array
from course_lib.pipelines import MakesSchedule, Schedule, one_f_one_b, schedule_for
from course_lib.pipelines.step import Step
from course_lib.training import SGD, Optimizer, Plan, Training, in_parts, norm_of_all
from course_lib.training.stages import Cut, Stage, check_staged, cut_into_stages

__all__ = ["joined", "pipeline"]


def pipeline(
    comm: Communicator, model: Chain, X: Array, y: Array, plan: Plan,
    schedule: MakesSchedule = one_f_one_b, microbatches: int = 8, optimizer: Optimizer = SGD,
    cut: Cut = cut_into_stages,
) -> Training:  # fmt: skip
    """Train a model that is cut into stages, with batches that are cut into micro-batches.

    A ``Step`` carries out the schedule. All its micro-batches see the same parameters, so their
    weighted gradients add up to the batch's.

    Parameters
    ----------
    schedule : callable, default: one_f_one_b
        Called with P and ``microbatches``; one of ``course_lib.pipelines``, or your own.
    microbatches : int, default: 8
        Into how many parts a batch is cut, M. Each counts for as many examples as it has.
    cut : callable, default: cut_into_stages
        Numbers of layers that differ by one at most; or ``cut_by_flops``: ``training.stages``.

    Notes
    -----
    Cost of one step with 1F1B: M + P - 1 passes of a micro-batch through a stage and back, P - 1 of
    them idle; activations of P - r micro-batches on rank r; 2 M messages over each cut.
    Invariant: no rank has parameters of other ranks' layers; ``joined`` makes the model of them.

    References
    ----------
    Y. Huang, Y. Cheng, A. Bapna et al., "GPipe", NeurIPS 2019; ``pipelines`` names others.
    """
    check_staged(model, X, y, plan, optimizer=optimizer, cut=cut)
    made = schedule_for(comm.size, schedule, microbatches, min(plan.batch_size, len(y)))
    layers = cut(model, made.n_stages)
    stages = {k: Stage(model, layers[k], plan.seed) for k in made.stages_of(comm.rank)}
    sgds = {k: optimizer(stage.w, plan) for k, stage in stages.items()}
    losses = []
    for examples, _ in plan.shares(len(y)):  # the whole batch: everybody has the same
        losses.append(0.0)
        for part, weight in in_parts(examples, plan.accumulate):
            step = Step(comm, made, stages, (model.examples(X[part]), y[part]), weight)
            losses[-1] += step.perform()
        comm.note("loss_partial", losses[-1])
        grads = np.concatenate([stage.grad for stage in stages.values()]) if plan.clip else None
        norm = norm_of_all(plan, grads, partial(allreduce_ring, comm))
        for k, stage in stages.items():
            with comm.compute("update", flops=2.0 * len(stage.w)):
                sgds[k].step(stage.grad, norm)
            stage.grad[...] = 0
    return Training(np.concatenate([stage.w for stage in stages.values()]), losses)


def joined(
    schedule: Schedule, model: Chain, parts: list[Array], cut: Cut = cut_into_stages
) -> Array:
    """Put the model together from what ``pipeline`` has returned on all ranks.

    Parameters
    ----------
    schedule : Schedule
        By which it was trained: it says where each stage is.
    model : Chain
        The model.
    parts : list of array
        Each rank's parameters.
    cut : callable, default: cut_into_stages
        How the model was cut.

    Returns
    -------
    numpy.ndarray, shape (n_parameters,)
        All of them, in the order of the layers.
    """
    layers = cut(model, schedule.n_stages)
    found: dict[int, Array] = {}
    for rank, part in enumerate(parts):
        rest = part
        for stage in schedule.stages_of(rank):
            n = sum(model.layers[k].n_parameters for k in layers[stage])
            found[stage], rest = rest[:n], rest[n:]
    return np.concatenate([found[stage] for stage in range(schedule.n_stages)])
