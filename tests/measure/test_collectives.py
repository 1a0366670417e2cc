"""Measuring a collective: the same sum in both worlds, its weight, and where one overtakes."""

import re

import numpy as np
import pytest

from course_lib import networks
from course_lib.collectives import ALLREDUCES
from course_lib.measure.collectives import both_worlds, overtaken_at, real_times, virtual_s, weigh

ring, butterfly = ALLREDUCES["ring"], ALLREDUCES["butterfly"]


def own_rank_matters(comm, array):
    """A wrong sum: every rank adds its own number once more."""
    return ring(comm, array) + comm.rank


def more_on_processes(comm, array):
    """Another algorithm in the real world than in virtual time."""
    return ring(comm, array) if comm.clock() == 0 else butterfly(comm, array)


@pytest.mark.slow
def test_both_worlds_agree_on_sum_and_messages():
    told = both_worlds(ring, [1, 2, 3, 4], n_bytes=800)
    assert repr(told) == "4 ranks, virtual and real: all hold 10; the same messages"
    assert told.virtual.trace.n_messages == 24


@pytest.mark.slow
def test_a_rank_with_another_sum_is_told():
    assert both_worlds(own_rank_matters, [1, 2], n_bytes=80).sums == [3, 4]


@pytest.mark.slow
def test_other_messages_in_one_world_are_told():
    told = both_worlds(more_on_processes, [1, 2, 3, 4], n_bytes=800)
    assert not told.same_messages
    assert "OTHER MESSAGES" in repr(told)


@pytest.mark.parametrize(
    ("name", "workers", "formula"),
    [
        ("ring", 4, "6 α + 3/2 nβ"),
        ("ring", 7, "12 α + 12/7 nβ"),
        ("butterfly", 8, "3 α + 3 nβ"),
        ("central", 4, "4 α + 6 nβ"),
    ],
)
def test_weight_is_that_of_the_formula(name, workers, formula):
    assert str(weigh(ALLREDUCES[name], workers, n_bytes=8 * 56_000)) == formula


def test_options_reach_the_collective():
    few, many = (
        virtual_s(ALLREDUCES["double_tree"], 4, 800_000, segments=segments) for segments in (1, 64)
    )
    assert many < few


def test_ring_overtakes_the_butterfly_where_the_formula_says():
    for workers, times in ((4, 8), (8, 8.8)):
        net = networks.ethernet_10g
        predicted = times * net.latency_s / net.beta_s_per_byte
        found = overtaken_at(butterfly, ring, workers, net)
        assert 0 <= found - predicted <= 8 * workers + 1e-6


def test_one_that_is_never_overtaken_is_told():
    instant = networks.Network("no bytes", 1e-5, 1e15, 1e9)
    with pytest.raises(ValueError, match=re.escape("not faster even at")):
        overtaken_at(butterfly, ALLREDUCES["central"], 2, instant)
    with pytest.raises(ValueError, match=re.escape("faster already at")):
        overtaken_at(ring, butterfly, 4, networks.ethernet_10g)


@pytest.mark.slow
def test_real_times_are_positive_and_one_for_each_size():
    seconds = real_times(ring, [80, 8_000_000], workers=2, repeats=3)
    assert seconds.shape == (2,)
    assert (seconds > 0).all()
    assert np.isfinite(seconds).all()
