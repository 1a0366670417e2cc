"""Ways to train, one file each.

What they share is said here, and in a file only what is its own: the idea, the cost of a step, an
invariant, and then the scheme.

A scheme is a function that all ranks of ``comm`` call with the same arguments. Every rank has all
examples, and uses its own part of each batch only. ``plan.shares`` gives it that part, and the
weight of the part in the batch: gradients that are weighted so add up to the batch's. The model
that ``check_training`` returns computes in ``plan.accumulate`` parts. A *slope* in something is the
gradient of the loss by it. Where no rank has the whole gradient, a plan that clips adds an
all-reduce of one number. Every rank notes its share of the loss of every step as
``"loss_partial"``: the sum over the ranks is the loss before that step. In a ``Cost``, P is the
number of ranks and n the bytes of the parameters.

Where replicas have their own pace (``downpour``, ``asynchronous_averaging``, ``bounded_staleness``,
``backup_workers``, ``staleness_aware``), a server on rank 0 steps with what comes, when it comes,
and the other ranks are replicas; P is 1 + W then. A batch of the plan is one replica's: the server
deals batches in their order to whoever is free (``Lots`` of ``course_lib.training``), so that every
batch of an epoch is computed once, and an epoch is over with as many updates as it has batches.
(``backup_workers`` partitions every batch, as synchronous schemes do; whoever passes over a step
notes no loss of it, so the sum is that of the other parts only. In ``distbelief`` the first ranks
are servers, and a replica is several ranks.) With W replicas such a plan goes as far as
``plan.scaled(W)`` in synchronous training. The loss of a step is that of its batch, at the
parameters that its replica had then. The schedule of the learning rate counts updates. The server
notes the ``"staleness"`` of every update: how many updates were made since its parameters were
read; and ``"w"`` after it where that is two numbers. Results depend on times: in the simulator the
same times give the same result to the bit, and a network's ``with_service_times`` chooses them. A
loss that is no number ends the run with ``FloatingPointError`` when it is seen.

In a run with ``survive=True``, ``downpour`` (where pushes are not answered with parameters),
``asynchronous_averaging``, ``bounded_staleness``, ``staleness_aware`` and ``backup_workers`` go on
without the replicas that are lost, and with those that are started again. What a lost replica had
under way is dealt again when all else is, and no update is made twice (``backup_workers`` drops it,
as what comes late, and goes on while no more than ``backups`` workers are lost for good).
``downpour`` with ``keep`` also goes on when a server is lost and started again: from its last
checkpoint, and the server notes how many updates were lost since. Without that, a training ends
when its server is lost. Other schemes end when a rank is lost, in every run.

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

from course_lib.schemes.asynchronous_averaging import asynchronous_averaging
from course_lib.schemes.backup_workers import backup_workers
from course_lib.schemes.bounded_staleness import bounded_staleness
from course_lib.schemes.compressed import compressed
from course_lib.schemes.data_parallel import data_parallel
from course_lib.schemes.diloco import diloco
from course_lib.schemes.distbelief import distbelief
from course_lib.schemes.downpour import downpour
from course_lib.schemes.gossip import gossip
from course_lib.schemes.hogwild import hogwild
from course_lib.schemes.hogwild_sparse import hogwild_sparse
from course_lib.schemes.hybrid import hybrid
from course_lib.schemes.layerwise import layerwise
from course_lib.schemes.layerwise_bucketed import layerwise_bucketed
from course_lib.schemes.local_sgd import local_sgd
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
from course_lib.schemes.staleness_aware import staleness_aware

__all__ = [
    "asynchronous_averaging",
    "backup_workers",
    "bounded_staleness",
    "compressed",
    "data_parallel",
    "diloco",
    "distbelief",
    "downpour",
    "gossip",
    "gradient_descent",
    "hogwild",
    "hogwild_sparse",
    "hybrid",
    "layerwise",
    "layerwise_bucketed",
    "local_sgd",
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
    "staleness_aware",
    "train",
]
