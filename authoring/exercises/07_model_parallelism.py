# %% [markdown]
# # Exercises 07 · Model parallelism
#
# After this you can
#
# - predict a pipeline's time, bubble and memory, and check them against its schedule
# - write the order of 1F1B and carry it out, and see why another one stops or idles
# - cut a batch into micro-batches without changing the step, and choose how many
#
# Five tasks, about two hours in all.
#
# Before: [lecture 07](../notebooks/07_model_parallelism.ipynb). Then: [lecture
# 08](../notebooks/08_split_weights.ipynb).

# %%
import numpy as np

from course_lib import checks, run
from course_lib.lectures.lecture_07 import flow
from course_lib.models.deep_mlp import deep_mlp
from course_lib.pipelines import Action, Schedule, check_schedule
from course_lib.schemes import pipeline
from course_lib.training import Plan

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · Predict, then measure: a pipeline
#
# Predict what a step takes and what its ranks hold. *Difficulty 1 of 3, 20 minutes.*
#
# P ranks are alike. Each goes forward with a micro-batch in `forward_ms`, and back in
# `backward_ms`. A message between two ranks travels for `message_ms`.
#
# **Spec:** five whole numbers. The time of a step, and for how long each rank is idle in it, if
# messages take no time: they are the same for GPipe and 1F1B. The time of GPipe if they take
# `message_ms`. Of how many micro-batches rank 0 holds activations at most, in either. With 4 ranks,
# 8 micro-batches, 1 and 2 ms, a message 1 ms: 33, 9, 39, 8 and 4.


# %% tags=["exercise"] name="predict-pipeline"
def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    """Predict time, bubble and memory of a step.

    Parameters
    ----------
    ranks, microbatches : int
        How many, P and M.
    forward_ms, backward_ms : int
        What a rank needs for one micro-batch, in milliseconds.
    message_ms : int
        How long a message travels, in milliseconds.

    Returns
    -------
    dict of str to int
        ``"step_ms"``, ``"idle_ms"`` (of each rank), ``"gpipe_with_messages_ms"``,
        ``"held_by_gpipe"``, ``"held_by_1f1b"`` (both of rank 0).
    """
    # BEGIN SOLUTION
    both = forward_ms + backward_ms
    step = (microbatches + ranks - 1) * both
    return {
        "step_ms": step,
        "idle_ms": (ranks - 1) * both,
        "gpipe_with_messages_ms": step + 2 * (ranks - 1) * message_ms,
        "held_by_gpipe": microbatches,
        "held_by_1f1b": min(ranks, microbatches),
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_pipeline(predict_pipeline)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Follow the last micro-batch. When does rank 0 begin with it, when does it leave the last rank, and
# when is it back?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Rank 0 begins with the last one after M − 1 passes. Then it goes through P ranks, and its slope
# back through P: with the M − 1 slopes before it, (M + P − 1) passes forward and back. Of the
# messages only those of the first micro-batch on its way down, and of the last one back, are waited
# for.
# </details>
#
# Now measure GPipe, for messages of ½ ms, with 8 ranks. (Your function takes whole milliseconds: so
# it gets all times doubled; its result is halved.)

# %% tags=["raises-exception"]
doubled = predict_pipeline(8, 16, 2, 4, 1)["gpipe_with_messages_ms"] / 2
{"predicted, ms": doubled, "measured, ms": flow("GPipe", 8, 16, latency_ms=0.5).ms}

# %% [markdown]
# **Without code.** Your colleague doubles the micro-batches and the batch. What becomes of the
# bubble, and of the memory of rank 0, in GPipe and in 1F1B?
#
# <details><summary>Answer</summary>
#
# The bubble's part of the step falls from $(P-1)/(M+P-1)$ to $(P-1)/(2M+P-1)$, in both. In GPipe
# rank 0 holds twice as much, in 1F1B as much as before: P micro-batches.
# </details>

# %% [markdown]
# ## 2 · Order the actions of 1F1B
#
# Write the order in which one rank works on its micro-batches. *Difficulty 3 of 3, 35 minutes.*
#
# Each rank has one stage. `"F3"` is forward with micro-batch 3, `"B3"` the way back. A rank does
# its actions one after the other. An F waits for the same F of the rank before, a B for the same B
# of the rank behind.
#
# **Spec:** every micro-batch forward once and back once; rank r never holds more than P − r of them
# (from F to B). **Budget:** no longer than 1F1B, where a B takes twice as long as an F. The check
# carries your orders out on simulated ranks, and plays what happens.


# %% tags=["exercise"] name="order-1f1b"
def order_1f1b(rank, ranks, microbatches):
    """List what a rank does in one step, in order.

    Parameters
    ----------
    rank, ranks : int
        Whose order, and how many ranks there are, P.
    microbatches : int
        How many, M; there may be fewer than ranks.

    Returns
    -------
    list of str
        2 M actions, such as ``["F0", "F1", "B0", "B1"]``.
    """
    # BEGIN SOLUTION
    forward = [f"F{m}" for m in range(microbatches)]
    back = [f"B{m}" for m in range(microbatches)]
    ahead = min(ranks - 1 - rank, microbatches)  # until the first can be back
    order = forward[:ahead]
    for m in range(ahead, microbatches):
        order += [forward[m], back[m - ahead]]
    return order + back[microbatches - ahead :]
    # END SOLUTION


# %% tags=["check"]
checks.order_1f1b(order_1f1b)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The last rank can go back with each micro-batch at once: F0 B0 F1 B1 … The rank before it has to
# send one more down first. And rank 0?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Three phases. `ahead = min(ranks - 1 - rank, microbatches)` forward passes; then one forward, one
# backward, while there are forward passes left; then the `ahead` backward passes that remain.
# </details>
#
# Now train with it on four real processes. The picture shows your orders in virtual time, where a
# message takes ¼ ms; it is no recording of the processes:


# %% tags=["raises-exception"]
def mine(ranks, microbatches):
    """Make the library's schedule of the orders."""
    orders = tuple(
        tuple(
            Action(text[0], rank, int(text[1:])) for text in order_1f1b(rank, ranks, microbatches)
        )
        for rank in range(ranks)
    )
    return Schedule("mine", orders, tuple(range(ranks)), microbatches)


check_schedule(mine(4, 8))
model, rng = deep_mlp(8, 16, 16, 16, 3), np.random.default_rng(0)
job = model, rng.normal(size=(96, 8)), rng.integers(0, 3, 96), Plan(0.1, batch_size=32, epochs=4)
trained = run(pipeline, *job, mine, 8, workers=4, time_limit_s=30)
print("loss", [round(trained.values[3].losses[step], 3) for step in (0, -1)])
flow(mine, 4, 8, latency_ms=0.25).player()

# %% [markdown]
# **Without code.** A rank's list is right, but all ranks use the list of rank 0. Does anything
# stop? What is lost?
#
# <details><summary>Answer</summary>
#
# Nothing stops: each rank lets in three before it takes turns, and all of them can be there. But
# the last rank now holds four micro-batches instead of one, and goes back with the first only after
# three more have come through. Every round is late by that: 69 instead of 33 units for 4 ranks and
# 8 micro-batches.
# </details>

# %% [markdown]
# ## 3 · Carry an order out
#
# Follow a rank's order, with messages. *Difficulty 3 of 3, 30 minutes.*
#
# `forward(m, x)` returns what this rank's stage makes of micro-batch m, `backward(m, slope)` the
# slope in its inputs. Rank 0 has the examples; every other rank gets x from the rank before. The
# slope comes from the rank behind; the last rank has the loss, and calls `backward(m, None)`.
#
# `comm.isend(array, dst)` begins to send and returns at once; `.wait()` on what it returned waits
# until it is over. Plain `send` may wait until the other rank receives. (Wait for each `isend` in
# the end. The check cannot see it, for here a message arrives all the same; MPI and torch want it.)

# %% [markdown]
# **Spec:** each action of `order`, in this order (micro-batches go forward by number, and back by
# number, too); a list of what `backward` returned, by micro-batch. **Budget:** one message over
# each cut for each micro-batch and direction; no longer than messages sent at once. Of `comm`, only
# `send`, `recv`, `isend` and `irecv`.


# %% tags=["exercise"] name="run-order"
def run_order(comm, order, forward, backward, inputs):
    """Do a rank's part of a step.

    Parameters
    ----------
    comm : Communicator
        The ranks; each is a stage, in their order. There may be only one.
    order : list of str
        This rank's actions, such as ``["F0", "F1", "B0", "B1"]``.
    forward, backward : callable
        The stage: ``forward(m, x)`` and ``backward(m, slope)``, each returns an array.
    inputs : list of numpy.ndarray
        On rank 0 the examples of each micro-batch; on the others an empty list.

    Returns
    -------
    list of numpy.ndarray
        What ``backward`` has returned for micro-batch 0, 1, 2, ….
    """
    # BEGIN SOLUTION
    before, after = comm.rank - 1, comm.rank + 1
    slopes, going = {}, []
    for action in order:
        m = int(action[1:])
        if action[0] == "F":
            y = forward(m, comm.recv(before) if before >= 0 else inputs[m])
            if after < comm.size:
                going.append(comm.isend(y, after))
        else:
            slopes[m] = backward(m, comm.recv(after) if after < comm.size else None)
            if before >= 0:
                going.append(comm.isend(slopes[m], before))
    for message in going:
        message.wait()
    return [slopes[m] for m in range(len(slopes))]
    # END SOLUTION


# %% tags=["check"]
checks.run_order(run_order)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# One loop over `order`. For an F: where does x come from, and who needs what forward returns? For a
# B the same, the other way.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `m = int(action[1:])`. Receive right before the call, and begin to send right after it:
# `going.append(comm.isend(y, comm.rank + 1))`. After the loop wait for all of `going`.
# </details>
#
# Now on real processes, with your orders of task 2. A slope is 1 where the loss is, and each stage
# before doubles it: 4, 2 and 1.


# %% tags=["raises-exception"]
def three_stages(comm):
    """Each stage doubles; the slope comes back doubled, too."""
    order, inputs = order_1f1b(comm.rank, comm.size, 4), [np.full(2, m + 1.0) for m in range(4)]
    return run_order(comm, order, lambda m, x: 2 * x,
                     lambda m, slope: np.ones(2) if slope is None else 2 * slope,
                     inputs if comm.rank == 0 else [])  # fmt: skip


real = run(three_stages, workers=3, time_limit_s=30)
[float(slopes[0][0]) for slopes in real.values]

# %% [markdown]
# **Without code.** With `send` in place of `isend`, GPipe's order works and 1F1B's may stop. Which
# two of the P ranks wait for each other, and in which action?
#
# <details><summary>Answer</summary>
#
# The last two. In 1F1B rank P − 2 sends micro-batch 1 forward while rank P − 1 sends the slope of
# micro-batch 0 back: each waits until the other receives. All ranks before them wait behind rank
# P − 2, in a send of their own. In GPipe all that is sent at one time goes one way, and the last
# rank receives.
# </details>

# %% [markdown]
# ## 4 · Find the bug: the same step in parts
#
# Take the step of the whole batch with gradients of micro-batches. *Difficulty 2 of 3, 20 minutes.*
#
# `gradient(w, X, y)` returns the *mean* gradient of some examples. No more than a micro-batch fits
# into memory; it refuses more. This colleague's step trains, and its loss falls.


# %% name="their-step"
def their_step(gradient, w, X, y, microbatches, learning_rate):
    """Go through the batch in micro-batches."""
    parts = zip(np.array_split(X, microbatches), np.array_split(y, microbatches), strict=True)
    for X_part, y_part in parts:
        w = w - learning_rate * gradient(w, X_part, y_part) / microbatches
    return w


checks.microbatch_step(their_step)

# %% [markdown]
# There are two bugs in it. Write the step as it should be.
#
# **Spec:** `w - learning_rate * g`, where g is the mean gradient of all examples at `w`. A batch
# need not divide into equal parts. **Budget:** each example in one call of `gradient`, and no more
# than ceil(examples / microbatches) of them in a call.


# %% tags=["exercise"] name="microbatch-step"
def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    """Take one step of gradient descent, a micro-batch at a time.

    Parameters
    ----------
    gradient : callable
        ``gradient(w, X, y)`` returns the mean gradient of these examples, an array like ``w``.
    w : numpy.ndarray, shape (n,)
        The parameters; they must not change.
    X, y : numpy.ndarray, shapes (m, n) and (m,)
        The batch.
    microbatches : int
        Into how many parts it is cut, 1 to m; their sizes differ by one at most.
    learning_rate : float
        Of the step.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The parameters after the step.
    """
    # BEGIN SOLUTION
    total = np.zeros_like(w)
    parts = zip(np.array_split(X, microbatches), np.array_split(y, microbatches), strict=True)
    for X_part, y_part in parts:
        total += len(y_part) / len(y) * gradient(w, X_part, y_part)
    return w - learning_rate * total
    # END SOLUTION


# %% tags=["check"]
checks.microbatch_step(microbatch_step)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# At which parameters is the second part's gradient taken? And how much does an example count in a
# part of 3, how much in a part of 2?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Begin with `total = np.zeros_like(w)`. Add each part's gradient at the same `w`, times its
# examples over all examples. Update once, after the loop.
# </details>
#
# Now beside the whole batch, for one example on which the colleague's step goes elsewhere:

# %% tags=["raises-exception"]
X, y, w = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 9.0]), np.zeros(1)


def slope(w, X, y):
    """Return the mean gradient of half the squared error."""
    return X.T @ (X @ w - y) / len(y)


{
    "the whole batch": round(float((w - 0.1 * slope(w, X, y))[0]), 4),
    "theirs, 2 parts": round(float(their_step(slope, w, X, y, 2, 0.1)[0]), 4),
    "yours, 2 parts": round(float(microbatch_step(slope, w, X, y, 2, 0.1)[0]), 4),
}

# %% [markdown]
# **Without code.** The colleague's first bug in a pipeline: what is it called there, and which part
# of a schedule prevents it?
#
# <details><summary>Answer</summary>
#
# Stale weights: a micro-batch goes forward with one version and back with another, or each with its
# own. All schedules of the lecture end with a flush: no rank updates before its last micro-batch is
# back, and none begins the next step with old weights.
# </details>

# %% [markdown]
# ## 5 · How many micro-batches?
#
# Choose the fewest micro-batches with which the bubble is small enough. *Difficulty 2 of 3, 15
# minutes.*
#
# P ranks with 1F1B, messages that take no time. All micro-batches have the same number of
# examples.
#
# **Spec:** the smallest M that divides `batch` and with which each rank is idle for at most
# `most_idle_percent` of the step; and how many *examples'* activations rank 0 then holds at most.
# With 4 ranks, 64 examples and 20 %: 16, and 16.


# %% tags=["exercise"] name="fewest-microbatches"
def fewest_microbatches(ranks, batch, most_idle_percent):
    """Choose a number of micro-batches.

    Parameters
    ----------
    ranks : int
        How many, P.
    batch : int
        How many examples a step has.
    most_idle_percent : int
        How large the bubble may be, in percent of the step. With one example in each micro-batch
        it is small enough.

    Returns
    -------
    dict of str to int
        ``"microbatches"``: how many; ``"held"``: examples whose activations rank 0 holds at most.
    """
    # BEGIN SOLUTION
    for microbatches in range(1, batch + 1):
        is_small = 100 * (ranks - 1) <= most_idle_percent * (microbatches + ranks - 1)
        if batch % microbatches == 0 and is_small:
            break
    held = min(ranks, microbatches) * (batch // microbatches)
    return {"microbatches": microbatches, "held": held}
    # END SOLUTION


# %% tags=["check"]
checks.fewest_microbatches(fewest_microbatches)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The bubble is (P − 1)/(M + P − 1) of the step. Go through M = 1, 2, 3, …, and stop at the first
# that divides the batch and is good enough.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Compare whole numbers: `100 * (ranks - 1) <= most_idle_percent * (microbatches + ranks - 1)`. Rank
# 0 holds `min(ranks, microbatches)` micro-batches of `batch // microbatches` examples.
# </details>
#
# Now measure two choices:

# %% tags=["raises-exception"]
for most in (30, 10):
    chosen = fewest_microbatches(4, 96, most)
    print(chosen, f"bubble {flow('1F1B', 4, chosen['microbatches']).idle_ms / 3:.0f} of",
          f"{flow('1F1B', 4, chosen['microbatches']).ms / 3:.0f} passes")  # fmt: skip

# %% [markdown]
# **Without code.** Why the fewest? A smaller bubble is better, and rank 0 would hold less, too.
#
# <details><summary>Answer</summary>
#
# Small micro-batches use a GPU badly, and each pays for its messages and for starting its
# operations. The formula knows nothing of that: a pass of half the examples takes more than half
# the time.
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 08](../notebooks/08_split_weights.ipynb): layers that several ranks compute together.
# Before: [lecture 07](../notebooks/07_model_parallelism.ipynb). Which tasks you have solved, here
# and in the other sets, `checks.progress()` shows in a new cell, and
# `python -m course_lib progress` in a terminal.
