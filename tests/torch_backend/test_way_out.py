"""Where a computer's own name leads nowhere, gloo is told the network that torchrun has used."""

import os
import socket

import psutil
import pytest

from cluster.launches import start_on
from cluster.network import ThrottledNetwork, why_not
from course_lib.comm.torch_backend import way_out
from course_lib.comm.torch_backend.joining import Torchrun

GLOO = "GLOO_SOCKET_IFNAME"
OUTSIDE = [
    (name, each.address)
    for name, addresses in psutil.net_if_addrs().items()
    for each in addresses
    if each.family == socket.AF_INET and not each.address.startswith("127.")
]
OWN_NAME = {"127.0.1.1": "as on Debian", "": "stands for nothing", "192.0.2.1": "another's"}
HELLO = """
from course_lib import run

result = run(lambda comm: comm.rank, backend="torch")
if result.is_whole:
    print(result.values)
"""


@pytest.fixture
def first_host(monkeypatch):
    """Two hosts with two ranks each, and this one is the first: return its network."""
    if not OUTSIDE:
        pytest.skip("this computer has no address but those that never leave it")
    network, address = OUTSIDE[0]
    with socket.create_server((address, 0)) as server:
        there = {"MASTER_ADDR": address, "MASTER_PORT": str(server.getsockname()[1])}
        ranks = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "4"}
        for name, value in (there | ranks).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv(GLOO, "")  # so that it is as before in the end
        yield network, address


def name_stands_for(address, monkeypatch):
    def looked_up(name):
        if not address:
            raise socket.gaierror(name)
        return address

    monkeypatch.setattr(socket, "gethostbyname", looked_up)


@pytest.mark.parametrize("address", OWN_NAME, ids=OWN_NAME.values())
def test_gloo_takes_the_network_that_leads_to_the_first_host(address, first_host, monkeypatch):
    name_stands_for(address, monkeypatch)
    way_out.tell_gloo_the_way()
    assert os.environ[GLOO] == first_host[0]
    assert Torchrun().address() == first_host[1]


@pytest.mark.parametrize("why", ["a network is named", "one computer", "a name", "no way out"])
def test_gloo_is_left_alone_where_it_finds_its_way_or_nobody_knows_one(
    why, first_host, monkeypatch
):
    name_stands_for(first_host[1] if why == "a name" else "127.0.1.1", monkeypatch)
    monkeypatch.setenv(GLOO, expected := "eth7" if why == "a network is named" else "")
    if why == "one computer":
        monkeypatch.setenv("WORLD_SIZE", "2")
    with socket.create_server(("127.0.0.1", 0)) as inside:
        if why == "no way out":
            monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
            monkeypatch.setenv("MASTER_PORT", str(inside.getsockname()[1]))
            assert Torchrun().address() == "127.0.0.1"
        way_out.tell_gloo_the_way()
    assert os.environ[GLOO] == expected


class Unnamed(ThrottledNetwork):
    """Hosts on which nobody tells gloo anything; this computer's name is not theirs."""

    def enter(self, node):
        return super().enter(node)[:4]


@pytest.mark.soak
@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_two_hosts_meet_that_have_no_names(tmp_path):
    (tmp_path / "hello.py").write_text(HELLO)
    with (
        Unnamed(2) as network,
        start_on(network, "hello.py", folder=tmp_path, n_hosts=2, each=2) as hosts,
    ):
        assert [hosts.wait(node, 100) for node in range(2)] == [0, 0], hosts.printed(0)
        assert "[0, 1, 2, 3]" in hosts.printed(0)
