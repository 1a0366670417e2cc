# %% [markdown] slideshow={"slide_type": "slide"}
# # 01 · Gradient descent: what are we distributing?
#
# After this you can
#
# - say which learning rates lead down, on a bowl, beside a saddle and between two valleys
# - measure what a mini-batch is worth, and predict the batch size that trains fastest
# - name what can be distributed: examples, weights, or whole trainings
#
# Part 1 takes 28 minutes, part 2 takes 15. Needs: one worker process, no GPU. You should have
# written a training loop in PyTorch. Before: [lecture 00](00_start_here.ipynb). Then: the
# [exercises](../exercises/01_gradient_descent.ipynb), and [lecture 02](02_map_reduce.ipynb), where
# four machines compute one gradient. Boxes quote a sentence of one of the course's sources, with a
# verdict.

# %% tags=["set-up"]
# Set-up
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import torch

from course_lib import networks, run
from course_lib.data.diabetes import load_diabetes
from course_lib.data.digits import load_digits
from course_lib.lectures import lecture_01
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.landscape import gradient_error, gradient_spread, sharpness
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.models.surfaces import Quadratic, descend, escape_step, escape_steps
from course_lib.schemes.serial import train, walk
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
    timeline,
)

torch.set_num_threads(1)  # as in every worker: one core each
rng = np.random.default_rng(seed=1)
digits = load_digits()

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Optimisation
#
# ## A bowl
#
# A model has parameters $w$, a loss $J(w)$ says how wrong it is, and a step of gradient descent
# goes downhill: $w := w - \eta\,\nabla J(w)$. We begin with two parameters and a bowl,
# $J = \frac12(x^2 + 10\,y^2)$. Its gradient is $(x,\ 10\,y)$: a step multiplies $x$ by $1 - \eta$
# and $y$ by $1 - 10\,\eta$.

# %%
guess_rate = predict("Above which learning rate does y grow with each step?", "")
guess_rate

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 5 minutes; run all before class (one minute)</summary>
#
# Collect rates, then move the slider from the left and play: 0.05 (both shrink), 0.15 (y jumps
# across and shrinks), 0.2 (jumps for ever), 0.21 (each jump ends higher). The class will say 0.1,
# where y is 0 after one step: the best rate for y, not the limit. The next section, where the bowl
# comes from, needs 2 minutes: show the table. If there are 40 minutes for both parts, leave out
# "What one example knows", "A sharp valley" and "What a step is made of".
# </details>

# %% name="bowl"
bowl = Quadratic((1.0, 10.0))


def bowl_loss(x, y):
    return bowl.loss(np.stack([x, y], axis=-1))


def thirty_steps(rate):
    """Gradient descent on the bowl, from (4, 1)."""
    w, path = np.array([4.0, 1.0]), [(4.0, 1.0)]
    for _ in range(30):
        w = w - rate * bowl.gradient(w)
        path.append(w)
    ranges = {"x_range": (-5, 5), "y_range": (-2.5, 2.5), "labels": ("x", "y")}
    return landscape({"30 steps": path}, bowl_loss, **ranges)


explore(thirty_steps, rate=[0.01, 0.05, 0.1, 0.15, 0.18, 0.195, 0.2, 0.205, 0.21])

# %%
guess_rate.compare(2 / 10)

# %% tags=["how-we-know"]
# How we know: around the limit, and for another curvature
for curvature in (10.0, 37.0):
    other = Quadratic((1.0, curvature))
    for factor, grows in ((0.98, False), (1.02, True)):
        path = descend(other, (4, 1), factor * 2 / curvature, 200)
        assert (abs(path[-1, 1]) > 1) == grows
assert np.ptp(np.abs(descend(Quadratic((1.0, 10.0)), (4, 1), 0.2, 30)[:, 1])) < 1e-9

# %% [markdown]
# The limit is $|1 - 10\,\eta| = 1$, so $\eta = 2/10$: two over the largest curvature. The steepest
# direction sets the speed limit, and the flattest one has to live with it.
#
# Change this and run the cell again: the bowl's curvature from 10 to 40. Which rates of the slider
# still lead down?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where the bowl comes from
#
# 400 diabetes patients: predict the progress of the disease ($y$) from the body-mass index ($x$)
# alone, with $w_0 + w_1 x$. Every patient has a loss, half the squared error. The loss of all is
# the *mean* of the 400, so its gradient is a mean, too. A mean can be computed in parts: that is
# what this course distributes.
#
# We write a training loop without an optimizer object, because the gradient will have to travel:
#
# | here | in PyTorch |
# |---|---|
# | `w`, one flat vector | every `p` in `net.parameters()`, one behind the other |
# | `loss, grad = model.gradient(w, batch)` | `optimizer.zero_grad(); loss = …; loss.backward()` |
# | `grad`, one flat vector | every `p.grad`, one behind the other |
# | `sgd.step(grad)`, which is `w -= rate * grad` | `optimizer.step()`, of `torch.optim.SGD` |

# %%
patients = load_diabetes()
x, y = patients.X_train[:, [2]], patients.y_train
line = LinearRegression(n_features=1)
source(walk)

# %% tags=["how-we-know"]
# How we know: the loop above in PyTorch gives the same parameters; the gradient is the mean of 400
net = torch.nn.Linear(1, 1).double()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
torch.nn.utils.vector_to_parameters(torch.zeros(2, dtype=torch.float64), net.parameters())
twenty = Plan(learning_rate=0.1, batch_size=20)
for examples, _ in twenty.shares(400):
    optimizer.zero_grad()
    errors = net(torch.tensor(x[examples]))[:, 0] - torch.tensor(y[examples])
    (0.5 * errors**2).mean().backward()
    optimizer.step()
theirs = np.array([net.bias.item(), net.weight.item()])
assert np.allclose(theirs, train(line, x, y, twenty).w, rtol=1e-12)
singles, _ = gradient_spread(line, theirs, (x, y))
assert np.allclose(singles.mean(axis=0), line.gradient(theirs, (x, y))[1], atol=1e-9)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All, twenty, or one
#
# `walk` trains step by step, as a `Plan` says: learning rate, batch size, epochs. `plan.shares`
# yields the numbers of each batch's examples.
#
# Each of three plans sees every patient once. *Gradient descent* takes all 400 for one step.
# *Stochastic gradient descent* (SGD) takes one patient a step, a *mini-batch* 20. The three compute
# for the same *virtual time*: a simulated worker's clock counts arithmetic. Choose before you press
# play: which is closest to the minimum at the end?


# %% name="three-batches"
def noted(comm, plan):
    """Train, and note where we are after each step."""
    for _, w in walk(line, x, y, plan, compute=comm.compute):
        comm.note("w", w)


def one_epoch(rate):
    """Three batch sizes, each over every patient once."""
    sizes = {"all 400: 1 step": 400, "20 each: 20 steps": 20, "1 each: 400 steps": 1}
    plans = {name: Plan(rate, batch_size=B) for name, B in sizes.items()}
    runs = {k: run(noted, plan, workers=1, backend="simulated") for k, plan in plans.items()}
    return landscape(runs, (line, x, y), start=(0, 0), x_range=(-15, 200), y_range=(-35, 110))


explore(one_epoch, rate=knob([0.02, 0.05, 0.1, 0.2], start=0.1))

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 4 minutes</summary>
#
# A show of hands before play; most say "all 400", because its direction is the best. At 0.1 it has
# made a tenth of the way. Then the slider to 0.02: SGD arrives and hardly jumps; to 0.2: it
# arrives at once and jumps farther. Ask what one would do with the rate during a training.
# </details>

# %% tags=["how-we-know"]
# How we know: where the three are after one epoch, over five orders of the patients
best = line.optimum((x, y))
for seed in range(5):
    ends = {B: train(line, x, y, Plan(0.1, batch_size=B, seed=seed)).w for B in (400, 20, 1)}
    left = {B: np.linalg.norm(w - best) / np.linalg.norm(best) for B, w in ends.items()}
    assert 0.88 < left[400] < 0.92
    assert max(left[20], left[1]) < 0.3

# %% [markdown]
# Gradient descent has taken one step and a tenth of the way. The mini-batches nearly arrived in
# 20. SGD got close early and keeps jumping around; a smaller rate makes the jumps shorter and the
# way longer.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What one example knows
#
# How can 1 of 400 patients know the way for all? We train 24 times from the same start, 40 steps
# each, with other batches every time. First the cloud travels, then it stays around the minimum.
# How wide is it there? (A dot is a training, the ring their mean.)

# %%
guess_factor = predict("Four times the batch: by what is the cloud's width divided?", "")
guess_factor


# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 4 minutes</summary>
#
# Play with batches of 1, then 4, 16, 64: the cloud halves. Most say "by four". Ask for the price
# of the next halving: four times the work again. Misconception: "a larger batch has a better
# direction, so it needs fewer steps in proportion"; part 2 measures it.
# </details>


# %% name="fan"
def cloud(batch):
    """24 trainings, 40 steps each, with batches of their own."""
    paths = lecture_01.trainings(line, (x, y), Plan(0.2, batch_size=batch), n_steps=40)
    return landscape({f"batches of {batch}": paths}, (line, x, y),
                     x_range=(-15, 230), y_range=(-70, 140))  # fmt: skip


explore(cloud, batch=[1, 4, 16, 64, 256, 400])

# %%
guess_factor.compare(2)


# %% tags=["how-we-know"]
# How we know: the width of the cloud, the error of a batch's gradient, and who leads downhill
def width(batch):
    plan = Plan(0.2, batch_size=batch)
    return np.std(lecture_01.trainings(line, (x, y), plan, 40, 200)[:, 20:], axis=0).mean()


assert all(1.7 < width(batch) / width(4 * batch) < 2.5 for batch in (1, 4, 16))
assert round(width(64) / width(256)) == 3
assert width(400) < 1e-9
network = mlp(64, 32, 10)
of_network, _ = gradient_spread(network, network.initial(), (digits.X_train, digits.y_train))
assert 1.8 < gradient_error(of_network, 4) / gradient_error(of_network, 16) < 2.2
for place, low, high in ((0 * best, 0.95, 1), (0.75 * best, 0.55, 0.75), (0.95 * best, 0.4, 0.6)):
    own, _ = gradient_spread(line, place, (x, y))
    assert low <= np.mean(own @ own.mean(axis=0) > 0) <= high

# %% [markdown]
# The error of a batch's gradient is $\sigma/\sqrt B$, where $\sigma^2$ is the variance of single
# gradients: four times the work, half the error. Far from the minimum all patients agree: at the
# start the gradient of at least 95 % of them leads downhill for all, and one is enough. Near the
# minimum they pull to all sides, about half of them uphill: noise is all that is left. (A batch has
# no patient twice: so from 64 to 256 of the 400 it falls to a third, and with all there is none.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two valleys
#
# A network is no bowl. We train one with 32 hidden units on 1,437 images of handwritten digits,
# twice, from two random starts. Each ends in a valley; both recognise at least 90 % of the test
# images. Now we average the two, parameter by parameter. What does the average recognise?

# %%
guess_mean = predict("What percentage of the test images does the average recognise?", "%")
guess_mean

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 5 minutes</summary>
#
# A show of hands: better than both, between them, worse than both? Most say between. After the
# number, play: watch the loss of the dot that goes straight across. Misconception: "the loss is a
# bowl" (of a linear model only).
# </details>

# %% name="two-valleys" tags=["nbval-ignore-output"]
model, data = mlp(64, 32, 10), (digits.X_train, digits.y_train)
plan = Plan(learning_rate=0.4, batch_size=32, epochs=10)
first, second = (train(model, *data, replace(plan, seed=seed)).w for seed in (7, 8))


def accuracy(w):
    """The fraction of the 360 test images that is recognised."""
    return float(np.mean(model.predict(w, digits.X_test) == digits.y_test))


guess_mean.compare(round(100 * accuracy((first + second) / 2)))

# %% [markdown]
# Worse than both. Of a surface over 2,410 parameters one can draw a slice: the plane through the
# two ends and the start of the first. One dot goes straight from the first to the second. Two
# others roll downhill from beside the middle. The two networks lie in two valleys, and their mean
# on a ridge between them; how high it is depends on the pair. There are more valleys: swap two
# hidden units, with all their weights, and the network computes the same from other parameters. So
# every minimum has $32!$ twins. Lecture 03 comes back to that.

# %% name="valleys"
some = data[0][:300], data[1][:300]
plane = lecture_01.Slice(model, some, (first, second, model.initial(seed=7)))
across = plane.place(second) * np.linspace(0, 1, 61)[:, None]
rolls = {f"from the {side}": plane.descend(across[k], 2.0, 60)
         for side, k in (("left of the middle", 28), ("right of the middle", 32))}  # fmt: skip
landscape({"straight across": across, **rolls}, plane.loss, labels=("towards the second", "aside"),
          x_range=(-4, across[-1, 0] + 4), y_range=(-4, 6))  # fmt: skip

# %% tags=["how-we-know"]
# How we know: all pairs of five networks, and that a linear regression has no ridge
ends = [first, second, *(train(model, *data, replace(plan, seed=seed)).w for seed in (1, 2, 3))]
assert min(accuracy(w) for w in ends) > 0.9
for a, b in combinations(ends, 2):
    assert accuracy((a + b) / 2) < min(accuracy(a), accuracy(b))
    assert model.loss((a + b) / 2, data) > 1.5 * max(model.loss(a, data), model.loss(b, data))
assert accuracy((first + second) / 2) < 0.87
for _ in range(9):
    a, b = rng.normal(size=(2, 2)) * 200
    assert line.loss((a + b) / 2, (x, y)) < (line.loss(a, (x, y)) + line.loss(b, (x, y))) / 2

# %%
claim("2.6")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A saddle
#
# $x^2 - y^2$ rises along $x$ and falls along $y$. At the origin the gradient is zero. A lecture on
# training with many nodes says that gradient descent *gets stuck* there. A step multiplies $y$ by
# $1 + 2\eta$, so from a small offset $y_0$ it reaches distance 1 after
#
# $$k = \frac{\ln(1 / y_0)}{\ln(1 + 2\eta)}$$
#
# steps. With $\eta = 0.1$ and $y_0 = 10^{-4}$: $9.21 / 0.182$, so 51 steps. Now 10,000 times
# closer.

# %%
guess_escape = predict("From 1e-8 beside the saddle: how many steps to distance 1?", "steps")
guess_escape

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 5 minutes, and 3 for the sharp valley</summary>
#
# The class will say "a million steps" or "never"; the formula gives 101.03, so the first whole
# step is 102. Play, and let them wait for the third dot. Then ask what a restart would do. At the
# sharp valley move the factor to 30, and read out what did not change.
# </details>

# %% name="saddle"
saddle = Quadratic((2.0, -2.0))
offsets = {"10⁻² beside": 1e-2, "10⁻⁴ beside": 1e-4, "10⁻⁸ beside": 1e-8}
paths = {name: descend(saddle, (1, offset), 0.1, 120) for name, offset in offsets.items()}
shown = {name: path[: escape_step(path) + 1] for name, path in paths.items()}
landscape(shown, lambda x, y: x**2 - y**2, labels=("x", "y"), x_range=(-1, 1.2), y_range=(-1, 1.3))

# %%
guess_escape.compare(escape_step(paths["10⁻⁸ beside"]))

# %% tags=["how-we-know"]
# How we know: the formula over 30 decades; only y = 0 stays; noise of any size frees it
for offset in (1e-2, 1e-4, 1e-8, 1e-16, 1e-30):
    k = escape_step(descend(saddle, (1, offset), 0.1, 400))
    assert 0 <= k - escape_steps(offset, 1.2) < 1
assert escape_step(descend(saddle, (1, 0), 0.1, 400)) is None
for noise in (1e-1, 1e-3, 1e-6):
    tried = [descend(saddle, (1, 0), 0.1, 400, noise, seed) for seed in range(21)]
    scale = 0.1 * noise / np.sqrt(1.2**2 - 1)  # a standard deviation
    usual = escape_steps(0.6745 * scale, 1.2)  # 0.6745: half of all draws are below it
    assert abs(np.median([escape_step(path) for path in tried]) - usual) < 4

# %% [markdown]
# Ten thousand times closer costs about 51 steps more, always. Nothing seems to happen, and then it
# does. Only the starts with $y_0 = 0$ exactly, a line without area, never leave. And a mini-batch's
# noise with standard deviation $s$ would push them off: in half of all runs at least as fast as
# from an offset of $0.67\,\eta s / \sqrt{1.2^2 - 1}$.

# %%
claim("3.2")

# %% [markdown]
# And a network? Where all its parameters are zero the gradient of every weight is zero, too (the
# last biases move a little): nearly a saddle. We start beside it, at 0.03 of the usual start, and
# wait until the loss is below 1.5. A lecture says that *large batches* make very slow progress near
# such points. Who needs more steps: a batch of 8 images, or all 1,437? Then count the images.


# %% name="plateau" tags=["nbval-ignore-output"]
def plateau(rate, count):
    """The loss of two batch sizes until both have left."""
    lines = {}
    for name, size in {"8 images": 8, "all 1,437": 1437}.items():
        curve = lecture_01.off_a_plateau(model, data, Plan(rate, size, epochs=400), 0.03, 1.5)
        each = size if count == "images" else 1
        lines[name] = [(step * each, loss) for step, loss in curve[1:]]
    said = "; ".join(f"{name}: {line[-1][0]:,} {count}" for name, line in lines.items())
    return chart(lines, x_label=count, y_label="loss", x_log=each > 1, said=said)


explore(plateau, rate=[0.1, 0.2, 0.4], count=knob(["steps", "images"], label="counted in"))

# %% tags=["how-we-know"]
# How we know: a batch 180 times as large saves less than a fifth of the steps, half the rate
# doubles them
left = {}
for rate, size, seed in product((0.1, 0.2), (8, 1437), range(3)):
    way = Plan(rate, size, epochs=400, seed=seed)
    left[rate, size, seed] = lecture_01.off_a_plateau(model, data, way, 0.03, 1.5)[-1][0]
for rate, seed in product((0.1, 0.2), range(3)):
    assert 0.8 < left[rate, 1437, seed] / left[rate, 8, seed] < 1
for size, seed in product((8, 1437), range(3)):
    assert 1.8 < left[0.1, size, seed] / left[0.2, size, seed] < 2.2

# %% [markdown]
# Steps hardly depend on the batch; they depend on the rate. But by then the large batch has looked
# at more than a hundred times as many images. So the lecture is right for who counts images, or
# seconds on one machine. The noise of small batches is no rescue here: they do not leave in fewer
# steps.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A sharp valley
#
# *Sharp* means: large curvature. Are sharp minima bad on new data? Take a trained network, multiply
# its first layer by a factor and divide the second layer's weights by it. With ReLU between them
# every output stays what it was. And the valley around it?

# %% name="twin" tags=["nbval-ignore-output"]
outputs = model.outputs(first, digits.X_test)


def twin(factor):
    """The loss around the same function with other parameters."""
    w = lecture_01.rescaled(model, first, factor)
    change = (model.outputs(w, digits.X_test) - outputs).abs().max().item()
    said = f"test images {accuracy(w):.0%}, largest change of an output {change:.0e}"
    return lecture_01.valley(model, w, some, said)


explore(twin, factor=[1, 2, 5, 10, 20, 30])

# %% tags=["how-we-know"]
# How we know: the same function, more than 100 times sharper, for three networks
for seed in (1, 2, 3):
    w = train(model, *data, replace(plan, seed=seed)).w
    other = lecture_01.rescaled(model, w, 30)
    assert (model.outputs(other, data[0]) - model.outputs(w, data[0])).abs().max() < 1e-9
    assert sharpness(model, other, some) > 100 * sharpness(model, w, some)

# %% [markdown]
# The same function, hundreds of times as sharp. What the curvature does decide is the learning
# rate that one may take from there, two over it.

# %%
claim("3.3")

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · What are we distributing?
#
# ## How large a batch?
#
# Many machines that share a batch want a large one, so we ask first what a large batch is worth. A
# step takes $a + b\,B$ seconds: $a$ however small the batch is, $b$ for each example. And the
# steps? The noise in a batch's gradient is as large as the gradient itself at the *noise scale*
#
# $$B_\text{noise} = \sigma^2 / |\nabla J|^2.$$
#
# A batch of that size needs about twice as many steps as all examples at once (McCandlish and
# others 2018): steps grow as $1 + B_\text{noise}/B$. Multiply both. The time has its minimum at
#
# $$B^* = \sqrt{a\,B_\text{noise}/b}.$$

# %% name="noise"
looks = range(10, 61, 10)
plans = [Plan(learning_rate=0.8, batch_size=64, epochs=3, seed=seed) for seed in range(3)]
scales = [lecture_01.noise_scales(model, data, plan, looks) for plan in plans]
noise = float(np.median([scale for of_seed in scales for scale in of_seed.values()]))

# %% tags=["nbval-ignore-output"]
curves = {f"seed {seed}": list(of_seed.items()) for seed, of_seed in enumerate(scales)}
chart(curves, x_label="step", y_label="noise scale, in images (log)", y_log=True, y_range=(3, 300),
      said=f"The median of all is {noise:.0f} images.")  # fmt: skip

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 8 minutes</summary>
#
# The class computes B* on paper from the median below the chart, about 50, and commits. At the
# race switch the axis: by updates the prediction and all images end close together, by time the
# prediction wins. With the sliders ask before moving: a = 20 ms, a step that waits for a network?
# </details>

# %% [markdown]
# One number it is not: it changes during the training. We take the median, and a stated machine
# with $a$ = 200 µs and $b$ = 2 µs, so $B^* = \sqrt{100\,B_\text{noise}}$. Compute it, and commit
# yourself. Then we train: six batch sizes, each at the best of five learning rates, the median of
# three seeds.

# %%
guess_batch = predict("Which batch size reaches a loss of 0.5 first, by the formula?", "images")
guess_batch

# %% name="steps" tags=["nbval-ignore-output"]
stated = lecture_01.StepTime(fixed_s=200e-6, example_s=2e-6)
steps, tuned = {}, {}
for B in (1, 4, 16, 64, 256, 1437):
    steps[B], tuned[B] = lecture_01.best_steps(model, data, B, target=0.5)
guess_batch.compare(round(stated.best_batch(noise)))

# %% [markdown]
# Do we hit it? Three runs on the stated machine: a small batch, the predicted one, all images.
# Which needs the fewest *steps*, which the least *time*? Switch the axis.

# %% name="race" tags=["nbval-ignore-output"]
machine = replace(networks.ethernet_10g, flops_per_s=1e10)


def timed(size):
    """One training on the stated machine, at the best of five learning rates."""
    rate = tuned[size] if size in tuned else lecture_01.best_steps(model, data, size, 0.5)[1]
    program = lecture_01.on_a_machine, model, data, Plan(rate, size, epochs=99), stated, 0.5
    return run(*program, workers=1, backend="simulated", network=machine)


named = {"4 images": 4, "as predicted": round(stated.best_batch(noise)), "all 1,437": 1437}
runs = {name: timed(size) for name, size in named.items()}
race(runs, target=0.5)

# %% tags=["how-we-know"]
# How we know: the predicted batch is the fastest, larger ones save few steps, and no best rate is
# at the edge of the five
took = {name: r.elapsed_s for name, r in runs.items()}
assert took["as predicted"] < 0.6 * min(took["4 images"], took["all 1,437"])
needed = {name: r.values[0] for name, r in runs.items()}
assert needed["as predicted"] < 0.6 * needed["4 images"]
time_of = {B: n * stated.of(B) for B, n in steps.items()}
fastest = min(time_of, key=time_of.get)
assert 16 <= fastest <= 64
assert min(time_of[1], time_of[1437]) > 4 * time_of[fastest]
at_predicted, _ = lecture_01.best_steps(model, data, named["as predicted"], target=0.5)
assert at_predicted * stated.of(named["as predicted"]) < 1.1 * time_of[fastest]
assert steps[1437] > steps[64] / 2 > steps[1] / 30
middle = {B: min(0.14 * np.sqrt(B), 0.8) for B in tuned}
assert all(0.6 * middle[B] < rate < 1.9 * middle[B] for B, rate in tuned.items())

# %% [markdown]
# A hit: none of the six is more than a tenth faster than the predicted batch. The time is
# U-shaped. Left of the bottom a step costs nearly the same for one image and for sixteen. Right of
# it more images save few steps: 1,437 in place of 64 do not even halve them. Now move the machine:
# a step that waits for a network has a large $a$. Where does the bottom go?


# %% name="the-u"
def machines(a_us, b_us):
    """The time to the loss over the batch size, and the predicted bottom."""
    step = lecture_01.StepTime(a_us * 1e-6, b_us * 1e-6)
    return lecture_01.time_chart(steps, {"time to the loss": step}, noise)


explore(machines, a_us=knob([50, 200, 1000, 5000, 20000], label="a", unit="µs", start=200),
        b_us=knob([0.5, 1, 2, 4, 8], label="b", unit="µs", start=2))  # fmt: skip

# %% [markdown]
# And your machine? A worker process measures the time of a step; a line through it gives $a$ and
# $b$.

# %% name="your-machine" tags=["nbval-ignore-output"]
sizes = (1, 4, 16, 64, 128, 256)
seconds = run(lecture_01.step_seconds, model, data, sizes, workers=1).values[0]
yours = lecture_01.fit_step_time(sizes, seconds)
lecture_01.time_chart(steps, {"stated": stated, "yours": yours}, noise)

# %% [markdown]
# The line holds up to 256 images. Far above, a batch may no longer fit into the processor's cache,
# and a step takes longer than the line says: then the right arm is steeper.
#
# Change this and run the cell of the race again: 100 images in place of 4. Is that slower than the
# prediction?

# %%
claim("3.6")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a step is made of
#
# One batch of 64 images on one machine, three layers of equal size. It goes forward through the
# layers. Then two gradients are computed in every layer: the *weight gradient*, with which it is
# updated, and the *input gradient* (or data gradient), which goes on to the layer before. Which
# layer's weights could be updated, or sent, first? Vote before you run the cell.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 2 minutes</summary>
#
# Vote for a layer before play. Misconception: "first forward, first ready".
# </details>

# %% name="one-step"
net = deep_mlp(64, 64, 64, 64)
batch = data[0][:64], data[1][:64]
a_step = run(lecture_01.one_step, net, batch, net.initial(), workers=1, backend="simulated")
timeline(a_step.trace)

# %% tags=["how-we-know"]
# How we know: it is the gradient, and the last layer's weights come first
order, gradient = a_step.values[0]
assert np.allclose(gradient, net.gradient(net.initial(), batch)[1], rtol=1e-12, atol=1e-15)
assert [name[-3:] for name in order if name.startswith("weight")] == ["fc3", "fc2", "fc1"]
assert sum(name.startswith("input") for name in order) == 2

# %% [markdown]
# Those of the last layer: its gradient is ready while the layers before still wait for theirs.
# Lecture 06 sends it meanwhile. The first layer needs no input gradient: nobody stands before it.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Cut the table
#
# Now we distribute. A linear regression's gradient is made of a table: a row for each example, a
# column for each weight. Two workers, two ways to cut it:
#
# - **by rows**: half the examples, all weights (*data parallelism*). Each has a partial *gradient*.
# - **by columns**: all examples, half the weights (*model parallelism*). Each has a partial
#   *prediction* of every example.
#
# In both, the two parts have to be added up, so each worker (its number is its *rank*) sends its
# part to the other. Our table has 400 rows and 10 columns, a number has 8 bytes.

# %%
guess_columns = predict("Cut by columns: how many bytes does each worker send?", "bytes")
guess_columns

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: 5 minutes</summary>
#
# Let them draw both cuts first. Most expect the weights to travel in model parallelism: they stay
# where they are. Then the sliders below: when do both send as much? When the batch is as large as
# there are weights.
# </details>

# %% name="two-cuts"
table_w = rng.normal(size=10)
cuts = {"by rows": lecture_01.by_rows, "by columns": lecture_01.by_columns}


def two_workers(cut):
    """The gradient on two workers."""
    task = (cuts[cut], (patients.X_train, y), table_w)
    return player(run(*task, workers=2, backend="simulated").trace, title=f"Cut {cut}")


explore(two_workers, cut=list(cuts))

# %%
guess_columns.compare(400 * 8)

# %% tags=["how-we-know"]
# How we know: both give the gradient of one machine; what each sends
whole = patients.X_train.T @ (patients.X_train @ table_w - y)
by = {name: run(f, (patients.X_train, y), table_w, workers=2) for name, f in cuts.items()}
assert np.allclose(by["by rows"].values, whole, rtol=1e-12)
assert np.allclose(np.concatenate(by["by columns"].values), whole, rtol=1e-12)
assert by["by rows"].trace.bytes_sent() == [10 * 8] * 2
assert by["by columns"].trace.bytes_sent() == [400 * 8] * 2


# %% [markdown]
# By rows as many numbers travel as there are *weights*, by columns as many as there are *examples*
# in the batch; weights and examples stay where they are. Neither is always cheaper:


# %% name="what-is-sent"
def sent(weights, batch):
    """The bytes that each of two workers sends."""
    bytes_of = {"by rows: the gradient": 8.0 * weights, "by columns: the predictions": 8.0 * batch}
    return chart(bytes_of, unit="bytes", x_range=(0, 8 * 4096))


counts = [16, 64, 256, 1024, 4096]
explore(sent, weights=knob(counts, start=4096), batch=knob(counts, start=256))

# %% [markdown]
# There is a third thing to distribute: *whole trainings*. Sixteen learning rates on four workers
# are four trainings each, side by side, and not one message. Whoever tries hyperparameters wants
# that first; sharing *one* training pays when it takes too long, or does not fit. And cuts combine:
# a grid of workers cuts rows and columns, a pipeline cuts between layers (lecture 07).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** The curvatures of a loss are between 1 and 1,000. You take the largest learning
# rate that does not lead away, 0.002. How many steps does the flattest direction need to come ten
# times closer?
#
# <details><summary>Answer</summary>
#
# Each step multiplies it by 1 − 0.002 × 1 = 0.998. ln(10) / 0.002 = 2.3 / 0.002, about 1,150 steps.
# </details>

# %% [markdown]
# **Question 2.** Four machines share each batch: an example costs a quarter, and a step waits 2 ms
# for the network besides. In which direction does the best batch size move, and why twice?
#
# <details><summary>Answer</summary>
#
# Up. $a$ grows by 2 ms and $b$ shrinks to a quarter; both make $\sqrt{a\,B_\text{noise}/b}$ larger.
# That is why data parallelism wants large batches, whether the training does or not.
# </details>

# %% [markdown]
# **Question 3.** A colleague restarts her training three times, because the loss stands still for
# 50 steps. What do you ask before she does it again?
#
# <details><summary>Answer</summary>
#
# Whether it stood still or went down very slowly. Beside a saddle the distance grows by a factor a
# step, and nothing can be seen of it until it is of the size of the rest. A restart begins the
# waiting anew.
# </details>

# %% [markdown]
# ## What to remember
#
# - A rate below two over the largest curvature leads down. Beside our saddle, at rate 0.1, 10,000
#   times closer costs 51 steps more.
# - Four times the batch halves the noise. The fastest batch is near $\sqrt{a\,B_\text{noise}/b}$.
# - Cut by rows, gradients travel; cut by columns, predictions; whole trainings need no message.
#
# <details><summary>References</summary>
#
# L. Bottou, F. E. Curtis, J. Nocedal, "Optimization methods for large-scale machine learning", SIAM
# Review 2018. L. Dinh and others, "Sharp minima can generalize for deep nets", ICML 2017. S.
# McCandlish and others, "An empirical model of large-batch training", arXiv:1812.06162, 2018.
# </details>
#
# Next: the [exercises](../exercises/01_gradient_descent.ipynb), then
# [lecture 02](02_map_reduce.ipynb). Before: [lecture 00](00_start_here.ipynb).
