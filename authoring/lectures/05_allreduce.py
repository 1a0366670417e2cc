# %% [markdown] slideshow={"slide_type": "slide"}
# # 05 · All-reduce: how can everybody have the sum without a middleman?
#
# After this you can
#
# - write a tree, a butterfly and a ring with send and receive, and say what each of them sends
# - prove how few bytes an all-reduce can do with, and tell a ring from one that only looks like it
# - choose an all-reduce for a network, a number of workers and a size, and say why
#
# Part 1 takes 23 minutes, part 2 takes 24. Needs: 8 processes, no GPU. You should know `send` and
# `recv` from [lecture 00](00_start_here.ipynb), and [lecture 02](02_map_reduce.ipynb)'s combiner or
# [lecture 04](04_parameter_server.ipynb)'s server. Then: the
# [exercises](../exercises/05_allreduce.ipynb) and [lecture 06](06_overlap_and_scaling.ipynb).

# %% tags=["set-up"]
# Set-up
import tempfile

import numpy as np
import torch
import torch.distributed as dist

from course_lib import networks, run
from course_lib.collectives import ALLREDUCES, allreduce_ring
from course_lib.costs import choose_allreduce, crossover, fit_line
from course_lib.lectures import lecture_05
from course_lib.lectures.lecture_00 import this_computer
from course_lib.lectures.price_sheet import prices_so_far
from course_lib.measure import both_worlds, overtaken_at, real_times, virtual_s, weigh
from course_lib.viz import chart, claim, explore, knob, player, predict, source, table, timeline
from course_lib.watch import watch_collective

rng = np.random.default_rng(seed=5)
network, N_BYTES = networks.ethernet_10g, 1_120_000

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture</summary>
#
# Run all cells before class: half a minute. Part 1, 23 minutes: the task 2, central 3, all-to-all
# 4, tree 5, butterfly 3, ring 4, meter 2 (of PyTorch show the result). Part 2, 24 minutes: bound 4,
# slow link 3, crossover 5, few rounds 2, three networks 4, 100 MB 3, game 3. In 40 minutes leave
# out: all at once against in turn, real processes, what may be reduced.
#
# Common misconceptions: "fewest rounds is fastest" (only for small vectors); "the ring is slow,
# because a message goes all the way round" (P chunks travel at once); "right sum, right algorithm"
# (the unchunked rings); "an all-reduce needs a root".
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Five ways to a sum
#
# P workers, ranks 0 to P − 1, hold a vector of n bytes each: their gradients. All of them need the
# sum. That is an *all-reduce*. In lecture 02 a combiner did it, in lecture 04 a server.
#
# Two numbers describe the network. A message's first byte arrives after the *latency* α. Each byte
# keeps a *NIC* (network interface, a machine's port to the network) busy for β seconds; a NIC sends
# and receives at the same time. A message that meets no other takes α + nβ. Here α is 20 µs, β 0.8
# ns (10 Gbit/s), n 1.12 MB: nβ, one vector through one NIC, is 0.896 ms.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Central: ask one
#
# Rank 0 receives every vector, adds, and sends everybody the sum. Four workers hold 1, 2, 3 and 4.
# Count the vectors that pass through rank 0's NIC, in and out together. (In the picture, the number
# below a box is the sum that this rank holds.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 3 minutes</summary>
#
# Vote before you play: 3, 4, 6 or 8? Many say 3 (they forget the way back). Press Play, stop when
# rank 0 holds 6. Say: a NIC sends and receives at once, but here first in, then out.
# </details>

# %%
guess_server = predict("How many vectors pass through rank 0's NIC?", "vectors")
guess_server

# %% name="central"
central = lecture_05.with_sums(ALLREDUCES["central"], [1, 2, 3, 4], N_BYTES)
player(central, "star", roles={0: "server"}, moments=1, title="Central: all through rank 0")

# %%
guess_server.compare((central.bytes_sent()[0] + central.bytes_received()[0]) / N_BYTES)

# %% [markdown]
# $2(P-1) = 6$ vectors, one after the other: $4\alpha + 6n\beta$ = 5.456 ms. Why four latencies?
# Messages of up to 16 KB leave at once (*eager*). A larger one waits until the receiver has called
# `recv` (*rendezvous*), and rank 0 receives from one after the other: three latencies on the way
# in, one on the way out. With sixteen workers 30 vectors pass through rank 0. And half of all NICs'
# work is done by one NIC. Can the others help?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All-to-all: everybody is a server, for a part
#
# Cut the vector into P *chunks* and let rank k be the server of chunk k. Everybody sends every
# chunk to its owner (a *reduce-scatter*); every owner sends its sum to everybody (an *all-gather*).
# Each box shows its four chunks, and how many of the four contributions have arrived in each.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 4 minutes</summary>
#
# Play; stop when the first chunk has its tick. Then the two timelines: ask where the lanes have
# gaps. Can be left out: the second timeline, and with it incast and head-of-line blocking (lecture
# 04 has incast, too).
# </details>

# %% name="all-to-all"
direct = watch_collective(ALLREDUCES["direct"], length=N_BYTES // 8)
direct.player("ring", moments=1, title="All-to-all: every chunk has an owner")

# %% [markdown]
# Again $2(P-1)$ vectors in all, but every NIC sends $\frac{2(P-1)}{P} = \frac32$ of them instead of
# one NIC three. That should take $\frac32 n\beta$; it takes $2n\beta$. Two timelines: above,
# everybody sends to one partner at a time; below, the run that you have seen. Drag slowly through
# the lower one: to whom do the other three send first, and in which order do their lines end?

# %% name="in-turn"
x = np.ones(N_BYTES // 8)
in_turn, at_once = (
    run(f, x, workers=4, backend="simulated", network=network).trace
    for f in (lecture_05.direct_in_turn, ALLREDUCES["direct"])
)
timeline({"one partner at a time": in_turn, "all at once": at_once})

# %% tags=["how-we-know"]
# How we know: what each costs, large and small; and real processes send the same messages
assert str(weigh(ALLREDUCES["central"], 4, N_BYTES)) == "4 α + 6 nβ"
assert str(weigh(ALLREDUCES["central"], 4, 8_000)) == "2 α + 6 nβ"
assert str(weigh(ALLREDUCES["direct"], 4, N_BYTES)) == "2 α + 2 nβ"
assert str(weigh(ALLREDUCES["direct"], 4, 32_000)) == "2 α + 3/2 nβ"
assert str(weigh(lecture_05.direct_in_turn, 4, N_BYTES)) == "6 α + 3/2 nβ"
assert weigh(ALLREDUCES["central"], 16, N_BYTES).vectors == 30
first = {m.src: m.dst for m in sorted(at_once.messages, key=lambda m: -m.sent_s)}
assert [first[rank] for rank in (1, 2, 3)] == [0, 0, 0]
for name in ("central", "direct", "butterfly", "ring"):
    made = both_worlds(ALLREDUCES[name], [1, 2, 3, 4], N_BYTES)
    assert (made.sums, made.same_messages) == ([10], True)

# %% [markdown]
# Below, rank 0 happens to be the first that is ready to receive, so all others send to rank 0
# first: three chunks queue at one NIC (*incast*), and what is meant for idle NICs waits behind them
# (*head-of-line blocking*). That is chance, not the algorithm: in turn, or in messages of 16 KB,
# the same bytes take $\frac32 n\beta$.
#
# So the load is balanced. But $2P(P-1)$ messages are many: two million with a thousand workers. Can
# fewer do it?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Tree: sums go up, the total comes down
#
# A source of ours, the transcript of a video lecture, has seven nodes that hold 1 to 7: 1, 2 and 5
# add up to 8; 3, 4 and 6 to 13; 8, 13 and 7 to 28. Then 28 has to come
# down again. In how many *rounds* do all seven have it? (A round is one more message in a chain in
# which each waits for the one before.)


# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 5 minutes</summary>
#
# Seven students with a number each play it in two minutes; let the class count the rounds aloud.
# Answer: 4. Then drag the slider from 7 to 8. "Why 8 vectors, not 4?" Two children, one NIC.
# </details>


# %%
def tree(comm, x):
    """All-reduce along a tree: the children of rank r are 2r + 1 and 2r + 2."""
    total, parent = x.copy(), (comm.rank - 1) // 2
    children = [rank for rank in (2 * comm.rank + 1, 2 * comm.rank + 2) if rank < comm.size]
    for child in children:
        total += comm.recv(child)
    if comm.rank > 0:
        comm.send(total, parent)
        total = comm.recv(parent)
    for child in children:
        comm.send(total, child)
    return total


# %%
guess_rounds = predict("Seven nodes: after how many rounds have all of them the sum?", "rounds")
guess_rounds

# %% name="seven-nodes"
seven = lecture_05.with_sums(tree, [7, 5, 6, 1, 2, 3, 4], N_BYTES)
player(seven, "tree", roles={0: "root"}, moments=2, title="Tree: seven nodes")

# %%
guess_rounds.compare(seven.rounds())

# %% [markdown]
# Two up, two down. But in each of them a parent's NIC carries *two* whole vectors, one a child:
# $6\alpha + 8n\beta$ = 7.288 ms. (Two latencies a level up, because a parent receives from one
# child after the other; one a level down.) The server would need 12 vectors, a ring (below)
# $\frac{12}{7}$.
#
# Let the tree grow: where does a single worker more cost two more rounds?


# %% name="growing-tree"
def grown(workers):
    """A tree of so many ranks, at work."""
    seen = lecture_05.with_sums(tree, range(1, workers + 1), 32_000)
    title = f"{workers} workers: {seen.rounds()} rounds, {weigh(tree, workers, N_BYTES).vectors} nβ"
    return player(seen, "tree", moments=1, title=title)


explore(grown, workers=knob(range(3, 17), start=7))

# %% tags=["how-we-know"]
# How we know: 28 through 8 and 13; the library's costs as much; four vectors a level
held = {(note.rank, note.value) for note in seven.notes}
assert {(1, 8), (2, 13), *((rank, 28) for rank in range(7))} <= held
assert (seven.rounds(), seven.n_messages) == (4, 12)
for f in (tree, ALLREDUCES["tree"]):
    assert str(weigh(f, 7, N_BYTES)) == "6 α + 8 nβ"
for P in (7, 8, 15, 16, 31, 32):
    h, is_full = P.bit_length() - 1, P & (P + 1) == 0
    assert weigh(tree, P, N_BYTES).vectors == 4 * h - 3 * (not is_full)
made = both_worlds(tree, [7, 5, 6, 1, 2, 3, 4], N_BYTES)
assert (made.sums, made.same_messages) == ([28], True)

# %% [markdown]
# From 3 to 4, from 7 to 8 and from 15 to 16: one leaf more, two rounds more. A full tree with
# $h = \lfloor \log_2 P \rfloor$ levels below the root takes $4h\,n\beta$, with a power of two
# $(4h - 3)\,n\beta$.

# %%
claim("3.25")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Butterfly: swap with a partner
#
# In a tree most ranks wait most of the time. In a *butterfly* (recursive doubling) all work in
# every round: 0 swaps with 1 and 2 with 3, and both add. Then each swaps what it has with a partner
# farther away. Partners differ in one bit of their number: `^` flips it.


# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 3 minutes</summary>
#
# Let four students do it with cards. Three is the usual answer, and the transcript's: they count
# states, not exchanges. Ask what three ranks would do (the library folds one in and out: two more
# rounds).
# </details>


# %%
def butterfly(comm, x):
    """All-reduce for a power of two: swap whole vectors at distance 1, 2, 4, ..."""
    total, distance = x.copy(), 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        total += comm.sendrecv(total, dst=partner, src=partner)
        distance *= 2
    return total


# %%
guess_swaps = predict("Four nodes hold 1 to 4: after how many exchanges have all 10?", "exchanges")
guess_swaps

# %% name="four-nodes"
four = lecture_05.with_sums(butterfly, [1, 2, 3, 4], N_BYTES)
player(four, "line", moments=2, title="Butterfly: four nodes")

# %%
guess_swaps.compare(four.rounds())

# %% [markdown]
# Two: $2\alpha + 2n\beta$ = 1.832 ms.
#
# *Try it:* write `distance += 1` for `distance *= 2` above, and run these cells again. What do the
# four hold now?
#
# <details><summary>Why</summary>
#
# 20. There is a third exchange, at distance 3, and it adds a sum of all four to a sum of all four.
# </details>
#
# What if there are 3 or 7 ranks? Then the library's butterfly first *folds* those above the power
# of two into a partner each, and gives them the total at the end: two rounds more.
#
# The transcript counts three steps, and shows why one must say what is counted:

# %%
claim("3.26")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Ring: never send a whole vector
#
# P ranks in a circle, the vector in P chunks. Each rank sends one chunk to its right neighbour and
# adds the one from the left to its own. After P − 1 steps every chunk is complete on one rank; then
# the complete chunks go round once more.


# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 4 minutes</summary>
#
# Play in even steps. Point at one chunk and follow it round: one contribution more in each step.
# Answer to the prediction: 1.5. Show of the PyTorch box only the result.
# </details>


# %%
def ring(comm, x):
    """All-reduce on a ring: P - 1 steps that add up chunks, P - 1 that pass them on."""
    rank, P, total = comm.rank, comm.size, x.copy()
    chunks = np.array_split(total, P)  # views: what is written to them is in total
    for step in range(2 * (P - 1)):
        outgoing, mine = chunks[(rank - step) % P], chunks[(rank - step - 1) % P]
        arrived = comm.sendrecv(outgoing, dst=(rank + 1) % P, src=(rank - 1) % P)
        mine[...] = arrived + mine if step < P - 1 else arrived
    return total


# %%
guess_ring = predict("Four ranks: how many vectors' worth of bytes does each one send?", "vectors")
guess_ring

# %% name="ring"
ringed = watch_collective(ring, length=N_BYTES // 8)
ringed.player("ring", moments=2, title="Ring: chunks gather contributions, then go round")

# %%
guess_ring.compare(ringed.trace.bytes_sent()[0] / N_BYTES)

# %% tags=["how-we-know"]
# How we know: real processes hold the right sums; ours cost what the library's cost
numbers = rng.normal(size=(4, 1000))
for f in (butterfly, ring):
    totals = run(lambda comm, f: f(comm, numbers[comm.rank]), f, workers=4).values
    assert all(np.allclose(total, numbers.sum(axis=0)) for total in totals)
assert [note.value for note in four.notes] == [1, 2, 3, 4, 3, 3, 7, 7, 10, 10, 10, 10]
for f, library, cost in (
    (butterfly, "butterfly", "2 α + 2 nβ"), (ring, "ring", "6 α + 3/2 nβ")
):  # fmt: skip
    assert str(weigh(f, 4, N_BYTES)) == str(weigh(ALLREDUCES[library], 4, N_BYTES)) == cost
assert {(m.dst - m.src) % 4 for m in ringed.trace.messages} == {1}

# %% [markdown]
# Six steps of a quarter of the vector: $6\alpha + \frac32 n\beta$ = 1.464 ms. As few bytes as
# all-to-all, only neighbours talk, and nothing queues. In general $2(P-1)\,\alpha +
# \frac{2(P-1)}{P}\,n\beta$.
#
# ## The same in PyTorch
#
# `torch.distributed` over gloo, on four processes: the ring again, line by line, and PyTorch's own
# `all_reduce`, which is one line.
#
# | here | in torch.distributed |
# |---|---|
# | `comm.rank`, `comm.size` | `dist.get_rank()`, `dist.get_world_size()` |
# | `comm.sendrecv(x, dst, src)` | `isend(x, dst)`, `recv(buffer, src)`, then `wait()` |
# | `allreduce(comm, x, out=x)` | `dist.all_reduce(x)` |


# %% name="rosetta"
def with_torch(comm, store, rows):
    """The ring of torch.distributed's sends, and its all_reduce."""
    rank, P = comm.rank, comm.size
    total, theirs = torch.tensor(rows[rank]), torch.tensor(rows[rank])
    dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=P)
    chunks = total.tensor_split(P)
    for step in range(2 * (P - 1)):
        outgoing, mine = chunks[(rank - step) % P], chunks[(rank - step - 1) % P]
        sending, arrived = dist.isend(outgoing, (rank + 1) % P), torch.empty_like(mine)
        dist.recv(arrived, (rank - 1) % P)
        sending.wait()
        mine.copy_(arrived + mine if step < P - 1 else arrived)
    dist.all_reduce(theirs)
    dist.destroy_process_group()
    return total.numpy(), theirs.numpy()


rows = rng.normal(size=(4, 1000))  # one vector a rank
with tempfile.TemporaryDirectory() as folder:
    in_torch = run(with_torch, f"{folder}/store", rows, workers=4).values
ours = run(lambda comm: ring(comm, rows[comm.rank]), workers=4).values
{"their ring holds our bits": np.array_equal([total for total, _ in in_torch], ours)}

# %% tags=["how-we-know"]
# How we know: on every rank, the library's too; another order of adding rounds differently
assert all(np.allclose(theirs, ours[0], rtol=0, atol=1e-12) for _, theirs in in_torch)
library = run(lambda comm: allreduce_ring(comm, rows[comm.rank]), workers=4).values
assert np.array_equal(library, ours)
assert 0 < np.abs(rows[0] + rows[1] + rows[2] + rows[3] - ours[0]).max() < 1e-12

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A meter finds what no test of sums can
#
# PyTorch's tutorial *Writing Distributed Applications* builds "our own ring-allreduce":
# everybody's *whole* vector goes round the ring, and chunks are left as an exercise. A variant
# sends the finished sum round once more.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 2 minutes</summary>
#
# The most useful slide for those who write such code. Ask first: what would your unit test compare?
# Then: how many vectors does each of 16 ranks send? 15, that is P - 1.
# </details>

# %%
source(lecture_05.unchunked_ring)

# %% name="meter"
rings = {
    "chunks": ring,
    "whole vectors": lecture_05.unchunked_ring,
    "whole, twice round": lecture_05.twice_round,
}
lecture_05.meter(rings, N_BYTES)

# %% tags=["how-we-know"]
# How we know: 3/2, 3 and 6 vectors; with 16 ranks about six and twelve times the time
assert [lecture_05.vectors_sent(f, 4, 1_000) for f in rings.values()] == [1.5, 3, 6]
assert [lecture_05.vectors_sent(f, 16, 1_600) for f in rings.values()] == [1.875, 15, 30]
chunked, *whole = (virtual_s(f, 16, N_BYTES, network) for f in rings.values())
assert np.allclose(np.divide(whole, chunked), [6, 12], atol=0.5)

# %% [markdown]
# All three give 10, so no test of the sum will ever tell them apart. A meter does at once. With two
# ranks it does not: there a ring of whole vectors sends n, as the good one does. When you write a
# collective, meter it; every one of this course has its cost in its docstring, and a test that
# holds it to that.

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Choosing one
#
# ## How few bytes can it be?
#
# Ring and all-to-all send $\frac{2(P-1)}{P}\,n$ a rank. No all-reduce among end hosts can do with
# less, if it sends numbers as they are. The proof has five lines:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 4 minutes</summary>
#
# Write the five lines on the board. The objection to expect: "with the sum known somewhere, could
# one message serve two ranks?" Not among end hosts: a message has one receiver. A switch can: hence
# in-network reduction.
# </details>

# %% [markdown]
# 1. Take one number of the vector, and let r be the first rank that knows its total.
# 2. By then each of the other P − 1 ranks has sent it, alone or in a partial sum, on a path that
#    has reached r; otherwise its contribution would be missing.
# 3. Each of these P − 1 ranks does not know the total yet. It must still receive a message that
#    completes it, and that is none of the P − 1 of line 2, which have arrived.
# 4. So every number is sent at least 2(P − 1) times, a vector $2(P-1)\,n$ bytes in all.
# 5. P ranks share them: the busiest sends at least the mean, $\frac{2(P-1)}{P}\,n$. ∎

# %% name="lower-bound"
title = "Drag to 7 workers: who leaves the bound?"
explore(lecture_05.busiest_nic, workers=knob(range(2, 17), start=8), title=title)

# %% [markdown]
# All-to-all, ring and, for powers of two, halving-doubling (soon) reach the bound: they are
# *bandwidth-optimal* (Patarasuk and Yuan 2009). The server's bytes are as many in all, but one NIC
# sends half of them.
#
# One word matters: *end hosts*. Where the switch itself adds up (*in-network reduction*, NVIDIA's
# SHARP; Graham and others 2016), a host sends its vector once and receives the sum once: n, with
# many ranks little more than half of the bound.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One slow link
#
# Eight ranks; one link, from rank 3 to rank 2, becomes ten times as slow as the others. (In the
# other direction, from 2 to 3, it is as fast as before.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 3 minutes</summary>
#
# Vote: 1, 2 or 10 times? Then both buttons. The ring sends to the right only.
# </details>

# %%
guess_slow = predict("3 → 2 is ten times as slow. How long does the ring take?", "times as long")
guess_slow


# %% name="slow-link"
def with_slow(link):
    """Times of three all-reduces with this link ten times as slow."""
    net = network.with_slow_link(*link, factor=10) if link else network
    took = {name: virtual_s(ALLREDUCES[name], 8, N_BYTES, net) for name in names}
    return chart(took, unit="s", x_range=(0, 0.02), x_label="virtual seconds, 8 ranks, 1.12 MB")


names = ("ring", "butterfly", "tree")
explore(with_slow, link={"all alike": None, "2 → 3 slow": (2, 3), "3 → 2 slow": (3, 2)})

# %%
backward = network.with_slow_link(3, 2, factor=10)
alike_s, backward_s = (virtual_s(ring, 8, N_BYTES, net) for net in (network, backward))
guess_slow.compare(backward_s / alike_s)

# %% tags=["how-we-know"]
# How we know: who reaches the bound; ten times, once and never for the slow link
reach = {P: lecture_05.busiest_nic(P).chart["said"] for P in (7, 8)}
assert reach[7] == "The bound is reached by all-to-all, ring."
assert reach[8] == "The bound is reached by all-to-all, halving-doubling, ring."
for name in ("central", "direct", "halving_doubling", "ring"):
    sent = run(ALLREDUCES[name], np.ones(800), workers=8, backend="simulated").trace.bytes_sent()
    assert sum(sent) == 2 * 7 * 6_400
    assert max(sent) == (7 if name == "central" else 7 / 4) * 6_400
forward = network.with_slow_link(2, 3, factor=10)
took = {f: [virtual_s(ALLREDUCES[f], 8, N_BYTES, n) for n in (network, forward, backward)]
        for f in names}  # fmt: skip
assert np.allclose(np.divide(took["ring"], took["ring"][0]), [1, 10, 1])
assert took["butterfly"][1] == took["butterfly"][2] > 3 * took["butterfly"][0]
assert len(set(took["tree"])) == 1
upward = network.with_slow_link(1, 0, factor=10)
slowed = {f: virtual_s(ALLREDUCES[f], 8, N_BYTES, upward) > 1.5 * took[f][0] for f in names}
assert slowed == {"ring": False, "butterfly": True, "tree": True}
assert [str(weigh(allreduce_ring, P, N_BYTES)) for P in (8, 32)] == [
    "14 α + 7/4 nβ", "62 α + 31/16 nβ",
]  # fmt: skip

# %% [markdown]
# A ring sends to the right only. A link that is slow in its direction slows all of it; slow in the
# other direction, it costs nothing. The tree sends nothing between 2 and 3 and never notices.
#
# *Try it:* add `"1 → 0 slow": (1, 0)` to the choices. Whom does it slow?
#
# <details><summary>Answer</summary>
#
# Tree and butterfly, where 1 sends to 0. Not the ring.
# </details>

# %%
claim("3.28")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When does the ring overtake the butterfly?
#
# With P = 4 the butterfly takes $2\alpha + 2n\beta$, the ring $6\alpha + \frac32 n\beta$. They
# take equally long where $4\alpha = \frac12 n\beta$:
#
# $$n^* = \frac{8\,\alpha}{\beta}$$
#
# Here α = 20 µs and β = 0.8 ns a byte.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 5 minutes</summary>
#
# Let them solve for n* on paper. In the picture start at 4 workers, 10 Gbit/s, then 1,024 workers:
# the ring falls behind up to megabytes. Real processes can be left out.
# </details>

# %%
guess_size = predict("P = 4: from how many bytes on is the ring faster?", "bytes")
guess_size

# %% name="crossover"
nets = (networks.ethernet_1g, networks.ethernet_10g, networks.ethernet_100g)
met = {}
for P in (4, 8):
    times = crossover("allreduce_butterfly", "allreduce_ring", P)
    for net in nets:
        predicted = float(times) * net.latency_s / net.beta_s_per_byte
        found = overtaken_at(butterfly, ring, P, net)
        met[f"P = {P}, {net.name}"] = {"n* predicted, bytes": round(predicted), "n* found": found}
table(met)

# %%
guess_size.compare(8 * network.latency_s / network.beta_s_per_byte)

# %% [markdown]
# The search halves an interval until it is one number a chunk, and finds the formula's size.
#
# Now all sizes, each algorithm's time divided by the best one's, so that the best is at 1. Move
# workers and networks: who is best for 1 KB, who for 100 MB, and where do they change places? (Of a
# tree the formula is an upper bound, "at most". All-to-all is left out: α and β do not say what its
# P − 1 messages a round cost a processor.)

# %% name="times-over-bytes"
by_name = {"1 Gbit/s": nets[0], "10 Gbit/s": nets[1], "100 Gbit/s": nets[2], "ocean": networks.wan}
many = knob([4, 8, 16, 32, 64, 128, 256, 512, 1024], start=8)
explore(lecture_05.times_over_bytes, workers=many, network=knob(by_name, start=network))

# %% tags=["how-we-know"]
# How we know: n* to one number a chunk, earlier with γ; halving-doubling never behind the ring
for row, P in zip(met.values(), (4, 4, 4, 8, 8, 8), strict=True):
    assert 0 <= row["n* found"] - row["n* predicted, bytes"] <= 8 * P
assert (crossover("allreduce_butterfly", "allreduce_ring", 4),
        float(crossover("allreduce_butterfly", "allreduce_ring", 8))) == (8, 8.8)  # fmt: skip
costs = {"item_bytes": 8, "alpha_s": network.latency_s, "beta_s_per_byte": network.beta_s_per_byte}
for gamma_s, is_ahead in ((0.0, False), (1e-9, True)):
    at = dict(choose_allreduce(4, 160_000, **costs, gamma_s_per_byte=gamma_s).seconds)
    assert (at["ring"] < at["butterfly"]) == is_ahead
for n, best in ((1024, "central"), (16_384, "butterfly"), (131_072, "halving-doubling")):
    of_all = {f: lecture_05.simulated_s(f, 8, n) for f in (*names, "central", "halving-doubling")}
    assert min(of_all, key=of_all.get) == best
for P in (2, 4, 8, 16):
    for n in (256, 16_384, N_BYTES // 35 * 32):
        behind = virtual_s(ALLREDUCES["halving_doubling"], P, n) / virtual_s(ring, P, n)
        assert behind < 1 + 1e-9

# %% [markdown]
# For one kilobyte even the server can be best: two latencies for any P. (What P − 1 messages cost
# its processor is not in the model.) With 8 workers at 10 Gbit/s the butterfly follows; then, from
# about 60 KB on, one that has yet to come: halving-doubling.
#
# Additions cost nothing on this clock. With γ seconds a byte added (Thakur, Rabenseifner and Gropp
# 2005) the ring adds $\frac{P-1}{P} n\gamma$, the butterfly $\log_2 P \; n\gamma$: n* becomes
# smaller.
#
# Now real processes: n* by the α and β of lecture 00 (else stated ones), and by those that we fit
# to rounds of a butterfly on this computer, additions and all.


# %% tags=["nbval-ignore-output"] name="real-crossover"
sizes = [2**k for k in range(11, 22)]
here = fit_line(
    list(zip(sizes, real_times(lecture_05.ten_rounds, sizes, repeats=15) / 10, strict=True))
)
mine = this_computer()
stars = {"n* by lecture 00": 8 * mine.latency_s / mine.beta_s_per_byte}
stars["n* by the fit"] = 8 * here.alpha_s / here.beta_s_per_byte
took = {name: real_times(ALLREDUCES[name], sizes, repeats=15) for name in ("butterfly", "ring")}
chart(
    {name: list(zip(sizes, took[name] / took["butterfly"], strict=True)) for name in took},
    points={name: (n, 1.0) for name, n in stars.items()}, x_log=True, x_label="bytes",
    y_label="time / butterfly's", title="4 real processes of this computer",
    reference="butterfly",
)  # fmt: skip

# %% [markdown]
# Expect more than one crossing. A straight line knows nothing of caches, of workers that share
# cores, or of messages that take another way above 16 KB. Open MPI's built-in rules, therefore,
# come from measurements.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Few rounds *and* few bytes
#
# *Halving and doubling* (Rabenseifner 2004) swaps like a butterfly, but half of what is left each
# time: half the vector with the first partner, a quarter with the next. Then each rank has $1/P$ of
# the sum, and the same swaps backwards collect it.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 2 minutes</summary>
#
# Ask what a rank holds after each round: half, a quarter, then back. Then the question at the end,
# and wait.
# </details>

# %% name="halving-doubling"
halving = watch_collective(ALLREDUCES["halving_doubling"], length=N_BYTES // 8)
halving.player("line", moments=1, title="Halving and doubling")

# %% [markdown]
# $2\log_2 P = 4$ rounds, $\frac12 + \frac14 + \frac14 + \frac12 = \frac32$ vectors: a ring's bytes
# in a logarithm of rounds. For powers of two, on a switch, it is never slower than a ring. Then why
# does anybody use a ring?
#
# ## Three networks
#
# Because not every network connects any two ranks alike. Hosts with four GPUs each: NVLink inside,
# one link between, 360 times slower, which the four share. *Hierarchical* all-reduce: reduce inside
# each host, all-reduce between one leader a host, broadcast inside.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 4 minutes</summary>
#
# Before the table: who wins where? Most expect hierarchical to win on hosts; halving-doubling is as
# good, because near partners come first.
# </details>

# %% name="hierarchical"
hosts = networks.two_level(networks.nvlink_4, networks.ethernet_10g, ranks_per_host=4)
two_hosts = watch_collective(lecture_05.hierarchical, workers=8, network=hosts)
groups = [range(4), range(4, 8)]
two_hosts.player("hosts", hosts=groups, moments=1, title="Hierarchical: inside the hosts first")

# %% [markdown]
# A third network: a link to each neighbour and no switch. Messages to others are forwarded hop by
# hop. Eight ranks, 1.12 MB:

# %% name="three-networks"
nets = {"switch": network, "two hosts": hosts, "links in a circle": networks.ring(network)}
compared = ("central", "butterfly", "halving-doubling", "hierarchical", "ring")
took = {
    f: {k: lecture_05.simulated_s(f, 8, N_BYTES, net) for k, net in nets.items()} for f in compared
}
best = [(2, "switch"), (2, "two hosts"), (4, "links in a circle")]
table(took, units=dict.fromkeys(nets, "s"), told=best)

# %% tags=["how-we-know"]
# How we know: the marked ones are best, and by how much; 8 KB are another matter
for row, column in best:
    assert min(compared, key=lambda f: took[f][column]) == compared[row]
assert np.allclose(list(took["ring"].values()), took["ring"]["switch"], rtol=1e-9)
for net in nets.values():
    of_8_kb = {f: lecture_05.simulated_s(f, 8, 8_000, net) for f in compared}
    assert min(of_8_kb, key=of_8_kb.get) == "butterfly"
assert took["butterfly"]["two hosts"] > took["butterfly"]["switch"]
assert took["hierarchical"]["two hosts"] < 0.6 * took["ring"]["two hosts"]
assert str(weigh(ALLREDUCES["halving_doubling"], 4, N_BYTES)) == "4 α + 3/2 nβ"
assert round(networks.nvlink_4.bandwidth_bytes_per_s / network.bandwidth_bytes_per_s) == 360

# %% [markdown]
# On hosts the butterfly gets *slower*, although it has faster links now: in its last round four
# ranks send whole vectors through one link. Hierarchical sends n through it, the ring $\frac74 n$;
# halving and doubling meets near partners first, so that its large messages stay inside.
#
# In the circle the ring wins, and it takes the same time on all three networks: nobody talks to
# anybody but a neighbour. *That* is why it is used for large vectors. For 8 KB the butterfly is
# ahead on each of the three.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 100 MB, and what the libraries do
#
# Real gradients are large. Eight ranks on a switch. The *double tree* (Sanders, Speck and Träff
# 2009) lays two trees over the ranks, in which a leaf of one is an inner node of the other; each
# adds up half of the vector, in segments, so that all levels work at once.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 3 minutes</summary>
#
# Show the last column only. The double tree's two rows are one algorithm with two sizes of segment.
# </details>

# %% name="price-sheet"
lecture_05.price_sheet([8_000, N_BYTES, 100_000_000], workers=8)

# %% [markdown]
# Our double tree in four large segments takes $4n\beta$, over twice the ring: large messages wait
# for their receive, and a parent serves one child after the other. In segments of 16 KB, which
# leave at once, it takes $2.13\,n\beta$. Its latencies grow like $\log P$: from 8 to 64 ranks, 8
# KB take twice as long on it, almost nine times as long on the ring. NCCL has it since version 2.4
# (Jeaugey 2019).
#
# NCCL predicts the time of each of its algorithms (ring, tree, in-network), and takes the best;
# `NCCL_ALGO=Ring` overrules it. MPICH takes the butterfly for short vectors, halving-doubling for
# long ones (Thakur). Our `allreduce`, without all-to-all, and the price sheet by your α and β:

# %% name="what-allreduce-chooses"
rates = {"item_bytes": 8, "alpha_s": network.latency_s, "beta_s_per_byte": network.beta_s_per_byte}
sizes = {"8 KB": 8_000, "800 KB": 800_000, "80 MB": 80_000_000}
chosen = {
    P: {size: choose_allreduce(P, n, **rates).name for size, n in sizes.items()}
    for P in (4, 7, 512)
}
table({f"{P} workers": row for P, row in chosen.items()})

# %% tags=["nbval-ignore-output"] name="prices-so-far"
prices_so_far(lecture=5)

# %% [markdown]
# The prices are those of four workers and 1 MB; *a shard on every rank* is lecture 04's. Measured,
# they are higher where four workers share two cores.
#
# ## What may be reduced?
#
# Not only sums: MPI and NCCL offer a maximum or a product, MPI also an operator of your own. It
# must be *associative*, $(a \circ b) \circ c = a \circ (b \circ c)$, and for a ring commutative as
# well; otherwise each algorithm finds something else. (Sums of floating-point numbers are so but
# for their last digits.)

# %%
claim("3.23")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The game
#
# Eight cases, A to H: a network, P workers, n bytes. Choose an all-reduce for each. The best one
# gives 100 points, one that takes twice as long 50. Add up your first answers: whoever always takes
# the same one has fewer than 600; 700 are very good. (All-to-all is not offered.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 3 minutes</summary>
#
# Two halves of the room, one answer each, alternating. C and G catch those who forget that 7 and 3
# are no powers of two.
# </details>

# %% name="game"
explore(lecture_05.play, case=list(lecture_05.CASES), answer=["?", *lecture_05.OFFERED])

# %% tags=["how-we-know"]
# How we know: every case has one best answer, and no answer is best everywhere
points = {c: {a: lecture_05.score(c, a) for a in lecture_05.OFFERED} for c in lecture_05.CASES}
assert all(list(of_case.values()).count(100) == 1 for of_case in points.values())
totals = {a: sum(of_case[a] for of_case in points.values()) for a in lecture_05.OFFERED}
assert max(totals.values()) < 600
assert len({max(of_case, key=of_case.get) for of_case in points.values()}) == 5
unit_s = 100_000_000 * network.beta_s_per_byte
sheet = {name: lecture_05.simulated_s(name, 8, 100_000_000) / unit_s
         for name in ("double tree", "double tree, 16 KB", "ring", "tree")}  # fmt: skip
assert 3.9 < sheet["double tree"] < 4.1 < sheet["tree"]
assert sheet["ring"] < 1.8 < sheet["double tree, 16 KB"] < 2.2
times = {f: [lecture_05.simulated_s(f, P, 8_000) for P in (8, 64)]
         for f in ("double tree, 16 KB", "ring")}  # fmt: skip
grown_by = {f: large / small for f, (small, large) in times.items()}
assert 1.9 < grown_by["double tree, 16 KB"] < 2.2 < 8.5 < grown_by["ring"] < 9

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Sixteen workers, a vector of 80 MB. How many bytes does each rank send in the
# ring, how many in the butterfly, and how many does rank 0 of the central scheme send?
#
# <details><summary>Answer</summary>
#
# Ring: 2 × 15/16 × 80 = 150 MB. Butterfly: 4 rounds of 80 MB, 320 MB. Central: 15 × 80 = 1,200 MB,
# and as many come in.
# </details>

# %% [markdown]
# **Question 2.** A colleague's all-reduce gives the right sum on 2, 3 and 4 workers and is no
# slower than yours on 2. What do you measure before you trust it on 64?
#
# <details><summary>Answer</summary>
#
# The bytes each rank sends. With two workers a ring of whole vectors sends $n$, as a good ring
# does: nothing can be seen there. With 64 it sends $63n$ instead of not quite $2n$.
# </details>

# %% [markdown]
# **Question 3.** Your network gets a hundred times the bandwidth and keeps its latency. Which way
# does the crossover between butterfly and ring move, and which of the two gains more from the new
# network for the vectors that you have?
#
# <details><summary>Answer</summary>
#
# $n^* = 8\alpha/\beta$ grows a hundredfold, because β shrinks. More of your vectors are "small"
# now: the butterfly, which has fewer latencies, gains more.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Arnold, *Writing distributed applications with PyTorch*. Gibiansky 2017, *Bringing HPC techniques
# to deep learning*. Graham and others 2016, *Scalable hierarchical aggregation protocol (SHArP)*.
# Jeaugey 2019, *Massively scale your deep learning training with NCCL 2.4*; how NCCL chooses:
# NVIDIA/nccl, issues 457 and 754. Patarasuk, Yuan 2009, *Bandwidth optimal all-reduce algorithms
# for clusters of workstations*. Rabenseifner 2004, *Optimization of collective reduction
# operations*. Sanders, Speck, Träff 2009, *Two-tree algorithms for full bandwidth broadcast,
# reduction and scan*. Thakur, Rabenseifner, Gropp 2005, *Optimization of collective communication
# operations in MPICH*. </details>

# %% [markdown]
# ## What to remember
#
# - 28 on seven nodes after 4 rounds of a tree, 10 on four after 2 swaps, $\frac32 n$ sent by each
#   rank of a ring of four. A right sum proves nothing about bytes: meter them.
# - No end host can do with less than $\frac{2(P-1)}{P}\,n$; ring, all-to-all and halving-doubling
#   reach it. Small vectors want few rounds: the ring overtakes at $n^* = 8\alpha/\beta$ with four.
# - The network decides: hierarchical where hosts share a link, the ring where only neighbours are
#   connected, few rounds or in-network reduction for hundreds of ranks.
#
# Next: the [exercises](../exercises/05_allreduce.ipynb), then [lecture
# 06](06_overlap_and_scaling.ipynb). Before: [lecture 04](04_parameter_server.ipynb).
