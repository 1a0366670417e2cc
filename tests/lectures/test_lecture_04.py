"""What lecture 04 runs: the token bucket, throttled processes, NICs, shards, two servers."""

from dataclasses import replace

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.costs.server_step import server_step_s
from course_lib.lectures import lecture_04
from course_lib.models.stand_in import StandIn
from course_lib.schemes import data_parallel, parameter_server
from course_lib.training.shards import shards_by_name

FREE = replace(networks.ethernet_10g, latency_s=0.0, flops_per_s=1e18)
PAPER = StandIn.of({"a": 6000, "b": 2000}, flops_per_example=1e6)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 10.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def test_a_token_bucket_lets_so_many_bytes_a_second_through():
    clock = Clock()
    bucket = lecture_04.TokenBucket(100.0, clock, clock.sleep)
    bucket.take(50)
    bucket.take(200)
    assert clock.slept == [0.5, 2.0]
    clock.now += 60.0  # nothing is saved up while nobody sends
    bucket.take(100)
    assert clock.slept[-1] == 1.0


def test_what_passes_while_another_waits_queues_behind_it():
    clock = Clock()
    bucket = lecture_04.TokenBucket(100.0, clock, clock.slept.append)  # time stands still
    bucket.take(100)
    bucket.take(100)
    assert clock.slept == [1.0, 2.0]


@pytest.mark.parametrize("rate", [0, -1.0, float("nan")])
def test_a_link_has_a_bandwidth(rate):
    with pytest.raises(ValueError, match="bytes_per_s must be more than 0, got"):
        lecture_04.TokenBucket(rate)


def test_a_throttled_rank_sends_and_receives_what_it_would():
    def relay(comm):
        narrow = lecture_04.Throttled(comm, 1e12)
        if comm.rank == 0:
            narrow.send(np.arange(3.0), 1, tag="there")
            return narrow.sendrecv(np.ones(2), dst=1, src=1)
        total = np.ones(3)
        narrow.recv(0, out=total, op="sum", tag="there")
        return narrow.sendrecv(total, dst=0, src=0)

    values = run(relay, workers=2, backend="simulated").values
    assert [list(value) for value in values] == [[1.0, 2.0, 3.0], [1.0, 1.0]]


def test_real_steps_take_at_least_what_their_links_need():
    model = StandIn.of({"fc": 20_000}, flops_per_example=0)  # 160 KB: 16 ms on the link
    schemes = {"a server": parameter_server, "a ring": data_parallel}
    measured = lecture_04.throttled_steps(schemes, model, [2], bytes_per_s=1e7)
    assert [P for P, _ in measured["a server"]] == [2]
    assert measured["a server"][0][1] >= 4 * 16  # two gradients in, two models out
    assert measured["a ring"][0][1] >= 16  # a vector each way, both at once


def points_of(picture):
    return {
        line["name"]: dict(zip(line["x"], line["y"], strict=True))
        for line in picture.chart["lines"]
    }


@pytest.mark.parametrize("P", [2, 3, 8])
def test_the_busiest_nic_of_a_server_and_of_a_ring(P):
    vectors = lecture_04.busiest_nic(PAPER, P, FREE)
    assert vectors["one server"] == pytest.approx(2 * (P - 1), rel=1e-3)
    assert vectors["a ring"] == pytest.approx(2 * (P - 1) / P, rel=1e-2)
    assert vectors["a shard on every rank"] == pytest.approx(2 * (P - 1) / P, rel=1e-2)


def test_efficiency_of_workers_and_of_all_machines():
    of_workers, of_all = (
        lecture_04.efficiency_chart(10.0, 3e-3, of, 400_000) for of in ("workers", "all machines")
    )
    curves = [points_of(c) for c in (of_workers, of_all)]
    step_s = server_step_s(8, 400_000, 3e-3, 0.0, 20e-6, 8e-10, servers=1)
    assert curves[0]["1 server"][8.0] == pytest.approx(3e-3 / step_s, rel=1e-4)
    assert curves[1]["1 server"][8.0] == pytest.approx(8 / 9 * 3e-3 / step_s, rel=1e-4)
    assert curves[1]["1 for each worker"][8.0] == pytest.approx(
        curves[0]["1 for each worker"][8.0] / 2, rel=1e-4
    )


def test_contours_of_the_bandwidth_end_where_latency_alone_takes_too_long():
    contours = points_of(lecture_04.bandwidth_chart((0.10, 0.90), 3e-3, 400_000))
    assert max(contours["10% efficient"]) == 256
    assert max(contours["90% efficient"]) < 32
    needed = contours["10% efficient"][8.0]
    step_s = server_step_s(8, 400_000, 3e-3, 0.0, 20e-6, 8 / (needed * 1e9))
    assert 3e-3 / step_s == pytest.approx(0.10, rel=1e-4)


def test_servers_stand_in_a_row_above_their_workers():
    places = lecture_04.rows_of(2, 4)
    assert places == [(1.0, 0.0), (3.0, 0.0), (0.5, 2.0), (1.5, 2.0), (2.5, 2.0), (3.5, 2.0)]


def test_the_fullest_shard_is_said():
    by_name = lecture_04.fullest_shard(shards_by_name, PAPER, 2)
    even = lecture_04.fullest_shard(lecture_04.evenly, PAPER, 2)
    assert "50.0 %" in even.chart["said"]
    assert "50.0 %" not in by_name.chart["said"]


def test_the_best_number_of_servers_is_that_of_the_sweep():
    rates, chosen = lecture_04.gradients_a_second(PAPER, 6, 2, networks.ethernet_10g)
    assert list(rates) == [1, 2, 3]
    assert chosen in rates
    assert (
        f"Best: {max(rates, key=rates.get)} servers."
        in lecture_04.best_number(PAPER, 6, 2, networks.ethernet_10g).chart["said"]
    )


def test_two_servers_compute_other_models_and_only_one_waits():
    slow = networks.ethernet_10g.with_straggler(3, factor=2)
    made = {
        (server.__name__, name): run(server, 3, workers=4, backend="simulated", network=network)
        for server in (lecture_04.waits_for_all, lecture_04.answers_each)
        for name, network in {"alike": FREE, "straggler": slow}.items()
    }
    w = {key: result.values[0][0] for key, result in made.items()}
    assert w["waits_for_all", "alike"] == w["waits_for_all", "straggler"]
    assert w["answers_each", "alike"] != w["waits_for_all", "alike"]
    assert lecture_04.spread_ms(made["waits_for_all", "straggler"]) > 1
    assert lecture_04.spread_ms(made["answers_each", "alike"]) == 0


def test_the_slowest_of_ten_takes_the_tenth_harmonic_number():
    assert lecture_04.step_of_slowest_ms(10, 400, 4) == pytest.approx(2.93, abs=0.25)
    assert lecture_04.step_of_slowest_ms(1, 400, 4) == pytest.approx(1.0, abs=0.2)
