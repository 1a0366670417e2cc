# %% [markdown] slideshow={"slide_type": "slide"}
# # 04 · Parameter server: what does the middleman cost?
#
# After this you can
#
# - write down the bytes on a server's NIC and the seconds of a step before anything runs
# - say where a server is "40 to 50 % efficient", and where it is not
# - partition a model over shards, and say how many servers so many workers need
#
# Part 1 takes 21 minutes, part 2 takes 19; plan twice that if you try everything. Needs: 5
# processes, no GPU. You should have met the gradient's partial sums in [lecture
# 02](02_map_reduce.ipynb) and data parallelism in [lecture 03](03_data_parallelism.ipynb). Then:
# the [exercises](../exercises/04_parameter_server.ipynb), in which you write the server, and
# [lecture 05](05_allreduce.ipynb), which does without it.

# %% tags=["set-up"]
# Set-up: imports, a task, a synthetic model
import tempfile
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist

from course_lib import networks, run
from course_lib.costs.server_step import bandwidth_for, server_step_s
from course_lib.data.digits import load_digits
from course_lib.lectures import lecture_04
from course_lib.lectures.price_sheet import prices_so_far
from course_lib.measure import one_step
from course_lib.models.mlp import mlp
from course_lib.models.stand_in import StandIn
from course_lib.schemes import (
    data_parallel,
    parameter_server,
    sharded_data_parallel,
    sharded_parameter_server,
    train,
)
from course_lib.schemes.parameter_server import serve, work
from course_lib.training import Plan
from course_lib.training.shards import length, shards_by_name, shards_by_size, shards_evenly
from course_lib.viz import chart, claim, explore, knob, player, predict, source, table, timeline

SEED = 4  # seed of every random number below
digits = load_digits()
X, y = digits.X_train, digits.y_train
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.3, momentum=0.9, batch_size=64, epochs=2, seed=1)
ALEXNET = {
    "conv1": 34_944, "conv2": 307_456, "conv3": 885_120, "conv4": 663_936, "conv5": 442_624,
    "fc6": 37_752_832, "fc7": 16_781_312, "fc8": 4_097_000,
}  # fmt: skip

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 40 minutes</summary>
#
# Run all cells before class. Part 1 is 21 minutes, part 2 is 19; the questions at the end are
# homework. Leave out "The same with torch.distributed" (1) and "How many servers" (2), and there
# are 3 for a game: one student is the server, five others hand over slips of paper. The queue forms
# by itself (*incast*). "large" under a picture makes it legible from the last row. Run "On this
# computer" live.
#
# Common misconceptions: "synchronous means at the same time" (it means waiting for all); "a server
# is 40 % efficient" (which one?); "ten shards are ten times as fast" (until the workers' NICs are
# full).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · One server
#
# ## Somebody in the middle
#
# One rank, the *parameter server*, keeps the model. In each step every worker fetches the
# parameters, computes the gradient over its part of the batch, and pushes it. The server waits for
# all of them, adds up, and takes the step.
#
# Our sources do not agree about it. Three build on parameter servers, as if there were nothing
# else; two warn that they are the bottleneck. Both are right, for different numbers: this lecture
# finds out which. First the algorithm. The server's loop:

# %%
source(serve, part="for _")

# %% [markdown]
# and a worker's. (`comm.compute` and `comm.note` only write down what the pictures show.)

# %%
source(work, part="for examples")

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: somebody in the middle, 4 minutes</summary>
#
# Ask where the waiting is: the second `for` of the server, a `recv` from each worker. Ask what
# would happen if it took whoever comes first: another algorithm (end of part 2). Then play two
# steps; let the class say why the four gradients arrive one after the other.
# </details>

# %% [markdown]
# It trains what one process trains, to 1e-12 (see "How we know"). So the question is the price.
# Watch two steps; press *play*. Four models go out one after another, so the workers finish one
# after another, and each push waits until the server asks for it. All eight vectors pass one *NIC*,
# the server's plug to the network. (Had all four come at once, they would queue there: *incast*.)

# %%
brief = replace(plan, batch_size=32, epochs=1)
two_steps = run(parameter_server, model, X[:64], y[:64], brief, workers=5, backend="simulated")
player(two_steps.trace, "star", roles={0: "server"}, moments=2, title="A server, four workers")

# %% tags=["how-we-know"]
# How we know: a server and four real workers hold the model of one process; it can read digits
served = run(parameter_server, model, X, y, replace(plan, epochs=8), workers=5).values
alone = train(model, X, y, replace(plan, epochs=8)).w
assert max(np.abs(value.w - alone).max() for value in served) < 1e-12
assert np.mean(model.predict(served[0].w, digits.X_test) == digits.y_test) > 0.95

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What passes through the server's NIC?
#
# From here on we use a *synthetic* model: AlexNet's layers at a thousandth of their size, no
# arithmetic, the real message pattern. `one_step` simulates two steps and four; half the difference
# is a step.
#
# P workers, n bytes of parameters. With a *dedicated* server, which only serves, and four workers:
# how many vectors of n bytes pass through the server's NIC in a step, in and out together?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the NIC, 3 minutes</summary>
#
# Vote before the table: 4, 5, 8 or 10 vectors? Most forget one direction. Then drag the slider from
# 2 to 16 and say only one sentence: the server's bar grows with the workers, the ring's stops at
# two. The bar in the middle is the promise of part 2.
# </details>

# %%
paper = StandIn.of({name: n // 1000 for name, n in ALEXNET.items()}, flops_per_example=4.3e6)
n_bytes = 8 * paper.n_parameters  # 487,688
guess_vectors = predict("Four workers: how many vectors pass through the server's NIC?", "vectors")
guess_vectors

# %%
step = one_step(parameter_server, paper, workers=4, batch=32)
guess_vectors.compare((step.into[0] + step.out[0]) / n_bytes)

# %%
table({
    ("server", "worker 1", "worker 2", "worker 3", "worker 4")[rank]:
    {"vectors in": step.into[rank] / n_bytes, "vectors out": step.out[rank] / n_bytes}
    for rank in range(5)
})  # fmt: skip

# %% [markdown]
# 2P: four gradients in, four models out. A server need not be dedicated: it may be a worker as
# well, on rank 0. Then 2(P − 1) vectors pass its NIC. Compare it with a *ring* (lecture 05), in
# which every NIC sends and receives $\frac{2(P-1)}{P}$ vectors at the same time. Move the slider
# (from here on P counts all ranks): for how long is the busiest NIC occupied? (No latency here, and
# computing takes no time.)

# %%
free = replace(networks.ethernet_10g, latency_s=0.0, flops_per_s=1e18)
explore(
    lambda P: chart(
        lecture_04.busiest_nic(paper, P, free), x_range=(0, 30), x_label="vectors, one by one"
    ),
    P=knob([2, 4, 8, 16], start=4),
)

# %% tags=["how-we-know"]
# How we know: the formulas, in virtual time; the server adds up all gradients itself
assert n_bytes == 487_688
assert (step.into[0], step.out[0]) == (4 * n_bytes, 4 * n_bytes)
for P in (2, 4, 8, 16):
    vectors = lecture_04.busiest_nic(paper, P, free)
    assert np.isclose(vectors["one server"], 2 * (P - 1), rtol=1e-3)
    assert np.isclose(vectors["a ring"], 2 * (P - 1) / P, rtol=1e-2)
    assert np.isclose(vectors["a shard on every rank"], 2 * (P - 1) / P, rtol=1e-2)

# %% [markdown]
# From 4 to 8 to 16 ranks the server's time a little more than doubles; next to nothing is added on
# the ring. With eight ranks it is 14 vectors against 1.75. (The bar in the middle is part 2's.)

# %%
claim("1.10")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How long does a step take?
#
# The timeline has all of it: four workers with eight examples each, on ten-gigabit Ethernet.
# Hatched is waiting. Press *play*, and find the chain of events that the step had to wait for;
# then switch the critical path on.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: how long, 5 minutes</summary>
#
# Let them find the two candidates: rank 4, which is fetched last, and rank 1, after whose gradient
# three more must come in. Only then switch on the critical path. The formula on the next slide
# should be dictated by the class.
# </details>

# %%
batch = np.zeros((32, 1)), np.zeros(32)
chain = run(parameter_server, paper, *batch, Plan(batch_size=32), workers=5, backend="simulated")
timeline(chain.trace, title="One step, and the last fetch")

# %% [markdown]
# While the server still sends to rank 4, rank 1 computes already. So a step is the longer of two
# chains, with $T_c$ for a gradient and $T_u$ for the update:
#
# - *computing*: rank 1 fetches, computes, and waits for all P pushes: $T_c + (P + 1)(\alpha +
#   n\beta)$ (a push of more than 16 KB waits for its receive: hence an α each);
# - *the NIC*: P vectors out, P in, without a pause: $2P\,n\beta + P\alpha$.
#
# $T_{step}$ is the longer one, plus $T_u$. *Efficiency* is the part of a step in which a worker
# computes, $E = T_c / T_{step}$. Predict ours: eight workers with eight examples each ($T_c$ = 3.44
# ms), $n\beta$ = 0.39 ms, α = 0.02 ms.

# %%
guess_percent = predict("Eight workers on ten-gigabit Ethernet: how efficient?", "%")
guess_percent

# %%
ethernet = networks.ethernet_10g
alpha, beta = ethernet.latency_s, ethernet.beta_s_per_byte
gradient_s = 8 * paper.flops_per_example / ethernet.flops_per_s
eight = one_step(parameter_server, paper, workers=8, batch=64)
guess_percent.compare(round(100 * gradient_s / eight.seconds))

# %% tags=["how-we-know"]
# How we know: both chains, in virtual time, to nine digits; the numbers in the question
update_s = 2 * paper.n_parameters / ethernet.flops_per_s
for P in (1, 2, 4, 8, 16, 32):
    ours = server_step_s(P, n_bytes, gradient_s, update_s, alpha, beta)
    assert np.isclose(ours, one_step(parameter_server, paper, workers=P, batch=8 * P).seconds)
assert (round(1e3 * gradient_s, 2), round(1e3 * n_bytes * beta, 2), alpha) == (3.44, 0.39, 20e-6)
assert round(100 * gradient_s / eight.seconds) == 48

# %% [markdown] slideshow={"slide_type": "slide"}
# ## "40 to 50 % efficient"
#
# One of our sources has a number: parameter servers have 40 to 50 % scaling efficiency, "so you
# lose half the power". Ours is 48 %: to the letter. And every other number as well! Move bandwidth
# and examples, and look where the curve for one server meets the shaded band. The single points are
# published trainings, each with a model and servers of its own.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 40 to 50 %, 5 minutes</summary>
#
# First ask: what must change for 10 %? (2 examples a worker, 13 %; or 1 Gbit/s, 5 %.) For 95 %? (32
# examples and 100 Gbit/s, 96 %.) So "a server is 40 % efficient" asks for: which one? Then move one
# slider at a time. Switch to "all
# machines": with a server for each worker half the machines only serve, and the curve drops by
# half. The published numbers count GPUs, and no servers.
# </details>


# %%
def efficiency(gbit, examples, of):
    """Of one server and of more, over the number of workers."""
    return lecture_04.efficiency_chart(gbit, examples * gradient_s / 8, of, n_bytes)


explore(
    efficiency, gbit=knob([1, 10, 25, 100], label="bandwidth", unit="Gbit/s", start=10),
    examples=knob([2, 8, 32, 128], label="examples a worker", start=8),
    of=knob(["workers", "all machines"], label="efficiency of"),
)  # fmt: skip

# %% [markdown]
# Where *exactly* is it 45 %? Both chains can be solved for β. Each curve below says which bandwidth
# makes one server 10, 45 or 90 % efficient. Follow the middle one: 16 workers need twice the
# bandwidth of 8. A curve ends where the latencies alone take too long.

# %%
lecture_04.bandwidth_chart((0.10, 0.45, 0.90), gradient_s, n_bytes)

# %% tags=["how-we-know"]
# How we know: at the solved bandwidths a simulated step is as efficient as was asked for
needs = {}
for wanted, P in ((0.10, 8), (0.45, 8), (0.45, 16), (0.45, 32), (0.90, 8)):
    needs[wanted, P] = bandwidth_for(wanted, P, n_bytes, gradient_s, update_s, alpha)
    there = replace(ethernet, bandwidth_bytes_per_s=needs[wanted, P])
    took = one_step(parameter_server, paper, workers=P, batch=8 * P, network=there).seconds
    assert np.isclose(gradient_s / took, wanted, rtol=1e-6)
assert 1.9 < needs[0.45, 16] / needs[0.45, 8] < 2.2

# %%
claim("1.12")

# %% [markdown]
# The number is a watershed, too: the two chains are equally long where $E \approx
# \frac{P-1}{2P}$, a little below one half. Below it the server's NIC never rests, and faster
# workers only wait longer.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## And on this computer?
#
# Inside one computer there is no NIC: a message is a copy in memory. So we put a narrow link in
# front of each real process: it lets 100 MB/s through, each way, and makes whoever wants more sleep
# (a *token bucket* that never saves up a burst). The model has 2 MB, so a vector takes 20 ms.
# Before you run it: how do the two curves go on from 2 to 8 workers?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: on this computer, 4 minutes</summary>
#
# Draw the two curves as the class predicts them, then run the cell live. Then take the link away:
# both copy the same bytes through the same memory, and with fewer cores than ranks each extra
# message costs a context switch; the ring has more of them. Where the server's NIC is not the
# bottleneck, nothing is gained by avoiding it.
# </details>

# %%
source(lecture_04.TokenBucket.take)

# %% tags=["nbval-ignore-output"]
two_mb = StandIn.of({"fc": 250_000}, flops_per_example=0)
rivals = {"a server": parameter_server, "a ring": data_parallel}
measured = lecture_04.throttled_steps(rivals, two_mb, [2, 4, 8], bytes_per_s=100e6)
chart(measured, x_label="workers, real processes", y_label="ms a step", y_range=(0, 600))

# %% [markdown]
# Measured on the computer that ran this; yours shows other numbers and the same picture. The
# server's step grows with the workers, 40 ms for each of them at least. The ring's links need less
# than 2 vectors, 40 ms; what comes on top is your cores' work, with eight processes on two cores
# more than that again. **Change it and run it again:** take the link away (`bytes_per_s=1e12`). Who
# is faster then, and why?
#
# <details><summary>Answer</summary>
#
# Often the server: both copy the same bytes through one memory, and the ring has more messages,
# each with a switch from one process to another. </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Many servers
#
# ## Ten servers instead of one
#
# DistBelief (Dean and others 2012) cut the model up: S servers, each with a *shard* of the
# parameters. A worker fetches all shards, each from its server, and pushes the parts of its
# gradient to them. Press *play* with one server, then with two, then with three: for whom do the
# workers wait?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: ten servers, 3 minutes</summary>
#
# Play with one server, then with three. With one, six workers wait for the same rank; with three,
# each of them talks to all three servers and the waiting shrinks. Let them compute the answer to
# the question: a tenth of n, ten times.
# </details>


# %%
def with_servers(S):
    """A step of six workers, with S servers above them."""
    given = paper, np.zeros((6, 1)), np.zeros(6), Plan(batch_size=6)
    shards = shards_evenly(paper.n_parameters, S)
    made = run(sharded_parameter_server, *given, shards, workers=S + 6, backend="simulated")
    roles = dict.fromkeys(range(S), "server")
    return player(made.trace, places=lecture_04.rows_of(S, 6), roles=roles, moments=1)


explore(with_servers, S=knob([1, 2, 3], label="servers"))

# %% [markdown]
# Ten workers and ten shards of equal length: how many bytes come into one server's NIC in a step?
# (n = 487,688 bytes.)

# %%
guess_shard = predict("Ten workers, ten shards: how many bytes come into one server?", "bytes")
guess_shard

# %%
ten = one_step(sharded_parameter_server, paper, workers=10, batch=80, servers=10)
guess_shard.compare(round(max(ten.into[:10])))

# %% [markdown]
# A tenth of the model, from ten workers: one vector's worth. The single server had ten. But equal
# length cuts through layers.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Layers are not alike
#
# Systems that keep layers whole need a rule. A *hash* of the layer's name gives a number that looks
# random, and is the same on every machine: nobody has to keep a table. Or a table is made: the
# largest layer first, each to the shard that has least so far, *greedy*. AlexNet has eight layers.
# How much of it does the fullest of ten shards get, in percent?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: layers, 4 minutes</summary>
#
# Most say 10 to 20 %. Give the sizes of the layers only after the vote (fc6 has 37.8 of 61
# million). Then ask what could be done: cut fc6 (ranges of parameters, Li and others 2014). Before
# the last chart: who expects a tenth of the time from ten equal shards?
# </details>

# %%
guess_fullest = predict("AlexNet hashed to ten shards: the fullest has how much?", "%")
guess_fullest

# %%
by_name = [length(shard) / paper.n_parameters for shard in shards_by_name(paper.layers, 10)]
guess_fullest.compare(round(100 * max(by_name)))

# %%
blocks = StandIn.of({f"block{k}": 1000 for k in range(1, 25)}, flops_per_example=1e6)
models = {"AlexNet": paper, "24 equal blocks": blocks}
rules = {"hash": shards_by_name, "greedy": shards_by_size, "equal length": lecture_04.evenly}
explore(lambda net, rule: lecture_04.fullest_shard(rules[rule], models[net]),
        net=list(models), rule=list(rules))  # fmt: skip

# %% [markdown]
# One layer, *fc6*, holds 62 % of AlexNet's parameters. While layers stay whole no rule can do
# better. This hash happens to be as good as the table; every other hash would put some layer to it.
# Equal blocks are another matter: by hash one shard gets five of 24 blocks, by the table three.
# (Greedy is never more than $\frac43$ of the best: Graham 1969.) The cure for *fc6* is to cut it.
#
# Below, ten workers: by hash nothing is gained beyond four shards. Equal ones go on helping, but
# ten are 1.7 times as fast, not ten: the gradient takes 3.4 ms, and a worker's own NIC carries two
# vectors, as before.

# %% name="one-to-ten"
shards = range(1, 11)
took = {"hash": [], "equal length": []}
for S in shards:
    cut = shards_by_name(paper.layers, S), shards_evenly(paper.n_parameters, S)
    for name, parts in zip(took, cut, strict=True):
        step = one_step(sharded_parameter_server, paper, workers=10, batch=80, shards=parts)
        took[name].append((S, 1e3 * step.seconds))
took["computing alone"] = [(1, 1e3 * gradient_s), (10, 1e3 * gradient_s)]
chart(took, x_label="shards", x_ticks=shards, y_label="ms a step", y_range=(0, 10),
      title="Ten workers", reference="computing alone")  # fmt: skip

# %% [markdown] slideshow={"slide_type": "slide"}
# ## As many shards as workers
#
# Why stop at servers of their own? Let every rank be worker *and* server of a shard. One of our
# sources says what will happen with several servers: "your bottleneck will be the network".
#
# Every rank gets its shard of the summed gradient (*reduce-scatter*), steps it, and gets the other
# shards (*all-gather*):

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: as many shards as workers, 3 minutes</summary>
#
# The sentence to close with: an all-reduce is P servers with a shard each. Those who know ZeRO will
# ask: yes, this is its stage 1. Show of the code the two collectives and the line between them.
# </details>

# %%
source(sharded_data_parallel, part="for examples")

# %% [markdown]
# How many vectors does a NIC send in a step, with eight ranks? (The ring sent 1.75.)

# %%
guess_sharded = predict("Eight ranks, a shard on each: what does a NIC send?", "vectors")
guess_sharded

# %%
sharded = one_step(sharded_data_parallel, paper, workers=8, batch=64)
guess_sharded.compare(round(max(sharded.out) / n_bytes, 2))

# %% tags=["how-we-know"]
# How we know: a tenth each; 62 %, 5 and 3 of 24; equal shards go on helping; a ring's bytes, time
assert max(ten.into[:10]) < 1.001 * n_bytes
fullest = {
    (net, rule): max(length(s) for s in shards_of(models[net].layers, 10))
    for net in models for rule, shards_of in rules.items()
}  # fmt: skip
assert {round(fullest["AlexNet", rule] / paper.n_parameters, 2) for rule in ("hash", "greedy")} == {
    0.62
}
assert [fullest["24 equal blocks", rule] for rule in ("hash", "greedy")] == [5000, 3000]
equal, hashed = (dict(took[name]) for name in ("equal length", "hash"))
assert round(equal[1] / equal[10], 1) == 1.7
assert hashed[4] < 1.02 * min(hashed.values())
assert min(hashed.values()) > 1.2 * equal[10]
ring = one_step(data_parallel, paper, workers=8, batch=64)
assert np.allclose(sharded.out, 1.75 * n_bytes, rtol=1e-3)
assert np.allclose(sharded.out, ring.out, rtol=1e-3)
assert abs(sharded.seconds / ring.seconds - 1) < 0.01

# %% [markdown]
# A ring's bytes: 1.75 vectors. An all-reduce *is* P servers with a shard each. (With the
# optimizer's state kept in shards, too, the scheme is ZeRO, stage 1: Rajbhandari and others 2020.)
# So the quarrel between "servers" and "all-reduce" is one about a number: how many shards. On the
# price sheet, 1 MB and four ranks, it costs what the ring costs, also by your own α and β:

# %% tags=["nbval-ignore-output"] name="price-sheet"
prices_so_far(lecture=4)

# %%
claim("1.11")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same with torch.distributed
#
# PyTorch's words for one server: `broadcast` what it has, `reduce` what the workers have. Five real
# processes over gloo, the same batches. (`comm` only starts them and says who is who.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: torch.distributed, 1 minute</summary>
#
# Show the three calls (broadcast, reduce, step) and the result below; no more. Students who use
# PyTorch recognise DDP's counterpart: there is no server in it.
# </details>


# %%
def torch_server(comm, store):
    """A parameter server and its workers: rank 0 serves."""
    dist.init_process_group("gloo", f"file://{store}", rank=comm.rank, world_size=comm.size)
    w, velocity = torch.tensor(model.initial(plan.seed)), 0
    for mine, weight in plan.shares(len(y), max(comm.rank - 1, 0), comm.size - 1):
        dist.broadcast(w, src=0)
        grad = weight * torch.tensor(model.gradient(w.numpy(), (X[mine], y[mine]))[1])
        if comm.rank == 0:
            grad, velocity = torch.zeros_like(w), plan.momentum * velocity
        dist.reduce(grad, dst=0)
        velocity = velocity + grad
        w -= plan.learning_rate * velocity
    dist.broadcast(w, src=0)
    dist.destroy_process_group()
    return w.numpy()


# %% name="rosetta"
with tempfile.TemporaryDirectory() as folder:
    theirs = run(torch_server, f"{folder}/store", workers=5).values
ours = run(parameter_server, model, X, y, plan, workers=5).values
apart = max(np.abs(w - value.w).max() for w, value in zip(theirs, ours, strict=True))
{"gloo's parameters are ours to 1e-12": bool(apart < 1e-12)}

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Synchronous, asynchronous
#
# Now one worker is half as fast, a *straggler*. Two loops of a server: the first waits for all
# gradients of the step, the second answers whoever comes. (Lecture 09 is about the second.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: synchronous, asynchronous, 3 minutes</summary>
#
# Show the two loops side by side and ask which line differs: from whom the server receives. Then
# the two timelines: above, three workers wait for the straggler; below, nobody does. Leave
# staleness to lecture 09.
# </details>

# %%
source(lecture_04.waits_for_all, part="for _")

# %%
source(lecture_04.answers_each, part="for _")

# %%
slow, steps = ethernet.with_straggler(3, factor=2), 4
by_step = run(lecture_04.waits_for_all, steps, workers=4, backend="simulated", network=slow)
at_will = run(lecture_04.answers_each, steps, workers=4, backend="simulated", network=slow)
timeline({"waits for all": by_step.trace, "answers each": at_will.trace})

# %% [markdown]
# "Training is synchronous if all workers communicate with the servers at the same time", says one
# source. Look at the upper picture: the pushes are more than a millisecond apart. And if all
# workers are equally fast, the asynchronous ones push at the same instant:

# %% name="simultaneous"
alike = {
    "waits for all, a straggler": (lecture_04.waits_for_all, slow),
    "answers each, all alike": (lecture_04.answers_each, ethernet),
}
made = {
    name: run(server, steps, workers=4, backend="simulated", network=network)
    for name, (server, network) in alike.items()
}
right = run(lecture_04.waits_for_all, steps, workers=4, backend="simulated", network=ethernet)
table({
    name: {"first pushes lie apart, ms": round(lecture_04.spread_ms(each), 2),
           "the synchronous model": bool(np.array_equal(each.values[0], right.values[0]))}
    for name, each in made.items()
})  # fmt: skip

# %%
claim("1.9")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What does waiting for all cost?
#
# The server's loop of receives is a *barrier*: all wait for the last. Suppose a gradient takes a
# random time, exponential, one millisecond on average. With one worker a step takes a millisecond.
# With a thousand?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: waiting, 3 minutes</summary>
#
# Votes go from 1 to 1,000. The argument: the first of P is done after 1/P on average, the next
# 1/(P − 1) later, and so on. Ask what one could do: start a few workers more than one waits for
# (Chen and others 2016).
# </details>

# %%
guess_slowest = predict("A thousand workers: how long is a step, on average?", "milliseconds")
guess_slowest

# %%
runs = {1: 4000, 10: 400, 100: 200, 1000: 60}  # how many steps of so many workers
waited = [(P, lecture_04.step_of_slowest_ms(P, steps, SEED)) for P, steps in runs.items()]
harmonic = [(P, float(np.sum(1 / np.arange(1, P + 1)))) for P in runs]
guess_slowest.compare(round(waited[-1][1], 1))

# %%
chart({"simulated": waited, "1 + 1/2 + … + 1/P": harmonic}, x_log=True, x_ticks=list(runs),
      x_label="workers", y_label="ms a step", y_range=(0, 8))  # fmt: skip

# %% tags=["how-we-know"]
# How we know: who pushes when; waiting within four standard errors (the deviation is below 1.29)
spreads = [lecture_04.spread_ms(each) for each in made.values()]
assert spreads[0] > 1
assert spreads[1] == 0
assert [np.array_equal(each.values[0], right.values[0]) for each in made.values()] == [True, False]
for (P, took_ms), (_, expected) in zip(waited, harmonic, strict=True):
    assert abs(took_ms - expected) < 4 * 1.29 / np.sqrt(runs[P])
assert round(harmonic[-1][1], 1) == 7.5
for examples in (1, 2, 8, 32):
    rates, chosen = lecture_04.gradients_a_second(paper, 12, examples, ethernet)
    assert rates[chosen] > 0.93 * max(rates.values())

# %% [markdown]
# The slowest of P takes $1 + \frac12 + \dots + \frac1P$ on average, about $\ln P + 0.58$: 7.5 for a
# thousand. They compute a thousand times as much, and each step takes 7.5 times as long.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How many servers for how many workers?
#
# One source leaves it open. Of twelve computers S serve, $P = 12 - S$ work. A step takes at most
# $T_c + 2\frac{P}{S}n\beta$ while $S \le P$. The most gradients a second are
#
# $$\frac{P}{T_c + 2\frac{P}{S}n\beta} = \frac{1}{\frac{T_c}{P} + \frac{2n\beta}{S}}
# \quad\Rightarrow\quad \frac{S}{P} = \sqrt{\frac{2n\beta}{T_c}}.$$
#
# Move the slider: the more a worker computes, the fewer servers it needs. **Change it and run it
# again:** put `networks.ethernet_100g` in its place.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: how many servers, 2 minutes</summary>
#
# Drag the slider from 1 to 32 examples and watch the best number fall. The formula's ratio S/P does
# not know how many computers there are. Can be left out.
# </details>

# %%
explore(lambda examples: lecture_04.best_number(paper, 12, examples, ethernet),
        examples=knob([1, 2, 8, 32], label="examples a worker", start=2))  # fmt: skip

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** A dedicated server and 20 workers, 100 MB of parameters, NICs of 1.25 GB/s. How
# long is the server's NIC occupied in a step? What is the shortest step you can hope for?
#
# <details><summary>Answer</summary>
#
# 2 × 20 × 100 MB = 4 GB, at 1.25 GB/s 3.2 s: 20 vectors out, then 20 in. No step is shorter,
# however fast the gradients are. With a shard on each of the 20 workers: 2 × 19/20 × 100 MB = 190
# MB, 0.152 s.
# </details>

# %% [markdown]
# **Question 2.** Your server is 30 % efficient. Would you rather double the bandwidth, or take
# workers that compute twice as fast?
#
# <details><summary>Answer</summary>
#
# 30 % is below $\frac{P-1}{2P}$, so the server's NIC never rests: the step takes $2Pn\beta$. Faster
# workers wait longer, nothing else. Twice the bandwidth makes the step 1.6 to 1.8 times as fast:
# then computing is the longer chain. (A second server does as much.) </details>

# %% [markdown]
# **Question 3.** "We went from 1 to 10 shards by layer name, and the busiest server has only 1.6
# times less to carry." Which two numbers do you ask for?
#
# <details><summary>Answer</summary>
#
# The size of the largest layer: the fullest shard cannot be smaller. And how many shards got no
# layer at all. Here the fullest had 62 % of the model: $\frac{1}{0.62} \approx 1.6$.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Chen and others 2016, *Revisiting distributed synchronous SGD*. Dean and others 2012, *Large scale
# distributed deep networks*. Graham 1969, *Bounds on multiprocessing timing anomalies*. Li and
# others 2014, *Scaling distributed machine learning with the parameter server*. Murray 2016,
# *Announcing TensorFlow 0.8*. Rajbhandari and others 2020, *ZeRO: memory optimizations toward
# training trillion parameter models*. Sergeev, Del Balso 2018, *Horovod*, arXiv:1802.05799.
# Vogels 2016, *MXNet: deep learning framework of choice at AWS*.
# </details>

# %% [markdown]
# ## What to remember
#
# - A server's NIC is occupied for 2P vectors a step, a ring's for $\frac{2(P-1)}{P}$; a step is the
#   longer of two chains.
# - "40 to 50 %" belongs to a model, a batch, a network and a number of workers. Below
#   $\frac{P-1}{2P}$ the server's NIC never rests.
# - With a shard on every rank, servers *are* an all-reduce. Synchronous means waiting for all, not
#   the same moment.
#
# Next: the [exercises](../exercises/04_parameter_server.ipynb), then [lecture
# 05](05_allreduce.ipynb). Before: [lecture 03](03_data_parallelism.ipynb).
