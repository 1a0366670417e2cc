"""What lecture 13 runs: a module's graph, its placements, what planners find and believe."""

import math
from dataclasses import replace

import numpy as np
import pytest

from course_lib import run
from course_lib.lectures import lecture_13
from course_lib.lectures.lecture_13 import BATCH, NETWORKS, STARTS, inception
from course_lib.planning.executor import execute
from course_lib.planning.graph import Graph
from course_lib.planning.prediction import predict

GRAPH = inception(BATCH)
ALONE = STARTS["all on worker 0"]


def test_a_module_has_the_sizes_of_the_publication():
    per_image = inception(1).nodes
    assert per_image["x"].n_bytes == 4 * 17 * 17 * 768
    assert per_image["c2"].flops == 2 * 17 * 17 * 192 * 192 * 7
    assert per_image["b1"].flops == 2 * 17 * 17 * 768 * 192
    assert per_image["join"].n_bytes == 4 * 17 * 17 * 4 * 192


@pytest.mark.slow
def test_what_a_module_computes_does_not_depend_on_the_placement_but_on_the_seed():
    found = {}
    for seed in (1, 2):
        graph = inception(1, inputs=8, channels=4, side=5, seed=seed)
        for name, placement in STARTS.items():
            ran = run(execute, graph, placement, workers=2, backend="simulated")
            found[seed, name] = (ran.values[0] | ran.values[1])["join"]
            assert found[seed, name].nbytes == graph.nodes["join"].n_bytes
    first, *others = STARTS
    assert all(np.array_equal(found[1, first], found[1, name]) for name in others)
    assert np.abs(found[1, first] - found[2, first]).max() > 0.1


@pytest.mark.parametrize("network", NETWORKS)
def test_a_run_takes_what_is_predicted(network):
    for placement in (*STARTS.values(), lecture_13.moved("branch c on worker 1", "c1")):
        ran_s = lecture_13.run_placed(GRAPH, placement, NETWORKS[network]).end_s
        assert ran_s == pytest.approx(lecture_13.makespan_s(placement, network), rel=1e-9)


def test_moving_a_node_moves_one_and_none_moves_nothing():
    start = "b and d on worker 1"
    changed = lecture_13.moved(start, "pool")
    assert {name for name in changed if changed[name] != STARTS[start][name]} == {"pool"}
    assert lecture_13.moved(start, "none") == STARTS[start]


def test_a_run_by_nodes_has_the_same_messages_and_times():
    placement = STARTS["b and d on worker 1"]
    trace = lecture_13.run_placed(GRAPH, placement, NETWORKS["100 Gbit/s"])
    by_node = lecture_13.by_node(GRAPH, trace)
    names = list(GRAPH.nodes)
    ends = [(names[m.src], names[m.dst]) for m in by_node.messages]
    assert sorted(ends) == [("b3", "join"), ("d", "join"), ("x", "b1")]
    assert (by_node.end_s, by_node.n_bytes) == (trace.end_s, trace.n_bytes)
    stage = lecture_13.stage(GRAPH, placement)
    assert len(stage["places"]) == by_node.size == len(set(stage["places"]))
    assert [names[k] for k in stage["hosts"][1]] == ["b1", "b2", "b3", "pool", "d"]


@pytest.mark.slow
def test_no_placement_is_faster_than_the_longest_path_or_the_best_plan():
    ordered = lecture_13.all_makespans("NVLink")
    assert len(ordered) == 2 ** (len(GRAPH.nodes) - 1)
    assert ordered[0] >= lecture_13.longest_path("NVLink") * (1 - 1e-12)
    assert ordered[0] == pytest.approx(lecture_13.best_plan("NVLink").makespan_s, rel=1e-12)
    assert ordered == sorted(ordered)
    drawn = lecture_13.placements_chart("NVLink").chart
    assert [name for name, *_ in drawn["points"]] == ["one worker", "node by node, best"]
    assert drawn["said"] == "3,320 of 4,096 beat one worker."


@pytest.mark.slow
def test_who_believed_in_a_faster_network_loses_and_the_diagonal_is_the_best():
    names = list(NETWORKS)
    took = np.array([
        [lecture_13.makespan_s(lecture_13.best_plan(b).placement, t) for t in names] for b in names
    ])  # fmt: skip
    assert (took >= took.diagonal() * (1 - 1e-12)).all()
    assert took[2, 1] > 1.3 * lecture_13.makespan_s(ALONE, "100 Gbit/s")
    told = lecture_13.belief_table()
    assert told.told == {(0, 1), (1, 2), (2, 3)}
    runs, title = lecture_13.as_believed("NVLink", "100 Gbit/s")
    assert runs["as it runs"].end_s == pytest.approx(took[2, 1], rel=1e-9)
    assert title == "Planned 545 µs, takes 1.31 ms; the best here: 806 µs"


@pytest.mark.slow
def test_each_way_wins_somewhere_and_the_one_marked_is_the_fastest():
    won = [lecture_13.fastest_way("16 layers", *at)
           for at in (("100 Gbit/s", 512), ("NVLink", 512), ("NVLink", 4096))]  # fmt: skip
    assert won == ["model", "hybrid", "data"]
    chart = lecture_13.ways_chart("16 layers", "100 Gbit/s", 512, 4).chart
    assert [name for name, _, _, told in chart["bars"] if told] == ["layers in a pipeline"]
    runs = lecture_13.ways("AlexNet", "100 Gbit/s", 512)
    drawn = lecture_13.ways_chart("AlexNet", "100 Gbit/s", 512, 4).chart["bars"]
    for name, seconds, *_ in drawn:
        assert math.isclose(runs[name].end_s, seconds, rel_tol=0.01)


def test_a_choice_that_was_wrong_is_not_kept_quiet(monkeypatch):
    ways = __import__("course_lib.lectures.lecture_13.ways", fromlist=["ways"])
    monkeypatch.setattr(ways, "run_strategy", lambda choice, name: -choice.seconds[name])
    with pytest.raises(ValueError, match="must be the fastest"):
        lecture_13.fastest_way("AlexNet", "100 Gbit/s", 512)


@pytest.mark.slow
def test_hidden_messages_turn_the_choice_for_alexnet_and_not_for_the_16_layers():
    for net, is_turned in (("AlexNet", True), ("16 layers", False)):
        at = net, "100 Gbit/s", 512
        drawn = lecture_13.ways_chart(*at, 4).chart["bars"]
        seconds = {name: took_s for name, took_s, *_ in drawn}
        hidden_s, best_s = lecture_13.hidden_s(*at), min(seconds.values())
        assert hidden_s < seconds["data parallel"]
        assert (hidden_s < best_s) is is_turned
        times = seconds["data parallel"] / best_s
        assert lecture_13.lost_by_data(*at) == pytest.approx(times, rel=1e-3)
        assert times > 1.3


def test_what_is_off_the_critical_path_delays_nobody_on_two_workers_but_may_on_three():
    """The answer of question 2, and its exception: a NIC is taken by a message that is early."""
    rng = np.random.default_rng(13)
    for _ in range(60):
        placement = {name: int(rng.integers(2)) for name in GRAPH.nodes}
        for name in GRAPH.nodes:
            change_s, saved_s = _made_twice_as_fast(placement, name, 2)
            assert -saved_s * (1 + 1e-9) - 1e-12 <= change_s <= 1e-12
    slower = dict.fromkeys(GRAPH.nodes, 0) | {"join": 1, "b2": 1, "c2": 1, "c5": 2, "pool": 2}
    assert _made_twice_as_fast(slower, "c5", 3)[0] > 2e-4
    by_more = dict.fromkeys(GRAPH.nodes, 0) | {"c2": 1, "b3": 1, "a": 2, "pool": 2}
    change_s, saved_s = _made_twice_as_fast(by_more, "c2", 3)
    assert change_s < -5 * saved_s


def _made_twice_as_fast(placement, name, workers):
    """Return by how much the makespan changes, and what the node itself saves."""
    nodes = [replace(node, flops=node.flops / 2) if node.name == name else node
             for node in GRAPH.nodes.values()]  # fmt: skip
    network = NETWORKS["100 Gbit/s"]
    before_s, after_s = (predict(graph, placement, network, workers).makespan_s
                         for graph in (GRAPH, Graph(nodes)))  # fmt: skip
    return after_s - before_s, GRAPH.nodes[name].flops / 2 / min(network.speeds(1))


@pytest.mark.slow
def test_a_grid_is_chosen_for_each_network():
    rows = lecture_13.degrees_table(workers=4).rows
    assert len({tuple(row[1:4]) for row in rows}) == 2
