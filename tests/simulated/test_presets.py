"""The table of networks in their module's text says what the networks have."""

import math
import re

import pytest

from course_lib import networks
from course_lib.comm.simulated.network import Network

ROW = re.compile(r"^(\w+) +([\d.,]+) us +([\d,]+) MB/s +(.*)$", re.MULTILINE)
TABLE = {name: row for name, *row in ROW.findall(networks.__doc__)}
PRESETS = {name: thing for name, thing in vars(networks).items() if isinstance(thing, Network)}


def number(text):
    return float(text.replace(",", ""))


def test_every_network_is_in_the_table_and_no_other():
    assert set(TABLE) == set(PRESETS) - {"DEFAULT"}
    assert all(PRESETS[name].name == name for name in TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_the_table_has_the_networks_numbers(name):
    latency_us, megabytes, _ = TABLE[name]
    assert math.isclose(number(latency_us) * 1e-6, PRESETS[name].latency_s)
    assert number(megabytes) == round(PRESETS[name].bandwidth_bytes_per_s / 1e6)


@pytest.mark.parametrize("name", TABLE)
def test_every_number_has_a_source_or_is_said_to_be_assumed(name):
    cited = {int(source) for source in re.findall(r"\[(\d+)\]", TABLE[name][2])}
    listed = {int(source) for source in re.findall(r"^(\d+)\. ", networks.__doc__, re.MULTILINE)}
    assert cited
    assert cited <= listed
    assert len(cited) == 2 or "assumed" in TABLE[name][2] or name == "infiniband_hdr"


def test_networks_differ_in_the_network_alone_and_the_default_is_one_of_them():
    assert {preset.flops_per_s for preset in PRESETS.values()} == {1e10}
    assert all(preset.is_star for preset in PRESETS.values())
    assert networks.DEFAULT is networks.ethernet_10g
