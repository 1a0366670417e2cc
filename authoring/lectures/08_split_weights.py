# %% [markdown] slideshow={"slide_type": "slide"}
# # 08 · Split weights: can one layer live on several machines?
#
# After this you can
#
# - split a layer by units, a pair by column and row, an image by rows, and say what crosses
# - find a bias that was added P times, by bytes and by values
# - choose between data, model, hybrid and sharded data parallelism, by the bytes of each
#
# Part 1 takes 18 minutes, part 2 takes 19; plan twice that if you try everything. Needs: 2
# processes, no GPU. You should know what crosses a cut between layers, from [lecture
# 07](07_model_parallelism.ipynb), and the ring of [lecture 05](05_allreduce.ipynb). Then: the
# [exercises](../exercises/08_split_weights.ipynb), and [lecture 09](09_asynchronous_sgd.ipynb).

# %% tags=["set-up"]
# Set-up; what is drawn has its seed in the library
import tempfile
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

from course_lib import networks, run
from course_lib.costs import price
from course_lib.costs.sharding import bytes_held
from course_lib.lectures import lecture_08
from course_lib.lectures.lecture_08 import BiasOfEveryRank, one_step, units_player, with_every_bias
from course_lib.models.alexnet import alexnet
from course_lib.models.chain_module import as_module
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.published import PUBLISHED
from course_lib.planning.sized_bytes import equal_layers, hybrid_bytes, pairs_bytes
from course_lib.planning.sized_steps import SizedStep, layer_sizes
from course_lib.schemes import data_parallel, hybrid, sharded_parameters, split_weights, train
from course_lib.schemes.sharded_parameters import join_shards
from course_lib.split import Columns, Rows, join_model, split_by_units, split_in_pairs
from course_lib.training import Plan
from course_lib.viz import (
    claim,
    explore,
    knob,
    player,
    predict,
    race,
    source,
    table,
    timeline,
)  # fmt: skip

torch.set_num_threads(1)  # small models: more threads only get into each other's way
cross_entropy = torch.nn.functional.cross_entropy
simulated = {"backend": "simulated", "workers": 4}
GPU = 1e13  # flops a second of the ranks in part 2
rng, plan = np.random.default_rng(8), Plan(0.1, batch_size=64)
X, y = rng.normal(size=(64, 64)), rng.integers(0, 16, size=64)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 38 minutes</summary>
#
# Run all cells before class. Part 1: what crosses 5, column and row 5, the bias 3, images 4,
# PyTorch 2. Part 2: where the weights are 3, the join 4, which way 5, ZeRO 4, FSDP 2, this computer
# 1. To be shorter, leave out the images and the join.
#
# Before anything runs: four students share one multiplication table of 4 by 4. Once by rows, once
# by columns. What do they have to tell each other?
#
# Common misconceptions: "weights are synchronized" (they stay where they are); "only fully
# connected layers can be split"; "ZeRO is model parallelism" (every rank computes every layer).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Cut a layer
#
# ## What crosses?
#
# Lecture 07 gave each rank whole layers. Now a single layer is too large for one machine, or too
# slow. DistBelief (Dean and others 2012) divided the *units*: of every layer each machine has some
# units, with the weights that lead to them.
#
# Four ranks, layers of 256 units, 64 examples, numbers of 8 bytes. The next layer of a rank needs
# the activations of all 256 units. How much does a rank send to *each* of the others for it?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: what crosses, 5 minutes</summary>
#
# Draw two layers of four units on the board, and cut the drawing with one line through both. Ask
# which ends of a cut edge must know of each other: the unit's output goes over, the weight stays
# with the unit it leads to. Ask what a second edge from the same unit costs: nothing.
# </details>

# %%
guess_kb = predict("What does a rank send to each other rank, before the next layer?", "KB")
guess_kb

# %%
step = one_step("by units", 64, 256, 256, 16)
guess_kb.compare(step.messages[0].n_bytes / 1e3)

# %% [markdown]
# Its own 64 units, for 64 examples: $64 \cdot 64 \cdot 8$ bytes. Play one step. The cells of a box
# are the four parts of the layer that is computed: full while the rank has the activations of those
# units. On the way back the same cells hold slopes, and empty as each slope goes to the rank that
# owns the unit, where all slopes are added.

# %%
units_player(step, "A net whose units are divided among four ranks, one step")

# %% [markdown]
# No message is a weight or its gradient. The gradient of a weight needs the activation at one end
# of its edge and the slope at the other, and both are on the rank that has the weight. So more
# examples are more bytes, and more weights are not:

# %%
counted = {
    "as above": one_step("by units", 64, 256, 256, 16),
    "twice the examples": one_step("by units", 64, 256, 256, 16, examples=128),
    "8 × the weights of layer 1": one_step("by units", 512, 256, 256, 16),
}
table({name: {"sent in a step": trace.n_bytes} for name, trace in counted.items()},
      units={"sent in a step": "bytes"})  # fmt: skip

# %%
claim("0.9")

# %% tags=["how-we-know"]
# How we know: only activations cross, and the parts trained together are the whole trained alone
assert {m.shape for m in step.messages} <= {(64, 64), (64, 4)}
sent = [trace.n_bytes for trace in counted.values()]
assert sent[1] == 2 * sent[0]
assert sent[2] == sent[0]
net = deep_mlp(64, 256, 256, 16)
alone = train(net, X, y, plan).w
for divide in (split_by_units, split_in_pairs):
    parts = run(split_weights, net, X, y, plan, divide, **simulated).values
    together = join_model(net, [part.w for part in parts], divide)
    assert np.abs(together - alone).max() < 1e-14 < 1e-4 < np.abs(alone - net.initial()).max()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A column, then a row
#
# By units, *every* layer needs all activations before it. Megatron-LM (Shoeybi and others 2019)
# takes layers in pairs. In $Y = X W$ the weights of a unit are a column of $W$, those of an input a
# row. Cut the first layer by *columns*: each rank has some hidden units. Cut the second by *rows*:
# each rank has the weights of the inputs that it made itself. It gets a part of every sum.
#
# Transformers, the nets behind language models, are full of such pairs. One of them: 256 inputs,
# 1,024 hidden units, 256 outputs; 64 examples, four ranks, 8 bytes. All exchanges are rings. How
# much does a rank send *forward*?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a column, then a row, 5 minutes</summary>
#
# Most count the hidden activations: 1,024 times 64. They never travel. One all-reduce of the
# outputs, 64 times 256 numbers, twice three quarters of it. Then ask for the way back: it is the
# same picture, mirrored, and the first layer of a net is spared.
# </details>

# %%
guess_pair = predict("Column and row: what does a rank send forward, for both layers?", "KB")
guess_pair


# %%
def forward_of_pair(comm, x):
    """Take examples through a pair."""
    first, second = net_of_pair.parts
    column = Columns(comm, first)
    row = Rows(comm, second, column.cut)
    hidden, _ = column.forward(column.share(w_of[0]), x)  # nothing is sent
    return row.forward(row.share(w_of[1]), hidden)[0]


net_of_pair = deep_mlp(256, 1024, 256)
w_of = [net_of_pair.initial_of(k) for k in (0, 1)]
examples = np.random.default_rng(1).normal(size=(64, 256))
pair = run(forward_of_pair, examples, **simulated)
guess_pair.compare(round(pair.trace.bytes_sent()[0] / 1e3))

# %% [markdown]
# Only the outputs are added up: a ring all-reduce of $64 \cdot 256$ numbers, $2 \cdot \frac34$ of
# them from each rank (lecture 05). The 1,024 hidden units stay where they are. That needs the ReLU
# between the two layers to work on each unit alone, which it does.

# %%
player(pair.trace, "ring", title="Column, then row: one all-reduce", moments=4, even_steps=True)

# %% [markdown]
# The second layer, forward; `_mine` is this rank's part of it:

# %%
source(Rows.forward)

# %% [markdown]
# Back it is the mirror image: the row needs nothing, the column an all-reduce of the slope in its
# inputs. So a pair costs one all-reduce each way, and weights never travel. (Between two pairs all
# ranks hold the same activations. Megatron-LM's *sequence parallelism* cuts those, too, by tokens:
# a reduce-scatter after a pair, an all-gather before the next. As many bytes, a P-th of the room.)
#
# Data parallelism is the opposite: it sends all weights' gradients, and no activation. Which is
# less? Four layers, numbers of 4 bytes; a grid has *replicas* (data) times *splits* (ranks that
# share a replica):

# %%
explore(lecture_08.pairs_chart,
        width=knob([256, 1024, 4096, 16384], label="units of each layer", start=4096),
        batch=knob([32, 128, 512, 2048, 8192], label="examples of all ranks", start=512),
        workers=knob([4, 8, 16], label="ranks"))  # fmt: skip

# %% [markdown]
# Gradients are as many as weights, *width × width* a layer, whatever the batch. Activations are
# *batch × width*. So wide layers and small batches ask for splits; at some thousand examples the
# marked bar moves to the replicas. But splits wait for each exchange, and gradients can hide
# (lecture 06): a grid splits inside a machine, and replicates between machines. DistBelief was such
# a grid, whose replicas pushed to servers and did not wait for each other (lecture 09).

# %% tags=["how-we-know"]
# How we know: outputs of the whole; formulas in bytes are those of real runs, for every grid
whole, _ = net_of_pair.parts[0].forward(w_of[0], examples)
whole, _ = net_of_pair.parts[1].forward(w_of[1], whole)
assert all(np.abs(y - whole).max() < 1e-12 for y in pair.values)
assert pair.trace.bytes_sent() == [2 * 3 * 64 * 256 * 8 // 4] * 4
four = deep_mlp(64, 64, 64, 64, 64, dtype="float32")
sizes = SizedStep(equal_layers(64), 32)
X32, y32 = np.ones((32, 64)), np.arange(32)
by_pairs = run(split_weights, four, X32, y32, Plan(batch_size=32), **simulated).trace
assert by_pairs.bytes_sent()[0] == pairs_bytes(sizes, 1, 4)["activations"]
by_data = run(data_parallel, four, X32, y32, Plan(batch_size=32), **simulated).trace
ring = by_data.since(min(span.start_s for span in by_data.computes))
assert ring.bytes_sent()[0] == pairs_bytes(sizes, 4, 1)["gradients"]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The bias, once
#
# `Rows.forward` adds the bias *after* the sum. A colleague adds it before, on every rank. Here are
# both, trained on digits with four ranks:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the bias, 3 minutes</summary>
#
# Let the room find the bug in the listing. Then ask how one would notice: not by the loss, not by
# messages or bytes. The training has learned a bias that is too small by a factor, and only those
# who load the model elsewhere see it. It is the classic bug of column and row.
# </details>

# %%
source(BiasOfEveryRank.forward, part="y = flat")

# %%
ways = {"bias once": split_in_pairs, "bias of every rank": with_every_bias}
trained = {name: lecture_08.digits_run(divide) for name, divide in ways.items()}
race({name: made.trace for name, made in trained.items()}, reference="bias once",
     title="Two trainings, the same messages")  # fmt: skip

# %% [markdown]
# Both losses fall alike, and no byte is more. Training has made up for the bug. Now put the
# colleague's four parts together, and ask one process. By how many biases do the outputs on four
# ranks differ from those of one process?

# %%
guess_biases = predict("By how many biases do the outputs differ?", "biases")
guess_biases

# %%
asked = lecture_08.put_together(trained["bias of every rank"], with_every_bias)
guess_biases.compare(round(float(np.median((asked.split - asked.joined) / asked.bias)), 6))

# %% [markdown]
# Four times in the sum, once in one process: three too many. The test that finds it compares
# *values* with the unsplit layer, at a bias that is not 0. (Our new layers begin with biases of 0:
# a test before the first step passes. PyTorch's `Linear` draws them.) Count once what all ranks
# have: the bias, in the norm of the gradient too.

# %% tags=["how-we-know"]
# How we know: the same messages; exactly three biases; none where the bias is added once
traffic = [[(m.src, m.dst, m.n_bytes) for m in made.trace.messages] for made in trained.values()]
assert traffic[0] == traffic[1]
assert np.allclose(asked.split - asked.joined, 3 * asked.bias, rtol=0, atol=1e-12)
assert np.abs(asked.bias).max() > 0.01
once = lecture_08.put_together(trained["bias once"], split_in_pairs)
assert np.allclose(once.split, once.joined, rtol=0, atol=1e-12)
fallen = [[n.value for n in made.trace.notes_named("loss_partial") if n.rank == 0]
          for made in trained.values()]  # fmt: skip
assert all(losses[-1] < 0.5 * losses[0] for losses in fallen)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Images by rows
#
# A convolution can be cut by channels, as units are. Or cut the *image*: each rank has some rows,
# and all weights. For its outputs it needs the rows next to its own, the *halo*; a 3 × 3 kernel
# needs one above and one below.
#
# Images of 224 × 224, four ranks. By channels, a rank needs the three quarters of the input that
# others have; by rows, two rows of 224 (at an edge of the image one). How many times as much does
# the cut by channels send?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: images by rows, 4 minutes</summary>
#
# Ask what happens with a 1 × 1 kernel (nothing is sent), and where it stops to pay: deep in the
# net, where images are 7 × 7 and weights many. The gradient of the weights is an all-reduce, as in
# data parallelism: with respect to weights this *is* data parallelism, inside an image.
# </details>

# %%
guess_halo = predict("Channels against rows: how many times as much is sent?", "times")
guess_halo

# %%
guess_halo.compare(0.75 * 224 / 2)

# %%
lecture_08.halo_player()

# %% [markdown]
# Each box has a cell for each of the eight rows. Forward, a halo comes and is let go; on the way
# back, its slope goes home to the owner of the row. (Messages without a number are the gradient of
# the weights: all ranks use all of them.) Where do channels win?

# %%
explore(lecture_08.conv_chart, image=knob(lecture_08.IMAGES),
        kernel=knob([1, 3, 5, 7], start=3), workers=knob([2, 4, 8], start=4))  # fmt: skip

# %% [markdown]
# At 7 × 7: the image is small, and all-reducing the gradient of so many weights costs more.

# %%
claim("0.10")

# %% tags=["how-we-know"]
# How we know: rows put together are the whole convolutions, gradient too; so are channels
images = run(lecture_08.by_rows, **simulated)
alone = run(lecture_08.by_rows, workers=1, backend="simulated").values[0]
assert np.allclose(np.concatenate([v[0] for v in images.values], axis=2), alone[0], atol=1e-12)
assert all(np.allclose(v[1], alone[1], rtol=1e-12, atol=1e-10) for v in images.values)
halos = [m for m in images.trace.messages if m.tag == "halo"]
assert len(halos) == 3 * 2 * 3
assert {m.shape[2] for m in halos} == {1}
conv = lecture_08.two_convolutions().parts[0]
w_conv, x_conv = conv.initial(np.random.default_rng(0)), np.ones((2, 1, 8, 8))
cut = run(lecture_08.by_channels, conv, w_conv, x_conv, **simulated).values[3]
assert np.allclose(cut, conv.forward(w_conv, x_conv)[0], atol=1e-14)
charted = {name: [bar[0] for bar in lecture_08.conv_chart(image, 3, 4).chart["bars"] if bar[3]]
           for name, image in lecture_08.IMAGES.items()}  # fmt: skip
assert list(charted.values()) == [["by rows"]] * 3 + [["by channels"]]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same with PyTorch
#
# `parallelize_module` takes a module and says of its layers how they are cut. Two processes, gloo,
# one step of a pair:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: PyTorch, 2 minutes</summary>
#
# In the listing nothing sends: a parameter is a `DTensor` that knows how it is cut, and where a
# product needs a sum, PyTorch puts an all-reduce. Ask where the bias is added.
# </details>


# %% name="rosetta"
def with_torch(comm, store):
    """One step of SGD of a pair that PyTorch splits; returns the whole parameters."""
    dist.init_process_group("gloo", f"file://{store}", rank=comm.rank, world_size=comm.size)
    mesh = init_device_mesh("cpu", (comm.size,))
    module = as_module(small, range(2))
    parallelize_module(module, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    cross_entropy(module(torch.tensor(X)), torch.tensor(y)).backward()
    whole = [(p - 0.1 * p.grad).full_tensor() for p in module.parameters()]
    dist.destroy_process_group()
    return torch.cat([p.detach().ravel() for p in whole]).numpy()


small = deep_mlp(64, 128, 16)
with tempfile.TemporaryDirectory() as folder:
    theirs = run(with_torch, f"{folder}/store", workers=2).values[0]
parts = run(split_weights, small, X, y, plan, workers=2).values
ours = join_model(small, [part.w for part in parts], split_in_pairs)
{"the same parameters": float(np.abs(theirs - ours).max()) < 1e-14}

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Mix, or shard
#
# ## Where are the weights?
#
# Part 1 said: gradients are as many as weights, activations as many as units, for each example. A
# net has layers of both kinds. AlexNet (2012) has 61 million parameters. It ends with fully
# connected layers: 9,216 inputs to 4,096 units, 4,096 to 4,096, 4,096 to 1,000. Which part of all
# parameters is in these three?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: where the weights are, 3 minutes</summary>
#
# Let them add up 38, 17 and 4 million. Then cover the third column, and ask for the arithmetic: a
# weight of a convolution is used once for each place of the image.
# </details>

# %%
guess_share = predict("Which part of AlexNet's parameters is in its last three layers?", "%")
guess_share

# %%
nets = {net: lecture_08.net_row(net) for net in lecture_08.NETS}
guess_share.compare(round(100 * nets["AlexNet"]["of them fully connected"], 1))

# %%
table(nets, units={"of them fully connected": "%", "of the flops": "%"},
      told=[(0, "of them fully connected"), (0, "of the flops")])  # fmt: skip

# %% [markdown]
# Nearly all weights are in the last layers, and nearly all arithmetic before them: a convolution
# uses each weight at every place of the image. So data parallelism, which sends gradients, suits
# convolutions, and the last layers ask to be split.

# %%
claim("3.8")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One weird trick
#
# Krizhevsky (2014) did both: convolutions data-parallel, fully connected layers split. Where the
# two meet is a *join*: before it each rank has its own examples, after it each has its own units,
# for the examples of *all*. He names three ways. Move the choice, and watch how much of the others'
# examples (cells) a rank holds, and when it computes:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: one weird trick, 4 minutes</summary>
#
# (a) first: nothing is computed until all is there. (b): one rank's NIC sends to three others while
# their NICs send nothing. (c) keeps all NICs at work. The bytes are the same in all three.
# </details>

# %%
explore(lecture_08.join_player, join=knob(lecture_08.JOIN_NAMES))

# %% [markdown]
# (a) puts all examples together: everybody waits, and holds all. In (b) ranks take turns to send
# theirs, and the next is on its way while one is computed; but one NIC sends and the others are
# idle. In (c) each sends a slice of its examples in every turn, over all links. All three send the
# same bytes.
#
# A small AlexNet, one step, 32 images, four ranks on 10 Gbit/s:

# %%
steps = lecture_08.small_steps()
timeline(steps, title="One step of a small AlexNet, three ways")

# %% [markdown]
# Data parallelism waits for its gradients. Where only the fully connected layers are split and the
# batch is everybody's, each rank computes *all* convolutions for *all* images: little is sent, and
# nothing is gained. The hybrid does each layer its own way.

# %%
claim("0.11")

# %% tags=["how-we-know"]
# How we know: the hybrid is the fastest here, and it trains as one process does
assert min(steps, key=lambda name: steps[name].end_s) == "hybrid"
tiny, pixels = alexnet(channels=4, units=16), rng.normal(size=(16, 64))
labels = rng.integers(0, 10, size=16)
whole = train(tiny, pixels, labels, Plan(0.1, batch_size=16)).w
for splits in (2, 4):
    parts = run(hybrid, tiny, pixels, labels, Plan(0.1, batch_size=16), splits, **simulated).values
    row = [part.w for part in parts[:splits]]
    joined = join_model(tiny, row, split_by_units)
    assert np.abs(joined - whole).max() < 1e-13 < np.abs(whole - tiny.initial()).max()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which way, and where not?
#
# Four ranks, AlexNet. Split on one row, the three last layers send $2 \cdot \frac34$ of their
# inputs: 9,216 + 4,096 + 4,096 numbers for each example of the batch. As replicas they send $2
# \cdot \frac34$ of their 58.6 million gradients. From which batch on does splitting send *more*?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: which way, and where not, 5 minutes</summary>
#
# The crossing does not depend on the number of ranks: both sides have the same factor of a ring.
# With the explorers let them find a net for which the hybrid gains nothing (GoogLeNet), a network
# (NVLink), a batch. "Every layer split" is the largest bar nearly everywhere: why? (Images.)
# </details>

# %%
guess_batch = predict("From which batch on does the split send more than data parallelism?", "")
guess_batch

# %%
crossing = next(
    batch for batch in range(1, 10_000)
    if sum(hybrid_bytes(SizedStep(PUBLISHED["AlexNet"], batch), 1, 4).values())
    > sum(hybrid_bytes(SizedStep(PUBLISHED["AlexNet"], batch), 4, 1).values())
)  # fmt: skip
guess_batch.compare(crossing)

# %%
explore(lecture_08.hybrid_chart, net=knob(lecture_08.NETS),
        batch=knob([128, 512, 2048, 8192], label="examples of all ranks", start=512),
        workers=knob([2, 4, 8], label="ranks", start=4))  # fmt: skip

# %% [markdown]
# AlexNet and VGG-16 ask for the split, GoogLeNet and ResNet-50 hardly care, and large batches ask
# for replicas everywhere. To split *every* layer sends most: images are large in front.
#
# Bytes are not time. Ranks of 10 Tflop/s; nothing hides under computing, but for what the pipeline
# of lecture 07 hides by itself. Where does the hybrid gain most, and where nothing?


# %%
def seconds(net, network, batch):
    """Predict a step on four fast ranks."""
    return lecture_08.seconds_chart(net, replace(network, flops_per_s=GPU), batch, workers=4)


explore(seconds, net=knob(lecture_08.NETS), network=knob(
    {"1 Gbit/s": networks.ethernet_1g, "10 Gbit/s": networks.ethernet_10g,
     "NVLink": networks.nvlink_4}, start=networks.ethernet_10g),
    batch=knob([128, 512, 2048, 8192], label="examples of all ranks", start=512))  # fmt: skip

# %% [markdown]
# For AlexNet, 512 examples and 10 Gbit/s the hybrid is three times as fast as data parallelism; on
# NVLink the two are alike, because sending takes hardly any time; and with 8,192 examples the
# hybrid loses. For GoogLeNet it gains little anywhere, 13 % at most (128 examples, 1 Gbit/s). Is it
# because GoogLeNet has branches, and AlexNet is a chain?

# %%
claim("3.11")

# %% tags=["how-we-know"]
# How we know: the bytes are those of the scheme; who is cheapest, and fastest, as the text says
job = rng.normal(size=(16, 64)), rng.integers(0, 10, size=16), Plan(batch_size=16)
ran = run(hybrid, tiny, *job, 2, **simulated).trace
in_float32 = hybrid_bytes(SizedStep(layer_sizes(tiny), 16), replicas=2, splits=2)
outputs = 8 * 5 * 8  # the last layer's, which the formula leaves out
assert sum(ran.bytes_sent()) / 4 == 2 * sum(in_float32.values()) + outputs


def cheapest(net, batch):
    bars = lecture_08.hybrid_chart(net, batch, 4).chart["bars"]
    return next(name for name, _, _, told in bars if told)


assert crossing == 3369
for net in ("GoogLeNet", "ResNet-50"):
    one, four = (sum(hybrid_bytes(SizedStep(PUBLISHED[net], 512), *grid).values())
                 for grid in ((1, 4), (4, 1)))  # fmt: skip
    assert 0.9 < one / four < 1
assert cheapest("AlexNet", 512) == cheapest("VGG-16", 512) == "1 replica on 4 ranks"
assert all(cheapest(net, 8192).startswith("data") for net in lecture_08.NETS)
taken = {}
for name in ("ethernet_10g", "nvlink_4"):
    for batch in (512, 8192):
        bars = seconds("AlexNet", getattr(networks, name), batch).chart["bars"]
        taken[name, batch] = {bar[0]: bar[1] for bar in bars}
ratios = {key: took["data parallel"] / took["hybrid"] for key, took in taken.items()}
assert 3 < ratios["ethernet_10g", 512] < 3.5
assert 1 < ratios["nvlink_4", 512] < 1.02
assert ratios["ethernet_10g", 8192] < 1
gains = []
for network in (networks.ethernet_1g, networks.ethernet_10g, networks.nvlink_4):
    for batch in (128, 512, 2048, 8192):
        took = {bar[0]: bar[1] for bar in seconds("GoogLeNet", network, batch).chart["bars"]}
        gains.append(took["data parallel"] / took["hybrid"])
assert round(max(gains), 2) == round(gains[0], 2) == 1.13

# %% [markdown] slideshow={"slide_type": "slide"}
# ## ZeRO: weights that come and go
#
# There is another way to fit a large model: stay data-parallel, and let each rank *keep* only a
# shard of everything. *ZeRO* (Rajbhandari and others 2020) has three stages: shards of the
# optimizer's state; of gradients, too; of parameters, too. In the third, which PyTorch calls FSDP,
# a layer's parameters are all-gathered before it computes and let go after it, forward and once
# more on the way back; its gradient is reduce-scattered.
#
# Plain data parallelism sends $2\frac{P-1}{P}$ of the parameters' bytes. How many times as much
# does stage 3 send?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: ZeRO, 4 minutes</summary>
#
# An all-reduce is a reduce-scatter and an all-gather (lecture 05): stages 1 and 2 send what data
# parallelism sends. Stage 3 gathers once more: 3 instead of 2. In the picture ask: is it model
# parallelism? No: every rank computes every layer, with its own examples.
# </details>

# %%
guess_zero = predict("ZeRO, stage 3, against plain data parallelism: how many times the bytes?", "")
guess_zero

# %%
gathered = price("allgather_ring", 4, 1_000_000).bytes_sent[0]  # a quarter each, of 4 MB
summed = price("reduce_scatter_ring", 4, 4_000_000).bytes_sent[0]
guess_zero.compare((2 * gathered + summed) / price("allreduce_ring", 4, 4_000_000).bytes_sent[0])

# %%
zero = lecture_08.sharded_step()
lecture_08.zero_player(zero)

# %% [markdown]
# A cell is a layer: a quarter full is this rank's shard, full is the whole layer. Numbered messages
# are parameters on their way, the others gradients. Never are two cells full: that is all the room
# the model takes. (The first layer is gathered once only, since nobody stands before it; PyTorch
# gathers it twice like the others.)
#
# Here everybody waits for each gather. PyTorch gathers the next layer while this one computes
# (*prefetch*): the wait hides, and two cells are full. And each part of a batch gathers all layers
# again: who accumulates gradients over four parts has fewer activations and four times the bytes.

# %% [markdown]
# It is the opposite of part 1: there activations cross and weights stay; here weights travel, and
# activations stay. What is left on each worker, without activations? The 16 bytes of lecture 07,
# for arithmetic in 16 bits: 2 of the parameter, 2 of its gradient, 12 of state (the parameter in 32
# bits, and two averages):

# %%
explore(lecture_08.stages_chart, n_parameters=knob(lecture_08.MODELS, label="parameters",
        start=lecture_08.MODELS["7.5 billion"]),
        workers=knob([4, 16, 64, 256, 1024], start=64))  # fmt: skip

# %% [markdown]
# The price sheet of this lecture, for AlexNet, 512 examples and four ranks:

# %%
lecture_08.price_sheet("AlexNet", 512, 4)

# %% tags=["how-we-know"]
# How we know: three rings' bytes, less one for the first layer; ZeRO's own example; one full layer
weights = deep_mlp(128, 128, 128, 16)
n, first = 8 * weights.n_parameters, 8 * weights.parts[0].n_parameters
assert sum(zero.bytes_sent()) / 4 == 3 / 4 * (3 * n - first)
held = [bytes_held(stage, 7_500_000_000, 64) / 1e9 for stage in range(4)]
assert np.allclose(held, [120, 31.40625, 16.640625, 1.875])
assert lecture_08.most_layers(lecture_08.parameters_held(zero)) == 1
in_four, at_once = (
    run(sharded_parameters, small, X, y, Plan(batch_size=64, accumulate=k), **simulated).trace
    for k in (4, 1)
)
assert in_four.n_bytes == 4 * at_once.n_bytes

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same with PyTorch
#
# `fully_shard` marks the modules whose parameters are gathered together: here each layer, and the
# rest. Each process has its own half of the batch.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: FSDP, 2 minutes</summary>
#
# The loop is that of any training: `fully_shard` hangs its gathers on the modules' forward and
# backward. Gradients come out as the mean over ranks. Ask what happens if only the whole net is
# marked: one group, all parameters at once. Of the optimizer's state a rank still keeps a shard.
# </details>


# %% name="rosetta-fsdp"
def with_fsdp(comm, store):
    """One step of SGD with a shard of each layer on every rank; returns the whole parameters."""
    dist.init_process_group("gloo", f"file://{store}", rank=comm.rank, world_size=comm.size)
    mesh = init_device_mesh("cpu", (comm.size,))
    module, own = as_module(small, range(2)), slice(32 * comm.rank, 32 * comm.rank + 32)
    for part in (module[0], module[2], module):
        fully_shard(part, mesh=mesh)
    cross_entropy(module(torch.tensor(X[own])), torch.tensor(y[own])).backward()
    whole = [(p - 0.1 * p.grad).full_tensor() for p in module.parameters()]
    dist.destroy_process_group()
    return torch.cat([p.detach().ravel() for p in whole]).numpy()


with tempfile.TemporaryDirectory() as folder:
    theirs = run(with_fsdp, f"{folder}/store", workers=2).values[0]
shards = run(sharded_parameters, small, X, y, plan, workers=2).values
ours = join_shards([shard.w for shard in shards], small.layers)
{"the same parameters": float(np.abs(theirs - ours).max()) < 1e-14}

# %% [markdown] slideshow={"slide_type": "slide"}
# ## On real processes
#
# Two processes on this computer, four layers of 1,024 units: as replicas, and split in pairs. With
# 16 examples the replicas send 85 times as many bytes, with 512 examples 2.7 times. Who wins here?

# %% tags=["nbval-ignore-output"]
lecture_08.real_steps()

# %% [markdown]
# The bars move from run to run, more so while other programs run. With few examples replicas spend
# their time on gradients, and the split is several times as fast. With many, both spend it on
# computing.

# %% tags=["how-we-know"]
# How we know: the bytes of both, for two ranks
times = []
for batch in (16, 512):
    layers = SizedStep(equal_layers(1024), batch)
    sent = [sum(pairs_bytes(layers, *grid).values()) for grid in ((2, 1), (1, 2))]
    times.append(sent[0] / sent[1])
assert np.allclose(times, [85.4, 2.67], rtol=0.01)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Somebody draws two machines with a cut net, and thick edges between them: "these
# weights are synchronized". What do you correct?
#
# <details><summary>Answer</summary>
#
# A weight is on one machine, that of the unit it leads to, and is never sent. Over the thick edges
# go the activations of the units at their beginning, once however many edges a unit has, and back
# the slopes.
# </details>

# %% [markdown]
# **Question 2.** A transformer block is split by column and row on eight GPUs of one machine; each
# machine is a replica. Why not the other way round: replicas inside, splits between machines?
#
# <details><summary>Answer</summary>
#
# Splits exchange activations in every layer, forward and back, and everybody waits for it.
# Gradients are exchanged once a step, and can hide under the backward pass. So what waits gets the
# fast links.
# </details>

# %% [markdown]
# **Question 3.** A model takes 60 GB with its optimizer; your GPUs have 24 GB, and a batch has
# 65,536 examples. Split layers, or ZeRO?
#
# <details><summary>Answer</summary>
#
# ZeRO: with a batch that large, activations are far more bytes than weights. From three ranks on a
# shard fits, if activations do. Splits pay where batches are small or single layers are too large
# to be gathered.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Dean and others 2012, *Large scale distributed deep networks* (DistBelief). Dryden and others
# 2019, *Improving strong-scaling of CNN training by exploiting finer-grained parallelism*.
# Krizhevsky and others 2012, *ImageNet classification with deep convolutional neural networks*
# (AlexNet); Krizhevsky 2014, *One weird trick for parallelizing convolutional neural networks*.
# Rajbhandari and others 2020, *ZeRO: memory optimizations toward training trillion parameter
# models*. Shoeybi and others 2019, *Megatron-LM*. Zhao and others 2023, *PyTorch FSDP*.
# </details>

# %% [markdown]
# ## What to remember
#
# - Split layers: activations and slopes cross, batch × units of them; weights never. Column and row
#   need one all-reduce each way, and the bias is added once, after the sum.
# - Data parallelism: gradients cross, as many as weights, whatever the batch. A hybrid does each
#   layer its own way, and loses where batches are large or last layers small.
# - ZeRO stays data-parallel and shards what is kept; parameters come and go, for 3/2 of the bytes.
#
# Next: the [exercises](../exercises/08_split_weights.ipynb), and [lecture
# 09](09_asynchronous_sgd.ipynb): what if nobody waits? Before: [lecture
# 07](07_model_parallelism.ipynb).
