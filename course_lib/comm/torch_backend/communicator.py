"""The communicator over torch.distributed."""

from typing import Any

from numpy.typing import NDArray

from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.messages import Array, Envelope
from course_lib.comm.processes.memory.mailbox import NOBODY
from course_lib.comm.processes.memory.transfers import Wanted
from course_lib.comm.processes.rank.communicator import ProcessCommunicator
from course_lib.comm.processes.rank.flow import Call, Flow
from course_lib.comm.torch_backend.arrays import check_out, overlap, to_data, wrap
from course_lib.comm.torch_backend.packets import Packet, PacketKind
from course_lib.comm.torch_backend.transfers import Receiving, Sending

__all__ = ["TorchCommunicator"]


class TorchCommunicator(ProcessCommunicator):
    """A communicator whose messages go through torch.distributed; its parameters are those there.

    It takes tensors that NumPy does not know (bfloat16, those on a GPU) as well.
    """

    _to_data = staticmethod(to_data)
    _check_out = staticmethod(check_out)
    _overlap = staticmethod(overlap)
    # No short way for small messages.
    _send_small = staticmethod(lambda *_: False)
    _receive_small = staticmethod(lambda *_: None)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._device = self._progress.wires.device

    def quietly_report(self, data: NDArray[Any]) -> None:
        """Send rank 0 what no function has sent."""
        self._quietly_send("send", data, self._members[0])

    def quietly_hear(self, src: int) -> NDArray[Any]:
        """Receive what ``quietly_report`` has sent."""
        return self._quietly_receive("send", src, (src,))[1]

    def _wrap(self, data: Any, kind: str) -> Array:
        return wrap(data, kind, self.device)

    def _sending(
        self, data: NDArray[Any], sent: Envelope, to: int, posted_s: float, quietly: bool = False,
        flow: Flow | None = None, stamp: int | None = None,
    ) -> Sending:  # fmt: skip
        del posted_s, flow
        most = EAGER_BYTES if quietly else self._context.settings.eager_bytes
        packet = Packet(
            PacketKind.MESSAGE,
            src=self._me,
            number=next(self._progress.numbers),
            channel=self._quiet_channel if quietly else self._channel,
            n_bytes=data.nbytes,
            waits=data.nbytes > most,
            on_device=self._progress.wires.between_gpus,
            stamp=0 if quietly else self._stamp if stamp is None else stamp,
            sent=sent,
        )
        return Sending(to, data, packet)

    def _send_now(self, data: NDArray[Any], sent: Envelope, to: int, posted_s: float) -> bool:
        going = self._sending(data, sent, to, posted_s)
        if not going.waits:
            self._drive(Call("isend", NOBODY, to, sent.tag, (), self.name), going, None)
        return not going.waits

    def _receiving(self, from_: int, wanted: Wanted) -> Receiving:
        return Receiving(from_, self, wanted)
