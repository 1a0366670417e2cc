"""Predictions are what virtual time says, and placements that are planned are good ones."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.planning import planner
from course_lib.planning.executor import execute
from course_lib.planning.graph import Graph, Node
from course_lib.planning.planner import plan, plan_by_list, plan_exhaustively
from course_lib.planning.prediction import predict
from tests.planning.random_graphs import random_graph, random_placement, random_star


def without_nics(graph, placement, network, workers):
    """The likely mistake: every message takes alpha + n beta, whatever else is on its way."""
    speeds, free_s, done_s = network.speeds(workers), [0.0] * workers, {}
    for name, node in graph.nodes.items():
        rank, ready_s = placement[name], free_s[placement[name]]
        for used in node.inputs:
            n_bytes = graph.nodes[used].n_bytes
            way_s = network.latency_s + n_bytes * network.beta_s_per_byte
            ready_s = max(ready_s, done_s[used] + (way_s if placement[used] != rank else 0.0))
        done_s[name] = free_s[rank] = ready_s + node.flops / speeds[rank]
    return max(done_s.values())


@pytest.mark.slow
def test_the_predicted_makespan_is_the_executed_one_of_200_graphs():
    too_early = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        workers = int(rng.integers(1, 6))
        graph = random_graph(rng, int(rng.integers(1, 14)), whole_numbers=bool(seed % 2))
        placement = random_placement(rng, graph, workers)
        network = random_star(rng, workers)
        forecast = predict(graph, placement, network, workers)
        executed = run(
            execute, graph, placement, workers=workers, backend="simulated", network=network,
            rendezvous=bool(rng.random() < 0.5),
        )  # fmt: skip
        assert forecast.makespan_s == pytest.approx(executed.elapsed_s, rel=1e-9, abs=1e-15)
        for span in executed.trace.computes:
            assert forecast.finished_s[span.label] == pytest.approx(span.end_s, rel=1e-9, abs=1e-15)
        busy_s = [0.0] * workers
        for span in executed.trace.computes:
            busy_s[span.rank] += span.end_s - span.start_s
        assert forecast.busy_s == pytest.approx(busy_s, rel=1e-9, abs=1e-12)
        wrong_s = without_nics(graph, placement, network, workers)
        too_early.append((executed.elapsed_s - wrong_s) / max(executed.elapsed_s, 1e-15))
    assert min(too_early) > -1e-9
    assert sum(error > 1e-2 for error in too_early) > 50


def test_nics_make_messages_wait_on_both_sides():
    """Two results leave one NIC, and reach another one NIC, one after the other."""
    network = networks.ethernet_1g
    sources = [Node(f"s{k}", n_bytes=125_000) for k in range(3)]  # 1 ms each on a NIC
    graph = Graph([*sources, Node("all", ("s0", "s1", "s2"))])
    alpha_s = network.latency_s
    one_nic = predict(graph, {"s0": 0, "s1": 0, "s2": 0, "all": 1}, network, 4)
    three_nics = predict(graph, {"s0": 0, "s1": 1, "s2": 2, "all": 3}, network, 4)
    assert one_nic.makespan_s == pytest.approx(alpha_s + 3e-3)
    assert three_nics.makespan_s == pytest.approx(alpha_s + 3e-3)
    assert one_nic.idle_s == pytest.approx((alpha_s + 3e-3,) * 4)


def random_small(seed):
    rng = np.random.default_rng(seed)
    workers = int(rng.integers(2, 4))
    graph = random_graph(rng, int(rng.integers(2, 9)), edges=0.35, n_bytes=(1_000, 50_000))
    return rng, workers, graph


@pytest.mark.slow
def test_the_list_scheduler_is_near_the_best_of_200_small_graphs():
    listed, alone, guessed = [], [], []
    for seed in range(200):
        rng, workers, graph = random_small(seed)
        where = (networks.ethernet_1g, workers)
        best_s = plan_exhaustively(graph, *where).makespan_s
        found = plan_by_list(graph, *where)
        assert found.makespan_s == predict(graph, found.placement, *where).makespan_s
        listed.append(found.makespan_s / best_s)
        alone.append(predict(graph, dict.fromkeys(graph.nodes, 0), *where).makespan_s / best_s)
        guess = random_placement(rng, graph, workers)
        guessed.append(predict(graph, guess, *where).makespan_s / best_s)
    assert min(listed) >= 1  # else it was not the best
    assert np.mean(listed) < 1.04
    # Without a plan it is ten times as far from the best, by chance or on one worker.
    assert min(np.mean(guessed), np.mean(alone)) > 1.4


@pytest.mark.parametrize("speeds", [1e10, (1e10, 3e9, 2e10)])
def test_trying_all_leaves_none_out(speeds):
    """Against every placement there is, without what spares work."""
    network = replace(networks.ethernet_1g, flops_per_s=speeds)
    for seed in range(4):
        graph = random_graph(np.random.default_rng(seed), 5, n_bytes=(1_000, 50_000))
        best_s = min(
            predict(graph, dict(zip(graph.nodes, ranks, strict=True)), network, 3).makespan_s
            for ranks in product(range(3), repeat=5)
        )
        assert plan_exhaustively(graph, network, 3).makespan_s == best_s


def test_a_plan_executes_in_the_time_it_says():
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 30, edges=0.05, n_bytes=(1_000, 40_000))
    found = plan(graph, networks.ethernet_1g, 4)  # too many to try
    executed = run(
        execute, graph, found.placement, workers=4, backend="simulated",
        network=networks.ethernet_1g,
    )  # fmt: skip
    assert found.makespan_s == pytest.approx(executed.elapsed_s, rel=1e-9)
    alone_s = sum(node.flops for node in graph.nodes.values()) / 1e10
    assert found.makespan_s < 0.5 * alone_s


def test_the_fast_worker_gets_the_work_where_messages_are_dear():
    slow_wire = replace(networks.wan, flops_per_s=(1e9, 4e9))
    chain = Graph([Node("a", flops=1e6, n_bytes=8), Node("b", ("a",), flops=1e6, n_bytes=8)])
    for found in (plan(chain, slow_wire, 2), plan_by_list(chain, slow_wire, 2)):
        assert found.placement == {"a": 1, "b": 1}


def test_more_workers_than_nodes_take_no_longer():
    graph = random_graph(np.random.default_rng(3), 4, n_bytes=(1_000, 40_000))
    for make in (plan, plan_by_list):
        assert make(graph, networks.ethernet_1g, 10_000) == make(graph, networks.ethernet_1g, 4)


def test_what_cannot_be_planned_is_refused_by_name(monkeypatch):
    graph = random_graph(np.random.default_rng(0), 6)
    monkeypatch.setattr(planner, "MOST_PLACEMENTS", 10)
    with pytest.raises(ValueError, match="graph must be small enough to try every placement: 6"):
        plan_exhaustively(graph, networks.ethernet_1g, 2)
    with pytest.raises(ValueError, match="workers must be an int from 1 to 10,000, got 0"):
        plan(graph, networks.ethernet_1g, 0)
    placement = dict.fromkeys(graph.nodes, 0)
    with pytest.raises(ValueError, match="network must be one in which any two ranks are conn"):
        predict(graph, placement, networks.ring(networks.ethernet_1g), 2)
    silent = Graph([Node("x"), Node("y", ("x",))])
    with pytest.raises(ValueError, match="n_bytes of 'x' must be 1 or more to predict its way"):
        predict(silent, {"x": 0, "y": 1}, networks.ethernet_1g, 2)


@pytest.mark.parametrize("find", [plan, plan_by_list, plan_exhaustively])
def test_a_speed_for_each_rank_may_be_the_same_for_all(find):
    graph = Graph([Node("x", flops=1e6, n_bytes=8), Node("y", ("x",), flops=1e6)])
    found = [
        find(graph, networks.Network("lab", 1e-6, 1e9, speeds), 4)
        for speeds in (1e9, (1e9,) * 4, (1e9, 1e9, 1e9, 1e9 - 1))
    ]
    assert found[0].makespan_s == found[1].makespan_s == found[2].makespan_s == 2e-3
