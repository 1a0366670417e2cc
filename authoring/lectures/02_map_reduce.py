# %% [markdown] slideshow={"slide_type": "slide"}
# # 02 · MapReduce: can four machines compute one gradient?
#
# After this you can
#
# - compute one gradient from rows that lie on four machines, and show that nothing was lost
# - predict the messages, the bytes and the time of a training step before you run it
# - recognise two shortcuts that look the same and are not: the mean of means, the averaged model
#
# Part 1 takes 24 minutes, part 2 takes 23. Needs: 4 processes, no GPU. You should have met `send`
# and `recv` in [lecture 00](00_start_here.ipynb) and gradient descent in [lecture
# 01](01_gradient_descent.ipynb). Then: the [exercises](../exercises/02_map_reduce.ipynb), and
# [lecture 03](03_data_parallelism.ipynb), where a network takes the place of the line.

# %% tags=["set-up"]
# Set-up
import tempfile
from dataclasses import replace

import numpy as np

from course_lib import networks, run
from course_lib.collectives import allreduce_central, scatter
from course_lib.data.diabetes import load_diabetes
from course_lib.lectures import lecture_02
from course_lib.lectures.price_sheet import prices_so_far
from course_lib.models.linear_regression import LinearRegression
from course_lib.schemes import gradient_descent
from course_lib.schemes.map_reduce import combine
from course_lib.training import Plan
from course_lib.training.shards import split_evenly
from course_lib.viz import (
    chart,
    claim,
    explore,
    knob,
    landscape,
    player,
    source,
    table,
    timeline,
)
from course_lib.viz.charts.curves import loss_curve
from course_lib.viz.prediction import predict

rng = np.random.default_rng(seed=2)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture</summary>
#
# Run all cells before class; it takes less than a minute. Part 1 is 24 minutes, part 2 is 23. If
# you have 40 in all, leave out "A loss that loves zero", "When the model is large" and the 30
# shuffles.
#
# Ask for a show of hands before every prediction, and wait: the wrong answers carry the lecture.
# Common misconceptions: "each worker trains its own model" (no: one model, four sums); "averaging
# is always right" (for equal shards); "the combiner is an extra machine" (here rank 0 also works).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · One gradient on four machines
#
# ## Whose word do we take?
#
# Nobody's. This lecture's scheme comes from two sources: *the notes*, anonymous lecture notes on
# distributed learning, and *the slides* of a lecture on distributed systems from 2019. Some of what
# they claim is right, some imprecise, some wrong. We run it, and then give a verdict, in boxes
# headed *Claim*. All claims of a source are in the appendix, each with its experiment.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## 400 patients on one machine
#
# Each row of the data is one person with diabetes: ten measurements (age, body-mass index, blood
# pressure …) and one number, the *target*: how far the disease had come a year later. 442 people
# were measured; we train on 400 and keep 42 for testing. Each column of measurements has been
# scaled to mean 0 and standard deviation 1.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 400 patients, 3 minutes</summary>
#
# Say what a row is and what the target is, then the formula; do not explain the code. Students ask
# for the units: squared units of the target, halved. The notes call this gradient
# "back-propagation" (claim 0.4); with no hidden layer there is nothing to propagate through.
# </details>

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
# In the code all eleven parameters are one flat vector `w`. Its gradient, which `loss.backward()`
# would leave in `.grad`, is one flat vector, too. For linear regression one product computes it:


# %%
def loss(w):
    """Half the mean squared error over all 400 rows."""
    return model.loss(w, (X, y))


source(LinearRegression.gradient_sum)

# %%
one_machine = gradient_descent(X, y, Plan(learning_rate=eta, epochs=100))  # 100 steps
best = loss(model.optimum((X, y)))
losses = {"start, w = 0": loss(np.zeros(11)), "always the mean": y.var() / 2}
losses |= {"100 steps": loss(one_machine.w), "the best possible": best}
table({name: {"loss": round(value)} for name, value in losses.items()})

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Spot the bug: one character
#
# 100 steps come within 5 of the smallest loss that there is. The notes print the update like this,
# as our text copy has it:
#
# $$\theta_j := \theta_j - \eta\,\frac{1}{400}\sum_{i=1}^{400}
# \bigl(h_\theta(x^{(i)} - y^{(i)})\,x^{(i)}_j$$
#
# Two parentheses open and one closes: a `)` is missing. It can stand behind $y^{(i)}$ or behind
# $x^{(i)}$. What does each reading do if all eleven parameters begin at 0? At 1? Decide, then try.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: one character, 4 minutes</summary>
#
# Vote before you click: "stands still", "descends slowly", "explodes". Most say that it descends,
# slowly. Click the first reading at start 0, then move the slider to 1, then the second reading.
# The answer: from 0 the model predicts 0 for any input, so nothing moves.
# </details>

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
        losses.append((step, loss(w) / 1000))
        h = reading(w)
        w = w - eta * np.concatenate([[h.sum()], X.T @ h]) / 400
    best_band = (best / 1000 - 0.1, best / 1000 + 0.1, "the best possible")
    labels = {"x_label": "step", "y_label": "loss, in thousands"}
    return chart({"loss": losses}, **labels, y_range=(0, 30), band=best_band)


explore(train_with, reading=readings, start=[0, 1, 10, 100])

# %% tags=["how-we-know"]
# How we know: one reading never moves from 0 and runs away from elsewhere; the other one descends
as_printed, repaired = readings.values()
assert len(set(train_with(as_printed, 0).chart["lines"][0]["y"])) == 1
for start in (1, 10, 100, -1):
    curve = train_with(as_printed, start).chart["lines"][0]["y"]
    assert curve[-1] > 1e6 * curve[0]
for start in (0, 1, 10, 100, -1):
    assert np.diff(train_with(repaired, start).chart["lines"][0]["y"]).max() < 0
assert 0 < loss(one_machine.w) - best < 5

# %%
claim("0.2")

# %% [markdown]
# Closed after $y^{(i)}$, the target is subtracted from the *input*. From 0 the model then answers 0
# whatever it is fed, the step is 0, and training stands still. From the other starts the loss runs
# away: no prediction is ever compared with a target. One bug, and two symptoms that do not look
# alike.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Spot the bug: a loss that loves zero
#
# The slides give the squared error as $L = \sum_i |\,y_i\, f(w, x_i)|^2$, again as our text copy
# has it. What is the smallest value that this loss can have, and which model has it? Decide, then
# let gradient descent find out. The model has two parameters, an intercept $w_0$ and a slope $w_1$
# for the body-mass index. Press play; then choose the other formula, which has the minus sign back.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a loss that loves zero, 3 minutes</summary>
#
# Let them name the smallest value (0) and its owner (the model that is 0) before you press play.
# Somebody will say that the formula is a copying error: probably, and that is the point of the last
# sentence.
# </details>

# %% name="two-bowls"
body_mass, line = X[:, [2]], LinearRegression(1)
formulas = {"| y f |²": (lambda f: y * f, 1e-5), "| y − f |²": (lambda f: y - f, 0.3)}


# %%
def descend(formula):
    """Thirty steps of gradient descent on one of the two losses, at a rate that fits it."""
    inside, rate = formula

    def surface(w0, w1):
        f = np.asarray(w0)[..., None] + np.multiply.outer(w1, body_mass[:, 0])
        return np.mean(inside(f) ** 2, axis=-1) / 2

    path = lecture_02.descend(surface, (60, 90), rate, steps=30)
    return landscape({"gradient descent": path}, surface, x_range=(-30, 230), y_range=(-40, 120))


explore(descend, formula=formulas)

# %% tags=["how-we-know"]
# How we know: one ends at 0, where every patient gets the answer 0, the other at the best fit
ends = {name: descend(formula).landscape["walks"][0] for name, formula in formulas.items()}
fitted = line.optimum((body_mass, y))
assert np.hypot(ends["| y f |²"]["x"][-1], ends["| y f |²"]["y"][-1]) < 1
assert np.allclose([ends["| y − f |²"][k][-1] for k in "xy"], fitted, atol=0.5)
assert ends["| y f |²"]["loss"][-1] < 1e-3 * ends["| y f |²"]["loss"][0]

# %% [markdown]
# As printed, the model that answers 0 for every patient is perfect, and training finds it. With the
# minus it finds the best line. Minus signs are what a conversion to text loses: on the slide the
# formula may be right (claim 4.1 in the [appendix](94_claims_of_source_4.ipynb)). A falling loss
# says that *something* is being minimised. Ask which model would have the smallest one.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Each machine gets its own rows
#
# Now we distribute: four machines, 100 patients each. The whole table, targets first, lies in a
# file. Here are three ways for a rank to get its rows, `split_evenly(400, 4)[rank]`. `scatter` cuts
# an array of rank 0 into one part for each rank and sends them.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: own rows, 5 minutes</summary>
#
# Ask "who has loaded a data set in every worker?": nearly all have. The common answer to the
# prediction is 0, because "each took a slice". Draw the view: a slice is an arrow into the table.
# If `scatter` is new, draw three arrows.
# </details>

# %%
disk = tempfile.TemporaryDirectory()
path = f"{disk.name}/patients.npy"
np.save(path, np.column_stack([y, X]))  # 400 rows of 11 numbers of 8 bytes: 35,200 bytes


# %%
def load_all(comm):
    """Every rank loads the table and takes a slice."""
    return np.load(path)[split_evenly(400, comm.size)[comm.rank]]


def deal_rows(comm):
    """Rank 0 loads the table and scatters its rows."""
    return scatter(comm, np.load(path) if comm.rank == 0 else None)


def read_own(comm):
    """Every rank reads its own rows from the disk, and no others."""
    return np.array(np.load(path, mmap_mode="r")[split_evenly(400, comm.size)[comm.rank]])


# %% [markdown]
# All three give a rank the same 100 rows. The table has $400 \times 88 = 35{,}200$ bytes. Each rank
# has taken its slice, and `load_all` has returned. Predict:

# %%
guess_holders = predict("How many of four ranks still have all 400 rows in memory?", "ranks")
guess_holders

# %% name="own-rows"
holders = {
    load.__name__: lecture_02.who_holds(load, 35_200) for load in (load_all, deal_rows, read_own)
}
guess_holders.compare(holders["load_all"]["ranks that hold all afterwards"])

# %%
table(holders)

# %% tags=["how-we-know"]
# How we know: memory is measured in the workers; and all three give the same rows
counted = np.array([list(row.values()) for row in holders.values()])
assert counted.tolist() == [[0, 4, 4], [3 * 100 * 88, 1, 0], [0, 0, 0]]
same = [run(load, workers=4).values for load in (load_all, deal_rows, read_own)]
assert all(np.array_equal(np.concatenate(rows), np.load(path)) for rows in same)

# %% [markdown]
# All four: a slice of a NumPy array is a *view*, and keeps the whole array alive for as long as
# somebody has the slice. With `deal_rows` one machine must be able to hold everything, once:
# `scatter` gives rank 0 a copy of its part, too, so that the table can go. $3 \times 100 \times 88
# = 26{,}400$ bytes are sent. With `read_own` nobody ever holds
# everything and nothing is sent, but all must reach the file (`mmap_mode` reads from the disk only
# what is indexed, and `np.array` copies it). From here on every worker has its own rows, its
# *shard*, and no others.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Map: four machines, four sums
#
# *MapReduce* (Dean and Ghemawat 2004) has two steps: *map* turns each machine's own rows into
# something small, *reduce* combines what all of them found. Here each machine has the whole model,
# eleven numbers, and 100 rows. Its map is its part of the sum, which the notes call $temp_j$:
#
# $$temp^1_j = \sum_{i=1}^{100} \bigl(h_\theta(x^{(i)}) - y^{(i)}\bigr)\,x^{(i)}_j
# \qquad\dots\qquad temp^4_j = \sum_{i=301}^{400} \dots$$
#
# (The notes count from 1: $temp^1_j$ is what rank 0 has.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: map, 3 minutes</summary>
#
# Point at the last two rows of the table, nothing else. Question from the class: does it matter who
# gets which rows? No; the collapsed cell cuts shuffled rows at random 200 times.
# </details>


# %% name="map"
def partial_sum(comm):
    """This rank's part of the first gradient."""
    rows = deal_rows(comm)
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
# model on all machines. We let rank 0 be that *combiner*; it works on its own 100 rows as well. (In
# MapReduce's own words it is the *reducer*.) This is what every rank runs in every step.
# `recv(..., out=total, op="sum")` adds what comes to `total`; `tag` is a label; `comm.compute` puts
# the work on the timeline, and `flops`, its arithmetic operations, are its price on the simulator's
# clock. `comm.note` writes a number down for the picture and sends nothing.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: reduce, update, broadcast, 4 minutes</summary>
#
# Let somebody act it: three people walk to the combiner with a number each, one adds, three walk
# back. Then predict, then play. In the player point out that all sums leave at once and arrive one
# after another. Wrong answers: 352 (four vectors), 704 (rank 0 counted, too).
# </details>

# %%
source(combine)


# %%
def train(comm, steps):
    """Gradient descent by four machines, each with its own rows."""
    rows = deal_rows(comm)
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
one, two = (run(train, k, workers=4, backend="simulated").trace for k in (1, 2))
guess_bytes.compare(two.n_bytes - one.n_bytes)

# %% [markdown]
# Three partial sums come in and three models go out: $2(P-1) = 6$ messages for $P = 4$ workers, of
# $n = 88$ bytes each, 528 together. Watch it: rank 0 deals out the rows, once. Then five steps of
# map, reduce, update, broadcast; the loss falls under the same clock. (The simulated machines are
# old and slow here, so that one can see them compute.)

# %%
slow_machines = replace(networks.ethernet_10g, flops_per_s=2e8)
five = run(train, 5, workers=4, backend="simulated", network=slow_machines).trace
player(
    five, layout="star", roles={0: "combiner"}, curves={"loss": loss_curve(five)},
    title="Scatter the rows; then five times map, reduce, update, broadcast",
)  # fmt: skip

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four real processes, 100 steps
#
# The same function, not a line changed, now on real worker processes of this computer:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: real processes, 2 minutes</summary>
#
# It runs in a blink. What matters: not a line of `train` has changed. Ask why not all 16 digits
# agree.
# </details>

# %% name="four-processes"
real = run(train, 100, workers=4)
difference = max(np.abs(w - one_machine.w).max() / np.abs(one_machine.w).max() for w in real.values)
{"messages": real.trace.n_messages, "equal to one process to 1e-12": bool(difference < 1e-12)}

# %% tags=["how-we-know"]
# How we know: every rank; 1 to 8 workers, 3, 6 and 7 with unequal shards; and one row less is seen
assert len({w.tobytes() for w in real.values}) == 1
assert real.trace.n_messages == 3 + 100 * 6
assert real.trace.n_bytes == 26_400 + 100 * 528
for P in range(1, 9):
    for w in run(train, 100, workers=P, backend="simulated").values:
        assert np.abs(w - one_machine.w).max() / np.abs(one_machine.w).max() < 1e-12
one_row_less = gradient_descent(X[1:], y[1:], Plan(learning_rate=eta, epochs=100)).w
assert np.abs(one_row_less - one_machine.w).max() / np.abs(one_machine.w).max() > 1e-4

# %% [markdown]
# 603 messages later every rank holds the model that one process finds, to twelve digits. The last
# digits may differ: floating-point addition is not associative, $(a+b)+c$ can round differently
# from $a+(b+c)$, and four partial sums are another order of adding. It holds for 3, 6 and 7
# workers, too, whose shards cannot be equal. Why? Because *sums* travel. Part 2 begins with what
# happens otherwise.

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · What goes wrong, and what a step costs
#
# ## What if each machine sends its mean?
#
# It looks tidier: every worker sends the *mean* gradient of its rows, and the combiner averages the
# four means. Lecture 00 took a mean of means and had to fix it: send sums, divide once at the end.
# Does it matter here? The shards are now of unequal sizes, and the file may be sorted by target,
# the mildest cases first.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: means of means, 5 minutes</summary>
#
# Take the prediction first (100), then play at 10, drag to 100 and to 310, then switch to the
# shuffled file. The class will say "so shuffle": the error is smaller there, not gone.
# </details>

# %%
sorted_path = f"{disk.name}/by_target.npy"
np.save(sorted_path, np.load(path)[np.argsort(y, kind="stable")])


# %%
def read(comm, file, cuts):
    """A rank's own rows of a file: body-mass index and target, and no other rows."""
    rows = np.array(np.load(file, mmap_mode="r")[cuts[comm.rank] : cuts[comm.rank + 1]])
    return rows[:, [3]], rows[:, 0]  # the target is column 0, so X's column 2 is column 3 here


# %%
def fit_line(comm, file, cuts, send):
    """Fit w0 + w1 · body-mass index, each rank with its own rows of the file."""
    own, w = read(comm, file, cuts), line.initial()
    for _ in range(40):
        with comm.compute("map", flops=line.flops(own)):
            temp = line.gradient_sum(w, own)[1]
        weight = 1 / 400 if send == "sums" else 1 / len(own[1]) / comm.size
        w = combine(comm, temp * weight, w, 0.3)
        comm.note("w", w)
    return w


# %% [markdown]
# Rank 0 gets the first `rows` of the file, the three others get equal parts of the rest. One dot is
# the training with sums, the other one with means; "× 4" says that four ranks are in one place. It
# begins with 10 rows on rank 0: the ten mildest cases. First predict; then press *play*.

# %%
guess_rows = predict("At how many rows on rank 0 do both dots end in one place?", "rows")
guess_rows

# %% name="mean-of-means"
files = {"sorted by target": sorted_path, "shuffled": path}
view = {"start": (0, 0), "x_range": (-10, 230), "y_range": (-10, 90)}


def unequal(rows, file):
    """Both trainings on four machines, the first of which has so many rows."""
    cuts = [0, *np.linspace(rows, 400, 4).astype(int)]
    how = {"workers": 4, "backend": "simulated"}
    runs = {f"{kind} sent": run(fit_line, file, cuts, kind, **how) for kind in ("sums", "means")}
    return landscape(runs, (line, body_mass, y), **view)


sizes = [10, 40, 70, 100, 130, 190, 250, 310]
explore(unequal, rows=sizes, file=files)

# %%
ends = {rows: lecture_02.ends(unequal(rows, sorted_path)) for rows in sizes}
gaps = {rows: float(np.ptp(list(end.values()), axis=0).max()) for rows, end in ends.items()}
guess_rows.compare(min(gaps, key=gaps.get))

# %% tags=["how-we-know"]
# How we know: sums end at the best line wherever the cuts are; means only where they are equal
for rows in sizes:
    assert np.allclose(ends[rows]["sums sent"], fitted, atol=0.1)
    assert gaps[rows] < 0.1 if rows == 100 else gaps[rows] > 5
    end_loss = line.loss(ends[rows]["means sent"], (body_mass, y))
    assert end_loss < 0.3 * line.loss(np.zeros(2), (body_mass, y))
mixed = lecture_02.ends(unequal(10, path))
assert 1 < np.abs(mixed["means sent"] - mixed["sums sent"]).max() < gaps[10] / 2
assert [round(ends[rows]["means sent"][0]) for rows in (10, 100, 310)] == [134, 151, 201]

# %% [markdown]
# Only equal shards, 100 rows each, give one place. With 10 rows on rank 0 each of these counts
# $130 / 10 = 13$ times as much as a patient elsewhere. In the sorted file they are the mildest
# cases, and the model's predictions are too low: their mean, which is $w_0$ in the picture, is 134,
# not 151. With 310 rows it is too high, 201. In the shuffled file, too, those 10 rows count too
# much; the error is smaller. Nothing crashes, the loss ends far below where it began, all ranks
# have the same model: it is another model. Send sums and divide once, or send means *with* their
# numbers of rows.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What does a step cost?
#
# The *NIC* (network interface card) connects a machine to the network. It is full duplex: it can
# send while it receives. A message of $n$ bytes arrives after $\alpha + n\beta$: the *latency*
# $\alpha$, and $\beta$ for each byte. Our simulated network is ten-gigabit Ethernet, $\alpha =
# 20\,\mu s$, $\beta = 0.8\,ns$.
#
# The $P-1$ partial sums leave at the same time and share one latency. But they all enter through
# the combiner's NIC, one after another. The same on the way out:
#
# $$T = 2\alpha + 2(P-1)\,n\beta$$

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the price of a step, 8 minutes</summary>
#
# Draw the formula as a picture: one latency in, a queue at the NIC, one latency out. Nearly
# everybody predicts 119. Then the timelines: press play, stop at 66 µs, where rank 2 is heard only
# now. At the end drag to 32 workers.
# </details>

# %% [markdown]
# For 2,048 parameters ($n$ = 16,384 bytes) and four workers that is $40 + 78.6 = 118.6\,\mu s$.
# The simulator says 119.1: the rest is the update. Now *one parameter more*: 16,392 bytes. (Lecture
# 00 had a limit at 16 KB. What changed there, for the sender?)


# %%
def step(comm, size):
    """Reduce, update and broadcast so many parameters."""
    return combine(comm, np.ones(size), np.zeros(size), eta)


guess_time = predict("2,048 parameters take 119 µs a step. How long do 2,049 take?", "µs")
guess_time

# %% name="the-jump"
at_limit, above = (run(step, size, workers=4, backend="simulated") for size in (2048, 2049))
guess_time.compare(round(1e6 * above.elapsed_s, 1))

# %% [markdown]
# Eight bytes more cost 40 µs more: two latencies. 16 KB is the *eager limit*. Up to there a message
# goes by the *eager protocol*: it leaves at once, and the receiver keeps it until somebody asks for
# it. Larger ones would fill the receiver's memory. They go by the *rendezvous protocol*: the sender
# waits until the receive is *posted*, that is, until the receiver has called `recv`. (The hidden
# deadlock of lecture 00 was the same thing.) MPI libraries do likewise, each with a limit of its
# own. Now look at `combine` again: when does rank 0 post its second receive?

# %% [markdown]
# `irecv` posts a receive and returns at once; `wait()` waits for what comes. A combiner that posts
# all its receives first:


# %%
def posted_first(comm, size):
    """The same step: the combiner posts all its receives, then waits."""
    if comm.rank != 0:
        return step(comm, size)
    coming = [comm.irecv(src, tag="temp") for src in range(1, comm.size)]
    w = -eta * (np.ones(size) + sum(one.wait() for one in coming))
    for dst in range(1, comm.size):
        comm.send(w, dst, tag="model")
    return w


# %% [markdown]
# Three runs on one axis; orange lines are partial sums, blue ones models. A line begins where
# `send` is called, even if the message may not leave yet; so look at its end. Move the playhead,
# and follow rank 3: when does its sum arrive at rank 0?

# %%
posted = run(posted_first, 2049, workers=4, backend="simulated")
runs = {"2,048: eager": at_limit, "2,049: rendezvous": above, "2,049, posted first": posted}
timeline({name: made.trace for name, made in runs.items()})

# %% tags=["how-we-know"]
# How we know: both formulas (and the update) to 0.5 µs, the repair, and equal results
for P in (2, 4, 8, 16, 32):
    for size in (100, 2048, 2049, 10_000):
        made = run(step, size, workers=P, backend="simulated")
        assert abs(made.elapsed_s - lecture_02.step_s(8 * size, P) - 2 * size / 1e10) < 5e-7
assert 39e-6 < above.elapsed_s - at_limit.elapsed_s < 41e-6
assert abs(posted.elapsed_s - at_limit.elapsed_s) < 1e-6
assert all(np.allclose(a, b) for a, b in zip(posted.values, above.values, strict=True))
for P in (2, 4, 8, 16, 32):
    times_s = [
        run(step, size, workers=P, backend="simulated").elapsed_s for size in (2048, 2049, 4097)
    ]
    assert abs(times_s[1] - times_s[0] - (P - 2) * 20e-6) < 1e-6
    assert abs((times_s[2] - times_s[1]) / 16_384 / (2 * (P - 1) * 0.8e-9) - 1) < 0.02

# %% [markdown]
# By rendezvous the combiner receives one sum, *then* posts the next receive: three latencies in a
# row on the way in, and one on the way out, where all receives are posted already. So $T = P\alpha
# + 2(P-1)\,n\beta$. With all receives posted first the latencies overlap again, and the time is
# that of eager messages. (A real rendezvous also asks and answers before it sends; our simulator
# does not charge that.) What happens to the jump and to the slope with more workers?

# %%
ranks = knob([2, 4, 8, 16, 32], start=4)
explore(lambda workers: lecture_02.step_chart(step, workers), workers=ranks)

# %% [markdown]
# The jump is $(P-2)\,\alpha$, 40 µs for 4 workers and 600 µs for 32; the slope is $2(P-1)\,\beta$.
# A program that became slow when its model grew by one number: now you know where to look.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When the model is large
#
# The notes name two problems: the complete model must fit on every machine, and a large one takes
# long to be updated everywhere. From a hundred parameters to a million, with four workers:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: large models, 2 minutes</summary>
#
# One number: 38 seconds a step for a billion parameters. It is the reason for lectures 04 to 08.
# </details>

# %%
costs = []
for size in (100, 1_000, 10_000, 100_000, 1_000_000):
    time_s = run(step, size, workers=4, backend="simulated").elapsed_s
    latency = (2 if 8 * size <= 16_384 else 4) * 20e-6 / time_s
    costs.append({"parameters": size, "bytes": 8 * size, "time": time_s, "latency": latency})
table(costs, units={"time": "s", "latency": "%"})

# %% tags=["how-we-know"]
# How we know: what the text says about the table, and a billion parameters
assert [f"{row['latency']:.0%}" for row in costs] == ["91%", "51%", "17%", "2%", "0%"]
times_s = [row["time"] for row in costs]
assert times_s[4] / times_s[3] > 9.5
assert 38 < lecture_02.step_s(8 * 10**9, 4) < 39
trace = run(step, 100, workers=16, backend="simulated").trace
carried = np.add(trace.bytes_sent(), trace.bytes_received())
assert carried[0] == 15 * carried[1]

# %% [markdown]
# With a hundred parameters the step is *latency-bound*: 91 % of it is two latencies. With ten
# thousand it is four latencies, and 17 %. Towards a million it is *bandwidth-bound*: ten times the
# size, nearly ten times the time. A billion parameters would spend 38 seconds a step on the wire.
# All of it passes the combiner's NIC, $2(P-1)\,n$ bytes a step, $P-1$ times what any other NIC
# carries. It got a name: *parameter server* (lecture 04). Lecture 05 does without.
#
# The *price sheet*, a line a lecture: four workers, 1 MB each, by your α and β of lecture 00 (else
# 10 µs, 3.3 GB/s), and on real processes. Its first columns count latencies $\alpha$ and vectors,
# $n\beta$.

# %% tags=["nbval-ignore-output"] name="price-sheet"
prices_so_far(lecture=2)

# %%
claim("0.8")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The tempting shortcut
#
# The slides go another way: process 0 finds the best model of the first half of the data, process
# 1 that of the second half; then the question is how to combine the two. Average them, and one
# exchange replaces all others. Is the average the best model of all rows? Think of two cases:
# shards that look alike (the shuffled file), and shards that do not (the file sorted by target).

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the shortcut, 6 minutes</summary>
#
# Vote: is the average the best model? Play the shuffled file: yes, nearly, and faster. Then "sorted
# by target": no. Then 20 machines. The ring is the mean of the blue dots. In the last picture point
# at 36: eleven rows for eleven parameters.
# </details>


# %%
def models_once(comm, file, cuts):
    """Every rank trains alone on its own rows; at the end they average their models."""
    own, w = read(comm, file, cuts), line.initial()
    for _ in range(40):
        with comm.compute("step", flops=line.flops(own)):
            w = w - 0.3 * line.gradient(w, own)[1]
        comm.note("w", w)
    w = allreduce_central(comm, w) / comm.size
    comm.note("w", w)
    return w


# %% name="one-shot"
slower = replace(networks.ethernet_10g, flops_per_s=2e7)  # computing takes longer than a message
wide = view | {"x_range": (-20, 320), "y_range": (-20, 100)}


def shortcut(machines, file):
    """Gradients in every step, and models once, on the same shards."""
    cuts = np.linspace(0, 400, machines + 1).astype(int)
    how = {"workers": machines, "backend": "simulated", "network": slower}
    every = run(fit_line, file, cuts, "sums", **how)
    once = run(models_once, file, cuts, **how)
    return landscape(
        {"gradients, every step": every, "models, once": once}, (line, body_mass, y), **wide
    )


how_many = knob([2, 4, 8, 20], start=4)
explore(shortcut, machines=how_many, file={"shuffled": path, "sorted by target": sorted_path})

# %% tags=["how-we-know"]
# How we know: gradients find the best line; the average comes near it where shards look alike
for machines in (2, 4, 8, 20):
    for file in (path, sorted_path):
        picture = shortcut(machines, file)
        above = {
            name: line.loss(end, (body_mass, y)) / line.loss(fitted, (body_mass, y)) - 1
            for name, end in lecture_02.ends(picture).items()
        }
        assert above["gradients, every step"] < 1e-4
        assert above["models, once"] < 0.001 if file == path else above["models, once"] > 0.2
        assert (lecture_02.ends(picture)["models, once"][1] < 20) == (file == sorted_path)
        ended = {walk["name"]: walk["t"][-1] for walk in picture.landscape["walks"]}
        assert ended["models, once"] < 0.9 * ended["gradients, every step"]
walks = shortcut(4, sorted_path).landscape["walks"][-4:]
assert max(walk["y"][-2] for walk in walks) < 15
assert [round(walks[0]["y"][-1]), round(fitted[1])] == [4, 48]

# %% [markdown]
# In our shuffled file the dots wander apart, and their mean lands within 0.1 % of the smallest
# loss. Sorted, each of four machines sees patients who are about equally ill, and learns that the
# body-mass index matters little. So says the mean of the four models, too: a slope ($w_1$) of
# 4, where the best line has 48. And it is there first, with one exchange in place of 40: fast and
# wrong.
#
# So shuffle, and all is well? Now all eleven parameters, on 30 shuffles of the file. The more
# machines, the fewer rows each has:


# %%
def average_of_optima(comm, order):
    """Every rank solves for the best model of its own rows; the mean of these."""
    own = order[split_evenly(400, comm.size)[comm.rank]]
    rows = np.array(np.load(path, mmap_mode="r")[own])
    return allreduce_central(comm, model.optimum((rows[:, 1:], rows[:, 0]))) / comm.size


# %% name="thirty-shuffles"
def above_best(machines, order):
    """How far the average's loss is above the smallest one, in percent."""
    w = run(average_of_optima, order, workers=machines, backend="simulated").values[0]
    return 100 * (loss(w) / best - 1)


orders, machines = [rng.permutation(400) for _ in range(30)], (2, 4, 8, 16, 20, 25, 30, 33, 36)
percent = {P: [above_best(P, order) for order in orders] for P in machines}
lecture_02.shuffles_chart(percent)

# %% tags=["how-we-know"]
# How we know: this file, other shuffles, and where the average *is* the optimum
as_it_is = np.arange(400)
medians = {P: np.median(of_orders) for P, of_orders in percent.items()}
assert medians[2] < 0.1
assert [round(medians[20]), round(medians[36], -2)] == [6, 3800]
others = [rng.permutation(400) for _ in range(30)]
of_others = [above_best(36, order) for order in others]
assert min(of_others) > 50
assert np.median(of_others) > 500
assert round(medians[36] / min(percent[36]), -1) == 40
assert round(max(percent[36]) / medians[36], -1) == 100
assert max(above_best(4, order) for order in others) < 2
for w in run(train, 100, workers=36, backend="simulated").values:
    assert np.abs(w - one_machine.w).max() / np.abs(one_machine.w).max() < 1e-12
on_a_plane = model.predict(one_machine.w, X)
parts = [model.optimum((X[part], on_a_plane[part])) for part in np.split(as_it_is, 4)]
assert np.allclose(np.mean(parts, axis=0), one_machine.w)

# %% [markdown]
# With 200 rows a machine the average is hardly above the best; with 20 rows, on 20 machines, it is
# 6 % above, and with 11 rows **3,800 %**, in the median. Single shuffles (thin): up to forty times
# less or a hundred times more. 11 rows determine 11 parameters, and each machine fits the noise of
# its own. Gradient sums do not care: 36 machines find one machine's model. (Averaging again and
# again while training is another scheme: lecture 03.)

# %%
claim("4.2")

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
# and half out. Two latencies. With 10,000 numbers 14 messages, 1,120,000 bytes; each is above the
# eager limit: eight latencies, unless the combiner posts its receives first.
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
# parameters: infinitely many models fit it, so there is no *single* best one to average.
# </details>

# %% [markdown]
# ## References
#
# J. Dean and S. Ghemawat, "MapReduce: Simplified Data Processing on Large Clusters", OSDI 2004.
# C.-T. Chu and others, "Map-Reduce for Machine Learning on Multicore", NIPS 2006. D. Goldberg,
# "What Every Computer Scientist Should Know About Floating-Point Arithmetic", ACM Computing Surveys
# 1991. M. Li and others, "Scaling Distributed Machine Learning with the Parameter Server", OSDI
# 2014.

# %% [markdown]
# ## What to remember
#
# - A gradient is a sum over rows: four machines with 100 rows each train one machine's model, to
#   twelve digits. Means of unequal shards give another model, and so does averaging models.
# - A step sends $2(P-1)$ messages, all through one NIC: $2\alpha + 2(P-1)\,n\beta$ while they are
#   eager. Above the eager limit every receive that is posted late costs a latency of its own.
# - Distribute the data once: scatter it, or let each rank read its own rows. A slice keeps the
#   whole table alive.
#
# Next: the [exercises](../exercises/02_map_reduce.ipynb), then
# [lecture 03](03_data_parallelism.ipynb). Before: [lecture 01](01_gradient_descent.ipynb).
