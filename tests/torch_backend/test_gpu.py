"""Two ranks that share an NVIDIA GPU, or have one each: the same text, the same numbers as without.

Every step here is computed twice: with tensors on the GPU by ranks of the torch backend, and with
the same text on the CPU. Sizes are such that messages go both ways, at once and when asked for.
"""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib import run, schemes
from course_lib.collectives import ALLREDUCES
from course_lib.models import from_module
from course_lib.models.mlp import mlp
from course_lib.models.on_device import on_device
from course_lib.training import SGD, Adam, Plan

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
RNG = np.random.default_rng(0)
M, N_IN, HIDDEN, CLASSES = 64, 40, 96, 10  # 64 x 96 numbers are 48 KB
X, Y = RNG.normal(size=(256, N_IN)), RNG.integers(0, CLASSES, 256)
PERCEPTRON = mlp(N_IN, HIDDEN, CLASSES)  # 4,906 numbers, 38 KB
PLAN = Plan(0.1, batch_size=M, epochs=3)


def on_gpu(fn, *args, workers=2, **options):
    return run(fn, *args, workers=workers, backend="torch", time_limit_s=120, **options).values


def placed(comm, scheme, model, plan, device=None):
    """Train where this rank's arrays live."""
    training = scheme(comm, on_device(model, device or comm.device), X, Y, plan)
    assert training.w.device == torch.device(device or comm.device)
    return training.w.cpu().numpy(), training.losses


@pytest.mark.parametrize("name", ALLREDUCES)
def test_data_parallel_on_a_gpu_has_the_losses_of_the_cpu(name):
    scheme = partial(schemes.data_parallel, allreduce=ALLREDUCES[name])
    on_the_cpu = run(scheme, PERCEPTRON, X, Y, PLAN, workers=2, backend="simulated").values
    found = on_gpu(placed, scheme, PERCEPTRON, PLAN)
    for (w, losses), expected in zip(found, on_the_cpu, strict=True):
        np.testing.assert_allclose(losses, expected.losses, rtol=1e-9)
        np.testing.assert_allclose(w, expected.w, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found[0][0], found[1][0])  # replicas, to the bit


@pytest.mark.parametrize(
    "scheme",
    [
        schemes.parameter_server,
        schemes.layerwise,
        schemes.sharded_data_parallel,
        schemes.sharded_gradients,
        schemes.local_sgd,
        partial(schemes.data_parallel, optimizer=Adam),
    ],
)
def test_other_schemes_on_a_gpu_have_the_parameters_of_the_cpu(scheme):
    on_the_cpu = run(scheme, PERCEPTRON, X, Y, PLAN, workers=3, backend="simulated").values
    for (w, losses), expected in zip(
        on_gpu(placed, scheme, PERCEPTRON, PLAN, workers=3), on_the_cpu, strict=True
    ):
        np.testing.assert_allclose(losses, expected.losses, rtol=1e-9)
        np.testing.assert_allclose(w, expected.w, rtol=0, atol=1e-9)


def test_dropout_on_a_gpu_draws_the_same_when_it_is_repeated_and_leaves_the_generator_alone():
    net = torch.nn.Sequential(
        torch.nn.Linear(N_IN, HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(0.5),
        torch.nn.Linear(HIDDEN, CLASSES),
    )  # fmt: skip

    def train(comm, model):
        before = torch.cuda.get_rng_state()
        w, losses = placed(comm, schemes.data_parallel, model, PLAN)
        assert torch.equal(before, torch.cuda.get_rng_state())
        return w, losses

    first, again = (on_gpu(train, from_module(net)) for _ in range(2))
    for (w, losses), (w_again, losses_again) in zip(first, again, strict=True):
        np.testing.assert_allclose(w_again, w, rtol=0, atol=1e-6)
        np.testing.assert_allclose(losses_again, losses, rtol=1e-4)
    assert first[0][1] != first[1][1]  # the ranks' own examples, and draws


def weights(device):
    """Draw the weights of two layers, and a batch, the same on every rank."""
    rng = np.random.default_rng(1)
    shapes = (HIDDEN, N_IN), (CLASSES, HIDDEN), (M, N_IN)
    return [torch.as_tensor(rng.normal(size=shape), device=device) for shape in shapes]


def split_step(comm, device, sum_up):
    """Go through two layers split by columns and rows, forward and back; return loss and slopes."""
    first, second, x = weights(device)
    cut = HIDDEN // comm.size
    own = slice(comm.rank * cut, (comm.rank + 1) * cut)
    w1 = first[own].clone().requires_grad_()
    w2 = second[:, own].clone().requires_grad_()
    partial_outputs = torch.relu(x @ w1.T) @ w2.T
    y = sum_up(comm, partial_outputs.detach())
    assert y.device == x.device
    partial_outputs.backward(2 * y / y.numel())  # the slope of the mean square
    return y.square().mean().item(), w1.grad.cpu(), w2.grad.cpu()


@pytest.mark.parametrize("name", ALLREDUCES)
def test_a_split_step_on_a_gpu_has_the_slopes_of_the_whole(name):
    first, second, x = weights("cpu")
    first.requires_grad_()
    second.requires_grad_()
    loss = (torch.relu(x @ first.T) @ second.T).square().mean()
    loss.backward()

    def step(comm):
        return split_step(comm, comm.device, ALLREDUCES[name])

    found = on_gpu(step)
    assert [of_rank[0] for of_rank in found] == pytest.approx([loss.item()] * 2, rel=1e-12)
    torch.testing.assert_close(torch.cat([w1 for _, w1, _ in found]), first.grad)
    torch.testing.assert_close(torch.cat([w2 for _, _, w2 in found], dim=1), second.grad)
    # Rows that forget the sum would be noticed:
    (forgot, _, _) = run(split_step, "cpu", lambda _, y: y, workers=2, backend="simulated").values[
        0
    ]
    assert forgot != pytest.approx(loss.item(), rel=0.01)


def test_a_pipeline_step_on_a_gpu_has_the_slopes_of_the_whole():
    def step(comm):
        first, second, x = weights(comm.device)
        if comm.rank == 0:
            y = torch.relu(x @ first.requires_grad_().T)
            comm.send(y.detach(), dst=1, tag="activations")
            y.backward(comm.recv(src=1, tag="slopes"))
            return first.grad.cpu()
        entered = comm.recv(src=0, tag="activations").requires_grad_()
        assert entered.device == torch.device(comm.device)
        (entered @ second.requires_grad_().T).square().mean().backward()
        comm.send(entered.grad, dst=0, tag="slopes")
        return second.grad.cpu()

    first, second, x = weights("cpu")
    (
        torch.relu(x @ first.requires_grad_().T) @ second.requires_grad_().T
    ).square().mean().backward()
    for found, whole in zip(on_gpu(step), (first, second), strict=True):
        torch.testing.assert_close(found, whole.grad)


def test_a_program_that_has_used_its_gpu_can_still_start_ranks():
    """CUDA does not survive a fork: the ranks come from a process that has never used it."""
    torch.ones(3, device="cuda").sum().item()
    test_data_parallel_on_a_gpu_has_the_losses_of_the_cpu("ring")


def test_torchrun_starts_ranks_on_a_gpu(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import numpy as np\n"
        "from course_lib import run\n"
        "from tests.torch_backend.test_gpu import PERCEPTRON, PLAN, placed\n"
        "from course_lib.schemes import data_parallel\n"
        "result = run(placed, data_parallel, PERCEPTRON, PLAN, backend='torch')\n"
        "if result.is_whole:\n"
        "    np.save('losses.npy', np.array([losses for _, losses in result.values]))\n",
        encoding="utf-8",
    )
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*line, script], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    losses = np.load(tmp_path / "losses.npy")
    on_the_cpu = run(
        partial(schemes.data_parallel, optimizer=SGD), PERCEPTRON, X, Y, PLAN, workers=2,
        backend="simulated",
    ).values  # fmt: skip
    np.testing.assert_allclose(losses, [training.losses for training in on_the_cpu], rtol=1e-9)
