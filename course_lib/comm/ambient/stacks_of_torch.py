"""What torch keeps in stacks: modes, hooks and transforms, entered one inside the other."""

from typing import Any

from course_lib.comm.ambient.entries import Stack

__all__ = ["DispatchModes", "FunctionModes", "SavedTensorHooks", "Transforms"]


class SavedTensorHooks(Stack):
    """What happens to tensors that are kept for ``backward``: ``saved_tensors_hooks``."""

    def __init__(self, torch: Any) -> None:
        hooks = torch._C._autograd
        super().__init__(
            "hooks of saved tensors", "flow", "top_hooks(True) is None",
            {"top_hooks": hooks._top_saved_tensors_default_hooks},
            self._pop_both, lambda own: hooks._push_saved_tensors_default_hooks(*own),
        )  # fmt: skip
        self._hooks = hooks

    def _pop_both(self) -> Any:
        own = self._hooks._top_saved_tensors_default_hooks(True)
        self._hooks._pop_saved_tensors_default_hooks()
        return own


class FunctionModes(Stack):
    """Every ``TorchFunctionMode``. ``torch.device(...)`` and the default device are such modes."""

    def __init__(self, torch: Any) -> None:
        from torch.utils import _device

        inner = torch._C
        super().__init__(
            "function modes and the default device", "flow", "n_function_modes() == 0",
            {"n_function_modes": inner._len_torch_function_stack},
            inner._pop_torch_function_stack, inner._push_on_torch_function_stack,
        )  # fmt: skip
        self._devices = _device
        self._default = torch._GLOBAL_DEVICE_CONTEXT

    def put_aside(self) -> Any:
        """Take all away, and what is remembered of devices."""
        known = getattr(self._default, "device_context", None), self._devices.CURRENT_DEVICE
        self._default.device_context = self._devices.CURRENT_DEVICE = None
        return super().put_aside(), known

    def put_back(self, own: Any) -> None:
        """Add them again."""
        modes, (self._default.device_context, self._devices.CURRENT_DEVICE) = own
        super().put_back(modes)


class DispatchModes(Stack):
    """Every ``TorchDispatchMode``, and three flags that say of what kind they are."""

    _FLAGS = (
        "_is_in_torch_dispatch_mode",
        "_is_in_non_infra_torch_dispatch_mode",
        "_is_in_any_mode_without_ignore_compile_internals",
    )

    def __init__(self, torch: Any) -> None:
        from torch.utils import _python_dispatch

        super().__init__(
            "dispatch modes", "flow", "n_dispatch_modes() == 0",
            {"n_dispatch_modes": torch._C._len_torch_dispatch_stack},
            _python_dispatch._pop_mode, _python_dispatch._push_mode,
        )  # fmt: skip
        self._module: Any = _python_dispatch

    def put_aside(self) -> Any:
        """Take all away."""
        flags = [getattr(self._module, name) for name in self._FLAGS]
        self._set([False, False, False])
        return super().put_aside(), flags

    def put_back(self, own: Any) -> None:
        """Add them again."""
        modes, flags = own
        super().put_back(modes)
        self._set(flags)

    def _set(self, flags: list[bool]) -> None:
        for name, flag in zip(self._FLAGS, flags, strict=True):
            setattr(self._module, name, flag)
        self._module.set_is_in_mode_without_ignore_compile_internals(flags[-1])


class Transforms(Stack):
    """``grad``, ``vmap`` and ``jvp`` of ``torch.func``, which allow no hooks of saved tensors."""

    def __init__(self, torch: Any) -> None:
        levels = torch._C._functorch
        super().__init__(
            "transforms of torch.func", "flow", "transform() is None",
            {"transform": levels.peek_interpreter_stack},
            levels.pop_dynamic_layer_stack, levels.push_dynamic_layer_stack,
        )  # fmt: skip
        self._hooks = torch._C._autograd

    def put_aside(self) -> Any:
        """Take all away."""
        refusal = self._hooks._saved_tensors_hooks_get_disabled_error_message()
        self._hooks._saved_tensors_hooks_enable()
        return super().put_aside(), refusal

    def put_back(self, own: Any) -> None:
        """Add them again."""
        layers, refusal = own
        super().put_back(layers)
        if refusal is not None:
            self._hooks._saved_tensors_hooks_disable(refusal)
