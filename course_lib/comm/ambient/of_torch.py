"""What torch keeps. It is never imported from here: whoever needs it has loaded it."""

import sys
from collections.abc import Callable
from typing import Any

from course_lib.comm.ambient.blocks_of_torch import Blocks
from course_lib.comm.ambient.entries import Entry, Setting, function_of
from course_lib.comm.ambient.generators import TorchGenerator
from course_lib.comm.ambient.hooks_of_torch import GlobalHooks
from course_lib.comm.ambient.modes_of_torch import (
    Autocast,
    FunctionState,
    Gradients,
    InferenceMode,
    Snapshot,
)
from course_lib.comm.ambient.noted import Called
from course_lib.comm.ambient.notes import NOTED, noting
from course_lib.comm.ambient.stacks_of_torch import (
    DispatchModes,
    FunctionModes,
    SavedTensorHooks,
    Transforms,
)
from course_lib.comm.ambient.switches_of_torch import Switches

__all__ = ["half_way", "of_torch"]


def of_torch(torch: Any, n_threads: int | None = None) -> list[Entry]:
    """List it. What comes first is put aside first and back last.

    Parameters
    ----------
    torch : module
        The module.
    n_threads : int or None, default: None
        How many threads a run begins with; None leaves it as it is.

    Returns
    -------
    list of Entry
        The list.
    """
    inner = torch._C
    snapshot = Snapshot(torch)
    return [
        # Its guard keeps the modes of autograd below, too, so these come after it.
        InferenceMode(torch),
        snapshot.sees(Gradients(torch, snapshot)),
        snapshot.sees(Autocast(torch), f" and {Autocast.IN_NO_BLOCK} and not noted.changed"),
        FunctionState(torch),
        FunctionModes(torch),
        DispatchModes(torch),
        SavedTensorHooks(torch),
        Transforms(torch),
        RefusedHooks(inner._autograd),
        Blocks(torch),
        snapshot.sees(Setting(
            "torch's default dtype", "rank", "default_dtype", torch.get_default_dtype,
            torch.set_default_dtype, torch.float32,
        )),
        snapshot.sees(Threads(torch, n_threads)),
        snapshot.sees(Deterministic(torch)),
        Setting(
            "whether torch repeats its warnings", "rank", "repeats_warnings", inner._get_warnAlways,
            torch.set_warn_always, False,
        ),
        Anomalies(torch),
        Called(
            "whether the smallest numbers are zero", "flow", "flushes", _flushes,
            torch.set_flush_denormal, (torch, "set_flush_denormal"), value=False,
        ),
        PrintOptions(torch._tensor_str.PRINT_OPTS),
        Switches(torch),
        GlobalHooks("modules", torch.nn.modules.module),
        GlobalHooks("optimizers", sys.modules["torch.optim.optimizer"]),
        TorchGenerator(torch),
        # No value depends on it, and hardly anybody sets it but as a part of what stands above.
        Setting(
            "whether backward uses threads", "run", "threads_in_backward",
            inner._is_multithreading_enabled, inner._set_multithreading_enabled, True,
        ),
    ]  # fmt: skip


def half_way(torch: Any) -> Callable[[], bool]:
    """Make a function that says that torch is in the middle of what cannot be put aside.

    These are its engine, which calls a hook inside ``backward``, and the one level of forward
    differentiation that a process has.
    """
    return function_of(
        "graph_task() != -1 or forward_ad._current_level != -1",
        {"graph_task": torch._C._current_graph_task_id, "forward_ad": torch.autograd.forward_ad},
    )


def _flushes() -> bool:
    return sys.float_info.min / 2 == 0


class RefusedHooks(Called):
    """Why hooks of saved tensors are refused, in ``disable_saved_tensors_hooks``."""

    def __init__(self, hooks: Any) -> None:
        self._enable = hooks._saved_tensors_hooks_enable
        self._disable = hooks._saved_tensors_hooks_disable
        super().__init__(
            "why hooks of saved tensors are refused", "flow", "refusal",
            hooks._saved_tensors_hooks_get_disabled_error_message, self._refuse,
            (hooks, "_saved_tensors_hooks_disable"), value=None,
        )  # fmt: skip

    def _refuse(self, why: str | None) -> None:
        if why is None:
            self._enable()
        else:
            self._disable(why)


class Anomalies(Setting):
    """Whether torch searches for anomalies, and whether NaN is one."""

    def __init__(self, torch: Any) -> None:
        super().__init__(
            "torch's search for anomalies", "rank", "anomalies", torch.is_anomaly_enabled,
            torch.set_anomaly_enabled, False,
        )  # fmt: skip
        self._counts_nan = torch.is_anomaly_check_nan_enabled

    def put_aside(self) -> Any:
        """Search no more; return what it was."""
        counts_nan = self._counts_nan()
        return super().put_aside(), counts_nan

    def put_back(self, own: Any) -> None:
        """Search again."""
        self._write(*own)


class Deterministic(Setting):
    """Whether torch uses deterministic algorithms, and only warns where there are none."""

    def __init__(self, torch: Any) -> None:
        inner = torch._C
        super().__init__(
            "whether torch is deterministic", "rank", "is_deterministic",
            lambda: (
                inner._get_deterministic_algorithms(),
                inner._get_deterministic_algorithms_warn_only(),
            ),
            lambda own: inner._set_deterministic_algorithms(own[0], warn_only=own[1]),
            (False, False),
        )  # fmt: skip
        self.usual = "is_deterministic() == usual_is_deterministic"


class PrintOptions(Entry):
    """How tensors are printed, with ``torch.set_printoptions``.

    Parameters
    ----------
    options : object
        Where torch keeps that, in variables.
    """

    def __init__(self, options: Any) -> None:
        usual = vars(type(options)()).copy()
        super().__init__(
            "how tensors are printed", "rank", "print_options == usual_print_options",
            {"print_options": vars(options), "usual_print_options": usual, "noted": NOTED},
        )  # fmt: skip
        self.fast = "not noted.changed"
        self._options = options
        self._kind = type(options)
        self._usual = usual

    def begin(self) -> Any:
        """Note changes from now on."""
        self.begin_late()
        return super().begin()

    def begin_late(self) -> Any:
        """Note changes from now on."""
        self._options.__class__ = noting(self._kind)

    def end(self, callers: Any) -> None:
        """Give the caller back what it had, and note no more."""
        super().end(callers)
        self._options.__class__ = self._kind

    def put_aside(self) -> Any:
        """Print as a new process does."""
        own = vars(self._options).copy()
        self.put_back(self._usual)
        return own

    def put_back(self, own: Any) -> None:
        """Print as before."""
        for name, value in own.items():
            setattr(self._options, name, value)


class Threads(Setting):
    """With how many threads torch computes: one, as in a worker; many small steps gain by that."""

    def __init__(self, torch: Any, n_threads: int | None) -> None:
        super().__init__(
            "torch's number of threads", "rank", "n_threads", torch.get_num_threads,
            torch.set_num_threads, torch.get_num_threads() if n_threads is None else n_threads,
        )  # fmt: skip

    def begin_late(self) -> Any:
        """Set it, and give the caller what torch has begun with."""
        return self.begin()
