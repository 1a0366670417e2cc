"""Networks check their numbers and say which one is wrong."""

import dataclasses
import math

import pytest

from course_lib import networks
from course_lib.comm.simulated.networks import Network

GOOD = {"name": "n", "latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9, "flops_per_s": 1e9}


@pytest.mark.parametrize(
    ("argument", "value", "exception"),
    [
        ("name", 3, TypeError),
        ("latency_s", -1.0, ValueError),
        ("latency_s", math.nan, ValueError),
        ("latency_s", math.inf, ValueError),
        ("latency_s", "1e-5", TypeError),
        ("latency_s", True, TypeError),
        ("latency_s", None, TypeError),
        ("bandwidth_bytes_per_s", 0, ValueError),
        ("bandwidth_bytes_per_s", -1e9, ValueError),
        ("bandwidth_bytes_per_s", math.nan, ValueError),
        ("bandwidth_bytes_per_s", "fast", TypeError),
        ("flops_per_s", 0.0, ValueError),
        ("flops_per_s", math.inf, ValueError),
        ("flops_per_s", (1e9, -1.0), ValueError),
        ("flops_per_s", (1e9, "x"), TypeError),
        ("flops_per_s", "fast", TypeError),
    ],
)
def test_unusable_numbers_are_refused_by_name(argument, value, exception):
    with pytest.raises(exception, match=f"{argument} must be"):
        Network(**{**GOOD, argument: value})


def test_beta_is_the_inverse_of_the_bandwidth():
    assert Network(**GOOD).beta_s_per_byte == 1e-9
    assert Network(**{**GOOD, "bandwidth_bytes_per_s": math.inf}).beta_s_per_byte == 0.0


def test_speeds_are_one_for_all_or_one_for_each():
    assert Network(**GOOD).speeds(3) == (1e9, 1e9, 1e9)
    straggler = dataclasses.replace(Network(**GOOD), flops_per_s=[1e9, 1e8])
    assert straggler.speeds(2) == (1e9, 1e8)
    with pytest.raises(ValueError, match="2 speeds in flops_per_s, but workers=3"):
        straggler.speeds(3)


def test_presets_differ_in_the_network_alone():
    presets = [networks.ethernet_1g, networks.ethernet_10g, networks.ethernet_100g]
    assert [p.bandwidth_bytes_per_s * 8 for p in presets] == [1e9, 1e10, 1e11]
    assert [p.latency_s for p in presets] == sorted((p.latency_s for p in presets), reverse=True)
    assert len({p.flops_per_s for p in presets}) == 1
    assert [p.name for p in presets] == ["ethernet_1g", "ethernet_10g", "ethernet_100g"]
    assert networks.DEFAULT is networks.ethernet_10g


def test_a_network_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        networks.DEFAULT.latency_s = 0.0
