# %% [markdown]
# # Exercises 02 · MapReduce
#
# After this you can
#
# - partition rows over any number of workers, and sum a gradient over your shard
# - combine parts of unequal size rightly, and see at once when somebody does not
# - write a whole training run from send and receive, and predict what it sends
#
# Six tasks, about an hour and a half in all. Tasks 4 and 5 build on what you write before.
#
# Before: [lecture 02](../notebooks/02_map_reduce.ipynb). Then: [lecture
# 03](../notebooks/03_data_parallelism.ipynb), where a network takes the place of the line.

# %%
import numpy as np

from course_lib import checks, run
from course_lib.data.diabetes import load_diabetes
from course_lib.models.linear_regression import LinearRegression, Vector, check_examples
from course_lib.schemes import gradient_descent
from course_lib.training import Plan
from course_lib.training.shards import split_evenly

data = load_diabetes()
X, y = data.X_train, data.y_train
# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · Which rows are mine?
#
# Cut the rows of a table into one part for each worker; none lost, none twice. *Difficulty 1 of 3,
# 10 minutes.*
#
# **Spec:** contiguous parts in the order of the ranks, sizes differ by at most one; for instance
# `np.array_split(np.arange(n_rows), size)[rank]`, which you may not use here, nor `split_evenly`.
# **Budget:** no messages.


# %% tags=["exercise"] name="shard-bounds"
def shard_bounds(n_rows, rank, size):
    """Say which rows belong to a rank.

    Parameters
    ----------
    n_rows : int
        How many rows the table has: any number, 0 and fewer than ``size`` as well.
    rank : int
        Whose part is wanted, 0 to ``size - 1``.
    size : int
        How many workers there are.

    Returns
    -------
    start, stop : int
        The rows ``start, start + 1, ..., stop - 1``; ``start == stop`` is an empty part.
    """
    # BEGIN SOLUTION
    return rank * n_rows // size, (rank + 1) * n_rows // size
    # END SOLUTION


# %% tags=["check"]
checks.shard_bounds(shard_bounds)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# With 10 rows and 4 workers, `10 // 4` is 2, and two rows are left over. Who may take them, so that
# nobody has more than one row more than another?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Think of the cuts between the parts instead of the parts: where is cut number `k` of `size`, if
# the cuts are as evenly spread over `n_rows` as whole numbers allow? `start` is cut `rank`, `stop`
# is the next one.
# </details>
#
# Now on real processes:

# %% tags=["raises-exception"]
run(lambda comm: shard_bounds(442, comm.rank, comm.size), workers=4).values

# %% [markdown]
# **Without code.** 100 workers and 442 rows: how many rows has the largest part, and how long do
# the others wait for it?
#
# <details><summary>Answer</summary>
#
# 5 rows; 42 workers have 5 and 58 have 4. Those with 4 wait for one row in five. A worse cut, with
# the rest on one rank, would let all wait for that one.
# </details>

# %% [markdown]
# ## 2 · Map: my part of the sum
#
# Sum the gradient over your own rows. *Difficulty 1 of 3, 10 minutes.*
#
# The model predicts $h(x) = w_0 + w_1 x_1 + \dots + w_d x_d$. A worker's part is
# $temp_j = \sum_i \bigl(h(x^{(i)}) - y^{(i)}\bigr)\, x^{(i)}_j$ over its rows, where $x_0 = 1$.
#
# **Spec:** with `A = np.column_stack([np.ones(m), X_local])`, the sum is
# `A.T @ (A @ w - y_local)`. **Budget:** no messages; without `course_lib.models`.


# %% tags=["exercise"] name="partial-sums"
def partial_sums(w, X_local, y_local):
    """Sum error times x over this worker's rows.

    Parameters
    ----------
    w : numpy.ndarray, shape (d + 1,)
        The parameters; ``w[0]`` is the intercept.
    X_local : numpy.ndarray, shape (m, d)
        This worker's rows; m may be 0.
    y_local : numpy.ndarray, shape (m,)
        Their targets.

    Returns
    -------
    numpy.ndarray, shape (d + 1,)
        The sum (not the mean) of ``(prediction - target) * x``, the intercept first; float64. The
        arguments are not changed.
    """
    # BEGIN SOLUTION
    error = w[0] + X_local @ w[1:] - y_local
    return np.concatenate([[error.sum()], X_local.T @ error])
    # END SOLUTION


# %% tags=["check"]
checks.partial_sums(partial_sums)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First the errors: one number for each row, shape `(m,)`. Then the sum over the rows, for each
# parameter: shape `(d + 1,)`.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `X_local.T @ error` is the sum over the rows of error times feature. The intercept's feature is
# always 1, so its sum is `error.sum()`; `np.concatenate` puts it in front.
# </details>
#
# Now on real processes, with 100 rows each; compare with lecture 02:


# %% tags=["raises-exception"]
def temp(comm):
    """This rank's part of the first gradient."""
    start, stop = shard_bounds(len(y), comm.rank, comm.size)
    return partial_sums(np.zeros(11), X[start:stop], y[start:stop])


for part in run(temp, workers=4).values:
    print(*(f"{value:9.0f}" for value in part[:4]), " ...")

# %% [markdown]
# **Without code.** Why is a worker asked for its sum, and not for its mean?
#
# <details><summary>Answer</summary>
#
# Sums of parts add up to the sum of all, whatever the sizes of the parts, and an empty part has the
# sum 0. A mean has forgotten how many rows are behind it.
# </details>

# %% [markdown]
# ## 3 · Find the bug: the mean of the means
#
# Combine the means of unequal parts into the mean of all rows. *Difficulty 2 of 3, 10 minutes.*
#
# A colleague's workers send mean gradients. With 4 × 100 rows her results were right to the last
# digits. Then somebody added one row.


# %% name="colleague"
def colleague(means, n_rows):
    """Combine the parts' means."""
    return means.mean(axis=0)


equal = colleague(np.array([[8.0, 0.0], [0.0, 4.0]]), np.array([100, 100]))
print("two parts of 100 rows:", equal)

# %% name="colleague-checked"
checks.mean_of_shards(colleague)

# %% [markdown]
# Read the report, work its case out by hand, and fix the function.
#
# **Spec:** the mean over all rows, had they been on one machine. A part without rows sends NaN as
# its mean, and counts for nothing. A part *with* rows that sends NaN has diverged: the result is
# NaN there, too. **Budget:** no messages.


# %% tags=["exercise"] name="mean-of-shards"
def mean_of_shards(means, n_rows):
    """Compute the mean over all rows from the means of the parts.

    Parameters
    ----------
    means : numpy.ndarray, shape (P, d)
        The mean of each part, NaN for a part that has no rows. It is not to be changed.
    n_rows : numpy.ndarray of int, shape (P,)
        How many rows each part has; at least one part has some.

    Returns
    -------
    numpy.ndarray, shape (d,)
        The mean over the rows of all parts.
    """
    # BEGIN SOLUTION
    held = n_rows > 0
    return n_rows[held] @ means[held] / n_rows.sum()
    # END SOLUTION


# %% tags=["check"]
checks.mean_of_shards(mean_of_shards)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Mean times number of rows is the sum that the mean was made from. Sums can be added.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Weight each mean with its number of rows, add, and divide by the number of all rows. `0 * nan` is
# `nan`: choose the parts that have rows with `n_rows > 0` before you multiply.
# </details>
#
# Now on real processes: each worker takes the mean of its shard of the targets.


# %% tags=["raises-exception"]
def share_of_targets(comm):
    """The mean of this rank's targets, and how many they are."""
    start, stop = comm.rank**2 * 20, (comm.rank + 1) ** 2 * 20
    return y[start:stop].mean(), len(y[start:stop])


means, n_rows = map(np.array, zip(*run(share_of_targets, workers=4).values, strict=True))
mine = mean_of_shards(means[:, None], n_rows)[0]
print(f"parts of {n_rows} rows, mean of all {y[:320].mean():.4f}")
print(f"colleague {colleague(means, n_rows):.4f}, mine {mine:.4f}")

# %% [markdown]
# **Without code.** Three parts have 1, 1 and 98 rows. How much too heavily does the mean of means
# count a row of the first part?
#
# <details><summary>Answer</summary>
#
# It counts with weight 1/3 instead of 1/100: 33 times too heavily. Each of the 98 rows counts 1/294
# instead of 1/100.
# </details>

# %% [markdown]
# ## 4 · Reduce, update, send
#
# Add the partial sums on rank 0, update the model there, and send it to all. *Difficulty 2 of 3,
# 20 minutes.*
#
# **Spec:** every rank returns `w - step_size * sum(grad_partial of all ranks)`, with the same
# bits on every rank. **Budget:** P − 1 messages in and P − 1 out, each of the size of `w`. On the
# simulator's clock a solution may take P times as long as the library's own, so that the order of
# the messages is up to you. Of `comm`, only `send`, `recv`, `recv_any` and `sendrecv`.
#
# New here: `src, part = comm.recv_any()` takes the message that comes first, whoever sent it, and
# returns two values: the sender's rank and the array.

# %% tags=["exercise"] name="combine"
COMBINER = 0


def combine(comm, grad_partial, w, step_size):
    """Reduce the partial sums, update once, and give every rank the new model.

    Parameters
    ----------
    comm : Communicator
        The workers; there may be only one.
    grad_partial : numpy.ndarray, shape (n,)
        This rank's sum of gradients. It is not to be changed.
    w : numpy.ndarray, shape (n,)
        The parameters, the same on every rank. They are not to be changed.
    step_size : float
        What the sum of all gradients is multiplied by, the same on every rank.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The new parameters, the same on every rank; a new array.
    """
    # BEGIN SOLUTION
    # SOLUTION FROM course_lib.schemes.map_reduce:combine
    # END SOLUTION


# %% tags=["check"]
checks.combine(combine)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Tell two stories: that of rank 0, and that of any other rank, which sends one message and receives
# one. In which order does rank 0 receive and send?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `total = grad_partial.copy()`, then `comm.recv(src, out=total, op="sum")` adds a message on
# arrival. After the update rank 0 sends the new `w` to 1, 2, ..., P − 1. With one worker both loops
# are empty, and nothing special is to be done.
# </details>
#
# Now on real processes:

# %% tags=["raises-exception"]
ones = np.ones(3)
run(
    lambda comm: combine(comm, (comm.rank + 1) * ones, ones, 0.05), workers=4, time_limit_s=10
).values

# %% [markdown]
# **Without code.** Could every rank send its new model instead, and rank 0 average the models?
#
# <details><summary>Answer</summary>
#
# For this step, yes: the mean of `w - P * step_size * grad_partial` over P ranks is the same
# number, with momentum too. After several steps of their own, or with Adam, it is not: lecture 03
# shows where they part.
# </details>

# %% [markdown]
# ## 5 · The whole training
#
# Train a linear regression on all ranks together, as one process would. *Difficulty 3 of 3, 25
# minutes.*
#
# Every rank has the whole table and uses its own rows only. In each step it computes its partial
# sum; your `combine` does the rest.
#
# **Spec:** from `w = 0`, `steps` times `w = w - learning_rate * (gradient sum of all rows) /
# n_rows`; all steps, also when `w` hardly changes any more. **Budget:** 2(P − 1) messages of d + 1
# float64 numbers a step; each rank sums over rows of its own, of four ranks none over more than
# half of them. Of `comm`, only `send`, `recv`, `recv_any` and `sendrecv`. Without
# `course_lib.schemes.map_reduce` and `course_lib.collectives`; your functions from above,
# `LinearRegression` and `split_evenly` are welcome.


# %% tags=["exercise"] name="map-reduce"
def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    """Fit a linear regression by batch gradient descent on all ranks together.

    Parameters
    ----------
    comm : Communicator
        The workers: one, or several, or more than there are rows.
    X : numpy.ndarray, shape (m, d)
        All examples, the same on every rank. They are not to be changed.
    y : numpy.ndarray, shape (m,)
        Their targets.
    learning_rate : float, default: 0.1
        How far to go against the *mean* gradient.
    steps : int, default: 100
        How many steps to take; 0 is allowed.

    Returns
    -------
    numpy.ndarray, shape (d + 1,)
        The parameters after the last step, the same on every rank; the intercept first.
    """
    # BEGIN SOLUTION
    X, y = check_examples(X, y)
    rows = split_evenly(len(y), comm.size)[comm.rank]
    shard = X[rows], y[rows]
    model = LinearRegression(n_features=X.shape[1])
    w = model.initial()
    for _ in range(steps):
        with comm.compute("map", flops=model.flops(shard)):
            loss_sum, grad_partial = model.gradient_sum(w, shard)
        comm.note("loss_partial", loss_sum / len(y))
        w = combine(comm, grad_partial, w, learning_rate / len(y))
    return w
    # END SOLUTION


# %% tags=["check"]
checks.map_reduce(map_reduce)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Before the loop: which rows are mine? In the loop: my part of the sum with the model of *this*
# step, then `combine`. Which number turns the sum of all gradients into learning rate times mean?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Start with `w = np.zeros(X.shape[1] + 1)`. The step size for `combine` is `learning_rate /
# len(y)`, with all rows, not only mine. A rank without rows still takes part: its sum is zeros.
# </details>
#
# Now on real processes, on the 400 patients of the lecture:

# %% tags=["raises-exception"]
trained = run(map_reduce, X, y, workers=4, time_limit_s=10).values
serial = gradient_descent(X, y, Plan(learning_rate=0.1, epochs=100)).w
print("equal to one process:", all(np.abs(w - serial).max() < 1e-9 for w in trained))

# %% [markdown]
# **Without code.** Rank 2 is a *straggler*, it takes twice as long for its rows. How long does a
# step take, and what would you change?
#
# <details><summary>Answer</summary>
#
# A step takes as long as the slowest: all wait for rank 2. Give it half as many rows. The sums stay
# right, because they do not care about the size of a shard.
# </details>

# %% [markdown]
# ## 6 · Predict, then measure
#
# Predict the messages and bytes of a training run, then measure them. *Difficulty 2 of 3, 10
# minutes.*
#
# **Spec:** what the trace of `map_reduce` says: `d` features and an intercept, float64, rank 0
# combines. The check runs the library's version for numbers that you have not seen. **Budget:**
# arithmetic, without `run`.


# %% tags=["exercise"] name="predict-map-reduce"
def predict_map_reduce(n_workers, n_features, n_steps):
    """Predict what a training run sends.

    Parameters
    ----------
    n_workers : int
        How many ranks there are, 1 or more; rank 0 combines.
    n_features : int
        The number of columns of ``X``.
    n_steps : int
        How many steps of gradient descent, 0 or more.

    Returns
    -------
    dict of str to int
        ``"messages"`` and ``"n_bytes"``: sent by all ranks together in the whole run;
        ``"bytes_into_rank_0"``; ``"bytes_out_of_rank_1"``, 0 where there is no rank 1.
    """
    # BEGIN SOLUTION
    model_bytes = 8 * (n_features + 1)
    one_way = (n_workers - 1) * n_steps
    return {
        "messages": 2 * one_way,
        "n_bytes": 2 * one_way * model_bytes,
        "bytes_into_rank_0": one_way * model_bytes,
        "bytes_out_of_rank_1": n_steps * model_bytes if n_workers > 1 else 0,
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_map_reduce(predict_map_reduce)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Take one step with three workers and draw its arrows. How many numbers does each arrow carry?
# </details>
#
# <details><summary>Hint 2</summary>
#
# P − 1 partial sums in and P − 1 models out a step, each of d + 1 numbers of 8 bytes. The number of
# rows is not in the price at all.
# </details>
#
# Now on real processes; your own training, measured:

# %% tags=["raises-exception"]
measured = run(map_reduce, X, y, 0.1, 100, workers=4, time_limit_s=10).trace
print(predict_map_reduce(4, 10, 100))
print("measured:", measured.n_messages, measured.n_bytes, measured.bytes_received()[0])

# %% [markdown]
# **Without code.** The number of rows does not appear in your prediction. When is that good news,
# and what is the bad news?
#
# <details><summary>Answer</summary>
#
# Good: a million rows cost the network nothing more, so with much data the computing dominates and
# workers help. Bad: the size of the *model* is in it, times 2(P − 1), on one NIC.
# </details>

# %% [markdown]
# ## What comes next
#
# Next: [lecture 03](../notebooks/03_data_parallelism.ipynb). Before: [lecture
# 02](../notebooks/02_map_reduce.ipynb). Which tasks you have solved, here and in the other sets,
# `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
