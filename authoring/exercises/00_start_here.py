# %% [markdown]
# # Exercises 00 · Start here
#
# After this you can
#
# - let workers say who they are, and send an array from one to the next
# - find a deadlock that small messages hide, and fix it
# - measure what a message costs, and predict what a program will send
#
# Five tasks, about an hour in all. Write a function, run the check below it, read what it says.
# A check runs your function on simulated workers, from 1 to 8 of them, and never ends the notebook.
#
# Before: [lecture 00](../notebooks/00_start_here.ipynb). Then: [lecture
# 01](../notebooks/01_gradient_descent.ipynb), what training does before it is distributed.

# %%
import numpy as np

from course_lib import checks, networks, run
from course_lib.checks.lecture_00.predict_gather import sum_at_rank_0
from course_lib.viz import player

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · Say hello
#
# Let every worker say who it is. *Difficulty 1 of 3, 5 minutes.*
#
# **Spec:** `f"rank {r} of {P}"` for rank `r` of `P` workers. **Budget:** no messages. Of `comm`,
# only `rank` and `size`.


# %% tags=["exercise"] name="hello"
def hello(comm):
    """Say who I am, and how many we are.

    Parameters
    ----------
    comm : Communicator
        Knows this worker's number and how many workers there are.

    Returns
    -------
    str
        ``"rank 2 of 4"`` on rank 2 of four workers. Ranks count from 0.
    """
    # BEGIN SOLUTION
    return f"rank {comm.rank} of {comm.size}"
    # END SOLUTION


# %% tags=["check"]
checks.hello(hello)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `comm` has two numbers for you. In a new cell, write
# `from course_lib.comm.communicator import Communicator` and then `help(Communicator)`. Which of
# its attributes are they?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `comm.rank` is the number of this worker, `comm.size` is how many there are. An f-string puts them
# into a sentence.
# </details>
#
# Now on real processes:

# %% tags=["raises-exception"]
run(hello, workers=4).values

# %% [markdown]
# **Without code.** You start 4 workers and see 4 sentences. Which program printed first, and how
# would you find out?
#
# <details><summary>Answer</summary>
#
# Nobody knows: four processes run at the same time, and each run may have another order. `values`
# is sorted by rank, not by time. To learn about time, look at the trace.
# </details>

# %% [markdown]
# ## 2 · Pass it around
#
# A message goes once around, and everybody adds to it. *Difficulty 1 of 3, 10 minutes.*
#
# Rank 0 sends its `x` to rank 1. Rank 1 adds its own `x` and sends the sum to rank 2, and so on.
# The last rank sends to rank 0, which then holds the sum of all.
#
# **Spec:** rank `r > 0` returns `sum(x[0] ... x[r])`, rank 0 returns `sum(x[0] ... x[P-1])`.
# **Budget:** one message from each rank, of the size of `x`; none with one worker. Of `comm`, only
# `send` and `recv`.


# %% tags=["exercise"] name="pass-around"
def pass_around(comm, x):
    """Add up the arrays of all ranks on a message that goes round the ring.

    Parameters
    ----------
    comm : Communicator
        The workers; there may be only one.
    x : numpy.ndarray, any shape
        This rank's numbers: the same shape and dtype on every rank. It is not to be changed.

    Returns
    -------
    numpy.ndarray, shape and dtype of ``x``
        On rank 0 the sum over all ranks, on rank r the sum over ranks 0 to r. A new array.
    """
    # BEGIN SOLUTION
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, dst=right)
        return comm.recv(src=left)
    total = comm.recv(src=left) + x
    comm.send(total, dst=right)
    return total
    # END SOLUTION


# %% tags=["check"]
checks.pass_around(pass_around)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Rank 0 does something else than all others: it begins. Write two branches, and read each aloud as
# the story of that rank.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `(comm.rank + 1) % comm.size` is the right neighbour, also of the last rank. With one worker that
# would be the rank itself: return a copy of `x` before it comes to that.
# </details>
#
# Now on real processes:

# %% tags=["raises-exception"]
run(lambda comm: pass_around(comm, np.array([comm.rank + 1])), workers=4, time_limit_s=10).values

# %% [markdown]
# **Without code.** With P workers, how many are at work at the same moment?
#
# <details><summary>Answer</summary>
#
# One. P messages go one after the other, so it takes P times as long as one message. Lecture 05
# lets all of them work at once.
# </details>

# %% [markdown]
# ## 3 · Find the bug: it hung on Tuesday
#
# Hand your numbers to the right while the left hands you its own. *Difficulty 2 of 3, 15 minutes.*
#
# This program ran well on Monday, with 1,000 numbers each. On Tuesday, with 10,000, it hung.


# %% name="monday"
def monday(comm, x):
    """Give x to the right neighbour and return the left one's."""
    if comm.size == 1:
        return x.copy()
    comm.send(x, dst=(comm.rank + 1) % comm.size)
    return comm.recv(src=(comm.rank - 1) % comm.size)


# %% name="monday-run"
on_monday = run(monday, np.zeros(1_000), workers=4, backend="simulated")
player(on_monday.trace, layout="ring", title="Monday: 8,000 bytes leave at once")

# %% tags=["nbval-ignore-output"] name="tuesday"
checks.shift_right(monday)

# %% [markdown]
# Read the report: which ranks wait, in which line, for whom? Then write a version that works for
# messages of any size.
#
# **Spec:** rank `r` returns the `x` of rank `(r - 1) % P`. **Budget:** one message from each
# rank, of the size of `x`. Of `comm`, only `send`, `recv`, `recv_any`, `sendrecv`, `isend` and
# `irecv`.


# %% tags=["exercise"] name="shift-right"
def shift_right(comm, x):
    """Hand x to the right neighbour and return what the left neighbour hands over.

    Parameters
    ----------
    comm : Communicator
        The workers; there may be only one, or an odd number.
    x : numpy.ndarray, any shape
        This rank's numbers: the same shape and dtype on every rank. It is not to be changed.

    Returns
    -------
    numpy.ndarray, shape and dtype of ``x``
        The numbers of rank ``(rank - 1) % size``, as a new array.
    """
    # BEGIN SOLUTION
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    return comm.sendrecv(x, dst=right, src=left)
    # END SOLUTION


# %% tags=["check"]
checks.shift_right(shift_right)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Up to 16 KB a message is copied and `send` returns at once. A larger one waits until its `recv` is
# posted. In `monday` everybody sends before anybody receives.
# </details>
#
# <details><summary>Hint 2</summary>
#
# There are two cures. `comm.sendrecv(array, dst, src)` sends and receives at the same time. Or
# let at least one rank receive before it sends: the cycle is broken there.
# </details>
#
# Now on real processes, with messages of 8 MB:


# %% tags=["raises-exception"]
def large(comm):
    """Shift a million numbers."""
    return shift_right(comm, np.full(1_000_000, comm.rank))


[int(x[0]) for x in run(large, workers=4, time_limit_s=10).values]

# %% [markdown]
# **Without code.** Only rank 0 receives first, all others send first. Is there a deadlock? How long
# does it take, compared with `sendrecv`?
#
# <details><summary>Answer</summary>
#
# No deadlock: rank 0 takes the last rank's message, which frees the last rank, and so on round the
# ring. But for large messages that is one after the other: P times as long.
# </details>

# %% [markdown]
# ## 4 · Ping-pong
#
# Measure how long one message takes. *Difficulty 2 of 3, 15 minutes.*
#
# The clocks of two computers do not agree, so nobody can measure one message alone. Send it to and
# fro, look twice at the *same* clock, and divide.
#
# **Spec:** the mean over all messages. On most networks that the check simulates each takes
# `latency_s + n_bytes / bandwidth_bytes_per_s`; on one, some come later than others. **Budget:**
# `2 * n_trips` messages of `n_bytes`, no fewer (one round trip more to warm up is allowed). Of
# `comm`, only `send` and `recv`; the time comes from `comm.clock()`.


# %% tags=["exercise"] name="ping-pong"
def ping_pong(comm, n_bytes, n_trips):
    """Measure how long a message from rank 0 to rank 1 takes.

    Parameters
    ----------
    comm : Communicator
        Two workers or more; only ranks 0 and 1 take part.
    n_bytes : int
        The size of each message, there and back, in bytes.
    n_trips : int
        How many times it goes to rank 1 and back.

    Returns
    -------
    float or None
        On rank 0 the seconds that one message took, in the mean over all of them; on the other
        ranks None.
    """
    # BEGIN SOLUTION
    if comm.rank > 1:
        return None
    message = np.zeros(n_bytes, dtype=np.uint8)
    start_s = comm.clock()
    for _ in range(n_trips):
        if comm.rank == 0:
            comm.send(message, dst=1)
            comm.recv(src=1)
        else:
            comm.recv(src=0)
            comm.send(message, dst=0)
    return (comm.clock() - start_s) / (2 * n_trips) if comm.rank == 0 else None
    # END SOLUTION


# %% tags=["check"]
checks.ping_pong(ping_pong)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Rank 0 sends and then receives; rank 1 receives and then sends. All other ranks have nothing to do
# and return at once. An array of `n_bytes` bytes has the dtype `np.uint8`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Read `comm.clock()` before the loop and after it. In between there were `n_trips` round trips,
# and a round trip is two messages.
# </details>
#
# Now on real processes, in microseconds, for a small message and for one of 1 MB:

# %% tags=["raises-exception", "nbval-ignore-output"]
for n_bytes in (8, 1_000_000):
    seconds = run(ping_pong, n_bytes, 100, workers=2, time_limit_s=10).values[0]
    print(f"{n_bytes:9,} bytes: {seconds * 1e6:.1f} µs")

# %% [markdown]
# **Without code.** A message of 8 bytes takes 20 µs, one of 1 MB takes 820 µs. What are the
# latency and the bandwidth? How long will 10 MB take?
#
# <details><summary>Answer</summary>
#
# The small message is nearly all latency: 20 µs. 1 MB takes 800 µs more, so 1.25 GB/s. 10 MB: 20 +
# 8,000 µs, where the latency no longer matters.
# </details>

# %% [markdown]
# ## 5 · Predict, then measure
#
# Predict the messages and bytes of a program, then measure them. *Difficulty 2 of 3, 10 minutes.*
#
# `sum_at_rank_0(comm, x)`: every rank but 0 sends its `x` to rank 0; rank 0 adds them all to its
# own and sends the sum to everybody else. All arrays are float64.
#
# **Spec:** what the trace of a run says, for any number of workers and numbers. First write it down
# on paper for 3 workers; the check runs the program. **Budget:** arithmetic, without `run`.


# %% tags=["exercise"] name="predict-gather"
def predict_gather(n_workers, n_numbers):
    """Predict what ``sum_at_rank_0`` sends.

    Parameters
    ----------
    n_workers : int
        How many ranks there are, 1 or more.
    n_numbers : int
        How many float64 numbers each rank has, 0 or more.

    Returns
    -------
    dict of str to int
        ``"messages"``: sent by all ranks together; ``"n_bytes"``: the bytes in them;
        ``"bytes_into_rank_0"``: the bytes that rank 0 receives.
    """
    # BEGIN SOLUTION
    others = n_workers - 1
    n_bytes = 8 * n_numbers
    return {
        "messages": 2 * others,
        "n_bytes": 2 * others * n_bytes,
        "bytes_into_rank_0": others * n_bytes,
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_gather(predict_gather)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Draw three circles for ranks 0, 1, 2 and an arrow for each message. Who sends nothing to itself?
# </details>
#
# <details><summary>Hint 2</summary>
#
# P − 1 messages go in and P − 1 come out. A float64 number is 64 bits, and a byte is 8 bits.
# </details>
#
# Now on real processes:

# %% tags=["raises-exception"]
trace = run(sum_at_rank_0, np.zeros(1000), workers=4).trace
print(predict_gather(4, 1000), "measured:", trace.n_messages, trace.n_bytes)

# %% [markdown]
# **Without code.** A thousand workers, 1 MB each, and rank 0's NIC carries 1.25 GB/s in each
# direction. What is the least time that `sum_at_rank_0` can take?
#
# <details><summary>Answer</summary>
#
# 999 MB go in and then 999 MB come out: 0.8 s and 0.8 s again, whatever the others do. They wait
# most of the time. Lecture 05 is about this.
# </details>

# %% name="a-thousand-workers"
slow = run(sum_at_rank_0, np.zeros(125_000), workers=100, backend="simulated",
           network=networks.ethernet_10g)  # fmt: skip
print(f"100 workers, 1 MB each: {slow.elapsed_s:.4f} virtual seconds")

# %% [markdown]
# ## What comes next
#
# Next: [lecture 01](../notebooks/01_gradient_descent.ipynb). Before: [lecture
# 00](../notebooks/00_start_here.ipynb). Which tasks you have solved, here and in the other sets,
# `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
