# %% [markdown]
# # Exercises 09 · Asynchronous SGD
#
# After this you can
#
# - say how old every gradient is, and write a bound on it
# - write a server that waits for nobody
# - find a push that was applied twice, and predict what old gradients do to the rate
#
# Five tasks, about an hour and a half. Tasks 1 and 5 are arithmetic.
#
# Before: [lecture 09](../notebooks/09_asynchronous_sgd.ipynb). Then: [lecture
# 10](../notebooks/10_hogwild.ipynb).

# %%
import numpy as np

from course_lib import checks, run
from course_lib.lectures import lecture_09
from course_lib.lectures.lecture_09 import RETURNED, ages, landed, on_bowl, pace
from course_lib.viz import table, timeline

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · How old?
#
# Say how old each gradient is when it lands. *Difficulty 1 of 3, 10 minutes.*
#
# A push returns the next parameters: a replica reads what its own push has made. At first all read
# the parameters of the start. The list says who pushes, in the order in which the server takes the
# pushes. A gradient's age, its *staleness*, is the number of updates between the one that its
# parameters come from and its own.
#
# **Spec:** for push k of a replica whose last push before was j: `k - j - 1`, and j is −1 for its
# first. **Budget:** no messages.


# %% tags=["exercise"] name="staleness-of"
def staleness_of(order):
    """Count the updates between a replica's read and its push.

    Parameters
    ----------
    order : list of int
        The rank of each push, in their order; perhaps none.

    Returns
    -------
    list of int
        The staleness of each push.
    """
    # BEGIN SOLUTION
    last, found = {}, []
    for number, rank in enumerate(order):
        found.append(number - last.get(rank, -1) - 1)
        last[rank] = number
    return found
    # END SOLUTION


# %% tags=["check"]
checks.staleness_of(staleness_of)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write the order 1 2 2 1 down, with the numbers 0 to 3 above. Push 3 is replica 1's; its last one
# was push 0. Which pushes are between?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep a dictionary with the number of each rank's last push; who is not in it has −1. Walk through
# `enumerate(order)`.
# </details>
#
# Now with the run of the lecture whose times are random: the server has noted the same.

# %% tags=["raises-exception"]
trace = on_bowl(RETURNED, 4, 24, pace(4, "random")).trace
order = [0] * 24
for rank, numbers in landed(trace).items():
    for number in numbers:
        order[number] = rank
print("as the server has noted:", staleness_of(order) == ages(trace))

# %% [markdown]
# **Without code.** Can every gradient of a run with four replicas be 0 updates old, but for each
# one's first?
#
# <details><summary>Answer</summary>
#
# Yes: one makes all its pushes, then the next one, and so on. The first push of each is as old as
# all that came before it. The mean is below 3 then: the replicas stop long before the end, and the
# formula's edge is no small one.
# </details>

# %% [markdown]
# ## 2 · The bound
#
# Write the staleness bound: who gets parameters, and who has to wait. *Difficulty 2 of 3, 15
# minutes.*
#
# A replica's clock says how often it has asked for parameters. The server keeps the clocks of all
# replicas that still work, and a queue of those that have asked and have no answer. It answers
# whoever is at most `bound` ahead of the slowest of all; the others stay in the queue.
#
# **Spec:** the ranks of `waiting` with `clocks[rank] - min(all clocks) <= bound`, in their order;
# all of them if `bound` is None. **Budget:** no messages. Arguments are not changed.


# %% tags=["exercise"] name="who-may-read"
def who_may_read(clocks, waiting, bound):
    """Find the waiting replicas that may be answered now.

    Parameters
    ----------
    clocks : dict of int to int
        The clock of each replica that still works, by rank.
    waiting : list of int
        The ranks that wait for parameters, in the order in which they have asked; perhaps none.
    bound : int or None
        By how much a reader may lead the slowest; None: by any number.

    Returns
    -------
    list of int
        Those of ``waiting`` that get parameters now, in their order.
    """
    # BEGIN SOLUTION
    slowest = min(clocks.values())
    return [rank for rank in waiting if bound is None or clocks[rank] - slowest <= bound]
    # END SOLUTION


# %% tags=["check"]
checks.who_may_read(who_may_read)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The slowest is the one with the smallest clock, and it may still compute: it need not wait. First
# find its clock.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Go through `waiting` and keep a rank if its clock minus the smallest is `bound` or less. Ask
# `bound is None` first: 0 is a bound.
# </details>
#
# Now a whole run with it: replica 1 is four times as slow, and nobody who is more than 1 ahead gets
# parameters. In every round each replica whose batch is done asks, and your function answers. (A
# clock counts what was *asked*: whoever is held back stands at 2 ahead, the bound and the open
# question.)

# %% tags=["raises-exception"]
clocks, waiting, busy, done = dict.fromkeys((1, 2, 3), 1), [], {1: 4, 2: 1, 3: 1}, []
for _ in range(12):
    for rank in [rank for rank in busy if busy[rank] == 1]:
        clocks[rank] += 1
        waiting.append(rank)
    busy = {rank: left - 1 for rank, left in busy.items() if left > 1}
    for rank in who_may_read(clocks, waiting, 1):
        waiting.remove(rank)
        busy[rank] = 4 if rank == 1 else 1
    done.append({f"clock of {rank}": clock for rank, clock in clocks.items()})
table({f"after {second} s": done[second - 1] for second in (1, 2, 4, 8, 12)})

# %% [markdown]
# **Without code.** How many batches do the fast replicas make in a hundred seconds, with bound 1,
# and how many with bound 10?
#
# <details><summary>Answer</summary>
#
# The slow one makes 25 in both. With bound 1 the fast ones make 26 or so, with bound 10 some 35:
# the bound is a head start that is used up once.
# </details>

# %% [markdown]
# ## 3 · The server that waits for nobody
#
# Train with an asynchronous server. *Difficulty 3 of 3, 30 minutes.*
#
# Rank 0 has the parameters, and only serves. It sends them to all workers once. Then it takes
# whatever gradient comes first, makes a step with it, and answers that worker with the new
# parameters. Every worker makes `steps` pushes; its last is not answered: when all are made,
# everybody gets the last parameters.
#
# **Spec:** for each push in the order of arrival: `w = w - learning_rate * gradient_r(w as r has
# read it)`; the same bits on every rank at the end. **Budget:** 2 · steps + 1 messages as long as
# `w` for each worker, sent and received. Of `comm`, only `send`, `recv`, `recv_any` and `sendrecv`.
# Two ranks at least.


# %% tags=["exercise"] name="asynchronous-server"
def asynchronous_server(comm, w, gradient, learning_rate, steps):
    """Descend with the parameters on rank 0, a step for each gradient that comes.

    Parameters
    ----------
    comm : Communicator
        The ranks; two at least. ``src, array = comm.recv_any()`` receives what comes first.
    w : numpy.ndarray, shape (n,), or None
        On rank 0 the parameters to start from; they are not to be changed. None on the workers.
    gradient : callable or None
        On a worker: ``gradient(w)`` returns an array like w, after a while. None on rank 0.
    learning_rate : float
        What each gradient is multiplied by.
    steps : int
        How many pushes each worker makes, 1 or more.

    Returns
    -------
    numpy.ndarray, shape and dtype of w on rank 0
        The parameters after the last push of all, on every rank. A new array.
    """
    # BEGIN SOLUTION
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w, left = w.copy(), dict.fromkeys(range(1, comm.size), steps)
    for dst in left:
        comm.send(w, dst)
    while any(left.values()):
        src, grad = comm.recv_any()
        w -= learning_rate * grad
        left[src] -= 1
        if left[src]:
            comm.send(w, src)
    for dst in left:
        comm.send(w, dst)
    return w
    # END SOLUTION


# %% tags=["check"]
checks.asynchronous_server(asynchronous_server)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A worker's story is that of the synchronous one: receive, compute, send, `steps` times, and one
# receive more. All that is new is in the server: one loop over all pushes, and in it one `recv_any`
# and at most one `send`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep for each worker how many pushes it has left. In the loop: receive from anybody, step, count
# down, and answer if something is left. After the loop send to all.
# </details>
#
# Now on real processes: three workers pull towards 1, 2 and 3. Who comes first is another in every
# run; where do they meet?


# %% tags=["raises-exception"]
def meet(comm):
    """Each worker's gradient points away from its rank."""
    start = np.zeros(2) if comm.rank == 0 else None
    away = (lambda w: w - comm.rank) if comm.rank else None
    return asynchronous_server(comm, start, away, 0.02, 200)


ended = run(meet, workers=4, time_limit_s=20).values
print("all ranks agree:", len({w.tobytes() for w in ended}) == 1)
print("between 0.9 and 3.1:", bool(ended[0].min() > 0.9 and ended[0].max() < 3.1))

# %% [markdown]
# **Without code.** One of a hundred workers is ten times as slow. How many more gradients a second
# does your server take than a synchronous one?
#
# <details><summary>Answer</summary>
#
# Synchronous: 100 gradients in the time of ten. Yours: 990 from the fast ones and 1 from the slow
# one in that time, nearly ten times as many. (And if each worker must make the same number of
# pushes, as here, the slow one is alone at the end: dealing batches to whoever is free avoids
# that.)
# </details>

# %% [markdown]
# ## 4 · Find the bug: applied twice
#
# Find the pushes that a server has applied more than once. *Difficulty 2 of 3, 20 minutes.*
#
# An answer may be lost with its server or its network; so workers push again what was not
# confirmed. Every push has a number, counted by its rank. The server below remembers the last push
# of each rank, and does not apply it again. It looks right.


# %% name="forgetful-server"
def forgetful(seen, rank, number):
    """Say whether the server applies a push; seen are all before it, as (rank, number)."""
    own = [n for src, n in seen if src == rank]
    return not own or own[-1] != number


sent = {1: [0, 1, 1, 0, 2], 2: [0, 1, 0, 1], 3: [0, 0, 0, 1]}  # what each rank pushes, in order
served = run(lecture_09.push_and_repeat, sent, forgetful, workers=4, backend="simulated")
print("different pushes:", sum(len(set(numbers)) for numbers in sent.values()))
print("updates made:", served.values[0])
timeline(served.trace, roles={0: "server"}, title="Three workers, some pushes sent again")

# %% [markdown]
# Seven different pushes, and ten updates. Write the function that finds which. The history says in
# the server's order what it received, and how many updates it had made after that.
#
# **Spec:** the pushes (rank, number) that were applied at least twice, each of them once, in the
# order in which they were applied the second time. Whenever a push is applied, the number of
# updates rises by 1. **Budget:** no messages.


# %% tags=["exercise"] name="applied-twice"
def applied_twice(history):
    """Find the pushes that were applied more than once.

    Parameters
    ----------
    history : list of (int, int, int)
        For each push received: who sent it, its number there, and how many updates the server had
        made when it was done with it. At first it had made none.

    Returns
    -------
    list of (int, int)
        Rank and number of each push that was applied twice or more often.
    """
    # BEGIN SOLUTION
    times, found, before = {}, [], 0
    for rank, number, version in history:
        if version > before:
            times[rank, number] = times.get((rank, number), 0) + 1
            if times[rank, number] == 2:
                found.append((rank, number))
        before = version
    return found
    # END SOLUTION


# %% tags=["check"]
checks.applied_twice(applied_twice)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Received is not applied. A push was applied if the server has made more updates after it than
# after the record before it; the first one is compared with 0.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Count in a dictionary, by (rank, number), how often each push was applied. When a count becomes 2,
# append the pair to the result.
# </details>
#
# Now on real processes, with the server above:

# %% tags=["raises-exception"]
real = run(lecture_09.push_and_repeat, sent, forgetful, workers=4, time_limit_s=20)
sorted(applied_twice(lecture_09.history_of(real.trace)))

# %% [markdown]
# **Without code.** What does the server have to remember, so that it applies no push twice: and
# does that grow for ever?
#
# <details><summary>Answer</summary>
#
# Not the last number of each rank, but the highest, if a rank's *new* pushes come in the order of
# their numbers, as they do here: whatever is not above it was applied. That does not grow. Where a
# new push may overtake another, the numbers above the first gap must be kept as well.
# </details>

# %% [markdown]
# ## 5 · Predict, then measure
#
# Predict what P replicas do to the rate and the momentum. *Difficulty 2 of 3, 15 minutes.*
#
# A push returns the next parameters. All take equally long, for the first two numbers; for the
# third, times are random (exponential).
#
# **Spec:** the lecture's three formulas. The check runs Downpour for the ages, and looks for the
# rate at which the recursion with them begins to grow. For the momentum it computes the mean steps
# of replicas that are equally likely to push next, and finds which part of each is the step before.


# %% tags=["exercise"] name="predict-edge"
def predict_edge(n_replicas, curvature):
    """Predict staleness, largest rate and momentum.

    Parameters
    ----------
    n_replicas : int
        How many replicas compute, P.
    curvature : int
        The largest curvature of the loss.

    Returns
    -------
    dict of str to number
        ``"mean_staleness"``: in updates, a whole number, once all have pushed; ``"largest_rate"``:
        from which on training diverges, where all take equally long; ``"momentum"``: what
        asynchrony acts like where times are random.
    """
    # BEGIN SOLUTION
    return {
        "mean_staleness": n_replicas - 1,
        "largest_rate": 2 * np.sin(np.pi / (4 * n_replicas - 2)) / curvature,
        "momentum": 1 - 1 / n_replicas,
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_edge(predict_edge)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The rates of the lecture are given times the curvature. One replica alone: staleness 0, rate 2
# over the curvature, momentum 0. Do your formulas give that for P = 1?
# </details>
#
# <details><summary>Hint 2</summary>
#
# $P - 1$; $2 \sin(\pi / (4P - 2))$ over the curvature; $1 - 1/P$.
# </details>
#
# Now measure: 60 updates each of four replicas on the lecture's bowl (curvature 4), a little below
# your rate and a little above. Does the distance from the bottom shrink?

# %% tags=["raises-exception"]
largest = predict_edge(4, 4)["largest_rate"]
for factor in (0.9, 1.1):
    made = on_bowl(RETURNED, 4, 240, pace(4), rate=factor * largest)
    print(f"{factor} times your rate: ends nearer:", bool(abs(made.values[0].w[1] - 1) < 1))

# %% [markdown]
# **Without code.** On one machine momentum 0.9 was best. With how many replicas, and random times,
# would you begin with no momentum at all?
#
# <details><summary>Answer</summary>
#
# With ten: 1 − 1/10 = 0.9. With more there is too much already, and some have trained with a
# negative one (Mitliagkas and others 2016).
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 10](../notebooks/10_hogwild.ipynb). Before: [lecture
# 09](../notebooks/09_asynchronous_sgd.ipynb). Which tasks you have solved, here and in the other
# sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
