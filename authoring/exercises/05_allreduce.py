# %% [markdown]
# # Exercises 05 · All-reduce
#
# After this you can
#
# - give everybody the sum along a tree, a butterfly and a ring, from send and receive
# - tell from bytes alone whether a ring is one
# - predict from which length on the ring beats the butterfly, and measure it
#
# Six tasks, about two hours in all. Tasks 1 to 4 are four functions of 8 to 15 lines each.
#
# Before: [lecture 05](../notebooks/05_allreduce.ipynb). Then: [lecture
# 06](../notebooks/06_overlap_and_scaling.ipynb), where communication hides behind computation.

# %%
import numpy as np

from course_lib import checks, networks, run
from course_lib.training.shards import split_evenly
from course_lib.viz import player

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · A tree of seven
#
# Add up along a tree, and send the sum down again. *Difficulty 1 of 3, 15 minutes.*
#
# Rank 0 is the root. The children of rank `r` are `2r + 1` and `2r + 2`, where they exist; its
# parent is `(r - 1) // 2`. With 7, 5, 6, 1, 2, 3, 4 on ranks 0 to 6, rank 1 gets to 8, rank 2 to
# 13, rank 0 to 28.
#
# **Spec:** `sum(arrays of all ranks)` on every rank. **Budget:** 2(P − 1) messages of `array`'s
# size, between parents and children only, in 2⌊log₂ P⌋ rounds: with seven workers 12 messages in 4
# rounds (a round: messages that wait for those of the round before). Of `comm`, only `send`,
# `recv`, `recv_any` and `sendrecv`.


# %% tags=["exercise"] name="allreduce-tree"
def allreduce_tree(comm, array):
    """Add up the arrays of all ranks along a tree, and give every rank the sum.

    Parameters
    ----------
    comm : Communicator
        The workers; any number of them, also one.
    array : numpy.ndarray, any shape
        This rank's numbers: the same shape and dtype on every rank. It is not to be changed.

    Returns
    -------
    numpy.ndarray, shape and dtype of ``array``
        The sum over all ranks, on every rank. A new array.
    """
    # BEGIN SOLUTION
    parent = (comm.rank - 1) // 2
    children = [child for child in (2 * comm.rank + 1, 2 * comm.rank + 2) if child < comm.size]
    total = array.copy()
    for child in children:
        total += comm.recv(src=child)
    if comm.rank > 0:
        comm.send(total, dst=parent)
        total = comm.recv(src=parent)
    for child in children:
        comm.send(total, dst=child)
    return total
    # END SOLUTION


# %% tags=["check"]
checks.allreduce_tree(allreduce_tree)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Tell the story of rank 1: it hears from ranks 3 and 4, adds, sends to rank 0, waits for the sum,
# and passes it on to 3 and 4. Which parts of the story does rank 0 leave out, which does rank 3?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Write down the list of children first, without those that are `comm.size` or more. Then five
# steps: receive from each child and add; send to the parent; receive from the parent; send to each
# child; return. A rank without a parent skips the second and the third.
# </details>
#
# Now on real processes:

# %% tags=["raises-exception"]
seven = [7, 5, 6, 1, 2, 3, 4]
run(lambda comm: allreduce_tree(comm, np.array([seven[comm.rank]])), workers=7,
    time_limit_s=20).values  # fmt: skip

# %% [markdown]
# **Without code.** The arrays have n bytes each. How many bytes does rank 1 of seven send? How many
# did rank 0 send when it broadcast to the six others by itself?
#
# <details><summary>Answer</summary>
#
# Rank 1 sends 3n: one array up, two down. Rank 0 of the star sends 6n, and P − 1 times n with P
# workers. On the tree it is 3n at most, however many there are.
# </details>

# %% [markdown]
# ## 2 · The butterfly
#
# Exchange sums in pairs: the fewest rounds. *Difficulty 2 of 3, 25 minutes.*
#
# In round 0 rank `r` meets `r ^ 1`, in round 1 `r ^ 2`, then `r ^ 4`. Each sends its sum so far and
# adds the other's. `^` flips one bit: `2 ^ 1` is 3.
#
# Q is the largest power of two up to P. The first Q ranks exchange: rank `Q + i` gives `i` its
# array before, and gets the sum after.
#
# **Spec:** `sum(arrays of all ranks)`, the same bits everywhere. **Budget:** log₂ Q rounds, two
# more where P > Q; Q log₂ Q + 2(P − Q) messages of `array`'s size, one a rank and round. Six
# workers: 4 rounds, 12 messages. Of `comm`, only `send`, `recv`, `recv_any` and `sendrecv`.


# %% tags=["exercise"] name="allreduce-butterfly"
def allreduce_butterfly(comm, array):
    """Add up the arrays of all ranks by exchanges at distance 1, 2, 4, ...

    Parameters
    ----------
    comm : Communicator
        The workers; any number of them, also one, also three.
    array : numpy.ndarray, any shape
        This rank's numbers: the same shape and dtype on every rank. It is not to be changed.

    Returns
    -------
    numpy.ndarray, shape and dtype of ``array``
        The sum over all ranks, bit for bit the same on every rank. A new array.
    """
    # BEGIN SOLUTION
    core = 1  # the largest power of two that is not above P
    while 2 * core <= comm.size:
        core *= 2
    if comm.rank >= core:
        comm.send(array, dst=comm.rank - core)
        return comm.recv(src=comm.rank - core)
    guest = comm.rank + core
    total = array.copy()
    if guest < comm.size:
        total += comm.recv(src=guest)
    distance = 1
    while distance < core:
        partner = comm.rank ^ distance
        total += comm.sendrecv(total, dst=partner, src=partner)
        distance *= 2
    if guest < comm.size:
        comm.send(total, dst=guest)
    return total
    # END SOLUTION


# %% tags=["check"]
checks.allreduce_butterfly(allreduce_butterfly)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# With four workers that hold 1, 2, 3, 4: after round 0 ranks 0 and 1 hold 3, ranks 2 and 3 hold 7.
# What is sent in round 1, and to whom?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `while distance < Q:` exchange with `comm.rank ^ distance`, add, and double the distance. A rank
# `Q + i` sends once, receives once, and returns before the loop. Its host, rank `i`, receives
# before the loop and sends after it.
# </details>
#
# Now on real processes, with four workers and with six:


# %% tags=["raises-exception"]
def from_1(comm):
    """The sum of 1, 2, ..., P."""
    return allreduce_butterfly(comm, np.array([comm.rank + 1]))


for workers in (4, 6):
    print([int(x[0]) for x in run(from_1, workers=workers, time_limit_s=20).values])

# %% [markdown]
# **Without code.** Four workers take two rounds here, and four rounds on the tree. Each round of
# the butterfly moves more bytes. How many in all, with four workers and n bytes each, and how many
# on the tree?
#
# <details><summary>Answer</summary>
#
# The butterfly sends 4 messages in each of 2 rounds: 8n. The tree sends 2 · 3 = 6n. But all four
# send at the same time: a NIC sends 2n here, and up to 2n on the tree as well.
# </details>

# %% [markdown]
# ## 3 · Half a ring
#
# Rank `r` ends with chunk `r` of the sum. *Difficulty 2 of 3, 20 minutes.*
#
# `split_evenly(len(array), P)` cuts the rows into P chunks. In P − 1 steps every rank sends one
# chunk to its right neighbour, rank `r + 1`, and adds the one from the left to its own. What has
# arrived leaves in the next step.
#
# **Spec:** rank `r` returns `total[split_evenly(len(total), P)[r]]`, where `total` is the sum over
# all ranks. **Budget:** from each rank P − 1 messages, to the right, with (P − 1)/P of the array's
# bytes; at most 2(P − 1) rounds (`sendrecv` takes half of them). Four workers: 3 messages, ¾ of the
# bytes, 6 rounds. Of `comm`, only `send`, `recv`, `recv_any` and `sendrecv`.


# %% tags=["exercise"] name="reduce-scatter-ring"
def reduce_scatter_ring(comm, array):
    """Add up the arrays of all ranks on a ring, and leave each rank its chunk of the sum.

    Parameters
    ----------
    comm : Communicator
        The workers; any number of them, also one.
    array : numpy.ndarray, shape (n, ...)
        This rank's numbers: the same shape and dtype on every rank; n may be 0, or less than the
        number of workers. It is not to be changed.

    Returns
    -------
    numpy.ndarray, shape (rows of the chunk, ...)
        The rows ``split_evenly(n, comm.size)[comm.rank]`` of the sum over all ranks. A new array.
    """
    # BEGIN SOLUTION
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank - 1 - step) % comm.size]
        incoming = chunks[(comm.rank - 2 - step) % comm.size]
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    return total[chunks[comm.rank]].copy()
    # END SOLUTION


# %% tags=["check"]
checks.reduce_scatter_ring(reduce_scatter_ring)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go backwards. Chunk `r` is to be finished on rank `r` after the last step. Where was it before
# that step, and where did it start? Follow chunk 2 of four workers on paper.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Rank `r` starts with chunk `r - 1`. In step `s` it sends chunk `r - 1 - s`, and receives what its
# left neighbour sends: chunk `r - 2 - s`. All of them modulo P.
# </details>
#
# Now on real processes: every rank has 0, 1, ..., 7, and four of them add up.

# %% tags=["raises-exception"]
[x.tolist() for x in run(reduce_scatter_ring, np.arange(8), workers=4, time_limit_s=20).values]

# %% [markdown]
# **Without code.** Your ring starts each chunk one rank further left instead, rank `r` sending
# chunk `r` first. Who holds which finished chunk at the end?
#
# <details><summary>Answer</summary>
#
# Chunk `r` starts on rank `r` and takes P − 1 steps to the right: it ends on rank `r − 1`. Rank `r`
# holds chunk `r + 1`. Many texts do so; the next task may, too.
# </details>

# %% [markdown]
# ## 4 · The ring
#
# Everybody gets the sum, and nobody carries more than anybody else. *Difficulty 3 of 3, 25
# minutes.*
#
# First half: P − 1 steps as in task 3. Second half: P − 1 steps in which the finished chunks go
# round; a chunk that arrives replaces what is there.
#
# **Spec:** `sum(arrays of all ranks)`, the same bits on every rank. **Budget:** twice task 3's:
# from each rank 2(P − 1) messages, to the right only, with 2(P − 1)/P of the array's bytes; in all
# at most 4(P − 1) rounds. With four workers: 6 messages, 1½ times the bytes, 12 rounds (6 with
# `sendrecv`). Of `comm`, only `send`, `recv`, `recv_any` and `sendrecv`.


# %% tags=["exercise"] name="allreduce-ring"
def allreduce_ring(comm, array):
    """Add up the arrays of all ranks on a ring, chunk by chunk, and give every rank the sum.

    Parameters
    ----------
    comm : Communicator
        The workers; any number of them, also one.
    array : numpy.ndarray, shape (n, ...)
        This rank's numbers: the same shape and dtype on every rank; there may be fewer rows than
        workers, or none. It is not to be changed.

    Returns
    -------
    numpy.ndarray, shape and dtype of ``array``
        The sum over all ranks, bit for bit the same on every rank. A new array.
    """
    # BEGIN SOLUTION
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 1):  # chunks gather contributions
        outgoing = chunks[(comm.rank - step) % comm.size]
        incoming = chunks[(comm.rank - step - 1) % comm.size]
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    for step in range(comm.size - 1):  # finished chunks go round
        outgoing = chunks[(comm.rank + 1 - step) % comm.size]
        incoming = chunks[(comm.rank - step) % comm.size]
        total[incoming] = comm.sendrecv(total[outgoing], dst=right, src=left)
    return total
    # END SOLUTION


# %% tags=["check"]
checks.allreduce_ring(allreduce_ring)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# After the first half each rank holds one finished chunk. Which one, in your numbering? That chunk
# leaves first in the second half.
# </details>
#
# <details><summary>Hint 2</summary>
#
# If rank `r` sends chunk `r - s` in step `s` of the first half, it has finished chunk `r + 1`. In
# step `s` of the second half it sends chunk `r + 1 - s` and receives chunk `r - s`.
# </details>
#
# Now on real processes, with a million numbers each:


# %% tags=["raises-exception"]
def of_a_million(comm):
    """The smallest and the largest number of the sum."""
    total = allreduce_ring(comm, np.full(1_000_000, float(comm.rank)))
    return float(total.min()), float(total.max())


run(of_a_million, workers=4, time_limit_s=20).values

# %% [markdown]
# **Without code.** With twice as many workers, how many bytes does each send, and how many
# messages?
#
# <details><summary>Answer</summary>
#
# 2(P − 1)/P · n bytes: 1.5n with four workers, 1.75n with eight, never 2n. But 6 messages become
# 14: the bytes hardly grow, the latency does.
# </details>

# %% [markdown]
# ## 5 · Find the bug: is this a ring?
#
# Tell a wrong ring from its bytes. *Difficulty 2 of 3, 15 minutes.*
#
# A colleague says: "Mine is a ring, too, with half of your messages." Its sums are right. (It is
# none of the rings of the lecture.)


# %% name="colleagues-ring"
def colleagues_ring(comm, array):
    """Add up the arrays of all ranks; what a rank knows goes on to the right."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    known = array[np.newaxis]
    for _ in range(comm.size - 1):
        known = np.concatenate([array[np.newaxis], comm.sendrecv(known, dst=right, src=left)])
    return known.sum(axis=0)


seen = run(colleagues_ring, np.ones(1000), workers=4, backend="simulated")
player(seen.trace, layout="ring", title="A colleague's ring: 4 workers, 8,000 bytes each")

# %% name="colleagues-ring-checked"
checks.allreduce_ring(colleagues_ring)

# %% [markdown]
# Right values, right neighbours, half the messages: only the bytes tell. Write the function that
# tells them, from the trace of any all-reduce. `trace.size` is P, `trace.bytes_sent()` lists what
# each rank sent.
#
# **Spec:** for each rank, the bytes it sent beyond `2 * (P - 1) / P * n_bytes`, and 0 where it sent
# less. `n_bytes` is a multiple of P. **Budget:** no messages.


# %% tags=["exercise"] name="wasted-bytes"
def wasted_bytes(trace, n_bytes):
    """Say how many bytes each rank sent that a chunked ring would not have sent.

    Parameters
    ----------
    trace : Trace
        Of a run of one all-reduce, any algorithm.
    n_bytes : int
        The size of each rank's array, in bytes; a multiple of the number of ranks.

    Returns
    -------
    list of number
        The bytes by rank, 0 for a rank that sent less than a ring's rank does.
    """
    # BEGIN SOLUTION
    needed = 2 * (trace.size - 1) * n_bytes // trace.size
    return [max(0, sent - needed) for sent in trace.bytes_sent()]
    # END SOLUTION


# %% tags=["check"]
checks.wasted_bytes(wasted_bytes)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# What does a rank of your ring of task 4 send, in bytes, with 4 workers and 8,000 bytes? What did
# rank 0 of the colleague's send?
# </details>
#
# <details><summary>Hint 2</summary>
#
# A ring's rank sends 2(P − 1) chunks of `n_bytes / P` bytes. Subtract that from each of
# `trace.bytes_sent()`; `max(0, ...)` for those that sent less.
# </details>
#
# Now on real processes, the colleague's ring and yours:

# %% tags=["raises-exception"]
for ring in (colleagues_ring, allreduce_ring):
    trace = run(ring, np.ones(1000), workers=4, time_limit_s=20).trace
    print(f"{ring.__name__:15} wasted by rank: {wasted_bytes(trace, 8000)}")

# %% [markdown]
# **Without code.** Which line is to blame? How much does it waste with P workers, and for which P
# does nobody notice?
#
# <details><summary>Answer</summary>
#
# `known` grows: a rank sends 1 array, then 2, ..., then P − 1, that is P(P − 1)/2 times n bytes,
# instead of 2(P − 1) chunks of n/P. Each rank wastes (P − 1)(P² − 4)/(2P) · n bytes: nothing with
# two workers, 4.5n with four, 26.25n with eight. It passes on arrays where a sum would do.
# </details>

# %% [markdown]
# ## 6 · Predict, then measure
#
# Predict the length at which butterfly and ring take equally long, then measure it. *Difficulty 3
# of 3, 20 minutes.*
#
# A message of n bytes takes α + n β: the latency, and 1 / bandwidth for each byte. In each round
# all ranks send at once. The butterfly has few rounds with long messages, the ring many rounds with
# short ones.
#
# **Spec:** the length n of the array, in bytes, where both times are equal, and that time. P is 4,
# 8 or 16. The check measures both functions on a network that you have not seen.


# %% tags=["exercise"] name="predict-crossover"
def predict_crossover(n_workers, latency_s, bandwidth_bytes_per_s):
    """Predict where the ring overtakes the butterfly.

    Parameters
    ----------
    n_workers : int
        How many ranks there are: 4, 8 or 16.
    latency_s : float
        Alpha, what a message of no bytes takes, in seconds.
    bandwidth_bytes_per_s : float
        How many bytes a NIC sends, and at the same time receives, in a second.

    Returns
    -------
    dict of str to float
        ``"n_bytes"``: the size of each rank's array at which both take equally long;
        ``"seconds"``: how long they take there. Both to a ten-thousandth; a whole number of bytes
        will do.
    """
    # BEGIN SOLUTION
    beta = 1 / bandwidth_bytes_per_s
    rounds = np.log2(n_workers)  # of the butterfly: each carries the whole array
    steps = 2 * (n_workers - 1)  # of the ring: each carries one chunk
    n_bytes = (steps - rounds) * latency_s / ((rounds - steps / n_workers) * beta)
    return {"n_bytes": n_bytes, "seconds": rounds * (latency_s + n_bytes * beta)}
    # END SOLUTION


# %% tags=["check"]
checks.predict_crossover(predict_crossover)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write down both times for P = 4: so many rounds, and in each of them α and so many bytes times β.
# At which n are they equal?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Butterfly: log₂ P (α + n β). Ring: 2(P − 1)(α + n/P β). With P = 4: 2α + 2nβ = 6α + 1.5nβ, so
# n = 8 α/β. With P = 8 it is 8.8 α/β.
# </details>
#
# Now with your own two functions, on the simulated Ethernet of the lecture; the middle row is the
# prediction:

# %% tags=["raises-exception"]
network = networks.ethernet_10g
crossing = predict_crossover(4, network.latency_s, network.bandwidth_bytes_per_s)["n_bytes"]
for n_bytes in (crossing / 5, crossing, crossing * 5):
    x = np.zeros(round(n_bytes / 32) * 4)
    times = [run(f, x, workers=4, backend="simulated", network=network).elapsed_s
             for f in (allreduce_butterfly, allreduce_ring)]  # fmt: skip
    print(f"{x.nbytes:7,} bytes: butterfly {times[0] * 1e6:6.1f} µs, ring {times[1] * 1e6:6.1f} µs")

# %% [markdown]
# And on real processes, where the memory of this computer is the network. Wall times differ from
# run to run.


# %% tags=["raises-exception", "nbval-ignore-output"]
def seconds_each(comm, allreduce, n_numbers):
    """The mean time of 20 calls on this rank."""
    x = np.zeros(n_numbers)
    comm.barrier()
    start_s = comm.clock()
    for _ in range(20):
        allreduce(comm, x)
    return (comm.clock() - start_s) / 20


for n_numbers in (100, 1_000_000):
    for f in (allreduce_butterfly, allreduce_ring):
        seconds = max(run(seconds_each, f, n_numbers, workers=4, time_limit_s=20).values)
        print(f"{8 * n_numbers:9,} bytes, {f.__name__:19}: {seconds * 1e3:7.3f} ms")

# %% [markdown]
# **Without code.** With two workers there is no crossover. Which of the two is faster then, and by
# how much?
#
# <details><summary>Answer</summary>
#
# The butterfly takes α + n β, the ring 2(α + n/2 β) = 2α + n β. The butterfly is faster by one
# latency, for every length.
# </details>

# %% [markdown]
# ## What comes next
#
# Next: [lecture 06](../notebooks/06_overlap_and_scaling.ipynb). Before: [lecture
# 05](../notebooks/05_allreduce.ipynb). Which tasks you have solved, here and in the other sets,
# `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
