"""By which of its networks a computer reaches the others, where its name does not say it.

gloo listens at the address that the computer's own name stands for. On Debian and Ubuntu that is
127.0.1.1, on a laptop often 127.0.0.1: nobody else can connect there, and all ranks wait for each
other until gloo gives up. The way to the first computer is known by then, as torchrun has used it.
"""

import os
import socket
from contextlib import suppress

__all__ = ["address_towards_rank_0", "tell_gloo_the_way"]

_CONNECT_S = 5
_HOME = ("127.", "::1", "::ffff:127.")
_GLOO = "GLOO_SOCKET_IFNAME"


def address_towards_rank_0() -> str:
    """Return this computer's address on the way to the first one; empty where it never leaves."""
    where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    with suppress(OSError), socket.create_connection(where, _CONNECT_S) as way:
        address = str(way.getsockname()[0])
        if not address.startswith(_HOME):
            return address
    return ""


def tell_gloo_the_way() -> None:
    """Name the network that leads to the first computer to gloo, where it would take loopback.

    Nothing is changed where all ranks are on one computer, where the user has named a network, or
    where the computer's name stands for an address that others can reach.
    """
    alone = os.environ.get("WORLD_SIZE") == os.environ.get("LOCAL_WORLD_SIZE")
    if alone or os.environ.get(_GLOO) or _name_leads_out():
        return
    network = _network_of(address_towards_rank_0())
    if network:
        os.environ[_GLOO] = network


def _name_leads_out() -> bool:
    """Whether the computer's name stands for an address that is its own, and others can reach."""
    with suppress(OSError):
        address = socket.gethostbyname(socket.gethostname())
        with socket.create_server((address, 0)):
            return not address.startswith(_HOME)
    return False


def _network_of(address: str) -> str | None:
    """Return the name of the network that has an address, if one has."""
    import psutil  # takes a while to load, and is needed on few computers

    plain = address.removeprefix("::ffff:").partition("%")[0]
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address.partition("%")[0] == plain for each in addresses):
            return str(name)
    return None
