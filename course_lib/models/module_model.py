"""Any torch module as a ``Model``: its weights, its loss, its way of training."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from course_lib.models.examples import dense
from course_lib.models.model import Array, Batch, LayerFlops, OneLayerPasses, check_not_empty
from course_lib.models.module_checks import check_loss, check_module, keeps_statistics, trained
from course_lib.models.module_copies import copied, needs_packing, packed, unpacked
from course_lib.models.module_look import Look, drawing, look_at
from course_lib.models.module_loss import check_targets
from course_lib.models.module_parts import layers_of
from course_lib.models.module_statistics import settle
from course_lib.models.module_weights import (
    digest,
    drawn_weights,
    flat_weights,
    places_of,
    with_weights,
)
from course_lib.models.torch_model import TorchModel
from course_lib.models.torch_passes import TorchPasses, placed

__all__ = ["ModuleModel"]


class ModuleModel(TorchModel):
    """What ``course_lib.models.from_module`` makes, which says what its parameters mean.

    Parameters
    ----------
    module : torch.nn.Module
        The network; it is copied.
    loss : callable
        Returns the mean loss of outputs and targets.
    example : tuple of arrays or None
        A few examples and their targets.
    keep_weights : bool
        Whether training starts from the module's weights.
    flops : float or None
        Of a gradient of one example.
    answer : callable or None
        What ``predict`` makes of outputs.
    """

    def __init__(
        self,
        module: nn.Module,
        loss: Callable[..., Any],
        example: Batch | None,
        keep_weights: bool,
        flops: float | None,
        answer: Callable[[Any], Any] | None,
    ) -> None:
        check_module(module)
        check_loss(loss)
        self._whole, _ = copied(module)
        self._loss_of, self._flops = loss, flops
        self._answer = answer or (_classes if _is_cross_entropy(loss) else _as_they_are)
        self._keep_weights = keep_weights
        own = trained(self._whole)
        self.dtype = next(iter(own.values())).dtype
        batch = None if example is None else (self._plain(example[0]), self._plain(example[1], "y"))
        self._take(layers_of(self._whole, loss, batch))
        self._places = [places_of(layer) for _, layer in self._modules]
        by_identity = {id(p): name for name, p in own.items()}
        self._order = [
            by_identity[id(p)] for _, layer in self._modules for p in trained(layer).values()
        ]
        self._keeps_statistics = any(map(keeps_statistics, self._whole.modules()))
        self._statistics_of = digest(flat_weights(self._whole, self._order))
        self._found: Look | None = None
        if not keep_weights:
            self.initial()  # refuses what cannot be drawn
        if example is not None:
            self._look(example)

    def initial(self, seed: int = 0) -> Array:
        """Return the module's own weights, or draw them anew as its layers do it.

        Parameters
        ----------
        seed : int, default: 0
            Of what is drawn; where the weights are kept it changes nothing.

        Returns
        -------
        numpy.ndarray, after ``on_device`` torch.Tensor, shape (n_parameters,)
            In the dtype of the module.
        """
        own = self._whole, self._order
        drawn = flat_weights(*own) if self._keep_weights else drawn_weights(*own, seed)
        return placed(drawn, self._device)

    def outputs(self, w: Array, X: Array) -> Any:
        """Compute what the module gives outside training; refuse w where its means are others'."""
        if self._keeps_statistics and digest(w) != self._statistics_of:
            raise ValueError(
                "the running statistics of BatchNorm are not those of w: "
                "model.settled(w, X).predict(w, X) takes them over the examples X first"
            )
        with torch.no_grad():  # a module may write into what it is given
            return self._forward(w, self._tensor(X, w).clone(), training=False)

    def predict(self, w: Array, X: Array) -> np.ndarray[Any, Any]:
        """Return the module's answers: classes after a cross-entropy, else outputs, or ``answer``.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters.
        X : numpy.ndarray or torch.Tensor, shape (m, ...)
            The examples.

        Returns
        -------
        numpy.ndarray, shape (m, ...)
            The answer for each.
        """
        found = self._answer(self.outputs(w, X))
        return found.detach().cpu().numpy() if isinstance(found, torch.Tensor) else found

    def mean_loss(self, outputs: Any, y: Array) -> torch.Tensor:
        """Return the mean loss of outputs and targets, as a number to ask a gradient of."""
        y = self._plain(y, "y").to(getattr(outputs, "device", None))
        found: torch.Tensor = self._loss_of(outputs, y)
        return found

    def gradient(self, w: Array, batch: Batch, weight: float = 1.0) -> tuple[float, Array]:
        """Return the mean loss over a batch, in training, and its gradient; times ``weight``."""
        check_not_empty(batch)
        self._look(batch)
        return super().gradient(w, batch, weight)

    def passes(self, w: Array, batch: Batch, weight: float = 1.0) -> Any:
        """Begin a gradient in steps: of a chain's layers, or of the whole in one."""
        check_not_empty(batch)
        self._look(batch)
        if len(self.layers) == 1:
            return OneLayerPasses(self, w, batch, weight)
        return TorchPasses(self, w, batch, weight)

    def layer_flops(self, batch: Batch) -> tuple[LayerFlops, ...]:
        """Count layer by layer: back takes twice as many, in a chain's first layer as many."""
        n = len(batch[1])
        if n == 0:
            return tuple(LayerFlops(0.0, 0.0) for _ in self.layers)
        if self._flops is not None:
            each = n * self._flops / self.n_parameters / 3
            return tuple(
                LayerFlops(each * layer.n_parameters, 2 * each * layer.n_parameters)
                for layer in self.layers
            )
        first = 1 if len(self.layers) > 1 else 2  # who has a layer behind it passes a gradient on
        return tuple(
            LayerFlops(n * forward, n * forward * (2 if k else first))
            for k, forward in enumerate(self._look(batch).flops)
        )

    def settled(self, w: Array, X: Array, batch_size: int = 256) -> "ModuleModel":
        """Return the model with running statistics over examples, for evaluation at ``w``.

        A training leaves the statistics alone: they would be of other examples on every worker, and
        of parameters that are no longer there. They are taken afterwards, without Dropout, as the
        mean over batches of about ``batch_size``; whoever calls it so gets the same.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters.
        X : numpy.ndarray or torch.Tensor, shape (m, ...)
            The examples.
        batch_size : int, default: 256
            How many to take at a time.

        Returns
        -------
        ModuleModel
            Another one; this one has its statistics still.

        References
        ----------
        Y. Wu and J. Johnson, "Rethinking 'Batch' in BatchNorm", arXiv:2105.07576, 2021, section 3.
        """
        if not self._keeps_statistics:
            return self
        model = copy.deepcopy(self)
        normal = [part for part in model._whole.modules() if keeps_statistics(part)]
        batches = np.array_split(np.arange(len(X)), -(-len(X) // batch_size))
        settle(normal, batches, lambda k: model._forward(w, model._tensor(X[k], w), False, normal))
        model._statistics_of = digest(w)
        return model

    def as_module(self, w: Array) -> nn.Module:
        """Return a copy of the torch module with the parameters ``w`` in it.

        Parameters
        ----------
        w : numpy.ndarray or torch.Tensor, shape (n_parameters,)
            The parameters.

        Returns
        -------
        torch.nn.Module
            Of the class of the one that was given; of BatchNorm it has this model's statistics.
        """
        return with_weights(self._whole, self._order, self._vector(w))

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a message needs, for modules that torch does neither with."""
        state = vars(self).copy()
        if needs_packing(self._whole):
            whole, modules, computed = packed(self._whole, self._modules)
            state |= {"_whole": whole, "_modules": modules, "_computed": computed}
        if isinstance(self._loss_of, nn.Module):
            state["_loss_of"], _ = copied(self._loss_of)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become the model that was copied or sent."""
        computed = state.pop("_computed", {})
        vars(self).update(state)
        unpacked(self._whole, computed)

    def _forward(
        self, w: Array, x: Any, training: bool, settling: list[nn.Module] | None = None
    ) -> Any:
        for number in range(len(self.layers)):
            x = self._called(number, self._leaves(w, number), x, training, settling)
        return x

    def _call(self, number: int, own: list[torch.Tensor], x: torch.Tensor) -> Any:
        """Run one layer in training, with other parameters than the module's."""
        return self._called(number, own, x, training=True)

    def _called(
        self, number: int, own: list[torch.Tensor], x: torch.Tensor, training: bool,
        settling: list[nn.Module] | None = None,
    ) -> Any:  # fmt: skip
        """Run one layer: what it draws depends on its parameters and on what enters it, alone.

        So a rank draws other numbers than its neighbours, and in every step others, and the same
        ones when a training is repeated, or goes on, in whatever scheme and world.
        """
        layer = self._modules[number][1].train(training)
        for part in settling or ():
            part.train()
        named = {place: own[index] for place, index in self._places[number].items()}
        if training:  # BatchNorm counts on copies, which are thrown away
            named |= {
                f"{name}.{buffer}".lstrip("."): tensor.clone()
                for name, part in layer.named_modules()
                if keeps_statistics(part)
                for buffer, tensor in part._buffers.items()
                if tensor is not None
            }
        is_random = self._found is None or self._found.is_random
        with drawing([*own, x] if is_random else None):
            return functional_call(layer, named, (x,), tie_weights=False)

    def _look(self, batch: Batch) -> Look:
        """Look at the first examples that come, once, and at all targets."""
        if self._found is None:
            x, y = self._plain(batch[0][:4]), self._plain(batch[1][:4], "y")
            own = self._whole, self._modules, self._loss_of
            self._found = look_at(*own, x, y, counts=self._flops is None)
        check_targets(self._found.left_out, batch[1])
        return self._found

    def _tensor(self, X: Array, w: Array) -> torch.Tensor:
        return self._plain(X).to(self._vector(w).device)

    def _plain(self, array: Array, argument: str = "X") -> torch.Tensor:
        """Make a tensor: whole numbers as int64, truth values as they are, others as the module."""
        tensor = torch.as_tensor(dense(array, argument))
        if tensor.is_floating_point():
            return tensor.to(self.dtype)
        return tensor if tensor.dtype == torch.bool else tensor.long()


def _is_cross_entropy(loss: Callable[..., Any]) -> bool:
    while isinstance(loss, partial):
        loss = loss.func
    return loss is cross_entropy or isinstance(loss, nn.CrossEntropyLoss)


def _classes(outputs: Any) -> Any:
    return outputs.argmax(dim=1)


def _as_they_are(outputs: Any) -> Any:
    return outputs
