# %% [markdown] slideshow={"slide_type": "slide"}
# # 06 · Overlap and scaling: can communication hide behind computation?
#
# After this you can
#
# - say what a training step takes with and without overlap, from layers, bytes and bandwidth
# - choose buckets, an order and a number of workers for a network before you run anything
# - read a speed-up that somebody reports as an efficiency, and say what it stands on
#
# Part 1 takes 20 minutes, part 2 takes 18; plan twice that if you try everything. Needs: 4
# processes, no GPU. You should know the all-reduces of [lecture 05](05_allreduce.ipynb). Then: the
# [exercises](../exercises/06_overlap_and_scaling.ipynb) and [lecture
# 07](07_model_parallelism.ipynb), which splits the model.

# %% tags=["set-up"]
# Set-up: imports, published networks, a cluster; no seed is needed, nothing is drawn
import math
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES
from course_lib.data.digits import load_digits
from course_lib.lectures import lecture_06
from course_lib.lectures.lecture_06 import efficiency, in_order, in_turn, planned, step_s
from course_lib.lectures.price_sheet import prices_so_far
from course_lib.measure import dry_run, one_step
from course_lib.models.mlp import mlp
from course_lib.models.published import PUBLISHED, LayerSize, parameters_and_flops
from course_lib.models.stand_in import StandIn
from course_lib.schemes import data_parallel, layerwise
from course_lib.schemes.priority import priority
from course_lib.training import Plan
from course_lib.viz import claim, explore, gantt, knob, player, predict, source, table

torch.set_num_threads(1)  # small models: more threads only get into each other's way
GPU = lecture_06.GPU_FLOPS_PER_S  # floating-point operations a second: an assumption
cluster = lecture_06.switch(gbit=10)
resnet, googlenet = PUBLISHED["ResNet-50"], PUBLISHED["GoogLeNet"]

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 40 minutes</summary>
#
# Run all cells before class (half a minute). Part 1 is 20 minutes, part 2 is 18. To be shorter,
# leave out "Who goes first?" and the table of six cases.
#
# Before anything runs: draw three layers on the board, computing above, the network below. Let the
# room place the three all-reduces. The picture of "Send the last layer first" is the answer.
#
# Common misconceptions: "overlap makes communication free" (the first layer has nothing left to
# hide behind); "few weights scale well" (flops a byte do); "more workers are faster" (up to a
# number that one can compute); "47 times on 128 GPUs is near-linear".
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Overlap
#
# ## Compute, then communicate
#
# A step computes, then all-reduces the gradient. While it computes the network is idle; while the
# gradient travels the GPUs wait. *Efficiency* is the part of a step in which they compute. Each
# step all-reduces the full gradient, whatever the batch size: so what counts is how much is
# computed for each byte.
#
# 16 GPUs with 64 examples each, $4 \cdot 10^{12}$ flop/s (as in 2016), 4 bytes a parameter, a ring
# on ten-gigabit Ethernet: 0.8 ns a byte. A *dry run* simulates the real scheme with its real
# messages; the network that is trained is a list of sizes.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: compute, then communicate, 4 minutes</summary>
#
# Let the class divide: 64 × 4.3 Gflop by 4 Tflop/s, then 1.9 × 244 MB by 1.25 GB/s. Usual answers
# lie far above 16 %. Then the sliders: bandwidth helps AlexNet most, and so do more examples.
# </details>

# %%
sizes_of = {name: parameters_and_flops(PUBLISHED[name]) for name in lecture_06.SHOWN}
table({
    name: {"parameters, millions": round(n / 1e6, 1), "Gflop an example": round(flops / 1e9, 1),
           "flops for a byte of gradient": round(64 * flops / (4 * n))}
    for name, (n, flops) in sizes_of.items()
})  # fmt: skip

# %% [markdown]
# Predict it for AlexNet: 64 examples of 4.3 Gflop, then a ring of 16 that moves
# $2 \cdot \frac{15}{16}$ times 244 MB.

# %%
guess_alexnet = predict("How efficient are 16 GPUs with AlexNet?", "%")
guess_alexnet

# %%
alexnet = efficiency(data_parallel, PUBLISHED["AlexNet"], 16, 64, cluster)
guess_alexnet.compare(round(100 * alexnet))

# %% [markdown]
# 69 ms of computing, 366 ms of communication: 16 %. Now all four networks. Move the sliders: which
# network profits most when bandwidth grows, and which when each GPU has more examples? (The bars
# "layer by layer" are the next section's.)

# %%
explore(lecture_06.networks_chart, gbit=knob([1, 10, 25, 100], label="bandwidth", unit="Gbit/s",
        start=10), examples=knob([8, 32, 64, 256], label="examples a GPU", start=64))  # fmt: skip

# %%
claim("3.8")

# %% [markdown]
# AlexNet has less than half of VGG-16's parameters, and is far worse. In both, nine parameters of
# ten sit in fully connected layers, which use each of them once for an example; a convolution uses
# its own at every place of the picture, hundreds of times and more. VGG-16 has 23 times the work in
# convolutions to make up for it.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Send the last layer first
#
# Back-propagation finds the *last* layer's gradient first, and does not need it again. Why not send
# it now?
#
# Three layers, alike. Forward takes 1 ms a layer, backward 2 ms. Four workers; a layer's gradient
# has 2 MB, the network 1 GB/s and no latency, so a ring needs $\frac32 \cdot 2 = 3$ ms for each.
# First all computing, then all communication: $3 + 6 + 9 = 18$ ms.
#
# Now start each all-reduce when its layer is done, one after the other (the scheme `in_turn`). When
# does the step end?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the last layer first, 6 minutes</summary>
#
# Collect predictions; most are 12 or 13 (the computing and one all-reduce). Play the picture and
# stop at 9 ms: the GPU is done, and the network has 5 ms left. Ask which all-reduce nothing can
# hide.
# </details>

# %%
three = [LayerSize(name, n_parameters=500_000, flops=3e9) for name in ("L1", "L2", "L3")]
fast = networks.Network("1 GB/s", latency_s=0.0, bandwidth_bytes_per_s=1e9, flops_per_s=1e12)
guess_ms = predict("With overlap: how long does the step take?", "ms")
guess_ms

# %%
overlapped = one_step(in_turn, three, workers=4, network=fast)
guess_ms.compare(round(1e3 * overlapped.seconds, 3))

# %% [markdown]
# Press *play*. The upper run sends everything at the end, the lower one layer by layer.

# %%
buckets = {"at the end": math.inf, "layer by layer": 0}  # so many bytes wait for each other
traces = {
    when: dry_run(in_turn, three, 4, 4, fast, bucket_bytes=n_bytes).trace
    for when, n_bytes in buckets.items()
}
labels = {"at the end": ["of all layers"], "layer by layer": ["L3", "L2", "L1"]}
gantt(traces, labels, title="Rank 0 of four, a ring")

# %% [markdown]
# The *critical path*: forward through all (3 ms), back through L3 (2 ms), then the network is never
# idle again: $3 \times 3$ ms. Of 9 ms of communication 4 are hidden. What nothing can hide is the
# first layer's own all-reduce: when its gradient is known, there is nothing left to compute.
#
# In the scheme, the all-reduce is started and not waited for:

# %%
source(layerwise, part="for layer in reversed")

# %% tags=["how-we-know"]
# How we know: 18 and 14 ms, in virtual time and by the critical path; the same weights
at_the_end = one_step(data_parallel, three, workers=4, network=fast)
for step, bucket_bytes, ms in ((at_the_end, math.inf, 18), (overlapped, 0, 14)):
    assert abs(1e3 * step.seconds - ms) < 1e-4
    assert np.isclose(1e3 * step_s(three, 4, 1, fast, bucket_bytes), ms)
assert round(100 * alexnet) == 16
digits, plan = load_digits(), Plan(learning_rate=0.2, batch_size=144)
job = (mlp(64, 32, 32, 10), digits.X_train, digits.y_train, plan)
at_once = run(data_parallel, *job, workers=4, backend="simulated").values[0].w
by_layer = run(layerwise, *job, workers=4).values[0].w
assert np.abs(by_layer - at_once).max() < 1e-12 * np.abs(at_once).max()

# %% [markdown]
# Our source tells it of Intel's Caffe, with a *server*: L2's gradient goes to the server while L1
# is still back-propagated, and comes back as a sum. Play both: first the server (on rank 0), then
# the ring. Where is L2 when L1 is done?

# %%
of_2_mb = {"L1": 250_000, "L2": 250_000, "L3": 250_000}  # these are sent with 8 bytes a number
alike = StandIn.of(of_2_mb, flops_per_example=9e9)
central = partial(in_turn, allreduce=ALLREDUCES["central"])
through_server = lecture_06.one_step_of(central, alike, fast)
player(through_server, "star", roles={0: "server"}, title="Layer by layer through a server")

# %%
around = lecture_06.one_step_of(in_turn, alike, fast)
player(around, "ring", title="Layer by layer around a ring")

# %% [markdown]
# L1 is done at 9 ms. Through the server L2 has not even left: L3 keeps the server's NIC busy from 5
# to 17 ms, six vectors of 2 ms. Around the ring L3 was there at 8 ms, and L2 is on its way.

# %%
claim("3.21")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Buckets
#
# Every all-reduce has its latencies: a ring of 16 spends $30\alpha$ each time. With many small
# layers that adds up, where one all-reduce begins only when the one before is over, as on a GPU.
# So neighbouring layers share a *bucket*, which leaves when it is full.
#
# GoogLeNet: 28 MB of gradients in 13 layers, 16 workers with 32 examples, and a slow start, $\alpha
# = 0.2$ ms. Small buckets waste latency; what do huge ones waste? Which size is best: 0.1, 1, 10
# MB, or all 28 in one?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: buckets, 3 minutes</summary>
#
# Vote on the four sizes. Most say 0.1 MB, "as early as possible". Ask what each all-reduce pays
# besides its bytes; then drag the latency down: the small buckets catch up.
# </details>

# %%
guess_bucket = predict("Which bucket makes the shortest step?", "MB")
guess_bucket

# %%
slow_start = lecture_06.switch(gbit=10, latency_s=200e-6)
of_mb = {mb: step_s(googlenet, 16, 32, slow_start, mb * 1e6) for mb in (0.1, 1, 10, 28)}
guess_bucket.compare(min(of_mb, key=of_mb.get))

# %%
explore(lecture_06.bucket_chart, name=knob(["GoogLeNet", "ResNet-50"], label="network"),
        latency_us=knob([20, 50, 200], label="latency", unit="µs", start=200))  # fmt: skip

# %% [markdown]
# Small buckets: latency. All in one: nothing is hidden. In between lies the best, a compromise of
# two wastes. PyTorch's DDP takes 25 MB unless you pass `bucket_cap_mb` (Li and others 2020). It
# suits larger networks, and links on which a latency costs more bytes than here.

# %% tags=["how-we-know"]
# How we know: the priced step is the simulated one, in buckets and without
for mb in (0, 1, 10, 28):
    there = {"workers": 16, "batch": 512, "network": slow_start, "bucket_bytes": mb * 1e6}
    simulated = one_step(in_turn, googlenet, **there).seconds
    assert np.isclose(simulated, step_s(googlenet, 16, 32, slow_start, mb * 1e6), rtol=0.01)
assert of_mb[10] < min(of_mb[0.1], of_mb[28]) - 0.02

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who goes first?
#
# Intel's nodes wait for *all* updates before the next forward pass. But that pass begins with L1,
# and needs nothing else at first. So wait for one layer at a time, and let the first layers
# overtake the last ones: *priority* (Jayarajan and others 2019).
#
# Our three layers on a slower network, 5 ms for each all-reduce. Back-propagation is done with L3,
# L2 and L1 at 5, 7 and 9 ms. Six orders are possible. Decide first: which makes the shortest step?
# Then choose it below. (The upper run waits for all.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: who goes first, 4 minutes</summary>
#
# Two students fill in the network's lane on the board, for L3, L2, L1 and for L3, L1, L2. Where
# does the next forward pass begin? Misconception: "L1 first, because it is needed first": nobody
# has L1's gradient before 9 ms.
# </details>

# %%
slower = replace(fast, name="0.6 GB/s", bandwidth_bytes_per_s=6e8)
orders = ["L3, L2, L1", "L3, L1, L2", "L2, L3, L1", "L2, L1, L3", "L1, L2, L3", "L1, L3, L2"]
explore(lambda order: in_order(three, slower, order), order=orders)

# %% [markdown]
# L3 leaves first: nobody else is ready. Then L1 overtakes L2: its sum is there at 15 ms, and its
# forward pass, 1 ms, is over when L2's comes at 20. So a step takes 19 ms instead of 20. Whoever
# waits for L1 before sending anything leaves the network idle for 4 ms. ResNet-50 has more layers
# to shuffle; 16 workers, 32 examples each:

# %%
by_need = partial(priority, order=planned(resnet, 16, 32, cluster))
schemes = {"at the end": data_parallel, "in turn": in_turn, "by need": by_need}
there = {"workers": 16, "batch": 16 * 32, "network": cluster}
steps_ms = {name: 1e3 * one_step(way, resnet, **there).seconds for name, way in schemes.items()}
steps_ms["computing alone"] = 1e3 * 32 * parameters_and_flops(resnet)[1] / GPU
table({name: {"ms a step": round(ms, 1)} for name, ms in steps_ms.items()})

# %% [markdown]
# Communication hides under the forward pass as well, and a step takes hardly more than its
# computing. The price: all ranks must agree on the order, so somebody has to plan it (Peng and
# others 2019 do so in ByteScheduler).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## On real processes
#
# In virtual time a NIC works while the processor computes. On this computer the workers' network is
# its memory, and it is the processor that copies. What do you expect: by how much is a step shorter
# with overlap? (Below the bars stands what the α and β that you measured in lecture 00, or stated
# ones, say of the all-reduce: it is all that could be hidden.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: on real processes, 3 minutes</summary>
#
# Run it twice, so that they see the ratio move. Then the sentence below the bars: most of the step
# is computing, so even perfect overlap would save little. In the sheet: 60 latencies, for ten
# layers.
# </details>

# %% tags=["nbval-ignore-output"]
lecture_06.real_steps()

# %% [markdown]
# Run it again: the ratio moves, to either side of 1. When we repeated it, no gain stood out from
# the noise. To copy and add up is work for the same cores that compute the gradients. Overlap needs
# something that would otherwise be idle: a NIC with DMA, spare cores, or a few of a GPU's
# multiprocessors, on which NCCL adds up. What this computer can show is that the scheme is right:
# the same weights, whatever happens first.
#
# The price sheet, complete: four workers, 1 MB each. Overlap hides bytes, and pays for it. How many
# latencies has a ring of ten layers, one by one?

# %% tags=["nbval-ignore-output"] name="price-sheet"
prices_so_far(lecture=6)

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Scaling
#
# ## How many workers?
#
# A batch of $B$ examples, $c$ seconds each, on $P$ workers with a ring, without overlap:
#
# $$T(P) = \left\lceil \frac{B}{P} \right\rceil c + 2(P-1)\,\alpha + 2\,\frac{P-1}{P}\,n\beta$$
#
# The first term shrinks with $P$, the second grows. The third is $2n\beta - \frac{2n\beta}{P}$: it
# grows as the first one shrinks, so it counts against the computing that is saved. Setting the
# derivative to zero gives
#
# $$P^* = \sqrt{\frac{Bc - 2n\beta}{2\alpha}}.$$
#
# ResNet-50, $B = 1024$: $Bc = 6.28$ s, $2n\beta = 0.16$ s, $\alpha = 20$ µs.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: how many workers, 6 minutes</summary>
#
# Let the class say which term wins at both ends before the formula appears. Most votes for the best
# number are 16 or 1,024. Then move the batch: the formula's number (below the picture) goes from
# 188 to 391. Ask who would pay for the last doubling: the efficiency stands there, too.
# </details>

# %%
guess_best = predict("With how many of up to 1,024 workers is the step shortest?", "workers")
guess_best

# %%
ten = lecture_06.priced(resnet, batch=1024, gbit=10)
tried = sorted({-(-1024 // examples) for examples in range(1, 1025)})  # more would only wait
guess_best.compare(ten.best(tried))

# %%
explore(lecture_06.step_chart,
        gbit=knob([1, 10, 100], label="bandwidth", unit="Gbit/s", start=10),
        batch=knob([64, 256, 1024], label="batch B", start=1024))  # fmt: skip

# %% [markdown]
# The best number lies near $P^*$, where the steps of $\lceil B/P \rceil$ allow it: from 342 to 511
# workers one of them has three examples, so more than 342 only lengthen the ring. And it is a poor
# place to be: the last doublings buy next to nothing. Who pays for the GPUs stops much earlier.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is it worth it at all?
#
# When are $P$ workers faster than one? They save $\frac{P-1}{P} Bc$ of computing and pay
# $\frac{P-1}{P}\, 2n\beta + 2(P-1)\alpha$. Divide by $\frac{P-1}{P}$:
#
# $$Bc > 2n\beta + 2P\alpha.$$
#
# Without latency the $P$ drops out! If two workers do not pay, no number of them does. In how many
# of these six cases do more workers *not* pay? (Digits: a perceptron with 32 hidden units on cores
# of $10^{10}$ flop/s. For two workers, $2P\alpha = 4\alpha$.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: is it worth it, 3 minutes</summary>
#
# Have them compare three numbers in each row: Bc with 2nβ + 4α. Three rows pay. Ask what one would
# change in the others: a larger batch, or a faster network.
# </details>

# %%
cases = {name: lecture_06.worth(name) for name in lecture_06.CASES}
hidden = {name: {k: v for k, v in row.items() if k != "pays from"} for name, row in cases.items()}
table(hidden)

# %%
guess_cases = predict("In how many of the six cases do more workers not pay?", "cases")
guess_cases

# %%
guess_cases.compare(sum(row["pays from"] == "never" for row in cases.values()))

# %%
claim("2.19")

# %% [markdown]
# The same digits pay with 1,024 examples and do not with 64: there latency decides. The same
# ResNet-50 pays on ten gigabits and does not on one.

# %% tags=["how-we-know"]
# How we know: prices are simulated steps; each verdict is one; the formula is near the sweep's best
in_one = [LayerSize("all", *parameters_and_flops(resnet))]
for P in (1, 4, 16, 64):
    simulated = one_step(data_parallel, in_one, workers=P, batch=1024, network=cluster)
    assert np.isclose(simulated.seconds, ten.time_s(P), rtol=1e-6)
for name, (sizes, batch, gbit, rate) in lecture_06.CASES.items():
    there = {"batch": batch, "network": lecture_06.switch(gbit, flops_per_s=rate)}
    one_s, two_s = (one_step(data_parallel, sizes, workers=P, **there).seconds for P in (1, 2))
    assert (cases[name]["pays from"] == "2 workers") == (two_s < one_s), name
smooth = ten.smooth_best()
assert round(smooth) == 391
assert ten.time_s(round(smooth)) < 1.05 * ten.time_s(ten.best(tried))
told = 1024 * ten.example_s, 2 * ten.n_bytes * ten.beta_s_per_byte
assert [round(seconds, 2) for seconds in told] == [6.28, 0.16]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Strong and weak scaling
#
# *Strong scaling*: the same batch on more workers; efficiency falls, because each computes less.
# *Weak scaling*: 64 examples for each worker, however many; the batch grows. Choose, and read off
# two things: for which numbers of workers is a server "40 to 50 % efficient", as one of our sources
# has it? And where does the ring's curve flatten, and why?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: strong and weak scaling, 2 minutes</summary>
#
# Ask for the definition first: what stays the same? Then switch to "strong" and let them say why
# all curves fall: the same communication, less to compute for each worker.
# </details>

# %%
explore(lecture_06.efficiency_chart,
        kind=knob(["weak: 64 each", "strong: 1,024 together"], label="scaling"),
        gbit=knob([1, 10, 100], label="bandwidth", unit="Gbit/s", start=10))  # fmt: skip

# %% [markdown]
# In weak scaling at ten gigabits the server is there with four workers, and with no other number in
# the picture. The ring's bytes approach $2n\beta$, so its curve flattens, until latency takes over
# from some hundred workers on. "At best" means: all of it hides under the backward pass, and its
# latency is paid once. Layers that leave one by one pay it each. ("At least": a tree's formula is
# an upper bound of its time.) An efficiency without its number of workers says nothing.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 1,024 nodes with one example, or 16 with 64?
#
# A source's example: a batch of 1,024. Both ends, simulated: 16 nodes with all of ResNet-50's
# layers, one after the other, and 1,024 nodes with halving-doubling, the fastest there. Which part
# of its step does one of 1,024 nodes compute? (6.1 ms for an example, 164 ms for the bytes.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 1,024 or 16 nodes, 3 minutes</summary>
#
# 6 of 170 ms is read off before anything runs. Play, and ask who is finished first: 1,024 nodes,
# after 170 ms in place of 394. Twice as fast, with 64 times as many.
# </details>

# %%
guess_share = predict("1,024 nodes with one example: which part is computing?", "%")
guess_share

# %%
swapping, whole = ALLREDUCES["halving_doubling"], [LayerSize("all", *parameters_and_flops(resnet))]
halving = partial(in_turn, bucket_bytes=math.inf, allreduce=swapping)
crowd = efficiency(halving, whole, workers=1024, each=1, network=cluster)
guess_share.compare(round(100 * crowd, 1))

# %%
group = dry_run(in_turn, resnet, 16, 1024, cluster).trace
alone = dry_run(halving, whole, 1024, 1024, cluster).trace
labels = {"16 × 64": [size.name for size in reversed(resnet)], "1,024 × 1": ["all layers"]}
gantt({"16 × 64": group, "1,024 × 1": alone}, labels, title="One step, rank 0")

# %%
claim("3.20")

# %% [markdown]
# Two things to add. 1,024 nodes are faster all the same, about twice as fast; it is their idle GPUs
# that are unreasonable. And the border moves with the network. Of powers of two, 2 nodes hide all
# layers but the first on one gigabit, 16 on ten, 32 on a hundred. (By bytes alone it would be 128
# there: but each layer pays 254 latencies.)

# %% tags=["how-we-know"]
# How we know: twice as fast; where the all-reduce hides, on three networks
sixteen = efficiency(in_turn, resnet, 16, 64, cluster)
assert crowd < 0.04 < 0.99 < sixteen
assert 1.8 < (64 / sixteen) / (1 / crowd) < 2.8
compute_s = 1024 * ten.example_s
for gbit, most, by_bytes in ((1, 2, 2), (10, 16, 16), (100, 32, 128)):
    net, step = lecture_06.switch(gbit), lecture_06.priced(resnet, 1024, gbit, hideable=2 / 3)
    there = {P: step_s(resnet, P, 1024 // P, net, 0) for P in (2**k for k in range(11))}
    assert max(P for P, took_s in there.items() if compute_s / P / took_s > 0.99) == most
    assert max(P for P in there if step.efficiency(P) > 0.999) == by_bytes

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The history, as efficiencies
#
# The transcript lists who trained on how many nodes. Divide a reported speed-up by the number of
# workers: that is its efficiency. Then simulate the all-reduce, and compare it with the computing:
# for each second of communication, how many seconds of computing?
#
# Reported are network, workers and speed-up (the crosses' height). What a device really computes
# and what its network carries are *our assumptions*: the thin lines go from half to twice the
# bandwidth. This is a fit, not a measurement. Between the curves data parallelism explains a
# report. (Facebook's is relative to 8 GPUs. How Amazon added up was not published; we assume within
# each host first.)

# %%
table({
    name: {"efficiency, %": round(100 * each.efficiency), "reported": each.source}
    for name, each in lecture_06.REPORTED.items()
})  # fmt: skip

# %%
lecture_06.history_chart()

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the history, 4 minutes</summary>
#
# Ask what a point left of both curves means: faster than data parallelism can be on that network,
# or a wrong assumption. Intel's and Google's are such cases, and either may be true: Intel split
# the fully connected layers in another way; 8 GB/s instead of 7 would explain the report as well.
# </details>

# %%
claim("3.16")

# %% [markdown]
# Intel's and Google's crosses lie left of both curves: their networks were faster than we assume,
# or it was not data parallelism alone. "Near-linear" is in the title of the Berkeley paper: 37 %.
# Whole vectors on a tree of seven levels
# are expensive, and a reader of lecture 05 knows what to do about it. One thing no network
# explains: that Facebook's batch of 8,192 still learns (lecture 03 has the warm-up).

# %% tags=["how-we-know"]
# How we know: between the curves, for a bandwidth from half to twice what we assume
for name, each in lecture_06.REPORTED.items():
    low, high = (lecture_06.ratio(each, factor) for factor in (0.5, 2.0))
    assert lecture_06.possible(low)[0] < each.efficiency < lecture_06.possible(high)[1], name
intel = lecture_06.REPORTED["Intel"]
explained = [lecture_06.possible(lecture_06.ratio(intel, f))[1] for f in (7 / 7, 8 / 7)]
assert explained[0] < 0.68 < 0.70 < explained[1]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Two layers. Forward 10 ms each, backward 20 ms each; the all-reduce of either
# takes 30 ms. How long is a step with overlap? And if L2's took 10 ms and L1's 50?
#
# <details><summary>Answer</summary>
#
# Forward 20, back through L2 until 40; its all-reduce until 70. L1 is ready at 60, its all-reduce
# lasts from 70 to 100: 100 ms. With 10 and 50: L2 is out at 50, L1 goes from 60 to 110. The same
# bytes, but they sit in the wrong layer: what the first layer weighs cannot be hidden.
# </details>

# %% [markdown]
# **Question 2.** Your step takes 100 ms, 40 of them are communication after the computing; nothing
# overlaps, and latencies are negligible. You buy a network of twice the bandwidth. How much faster
# do you train, and what if you had bought GPUs of twice the speed?
#
# <details><summary>Answer</summary>
#
# 60 + 20 = 80 ms, 1.25 times as fast, against 30 + 40 = 70 ms, 1.43 times. But the second purchase
# has brought the efficiency from 60 % down to 43 %: faster GPUs turn the same network into the
# bottleneck. (With overlap it can be the other way round: what was hidden would be uncovered.)
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
# <details><summary>References</summary>
#
# Das and others 2016, *Distributed deep learning using synchronous stochastic gradient descent*.
# Goyal and others 2017, *Accurate, large minibatch SGD*. Iandola and others 2016, *FireCaffe*.
# Jayarajan and others 2019, *Priority-based parameter propagation*. Krizhevsky 2014, *One weird
# trick for parallelizing convolutional neural networks*. Li and others 2020, *PyTorch Distributed*.
# Murray 2016, *Announcing TensorFlow 0.8*. Peng and others 2019, *A generic communication
# scheduler* (ByteScheduler). Vogels 2016, *MXNet at AWS*. Zhang and others 2017, *Poseidon*
# (wait-free back-propagation).
# </details>

# %% [markdown]
# ## What to remember
#
# - Work a step out by its critical path: 18 ms without overlap and 14 with it. The first layer's
#   all-reduce is always seen.
# - The best number of workers lies near $\sqrt{(Bc - 2n\beta) / 2\alpha}$, and $P$ workers pay if
#   $Bc > 2n\beta + 2P\alpha$.
# - A speed-up is an efficiency once you divide it; what it stands on are seconds of computing for
#   each second of communication.
#
# Next: the [exercises](../exercises/06_overlap_and_scaling.ipynb). Before: [lecture
# 05](05_allreduce.ipynb). After: [lecture 07](07_model_parallelism.ipynb) asks what to do when the
# model does not fit.
