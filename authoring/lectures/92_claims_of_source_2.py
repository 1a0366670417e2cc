# %% [markdown] slideshow={"slide_type": "slide"}
# # 92 · Appendix: claims of source 2, one by one
#
# The source: N. Sen, "Distributed Training in Deep Learning Models", a blog post, 2021.
#
# For each sentence that no lecture tests in its own text: the sentence, an experiment with its
# assertion, the verdict (right, imprecise, wrong) and why. Reasons and citations are rows of the
# claims ledger, `docs/claims.json`. When the course's tests run this notebook, they also run every
# experiment with a planted fault, and the assertion must fail.
#
# Nothing here is needed for the lectures. All runs are simulated, in virtual time; 10 seconds.

# %%
import copy
from dataclasses import replace

import numpy as np
import torch

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.data.digits import load_digits
from course_lib.models.mlp import mlp
from course_lib.schemes import parameter_averaging, train
from course_lib.training import Plan

torch.set_num_threads(1)
digits = load_digits()
X, y = digits.X_train[:1408], digits.y_train[:1408]
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.5, batch_size=128, epochs=2)
serial = train(model, X, y, plan)


# %%
def right(w):
    """Which part of the 360 test images is recognised."""
    return np.mean(model.predict(w, digits.X_test) == digits.y_test)


def distance(w, other):
    """The largest difference between two models' parameters."""
    return np.abs(w - other).max()


# %% [markdown]
# ## 2.10
#
# "Divide the data into n partitions, where n is the number of nodes." Is that a must? Four nodes,
# a batch of 128, cut into 2, 4, 6 and 8 parts; 50 ms of work for an image in virtual time.


# %%
def busy(comm, n_parts):
    """Work on the parts k, k + P, k + 2P, ... of a batch of 128."""
    for part in range(comm.rank, n_parts, comm.size):
        examples = np.array_split(np.arange(128), n_parts)[part]
        with comm.compute(f"part {part}", flops=5e8 * len(examples)):
            pass


# %%
batch = X[:128], y[:128]
whole = model.gradient(serial.w, batch)[1]
one_s = run(busy, 1, workers=1, backend="simulated").elapsed_s

# %% name="claim-2-10"
times = {}
for n_parts in (2, 4, 6, 8):
    parts = zip(*(np.array_split(array, n_parts) for array in batch), strict=True)
    total = sum(len(part[1]) / 128 * model.gradient(serial.w, part)[1] for part in parts)
    times[n_parts] = run(busy, n_parts, workers=4, backend="simulated").elapsed_s / one_s
    same = distance(total, whole) < 1e-15
    print(f"{n_parts} parts: same gradient: {same}, time {times[n_parts]:.3f} of one machine's")
    assert same
assert times[4] == min(times.values()) < times[6]

# %% [markdown]
# **Verdict on 2.10: right,** as the usual choice. Any number of parts gives the same gradient. With
# fewer parts than nodes some idle; with six parts on four nodes two nodes have two parts, and all
# wait for them.

# %% [markdown]
# ## 2.11
#
# The simplest way to synchronise: after an iteration the global parameters become the average of
# the workers' parameters.

# %%
plans = {"plain": plan, "momentum": replace(plan, learning_rate=0.1, momentum=0.9)}
alone = {name: train(model, X, y, how).w for name, how in plans.items()}

# %% name="claim-2-11"
equal = []
for name, how in plans.items():
    for every in (1, 2, 11):
        task = (parameter_averaging, model, X, y, how, every)
        w = run(*task, workers=4, backend="simulated").values[0].w
        same = bool(distance(w, alone[name]) < 1e-12)
        print(f"{name:8} every {every:2}: equal: {same!s:5} right {right(w):.0%}", end=" ")
        print(f"(one machine {right(alone[name]):.0%})")
        equal += [(name, every)] * same
assert equal == [("plain", 1), ("momentum", 1)]


# %%
def adam(comm, averages, rate=0.01):
    """Train with Adam; average parameters after each step, or gradients before it."""
    w, m, v = model.initial(), 0, 0
    for step, (examples, _) in enumerate(plan.shares(len(y), comm.rank, comm.size), start=1):
        grad = model.gradient(w, (X[examples], y[examples]))[1]
        if averages == "gradients":
            grad = allreduce_ring(comm, grad) / comm.size
        m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2
        w = w - rate * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        if averages == "parameters":
            w = allreduce_ring(comm, w) / comm.size
    return w


# %% name="adam"
ways = ("gradients", "parameters")
of_one, of_four = (
    [run(adam, way, workers=P, backend="simulated").values[0] for way in ways] for P in (1, 4)
)
for way, w in zip(ways, of_four, strict=True):
    print(f"Adam, mean of {way:10}: one machine's: {distance(w, of_one[0]) < 1e-6}", end=", ")
    print(f"right {right(w):.0%}")
assert distance(of_four[0], of_one[0]) < 1e-6 < 1e-2 < distance(of_four[1], of_one[0])

# %% [markdown]
# **Verdict on 2.11: right,** as a definition. It is gradient averaging only for one local step from
# equal parameters and a rule that is linear in the gradient: plain SGD and heavy-ball momentum, not
# Adam. With more local steps it is local SGD.

# %% [markdown]
# ## 2.12
#
# The alternative to parameter averaging is asynchronous SGD, in which updates are sent instead of
# parameters. What is sent (`sends`) and whether the server waits (`waits`) are varied one by one.


# %%
def worker(comm, sends):
    """Fetch the model, take a step from it, send the new model or only the step."""
    w = comm.recv(0)
    for examples, _ in plan.shares(len(y), comm.rank - 1, comm.size - 1):
        batch = X[examples], y[examples]
        with comm.compute("gradient", flops=model.flops(batch)):
            update = -plan.learning_rate * model.gradient(w, batch)[1]
        comm.send(update if sends == "updates" else w + update, dst=0)
        w = comm.recv(0)


# %%
def server(comm, sends, waits):
    """Combine what arrives, from all workers or from the first to come, and answer them."""
    w, others = model.initial(), comm.size - 1
    for dst in range(1, comm.size):
        comm.send(w, dst)
    for _ in range(22 if waits else 22 * others):
        arrived = [comm.recv_any() for _ in range(others if waits else 1)]
        w = w + sum(x if sends == "updates" else x - w for _, x in arrived) / others
        for src, _ in arrived:
            comm.send(w, src)
    return w


# %%
def either(comm, sends, waits):
    """Rank 0 serves, the others work."""
    return server(comm, sends, waits) if comm.rank == 0 else worker(comm, sends)


# %% name="claim-2-12"
same = {}
for sends in ("parameters", "updates"):
    for waits in (True, False):
        w = run(either, sends, waits, workers=5, backend="simulated").values[0]
        same[sends, waits] = distance(w, serial.w) < 1e-12
        name = "waits" if waits else "does not wait"
        print(f"{sends:10}, {name:13}: one machine's: {same[sends, waits]!s:5}", end=" ")
        print(f"right {right(w):.0%}")
        assert right(w) > 0.4
assert all(equal == waits for (_, waits), equal in same.items())

# %% [markdown]
# **Verdict on 2.12: wrong.** There are two questions, and all four answers exist and learn. What is
# sent does not matter while the server waits: both rows are one machine's model. Whether it waits
# matters in both.

# %% [markdown]
# ## 2.18
#
# PyTorch's `DataParallel` splits the input, copies the model to every device, and adds up the
# replicas' *updated* gradients in the original module.


# %%
def replicas_gradients(module, inputs, targets, n_replicas, one_loss=True):
    """The first layer's gradient in every replica: from one loss for all, or from one for each."""
    cross_entropy = torch.nn.functional.cross_entropy
    replicas = [copy.deepcopy(module) for _ in range(n_replicas)]
    parts = zip(replicas, inputs.chunk(n_replicas), strict=True)
    outputs = [replica(part) for replica, part in parts]
    if one_loss:
        outputs, n_replicas = [torch.cat(outputs)], 1  # gathered, and compared with all targets
    for output, part in zip(outputs, targets.chunk(n_replicas), strict=True):
        cross_entropy(output, part).backward()
    return torch.stack([replica[0].weight.grad for replica in replicas])


# %%
torch.manual_seed(3)
module = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
whole = module.double(), torch.tensor(X[:128]), torch.tensor(y[:128])
reference = replicas_gradients(*whole, n_replicas=1)[0]

# %% name="claim-2-18"
fits = []
for name, one_loss in (("one loss", True), ("own losses", False)):
    grads = replicas_gradients(*whole, n_replicas=4, one_loss=one_loss)
    for how, combined in (("sum", grads.sum(dim=0)), ("mean", grads.mean(dim=0))):
        same = bool(torch.allclose(combined, reference, rtol=1e-12, atol=1e-15))
        print(f"{name:10} {how:4}: the gradient of the whole batch: {same}")
        fits += [(name, how)] * same
assert fits == [("one loss", "sum"), ("own losses", "mean")]

# %% [markdown]
# **Verdict on 2.18: imprecise.** It adds up gradients; nothing has been updated yet. The sum is
# right because there is one loss over the gathered outputs, a mean over the whole batch; where
# every replica has a loss of its own, the mean is.

# %% [markdown]
# ## What to remember
#
# - Any number of parts gives the same gradient; what changes is who waits.
# - Averaging parameters after every step is gradient averaging, with momentum too, not with Adam.
# - What is sent, and whether one waits for it, are two questions.
