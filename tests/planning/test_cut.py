"""What crosses a cut: activations and their gradients, batch x units x itemsize, and no weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.models.deep_mlp import deep_mlp
from course_lib.planning.chain_graph import chain_step, place_layers
from course_lib.planning.cut import cut
from course_lib.planning.executor import execute
from course_lib.planning.graph import Graph, Node


@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=7),
    n_examples=st.integers(1, 64),
    workers=st.integers(1, 4),
    dtype=st.sampled_from(["float32", "float64"]),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
@pytest.mark.slow
def test_bytes_across_each_cut_of_a_chain(sizes, n_examples, workers, dtype, data):
    chain = deep_mlp(*sizes, dtype=dtype)
    names = [part.name for part in chain.parts]
    ranks = st.integers(0, workers - 1)
    placement = {name: data.draw(ranks) for name in names}
    found = cut(chain, placement, workers, n_examples=n_examples)
    expected = {}
    for before, after, units in zip(names, names[1:], sizes[1:], strict=False):
        here, there = placement[before], placement[after]
        if here != there:
            for way in ((here, there), (there, here)):
                n_bytes = n_examples * units * np.dtype(dtype).itemsize
                expected[way] = expected.get(way, 0) + n_bytes
    assert found.bytes_between == expected
    assert not any("weight" in transfer.node.name for transfer in found.crossing)
    # And that is what travels.
    executed = run(
        execute, chain_step(chain, n_examples), place_layers(chain, placement), workers=workers,
        backend="simulated",
    )  # fmt: skip
    for (src, dst), n_bytes in expected.items():
        assert sum(m.n_bytes for m in executed.trace.between(src, dst)) == n_bytes
    assert executed.trace.n_bytes == found.n_bytes
    assert executed.elapsed_s == pytest.approx(found.forecast.makespan_s, rel=1e-9)


def test_idle_times_are_those_of_a_run():
    chain = deep_mlp(64, 200, 100, 100, 10)
    placement = {"fc1": 0, "fc2": 1, "fc3": 1, "fc4": 2}
    found = cut(chain, placement, 3, networks.ethernet_1g, n_examples=32)
    executed = run(
        execute, chain_step(chain, 32), place_layers(chain, placement), workers=3,
        backend="simulated", network=networks.ethernet_1g,
    )  # fmt: skip
    for rank in range(3):
        spans = [c for c in executed.trace.computes if c.rank == rank]
        busy_s = sum(c.end_s - c.start_s for c in spans)
        assert found.idle_s[rank] == pytest.approx(executed.elapsed_s - busy_s, rel=1e-9)
    whole_s = sum(map(sum, zip(*[part.flops(32) for part in chain.parts], strict=True)))
    whole_s -= chain.parts[0].flops(32).input_gradient
    assert found.utilisation == pytest.approx(whole_s / 1e10 / 3 / executed.elapsed_s)
    # In a chain all wait for each other: no more than 1/P of the time is used.
    assert found.utilisation < 1 / 3


@pytest.mark.parametrize("network", [networks.nvlink_4, networks.ethernet_1g])
@pytest.mark.parametrize("workers", [2, 3, 4])
def test_workers_in_a_row_are_busy_one_of_p_parts_of_the_time(network, workers):
    """Layers one after another: what they compute is not shorter on several workers, but longer."""
    flops, n_bytes = 1e7, 50_000
    row = [Node(f"n{k}", (f"n{k - 1}",) if k else (), None, flops, n_bytes) for k in range(12)]
    found = cut(Graph(row), {f"n{k}": k * workers // 12 for k in range(12)}, workers, network)
    cut_s = (workers - 1) * (network.latency_s + n_bytes * network.beta_s_per_byte)
    makespan_s = 12 * flops / 1e10 + cut_s
    assert found.forecast.makespan_s == pytest.approx(makespan_s, rel=1e-9)
    busy = 12 * flops / 1e10 / makespan_s / workers
    assert found.utilisation == pytest.approx(busy, rel=1e-9)
    assert (busy / (1 / workers) > 0.99) == (network is networks.nvlink_4)


def test_one_worker_has_no_cut_and_no_idle_time():
    found = cut(deep_mlp(8, 4, 2), {"fc1": 0, "fc2": 0}, workers=1)
    assert (found.n_bytes, found.bytes_between, found.crossing) == (0, {}, ())
    assert found.idle_s == pytest.approx((0.0,), abs=1e-15)
    assert found.utilisation == pytest.approx(1.0)


def two_branches():
    ends = [Node(name, (name[0],), flops=1e7, n_bytes=400) for name in ("a end", "b end")]
    starts = [Node(name, ("x",), flops=1e7, n_bytes=4_000) for name in "ab"]
    return Graph([Node("x", n_bytes=8_000), *starts, *ends, Node("join", ("a end", "b end"))])


PLACED = {"x": 0, "a": 0, "a end": 0, "b": 1, "b end": 1, "join": 0}


def test_a_cut_shows_itself_as_text_and_as_html():
    found = cut(two_branches(), PLACED, workers=2)
    lines = str(found).splitlines()
    assert lines[0] == "2 messages and 8.4 KB a step cross between 2 workers"
    assert lines[2].split() == ["x", "0", "1", "8,000", "b"]
    assert lines[3].split() == ["b", "end", "1", "0", "400", "join"]
    assert lines[-1].split()[:2] == ["1", "2"]
    html = found._repr_html_()
    assert html.count("<table>") == 2
    assert "8,000" in html
    assert "<script" not in html


def test_the_picture_has_every_node_and_the_bytes_of_what_crosses():
    figure = cut(two_branches(), PLACED, workers=2).plot()
    (axes,) = figure.axes
    written = [text.get_text() for text in axes.texts]
    assert {"x", "a", "b", "a end", "b end", "join", "8 KB", "400 B"} <= set(written)
    assert sum("idle" in text for text in written) == 2
    widths = [patch.get_linewidth() for patch in axes.patches if hasattr(patch, "get_arrowstyle")]
    assert sorted(widths) == [0.9] * 4 + [1.8] * 2
    assert figure.to_png().startswith(b"\x89PNG")
    many = Graph(Node(f"n{k}", flops=1.0) for k in range(65))
    too_many = cut(many, dict.fromkeys(many.nodes, 0), workers=1)
    with pytest.raises(ValueError, match="inputs must have 1 to 64 nodes, got 65"):
        too_many.plot()


@pytest.mark.parametrize(
    ("placement", "told"),
    [
        ({"fc1": 0}, "placement must have every layer, but leaves out 'fc2'"),
        ({"fc1": 0, "fc2": 1, "fc3": 1}, "placement must have layers only, but 'fc3' is none"),
        ({"fc1": 0, "fc2": 2}, "must be an int from 0 to 1, got 2"),
    ],
)
def test_what_is_no_placement_is_refused_by_name(placement, told):
    with pytest.raises(ValueError, match=told):
        cut(deep_mlp(4, 3, 2), placement, workers=2)
    with pytest.raises(TypeError, match="what must be a Graph or a Chain, got 3"):
        cut(3, placement, workers=2)
