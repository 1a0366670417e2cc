# %% [markdown] slideshow={"slide_type": "slide"}
# # 03 · Data parallelism: is P machines × batch b the same as one machine × batch P·b?
#
# After this you can
#
# - train a network on several machines so that nobody can tell it from one machine
# - name five bugs that break this, and recognise each from a loss curve and three checksums
# - choose the learning rate when the number of workers changes, and not fall into the usual trap
#
# Part 1 takes 22 minutes, part 2 takes 26. Needs: 4 processes, no GPU. You should have met the
# partial sums of [lecture 02](02_map_reduce.ipynb). Then: the
# [exercises](../exercises/03_data_parallelism.ipynb), and [lecture
# 04](04_parameter_server.ipynb), which puts a server in the middle.

# %%
import tempfile
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist

rng = np.random.default_rng(seed=3)

# %%
from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.data.digits import load_digits
from course_lib.lectures import lecture_03
from course_lib.models.conv_net import conv_net
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel, nn_data_parallel, parameter_averaging, train
from course_lib.training import Plan
from course_lib.viz import chart, claim, explore, landscape, player, predict, race, source, table

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: timing, misconceptions</summary>
#
# Collect answers to the title's question before anything runs, and again at the end of part 1.
# Part 1: the scheme and the equality 10 minutes, own rows 5, the last bits and BatchNorm 7. Part
# 2: sum or mean 5, the diagnosis 7 (let the class vote on each case), averages 6, the learning
# rate 8.
#
# Common misconceptions: "each worker trains its own model"; "averaging is always right" (not for
# unequal parts, not for Adam); "replicas find together again by themselves"; "eight GPUs need
# eight times the learning rate" (only where the batch has grown, and only up to a point).
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
digits = load_digits()
X, y = digits.X_train[:1408], digits.y_train[:1408]
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.5, batch_size=128, epochs=2)
model.n_parameters, plan.steps_per_epoch(len(y)) * plan.epochs


# %% [markdown]
# 2,410 parameters, 22 steps. Two yardsticks that we shall need:


# %%
def right(w):
    """Which part of the 360 test images is recognised."""
    return float(np.mean(model.predict(w, digits.X_test) == digits.y_test))


def apart(w, other):
    """The largest difference between two models' parameters."""
    return float(np.abs(w - other).max())


# %% [markdown] slideshow={"slide_type": "slide"}
# ## The scheme
#
# Every worker has the whole model and its own part of each batch. In a step it computes the
# gradient over its part; an *all-reduce* adds the parts up, so that everybody has the gradient of
# the whole batch (lecture 05 shows how); each takes the same step from the same place.

# %%
source(data_parallel)

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
    assert apart(values[0].w, serial.w) < 1e-12
assert right(serial.w) > 0.6

# %% [markdown]
# None: equal to the last digit or two of 16. The steps of many machines are the steps of one.
# Watch two of these steps on four simulated workers: broadcast, compute, all-reduce on a ring,
# step.

# %%
two_steps = replace(plan, batch_size=704, epochs=1)
watched = run(data_parallel, model, X, y, two_steps, workers=4, backend="simulated")
player(watched.trace, layout="ring", title="Data parallelism: two steps on four workers")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same in ten lines of PyTorch
#
# `DistributedDataParallel` (DDP) over gloo, on four processes, from the same first parameters,
# over the same images. Nothing in it is ours but the start of the processes.


# %%
def with_ddp(comm, store):
    """PyTorch's own data parallelism: each rank its part, gradients averaged in backward()."""
    dist.init_process_group("gloo", f"file://{store}", rank=comm.rank, world_size=comm.size)
    net = torch.nn.parallel.DistributedDataParallel(torch_mlp(model.initial()))
    optimizer = torch.optim.SGD(net.parameters(), lr=plan.learning_rate)
    for mine, _ in plan.shares(len(y), comm.rank, comm.size):
        optimizer.zero_grad()
        outputs, targets = net(torch.tensor(X[mine])), torch.tensor(y[mine])
        torch.nn.functional.cross_entropy(outputs, targets).backward()
        optimizer.step()
    dist.destroy_process_group()
    return torch.nn.utils.parameters_to_vector(net.parameters()).detach().numpy()


# %%
def torch_mlp(w):
    """The same network as a module, with these parameters."""
    layers = torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    net = torch.nn.Sequential(*layers).double()
    torch.nn.utils.vector_to_parameters(torch.tensor(w), net.parameters())
    return net


# %% name="rosetta"
with tempfile.TemporaryDirectory() as folder:
    theirs = run(with_ddp, f"{folder}/store", workers=4).values
{"DDP's parameters are ours to 1e-12": bool(apart(theirs[0], real.values[0].w) < 1e-12)}

# %% tags=["how-we-know"]
# How we know: on every rank, and a run at another rate is far away
assert max(apart(w, real.values[0].w) for w in theirs) < 1e-12
assert apart(train(model, X, y, replace(plan, learning_rate=0.51)).w, theirs[0]) > 1e-3

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Each rank loads only its own rows
#
# So far every process had all 1,408 images and looked at its own. On a real cluster a worker
# *loads* only what it needs. PyTorch's `DistributedSampler` says which: it shuffles all numbers
# with a seed that everybody has (another order in each epoch), and rank r takes every P-th from
# the r-th on.

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
        for at in range(0, len(own_y), b):
            loss, grad = model.gradient(w, (own_x[at : at + b], own_y[at : at + b]))
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
table(
    {
        "1 worker": {"images": 1408, "bytes held": one[2], "last loss": round(one[1][-1], 6)},
        "4 workers, each": {
            "images": 352,
            "bytes held": four[0][2],
            "last loss": round(mean_losses[-1], 6),
        },
    }
)

# %% tags=["how-we-know"]
# How we know: every loss and every parameter, and what padding does to 1,407 images
assert np.abs(mean_losses - one[1]).max() < 1e-12
assert max(apart(w, one[0]) for w, _, _ in four) < 1e-12
assert [held for *_, held in four] == [one[2] // 4] * 4
padded = run(from_own_rows, 1407, workers=4, backend="simulated").values[0][0]
alone = run(from_own_rows, 1407, workers=1, backend="simulated").values[0][0]
assert apart(padded, alone) > 1e-6

# %% [markdown]
# A quarter of the bytes, the same losses. One catch: 1,407 images cannot be cut into four equal
# parts. The sampler then *pads*: it hands out the first image of the shuffle once more, so that
# all ranks take equally many steps. One image counts twice in that epoch, and the losses part.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 32 workers: "identical"?
#
# The transcript of a video lecture has 32 nodes that find the *identical numerical result*. To
# the last bit? Addition of floats depends on the order: $(a+b)+c$ and $a+(b+c)$ round
# differently. Here the first gradient of 32 workers is added up in the orders of four all-reduces
# (lecture 05), once with numbers of 16 digits, once of 7, and once with numbers that need no
# rounding at all.

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
assert apart(of_32[0].w, serial.w) < 1e-12
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
# BatchNorm scales each channel to mean 0 and variance 1 *over the batch*. A worker has only its
# part of the batch. Two small convolutional networks, four steps, the second one with BatchNorm.
# Move the slider: which of them leaves the curve of one machine, and with how many workers?

# %% name="batch-norm"
four_steps, few = replace(plan, epochs=1), (X[:512], y[:512])
nets = {"without BatchNorm": conv_net(channels=2), "with": conv_net(channels=2, batch_norm=True)}
alone_w = {name: train(net, *few, four_steps).w for name, net in nets.items()}


# %%
def gaps(workers):
    """How far both networks are from one machine's after four steps."""
    runs = {
        name: run(data_parallel, net, *few, four_steps, workers=workers, backend="simulated")
        for name, net in nets.items()
    }
    far = {name: max(apart(r.values[0].w, alone_w[name]), 1e-17) for name, r in runs.items()}
    return chart(far, x_log=True, x_range=(1e-17, 1), x_label="difference to one machine")


explore(gaps, workers=[2, 4, 8, 16, 32])

# %% tags=["how-we-know"]
# How we know: without BatchNorm equal, with it far away, for every number of workers
for P in (2, 4, 32):
    gap = dict(bar[:2] for bar in gaps(P).chart["bars"])
    assert gap["without BatchNorm"] < 1e-12 < 1e-3 < gap["with"]

# %% [markdown]
# Each worker subtracts another mean; with 4 images a worker (32 workers) means are wild guesses.
# The loss is then no sum over examples any more, and sums are all that an all-reduce can give.
# The cure is to all-reduce means and squares inside the layer (`SyncBatchNorm`). Goyal and others
# (2017) keep 32 images a worker, however many workers there are.

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Five ways to break it, and how far it goes
#
# `lecture_03.broken` is the loop as one writes it first; its last argument plants one bug. We begin
# with the most treacherous one.
#
# ## The forgotten broadcast
#
# `data_parallel` begins with a broadcast of rank 0's parameters. Suppose we forget it, and every
# worker draws its own. From then on all add up their gradients and take the same steps. Predict:
# do the four replicas come closer, run apart, or stay as far apart as at the start?

# %% name="forgotten-broadcast"
good, forgot = (
    run(lecture_03.broken, model, X, y, plan, bug, workers=4, backend="simulated")
    for bug in (None, "no broadcast")
)
race({"as it should be": good, "without the broadcast": forgot}, replicas=True)

# %% tags=["how-we-know"]
# How we know: every rank takes the same steps, so every difference stays
sums = np.array([[seen.first, seen.last] for seen in forgot.values])
assert np.allclose(np.diff(sums - sums[0], axis=1), 0, atol=1e-9)
assert np.ptp(sums[:, 0]) > 1
assert {seen.last for seen in good.values} == {good.values[0].last}

# %% [markdown]
# As far as at the start, for ever: equal steps leave differences as they are. Each replica moves
# along a gradient that was computed at four other places. And the loss *falls*. What gives it
# away are the four checksums, one number a rank (the sum of its parameters), which never meet.
# One could have known at step 0. DDP broadcasts when it is made (Li and others 2020).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Sum or mean?
#
# One source *averages* gradients, two *add them up*. Both can be right: it depends on whose loss
# it is. `nn.DataParallel`, PyTorch's first class for this, scatters the batch from the first
# device, gathers the *outputs* there, and computes *one* loss, a mean over all 128 images. The
# $\frac1{128}$ is in every replica's gradient already, so the sum is right. Where each worker has
# a loss of its own, a mean over its own 32 images, it is the mean. Watch the scatter and the
# gather:

# %% name="nn-data-parallel"
one_step = replace(plan, batch_size=1408, epochs=1)
scattered = run(nn_data_parallel, model, X, y, one_step, workers=4, backend="simulated")
player(scattered.trace, layout="star", title="nn.DataParallel: all passes through the first device")

# %% [markdown]
# All that moves passes through rank 0: parameters to every replica in *every* step, images,
# outputs and slopes. What does rank 0 send in 22 steps, and what does a rank of our ring send?

# %% name="bytes-of-rank-0"
made = {
    scheme.__name__: run(scheme, model, X, y, plan, workers=4, backend="simulated")
    for scheme in (nn_data_parallel, data_parallel)
}
table({name: {"bytes that rank 0 sends": r.trace.bytes_sent()[0]} for name, r in made.items()})

# %% tags=["how-we-know"]
# How we know: both are one machine's model; and which combination of loss and sum is
assert all(apart(r.values[0].w, serial.w) < 1e-12 for r in made.values())
assert made["nn_data_parallel"].trace.bytes_sent()[0] > made["data_parallel"].trace.bytes_sent()[0]
first_step = {
    bug: model.gradient(model.initial(), (X[:128], y[:128]))[1] * (4 if bug else 1)
    for bug in (None, "sum for mean")
}
assert apart(first_step["sum for mean"], 4 * first_step[None]) == 0

# %%
claim("2.18")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which bug is it?
#
# Five trainings, A to E, each with one of five bugs. You see the loss (grey: as it should be) and
# three checksums a rank: the sum of its parameters at first, the same at last, and the images
# that it has computed with (how many, and the sum of their numbers). Look, decide, choose your
# answer.

# %%
runs = {
    bug: run(lecture_03.broken, model, X, y, plan, bug, workers=4, backend="simulated")
    for bug in lecture_03.BUGS
}
explore(
    lambda case, answer: lecture_03.diagnose(case, answer, runs, good),
    case=["A", "B", "C", "D", "E"],
    answer=["?", *lecture_03.BUGS],
)

# %% tags=["how-we-know"]
# How we know: each bug has a signature that no other has
marks = {}
for bug, made_by in {None: good, **runs}.items():
    seen = made_by.values
    counts = {(len(s.images), sum(s.images)) for s in seen}
    marks[bug] = (
        len({s.first for s in seen}), len({s.last for s in seen}), len(counts) == 1,
        len({len(s.images) for s in seen}), abs(seen[0].last) > 100,
    )  # fmt: skip
assert len(set(marks.values())) == 6

# %% [markdown]
# Only one of the five shows in the loss. With *unequal parts* of equal weight, an image in the
# small part counts 13 times as much as one in the large: no error, another model. Three numbers a
# rank, printed once an epoch, find all five.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Average parameters instead of gradients?
#
# Another way to synchronise: every worker steps alone k times, then all set their parameters to
# the mean (*parameter averaging*; *local SGD*, Stich 2019). On a loss with two parameters one can
# watch it: 4 workers, each with its own rows of a linear regression. With k = 1, is it gradient
# averaging?

# %%
x = np.sort(rng.normal(size=64))
line = LinearRegression(1), x[:, None], 1 + 2 * x + rng.normal(size=64)
hops = Plan(learning_rate=0.3, batch_size=16, epochs=12)


# %%
def walk(k):
    """Four replicas on the loss surface; they meet after every k steps."""
    steps = run(parameter_averaging, *line, hops, k, workers=4, backend="simulated")
    name = f"averaged every {k} steps" if k > 1 else "averaged after every step"
    return landscape({name: steps}, line, start=(0, 0), x_range=(-0.4, 1.8), y_range=(-0.3, 2.8))


explore(walk, k=[1, 2, 4, 8, 16, 48])

# %% tags=["how-we-know"]
# How we know: k = 1 is gradient averaging, with momentum too; k = 2 and Adam are not
for how in (plan, replace(plan, learning_rate=0.1, momentum=0.9)):
    alone = train(model, X, y, how).w
    met = {
        k: run(parameter_averaging, model, X, y, how, k, workers=4, backend="simulated")
        for k in (1, 2)
    }
    assert apart(met[1].values[0].w, alone) < 1e-12 < 1e-4 < apart(met[2].values[0].w, alone)

# %% [markdown]
# With k = 1 the dots part by one step and meet at once: from one place, the mean of the steps is
# the step along the mean gradient. That holds with momentum, too: each worker keeps a velocity of
# its own, but velocities are *sums* of gradients, and the mean of sums is the sum of means. It does
# not hold for Adam, which divides by a root of squares. With k = 2 every second step begins at four
# places: another algorithm, which sends $\frac1k$ of the messages. With k = 48 they meet once, at
# the end: *one-shot* averaging. For networks that fails: unit 5 of
# one has nothing to do with unit 5 of another.

# %%
claim("2.11")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three machines, three times the batch?
#
# A worker with a third of 32 images has little to compute. So people let every machine keep its
# 32, and the batch becomes 96. The transcript warns: training takes longer. The well-known cure
# is the *linear scaling rule*: three times the batch, three times the learning rate. We count
# epochs until the mean loss of an epoch is below 0.5, for five batch sizes and three seeds. First
# with the rule, from a rate of 0.1 for a batch of 32:

# %%
batches, rates = (32, 88, 176, 352, 1408), (0.1, 0.2, 0.4, 0.8, 1.6)


def epochs_of(size, eta):
    """Epochs to a loss below 0.5, one number a seed; 41 where 40 do not do."""
    plans = [Plan(eta, size, epochs=40, seed=seed) for seed in range(3)]
    return [lecture_03.epochs_to(model, X, y, plan, target=0.5) or 41 for plan in plans]


# %% name="scaling"
scaled = {B: epochs_of(B, 0.1 * B / 32) for B in batches}
table({B: {"rate": 0.1 * B / 32, "epochs": np.median(scaled[B])} for B in batches})

# %% [markdown]
# From 32 to 176 images the rule seems to cost nothing: 6, 6, 7 epochs. Many papers look like
# this. But is 0.1 a good rate for a batch of 32? Now each batch at *its own best* of five rates.
# Before you look: does the small batch get better, the large one, or both?

# %% name="tuned"
grid = {B: {eta: epochs_of(B, eta) for eta in rates} for B in batches}
tuned = {B: min(of_rate.values(), key=np.median) for B, of_rate in grid.items()}
lecture_03.epochs_chart(tuned, scaled)

# %% tags=["how-we-know"]
# How we know: untuned, the rule looks free; tuned, every larger batch costs epochs
median = {B: np.median(found) for B, found in tuned.items()}
assert np.median(scaled[176]) <= np.median(scaled[32]) + 1
assert median[32] <= 3 < median[176] < median[352] < median[1408]
assert max(tuned[32]) < min(tuned[176])

# %% [markdown]
# The small batch needed a larger rate all the time. Tuned, a batch of 32 needs 3 epochs, 176
# needs 5, 352 needs 9, all 1,408 images more than 30. Where larger batches begin to cost epochs
# is the *critical batch size* (McCandlish and others 2018). The rule had looked free because its
# baseline was untuned: Shallue and others (2019) find this in many papers. Large rates also have
# a ceiling of their own, the curvature (lecture 01): at 1.6 no batch below 176 ever learns.
#
# So: more machines make an epoch shorter, and training needs more epochs. Which wins depends on
# the network: lecture 06.

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
# The batch is four times as large, an epoch has a quarter of the steps. Try four times the
# learning rate, with a warm-up, then *tune* it for the new batch; and compare with the old batch
# at *its* best rate, in epochs and in seconds.
# </details>

# %% [markdown]
# **Question 2.** The loss falls, a little slower than last week. Which three numbers do you
# compare between the ranks, and which bug does each of them show?
#
# <details><summary>Answer</summary>
#
# The sum of the parameters before the first step (a forgotten broadcast) and after some steps (a
# forgotten all-reduce); the number of images of each rank and the sum of their numbers (unequal
# parts, one shard for all). And if the model has BatchNorm, ask how many images each worker has.
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
# ## What to remember
#
# - One network on 1, 2, 4 and 32 workers, 22 steps: equal to one machine to 1e-12, with a quarter
#   of the images on each of four ranks. PyTorch's DDP gives the same parameters.
# - Five bugs, three checksums a rank. Four of the five do not show in the loss.
# - A larger batch needs its own learning rate, and past the critical batch size more epochs.
#   Compare each at its best.
#
# Next: the [exercises](../exercises/03_data_parallelism.ipynb), then
# [lecture 04](04_parameter_server.ipynb). Before: [lecture 02](02_map_reduce.ipynb).
