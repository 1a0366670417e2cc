# %% [markdown]
# # Exercises 08 · Split weights
#
# After this you can
#
# - predict what a pair of layers sends, split by units, by column and row, or not at all
# - write column and row, forward and back, and the halo of an image
# - tell by bytes and values what is wrong with a split layer, and choose a grid of ranks
#
# Five tasks, about two hours and a quarter in all. Tasks 1 and 5 are arithmetic.
#
# Before: [lecture 08](../notebooks/08_split_weights.ipynb). Then: [lecture
# 09](../notebooks/09_asynchronous_sgd.ipynb).

# %%
import numpy as np

from course_lib import checks, run
from course_lib.collectives import allreduce_ring
from course_lib.lectures import lecture_08
from course_lib.lectures.lecture_08 import with_every_bias
from course_lib.split import split_in_pairs

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · Predict, then measure: a pair of layers
#
# Predict what one rank sends, in bytes. *Difficulty 1 of 3, 25 minutes.*
#
# A pair of layers: `n_in` inputs, `hidden` units, `n_out` outputs, with biases. Numbers have 8
# bytes; P ranks divide everything evenly. All ranks have all inputs, and end with all outputs.

# %% [markdown]
# **Spec:** four whole numbers. *By units*, forward: each rank has some hidden units and some
# outputs; it sends its part straight to every rank that needs it. *Column and row*, forward, and on
# the way back until every rank has the slope in the inputs: rings. *Data parallel*, a replica on
# each rank: a ring all-reduce of all gradients. With 4 ranks, 8 examples, 12 inputs, 20 hidden
# units, 16 outputs: 1,728, 1,536, 1,152 and 7,152.


# %% tags=["exercise"] name="predict-split"
def predict_split(ranks, examples, n_in, hidden, n_out):
    """Predict the bytes that one rank sends.

    Parameters
    ----------
    ranks : int
        How many, P.
    examples : int
        Of the batch; of all ranks together, where each has its own.
    n_in, hidden, n_out : int
        The sizes of the pair.

    Returns
    -------
    dict of str to int
        ``"by_units"``, ``"pair_forward"``, ``"pair_backward"``, ``"data_parallel"``.
    """
    # BEGIN SOLUTION
    n_parameters = n_in * hidden + hidden + hidden * n_out + n_out

    def ring(numbers):
        return 2 * (ranks - 1) * numbers // ranks * 8

    return {
        "by_units": (ranks - 1) * examples * (hidden + n_out) // ranks * 8,
        "pair_forward": ring(examples * n_out),
        "pair_backward": ring(examples * n_in),
        "data_parallel": ring(n_parameters),
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_split(predict_split)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Which array leaves a rank, what is its shape there, and to how many ranks does it go? A ring
# all-reduce of n numbers sends 2 (P − 1) chunks of n / P from each rank (lecture 05).
# </details>
#
# <details><summary>Hint 2</summary>
#
# By units: first the hidden units, then the outputs, a P-th of each, to P − 1 others. Column and
# row: forward an all-reduce of examples × n_out numbers, back one of examples × n_in. The examples
# do not stand in the fourth number.
# </details>
#
# Now measure a step of training. (Nothing is sent back for the first pair of a net: nobody needs
# the slope in the examples.)

# %% tags=["raises-exception"]
mine = predict_split(4, 64, 256, 1024, 256)
step = lecture_08.one_step("column and row", 256, 1024, 256)
{"predicted, forward": mine["pair_forward"], "measured": step.bytes_sent()[0]}

# %% [markdown]
# **Without code.** The batch is doubled. Which of the four numbers change?
#
# <details><summary>Answer</summary>
#
# The first three double: a row of activations for each example. The fourth stays: gradients are as
# many as parameters.
# </details>

# %% [markdown]
# ## 2 · Write column and row
#
# Compute a pair of layers whose hidden units are split. *Difficulty 3 of 3, 40 minutes.*
#
# The whole pair is `y = max(x @ W1.T + b1, 0) @ W2.T + b2`. A rank has some hidden units: `columns`
# and `b1` are their rows of W1 and b1, `rows` their columns of W2. x, b2 and dy, the slope of the
# loss in y, are the same on every rank. Ranks may have different numbers of units.
#
# **Spec:** on every rank the whole `y`, and `dx`, the slope in x: `(dy @ W2 * (hidden > 0)) @ W1`.
# A hidden unit of exactly 0 passes no slope back. **Budget:** one all-reduce of y and one of dx, of
# your choice: no weight and no hidden unit is sent.


# %% tags=["exercise"] name="column-row"
def column_row(comm, x, dy, columns, b1, rows, b2):
    """Take examples through a pair and back.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    x : numpy.ndarray, shape (m, n_in)
        All inputs.
    dy : numpy.ndarray, shape (m, n_out)
        The slope in all outputs.
    columns : numpy.ndarray, shape (own, n_in)
        The first layer's weights of this rank's hidden units.
    b1 : numpy.ndarray, shape (own,)
        Their biases.
    rows : numpy.ndarray, shape (n_out, own)
        The second layer's weights of these hidden units.
    b2 : numpy.ndarray, shape (n_out,)
        All biases of the second layer.

    Returns
    -------
    dict of str to numpy.ndarray
        ``"y"``, shape (m, n_out), and ``"dx"``, shape (m, n_in).
    """
    # BEGIN SOLUTION
    hidden = np.maximum(x @ columns.T + b1, 0)
    y = allreduce_ring(comm, hidden @ rows.T) + b2
    dhidden = dy @ rows * (hidden > 0)
    return {"y": y, "dx": allreduce_ring(comm, dhidden @ columns)}
    # END SOLUTION


# %% tags=["check"]
checks.column_row(column_row)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# What can a rank compute without asking anybody? All of its hidden units, and their part of every
# output. What is missing then is a sum, and what all ranks have is added after it.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `hidden = np.maximum(x @ columns.T + b1, 0)`, then an all-reduce of `hidden @ rows.T`, then `+
# b2`. Back: `dy @ rows` is the slope in the own hidden units; where hidden is 0 it is 0; times
# `columns`, all-reduced, it is dx.
# </details>
#
# Now on real processes, beside one process:


# %% tags=["raises-exception"]
def on_two(comm):
    """Each rank has 8 of 16 hidden units."""
    rng, own = np.random.default_rng(0), slice(8 * comm.rank, 8 * comm.rank + 8)
    x, dy, first, second = (rng.normal(size=shape) for shape in ((5, 6), (5, 4), (16, 6), (4, 16)))
    b1, b2 = np.ones(16), np.ones(4)
    made = column_row(comm, x, dy, first[own], b1[own], second[:, own], b2)
    whole = np.maximum(x @ first.T + b1, 0) @ second.T + b2
    return bool(np.allclose(made["y"], whole))


run(on_two, workers=2, time_limit_s=30).values

# %% [markdown]
# **Without code.** Instead of a ReLU a softmax over the hidden units stands between the two layers.
# What does column and row need then?
#
# <details><summary>Answer</summary>
#
# One more exchange: a softmax divides by a sum over *all* hidden units, so the sums of the
# exponentials are all-reduced (and their largest, against overflow). In attention each head has a
# softmax of its own, so heads are split, and nothing is needed.
# </details>

# %% [markdown]
# ## 3 · Find the bug: a bias too many
#
# Say what is wrong with a split layer. *Difficulty 2 of 3, 20 minutes.*
#
# A colleague's layer is split by rows, and this is what it makes of some images, less what one
# process makes with the same parameters, in biases:

# %%
theirs = lecture_08.put_together(lecture_08.digits_run(with_every_bias, epochs=1), with_every_bias)
np.round(((theirs.split - theirs.joined) / theirs.bias)[:2], 6)

# %% [markdown]
# You get what a rank has sent, the budget, both outputs and the bias. Name what is wrong:
#
# - `"bias of every rank"`: each of the ranks has added the bias, and then the sum was taken
# - `"no bias"`: nobody has
# - `"other values"`: the outputs are wrong in another way
# - `"too many bytes"`: the outputs are right, but more than the budget was sent
# - `"right"`: nothing
#
# **Spec:** one of these names. Sums in another order differ in their last bits: that is right. Some
# biases may be 0; where all are, the outputs decide.


# %% tags=["exercise"] name="split-fault"
def split_fault(ranks, sent, budget, split, whole, bias):
    """Name what is wrong with a layer that is split by rows.

    Parameters
    ----------
    ranks : int
        Over how many it is split, 2 or more.
    sent, budget : int
        Bytes that a rank has sent, and may send.
    split, whole : numpy.ndarray, shape (m, n_out)
        Outputs on the ranks, and of one process with the same parameters.
    bias : numpy.ndarray, shape (n_out,)
        The layer's biases.

    Returns
    -------
    str
        One of the five names.
    """
    # BEGIN SOLUTION
    extra = split - whole
    if np.allclose(extra, 0, atol=1e-9):
        return "too many bytes" if sent > budget else "right"
    if np.allclose(extra, (ranks - 1) * bias, atol=1e-9):
        return "bias of every rank"
    return "no bias" if np.allclose(extra, -bias, atol=1e-9) else "other values"
    # END SOLUTION


# %% tags=["check"]
checks.split_fault(split_fault)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `whole` has the bias once. How many more are in `split` if each of the ranks has added it?
# </details>
#
# <details><summary>Hint 2</summary>
#
# `extra = split - whole`, and then `np.allclose(extra, …, atol=1e-9)` with 0, with `(ranks - 1) *
# bias` and with `-bias`. Do not divide by a bias: it may be 0. Bytes only where the values are
# right.
# </details>
#
# Now on the colleague's training, and on the right one:

# %% tags=["raises-exception"]
for divide in (with_every_bias, split_in_pairs):
    asked = lecture_08.put_together(lecture_08.digits_run(divide, epochs=1), divide)
    print(split_fault(4, 0, 0, asked.split, asked.joined, asked.bias))

# %% [markdown]
# **Without code.** The colleague's test compared split and whole before the first step, and passed.
# Why?
#
# <details><summary>Answer</summary>
#
# Biases begin at 0: four times 0 is 0. Draw parameters for a test, biases too.
# </details>

# %% [markdown]
# ## 4 · Swap halos
#
# Get the rows above and below an image's part. *Difficulty 2 of 3, 25 minutes.*
#
# The rows of an image are distributed from rank 0, the top, to the last rank, the bottom. Every
# rank has `halo` rows or more.
#
# **Spec:** this rank's rows with `halo` rows more above and below them: those of its neighbours,
# next to its own, and zeros outside of the image. **Budget:** one message from each rank to each
# neighbour, with `halo` rows in it. Of `comm`, only `send`, `recv`, `sendrecv`, `isend` and
# `irecv`. A send may wait until the other rank receives.


# %% tags=["exercise"] name="swap-halos"
def swap_halos(comm, rows, halo):
    """Put the neighbours' rows around this rank's.

    Parameters
    ----------
    comm : Communicator
        The ranks, from the top of the image to its bottom; there may be only one.
    rows : numpy.ndarray, shape (own, columns)
        This rank's rows of the image; they must not change.
    halo : int
        How many rows are needed on each side, 1 to own.

    Returns
    -------
    numpy.ndarray, shape (own + 2 * halo, columns)
        The rows above, the own rows, and the rows below.
    """
    # BEGIN SOLUTION
    wide = np.zeros((len(rows) + 2 * halo, rows.shape[1]))
    wide[halo:-halo] = rows
    above, below, going = comm.rank - 1, comm.rank + 1, []
    if above >= 0:
        going.append(comm.isend(rows[:halo], above))
    if below < comm.size:
        going.append(comm.isend(rows[-halo:], below))
        wide[-halo:] = comm.recv(below)
    if above >= 0:
        wide[:halo] = comm.recv(above)
    for message in going:
        message.wait()
    return wide
    # END SOLUTION


# %% tags=["check"]
checks.swap_halos(swap_halos)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Rank 1 of 3 sends its first rows up and its last rows down. What it receives from above stands
# above. Who has no neighbour on one side?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Begin with zeros of the right shape, and write the own rows into the middle. `isend` to both
# neighbours that there are, then `recv` from them: from `rank - 1` into `[:halo]`, from `rank + 1`
# into `[-halo:]`. Last, `wait()` for what `isend` returned.
# </details>
#
# Now on real processes: each row of the image is its number.

# %% tags=["raises-exception"]
picture = np.repeat(np.arange(1.0, 7.0)[:, None], 2, axis=1)
parts = run(
    lambda comm: swap_halos(comm, picture[2 * comm.rank : 2 * comm.rank + 2], 1),
    workers=3, time_limit_s=30,
).values  # fmt: skip
[part[:, 0].tolist() for part in parts]

# %% [markdown]
# **Without code.** On the way back every rank has slopes in its own rows and in both halos. What
# becomes of those in the halos?
#
# <details><summary>Answer</summary>
#
# They go home: each to the rank whose rows they are, the same messages in the opposite direction,
# and are *added* to what that rank has found for its own rows. Who forgets it has slopes that are
# too small along every border.
# </details>

# %% [markdown]
# ## 5 · Choose a grid
#
# Choose how many ranks share a replica. *Difficulty 2 of 3, 25 minutes.*
#
# P ranks, four layers in two pairs, each with `width` inputs and units, and biases. A replica has K
# ranks, its *splits*; there are P / K replicas, and K divides P. Numbers have 4 bytes, all
# exchanges are rings: an all-reduce of n bytes among R ranks sends 2 (R − 1) / R · n from each.

# %% [markdown]
# **Spec:** what a rank sends in a step is (1) the all-reduce among replicas of the gradients that
# it has, a K-th of all; (2) the all-reduces among splits of activations: forward the outputs of
# both pairs, back the slope in the inputs of the second pair. (Nobody needs it in the examples.)
# Each replica has its own part of the examples. Return the K with which the sum is smallest, and
# that sum. With 16 ranks, width 256 and 2,048 examples: 2, and 1,707,520.0.


# %% tags=["exercise"] name="cheapest-grid"
def cheapest_grid(ranks, width, examples):
    """Find the splits with which a rank sends least.

    Parameters
    ----------
    ranks : int
        How many, P.
    width : int
        Inputs and units of each of the four layers.
    examples : int
        Of all replicas together; P divides it.

    Returns
    -------
    dict of str to number
        ``"splits"``, an int, and ``"n_bytes"``, a float.
    """

    # BEGIN SOLUTION
    def ring(size, n_bytes):
        return 2 * (size - 1) / size * n_bytes

    def sent(splits):
        replicas = ranks // splits
        gradients = 4 * 4 * (width * width + width) / splits
        activations = 4 * examples / replicas * width
        return ring(replicas, gradients) + 3 * ring(splits, activations)

    best = min((k for k in range(1, ranks + 1) if ranks % k == 0), key=sent)
    return {"splits": best, "n_bytes": sent(best)}
    # END SOLUTION


# %% tags=["check"]
checks.cheapest_grid(cheapest_grid)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write both sums for data parallelism, K = 1, first: one of them is 0. Then for one replica, K = P.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Gradients: 4 layers of width · width + width numbers, divided by K, among P / K replicas.
# Activations: 3 all-reduces among K ranks of (examples · K / P) · width numbers each. Try every K
# that divides P.
# </details>
#
# Now the lecture's picture of the same, where it stands:

# %% tags=["raises-exception"]
print(cheapest_grid(8, 4096, 2048))
lecture_08.pairs_chart(4096, 2048, 8)

# %% [markdown]
# **Without code.** Your ranks are two machines of eight GPUs, with fast links inside and slow ones
# between. The formula says: K = 16. What do you do?
#
# <details><summary>Answer</summary>
#
# K = 8: one replica on each machine. All-reduces of activations are waited for in every pair,
# forward and back; across the slow link they would cost more than the gradients, which go once a
# step and can hide under the backward pass. Bytes are not time.
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 09](../notebooks/09_asynchronous_sgd.ipynb): what if nobody waits? Before: [lecture
# 08](../notebooks/08_split_weights.ipynb). Which tasks you have solved, here and in the other sets,
# `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
