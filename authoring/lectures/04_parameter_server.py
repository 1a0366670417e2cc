# %% [markdown] slideshow={"slide_type": "slide"}
# # 04 · Parameter server: what does the middleman cost?
#
# After this you can
#
# - write down the bytes on a server's card and the seconds of a step before anything runs
# - find the bandwidth at which a server is 45 % efficient, and settings in which it is not
# - share the model out over shards, and say how many servers so many workers need
#
# 40 minutes. Needs: 5 processes, no GPU. You should have met the gradient's partial sums in lecture
# 02; rings and direct sums are lecture 05's.

# %%
from dataclasses import replace
from fractions import Fraction

import numpy as np

SEED = 4  # seed of every random number below

# %%
from course_lib import networks, run
from course_lib.collectives import ALLREDUCES, alltoall
from course_lib.costs.server_step import bandwidth_for, best_servers, server_step_s
from course_lib.data.digits import load_digits
from course_lib.measure import one_step, real_step_s
from course_lib.models.mlp import mlp
from course_lib.models.stand_in import StandIn
from course_lib.schemes import (
    data_parallel,
    parameter_server,
    parameter_server_on_worker,
    sharded_data_parallel,
    sharded_parameter_server,
    train,
)
from course_lib.schemes.parameter_server import serve, work
from course_lib.training import Plan
from course_lib.training.shards import length, shards_by_name, shards_by_size, shards_evenly
from course_lib.viz import bars, curve, player, source, timeline
from course_lib.viz.prediction import predict

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: timing, misconceptions</summary>
#
# Timing: the server's step 7 minutes, its card and its clock 10, efficiency 7, shards 9, barrier 5,
# how many servers 4. Let one student be the server and five others hand over slips of paper: the
# queue forms by itself.
#
# Common misconceptions: "synchronous means at the same time" (it means waiting for all); "a server
# is 40 % efficient" (which server, on which network?); "ten shards are ten times as quick" (only
# until the workers' own cards are full); "shards are equal because their number of layers is".
#
# If time is short, leave out the real processes' times and the machines with a part of the model.
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Somebody in the middle
#
# One rank, the *parameter server*, keeps the model. In each step every worker fetches the
# parameters, computes the gradient over its part of the batch, and pushes it. The server waits for
# all of them, adds up, and takes the step.
#
# Three sources speak of it: *the overview*, notes on distributed learning; *the blog post* on
# frameworks; and *the slides* of "lecture 22". We settle rows 1.9 to 1.12, 2.16, 2.17, 4.5, 4.6 and
# 4.12 of the claims ledger, `docs/claims.json`. Here is all of it, as it runs in both worlds:

# %%
source(serve)

# %%
source(work)

# %% [markdown]
# First it should work. A perceptron learns to read digits: one *dedicated* server, which only
# serves, and four workers. Then one process with the same batches. Do the two end with the same
# model?

# %%
digits = load_digits()
X, y = digits.X_train, digits.y_train
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.3, momentum=0.9, batch_size=64, epochs=8, seed=1)

# %%
alone = train(model, X, y, plan)
served = run(parameter_server, model, X, y, plan, workers=5)
print(served)

# %%
off = max(np.abs(value.w - alone.w).max() for value in served.values)
right = (model.predict(served.values[0].w, digits.X_test) == digits.y_test).mean()
print("all five ranks hold the model of one process, to 1e-12:", off < 1e-12)
print("reached 95 % on the test images:", right >= 0.95)
assert off < 1e-12
assert right >= 0.95

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Watch two steps
#
# The gradients of one step fall into the server's card one after the other. Only when the last has
# come do the new parameters go out. Press play.

# %%
brief = replace(plan, batch_size=32, epochs=1)
two_steps = run(parameter_server, model, X[:64], y[:64], brief, workers=5, backend="simulated")
roles = {0: "server"}
player(two_steps.trace, layout="star", roles=roles, moments=3, title="A server, four workers")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What passes through the server's card?
#
# From here on we train *on paper*: a model with the layers of AlexNet at a thousandth of their
# size, in virtual time. It has no arithmetic, so a hundred ranks take a moment, and all messages of
# the real thing. `one_step` trains for two steps and for four; half the difference is a step.
#
# $W$ workers, $n$ bytes of parameters. With a dedicated server and four workers: how many vectors
# of $n$ bytes pass through the server's card in a step, in and out together?

# %%
ALEXNET = {
    "conv1": 34_944, "conv2": 307_456, "conv3": 885_120, "conv4": 663_936, "conv5": 442_624,
    "fc6": 37_752_832, "fc7": 16_781_312, "fc8": 4_097_000,
}  # fmt: skip
paper = StandIn.of({name: n // 1000 for name, n in ALEXNET.items()}, flops_per_example=4.3e6)
N_BYTES = 8 * paper.n_parameters
print(f"{paper.n_parameters:,} parameters, n = {N_BYTES:,} bytes")

# %%
guess_vectors = predict("Four workers: how many vectors pass through the server's card?", "vectors")
guess_vectors

# %%
step = one_step(parameter_server, paper, workers=4, batch=32)
print("rank           ", *(f"{rank:4}" for rank in range(5)))
print("vectors in     ", *(f"{n_bytes / N_BYTES:4.0f}" for n_bytes in step.into))
print("vectors out    ", *(f"{n_bytes / N_BYTES:4.0f}" for n_bytes in step.out))
print(guess_vectors.compare((step.into[0] + step.out[0]) / N_BYTES))

# %% [markdown]
# $2W = 8$: four gradients in, four models out, and everything has the server at one of its ends.
# There is another way, say the slides: *all-to-all reduce*, which lecture 05 calls direct.
# Everybody sends a part of the gradient to everybody. No rank is special then. Is the result
# another one?


# %%
def trained(scheme, *options):
    """Train four workers on the digits for five steps, in virtual time."""
    few = X[:320], y[:320], replace(plan, epochs=1)
    return run(scheme, model, *few, *options, workers=4, backend="simulated")


# %% name="claim-4-5"
server = trained(parameter_server_on_worker)
direct = trained(data_parallel, ALLREDUCES["direct"])
apart = np.abs(server.values[0].w - direct.values[0].w).max()
share = {}
for name, result in (("server", server), ("direct", direct)):
    share[name] = result.trace.bytes_sent()[0] / result.trace.n_bytes
    print(f"{name}: {result.trace.n_messages:4} messages; rank 0 sends {share[name]:.0%} of all")
print("the same model after five steps, to 1e-12:", apart < 1e-12)
assert apart < 1e-12
assert share["server"] > 0.49 > 0.3 > share["direct"]

# %% [markdown]
# **The claim:** workers compute gradients on small batches and share them through a parameter
# server; an all-to-all reduce is another way to communicate.
#
# **Verdict on 4.5: right.** The model is the same, the traffic is not. The direct sum takes
# $2P(P - 1)$ messages a step, 24 with four ranks, where the server takes $2(P - 1) = 6$; but there
# no card carries more than another (Li and others 2014).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The card against a ring's
#
# A server need not be dedicated: it may *double* as worker, on rank 0. Then $2(P - 1)$ vectors pass
# its card, for $P$ ranks in all. The gradients come in first, then the parameters go out: never
# both at once. In a ring (lecture 05) every card sends and receives at the same time,
# $\frac{2(P-1)}{P}$ vectors each way. For how long is the busiest card occupied?

# %% name="claim-1-10"
free = replace(networks.ethernet_10g, latency_s=0.0, flops_per_s=1e18)
print("   P   server in + out   ring each way   on the wire, in nβ: server      ring")
for P in (4, 8, 16):
    middle = one_step(parameter_server_on_worker, paper, workers=P, network=free)
    ring = one_step(data_parallel, paper, workers=P, network=free)
    busy = (middle.into[0] + middle.out[0]) / N_BYTES, max(ring.out) / N_BYTES
    took = [s.seconds / (N_BYTES * free.beta_s_per_byte) for s in (middle, ring)]
    print(f"{P:4} {busy[0]:13.2f} n {busy[1]:13.2f} n {took[0]:27.2f} {took[1]:10.2f}")
    assert np.allclose(took, [2 * (P - 1), 2 * (P - 1) / P], rtol=1e-3)

# %% [markdown]
# With eight ranks the ring needs $\frac{14}{8} = 1.75\,n\beta$, the server $14\,n\beta$. Twice the
# ranks are twice the time at the server, and next to nothing more on the ring.
#
# **The claim:** one parameter server is the bottleneck, capped by the machine and by the network.
#
# **Verdict on 1.10: right.** Its card carries $2(P - 1)\,n$ ($2Wn$ when dedicated), everybody
# else's $2n$; and it alone adds up all gradients (Li and others 2014). The transcript of lecture 05
# says the same: row 3.22.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How long does a step take?
#
# All of it is on the timeline: four workers with eight examples each, on ten-gigabit Ethernet.
# Hatched is waiting. Find the chain of events that the step had to wait for.

# %%
batch = np.zeros((32, 1)), np.zeros(32)
chain = run(parameter_server, paper, *batch, Plan(batch_size=32), workers=5, backend="simulated")
timeline(chain.trace, title="One step, and the last fetch", critical_path=True)

# %% [markdown]
# While the server still sends to rank 4, rank 1 computes already. So the step is the longer of two
# chains:
#
# - *computing*: rank 4 waits for all four fetches, computes, and pushes (black); rank 1 fetches
#   once, computes, and waits for all four pushes. Either way $W + 1$ transfers and a gradient:
#   $T_c + (W + 1)(\alpha + n\beta)$;
# - *the card*: $W$ vectors out, $W$ in, without a pause: $2W\,n\beta + W\alpha$.
#
# And the update $T_u$: two operations a parameter. (Large messages wait for their receive; hence an
# $\alpha$ for each push.)


# %%
source(server_step_s)

# %%
ethernet = networks.ethernet_10g
alpha, beta = ethernet.latency_s, ethernet.beta_s_per_byte
compute_s = 8 * paper.flops_per_example / ethernet.flops_per_s
update_s = 2 * paper.n_parameters / ethernet.flops_per_s
print(f"T_c = {compute_s * 1e3:.2f} ms, nβ = {N_BYTES * beta * 1e3:.3f} ms, α = {alpha * 1e3} ms")

# %% name="step-time"
print("   W      formula    simulated")
for W in (1, 2, 4, 8, 16, 32):
    ours = server_step_s(W, N_BYTES, compute_s, update_s, alpha, beta)
    ran = one_step(parameter_server, paper, workers=W, batch=8 * W).seconds
    print(f"{W:4} {ours * 1e3:9.3f} ms {ran * 1e3:9.3f} ms")
    assert np.isclose(ours, ran, rtol=1e-9)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## "40 to 50 % efficient"
#
# What part of the step does a worker compute? That is the *efficiency*: with $T_{comm} = T_{step} -
# T_c$,
#
# $$E = \frac{T_c}{T_c + T_{comm}}$$
#
# The overview has a number for it: parameter servers have 40 to 50 % scaling efficiency, "so you
# lose half the power". Predict ours: eight workers, eight examples each, ten-gigabit Ethernet.

# %%
guess_percent = predict("Eight workers on ten-gigabit Ethernet: how efficient?", "%")
guess_percent


# %%
def efficiency(W, examples_each, network):
    """The part of a simulated step in which a worker computes."""
    there = {"workers": W, "batch": W * examples_each, "network": network}
    step = one_step(parameter_server, paper, **there)
    return examples_each * paper.flops_per_example / network.flops_per_s / step.seconds


# %%
presets = [networks.ethernet_1g, networks.ethernet_10g, networks.ethernet_100g]
print("workers", *(f"{net.name:>14}" for net in presets))
for W in (2, 8, 32):
    print(f"{W:7}", *(f"{efficiency(W, 8, net):14.0%}" for net in presets))
print(guess_percent.compare(round(100 * efficiency(8, 8, ethernet))))

# %% [markdown]
# So 48 %: the overview's sentence, to the letter. And every other number as well, from 1 % to 96 %,
# with the same scheme. Where *exactly* is it 45 %? We want $T_{step} = T_c / 0.45$, and solve
# both chains for $\beta$; the slower one decides:
#
# $$n\beta = \min\left(\frac{T_{step} - T_u - T_c}{W + 1} - \alpha,\;
# \frac{T_{step} - T_u - W\alpha}{2W}\right)$$


# %%
source(bandwidth_for)

# %% name="claim-1-12"
print("wanted   workers  examples each     bandwidth      simulated")
found = {}
for wanted, W, each in ((0.45, 8, 8), (0.10, 8, 8), (0.95, 8, 64), (0.45, 32, 8)):
    solved = bandwidth_for(wanted, W, N_BYTES, compute_s * each / 8, update_s, alpha)
    there = replace(ethernet, bandwidth_bytes_per_s=solved)
    found[wanted, W] = efficiency(W, each, there)
    print(f"{wanted:6.0%} {W:9} {each:14} {solved / 1e6:10,.0f} MB/s {found[wanted, W]:12.6%}")
assert all(np.isclose(E, wanted, rtol=1e-9) for (wanted, _), E in found.items())
assert {wanted for wanted, _ in found} >= {0.10, 0.45, 0.95}


# %%
def predicted(W, network):
    """The same from the formula, for any number of workers."""
    numbers = network.latency_s, network.beta_s_per_byte
    return compute_s / server_step_s(W, N_BYTES, compute_s, update_s, *numbers)


# %%
doublings = np.linspace(0, 7, 29)
lines = {net.name: [(x, predicted(2**x, net)) for x in doublings] for net in presets}
lines["45 %"] = [(0, 0.45), (7, 0.45)]
curve(lines, x_label="log2 of the number of workers", y_label="efficiency")

# %% [markdown]
# **The claim:** the parameter-server approach has 40 to 50 % scaling efficiency; you lose half the
# power you throw at it.
#
# **Verdict on 1.12: imprecise.** One measurement was turned into a law: with TensorFlow's own
# servers about half of 128 GPUs was lost (Sergeev and Del Balso 2018). The number belongs to a
# model, a batch, a network and $W$. And it is a watershed: the two chains are equally long where $E
# \approx \frac{W-1}{2W}$, a little below one half. Below, the server's card never rests, and more
# workers only wait longer.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### And on this computer?
#
# Real processes have no cards: a message is a copy in memory, made by a core. Here two or more
# cores serve five ranks. We take ten steps of a paper model of 4 MB, so that nothing but
# communication is left.


# %% tags=["nbval-ignore-output"]
half_a_million = StandIn.of({"fc": 500_000}, flops_per_example=0)
for W in (1, 2, 4):
    ms = real_step_s(parameter_server, half_a_million, workers=W) * 1e3
    print(f"a server and {W} worker(s): {ms:5.1f} ms a step")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Shards: ten servers instead of one
#
# DistBelief cut the model up: $S$ servers, each with a *shard* of the parameters. A worker fetches
# all shards, each from its server, and pushes the parts of its gradient to them. With ten workers
# and ten shards of equal length: how many bytes come into a server's card in a step? ($n$ =
# 487,688 bytes.)

# %%
guess_shard = predict("Ten workers, ten shards: how many bytes come into one server?", "bytes")
guess_shard

# %% name="claim-2-16"
ten = one_step(sharded_parameter_server, paper, workers=10, batch=80, servers=10)
stored = [8 * length(s) for s in shards_evenly(N_BYTES // 8, 10)]
print("server   bytes stored   received in a step")
for server, n_bytes in enumerate(stored):
    print(f"{server:6} {n_bytes:14,} {ten.into[server]:20,.0f}")
print(guess_shard.compare(ten.into[0]))
assert sum(stored) == N_BYTES
assert max(stored) - min(stored) <= 8
assert ten.into[:10] == [10 * n_bytes for n_bytes in stored]
assert max(ten.into[:10]) < 1.001 * N_BYTES

# %% [markdown]
# A tenth of the model, from ten workers: one vector's worth a step. The single server had ten.
#
# **The claim:** with 10 shards each is responsible for storing and applying updates to a tenth of
# the parameters.
#
# **Verdict on 2.16: right.** So it stands in the paper (Dean and others 2012), and so it is where
# shards are cut to equal length. But that cuts through layers.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Layers are not alike
#
# Systems that keep layers whole need a rule. A *hash* of the layer's name gives a number that looks
# random, the same on every machine: nobody has to keep a table. Or a table is made: the largest
# layer first, each to the shard that has least so far, *greedy*.
#
# AlexNet's eight layers, by hash, on ten shards. Predict how much of the model the fullest shard
# gets, in percent. And twenty-four blocks of equal size: what is the best that they can do?

# %%
guess_fullest = predict("Eight layers hashed to ten shards: the fullest has how much?", "%")
guess_fullest


# %%
def kept(rule, model):
    """The percentage of the model on each of ten shards."""
    return [100 * length(s) / model.n_parameters for s in rule(model.layers, 10)]


# %% name="placements"
blocks = StandIn.of({f"block{k}": 1000 for k in range(1, 25)}, flops_per_example=1e6)
rules = {"by name": shards_by_name, "by size": shards_by_size}
for name, shown in (("AlexNet", paper), ("24 blocks", blocks)):
    for words, rule in rules.items():
        percent = kept(rule, shown)
        print(f"{name:9} {words}: {np.count_nonzero(percent):2} shards used", end=", ")
        print(f"the fullest has {max(percent):.1f} %")

# %%
print(guess_fullest.compare(round(max(kept(shards_by_name, paper)))))

# %%
bars({words: kept(rule, paper) for words, rule in rules.items()}, level=10, title="AlexNet",
     x_label="shard", y_label="% of the model")  # fmt: skip

# %%
bars({words: kept(rule, blocks) for words, rule in rules.items()}, level=10, title="24 blocks",
     x_label="shard", y_label="% of the model")  # fmt: skip

# %% [markdown]
# One layer, *fc6*, holds 62 % of AlexNet's parameters. As long as layers stay whole, no rule can do
# better than that: chance is as good as the table. Equal blocks are another matter. The hash gives
# two shards five blocks each and two others one, as chance will; the table gives three at most, and
# 24 blocks on ten shards cannot do better. (Never more than $\frac43$ of the best: Graham 1969.)
#
# The cure for *fc6* is to cut it: let servers keep ranges of parameters, and not whole layers (Li
# and others 2014).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One to ten shards
#
# Ten workers. What do more servers bring, with equal shards and with layers by name?


# %%
def with_shards(shards):
    """A step of ten workers with dedicated servers, one for each shard."""
    return one_step(sharded_parameter_server, paper, workers=10, batch=80, shards=shards)


# %%
equal = [with_shards(shards_evenly(paper.n_parameters, S)) for S in range(1, 11)]
named = [with_shards(shards_by_name(paper.layers, S)) for S in range(1, 11)]
print("   S   into a server   equal length      by name")
for S, (even, odd) in enumerate(zip(equal, named, strict=True), start=1):
    print(f"{S:4} {even.into[0] / N_BYTES:13.2f} n {even.seconds * 1e3:11.2f} ms", end=" ")
    print(f"{odd.seconds * 1e3:9.2f} ms")

# %%
sweep = {
    "by name": [(S, step.seconds * 1e3) for S, step in enumerate(named, start=1)],
    "equal length": [(S, step.seconds * 1e3) for S, step in enumerate(equal, start=1)],
    "computing alone": [(1, compute_s * 1e3), (10, compute_s * 1e3)],
}
curve(sweep, x_label="shards", y_label="ms a step", title="Ten workers")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## As many shards as workers
#
# Why stop at servers of their own? Let every rank be worker *and* server of a shard. The overview
# says what will happen with several servers: then "your bottleneck will be the network". Predict
# the vectors that pass a card each way in a step, with eight ranks, and compare with a ring.
#
# Every rank gets its shard of the sum (*reduce-scatter*), steps it, and gets the other shards
# (*all-gather*). How these two are done is an argument. As servers do it, each part goes straight
# to its owner, and each shard straight to everybody.

# %%
source(sharded_data_parallel)


# %%
def push(comm, grad):
    """Send every owner its part of the gradient, and add up what has come for this rank."""
    return alltoall(comm, grad).reshape(comm.size, -1).sum(axis=0)


def fetch(comm, w_shard):
    """Send everybody the own shard."""
    return alltoall(comm, np.tile(w_shard, comm.size))


# %% name="claim-1-11"
as_servers = {"reduce_scatter": push, "allgather": fetch}
print("   P   each way: shards   all-reduce on a ring      ms: shards     ring")
for P in (2, 4, 8, 16):
    shards = one_step(sharded_data_parallel, paper, workers=P, batch=8 * P, **as_servers)
    ring = one_step(data_parallel, paper, workers=P, batch=8 * P)
    vectors = [Fraction(round(sum(s.out)), P * N_BYTES) for s in (shards, ring)]
    ms = [s.seconds * 1e3 for s in (shards, ring)]
    print(f"{P:4} {vectors[0]!s:>16} n {vectors[1]!s:>20} n {ms[0]:15.3f} {ms[1]:8.3f}")
    assert vectors[0] == vectors[1] == Fraction(2 * (P - 1), P)
    assert max(shards.into + shards.out) < 1.001 * vectors[0] * N_BYTES
    assert abs(ms[0] / ms[1] - 1) < 0.01

# %% [markdown]
# No ring is built in; still each card carries what a ring's does, to the byte, and takes its time.
# (The scheme is called ZeRO, stage 1: Rajbhandari and others 2020.)
#
# **The claim:** with several parameter servers the bottleneck will be the network.
#
# **Verdict on 1.11: imprecise.** Something is always the slowest. With $S = P$ no card carries more
# than $\frac{2(P-1)}{P}\,n$ each way, which no all-reduce undercuts (Patarasuk and Yuan 2009). With
# dedicated servers a worker's card carries only $n$ each way, about half: with spare computers as
# servers this can beat an all-reduce, if sending and fetching overlap (Jiang and others 2020). Ours
# do not.

# %% tags=["nbval-ignore-output"]
rivals = {
    "one server, on rank 0": (parameter_server_on_worker, {}),
    "a shard on every rank": (sharded_data_parallel, {}),
    "a ring": (data_parallel, {}),
}
for name, (scheme, options) in rivals.items():
    print(f"{name}: {real_step_s(scheme, half_a_million, 4, **options) * 1e3:6.1f} ms a step")

# %% [markdown]
# Do not expect the simulator's order here. Inside one computer there is no card that could be the
# bottleneck. All three copy the same $2(P - 1)\,n$ bytes in all, through the same memory, and with
# fewer cores than ranks every message more is a change of who may compute. Where the bottleneck is
# not the server's card, shards bring nothing. It takes machines with a card each.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Whom does a machine talk to?
#
# In DistBelief a replica of the model was itself spread over machines. The blog post: each machine
# communicates only with the shards that hold its partition. Two replicas, each on two machines: one
# has the convolutions, the other the rest. Four shards, greedy. How many of the 16 pairs talk?


# %%
def fetch_and_push(comm, home, partitions):
    """Every machine fetches the layers of its partition, and pushes gradients of their size."""
    for machine, layers in enumerate(partitions, start=4):
        for layer in layers:
            if comm.rank == home[layer]:
                comm.send(np.zeros(ALEXNET[layer] // 1000), machine, tag=layer)
                comm.recv(machine, tag=layer)
            elif comm.rank == machine:
                comm.send(comm.recv(home[layer], tag=layer), home[layer], tag=layer)


# %% name="claim-2-17"
shards = shards_by_size(paper.layers, 4)
home = {x.name: s for x in paper.layers for s, shard in enumerate(shards) if x.part in shard}
convolutions = [name for name in ALEXNET if name.startswith("conv")]
partitions = 2 * [convolutions, ["fc6", "fc7", "fc8"]]
split = run(fetch_and_push, home, partitions, workers=8, backend="simulated").trace
table = [[sum(m.n_bytes for m in split.between(s, w)) for s in range(4)] for w in range(4, 8)]
print("kB fetched from shard:", *(f"{s:6}" for s in range(4)))
for machine, row in enumerate(table):
    part = ("convolutions", "fully connected")[machine % 2]
    print(f"{part:>22}", *(f"{n_bytes / 1e3:6.0f}" for n_bytes in row))
assert np.count_nonzero(table) == 8
assert sum(table[0]) + sum(table[1]) == N_BYTES

# %% [markdown]
# Eight of sixteen pairs, and together the machines of a replica fetch the model once.
#
# **The claim:** each machine communicates with only those shards that hold the parameters relevant
# to its partition.
#
# **Verdict on 2.17: right** (Dean and others 2012). It takes a placement that knows the partitions:
# had each shard a piece of every layer, all would talk to all.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Synchronous, asynchronous
#
# Now one worker is half as fast. Two programs of a server: one waits for all gradients of the step;
# the other answers whoever comes. (Lecture 09 will be about the second. Here we only look.)


# %%
def gradient(comm, w):
    """One millisecond of work; the result depends on w."""
    with comm.compute("gradient", flops=1e7):
        return 1 - w / 2


# %%
def waits_for_all(comm, steps):
    """Synchronous: parameters to all, then a gradient from each."""
    w = np.zeros(20_000)
    for _ in range(steps):
        if comm.rank == 0:
            [comm.send(w, dst) for dst in range(1, comm.size)]
            w = w + sum(comm.recv(src) for src in range(1, comm.size))
        else:
            comm.send(gradient(comm, comm.recv(0)), 0)
    return w


# %%
def answers_each(comm, steps):
    """Asynchronous: whoever pushes gets new parameters at once."""
    w = np.zeros(20_000)
    for _ in range(steps if comm.rank else steps * (comm.size - 1)):
        if comm.rank == 0:
            src, grad = comm.recv_any()
            w = w + grad
            comm.send(w, src)
        else:
            comm.send(gradient(comm, w), 0)
            w = comm.recv(0)
    return w


# %%
def four_steps(server, network):
    """Three workers and a server."""
    return run(server, 4, workers=4, backend="simulated", network=network)


# %%
slow = ethernet.with_straggler(3, factor=2)
in_step = four_steps(waits_for_all, slow)
timeline(in_step.trace, title="Synchronous: every step waits for rank 3")

# %%
at_will = four_steps(answers_each, slow)
timeline(at_will.trace, title="Asynchronous: the same pushes, nobody waits for anybody")

# %% [markdown]
# Which of the two is synchronous, by the overview's definition: "if all workers communicate with
# the servers at the same time"? In the first picture the pushes are spread over more than a
# millisecond. And if all are equally fast, do the asynchronous workers not push at the same time?


# %%
def spread_ms(result):
    """The time between the first and the last worker's first push."""
    first = [result.trace.between(worker, 0)[0].posted_s for worker in (1, 2, 3)]
    return (max(first) - min(first)) * 1e3


# %% name="claim-1-9"
all_alike, right = four_steps(answers_each, free), four_steps(waits_for_all, free)
same = [np.array_equal(r.values[0], right.values[0]) for r in (in_step, all_alike)]
print(f"synchronous:  first pushes within {spread_ms(in_step):.2f} ms, right model: {same[0]}")
print(f"asynchronous: first pushes within {spread_ms(all_alike):.2f} ms, right model: {same[1]}")
assert spread_ms(in_step) > 1 > spread_ms(all_alike) == 0
assert same == [True, False]

# %% [markdown]
# **The claim:** training is synchronous if all workers communicate with the servers at the same
# time, and asynchronous if each does so at its own pace.
#
# **Verdict on 1.9: imprecise.** The time of day has nothing to do with it. Synchronous: no update
# before *all* gradients of the step are there, whenever they come. The straggler changes the clock
# and not a bit of the model. The asynchronous workers push at the same instant, and get another
# model, because the second gradient meets parameters that the first has changed (Dean and others
# 2012).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What does waiting for all cost?
#
# A *barrier* is where everybody waits for the last. Suppose every gradient takes a random time,
# exponential, one millisecond on average. With one worker a step takes a millisecond. With a
# thousand: how many?

# %%
guess_slowest = predict("A thousand workers: how long is a step, on average?", "milliseconds")
guess_slowest


# %%
def with_barrier(comm, steps):
    """Every step takes its own random time, and ends for all at the same moment."""
    for milliseconds in comm.rng.exponential(size=steps):
        with comm.compute("gradient", flops=1e7 * milliseconds):
            pass
        comm.barrier()


# %%
def mean_ms(P, steps):
    """How long a step of P workers takes, on average."""
    run_s = run(with_barrier, steps, workers=P, backend="simulated", trace=False, seed=SEED)
    return run_s.elapsed_s * 1e3 / steps


# %% name="claim-4-6"
print("    P   simulated   1 + 1/2 + ... + 1/P")
for P, steps in ((1, 4000), (10, 400), (100, 200), (1000, 60)):
    took, H = mean_ms(P, steps), sum(1 / k for k in range(1, P + 1))
    print(f"{P:5} {took:8.2f} ms {H:10.2f} ms")
    assert abs(took - H) < 4 * 1.29 / np.sqrt(steps)
print(guess_slowest.compare(round(took, 2)))

# %% [markdown]
# The first of $P$ exponential workers is done after $\frac1P$ on average, the next $\frac{1}{P-1}$
# later, and so on: $H_P = 1 + \frac12 + \dots + \frac1P$, about $\ln P + 0.58$. A thousand workers
# compute a thousand times as much, and each step takes 7.5 times as long.
#
# **The claim:** synchronous SGD uses a barrier.
#
# **Verdict on 4.6: right.** The server's loop of receives *is* the barrier: the step lasts as long
# as its slowest worker (Chen and others 2016 therefore start a few workers more than they wait
# for).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How many servers for how many workers?
#
# The slides leave it open. We have $P$ computers: $W$ of them work, $S = P - W$ serve. A step takes
# about $T_c + 2\frac{W}{S}n\beta$ as long as the servers' cards are the busier ones, $S \le W$. We
# want the most batches a second:
#
# $$\frac{W}{T_c + 2\frac{W}{S}n\beta} = \frac{1}{\frac{T_c}{W} + \frac{2n\beta}{S}}
# \quad\Rightarrow\quad \frac{S}{W} = \sqrt{\frac{2n\beta}{T_c}}$$
#
# Beyond $S = W$ the workers' own cards are the limit. With twelve computers and two examples each,
# how many servers are best?

# %%
guess_servers = predict("Twelve computers, two examples each: how many should serve?", "servers")
guess_servers


# %%
def gradients_a_second(S, examples_each):
    """Of all workers together, when S of twelve computers serve."""
    W = 12 - S
    there = {"workers": W, "batch": W * examples_each, "servers": S}
    return W / one_step(sharded_parameter_server, paper, **there).seconds


# %% name="claim-4-12"
best = {}
print("examples   servers: formula   sweep   the formula's choice reaches")
for each in (1, 2, 8, 32):
    closed = best_servers(12, N_BYTES * beta, compute_s * each / 8)
    rates = {S: gradients_a_second(S, each) for S in range(1, 9)}
    best[each] = max(rates, key=rates.get)
    reached = rates[closed] / rates[best[each]]
    print(f"{each:8} {closed:18} {best[each]:7} {reached:18.0%} of the best")
    assert reached > 0.93
    assert best[each] <= closed <= 6
print(guess_servers.compare(best[2]))

# %% [markdown]
# **The claim:** how many parameter servers for how many workers is an open question.
#
# **Verdict on 4.12: answered.** For equal shards and equal computers it is arithmetic: the square
# root of communicating over computing, at most one server a worker. The sweep finds one server
# fewer than the formula, because some fetches hide behind others' computing, and the loss is small.
# What is open is the rest: uneven layers, other cards, cheap computers that only serve (Jiang and
# others 2020 compute it for those).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** A dedicated server and 20 workers, 100 MB of parameters, cards of 1.25 GB/s. How
# long is the server's card busy in a step? What is the shortest step you can hope for?
#
# <details><summary>Answer</summary>
#
# 2 × 20 × 100 MB = 4 GB, at 1.25 GB/s 3.2 s: 20 vectors out, then 20 in. No step is shorter,
# however quick the gradients are. With a shard on each of the 20 workers: 2 × 19/20 × 100 MB = 190
# MB, 0.152 s.
# </details>

# %% [markdown]
# **Question 2.** Your server is 30 % efficient. Would you rather double the bandwidth, or take
# workers that compute twice as fast?
#
# <details><summary>Answer</summary>
#
# Below one half the server's card never rests: the step is as long as $2Wn\beta$. Quicker workers
# wait longer, nothing else. Twice the bandwidth nearly halves the step. (So would a second server.)
# </details>

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
# ## What to remember
#
# - We wrote down the server's card, $2W$ vectors a step, and the step, the longer of two chains,
#   and both came out to the ninth digit.
# - We found the bandwidth of 45 %, and 10 % and 95 % elsewhere: below one half the card never
#   rests.
# - We shared the model out: with a shard on every rank a card carries $\frac{2(P-1)}{P}\,n$, a
#   ring's bytes, 1.75 instead of 14 vectors with eight ranks.
#
# Next: the exercise set 04, in which you write the server. Lecture 05 does without it.
