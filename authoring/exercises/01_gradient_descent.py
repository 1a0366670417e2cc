# %% [markdown]
# # Exercises 01 · Gradient descent
#
# After this you can
#
# - write mini-batch SGD so that its steps do not depend on the batch size, and find two bugs in it
# - estimate from single gradients how large a batch is worth having
# - predict the batch size with the shortest time to a loss, and measure it; compare sizes fairly
#
# Six tasks, about an hour and a quarter in all. Each can be solved in one process; after tasks 2
# and 3 your function also runs on four workers, after the others on one.
#
# Before: [lecture 01](../notebooks/01_gradient_descent.ipynb). Then: [lecture
# 02](../notebooks/02_map_reduce.ipynb), where four workers compute one gradient.

# %%
import numpy as np
import torch

from course_lib import checks, run
from course_lib.data.diabetes import load_diabetes
from course_lib.data.digits import load_digits
from course_lib.models.landscape import gradient_spread
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.schemes.serial import steps_to_loss
from course_lib.training import Plan

torch.set_num_threads(1)  # as in every worker: one core each
data, digits = load_diabetes(), load_digits()
X, y = data.X_train, data.y_train
# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · One step
#
# Take one step of gradient descent for a linear regression. *Difficulty 1 of 3, 10 minutes.*
#
# The model predicts $w_0 + w_1 x_1 + \dots + w_d x_d$; the loss is half the *mean* squared error.
#
# **Spec:** with `A = np.column_stack([np.ones(len(y)), X])`, the new parameters are
# `w - learning_rate * A.T @ (A @ w - y) / len(y)`. **Budget:** no messages; without
# `course_lib.models`.


# %% tags=["exercise"] name="gradient-step"
def gradient_step(w, X, y, learning_rate):
    """Take one step against the gradient of half the mean squared error.

    Parameters
    ----------
    w : numpy.ndarray, shape (d + 1,)
        The parameters; ``w[0]`` is the intercept. They are not to be changed.
    X : numpy.ndarray, shape (m, d)
        The examples, at least one.
    y : numpy.ndarray, shape (m,)
        Their targets.
    learning_rate : float
        How far to go against the gradient.

    Returns
    -------
    numpy.ndarray, shape (d + 1,)
        The new parameters; a new array.
    """
    # BEGIN SOLUTION
    error = w[0] + X @ w[1:] - y
    gradient = np.concatenate([[error.mean()], X.T @ error / len(y)])
    return w - learning_rate * gradient
    # END SOLUTION


# %% tags=["check"]
checks.gradient_step(gradient_step)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First the errors, one for each row: prediction minus target. Then the mean of error times feature,
# one for each parameter. The intercept's feature is always 1.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `X.T @ error / len(y)` is the gradient of `w[1:]`, `error.mean()` that of `w[0]`;
# `np.concatenate` puts them together.
# </details>
#
# Now on real processes: a worker takes a hundred of your steps on the patients of the lecture.


# %% tags=["raises-exception"]
def hundred_steps(comm):
    """The loss after a hundred steps."""
    w = np.zeros(11)
    for _ in range(100):
        w = gradient_step(w, X, y, 0.1)
    return LinearRegression(10).loss(w, (X, y))


print(f"loss {run(hundred_steps, workers=1, time_limit_s=20).values[0]:.1f}")

# %% [markdown]
# **Without code.** Somebody copies all rows, so that there are twice as many. How does your step
# change, and how would it if it took the sum instead of the mean?
#
# <details><summary>Answer</summary>
#
# The mean is the same, and so is the step; it costs twice the arithmetic. The sum would be twice as
# large: with the same learning rate it may lead away from the minimum.
# </details>

# %% [markdown]
# ## 2 · The mini-batches of an epoch
#
# Cut an epoch into mini-batches: no example twice, none lost, in a new order each time.
# *Difficulty 1 of 3, 10 minutes.*
#
# **Spec:** the numbers 0 to `n_examples - 1` in random order, cut into arrays of `batch_size`; the
# last array has those that are left. All orders are equally likely, and a second call with the same
# generator gives another one. (The check counts over many epochs: which examples meet in a batch,
# how many keep their place, how many are followed by a larger number, and from which quarter of the
# table into which they come. What differs from a fair shuffle by no more than luck, it accepts.)
# **Budget:** no messages; without `course_lib.data`.


# %% tags=["exercise"] name="minibatches"
def minibatches(n_examples, batch_size, rng):
    """Draw the mini-batches of one epoch.

    Parameters
    ----------
    n_examples : int
        How many examples there are: any number, 0 and fewer than ``batch_size`` as well.
    batch_size : int
        How many to take in a step, 1 or more.
    rng : numpy.random.Generator
        Where the order comes from.

    Returns
    -------
    list of numpy.ndarray of int
        The numbers of each batch's examples; no batch is empty.
    """
    # BEGIN SOLUTION
    order = rng.permutation(n_examples)
    return [order[start : start + batch_size] for start in range(0, n_examples, batch_size)]
    # END SOLUTION


# %% tags=["check"]
checks.minibatches(minibatches)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Shuffle all numbers once, then cut. `rng.permutation(5)` gives 0 to 4 in random order.
# </details>
#
# <details><summary>Hint 2</summary>
#
# The batches start at 0, `batch_size`, 2 `batch_size`, ... below `n_examples`. A slice that would
# end after the end ends there.
# </details>
#
# Now on real processes: four workers whose generators start from the same seed.

# %% tags=["raises-exception"]
epochs = run(lambda comm: minibatches(400, 64, np.random.default_rng(7)), workers=4).values
print("sizes", [len(batch) for batch in epochs[0]])
print("all four alike:", all(np.array_equal(epochs[0][0], other[0]) for other in epochs))

# %% [markdown]
# **Without code.** Four workers shuffle the same table, each from a seed of its own, and each takes
# the first quarter of its order. What is wrong with the epoch they make together?
#
# <details><summary>Answer</summary>
#
# An example is in each quarter with probability 1/4, whatever the others have: (3/4)⁴ = 32 % of the
# examples are in none, and others in several. They need one order, from one seed, and a quarter
# each.
# </details>

# %% [markdown]
# ## 3 · Find the bugs: the batch size changes everything
#
# Fix a loop whose learning rate works for one batch size only. *Difficulty 2 of 3, 15 minutes.*
#
# A colleague tuned her learning rate with batches of one example. Then she tried batches of 100, to
# use her machine better.


# %% name="colleague"
def colleague(w, order, X, y, batch_size, learning_rate):
    """Go once through the examples."""
    for start in range(0, len(order) - batch_size + 1, batch_size):
        rows = order[start : start + batch_size]
        error = w[0] + X[rows] @ w[1:] - y[rows]
        w = w - learning_rate * np.concatenate([[error.sum()], X[rows].T @ error])
    return w


model, all_rows = LinearRegression(10), (X, y)
print(f"start {model.loss(np.zeros(11), all_rows):.0f}, ", end="")
print(f"lowest {model.loss(model.optimum(all_rows), all_rows):.0f}")
for batch_size in (1, 10, 100, 150):
    w = colleague(np.zeros(11), np.arange(400), X, y, batch_size, 0.01)
    print(f"batches of {batch_size:3}: loss {model.loss(w, all_rows):.4g}")

# %% name="colleague-checked"
checks.sgd_epoch(colleague)

# %% [markdown]
# There are two bugs; the second one shows when the first is fixed.
#
# **Spec:** for each `rows` of `batch_size` numbers of `order` (fewer in the last one):
# `w = gradient_step(w, X[rows], y[rows], learning_rate)`, as in task 1. **Budget:** no messages;
# without `course_lib.models`.


# %% tags=["exercise"] name="sgd-epoch"
def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    """Go once through the examples, a step for each batch.

    Parameters
    ----------
    w : numpy.ndarray, shape (d + 1,)
        The parameters at the start. They are not to be changed.
    order : numpy.ndarray of int, shape (m,)
        The numbers of the examples in the order in which they are taken.
    X : numpy.ndarray, shape (m, d)
        The examples.
    y : numpy.ndarray, shape (m,)
        Their targets.
    batch_size : int
        How many examples to take in a step; perhaps more than there are.
    learning_rate : float
        How far to go against the gradient of the batch's *mean* loss.

    Returns
    -------
    numpy.ndarray, shape (d + 1,)
        The parameters after the last batch; a new array.
    """
    # BEGIN SOLUTION
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        error = w[0] + X[rows] @ w[1:] - y[rows]
        gradient = np.concatenate([[error.mean()], X[rows].T @ error / len(rows)])
        w = w - learning_rate * gradient
    return w
    # END SOLUTION


# %% tags=["check"]
checks.sgd_epoch(sgd_epoch)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# With a batch of one, sum and mean are the same. What is the sum with 100 rows? And how many
# batches of 150 does her `range` make of 400 rows?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `range(0, len(order), batch_size)` includes the rest. The last batch may be smaller: divide by
# `len(rows)`, not by `batch_size`.
# </details>
#
# Now on real processes: the same epoch with four batch sizes, on a worker each.


# %% tags=["raises-exception"]
def one_epoch(comm):
    """The loss after an epoch, with another batch size on each rank."""
    batch_size = (1, 10, 100, 150)[comm.rank]
    w = sgd_epoch(np.zeros(11), np.arange(400), X, y, batch_size, 0.01)
    return batch_size, round(LinearRegression(10).loss(w, (X, y)))


run(one_epoch, workers=4, time_limit_s=20).values

# %% [markdown]
# **Without code.** Fixed, batches of 100 hardly move in one epoch. By how much would you raise the
# learning rate first, and what will stop you from doing so with ever larger batches?
#
# <details><summary>Answer</summary>
#
# A hundred times fewer steps, so one would like to go a hundred times as far in each: 1.0. But no
# learning rate above two over the largest curvature leads down, however large the batch is. Here
# 1.0 is above it, more than twice: try it, and the loss grows without end.
# </details>

# %% [markdown]
# ## 4 · How noisy is one example?
#
# Estimate at which batch size noise and gradient are equally large. *Difficulty 2 of 3, 15
# minutes.*
#
# Let $g_i$ be the gradient of example $i$ and $G$ their mean. The squared error of a batch's
# gradient is about $\sigma^2 / B$ with $\sigma^2$ the mean of $|g_i - G|^2$. It equals $|G|^2$ at
# $B = \sigma^2 / |G|^2$: the *noise scale*.
#
# **Spec:** `((g - G) ** 2).sum(axis=1).mean() / (G @ G)`, in words: mean squared distance over
# squared length. **Budget:** no messages; without `course_lib.models.landscape`; `gradients` stay
# as they are.


# %% tags=["exercise"] name="noise-scale"
def noise_scale(gradients):
    """Divide the spread of single gradients by the squared length of their mean.

    Parameters
    ----------
    gradients : numpy.ndarray, shape (m, n_parameters)
        The gradient of each example, a row each; at least one.

    Returns
    -------
    float
        The mean of the squared distances from the mean gradient, over its squared length: 0 for a
        single example.
    """
    # BEGIN SOLUTION
    mean = gradients.mean(axis=0)
    squared_distances = ((gradients - mean) ** 2).sum(axis=1)
    return squared_distances.mean() / (mean @ mean)
    # END SOLUTION


# %% tags=["check"]
checks.noise_scale(noise_scale)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Three examples with gradients (7, 1), (1, 7) and (4, 1): their mean is (4, 3), of squared length
# 25. Their squared distances from it are 13, 25 and 4.
# </details>
#
# <details><summary>Hint 2</summary>
#
# The mean over the rows is `mean(axis=0)`. Squares are added up along a row, `sum(axis=1)`, and
# then the mean of m such sums is taken.
# </details>
#
# Now on real processes: a network at its first parameters, on a worker of its own.


# %% tags=["raises-exception"]
def at_the_start(comm):
    """The noise scale of a network that has not been trained."""
    model, some = mlp(64, 16, 10), (digits.X_train[:300], digits.y_train[:300])
    return noise_scale(gradient_spread(model, model.initial(), some)[0])


print(f"about {run(at_the_start, workers=1, time_limit_s=20).values[0]:.0f} images")

# %% [markdown]
# **Without code.** Near a minimum $G$ goes to zero and the single gradients do not. What happens to
# the noise scale, and what would you do with the batch size, or with the learning rate?
#
# <details><summary>Answer</summary>
#
# It grows without bound. Larger batches late in training make each step less noisy; a smaller
# learning rate averages over more steps and does the same.
# </details>

# %% [markdown]
# ## 5 · Predict, then measure
#
# Predict the batch size with the shortest time to a loss. *Difficulty 3 of 3, 20 minutes.*
#
# A step takes `step_us` and `example_us` for each of its B examples, in microseconds. It takes
# `fewest_steps * (1 + critical_size / B)` steps: twice the fewest at the critical size.
#
# **Spec:** the whole number B, 1 or more, with the shortest time; if two take equally long, either.
# The check tries every size, for numbers that you have not seen. **Budget:** no messages.


# %% tags=["exercise"] name="predict-batch-size"
def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    """Predict which batch size reaches a loss first.

    Parameters
    ----------
    step_us : int
        What a step takes whatever its size, in microseconds.
    example_us : int
        What each example of a batch adds, in microseconds.
    fewest_steps : int
        How many steps are needed with all examples at once.
    critical_size : int
        The batch size with which twice as many are needed.

    Returns
    -------
    dict of str to number
        ``"best_size"``, an int; ``"steps"`` with it, a float, not rounded; ``"time_us"`` until the
        loss is reached with it, in microseconds.
    """
    # BEGIN SOLUTION

    def time_us(size):
        return fewest_steps * (1 + critical_size / size) * (step_us + example_us * size)

    below = max(1, int((step_us * critical_size / example_us) ** 0.5))
    best = min((below, below + 1), key=time_us)
    return {
        "best_size": best,
        "steps": fewest_steps * (1 + critical_size / best),
        "time_us": time_us(best),
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_batch_size(predict_batch_size)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Multiply out: $(1 + C/B)(a + bB) = a + bC + bB + aC/B$. Only the last two terms depend on B; one
# grows and one falls.
# </details>
#
# <details><summary>Hint 2</summary>
#
# $bB + aC/B$ is smallest where both are equal: $B = \sqrt{aC/b}$. That is no whole number; try the
# one below and the one above.
# </details>
#
# Now on real processes: measure a step with 1 and with 256 images, predict, and try three sizes.


# %% tags=["raises-exception", "nbval-ignore-output"]
def step_times(comm, sizes):
    """Microseconds of the fastest of 15 gradients, for each batch size."""
    model, fastest = mlp(64, 128, 10), []
    for size in sizes:
        started = [comm.clock()]
        for _ in range(15):
            model.gradient(model.initial(), (digits.X_train[:size], digits.y_train[:size]))
            started.append(comm.clock())
        fastest.append(1e6 * min(np.diff(started)))
    return fastest


sizes = (4, 16, 64, 256)
one, *_, many = took_us = run(step_times, sizes, workers=1, time_limit_s=20).values[0]
example_us = max(1, round((many - one) / 252))
print("predicted:", predict_batch_size(round(one), example_us, 38, 20))

# %% tags=["raises-exception", "nbval-ignore-output"]
for size, each_us in zip(sizes, took_us, strict=True):
    plan = Plan(learning_rate=1.3 / (1 + 20 / size), batch_size=size, epochs=20)
    steps = steps_to_loss(mlp(64, 128, 10), digits.X_train, digits.y_train, plan, 0.25, 4)
    print(f"B = {size:3}: {steps} steps, {steps * each_us / 1e3:.1f} ms")

# %% [markdown]
# **Without code.** Four workers split each batch, and a step costs 2,000 microseconds more for the
# all-reduce of gradients. In which direction does the best batch size move, and why twice?
#
# <details><summary>Answer</summary>
#
# Up. The overhead `step_us` grows, and each example costs only a quarter as much, because four work
# at once. Both make $\sqrt{aC/b}$ larger: data parallelism wants large batches.
# </details>

# %% [markdown]
# ## 6 · Find the bug: tune before you compare
#
# Choose the fastest batch size, each at its own best rate. *Difficulty 2 of 3, 15 minutes.*
#
# A colleague wants to know which batch size reaches a loss first. She tries three sizes, at her
# usual rate of 0.1, and tells you that 4 images are best. Then she shows you the whole table.

# %% name="her-table"
sizes, rates = np.array([4, 32, 256]), np.array([0.1, 0.2, 0.4, 0.8])
steps = np.array([
    [[310, 300, 280], [200, 180, 240], [np.inf, 150, np.inf], [np.inf, np.inf, np.inf]],
    [[240, 250, 230], [130, 140, 120], [60, 70, 400], [80, 90, 106]],
    [[220, 225, 215], [115, 120, 110], [60, 62, 58], [40, 45, 38]],
])  # fmt: skip
step_us = 200 + 2 * sizes
for rate, needed in zip(rates, np.median(steps, axis=2).T, strict=True):
    print(f"rate {rate}: milliseconds", *(f"{ms:6.1f}" for ms in needed * step_us / 1e3))

# %% [markdown]
# In her table are the steps until the loss was reached: for each size and rate three seeds, and
# `inf` where it was not reached. A step takes `step_us`, and `example_us` for each of its examples.
#
# **Spec:** of a size and a rate, the *median* over the seeds counts (of an even number of seeds,
# the mean of the two in the middle); of a size, the rate with the fewest steps. The best size is
# the one with the shortest time. If its rate is the first or the last of `rates`, a better one may
# lie beyond, and the comparison is not finished. **Budget:** no messages.


# %% tags=["exercise"] name="tuned-batch"
def tuned_batch(steps, sizes, rates, step_us, example_us):
    """Choose the batch size that reaches a loss first, each at its best learning rate.

    Parameters
    ----------
    steps : numpy.ndarray, shape (len(sizes), len(rates), seeds)
        The steps until the loss was reached; ``inf`` where it was not.
    sizes : numpy.ndarray of int
        The batch sizes.
    rates : numpy.ndarray of float
        The learning rates, in ascending order.
    step_us, example_us : int
        What a step takes whatever its size, and what each example adds, in microseconds.

    Returns
    -------
    dict
        ``"best_size"``, an int; ``"best_rate"``, its rate; ``"time_us"`` with both, in
        microseconds; ``"rate_at_edge"``: True if that rate is the first or the last of ``rates``.
    """
    # BEGIN SOLUTION
    needed = np.median(steps, axis=2)
    at = needed.argmin(axis=1)
    times_us = needed.min(axis=1) * (step_us + example_us * sizes)
    best = times_us.argmin()
    return {
        "best_size": int(sizes[best]),
        "best_rate": float(rates[at[best]]),
        "time_us": float(times_us[best]),
        "rate_at_edge": bool(at[best] in (0, len(rates) - 1)),
    }
    # END SOLUTION


# %% tags=["check"]
checks.tuned_batch(tuned_batch)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# One axis after the other: the seeds go first, then the rates, then the sizes. What is compared at
# each, and by which rule?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `np.median(steps, axis=2)` has a row for each size. `.argmin(axis=1)` says in which column each
# row is smallest, `.min(axis=1)` how small. Multiply that with `step_us + example_us * sizes`: then
# one `argmin` is left.
# </details>
#
# Now measure such a table yourself: two sizes, four rates, two seeds.


# %% tags=["raises-exception"]
def steps_of(comm, size, rate, seed):
    """Steps to a loss of 0.5 on the digits; infinitely many where eight epochs do not reach it."""
    plan = Plan(learning_rate=rate, batch_size=size, epochs=8, seed=seed)
    found = steps_to_loss(mlp(64, 32, 10), digits.X_train, digits.y_train, plan, 0.5, 2)
    return np.inf if found is None else found


mine_sizes, mine_rates = np.array([8, 64]), np.array([0.1, 0.3, 0.9, 2.7])
mine = np.array([
    [[run(steps_of, int(b), float(r), s, workers=1, backend="simulated").values[0] for s in (0, 1)]
     for r in mine_rates] for b in mine_sizes
])  # fmt: skip
chosen = tuned_batch(mine, mine_sizes, mine_rates, 200, 2)
print(np.median(mine, axis=2))
print(chosen)

# %% [markdown]
# **Without code.** A paper compares its method, tuned over 40 settings, with an older one at the
# settings of its authors, on other data. What do you conclude from a difference of 10 %?
#
# <details><summary>Answer</summary>
#
# Nothing yet. At one rate for all, the colleague's 4 images were best; each at its best rate, 32
# are more than twice as fast. Whoever compares has to tune both with the same effort, and to say
# how much that was.
# </details>

# %% [markdown]
# ## What comes next
#
# Next: [lecture 02](../notebooks/02_map_reduce.ipynb). Before: [lecture
# 01](../notebooks/01_gradient_descent.ipynb). Which tasks you have solved, here and in the other
# sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
