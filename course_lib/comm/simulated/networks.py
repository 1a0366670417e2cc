"""Networks to take: presets after standards and measurements, and how to put them together.

The presets are the bandwidths of standards and of makers, and latencies that somebody measured from
one program to another, where that could be found:

==============  =========  ===================  =======================================
preset          latency    bandwidth, each way  sources
==============  =========  ===================  =======================================
ethernet_1g     35 us      125 MB/s             [1] [2]
ethernet_10g    20 us      1,250 MB/s           [1] [3]
ethernet_100g   5 us       12,500 MB/s          [1], latency assumed
infiniband_hdr  0.6 us     25,000 MB/s          [4]
infiniband_ndr  0.6 us     50,000 MB/s          [5], latency assumed to be that of HDR
pcie_gen4       15 us      31,508 MB/s          [6] [7]
pcie_gen5       15 us      63,015 MB/s          [6], latency assumed to be that of gen4
nvlink_4        1.8 us     450,000 MB/s         [8] [7]
wan             37,500 us  125 MB/s             [9], bandwidth assumed
==============  =========  ===================  =======================================

No program gets all of the bandwidth: of NVLink's 900 GB/s, both ways together, 783 were measured
[10]. What has to fit your computers you measure: make your own ``Network``, or vary one number of a
preset with ``dataclasses.replace(networks.ethernet_10g, latency_s=1e-3)``.

References
----------
1. IEEE Standard 802.3 for Ethernet: 1, 10 and 100 Gbit/s.
2. D. Love, Gigabit Ethernet MPI Performance Tests, NW-GRID, University of Liverpool: 35 us with a
   NIC's default settings, through a switch, with Open-MX's own ping-pong; 9 us are reached with
   special settings and Open MPI 1.3.1 over Open-MX, without a switch.
3. J. Hurwitz and W. Feng, Initial End-to-End Performance Evaluation of 10-Gigabit Ethernet, Hot
   Interconnects 11, 2003: 20 us from one application to another, over TCP.
4. NVIDIA, ConnectX-6 adapter cards, user manual: HDR, 200 Gbit/s, "sub-600ns latency".
5. NVIDIA, ConnectX-7 adapter cards, user manual: NDR, 400 Gbit/s.
6. PCI-SIG, PCI Express Base Specification, revisions 4.0 (2017) and 5.0 (2019): 16 lanes of 16 or
   32 GT/s, of 130 bits 128 are data.
7. J. Kim, What the meaning of 'CPU latency' in p2pBandwidthLatencyTest?, NVIDIA/cuda-samples, issue
   230, 2023: four GPUs, 1.8 to 2.3 us over NVLink, 11 to 20 us without it, through the computer's
   memory; which generations they are is not said.
8. NVIDIA, H100 Tensor Core GPU Architecture, 2022: 900 GB/s, both directions together.
9. J. Resig and L. Sands-Ramshaw, The GraphQL Guide, section Latency: New York to Paris and back in
   75 ms.
10. Only ~783GByte/s out of theoretical 900GB/s HGX H100 SXM Nvlink4, NVIDIA/nccl, issue 1264, 2024.
"""

from dataclasses import replace

from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.topologies import Ring, Torus, TwoLevel

__all__ = [
    "DEFAULT",
    "Network",
    "ethernet_1g",
    "ethernet_10g",
    "ethernet_100g",
    "infiniband_hdr",
    "infiniband_ndr",
    "nvlink_4",
    "pcie_gen4",
    "pcie_gen5",
    "ring",
    "torus",
    "two_level",
    "wan",
]


def ring(link: Network) -> Network:
    """Connect neighbours only, each pair by one link of its own in each direction.

    Parameters
    ----------
    link : Network
        Latency and bandwidth of every link, and of the NICs; how fast ranks compute.

    Returns
    -------
    Network
        A message to a rank at distance d takes ``d * latency_s + n * beta`` when it is alone.

    Raises
    ------
    ValueError
        If ``link`` has a topology already.

    Examples
    --------
    >>> ring(ethernet_10g).name
    'ring of ethernet_10g'
    """
    _refuse_topology("link", link)
    return replace(link, name=f"ring of {link.name}", topology=Ring())


def torus(link: Network, rows: int, columns: int) -> Network:
    """Connect neighbours of a grid, and the ends of each row and column with each other.

    Parameters
    ----------
    link : Network
        Latency and bandwidth of every link, and of the NICs; how fast ranks compute. A rank has
        four links in each direction and one NIC: it sends one message at a time, while others pass.
    rows, columns : int
        How many ranks stand below and beside each other; rank r in row r // columns. A run on it
        takes rows * columns workers.

    Returns
    -------
    Network
        A message that has d links to go takes ``d * latency_s + n * beta`` when it is alone. It
        goes along its row first, then along the column, each the shorter way round.

    Raises
    ------
    TypeError, ValueError
        If ``rows`` or ``columns`` is no whole number of 1 or more, or ``link`` has a topology
        already.

    Examples
    --------
    >>> torus(infiniband_hdr, rows=4, columns=8).name
    '4 x 8 torus of infiniband_hdr'
    """
    _refuse_topology("link", link)
    shape = Torus(rows, columns)
    return replace(link, name=f"{rows} x {columns} torus of {link.name}", topology=shape)


def two_level(inside: Network, between: Network, ranks_per_host: int) -> Network:
    """Put ranks on hosts: fast links inside, one uplink a host that its ranks share.

    Parameters
    ----------
    inside : Network
        Between ranks of one host; how fast ranks compute, too.
    between : Network
        Its latency is that between hosts, its bandwidth that of each uplink, in each direction.
    ranks_per_host : int
        Rank r lives on host r // ranks_per_host.

    Returns
    -------
    Network
        The two together.

    Raises
    ------
    ValueError
        If one of them has a topology already.

    Examples
    --------
    >>> two_level(inside=nvlink_4, between=infiniband_ndr, ranks_per_host=8).name
    'hosts of 8: nvlink_4, infiniband_ndr between'
    """
    _refuse_topology("inside", inside)
    _refuse_topology("between", between)
    return replace(
        inside,
        name=f"hosts of {ranks_per_host}: {inside.name}, {between.name} between",
        topology=TwoLevel(ranks_per_host, between.latency_s, between.bandwidth_bytes_per_s),
        slow=(*inside.slow, *between.slow),
    )


def _refuse_topology(argument: str, network: Network) -> None:
    if network.topology is not None:
        raise ValueError(
            f"{argument} must be a network in which any two ranks are connected alike, "
            f"got {network.name!r}"
        )


_LAPTOP_CORE_FLOPS_PER_S = 1e10
"""An assumption: one core doing dense arithmetic, of the order of ten operations a nanosecond.
The same in all presets, so that they differ in the network alone."""


def _preset(name: str, latency_s: float, bandwidth_bytes_per_s: float) -> Network:
    return Network(name, latency_s, bandwidth_bytes_per_s, _LAPTOP_CORE_FLOPS_PER_S)


ethernet_1g = _preset("ethernet_1g", 35e-6, 125e6)
"""Gigabit Ethernet, as in an office."""

ethernet_10g = _preset("ethernet_10g", 20e-6, 1.25e9)
"""Ten-gigabit Ethernet, as in a cluster."""

ethernet_100g = _preset("ethernet_100g", 5e-6, 12.5e9)
"""The fast Ethernet of a data centre."""

infiniband_hdr = _preset("infiniband_hdr", 0.6e-6, 25e9)
"""InfiniBand of 2018, four lanes: its NIC's memory is written without the operating system."""

infiniband_ndr = _preset("infiniband_ndr", 0.6e-6, 50e9)
"""InfiniBand of 2021, four lanes."""

pcie_gen4 = _preset("pcie_gen4", 15e-6, 16e9 * 16 * 128 / 130 / 8)
"""GPUs in one computer, each in a slot of 16 lanes, through the computer's memory."""

pcie_gen5 = _preset("pcie_gen5", 15e-6, 32e9 * 16 * 128 / 130 / 8)
"""The same with lanes of twice the speed."""

nvlink_4 = _preset("nvlink_4", 1.8e-6, 450e9)
"""GPUs of one host, connected by NVLink of the fourth generation (H100, 2022)."""

wan = _preset("wan", 37.5e-3, 125e6)
"""Computers on both sides of an ocean."""

DEFAULT = ethernet_10g
"""What ``run(..., backend="simulated")`` takes when no network is named."""
