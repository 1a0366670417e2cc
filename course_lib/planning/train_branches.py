"""Branches side by side: a branching net is trained, each layer where it is placed."""

from functools import partial
from typing import NamedTuple

import numpy as np

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array
from course_lib.planning.branches import BranchingNet, branching_step
from course_lib.planning.executor import execute
from course_lib.planning.graph import Placement
from course_lib.training import SGD, Optimizer, Plan, check_plan, in_parts, norm_of_all

__all__ = ["Branched", "train_branches"]


class Branched(NamedTuple):
    """What training gave one worker.

    Attributes
    ----------
    parameters : dict of str to array
        Those of its own layers, by their names, after the last step.
    losses : list of float
        The loss before each step, where the head's last layer is; empty elsewhere.
    """

    parameters: dict[str, Array]
    losses: list[float]


def train_branches(
    comm: Communicator, net: BranchingNet, X: Array, y: Array, plan: Plan, placement: Placement,
    optimizer: Optimizer = SGD,
) -> Branched:  # fmt: skip
    """Train a branching net, each layer where it is placed.

    A step is a graph: ``execute`` computes it and sends what crosses the cut. The gradient of a
    layer is found where its parameters are, so that it is stepped there and never sent.

    Parameters
    ----------
    comm : Communicator
        The workers.
    net : BranchingNet
        What is trained; a worker draws and keeps the parameters of its own layers only.
    X, y : array, shapes (m, ...) and (m,)
        The examples and the numbers of their classes.
    plan : Plan
        How to train.
    placement : mapping of str to int
        The rank of each node of a step: see ``place_branches``.
    optimizer : callable, default: SGD
        What takes the steps, one for each layer.

    Returns
    -------
    Branched
        This worker's layers, and the losses where the head is.

    Raises
    ------
    ValueError
        If the placement is unusable, a layer's parameters and gradient are apart, or the plan has
        an ``on_epoch``, which wants all parameters.

    Notes
    -----
    Cost of one step: that of ``execute`` for ``branching_step``, as often as the plan accumulates.
    A plan that clips adds an all-reduce of one number.
    """
    check_plan(plan, "train_branches", "on_epoch")  # no rank holds the model
    branching_step(net, 1).check_placement(placement, comm.size)
    for name in net.layers:
        if placement[f"{name} parameters"] != placement[f"{name} weight gradient"]:
            raise ValueError(f"placement must keep parameters and gradient of {name!r} together")
    own = [name for name in net.layers if placement[f"{name} parameters"] == comm.rank]
    parameters = {name: net.initial_of(name, plan.seed) for name in own}
    grads = {name: np.zeros_like(w) for name, w in parameters.items()}
    steppers = {name: optimizer(w, plan) for name, w in parameters.items()}
    has_loss, losses = placement["loss"] == comm.rank, []
    for examples, _ in plan.shares(len(y)):  # the whole batch: everybody has the same
        loss = 0.0
        for part, weight in in_parts(examples, plan.accumulate):
            x = np.asarray(X[part], np.float64).reshape(-1, *net.input_shape)
            graph = branching_step(net, len(part), parameters)
            results = execute(comm, graph, placement, {"x": x, "y": y[part]})
            loss += weight * results.get("loss", 0.0)
            for name in own:
                grads[name] += weight * results[f"{name} weight gradient"]
        if has_loss:
            losses.append(loss)
        whole = np.concatenate([[], *grads.values()])  # of this rank, which may have no layer
        norm = norm_of_all(plan, whole, partial(allreduce_ring, comm))
        for name in own:
            steppers[name].step(grads[name], norm)
            grads[name][...] = 0
    return Branched(parameters, losses)
