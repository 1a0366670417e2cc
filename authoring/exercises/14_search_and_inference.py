# %% [markdown]
# # Exercises 14 · Search and inference
#
# After this you can
#
# - write the rule by which ASHA promotes, and watch your own search
# - find in a history what a search has lost, and what it has counted twice
# - predict latency and throughput of any grid of replicas and stages
#
# Three tasks, about an hour. Task 3 is arithmetic.
#
# Before: [lecture 14](../notebooks/14_search_and_inference.ipynb). It is the last one for now.

# %%
from course_lib import checks
from course_lib.lectures import lecture_14
from course_lib.viz import source, table, timeline

# No seed is needed: every check draws data of its own; the lecture's trials have theirs.

# %% [markdown]
# ## 1 · Who goes on?
#
# Say which trial ASHA hands out next. *Difficulty 2 of 3, 25 minutes.*
#
# A worker is free. From the highest rung down, the last one left out: sort the losses that are in
# on the rung, of equal ones the smaller trial first. The first `len(done[rung]) // eta` of them may
# go on. The best of these that has not been promoted yet goes on to the next rung.

# %% [markdown]
# If there is none on any rung, a new trial begins on rung 0: the one with the number `n_begun`, as
# long as that is below `n`. Else there is nothing to hand out.
#
# **Spec:** `(trial, rung + 1)` for a promotion from `rung`, `(n_begun, 0)` for a new trial, an
# empty tuple else. **Budget:** no messages.


# %% tags=["exercise"] name="asha-next"
def asha_next(done, promoted, n_begun, n, eta):
    """Say which trial is trained next, and for which rung.

    Parameters
    ----------
    done : list of dict of int to float
        For each rung, the losses that are in, by trial; perhaps infinite. One rung or more.
    promoted : list of list of int
        For each rung but the last, the trials that have been promoted from it.
    n_begun : int
        How many trials have begun: 0, 1, … in this order.
    n : int
        How many are to begin.
    eta : int
        One in so many goes on; 2 or more.

    Returns
    -------
    tuple of int
        The trial and the rung that it is trained for, counted from 0; empty if there is none.
    """
    # BEGIN SOLUTION
    for rung in reversed(range(len(done) - 1)):
        ranked = sorted(done[rung], key=lambda trial: (done[rung][trial], trial))
        for trial in ranked[: len(ranked) // eta]:
            if trial not in promoted[rung]:
                return trial, rung + 1
    return (n_begun, 0) if n_begun < n else ()
    # END SOLUTION


# %% tags=["check"]
checks.asha_next(asha_next)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two loops: over the rungs from the last but one down to 0, and over the best of a rung. Return
# from inside. What comes after the loops is the new trial.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `sorted(done[rung], key=lambda trial: (done[rung][trial], trial))` are the trials of a rung, the
# best first. Cut off `[: len(done[rung]) // eta]`, and skip whoever is in `promoted[rung]`.
# </details>
#
# Now four workers ask your function, and train the lecture's trials:

# %% tags=["raises-exception"]
mine = lecture_14.searched_by(asha_next, trials=9, workers=4)
mine.player("Your ASHA: nine trials, four workers", moments=4, even_steps=True)

# %% [markdown]
# **Without code.** How many trials can the first rung of 27 promote at most, with $\eta = 3$? Can
# it be more than halving promotes?
#
# <details><summary>Answer</summary>
#
# Halving promotes nine. ASHA can promote more: whoever is among the best third of the first six is
# promoted, and may be tenth in the end. Then the nine best still go on as well, when all are in.
# Each that was promoted too early is one more. At most 25: if losses come in from the worst to the
# best, each from the third on is the best so far, and goes on at once. (The two worst never do:
# they are never in the best third of three or more.)
# </details>

# %% [markdown]
# ## 2 · Find the bug: lost, or counted twice
#
# Find in a history which trials a search has lost, and which it has counted twice. *Difficulty 1 of
# 3, 15 minutes.*
#
# Three workers, eight trials; worker 2 dies after 1.5 s, and is back after 2.5 s. Somebody has
# changed what the coordinator does with the job of a lost worker:

# %%
source(lecture_14.Forgets.lose)

# %%
forgetful = lecture_14.played("one that forgets", {2: (1.5, 2.5)})
timeline(forgetful, roles={0: "hands out"}, title="Eight trials, of which one is missing")

# %% [markdown]
# The history has a record for each job that was given to a worker, for each loss that came in, and
# for each death. A trial may be given out again: that is right, if its worker has died. What counts
# is how often its loss came in.
#
# **Spec:** for each trial that was given out the pair `(trial, "lost")` if no loss of it came in,
# `(trial, "twice")` if more than one did; sorted by trial. **Budget:** no messages.


# %% tags=["exercise"] name="lost-or-twice"
def lost_or_twice(history):
    """Find the trials without a loss, and those with more than one.

    Parameters
    ----------
    history : list of (str, int, int)
        Records in order of time: ("given", worker, trial), ("loss", worker, trial) or ("died",
        worker, -1). Perhaps none.

    Returns
    -------
    list of (int, str)
        The trial, and "lost" or "twice".
    """
    # BEGIN SOLUTION
    losses = {trial: 0 for what, _, trial in history if what == "given"}
    for what, _, trial in history:
        if what == "loss":
            losses[trial] += 1
    return [
        (trial, "twice" if losses[trial] else "lost")
        for trial in sorted(losses) if losses[trial] != 1
    ]  # fmt: skip
    # END SOLUTION


# %% tags=["check"]
checks.lost_or_twice(lost_or_twice)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Forget deaths and workers. For each trial that was given out, count one thing.
# </details>
#
# <details><summary>Hint 2</summary>
#
# Begin a dictionary with 0 for each trial of a "given" record; add 1 for each "loss" record. Then
# go through the trials in order: 0 is lost, 1 is right, more is twice.
# </details>
#
# Now on four coordinators, two deaths:

# %% tags=["raises-exception"]
deaths = {1: (2.2, 6.0), 3: (3.3, 3.4)}
table({
    name: {"wrong": str(lost_or_twice(lecture_14.history_of(lecture_14.played(name, deaths))))}
    for name in lecture_14.COORDINATORS
})  # fmt: skip

# %% [markdown]
# **Without code.** Which is worse for halving, a trial that is lost or one that is counted twice?
# And can the impatient one be useful?
#
# <details><summary>Answer</summary>
#
# A lost one: its rung is never complete, so the next rung never begins. One that is counted twice
# makes the rung seem complete too early, and another trial is not looked at. The impatient one
# gives out copies of what is late: fine (backup tasks), if it takes the first loss and ignores the
# second.
# </details>

# %% [markdown]
# ## 3 · Predict, then measure
#
# Predict when a grid of replicas and stages answers. *Difficulty 2 of 3, 20 minutes.*
#
# Each replica is a pipeline of `n_stages` workers. A stage takes `stage_us` microseconds for a
# request; a message to the next stage takes `message_us`, and travels while both stages compute.
# Messages do not hold up each other.
# All requests are there at the beginning, on the first stages: request k goes to replica k mod
# `n_replicas`.
#
# **Spec:** the whole microseconds that the docstring lists. The check runs such a grid.
# **Budget:** no messages.


# %% tags=["exercise"] name="predict-serving"
def predict_serving(n_replicas, n_stages, stage_us, message_us, n_requests):
    """Predict when requests are answered.

    Parameters
    ----------
    n_replicas, n_stages : int
        How many replicas, and stages of each; 1 or more.
    stage_us, message_us : int
        What a stage and a message take, in microseconds.
    n_requests : int
        How many requests, 1 or more.

    Returns
    -------
    dict of str to int
        ``"first_us"``: when request 0 is answered; ``"all_us"``: when the last one is;
        ``"alone_us"``: when one worker with all layers has answered all; ``"idle_us"``: how long
        the last stage of replica 0 does not compute, from the beginning to ``all_us``.
    """
    # BEGIN SOLUTION
    first_us = n_stages * stage_us + (n_stages - 1) * message_us
    rounds = -(-n_requests // n_replicas)  # of replica 0, which has the most
    return {
        "first_us": first_us,
        "all_us": first_us + (rounds - 1) * stage_us,
        "alone_us": n_requests * n_stages * stage_us,
        "idle_us": (n_stages - 1) * (stage_us + message_us),
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_serving(predict_serving)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Draw two stages and three requests. The first request passes everything that lies on its way. Each
# later one of the same replica comes out a stage's time after the one before.
# </details>
#
# <details><summary>Hint 2</summary>
#
# $k s + (k-1) m$; then $(r - 1) s$ more, with $r = \lceil n/R \rceil$; $n k s$; and $(k-1)(s+m)$:
# the last stage waits for the first request, and never again.
# </details>
#
# Now the lecture's net on 1 Gbit/s: four workers as 4 × 1, 2 × 2 and 1 × 4, eight requests.

# %% tags=["raises-exception"]
grids = {}
for n_replicas, n_stages in ((4, 1), (2, 2), (1, 4)):
    found = predict_serving(n_replicas, n_stages, 4000 // n_stages, 101, 8)
    grids[f"{n_replicas} × {n_stages}"] = found | {
        "times as many a second as alone": round(found["alone_us"] / found["all_us"], 2)
    }
table(grids)

# %% [markdown]
# **Without code.** All three have four workers. Why is 4 × 1 ahead with eight requests, and who
# would take 1 × 4 all the same?
#
# <details><summary>Answer</summary>
#
# At the beginning and at the end some stages have nothing to do, and messages are on the way of the
# first request; with thousands of requests that is nothing. 1 × 4 needs a quarter of the memory on
# each worker: who has a model that fits nowhere else takes it.
# </details>

# %% [markdown]
# ## What comes next
#
# This was the last lecture for now. Before: [lecture
# 14](../notebooks/14_search_and_inference.ipynb). Which tasks you have solved, here and in the
# other sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a
# terminal.
