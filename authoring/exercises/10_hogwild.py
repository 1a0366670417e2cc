# %% [markdown]
# # Exercises 10 · Hogwild
#
# After this you can
#
# - follow an interleaving, and find one that loses as much as can be lost
# - write a sparse update without a lock, and count what it loses
# - find a lock that locks nothing, and predict how much is lost
#
# Five tasks, about an hour and a half. Tasks 1 and 5 are arithmetic.
#
# Before: [lecture 10](../notebooks/10_hogwild.ipynb). Then: [lecture
# 11](../notebooks/11_sync_or_async.ipynb).

# %%
import numpy as np

from course_lib import checks, run
from course_lib.lectures import lecture_10
from course_lib.lectures.lecture_10 import in_turn
from course_lib.viz import table, timeline

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · What does the counter say?
#
# Follow turns of cores that add 1 to a shared counter. *Difficulty 1 of 3, 10 minutes.*
#
# The counter is 0 at first. An addition is two turns of a core: in the first it loads the counter,
# in the second it stores what it has loaded, plus 1. Then it loads again, and so on. The list says
# whose turn it is; every core has an even number of turns.
#
# **Spec:** a store by core c: `counter = loaded[c] + 1`. **Budget:** no messages.


# %% tags=["exercise"] name="counter-after"
def counter_after(order):
    """Follow the turns of cores that load and store.

    Parameters
    ----------
    order : list of int
        The number of the core for each turn; perhaps none.

    Returns
    -------
    int
        What the counter says in the end.
    """
    # BEGIN SOLUTION
    counter, loaded = 0, {}
    for core in order:
        if core in loaded:
            counter = loaded.pop(core) + 1
        else:
            loaded[core] = counter
    return counter
    # END SOLUTION


# %% tags=["check"]
checks.counter_after(counter_after)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Follow 1 2 1 2 on paper, with three columns: the counter, what core 1 has loaded, what core 2 has
# loaded. A store looks at its own column only.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep a dictionary with what each core has loaded. If the core is in it, this turn is a store: take
# it out. If not, it is a load.
# </details>
#
# Now on the memory of the lecture, with messages: what it holds in the end is the same.

# %% tags=["raises-exception"]
tried = [[1, 2, 1, 2], [1, 1, 2, 2], [2, 1, 1, 1, 1, 2], [1, 2, 3, 3, 2, 1]]
print("as the memory has it:", [counter_after(order) == in_turn(order).kept for order in tried])

# %% [markdown]
# **Without code.** Three cores, one addition each. In how many of the 90 orders of six turns is
# nothing lost?
#
# <details><summary>Answer</summary>
#
# In 6: the cores must add one after the other, and there are six orders of three cores.
# </details>

# %% [markdown]
# ## 2 · The interleaving that loses most
#
# Find an order of turns after which the counter says as little as it can. *Difficulty 2 of 3, 20
# minutes.*
#
# The cores are those of task 1. There are two or more, numbered from 1, and each adds at least
# twice. Whatever their number, the counter can be as small as 2 in the end. Of several orders each
# is right.
#
# **Spec:** core c has `2 * counts[c - 1]` turns, and after them the counter says 2. **Budget:** no
# messages.


# %% tags=["exercise"] name="losing-order"
def losing_order(counts):
    """Order the turns of all cores so that as much as possible is lost.

    Parameters
    ----------
    counts : list of int
        How often each core adds; two cores or more, each 2 or more.

    Returns
    -------
    list of int
        Whose turn it is, from the first turn to the last; cores are numbered from 1.
    """
    # BEGIN SOLUTION
    others = [core for core, n in enumerate(counts[2:], start=3) for _ in range(2 * n)]
    order = [2]  # loads 0
    order += [1] * (2 * counts[0] - 2) + others
    order += [2, 1]  # an old store: 1, which core 1 loads
    order += [2] * (2 * counts[1] - 2)
    return [*order, 1]  # another old store: 2
    # END SOLUTION


# %% tags=["check"]
checks.losing_order(losing_order)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# An old store throws away all that has come since its load. With one such store the counter can
# fall back to 1. But the core that made it still has additions to make. Which core should come
# last?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Core 2 loads 0. Core 1 makes all its additions but one, and all other cores make theirs. Core 2
# stores 1. Core 1 loads that, and waits until core 2 has made the rest. Then it stores.
# </details>
#
# Now watch your own order; three additions each:

# %% tags=["raises-exception"]
in_turn(losing_order([3, 3])).player()

# %% [markdown]
# **Without code.** What is the least if one of the cores adds only once?
#
# <details><summary>Answer</summary>
#
# 1: it loads 0 before all others begin, and stores 1 after all have ended.
# </details>

# %% [markdown]
# ## 3 · A sparse update without a lock
#
# Train in shared memory, and count what is lost. *Difficulty 3 of 3, 30 minutes.*
#
# All ranks have the same start `w`. It is put into shared memory, and all wait at a barrier until
# it is there. Then each rank goes through its own examples, and there is no lock. Example `number`
# has the parameters `touched[number]`. For each:
#
# 1. `gradient(values, number)` of its parameters, as they are in shared memory now.
# 2. Load its parameters again, since others have stored meanwhile.
# 3. Store there what `step(values, grad)` returns. It takes a while, too: what others store in it
#    is lost.

# %% [markdown]
# *Lost* is counted as in the lecture: a shared number for each parameter, loaded and stored as it
# is, misses what is missing.
#
# **Spec:** in the order of the times, `w[mine] = step(w[mine] as loaded before it, gradient(w[mine]
# as loaded before that))`; lost = all stores of parameters by all ranks − the sum of the shared
# numbers. The same on every rank. **Budget:** no messages. Of `comm`, only `shared_array` and
# `barrier`. Ranks have different numbers of examples, some have none, and shared memory is there
# for each rank at another moment.


# %% tags=["exercise"] name="lock-free"
def lock_free(comm, w, touched, gradient, step):
    """Change shared parameters without a lock, and count the stores that are lost.

    Parameters
    ----------
    comm : Communicator
        The ranks. ``comm.shared_array(n, dtype)`` returns zeros that all share.
    w : numpy.ndarray, shape (n,)
        The start, the same on every rank; it is not to be changed.
    touched : list of numpy.ndarray of int
        For each example of this rank, which parameters it has; perhaps no example.
    gradient : callable
        ``gradient(values, number)`` returns the gradient of example ``number`` for its parameters.
    step : callable
        ``step(values, grad)`` returns what is to be stored for them.

    Returns
    -------
    w : numpy.ndarray, shape (n,) and dtype of w
        The parameters when all ranks have ended; a copy.
    n_lost : int
        How many stores of a parameter were lost, of all ranks.
    """
    # BEGIN SOLUTION
    shared = comm.shared_array(len(w), w.dtype)
    seen = comm.shared_array(len(w), "int64")
    n_stored = comm.shared_array(comm.size, "int64")
    if comm.rank == 0:
        shared[:] = w
    comm.barrier()
    for number, mine in enumerate(touched):
        grad = gradient(shared[mine], number)
        loaded, counted = shared[mine], seen[mine]
        shared[mine] = step(loaded, grad)
        seen[mine] = counted + 1
        n_stored[comm.rank] += len(mine)
    comm.barrier()
    return shared.copy(), int(n_stored.sum() - seen.sum())
    # END SOLUTION


# %% tags=["check"]
checks.lock_free(lock_free)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Three shared arrays: the parameters, a counter for each of them, and for each rank how many stores
# it has made, which only that rank writes. `shared[mine]` with a list of columns is a copy: a load.
# `shared[mine] = ...` is a store.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Load `counted = seen[mine]` before `step`, together with the parameters, and store `counted + 1`
# after it, together with them. One barrier before the loop, when rank 0 has put the start there,
# and one behind it. All stores are the sum over the third array.
# </details>

# %% [markdown]
# Now on real processes: 300 examples each, 4 of 8 parameters. How many are lost is another number
# in every run; it is never less than 0, nor more than were stored.


# %% tags=["raises-exception"]
def on_processes(comm):
    """Each rank pulls its parameters towards 1."""
    touched = [np.sort(comm.rng.permutation(8)[:4]) for _ in range(300)]
    return lock_free(
        comm, np.zeros(8), touched, lambda values, _: values - 1, lambda values, g: values - 0.1 * g
    )


ended = run(on_processes, workers=2, time_limit_s=20).values
print("all ranks agree:", ended[0][1] == ended[1][1])
print(
    "near 1, and a number that can be:", abs(ended[0][0] - 1).max() < 0.1, 0 <= ended[0][1] < 2400
)

# %% [markdown]
# **Without code.** Your function gets an example with all parameters, on every rank. What would you
# change, and what would you leave?
#
# <details><summary>Answer</summary>
#
# The result is still a training, but if all $P$ ranks store at once, $1 - 1/P$ of all stores are
# lost; a rank that is interrupted for long loses more. A lock around load, step and store loses
# none, and lets one rank at a time through; several locks, each for a part of the parameters, let
# more through. Or add up the gradients of several examples before each store.
# </details>

# %% [markdown]
# ## 4 · Find the bug: a lock that locks nothing
#
# Find who takes a lock while somebody else has it. *Difficulty 2 of 3, 15 minutes.*
#
# A lock is a number in shared memory: 1 while somebody has it. The one below looks whether it is 0,
# and then writes 1. Its author has tested it with one worker.


# %% name="broken-lock"
def careless(comm, times):
    """Take a lock, keep it a while, give it back."""
    lock = comm.shared_array(1)
    for turn in range(times):
        with comm.compute("elsewhere", flops=1e6 * (1 + (3 * comm.rank + turn) % 4)):
            pass
        while lock[0] == 1:
            with comm.compute("wait", flops=1e5):
                pass
        with comm.compute("look, then take", flops=4e5):
            pass
        lock[0] = 1
        comm.note("lock", "takes")
        with comm.compute("inside", flops=1e6):
            pass
        lock[0] = 0
        comm.note("lock", "gives back")


broken = run(careless, 3, workers=3, backend="simulated").trace
history = [(note.rank, note.value) for note in broken.notes_named("lock")]
timeline(broken, title="Three workers, and a lock")

# %% [markdown]
# Write the function that finds who was inside with whom.
#
# **Spec:** for each record in which a rank takes the lock, a pair (other, rank) for each other that
# has it at that moment, in the order in which these took it. All pairs, in the order of the
# records. **Budget:** no messages.


# %% tags=["exercise"] name="both-inside"
def both_inside(history):
    """Find who took the lock while somebody else had it.

    Parameters
    ----------
    history : list of (int, str)
        In the order of time: a rank, and ``"takes"`` or ``"gives back"``.

    Returns
    -------
    list of (int, int)
        Who had it, and who took it, too; each time that this happened.
    """
    # BEGIN SOLUTION
    inside, found = [], []
    for rank, what in history:
        if what == "takes":
            found += [(other, rank) for other in inside]
            inside.append(rank)
        else:
            inside.remove(rank)
    return found
    # END SOLUTION


# %% tags=["check"]
checks.both_inside(both_inside)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# There may be three inside, and any of them may leave first. So one variable for "the holder" is
# not enough.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Keep a list of those inside. Who takes it makes a pair with each of them, and is then put at the
# end of the list. Who gives it back is removed.
# </details>
#
# Now the history of the lock above; and where one worker is alone?

# %% tags=["raises-exception"]
alone = run(careless, 3, workers=1, backend="simulated").trace
print("three workers:", both_inside(history))
print("one worker:", both_inside([(n.rank, n.value) for n in alone.notes_named("lock")]))

# %% [markdown]
# **Without code.** What has the library's lock that this one has not?
#
# <details><summary>Answer</summary>
#
# It looks and writes in one instruction, an atomic exchange: write 1, and say what was there
# before. Between looking and writing there is nothing, so only one worker can find the 0.
# </details>

# %% [markdown]
# ## 5 · Predict, then measure
#
# Predict how many stores are lost if all load at once, then all store. *Difficulty 2 of 3, 15
# minutes.*
#
# $P$ workers, $d$ columns; each worker changes $k$ of them, any $k$ with the same chance. The check
# counts: it goes through all the ways in which the workers may have their columns.
#
# **Spec:** the lecture's formula.


# %% tags=["exercise"] name="predict-lost"
def predict_lost(n_workers, n_columns, n_touched):
    """Predict what is stored, and what is lost.

    Parameters
    ----------
    n_workers : int
        How many store, P.
    n_columns : int
        How many columns there are, d.
    n_touched : int
        How many of them each worker changes, k.

    Returns
    -------
    dict of str to number
        ``"stores"``: how many there are; ``"most_lost"``: how many of them are lost at most;
        ``"lost_share"``: which part of them is lost on average, from 0 to 1.
    """
    # BEGIN SOLUTION
    stores = n_workers * n_touched
    kept = n_columns * (1 - (1 - n_touched / n_columns) ** n_workers)
    return {
        "stores": stores,
        "most_lost": stores - n_touched,
        "lost_share": 1 - kept / stores,
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_lost(predict_lost)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Do not count what is lost but what stays: one store for each column that somebody has changed. How
# likely is it that nobody has changed a column?
# </details>
#
# <details><summary>Hint 2</summary>
#
# One worker leaves a column alone with chance $1 - k/d$, all $P$ with $(1 - k/d)^P$. So
# $d(1 - (1 - k/d)^P)$ stores stay on average, of $Pk$. Most are lost if all have the same columns.
# </details>
#
# Now measure with the lecture's trainings: examples with 2, 10 and all of 100 parameters, four
# workers, an intercept each. There they do not all store at once.

# %% tags=["raises-exception"]
worst = {name: predict_lost(4, 100, k)["lost_share"] for name, k in lecture_10.SPARSITY.items()}
seen = {k: lecture_10.share_lost(lecture_10.trained(k, 4), k) for k in lecture_10.SPARSITY.values()}
table({name: {"all at once, %": round(100 * share, 1), "in training, %": round(100 * lost, 1)}
       for (name, share), lost in zip(worst.items(), seen.values(), strict=True)})  # fmt: skip

# %% [markdown]
# **Without code.** In which of the three is more lost than your formula says, and why?
#
# <details><summary>Answer</summary>
#
# With 2 and with 10 of 100: the formula is about the features, and the intercept, which all
# examples have, is lost most. With all 100 the formula says 75 %, as if all stored at once; in
# training they do not, and less is lost. (It is no bound: two cores with ten additions each can
# lose 18 of 20, where the formula says half, if each is interrupted for long once.)
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 11](../notebooks/11_sync_or_async.ipynb). Before: [lecture
# 10](../notebooks/10_hogwild.ipynb). Which tasks you have solved, here and in the other sets,
# `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
