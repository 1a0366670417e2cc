"""What torch keeps. It is never imported from here: whoever needs it has loaded it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from course_lib.comm.ambient.entries import Entry, Setting, function_of
from course_lib.comm.ambient.generators import TorchGenerator
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
        snapshot.sees(Autocast(torch), f" and {_IN_NO_BLOCK} and not noted.changed"),
        FunctionModes(torch),
        DispatchModes(torch),
        SavedTensorHooks(torch),
        Transforms(torch),
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
        Setting(
            "torch's search for anomalies", "rank", "anomalies", torch.is_anomaly_enabled,
            torch.set_anomaly_enabled, False,
        ),
        PrintOptions(torch._tensor_str.PRINT_OPTS),
        Switches(torch),
        TorchGenerator(torch),
        # No value depends on it, and hardly anybody sets it but as a part of what stands above.
        Setting(
            "whether backward uses threads", "run", "threads_in_backward",
            inner._is_multithreading_enabled, inner._set_multithreading_enabled, True,
        ),
    ]  # fmt: skip


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
        entry.quick = f"torch_snapshot.is_same(){also}"
        entry.names["torch_snapshot"] = self
        return entry


def half_way(torch: Any) -> Callable[[], bool]:
    """Make a function that says that torch is in the middle of what cannot be put aside.

    These are its engine, which calls a hook inside ``backward``, and the one level of forward
    differentiation that a process has.
    """
    return function_of(
        "graph_task() != -1 or forward_ad._current_level != -1",
        {"graph_task": torch._C._current_graph_task_id, "forward_ad": torch.autograd.forward_ad},
    )


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


_IN_NO_BLOCK = "cast_deeper() + cast_less_deep() == 1"
"""Of autocast: that is twice as many as have been entered, and 1."""


class Autocast(Entry):
    """``torch.autocast``: for each kind of device whether and to what; what it has cast so far.

    That is forgotten: the block that is left last would keep it, also for weights that another
    rank has changed since. So how often blocks were entered must be a flow's own, too. That a dtype
    is set without a block, while nothing is cast, is noted (``Switches``).
    """

    def __init__(self, torch: Any) -> None:
        usual = _casts_in_a_new_thread(torch)
        super().__init__(
            "autocast", "flow", f"{_IN_NO_BLOCK} and casts_as_usual()",
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
        self.quick = "not noted.changed"
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
