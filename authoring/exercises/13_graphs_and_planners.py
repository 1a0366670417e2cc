# %% [markdown]
# # Exercises 13 · Graphs and planners
#
# After this you can
#
# - say when a placed graph is done, what it sends and who is idle
# - place a small graph better than a planner does
# - find in what a program has sent the message that is missing, and the one that nobody needs
#
# Three tasks, about an hour. In all of them nodes have numbers: node k uses the nodes in
# `inputs[k]`, whose numbers are smaller; it computes for `us[k]` microseconds, on the worker
# `ranks[k]`.
#
# Before: [lecture 13](../notebooks/13_graphs_and_planners.ipynb). Then: [lecture
# 14](../notebooks/14_search_and_inference.ipynb).

# %%
from course_lib import checks
from course_lib.lectures import lecture_13
from course_lib.viz import table, timeline

# No seed is needed: every check draws data of its own; the graphs drawn here have their seeds.

# %% [markdown]
# ## 1 · Predict, then measure
#
# Predict when a placed graph is done. *Difficulty 2 of 3, 20 minutes.*
#
# A worker computes its nodes in the order of their numbers, one at a time. A node begins when its
# worker has done the one before, and all its inputs are there: at once from the same worker,
# `message_us` after they were computed from another one. Messages do not hold up each other or
# their sender.
#
# **Spec:** when the last node is done; the number of messages, one for each result and each other
# worker that needs it; and how long workers do not compute until then, summed over all
# `n_workers`. **Budget:** no messages. The check runs the graph.


# %% tags=["exercise"] name="predict-makespan"
def predict_makespan(inputs, us, ranks, n_workers, message_us):
    """Predict how a placed graph runs.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    us : tuple of int
        By node how long it computes, in microseconds.
    ranks : tuple of int
        By node its worker.
    n_workers : int
        How many workers there are; perhaps not all have nodes.
    message_us : int
        How long a message takes.

    Returns
    -------
    dict of str to int
        ``"makespan_us"``, ``"messages"`` and ``"idle_us"``.
    """
    # BEGIN SOLUTION
    free = [0] * n_workers
    done, sent = [], set()
    for node, before in enumerate(inputs):
        rank = ranks[node]
        begins = free[rank]
        for used in before:
            crosses = ranks[used] != rank
            begins = max(begins, done[used] + message_us * crosses)
            if crosses:
                sent.add((used, rank))
        free[rank] = begins + us[node]
        done.append(free[rank])
    makespan_us = max(done)
    return {
        "makespan_us": makespan_us,
        "messages": len(sent),
        "idle_us": n_workers * makespan_us - sum(us),
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_makespan(predict_makespan)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Go through the nodes in their order, and keep two things: when each worker is free, and when each
# node was done. A node begins at the latest of several times: which?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `begins = max(free[rank], ...)` over `done[used]`, plus `message_us` where `ranks[used]` is
# another worker. Collect the pairs (used, rank) that cross in a set: its length is the number of
# messages.
# </details>
#
# Now on a graph of eight nodes, with a message of 30 µs: what you predict, and the run.

# %% tags=["raises-exception"]
inputs, us = lecture_13.random_nodes(seed=3, n_nodes=8)
ranks = (0, 1, 0, 1, 0, 1, 0, 1)
print(predict_makespan(inputs, us, ranks, 2, 30))
timeline(lecture_13.run_ranks(inputs, us, ranks, 2, 30), critical_path=True)

# %% [markdown]
# **Without code.** You make one node 10 µs faster, and the makespan falls by 0, by 10, or by some
# number between. When which? Can it fall by more than 10?
#
# <details><summary>Answer</summary>
#
# By 0 if the node is not on the critical path, or if a path around it is as long. By 10 if it is,
# and no path around it is within 10 µs; between, if one is. Not by more: every path through the
# node becomes shorter by 10, and all others stay. (With a network on which messages queue, or where
# the order can change, all of this can fail.)
# </details>

# %% [markdown]
# ## 2 · Beat the planner
#
# Place a graph so that no other placement is done earlier. *Difficulty 2 of 3, 25 minutes.*
#
# As in task 1; but now you choose `ranks`. The graphs are small: at most 300 placements. Use your
# function of task 1, if you like.
#
# **Spec:** a list with the worker of each node, from 0 to `n_workers - 1`, for which the makespan
# is the least of all placements; any of them, if there are several. **Budget:** no messages.


# %% tags=["exercise"] name="place-nodes"
def place_nodes(inputs, us, n_workers, message_us):
    """Find a placement that is done first.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    us : tuple of int
        By node how long it computes, in microseconds.
    n_workers : int
        How many workers there are.
    message_us : int
        How long a message takes.

    Returns
    -------
    list of int
        By node its worker.
    """
    # BEGIN SOLUTION
    placements = [[]]
    for _ in us:
        placements = [[*ranks, rank] for ranks in placements for rank in range(n_workers)]

    def makespan_us(ranks):
        return predict_makespan(inputs, us, ranks, n_workers, message_us)["makespan_us"]

    return min(placements, key=makespan_us)
    # END SOLUTION


# %% tags=["check"]
checks.place_nodes(place_nodes)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Try all of them. A placement is a list of as many ranks as there are nodes: how do you get from
# all lists of length 2 to all of length 3?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `itertools.product(range(n_workers), repeat=len(us))` gives all placements, and `min(…, key=…)`
# the best of them, where the key is the makespan of task 1.
# </details>
#
# Now against the library's list scheduler, on a graph that misleads it: node 3 is long, and the way
# back from it is dear.

# %% tags=["raises-exception"]
inputs, us = ((), (0,), (1,), (0,), (2, 3)), (10, 30, 30, 80, 10)
planned = lecture_13.list_ranks(inputs, us, 2, message_us=45)
placements = {"the planner": planned, "yours": place_nodes(inputs, us, 2, message_us=45)}
timeline({name: lecture_13.run_ranks(inputs, us, ranks, 2, 45)
          for name, ranks in placements.items()}, critical_path=True)  # fmt: skip

# %% [markdown]
# **Without code.** The list scheduler ends with moves of single nodes, as long as one helps. Why
# does it not find your placement? And what is the price of always finding it?
#
# <details><summary>Answer</summary>
#
# It puts all nodes on one worker: 160 µs. From there 3 and 4 have to move together, or 1, 2 and 4:
# 145 µs. Each node alone pays for its messages and makes it later; so do 1 and 2 without 4, which
# wait for a message there and one back. To try everything costs P^n placements: for this graph 32,
# for one of 40 nodes on four workers a number with 25 digits.
# </details>

# %% [markdown]
# ## 3 · Find the bug: what was sent
#
# Compare what a program has sent with what its placement needs. *Difficulty 2 of 3, 15 minutes.*
#
# Somebody writes the program that inserts sends and receives, and it hangs, or is slow. A message
# is `(node, from, to)`: the result of a node, on its way from one worker to another. A placement
# needs each result once at each other worker that has a node which uses it, from the worker that
# computed it.

# %%
inputs, ranks = ((), (0,), (0,), (0,), (1, 2, 3)), (0, 1, 1, 2, 0)
cutters = lecture_13.broken_cutters(inputs, ranks)
table({name: {"sent": ", ".join(map(str, sent))} for name, sent in cutters.items()})

# %% [markdown]
# **Spec:** under `"missing"` the messages that are needed and were not sent, by node and then by
# worker; under `"needless"` those that were sent and are not needed, or were sent before, in the
# order of `sent`. **Budget:** no messages.


# %% tags=["exercise"] name="message-faults"
def message_faults(inputs, ranks, sent):
    """Find the messages that are missing, and those that are needless.

    Parameters
    ----------
    inputs : tuple of tuple of int
        By node the nodes that it uses.
    ranks : tuple of int
        By node its worker.
    sent : list of (int, int, int)
        Node, from which worker, to which.

    Returns
    -------
    dict of str to list of (int, int, int)
        Under ``"missing"`` and ``"needless"``; perhaps empty lists.
    """
    # BEGIN SOLUTION
    needed = set()
    for node, before in enumerate(inputs):
        for used in before:
            if ranks[used] != ranks[node]:
                needed.add((used, ranks[used], ranks[node]))
    missing, needless = set(needed), []
    for message in sent:
        if message in missing:
            missing.remove(message)
        else:
            needless.append(message)
    return {"missing": sorted(missing), "needless": needless}
    # END SOLUTION


# %% tags=["check"]
checks.message_faults(message_faults)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First the set of all messages that are needed: go through the edges, and keep those whose ends are
# on two workers. A set has each only once.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `needed.add((used, ranks[used], ranks[node]))`. Then go through `sent`: what is still in the set
# is taken out of it; what is not, or not any more, is needless. What is left is missing.
# </details>
#
# Now the three programs above. Which one hangs, and which ones are slow?

# %% tags=["raises-exception"]
faults = {name: message_faults(inputs, ranks, sent) for name, sent in cutters.items()}
table({name: {key: ", ".join(map(str, found[key])) or "–" for key in ("missing", "needless")}
       for name, found in faults.items()})  # fmt: skip

# %% [markdown]
# **Without code.** A program sends nothing needless, and all that is needed, and still it hangs.
# How can that be?
#
# <details><summary>Answer</summary>
#
# By the order. If every send waits for its receive, two workers that send to each other first wait
# for ever (lecture 00). The library's executor posts all receives before anybody begins.
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 14](../notebooks/14_search_and_inference.ipynb). Before: [lecture
# 13](../notebooks/13_graphs_and_planners.ipynb). Which tasks you have solved, here and in the other
# sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
