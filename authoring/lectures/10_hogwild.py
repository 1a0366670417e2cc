# %% [markdown] slideshow={"slide_type": "slide"}
# # 10 · Hogwild: what if nobody even locks?
#
# After this you can
#
# - find the moment in which an update is lost, and replay the run without it
# - say which part of all updates is lost if all store at once, and why sparse ones forgive it
# - say when memory that all share is slower than one core, and measure it on yours
#
# Part 1 takes 14 minutes, part 2 takes 14; plan twice that if you try everything. Needs: 2
# processes, no GPU. Before: [lecture 09](09_asynchronous_sgd.ipynb), from which you should know
# what the age of a gradient is. Then: the [exercises](../exercises/10_hogwild.ipynb), and
# [lecture 11](11_sync_or_async.ipynb), in which all schemes race.

# %% tags=["set-up"]
# Set-up: imports; every draw below has its seed
from dataclasses import replace

import numpy as np
import torch
import torch.multiprocessing as mp

from course_lib import networks, run
from course_lib.data.text_like import text_like
from course_lib.lectures import lecture_10
from course_lib.lectures.lecture_10 import drawn, in_turn, on_memory, outcomes, trained
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import hogwild
from course_lib.trace.replay import find_note, service_times
from course_lib.training import Plan
from course_lib.viz import claim, explore, knob, predict, race, source, table, timeline

LOCKS = {"no lock": "none", "8 locks": "striped", "one lock": "one"}

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 28 minutes</summary>
#
# Run all cells before class. Part 1 is 14 minutes, part 2 is 14. To be shorter, leave out "A
# counter that is wrong in the same way" and "The same with PyTorch".
#
# Game: a number on the board. Two students, each with a slip: "read the number, sit down, add 1,
# walk to the board, wipe it, write your sum". Ten rounds. What stands there?
#
# Common misconceptions: "Hogwild loses nothing, it is proven" (the analysis is about other things);
# "a lock makes it synchronous" (gradients are as old as before); "more cores are faster" (one lock,
# and they are not); "the gradients are shared" (they are private).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · An update is lost
#
# ## One vector for all
#
# Downpour has a server, and every replica a copy. On one computer neither is needed: all workers
# can reach the same memory. *Hogwild* (Niu and others 2011) keeps one vector of parameters there.
# Every worker computes a gradient on examples of its own, and changes the parameters: no server, no
# copies, no messages, and nobody waits. Only the parameters are shared; a gradient is its worker's.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: one vector for all, 3 minutes</summary>
#
# Ask which lines of the loop read from shared memory, and which write. Then: what may happen
# between `loaded` and the line that stores? Somebody will ask for a lock; there are two lines for
# it, `take` and `release`, and without a lock they do nothing.
# </details>

# %%
claim("0.12")

# %% [markdown]
# The library's loop for an update. `w` is shared, and so is `seen`, a counter that we come to
# below; `own` and `grad` are the worker's; `part` is all parameters, unless there are several
# locks.

# %%
source(hogwild, part="for number")

# %% [markdown]
# Read it as three steps: *load* what is there, *add* the step, *store* what came out. A processor
# does the same for a single number: `w[j] -= step` is a load, a subtraction, a store. Between the
# load and the store somebody else may have stored.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Load, add, store
#
# Two cores, each with a worker, and one parameter; each adds once. In this picture the memory is a
# rank of its own: it answers loads, and keeps what is stored. A box's cell is the parameter as that
# box knows it, half full with one addition in it, full with both. Press *play*.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: load, add, store, 4 minutes</summary>
#
# Step, do not play: after each step ask what the memory holds, and what each core believes. For the
# prediction let them write a number; nearly all write 10. Then let two students act the second
# picture: each sits down once for a long time, with an old number on the slip, and does the damage.
# </details>

# %%
in_turn([1, 2, 1, 2]).player("Turns: core 1 loads, core 2 loads, 1 stores, 2 stores", moments=4)

# %% [markdown]
# Core 2 had loaded before core 1 stored. So its sum has core 1's addition not in it, and it
# overwrites: a *lost update*. Nobody has made an error that a program could notice.
#
# Now each core adds 1 *ten* times, to a counter that is 0 at first. At most it says 20 in the end.
# What is the least?

# %%
guess_least = predict("Two cores, ten additions each: what is the least?", "additions")
guess_least

# %%
guess_least.compare(min(outcomes([10, 10])))

# %% [markdown]
# Two! (`outcomes` goes through every order of turns.) It takes only two long interruptions. Here
# with three additions each; play it, and watch the memory's cell become *emptier*.

# %%
order = [2, 1, 1, 1, 1, 2, 1, 2, 2, 2, 2, 1]
in_turn(order).player(moments=6)

# %% [markdown]
# Core 2 loads 0, and is interrupted while core 1 adds twice: then it stores its 1. Core 1 loads
# that 1, and is interrupted while core 2 adds twice more: then it stores 2. An old store throws
# away *everything* that came since its load. (Why not 1? The last store is one more than its load,
# and that load came after a store of the same core.)

# %% [markdown]
# A server does not lose anything: what a worker sends is not the sum, but what is to be *added*,
# and the server alone adds. Such an addition is *atomic*: in one piece, nobody comes between.

# %%
claim("2.13")

# %% tags=["how-we-know"]
# How we know: all outcomes, by going through all orders; the two that were played are among them
assert outcomes([10, 10]) == set(range(2, 21))
assert outcomes([1, 1]) == {1, 2}
assert 1 in outcomes([1, 10])
assert [in_turn(turns).kept for turns in ([1, 2, 1, 2], [1, 1, 2, 2], order)] == [1, 2, 2]
assert len(in_turn(order).lost_at) == 2
added = on_memory(drawn(2, 4, 8, 8), by_memory=True)
assert added.kept == added.made == 64

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Catch it in the act
#
# The same in a training: two workers, a logistic regression with four features, three steps each.
# The scheme notes when updates are missing after a store. We look for the first note, and ask which
# gradient came too early.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: catch it in the act, 3 minutes</summary>
#
# Point at the two "update" spans that overlap in the upper run. Ask what would have to change so
# that they do not. Then show that one gradient that takes a little longer is enough, and that this
# happens on every computer all the time: with other programs, with a warm cache, in a debugger.
# </details>

# %%
rng = np.random.default_rng(1)
X, y = rng.normal(size=(6, 4)), np.tile([0, 1, 1], 2)
net, plan = replace(networks.ethernet_10g, flops_per_s=20.0), Plan(0.5, batch_size=2, epochs=1)
problem = (hogwild, LogisticRegression(4), X, y, plan)
seen = run(*problem, workers=2, backend="simulated", network=net).trace
lost = find_note(seen, "lost_update")
table({"first loss": {"worker": lost.rank, "at": round(lost.time_s, 2), "numbers": lost.value}})

# %% [markdown]
# All five parameters of the other's update are gone: four features and the intercept. As in lecture
# 09, keep the times, change one, run again: that worker's gradient takes half a second longer.

# %%
seconds = service_times(seen)
turn = sum(s.end_s <= lost.time_s for s in seen.computes if s.rank == lost.rank) - 2
seconds[lost.rank][turn] += 0.5
changed = run(
    *problem, workers=2, backend="simulated", network=net.with_service_times(seconds)
).trace
timeline({"as it was": seen, "one gradient longer": changed}, title="Two workers, no lock")

# %% [markdown]
# Above, both load before either stores, three times. Below, worker 0 loads what worker 1 has
# stored, and only in the last step do they meet again. This is why such errors hide: a debugger, a
# log line, another program, and the times are others.

# %% tags=["how-we-know"]
# How we know: the same times are the same run, to the bit; what was lost is lost, and then not
again = net.with_service_times(service_times(seen))
assert run(*problem, workers=2, backend="simulated", network=again).trace.to_json() == (
    seen.to_json()
)
assert lost.value == 5
assert [len(trace.notes_named("lost_update")) for trace in (seen, changed)] == [3, 1]
assert changed.notes_named("lost_update")[0].time_s > seen.end_s

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A counter that is wrong in the same way
#
# How does one count what leaves no trace? Beside each parameter the scheme keeps a number, `seen`,
# and adds 1 to it whenever it stores: loaded and stored like the parameter. So it loses what the
# parameter loses: in virtual time exactly, on a processor, where the two are stored one after the
# other, about as much. Each worker also counts its own stores, where nobody else writes. The
# difference is what is lost.
#
# Two processes on this computer, real memory; each step changes about 2 of 100 parameters, about 10
# of 1,000 (the same may be drawn twice), or all of 100. Ten short rounds, begun together:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a counter, 1 minute</summary>
#
# The numbers are another each time, and on a busy computer, where both workers share one core,
# there may be none. Ask why the column of a lock must be 0 all the same. (An atomic exchange: who
# writes 1 and finds 0 has the lock. `course_lib/training/locks.py`.)
# </details>

# %% tags=["nbval-ignore-output"] name="lost-here"
lost_here = lecture_10.lost_here()
lost_here

# %% [markdown]
# With a lock nothing is lost. Without one it depends on your computer, and on what else runs there.
# On a processor each parameter has a window of its own, some nanoseconds, or as long as a store
# must wait for its place in memory while the other core goes on. (Workers that take turns on one
# core meet only if one is interrupted in a window: seldom, where it is so short.) In virtual time,
# without a lock, there is one window, as wide as the whole update, so that one can see it: the
# pictures show *what* happens, the table above how often it does here.

# %% tags=["how-we-know"]
# How we know: whatever the times, a lock loses nothing, and nobody loses more than was stored
rows = {row[0]: row[1:] for row in lost_here.rows}
assert [rows[name][1] for name in rows if "one lock" in name] == ["0"] * 3
counts = [[int(text.replace(",", "")) for text in row[:2]] for row in rows.values()]
assert all(0 <= n_lost <= n_stored for n_stored, n_lost in counts)
for lock in ("striped", "one"):
    assert lecture_10.share_lost(trained(10, 2, lock), 10) == 0

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Sparse updates rarely meet
#
# Text is *sparse*: of 1,000 words a document has some ten, and its gradient is 0 for all others. An
# update stores only those. Two workers load at the same moment, and store at the same moment; each
# changes 10 of 1,000 parameters, all equally likely. Which part of all stores is lost?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: sparse updates, 3 minutes</summary>
#
# The usual answer is 1 %: the chance that a parameter is the other's, too. But of two stores that
# meet only one is lost. Do two workers on the board, then the dense case: of P stores P - 1.
# </details>

# %%
guess_lost = predict("10 of 1,000 parameters each: lost, in percent of all stores?", "%")
guess_lost

# %%
guess_lost.compare(round(100 * lecture_10.lost_share(2, 10, 1000), 3))

# %% [markdown]
# A parameter of mine is also the other's with chance $10/1000$; then one of the two stores is lost:
# half a percent. For $P$ workers, $k$ of $d$ parameters: a parameter is changed by at least one
# with chance $1 - (1 - k/d)^P$, and then exactly one store stays. Of $Pk$ stores
#
# $$1 - \frac{d}{Pk}\left(1 - \left(1 - \frac kd\right)^P\right)$$
#
# are lost. Dense ($k = d$): $1 - 1/P$. Real words are not equally likely: by Zipf's law more than
# ten times that half percent is lost. Nor is it a bound: a core that is interrupted for long loses
# more, as two long interruptions above lost 18 of 20. Move *workers*: curve by formula, points
# counted.

# %%
explore(lecture_10.lost_share_chart, workers=knob([2, 4, 8, 16], start=4))

# %% [markdown]
# The formula is for one window, and not for your processor. It says 1 % for 2 of 100, half a
# percent for 10 of 1,000, and half of all stores for dense examples. Compare the table of your
# computer (no lock, if anything was lost). With a window for each parameter, stores meet the more
# often the *fewer parameters* there are. Whether an update changes 2 or all of 100 matters far less
# than in the formula (of more parameters it may matter more): few of 100 can lose more than it
# says, and all of 100 lose less.

# %% [markdown]
# Now in motion: eight parameters, four updates a core, random times. *Touched*: how many of the
# eight an update adds to. Which cells of the memory stay not full? Then let the memory add.


# %%
def cores_at_work(touched, cores, adds):
    """Cores add to parameters drawn at random."""
    updates = drawn(cores, 4, 8, touched)
    return on_memory(updates, seed=1, by_memory=adds == "the memory").player(moments=3)


explore(cores_at_work, touched=knob([1, 2, 4, 8], start=4), cores=[2, 3, 4],
        adds=["the core", "the memory"])  # fmt: skip

# %% tags=["how-we-know"]
# How we know: the formula for two is the sum on the board; more touched, more lost; none by memory
assert np.isclose(lecture_10.lost_share(2, 10, 1000), 0.5 * 10 / 1000)
assert np.isclose(lecture_10.lost_share(8, 5, 5), 1 - 1 / 8)
assert 1 - min(outcomes([10, 10])) / 20 == 18 / 20 > lecture_10.lost_share(2, 5, 5)
words = text_like(2000, 1000, 10, seed=1).X  # by Zipf's law; two rows at a time
n_met = words[::2].multiply(words[1::2]).nnz
assert n_met / words.nnz > 10 * lecture_10.lost_share(2, 10, 1000)
for P in (2, 4, 8, 16):
    for name, k, counted in lecture_10.lost_share_chart(P).chart["points"]:
        assert abs(counted - 100 * lecture_10.lost_share(P, int(k), 100)) < 3, (P, name)
runs = [on_memory(drawn(2, 4, 8, touched), seed=1) for touched in (1, 2, 4, 8)]
shares = [made.kept / made.made for made in runs]
assert shares == sorted(shares, reverse=True)
assert shares[0] == 1 > shares[-1]

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · What it does, and what it costs
#
# ## What a lost update does
#
# A lost update is a step that nobody has taken. Nothing wrong is in the parameters: each is the sum
# of some steps, not of all. So losing is like fewer steps or, while they are small, a smaller rate.
# Is a lock better, then?
#
# The bowl of lecture 09, four workers, equal times; they meet after every step, so all load at
# once. Each gradient is the whole bowl's; the slider is the rate of its step, times the curvature.
# *A lock* keeps all four steps, *no lock* one. At rate 0.2, who is nearer to the bottom after
# twelve steps? At 0.6?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: what a lost update does, 3 minutes</summary>
#
# Begin at 0.2: the lock wins. Ask for a bet at 0.6, then move the slider. The class of lecture 09
# has the reason: four gradients of the same parameters, added up, are one step of four times the
# rate, and 2/4 is the edge. Losing three of four is no virtue, it is the rate that was too large.
# </details>

# %%
explore(lecture_10.walks, rate=knob([0.1, 0.2, 0.4, 0.6, 1.0], label="rate × curvature", start=0.2),
        times=["equal", "uneven"])  # fmt: skip

# %% [markdown]
# At 0.2 the lock has come farther. At 0.6 it swings out of the picture: four gradients of the same
# parameters make one step of $4 \times 0.6 = 2.4$, past the edge of 2. Without the lock one of the
# four is left, and is stable. A lock protects the sum of the steps, not the training: gradients are
# as old with it as without.

# %%
table({
    name: {"mean age of a gradient": round(float(np.mean([
        note.value for note in trained(10, 4, lock).notes_named("staleness")])), 2)}
    for name, lock in LOCKS.items()
})  # fmt: skip

# %% [markdown]
# (8 locks: each for an eighth of the parameters.) Four workers: nearly three updates, as in lecture
# 09, lock or not. These locks cure one defect of Hogwild: updates that are lost. Gradients that are
# old it has in common with Downpour, but where an example has 10 of 1,000 parameters, all equally
# likely, few of these have changed meanwhile. (A gradient can also be of parameters of which
# another has changed only some, for none is locked while it is computed: on a processor whatever
# the lock, in virtual time with 8 locks. The analysis of 2011 is reported to assume that adding to
# one number is atomic, so that nothing is lost, and to bound the age.)

# %% tags=["how-we-know"]
# How we know: by hand, a round is one step of four times the rate with a lock, of once without
ends = {
    (rate, lock): lecture_10.on_bowl(rate, lock).notes_named("w")[-1].value
    for rate in (0.2, 0.6) for lock in ("one", "none")
}  # fmt: skip
lost_on_bowl = lecture_10.on_bowl(0.6, "none").notes_named("lost_updates")[0].value
assert lost_on_bowl == 3 * 12 * 2, "of two numbers, by three of four, twelve times"
away = {key: np.hypot(w[0] - 2, w[1] - 1) for key, w in ends.items()}
for rate in (0.2, 0.6):
    for lock, kept in {"one": 4, "none": 1}.items():
        slope = ends[rate, lock][1]
        assert np.isclose(slope - 1, -((1 - kept * rate) ** 12), rtol=1e-6, atol=0)
assert away[0.2, "one"] < away[0.2, "none"] / 3
assert away[0.6, "none"] < 1 < 50 < away[0.6, "one"]
ages = {lock: np.mean([note.value for note in trained(10, 4, lock).notes_named("staleness")])
        for lock in LOCKS.values()}  # fmt: skip
assert max(ages.values()) - min(ages.values()) < 0.1
assert 2.8 < min(ages.values()) < 3
alike = (text_like(400, 1000, 10, exponent=0, seed=1).X != 0).astype(int)
others = alike[1:-2] + alike[2:-1] + alike[3:]  # the three that update meanwhile
assert alike[:-3].multiply(others).nnz < 0.1 * alike.nnz

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Dense against sparse
#
# Logistic regression, 100 parameters, all equally likely, 48 examples, four workers; the rate is
# the same for all, so that one sees what losing does to it. Look at the axis *updates* first, then
# at *time*.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: dense against sparse, 3 minutes</summary>
#
# By updates: of the sparse curves one can hardly tell which has the lock; of the dense ones one
# can. By time: one lock makes four workers wait in a row. For dense examples what is lost costs
# more than the waiting: in virtual time, where the window between load and store is wide. Ask why
# the sparse ones wait longer than the dense: not because they are sparse, but because this version
# takes a step of all 101 parameters for two words, so that nearly all work is done under the lock.
# </details>

# %%
race({f"{name}, {lock}": trained(k, 4, LOCKS[lock])
      for name, k in {"sparse": 2, "dense": 100}.items() for lock in ("no lock", "one lock")},
     note="loss",
     title="Loss over all examples; an update is one of each worker")  # fmt: skip

# %%
table({
    name: {"stores lost, %": round(100 * lecture_10.share_lost(trained(k, 4), k), 1)}
    for name, k in lecture_10.SPARSITY.items()
})  # fmt: skip

# %% [markdown]
# Two words of 100, and yet so many stores lost? Look for the one parameter that is not sparse: the
# *intercept*. Every example changes it, and most of what is lost is lost there. So the library's
# fast version, `hogwild_sparse`, gives every worker an intercept of its own, and adds up the
# changes after each batch. (A short one: where each has found the best alone, the sum goes $P$
# times as far.)

# %% [markdown]
# Dense: more than half of all stores are lost. It learns all the same, only less far: here about
# as with a rate that is smaller by that part. So in virtual time, at this rate, the lock is ahead
# nearly always, though its workers wait in a row. Sparse: on the whole a lock improves the loss by
# next to nothing.

# %% [markdown]
# That in virtual time it takes nearly four times as long is not due to sparse examples, but to this
# readable version: its update loads all 101 parameters and takes a step of each, 202 flops, for two
# words whose gradient takes 12 (it stores only what has changed). So nearly all work is done under
# the lock. An update of only what has changed, as in `hogwild_sparse`, keeps a lock for less.

# %%
claim("4.7")

# %% [markdown]
# (The appendix counts another problem: ten of 1,000 words. There the intercept is a smaller part.)


# %% tags=["how-we-know"]
# How we know: without an intercept little is lost; the losses that the text compares
class WordsOnly(LogisticRegression):
    """Leaves the intercept as it is."""

    def gradient(self, w, batch, weight=1.0):
        loss, grad = super().gradient(w, batch, weight)
        return loss, grad * (np.arange(len(grad)) > 0)


_, texts, about = lecture_10.problem(2)
wordy = Plan(4 * lecture_10.STEP, 4, lecture_10.EPOCHS)
by_words = run(hogwild, WordsOnly(100), texts, about, wordy, workers=4, backend="simulated").trace
n_words = by_words.notes_named("lost_updates")[0].value
n_lost = trained(2, 4).notes_named("lost_updates")[0].value
assert 0 < n_words < n_lost / 4
epoch = 48 // 4  # how many updates rank 0 makes in the last
last = {(k, lock): np.mean([n.value for n in trained(k, 4, lock).notes_named("loss")[-epoch:]])
        for k in (2, 100) for lock in ("none", "one")}  # fmt: skip
fall = {key: np.log(2) - loss for key, loss in last.items()}  # from what it is at the start
assert abs(fall[2, "none"] / fall[2, "one"] - 1) < 0.1
assert fall[100, "none"] / fall[100, "one"] < 0.7
assert last[100, "none"] / last[100, "one"] > 1.2
assert last[100, "none"] < 0.6 < np.log(2), "less far, but farther than at the start"
gone = lecture_10.share_lost(trained(100, 4), 100)
assert gone > 0.5
free, smaller = (trained(100, 4, *how).notes_named("loss")[-1].value
                 for how in (("none",), ("one", lecture_10.STEP * (1 - gone))))  # fmt: skip
assert abs(free / smaller - 1) < 0.05, "as with a rate that is smaller by that part"
ahead = {}  # how often the lock has the smaller loss, while both still train
for k in (2, 100):
    free, locked = (trained(k, 4, lock).notes_named("loss") for lock in ("none", "one"))
    moments = np.linspace(0, free[-1].time_s, 200)
    now = [np.array([n.value for n in notes])[np.searchsorted([n.time_s for n in notes], moments,
                                                              "right") - 1]
           for notes in (free, locked)]  # fmt: skip
    ahead[k] = np.mean(now[1] < now[0])
assert ahead[2] < 0.1 < 0.85 < ahead[100]
spans = [s for s in trained(2, 4, "one").computes if s.rank == 0]
took = {label: np.mean([s.end_s - s.start_s for s in spans if s.label == label])
        for label in ("gradient", "update")}  # fmt: skip
assert LogisticRegression(100).flops((texts[:1], about[:1])) == 12
assert took["update"] > 10 * took["gradient"], "nearly all work is done under the lock"
assert 3.5 < trained(2, 4, "one").end_s / trained(2, 4).end_s < 4

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same with PyTorch
#
# A PyTorch tensor can lie in shared memory, too: `share_memory_()`. Two processes, started by
# `torch.multiprocessing`, step the same tensor without a lock; rows have 5 of 1,000 columns. This
# is what each process does (and ours, on `comm.shared_array`):

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: PyTorch, 2 minutes</summary>
#
# The first half is exact because the two processes have no column in common: say so. The second
# half is what happens when they have one. `counter[0] += 1` is one line of Python and many
# instructions; whoever believes that Python's lock protects it has forgotten that these are
# processes.
# </details>

# %%
source(lecture_10.torch_steps)


# %% name="rosetta"
def our_steps(comm, *rows):
    """The same on memory that our workers share."""
    w = comm.shared_array(1000)
    lecture_10.torch_steps(comm.rank, w, *rows)
    comm.barrier()
    return w.copy()


rows = lecture_10.two_halves()
theirs = torch.zeros(1000, dtype=torch.float64).share_memory_()
mp.spawn(lecture_10.torch_steps, (theirs, *map(torch.from_numpy, rows)), nprocs=2)
ours = run(our_steps, *rows, workers=2).values[0]
{"the same parameters": bool(np.abs(theirs.numpy() - ours).max() < 1e-12)}

# %% [markdown]
# Equal in every run, without a lock: these rows never meet, one process has the first 500 columns,
# the other the rest. Now the opposite: both add 1 to the *same* number, 200,000 times each. What is
# left of 400,000?

# %% tags=["nbval-ignore-output"] name="counters"
counter = torch.zeros(1, dtype=torch.float64).share_memory_()
ready = torch.zeros(2).share_memory_()
mp.spawn(lecture_10.count_with_torch, (counter, ready, 200_000), nprocs=2)
ours_left = run(lecture_10.count_with_us, 200_000, workers=2).values[0]
left = {"PyTorch": int(counter), "ours": ours_left}
table({name: {"of 400,000": n, "lost, %": round(100 - n / 4000, 2)} for name, n in left.items()})

# %% [markdown]
# Another number each time, and neither library says a word. In PyTorch's line little time lies
# between load and store, in NumPy's most of it: one is lucky more often than the other. (For
# NumPy's one core for both is no help: who is interrupted in between throws away all that the other
# added.)

# %% tags=["how-we-know"]
# How we know: where rows never meet, all steps count, in whatever order; a counter has its bounds
alone = np.zeros(1000)
for process in (1, 0):
    lecture_10.torch_steps(process, alone, *rows)
assert np.abs(alone - ours).max() < 1e-12
assert np.abs(ours).max() > 0.1
assert all(2 <= n <= 400_000 for n in left.values())

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Slower than one core
#
# The loop of `hogwild_sparse`, compiled, on processes of this computer: rows with 2, 10 and all of
# 100 parameters, and with 40 of 1,000,000; no lock, 8 locks (of 100 parameters 7: each has 16, a
# power of 2), one lock; and two workers with a vector each. Two workers have twice the cores. With
# one lock, and rows of 10: how many times as fast as *one* worker without a lock?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: slower than one core, 3 minutes</summary>
#
# The last row is the control: the same steps, but no vector is shared. Let the class find where two
# workers without any lock are slower than one, then ask what the last row rules out: the loop, the
# second core, the operating system. What is left is memory that both write to. A core
# can only write to a *cache line* (64 bytes, 8 parameters) that it has alone. The line of a lock is
# one of them.
# </details>

# %%
guess_lock = predict("Two workers, one lock: how many times as fast as one worker?", "times")
guess_lock

# %% tags=["nbval-ignore-output"] name="measured"
here, spread, n_together = lecture_10.measured_here()
guess_lock.compare(round(here[2, "10 of 100", "one"] / here[1, "10 of 100", "none"], 2))

# %% tags=["nbval-ignore-output"] name="paces"
lecture_10.pace_table(here)

# %% [markdown]
# Where two workers' numbers are below 1, they are *slower than one*. The last row differs from "no
# lock" in one thing: each has a vector of its own. The gap is the price of sharing *cache lines*. A
# core writes to a line of memory, on most processors 64 bytes, eight parameters (on Apple's 128),
# only while no other core has it, and must fetch one that another has written last. 100 parameters
# lie on some 13 lines of 64 bytes, which both workers write to all the time. A million lie on
# 125,000, too many for a core's own cache: one worker alone must fetch most as well, so sharing
# adds less (see the last column).

# %% [markdown]
# With a lock workers also wait, and its number lies on a line that both write to. Even a lock that
# is always free has a price (see one worker): taking it and giving it back are an atomic
# instruction each, and the loop asks of every parameter which lock it has.
#
# Workers that take turns disturb nobody, and seem faster than they are. So both begin together, in
# short rounds, and a round counts if both were at work for most of it (if none is such, all do):

# %% tags=["nbval-ignore-output"] name="spread"
table({"of 40 rounds": {"both at work, at least": n_together,
                        "of these fastest / median, at most": round(spread, 2)}})  # fmt: skip

# %% tags=["how-we-know"]
# How we know: what no timing changes; virtual time has no caches, only waiting
assert len(here) == 4 * (3 + 4)
assert min(here.values()) > 0
assert spread >= 1
assert 0 <= n_together <= 40
ends = {(P, lock): trained(2, P, lock).end_s for P in (1, 4) for lock in ("none", "one")}
assert ends[1, "none"] > 3.5 * ends[4, "none"]
assert 0.9 < ends[1, "none"] / ends[4, "one"] < 1.2

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Everything at once
#
# 1. All 100 parameters, four workers, no lock: how much is lost, and what does the loss say?
# 2. Keep the four workers; find the setting that loses nothing and is still nearly four times as
#    fast in virtual time.
# 3. Two workers: where do virtual time and your computer disagree most, and why?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: everything at once, 2 minutes</summary>
#
# In pairs. (2) is 8 locks. For (3) collect pairs of numbers: virtual time charges
# nothing for a lock that is free, and nothing for cache lines.
# </details>


# %% name="explorer"
def setting(workers, sparsity, lock):
    """Loss and losses in virtual time; the pace also as it was measured above."""
    return lecture_10.explorer_chart(workers, sparsity, lock, here)


explore(setting, workers=knob([1, 2, 4], start=2), sparsity=knob(lecture_10.SPARSITY, start=100),
        lock=knob(LOCKS))  # fmt: skip

# %% tags=["how-we-know"]
# How we know: 8 locks lose nothing, and keep the pace where examples are sparse
paces = {lock: trained(2, 1).end_s / trained(2, 4, lock).end_s for lock in LOCKS.values()}
assert paces["striped"] > 3.5 > 1.2 > paces["one"]
assert lecture_10.share_lost(trained(2, 4, "striped"), 2) == 0

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The price sheet goes on
#
# Four workers, two of the explorer's problems in virtual time, and Downpour on them over 10 Gbit/s
# Ethernet. "Times as fast": beside one worker without messages or locks.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the price sheet, 1 minute</summary>
#
# Downpour's pace is the point: a step of some hundred flops is nothing beside a message. Hogwild is
# for small steps in one memory, Downpour for large ones between machines.
# </details>

# %%
lecture_10.price_sheet()

# %% [markdown]
# Hogwild needs no message, and is for steps so small that any message would cost more. What it
# cannot do is leave the computer: there is no shared memory between two of them. (One lock is
# slower for 2 of 100 than for all because every update here takes a step of all parameters.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Three cores add 1 to the same counter, once each. What may it say in the end?
#
# <details><summary>Answer</summary>
#
# 1, 2 or 3. If all three load 0: 1. If two of them meet: 2. If none meet: 3.
# </details>

# %% [markdown]
# **Question 2.** A model has a million sparse weights and one shared learning rate that every
# update also adapts. What do you expect without a lock, and what would you do?
#
# <details><summary>Answer</summary>
#
# The weights rarely meet; the one number is in every update, loses far more of its changes than
# they do, and its cache line travels between all cores. Give every worker its own, and combine
# them often, as `hogwild_sparse` does with the intercept: add up the changes while they are small,
# else take a mean.
# </details>

# %% [markdown]
# **Question 3.** A colleague puts one lock around the update, and says that training is synchronous
# now. What is still asynchronous, and how would you show it?
#
# <details><summary>Answer</summary>
#
# The gradients: while one is computed, others update. Count how many updates lie between the
# parameters that a gradient is of, and its own: nearly $P - 1$, with the lock as without.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# De Sa, Zhang, Olukotun and Ré 2015, *Taming the wild: a unified analysis of Hogwild!-style
# algorithms*, also on dense problems. Mania and others 2017, *Perturbed iterate analysis for
# asynchronous stochastic optimization*. Niu, Recht, Ré and Wright 2011, *Hogwild!: a lock-free
# approach to parallelizing stochastic gradient descent*.
# </details>

# %% [markdown]
# ## What to remember
#
# - Load, add, store: what others have stored between your load and store is gone, and nothing tells
#   of it. Two cores adding ten each may end at 2.
# - $P$ workers that load, then store at once, lose $1 - 1/P$ of dense updates, and of sparse ones
#   ($Pk \ll d$, equally likely) about $(P-1)/2$ times the part that each changes; of frequent words
#   more. On processors the number of parameters matters. A lost update is a step not taken.
# - One lock makes workers take turns, and cache lines cost without any: measure before you add
#   cores.
#
# Next: the [exercises](../exercises/10_hogwild.ipynb). Before: [lecture
# 09](09_asynchronous_sgd.ipynb) on old gradients. After: [lecture
# 11](11_sync_or_async.ipynb), in which all schemes race.
