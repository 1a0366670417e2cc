"""Networks check their numbers and say which one is wrong."""

import dataclasses
import math

import pytest

from course_lib import networks, run
from course_lib.comm.simulated.networks import Network
from course_lib.comm.simulated.topologies import Ring, SlowLink, SlowNic, Straggler, Torus, TwoLevel

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


HAND = Network("hand", latency_s=10.0, bandwidth_bytes_per_s=1.0, flops_per_s=1.0)
RING = networks.ring(HAND)


@pytest.mark.parametrize(
    ("make", "exception", "text"),
    [
        (
            lambda: networks.two_level(HAND, HAND, 0),
            ValueError,
            "ranks_per_host must be an int of 1 or more",
        ),
        (lambda: networks.two_level(HAND, HAND, 2.0), TypeError, "ranks_per_host must be an int"),
        (
            lambda: networks.two_level(RING, HAND, 2),
            ValueError,
            "inside must be a network in which",
        ),
        (lambda: networks.two_level(HAND, RING, 2), ValueError, "between must be a network in whi"),
        (lambda: networks.torus(HAND, 0, 4), ValueError, "rows must be an int of 1 or more"),
        (lambda: networks.torus(HAND, 4, 2.0), TypeError, "columns must be an int"),
        (lambda: networks.torus(RING, 2, 2), ValueError, "link must be a network in which"),
        (lambda: Torus(True, 2), TypeError, "rows must be an int"),
        (lambda: networks.ring(RING), ValueError, "link must be a network in which"),
        (lambda: TwoLevel(2, math.nan, 1.0), ValueError, "latency_s must be 0 or more"),
        (lambda: TwoLevel(2, 1.0, 0.0), ValueError, "bandwidth_bytes_per_s must be above 0"),
        (lambda: Straggler(-1, 2.0), ValueError, "rank must be an int of 0 or more"),
        (lambda: Straggler(0, 0.0), ValueError, "factor must be above 0"),
        (lambda: SlowNic(0, 0.5), ValueError, "factor must be 1 or more"),
        (lambda: SlowNic(True, 2.0), TypeError, "rank must be an int"),
        (lambda: HAND.with_slow_nic(0, math.inf), ValueError, "factor must be 1 or more and fin"),
        (lambda: SlowLink(1, 1, 2.0), ValueError, "dst must be another rank"),
        (lambda: SlowLink(0, 1, 2.0, 3.0, 3.0), ValueError, "until_s must be above from_s"),
        (lambda: dataclasses.replace(HAND, topology="ring"), TypeError, "topology must be"),
        (lambda: dataclasses.replace(HAND, slow=[SlowNic(0, 2.0)]), TypeError, "slow must be"),
        (lambda: dataclasses.replace(HAND, topology=Ring(), slow=(1,)), TypeError, "slow must be"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make, exception, text):
    with pytest.raises(exception, match=text):
        make()


@pytest.mark.parametrize(
    "network",
    [HAND.with_straggler(2, 2.0), HAND.with_slow_nic(2, 2.0), HAND.with_slow_link(0, 2, 2.0)],
)
def test_what_is_slow_must_be_there(network):
    with pytest.raises(ValueError, match="workers=2: there is no rank 2"):
        run(lambda comm: None, workers=2, backend="simulated", network=network)
