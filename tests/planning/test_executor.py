"""A placed graph gives what one worker computes, in every world, with one message a crossing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import run
from course_lib.comm.errors import RunError
from course_lib.planning.executor import execute
from course_lib.planning.graph import Graph, Node
from tests.planning.random_graphs import random_graph, random_placement


def mixed(*arguments, seed):
    """A number that depends on every argument and on their order."""
    total = np.full(4, float(seed + 1))
    for place, argument in enumerate(arguments, start=1):
        total += place * argument
    return total % 1009


def real_graph(seed, n_nodes):
    sized = random_graph(np.random.default_rng(seed), n_nodes, edges=0.4)
    return Graph(
        Node(name, node.inputs, fn=lambda *given, k=k: mixed(*given, seed=k), flops=node.flops)
        for k, (name, node) in enumerate(sized.nodes.items())
    )


def by_hand(graph):
    """The oracle: no worker, no message."""
    values = {}
    for name, node in graph.nodes.items():
        values[name] = node.fn(*(values[used] for used in node.inputs))
    return {name: values[name] for name in graph.results}


def together(values):
    """What all ranks return; no result is on two of them."""
    found = {}
    for value in values:
        assert not found.keys() & value.keys()
        found |= value
    return found


@given(
    seed=st.integers(0, 10_000),
    n_nodes=st.integers(0, 14),
    workers=st.integers(1, 5),
    rendezvous=st.booleans(),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.slow
def test_any_placement_gives_what_one_worker_gives(seed, n_nodes, workers, rendezvous):
    graph = real_graph(seed, n_nodes)
    placement = random_placement(np.random.default_rng(seed), graph, workers)
    result = run(
        execute, graph, placement, workers=workers, backend="simulated", rendezvous=rendezvous
    )
    found, expected = together(result.values), by_hand(graph)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].tobytes() == value.tobytes()
    # Every node once, where it was placed; once across for each worker that needs it.
    assert sorted((c.rank, c.label) for c in result.trace.computes) == sorted(
        (rank, name) for name, rank in placement.items()
    )
    sent = [(m.tag, m.src, m.dst) for m in result.trace.messages]
    needed = {
        (used, placement[used], placement[name])
        for name, node in graph.nodes.items() for used in node.inputs
        if placement[used] != placement[name]
    }  # fmt: skip
    assert sorted(sent) == sorted(needed)


def test_every_world_gives_the_same_results_and_messages(world):
    graph = real_graph(seed=3, n_nodes=12)
    placement = random_placement(np.random.default_rng(3), graph, 3)
    result = world(execute, graph, placement, workers=3, rendezvous=True)
    found = together(result.values)
    for name, value in by_hand(graph).items():
        assert found[name].tobytes() == value.tobytes()
    transfers = graph.transfers(placement)
    assert result.trace.n_messages == len(transfers) > 5
    for src, dst in {transfer[1:3] for transfer in transfers}:
        assert [m.tag for m in result.trace.between(src, dst)] == [
            node.name for node, *way, _ in transfers if way == [src, dst]
        ]


def test_large_results_cross_both_ways_at_once_and_nobody_hangs(world):
    """What would be a deadlock if each sent before it received: 1 MB both ways."""
    large = np.arange(131_072.0)
    graph = Graph(
        [
            Node("a", fn=lambda: large), Node("b", fn=lambda: -large),
            Node("from b", ("b",), fn=lambda b: b.sum()), Node("from a", ("a",), fn=np.sum),
        ]
    )  # fmt: skip
    placement = {"a": 0, "b": 1, "from b": 0, "from a": 1}
    values = world(execute, graph, placement, workers=2).values
    assert values == [{"from b": -large.sum()}, {"from a": large.sum()}]


def test_a_worker_may_need_results_in_another_order_than_they_are_made():
    """The likely mistake, to receive where a result is needed, would take one for the other."""
    graph = Graph(
        [
            Node("first", fn=lambda: np.zeros(2)), Node("second", fn=lambda: np.ones(3)),
            Node("uses second", ("second",), fn=np.sum), Node("uses first", ("first",), fn=np.sum),
        ]
    )  # fmt: skip
    placement = {"first": 0, "second": 0, "uses second": 1, "uses first": 1}
    values = run(execute, graph, placement, workers=2, backend="simulated").values
    assert values[1] == {"uses second": 3.0, "uses first": 0.0}


def test_nodes_of_sizes_send_that_many_bytes_and_feeds_are_what_is_fed():
    graph = Graph([Node("x"), Node("y", ("x",), flops=1e6, n_bytes=12_345), Node("z", ("y",))])
    result = run(
        execute, graph, {"x": 0, "y": 1, "z": 2}, {"x": np.arange(5)},
        workers=3, backend="simulated",
    )  # fmt: skip
    assert [(m.tag, m.n_bytes) for m in result.trace.messages] == [("x", 40), ("y", 12_345)]
    assert result.values[2]["z"].nbytes == 0
    (y,) = (c for c in result.trace.computes if c.label == "y")
    assert y.flops == 1e6


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([Node("a"), Node("a")], "nodes must have different names, got 'a' twice"),
        ([Node("a", ("b",))], "inputs of 'a' must be nodes, got 'b'"),
        ([Node("a", ("a",))], "nodes must not wait for each other, but 'a' uses 'a'"),
        (
            [Node("x"), Node("a", ("x", "c")), Node("b", ("a",)), Node("c", ("b",))],
            "but 'a' uses 'c' uses 'b' uses 'a'",
        ),
    ],
)
def test_what_is_no_graph_is_refused_by_name(nodes, told):
    with pytest.raises(ValueError, match=told):
        Graph(nodes)


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"name": ""}, TypeError, "name must be a str"),
        ({"name": "a", "inputs": "b"}, TypeError, "inputs of 'a' must be names in a tuple"),
        ({"name": "a", "inputs": None}, TypeError, "inputs of .a. must be a tuple, got None"),
        ({"name": "a", "inputs": (1,)}, TypeError, "inputs of .a. must be names of nodes, got 1"),
        ({"name": "a", "fn": 3}, TypeError, "fn of 'a' must be callable or None, got 3"),
        ({"name": "a", "flops": "3"}, TypeError, "flops of 'a' must be a number, got '3'"),
        ({"name": "a", "flops": float("nan")}, ValueError, "flops of 'a' must be 0 or more"),
        ({"name": "a", "n_bytes": -1}, ValueError, "n_bytes of 'a' must be an int from 0 to"),
    ],
)
def test_what_is_no_node_is_refused_by_name(given, error, told):
    with pytest.raises(error, match=told):
        Node(**given)


@pytest.mark.parametrize(
    ("placement", "feeds", "told"),
    [
        ({"x": 0}, {"x": np.ones(1)}, "placement must have every node, but leaves out 'y'"),
        ({"x": 0, "y": 2}, {"x": np.ones(1)}, "placement of 'y' must be an int from 0 to 1, got 2"),
        ({"x": 0, "y": 1, "z": 1}, {"x": np.ones(1)}, "placement must have nodes only, but 'z'"),
        ([0, 1], {"x": np.ones(1)}, "placement must map every node to a rank"),
        ({"x": 0, "y": 1}, {}, "feeds must have 'x', which has neither fn nor n_bytes"),
        ({"x": 0, "y": 1}, {"x": np.ones(1), "y": 1}, "feeds must be for nodes without fn and inp"),
        ({"x": 0, "y": 1}, {"x": np.ones(1), "q": 1}, "got 'q'"),
    ],
)
def test_what_cannot_be_executed_is_refused_before_anything_is_sent(placement, feeds, told):
    graph = Graph([Node("x"), Node("y", ("x",), fn=np.sum)])

    def refused(comm):
        with pytest.raises((TypeError, ValueError)) as caught:
            execute(comm, graph, placement, feeds)
        return str(caught.value)

    if "feeds must have" in told:  # only the worker that needs it knows
        with pytest.raises(RunError, match=told) as caught:
            run(execute, graph, placement, feeds, workers=2, backend="simulated")
        assert caught.value is not None
        return
    result = run(refused, workers=2, backend="simulated")
    assert all(told in value for value in result.values)
    assert result.trace.n_messages == 0
