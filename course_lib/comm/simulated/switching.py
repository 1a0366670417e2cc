"""From one rank to another: what is kept for a whole thread or process changes hands with it.

All ranks share one thread. So a flow leaves everything as a new process has it when it goes to
sleep, and puts its own back when it wakes up (``course_lib.comm.ambient``); then a message may be
sent under ``torch.no_grad()``, or between two draws of a seeded generator. Inside ``backward`` (in
a hook) and inside ``forward_ad.dual_level`` it may not: what torch has half done there, for the
whole process, cannot be moved aside.
"""

from sys import modules
from typing import TYPE_CHECKING, Any, NoReturn

from greenlet import greenlet

from course_lib.comm.errors import SimulationError

if TYPE_CHECKING:
    from course_lib.comm.simulated.flow import Flow

__all__ = ["refuse_half_way", "switch"]


def switch(flow: "Flow", other: greenlet) -> None:
    """Let another greenlet go on; return when ``flow``, which calls this, is switched to again."""
    of_rank, comm, of_flow = flow.of_rank, flow.comm, None
    is_its_own = comm.flow is flow  # in wait() it is that of what it waits for
    if not (is_its_own and comm._stays_usual):
        surroundings = flow.world.surroundings
        if not surroundings.is_usual():
            of_flow = surroundings.put_aside(of_rank)
        elif is_its_own and comm._stays_usual is False:
            comm._stays_usual = True
    try:
        other.switch()
    finally:
        if of_flow or of_rank:
            comm._stays_usual = comm._stays_usual and False  # another flow of this rank's
            surroundings = flow.world.surroundings
            surroundings.put_back(of_rank)
            surroundings.put_back(of_flow or [])


def refuse_half_way(rank: int, verb: str) -> NoReturn:
    """Raise ``SimulationError``: torch is in the middle of something."""
    torch: Any = modules["torch"]
    if torch._C._current_graph_task_id() == -1:
        raise SimulationError(
            f"rank {rank} called {verb}() inside torch.autograd.forward_ad.dual_level(); the "
            "simulator runs all ranks in one process, which has one such level: leave the block "
            "before the message",
            rank=rank,
        )
    raise SimulationError(
        f"rank {rank} called {verb}() inside backward(), in an autograd hook; the simulator runs "
        "all ranks on one thread, and torch's engine cannot be left half-way: collect what the "
        "hook sees, and send it after backward() has returned",
        rank=rank,
    )
