# %% [markdown] slideshow={"slide_type": "slide"}
# # 00 · Start here: can my laptop be a cluster?
#
# After this you can
#
# - run a function of your own on four real workers, and say what they share
# - send an array from one worker to another and watch it travel
# - read what the library says about a crash and about a deadlock, and fix both
#
# 25 minutes; the first surprise comes within ten. Needs: 4 processes, no GPU, no network.

# %%
import os

import numpy as np

from course_lib import doctor, run
from course_lib.comm.errors import DeadlockError
from course_lib.viz import player
from course_lib.viz.prediction import predict

# Nothing here is random: no seed is needed.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: timing, misconceptions</summary>
#
# Timing: four workers 5 minutes, messages 8, simulator 4, crash 3, deadlock 5.
# Start by asking who has several computers at hand; then run the first cell on a laptop.
#
# Common misconceptions: "workers are threads and see my variables" (they are processes with their
# own memory); "a send waits until the other side has read it" (up to a limit it does not); "a
# deadlock gives an error by itself" (in real life it gives silence).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is this computer fit?
#
# The doctor looks at what the course needs: Python, packages, memory, and two real workers that
# exchange a message. Where something is wrong, it says how to fix it.

# %% tags=["nbval-ignore-output"]
doctor.examine()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four workers
#
# A *worker* is a process: a running program with memory of its own. A cluster is many of them on
# many machines. Your laptop can run several at once, so it can be a small cluster, and what we
# write for it will run on a large one.
#
# `run` starts a function of ours on every worker. Each gets a communicator, `comm`, which knows its
# number (`rank`) and how many there are (`size`).


# %% tags=["nbval-ignore-output"]
def introduce(comm):
    """What each worker says about itself."""
    return f"I am rank {comm.rank} of {comm.size}, process {os.getpid()}"


print("\n".join(run(introduce, workers=4).values))

# %% [markdown]
# The function was written in this notebook, and it ran in four other processes. Are they really
# others?

# %%
numbers = run(lambda comm: os.getpid(), workers=4).values
print(len(set(numbers)), "processes; the notebook is one of them:", os.getpid() in numbers)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What do they share?
#
# We give every worker the same basket and let each put something in. How many apples are in the
# notebook's basket afterwards?

# %%
guess_apples = predict("How many apples are in the notebook's basket?", "apples")
guess_apples

# %%
basket = []


def shop(comm, basket):
    """Put an apple into the basket."""
    basket.append("apple")
    return len(basket)


print("counted by the workers:", run(shop, basket, workers=4).values)
print(guess_apples.compare(len(basket)))

# %% [markdown]
# Every worker got a *copy*. They share nothing: no variable, no list, no model. What one worker
# knows reaches another only if it is sent. That sounds like a nuisance and is the reason why the
# same code runs on a hundred machines.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A message
#
# `comm.send(array, dst)` sends an array to a rank, `comm.recv(src)` receives one. That is enough to
# build everything in this course.
#
# Rank 0 sends the number 1 to its right neighbour. Every other rank receives from the left,
# doubles, and passes on. The last one sends back to rank 0.


# %%
def relay(comm):
    """Pass a number round the ring and double it on the way."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
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
print("received by rank:", [int(number[0]) for number in real.values])
print(guess_number.compare(real.values[0][0]))

# %% [markdown] slideshow={"slide_type": "slide"}
# ### Watch it
#
# Every run keeps a record of what was sent, when, and by whom. The player draws nothing else. Press
# play, or put the focus on it and use the space bar and the arrows.
#
# In true time some of this may pass too quickly to see, and some may seem to stand still. So the
# player goes from event to event in *even steps*. Its button of that name switches to true time and
# back.

# %% tags=["nbval-ignore-output"]
player(real.trace, layout="ring", title="A number on four real processes", even_steps=True)

# %% [markdown]
# Rank 1 doubles the 1, rank 2 the 2, rank 3 the 4: three doublings, so 8 comes back. Four
# messages of one number, 8 bytes each.
#
# A hatched bar is a rank that waits for its message. Real processes do not start at the same
# instant: a rank has no bar before it starts, and the first milliseconds may be nothing but such
# differences. No two runs look alike.

# %% [markdown]
# One thing is the same in all runs: only the worker that has the number can do something. The
# others wait, are done, or have not begun. A ring like this is no way to be fast; a later lecture
# has a better one.
#
# **Your turn:** change the function above, for example to add its rank, and run the cells again.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same text in another world
#
# `backend="simulated"` runs the very same function in *virtual time*: all workers live in one
# process, and a model of a network says how long each message takes. Ours has a latency of 20 µs
# and carries 1.25 GB a second.

# %%
simulated = run(relay, workers=4, backend="simulated")
print(simulated.trace.table())


# %%
def story(trace):
    """Who sent what to whom, in order for each sender."""
    return sorted((m.src, m.dst, m.shape, m.n_bytes) for m in trace.messages)


same = [int(number[0]) for number in simulated.values] == [8, 1, 2, 4]
print("same values:", same, " same messages:", story(real.trace) == story(simulated.trace))
assert same
assert story(real.trace) == story(simulated.trace)

# %% [markdown]
# In the simulator we can predict to the nanosecond. One hop is 20 µs and 8 bytes at 0.8 ns each:
# 20.0064 µs. Four hops are four times that.
#
# How long with a thousand workers, in milliseconds?

# %%
guess_ms = predict("A thousand workers, a thousand hops: how long?", "milliseconds")
guess_ms

# %%
thousand = run(relay, workers=1000, backend="simulated")
print(f"4 workers: {simulated.elapsed_s * 1e6:.4f} µs")
print(guess_ms.compare(round(thousand.elapsed_s * 1e3, 4)))
assert abs(thousand.elapsed_s / (1000 * 20.0064e-6) - 1) < 1e-9

# %% tags=["nbval-ignore-output"]
print(f"four real processes on this computer: {real.elapsed_s * 1e6:.0f} µs, measured")

# %% [markdown]
# Real processes tell the truth about this computer. The simulator tells us about computers that we
# do not have, and gives the same answer every time. From here on we use both.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A crash
#
# Things go wrong, and with many workers they go wrong in new ways. Here each worker averages its
# share of the numbers. There is a mistake in it. Which rank meets it?


# %% tags=["raises-exception", "nbval-ignore-output"] name="planted-crash"
def average_of_share(comm, numbers):
    """The mean of this rank's share: every size-th number."""
    share = numbers[comm.rank :: comm.size]
    return sum(share) / len(share)


run(average_of_share, [3, 1, 4], workers=4)

# %% [markdown]
# Read it from the top. It names the *rank*, the *cell and line*, and the reason. Three numbers for
# four workers: rank 3 has an empty share, and divides by its length. The last lines say what became
# of the others. No process is left behind, and the notebook goes on.
#
# A mean of an empty share does not exist, but a sum does. So let every worker return its sum and
# its count:


# %%
def sum_and_count(comm, numbers):
    """This rank's part of the mean: it exists for an empty share too."""
    share = numbers[comm.rank :: comm.size]
    return sum(share), len(share)


parts = run(sum_and_count, [3, 1, 4], workers=4).values
total, count = (sum(column) for column in zip(*parts, strict=True))
print(parts, f"-> mean {total / count:.4f}")
assert total / count == np.mean([3, 1, 4])

# %% [markdown]
# That small repair is the idea behind all of lecture 02: send sums, divide once at the end.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A deadlock
#
# Now every rank passes its own number to the right, all at the same time. Each receives from the
# left and sends to the right. What happens?


# %% tags=["raises-exception", "nbval-ignore-output"] name="planted-deadlock"
def shift(comm):
    """Give my rank to the right neighbour and return the left one's."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    number = comm.recv(src=left)
    comm.send(np.array([comm.rank]), dst=right)
    return number


run(shift, workers=4)

# %% [markdown]
# Nobody is at fault alone. Rank 0 waits for rank 3, which waits for rank 2, which waits for rank 1,
# which waits for rank 0: a circle. Each would send at once, if only it were its turn. These were
# real processes: ours looks at what each of them waits for, and ends the run soon after the last
# one has fallen asleep. A real cluster shows *nothing*: it hangs. The simulator finds the circle
# too.
#
# The error is an object with the circle in it, for programs that want to know.

# %% name="who-waits-for-whom"
try:
    run(shift, workers=4, backend="simulated")
except DeadlockError as error:
    circle = error.cycle
print("who waits for whom:", " -> ".join(map(str, [*circle, circle[0]])))
assert circle == [0, 3, 2, 1]

# %% [markdown]
# What if everybody sends first?


# %%
def send_first(comm):
    """The same with the two lines swapped."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    comm.send(np.array([comm.rank]), dst=right)
    return comm.recv(src=left)


print([int(value[0]) for value in run(send_first, workers=4, backend="simulated").values])

# %% [markdown]
# It works, with 8 bytes. Small messages are copied, so that `send` returns at once. A large one has
# to wait until its receive is posted. `rendezvous=True` treats *every* message as a large one:

# %% tags=["raises-exception", "nbval-ignore-output"] name="hidden-deadlock"
run(send_first, workers=4, backend="simulated", rendezvous=True)

# %% [markdown]
# The same circle, the other way round: it was there all the time, hidden by small messages. It
# would have shown on the day somebody used a larger model. The cure is `sendrecv`, which sends
# and receives at the same time:


# %% name="fixed"
def fixed(comm):
    """Send to the right and receive from the left, both at once."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    return comm.sendrecv(np.array([comm.rank]), dst=right, src=left)


for world in ("simulated", "processes"):
    result = run(fixed, workers=4, backend=world, rendezvous=True)
    print(f"{world:9}", [int(value[0]) for value in result.values])
    assert [int(value[0]) for value in result.values] == [3, 0, 1, 2]

# %%
together = run(fixed, workers=4, backend="simulated", rendezvous=True)
player(together.trace, layout="ring", title="Everybody at once: sendrecv")

# %% [markdown]
# Four messages again, as in the relay. But now they travel at the same time, and the whole takes
# one hop instead of four. Same bytes, a quarter of the time: *who waits for whom* decides.

# %%
print(f"relay {simulated.elapsed_s * 1e6:.2f} µs, all at once {together.elapsed_s * 1e6:.2f} µs")

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
# receive, and so on round the ring. One rank that begins differently breaks the circle.
# </details>

# %% [markdown]
# **Question 3.** A program runs in 8 tests out of 10 and hangs in the other two. What do you
# suspect, and how do you make it show?
#
# <details><summary>Answer</summary>
#
# A circle of waiting that small or early messages hide. Run it with `rendezvous=True`: then no send
# gets by without its receive. The simulator names the circle.
# </details>

# %% [markdown]
# ## What to remember
#
# - We ran our own function on four real workers; they shared nothing, and the basket stayed empty.
# - We sent a number round the ring in 4 messages and watched every one of them travel.
# - We read a crash and a deadlock, found rank, cell and line, and fixed both: sums, and
#   `sendrecv`.
#
# Next: the exercise set 00, then lecture 01: what gradient descent does before it is distributed.
