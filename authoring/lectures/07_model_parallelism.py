# %% [markdown] slideshow={"slide_type": "slide"}
# # 07 · Model parallelism: what if the model does not fit?
#
# After this you can
#
# - split a model's layers over workers, and say who waits for whom, and for how long
# - choose a schedule and a number of micro-batches for a pipeline: its bubble, memory and messages
# - say of "same bubble" and "zero bubble" under which condition they hold
#
# Part 1 takes 16 minutes, part 2 takes 21; plan twice that if you try everything. Needs: 2
# processes, no GPU. You should know forward and backward pass from a training loop of your own;
# [lecture 06](06_overlap_and_scaling.ipynb) helps, and is not needed. Then: the
# [exercises](../exercises/07_model_parallelism.ipynb), and [lecture 08](08_split_weights.ipynb),
# which splits single layers.

# %% tags=["set-up"]
# Set-up; what is drawn has its seed in the library
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, schedules
from torch.distributed.pipelining._schedule_visualizer import get_schedule_ops

from course_lib import networks, run
from course_lib.lectures import lecture_07
from course_lib.lectures.lecture_07 import eager_1f1b, flow, of_one_batch, one_by_one, price
from course_lib.models.chain_module import as_module
from course_lib.pipelines import evaluate, gpipe, one_f_one_b, to_torch, to_torch_csv
from course_lib.schemes import model_parallel, pipeline, train
from course_lib.schemes.pipeline import joined
from course_lib.training import Plan
from course_lib.training.stages import cut_into_stages
from course_lib.viz import claim, explore, knob, player, predict, source, table, timeline

torch.set_num_threads(1)  # small models: more threads only get into each other's way
cross_entropy = torch.nn.functional.cross_entropy
SCHEDULES = list(lecture_07.NAMES)  # GPipe, 1F1B, …

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 40 minutes</summary>
#
# Run all cells before class (half a minute). Part 1: what does not fit 3, layers 5, branches 3,
# micro-batches 7. Part 2: 1F1B 4, latency 6, the bubble 6, PyTorch 2, this computer 2. To be
# shorter, leave out branches, and show PyTorch's result only.
#
# Before anything runs: four students in a row, each a stage, one sheet of paper a micro-batch.
# Pass it down and up again. Then let the first one start a second sheet before the first is back.
#
# Common misconceptions: "four GPUs, so four times as fast" (four times the memory); "1F1B is faster
# than GPipe" (it holds less).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Split the model
#
# ## What does not fit?
#
# While a model is trained with Adam, each parameter takes 16 bytes: its weight, its gradient and
# two running averages, 4 bytes each. *Activations* come on top: what each layer keeps of its
# forward pass, because the backward pass needs it.
#
# Data parallelism does not help here: every worker has the whole model. (It does help to shard the
# optimizer's state over workers, as lecture 08 will.) How many GPUs of 80 GB does it take to
# hold the 175 billion parameters of GPT-3 (Brown and others 2020), without any activation?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: what does not fit, 3 minutes</summary>
#
# 35 is arithmetic; the point is the 16 bytes. Ask what data parallelism would do about it
# (nothing), and what the activations depend on: the batch, not the number of parameters.
# </details>

# %%
guess_gpus = predict("How many GPUs of 80 GB hold 175 billion parameters in training?", "GPUs")
guess_gpus

# %%
in_gb = {name: n * lecture_07.BYTES_A_PARAMETER / 1e9 for name, n in lecture_07.SIZES.items()}
guess_gpus.compare(in_gb["GPT-3 (2020)"] / 80)

# %%
table({
    name: {"parameters, millions": round(n / 1e6, 1), "GB in training": round(in_gb[name], 1)}
    for name, n in lecture_07.SIZES.items()
})  # fmt: skip

# %% [markdown]
# So the model itself must be split. This lecture gives each worker some of the *layers*.
#
# Sources set it beside data parallelism, as below. (In the reason the data are a table: a row is an
# example, a column a feature, which has its own weights.)

# %%
claim("1.2")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Layers over workers
#
# Four layers, four ranks, one layer each: a rank's part of the model is called a *stage*. The batch
# goes forward through the stages. Then the *slope* comes back, the other way: the gradient of the
# loss in what crossed the cut. All layers are alike, and messages cost next to nothing. Averaged
# over the ranks: which part of the time does a rank compute?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: layers over workers, 5 minutes</summary>
#
# Ask who may compute while rank 2 goes forward. Nobody: all others wait, directly or not, for it.
# Rank 0 computes least, because nobody wants the slope in the examples themselves.
# </details>

# %%
guess_busy = predict("Which part of the time does a rank compute, on average?", "%")
guess_busy

# %%
model, X, y = lecture_07.row_of_layers()
there = {"backend": "simulated", "network": networks.nvlink_4}
in_a_row = run(model_parallel, model, X, y, Plan(batch_size=64), workers=4, **there)
computed_s = sum(span.end_s - span.start_s for span in in_a_row.trace.computes)
guess_busy.compare(round(100 * computed_s / (4 * in_a_row.trace.end_s)))

# %%
player(in_a_row.trace, "line", title="Four layers on four ranks, one step", moments=4)

# %% [markdown]
# Play it: at any time one rank computes and three wait. (Messages are short; *even steps* shows
# them.) With $P$ equal stages a rank computes $1/P$ of the time on average: 18 % on rank 0, as
# nobody wants the slope in the examples, 27 % on the others. The model fits, and nothing is faster
# than with one GPU that is large enough.

# %% [markdown]
# What crosses a cut are *activations*: 64 examples with 256 numbers of 8 bytes, 131 KB, and their
# slope on the way back. No parameter is ever sent. (Nor its gradient, unless two stages share it: a
# language model's first and last layer may have the same embedding, whose gradients a message
# adds up.)
#
# A stage's part of the step: receive, go forward, send; then the same the other way. `part` has the
# numbers of the examples, here all 64, and `weight` is their share of the batch, here 1. `"F"` and
# `"B"` name the pass whose operations are counted.

# %%
source(model_parallel, part="for part, weight")

# %% tags=["how-we-know"]
# How we know: one rank at a time, a quarter each; the weights of one process; bytes of activations
spans = sorted(in_a_row.trace.computes, key=lambda span: span.start_s)
passes = [span for span in spans if span.label != "update"]
assert all(later.start_s >= earlier.end_s for earlier, later in pairwise(passes))
assert abs(computed_s / (4 * in_a_row.trace.end_s) - 1 / 4) < 0.01
of_rank = [sum(span.end_s - span.start_s for span in spans if span.rank == rank) for rank in (0, 1)]
assert [round(100 * each / in_a_row.trace.end_s) for each in of_rank] == [18, 27]
assert {message.n_bytes for message in in_a_row.trace.messages} == {64 * 256 * 8}
whole = train(model, X, y, Plan(batch_size=64))
in_parts = np.concatenate([value.w for value in in_a_row.values])
assert np.abs(in_parts - whole.w).max() < 1e-14 < np.abs(whole.w - model.initial()).max()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Branches side by side
#
# Layers in a row wait for each other. Branches do not: a net with two branches of six layers, whose
# outputs are joined at the end, has two things to do at a time. Rank 0 has one branch, rank 1 the
# other. Both branches are alike, and the *head*, the layer that joins them, is small. How many
# times as fast are two workers, over NVLink, the fast link between GPUs of one machine?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: branches, 3 minutes</summary>
#
# Ask for a net with branches (Inception, two towers, experts). Then move to 1 Gbit/s: a message of
# 33 KB takes about as long as six small layers forward. What would make a second worker worth it
# again? Larger layers.
# </details>

# %%
guess_branches = predict("Two branches on two workers: how many times as fast as on one?", "times")
guess_branches

# %%
one_s, two_s = lecture_07.branches_s(networks.nvlink_4)
guess_branches.compare(round(one_s / two_s, 2))

# %% [markdown]
# Now choose the network. On which of them is it not worth a second worker?

# %%
explore(lecture_07.branches, network=knob(
    {"NVLink": networks.nvlink_4, "10 Gbit/s": networks.ethernet_10g,
     "1 Gbit/s": networks.ethernet_1g}))  # fmt: skip

# %% [markdown]
# Three messages cross the cut: the examples, what the branch makes of them, and the slope. Between
# its forward and its backward pass rank 1 waits for two of them, and for the head. On 1 Gbit/s
# that takes nearly all that the second worker has saved.

# %%
claim("1.14")

# %% tags=["how-we-know"]
# How we know: nearly twice as fast inside a machine, hardly faster on 1 Gbit/s
far_one_s, far_two_s = lecture_07.branches_s(networks.ethernet_1g)
assert 1.9 < one_s / two_s < 2
assert 1 < far_one_s / far_two_s < 1.05

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Micro-batches
#
# Most models are a row. But a batch has many examples. Cut it into $M$ *micro-batches*: while rank
# 1 computes the first of them, rank 0 can compute the second. That is a *pipeline*. GPipe (Huang
# and others 2019) sends all micro-batches forward, then all of them back.
#
# Four ranks, eight micro-batches. Forward takes 1 ms on each rank and backward 2 ms, for one
# micro-batch; messages take no time. One rank after the other needs $4 \cdot 8 \cdot 3 = 96$ ms.
# How long does the pipeline take? (Follow the last micro-batch.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: micro-batches, 7 minutes</summary>
#
# Let somebody draw the four lanes on the board before the run. The usual wrong answer is 24, the
# computing of one rank. Then play the picture slowly and look at the cells: they are memory. Ask
# for the moment at which most is held.
# </details>

# %%
guess_ms = predict("GPipe, 4 ranks, 8 micro-batches: how long is a step?", "ms")
guess_ms

# %%
guess_ms.compare(flow("GPipe", ranks=4, microbatches=8).ms)

# %% [markdown]
# The first micro-batch needs $P - 1 = 3$ passes to reach the last rank; from then on that rank is
# never idle, and at the end the last slope has 3 ranks to go back through. So a step takes $M + P -
# 1$ passes forward and back, 11 times 3 ms. The time in which a rank has nothing to do is the
# *bubble*:
#
# $$\frac{P-1}{M+P-1} = \frac{3}{11} = 27\,\%.$$
#
# In the picture a message takes ¼ ms, so that you can see it. The cells of a box are the
# micro-batches whose activations the rank holds: full from a forward pass until its backward pass.

# %%
flow("GPipe", ranks=4, microbatches=8, latency_ms=0.25).player()

# %%
claim("1.13")

# %% [markdown]
# How many micro-batches? Below it is always the same batch, 96 ms of work for one rank after the
# other. Move $M$ from 1, which is no pipeline, to 16. Does doubling it always help as much?

# %%
explore(of_one_batch, microbatches=knob([1, 2, 4, 8, 16], label="micro-batches M"),
        ranks=knob([2, 4, 8], label="ranks P", start=4))  # fmt: skip

# %% [markdown]
# The more, the smaller the bubble: 75, 60, 43, 27, 16 % with four ranks. On a real GPU it ends
# somewhere, because small micro-batches use it badly, and each message has its latency.
#
# In the middle of the step every rank holds all $M$: the activations of the *whole batch*, however
# finely it is cut. For that reason GPipe, as published, keeps only what each stage was given, and
# computes the rest once more when the slope comes back: memory is bought with a third more
# computing. Part 2 buys it with an order.

# %% [markdown]
# GPipe's authors found the bubble negligible from $M = 4P$ on. The formula still says 16 % there
# ($P = 4$, $M = 16$): part of their reason is that what is computed once more can be computed
# while a rank would wait. Without that, 16 % is 16 %.
#
# One more condition: all stages are alike. A pipeline is as slow as its slowest stage. If rank 1
# needs twice as long, the step takes 57 ms instead of 33, and the others are idle for more than
# half of it. So cut by computing time, not by the number of layers.

# %% tags=["how-we-know"]
# How we know: the formula for many P and M; the real scheme, simulated, trains as one process does
for P in (1, 2, 4, 8):
    for M in (1, 2, 4, 8, 16):
        step = flow("GPipe", P, M)
        assert step.ms == 3 * (M + P - 1)
        assert np.isclose(step.idle_ms / step.ms, (P - 1) / (M + P - 1))
assert [round(100 * of_one_batch(M).idle_ms / of_one_batch(M).ms) for M in (1, 2, 4, 8, 16)] == [
    75, 60, 43, 27, 16]  # fmt: skip
piped = run(pipeline, model, X, y, Plan(batch_size=64), gpipe, 8, workers=4, **there)
together = joined(gpipe(4, 8), model, [value.w for value in piped.values])
assert np.abs(together - whole.w).max() < 1e-14
held = [max(n.value for n in piped.trace.notes_named("activations_held") if n.rank == rank)
        for rank in range(4)]  # fmt: skip
assert held == flow("GPipe").held == [8] * 4
pass_ms = {"F": 1, "B": 2}
uneven = evaluate(gpipe(4, 8), lambda a: pass_ms[a.kind] * (2 if a.stage == 1 else 1))
assert (uneven.makespan, uneven.idle(0)) == (57, 33)

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Order the work
#
# ## 1F1B: the same time, less memory
#
# A *schedule* says in which order each rank does what; nothing says when. `0F3` is forward through
# stage 0 with micro-batch 3, `0B3` the way back.
#
# The most careful order takes one micro-batch forward and back before the next: it holds one, and
# is no pipeline. GPipe holds all. *1F1B* (Narayanan and others 2019, 2021) is in between: as soon
# as the first micro-batch is back, a rank takes turns, one forward, one backward. Of how many of 8
# does rank 0 of 4 hold activations?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 1F1B, 4 minutes</summary>
#
# Let the room order the actions of the last rank first: F0 B0 F1 B1. Then of the rank before it.
# The exercises ask for all of them.
# </details>

# %%
guess_held = predict(
    "1F1B, 4 ranks, 8 micro-batches: how many does rank 0 hold at most?", "micro-batches"
)
guess_held

# %%
guess_held.compare(flow("1F1B").held[0])

# %%
flow("1F1B", ranks=4, microbatches=8, latency_ms=0.25).player()

# %% [markdown]
# Watch the cells: they empty as fast as they fill. Rank $r$ lets in $P - r$, as many as there are
# stages from itself to the end, however large $M$ is. The last rank goes back with each at once.

# %%
orders = {"one by one": one_by_one, "GPipe": gpipe, "1F1B": one_f_one_b}
table({name: {"rank 1 of 4": " ".join(to_torch(make(4, 8))[1][:11]) + " …",
              "ms a step": flow(make).ms, "rank 1 holds": flow(make).held[1]}
       for name, make in orders.items()})  # fmt: skip

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same bubble? Only if messages take no time
#
# GPipe and 1F1B both take 33 ms; most texts say that they have the same bubble. Let a message
# travel for ½ ms, half a forward pass. GPipe takes 36 ms: three hops there and three back, once
# each. And 1F1B? Is it as long, or longer, and by how much?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the same bubble, 6 minutes</summary>
#
# The surprise of the lecture. Most say 36. Ask what rank 0 is waiting for at 12 ms: for a slope
# that is on its way, while it could go forward. It is not allowed to: its order says backward.
# Engineers know the cure as "one more warm-up micro-batch".
# </details>

# %%
guess_1f1b = predict("1F1B, each message ½ ms: how long is a step?", "ms")
guess_1f1b

# %%
guess_1f1b.compare(flow("1F1B", latency_ms=0.5).ms)

# %%
half_ms = {name: flow(name, latency_ms=0.5).trace for name in ("GPipe", "1F1B")}
timeline(half_ms, title="Four ranks, eight micro-batches, a message travels ½ ms")

# %% [markdown]
# GPipe's ranks wait only while the pipeline fills and drains; in between, the next micro-batch has
# arrived while they computed. 1F1B's wait at every turn. Rank 0 has $P$ micro-batches on their way,
# no more. One of them needs $P$ passes forward and back, and $2(P-1)$ messages, until it is home
# again. So $P$ of them take that long, and one adds, on average,
#
# $$\frac{2(P-1)}{P}\, c$$
#
# for a message of $c$ ms, here $\frac34$ ms. The first costs 3 ms, as in GPipe: three hops there
# and three back. The seven after it add 0, 1, 1, 1, 0, 1 and 1 ms: 8 ms more in all.

# %% [markdown]
# Then let in more! *Eager 1F1B* (Zhuang and others 2023) goes forward twice for each rank behind it
# before it takes turns:

# %%
source(eager_1f1b, part="ahead")

# %%
flow(eager_1f1b, ranks=4, microbatches=8, latency_ms=0.5).player()

# %% [markdown]
# 36 ms again, and rank 0 holds 7. With 32 micro-batches it still holds 7, and GPipe 32. Latency is
# hidden by what is on its way: that is memory.
#
# Twice as many hide only so much: a message may take half a pass forward and back, here 1.5 ms.
# With 2 ms eager 1F1B takes 48 ms, GPipe 45; with 3 ms 60, GPipe 51. GPipe has all of them on their
# way, and waits only while it fills and drains.

# %% tags=["how-we-know"]
# How we know: equal without latency; the slope of the delay; eager 1F1B takes GPipe's time
for P, M in ((2, 8), (4, 8), (4, 16), (8, 32)):
    assert flow("1F1B", P, M).ms == flow("GPipe", P, M).ms == flow(eager_1f1b, P, M).ms
    assert flow("GPipe", P, M, 0.5).ms == flow(eager_1f1b, P, M, 0.5).ms == 3 * (M + P - 1) + P - 1
    assert flow("1F1B", P, M).held == [P - rank for rank in range(P)]
more_ms = [flow("1F1B", 4, M, 0.5).ms - 3 * (M + 3) for M in (8, 16, 32)]
assert np.allclose(np.diff(more_ms) / (8, 16), 3 / 4)
one_more_ms = np.diff([flow("1F1B", 4, M, 0.5).ms - 3 * M for M in range(1, 9)])
assert (more_ms[0], one_more_ms.tolist()) == (8, [0, 1, 1, 1, 0, 1, 1])
assert flow("1F1B", 4, 1, 0.5).ms == flow("GPipe", 4, 1, 0.5).ms == 3 * 4 + 3
assert flow(eager_1f1b, 4, 32).held[0] == 7
for P, M in ((2, 8), (4, 8), (4, 16), (8, 32)):  # a pass forward and back takes 3 ms
    level = [flow("GPipe", P, M, c).ms == flow(eager_1f1b, P, M, c).ms for c in (1, 1.5, 1.6, 2)]
    assert level == [True, True, False, False]
assert [(flow(eager_1f1b, 4, 8, c).ms, flow("GPipe", 4, 8, c).ms) for c in (2, 3)] == [
    (48, 45), (60, 51)]  # fmt: skip

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A smaller bubble
#
# There are two ways. **Interleaved** (Narayanan and others 2021): each rank has two thin stages,
# say 0 and 4, and micro-batches go round twice. A thin stage takes half the time, so the pipeline
# is full after half the time. But each micro-batch is sent more often, and rank 0 holds 5½ of them.
# (Half a cell: one of the two stages holds it.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a smaller bubble, 6 minutes</summary>
#
# Show one of the two ways only, if time is short: zero bubble. Before ZB-V plays, ask who has the
# last stage. With the explorer: set W to 1.5, and look for the gaps.
# </details>

# %%
flow("interleaved", ranks=4, microbatches=8, latency_ms=0.25).player()

# %% [markdown]
# **Zero bubble** (Qi and others 2024) takes the way back apart: I finds the slope in a stage's
# inputs, for which the stage before waits, and W the gradient of its weights, for which nobody
# waits until the step ends. So do I first, and W when there is nothing else to do. Forward, I and W
# take 1 ms each. 1F1B leaves each rank idle for $(P-1)(F + I + W) = 9$ ms of its 33. What is left
# with *ZB-H1* (zero bubble, the first that its authors ordered by hand), where W fills the wait?

# %%
guess_idle = predict("ZB-H1, 4 ranks, 8 micro-batches: for how long is each rank idle?", "ms")
guess_idle

# %%
guess_idle.compare(flow("ZB-H1").idle_ms)

# %% [markdown]
# $(P-1)(F + I - W)$. Each of the $P - 1$ hops saves W twice: the slope goes back through a rank in
# I, not in I + W, and who waits for it while the pipeline drains has a W left to do. (That is so
# while W takes no longer than F or I. A longer W saves no more: what is left is $P - 1$ times the
# longer of F and I.)
#
# *ZB-V* also places two stages on each rank, down and up again like a V: rank 0 has the first stage
# and the last. Messages take no time. Play it: is anybody idle? (Dark is F, grey I, pale W; *even
# steps* shows the messages.)

# %%
flow("ZB-V", ranks=4, microbatches=8).player()

# %% [markdown]
# All five, still with messages that take no time. (Marked are ZB-V's two numbers that are compared
# below.) Look at what ranks hold, too. ZB-H1 pays with memory: what W needs is kept until W is
# done, so each rank holds 4 micro-batches, where 1F1B holds 4, 3, 2 and 1.

# %%
table({name: price(flow(name)) for name in SCHEDULES},
      told=[(4, "idle, ms"), (4, "idle between first and last action, ms")])  # fmt: skip

# %% [markdown]
# *Zero* holds between a rank's own first action and its last. Rank 3 still begins later than rank
# 0: of the whole step each rank is idle for 1.5 ms. To close that gap, the authors let a rank begin
# the next step while others still work on this one; what needs all ranks, as the gradient's norm
# does, is checked afterwards.
#
# And it is zero for F, I and W that take equally long, messages that take no time, and $2P - 1$
# micro-batches or more. Try others, and find a setting in which GPipe is the fastest of the five.
# (A page without a kernel keeps $P$, $M$, F and I: there move the message and W.)

# %%
explore(flow,
        schedule=knob(SCHEDULES, start="ZB-V"),
        ranks=knob([2, 4, 8], label="ranks P", start=4, page=[4]),
        microbatches=knob([8, 16], label="micro-batches M", page=[8]),
        latency_ms=knob([0, 0.25, 0.5, 1], label="a message", unit="ms"),
        forward=knob([0.5, 1, 1.5], label="F", unit="ms", start=1, page=[1]),
        input_gradient=knob([0.5, 1, 1.5], label="I", unit="ms", start=1, page=[1]),
        weight_gradient=knob([0.5, 1, 1.5], label="W", unit="ms", start=1))  # fmt: skip

# %% [markdown]
# Have you found one in which GPipe is the fastest? Here is the whole range:

# %%
explore(lecture_07.latency_chart, microbatches=knob([4, 8, 16], label="micro-batches M", start=8),
        ranks=knob([2, 4], label="ranks P", start=4))  # fmt: skip

# %% tags=["how-we-know"]
# How we know: the formulas for several P and M; zero within a rank's own span, not in the step
for P, M in ((2, 8), (4, 8), (4, 16), (8, 16)):
    idle = {name: flow(name, P, M).idle_ms for name in SCHEDULES}
    assert idle["GPipe"] == idle["1F1B"] == 3 * (P - 1)
    assert (idle["interleaved"], idle["ZB-H1"]) == (1.5 * (P - 1), P - 1)
    v = flow("ZB-V", P, M)
    assert (v.idle_ms, price(v)["idle between first and last action, ms"]) == ((P - 1) / 2, 0)
    assert v.held == [P] * P
    late = flow("ZB-V", P, M, latency_ms=0.25)
    assert price(late)["idle between first and last action, ms"] > 0
    for f, i, w in ((1, 1, 0.5), (1.5, 1, 1), (1, 1, 1.5), (0.5, 1, 1), (1, 0.5, 1)):
        left = flow("ZB-H1", P, M, 0, f, i, w).idle_ms
        assert np.isclose(left, (P - 1) * max(f, i, f + i - w))
    enough = [flow("ZB-V", P, M) for M in (2 * P - 2, 2 * P - 1)]
    own = [price(made)["idle between first and last action, ms"] for made in enough]
    assert own[0] > 0 == own[1]
assert [flow(name).held for name in ("ZB-H1", "1F1B")] == [[4] * 4, [4, 3, 2, 1]]
unequal = [flow("ZB-V", 4, 8, 0, *times) for times in ((1, 1, 0.5), (1, 1, 1.5), (1.5, 1, 1))]
assert all(price(made)["idle between first and last action, ms"] > 0 for made in unequal)
fastest = {c: min(SCHEDULES, key=lambda name: flow(name, latency_ms=c).ms) for c in (0, 1)}
assert fastest == {0: "ZB-V", 1: "GPipe"}

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same with PyTorch
#
# `torch.distributed.pipelining` has these schedules, and its runtime carries out any table of
# actions. So it can carry out ours: two processes, gloo, 1F1B from our library, one step.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: PyTorch, 2 minutes</summary>
#
# The names with an underscore are private: they may change. Who only wants PyTorch's own schedules
# writes `Schedule1F1B(stage, n_microbatches, loss_fn).step(...)`, as the cell "How we know" does.
# </details>


# %% name="rosetta"
def with_torch(comm, store, table_of_actions):
    """One step of SGD by PyTorch's runtime, of this rank's layers."""
    dist.init_process_group("gloo", f"file://{store}", rank=comm.rank, world_size=comm.size)
    module = as_module(model, cut_into_stages(model, comm.size)[comm.rank])
    stage = PipelineStage(module, comm.rank, comm.size, torch.device("cpu"))
    runtime = schedules._PipelineScheduleRuntime([stage], 8, loss_fn=cross_entropy)
    runtime._load_csv(table_of_actions, "compute_only")
    runtime.step(*[torch.tensor(X)][comm.rank :], target=torch.tensor(y))
    dist.destroy_process_group()
    return np.concatenate([(p - 0.1 * p.grad).detach().ravel() for p in module.parameters()])


with tempfile.TemporaryDirectory() as folder:
    csv = Path(folder, "1f1b.csv")
    csv.write_text(to_torch_csv(one_f_one_b(2, 8)))
    theirs = run(with_torch, f"{folder}/store", str(csv), workers=2).values
ours = run(pipeline, model, X, y, Plan(0.1, batch_size=64), one_f_one_b, 8, workers=2).values
gaps = [np.abs(a - b.w).max() for a, b in zip(theirs, ours, strict=True)]
{"the same parameters": bool(max(gaps) < 1e-14)}

# %% [markdown]
# PyTorch adds up the micro-batches' gradients and divides by how many there are; ours weighs each
# by its examples. That is the same here, 8 micro-batches of 8; where they are not equally large,
# PyTorch's step is not that of the batch.
#
# PyTorch also *shows* its schedules. Compare what its function for 1F1B lists for the last of four
# ranks (PyTorch 2.13) with ours. What is wrong?

# %%
shown = [str(action) for action in get_schedule_ops("1F1B", 4, 8)[3] if action]
table({"PyTorch's table": {"rank 3 of 4": " ".join(shown[:-1])},
       "ours": {"rank 3 of 4": " ".join(to_torch(one_f_one_b(4, 8))[3])}})  # fmt: skip

# %% [markdown]
# It never goes forward with micro-batch 0, goes back with it all the same, and ends with a
# micro-batch 8 that does not exist. Training is not affected: `Schedule1F1B` has a loop of its own
# for that, and PyTorch's interleaved 1F1B comes from another function, which is right. But who
# feeds that table to a simulator, or to a paper's figure, gets a deadlock or a wrong bubble. A
# schedule is a program: check it.

# %% tags=["how-we-know"]
# How we know: PyTorch's own check refuses its table, takes ours; its training of 1F1B is right
refused = []
for made in (get_schedule_ops("1F1B", 4, 8), to_torch(one_f_one_b(4, 8)).values()):
    actions = {rank: [schedules._Action.from_str(str(action)) for action in order
                      if action and "REDUCE" not in str(action)]
               for rank, order in enumerate(made)}  # fmt: skip
    try:
        schedules._validate_schedule(actions, 4, 4, 8)
        refused.append(False)
    except AssertionError:
        refused.append(True)
assert refused == [True, False]


def by_its_own(comm, store, microbatches=8):
    """One step by the public class, of this rank's layers."""
    dist.init_process_group("gloo", f"file://{store}", rank=comm.rank, world_size=comm.size)
    module = as_module(model, cut_into_stages(model, comm.size)[comm.rank])
    stage = PipelineStage(module, comm.rank, comm.size, torch.device("cpu"))
    given = [torch.tensor(X)][comm.rank :]
    made = Schedule1F1B(stage, microbatches, loss_fn=cross_entropy)
    made.step(*given, target=torch.tensor(y))
    dist.destroy_process_group()
    return np.concatenate([(p - 0.1 * p.grad).detach().ravel() for p in module.parameters()])


with tempfile.TemporaryDirectory() as folder:
    own = run(by_its_own, f"{folder}/store", workers=2).values
    in_six = run(by_its_own, f"{folder}/alone", 6, workers=1).values[0]  # of 11 and 10 examples
assert all(np.allclose(a, b.w, rtol=0, atol=1e-14) for a, b in zip(own, ours, strict=True))
assert 1e-6 < np.abs(in_six - whole.w).max() < 1e-2
of_parts = [model.gradient(model.initial(), part)[1]
            for part in zip(np.array_split(X, 6), np.array_split(y, 6), strict=True)]  # fmt: skip
assert np.abs(model.initial() - 0.1 * np.mean(of_parts, axis=0) - in_six).max() < 1e-14
rank_ops = partial(schedules._get_1f1b_rank_ops, 1, 4, 0, 8, 0, 3)
listed = [str(action) for action in rank_ops(lambda _: 3, lambda _: 3) if action]
assert listed == to_torch(one_f_one_b(4, 8))[3] != shown[:-1]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## On real processes
#
# Two processes on this computer, eight layers of 512 units, a batch of 1,024. A pipeline of eight
# micro-batches takes $9/16$ of the time of one rank after the other at best. Who wins here?

# %% tags=["nbval-ignore-output"]
lecture_07.real_steps()

# %% [markdown]
# With two free cores a pipeline wins, and GPipe and 1F1B are nearly level. The line below the bars
# says who was first in this run, and in which part of the second bar's time; compare it with
# $9/16$, which is 0.56. The bars move from run to run, more so while other programs run: two ranks
# can compute at the same time only where two cores are free. What is missing: small products of
# matrices are slower for each example, and the processor that computes is also the one that copies.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** A model takes 60 GB in training, your GPUs have 80 GB each, and you have eight. A
# colleague cuts the layers over all eight. What do you say?
#
# <details><summary>Answer</summary>
#
# It fits on one: train eight replicas. A pipeline of eight has a bubble of $7/(M+7)$, data
# parallelism has an all-reduce that mostly hides (lecture 06). Split a model because it does not
# fit, or because batches cannot grow any more.
# </details>

# %% [markdown]
# **Question 2.** Eight stages, and GPipe's bubble must be below 10 %. How many micro-batches? And
# how much does rank 0 hold, in GPipe and in 1F1B?
#
# <details><summary>Answer</summary>
#
# $7/(M+7) < 0.1$, so $M > 63$: 64. GPipe holds all 64. 1F1B holds 8: an eighth of the batch.
# </details>

# %% [markdown]
# **Question 3.** To get rid of the bubble, somebody lets each rank update its weights as soon as
# its gradient is there, and begin with the next batch. What is not the same any more?
#
# <details><summary>Answer</summary>
#
# A micro-batch that is on its way goes forward with old weights and back with new ones, or each
# stage uses another version: the gradient is *stale*. PipeDream (2019) keeps several versions of
# the weights for it, which costs the memory that one wanted to save. In all schedules of this
# lecture a whole batch goes forward and back before any weight that it uses changes. [Lecture
# 09](09_asynchronous_sgd.ipynb) is about stale gradients.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Brown and others 2020, *Language models are few-shot learners*. Huang and others 2019, *GPipe*.
# Narayanan and others 2019, *PipeDream*; 2021, *Memory-efficient pipeline-parallel DNN training*
# (1F1B with a flush) and *Efficient large-scale language model training on GPU clusters*
# (interleaved). Qi and others 2024, *Zero bubble pipeline parallelism*. Radford and others 2019,
# *Language models are unsupervised multitask learners* (GPT-2). Zhuang and others 2023, *On
# optimizing the communication of model parallelism*.
# </details>

# %% [markdown]
# ## What to remember
#
# - Layers on $P$ ranks make a model fit. Without a pipeline each rank computes $1/P$ of the time.
# - With $M$ micro-batches the bubble is $(P-1)/(M+P-1)$. GPipe holds $M$ of them, 1F1B $P - r$: the
#   same bubble only where messages take no time.
# - A smaller bubble is bought: interleaving with messages, zero bubble with gradients of weights
#   that wait. Its zero is within a rank's own span.
#
# Next: the [exercises](../exercises/07_model_parallelism.ipynb), and [lecture
# 08](08_split_weights.ipynb), which splits single layers. Before: [lecture
# 06](06_overlap_and_scaling.ipynb).
