# %% [markdown] slideshow={"slide_type": "slide"}
# # 00 · Start here: can my laptop be a cluster?
#
# After this you can
#
# - run a function of your own on four real workers, and send arrays between them
# - say what a message costs on your computer, and predict what it costs elsewhere
# - recognise a crash and a deadlock, find out who waits for whom, and fix both
#
# Part 1 takes 20 minutes, part 2 takes 14; the first surprise comes within five. Needs: 4
# processes, no GPU, no network. Nothing comes before this lecture. Then: the
# [exercises](../exercises/00_start_here.ipynb), and [lecture 01](01_gradient_descent.ipynb), what
# training does before it is distributed. If a cell fails unexpectedly, run the doctor at the end.

# %% tags=["set-up"]
# Set-up: imports; nothing here is random, so no seed is needed
import os
import tempfile
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist

from course_lib import checks, doctor, networks, run
from course_lib.comm.errors import DeadlockError
from course_lib.costs import fit_line
from course_lib.lectures import lecture_00
from course_lib.measure import message_times
from course_lib.viz import claim, explore, knob, player, predict, timeline
from course_lib.words.units import in_seconds

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture</summary>
#
# Run all cells before class: less than a minute; three cells fail on purpose. Part 1 takes 25
# minutes with a class, part 2 takes 20. With 40 in all, leave out "Why several?" and the relay's
# explorer.
#
# Ask who has several computers at hand; then run the first cell on a laptop. Common misconceptions:
# "workers are threads and see my variables" (they are processes with their own memory); "a send
# waits until the other side has read it" (up to a limit it does not); "a deadlock gives an error"
# (it gives silence).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Workers and messages
#
# ## Why several?
#
# Training GPT-3 took about $3.14 \times 10^{23}$ arithmetic operations. One core of a laptop does
# about $10^{11}$ in a second, when it multiplies matrices. How long would it take alone?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: why several, 2 minutes</summary>
#
# Let them shout numbers. Most say "years", few say more than a thousand. A year has about
# 3 × 10⁷ seconds. Do not discuss the core's speed: a factor of ten changes nothing.
# </details>

# %%
guess_years = predict("How many years would one core compute?", "years")
guess_years

# %%
guess_years.compare(round(3.14e23 / 1e11 / (365 * 24 * 3600), -3))

# %%
claim("2.3")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four workers
#
# A cluster is many computers that work on one task. Your laptop can stand in for one: it runs
# several *processes* at once, and what we write for them will run on many machines, too.
#
# `run` starts our function on every worker. Each gets a *communicator*, `comm`, which knows the
# worker's number and how many there are.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: four workers and the basket, 5 minutes</summary>
#
# Show that the function was written in this notebook. Then the basket: let them vote between 4, 1
# and 0. Most say 4. Those who say 1 think that the copies are merged somehow; ask them by whom.
# </details>


# %% tags=["nbval-ignore-output"]
def introduce(comm):
    """What each worker says about itself."""
    return f"I am rank {comm.rank} of {comm.size}, process {os.getpid()}"


run(introduce, workers=4).values

# %% [markdown]
# Words that follow us through the course:
#
# | word | what it means |
# |---|---|
# | *worker* | a process: a running program with memory of its own |
# | *rank* | a worker's number: 0, 1, 2, 3 |
# | *size*, $P$ | how many workers there are |
# | *message* | an array that one rank sends to another |
# | *latency* | what a message costs, whatever is in it |
# | *bandwidth* | how many bytes a link carries in a second |
# | *deadlock* | ranks that wait for each other for ever |

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What do they share?
#
# Every worker gets the notebook's basket and puts an apple in. How many apples are in the
# notebook's basket afterwards?

# %%
guess_apples = predict("How many apples are in the notebook's basket?", "apples")
guess_apples

# %%
basket = []


def shop(comm, basket):
    """Put an apple into the basket, and count."""
    basket.append("apple")
    return len(basket)


counted = run(shop, basket, workers=4).values
guess_apples.compare(len(basket))

# %% tags=["how-we-know"]
# How we know: each worker counted one apple; and they are four processes, none of them this one
assert (counted, basket) == ([1, 1, 1, 1], [])
processes = set(run(lambda comm: os.getpid(), workers=4).values)
assert len(processes) == 4
assert os.getpid() not in processes

# %% [markdown]
# None. Every worker put its apple into a *copy*, and each of them counted one. They share nothing:
# no variable, no list, no model. What one worker knows reaches another only if it is sent. That
# sounds like a nuisance, and it is the reason why the same code runs on a hundred machines.
#
# So far nobody has sent anything, and for some work that is enough:

# %%
claim("1.1")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A message
#
# `comm.send(array, dst)` sends an array to a rank, `comm.recv(src)` receives one. All that follows
# in this course is built from them.
#
# Rank 0 sends the number 1 to its right neighbour. Every other rank receives from the left, doubles
# it, and sends it on. The last one sends to rank 0.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a message, 6 minutes</summary>
#
# Let four students pass a sheet of paper round and double the number on it. 16 is the usual wrong
# answer: it counts rank 0, which doubles nothing. Then play. Ask what the hatched bars are before
# you read the text below.
# </details>


# %%
def neighbours(comm):
    """The ranks on the left and on the right, on a ring."""
    return (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size


def relay(comm):
    """Pass a number round the ring and double it on the way."""
    left, right = neighbours(comm)
    if comm.rank == 0:
        comm.send(np.array([1.0]), dst=right)
        return comm.recv(src=left)
    number = comm.recv(src=left)
    comm.send(2 * number, dst=right)
    return number


# %%
guess_number = predict("With four workers, which number does rank 0 get back?")
guess_number

# %%
real = run(relay, workers=4)
guess_number.compare(real.values[0][0])

# %% [markdown]
# Rank 1 doubles the 1, rank 2 the 2, rank 3 the 4. Watch the four messages. What you see is the
# record of this run, nothing else; beside a rank stands the number that it has received. Press
# *play*, or use the space bar and the arrow keys.

# %% tags=["nbval-ignore-output"]
watched = lecture_00.with_received(real)
player(watched, layout="ring", title="Four real processes", even_steps=True)

# %% [markdown]
# A hatched bar is a rank that waits. Only the worker that has the number can do something; the
# others wait, are done, or have not begun. A ring like this is no way to be fast.
#
# *Even steps* gives every event the same time. Switch it off to see the true times: processes do
# not start at the same instant, and no two runs look alike.
#
# **Change it and run it again.** Copy `relay`, and let every rank of the copy add its own number in
# place of doubling. What comes back to rank 0?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same in PyTorch and MPI
#
# | here | `torch.distributed` | MPI (`mpi4py`) |
# |---|---|---|
# | `run(fn, workers=4)` | `torchrun`, `init_process_group` | `mpiexec -n 4 …` |
# | `comm.rank`, `comm.size` | `get_rank()`, `get_world_size()` | `Get_rank()`, `Get_size()` |
# | `comm.send(x, dst=1)` | `send(x, dst=1)` | `Send(x, dest=1)` |
# | `x = comm.recv(src=0)` | `recv(x, src=0)` | `Recv(x, source=0)` |
# | `comm.sendrecv(x, 1, 0)` | `batch_isend_irecv([…])` | `Sendrecv(x, 1, …)` |
# | `comm.barrier()` | `barrier()` | `Barrier()` |
# | `allreduce(comm, x)` | `all_reduce(x)` | `Allreduce(x, total)` |
#
# The others receive into an array that you have made before. Here is the relay once more in
# PyTorch, which carries messages between CPUs with a library called *gloo*.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: PyTorch and MPI, 3 minutes</summary>
#
# Lay the two relays side by side, line by line. Ask what `init_process_group` is for: the processes
# must find each other, here through a file. The longer dictionary is `docs/from_mpi_and_torch.md`.
# </details>


# %%
def relay_in_torch(rank, size):
    """The same relay, in PyTorch's words."""
    left, right = (rank - 1) % size, (rank + 1) % size
    number = torch.ones(1)
    if rank == 0:
        dist.send(number, dst=right)
    dist.recv(number, src=left)
    if rank > 0:
        dist.send(2 * number, dst=right)
    return number.item()


# %%
def with_gloo(comm, fn, store, limit_s):
    """Let processes find each other through a file, then call ``fn`` on each."""
    who = {"rank": comm.rank, "world_size": comm.size}
    limit = timedelta(seconds=limit_s)
    dist.init_process_group("gloo", f"file://{store}", limit, **who)
    value = fn(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
    return value


# %% name="rosetta"
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    gloo = run(with_gloo, relay_in_torch, f"{folder}/store", 60, workers=4)
{"ours": [number.item() for number in real.values], "PyTorch's": gloo.values}

# %% tags=["how-we-know"]
# How we know: the numbers by rank, the messages; and our own relay over gloo gives the same
assert gloo.values == [number.item() for number in real.values] == [8, 1, 2, 4]
assert (real.trace.n_messages, real.trace.n_bytes) == (4, 4 * 8)
over_gloo = run(relay, workers=4, backend="torch")
assert over_gloo.values == real.values
assert over_gloo.trace.n_messages == 4

# %% [markdown]
# Our own text runs there, too: `run(relay, workers=4, backend="torch")` sends with
# `torch.distributed`. What you write in this course you can take along.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What does a message cost on your computer?
#
# Send an array to a neighbour and back, take the time, and halve it: a *ping-pong*. A message of
# 8,000 bytes has a thousand times as many bytes as one of 8. How many times as long does it take?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: ping-pong, 6 minutes</summary>
#
# The vote: 1,000, about 100, or less than 10? Then let somebody drag the two sliders until the line
# lies on the points: α lifts the flat part, the bandwidth moves the slope. Ask what the flat part
# means: up to some kilobytes, size does not matter. The measured curve often jumps right of 16 KB
# (the section on the hang says why), and a busy computer gives a ragged one: run the cell again.
# </details>

# %%
guess_ratio = predict("How many times as long does it take?", "times")
guess_ratio

# %% tags=["nbval-ignore-output"]
sizes = 8, 104, 1_000, 8_000, 16_000, 32_000, 128_000, 1_000_000, 8_000_000
points = message_times(sizes)  # bytes and seconds, five points of each size
shortest = {size: min(t for n, t in points if n == size) for size in sizes}
guess_ratio.compare(round(shortest[8_000] / shortest[8], 1))

# %% [markdown]
# Far from a thousand. A message has a price of its own, the *latency* $\alpha$, whatever is in it,
# and then each byte has a price, $\beta$: $T(n) = \alpha + \beta\,n$ for $n$ bytes. $1/\beta$ is
# the *bandwidth*, in bytes a second. Thin curves are single measurements, both axes are
# logarithmic. Move $\alpha$ and the bandwidth until the line lies on the measured curve.


# %% name="by-hand"
def through_the_points(alpha_us, bandwidth):
    """The measured times, and the line of these two numbers."""
    return lecture_00.line_over_points(points, alpha_us * 1e-6, bandwidth * 1e9)


alphas = knob([1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100], label="α", unit="µs")
bandwidths = knob([0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30], label="1/β", unit="GB/s")
explore(through_the_points, alpha_us=alphas, bandwidth=bandwidths)

# %% [markdown]
# `fit_line` looks for the two numbers in which the relative errors are smallest. They are kept in
# your workbook, where later lectures find them; elsewhere these go by stated numbers, 10 µs and
# 3.3 GB/s.

# %% tags=["nbval-ignore-output"] name="kept"
mine, said = lecture_00.keep(fit_line(points))
alpha_s, bytes_per_s = mine.latency_s, mine.bandwidth_bytes_per_s
lecture_00.line_over_points(points, alpha_s, bytes_per_s, title=said)

# %% [markdown]
# With α and β we can say what any message costs, also where we cannot measure: the other networks
# are what standards and makers say (`wan` is from New York to Paris). 8 bytes are a number, 19 kB a
# small model, 102 MB ResNet-50 with 4 bytes a number, 350 GB GPT-3 with 2. ▸ marks where the
# latency is more than half.

# %% tags=["nbval-ignore-output"]
known = networks.ethernet_1g, networks.ethernet_10g, networks.infiniband_ndr
n_bytes = {"8 B": 8, "19 kB": 19_280, "102 MB": 102_000_000, "350 GB": 350_000_000_000}
lecture_00.message_prices([mine, *known, networks.wan], n_bytes)

# %% tags=["how-we-know"]
# How we know: what is kept is what was fitted; and the stated numbers are those of the text
assert mine.latency_s == fit_line(points).alpha_s
assert lecture_00.this_computer() in (mine, lecture_00.STATED)
assert lecture_00.STATED.latency_s == 10e-6
assert round(lecture_00.STATED.bandwidth_bytes_per_s / 1e9, 1) == 3.3

# %% [markdown]
# A small message costs its latency, and it pays to send few of them. A large model costs its bytes,
# and it pays to send it seldom, or to fewer. Every scheme of this course makes that trade: its
# price is so many α and so many bytes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A thousand workers
#
# Your laptop has no room for a thousand processes. `backend="simulated"` runs the very same
# function in *virtual time*: all ranks live in one process, and a clock adds up what messages would
# cost, α + β n. Unless you say otherwise the network is 10 Gbit/s Ethernet: 20 µs, and 0.8 ns a
# byte.
#
# One hop of the relay, 8 bytes, takes 20.0064 µs. How long does the relay take with a thousand
# workers?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a thousand workers, 3 minutes</summary>
#
# 20 ms is what a class finds by itself, and that is the point: the simulator does nothing that they
# cannot do on paper. In the explorer ask before you move: twice the workers, what happens to the
# time? Another network, what changes in the picture? Only the clock.
# </details>

# %%
guess_ms = predict("How long do a thousand hops take?", "milliseconds")
guess_ms

# %%
thousand = run(relay, workers=1000, backend="simulated")
guess_ms.compare(round(thousand.elapsed_s * 1e3, 4))

# %%
links = {"10 Gbit/s": networks.ethernet_10g, "this computer": mine}
links |= {"InfiniBand": networks.infiniband_ndr, "New York to Paris": networks.wan}


def relay_on(workers, network):
    """The relay, in virtual time."""
    made = run(relay, workers=workers, backend="simulated", network=network)
    title = f"{workers} hops: {in_seconds(made.elapsed_s)}"
    return player(lecture_00.with_received(made), layout="ring", title=title)


explore(relay_on, workers=knob([2, 4, 8, 16], start=4), network=links)

# %% tags=["how-we-know"]
# How we know: P hops are P (α + 8 β), the values are those of the processes, and messages the same
for network in links.values():
    for workers in (2, 4, 32):
        hop_s = network.latency_s + 8 / network.bandwidth_bytes_per_s
        result = run(relay, workers=workers, backend="simulated", network=network)
        assert abs(result.elapsed_s / (workers * hop_s) - 1) < 1e-9
assert abs(thousand.elapsed_s / (1000 * 20.0064e-6) - 1) < 1e-9
simulated = run(relay, workers=4, backend="simulated")
assert simulated.values == real.values
sent = {tuple(sorted(m[:2] for m in made.trace.messages)) for made in (simulated, real)}
assert sent == {((0, 1), (1, 2), (2, 3), (3, 0))}

# %% [markdown]
# Real processes tell the truth about this computer. The simulator tells us about computers that we
# do not have, and gives the same answer every time. From here on we use both.

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · When something goes wrong
#
# ## A crash
#
# With many workers things go wrong in new ways. Here each worker averages its shard of the numbers
# 3, 1, 4: every fourth number, from its own rank on. It has a bug. Which rank will crash?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a crash, 3 minutes</summary>
#
# Do not scroll to the output before they vote. Read the error aloud from the top: rank, cell and
# line, reason; then what became of the others. Ask how to repair it before you show the sum and the
# count. "Return 0" gives a mean of 2. "Leave the rank out" is right here, where all other shards
# have one number, and wrong with 3, 1, 4, 1, 5.
# </details>

# %%
guess_rank = predict("Which of the ranks 0 to 3 will crash?")
guess_rank


# %% tags=["raises-exception", "nbval-ignore-output"] name="planted-crash"
def average_of_shard(comm, numbers):
    """The mean of this rank's shard: every size-th number."""
    shard = numbers[comm.rank :: comm.size]
    return sum(shard) / len(shard)


run(average_of_shard, [3, 1, 4], workers=4)

# %%
lengths = [len([3, 1, 4][rank::4]) for rank in range(4)]
guess_rank.compare(lengths.index(0))

# %% [markdown]
# Three numbers for four workers: the shard of rank 3 is empty, and it divides by the length. Read
# the error from the top. It names the *rank*, the *cell and line*, and the reason. The last lines
# say what became of the others. No process is left behind.
#
# The mean of an empty shard does not exist, but its sum does. So let every worker return its sum
# and its count, and divide once, at the end:


# %%
def sum_and_count(comm, numbers):
    """This rank's part of the mean: it exists for an empty shard too."""
    shard = numbers[comm.rank :: comm.size]
    return sum(shard), len(shard)


parts = run(sum_and_count, [3, 1, 4], workers=4).values
total, count = (sum(column) for column in zip(*parts, strict=True))
parts, round(total / count, 4)

# %% [markdown]
# That small repair is the idea behind all of lecture 02: send sums, divide once.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A hang
#
# Now every rank hands its numbers to the right, all at the same time. Each receives from the left,
# then sends to the right. How many of the four ranks receive anything?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a hang, 10 minutes</summary>
#
# Run the PyTorch cell and say nothing for its three seconds; then ask what the message tells about
# the cause (nothing: no rank, no partner). Say what the default is. Then ours: let the class read
# the cycle aloud. In the explorer start with "send first" and 8 bytes, and move the size: the
# class should say stop when it hangs (above 16 KB). Ask why nobody noticed in the tests. If time is
# short, leave out question 3.
# </details>

# %%
guess_ranks = predict("How many of the four ranks receive anything?", "ranks")
guess_ranks

# %% [markdown]
# First as others know it: in PyTorch, with gloo, and with a time limit of three seconds.


# %% tags=["raises-exception", "nbval-ignore-output"] name="hang-as-others-know-it"
def receive_first_in_torch(rank, size):
    """Take the left one's number, then give mine to the right."""
    number = torch.zeros(1)
    dist.recv(number, src=(rank - 1) % size)
    dist.send(torch.tensor([float(rank)]), dst=(rank + 1) % size)


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    run(with_gloo, receive_first_in_torch, f"{folder}/store", 3, workers=4)

# %% [markdown]
# Three seconds of silence, and then: a receive has "timed out waiting". Who waited for whom, and
# why, is left to you. By default gloo waits 30 minutes, and NCCL, which carries messages between
# GPUs, waits 10. Now the same here:


# %% tags=["raises-exception", "nbval-ignore-output"] name="planted-deadlock"
def receive_first(comm, x):
    """Take the left neighbour's numbers, then give mine to the right."""
    left, right = neighbours(comm)
    theirs = comm.recv(src=left)
    comm.send(x, dst=right)
    return theirs


run(receive_first, np.ones(1), workers=4)

# %% [markdown]
# These were real processes. Our launcher sees what each of them is blocked on, and aborts the run
# once all are. The simulator finds it, too; and the error is an object, so that a program can ask
# it what happened:

# %% name="who-waits-for-whom"
try:
    run(receive_first, np.ones(1), workers=4, backend="simulated")
except DeadlockError as error:
    hung = error
guess_ranks.compare(hung.trace.n_messages)

# %% [markdown]
# Rank 0 waits for 3, which waits for 2, which waits for 1, which waits for 0: `hung.cycle`. Such a
# *wait-for cycle* is a *deadlock*. Each would send, but only after its receive returns.
#
# What if everybody sends first? Or receives and sends at the same time, `sendrecv`? Choose, and
# then make the message larger:


# %%
def send_first(comm, x):
    """The same with the two lines swapped."""
    left, right = neighbours(comm)
    comm.send(x, dst=right)
    return comm.recv(src=left)


def both_at_once(comm, x):
    """Send to the right and receive from the left at the same time."""
    left, right = neighbours(comm)
    return comm.sendrecv(x, dst=right, src=left)


# %% name="hidden-deadlock"
orders = {"send first": send_first, "receive first": receive_first}
orders |= {"sendrecv": both_at_once}
bytes_each = knob([8, 1000, 8_000, 16_384, 16_392, 80_000], label="n", unit="bytes")
explore(lecture_00.attempt, order=orders, n_bytes=bytes_each)

# %% tags=["how-we-know"]
# How we know: who deadlocks at which size, in the simulator, and on real processes
for n_bytes in (8, 16_384, 16_392, 80_000):
    said = [lecture_00.attempt(orders[k], n_bytes).title for k in list(orders)[:3]]
    assert ["deadlock" in title for title in said] == [n_bytes > 16_384, True, False]
assert hung.cycle == [0, 3, 2, 1]
for fn, n, cycle in ((receive_first, 1, [0, 3, 2, 1]), (send_first, 2049, [0, 1, 2, 3])):
    found = []
    try:
        run(fn, np.ones(n), workers=4)
    except DeadlockError as error:
        found = error.cycle
    assert found == cycle
assert torch.distributed.constants.default_pg_timeout == timedelta(minutes=30)
shifted = run(lambda comm: both_at_once(comm, np.array([comm.rank])), workers=4, rendezvous=True)
assert [int(x[0]) for x in shifted.values] == [3, 0, 1, 2]

# %% [markdown]
# Sending first works, with 16,384 bytes. With 16,392 it hangs: the same cycle, the other way round.
# A small message is sent *eagerly*: it is copied, and `send` returns. For a large one the copy
# would cost too much, and `send` waits until its receive is posted: *rendezvous*. (Hence the jump
# beyond 16 kB that many computers show in the ping-pong.) The deadlock was there all the time,
# hidden by small messages, until somebody used a larger model. `run(..., rendezvous=True)` shows it
# at every size.
#
# **Change it and run it again.** Add a fourth order: rank 0 sends first, all others receive first.
# Does it hang? How long does it take, compared with `sendrecv`?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One after the other, or all at once
#
# The relay and `sendrecv` both send four messages of 8 bytes. How many times as long does the relay
# take?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: one after the other, 2 minutes</summary>
#
# "The same: as many bytes" is the wrong answer to wait for. With P workers it is P times. Bytes do
# not decide here; the longest chain of messages that wait for each other does.
# </details>

# %%
guess_times = predict("How many times as long does the relay take?", "times")
guess_times

# %%
relayed = run(relay, workers=4, backend="simulated")
at_once = run(both_at_once, np.ones(1), workers=4, backend="simulated")
guess_times.compare(round(relayed.elapsed_s / at_once.elapsed_s, 6))

# %%
timeline({"relay": relayed.trace, "sendrecv": at_once.trace})

# %% tags=["how-we-know"]
# How we know: as many messages and bytes, a quarter of the time
assert at_once.trace.n_messages == relayed.trace.n_messages == 4
assert at_once.trace.n_bytes == relayed.trace.n_bytes == 4 * 8
assert abs(relayed.elapsed_s / at_once.elapsed_s - 4) < 1e-9

# %% [markdown]
# Same bytes, a quarter of the time: the relay takes four hops, one after the other, and `sendrecv`
# takes one. *Who waits for whom* decides, and most of this course is about that.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What comes next
#
# Send, receive, and a price for each: from these we build ways to train. In *data parallelism* the
# workers have the same model and different examples (lectures 02 to 06), in *model parallelism*
# each has a part of the model (07, 08). Are these all?

# %%
claim("2.9")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** A worker sets a global variable of the notebook. Who sees the new value?
#
# <details><summary>Answer</summary>
#
# That worker alone, and only until it returns. The notebook and the other workers have their own
# copies. To hand the value on, send it or return it.
# </details>

# %% [markdown]
# **Question 2.** In `relay`, rank 0 sends first and all others receive first. Can it deadlock with
# `rendezvous=True`?
#
# <details><summary>Answer</summary>
#
# No. Rank 0's send meets the receive that rank 1 has posted; rank 1's send meets rank 2's
# receive, and so on round the ring. One rank that begins differently breaks the cycle.
# </details>

# %% [markdown]
# **Question 3.** A program runs in 8 tests out of 10 and hangs in the other two. What do you
# suspect, and how do you make it show?
#
# <details><summary>Answer</summary>
#
# A wait-for cycle that small or early messages hide. Run it with `rendezvous=True`: then no send
# gets by without its receive. The simulator names the cycle.
# </details>

# %% [markdown]
# ## Is this computer fit for the course?
#
# The doctor looks at what the course needs: Python, packages, memory, and two real workers that
# exchange a message. If something is wrong, it tells you how to fix it.

# %% tags=["nbval-ignore-output"]
doctor.examine()

# %% [markdown]
# ## Which exercises are solved?
#
# A check that passes keeps that in your workbook; here is the table. In a terminal it is
# `python -m course_lib progress`. Two pages to look things up: `docs/comm.md` has all that `comm`
# can do, and `docs/glossary.md` the field's words.

# %% tags=["nbval-ignore-output"]
checks.progress()

# %% [markdown]
# ## What to remember
#
# - Workers share nothing. What one knows reaches another by a message, in every world the same.
# - A message of $n$ bytes costs $\alpha + \beta n$. You have measured both on your computer.
# - Ranks that wait for each other hang in silence. Look for the wait-for cycle; send and receive at
#   the same time.
#
# References: R. W. Hockney, *The communication challenge for MPP*, 1994 (α and β). Message Passing
# Interface Forum, *MPI: A Message-Passing Interface Standard* (send modes, deadlock). PyTorch,
# *Distributed communication package* (time limits).
#
# [Exercises 00](../exercises/00_start_here.ipynb) · [lecture 01](01_gradient_descent.ipynb)
