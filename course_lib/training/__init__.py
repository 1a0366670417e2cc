"""What every scheme needs and none is.

``checking`` is the first line of every scheme. ``plan`` says how to train, and which examples are
whose, ``schedules`` how the rate decays. An ``optimizer`` takes the steps: ``sgd``, ``adagrad``,
``adam``, or any of torch's behind ``torch_optimizer``. ``clipping`` shortens gradients,
``accumulation`` computes them in parts. ``batches`` are an epoch's examples in a new order,
``lots`` are dealt to who is free where nobody waits, and ``divergence`` tells of rates that are too
large for that. ``layers`` are a worker's passes one layer at a time, ``compute`` puts them on a
timeline, and ``shards`` say who keeps which part of the parameters; a ``kept_shard`` is one in
files, that outlives its server. ``example_steps`` are SGD one sparse example at a time, to be read
and compiled, ``locks`` what keeps ranks apart that share memory.
"""

from course_lib.training.accumulation import in_parts
from course_lib.training.adagrad import Adagrad
from course_lib.training.adam import Adam, AdamW
from course_lib.training.checking import check_plan, check_training
from course_lib.training.clipping import norm_of_all
from course_lib.training.divergence import check_finite
from course_lib.training.kept_shard import KeepShards
from course_lib.training.lots import Lots
from course_lib.training.optimizer import Optimizer, Stepper
from course_lib.training.plan import Plan, Share, Training, partial_gradient
from course_lib.training.schedules import Cosine, StepDecay
from course_lib.training.sgd import SGD
from course_lib.training.torch_optimizer import from_torch

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Cosine",
    "KeepShards",
    "Lots",
    "Optimizer",
    "Plan",
    "Share",
    "StepDecay",
    "Stepper",
    "Training",
    "check_finite",
    "check_plan",
    "check_training",
    "from_torch",
    "in_parts",
    "norm_of_all",
    "partial_gradient",
]
