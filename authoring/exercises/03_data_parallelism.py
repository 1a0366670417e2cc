# %% [markdown]
# # Exercises 03 · Data parallelism
#
# After this you can
#
# - weigh what workers contribute, so that every example counts alike
# - write a data-parallel training that nobody can tell from one machine, and local SGD
# - find a forgotten broadcast in a log, and a sum for a mean in a curve
# - change the number of workers without surprises
#
# Six tasks, about an hour and three quarters in all. You may use the library's all-reduces and
# broadcasts in tasks 1 to 3: how they work is the subject of set 05.
#
# Before: [lecture 03](../notebooks/03_data_parallelism.ipynb). Then: [lecture
# 04](../notebooks/04_parameter_server.ipynb), which puts a server in the middle.

# %%
import numpy as np

from course_lib import checks, run
from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.data.digits import load_digits
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import train
from course_lib.training import Plan
from course_lib.training.shards import split_evenly

digits = load_digits()
X, y = digits.X_train, digits.y_train
# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · Every example counts alike
#
# Give every rank the mean gradient over all examples, whatever the parts' sizes. *Difficulty 1 of
# 3, 10 minutes.*
#
# Each rank knows the mean gradient over its own examples, and how many they are. A rank without
# examples has zeros.
#
# **Spec:** `sum(n_examples * grad) / sum(n_examples)`, both sums over the ranks. **Budget:** at
# most two all-reduces, one as long as `grad` and one of a single number.
# `allreduce_ring(comm, array)` returns the sum over the ranks as a new array.


# %% tags=["exercise"] name="weighted-mean"
def weighted_mean(comm, grad, n_examples):
    """Compute the mean gradient over the examples of all ranks.

    Parameters
    ----------
    comm : Communicator
        The workers; any number of them, also one.
    grad : numpy.ndarray, shape (n,)
        The mean gradient over this rank's examples, zeros if it has none. It is not to be changed.
    n_examples : int
        How many examples this rank has, 0 or more; some rank has at least one.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The mean over all examples, on every rank. A new array.
    """
    # BEGIN SOLUTION
    total = allreduce_ring(comm, np.array([float(n_examples)]))
    return allreduce_ring(comm, n_examples * grad) / total
    # END SOLUTION


# %% tags=["check"]
checks.weighted_mean(weighted_mean)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A mean times the number of its examples is a sum. Sums of parts can be added up.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `n_examples * grad` is this rank's sum. All-reduce it; all-reduce the numbers of examples, too, as
# `np.array([float(n_examples)])`; divide one by the other, once.
# </details>
#
# Now on real processes: rank r has r + 1 examples with the mean r.


# %% tags=["raises-exception"]
def unequal(comm):
    """A mean of r over r + 1 examples, on rank r."""
    return weighted_mean(comm, np.array([float(comm.rank)]), comm.rank + 1)


run(unequal, workers=4, time_limit_s=20).values

# %% [markdown]
# **Without code.** With equal parts `allreduce_ring(comm, grad) / comm.size` does the same with
# half the calls. What would you have to know about the data before you dare to use it?
#
# <details><summary>Answer</summary>
#
# That the number of workers divides *every* batch, also the last one of an epoch. Many programs
# drop the last, smaller batch for this reason.
# </details>

# %% [markdown]
# ## 2 · Data-parallel training
#
# Train one epoch on all ranks, as one machine would. *Difficulty 3 of 3, 30 minutes.*
#
# Every rank has the whole table, and a `w` of its own; rank 0's counts. Batch 0 is the first
# `batch_size` rows, and so on; the last may be smaller. `split_evenly` partitions a batch. A batch
# may have fewer rows than there are ranks; `model.gradient` refuses a batch of no rows.
#
# **Spec:** from rank 0's `w`, for each batch `w = w - learning_rate * (mean gradient over the
# batch)`, the same bits on every rank. **Budget:** a broadcast before the first step, one
# all-reduce as long as `w` in each step. No rank asks `model.gradient` for more than
# ⌈`batch_size` / P⌉ of a batch's rows. `broadcast_tree(comm, w)` returns rank 0's array.


# %% tags=["exercise"] name="data-parallel"
def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    """Train one epoch by synchronous data-parallel SGD.

    Parameters
    ----------
    comm : Communicator
        The workers: one, or several, or more than a batch has rows.
    model : Model
        ``model.gradient(w, (X, y))`` returns the mean loss over the rows and its gradient.
    w : numpy.ndarray, shape (n,)
        The first parameters; only rank 0's count. They are not to be changed.
    X, y : numpy.ndarray, shapes (m, d) and (m,)
        All examples, the same on every rank. They are not to be changed.
    learning_rate : float
        How far to go against the mean gradient of a batch.
    batch_size : int
        How many examples all ranks together take in a step.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The parameters after the last step, the same on every rank.
    """
    # BEGIN SOLUTION
    w = broadcast_tree(comm, w)
    for start in range(0, len(y), batch_size):
        X_batch, y_batch = X[start : start + batch_size], y[start : start + batch_size]
        mine = split_evenly(len(y_batch), comm.size)[comm.rank]
        grad_partial = np.zeros_like(w)
        if mine.stop > mine.start:
            grad = model.gradient(w, (X_batch[mine], y_batch[mine]))[1]
            grad_partial = (mine.stop - mine.start) / len(y_batch) * grad
        w = w - learning_rate * allreduce_ring(comm, grad_partial)
    return w
    # END SOLUTION


# %% tags=["check"]
checks.data_parallel(data_parallel)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Begin with one step, and a batch that all ranks share equally. What does a rank compute on its
# rows, and what do all of them need? Then two questions: with whose `w` does a rank begin, and what
# does a rank do that has no row of a small batch?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `mine = split_evenly(rows of this batch, comm.size)[comm.rank]` is a slice *of the batch*. The
# weight is `(mine.stop - mine.start) / rows of this batch`. A rank with an empty slice adds zeros:
# it must still call the all-reduce.
# </details>
#
# Now on real processes, on the 1,437 digits of the lecture; the last batch has 29:

# %% tags=["raises-exception"]
model = mlp(64, 32, 10)
mine = run(data_parallel, model, model.initial(), X, y, 0.5, 128, workers=4, time_limit_s=20).values
in_order = model.initial()
for start in range(0, len(y), 128):
    batch = X[start : start + 128], y[start : start + 128]
    in_order = in_order - 0.5 * model.gradient(in_order, batch)[1]
print("equal to one machine:", all(np.abs(w - in_order).max() < 1e-12 for w in mine))

# %% [markdown]
# **Without code.** Your training passes this check. A colleague puts BatchNorm into the model.
# Which sentence of the spec is no longer true, and why can no program fix it without more
# messages?
#
# <details><summary>Answer</summary>
#
# The gradient of the batch is no longer a weighted mean of the parts' gradients: each part is
# scaled by its own mean and variance. The ranks would have to exchange these inside the forward
# pass.
# </details>

# %% [markdown]
# ## 3 · Average every few steps
#
# Train alone on every rank, and average the models after every few steps. *Difficulty 2 of 3, 15
# minutes.*
#
# Each rank takes its own rows in order, one row a step; all have the same number of rows. After
# `every` steps, `2 * every` steps and so on, and after the last step, `w` becomes the mean of the
# ranks' models, and all go on from there.
#
# **Spec:** as above; the same bits on every rank. **Budget:** one all-reduce for each average, none
# twice. `allreduce_ring(comm, w) / comm.size` is the mean.


# %% tags=["exercise"] name="average-every"
def average_every(comm, model, w, X_local, y_local, learning_rate, every):
    """Train by local SGD: steps on each rank's own rows, and a mean of the models now and then.

    Parameters
    ----------
    comm : Communicator
        The workers; any number of them, also one.
    model : Model
        ``model.gradient(w, (X, y))`` returns the mean loss over the rows and its gradient.
    w : numpy.ndarray, shape (n,)
        The first parameters, the same on every rank. They are not to be changed.
    X_local, y_local : numpy.ndarray, shapes (m, d) and (m,)
        This rank's rows; every rank has m of them, at least one. They are not to be changed.
    learning_rate : float
        How far to go against the gradient of one row.
    every : int
        How many steps lie between two averages, 1 or more.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The mean of the models after the last step, the same on every rank.
    """
    # BEGIN SOLUTION
    n_steps = len(y_local)
    for step in range(1, n_steps + 1):
        row = slice(step - 1, step)
        w = w - learning_rate * model.gradient(w, (X_local[row], y_local[row]))[1]
        if step % every == 0 or step == n_steps:
            w = allreduce_ring(comm, w) / comm.size
    return w
    # END SOLUTION


# %% tags=["check"]
checks.average_every(average_every)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# With 5 rows and `every = 2`: averages after step 2, after step 4, and after step 5.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Count the steps from 1. An average is due if `step % every == 0`, or if it is the last step: one
# `if` with an `or` does not average twice. A row as a batch is `X_local[step - 1 : step]`, with two
# dimensions.
# </details>
#
# Now on real processes: four workers fit y = 3x + 1, each on its own part of the line.


# %% tags=["raises-exception"]
def part_of_the_line(comm, every):
    """Fit a line; rank r sees x from r / 4 to (r + 1) / 4 only."""
    x = comm.rank / 4 + np.linspace(0, 0.25, 400)[:, None]
    return average_every(comm, LinearRegression(1), np.zeros(2), x, 3 * x[:, 0] + 1, 0.5, every)


for every in (1, 20, 400):
    found = run(part_of_the_line, every, workers=4, time_limit_s=20).values[0]
    print(f"average every {every:3} steps: {found.round(3)}")

# %% [markdown]
# **Without code.** For which `every` is this the same as task 2 (with other batches), and why is it
# not for larger ones?
#
# <details><summary>Answer</summary>
#
# For `every = 1`: the mean of steps from one place is the step along the mean gradient. Later steps
# start from different places, where the gradients are different ones.
# </details>

# %% [markdown]
# ## 4 · Find the bug, from a log
#
# Tell from a log which mistake a training run made. *Difficulty 2 of 3, 15 minutes.*
#
# Below are four colleagues' programs for data-parallel training. At most one line is wrong in each,
# and in all of them the loss falls. Which of them would you find by looking at the loss?


# %% name="four-programs"
def colleague(comm, own_start=False, own_order=False, alone=False):
    """Train an epoch; return each step's loss, parameters and rows."""
    w = model.initial(seed=comm.rank if own_start else 0)
    order = np.random.default_rng(comm.rank if own_order else 0).permutation(1408)
    log = []
    for batch in order.reshape(11, comm.size, -1):
        loss, grad = model.gradient(w, (X[batch[comm.rank]], y[batch[comm.rank]]))
        log.append((loss, w, batch[comm.rank]))
        w = w - 0.5 * (grad if alone else allreduce_ring(comm, grad) / comm.size)
    return log


# %% name="four-losses"
for wrong in ({}, {"own_start": True}, {"own_order": True}, {"alone": True}):
    logs = run(lambda comm, options: colleague(comm, **options), wrong, workers=4).values
    losses = [np.mean([log[step][0] for log in logs]) for step in (0, 5, 10)]
    print(*(f"{loss:.2f}" for loss in losses), " ", *wrong)

# %% [markdown]
# Write the function that finds it. The log has, for every step and rank, the parameters *before*
# the step (and once more after the last), and the numbers of the examples that the rank took. Where
# nothing is wrong, an epoch takes no example twice; it may leave some out. No number is NaN.
#
# **Spec:** `"no broadcast"` if the ranks differ before the first step; else `"no all-reduce"` if
# they differ later; else `"other shuffles"` if some example was taken twice; else `"fine"`. One
# rank may be the only one that is wrong, and by very little. **Budget:** no messages.


# %% tags=["exercise"] name="what-is-wrong"
def what_is_wrong(weights, rows):
    """Say which mistake a training run made.

    Parameters
    ----------
    weights : numpy.ndarray, shape (steps + 1, P, n)
        ``weights[s, r]``: the parameters of rank r before step s; ``weights[-1]`` at the end.
    rows : numpy.ndarray of int, shape (steps, P, b)
        ``rows[s, r]``: the numbers of the examples that rank r took in step s; one epoch.

    Returns
    -------
    str
        ``"no broadcast"``, ``"no all-reduce"``, ``"other shuffles"`` or ``"fine"``.
    """
    # BEGIN SOLUTION
    differs = (weights != weights[:, :1]).any(axis=(1, 2))
    if differs[0]:
        return "no broadcast"
    if differs.any():
        return "no all-reduce"
    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
    # END SOLUTION


# %% tags=["check"]
checks.what_is_wrong(what_is_wrong)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Compare each rank's parameters with rank 0's, in every step. Which steps decide the first
# question, which the second? The third needs `rows` alone.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `weights != weights[:, :1]` says which number of which rank is not rank 0's. `.any(axis=(1, 2))`
# makes one yes or no for each step: the first of them answers the first question, all together the
# second. `np.unique(rows)` lists each example that was taken, once.
# </details>
#
# Now the four programs, on real processes:

# %% tags=["raises-exception"]
for wrong in ({}, {"own_start": True}, {"own_order": True}, {"alone": True}):
    logs = run(lambda comm, options: colleague(comm, **options), wrong, workers=4).values
    weights = np.array([[entry[1] for entry in log] for log in logs]).swapaxes(0, 1)
    rows = np.array([[entry[2] for entry in log] for log in logs]).swapaxes(0, 1)
    print(f"{what_is_wrong(weights, rows):14}", *wrong)

# %% [markdown]
# **Without code.** Other shuffles leave all ranks alike, and every step is a mean gradient over 128
# examples. What is wrong with it, if anything?
#
# <details><summary>Answer</summary>
#
# Some examples are seen twice in an epoch and others never; the run is not one machine's. It still
# learns, often as well, which is why nobody notices. It matters when you count epochs, or look for
# another mistake by comparing with one machine.
# </details>

# %% [markdown]
# ## 5 · Predict, then measure
#
# Predict the learning rate for another number of workers, then measure it. *Difficulty 2 of 3, 15
# minutes.*
#
# A training ran well on `n_before` workers; now there are `n_after`. Each worker has the mean
# gradient over its own part; they are averaged ("mean") or added up ("sum"). Either the batch of
# all workers together stays as it was ("same batch"), or each worker keeps its own batch size, and
# the whole batch changes with their number ("own batch").
#
# **Spec:** the factor for the learning rate, so that an epoch goes as far as before, if all
# examples have the same gradient. The check walks an epoch with either number of workers.


# %% tags=["exercise"] name="predict-rates"
def predict_rates(n_before, n_after):
    """Predict by what to multiply the learning rate when the number of workers changes.

    Parameters
    ----------
    n_before, n_after : int
        How many workers there were, and how many there are, 1 or more.

    Returns
    -------
    dict of str to float
        The factors ``"same_batch_mean"``, ``"same_batch_sum"``, ``"own_batch_mean"`` and
        ``"own_batch_sum"``; 1 where nothing is to be changed.
    """
    # BEGIN SOLUTION
    more = n_after / n_before
    return {
        "same_batch_mean": 1.0,
        "same_batch_sum": 1 / more,
        "own_batch_mean": more,
        "own_batch_sum": 1.0,
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_rates(predict_rates)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# How far an epoch goes is the number of its steps times the length of a step. Write both down for 2
# workers and for 4, in all four settings, with gradient and learning rate 1.
# </details>
#
# <details><summary>Hint 2</summary>
#
# The sum of P means of 1 is P, their mean is 1. With the same batch an epoch has the same number of
# steps; with own batches, twice the workers means half the steps.
# </details>
#
# Now measure what the third factor does for a network: three workers instead of one, each with 32
# images (one machine may play three: you have shown in task 2 that it can).

# %% tags=["raises-exception"]
factor = predict_rates(1, 3)["own_batch_mean"]
for batch_size, rate in ((32, 0.1), (96, 0.1), (96, 0.1 * factor), (32, 0.6)):
    trained = train(model, X, y, Plan(learning_rate=rate, batch_size=batch_size, epochs=6))
    print(f"batch {batch_size}, rate {rate:.1f}: loss {np.mean(trained.losses[-5:]):.2f}")

# %% [markdown]
# **Without code.** From 1 worker to 44, each with 32 of 1,408 images: what does your function say,
# and would you do it?
#
# <details><summary>Answer</summary>
#
# 44 times the rate, 4.4 instead of 0.1. That is above what the curvature allows, and training never
# gets there: the rule holds while the gradient hardly changes over one long step. And the last of
# the four lines shows that 0.1 was not the best rate of the small batch. Tune the rate for each
# batch, compare each at its best, and expect more epochs of the large one.
# </details>

# %% [markdown]
# ## 6 · Diagnose a curve
#
# Tell from loss curves which mistake a training run made. *Difficulty 2 of 3, 20 minutes.*
#
# In task 4 you had the parameters. Often there are only curves: for every step the loss of each
# rank's parameters *on all examples*, and beside it the curve of one machine that starts from rank
# 0's parameters. All of the curves below fall. Look at the rows: what tells them apart?


# %% name="five-curves"
def curve(comm, wrong):
    """Train four steps, with a mistake; return the loss before each, and after the last."""
    own = wrong == "no broadcast" and comm.size > 1
    w, losses = model.initial(seed=comm.rank if own else 0), []
    for batch in np.arange(1408).reshape(11, comm.size, -1)[:4]:
        losses.append(model.loss(w, (X, y)))
        _, grad = model.gradient(w, (X[batch[comm.rank]], y[batch[comm.rank]]))
        if wrong != "no all-reduce" and comm.size > 1:
            grad = allreduce_ring(comm, grad)
            grad = grad / {"sum for mean": 1, "divided twice": 16}.get(wrong, 4)
        w = w - 0.1 * grad
    return [*losses, model.loss(w, (X, y))]


alone = np.array(run(curve, "fine", workers=1).values[0])
print("one machine   ", *(f"{loss:.4f}" for loss in alone))
for wrong in ("fine", "no broadcast", "no all-reduce", "sum for mean", "divided twice"):
    losses = np.array(run(curve, wrong, workers=4).values).T
    apart = f"{np.ptp(losses[0]):.0e} at first, {np.ptp(losses[-1]):.0e} at last"
    print(f"{wrong:14}", *(f"{loss:.4f}" for loss in losses[:, 0]), " ranks apart by", apart)

# %% [markdown]
# **Spec:** `"no broadcast"` if the ranks differ before the first step; else `"no all-reduce"` if
# they differ later, in any bit. Else `"fine"` if the curve is one machine's, to a relative 1e-9:
# ranks add in another order. Else `"sum for mean"` if the first step changes the loss by more than
# one machine's first step does, up or down, and `"divided twice"` if by less. No loss is NaN.
# **Budget:** no messages.


# %% tags=["exercise"] name="diagnose-curve"
def diagnose_curve(losses, alone):
    """Say which mistake a training run made, from its loss curves.

    Parameters
    ----------
    losses : numpy.ndarray, shape (steps + 1, P)
        ``losses[s, r]``: the loss on all examples of rank r's parameters before step s;
        ``losses[-1]`` at the end. Equal parameters have equal bits here.
    alone : numpy.ndarray, shape (steps + 1,)
        The same of one machine that takes the same batches.

    Returns
    -------
    str
        ``"no broadcast"``, ``"no all-reduce"``, ``"sum for mean"``, ``"divided twice"`` or
        ``"fine"``.
    """
    # BEGIN SOLUTION
    differs = (losses != losses[:, :1]).any(axis=1)
    if differs[0]:
        return "no broadcast"
    if differs.any():
        return "no all-reduce"
    mine = losses[:, 0]
    if np.allclose(mine, alone, rtol=1e-9, atol=0):
        return "fine"
    return "sum for mean" if abs(mine[1] - mine[0]) > abs(alone[1] - alone[0]) else "divided twice"
    # END SOLUTION


# %% tags=["check"]
checks.diagnose_curve(diagnose_curve)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Three questions, one after the other: do the ranks agree at first? Do they agree always? Do they
# agree with one machine?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `losses != losses[:, :1]` compares all ranks with rank 0; `.any(axis=1)` makes one answer for each
# step. For the last question only `losses[:2, 0]` and `alone[:2]` are needed, and `abs`: after a
# step that is far too long the loss may rise.
# </details>
#
# Now the five runs, on real processes:

# %% tags=["raises-exception"]
for wrong in ("fine", "no broadcast", "no all-reduce", "sum for mean", "divided twice"):
    losses = np.array(run(curve, wrong, workers=4, time_limit_s=20).values).T
    print(f"{diagnose_curve(losses, alone):14}", wrong)

# %% [markdown]
# **Without code.** Of two curves, the one with the bug `"sum for mean"` is lower after 20 steps. Is
# the bug good?
#
# <details><summary>Answer</summary>
#
# Its steps are P times as long: the run shows that a larger rate would have been better, for this
# number of workers. With twice as many the steps are twice as long again, and one day they climb.
# A rate that is written down does not change behind your back.
# </details>

# %% [markdown]
# ## What comes next
#
# Next: [lecture 04](../notebooks/04_parameter_server.ipynb). Before: [lecture
# 03](../notebooks/03_data_parallelism.ipynb). Which tasks you have solved, here and in the other
# sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
