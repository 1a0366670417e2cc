"""The loss over all examples after every update, seen where the model is."""

from collections.abc import Callable
from functools import partial

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Model
from course_lib.training import SGD, Plan, Training

__all__ = ["watched"]


def watched(scheme: Callable[..., Training]) -> Callable[..., Training]:
    """Have rank 0 note the loss over all examples after each of its updates, as ``"loss"``.

    Schemes note the loss of a batch where it is computed. With stragglers that is no fair
    comparison: a step is complete only when the last rank has noted that it has no part in it, and
    without the part of whoever comes too late its sum is too small. The model on rank 0 has one
    loss at any time; to look at it takes no virtual time.

    Parameters
    ----------
    scheme : callable
        One in which rank 0 steps the whole model.

    Returns
    -------
    callable
        The scheme, to be run in its place.
    """
    return partial(_train, scheme)


def _train(
    scheme: Callable[..., Training],
    comm: Communicator,
    model: Model,
    X: Array,
    y: Array,
    plan: Plan,
) -> Training:
    def note(w: Array) -> None:
        if comm.rank == 0:
            comm.note("loss", float(model.loss(w, (X, y))))

    return scheme(comm, model, X, y, plan, optimizer=partial(_WatchedSGD, note))


class _WatchedSGD(SGD):
    """SGD that shows what it has stepped."""

    def __init__(self, note: Callable[[Array], None], w: Array, plan: Plan) -> None:
        super().__init__(w, plan)
        self._note = note

    def _go(self, grad: Array, rate: float) -> None:
        super()._go(grad, rate)
        self._note(self.w)
