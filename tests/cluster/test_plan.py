"""Hosts on a slow network: what would be typed, and what of a link's bits is a program's."""

import pytest

from cluster.network import ThrottledNetwork
from cluster.wire import payload_bytes_per_s


def test_every_nic_and_every_port_is_throttled_and_all_lies_in_namespaces():
    network = ThrottledNetwork(3, rate_mbit=50, name="test")
    commands = [" ".join(words) for words in network.commands()]
    buckets = [words for words in commands if " tbf rate 50mbit " in words]
    assert len(buckets) == 6
    assert all("overhead 24" in words for words in buckets)
    for words in commands:
        assert words.startswith(("ip netns ", "ip -n test-", "tc -n test-")), words
    assert sum(words.startswith("ip netns add test-") for words in commands) == 4


def test_a_fast_ethernet_carries_what_tcp_leaves():
    assert payload_bytes_per_s(100) == pytest.approx(11.77e6, rel=1e-3)
    assert payload_bytes_per_s(100) < 0.95 * 12.5e6, "the likely mistake is to forget headers"
    assert payload_bytes_per_s(100, both_ways=True) < 0.98 * payload_bytes_per_s(100)
