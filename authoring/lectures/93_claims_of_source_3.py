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
# Nothing here is needed for the lectures. All runs are simulated, in virtual time; 20 seconds.

# %%
import numpy as np

from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.data.digits import load_digits
from course_lib.lectures.lecture_03 import steps_to
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel, train
from course_lib.training import Plan
from course_lib.viz import claim, table

rng = np.random.default_rng(seed=3)
digits = load_digits()
X, y = digits.X_train[:1408], digits.y_train[:1408]
model = mlp(64, 32, 10)
plan = Plan(learning_rate=0.5, batch_size=128, epochs=2)

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
