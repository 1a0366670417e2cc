"""A communicator that passes every call on and keeps a copy of what is sent."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Envelope, Tag
from course_lib.comm.pending import Pending

__all__ = ["Listener", "Sent"]

T = TypeVar("T")

Sent = dict[tuple[str, int], list[NDArray[Any]]]
"""What a rank sent, in order: by communicator and receiver (a rank of the whole run)."""


class Listener(Communicator):
    """One rank's communicator, listened to; so are those that are split or started from it.

    Parameters
    ----------
    inner : Communicator
        Where every call is passed on to.
    sent : dict
        Where the copies are kept.
    """

    def __init__(self, inner: Communicator, sent: Sent) -> None:
        super().__init__(inner.rank, inner.size, inner._seed, inner.name, inner._members)
        self.device = inner.device
        self._inner = inner
        self._sent = sent

    def _keep(self, data: NDArray[Any], dst: int) -> None:
        self._sent.setdefault((self.name, self._members[dst]), []).append(data.copy())

    def _send(self, data: NDArray[Any], sent: Envelope, dst: int) -> None:
        self._keep(data, dst)
        self._inner._send(data, sent, dst)

    def _recv(
        self, src: int, out: NDArray[Any] | None, op: str | None, tag: Tag
    ) -> tuple[NDArray[Any], Envelope]:
        return self._inner._recv(src, out, op, tag)

    def _recv_any(self) -> tuple[int, NDArray[Any], Envelope]:
        return self._inner._recv_any()

    def _sendrecv(
        self,
        data: NDArray[Any],
        sending: Envelope,
        dst: int,
        src: int,
        out: NDArray[Any] | None,
        op: str | None,
    ) -> tuple[NDArray[Any], Envelope]:
        self._keep(data, dst)
        return self._inner._sendrecv(data, sending, dst, src, out, op)

    def _barrier(self) -> None:
        self._inner._barrier()

    def _split(self, color: int | None, key: int) -> Communicator | None:
        group = self._inner.split(color, key)
        return None if group is None else Listener(group, self._sent)

    def _start(self, fn: Callable[..., T], args: tuple[Any, ...]) -> Pending[T]:
        def listened(child: Communicator) -> T:
            return fn(Listener(child, self._sent), *args)

        return self._inner.start(listened)

    def _shared_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        return self._inner._shared_array(shape, dtype)

    def _computed(self, label: str, flops: float, started_s: float) -> None:
        self._inner._computed(label, flops, started_s)

    def _note(self, name: str, value: Any) -> None:
        self._inner._note(name, value)

    def _clock(self) -> float:
        return self._inner._clock()

    def _collective(self, name: str, entered_s: float) -> None:
        self._inner._collective(name, entered_s)
