# %% [markdown]
# # Exercises 12 · Beyond one machine
#
# After this you can
#
# - say what bounds a step, and from which batch on it is no longer the network
# - say which steps a training takes that dies and goes on, and what a resume has forgotten
# - choose how to train, for a budget of time and the network that you have
#
# Four tasks, about an hour and a half. Tasks 1 and 4 are arithmetic.
#
# Before: [lecture 12](../notebooks/12_beyond_one_machine.ipynb). Then: [lecture
# 13](../notebooks/13_graphs_and_planners.ipynb).

# %%
import numpy as np

from course_lib import checks
from course_lib.lectures import lecture_12
from course_lib.viz import table

# No seed is needed: every check draws data of its own; the lecture's training has its plan.

# %% [markdown]
# ## 1 · Predict, then measure
#
# Predict what bounds a data-parallel step. *Difficulty 2 of 3, 20 minutes.*
#
# A net has `workers · chunk` parameters of four bytes. Each worker has `batch` examples of its own;
# an example costs six flops for each parameter (a multiplication and an addition in each of three
# products). Then a ring adds the gradients up: no latency, no overlap.
#
# **Spec:** the numbers that the docstring lists. The check runs such a step. **Budget:** no
# messages.


# %% tags=["exercise"] name="predict-bound"
def predict_bound(workers, chunk, batch, flops_per_us, bytes_per_us):
    """Predict flops, bytes and time of a step.

    Parameters
    ----------
    workers : int
        How many, 2 or more.
    chunk : int
        Parameters in one of the ring's chunks; the net has as many of them as there are workers.
    batch : int
        Examples of each worker.
    flops_per_us, bytes_per_us : int
        What a worker computes, and what its NIC sends, in a microsecond.

    Returns
    -------
    dict of str to int or float
        ``"flops"``: of one worker; ``"sent_bytes"``: by one worker; ``"step_us"``: how long the
        step takes, not rounded; ``"least_batch"``: the smallest batch of a worker for which
        computing takes as long as the exchange, or longer.
    """
    # BEGIN SOLUTION
    n = workers * chunk
    sent_bytes = 2 * (workers - 1) * 4 * chunk
    flops = 6 * batch * n
    return {
        "flops": flops,
        "sent_bytes": sent_bytes,
        "step_us": flops / flops_per_us + sent_bytes / bytes_per_us,
        "least_batch": -(-sent_bytes * flops_per_us // (6 * n * bytes_per_us)),
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_bound(predict_bound)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The ring has two halves of `workers - 1` steps; in each step a worker sends one chunk. Computing
# and sending follow each other.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Computing takes `6 b n / f` µs, the exchange `s / r`. Set them equal, solve for b, and round up:
# `-(-x // y)` rounds up whole numbers.
# </details>
#
# Now the smallest batches of three devices with 8 workers, on two networks. They are 7/4 of those
# in the lecture's table: gradients have four bytes here and not two (often they are added up so,
# where arithmetic has 16 bits), and a ring of 8 sends 7/4 of them, one of many nearly twice.

# %% tags=["raises-exception"]
rows = {}
for name, device in lecture_12.DEVICES.items():
    rows[name] = {}
    for nic in ("1 Gbit/s", "100 Gbit/s"):
        speeds = round(device.flops_per_s / 1e6), round(lecture_12.NICS[nic] / 1e6)
        rows[name][nic] = f"{predict_bound(8, 10**6, 1, *speeds)['least_batch']:,}"
table(rows)

# %% [markdown]
# **Without code.** The size of the net is not in the answer. Where has it gone? And which nets are
# better off than this formula says?
#
# <details><summary>Answer</summary>
#
# Flops and bytes both grow with the number of parameters. Better off are nets that use a parameter
# several times for an example: convolutions use it at every place of an image, so that they have
# more flops for each byte of gradient (lecture 06: GoogLeNet against AlexNet).
# </details>

# %% [markdown]
# ## 2 · Done again
#
# List the steps that a training takes which dies, and goes on from what it has saved. *Difficulty 1
# of 3, 15 minutes.*
#
# Steps have the numbers 1 to `n_steps`. After each step whose number is a multiple of `every` it
# saves, in no time. `deaths` says how many steps it takes from one start to the next: after so many
# it dies, and starts again from the last checkpoint, or from the beginning if there is none. It
# ends as soon as step `n_steps` is taken: a death that is due then, or later, does not come.
#
# **Spec:** the numbers of all steps in the order in which they are taken. **Budget:** no messages.


# %% tags=["exercise"] name="steps-done"
def steps_done(n_steps, every, deaths):
    """List the steps that are taken, those that are done again, too.

    Parameters
    ----------
    n_steps : int
        How many there are, 1 or more.
    every : int
        After which steps it saves: its multiples.
    deaths : tuple of int
        How many steps it takes until its first death, its second, …; 0 or more, perhaps none.

    Returns
    -------
    list of int
        Numbers of steps.
    """
    # BEGIN SOLUTION
    steps, saved = [], 0
    for after in [*deaths, None]:
        step, taken = saved, 0
        while step < n_steps and taken != after:
            step, taken = step + 1, taken + 1
            steps.append(step)
            if step % every == 0:
                saved = step
        if step == n_steps:
            break
    return steps
    # END SOLUTION


# %% tags=["check"]
checks.steps_done(steps_done)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two numbers: the step that it is at, and the step that was saved last. Two loops: over the lives,
# and over the steps of a life.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `for after in [*deaths, None]`: each life begins at `step = saved`, and ends after `after` steps
# or at `n_steps`. The last one has no end but that.
# </details>
#
# Now a training of 1,000 steps that dies after every 90. How many steps does it take?

# %% tags=["raises-exception"]
table({f"saves every {every} steps": {"steps": len(steps_done(1000, every, (90,) * 40))}
       for every in (1, 10, 50, 80, 100)})  # fmt: skip

# %% [markdown]
# **Without code.** With `every=100` it ends only because it dies 40 times, then never again. What
# would happen if it went on dying, and how long is the longest interval that helps?
#
# <details><summary>Answer</summary>
#
# It would never come to step 100, and begin again for ever: a job that is ended before its first
# checkpoint makes no progress. It has to be at most 90 here. With times, not steps, saving counts,
# too; and who knows that the end comes (Slurm sends a signal before) saves then.
# </details>

# %% [markdown]
# ## 3 · Find the bug: what has the resume forgotten?
#
# Find what is not as it was saved. *Difficulty 2 of 3, 20 minutes.*
#
# Somebody resumes, and 200 steps later the loss is another one. The state is a dict of arrays, by
# name. Two arrays are the same if they have the same dtype, the same shape, and the same bits:
# `nan` is the same as the same `nan`, and 0.0 is not -0.0.

# %%
saved = {"w": np.array([0.5, -0.25]), "velocity": np.array([0.0, 1e-3]), "step": np.array([17])}
restored = {"w": np.array([0.5, -0.25], np.float32), "velocity": -saved["velocity"] * 0}
table({name: {"saved": str(array), "restored": str(restored.get(name, "–"))}
       for name, array in saved.items()})  # fmt: skip

# %% [markdown]
# **Spec:** the names of all arrays that are not the same, that were saved and are not there any
# more, or that nobody had saved; sorted. **Budget:** no messages.


# %% tags=["exercise"] name="resume-faults"
def resume_faults(saved, restored):
    """Find what a resume has not brought back to the bit.

    Parameters
    ----------
    saved, restored : dict of str to numpy.ndarray
        The state before, and after.

    Returns
    -------
    list of str
        Names, sorted; perhaps none.
    """
    # BEGIN SOLUTION
    found = set(saved) ^ set(restored)
    for name in set(saved) & set(restored):
        before, after = saved[name], restored[name]
        same_kind = before.dtype == after.dtype and before.shape == after.shape
        if not same_kind or before.tobytes() != after.tobytes():
            found.add(name)
    return sorted(found)
    # END SOLUTION


# %% tags=["check"]
checks.resume_faults(resume_faults)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Names first: `set(saved) ^ set(restored)` are those that are on one side only. `==` on arrays does
# not see bits: which two cases does it get wrong?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `array.tobytes()` are its bits. Two arrays of different dtype or shape may have the same bytes, so
# compare `dtype` and `shape`, too.
# </details>
#
# Now the two states above:

# %% tags=["raises-exception"]
resume_faults(saved, restored)

# %% [markdown]
# **Without code.** Everything came back to the bit, and the loss is still another one after the
# resume. What was not in the state?
#
# <details><summary>Answer</summary>
#
# What else the next step depends on: where the training is in the order of the examples, the state
# of the random generators (dropout), the learning rate's place in its schedule, and with other
# numbers of workers the order of sums. The library's checkpoint holds the first; what Dropout draws
# here depends on the parameters and the examples alone.
# </details>

# %% [markdown]
# ## 4 · Capstone: choose how to train
#
# Given a net, a budget of virtual time and two networks, choose how to train. *Difficulty 3 of 3,
# 35 minutes.*
#
# A way is a tuple (scheme, workers, batch, every). In a *round* each worker computes `every`
# updates, each over `batch // workers` examples; then all exchange n parameters of four bytes.
# *serial* is one worker, who exchanges nothing. *server*: rank 0 also trains, receives from all
# others, and sends to all of them; its NIC is the bottleneck, and there are two latencies. *ring*
# and *local* use a ring; only *local* has more than one update in a round.

# %% [markdown]
# `losses[k][u]` is the loss of way k after u updates; the last number stands for all later ones. An
# update counts when its round is over.
#
# **Spec:** for each network, (latency in µs, bytes a µs), the number of the way whose loss is least
# when the budget is used up. The check's planner runs a round of every way. **Budget:** no
# messages.


# %% tags=["exercise"] name="choose-scheme"
def choose_scheme(ways, losses, n, example_us, networks, budget_us):
    """Choose a way to train, for each network.

    Parameters
    ----------
    ways : list of (str, int, int, int)
        Scheme, workers, batch of all workers, updates in a round.
    losses : sequence of sequence of float
        By way and by number of updates.
    n : int
        Parameters of four bytes; workers divide them.
    example_us : int
        What an example takes a worker, in microseconds.
    networks : sequence of (int, int)
        Latency in microseconds, and bytes a microsecond.
    budget_us : int
        How long the training may take.

    Returns
    -------
    list of int
        For each network the number of the best way, counted from 0.
    """

    # BEGIN SOLUTION
    def round_us(scheme, workers, batch, every, latency_us, bytes_per_us):
        compute = every * (batch // workers) * example_us
        vector_us = 4 * n / bytes_per_us
        if scheme == "serial":
            return compute
        if scheme == "server":
            return compute + 2 * latency_us + 2 * (workers - 1) * vector_us
        return compute + 2 * (workers - 1) * (latency_us + vector_us / workers)

    def reached(k, network):
        updates = int(budget_us / round_us(*ways[k], *network)) * ways[k][3]
        return losses[k][min(updates, len(losses[k]) - 1)]

    return [min(range(len(ways)), key=lambda k: reached(k, network)) for network in networks]
    # END SOLUTION


# %% tags=["check"]
checks.choose_scheme(choose_scheme)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Three steps for each way and network: how long is a round; how many whole rounds, and so updates,
# fit into the budget; what is the loss after these. Then take the least.
# </details>
#
# <details><summary>Hint 2</summary>
#
# The ring: 2 (P - 1) messages one after the other, each of 4 n / P bytes. The server: all P - 1
# vectors pass its NIC in, then P - 1 out. `int(budget / round)` rounds, `every` updates in each.
# </details>

# %% [markdown]
# Now the lecture's digits: 20 µs an example, 60 ms of virtual time, on a fast network and a slow
# one. Each way is on the menu with two learning rates. The losses are those of real trainings:
# the median of three seeds, with the least and the greatest. An arrow is your choice.

# %% tags=["raises-exception"]
curves = [lecture_12.digits_losses(way, rate) for way, rate in lecture_12.MENU]
ways = [tuple(way) for way, _ in lecture_12.MENU]
chosen = choose_scheme(ways, curves, lecture_12.N_DIGITS, lecture_12.EXAMPLE_US,
                       lecture_12.NETWORKS_US, lecture_12.BUDGET_US)  # fmt: skip
lecture_12.menu_table(chosen)

# %% [markdown]
# **Without code.** Do three seeds decide which choice is the best, on either network? And which of
# the course's schemes would you add to the menu for the slow one?
#
# <details><summary>Answer</summary>
#
# They do not: on both networks the ranges of the best two overlap, and more seeds may turn them
# round. For the slow network try what sends less: more local steps with an outer optimizer
# (DiLoCo), or compressed gradients. For each, the loss by updates has to be measured, at a rate of
# its own; time alone can be computed.
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 13](../notebooks/13_graphs_and_planners.ipynb): a planner decides. Before: [lecture
# 12](../notebooks/12_beyond_one_machine.ipynb). Which tasks you have solved, here and in the other
# sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
