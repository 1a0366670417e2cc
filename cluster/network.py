"""Hosts out of network namespaces, with slow links: made by iproute2, and removed whatever happens.

A *network namespace* has NICs, addresses and ports of its own; a program in it reaches what is
connected to it and nothing else. A *veth* is a cable with a NIC at each end. So a host is a
namespace with one end of a cable in it; the other ends are the ports of a *bridge*, a switch, in a
namespace of its own. All of it is gone with the namespaces; nothing of the computer's own network
is touched.

A token bucket on each end, ``tc tbf``, lets through so many bits a second: the host's end is its
sending half, the switch's end its receiving half. Both have one queue, first come, first served.
How much a connection may put into its host's queue, Linux decides (*TCP small queues*): up to 4 MB,
for a NIC is fast. There a request for the next chunk would wait behind all of the last one that is
still to be sent, and a ring take half as long again. Drivers of slow NICs keep their queue short
(*byte queue limits*); so do the hosts here.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from cluster.wire import FRAMING_BYTES
from course_lib.comm.processes.memory.shared_memory import is_alive

__all__ = ["CannotBeMade", "ThrottledNetwork", "why_not"]

_PREFIX = "course"
_NIC = "eth0"
_SWITCH = "switch"
_BURST_BYTES = 4_000
"""What may pass at once after a silence: two frames. With the usual 32 kB, 1 MB would take 3 % less
than at the rate."""
_QUEUE = "50ms"
"""How long a frame may wait before the bucket drops it: a switch with half a megabyte a port."""
_TCP = "/proc/sys/net/ipv4"
_PATIENCE_S = 10.0


class CannotBeMade(RuntimeError):
    """The hosts cannot be made here; the text says why."""


def why_not() -> str:
    """Say what is missing for hosts to be made here; "" if nothing is."""
    if sys.platform != "linux":
        return "network namespaces are Linux's own"
    if missing := [name for name in ("ip", "tc") if shutil.which(name) is None]:
        return f"{' and '.join(missing)} not found: install iproute2"
    if os.geteuid() != 0:
        return "only root may make network namespaces: sudo make cluster"
    return ""


class ThrottledNetwork:
    """Hosts at one switch; a ``with`` block makes them, and removes them with all that runs there.

    Parameters
    ----------
    n_hosts : int
        How many, 2 to 4.
    rate_mbit : float, default: 100.0
        What each NIC can send, and at the same time receive, in millions of bits a second.
    queue_bytes : int, default: 6000
        What a connection may have waiting in its host's queue; four packets.
    name : str, default: one that has this program's number
        What the names of the namespaces begin with.
    """

    def __init__(
        self,
        n_hosts: int,
        rate_mbit: float = 100.0,
        queue_bytes: int = 6_000,
        name: str | None = None,
    ) -> None:
        self.n_hosts = n_hosts
        self.rate_mbit = rate_mbit
        self.queue_bytes = queue_bytes
        self._name = name or f"{_PREFIX}{os.getpid()}"

    def address(self, node: int) -> str:
        """Return a host's address."""
        return f"10.77.0.{node + 1}"

    def enter(self, node: int) -> list[str]:
        """Return the words before a command that have it run on a host."""
        return ["ip", "netns", "exec", self._host(node)]

    def commands(self) -> list[list[str]]:
        """Return the commands that make the hosts, in order."""
        switch = f"{self._name}-{_SWITCH}"
        rows = [
            f"ip netns add {switch}",
            f"ip -n {switch} link add bridge type bridge",
            f"ip -n {switch} link set bridge up",
        ]
        bucket = (
            f"root tbf rate {self.rate_mbit:g}mbit burst {_BURST_BYTES} latency {_QUEUE} "
            f"overhead {FRAMING_BYTES}"
        )
        for node in range(self.n_hosts):
            host, port = self._host(node), f"port{node}"
            rows += [
                f"ip netns add {host}",
                f"ip -n {host} link set lo up",
                f"ip -n {switch} link add {port} type veth peer name {_NIC} netns {host}",
                f"ip -n {switch} link set {port} master bridge up",
                f"ip -n {host} address add {self.address(node)}/24 dev {_NIC}",
                # Such a NIC cuts nothing into packets: the kernel hands it one by one.
                f"ip -n {host} link set {_NIC} gso_max_segs 1 up",
                f"tc -n {host} qdisc add dev {_NIC} {bucket}",
                f"tc -n {switch} qdisc add dev {port} {bucket}",
            ]
        settings = {
            "tcp_limit_output_bytes": str(self.queue_bytes),
            # As in the textbooks; others measure the path first, and again after each silence.
            "tcp_congestion_control": "reno",
        }
        texts = " && ".join(f"echo {value} > {_TCP}/{name}" for name, value in settings.items())
        inside = [["ip", "netns", "exec", self._host(node)] for node in range(self.n_hosts)]
        return [row.split() for row in rows] + [[*words, "sh", "-c", texts] for words in inside]

    def __enter__(self) -> "ThrottledNetwork":
        """Make the hosts, or nothing.

        Raises
        ------
        CannotBeMade
            With the command that failed, and what it said.
        """
        _remove_abandoned()
        try:
            for words in self.commands():
                _perform(words)
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the hosts, and end what runs on them."""
        self.remove()

    def unplug(self, node: int) -> None:
        """Pull a host's cable: it runs on, and nobody hears of it."""
        _perform(["ip", "-n", self._host(node), "link", "set", _NIC, "down"])

    def plug_in(self, node: int) -> None:
        """Put the cable back."""
        _perform(["ip", "-n", self._host(node), "link", "set", _NIC, "up"])

    def processes(self) -> dict[int, str]:
        """Return what runs on the hosts: the number of each process, and on which host."""
        return _processes(_namespaces(self._name + "-"))

    def remove(self) -> None:
        """End what runs on the hosts, and remove them; Ctrl-C has to wait so long."""
        with _undisturbed():
            _remove(_namespaces(self._name + "-"))

    def _host(self, node: int) -> str:
        return f"{self._name}-host{node}"


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block is over; then they do what they did before."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _remove_abandoned() -> None:
    """Remove the hosts of programs that have been killed before they could."""
    for namespace in _namespaces(_PREFIX):
        owner = namespace.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not is_alive(int(owner)):
            _remove([namespace])


def _namespaces(prefix: str) -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    names = [line.split()[0] for line in listed.stdout.splitlines() if line.strip()]
    return [name for name in names if name.startswith(prefix)]


def _processes(namespaces: Iterable[str]) -> dict[int, str]:
    found = {}
    for name in namespaces:
        told = subprocess.run(
            ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
        )
        found |= {int(pid): name for pid in told.stdout.split()}
    return found


def _remove(namespaces: list[str]) -> None:
    end_s = time.monotonic() + _PATIENCE_S
    while (running := _processes(namespaces)) and time.monotonic() < end_s:
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    for name in namespaces:
        _perform(["ip", "netns", "delete", name])


def _perform(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBeMade(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
