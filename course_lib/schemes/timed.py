"""A model whose gradients are put on the timeline, for training that knows no communicator."""

from typing import Any

from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Batch, Model

__all__ = ["TimedModel"]


class TimedModel:
    """A model, each of whose gradients is a compute block of a rank.

    Parameters
    ----------
    comm : Communicator
        The rank's.
    model : Model
        Who computes; what is not a gradient is asked of it.
    """

    def __init__(self, comm: Communicator, model: Model) -> None:
        self._comm = comm
        self._model: Any = model

    def __getattr__(self, name: str) -> Any:
        """Return the model's own."""
        return getattr(self._model, name)

    def gradient(self, w: Array, batch: Batch, weight: float = 1.0) -> tuple[float, Array]:
        """Return the model's gradient, measured, or priced at ``model.flops``."""
        with self._comm.compute("gradient", flops=self._model.flops(batch)):
            loss, grad = self._model.gradient(w, batch, weight)
        return loss, grad
