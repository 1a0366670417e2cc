"""A layer of a chain that computes with a torch module: convolutions, for one."""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import functional_call

from course_lib.models.chain import ThreeFlops
from course_lib.models.module_checks import check_no_old_norm
from course_lib.models.module_generators import generators_of, states
from course_lib.models.module_reads import check_reads

__all__ = ["TorchLayer"]


class TorchLayer:
    """What a torch module computes, with parameters that it is given, and gone back by autograd.

    Every forward pass is a small graph of its own, which is kept as what going back needs. Autograd
    walks it inside one call and never while a message is sent; once for each half of going back. So
    where several operations with parameters are one layer, the slopes between them are computed
    twice: three times the work of a forward pass in all, in place of two. Thin layers have less of
    that.

    Parameters
    ----------
    name : str
        What to call it.
    module : torch.nn.Module
        How to compute; it is copied, and its own parameters are never used.
    uses : int
        How often a weight is multiplied with something in the forward pass of one example. Each
        use is 2 flops, and as many for each half of going back.

    Attributes
    ----------
    shapes : dict of str to tuple of int
        Of the module's parameters by name, in the order of the flat vector.

    Raises
    ------
    ValueError
        If the module has no parameters, or keeps something else (as BatchNorm's running means).
    """

    def __init__(self, name: str, module: torch.nn.Module, uses: int) -> None:
        for inside, part in module.named_modules():
            check_no_old_norm(f"{name}.{inside}".rstrip("."), part)
        own = dict(module.named_parameters())
        if not own:
            raise ValueError(f"every layer must have parameters, but {name!r} has none")
        if kept := [buffer for buffer, _ in module.named_buffers()]:
            raise ValueError(f"{name!r} must keep parameters only, but it has {', '.join(kept)}")
        self.name, self.uses = name, uses
        self._module = deepcopy(module).double()
        self.shapes = {key: parameter.shape for key, parameter in own.items()}
        self.parameter_shapes = tuple(map(tuple, self.shapes.values()))
        self.n_parameters = sum(shape.numel() for shape in self.shapes.values())

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what it makes of one example; refuse inputs of another shape.

        Dropout is refused, too: a forward pass here does not know whether it is for training, and
        would draw other numbers on every rank. So is writing into the inputs, which are what the
        layer before keeps, and reading parameters where those that are trained do not stand.
        """
        x = torch.zeros(1, *input_shape, dtype=torch.float64)
        generators = generators_of(self._module)
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                before = states(generators)
                found = tuple(self._module(x).shape[1:])
                is_random = states(generators) != before
        except RuntimeError as error:
            raise ValueError(
                f"{self.name} cannot take examples of shape {input_shape}: {error}"
            ) from None
        if is_random:
            raise ValueError(
                f"{self.name!r} must not draw random numbers, as Dropout does: leave it out, or "
                "train the module whole, by from_module of course_lib.models, which can draw with "
                "torch"
            )
        if x._version:
            raise ValueError(
                f"{self.name!r} must not write into its inputs, as a ReLU(inplace=True) that comes "
                "first: leave out inplace"
            )
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            draw = torch.Generator().manual_seed(0)
            x = torch.rand(1, *input_shape, dtype=torch.float64, generator=draw)
            x.requires_grad_()
            check_reads([self._module], x, lambda y: (y * y).sum(), repr(self.name))
        return found

    def initial(self, rng: np.random.Generator) -> NDArray[Any]:
        """Draw weights that keep the size of what passes a ReLU; biases are 0, scales 1.

        A scale is a vector that is called weight, as that of a layer norm.
        """
        drawn = []
        for key, shape in self.shapes.items():
            limit = np.sqrt(6 / shape[1:].numel()) if len(shape) > 1 else 0.0
            middle = float(len(shape) == 1 and key.split(".")[-1] == "weight")
            drawn.append(rng.uniform(middle - limit, middle + limit, shape.numel()))
        return np.concatenate(drawn)

    def forward(self, w: NDArray[Any], x: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """Return the outputs, and the graph that made them."""
        with torch.enable_grad():
            leaf = torch.from_numpy(x).detach().requires_grad_()
            vector = torch.from_numpy(w).detach().requires_grad_()
            parts = torch.split(vector, [shape.numel() for shape in self.shapes.values()])
            parameters = {
                key: part.view(shape)
                for (key, shape), part in zip(self.shapes.items(), parts, strict=True)
            }
            y = functional_call(self._module, parameters, (leaf,))
        return y.detach().numpy(), (leaf, vector, y)

    def input_gradient(self, w: NDArray[Any], saved: Any, dy: NDArray[Any]) -> NDArray[Any]:
        """Go back to the inputs."""
        del w  # the graph has it
        leaf, _, y = saved
        return self._back(y, leaf, dy)

    def weight_gradient(self, saved: Any, dy: NDArray[Any]) -> NDArray[Any]:
        """Go back to the parameters."""
        _, vector, y = saved
        return self._back(y, vector, dy)

    @staticmethod
    def _back(y: torch.Tensor, to: torch.Tensor, dy: NDArray[Any]) -> NDArray[Any]:
        slope = torch.from_numpy(np.ascontiguousarray(dy))
        (grad,) = torch.autograd.grad(y, to, slope, retain_graph=True)  # the other half is to come
        found: NDArray[Any] = grad.numpy()
        return found

    def flops(self, n_examples: int) -> ThreeFlops:
        """Count the operations for so many examples."""
        product = 2.0 * n_examples * self.uses
        return ThreeFlops(product, product, product)
