"""Branches side by side: the unsplit net's numbers, in the time of the longest path and the cut."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.comm.errors import RunError
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.fully_connected import FullyConnected
from course_lib.planning.branches import (
    BranchingNet,
    branching_step,
    place_branches,
)
from course_lib.planning.cut import cut
from course_lib.planning.executor import execute
from course_lib.planning.train_branches import train_branches
from course_lib.training import AdamW, Plan

PLAN = Plan(learning_rate=0.1, batch_size=16, epochs=4, momentum=0.5, seed=3)


def small_net(left=(12, 7), right=(9,), units=8, classes=3, n_inputs=5):
    def row(name, sizes, n_in, *, bends_last):
        layers = []
        for k, n_out in enumerate(sizes):
            bends = bends_last or k < len(sizes) - 1
            layers.append(FullyConnected(f"{name}{k + 1}", n_in, n_out, bends=bends))
            n_in = n_out
        return layers

    branches = [
        row(name, sizes, n_inputs, bends_last=True)
        for name, sizes in (("left", left), ("right", right))
    ]
    head = row("head", (units, classes), left[-1] + right[-1], bends_last=False)
    return BranchingNet(branches, head, (n_inputs,))


def examples(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 5)), rng.integers(0, 3, size=rows)


def unsplit(net, X, y, plan, *, swapped=False, adam=False, together=True):
    """The oracle: torch, by autograd.

    The mistakes are to join the branches in the wrong order, and to clip each tensor alone.
    """
    modules, tensors = {}, []
    for name, layer in net.layers.items():
        W, b = layer.unpack(net.initial_of(name, plan.seed))
        modules[name] = [torch.tensor(part.copy(), requires_grad=True) for part in (W, b)]
        tensors += modules[name]
    optimizer = torch.optim.SGD(tensors, lr=plan.learning_rate, momentum=plan.momentum)
    if adam:
        optimizer = torch.optim.AdamW(tensors, plan.learning_rate, weight_decay=plan.weight_decay)

    def through(layers, x):
        for layer in layers:
            W, b = modules[layer.name]
            x = x @ W.T + b
            x = x.relu() if layer.bends else x
        return x

    losses = []
    for share in plan.shares(len(y)):
        x, classes = torch.tensor(X[share.examples]), torch.tensor(y[share.examples])
        made = [through(branch, x) for branch in net.branches]
        outputs = through(net.head, torch.cat(made[::-1] if swapped else made, dim=1))
        loss = torch.nn.functional.cross_entropy(outputs, classes)
        optimizer.zero_grad()
        loss.backward()
        for some in [tensors] if together else [[tensor] for tensor in tensors]:
            if plan.clip is not None:
                norm = torch.cat([tensor.grad.flatten() for tensor in some]).norm()
                for tensor in some:
                    tensor.grad *= min(1.0, plan.clip / norm)
        optimizer.step()
        losses.append(loss.item())
    parameters = {
        name: np.concatenate([part.detach().numpy().ravel() for part in parts])
        for name, parts in modules.items()
    }
    return parameters, losses


def trained(result):
    parameters = {}
    for value in result.values:
        assert not parameters.keys() & value.parameters.keys()  # each is kept once
        parameters |= value.parameters
    (losses,) = (value.losses for value in result.values if value.losses)
    return parameters, losses


def test_twenty_steps_are_those_of_the_unsplit_net(world):
    net, (X, y) = small_net(), examples()
    placement = place_branches(net, (0, 1), head=0)
    result = world(train_branches, net, X, y, PLAN, placement, workers=2, rendezvous=True)
    parameters, losses = trained(result)
    expected, expected_losses = unsplit(net, X, y, PLAN)
    assert len(losses) == 20
    # Two libraries add in other orders, 20 times.
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-12)
    for name, w in expected.items():
        np.testing.assert_allclose(parameters[name], w, rtol=0, atol=1e-13)
    wrong, wrong_losses = unsplit(net, X, y, PLAN, swapped=True)
    assert abs(wrong_losses[0] - losses[0]) > 1e-3
    assert all(np.abs(wrong[name] - w).max() > 1e-3 for name, w in parameters.items())


@given(
    ranks=st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    left=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    right=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    batch_size=st.sampled_from([9, 13, 20, 30]),  # of 40 examples: at the end 4, 1, all, 10
)
@settings(max_examples=25, deadline=None)
@pytest.mark.slow
def test_any_placement_is_one_worker_to_the_bit(ranks, left, right, batch_size):
    net, (X, y) = small_net(left, right), examples(40)
    plan = Plan(learning_rate=0.1, batch_size=batch_size, momentum=0.9)
    placed = place_branches(net, ranks[:2], ranks[2])
    alone = place_branches(net, (0, 0), 0)
    found, expected = (
        trained(run(train_branches, net, X, y, plan, where, workers=3, backend="simulated"))
        for where in (placed, alone)
    )
    assert found[1] == expected[1]
    assert {name: w.tobytes() for name, w in found[0].items()} == {
        name: w.tobytes() for name, w in expected[0].items()
    }


def test_a_gradient_that_a_branch_does_not_get_would_be_seen():
    """Another likely mistake: the branch that is elsewhere is never told its slope."""
    net, (X, y) = small_net(), examples()
    parameters, _ = unsplit(net, X, y, PLAN)
    still = {name: net.initial_of(name, PLAN.seed) for name in net.layers}
    assert all(np.abs(parameters[name] - still[name]).max() > 1e-2 for name in still)


def test_clipping_accumulation_and_any_optimizer_are_those_of_the_unsplit_net():
    net, (X, y) = small_net(), examples(70)  # the last batch is smaller
    plan = Plan(0.01, 16, 2, clip=0.1, accumulate=3, weight_decay=0.1, seed=3)
    expected, losses = unsplit(net, X, y, plan, adam=True)
    wrong, _ = unsplit(net, X, y, plan, adam=True, together=False)
    options = {"workers": 3, "backend": "simulated"}  # the third has no layer
    found, found_losses = trained(
        run(train_branches, net, X, y, plan, place_branches(net, (0, 1), 0), AdamW, **options)
    )
    np.testing.assert_allclose(found_losses, losses, rtol=1e-11)
    for name, w in found.items():  # ten steps of Adam, which divides by small numbers
        np.testing.assert_allclose(w, expected[name], rtol=0, atol=1e-11)
        assert np.abs(wrong[name] - w).max() > 1e-5
    with pytest.raises(RunError, match="on_epoch must be None for train_branches"):
        run(train_branches, net, X, y, Plan(on_epoch=print), place_branches(net, (0, 1), 0),
            **options)  # fmt: skip


@pytest.mark.parametrize("network", [networks.nvlink_4, networks.ethernet_1g])
def test_two_branches_take_the_longest_path_and_the_cut_a_chain_leaves_workers_idle(network):
    """Both halves of the sentence: layers in a row do not gain from two workers, branches do."""
    n_examples, units = 64, 64
    net = small_net((units,) * 6, (units,) * 6, units=4, n_inputs=5)
    found = cut(branching_step(net, n_examples), place_branches(net, (0, 1), 0), 2, network)
    x, out = n_examples * 5 * 8, n_examples * units * 8
    assert [transfer.node.n_bytes for transfer in found.crossing] == [x, out, out]
    branch_flops, head_flops = (
        np.sum([layer.flops(n_examples) for layer in layers], axis=0) / 1e10
        for layers in (net.branches[1], net.head)
    )
    forward_s, back_s = branch_flops[0], branch_flops[1:].sum()
    back_s -= net.branches[1][0].flops(n_examples).input_gradient / 1e10
    x_s, out_s = (network.latency_s + n * network.beta_s_per_byte for n in (x, out))
    # The longest path goes through the branch that is elsewhere; it ends there, or with the head's
    # gradients of weights, which its worker computes last.
    expected_s = x_s + forward_s + out_s + head_flops[:2].sum() + back_s + max(out_s, head_flops[2])
    cut_s = x_s + 2 * out_s
    assert found.forecast.makespan_s == pytest.approx(expected_s, rel=1e-9)
    executed = run(
        execute, _without_functions(branching_step(net, n_examples)), found.placement,
        workers=2, backend="simulated", network=network,
    )  # fmt: skip
    assert executed.elapsed_s == pytest.approx(expected_s, rel=1e-9)
    assert cut_s / expected_s > (0.3 if network is networks.ethernet_1g else 1e-4)

    alone = cut(branching_step(net, n_examples), place_branches(net, (0, 0), 0), 2, network)
    gain = alone.forecast.makespan_s / found.forecast.makespan_s
    chain = deep_mlp(5, *(units,) * 12, 3)
    halves = {part.name: k // 7 for k, part in enumerate(chain.parts)}
    in_a_row = cut(chain, halves, 2, network, n_examples)
    # A weight gradient, which nobody waits for, is all that two workers of a chain do at once.
    last_weights = chain.parts[7].flops(n_examples).weight_gradient / 1e10
    busy_s = sum(in_a_row.forecast.busy_s)
    assert in_a_row.forecast.makespan_s > busy_s - last_weights
    assert in_a_row.utilisation < 0.53
    if network is networks.nvlink_4:
        assert gain > 1.9
        assert found.utilisation > 0.95
    else:  # the cut eats what the second worker gains
        assert gain < 1.4


def _without_functions(graph):
    from course_lib.planning.graph import Graph, Node

    return Graph(
        Node(name, node.inputs, flops=node.flops, n_bytes=node.n_bytes or 1)
        for name, node in graph.nodes.items()
    )


def test_what_is_no_net_and_no_placement_is_refused_by_name():
    layer = FullyConnected("fc", 5, 3)
    with pytest.raises(ValueError, match="branches and head must have a layer or more each"):
        BranchingNet([[layer], []], [layer], (5,))
    with pytest.raises(ValueError, match="layers must have different names, got 'fc' twice"):
        BranchingNet([[layer], [layer]], [layer], (5,))
    with pytest.raises(ValueError, match="head must get 7 numbers an example, got shape"):
        BranchingNet([[layer]], [FullyConnected("head", 7, 3)], (5,))
    net, (X, y) = small_net(), examples()
    with pytest.raises(ValueError, match="branches must have one rank for each of 2 branches"):
        place_branches(net, (0, 1, 2), 0)
    apart = place_branches(net, (0, 1), 0) | {"left1 weight gradient": 1}
    with pytest.raises(RunError, match="placement must keep parameters and gradient of 'left1'"):
        run(train_branches, net, X, y, PLAN, apart, workers=2, backend="simulated")
    with pytest.raises(RunError, match="must be an int from 0 to 1, got 2"):
        run(
            train_branches, net, X, y, PLAN, place_branches(net, (0, 2), 0), workers=2,
            backend="simulated",
        )  # fmt: skip
