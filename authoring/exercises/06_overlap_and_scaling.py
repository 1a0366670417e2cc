# %% [markdown]
# # Exercises 06 · Overlap and scaling
#
# After this you can
#
# - work out a step by its critical path, with overlap and without
# - send each layer's gradient while the layers before it are still computed, and see that it helps
# - choose a number of workers and a size of bucket by a formula, and check them by a run
# - find the order of exchanges after which the next forward pass ends soonest
#
# Six tasks, about two hours and a half in all.
#
# Before: [lecture 06](../notebooks/06_overlap_and_scaling.ipynb). Then: [lecture
# 07](../notebooks/07_model_parallelism.ipynb).

# %%
import itertools
import math
from functools import partial

import numpy as np

from course_lib import checks, networks, run
from course_lib.measure import one_step
from course_lib.models.published import LayerSize
from course_lib.schemes import layerwise_bucketed
from course_lib.schemes.priority import priority

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · The critical path
#
# Predict how long a step takes, with overlap and without. *Difficulty 1 of 3, 20 minutes.*
#
# A step goes forward through all layers, then back through them, the last one first. Each layer's
# gradient is summed over the workers: one *exchange*, an all-reduce. The network carries one at a
# time.
#
# **Spec:** `"after"`: all exchanges after all computing. `"overlapped"`: an exchange begins when
# its layer's backward is done *and* the exchange before it is over. Both in seconds, from the start
# of the step to the end of the last exchange. With forward 1, backward 2 and exchange 3 ms for each
# of three layers: 18 and 14 ms.


# %% tags=["exercise"] name="critical-path"
def critical_path(forward_s, backward_s, exchange_s):
    """Predict the time of a step.

    Parameters
    ----------
    forward_s, backward_s, exchange_s : tuple of float
        What each layer takes, in seconds, in the order of the forward pass: ``backward_s[0]`` is
        the first layer's, which back-propagation comes to last.

    Returns
    -------
    dict of str to float
        ``"after"`` and ``"overlapped"``, in seconds.
    """
    # BEGIN SOLUTION
    ready = done = sum(forward_s)
    for backward, exchange in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += backward
        done = max(ready, done) + exchange
    return {"after": sum(forward_s) + sum(backward_s) + sum(exchange_s), "overlapped": done}
    # END SOLUTION


# %% tags=["check"]
checks.critical_path(critical_path)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Draw two lanes for three layers: computing above, the network below. Where does the bar of L3's
# exchange begin, where L2's, where L1's?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Go through the layers backwards with two numbers: when the layer's gradient is `ready`, and when
# the network is `done` with everything so far. An exchange begins at the larger of the two.
# </details>
#
# Now with your own numbers:

# %% tags=["raises-exception"]
in_s = critical_path((0.001,) * 3, (0.002,) * 3, (0.005, 0.001, 0.001))
{name: f"{seconds * 1e3:.3f} ms" for name, seconds in in_s.items()}

# %% [markdown]
# **Without code.** 7 ms of exchange in all, three times the same computing. In which layer would
# you want to have most of the weights, and why?
#
# <details><summary>Answer</summary>
#
# In the last one. Its gradient is ready first, and there are all the other layers to hide under.
# What the first layer weighs is always seen: 14 ms here, and 12 with the 5 ms in L3.
# </details>

# %% [markdown]
# ## 2 · Layer by layer
#
# Add up every layer's gradient while the layers before it are still computed. *Difficulty 3 of 3,
# 35 minutes.*
#
# `for layer, gradient in backward(comm):` goes back through the layers: the last layer comes first.
# `allreduce(comm, gradient)` returns the sum over all ranks.
#
# `comm.start(f, x)` runs `f(child, x)` beside what this rank goes on to do, on a communicator of
# its own. It returns at once; `.wait()` on what it returned waits for what `f` returns. All ranks
# must start the same things in the same order.
#
# **Spec:** `[sum of layer 0, sum of layer 1, ...]` on every rank. **Budget:** one all-reduce a
# layer at most; no longer than all computing and the exchange of layer 0, where the others can
# hide. Of `comm`, only `start`, `send`, `recv` and `sendrecv`.


# %% tags=["exercise"] name="exchange-layerwise"
def exchange_layerwise(comm, backward, allreduce):
    """Add up the gradients of all ranks, each as soon as it is known.

    Parameters
    ----------
    comm : Communicator
        The workers; any number of them, also one.
    backward : callable
        ``backward(comm)`` yields the number and the gradient of each layer, last layer first; to
        find the next one mostly takes time.
    allreduce : callable
        ``allreduce(comm, array)`` returns the sum of all ranks' arrays.

    Returns
    -------
    list of numpy.ndarray
        The sum of each layer's gradients over all ranks, layer 0 first.
    """
    # BEGIN SOLUTION
    pending = [comm.start(allreduce, gradient) for _, gradient in backward(comm)]
    return [exchange.wait() for exchange in reversed(pending)]
    # END SOLUTION


# %% tags=["check"]
checks.exchange_layerwise(exchange_layerwise)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two loops. In the first, computing goes on; what may not happen in it? In the second nothing is
# computed any more.
# </details>
#
# <details><summary>Hint 2</summary>
#
# First loop: `pending.append(comm.start(allreduce, gradient))`. Second loop: `.wait()` for each of
# them. The list that comes out begins with the last layer; turn it round.
# </details>
#
# Now on real processes, with three layers of a million numbers:


# %% tags=["raises-exception", "nbval-ignore-output"]
def three_layers(comm):
    """Gradients that take a while: products of matrices."""
    for layer in (2, 1, 0):
        with comm.compute(f"back {layer}"):
            x = np.full((1000, 1000), float(comm.rank + layer))
            gradient = x @ x
        yield layer, gradient


def add_up(comm, array):
    """The sum over two ranks."""
    return array + comm.sendrecv(array, dst=1 - comm.rank, src=1 - comm.rank)


real = run(exchange_layerwise, three_layers, add_up, workers=2, time_limit_s=30)
print([float(total[0, 0]) for total in real.values[0]], f"{real.elapsed_s:.2f} s")

# %% [markdown]
# **Without code.** Your exchange is right, and on this computer hardly faster than one that waits
# each time. Why?
#
# <details><summary>Answer</summary>
#
# The processor itself copies what is sent and adds what arrives. While it does, it computes less.
# What is hidden must be done by somebody else: a NIC that works alone.
# </details>

# %% [markdown]
# ## 3 · Find the bug: what is hidden?
#
# Tell from the times of a step how much of its exchange is hidden. *Difficulty 2 of 3, 25 minutes.*
#
# This colleague starts every exchange beside the computing, as you do. The sums are right, and so
# are messages and bytes. But it is slow.


# %% name="slow-exchange"
def slow_exchange(comm, backward, allreduce):
    """Start each exchange as soon as the gradient is known."""
    totals = []
    for _, gradient in backward(comm):
        exchange = comm.start(allreduce, gradient)
        totals.insert(0, exchange.wait())
    return totals


checks.exchange_layerwise(slow_exchange)

# %% [markdown]
# The budget of time finds it. A picture of the times would, too. Write the function that turns such
# a picture into a number.
#
# **Spec:** for how many seconds does a rank compute *while* at least one of its exchanges is on its
# way? Times at which two exchanges are on their way count once. **Budget:** no messages.


# %% tags=["exercise"] name="hidden-seconds"
def hidden_seconds(computing, exchanging):
    """Say for how long computing and exchanging go on at the same time.

    Parameters
    ----------
    computing : list of (float, float)
        Start and end of each computation of one rank, in seconds; one after the other.
    exchanging : list of (float, float)
        Start and end of each of its exchanges, by their start. They may be on their way together.

    Returns
    -------
    float
        Seconds.
    """
    # BEGIN SOLUTION
    hidden = 0.0
    for start, end in computing:
        covered = start  # up to here this computation has been compared
        for begins, ends in exchanging:
            begins, ends = max(begins, covered), min(ends, end)
            if ends > begins:
                hidden += ends - begins
                covered = ends
    return hidden
    # END SOLUTION


# %% tags=["check"]
checks.hidden_seconds(hidden_seconds)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Take one computation and one exchange. From when to when do both go on? From the later start to
# the earlier end, if that is not before it.
# </details>
#
# <details><summary>Hint 2</summary>
#
# For each computation go through the exchanges in their order, and remember up to which time you
# have counted. What comes next counts from there on.
# </details>
#
# Now with both exchanges of task 2, three layers on four virtual workers:


# %% tags=["raises-exception"]
def layers_of_a_megabyte(comm):
    """Three layers, 2 ms each."""
    for layer in (2, 1, 0):
        with comm.compute(f"back {layer}", flops=2e7):
            gradient = np.ones(125_000)
        yield layer, gradient


def around(comm, array):
    """Add up on a ring, timed."""
    start_s = comm.clock()
    total, passing = array.copy(), array
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
        total += passing
    comm.note("exchange", [start_s, comm.clock()])
    return total


for exchange in (slow_exchange, exchange_layerwise):
    trace = run(exchange, layers_of_a_megabyte, around, workers=4, backend="simulated").trace
    computing = [(c.start_s, c.end_s) for c in trace.computes if c.rank == 0]
    exchanging = [tuple(note.value) for note in trace.notes_named("exchange") if note.rank == 0]
    hidden_ms = hidden_seconds(computing, sorted(exchanging)) * 1e3
    print(f"{exchange.__name__:19} {trace.end_s * 1e3:6.2f} ms, of which {hidden_ms:.2f} hide")

# %% [markdown]
# **Without code.** Which line is to blame, and why do the sums not tell?
#
# <details><summary>Answer</summary>
#
# `exchange.wait()` inside the loop: it waits before the next layer is computed. The same things
# are added up in the same order, only later. A wrong time is no wrong number; no test of results
# will ever find it.
# </details>

# %% [markdown]
# ## 4 · How many workers?
#
# Find the number of workers with the shortest step. *Difficulty 2 of 3, 20 minutes.*
#
# A batch is partitioned, as evenly as whole examples allow; the worker with the most examples sets
# the pace. Then a ring adds up a gradient of n bytes: 2(P − 1) steps, and in each a latency and a
# chunk of n/P bytes.
#
# **Spec:** the P from 1 to `batch` with the smallest T(P), any of them if several are; and T there.


# %% tags=["exercise"] name="best-workers"
def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    """Find the number of workers with the shortest step.

    Parameters
    ----------
    batch : int
        How many examples there are in a step.
    example_s : float
        What one worker needs for one example, in seconds.
    n_bytes : int
        The size of the gradient, in bytes.
    latency_s : float
        What a message of no bytes takes, in seconds.
    bandwidth_bytes_per_s : float
        How many bytes a NIC sends, and at the same time receives, in a second.

    Returns
    -------
    dict of str to number
        ``"workers"``: the best P; ``"seconds"``: the time of a step with it.
    """

    # BEGIN SOLUTION
    def step_s(workers):
        share = math.ceil(batch / workers)
        chunk_s = n_bytes / workers / bandwidth_bytes_per_s
        return share * example_s + 2 * (workers - 1) * (latency_s + chunk_s)

    best = min(range(1, batch + 1), key=step_s)
    return {"workers": best, "seconds": step_s(best)}
    # END SOLUTION


# %% tags=["check"]
checks.best_workers(best_workers)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write a small function `step_s(workers)` first, and print it for 1, 2, 3 and 4 workers. With one
# worker it is `batch * example_s`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `math.ceil(batch / workers) * example_s + 2 * (workers - 1) * (latency + n_bytes / workers /
# bandwidth)`. Then `min(range(1, batch + 1), key=step_s)`, which takes the first of equals.
# </details>
#
# Now for ResNet-50 (102 MB, 6.1 ms an example on a GPU) on two networks:

# %% tags=["raises-exception"]
for network in (networks.ethernet_10g, networks.ethernet_100g):
    wires = (network.latency_s, network.bandwidth_bytes_per_s)
    print(network.name, best_workers(1024, 6.13e-3, 102_228_128, *wires))

# %% [markdown]
# **Without code.** The step with the best number of workers is the shortest. Would you rent that
# many?
#
# <details><summary>Answer</summary>
#
# Hardly. Near the best number, half of the workers are nearly as fast, and cost half. What one
# pays for is P · T(P), and that grows with P, but for the rounding up of examples.
# </details>

# %% [markdown]
# ## 5 · Predict, then measure: the bucket
#
# Predict how many layers belong into a bucket, then measure it. *Difficulty 3 of 3, 25 minutes.*
#
# All layers are alike. Back-propagation takes `backward_s` for each. A bucket leaves when it has
# its layers (the last one may have fewer), for a ring of 2(P − 1) steps with a latency and 1/P of
# the bucket in each. The network carries one bucket at a time.
#
# **Spec:** the number of layers a bucket, from 1 to all, with which the last exchange is over
# soonest, any of equals; and when that is, in seconds from the start of the backward pass.
# The check measures it on the simulator.


# %% tags=["exercise"] name="predict-bucket"
def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    """Predict the best number of layers in a bucket.

    Parameters
    ----------
    n_layers : int
        How many layers there are.
    layer_bytes : int
        The gradient of one layer, in bytes.
    backward_s : float
        The backward pass of one layer, in seconds.
    n_workers : int
        How many ranks there are, P.
    latency_s : float
        What a message of no bytes takes, in seconds.
    bandwidth_bytes_per_s : float
        How many bytes a NIC sends, and at the same time receives, in a second.

    Returns
    -------
    dict of str to number
        ``"layers"``: how many layers a bucket should have; ``"seconds"``: the time with it.
    """

    # BEGIN SOLUTION
    def finish_s(layers):
        ready = done = 0.0
        for start in range(0, n_layers, layers):
            n = min(layers, n_layers - start)
            chunk_s = n * layer_bytes / n_workers / bandwidth_bytes_per_s
            ready += n * backward_s
            done = max(ready, done) + 2 * (n_workers - 1) * (latency_s + chunk_s)
        return done

    times = {layers: finish_s(layers) for layers in range(1, n_layers + 1)}
    best = next(k for k, t in times.items() if math.isclose(t, min(times.values())))
    return {"layers": best, "seconds": times[best]}
    # END SOLUTION


# %% tags=["check"]
checks.predict_bucket(predict_bucket)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# It is task 1 again, with buckets for layers: a loop over the buckets with `ready` and `done`. Try
# all sizes from 1 to `n_layers`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# A bucket of k layers is ready k · backward after the one before, and takes 2(P − 1)(α + k ·
# layer_bytes / P · β). The last bucket has the layers that are left.
# </details>
#
# Now measure: twelve layers of 200 KB, the library's scheme, four virtual workers. A step is the
# forward pass, half as long as the backward pass, and what you have predicted.

# %% tags=["raises-exception"]
network = networks.Network("slow start", 1e-4, 1.25e9, flops_per_s=1e12)
layers = [LayerSize(f"L{number}", n_parameters=50_000, flops=4.5e8) for number in range(12)]
best = predict_bucket(12, 200_000, 3e-4, 4, 1e-4, 1.25e9)
print("predicted:", best["layers"], f"layers, {best['seconds'] * 1e3:.3f} ms")
for k in sorted({1, 2, 3, 6, 12, best["layers"]}):
    there = {"workers": 4, "network": network, "bucket_bytes": k * 2e5}
    step = one_step(layerwise_bucketed, layers, **there)
    print(f"{k:2} layers a bucket: {(step.seconds - 12 * 1.5e-4) * 1e3:6.3f} ms measured")

# %% [markdown]
# **Without code.** Frameworks let you choose the size of a bucket in MB, the same for all networks.
# Which way do you turn it when you move from a cluster with InfiniBand to one with slow, cheap
# Ethernet of high latency?
#
# <details><summary>Answer</summary>
#
# Up: with more latency a bucket must carry more to be worth its ring. But not all the way, because
# the last bucket hides under nothing.
# </details>

# %% [markdown]
# ## 6 · Who goes first?
#
# Choose the order in which gradients are exchanged. *Difficulty 3 of 3, 20 minutes.*
#
# The next forward pass begins with layer 0, and needs no other at first. The network carries one
# exchange at a time, all ranks in one order that is chosen before. An exchange begins when its
# gradient is ready *and* the one before it in the order is over. A layer's forward begins when the
# layer before it is done *and* its own exchange is over; layer 0's not before the backward pass has
# ended, which is when the last gradient is ready.

# %% [markdown]
# **Spec:** an order with which the last layer's forward is over soonest, any of equals; and when
# that is, in seconds from the start of the backward pass. With gradients of layers 0, 1 and 2 ready
# after 6, 4 and 2 ms, exchanges of 5 ms each, and forward passes of 1 ms each: `[2, 0, 1]`, 19 ms.
# There are six layers at most. **Budget:** no messages; all orders may be tried.


# %% tags=["exercise"] name="order-exchanges"
def order_exchanges(ready_s, exchange_s, forward_s):
    """Choose the order of the exchanges after which the next forward pass ends soonest.

    Parameters
    ----------
    ready_s : sequence of float
        When each layer's gradient is ready, in seconds from the start of the backward pass.
    exchange_s, forward_s : sequence of float
        How long each layer's exchange and forward take, layer 0 first.

    Returns
    -------
    dict
        ``"order"``: a list with each layer's number once, the first to leave first;
        ``"seconds"``: when the last layer's forward is over.
    """
    # BEGIN SOLUTION

    def end_s(order):
        over_s, free_s = {}, 0.0
        for layer in order:
            free_s = over_s[layer] = max(free_s, ready_s[layer]) + exchange_s[layer]
        end = max(ready_s)
        for layer, seconds in enumerate(forward_s):
            end = max(end, over_s[layer]) + seconds
        return end

    best = min(itertools.permutations(range(len(ready_s))), key=end_s)
    return {"order": list(best), "seconds": end_s(best)}
    # END SOLUTION


# %% tags=["check"]
checks.order_exchanges(order_exchanges)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First a function that works out the end of *one* order: a loop over the exchanges in that order,
# then a loop over the layers in theirs. Try it with the numbers of the spec.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `free = max(free, ready_s[layer]) + exchange_s[layer]` is when an exchange is over; keep it for
# its layer. `end = max(end, over[layer]) + forward_s[layer]` goes through the layers.
# `min(itertools.permutations(range(n)), key=end_s)` tries all orders.
# </details>
#
# Now measure: four layers with 1, 4, 4 and 6 ms of exchange between two workers, in the library's
# scheme, which takes an order.

# %% tags=["raises-exception"]
wire = networks.Network("1 GB/s", 0.0, 1e9, flops_per_s=1e12)
four = [LayerSize(f"L{number}", n_parameters=250_000 * ms, flops=6e9)
        for number, ms in enumerate((1, 4, 4, 6))]  # fmt: skip
chosen = order_exchanges([16e-3, 12e-3, 8e-3, 4e-3], [1e-3, 4e-3, 4e-3, 6e-3], [2e-3] * 4)
print("predicted:", chosen["order"], f"{chosen['seconds'] * 1e3:.1f} ms")
for order in ([3, 2, 1, 0], [0, 1, 2, 3], chosen["order"]):
    step = one_step(partial(priority, order=order), four, workers=2, network=wire)
    print(order, f"{step.seconds * 1e3:.1f} ms measured")

# %% [markdown]
# **Without code.** Sending what is ready and needed first looks optimal, and is not always. When
# does it pay to leave the network idle?
#
# <details><summary>Answer</summary>
#
# When a long exchange could start now, and a gradient that is needed at once will be ready very
# soon. An exchange is not interrupted: cutting the long one into pieces would cure that, as
# ByteScheduler does.
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 07](../notebooks/07_model_parallelism.ipynb) splits the model. Before: [lecture
# 06](../notebooks/06_overlap_and_scaling.ipynb). Which tasks you have solved, here and in the other
# sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
