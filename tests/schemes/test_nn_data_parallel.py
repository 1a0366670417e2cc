"""``nn.DataParallel`` from messages: rank 0 trains, the others compute, gradients are summed."""

import numpy as np
import pytest
import torch

from course_lib import run
from course_lib.models import from_module
from course_lib.models.conv_net import conv_net
from course_lib.models.mlp import mlp
from course_lib.models.torch_passes import TorchPasses, loss_and_slope
from course_lib.schemes import nn_data_parallel, train
from course_lib.training import Plan
from course_lib.training.shards import split_evenly


def examples(rows=120, columns=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.integers(0, classes, size=rows)


def test_twenty_steps_are_those_of_one_process(world):
    plan = Plan(learning_rate=0.2, batch_size=24, epochs=4, momentum=0.5, warmup_steps=3)
    model, (X, y) = mlp(3, 6, 2), examples()
    values = world(nn_data_parallel, model, X, y, plan, workers=4).values
    serial = train(model, X, y, plan)
    assert len(serial.losses) == 20
    for value in values:
        assert value.w.tobytes() == values[0].w.tobytes()
        # 20 steps, each with some hundred additions in another order.
        np.testing.assert_allclose(value.w, serial.w, rtol=0, atol=1e-13)
    np.testing.assert_allclose(values[0].losses, serial.losses, rtol=1e-12)
    assert all(value.losses == [0.0] * 20 for value in values[1:])


@pytest.mark.parametrize("size", [1, 3, 5])
def test_unequal_parts_and_ranks_without_an_example_weigh_what_they_should(size):
    model, (X, y) = conv_net(2, 3), examples(rows=10, columns=64, classes=3)
    plan = Plan(batch_size=8, epochs=2)  # 8 and 2 examples, for 5 ranks
    serial = train(model, X, y, plan)
    values = run(nn_data_parallel, model, X, y, plan, workers=size, backend="simulated").values
    np.testing.assert_allclose(values[-1].w, serial.w, rtol=0, atol=1e-14)


def test_a_module_of_ones_own_is_looked_at_with_its_own_targets():
    """A loss takes what the module gives and classes: examples in their place it refuses."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    model, (X, y) = from_module(net.double(), torch.nn.CrossEntropyLoss()), examples(rows=10)
    plan = Plan(batch_size=8, epochs=2)
    values = run(nn_data_parallel, model, X, y, plan, workers=3, backend="simulated").values
    np.testing.assert_allclose(values[0].w, train(model, X, y, plan).w, rtol=0, atol=1e-14)


def test_it_is_what_autograd_gives_for_replicas_of_one_module():
    """The documented meaning: outputs are gathered, the loss is theirs, gradients are summed.

    Where there is no GPU, ``nn.DataParallel`` hands the batch to its module as it is; autograd sums
    over replicas all the same when one module is called once for each part.
    """
    model, (X, y) = mlp(3, 6, 2), examples(rows=10)
    net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    net = net.double()
    torch.nn.utils.vector_to_parameters(torch.from_numpy(model.initial(0)), net.parameters())
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)

    def slope(outputs):
        net.zero_grad()
        torch.nn.functional.cross_entropy(outputs, targets).backward()
        return torch.cat([p.grad.reshape(-1) for p in net.parameters()]).numpy()

    gathered = slope(torch.cat([net(inputs[part]) for part in split_evenly(10, 4)]))
    documented = slope(torch.nn.DataParallel(net)(inputs))
    np.testing.assert_allclose(gathered, documented, rtol=0, atol=1e-15)

    # One step with rate 1 from the same parameters, in the order that the plan puts them in.
    plan = Plan(learning_rate=1.0, batch_size=10)
    values = run(nn_data_parallel, model, X, y, plan, workers=4, backend="simulated").values
    np.testing.assert_allclose(model.initial(0) - values[0].w, documented, rtol=0, atol=1e-14)
    # The likely mistakes: a mean of the replicas' gradients, and losses of their own, summed.
    assert np.abs(documented / 4 - documented).max() > 1e-2
    own = [model.gradient(model.initial(0), (X[part], y[part]))[1] for part in split_evenly(10, 4)]
    assert np.abs(sum(own) - documented).max() > 1e-2


def test_a_replica_goes_back_with_a_slope_from_elsewhere():
    model, (X, y) = mlp(3, 6, 2), examples(rows=9)
    w = model.initial(1)
    expected = model.gradient(w, (X, y))
    for kind in (np.asarray, torch.from_numpy):
        replica = TorchPasses(model, kind(w), (X, None))
        for layer in model.layers:
            replica.forward(layer)
        loss, slope = loss_and_slope(replica.outputs(), y)
        assert type(slope) is type(kind(w))
        replica.begin_backward(slope)
        parts = [np.asarray(replica.backward(layer)) for layer in model.layers[::-1]]
        assert loss == expected[0]
        assert np.concatenate(parts[::-1]).tobytes() == expected[1].tobytes()


def test_rank_0s_nic_carries_examples_parameters_outputs_and_gradients(world):
    model, (X, y) = mlp(3, 6, 2), examples(rows=40)
    plan = Plan(batch_size=20)  # 2 steps
    trace = world(nn_data_parallel, model, X, y, plan, workers=4).trace
    n, x, z = 8 * model.n_parameters, 8 * 20 * 3, 8 * 20 * 2
    assert trace.bytes_sent()[0] == 2 * (3 * x // 4 + 3 * n + 3 * z // 4) + 3 * n
    assert trace.bytes_received()[0] == 2 * (3 * z // 4 + 3 * n)
    assert trace.bytes_sent()[1:] == [2 * (z // 4 + n)] * 3
    assert trace.n_messages == 2 * 5 * 3 + 3
    assert {(m.src == 0) != (m.dst == 0) for m in trace.messages} == {True}
    first = [c.name for c in trace.collectives if c.rank == 0][:5]
    assert first == ["scatter", "broadcast_flat", "gather", "scatter", "reduce_flat"]
