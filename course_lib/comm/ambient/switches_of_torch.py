"""Switches of torch that a process has once: ``torch.backends``, ``torch.__future__``.

There are more of them than could be asked at every switch between ranks, and hardly any program
turns one. So, for the time of a run, what turns them notes that it has been called (``notes``).
"""

import sys
from operator import attrgetter
from typing import Any, NamedTuple

from course_lib.comm.ambient.noted import UNCHANGED, NotesCalls
from course_lib.comm.ambient.notes import NOTED, NotedCalls

__all__ = ["Switches"]

_CALLERS = object()
"""What the caller has, where another computer's new process has something else."""

# Where it is in torch, what sets it, what tells it, and what a new process has.
_SWITCHES = (
    ("_C", "_set_cudnn_enabled", "_get_cudnn_enabled", True),
    ("_C", "_set_cudnn_benchmark", "_get_cudnn_benchmark", False),
    ("_C", "_set_cudnn_deterministic", "_get_cudnn_deterministic", False),
    ("_C", "_set_cudnn_depthwise_kernel", "_get_cudnn_depthwise_kernel", "auto"),
    ("_C", "_set_mkldnn_enabled", "_get_mkldnn_enabled", True),
    ("_C", "_set_mkldnn_deterministic", "_get_mkldnn_deterministic", False),
    ("_C", "_set_nnpack_enabled", "_get_nnpack_enabled", True),
    ("_C", "_set_sdp_use_flash", "_get_flash_sdp_enabled", True),
    ("_C", "_set_sdp_use_fa3", "_get_fa3_sdp_enabled", False),
    ("_C", "_set_sdp_use_mem_efficient", "_get_mem_efficient_sdp_enabled", True),
    ("_C", "_set_sdp_use_math", "_get_math_sdp_enabled", True),
    ("_C", "_set_sdp_use_cudnn", "_get_cudnn_sdp_enabled", True),
    ("_C", "_set_sdp_use_overrideable", "_get_overrideable_sdp_enabled", True),
    ("_C", "_set_sdp_priority_order", "_get_sdp_priority_order", [1, 2, 0, 3, 4]),
    (
        "_C", "_set_math_sdp_allow_fp16_bf16_reduction",
        "_get_math_sdp_allow_fp16_bf16_reduction", False,
    ),
    (
        "_C", "_set_cublas_allow_fp16_reduced_precision_reduction",
        "_get_cublas_allow_fp16_reduced_precision_reduction", (True, True),
    ),
    (
        "_C", "_set_cublas_allow_bf16_reduced_precision_reduction",
        "_get_cublas_allow_bf16_reduced_precision_reduction", (True, True),
    ),
    ("_C", "_set_cublas_allow_fp16_accumulation", "_get_cublas_allow_fp16_accumulation", False),
    (
        "_C", "_set_cpu_allow_fp16_reduced_precision_reduction",
        "_get_cpu_allow_fp16_reduced_precision_reduction", False,
    ),
    (
        "_C", "_set_deterministic_fill_uninitialized_memory",
        "_get_deterministic_fill_uninitialized_memory", True,
    ),
    ("_C", "_set_check_sparse_tensor_invariants", "_check_sparse_tensor_invariants", False),
    ("_C", "_set_miopen_immediate", "_get_miopen_immediate", False),
    ("_C", "_set_qengine", "_get_qengine", _CALLERS),
    ("backends.mha", "set_fastpath_enabled", "get_fastpath_enabled", True),
    # Enabled first: only then a strategy may be set.
    ("backends.opt_einsum.m", "_set_enabled", "_get_enabled", _CALLERS),
    ("backends.opt_einsum.m", "_set_strategy", "_get_strategy", _CALLERS),
    (
        "__future__", "set_overwrite_module_params_on_conversion",
        "get_overwrite_module_params_on_conversion", False,
    ),
    (
        "__future__", "set_swap_module_params_on_conversion",
        "get_swap_module_params_on_conversion", False,
    ),
)  # fmt: skip

_ALSO_NOTED = (
    ("_C", "_set_float32_matmul_precision"),
    ("_C", "_set_fp32_precision_setter"),
    ("_C", "_set_cublas_allow_tf32"),
    ("_C", "_set_cudnn_allow_tf32"),
    ("", "set_autocast_dtype"),  # which is for ``Autocast`` to look at
    ("", "set_autocast_cpu_dtype"),
    ("", "set_autocast_gpu_dtype"),
)
_PLACES = (
    ("generic", "all"), ("cuda", "all"), ("mkldnn", "all"), ("cuda", "matmul"), ("cuda", "conv"),
    ("cuda", "rnn"), ("mkldnn", "matmul"), ("mkldnn", "conv"), ("mkldnn", "rnn"),
)  # fmt: skip
"""Where torch has a precision, each after that which holds where it has none of its own."""

_CALLS = NotedCalls()
_CUDNNS = (("cuda", "conv"), ("cuda", "rnn"))


class _Precisions(NamedTuple):
    """How exactly torch multiplies: of each place, and in the words of two older functions."""

    of_places: tuple[str, ...]
    of_matmul: str
    cudnn_allows_tf32: bool


_USUAL = _Precisions(
    tuple("tf32" if place in _CUDNNS else "none" for place in _PLACES), "highest", True
)


class Switches(NotesCalls):
    """All of them together."""

    def __init__(self, torch: Any) -> None:
        self._calls = _CALLS
        super().__init__(
            "switches of torch's backends", "rank",
            "not switch_calls.touched or switches.are_usual()",
            {"switch_calls": self._calls, "switches": self, "noted": NOTED},
        )  # fmt: skip
        self.fast = UNCHANGED
        self._torch = torch
        # A torch that came before the one this course is tested with has fewer.
        self._all = [row for row in _SWITCHES if hasattr(attrgetter(row[0])(torch), row[1])]
        self._usual = {
            (place, change): self._now(place, tell) if usual is _CALLERS else usual
            for place, change, tell, usual in self._all
        }

    def are_usual(self) -> bool:
        """Look at all."""
        return not self._turned() and self._precisions_are_usual()

    def end(self, callers: Any) -> None:
        """Give the caller back what it had; ``torch.compile`` looks at its own functions again."""
        super().end(callers)
        self._let_torch_look_again()

    def put_aside(self) -> Any:
        """Turn back what is turned."""
        own = self._turned()
        for place, change in own:
            self._turn(place, change, self._usual[place, change])
        if self._precisions_are_usual():
            return own, None
        precisions = self._take_precisions()
        self._set_precisions(_USUAL)
        return own, precisions

    def put_back(self, own: Any) -> None:
        """Turn it again."""
        turned, precisions = own
        for (place, change), value in reversed(turned.items()):
            self._turn(place, change, value)
        if precisions is not None:
            self._set_precisions(precisions)

    def _turned(self) -> dict[tuple[str, str], Any]:
        found = {}
        for place, change, tell, _ in self._all:
            value = self._now(place, tell)
            if value != self._usual[place, change]:
                found[place, change] = value
        return found

    def _now(self, place: str, tell: str) -> Any:
        return getattr(attrgetter(place)(self._torch), tell)()

    def _turn(self, place: str, change: str, value: Any) -> None:
        values = value if isinstance(value, tuple) else (value,)
        getattr(attrgetter(place)(self._torch), change)(*values)

    def _precisions_are_usual(self) -> bool:
        inner = self._torch._C
        try:
            now = _Precisions(
                tuple(inner._get_fp32_precision_getter(*place) for place in _PLACES),
                inner._get_float32_matmul_precision(),
                inner._get_cudnn_allow_tf32(),
            )
        except RuntimeError:  # the older functions refuse where what they say is not all
            return False
        return now == _USUAL

    def _take_precisions(self) -> _Precisions:
        """Find out what they are: of each place without those that hold where it has none."""
        inner = self._torch._C
        own = []
        for place in _PLACES:
            own.append(inner._get_fp32_precision_getter(*place))
            inner._set_fp32_precision_setter(*place, "none")
        for place in _CUDNNS:
            inner._set_fp32_precision_setter(*place, "tf32")
        try:
            cudnn_allows_tf32 = inner._get_cudnn_allow_tf32()
        except RuntimeError:  # it does not, and that is not what the new settings say
            cudnn_allows_tf32 = False
        return _Precisions(tuple(own), inner._get_float32_matmul_precision(), cudnn_allows_tf32)

    def _set_precisions(self, own: _Precisions) -> None:
        inner = self._torch._C
        inner._set_float32_matmul_precision(own.of_matmul)
        inner._set_cudnn_allow_tf32(own.cudnn_allows_tf32)
        for place, precision in zip(_PLACES, own.of_places, strict=True):
            inner._set_fp32_precision_setter(*place, precision)

    def _note(self) -> None:
        """Have everything that turns a switch note that."""
        torch = self._torch
        setters = [(place, change) for place, change, *_ in self._all]
        for place, name in (*setters, *_ALSO_NOTED):
            for owner in (attrgetter(place)(torch),) if place else (torch, torch._C):
                self._calls.begin(owner, name)
        # What torch.backends.cudnn.enabled = ... calls, it has looked up when it was loaded.
        self._calls.begin(torch.backends.ContextProp, "__set__")
        self._let_torch_look_again()

    @staticmethod
    def _let_torch_look_again() -> None:
        """Have ``torch.compile`` find out anew which functions it knows: by what they are."""
        rules: Any = sys.modules.get("torch._dynamo.trace_rules")
        if rules is not None:
            rules.clear_lru_cache()
