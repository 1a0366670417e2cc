# %% [markdown] slideshow={"slide_type": "slide"}
# # 03 · Data parallelism: is P machines × batch b the same as one machine × batch P·b?
#
# After this you can
#
# - train a network on several machines so that nobody can tell it from one machine
# - name five bugs that break this, and find each by comparing a few numbers
# - see whether a larger batch really trains in fewer steps, and not fall into the usual trap
#
# Part 1 takes 22 minutes, part 2 takes 26; plan twice that if you try everything. Needs: 4
# processes, no GPU. You should have met the partial sums of [lecture 02](02_map_reduce.ipynb).
# Then: the [exercises](../exercises/03_data_parallelism.ipynb), and [lecture
# 04](04_parameter_server.ipynb), which puts a server in the middle.

# %% tags=["set-up"]
# Set-up: imports, two yardsticks, PyTorch's version of the network
import tempfile
from dataclasses import replace

import numpy as np
import torch

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.data.digits import load_digits
from course_lib.lectures import lecture_03
from course_lib.lectures.price_sheet import prices_so_far
from course_lib.models.conv_net import conv_net
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel, nn_data_parallel, parameter_averaging, train
from course_lib.training import Plan
from course_lib.viz import (
    chart,
    claim,
    explore,
    knob,
    landscape,
    player,
    predict,
    race,
    source,
    table,
)  # fmt: skip

rng = np.random.default_rng(seed=3)
digits = load_digits()


def accuracy(w):
    """Which part of the 360 test images is recognised."""
    return float(np.mean(model.predict(w, digits.X_test) == digits.y_test))


def difference(w, other):
    """The largest difference between two models' parameters."""
    return float(np.abs(w - other).max())


def torch_mlp(w):
    """The same network as a PyTorch module, with these parameters."""
    layers = torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    net = torch.nn.Sequential(*layers).double()
    torch.nn.utils.vector_to_parameters(torch.tensor(w), net.parameters())
    return net


# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture</summary>
#
# Run all cells before class: one minute. Part 1 takes 22 minutes, part 2 takes 26. With 40 in all
# leave out BatchNorm, `nn.DataParallel` and the landscape. Collect answers to the title's
# question before anything runs, and ask again at the end of part 1.
#
# Common misconceptions: "each worker trains its own model"; "averaging is always right" (not for
# unequal parts, not for Adam); "replicas find together again by themselves"; "eight GPUs need
# eight times the learning rate".
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · The same steps on many machines
#
# Four sources describe this scheme, and they do not agree. One averages gradients, two add them
# up. One says that the result is *identical*, one offers variants for which it is not. We run all
# of it.
#
# The task: 1,408 images of handwritten digits, 8 × 8 pixels each, because 1,408 can be cut into
# 11 batches of 128, and 128 into equal parts for 2, 4 and 32 workers. A `Plan` is what all agree
# on.

# %%
X, y = digits.X_train[:1408], digits.y_train[:1408]
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.5, batch_size=128, epochs=2)
model.n_parameters, plan.steps_per_epoch(len(y)) * plan.epochs


# %% [markdown]
# 2,410 parameters, 22 steps. Five words that follow us through the course:
#
# | word | what it means |
# |---|---|
# | *worker* | a process that computes; often on a machine or GPU of its own |
# | *rank* | a worker's number: 0, 1, 2, 3 |
# | *replica* | a worker's copy of the model |
# | *all-reduce* | every rank gives an array, every rank gets the sum of all |
# | *virtual time* | the time that the simulator counts: what the run would take on its network |

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The scheme
#
# Every worker has the whole model and its own part of each batch. In a step it computes the
# gradient over its part; an all-reduce adds the parts up, so that everybody has the gradient of
# the whole batch (lecture 05 shows how); each takes the same step from the same place. Read the
# four lines that count: `partial_gradient`, `allreduce`, `sgd.step`, and the `for` above them.
# `comm.compute` and `comm.note` only write down what the pictures show; the last argument of
# `shares` and `del` are for checkpoints and for memory.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the scheme, 10 minutes</summary>
#
# Show the table of words (left ours, right PyTorch's) before the vote. Most of a class vote for
# some hundreds of the 2,410. Then the player: let the class name its three phases, and ask what
# is sent before the first step, and to whom (a broadcast along a tree; the ring carries the
# all-reduces).
# </details>

# %%
source(data_parallel, part="for examples")

# %% [markdown]
# `weight` is the fraction of the batch that this worker has, $\frac14$ for four equal parts: its
# mean gradient times $\frac14$, added up over the workers, is the mean over the batch.
#
# | here | in PyTorch |
# |---|---|
# | `loss, grad = model.gradient(w, batch)` | `optimizer.zero_grad(); loss = …; loss.backward()` |
# | `grad`, one flat vector | `p.grad` of every `p in net.parameters()` |
# | `allreduce(comm, grad, out=grad)` | what `DistributedDataParallel` hooks into `backward()` |
# | `sgd.step(grad)` | `optimizer.step()` |
#
# One machine takes 22 steps with 128 images each. Four real processes take 22 steps with 4 × 32.
# Of the 2,410 parameters, how many will differ by more than $10^{-12}$?

# %%
guess = predict("How many of 2,410 parameters differ by more than 1e-12?", "parameters")
guess

# %% name="the-question"
serial = train(model, X, y, plan)
real = run(data_parallel, model, X, y, plan, workers=4)
guess.compare(int((np.abs(real.values[0].w - serial.w) > 1e-12).sum()))

# %% tags=["how-we-know"]
# How we know: 1, 2 and 4 real processes, every rank's parameters
for P in (1, 2, 4):
    values = run(data_parallel, model, X, y, plan, workers=P).values
    assert len({value.w.tobytes() for value in values}) == 1
    assert difference(values[0].w, serial.w) < 1e-12
assert accuracy(serial.w) > 0.6

# %% [markdown]
# None: equal to the last digit or two of 16. The steps of many machines are the steps of one.
# Watch two of these steps on four simulated workers; press *play*. First rank 0 broadcasts the
# parameters along a tree, across the ring; then each computes; then the gradient travels round the
# ring in quarters, twice; the sliver at the end of a step is the update.

# %%
two_steps = replace(plan, batch_size=704, epochs=1)
watched = run(data_parallel, model, X, y, two_steps, workers=4, backend="simulated")
player(watched.trace, layout="ring", title="Data parallelism: two steps on four workers")

# %% [markdown]
# What does the exchange cost on your computer? The price sheet of lecture 02 has a line more: the
# ring, four workers with 1 MB each. It waits for six latencies in place of four, and for a quarter
# of the bytes. Which of the two is faster by your α and β, and which one in truth?

# %% tags=["nbval-ignore-output"] name="price-sheet"
prices_so_far(lecture=3)

# %% [markdown]
# By the formula the ring, with the stated numbers 3.6 times as fast. Measured, expect less: both
# also add up, which no α and β knows of. And with fewer cores than workers the ring may even be the
# slower one: the four take turns, and in each of its six rounds every rank waits for a neighbour.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same in a dozen lines of PyTorch
#
# `DistributedDataParallel` (DDP) over gloo, on four processes. Ours are their start
# (`backend="torch"` also connects them for PyTorch), the first parameters and `plan.shares`, which
# says whose images are whose; all else is PyTorch's. (*gloo* is the library that carries PyTorch's
# messages between CPUs.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: DDP, 3 minutes</summary>
#
# Show that the loop is the one they know; the only new line is the class around `net`. Ask where
# the all-reduce is: in `backward()`, as hooks.
# </details>


# %%
def with_ddp(comm):
    """PyTorch's own data parallelism: each rank its part, gradients averaged in backward()."""
    net = torch.nn.parallel.DistributedDataParallel(torch_mlp(model.initial()))
    optimizer = torch.optim.SGD(net.parameters(), lr=plan.learning_rate)
    for mine, _ in plan.shares(len(y), comm.rank, comm.size):
        optimizer.zero_grad()
        outputs, targets = net(torch.tensor(X[mine])), torch.tensor(y[mine])
        torch.nn.functional.cross_entropy(outputs, targets).backward()
        optimizer.step()
    return torch.nn.utils.parameters_to_vector(net.parameters()).detach().numpy()


# %% name="rosetta"
theirs = run(with_ddp, workers=4, backend="torch").values
{"DDP's parameters are ours to 1e-12": bool(difference(theirs[0], real.values[0].w) < 1e-12)}

# %% tags=["how-we-know"]
# How we know: on every rank, and a run at another rate is far away
assert max(difference(w, real.values[0].w) for w in theirs) < 1e-12
assert difference(train(model, X, y, replace(plan, learning_rate=0.51)).w, theirs[0]) > 1e-3

# %% [markdown]
# **Change it and run it again.** Put `plan.learning_rate * 1.001` into `with_ddp`, and run the two
# cells above once more. What becomes of the yes? How small a change does the comparison still see?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Each rank loads only its own rows
#
# So far every process had all 1,408 images and looked at its own. On a real cluster a worker
# *loads* only what it needs. PyTorch's `DistributedSampler` says which: it shuffles all numbers
# with a seed that everybody has (another order in each epoch), and rank r takes every P-th from
# the r-th on.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: own rows, 3 minutes</summary>
#
# Draw eight numbers on the board: rank 0 of two takes 0, 2, 4, 6, rank 1 takes 1, 3, 5, 7. The
# first batch of four is 0, 1, 2, 3: two from each. Ask what happens with seven numbers, before
# the text answers.
# </details>

# %%
folder = tempfile.mkdtemp()
np.save(f"{folder}/X.npy", X)
np.save(f"{folder}/y.npy", y)


def load(rows):
    """Read only these rows from the disk."""
    return [np.load(f"{folder}/{name}.npy", mmap_mode="r")[rows] for name in ("X", "y")]


# %%
def from_own_rows(comm, n_images):
    """Data parallelism in which no rank holds an image that it does not compute with."""
    sampler = torch.utils.data.DistributedSampler(range(n_images), comm.size, comm.rank)
    w, losses, b = model.initial(), [], plan.batch_size // comm.size
    for epoch in range(plan.epochs):
        sampler.set_epoch(epoch)  # the same shuffle on every rank, another in every epoch
        own_x, own_y = load(list(sampler))
        for now in np.split(np.arange(len(own_y)), range(b, len(own_y), b)):
            loss, grad = model.gradient(w, (own_x[now], own_y[now]))
            w = w - plan.learning_rate * allreduce_ring(comm, grad) / comm.size
            losses.append(loss)
    return w, np.array(losses), own_x.nbytes


# %% [markdown]
# Rank r's t-th batch on P workers is every P-th image of the t-th batch on one. So one process
# runs the same text with `P = 1` and a batch of 128. Are the losses the same? And what does a
# rank hold?

# %% name="own-rows"
one, *_ = run(from_own_rows, 1408, workers=1, backend="simulated").values
four = run(from_own_rows, 1408, workers=4).values
mean_losses = np.mean([losses for _, losses, _ in four], axis=0)

# %%
chart({"1 worker": one[2], "4 workers, each": four[0][2]}, unit="bytes", x_label="images held")

# %% tags=["how-we-know"]
# How we know: every loss and every parameter, and what padding does to 1,407 images
assert np.abs(mean_losses - one[1]).max() < 1e-12
assert max(difference(w, one[0]) for w, _, _ in four) < 1e-12
assert [held for *_, held in four] == [one[2] // 4] * 4
padded = run(from_own_rows, 1407, workers=4, backend="simulated").values[0][0]
alone = run(from_own_rows, 1407, workers=1, backend="simulated").values[0][0]
assert difference(padded, alone) > 1e-6

# %% [markdown]
# A quarter of the bytes, the same losses to 1e-12. One catch: 1,407 images cannot be cut into four
# equal parts. The sampler then *pads*: it hands out the first image of the shuffle once more, so
# that all ranks take equally many steps. One image counts twice in that epoch, and the parameters
# are not one machine's any more.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 32 workers: "identical"?
#
# The transcript of a video lecture has 32 nodes that find the *identical numerical result*. To
# the last bit? Addition of floats depends on the order: $(a+b)+c$ and $a+(b+c)$ round
# differently. Here the first gradient of 32 workers is added up in the orders of four all-reduces
# (lecture 05), once with numbers of 16 digits, once of 7, and once with numbers that need no
# rounding at all.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the last bits, 3 minutes</summary>
#
# Vote on "identical": to the bit, to 12 digits, only nearly. Have $(0.1 + 0.2) + 0.3$ and $0.1 +
# (0.2 + 0.3)$ computed. The third row of the table shows that the algorithm is not to blame.
# </details>

# %% name="orders"
kinds = {
    "float64": mlp(64, 32, 10),
    "float32": mlp(64, 32, 10, dtype="float32"),
    "a line, dyadic fractions": LinearRegression(64),
}
found = {name: lecture_03.in_all_orders(kind, X[:128], y[:128]) for name, kind in kinds.items()}
table({name: {"different results of 4 orders": n} for name, (n, _) in found.items()})

# %% tags=["how-we-know"]
# How we know: the spread is rounding, not another algorithm
assert found["float64"][0] > 1 < found["float32"][0]
assert found["a line, dyadic fractions"][0] == 1
assert found["float64"][1] < 1e-14 < 1e-9 < found["float32"][1] < 1e-5
of_32 = run(data_parallel, model, X, y, plan, workers=32, backend="simulated").values
assert difference(of_32[0].w, serial.w) < 1e-12
assert (of_32[0].w != serial.w).sum() > 100

# %%
claim("3.13")

# %% [markdown]
# *Dyadic fractions* are whole numbers divided by powers of two. The pixels are sixteenths, a
# batch of 128 and 32 workers divide by powers of two, and a line's first gradient needs few
# enough bits for exact sums: all orders give the same bits, so the *algorithm* is the same.
# Rounding is harmless. What comes next is not.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## BatchNorm sees the difference
#
# BatchNorm scales each channel to mean 0 and variance 1 *over the batch*, and a worker has only its
# part of the batch. Two small convolutional networks, four steps on four workers. Predict for each:
# equal to one machine up to rounding, or not?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: BatchNorm, 3 minutes</summary>
#
# Ask for the mean of [1, 3, 5, 7], then for the means of [1, 3] and [5, 7]: a worker subtracts the
# mean of its own part. Leave out if there are only 40 minutes.
# </details>

# %% name="batch-norm"
four_steps, few = replace(plan, epochs=1), (X[:512], y[:512])
nets = {"without BatchNorm": conv_net(channels=2), "with": conv_net(channels=2, batch_norm=True)}
apart_by = {}
for name, net in nets.items():
    w = run(data_parallel, net, *few, four_steps, workers=4, backend="simulated").values[0].w
    apart_by[name] = difference(w, train(net, *few, four_steps).w)
table({name: {"equal to 1e-12": gap < 1e-12} for name, gap in apart_by.items()})

# %% tags=["how-we-know"]
# How we know: equal without, far away with, and no worse a model for that
assert apart_by["without BatchNorm"] < 1e-12 < 1e-3 < apart_by["with"]
with_norm, six = nets["with"], replace(plan, epochs=6)
trained = run(data_parallel, with_norm, X, y, six, workers=4, backend="simulated").values[0].w
read = [
    float(np.mean(with_norm.predict(w, digits.X_test) == digits.y_test))
    for w in (trained, train(with_norm, X, y, six).w)
]
assert [round(100 * share) for share in read] == [91, 92]

# %% [markdown]
# Each worker subtracts the mean of its own part. So the loss is no sum over examples any more, and
# a sum of the parts' gradients is another gradient. Here that does little harm: after six epochs 91
# % of the test images are read, by one machine 92 %, for 32 images of 64 pixels know the mean well.
# Where a worker has one or two images it may do more. The cure is
# to all-reduce means and squares inside the layer, forward and backward (`SyncBatchNorm`). Goyal
# and others (2017) keep 32 images a worker, however many workers there are.

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Five ways to break it, and how far it goes
#
# ## Sum or mean?
#
# One source *averages* gradients, two *add them up*. Who is right depends on whose loss it is. A
# worker may take the mean loss over its own 32 images; or there may be *one* loss, the mean over
# all 128, in which each image counts $\frac1{128}$. Four combinations: which two are one machine's
# step? Vote before you run it.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: sum or mean, 6 minutes</summary>
#
# Vote on the four bars before they are drawn. Someone will say that the factor 4 goes into the
# learning rate: true for SGD, until the number of workers changes. `nn.DataParallel` takes 2 of
# the 6 minutes; ask which link is full before the bytes are drawn.
# </details>

# %% name="sum-or-mean"
w0, whole = model.initial(), model.gradient(model.initial(), (X[:128], y[:128]))[1]
own = [model.gradient(w0, (X[r * 32 : r * 32 + 32], y[r * 32 : r * 32 + 32]))[1] for r in range(4)]
parts = {"own losses": np.array(own), "one loss": np.array(own) * 32 / 128}
steps = {
    f"{loss}, {how.__name__}": float(np.linalg.norm(how(part, axis=0)) / np.linalg.norm(whole))
    for loss, part in parts.items()
    for how in (np.sum, np.mean)
}
chart(steps, x_label="length of the step, one machine's = 1", x_range=(0, 4.4))

# %% [markdown]
# With one loss the sum, with own losses the mean. `nn.DataParallel`, PyTorch's first class for
# this, has one loss: it scatters the batch from the first device, gathers the *outputs* there and
# computes the loss there; so it adds up. DDP has own losses; so it averages. Watch the scatter and
# the gather:

# %% name="nn-data-parallel"
one_step = replace(plan, batch_size=1408, epochs=1)
scattered = run(nn_data_parallel, model, X, y, one_step, workers=4, backend="simulated")
player(scattered.trace, layout="star", title="nn.DataParallel: all passes through the first device")

# %% [markdown]
# All that moves passes through rank 0: parameters to every replica in *every* step, images (the
# longest of the messages here), outputs, and the gradients of the outputs. What does rank 0 send in
# 22 steps, compared with a rank of our ring?

# %% name="bytes-of-rank-0"
made = {
    scheme.__name__: run(scheme, model, X, y, plan, workers=4, backend="simulated")
    for scheme in (nn_data_parallel, data_parallel)
}
sent = {name: r.trace.bytes_sent()[0] for name, r in made.items()}
chart(sent, unit="bytes", x_label="sent by rank 0 in 22 steps")

# %% tags=["how-we-know"]
# How we know: which two are one machine's gradient; what the first device sends more than a rank
fits = [
    (loss, how.__name__) for loss, part in parts.items() for how in (np.sum, np.mean)
    if difference(how(part, axis=0), whole) < 1e-12
]  # fmt: skip
assert fits == [("own losses", "mean"), ("one loss", "sum")]
assert [round(step, 9) for step in steps.values()] == [4, 1, 1, 0.25]
assert all(difference(r.values[0].w, serial.w) < 1e-12 for r in made.values())
assert 3.5 < sent["nn_data_parallel"] / sent["data_parallel"] < 4

# %%
claim("2.18")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The forgotten broadcast
#
# This is the loop as one writes it first. Its last argument, `bug`, plants one of five bugs: one in
# the first parameters (not shown), the others wherever `bug` or `UNEQUAL` stands. `weight_of` gives
# the fraction of the batch, but 1 for "sum for mean", and ¼ for "unequal parts, equal weights",
# where `unequal_parts` cuts 1/16, 1/16, 1/16 and 13/16 of the batch.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the forgotten broadcast, 4 minutes</summary>
#
# Vote before the race: closer, farther, as far. Most say closer: "they get the same gradients".
# Yes, and equal steps keep a distance. Press *play*; the lower panel is the answer.
# </details>

# %%
source(lecture_03.broken, part="for batch")

# %% [markdown]
# The most treacherous one: `data_parallel` begins with a broadcast of rank 0's parameters. Suppose
# we forget it, and every worker draws its own. From then on all add up their gradients and take the
# same steps. How far apart are the replicas after 22 steps, if they begin at a distance of 1? We
# measure it by *checksums*: a replica's is the sum of its parameters. In the picture below press
# *play*: above the losses, below how far the checksums lie apart.

# %%
far = predict("Distance of the replicas after 22 steps, at first 1?", "times the first distance")
far

# %% name="forgotten-broadcast"
runs = {
    bug: run(lecture_03.broken, model, X, y, plan, bug, workers=4, backend="simulated")
    for bug in (None, *lecture_03.BUGS)
}
checksums = np.array([[seen.first, seen.last] for seen in runs["no broadcast"].values])
far.compare(round(float(np.ptp(checksums[:, 1]) / np.ptp(checksums[:, 0])), 6))

# %%
compared = {"as it should be": runs[None], "without the broadcast": runs["no broadcast"]}
race(compared, replicas=True, reference="as it should be")

# %% tags=["how-we-know"]
# How we know: every rank takes the same steps, so every difference stays
assert np.allclose(np.diff(checksums - checksums[0], axis=1), 0, atol=1e-9)
assert np.ptp(checksums[:, 0]) > 1
assert {seen.last for seen in runs[None].values} == {runs[None].values[0].last}
last = {bug: lecture_03.mean_loss(made)[-1][1] for bug, made in runs.items()}
assert last[None] < last["no broadcast"] < 0.9 * lecture_03.mean_loss(runs["no broadcast"])[0][1]

# %% [markdown]
# As far as at the start, for ever: equal steps leave differences as they are. Each replica moves
# along a gradient that was computed at four places, of which one is its own. The loss still
# *falls*, only slower. What gives the bug away is one number a rank, the checksum: one could
# have known before the first step. (Engineers print a hash of
# the bytes; two models may have equal sums by chance.) DDP broadcasts when it is made (Li and
# others 2020).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which bug is it?
#
# Five trainings, A to E, each with one of the five bugs. You see the loss (grey: as it should be)
# and five numbers a rank, above them those of one machine: the checksum at first and at last, how
# many images it took, the sum of these images' numbers, and the length of the first step. Look,
# decide, choose your answer. Then move the rate to 0.1, and look at the loss of case E again.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: which bug, 6 minutes</summary>
#
# One case all together, then in pairs. Set the answer back to "?" before another case. At a rate
# of 0.1 let them find out that the bug of case E *helps*.
# </details>


# %%
def all_bugs(rate, workers):
    """The six trainings at one rate: as it should be, and with each bug."""
    rated = replace(plan, learning_rate=rate)
    return {
        bug: run(lecture_03.broken, model, X, y, rated, bug, workers=workers, backend="simulated")
        for bug in (None, *lecture_03.BUGS)
    }


found = {rate: all_bugs(rate, workers=4) for rate in (0.1, 0.2, 0.5)}
alone = {rate: all_bugs(rate, workers=1)[None] for rate in found}

# %%
explore(
    lambda case, bug, rate: lecture_03.diagnose(case, bug, found[rate], alone[rate]),
    case=list("ABCDE"), bug=["?", *lecture_03.BUGS], rate=knob(list(found), start=0.5),
)  # fmt: skip

# %% tags=["how-we-know"]
# How we know: at every rate each bug has a signature; which show in the loss depends on the rate
shown = {}
for eta, of_bug in found.items():
    marks, loss = set(), {bug: lecture_03.mean_loss(m) for bug, m in of_bug.items()}
    for made_by in of_bug.values():
        seen, usual_step = made_by.values, of_bug[None].values[0].step
        marks.add((
            len({s.first for s in seen}), len({s.last for s in seen}),
            len({len(s.images) for s in seen}), len({sum(s.images) for s in seen}),
            seen[0].step > 2 * usual_step,
        ))  # fmt: skip
    assert len(marks) == 6
    mean = {bug: np.mean([value for _, value in curve]) for bug, curve in loss.items()}
    shown[eta] = {bug for bug in lecture_03.BUGS if mean[bug] > mean[None] + 0.15}
    if eta == 0.1:
        assert mean["sum for mean"] < min(v for bug, v in mean.items() if bug != "sum for mean")
assert shown[0.5] == {"no broadcast", "sum for mean"}
assert "sum for mean" not in shown[0.1]

# %% [markdown]
# At a rate of 0.5 two of the five show in the loss: the forgotten broadcast, and the sum for the
# mean, which takes steps four times too long. At 0.1 that bug is the *best* of all curves: 0.4 is a
# better rate for this network. So the loss is no proof. Four bugs are found when *ranks are
# compared*: parameters at first and at last, the number of images, the sum of their numbers. The
# fifth is alike on all ranks; it shows when the first step is compared with *one machine's*.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Average parameters instead of gradients?
#
# Another way to synchronise: every worker steps alone k times, then all set their parameters to
# the mean (*parameter averaging*; *local SGD*, Stich 2019). A linear regression with two parameters
# shows it: 64 points of a wave, and each of 4 workers keeps 16 neighbours. Their own best lines
# point in four directions. In the landscape each dot is a replica, and the black ring is their
# mean.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: averages, 4 minutes</summary>
#
# Play k = 1, 8, 48 in this order, and ask before each: where does the ring end? Leave the
# landscape out if there are only 40 minutes; the four bars below are the surprise.
# </details>


# %%
def own_rows(comm, k, n_steps=48):
    """Step on 16 rows of one's own; after every k steps all take the mean of their parameters."""
    mine, w = slice(16 * comm.rank, 16 * comm.rank + 16), np.zeros(2)
    for step in range(1, n_steps + 1):
        w = w - 0.1 * line.gradient(w, (x[mine, None], t[mine]))[1]  # these: next cell
        if step % k == 0:
            w = allreduce_ring(comm, w) / comm.size
        comm.note("w", w)
    return w


# %%
x = np.sort(rng.uniform(-2, 2, size=64))
line, t = LinearRegression(1), 1 + x + 2 * np.sin(2 * x)


def trajectories(k):
    """Four replicas on the loss of all 64 rows; the ring is their mean."""
    made = run(own_rows, k, workers=4, backend="simulated")
    name = f"averaged every {k} steps" if k > 1 else "averaged after every step"
    surface = line, x[:, None], t
    return landscape({name: made}, surface, start=(0, 0), x_range=(-1.5, 4), y_range=(-3, 6))


explore(trajectories, k=[1, 2, 4, 8, 16, 48])

# %% tags=["how-we-know"]
# How we know: k = 1 is gradient averaging, with momentum too, not with k = 2; and where all end
for how in (plan, replace(plan, learning_rate=0.1, momentum=0.9)):
    one_machine = train(model, X, y, how).w
    met = {
        k: run(parameter_averaging, model, X, y, how, k, workers=4, backend="simulated")
        for k in (1, 2)
    }
    assert difference(met[1].values[0].w, one_machine) < 1e-12 < 1e-4
    assert difference(met[2].values[0].w, one_machine) > 1e-4
ends = {k: run(own_rows, k, workers=4, backend="simulated").values[0] for k in (1, 4, 48)}
losses_at = {k: line.loss(w, (x[:, None], t)) for k, w in ends.items()}
assert losses_at[1] <= losses_at[4] < losses_at[48]

# %% [markdown]
# With k = 1 the four dots stay one (they are drawn after the mean): from one place, the mean of the
# steps is the step along the mean gradient. With momentum, too: its velocity is a *sum* of
# gradients, and the mean of sums is the sum of means. Not with Adam, which divides by a root of
# squares. With larger k each replica runs towards its own minimum before they meet: another
# algorithm, with $\frac1k$ of the messages. With k = 48 they meet once, at the end: *one-shot*
# averaging. How good is that for a network? Four workers with 352 images each, ten epochs alone,
# then one mean; once they begin alike, once each from its own first parameters.

# %% name="one-shot"
ten = Plan(learning_rate=0.5, batch_size=32, epochs=10)
best = accuracy(train(model, X, y, ten).w)
quarters = [(X[r::4], y[r::4]) for r in range(4)]
alike = [train(model, *rows, ten).w for rows in quarters]
unlike = [train(model, *rows, replace(ten, seed=r)).w for r, rows in enumerate(quarters)]
own_mean = float(np.mean([accuracy(w) for w in alike]))
from_one, from_four = accuracy(np.mean(alike, axis=0)), accuracy(np.mean(unlike, axis=0))
bars = {"one machine, all rows": best, "a worker's own model": own_mean,
        "mean, from one start": from_one, "mean, from four starts": from_four}  # fmt: skip
chart({name: 100 * share for name, share in bars.items()}, unit="% right", x_range=(0, 100))

# %% tags=["how-we-know"]
# How we know: the order of the four bars
assert from_four < own_mean < from_one <= best + 0.01
assert min(accuracy(w) for w in (*alike, *unlike)) > from_four

# %% [markdown]
# From one start the mean is *better* than the four are on average: they have stayed neighbours.
# From four starts it is worse than each: unit 5 of one network has nothing to do with unit 5 of
# another. This is what the forgotten broadcast does to whoever averages.

# %%
claim("2.11")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three machines, three times the batch?
#
# A worker with a third of 32 images has little to compute. So people let every machine keep its
# 32, and the batch becomes 96. The hope: three times the images a step, a third of the steps. The
# well-known recipe is the *linear scaling rule*: three times the batch, three times the learning
# rate. We count *steps* until the loss on the test images is below 0.5. First as one is told to:
# the rate is 0.1 at a batch of 32, and scaled from there.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the batch, 6 minutes</summary>
#
# Show the rule's bars first, and ask whether they would buy the machines. Then move the slider of
# the second picture slowly from 32 to 1,408: the lowest point hardly moves to the right.
# </details>

# %% name="scaling"
batches, train_set = (8, 32, 96, 352, 1408), (X, y)
test_set = digits.X_test, digits.y_test


def steps_of(size, eta, most=150):
    """Steps to a loss below 0.5, one number a seed; infinity where so many do not do."""
    plans = [Plan(eta, size, seed=seed) for seed in range(3)]
    return [lecture_03.steps_to(model, train_set, test_set, how, 0.5, most) for how in plans]


ruled = {B: steps_of(B, 0.1 * B / 32, most=250) for B in (32, 96, 352)}
chart({f"batch {B}": float(np.median(steps)) for B, steps in ruled.items()}, x_label="steps")

# %% [markdown]
# Three times the batch, a third of the steps; eleven times the batch, a seventh. Would you buy the
# machines? But nobody has asked whether 0.1 is a good rate for a batch of 32. Move the slider: for
# each batch size, steps over the rate. Before you do: where will the best rate of 352 images lie,
# if that of 32 is 0.57 and the rule holds?

# %% name="sweep"
rates = (0.2, 0.28, 0.4, 0.57, 0.8, 1.13, 1.6)
sweep = {B: {eta: steps_of(B, eta) for eta in rates} for B in batches}
explore(lambda batch: lecture_03.rates_chart(sweep[batch], batch), batch=knob(batches, start=32))

# %% [markdown]
# The rule wants 6.3. The best rate hardly moves: 0.4 for 8 images, 0.57 for 32, about 1 for all
# larger ones, and at 1.6 many runs fail. Now each batch at its own best.
# (**Change it and run it again:** ask for a loss of 0.4 in `steps_of`. Is the curve still flat?)

# %% name="tuned"
tuned = {B: min(of_rate.values(), key=np.median) for B, of_rate in sweep.items()}
lecture_03.steps_chart(tuned, ruled)

# %% tags=["how-we-know"]
# How we know: untuned, the batch seems to save steps in proportion; tuned, it soon saves few
median = {B: float(np.median(steps)) for B, steps in tuned.items()}
rule = {B: float(np.median(steps)) for B, steps in ruled.items()}
assert 2.5 < rule[32] / rule[96] < 3.5
assert rule[32] / rule[352] > 6
assert median[8] > median[32] > median[96] > median[352]
assert (median[32], median[96], median[352], median[1408]) == (48, 35, 29, 29)
best = {B: min(of_rate, key=lambda eta: np.median(of_rate[eta])) for B, of_rate in sweep.items()}
assert (best[8], best[32]) == (0.4, 0.57)
assert {best[B] for B in (96, 352, 1408)} <= {0.8, 1.13}
assert round(0.57 * 352 / 32, 1) == 6.3
failed = {B: not np.isfinite(np.median(sweep[B][1.6])) for B in batches}
assert sum(failed.values()) >= 3

# %% [markdown]
# The small batch needed a larger rate all the time. At its best rate a batch of 32 takes 48 steps,
# 96 takes 35, 352 takes 29, and all 1,408 images take 29 as well: the curve is flat. Where it bends
# away from the grey line, the *critical batch size* (McCandlish and others 2018), more machines
# stop to save steps. The rule had looked perfect because its baseline was untuned: Shallue and
# others (2019) find this in many papers.
#
# So the price of three machines with 32 images each: 35 steps in place of 48, and 96/32 ·
# 35/48 = 2.2 times as many epochs. Whether that is faster depends on what a step costs: lecture 06.

# %%
claim("3.10")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** A colleague moves her training from 4 to 16 GPUs, each with the same batch as
# before, gradients averaged. What happens to the batch, to the number of steps of an epoch, and
# what would you do to the learning rate?
#
# <details><summary>Answer</summary>
#
# The batch is four times as large, an epoch has a quarter of the steps. Do not trust a rule: *tune*
# the rate for the new batch (a *warm-up*, a small rate for the first steps, helps), and compare
# with the old batch at *its* best rate, in epochs and in seconds. Past the critical batch size the
# best rate hardly grows.
# </details>

# %% [markdown]
# **Question 2.** The loss falls, a little slower than last week. Which numbers do you compare, and
# which bug does each of them show?
#
# <details><summary>Answer</summary>
#
# Between the ranks: the sum of the parameters before the first step (a forgotten broadcast) and
# after some steps (a forgotten all-reduce), the number of images of each rank and the sum of their
# numbers (unequal parts, one shard for all). Against one machine: the length of the first step (a
# sum for a mean). And if the model has BatchNorm, ask how many images each worker has.
# </details>

# %% [markdown]
# **Question 3.** Clipping scales a gradient down when it is longer than a limit. Every worker
# clips its own gradient, then they average. Is that the same as one machine with the whole batch?
#
# <details><summary>Answer</summary>
#
# No: clipping is not linear. A worker with a long gradient is clipped, although the mean might be
# short. Average first, then clip; all workers do so alike.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# P. Goyal and others, "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour",
# 2017 · S. Li and others, "PyTorch Distributed: Experiences on Accelerating Data Parallel
# Training", VLDB 2020 · S. McCandlish and others, "An Empirical Model of Large-Batch Training",
# 2018 · C. Shallue and others, "Measuring the Effects of Data Parallelism on Neural Network
# Training", JMLR 2019 · S. Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019.
# </details>

# %% [markdown]
# ## What to remember
#
# - One network on 1, 2, 4 and 32 workers, 22 steps: equal to one machine to 1e-12, with a quarter
#   of the images on each of four ranks. PyTorch's DDP gives the same parameters.
# - Five bugs: four are found by comparing ranks, one by comparing with one machine. The loss proves
#   nothing.
# - A larger batch saves steps up to the critical batch size. Compare each batch at its best rate.
#
# Next: the [exercises](../exercises/03_data_parallelism.ipynb), then
# [lecture 04](04_parameter_server.ipynb). Before: [lecture 02](02_map_reduce.ipynb).
