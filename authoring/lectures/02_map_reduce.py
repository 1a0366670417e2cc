# %% [markdown] slideshow={"slide_type": "slide"}
# # 02 · MapReduce: can four machines compute one gradient?
#
# After this you can
#
# - compute one gradient from rows that lie on four machines, and show that nothing was lost
# - predict the messages, the bytes and the time of a training step before you run it
# - recognise two shortcuts that look the same and are not: the mean of means, the averaged model
#
# Part 1 takes 22 minutes, part 2 takes 20. Needs: 4 processes, no GPU. You should have met `send`
# and `recv` in [lecture 00](00_start_here.ipynb) and gradient descent in [lecture
# 01](01_gradient_descent.ipynb). Then: the [exercises](../exercises/02_map_reduce.ipynb), and
# [lecture 03](03_data_parallelism.ipynb), where a network takes the place of the line.

# %%
import tempfile
from dataclasses import replace

import numpy as np

rng = np.random.default_rng(seed=2)

# %%
from course_lib import networks, run
from course_lib.collectives import allreduce_central, scatter
from course_lib.data.diabetes import load_diabetes
from course_lib.lectures import lecture_02
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import gradient_descent
from course_lib.schemes.map_reduce import combine
from course_lib.training import Plan
from course_lib.training.shards import split_evenly
from course_lib.viz import (
    chart,
    claim,
    explore,
    landscape,
    player,
    predict,
    source,
    table,
    timeline,
)
from course_lib.viz.charts.curves import loss_curve

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: timing, misconceptions</summary>
#
# Part 1: data and model 4 minutes, the two misprints 6, own rows 5, map, reduce and broadcast 7.
# Part 2: means of means 4, the jump 7, large models 2, the averaged models 5, questions 2. Ask for
# a show of hands before every prediction, and wait: the wrong answers carry the lecture.
#
# Common misconceptions: "each worker trains its own model" (no: one model, four sums); "averaging
# is always right" (only for equal shards); "the combiner is an extra machine" (here rank 0 also
# works); "a slice of an array is a copy" (it keeps the whole table alive).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · One gradient on four machines
#
# ## Whose word do we take?
#
# Nobody's. This lecture's scheme comes from two sources: *the notes*, anonymous lecture notes on
# distributed learning, and *the slides* of a lecture on distributed systems from 2019. Some of what
# they claim is right, some imprecise, some wrong. So we run it, and then give a verdict, in a box
# like those below. Their number is that of the claim in the appendix, where each has its
# experiment.
#
# ## 400 patients on one machine
#
# Each row of the data is one person with diabetes: ten measurements (age, body-mass index, blood
# pressure …) and one number, the *target*: how far the disease had come a year later. 442 people
# were measured; we train on 400 and keep 42 for testing.

# %%
data = load_diabetes()
X, y = data.X_train, data.y_train
model = LinearRegression(n_features=10)
eta = 0.1
X.shape, y.shape, model.n_parameters

# %% [markdown]
# The model predicts $h_\theta(x) = \theta_0 + \theta_1 x_1 + \dots + \theta_{10} x_{10}$. The loss
# is half the mean squared error, and one step of gradient descent with the learning rate $\eta$ is
#
# $$\theta_j := \theta_j - \eta\,\frac{1}{400}\sum_{i=1}^{400}
# \bigl(h_\theta(x^{(i)}) - y^{(i)}\bigr)\,x^{(i)}_j$$
#
# In the code all eleven parameters are one flat vector `w`. What PyTorch's `loss.backward()` leaves
# in the `.grad` of each parameter is one flat vector, too, and for a line it takes one product:


# %%
def loss(w):
    """Half the mean squared error over all 400 rows."""
    return model.loss(w, (X, y))


source(LinearRegression.gradient_sum)

# %%
alone = gradient_descent(X, y, Plan(learning_rate=eta, epochs=100))  # an epoch is one step
best = loss(model.optimum((X, y)))
losses = {"start, w = 0": loss(np.zeros(11)), "always the mean": y.var() / 2}
losses |= {"100 steps": loss(alone.w), "the best possible": best}
table({name: {"loss": round(value)} for name, value in losses.items()})

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Spot the bug: one character
#
# The notes print the update like this, as our text copy has it:
#
# $$\theta_j := \theta_j - \eta\,\frac{1}{400}\sum_{i=1}^{400}
# \bigl(h_\theta(x^{(i)} - y^{(i)})\,x^{(i)}_j$$
#
# Two parentheses open and one closes: a `)` is missing. It can stand in two places. Which one do
# you take? Try both, from several starts: all eleven parameters 0, or 1, or more.

# %%
readings = {
    "( h(x − y) ) · x": lambda w: model.predict(w, X - y[:, None]),
    "( h(x) − y ) · x": lambda w: model.predict(w, X) - y,
}


# %%
def train_with(reading, start):
    """Ten steps with one reading of the formula; the true loss before each."""
    w, losses = np.full(11, float(start)), []
    for step in range(11):
        losses.append((step, loss(w)))
        h = reading(w)
        w = w - eta * np.concatenate([[h.sum()], X.T @ h]) / 400
    marks = {"band": (best, best, "the best possible"), "said": f"at last {losses[-1][1]:,.0f}"}
    return chart({"loss": losses}, x_label="step", y_label="loss", y_range=(0, 30_000), **marks)


explore(train_with, reading=readings, start=[0, 1, 10, 100])

# %% tags=["how-we-know"]
# How we know: one reading never moves from 0 and runs away from 1; the other one descends
paths = {
    (name, start): train_with(reading, start).chart["lines"][0]["y"]
    for name, reading in readings.items()
    for start in (0, 1)
}
wrong, right = readings
assert len(set(paths[wrong, 0])) == 1
assert paths[wrong, 1][2] > 100 * paths[wrong, 1][0]
assert all(np.diff(paths[right, start]).max() < 0 for start in (0, 1))

# %%
claim("0.2")

# %% [markdown]
# Closed after $y^{(i)}$, the target is subtracted from the *input*. From 0 the model then answers 0
# whatever it is fed, the step is 0, and training stands still. From anywhere else no prediction is
# ever compared with a target, and the loss runs away. A training that stands still *and* one that
# explodes: look for the same bug behind both.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Spot the bug: a loss that loves zero
#
# The slides give the squared error as $L = \sum_i |\,y_i\, f(w, x_i)|^2$, again as our text copy
# has it. What is the smallest value that this loss can have, and which model has it? Decide, then
# let gradient descent find out: a model with two parameters, an intercept $w_0$ and a slope $w_1$
# for the body-mass index. Press play, then put the minus sign back.

# %% name="two-bowls"
bmi, line = X[:, [2]], LinearRegression(1)
formulas = {"| y f |²": (lambda f: y * f, 2e-5), "| y − f |²": (lambda f: y - f, 0.3)}


# %%
def descend(formula):
    """Twenty steps of gradient descent on one of the two losses, at a rate that fits it."""
    inside, rate = formula

    def surface(w0, w1):
        f = np.asarray(w0)[..., None] + np.multiply.outer(w1, bmi[:, 0])
        return np.mean(inside(f) ** 2, axis=-1) / 2

    path = lecture_02.descend(surface, (60, 90), rate, steps=20)
    return landscape({"gradient descent": path}, surface, x_range=(-30, 230), y_range=(-40, 120))


explore(descend, formula=formulas)

# %% tags=["how-we-know"]
# How we know: one ends at 0, where every patient gets the answer 0, the other at the best fit
ends = {name: descend(formula).landscape["walks"][0] for name, formula in formulas.items()}
fitted = line.optimum((bmi, y))
assert np.hypot(ends["| y f |²"]["x"][-1], ends["| y f |²"]["y"][-1]) < 1
assert np.allclose([ends["| y − f |²"][k][-1] for k in "xy"], fitted, atol=0.5)
assert ends["| y f |²"]["loss"][-1] < 1e-3 * ends["| y f |²"]["loss"][0]

# %% [markdown]
# As printed, the model that answers 0 for every patient is perfect, and training finds it. With the
# minus it finds the best line. Minus signs are what a conversion to text loses: on the slide the
# formula may be right (claim 4.1 in the [appendix](94_claims_of_source_4.ipynb)). In your own code
# the test is the same: a falling loss says that *something* is being minimised. Ask what its
# smallest value is, and who has it.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Each machine gets its own rows
#
# Now we distribute: four machines, 100 patients each. The whole table, targets first, lies in a
# file. How does a machine get its rows? Three ways. `scatter` cuts an array of rank 0 into one part
# for each rank and sends them.

# %%
disk = tempfile.TemporaryDirectory()
path = f"{disk.name}/patients.npy"
np.save(path, np.column_stack([y, X]))  # 400 rows of 11 numbers of 8 bytes: 35,200 bytes


# %%
def load_all(comm):
    """Every rank loads the table and takes a slice."""
    return np.load(path)[split_evenly(400, comm.size)[comm.rank]]


def deal(comm):
    """Rank 0 loads the table and scatters its rows."""
    return scatter(comm, np.load(path) if comm.rank == 0 else None)


def read_own(comm):
    """Every rank reads its own rows from the disk, and no others."""
    return np.array(np.load(path, mmap_mode="r")[split_evenly(400, comm.size)[comm.rank]])


# %% [markdown]
# All three give a rank the same 100 rows of 88 bytes. Before you run on: how many bytes does
# `deal` send? How many ranks hold the whole table at some time, in each of the three? And who still
# holds it *afterwards*?

# %%
guess_scatter = predict("How many bytes does the scatter send to three other machines?", "bytes")
guess_scatter

# %% name="own-rows"
dealt = run(deal, workers=4, backend="simulated").trace
guess_scatter.compare(dealt.n_bytes)

# %%
memory = {}
for load in (load_all, deal, read_own):
    kept, peak = np.array(run(lecture_02.held, load, workers=4).values).T
    sent = run(load, workers=4, backend="simulated").trace.n_bytes
    whole = {"held it at some time": (peak > 35_200).sum(), "hold it still": (kept > 35_200).sum()}
    memory[load.__name__] = {"bytes sent": sent, **whole}
table(memory, caption="The whole table: how many of four ranks")

# %% tags=["how-we-know"]
# How we know: memory is measured in the workers; and all three give the same rows
assert [row["bytes sent"] for row in memory.values()] == [0, 3 * 100 * 88, 0]
assert [row["held it at some time"] for row in memory.values()] == [4, 1, 0]
assert [row["hold it still"] for row in memory.values()] == [4, 0, 0]
same = [run(load, workers=4).values for load in (load_all, deal, read_own)]
assert all(np.array_equal(np.concatenate(rows), np.load(path)) for rows in same)

# %% [markdown]
# $3 \times 100 \times 88 = 26{,}400$ bytes, once. With `load_all` all four ranks hold the table
# *for ever*: a slice of a NumPy array is a view, and keeps the whole array alive. With `deal` one
# machine must be able to hold everything; with `read_own` none, and nothing is sent, but all must
# reach the file. Whichever way: from here on, every worker has its own rows and no others.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Map: four machines, four sums
#
# Each machine has the whole model, eleven numbers, and 100 rows. It computes its part of the sum,
# which the notes call $temp_j$:
#
# $$temp^1_j = \sum_{i=1}^{100} \bigl(h_\theta(x^{(i)}) - y^{(i)}\bigr)\,x^{(i)}_j
# \qquad\dots\qquad temp^4_j = \sum_{i=301}^{400} \dots$$


# %% name="map"
def partial_sum(comm):
    """This rank's part of the first gradient."""
    rows = deal(comm)
    return model.gradient_sum(model.initial(), (rows[:, 1:], rows[:, 0]))[1]


temps = run(partial_sum, workers=4).values
sums = {f"temp of rank {rank}": temp for rank, temp in enumerate(temps)}
sums |= {"their sum": sum(temps), "one machine": model.gradient_sum(np.zeros(11), (X, y))[1]}
table({name: {f"θ{j}": round(g[j]) for j in range(4)} for name, g in sums.items()})

# %% tags=["how-we-know"]
# How we know: shuffled rows, cut at random into 2 to 9 parts, 200 times
w, worst = model.optimum((X, y)) + 1, 0.0
whole = model.gradient_sum(w, (X, y))[1]
for _ in range(200):
    cuts = np.sort(rng.integers(0, 401, size=rng.integers(1, 9)))
    parts = np.split(rng.permutation(400), cuts)
    total = sum(model.gradient_sum(w, (X[rows], y[rows]))[1] for rows in parts)
    worst = max(worst, np.abs(total - whole).max() / np.abs(whole).max())
assert worst < 1e-12
assert np.allclose(sums["their sum"], sums["one machine"], rtol=1e-12)

# %%
claim("0.6")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Reduce, update, broadcast
#
# In the notes one more machine combines the gradients, calculates the new weights and updates the
# model on all machines. We let rank 0 be that *combiner*; it works on its own 100 rows as well.
# This is what every rank runs in every step:

# %%
source(combine)


# %%
def train(comm, steps):
    """Gradient descent by four machines, each with its own rows."""
    rows = deal(comm)
    own, w = (rows[:, 1:], rows[:, 0]), model.initial()
    for _ in range(steps):
        with comm.compute("map", flops=model.flops(own)):
            loss_sum, temp = model.gradient_sum(w, own)
        comm.note("loss_partial", loss_sum / 400)
        w = combine(comm, temp, w, eta / 400)
    return w


# %% [markdown]
# A vector holds 11 numbers of 8 bytes. Count the messages of one step with four workers, in your
# head. Then predict:

# %%
guess_bytes = predict("How many bytes does one step send, all messages together?", "bytes")
guess_bytes

# %% name="one-step"
one = run(train, 1, workers=4, backend="simulated").trace
guess_bytes.compare(one.n_bytes - dealt.n_bytes)

# %% [markdown]
# Three partial sums come in and three models go out: $2(P-1) = 6$ messages for $P = 4$ workers, of
# $n = 88$ bytes each, 528 together. Watch it: rank 0 deals out the rows, once. Then five steps of
# map, reduce, update, broadcast; the loss falls under the same clock.

# %%
five = run(train, 5, workers=4, backend="simulated").trace
player(
    five, layout="star", roles={0: "combiner"}, curves={"loss": loss_curve(five)},
    title="Scatter the rows; then five times map, reduce, update, broadcast",
)  # fmt: skip

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four real processes, 100 steps
#
# The same function, not a line changed, on real worker processes of this computer. Do they find the
# model of one process? To how many digits?

# %% name="four-processes"
real = run(train, 100, workers=4)
far = max(np.abs(w - alone.w).max() / np.abs(alone.w).max() for w in real.values)
{"messages": real.trace.n_messages, "equal to one process to 1e-12": bool(far < 1e-12)}

# %% tags=["how-we-know"]
# How we know: every rank; 1 to 8 workers, 3, 6 and 7 with unequal shards; and one row less is seen
assert len({w.tobytes() for w in real.values}) == 1
assert real.trace.n_messages == 3 + 100 * 6
assert real.trace.n_bytes == 26_400 + 100 * 528
for P in range(1, 9):
    for w in run(train, 100, workers=P, backend="simulated").values:
        assert np.abs(w - alone.w).max() / np.abs(alone.w).max() < 1e-12
short = gradient_descent(X[1:], y[1:], Plan(learning_rate=eta, epochs=100)).w
assert np.abs(short - alone.w).max() / np.abs(alone.w).max() > 1e-4

# %% [markdown]
# 603 messages later every rank holds the model that one process finds, to twelve digits. The last
# digits may differ: floating-point addition is not associative, $(a+b)+c$ can round differently
# from $a+(b+c)$, and four partial sums are another order of adding. It holds for 3, 6 and 7
# workers, too, whose shards cannot be equal. Why? Because *sums* travel. Part 2 begins with what
# happens otherwise.

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · Three ways to lose, and what a step costs
#
# ## What if each machine sends its mean?
#
# It looks tidier: every worker sends the *mean* gradient of its rows, and the combiner averages the
# four means. With 4 × 100 rows nobody sees a difference. (Lecture 00 took a mean of means and had
# to fix it: send sums, divide once at the end.) Now the shards are unequal, and the file is sorted
# by target, the mildest cases first, as files often are.

# %%
severe = f"{disk.name}/by_target.npy"
np.save(severe, np.load(path)[np.argsort(y, kind="stable")])


# %%
def read(comm, file, cuts):
    """A rank's own rows of a file: body-mass index and target, and no other rows."""
    rows = np.array(np.load(file, mmap_mode="r")[cuts[comm.rank] : cuts[comm.rank + 1]])
    return rows[:, [3]], rows[:, 0]


# %%
def fit_line(comm, file, cuts, send):
    """Fit w0 + w1 · body-mass index: 40 steps, each rank with its own rows of the file."""
    own, w = read(comm, file, cuts), line.initial()
    for _ in range(40):
        with comm.compute("map", flops=line.flops(own)):
            temp = line.gradient_sum(w, own)[1]
        weight = 1 / 400 if send == "sums" else 1 / len(own[1]) / comm.size
        w = combine(comm, temp * weight, w, 0.3)
        comm.note("w", w)
    return w


# %% [markdown]
# Rank 0 gets the first rows of the file, the three others share the rest. One dot is the training
# with sums, the other one with means. It begins with 10 rows on rank 0, the ten mildest cases.
# Predict before you drag: at which setting are the dots one, and where does the mean of means go if
# rank 0 has 310?

# %% name="mean-of-means"
view = {"start": (0, 0), "x_range": (-10, 230), "y_range": (-10, 75)}


def unequal(rows_of_rank_0):
    """Both trainings on four machines with these shards."""
    cuts = [0, *np.linspace(rows_of_rank_0, 400, 4).astype(int)]
    runs = {
        f"{send} sent": run(fit_line, severe, cuts, send, workers=4, backend="simulated")
        for send in ("sums", "means")
    }
    return landscape(runs, (line, bmi, y), **view)


explore(unequal, rows_of_rank_0=[10, 40, 70, 100, 130, 190, 250, 310, 370])

# %% tags=["how-we-know"]
# How we know: sums end at the best line wherever the cuts are; means only where they are equal
for rows_of_rank_0 in (10, 100, 310):
    walks = unequal(rows_of_rank_0).landscape["walks"]
    ends = {walk["name"]: np.array([walk["x"][-1], walk["y"][-1]]) for walk in walks}
    assert np.allclose(ends["sums sent"], fitted, atol=0.1)
    off = np.abs(ends["means sent"] - fitted).max()
    assert off < 0.1 if rows_of_rank_0 == 100 else off > 10

# %% [markdown]
# With 100 rows each they are one dot. With 10 rows of the mildest cases on rank 0, each of these
# counts $130 / 10 = 13$ times as much as a patient elsewhere, and the model becomes too optimistic
# for all. With 310 it is too pessimistic. Nothing crashes, the loss falls, every rank has the same
# model: it is another model. Send sums, and divide once. (Or send means *with* their numbers of
# rows.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What does a step cost?
#
# The *NIC* (network interface card) connects a machine to the network. It is full duplex: it can
# send while it receives. A message of $n$ bytes arrives after $\alpha + n\beta$: the *latency*
# $\alpha$, and $\beta$ for each byte. Our simulated network is ten-gigabit Ethernet, $\alpha =
# 20\,\mu s$, $\beta = 0.8\,ns$.
#
# All three partial sums leave at once, so they need one latency; but they share the combiner's NIC,
# one after another. The same on the way out:
#
# $$T = 2\alpha + 2(P-1)\,n\beta$$
#
# With 2,048 parameters, 16,384 bytes, and four workers that is $40 + 78.6 = 118.6\,\mu s$, and so
# it is simulated. How long does a step with *one parameter more* take?


# %%
def step(comm, n):
    """Reduce, update and broadcast n parameters."""
    return combine(comm, np.ones(n), np.zeros(n), eta)


guess_time = predict("2,048 parameters take 119 µs a step. How long do 2,049 take?", "µs")
guess_time

# %% name="the-jump"
at_limit, above = (run(step, n, workers=4, backend="simulated") for n in (2048, 2049))
guess_time.compare(round(1e6 * above.elapsed_s, 1))

# %% [markdown]
# Eight bytes more cost 40 µs more. Why? 16 KB is the *eager limit*. Up to there a message is sent
# by the *eager protocol*: it leaves at once, and the receiver keeps it until somebody asks. Larger
# ones would fill the receiver's memory. They go by the *rendezvous protocol*: the sender waits
# until the receive is *posted* (lecture 00's hidden deadlock was the same thing). MPI libraries and
# gloo do likewise, each with limits of its own. Now look at `combine`: which receives are posted
# when?
#
# Move the playhead over the timelines. In the third run the combiner posts all three receives
# before it waits for the first one:


# %%
def posted_first(comm, n):
    """The same step: the combiner posts all its receives, then waits."""
    if comm.rank != 0:
        return step(comm, n)
    coming = [comm.irecv(src, tag="temp") for src in range(1, comm.size)]  # returns at once
    w = -eta * (np.ones(n) + sum(one.wait() for one in coming))
    for dst in range(1, comm.size):
        comm.send(w, dst, tag="model")
    return w


# %%
posted = run(posted_first, 2049, workers=4, backend="simulated")
runs = {"2,048: eager": at_limit, "2,049: rendezvous": above, "2,049, posted first": posted}
timeline({name: made.trace for name, made in runs.items()})

# %% tags=["how-we-know"]
# How we know: both formulas to 0.5 µs, the repair, and equal results
for P in (2, 4, 8, 16):
    for n in (100, 2048, 2049, 10_000):
        made = run(step, n, workers=P, backend="simulated")
        assert abs(made.elapsed_s - lecture_02.step_s(8 * n, P) - 2 * n / 1e10) < 5e-7
assert 39e-6 < above.elapsed_s - at_limit.elapsed_s < 41e-6
assert abs(posted.elapsed_s - at_limit.elapsed_s) < 1e-6
assert all(np.allclose(a, b) for a, b in zip(posted.values, above.values, strict=True))

# %% [markdown]
# By rendezvous the combiner receives one sum, *then* posts the next receive. Three latencies in a
# row on the way in, one on the way out: $T = P\alpha + 2(P-1)\,n\beta$. On the way out all receives
# are posted already, so nothing queues but the bytes. With posted receives the latencies overlap
# again. (A real rendezvous also needs a message that asks and one that answers; our simulator does
# not charge them.) Drag the number of workers: what happens to the jump, and to the slope?

# %%
explore(lambda workers: lecture_02.step_chart(step, workers), workers=[4, 2, 8, 16, 32])

# %% tags=["how-we-know"]
# How we know: the jump is P − 2 latencies
for P in (2, 4, 16):
    at_limit, above = (run(step, n, workers=P, backend="simulated") for n in (2048, 2049))
    assert abs(above.elapsed_s - at_limit.elapsed_s - (P - 2) * 20e-6) < 1e-6

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When the model is large
#
# The notes name two problems: the complete model must fit on every machine, and a large one takes
# long to be updated everywhere. From a hundred parameters to a million, with four workers:

# %%
network, lengths = networks.ethernet_10g, [10**k for k in range(2, 7)]
rows = {}
for n in lengths:
    latencies = 2 if 8 * n <= 16_384 else 4
    time_s = run(step, n, workers=4, backend="simulated").elapsed_s
    rows[f"{n:,}"] = {"bytes": 8 * n, "time": time_s, "latency": latencies * 20e-6 / time_s}
table(rows, units={"time": "s", "latency": "%"})

# %% tags=["how-we-know"]
# How we know: what the text says about the table, and a billion parameters
assert [f"{row['latency']:.0%}" for row in rows.values()] == ["91%", "51%", "17%", "2%", "0%"]
times_s = np.array([row["time"] for row in rows.values()])
assert times_s[4] / times_s[3] > 9.5
assert 38 < lecture_02.step_s(8 * 10**9, 4) < 39
trace = run(step, 100, workers=16, backend="simulated").trace
carried = np.add(trace.bytes_sent(), trace.bytes_received())
assert carried[0] == 15 * carried[1]

# %% [markdown]
# With a hundred parameters the step is *latency-bound*: 91 % of it is two latencies. With ten
# thousand it is four latencies, and 17 %. From then on it is *bandwidth-bound*: ten times the size,
# ten times the time. A billion parameters would spend 38 seconds a step on the wire. All of it
# passes the combiner's NIC, $2(P-1)\,n$ bytes a step, $P-1$ times what any other NIC carries. Such
# a machine got a name: the *parameter server* (lecture 04). Lecture 05 does without.

# %%
claim("0.8")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The tempting shortcut
#
# The slides go another way: process 0 finds the minimum on the first half of the data, $w_1$;
# process 1 on the second half, $w_2$; then the question is how to combine the two. Average them,
# and one exchange replaces all others. Is the average the best model of all rows? Think of two
# cases: shards that look alike (a shuffled file), shards that do not (sorted by target).


# %%
def models_once(comm, file, cuts):
    """Every rank trains alone on its own rows; at the end the models are averaged."""
    own, w = read(comm, file, cuts), line.initial()
    for _ in range(40):
        with comm.compute("step", flops=line.flops(own)):
            w = w - 0.3 * line.gradient(w, own)[1]
        comm.note("w", w)
    w = allreduce_central(comm, w) / comm.size
    comm.note("w", w)
    return w


# %% name="one-shot"
slow = replace(networks.ethernet_10g, flops_per_s=2e7)  # so that computing can be seen, too


def shortcut(machines, file):
    """Gradients in every step, and models once, on the same shards."""
    cuts = np.linspace(0, 400, machines + 1).astype(int)
    how = {"workers": machines, "backend": "simulated", "network": slow}
    every = run(fit_line, file, cuts, "sums", **how)
    once = run(models_once, file, cuts, **how)
    return landscape({"gradients, every step": every, "models, once": once}, (line, bmi, y), **wide)


wide = view | {"x_range": (-20, 320), "y_range": (-20, 100)}
explore(shortcut, machines=[4, 2, 8, 20], file={"shuffled": path, "sorted by target": severe})

# %% tags=["how-we-know"]
# How we know: gradients always find the best line; the average does where shards look alike
for machines in (2, 4, 20):
    for file, most in ((path, 0.001), (severe, 10)):
        walks = shortcut(machines, file).landscape["walks"]
        of = {walk["name"]: walk["loss"][-1] / line.loss(fitted, (bmi, y)) - 1 for walk in walks}
        assert of["gradients, every step"] < 1e-4
        assert of["models, once"] < most
        assert file == path or of["models, once"] > 0.2

# %% [markdown]
# Shuffled, the dots wander apart, and their mean lands on the best line. Sorted, each machine sees
# patients who are all about equally ill, finds that the body-mass index hardly matters, and the
# mean of four such models says so, too. And it was there long before the other one: one exchange in
# place of 40. Now the whole model, eleven parameters, on the shuffled file. The more machines, the
# fewer rows each has:


# %%
def average_of_optima(comm):
    """Every rank solves for its own rows' best model; the mean of these."""
    rows = deal(comm)
    w = model.optimum((rows[:, 1:], rows[:, 0]))
    return allreduce_central(comm, w) / comm.size


# %% name="thirty-six-parts"
above_best = {}
for P in (2, 4, 10, 20, 36):
    w = run(average_of_optima, workers=P, backend="simulated").values[0]
    above = round(100 * (loss(w) / best - 1), 1)
    above_best[P] = {"rows each": 400 // P, "loss": round(loss(w)), "% above the best": above}
table(above_best, told=[(4, "% above the best")])

# %% tags=["how-we-know"]
# How we know: the numbers in the text; and where the average *is* the optimum
above = [row["% above the best"] for row in above_best.values()]
assert above == sorted(above)
assert above[0] == 0.3
assert round(above[-1]) == 1334
exact = model.predict(alone.w, X)  # all points on one plane
parts = [model.optimum((X[part], exact[part])) for part in np.split(np.arange(400), 4)]
assert np.allclose(np.mean(parts, axis=0), alone.w)

# %%
claim("4.2")

# %% [markdown]
# Each shard solves $A_k w_k = b_k$, where $A_k$ sums the products of its features. Where all $A_k$
# are equal, the mean of the solutions solves the whole problem; so it does where one plane goes
# through all points. In general it does not. With 11 rows for 11 parameters each part fits its own
# noise: 1,334 % above the best. Training *from there on*, with averages again and again, is another
# story, and a good one (lecture 03).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Eight workers, a model of 1,000 numbers of 8 bytes. How many messages and bytes
# does one step take, how many of the bytes pass through the combiner, and how many latencies does
# the step pay? How many with a model of 10,000 numbers?
#
# <details><summary>Answer</summary>
#
# 2 × 7 = 14 messages of 8,000 bytes: 112,000 bytes. All of them pass through the combiner, half in
# and half out. Two latencies. 80,000 bytes are above the eager limit: eight latencies, unless the
# combiner posts its receives first.
# </details>

# %% [markdown]
# **Question 2.** A colleague's workers send mean gradients, and her results equal ours to the last
# digits. What do you know about her data? What will happen when one more row arrives?
#
# <details><summary>Answer</summary>
#
# Her shards are of equal size. With one more row they are not, and each row of the larger shard
# counts a little less than the others: a small error that no crash will ever report.
# </details>

# %% [markdown]
# **Question 3.** With 400 workers, one row each: which of the two schemes still finds the right
# model, MapReduce or the average of models?
#
# <details><summary>Answer</summary>
#
# MapReduce: its sums do not care about the size of a shard. A single row does not determine eleven
# parameters, so there is no best model of a shard to average.
# </details>

# %% [markdown]
# ## What to remember
#
# - A gradient is a sum over rows. Four machines with 100 rows each compute four sums, and the sum
#   of these is one machine's, to twelve digits. Means of unequal shards are not, nor are averaged
#   models.
# - A step sends $2(P-1)$ messages, all through one NIC: $2\alpha + 2(P-1)\,n\beta$ while they are
#   eager. Above the eager limit every receive that is posted late costs a latency of its own.
# - Distribute the data once: scatter it, or let each rank read its own rows. A slice keeps the
#   whole table alive.
#
# Next: the [exercises](../exercises/02_map_reduce.ipynb), then
# [lecture 03](03_data_parallelism.ipynb). Before: [lecture 01](01_gradient_descent.ipynb).
