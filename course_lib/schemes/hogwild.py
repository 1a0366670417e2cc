"""Hogwild: one vector of parameters for all, and nobody waits for anybody."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Optimizer, Plan, Training, check_plan, partial_gradient
from course_lib.training.checking import check_shared
from course_lib.training.divergence import check_parameters
from course_lib.training.locks import LINE, Locks, check_lock
from course_lib.words.split import split_evenly

__all__ = ["Uneven", "hogwild"]


def hogwild(
    comm: Communicator, model: Model, X: Array, y: Array, plan: Plan, lock: str = "none",
    stripes: int = 64, optimizer: Optimizer = SGD, pace: "Pace | None" = None,
) -> Training:  # fmt: skip
    """Let every rank step the same parameters, in shared memory, whenever it has a gradient.

    Each loads what is there, takes its part of step and decay, and stores what that changed. What
    another has stored between is lost; sparse examples rarely meet. A lock keeps them apart, for
    the update only: a gradient may be of parameters that others have changed meanwhile.

    Parameters
    ----------
    lock : {"none", "striped", "one"}, default: "none"
        What a rank locks for an update: nothing, one stripe after the other, or all.
    stripes : int, default: 64
        Into how many parts "striped" cuts the parameters.
    pace : callable or None, default: None
        How many times as long the gradient of a (rank, step) takes in virtual time, so that each
        pace is another interleaving; None is ``Uneven()``. Real computers have one of their own.

    Notes
    -----
    Cost: no messages. All meet after each epoch. With Adam or Adagrad, P ranks go P times as far.
    Notes: a gradient's "staleness", a store's "lost_update" (of others), all: "lost_updates".

    References
    ----------
    F. Niu, B. Recht, C. Ré and S. J. Wright, "Hogwild!", NeurIPS 24, 2011.
    """
    model = check_shared(model, X, y, plan, lock, stripes, optimizer=optimizer)
    check_lock(lock, comm.survives)
    check_plan(plan, "hogwild", "clip")  # nobody has the whole gradient
    pace = pace or Uneven()
    own = model.initial(plan.seed)  # this rank's private copy
    shared = _Shared(comm, own, lock, stripes)
    w, seen = shared.w, shared.seen
    part_of_plan = replace(plan, weight_decay=plan.weight_decay / comm.size)
    steppers = [optimizer(own[part], part_of_plan) for part in shared.parts]
    shared.begin(own)
    steps, losses = plan.steps_per_epoch(len(y)), list[float]()
    shares = plan.shares(len(y), comm.rank, comm.size, own)
    for step, (examples, weight) in enumerate(shares, start=plan.first_epoch * steps):
        batch = X[examples], y[examples]
        n_before = shared.n_steps.sum()
        with comm.compute("gradient", flops=pace(comm.rank, step) * model.flops(batch)):
            loss, grad = partial_gradient(model, w, batch, weight)
        comm.note("loss_partial", loss)
        losses.append(loss)
        for number, (part, stepper) in enumerate(zip(shared.parts, steppers, strict=True)):
            shared.take(number)
            with comm.compute("update", flops=2.0 * len(own[part])):  # meanwhile others go on
                loaded, counted = w[part].copy(), seen[part].copy()
                own[part] = loaded
                stepper.step(grad[part])
                changed = np.flatnonzero(own[part] != loaded)
            n_lost = int((seen[part][changed] - counted[changed]).sum())
            w[part][changed] = own[part][changed]  # what others have stored since is lost
            seen[part][changed] = counted[changed] + 1  # and so is their count: that tells of it
            shared.release(number)
            shared.n_stored[comm.rank] += len(changed)
            if n_lost:
                comm.note("lost_update", n_lost)
        comm.note("staleness", int(shared.n_steps.sum() - n_before))
        shared.end_step(comm)
        if (step + 1) % steps == 0:
            shared.end_epoch(own, plan)
    if comm.rank == 0:
        comm.note("lost_updates", int(shared.n_stored.sum() - seen.sum()))
    return Training(own, losses)


Pace = Callable[[int, int], float]


@dataclass(frozen=True)
class Uneven:
    """Ranks that are sometimes slower: up to half as long again, by chance.

    Attributes
    ----------
    seed : int, default: 0
        Another one is another interleaving.
    most : float, default: 0.5
        How much longer a gradient may take.
    """

    seed: int = 0
    most: float = 0.5

    def __call__(self, rank: int, step: int) -> float:
        """Return how many times as long the gradient takes."""
        return 1 + self.most * float(np.random.default_rng([self.seed, step, rank]).random())


class _Shared:
    """What all ranks see: the parameters, how often each was stored, and who has done how much."""

    def __init__(self, comm: Communicator, like: Array, lock: str, stripes: int) -> None:
        if not isinstance(like, np.ndarray):
            raise TypeError(
                "model must begin with NumPy's arrays, for all ranks share this computer's memory, "
                f"got one that begins with {type(like).__name__}: leave on_device out"
            )
        n = len(like)
        self._comm = comm
        self.w = comm.shared_array(n, like.dtype)
        self.seen = comm.shared_array(n, "int64")  # stores of each, counted as racily
        self.n_stored = comm.shared_array(comm.size, "int64")
        self.n_steps = comm.shared_array(comm.size, "int64")
        self.parts = split_evenly(n, min(stripes, n) if lock == "striped" else 1)
        self._locks = None
        if lock != "none":
            self._locks = Locks(comm.shared_array(len(self.parts) * LINE, "int64"))

    def begin(self, own: Array) -> None:
        """Put there what training starts from."""
        if self._comm.rank == 0:
            self.w[...] = own
        self._comm.barrier()

    def take(self, number: int) -> None:
        """Wait for the lock of a part, if there is one."""
        while self._locks is not None and not self._locks.try_take(number):
            with self._comm.compute("wait for a lock", flops=2.0 * len(self.w[self.parts[number]])):
                self._locks.pause()

    def release(self, number: int) -> None:
        """Give it back."""
        if self._locks is not None:
            self._locks.release(number)

    def end_step(self, comm: Communicator) -> None:
        """Count the step; note where all are now, if that is a point that can be drawn."""
        self.n_steps[comm.rank] += 1
        if len(self.w) == 2:
            comm.note("w", np.array(self.w))

    def end_epoch(self, own: Array, plan: Plan) -> None:
        """Meet, so that the epoch is over for all, and load what has become of the parameters."""
        self._comm.barrier()
        own[...] = self.w
        self._comm.barrier()
        check_parameters(own, plan)
