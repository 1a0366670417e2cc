"""Random service times: of the right mean and law, the same for the same seed, each rank's own."""

import math
from dataclasses import replace

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.comm.simulated.service import ExponentialService


def compute(comm, n):
    times = [comm.clock()]
    for _ in range(n + (comm.rank == 1)):
        with comm.compute("work", flops=2e10):
            pass
        times.append(comm.clock())
    return np.diff(times)


def times(network, n=1, workers=2):
    return run(compute, n, workers=workers, backend="simulated", network=network).values


def test_without_chance_a_computation_takes_what_its_flops_say():
    assert all((own == 2.0).all() for own in times(networks.ethernet_10g, 3))


def test_with_it_times_are_exponential_about_that():
    (drawn, _) = times(networks.ethernet_10g.with_exponential_service(seed=3), 4000)
    assert drawn.mean() == pytest.approx(2.0, abs=5 * 2 / math.sqrt(4000))
    assert drawn.std() == pytest.approx(2.0, abs=0.25)  # a uniform or constant law: 1.15, or 0
    assert np.mean(drawn > 4) == pytest.approx(math.exp(-2), abs=5 * math.sqrt(0.12 / 4000))


def test_the_seed_gives_the_times_and_each_rank_has_its_own():
    first, second = (times(networks.ethernet_10g.with_exponential_service(s), 5) for s in (0, 1))
    again = times(networks.ethernet_10g.with_exponential_service(0), 5, workers=3)
    assert [own.tolist() for own in first] == [own.tolist() for own in again[:2]]
    assert first[0].tolist() != second[0].tolist()
    assert not set(first[0].tolist()) & set(first[1].tolist())


def test_a_straggler_is_slower_by_chance_as_well():
    network = networks.ethernet_10g.with_exponential_service(0)
    assert times(network.with_straggler(0, 3.0), 4)[0] == pytest.approx(3 * times(network, 4)[0])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ExponentialService(-1), "seed must be an int of 0 or more, got -1"),
        (lambda: replace(networks.wan, service="exponential"), "service must be an Exponential"),
    ],
)
def test_what_cannot_be_is_named(make, told):
    with pytest.raises((TypeError, ValueError), match=told):
        make()
