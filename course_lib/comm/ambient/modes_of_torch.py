"""Modes of torch's autograd, which a thread has: inference mode, gradients, autocast."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from course_lib.comm.ambient.entries import Entry, Setting
from course_lib.comm.ambient.notes import NOTED

__all__ = ["Autocast", "FunctionState", "Gradients", "InferenceMode", "Snapshot"]


class Snapshot:
    """Several of torch's settings at a time: one call says whether they are still the same.

    Torch has that to see whether a function that it has compiled can be used again.

    Attributes
    ----------
    is_same : callable
        Says so; never before the first ``take``.
    """

    is_same: Callable[[], bool]

    def __init__(self, torch: Any) -> None:
        self.is_same = bool
        self._take = torch._C._dynamo.guards.GlobalStateGuard

    def take(self) -> None:
        """Remember the settings as they are."""
        self.is_same = self._take().check

    def sees(self, entry: Entry, also: str = "") -> Entry:
        """Have an entry ask the snapshot at a switch, and what that does not see."""
        entry.fast = f"torch_snapshot.is_same(){also}"
        entry.names["torch_snapshot"] = self
        return entry


_ENTERED: set[Any] = set()
"""Guards that have not been left: one that is forgotten leaves by itself, at any moment."""


class InferenceMode(Entry):
    """``torch.inference_mode``: its guard sets all modes of autograd, and later what they were."""

    def __init__(self, torch: Any) -> None:
        super().__init__(
            "inference mode", "flow", "not in_inference_mode()",
            {"in_inference_mode": torch.is_inference_mode_enabled},
        )  # fmt: skip
        self._guard = torch._C._InferenceMode

    def put_aside(self) -> Any:
        """Enter a block without inference mode."""
        guard = self._guard(False)
        guard.__enter__()
        _ENTERED.add(guard)
        return guard

    def put_back(self, own: Any) -> None:
        """Leave that block."""
        _ENTERED.discard(own)
        own.__exit__(None, None, None)


class Gradients(Setting):
    """Whether gradients are recorded: ``no_grad``, and a ``torch.autograd.Function`` that runs.

    The latter records none of forward differentiation either.
    """

    def __init__(self, torch: Any, snapshot: Snapshot) -> None:
        inner = torch._C
        super().__init__(
            "whether gradients are recorded", "flow", "records_gradients",
            torch.is_grad_enabled, self._set, (True, True),
        )  # fmt: skip
        self.names["usual_records_gradients"] = True
        self._read = lambda: (torch.is_grad_enabled(), inner._is_fwd_grad_enabled())
        self._inner = inner
        self._snapshot = snapshot

    def settle(self) -> None:
        """Take the snapshot, for all that it sees."""
        self._snapshot.take()

    def _set(self, own: tuple[bool, bool]) -> None:
        self._inner._set_grad_enabled(own[0])
        self._inner._set_fwd_grad_enabled(own[1])


class FunctionState(Setting):
    """Whether torch asks modes and classes of tensors first: ``DisableTorchFunction`` says no."""

    def __init__(self, torch: Any) -> None:
        inner = torch._C
        super().__init__(
            "whether classes of tensors are asked", "flow", "asks_classes",
            inner._is_torch_function_enabled, inner._set_torch_function_state,
            inner._TorchFunctionState.ENABLED,
        )  # fmt: skip
        self.names["usual_asks_classes"] = True
        self._read = inner._get_torch_function_state


class Autocast(Entry):
    """``torch.autocast``: for each kind of device whether and to what; what it has cast so far.

    That is forgotten: the block that is left last would keep it, also for weights that another
    rank has changed since. So how often blocks were entered must be a flow's own, too. That a dtype
    is set without a block, while nothing is cast, is noted (``Switches``).

    Attributes
    ----------
    IN_NO_BLOCK : str
        What is true there: that is twice as many as have been entered, and 1.
    """

    IN_NO_BLOCK = "cast_deeper() + cast_less_deep() == 1"

    def __init__(self, torch: Any) -> None:
        usual = _casts_in_a_new_thread(torch)
        super().__init__(
            "autocast", "flow", f"{self.IN_NO_BLOCK} and casts_as_usual()",
            {
                "cast_deeper": torch.autocast_increment_nesting,
                "cast_less_deep": torch.autocast_decrement_nesting,
                "casts_as_usual": lambda: _casts(torch) == usual,
                "noted": NOTED,
            },
        )  # fmt: skip
        self._torch = torch
        self._devices = torch._C._autocast_supported_devices()
        self._usual = usual

    def put_aside(self) -> Any:
        """Cast nothing."""
        own = _casts(self._torch)
        self._torch.clear_autocast_cache()
        self.put_back(self._usual)
        return own

    def put_back(self, own: Any) -> None:
        """Cast as before."""
        torch = self._torch
        depth, caches, enabled, dtypes = own
        while torch.autocast_increment_nesting() <= depth:
            pass
        while torch.autocast_decrement_nesting() > depth:
            pass
        torch.set_autocast_cache_enabled(caches)
        for device, is_enabled, dtype in zip(self._devices, enabled, dtypes, strict=True):
            torch.set_autocast_enabled(device, is_enabled)
            torch.set_autocast_dtype(device, dtype)


def _casts(torch: Any) -> Any:
    """Return how many blocks, whether what was cast is kept, and what is cast to what."""
    torch.autocast_increment_nesting()
    devices = torch._C._autocast_supported_devices()
    return (
        torch.autocast_decrement_nesting(),
        torch.is_autocast_cache_enabled(),
        [torch.is_autocast_enabled(device) for device in devices],
        [torch.get_autocast_dtype(device) for device in devices],
    )


@cache
def _casts_in_a_new_thread(torch: Any) -> Any:
    with ThreadPoolExecutor(1) as new_thread:
        return new_thread.submit(_casts, torch).result()
