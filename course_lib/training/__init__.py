"""What every scheme needs and none is.

``checking`` is the first line of every scheme. ``plan`` says how to train, and which examples are
whose; ``sgd`` takes the steps. ``batches`` are an epoch's examples in a new order, ``layers`` a
worker's passes one layer at a time, ``compute`` puts them on a timeline, and ``shards`` say who
keeps which part of the parameters.
"""

from course_lib.training.checking import check_training
from course_lib.training.plan import Plan, Share, Training, partial_gradient
from course_lib.training.sgd import SGD, Optimizer

__all__ = ["SGD", "Optimizer", "Plan", "Share", "Training", "check_training", "partial_gradient"]
