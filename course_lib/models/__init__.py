"""The mathematics of the models, without communication.

``from_module`` makes a ``Model`` of any torch module. Torch is loaded where it is called, and not
when this package is imported.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from course_lib.models.model import Batch, Model

if TYPE_CHECKING:
    from torch import nn

    from course_lib.models.module_model import ModuleModel
    from course_lib.models.torch_model import TorchModel

__all__ = ["Model", "TorchModel", "from_module"]


def from_module(
    module: "nn.Module",
    loss: Callable[..., Any] | None = None,
    *,
    example: Batch | None = None,
    keep_weights: bool = True,
    flops: float | None = None,
    answer: Callable[[Any], Any] | None = None,
) -> "ModuleModel":
    """Make a model, which every scheme trains, of a torch module as people write them.

    Its parameters with ``requires_grad`` become one flat vector, tied ones once; frozen ones stay
    as they are. In training Dropout is active and BatchNorm takes the mean and variance of the
    examples that are computed together: a worker's part of a batch, or of ``plan.accumulate`` parts
    of it one. ``loss`` and ``predict`` are computed outside training, and change nothing; running
    statistics are taken after the training, by ``settled``. The module's own switches, ``train()``
    and ``eval()``, are set for each call.

    What is drawn in training depends on the parameters and the examples alone: a training repeated
    with the same plan on as many ranks has the same losses.

    Parameters
    ----------
    module : torch.nn.Module
        Called with a batch of examples. It is copied, and never changed; ``as_module`` of the model
        gives it back with trained weights. Its parameters are all float32 or all float64.
    loss : callable or None, default: None
        Called with the outputs and the targets, returns the mean over the examples, a number that
        torch can differentiate. None is ``torch.nn.functional.cross_entropy``.
    example : tuple of arrays or None, default: None
        A few examples and their targets. With them all checks are done here, and not with the first
        batch; and a module that calls its children one after another becomes a chain of layers,
        which schemes can exchange one by one, if torch finds the same gradients for it, on up to 64
        of them. Without them only a ``Sequential`` does. Of a module that goes other ways in larger
        batches, give as many as a worker will have.
    keep_weights : bool, default: True
        Start from the module's own weights. If not, they are drawn anew from the plan's seed, by
        each part's ``reset_parameters``.
    flops : float or None, default: None
        Floating-point operations of a gradient of one example. None counts the products of a
        forward pass of one example, and twice as many on the way back.
    answer : callable or None, default: None
        What ``predict`` makes of the outputs. None takes the class with the highest output where
        the loss is a cross-entropy, and the outputs as they are elsewhere.

    Returns
    -------
    ModuleModel
        A ``Model``. Whole numbers go into the module as int64, other numbers in its own dtype.

    Raises
    ------
    TypeError
        If ``module`` is no module, or ``loss`` returns no number.
    ValueError
        If something in the module is not supported: the text names it and says what to do instead.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> model = from_module(nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(8, 3)))
    >>> [(layer.name, layer.n_parameters) for layer in model.layers]
    [('0', 36), ('2', 27)]
    >>> model.predict(model.initial(), np.array([[1, 8], [0, 3]])).shape
    (2,)
    """
    from torch.nn.functional import cross_entropy

    from course_lib.models.module_model import ModuleModel

    taken = cross_entropy if loss is None else loss
    return ModuleModel(module, taken, example, keep_weights, flops, answer)


def __getattr__(name: str) -> Any:
    if name != "TorchModel":
        raise AttributeError(f"module 'course_lib.models' has no attribute {name!r}")
    from course_lib.models.torch_model import TorchModel

    return TorchModel
