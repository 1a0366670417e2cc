# %% [markdown] slideshow={"slide_type": "slide"}
# # 06 · Overlap and scaling: can communication hide behind computation?
#
# After this you can
#
# - say what a training step takes with and without overlap, from layers, bytes and bandwidth
# - choose buckets and a number of workers for a network, and predict both before you run them
# - read a speed-up that somebody reports as an efficiency, and say what it stands on
#
# 40 minutes. Needs: 4 processes, no GPU. You should know the all-reduces of lecture 05.

# %%
import math
from dataclasses import replace
from functools import partial

import numpy as np
import torch

rng = np.random.default_rng(seed=6)
torch.set_num_threads(1)  # small models: more threads only get into each other's way

# %%
from course_lib import networks, run
from course_lib.collectives import ALLREDUCES, allgather_ring
from course_lib.costs import Step, predicted_s
from course_lib.data.digits import load_digits
from course_lib.measure import dry_run, one_step
from course_lib.models.mlp import mlp
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.schemes import data_parallel, layerwise, layerwise_bucketed
from course_lib.schemes.priority import order_of_need, priority
from course_lib.training import Plan
from course_lib.training.shards import split_evenly
from course_lib.viz import curve, draw_gantt, source
from course_lib.viz.prediction import predict

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: timing, misconceptions</summary>
#
# Timing: two ways to cut a layer 4 minutes, which networks 5, overlap 9, buckets and priority 6,
# real processes 4, scaling 7, history 5. Draw the three layers on the board and let the room place
# the exchanges before the picture is shown.
#
# Common misconceptions: "overlap makes communication free" (the first layer's exchange has nothing
# left to hide behind); "few weights scale well" (flops a byte do); "more workers are faster" (up
# to a number that one can compute); "31 times on 40 GPUs is linear".
#
# If time is short, leave out the two ways to cut a layer.
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The question, and whose word we take
#
# A step is computing, then an all-reduce. While the gradients travel, the processors wait; while
# they compute, the network is idle. Can both work at once? And how many workers are worth having?
#
# Our source is again *the transcript* of a video lecture: eleven sentences, between rows 3.7 and
# 3.21 of `docs/claims.json`. One more, row 2.19, comes from a text on `nn.DataParallel`.
#
# Nothing of what follows needs a GPU. A *dry run* runs the real scheme with its real messages in
# virtual time; the network that is trained is only a list of sizes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 1. Two ways to share a layer
#
# One layer: 8 examples $X$ with 6 inputs each, weights $W$ for 4 outputs, targets $Y$. Two workers.
# Cut the examples, or cut the weights? What has to travel in each case?


# %%
def by_examples(comm, X, Y, W):
    """Data parallelism: the whole W, some rows of X; gradients travel."""
    rows = split_evenly(len(X), comm.size)[comm.rank]
    return ALLREDUCES["ring"](comm, X[rows].T @ (X[rows] @ W - Y[rows]))


def by_weights(comm, X, Y, W):
    """Model parallelism: the whole X, some columns of W; outputs travel."""
    mine = split_evenly(W.shape[1], comm.size)[comm.rank]
    outputs = allgather_ring(comm, (X @ W[:, mine]).T).T
    return X.T @ (outputs - Y)[:, mine]


# %%
shapes = ((8, 6), (6, 4), (8, 4))
X, W, Y = (rng.integers(-5, 6, size=shape).astype(float) for shape in shapes)
whole = X.T @ (X @ W - Y)

# %% name="claim-3-7"
data, model = (run(f, X, Y, W, workers=2, backend="simulated") for f in (by_examples, by_weights))
print(f"examples cut: every rank sends {data.trace.bytes_sent()} bytes: one W of {W.nbytes} bytes")
print(f"weights cut:  every rank sends {model.trace.bytes_sent()} bytes: half of the outputs")
assert all((gradient == whole).all() for gradient in data.values)
assert (np.hstack(model.values) == whole).all()
assert data.trace.bytes_sent() == [W.nbytes] * 2
assert model.trace.bytes_sent() == [X.shape[0] * W.shape[1] * 8 // 2] * 2

# %% [markdown]
# The same gradient. With data parallelism something of the size of the *weights* travels, with
# model parallelism something that grows with the *batch*.
#
# **The claim:** in model parallelism the nodes share the weights and work on the same mini-batch;
# in data parallelism all have the same model and other parts of the data.
#
# **Verdict on 3.7: right** (Das and others 2016 price both). It tells only half of model
# parallelism: instead of each layer, one can also give whole layers to different workers. Lectures
# 07 and 08 (to come) do that; this one stays with data parallelism.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 2. Which networks suit it?
#
# Every step moves the gradient once around, however large the batch. So what counts is how much is
# computed for each byte. Four published networks, 16 workers with 64 examples each, GPUs that do
# $4 \cdot 10^{12}$ operations a second (as in 2016), ten-gigabit Ethernet, a ring.
#
# VGG-16 has 138 million weights, AlexNet 61 million, GoogLeNet 7 million. Which one keeps its GPUs
# busiest, which one least?

# %%
GPU = 4e12  # floating-point operations a second: an assumption
cluster = replace(networks.ethernet_10g, flops_per_s=GPU)
guess_busy = predict("How busy, in percent, does AlexNet keep 16 GPUs?", "percent")
guess_busy


# %%
def busy(scheme, sizes, workers=16, each=64, network=cluster, **options):
    """Say which part of a step is computing, in virtual time."""
    compute_s = each * parameters_and_flops(sizes)[1] / network.flops_per_s
    there = {"workers": workers, "batch": workers * each, "network": network}
    return compute_s / one_step(scheme, sizes, **there, **options).seconds


# %%
shown = ("GoogLeNet", "ResNet-50", "VGG-16", "AlexNet")
for name in shown:
    n_parameters, flops = parameters_and_flops(PUBLISHED[name])
    a_byte = 64 * flops / (4 * n_parameters)
    print(
        f"{name:9} {n_parameters / 1e6:6.1f} million weights; {a_byte:6,.0f} flops a gradient byte"
    )

# %% name="claim-3-8"
plain = {name: busy(data_parallel, PUBLISHED[name]) for name in shown}
print(", ".join(f"{name} {part:.0%} busy" for name, part in plain.items()))
print(guess_busy.compare(round(100 * plain["AlexNet"])))
assert plain["GoogLeNet"] > plain["ResNet-50"] > plain["VGG-16"] > plain["AlexNet"]
assert plain["AlexNet"] < plain["VGG-16"] / 3

# %% [markdown]
# GoogLeNet does best. But AlexNet, with less than half of VGG-16's weights, does far worse.
#
# **The claim:** data parallelism is better for networks with few weights, like GoogLeNet, and is
# used in Intel's Caffe.
#
# **Verdict on 3.8: imprecise.** True of GoogLeNet, and of Intel's Caffe (Das and others 2016).
# What decides is not the weights, it is the *flops for each byte of gradient*: AlexNet's weights
# sit in three fully connected layers, which use each weight once for an example, where a
# convolution uses it thousands of times (Krizhevsky 2014).

# %% [markdown]
# The transcript goes on: few weights are what *linear topologies* have. A linear topology is a
# chain: each layer feeds the next, and nothing else. Which of our networks are chains?

# %%
weights = {name: parameters_and_flops(sizes)[0] for name, sizes in PUBLISHED.items()}
for name, sizes in PUBLISHED.items():
    in_full = sum(size.n_parameters for size in sizes if size.name.startswith("fc"))
    told = f"{weights[name] / 1e6:6.1f} million weights, {in_full / weights[name]:3.0%}"
    print(f"{name:10}{told} of them in fully connected layers")

# %% name="claim-3-11"
chains = {"AlexNet", "VGG-A", "VGG-16"}
fewest_in_a_chain = min(weights[name] for name in chains)
most_with_branches = max(weights[name] for name in weights if name not in chains)
print(f"chains: {fewest_in_a_chain:,} weights or more; others: {most_with_branches:,} or fewer")
assert fewest_in_a_chain > 2 * most_with_branches

# %% [markdown]
# **The claim:** data parallelism is preferred when the number of weights is small, and that is true
# of linear topologies.
#
# **Verdict on 3.11: wrong.** The three chains have the most weights of all, because they end in
# huge fully connected layers (Simonyan and Zisserman 2015). GoogLeNet and ResNet-50 have branches
# and few weights: they end in an average over the picture and one small layer (Szegedy and others
# 2015, He and others 2016).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 3. Send the last layer first
#
# Back-propagation finds the *last* layer's gradient first, and never needs it again. Why wait with
# it?
#
# Three layers, alike. Forward takes 1 ms a layer, back 2 ms. Four workers; a layer's gradient has
# 2 MB, the network 1 GB/s and no latency, so a ring needs $\frac32 \cdot 2 = 3$ ms for each. First
# all computing, then all exchanges: $3 + 6 + 9 = 18$ ms.
#
# Now start each exchange when its layer is done. When does the step end? Draw it: the NIC can
# carry one thing at a time.

# %%
three = [LayerSize(name, n_parameters=500_000, flops=3e9) for name in ("L1", "L2", "L3")]
wires = networks.Network("1 GB/s", 0.0, 1e9, flops_per_s=1e12)
guess_ms = predict("With overlap: how long does the step take?", "milliseconds")
guess_ms

# %% name="claim-3-21"
in_turn = partial(layerwise_bucketed, bucket_bytes=0)  # one exchange after the other
after_ms, during_ms = (
    1e3 * one_step(in_turn, three, workers=4, network=wires, bucket_bytes=size).seconds
    for size in (math.inf, 0)
)
print(f"one exchange, after all computing: {after_ms:.3f} ms")
print(guess_ms.compare(round(during_ms, 3)))
forward, back, exchange = 3 * 1, 3 * 2, 3 * 1.5 * 2
assert abs(after_ms - (forward + back + exchange)) < 1e-4
assert abs(during_ms - (forward + back / 3 + exchange)) < 1e-4

# %%
after, during = (
    dry_run(in_turn, three, 4, 4, wires, bucket_bytes=size).trace for size in (math.inf, 0)
)
labels = {"after": ["all layers"], "during": ["L3", "L2", "L1"]}
draw_gantt({"after": after, "during": during}, labels, title="Three layers, rank 0")

# %% [markdown]
# The *critical path*: forward through all (3 ms), back through L3 (2 ms), then the NIC is never
# idle again: $3 \times 3$ ms. Together 14 ms. Of 9 ms of exchange 4 are hidden, under the backward
# pass of L2 and L1. What nothing can hide is the first layer's own exchange: when its gradient is
# known, there is nothing left to compute.

# %% [markdown]
# **The claim:** in Intel's Caffe the gradients of layer L2 are sent as soon as L2 is
# back-propagated, then those of L1; the server updates each when all nodes have sent it, and
# broadcasts; nodes wait for the updates before the next forward pass.
#
# **Verdict on 3.21: right** (Das and others 2016; *wait-free back-propagation*, Zhang and others
# 2017; PyTorch's DDP does it, Li and others 2020). That nodes wait for *all* layers is more than
# needed; see the priority below.
#
# And the scheme itself? Nearly that of lecture 03:

# %%
source(layerwise)

# %% [markdown]
# `comm.start(allreduce, ...)` runs an all-reduce beside what the rank goes on to do. Does it change
# what is learnt? We train a perceptron on digits, four workers, ten steps: all gradients at once,
# then layer by layer, through a ring and through a server on rank 0.

# %%
digits, plan = load_digits(), Plan(learning_rate=0.2, batch_size=144)
job = (mlp(64, 32, 32, 10), digits.X_train, digits.y_train, plan)
at_once = run(data_parallel, *job, workers=4, backend="simulated").values[0].w

# %% name="claim-3-9"
n_steps = -(-len(digits.y_train) // plan.batch_size)
for name, messages_a_layer in (("ring", 4 * 6), ("central", 2 * 3)):
    result = run(layerwise, *job, ALLREDUCES[name], workers=4, backend="simulated")
    apart = np.abs(result.values[0].w - at_once).max() / np.abs(at_once).max()
    a_step = (result.trace.n_messages - 3) / n_steps  # 3 hand out the first parameters
    print(f"{name:8} {a_step:3.0f} messages a step; weights equal to 1e-12: {apart < 1e-12}")
    assert a_step == 3 * messages_a_layer
    assert apart < 1e-12

# %% [markdown]
# **The claim:** each node estimates the same parameters; they exchange their estimates with each
# layer, through a parameter server or an all-reduce, to find the step.
#
# **Verdict on 3.9: right.** Three layers, three exchanges a step, either way, and the weights of
# one exchange a step (Das and others 2016). What they exchange are gradients; strictly, it is the
# *sum* that they estimate together.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 4. What overlap is worth
#
# Back to the published networks, 16 GPUs, ten-gigabit Ethernet. Which network gains most when its
# layers leave one by one? Remember where the weights are (the last layers) and where the computing
# is (the first).

# %% name="overlap-gain"
print("16 workers x 64    after   during    faster by")
for name in ("GoogLeNet", "ResNet-50", "VGG-16", "AlexNet"):
    during = busy(layerwise, PUBLISHED[name])
    print(f"{name:16} {plain[name]:7.0%} {during:8.0%} {during / plain[name] - 1:11.0%}")
    assert during > plain[name]

# %% [markdown]
# VGG-16 becomes nearly perfect: its huge layers are the last ones, so their gradients leave first
# and travel under the convolutions, where the computing is. AlexNet gains little:
# nearly all of its step is exchange, and there is not much to hide it behind.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Buckets
#
# Every exchange costs its latencies: a ring of 16 spends $30\alpha$ each time. With many small
# layers that adds up, as long as an exchange begins only when the one before is over, as on a GPU.
# So put neighbouring layers into a *bucket*, and send it when it is full.
#
# GoogLeNet: 28 MB of gradients in 13 layers, 16 workers with 32 examples, and a network with ten
# times the latency, $\alpha = 0.2$ ms. Tiny buckets waste latency, and huge ones? Which size, in
# MB, is best: 0 (every layer alone), 2, 5, 10, 20 or all in one?

# %%
slow_start = replace(cluster, latency_s=200e-6)
guess_bucket = predict("Which bucket makes the shortest step?", "MB")
guess_bucket

# %% name="buckets"
job = {"workers": 16, "batch": 16 * 32, "network": slow_start}
megabytes = (0, 2, 5, 10, 20, 40)
googlenet = PUBLISHED["GoogLeNet"]
in_ms = {
    mb: one_step(in_turn, googlenet, **job, bucket_bytes=mb * 1e6).seconds * 1e3 for mb in megabytes
}

# %% name="best-bucket"
print("bucket in MB", *(f"{mb:6}" for mb in in_ms))
print("step in ms  ", *(f"{ms:6.1f}" for ms in in_ms.values()))
best_mb = min(in_ms, key=in_ms.get)
print(guess_bucket.compare(best_mb))
assert in_ms[best_mb] < min(in_ms[0], in_ms[40]) - 20

# %% [markdown]
# Every layer alone: $13 \times 30\alpha = 78$ ms of latency. All in one: nothing is hidden. In
# between lies the best, as so often a compromise of two wastes. PyTorch's DDP takes 25 MB unless it
# is told otherwise (Li and others 2020), for networks that are larger and latencies that are
# smaller than these.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who goes first?
#
# Intel's nodes wait for all updates before the next forward pass. But that pass begins with L1, and
# needs nothing else at first. So wait for one layer at a time, and let the *first* layers overtake
# the last ones at the NIC: *priority* (Jayarajan and others 2019).
#
# Our three layers on a slower network, 5 ms for each exchange. Back-propagation is done with L3, L2
# and L1 at 5, 7 and 9 ms. L3's exchange goes first; it ends at 10 ms. Who goes next?


# %%
def planned(sizes, workers, each, network):
    """Plan the order of exchanges from what back-propagation and a ring will take."""
    back_s = [each * size.flops * 2 / 3 / network.flops_per_s for size in sizes]
    ready_s = np.cumsum(back_s[::-1])[::-1]
    alpha_beta = (network.latency_s, network.beta_s_per_byte)
    n_bytes = [4 * size.n_parameters for size in sizes]
    ring_s = [predicted_s("allreduce_ring", workers, n, *alpha_beta) for n in n_bytes]
    return order_of_need(ready_s, ring_s)


# %% name="priority"
slower = replace(wires, bandwidth_bytes_per_s=6e8)
order = planned(three, 4, 1, slower)
urgent = partial(priority, order=order)
print("first out:", *(three[number].name for number in order))

# %% name="waiting"
waits_ms, urgent_ms = (
    one_step(s, three, workers=4, network=slower).seconds * 1e3 for s in (in_turn, urgent)
)
print(f"waits for all layers: {waits_ms:.3f} ms a step; for one at a time: {urgent_ms:.3f} ms")
assert [round(waits_ms, 3), round(urgent_ms, 3)] == [20, 19]

# %%
two_steps = {"all": dry_run(in_turn, three, 4, 4, slower, steps=2).trace,
             "one": dry_run(urgent, three, 4, 4, slower, steps=2).trace}  # fmt: skip
labels = {"all": ["L3", "L2", "L1"], "one": ["L3", "L1", "L2"]}
draw_gantt(two_steps, labels, title="Two steps: wait for all layers, or for one at a time")

# %% [markdown]
# L1 overtakes L2, and its forward pass runs while L2 is on its way: 1 ms of 20. In our small
# example that is not much. ResNet-50 has more layers to shuffle:

# %% name="priority-resnet"
resnet = PUBLISHED["ResNet-50"]
urgent = partial(priority, order=planned(resnet, 16, 32, cluster))
for name, scheme in (("at the end", data_parallel), ("in turn", in_turn), ("by need", urgent)):
    ms = one_step(scheme, resnet, workers=16, batch=16 * 32, network=cluster).seconds * 1e3
    print(f"ResNet-50, 16 x 32, {name:10}: {ms:6.1f} ms")
print(f"computing alone:{32 * sum(size.flops for size in resnet) / GPU * 1e3:22.1f} ms")

# %% [markdown]
# The exchanges now hide under the forward pass as well, and the step takes hardly more than its
# computing. The price: all ranks must agree on the order, so somebody has to plan it (Peng and
# others 2019 do so in ByteScheduler).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 5. On real processes
#
# So much for virtual time, where a NIC works while the processor computes. On this
# computer the workers' network is its memory, and it is the processor that copies. What do you
# expect: how much faster is a step with overlap?

# %%
guess_real = predict("Real workers, overlap: the step takes which part of the time?", "percent")
guess_real


# %%
def a_step_s(scheme, job, workers):
    """Time a scheme on real processes: the usual step of rank 0, from one update to the next."""
    trace = run(scheme, *job, workers=workers).trace
    ends = [c.end_s for c in trace.computes if (c.rank, c.label) == (0, "update")]
    return float(np.median(np.diff(ends)))


# %% tags=["nbval-ignore-output"]
large = mlp(64, 1024, 1024, 10, dtype="float32")
# nearly the same program, one exchange at the end
in_one = partial(layerwise_bucketed, bucket_bytes=math.inf)
job = (large, digits.X_train, digits.y_train, Plan(batch_size=128, epochs=1))
for workers in (2, 4):
    at_the_end, on_the_way = (a_step_s(s, job, workers) for s in (in_one, layerwise))
    print(f"{workers} workers: {at_the_end * 1e3:6.1f} ms with one exchange at the end", end=", ")
    print(f"{on_the_way * 1e3:6.1f} ms layer by layer: {on_the_way / at_the_end:.0%}")
print(guess_real.compare(round(100 * on_the_way / at_the_end)))

# %% [markdown]
# Run it again: the ratio moves, to either side of 100 %. When we repeated it, no gain stood out
# from the noise. To copy and add up is work for the same two cores that compute the gradients, and
# a flow of its own for each layer has its price too. It may come out faster when a core would have
# stood idle. Overlap needs a second pair of hands: a NIC that moves bytes by itself, or a
# part of the GPU that is set aside for it.
#
# What this computer can show is that the scheme is right: the same weights, whatever the order in
# which things happen.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 6. How many workers?
#
# A batch of $B$ examples, each of $c$ seconds, on $N$ workers with a ring:
#
# $$T(N) = \left\lceil \frac{B}{N} \right\rceil c + 2(N-1)\,\alpha + 2\,\frac{N-1}{N}\,n\beta$$
#
# The first term shrinks with $N$, the second grows, the third hardly changes. Where is the best
# $N$? Treat it as a smooth function: the derivative is zero where $Bc/N^2 = 2\alpha$, so
#
# $$N^* \approx \sqrt{\frac{Bc}{2\alpha}}$$
#
# ResNet-50, $B = 1024$: $c = 24.5 \cdot 10^9 / (4 \cdot 10^{12}) = 6.1$ ms, $\alpha = 20$ µs.

# %%
guess_best = predict("With how many of up to 1,024 workers is the step shortest?", "workers")
guess_best

# %%
n_parameters, flops = parameters_and_flops(PUBLISHED["ResNet-50"])
whole = [LayerSize("all", n_parameters, flops)]
steps = {
    net.name: Step(1024, flops / GPU, 4 * n_parameters, net.latency_s, net.beta_s_per_byte)
    for net in (networks.ethernet_1g, networks.ethernet_10g, networks.ethernet_100g)
}

# %% name="best-size"
worth_trying = sorted({-(-1024 // share) for share in range(1, 1025)})  # more only waits
for name, step in steps.items():
    smooth = math.sqrt(1024 * step.example_s / (2 * step.alpha_s))
    best = step.best(worth_trying)
    print(f"{name:13} N* = {smooth:4.0f}; best N = {best:4}", end=": ")
    print(f"{step.time_s(best) * 1e3:6.1f} ms, {step.efficiency(best):4.0%} efficient")
print(guess_best.compare(steps["ethernet_10g"].best(worth_trying)))

# %% name="strong-scaling"
powers = [2**k for k in range(11)]
for N in (1, 4, 16, 64):
    simulated = one_step(data_parallel, whole, workers=N, batch=1024, network=cluster)
    assert abs(simulated.seconds / steps["ethernet_10g"].time_s(N) - 1) < 1e-6

# %% name="speed-ups"
reached = {
    name: [(math.log2(N), step.efficiency(N)) for N in powers] for name, step in steps.items()
}
curve(reached, x_label="log2 of the workers", y_label="efficiency", title="Strong scaling")

# %% [markdown]
# *Strong scaling*: the same batch on more workers. The simulator, at 1, 4, 16 and 64 workers, gives
# what the formula says, to six digits. The best number moves with the network, from 256 to all
# 1,024, near $N^*$ where the steps of $\lceil B/N \rceil$ allow it. And it is a poor place to be:
# the last doublings buy next to nothing. Who pays for the GPUs stops much earlier.

# %% [markdown]
# *Weak scaling*: as many examples for each worker as before, 64. Then the computing stays, and only
# the exchange grows. A server on rank 0, a tree and a ring:

# %% name="weak-scaling"
busy_part = {}
for name in ("central", "tree", "ring"):
    sizes = [2, 3, 4, 8, 16, 32, 64] if name == "central" else [2, 4, 8, 16, 32, 64]
    adding = partial(data_parallel, allreduce=ALLREDUCES[name])
    busy_part[name] = [(math.log2(N), busy(adding, whole, N)) for N in sizes]
    told = (f"{round(2**k)}: {part:.0%}" for k, part in busy_part[name])
    print(f"{name:8}", ", ".join(told))

# %% name="forty-to-fifty"
assert 0.4 < busy_part["central"][2][1] < 0.5
curve(busy_part, x_label="log2 of the workers", y_label="part that computes", title="Weak scaling")

# %% [markdown]
# A parameter server is "40 to 50 per cent efficient", one reads. Here it is, with four workers, and
# with no other number of them: with eight it is 26 %. The ring settles at 71 %, because
# $2\frac{N-1}{N} n\beta$ does. Say the number of workers, or an efficiency says nothing.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 1,024 nodes with one example, or 16 with 64?
#
# The transcript's example: a batch of 1,024. Two ways to share it out, and nine between them. With
# overlap, the exchange may hide under the backward pass, two thirds of the computing. The table
# gives a step with the exchange *after* the computing and with it *hidden*, and for both the part
# of the step in which a GPU is busy. Guess for the ring: which part of the time do 1,024 GPUs
# compute?

# %%
guess_share = predict("1,024 x 1 with overlap: which part of the step is computing?", "percent")
guess_share

# %%
ten = steps["ethernet_10g"]
hidden = replace(ten, hideable=2 / 3)

# %% name="factorisations"
print("              in milliseconds          a step           busy")
print("nodes x each compute exchange   after  hidden  after  hidden")
for N in powers:
    print(f"{N:5} x {1024 // N:4} {ten.compute_s(N) * 1e3:7.1f}", end=" ")
    print(f"{ten.exchange_s(N) * 1e3:8.1f} {ten.time_s(N) * 1e3:7.1f}", end=" ")
    print(f"{hidden.time_s(N) * 1e3:7.1f} {ten.efficiency(N):6.0%} {hidden.efficiency(N):7.0%}")
print(guess_share.compare(round(100 * hidden.efficiency(1024))))

# %% [markdown]
# Is it the formula that says so, or the network? We run both ends: 16 nodes with all of ResNet-50's
# layers, one after the other as they are ready, and 1,024 nodes with the all-reduce that is
# fastest there, halving and doubling.

# %%
halving = partial(data_parallel, allreduce=ALLREDUCES["halving_doubling"])
crowd = busy(halving, whole, workers=1024, each=1)
for name, step in steps.items():
    shares = {N: replace(step, hideable=2 / 3).efficiency(N) for N in powers}
    most = max(N for N, share in shares.items() if share > 0.999)
    print(f"{name:13} hides all of the exchange up to {most:3} nodes")

# %% name="claim-3-20"
group = busy(layerwise, resnet, workers=16, each=64)
print(f"1,024 x 1: {crowd:.1%} of the step is computing;  16 x 64: {group:.1%}")
assert crowd < 0.04
assert group > 0.99
assert ten.exchange_s(1024) > 30 * ten.compute_s(1024)

# %% [markdown]
# **The claim:** with 1,024 nodes and one example each, communication is the bottleneck, and there
# is too little to compute; 16 nodes with 64 examples are more reasonable, because most of the
# communication hides behind the computing.
#
# **Verdict on 3.20: right** (Das and others 2016 find such points for their networks). Two things
# to add. 1,024 nodes are still 2.6 times as fast as 16 without overlap, and 1.9 times with it; it
# is their idle GPUs that are unreasonable. And the border moves with the network: ten-gigabit
# Ethernet hides it up to 16 nodes, one gigabit up to 2, a hundred up to 128.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 7. The history, as efficiencies
#
# The transcript lists who trained on how many nodes. A list of numbers of GPUs says little. Divide
# each reported speed-up by them: that is the efficiency. Then simulate the run: with one exchange
# at the end, and layer by layer in buckets of 25 MB. Does what was reported lie between?
#
# Reported are network, workers and speed-up. *Our assumptions* are what a device really computes a
# second, and what its network carries; they stand in each cell. They are of the right order, not
# measured: read the results as "about".


# %%
def between(sizes, workers, each, network, add_up, scheme=layerwise_bucketed):
    """Return the part of a step that is computing: exchanged at the end, and on the way."""
    options = {"bucket_bytes": 25e6} if scheme is layerwise_bucketed else {}
    at_the_end, on_the_way = (partial(s, allreduce=add_up) for s in (data_parallel, scheme))
    return (
        busy(at_the_end, sizes, workers, each, network),
        busy(on_the_way, sizes, workers, each, network, **options),
    )


# %% [markdown]
# **Baidu, 2017: 31 times on 40 GPUs**, with a ring (Gibiansky 2017). Which network of which size
# stands behind it we do not know for sure. So we turn the question round: 100 million parameters on
# InfiniBand of 6 GB/s; how long must a GPU compute between two exchanges? A ring takes $2 \cdot
# \frac{39}{40} \cdot 400\,\mathrm{MB} / 6\,\mathrm{GB/s} = 130$ ms, which may be $1 - 31/40$
# of the step.

# %%
infiniband = networks.Network("InfiniBand FDR", 2e-6, 6e9, flops_per_s=3e12)
ring_s = predicted_s("allreduce_ring", 40, 400_000_000, 2e-6, 1 / 6e9)
needed_s = ring_s * 31 / (40 - 31)
speech = [LayerSize("all", 100_000_000, flops=needed_s * 3e12)]
print(f"exchange {ring_s * 1e3:.0f} ms, so {needed_s * 1e3:.0f} ms of computing")

# %% name="claim-3-14"
speed_up = {}
for name in ("ring", "central"):
    adding = partial(data_parallel, allreduce=ALLREDUCES[name])
    speed_up[name] = 40 * busy(adding, speech, workers=40, each=1, network=infiniband)
    print(f"{name:8} {speed_up[name]:5.1f} times on 40 GPUs: {speed_up[name] / 40:.0%}")
assert abs(speed_up["ring"] - 31) < 0.1
assert speed_up["central"] < 4

# %% [markdown]
# **The claim:** Baidu distributed training to 40 GPU nodes.
#
# **Verdict on 3.14: imprecise.** 40 GPUs, not nodes: 31 times as fast, 78 % (Gibiansky 2017, as
# reported there). The ring makes it possible: with a server in its place the same 40 GPUs would be
# 3 times as fast as one.

# %% [markdown]
# **Berkeley, 2016: FireCaffe, GoogLeNet 47 times on 128 GPUs**, adding up along trees (Iandola and
# others 2016). Assumed: 8 images a GPU, $1.2 \cdot 10^{12}$ operations a second each, 5 GB/s.

# %% name="claim-3-15"
titan = networks.Network("Cray Gemini", 2e-6, 5e9, flops_per_s=1.2e12)
googlenet, trees = PUBLISHED["GoogLeNet"], ALLREDUCES["tree"]
low, high = between(googlenet, 128, 8, titan, trees)
print(f"FireCaffe: simulated {low:.0%} to {high:.0%}, reported 47 of 128: {47 / 128:.0%}")
assert low - 0.03 < 47 / 128 < high + 0.03
assert high < 0.5
for factor in (0.5, 2):
    other = replace(titan, bandwidth_bytes_per_s=factor * 5e9)
    at_the_end, on_the_way = between(googlenet, 128, 8, other, trees)
    print(f"with {factor:3} times that bandwidth: {at_the_end:.0%} to {on_the_way:.0%}")

# %% [markdown]
# **The claim:** later that year Berkeley scaled training to 120 GPU nodes, with sufficient details
# for others to build on.
#
# **Verdict on 3.15: imprecise.** 128 GPUs. The title says "near-linear"; 47 of 128 is 37 %, and 39
# of 128 for the other network 30 % (Iandola and others 2016). Whole vectors on a tree of seven
# levels are expensive, and a reader of lecture 05 knows what to do about it. (How much our
# assumptions matter: see the two lines with other bandwidths.)

# %% [markdown]
# **Intel, 2016: VGG-A 90 times on 128 nodes**, 512 images in all (Das and others 2016). Assumed:
# $1.5 \cdot 10^{12}$ operations a second, 7 GB/s, halving and doubling.

# %%
xeons = networks.Network("128 Xeon nodes", 2e-6, 7e9, flops_per_s=1.5e12)
vgg = PUBLISHED["VGG-A"]
convolutions = [size for size in vgg if size.name.startswith("conv")]
swapped = ALLREDUCES["halving_doubling"]
all_of_it, conv_only = (between(sizes, 128, 4, xeons, swapped) for sizes in (vgg, convolutions))

# %% name="claim-3-16"
print(f"all gradients exchanged: {all_of_it[0]:.0%} to {all_of_it[1]:.0%}")
print(f"those of the convolutions only: {conv_only[0]:.0%} to {conv_only[1]:.0%}")
print(f"reported 90 of 128: {90 / 128:.0%}")
assert all_of_it[1] < 90 / 128 < conv_only[0]

# %% [markdown]
# **The claim:** a few months later, Intel demonstrated scaling to 128 CPUs.
#
# **Verdict on 3.16: right.** 128 nodes of Xeon processors, 70 % (Das and others 2016). Our
# dry run says that data parallelism alone cannot do it with four images a node, even with
# overlap. And indeed they do not exchange all gradients: they split the fully connected layers, 93
# % of the weights, in another way. Lecture 08 (to come) does so too.

# %% [markdown]
# **Google, 2016: Inception 56 times on 100 GPUs** (its TensorFlow 0.8 blog), with parameter
# servers. **Amazon, 2016: Inception-v3 109 times on 128 GPUs** (Vogels' blog, MXNet).
# Inception-v3 has 25 million parameters and 5 billion multiply-adds (Szegedy and others 2016).
# Assumed: 32 images each, $1.5$ and $1.3 \cdot 10^{12}$ operations a second; ten-gigabit Ethernet
# to 1 or 16 servers (16: one with a NIC 16 times as fast), which take layers as they come; hosts
# of 16 GPUs with 2.5 GB/s between.

# %% name="claim-3-17"
inception = [LayerSize(name, 12_500_000, flops=15e9) for name in ("first half", "second half")]
server = networks.Network("one server", 20e-6, 1.25e9, flops_per_s=1.5e12)
servers = replace(server, name="16 servers", bandwidth_bytes_per_s=16 * 1.25e9)
for network in (server, servers):
    google = between(inception, 100, 32, network, ALLREDUCES["central"], layerwise)
    print(f"Google, {network.name}: {google[0]:.0%} to {google[1]:.0%}; reported 56 %")
assert google[0] < 0.56 < google[1] + 0.05

# %% name="amazon"
inside = networks.Network("PCIe", 15e-6, 10e9, flops_per_s=1.3e12)
hosts = networks.two_level(inside, networks.Network("20 Gbit/s", 20e-6, 2.5e9, 1), 16)
levels = partial(ALLREDUCES["two_level"], ranks_per_host=16)
amazon = between(inception, 128, 32, hosts, levels)
print(f"Amazon: {amazon[0]:.0%} to {amazon[1]:.0%}; reported {109 / 128:.0%}")
assert amazon[0] < 109 / 128 < amazon[1]

# %% [markdown]
# **The claim:** Google scaled to 120 GPUs, Amazon to 120 GPUs.
#
# **Verdict on 3.17: imprecise.** We find 100 and 128 GPUs, with 56 % and 85 %, as they reported
# themselves. (Our 16 servers give a little less than 56 %; how many they had, we do not know.)
# That the two differ is no wonder: the one goes through servers that all workers share, the other
# adds up within each host first. One server alone would leave 4 %.

# %% [markdown]
# **Facebook, 2017: ResNet-50 on 256 GPUs, about 90 %** of 32 times the speed of 8, 32 images each,
# hosts of 8 GPUs, 50 Gbit/s and halving and doubling between them (Goyal and others 2017). Assumed:
# $4 \cdot 10^{12}$ operations a second, 20 GB/s inside a host, halving and doubling among all 256.
# NVIDIA's report of it says: 29 hours before, on 8 GPUs.

# %%
in_a_host = networks.Network("inside", 15e-6, 20e9, flops_per_s=GPU)
basin = networks.two_level(in_a_host, networks.Network("50 Gbit/s", 5e-6, 6.25e9, 1), 8)

# %% name="claim-3-18"
low, high = between(resnet, 256, 32, basin, ALLREDUCES["halving_doubling"])
hours = 29
print(f"Facebook: simulated {low:.0%} to {high:.0%}, reported about 90 %")
print(f"from {hours} hours on 8 GPUs to 1 hour on 256: {hours * 8 / 256:.0%}")
assert low < 0.9 < high
assert abs(hours * 8 / 256 - 0.9) < 0.02
assert hours < 2 * 24

# %% [markdown]
# **The claim:** Facebook demonstrated near-linear scaling to 256 GPUs, and reduced the time to
# train from several days to one hour.
#
# **Verdict on 3.18: imprecise.** Near-linear: yes, about 90 %. But the 29 hours are little more
# than one day, and that was on 8 GPUs: 29 times as fast with 32 times the GPUs. And one thing no
# network explains: that a batch of 8,192 still learns (Goyal and others 2017).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 8. Is it worth it at all?
#
# Sometimes two workers are slower than one. With a ring on a network without latency, $N$ workers
# save $\frac{N-1}{N} Bc$ of computing and pay $2\frac{N-1}{N} n\beta$. The $N$ drops out! It
# pays if
#
# $$Bc > 2\,n\beta,$$
#
# and if two workers do not help, no number of them will. Latency makes it worse, most of all where
# there is little to compute.

# %%
small = [LayerSize("all", 64 * 32 + 32 + 32 * 10 + 10, flops=6.0 * (64 * 32 + 32 * 10))]
office = replace(networks.ethernet_1g, flops_per_s=GPU)
cases = {
    "digits, batch 64, 10 Gbit/s": (small, 64, networks.ethernet_10g),
    "digits, batch 1024, 10 Gbit/s": (small, 1024, networks.ethernet_10g),
    "AlexNet, batch 256, 10 Gbit/s": (PUBLISHED["AlexNet"], 256, cluster),
    "GoogLeNet, batch 256, 1 Gbit/s": (PUBLISHED["GoogLeNet"], 256, office),
    "ResNet-50, batch 256, 1 Gbit/s": (resnet, 256, office),
    "ResNet-50, batch 256, 10 Gbit/s": (resnet, 256, cluster),
}

# %% [markdown]
# In how many of these six cases is it *not* worth having a second worker? (Digits: a perceptron
# with 32 hidden units on laptop cores of $10^{10}$ operations a second; the others on GPUs.)

# %%
guess_cases = predict("In how many of the six cases do more workers not help?", "cases")
guess_cases


# %%
def priced(sizes, batch, net):
    """Price a step with a ring."""
    n_parameters, flops = parameters_and_flops(sizes)
    alpha_beta = (net.latency_s, net.beta_s_per_byte)
    return Step(batch, flops / net.flops_per_s, 4 * n_parameters, *alpha_beta)


# %% name="claim-2-19"
not_worth = []
for name, case in cases.items():
    step = priced(*case)
    ratio = step.time_s(1) / (2 * step.n_bytes * step.beta_s_per_byte)
    sizes, batch, net = case
    one_s, two_s = (
        one_step(data_parallel, sizes, workers=N, batch=batch, network=net).seconds for N in (1, 2)
    )
    print(f"{name:31} Bc/2nβ = {ratio:5.2f}; two take {two_s / one_s:4.0%} of one's time")
    not_worth += [name] if step.breaks_even_at() is None else []
    assert (step.breaks_even_at() == 2) == (two_s < one_s)
print(guess_cases.compare(len(not_worth)))
assert 0 < len(not_worth) < len(cases)

# %% [markdown]
# **The claim:** distributed training has overheads, synchronisation and the transfer of parameters.
# Use it when the improvement outweighs them; that depends on the size of the network and on the
# hardware.
#
# **Verdict on 2.19: right.** And on the batch: the same digits pay with 1,024 examples and do not
# with 64; the same ResNet-50 pays on ten gigabits and does not on one. One ratio of two times that
# you know before you begin, $Bc$ to $2n\beta$, says most of it; where messages are as small as the
# digits', latency says the rest (Ben-Nun and Hoefler 2019).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Two layers. Forward 10 ms each, back 20 ms each; the exchange of either takes 30
# ms. How long is a step with overlap? And if L2's exchange took 10 ms and L1's 50?
#
# <details><summary>Answer</summary>
#
# Forward 20, back through L2 until 40; its exchange until 70. L1 is ready at 60, its exchange lasts
# from 70 to 100: 100 ms. With 10 and 50: L2 is out at 50, L1 goes from 60 to 110. The same bytes,
# but they sit in the wrong layer: what the first layer weighs cannot be hidden.
# </details>

# %% [markdown]
# **Question 2.** Your step takes 100 ms, 40 of them are exchange that nothing hides. You buy a
# network of twice the bandwidth. How much faster do you train, and what if you had bought GPUs of
# twice the speed?
#
# <details><summary>Answer</summary>
#
# 60 + 20 = 80 ms, against 30 + 40 = 70 ms. But the second purchase has brought the efficiency from
# 60 % down to 43 %: fast GPUs make a network slow.
# </details>

# %% [markdown]
# **Question 3.** Somebody reports 200 times on 256 GPUs. Which three numbers do you ask for?
#
# <details><summary>Answer</summary>
#
# The batch (did it grow with the GPUs, and does it still learn?), the bytes of the gradient, and
# what one GPU alone reaches: 200 times a slow start is no achievement.
# </details>

# %% [markdown]
# ## What to remember
#
# - We worked out a step by its critical path, 18 ms without overlap and 14 with it, and the
#   simulator said the same; on two real cores, that copy and compute, no gain stood out.
# - We found the best bucket (10 MB of GoogLeNet's 28) and the best number of workers, 342 of 1,024
#   on ten-gigabit Ethernet, near $\sqrt{Bc/2\alpha}$.
# - We read six reported speed-ups as efficiencies, from 37 % to 90 %, and simulated what they stand
#   on.
#
# Next: the exercise set 06. Lecture 07 (to come) asks what to do when the model does not fit.
