"""What simulated ranks return, as it would arrive from a process.

Apart from ``shipping``, which workers load before they have limited NumPy to one thread.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.comm.failures import Failure
from course_lib.comm.shipping import load_value, pack_value

if TYPE_CHECKING:
    from course_lib.comm.simulated.event_loop import EventLoop

__all__ = ["bring_values", "check_travels"]

_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))


def bring_values(world: "EventLoop") -> None:
    """Put copies in the place of what ranks returned: nothing of them lives on.

    The first that cannot travel is the run's failure.
    """
    for rank in range(world.size):
        flow = world.flows.get((rank, 0))
        if flow is None:  # it has crashed
            continue
        try:
            flow.value = _travelled(flow.value, rank)
        except (Exception, KeyboardInterrupt) as error:
            if world.interrupts.have_raised(error):
                raise
            world.failure = Failure.of(error, rank, flow.now_s)
            return


def check_travels(value: Any, rank: int) -> None:
    """Refuse what a rank returns if it cannot travel.

    Raises
    ------
    SerializationError
        If it cannot.
    """
    if type(value) not in _PLAIN:
        pack_value(value, rank)


def _travelled(value: Any, rank: int) -> Any:
    if type(value) in _PLAIN:
        return value
    # Others arrive in another order of their elements than they have here.
    if type(value) is np.ndarray and value.flags.forc and value.size and not value.dtype.hasobject:
        copy = value.copy(order="K")
        copy.flags.writeable = value.flags.writeable
        return copy
    return load_value(pack_value(value, rank), rank)
