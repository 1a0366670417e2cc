"""From one rank to another: what torch keeps for a whole thread must change hands with it.

All ranks share one thread, and torch remembers for each thread whether gradients are recorded. So
a rank takes that with it when it goes to sleep, and puts it back when it wakes up; then a message
may be sent under ``torch.no_grad()``. Inside ``backward`` (in a hook) it may not: the engine's own
state cannot be moved aside.
"""

from sys import modules
from typing import Any

from greenlet import greenlet

from course_lib.comm.errors import SimulationError

__all__ = ["TORCH", "refuse_inside_backward", "switch_to"]

TORCH = "torch._C"
"""The module to look for: loaded by whoever needs torch, never from here."""


def switch_to(other: greenlet) -> None:
    """Let another greenlet go on; return when this one is switched to again."""
    if TORCH not in modules:
        other.switch()
        return
    torch: Any = modules[TORCH]
    records_gradients = torch.is_grad_enabled()
    try:
        other.switch()
    finally:
        torch._set_grad_enabled(records_gradients)


def refuse_inside_backward(rank: int, verb: str) -> None:
    """Raise ``SimulationError`` where a verb is called in an autograd hook; torch is loaded."""
    torch: Any = modules[TORCH]
    if torch._current_graph_task_id() != -1:
        raise SimulationError(
            f"rank {rank} called {verb}() inside backward(), in an autograd hook; the simulator "
            "runs all ranks on one thread, and torch's engine cannot be left half-way: collect "
            "what the hook sees, and send it after backward() has returned",
            rank=rank,
        )
