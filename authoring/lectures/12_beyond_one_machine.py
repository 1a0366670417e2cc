# %% [markdown] slideshow={"slide_type": "slide"}
# # 12 · Beyond one machine: how do I run this for real?
#
# After this you can
#
# - start the same script on several machines, and train by PyTorch's DDP or by ours
# - say how often to save, and go on after a machine has died as if nothing had happened
# - say whether arithmetic, memory or the network bounds a worker, and what a GPU changes
#
# Part 1 takes 9 minutes, part 2 takes 13; plan twice that if you try everything. Needs: 2
# processes, no GPU, no second machine. You should know data parallelism
# ([03](03_data_parallelism.ipynb)) and the ring ([05](05_allreduce.ipynb)). Before: [lecture
# 11](11_sync_or_async.ipynb). Then: the [exercises](../exercises/12_beyond_one_machine.ipynb), and
# [lecture 13](13_graphs_and_planners.ipynb).

# %% tags=["set-up"]
# Set-up: imports; the plan of the training has its seed, all else is computed
import numpy as np

from course_lib import networks
from course_lib.lectures import lecture_06, lecture_12
from course_lib.lectures.lecture_12 import between_hosts, on_two_hosts, restarted, saved_training
from course_lib.models.published import LayerSize
from course_lib.viz import claim, explore, knob, predict, race, table, timeline

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 22 minutes</summary>
#
# Run all cells before class: half a minute, for a dozen processes need torch. Part 1 is 9 minutes,
# part 2 is 13. To be shorter, leave out the table of what crosses.
#
# Common misconceptions: "for several machines I need another program" (another command); "a
# checkpoint is the parameters" (and the optimizer's state, and the place in the data); "a GPU makes
# training ten times as fast" (the part that computes).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Two hosts
#
# ## One script, many programs
#
# So far `run` started processes. On another machine it cannot: somebody there has to. So the same
# script is started on *every* machine, by a *launcher*. PyTorch's is called `torchrun`. It starts
# one process for each rank, tells each its number in the variable `RANK`, how many there are in
# `WORLD_SIZE`, and where to meet. In such a process, `run(…, backend="torch")` starts nothing: it
# *joins*.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: one script, many programs, 4 minutes</summary>
#
# Ask who reads the data (every rank, its own rows: lecture 03), and which of the programs prints
# (all, unless they ask for their rank). With two laptops in one network, replace the address and do
# it live; a firewall is what usually stops it.
# </details>

# %% [markdown]
# This is a whole script, but for its imports and `torch_mlp`, which makes the net of lecture 03 a
# module. It trains twice: by our `data_parallel`, and by PyTorch's `DistributedDataParallel`
# (DDP). `kept` saves a trace on rank 0, which alone has all of it.

# %%
WITH_DDP = """
def with_ddp(comm):
    net = DistributedDataParallel(torch_mlp(model.initial()))
    optimizer = torch.optim.SGD(net.parameters(), lr=plan.learning_rate)
    for mine, weight in plan.shares(len(y), comm.rank, comm.size):
        optimizer.zero_grad()
        loss = cross_entropy(net(torch.tensor(X[mine])), torch.tensor(y[mine]))
        comm.note("loss_partial", float(loss) * weight)
        loss.backward()
        optimizer.step()
"""

# %% name="rosetta"
SCRIPT = (
    lecture_12.IMPORTS
    + WITH_DDP
    + """
kept("ours", run(data_parallel, model, X, y, plan, backend="torch"))
kept("DDP", run(with_ddp, backend="torch"))
"""
)

# %% [markdown]
# Two "hosts" that are this computer: two launchers, each with a rank of its own, which talk over
# TCP as two machines would. On the first of two machines one would type
#
# ```sh
# torchrun --nnodes=2 --nproc-per-node=1 --node-rank=0 \
#   --master-addr=HOST0 --master-port=29500 script.py
# ```
#
# and on the second one the same with `--node-rank=1`.

# %%
on_both = on_two_hosts(SCRIPT, ["ours", "DDP"])
race(on_both, reference="DDP", title="Two hosts: our data parallelism, and PyTorch's")

# %% [markdown]
# One curve covers the other: the losses are the same in all 44 steps, to rounding. DDP sends its
# gradients in buckets, a large net's while it still computes (lecture 06); this one fits into a
# single bucket. Ours sends them at the end, in a ring. *What* is added up is the same.

# %% tags=["how-we-know"]
# How we know: the losses of both ranks, step by step; another step size would be seen
losses = {name: np.array([sorted((note.rank, k, note.value) for k, note in enumerate(
          trace.notes_named("loss_partial")))]).reshape(2, 44, 3)[:, :, 2]
          for name, trace in on_both.items()}  # fmt: skip
assert np.abs(losses["ours"] - losses["DDP"]).max() < 1e-12
assert np.abs(np.diff(losses["ours"].sum(axis=0))).max() > 1e-3
assert on_both["ours"].n_messages > 44
assert on_both["DDP"].n_messages == 0, "DDP's messages are gloo's own"

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What crosses between hosts
#
# Now two hosts with two ranks each: `--nproc-per-node=2`. Inside a host messages are fast; between
# the hosts lies one link, of 100 Mbit/s here, which its ranks share. Four ranks add up a vector of
# n bytes by a ring, in the order of their numbers: 0 → 1 → 2 → 3 → 0. How many bytes go from host 0
# to host 1?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: what crosses, 3 minutes</summary>
#
# Only rank 1 sends across. In each of 2 (P - 1) = 6 steps it sends a quarter. Then ask what would
# happen if ranks were numbered 0, 2 on one host and 1, 3 on the other: every message crosses, twice
# as many, 3 n each way. Launchers number the ranks of a host one after the other, unless told else.
# </details>

# %%
guess_ring = predict("From host 0 to host 1, in a ring of four ranks", "times n bytes")
guess_ring

# %%
guess_ring.compare(lecture_12.crossing_bytes("ring", 0))

# %% [markdown]
# Rank 1 sends a quarter six times. Watch the link between the boxes, with each of four ways:


# %%
def four_ranks(way):
    """Two hosts with two ranks each add up a vector; returns a player."""
    return between_hosts(way).player("hosts", hosts=[range(2), range(2, 4)], moments=1)


explore(four_ranks, way=knob(list(lecture_12.WAYS), start="ring"))

# %%
lecture_12.crossing_table()

# %% [markdown]
# The server on rank 0 has two workers behind the link, so everything crosses twice, each way; the
# tree is laid so that it does no better: its edges 0–2 and 1–3 both cross. *Hierarchical* adds up
# inside each host first: once. Less is not possible: each host has something to say that the other
# one does not know.
#
# So far this is the simulator. `make cluster` makes hosts out of one Linux computer: they talk real
# TCP, over NICs that the kernel holds to 100 Mbit/s. This is what a recorded run of it has
# measured, with 4 MB:

# %%
lecture_12.measured_table()

# %% [markdown]
# The order is the same. What left a host is a little more than n says: TCP's headers, and
# acknowledgements of what came. (The simulator was given the rate that the headers leave, the
# latency that was measured, and what a message inside a host takes.)

# %% tags=["how-we-know"]
# How we know: both directions; the order of the times is that of the bytes
crossed = {way: lecture_12.crossing_bytes(way, 0) for way in lecture_12.WAYS}
assert crossed == {"server": 2, "tree": 2, "ring": 1.5, "hierarchical": 1}
assert crossed == {way: lecture_12.crossing_bytes(way, 1) for way in lecture_12.WAYS}
sent = between_hosts("ring").trace.messages
assert len(sent) == 2 * sum(m.src // 2 != m.dst // 2 for m in sent)
assert all(m.src % 2 != m.dst % 2 for m in sent), "with 0, 2 on one host all of them cross"
took = {row[0]: float(row[3]) for row in lecture_12.crossing_table().rows}
assert took["hierarchical"] < took["ring"] < took["tree"] == took["server"]
assert lecture_12.measured()["rate_mbit"] == 100
for one in lecture_12.measured()["allreduces"]:
    if (one["each"], one["n_bytes"]) == (2, 4_000_000):
        assert 1.04 < one["sent_bytes"] / (crossed[one["way"]] * one["n_bytes"]) < 1.08
        assert np.isclose(np.median(one["seconds"]), one["predicted_s"], rtol=0.1)
        took[one["way"]] = np.median(one["seconds"])
assert took["hierarchical"] < 0.7 * took["ring"] < 0.7 * 0.7 * min(took["tree"], took["server"])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same commands for a cluster
#
# The script stays as it is. What changes is who starts it.
#
# | where | command | here |
# |---|---|---|
# | several machines | `torchrun --nnodes 4 --nproc-per-node 8 …`, on each | tested on one |
# | MPI | `mpiexec -n 4 python script.py`, `backend="mpi"` | tested with MPICH, on one |
# | one machine with GPUs | `torchrun --standalone --nproc-per-node 8 script.py` | one GPU: tested |
# | Slurm | `srun --nodes 4 --ntasks-per-node 1 torchrun …` | untested |
# | Kubernetes | a `TrainJob` | untested |

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: commands, 2 minutes</summary>
#
# If your institute has a cluster, show its own job script here. Say that a learner needs no cluster
# for this course: the table is for the day when there is one.
# </details>

# %% [markdown]
# **GPUs and NCCL.** `comm.device` is a rank's GPU, and `on_device(model, comm.device)` a model
# whose parameters begin there: data parallelism, servers and ZeRO then compute where they are, and
# no line of a scheme changes. Two ranks that share a GPU talk through memory, by gloo; on an H200
# that gave the losses of the CPU. Where each rank has a GPU of its own (untested), what lies on it
# goes by NCCL, NVIDIA's library for collectives: it knows NVLink and the network between hosts, and
# chooses rings and trees by itself. `NCCL_DEBUG=INFO` prints what it has found.

# %% [markdown]
# **Slurm** (untested). Ask for machines, start one launcher on each:
#
# ```sh
# #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8 --cpus-per-task=64
# HOST0=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
# srun --cpus-per-task=64 torchrun --nnodes 4 --nproc-per-node 8 --rdzv-id $SLURM_JOB_ID \
#   --rdzv-backend c10d --rdzv-endpoint $HOST0:29500 script.py
# ```
#
# `srun` starts the line once on each machine; the launchers meet at the first one. Cores are asked
# for twice: a launcher and its eight ranks may else have to share one, and since version 22.05
# `srun` does not take their number from the job. When the time is up, Slurm ends the job: then the
# next section is what you need.

# %% [markdown]
# **Kubernetes** (untested). With Kubeflow a job is a `TrainJob` (a `PyTorchJob` with version 1 of
# its operator): a description of an image and of how many nodes. The operator starts one container
# each, and sets the variables that `torchrun` reads; `kubectl apply -f job.yaml` begins it,
# `kubectl logs` shows what a rank prints. A container's disk is gone with it: a checkpoint belongs
# on a volume that outlives it.

# %%
claim("2.15")

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Failures, and GPUs
#
# ## How long until the first one fails
#
# On 16,384 GPUs 54 days of training were interrupted 419 times, unexpectedly (Llama 3, 2024): by
# the GPUs in three cases of five, else by network, host or software. Say of a GPU "it fails" for
# each of these: then one fails every 5.8 years, in the mean. Data parallelism waits for all. So how
# long do 16,384 train until one of them fails?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the first failure, 3 minutes</summary>
#
# 5.8 years are 51,000 hours; divided by 16,384. Many answer in years or months. Then ask what a
# class of 30 laptops would see, if they were as reliable: one failure in 420 afternoons of 4 hours.
# </details>

# %%
guess_hours = predict("16,384 GPUs: the first one fails after", "hours")
guess_hours

# %%
guess_hours.compare(round(lecture_12.until_first_s(16_384) / 3600, 1))

# %% [markdown]
# So a training of months is a training that goes on. What it goes on *from* is a checkpoint. Twelve
# steps of a second each, half a second to save; the host dies after 8.2 s, in the middle of a step,
# and is back at 9 s. It saves after every step, or every two, four or twelve:

# %%
timeline({f"save every {n}": saved_training(n) for n in (1, 2, 4, 12)},
         roles={0: "disk", 1: "host"}, title="The host dies after 8.2 seconds")  # fmt: skip

# %% [markdown]
# Saving often takes time: after every step 19.5 s in all, after every second one 16.5. Saving
# rarely loses time, for what was done since the last checkpoint is done again: 18 s, and 21.5.
# Where is the best place between? If a checkpoint takes s seconds, and one fails every M
# seconds, about every $\sqrt{2sM}$ seconds (Young 1974; s is much shorter than M, and a restart
# takes no time here). Move the sliders: how many GPUs, how long a checkpoint takes.

# %%
explore(lecture_12.interval_chart,
        gpus=knob([8, 64, 512, 4096, 16_384, 65_536], label="GPUs", start=16_384),
        save=knob([1, 10, 60, 600], label="to save", unit="s", start=60))  # fmt: skip

# %% tags=["how-we-know"]
# How we know: what is done again; Young's place is the least of the curve, or nearly
ends = {n: saved_training(n).end_s for n in (1, 2, 4, 12)}
assert [round(end, 1) for end in ends.values()] == [19.5, 16.5, 18.0, 21.5]
for n, again in ((1, 0), (2, 0), (4, 3), (12, 8)):
    steps = [span.label for span in saved_training(n).computes if span.label != "save"]
    assert len(steps) == 12 + again
assert 415 < lecture_12.until_first_s(30) / (4 * 3600) < 425, "afternoons of 30 laptops"
for gpus, save in ((8, 10), (4096, 60), (16_384, 60)):
    mean_s = lecture_12.until_first_s(gpus)
    young_s = lecture_12.best_interval_s(save, mean_s)
    least = min(
        lecture_12.lost_factor(x * young_s, save, mean_s) for x in np.geomspace(0.1, 10, 99)
    )
    assert lecture_12.lost_factor(young_s, save, mean_s) < 1 + 1.02 * (least - 1)
    assert lecture_12.lost_factor(4 * young_s, save, mean_s) > 1 + 1.5 * (least - 1)
lost = [100 * (lecture_12.lost_factor(lecture_12.best_interval_s(s, mean_s), s, mean_s) - 1)
        for s in (60, 15)]  # fmt: skip
assert np.allclose(lost, [11.1, 5.4], atol=0.05), "question 2"

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A host dies, for real
#
# Two launchers again, and the command line's training, which saves after each epoch:
#
# ```sh
# torchrun … -m course_lib train --epochs 40 --checkpoint kept
# ```
#
# In the middle we kill host 1: its launcher, its rank, everything, without a word. Then we start
# both again, with the same line and `--resume`. Which parameters do we get, compared with a
# training in which nobody died?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a host dies, 3 minutes</summary>
#
# Let the class list what a checkpoint must hold: parameters; what the optimizer keeps (velocity,
# Adam's two moments, its count of steps); which examples are next; generators of random numbers.
# For each: what would be seen if it were missing? Exercise 3 finds it.
# </details>

# %%
after = restarted()
{"epochs in the end": after.epochs, "the same parameters, to the bit": after.same_bits}

# %% [markdown]
# To the bit, although the sums of two machines were interrupted and begun again. A checkpoint holds
# more than parameters: the optimizer's state, and which examples come next. And it is written
# beside the old one, then put in its place at once, so that a death while saving leaves the old one
# whole. Host 0 did not hang: the connection broke, so it was told that rank 1 is lost, and ended.
# (A host whose power fails breaks none: the library also takes a long silence for a loss.)

# %% tags=["how-we-know"]
# How we know: it died on the way, and the parameters were others then; the survivor said who it was
assert 3 <= after.died_after < after.epochs == 40
assert after.had_moved
assert "rank 1" in after.said, after.said

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a GPU changes
#
# A device does so many flops a second, and its memory delivers so many bytes. Work with few *flops
# a byte* waits for memory, work with many is bound by arithmetic: the *roofline* (Williams and
# others 2009). A NIC gives a second roof: its bytes are the gradients sent.
#
# A dense layer, d = 4,096, 16 bits. In data parallelism a worker with b examples has $6bd^2$ flops
# in a step, and sends $d^2$ numbers nearly twice, $4d^2$ bytes: $\frac32 b$ flops a byte. A GPU
# replaces one that is ten times slower; the network stays. How many times the examples does each
# worker need, so that the network bounds it no more than before?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: what a GPU changes, 5 minutes</summary>
#
# Let the class find the ridge, where the slope meets the flat roof, and read its flops a byte: 295
# for an H100's memory, 79,000 for 100 Gbit/s. Then ask what may be done instead of a larger batch:
# fewer bytes (compression, local steps: 11), a faster network inside (NVLink). The roof takes all
# sending for hidden: the longer of two times. Without overlap a step takes their sum; with that of
# lecture 06 it takes at least the forward pass and all sending, which cannot begin before.
# </details>

# %%
guess_batch = predict("Ten times as fast, the same network: examples of a worker", "times as many")
guess_batch

# %%
guess_batch.compare(10)

# %%
explore(lecture_12.roofline_chart, device=knob(list(lecture_12.DEVICES), start="H100"),
        nic=knob(list(lecture_12.NICS), label="network", start="100 Gbit/s"),
        batch=knob([1, 16, 64, 256, 1024, 4096, 16_384, 65_536], label="examples",
                   start=1024))  # fmt: skip

# %% [markdown]
# Try: an H100 with 64 examples reaches a fifth of its peak at most, even alone: its *memory*
# delivers no more. With 1,024 nothing but its arithmetic would bound it, were it alone; over 100
# Gbit/s it reaches 2 % of its peak at most. The laptop on the same network is bound by arithmetic.
# (Of a roof nobody gets all, and the optimizer reads and writes the weights once more.) So many
# examples a worker needs until sending takes no longer than computing (the column NVLink is as an
# H100 has it):

# %%
lecture_12.ridge_table()

# %% [markdown]
# Read a column downwards: a faster device asks for a larger batch, or for a faster network. Over
# NVLink an H100 needs about fifteen hundred examples (an eighth fewer if eight of them add up: they
# send 7/4, not 2), and between machines tens of thousands. (In a language model each token is an
# example of the layer, so these are not unusual.)
#
# A roof takes all sending for hidden behind computing. The overlap of lecture 06 begins with the
# backward pass, after a third of the flops: with so many examples and 32 such layers a step is at
# 74 % of the roof, with half as many again at 98 %. One after the other, it is at half.

# %%
claim("4.13")

# %%
claim("2.3")

# %% tags=["how-we-know"]
# How we know: flops a byte of the layer; where the roofs meet; what the explorer's text says
d, b = 4096, 1024
in_memory, on_network = lecture_12.flops_a_byte(b)
assert np.isclose(on_network, 1.5 * b)
assert np.isclose(in_memory, 2 * b * d**2 / (2 * (d**2 + 2 * b * d)))
H100, nic = lecture_12.DEVICES["H100"], lecture_12.NICS["100 Gbit/s"]
assert 290 < H100.flops_per_s / H100.memory_bytes_per_s < 300
assert 79_000 < H100.flops_per_s / nic < 80_000
assert 0.2 < lecture_12.flops_a_byte(64)[0] / 295 < 0.22, "a fifth"
assert in_memory > 295
assert 0.015 < lecture_12.reached(on_network, H100.flops_per_s, nic) / H100.flops_per_s < 0.025
least = lecture_12.least_batch("H100", "100 Gbit/s")
computing_s, sending_s = 6 * least * d**2 / H100.flops_per_s, 4 * d**2 / nic
assert 1 <= computing_s / sending_s < 1.001, "at the ridge; their sum is twice as long"
layers = [LayerSize(f"layer {k}", n_parameters=d * d, flops=6 * d * d) for k in range(32)]
there = networks.Network("100 Gbit/s", 0.0, nic, flops_per_s=H100.flops_per_s)
for times, bucket_bytes, part in ((1, np.inf, 0.5), (1, 0, 0.74), (1.5, 0, 0.98)):
    each = round(times * 2 * least)  # lecture 06 sends four bytes a number: twice the examples
    step_s = lecture_06.step_s(layers, 1024, each, there, bucket_bytes)
    assert np.isclose(32 * 6 * each * d**2 / H100.flops_per_s / step_s, part, atol=0.005)
laptop = lecture_12.DEVICES["laptop CPU"]
assert lecture_12.reached(on_network, laptop.flops_per_s, nic) == laptop.flops_per_s
assert 1400 < lecture_12.least_batch("H100", "NVLink") < 1600
between = [lecture_12.least_batch("H100", f"{rate} Gbit/s") for rate in (100, 400)]
assert 10_000 < min(between) < max(between) < 60_000, "tens of thousands"
for examples, slow in ((96, 1e13), (8, 2e11)):
    parts = [lecture_12.reached(lecture_12.flops_a_byte(times * examples)[1], peak, nic) / peak
             for times, peak in ((1, slow), (9, 10 * slow), (10, 10 * slow))]  # fmt: skip
    assert parts[1] < 0.95 * parts[0] < parts[0] < 1, "nine times as many do not do"
    assert np.isclose(parts[2], parts[0]), "as far below its peak as before"

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The price sheet, and three questions
#
# What adding up n bytes costs on two hosts of two ranks, beside the switch of lecture 05:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the price sheet and questions, 2 minutes</summary>
#
# Cover the last column. Then the questions in pairs.
# </details>

# %%
table({
    "server on rank 0": {"busiest NIC, a switch": "3 n in, 3 n out", "between two hosts": "2 n"},
    "ring": {"busiest NIC, a switch": "1.5 n", "between two hosts": "1.5 n"},
    "hierarchical": {"busiest NIC, a switch": "2 n", "between two hosts": "1 n"},
})  # fmt: skip

# %% tags=["how-we-know"]
# How we know: what the busiest rank sends, and receives, in the runs above
for way, most in (("server", 3), ("ring", 1.5), ("hierarchical", 2)):
    trace = between_hosts(way).trace
    for ends in ([m.src for m in trace.messages], [m.dst for m in trace.messages]):
        moved = np.bincount(ends, [m.n_bytes for m in trace.messages])
        assert moved.max() == most * 65_536

# %% [markdown]
# **Question 1.** A script prints its loss in every step. On eight ranks you see each line eight
# times. What do you change, and what must you *not* put behind the same `if`?
#
# <details><summary>Answer</summary>
#
# `if comm.rank == 0:` around the print. Nothing that all ranks must enter may stand there: an
# all-reduce, a barrier, or the `run` itself; the others would wait for rank 0, or it for them,
# until an error ends the program: at the latest at the time limit, a minute for `run` and half an
# hour for gloo, unless you set another.
# </details>

# %% [markdown]
# **Question 2.** You save every 19 minutes, as the formula says. A new disk is four times as fast.
# How often do you save now, and what do you win?
#
# <details><summary>Answer</summary>
#
# Every 10 minutes: the square root of a quarter is a half. What is lost falls to about a half, too,
# with 16,384 GPUs from 11.1 % to 5.4 %.
# </details>

# %% [markdown]
# **Question 3.** With DDP a class measures 8 laptops on Wi-Fi, and finds them slower than one. The
# same script on 8 GPUs is 7.8 times as fast as on one, although these compute a thousand times as
# fast. How can that be?
#
# <details><summary>Answer</summary>
#
# Only the ratio counts: flops a byte of the step against flops a second over bytes a second. A
# thousand times the arithmetic with NVLink, which is tens of thousands of times the bytes of a
# shared Wi-Fi, is the better ratio.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Young 1974, *A first order approximation to the optimum checkpoint interval*. Daly 2006, *A higher
# order estimate of the optimum checkpoint interval for restart dumps*. Williams, Waterman and
# Patterson 2009, *Roofline: an insightful visual performance model for multicore architectures*.
# Grattafiori and others 2024,
# *The Llama 3 herd of models*. Li and others 2020, *PyTorch distributed: experiences on
# accelerating data parallel training*.
# </details>

# %% [markdown]
# ## What to remember
#
# - The same script, started once a rank by a launcher, is a training on many machines. Between
#   hosts count what crosses the link: hierarchical n, a ring 1.5 n of four ranks, a server 2 n.
# - On 16,384 GPUs something fails every three hours. Save about every $\sqrt{2sM}$ seconds, all
#   that the next step depends on.
# - A GPU shortens computing alone: flops a byte against flops a second over bytes a second say what
#   bounds it.
#
# Next: the [exercises](../exercises/12_beyond_one_machine.ipynb), then [lecture
# 13](13_graphs_and_planners.ipynb), in which a planner decides. Before: [lecture
# 11](11_sync_or_async.ipynb), to wait or not to wait.
