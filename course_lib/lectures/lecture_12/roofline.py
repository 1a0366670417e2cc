"""What bounds a worker: its arithmetic, its memory, or its network. Flops a byte decide.

The *roofline* (Williams, Waterman and Patterson 2009) of a device is flops a second over flops a
byte: ``min(peak, flops a byte · bytes a second)``. A network interface has one, too: there the
bytes are those that are sent.
"""

from collections.abc import Mapping
from typing import NamedTuple

from course_lib.viz import Chart, Table, chart, table

__all__ = [
    "DEVICES", "NICS", "WIDTH", "Device", "flops_a_byte", "least_batch", "reached", "ridge_table",
    "roofline_chart",
]  # fmt: skip

WIDTH = 4096
"""Units of the dense layer that the lecture looks at: as many in as out."""

_BYTES = 2  # a number of 16 bits
_X_RANGE = (0.3, 1e6)


class Device(NamedTuple):
    """What computes.

    Attributes
    ----------
    flops_per_s : float
        Its peak.
    memory_bytes_per_s : float
        What its memory delivers.
    """

    flops_per_s: float
    memory_bytes_per_s: float


DEVICES: Mapping[str, Device] = {
    "laptop CPU": Device(2e11, 5e10),
    "A100": Device(3.12e14, 2.04e12),
    "H100": Device(9.89e14, 3.35e12),
}
"""The laptop's numbers are an order of magnitude; those of the GPUs are from NVIDIA's data sheets
(SXM, dense, 16-bit tensor cores)."""

NICS: Mapping[str, float] = {
    "1 Gbit/s": 1.25e8,
    "10 Gbit/s": 1.25e9,
    "100 Gbit/s": 1.25e10,
    "400 Gbit/s": 5e10,
    "NVLink": 4.5e11,
}
"""Bytes a second, one way; NVLink as an H100 has it."""


def flops_a_byte(batch: int, width: int = WIDTH) -> tuple[float, float]:
    """Say how many flops there are for each byte of memory, and for each byte that is sent.

    Parameters
    ----------
    batch : int
        Examples of a worker in a step.
    width : int, default: 4096
        Units of the layer, in and out.

    Returns
    -------
    memory : float
        Of the forward product: 2 b d² flops, and numbers of weights, inputs and outputs.
    network : float
        Of a data-parallel step: 6 b d² flops, and twice the gradient, which a ring sends if there
        are many workers.

    Examples
    --------
    >>> flops_a_byte(1024)
    (682.6666666666666, 1536.0)
    """
    memory = 2 * batch * width**2 / (_BYTES * (width**2 + 2 * batch * width))
    network = 6 * batch * width**2 / (2 * _BYTES * width**2)
    return memory, network


def reached(flops: float, peak: float, bytes_per_s: float) -> float:
    """Return the roof over so many flops a byte.

    Parameters
    ----------
    flops : float
        Flops a byte.
    peak : float
        Flops a second at most.
    bytes_per_s : float
        What delivers the bytes.

    Returns
    -------
    float
        Flops a second.
    """
    return min(peak, flops * bytes_per_s)


def least_batch(device: str, nic: str) -> int:
    """Return how many examples a worker needs so that sending takes no longer than computing.

    Parameters
    ----------
    device, nic : str
        In ``DEVICES`` and ``NICS``.

    Returns
    -------
    int
        Examples of a worker in a step of data parallelism. If all sending goes on while the worker
        computes, the step is at the device's peak; one after the other, at half of it. Gradients
        that are sent under the backward pass, two thirds of the flops, leave it at three quarters.
    """
    ridge = DEVICES[device].flops_per_s / NICS[nic]
    per_example = flops_a_byte(1)[1]
    return int(-(-ridge // per_example))


def ridge_table() -> Table:
    """List the least batch of each device on each network.

    Returns
    -------
    Table
        A row for each device.
    """
    return table({
        device: {nic: f"{least_batch(device, nic):,}" for nic in NICS} for device in DEVICES
    })  # fmt: skip


def roofline_chart(device: str, nic: str, batch: int) -> Chart:
    """Draw both roofs of a device, and where a dense layer stands under each.

    Parameters
    ----------
    device, nic : str
        In ``DEVICES`` and ``NICS``.
    batch : int
        Examples of a worker in a step.

    Returns
    -------
    Chart
        Flops a second over flops a byte.
    """
    peak, memory_s = DEVICES[device]
    in_memory, on_network = flops_a_byte(batch)
    roofs = {"memory": (memory_s, in_memory), f"network, {nic}": (NICS[nic], on_network)}
    lines = {
        name: [(x, reached(x, peak, rate)) for x in (_X_RANGE[0], peak / rate, _X_RANGE[1])]
        for name, (rate, _) in roofs.items()
        if _X_RANGE[0] < peak / rate < _X_RANGE[1]
    }
    for name, (rate, _) in roofs.items():
        lines.setdefault(name, [(x, reached(x, peak, rate)) for x in _X_RANGE])
    stands = {name: reached(x, peak, rate) / peak for name, (rate, x) in roofs.items()}
    bound = min(stands, key=lambda name: stands[name])
    said = "Arithmetic is what bounds it: the roofs are flat there."
    if stands[bound] < 1:
        share = f"{stands[bound]:.1%}" if stands[bound] >= 1e-3 else "less than 0.1%"
        said = f"What bounds it is the {bound}: {share} of the peak."
    return chart(
        lines,
        points={
            "the layer": (in_memory, reached(in_memory, peak, memory_s)),
            "the step": (on_network, reached(on_network, peak, NICS[nic])),
        },
        x_label="flops a byte", y_label="flops a second", x_log=True, y_log=True,
        x_range=_X_RANGE, y_range=(1e7, 2e15), said=said,
    )  # fmt: skip
