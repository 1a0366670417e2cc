# %% [markdown] slideshow={"slide_type": "slide"}
# # 93 · Appendix: claims of source 3, one by one
#
# The source: the transcript of a video lecture on multi-node training with Intel's Caffe, not
# published.
#
# For each sentence that no lecture tests in its own text: the sentence, an experiment with its
# assertion, the verdict (right, imprecise, wrong) and why. Reasons and citations are rows of the
# claims ledger, `docs/claims.json`. When the course's tests run this notebook, they also run every
# experiment with a planted fault, and the assertion must fail.
#
# Nothing here is needed for the lectures. Most runs are simulated, in virtual time; 30 seconds.

# %%
import numpy as np

from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.data.diabetes import load_diabetes
from course_lib.data.digits import load_digits
from course_lib.lectures.lecture_01 import rescaled, step_seconds
from course_lib.lectures.lecture_03 import steps_to
from course_lib.models.chain import partial_loss
from course_lib.models.deep_mlp import deep_mlp
from course_lib.models.landscape import sharpness
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.models.surfaces import Quadratic, descend, escape_step, escape_steps
from course_lib.schemes import data_parallel, train
from course_lib.schemes.serial import walk
from course_lib.training import Plan
from course_lib.viz import claim, table

rng = np.random.default_rng(seed=3)
digits = load_digits()
X, y = digits.X_train[:1408], digits.y_train[:1408]
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.5, batch_size=128, epochs=2)

# %% [markdown]
# ## 3.1
#
# "Gradient descent runs through all samples of the training set for a single update."

# %% name="claim-3-1"
patients, regression = load_diabetes(), LinearRegression(n_features=10)
everybody, w = (patients.X_train, patients.y_train), np.ones(11)
all_but_one = (patients.X_train[1:], patients.y_train[1:])
change = regression.gradient(w, all_but_one)[1] - regression.gradient(w, everybody)[1]
one = (patients.X_train[:1], patients.y_train[:1])
assert np.abs(change).max() > 1e-3
assert regression.flops(everybody) == 400 * regression.flops(one)

# %% [markdown]
# **Verdict on 3.1: right.** Leave one of 400 out and it is another gradient; 400 times the
# arithmetic buys one update.

# %% [markdown]
# ## 3.2
#
# "Gradient descent gets stuck at saddle points, which are very common in high dimensions; AlexNet
# has 60 million [parameters]." On $x^2 - y^2$, from (1, offset), until the distance along y is 1.

# %% name="claim-3-2"
saddle = Quadratic((2.0, -2.0))
for offset in (1e-2, 1e-4, 1e-8, 1e-16):
    k = escape_step(descend(saddle, (1, offset), 0.1, 400))
    assert 0 <= k - escape_steps(offset, 1.2) < 1
assert escape_step(descend(saddle, (1, 0), 0.1, 400)) is None
for noise in (1e-1, 1e-3, 1e-6):
    tried = [descend(saddle, (1, 0), 0.1, 400, noise, seed) for seed in range(21)]
    median = np.median([escape_step(path) for path in tried])
    scale = 0.1 * noise / np.sqrt(1.2**2 - 1)  # the standard deviation of the offset that it makes
    assert abs(median - escape_steps(0.6745 * scale, 1.2)) < 4  # 0.6745: half of all are below

# %% [markdown]
# **Verdict on 3.2: imprecise.** It is *delayed*, by a logarithm of the offset. Only a set of starts
# without volume never leaves (Lee and others 2016), here the line y = 0, and noise of any size
# frees these, too. Through many saddles in a row the delays can multiply: exponential time without
# noise (Du and others 2017), little with it (Jin and others 2017).

# %% [markdown]
# ## 3.3
#
# "Gradient descent is thought to converge to sharp minima more often, where small differences
# between training and test matter much." 256 images, seven seeds: batches of 8 for 20 epochs, which
# is 640 steps, and all 256 at once for as many steps.


# %%
def trained(batch_size, epochs, seed):
    """Train; return parameters, loss, test accuracy, sharpness, and the length of the way."""
    few, net = (X[:256], y[:256]), mlp(64, 16, 10)
    w, way = net.initial(seed), 0.0
    for _, after in walk(net, *few, Plan(0.2, batch_size, epochs=epochs, seed=seed)):
        way, w = way + np.linalg.norm(after - w), after.copy()
    accuracy = np.mean(net.predict(w, digits.X_test) == digits.y_test)
    return w, net.loss(w, few), accuracy, sharpness(net, w, few), way


n_seeds = 7
small = [trained(8, 20, seed) for seed in range(n_seeds)]
steps_too = [trained(256, 640, seed) for seed in range(n_seeds)]

# %% name="claim-3-3"
net, factor, sharper = mlp(64, 16, 10), 30.0, []
for w, _, _, sharp, _ in small:
    twin = rescaled(net, w, factor)
    assert (net.outputs(twin, X) - net.outputs(w, X)).abs().max() < 1e-9
    sharper.append(sharpness(net, twin, (X[:256], y[:256])) / sharp)
as_good = [abs(a[2] - b[2]) for a, b in zip(small, steps_too, strict=True)]
assert min(sharper) > 10
assert max(as_good) < 0.03

# %% [markdown]
# **Verdict on 3.3: imprecise.** Keskar and others (2017) saw sharper minima. Ours are, in most
# seeds, and as good on the test images once gradient descent has as many *steps* (Hoffer and others
# 2017). And the number alone means little: the same function can be as sharp as we like (Dinh and
# others 2017).

# %% [markdown]
# ## 3.4
#
# "SGD is more exploratory, converges to flatter minima, and is computationally more efficient." The
# runs of 3.3, and all 256 at once for as many *epochs*.

# %% name="claim-3-4"
batch_size = 8
of_sgd = small if batch_size == 8 else [trained(batch_size, 20, seed) for seed in range(n_seeds)]
epochs_too = [trained(256, 20, seed) for seed in range(n_seeds)]
longer = [a[4] / b[4] for a, b in zip(of_sgd, steps_too, strict=True)]
ahead = [b[1] / a[1] for a, b in zip(of_sgd, epochs_too, strict=True)]
flatter = [bool(a[3] < b[3]) for a, b in zip(of_sgd, steps_too, strict=True)]
assert min(longer) > 3
assert min(ahead) > 10
assert n_seeds / 2 < sum(flatter) < n_seeds
table({seed: {"flatter": flat} for seed, flat in enumerate(flatter)})

# %% [markdown]
# **Verdict on 3.4: imprecise.** A way several times as long and far ahead after as many epochs: in
# every seed. Flatter: in most, not in all. That flatness is why SGD works is contested.

# %% [markdown]
# ## 3.5
#
# "Nearly all deep-learning models are trained with some variant of stochastic gradient descent."
#
# **Verdict on 3.5: right;** a citation settles it (Bottou, Curtis and Nocedal 2018). Of PyTorch's
# optimisers, LBFGS alone must evaluate the loss several times in a step.

# %% [markdown]
# ## 3.6
#
# "Small batches do not use the hardware efficiently; large ones behave like gradient descent." A
# worker process measures the time of a gradient, three times; and we compare the direction of a
# batch's gradient with that of all images.

# %%
sizes, data = (1, 64), (X, y)
times = np.min([run(step_seconds, model, data, sizes, workers=1).values[0] for _ in range(3)], 0)
examples_a_second = dict(zip(sizes, sizes / times, strict=True))

# %% name="claim-3-6"
large, cosines = 352, {}
w = model.initial()
whole = model.gradient(w, data)[1]
for size in (1, large):
    drawn = [rng.choice(1408, size, replace=False) for _ in range(20)]
    parts = [model.gradient(w, (X[k], y[k]))[1] for k in drawn]
    cosines[size] = min(g @ whole / np.linalg.norm(g) / np.linalg.norm(whole) for g in parts)
assert examples_a_second[64] > 3 * examples_a_second[1]
assert cosines[large] > 0.8
assert cosines[1] < 0.5

# %% [markdown]
# **Verdict on 3.6: right.** One image at a time, a process computes fewer than a third of the
# images a second. The gradient of a quarter of the images has nearly the direction of all. In
# between, the time to a loss has its minimum (lecture 01; McCandlish and others 2018).

# %% [markdown]
# ## 3.10
#
# With three nodes one cannot make the batch three times as large, because the time to train
# increases. Steps to a loss of 0.5 on the test images for each batch, at one rate for both and each
# at its own best of five, the median of three seeds; a node keeps 32 images.

# %%
rates = (0.28, 0.4, 0.57, 0.8, 1.13)


def median_steps(size, rate):
    """The median of three seeds; infinity where 250 steps do not do."""
    plans, sets = [Plan(rate, size, seed=seed) for seed in range(3)], (digits.X_test, digits.y_test)
    return float(np.median([steps_to(model, (X, y), sets, how, 0.5, most=250) for how in plans]))


# %% name="claim-3-10"
tripled = 96
untuned = {size: median_steps(size, 0.1) for size in (32, tripled)}
best = {size: min(median_steps(size, rate) for rate in rates) for size in (32, tripled)}
assert untuned[tripled] > 0.9 * untuned[32]
assert 1.2 < best[32] / best[tripled] < 1.6
table({
    size: {"steps at a rate of 0.1": untuned[size], "at its best rate": best[size],
           "epochs, at its best": round(best[size] * size / len(y), 1)}
    for size in (32, tripled)
})  # fmt: skip

# %%
claim("3.10")

# %% [markdown]
# ## 3.12
#
# "On a single node, x examples go forward, then *data gradients* are computed from layer to layer,
# and the weights are updated with the *weight gradients*." Three equal layers, written out: `dy` is
# the data gradient that enters a layer from behind.

# %% name="claim-3-12"
chain = deep_mlp(64, 64, 64, 64)
w, update = chain.initial(), np.zeros(chain.n_parameters)
passed, saved = X[:32], []
for part, layer in zip(chain.parts, chain.layers, strict=True):
    passed, kept = part.forward(w[layer.part], passed)
    saved.append(kept)
dy, ready = partial_loss(passed, y[:32])[1], []
for part, layer, kept in zip(chain.parts[::-1], chain.layers[::-1], saved[::-1], strict=True):
    update[layer.part] = part.weight_gradient(kept, dy)
    dy = part.input_gradient(w[layer.part], kept, dy)
    ready.append(part.name)
expected = chain.gradient(w, (X[:32], y[:32]))[1]
assert ready == ["fc3", "fc2", "fc1"]
assert np.allclose(update, expected, rtol=1e-12, atol=1e-15)
assert chain.loss(w - 0.1 * update, (X[:32], y[:32])) < chain.loss(w, (X[:32], y[:32]))

# %% [markdown]
# **Verdict on 3.12: right.** A layer's weight gradient needs the data gradient of the layer behind
# it. So the last layer's is ready first, which will hide communication (lecture 06). The first
# layer's data gradient is needed by nobody (Rumelhart, Hinton and Williams 1986).

# %% [markdown]
# ## 3.13
#
# 32 nodes add up their weight gradients; the result is numerically identical to that of one node
# with the large batch.


# %%
def first_gradient(comm, model, allreduce):
    """The gradient of the plan's first batch, added up with this all-reduce."""
    examples, weight = next(plan.shares(len(y), comm.rank, comm.size))
    grad = model.gradient(model.initial(), (X[examples], y[examples]))[1]
    return allreduce(comm, weight * grad)


# %%
def in_all_orders(model):
    """The same gradient, its parts added up in four orders."""
    orders = [ALLREDUCES[name] for name in ("central", "tree", "butterfly", "ring")]
    runs = [run(first_gradient, model, f, workers=32, backend="simulated") for f in orders]
    return np.array([r.values[0] for r in runs])


# %%
whole_numbers = rng.integers(-2, 3, size=(128, 3)) * 1.0, rng.integers(-4, 5, size=128) * 1.0
line, gently = LinearRegression(3), Plan(learning_rate=0.25, batch_size=64, epochs=2)

# %% name="claim-3-13"
numbers, n_equal = whole_numbers, 0
expected = train(line, *numbers, gently).w.tobytes()
for f in ALLREDUCES.values():
    task = (data_parallel, line, *numbers, gently, f)
    got = run(*task, workers=32, backend="simulated").values
    n_equal += {value.w.tobytes() for value in got} == {expected}
print(f"whole numbers: {n_equal} of {len(ALLREDUCES)} all-reduces give one machine's bits")
single, double = (in_all_orders(mlp(64, 32, 10, dtype=name)) for name in ("float32", "float64"))
n_single, n_double = (len({grad.tobytes() for grad in made}) for made in (single, double))
print(f"float32: {n_single} different results from 4 orders; float64: {n_double}")
assert n_equal == len(ALLREDUCES)
assert n_single > 1 < n_double

# %%
for name, made, unit in (("float32", single, 1e-6), ("float64", double, 1e-15)):
    spread = np.ptp(made, axis=0).max() / np.abs(made).max()
    print(f"{name}: orders differ by less than {unit:.0e} of the largest: {spread < unit}")
    assert spread < unit

# %% [markdown]
# **Verdict on 3.13: imprecise.** Identical in exact arithmetic, and to the bit where numbers need
# no rounding. In floating point it depends on the order of adding; with BatchNorm it is something
# else (lecture 03).

# %% [markdown]
# ## 3.19
#
# With very large batches the time to train becomes large, and the accuracy of small batches is not
# reached. All 1,408 images are one batch; both sizes at a rate that is best for them.


# %%
def accuracies(size, rate, epochs):
    """Of three seeds, in percent."""
    plans = [Plan(rate, size, epochs=epochs, seed=seed) for seed in range(3)]
    read = [model.predict(train(model, X, y, how).w, digits.X_test) for how in plans]
    return [round(100 * float(np.mean(one == digits.y_test)), 1) for one in read]


# %% name="claim-3-19"
large = 1408
found = {("32", 30): accuracies(32, 0.4, 30), ("all", 100): accuracies(large, 0.8, 100)}
found["all", 300] = accuracies(large, 0.8, 300)
median = {key: float(np.median(of_seeds)) for key, of_seeds in found.items()}
assert max(found["all", 100]) < min(found["32", 30]) - 0.5
assert median["all", 100] < median["all", 300] > median["32", 30] - 1
table({
    f"batch {size}, {epochs} epochs": {"accuracy, median %": median[size, epochs],
                                       "worst": min(of_seeds), "best": max(of_seeds)}
    for (size, epochs), of_seeds in found.items()
})  # fmt: skip

# %%
claim("3.19")

# %% [markdown]
# ## What to remember
#
# - Compare batch sizes each at its own best rate, over several seeds.
# - Adding in another order changes the last digits, not the algorithm.
# - Larger batches need fewer steps and more epochs; the accuracy of small ones comes much later.
