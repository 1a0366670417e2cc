"""A torch model on a GPU: its parameters begin there, and every scheme computes where they are."""

import copy

import torch

from course_lib.models.torch_model import TorchModel

__all__ = ["on_device"]


def on_device(model: TorchModel, device: str) -> TorchModel:
    """Return a model whose parameters begin on a device, so that schemes compute there.

    A scheme never asks where the parameters are: gradients, messages and steps are made where they
    lie. Examples stay in the computer's memory, and a batch is copied when it is used. Two take no
    such model, and say so: ``hogwild``, whose ranks share the computer's memory, and the
    compression ``Sign``, which packs the bits of NumPy's arrays.

    Parameters
    ----------
    model : TorchModel
        A model of torch modules: ``mlp``, or what ``from_module`` makes. It is not changed.
    device : str
        As torch calls it. A rank's own is ``comm.device``, which is ``"cpu"`` where no GPU is used,
        so that one text serves all worlds.

    Returns
    -------
    TorchModel
        One that shares the modules of ``model``, and starts from the same numbers.

    Raises
    ------
    TypeError
        If ``model`` is no ``TorchModel``: others compute with NumPy, which knows no GPU.
    ValueError
        If its modules keep something beside what is trained: frozen weights, or BatchNorm's
        statistics.
    RuntimeError
        If torch knows no such device, or has none here.

    Notes
    -----
    Cost: none before ``initial``, which then copies the parameters to the device once.

    Examples
    --------
    >>> from course_lib.models.mlp import mlp
    >>> w = on_device(mlp(4, 3, 2), "cpu").initial()
    >>> w.shape, w.device
    (torch.Size([23]), device(type='cpu'))
    """
    if not isinstance(model, TorchModel):
        raise TypeError(
            f"model must be a TorchModel, got {type(model).__name__}; mlp(64, 32, 10) of "
            "course_lib.models.mlp is one, and from_module makes one of any torch module"
        )
    for name, module in model._modules:
        frozen = [key for key, p in module.named_parameters() if not p.requires_grad]
        if kept := frozen + [key for key, _ in module.named_buffers()]:
            raise ValueError(
                "model must keep nothing beside the parameters that are trained, which alone go to "
                f"the device, but its layer {name!r} has {', '.join(kept)}"
            )
    placed = copy.copy(model)
    try:
        placed._device = torch.empty(0, device=device).device  # fails now, not during a training
    except (AssertionError, NotImplementedError) as error:
        raise RuntimeError(
            f"there is no device {device!r} here ({str(error).splitlines()[0]}): comm.device is one"
        ) from error
    return placed
