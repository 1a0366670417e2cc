"""Ways to train, one file each.

What they share is said here, and in a file only what is its own: the idea, the cost of a step, an
invariant, and then the scheme.

A scheme is a function that all ranks of ``comm`` call with the same arguments. Every rank has all
examples, and uses its own part of each batch only. ``plan.shares`` gives it that part, and the
weight of the part in the batch: gradients that are weighted so add up to the batch's. It notes its
share of the loss of every step as ``"loss_partial"``: the sum over the ranks is the loss before
that step. In a ``Cost``, P is the number of ranks and n the bytes of the parameters.

    comm : Communicator
        The group of ranks.
    model : Model
        What is trained; a ``Chain`` where it is split. ``map_reduce`` and ``one_shot_averaging``
        fit a linear regression, which they make themselves; the latter has no plan, and returns the
        parameters alone.
    X : array, shape (m, ...)
        The examples, the same on every rank.
    y : array, shape (m,)
        Their targets.
    plan : Plan
        How to train. Its schedule, weight decay, clipping, accumulation and ``on_epoch`` are those
        of one process; a scheme that cannot have one of them refuses it. Where models are averaged,
        each rank clips the gradient of its own examples.
    allreduce : callable, default: allreduce_ring
        Any all-reduce of ``course_lib.collectives``.
    optimizer : callable, default: SGD
        Called with the parameters that this rank steps, and the plan; what it returns takes a step,
        in place, with ``step(grad)``, or ``step(grad, norm)`` where the rank steps a part of the
        model and the whole gradient has that norm. ``AdamW`` and ``from_torch`` of
        ``course_lib.training`` are others.

Returns
-------
Training
    The parameters, the same on every rank where a file says nothing else, and this rank's share of
    the losses, 0 where it has not computed a gradient.

Raises
------
ValueError
    If there are too few ranks, or an option is not what its description says.
"""

from course_lib.schemes.data_parallel import data_parallel
from course_lib.schemes.hybrid import hybrid
from course_lib.schemes.layerwise import layerwise
from course_lib.schemes.layerwise_bucketed import layerwise_bucketed
from course_lib.schemes.map_reduce import map_reduce
from course_lib.schemes.model_parallel import model_parallel
from course_lib.schemes.nn_data_parallel import nn_data_parallel
from course_lib.schemes.one_shot_averaging import one_shot_averaging
from course_lib.schemes.one_shot_training import one_shot_training
from course_lib.schemes.parameter_averaging import parameter_averaging
from course_lib.schemes.parameter_server import parameter_server
from course_lib.schemes.parameter_server_on_worker import parameter_server_on_worker
from course_lib.schemes.pipeline import pipeline
from course_lib.schemes.priority import priority
from course_lib.schemes.serial import gradient_descent, serial, train
from course_lib.schemes.sharded_data_parallel import sharded_data_parallel
from course_lib.schemes.sharded_gradients import sharded_gradients
from course_lib.schemes.sharded_parameter_server import sharded_parameter_server
from course_lib.schemes.sharded_parameters import sharded_parameters
from course_lib.schemes.split_weights import split_weights

__all__ = [
    "data_parallel",
    "gradient_descent",
    "hybrid",
    "layerwise",
    "layerwise_bucketed",
    "map_reduce",
    "model_parallel",
    "nn_data_parallel",
    "one_shot_averaging",
    "one_shot_training",
    "parameter_averaging",
    "parameter_server",
    "parameter_server_on_worker",
    "pipeline",
    "priority",
    "serial",
    "sharded_data_parallel",
    "sharded_gradients",
    "sharded_parameter_server",
    "sharded_parameters",
    "split_weights",
    "train",
]
