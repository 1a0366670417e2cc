# %% [markdown]
# # Exercises 11 · Synchronous or asynchronous
#
# After this you can
#
# - say who is first by which clock, and who is on the Pareto front
# - find from latency and bandwidth how rarely two sites may average
# - see what makes a race unfair, and predict who wins beside a straggler
#
# Five tasks, about an hour and a half. Tasks 3 and 5 are arithmetic.
#
# Before: [lecture 11](../notebooks/11_sync_or_async.ipynb). Then: [lecture
# 12](../notebooks/12_beyond_one_machine.ipynb).

# %%
import numpy as np

from course_lib import checks
from course_lib.lectures import lecture_11
from course_lib.viz import race, table

# No seed is needed: every check draws data of its own; what is raced here has its seed, 5.

# %% [markdown]
# ## 1 · Who is first?
#
# Say who is first at a loss, by each of three clocks. *Difficulty 1 of 3, 15 minutes.*
#
# A run is a list of points: how many updates were made, after how many seconds, with how many bytes
# sent, and the loss then. A run is at the target at its first point whose loss is at most the
# target, even if the loss rises again.
#
# **Spec:** for each clock the name of the run whose first such point has the least of it; of runs
# that are equal, the one that stands first in `runs`; None if no run is there. **Budget:** no
# messages.


# %% tags=["exercise"] name="who-is-first"
def who_is_first(runs, target):
    """Find the first run at the target by updates, by seconds, and by bytes.

    Parameters
    ----------
    runs : dict of str to list of (int, float, int, float)
        By name the points (updates, seconds, bytes, loss) of each run, in their order; at least
        one each. Perhaps no runs.
    target : float
        The loss.

    Returns
    -------
    dict of str to str or None
        Under "updates", "seconds" and "bytes" the name of the first one.
    """
    # BEGIN SOLUTION
    there = {}
    for name, points in runs.items():
        for point in points:
            if point[-1] <= target:
                there[name] = point
                break
    return {
        clock: min(there, key=lambda name: there[name][number], default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
    # END SOLUTION


# %% tags=["check"]
checks.who_is_first(who_is_first)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First find for each run the one point that counts; leave out runs that have none. Then compare
# these points three times.
# </details>
#
# <details><summary>Hint 2</summary>
#
# `min(there, key=lambda name: there[name][0], default=None)` is the winner by updates, if `there`
# holds the point of each run that arrived. `min` takes the first of equals.
# </details>
#
# Now on the lecture's race, run again: four workers, nobody slow.

# %% tags=["raises-exception"]
schemes = ("data_parallel", "downpour", "local_sgd")
raced = lecture_11.near_runs(straggler=1, schemes=schemes)
runs = {name: lecture_11.points_of(made) for name, made in raced.items()}
print(who_is_first(runs, 0.1))
race(raced, note="loss", target=0.1, steps_per_epoch=lecture_11.per_epoch(schemes=schemes))

# %% [markdown]
# **Without code.** A fourth clock is the epoch. Who can be first by epochs and last by updates?
#
# <details><summary>Answer</summary>
#
# Whoever has small batches: an update of 16 images is a ninetieth of an epoch, one of 64 a
# twenty-third. One worker alone is such a case beside those who wait: 308 updates in place of the
# all-reduce's 100, but 3.4 epochs in place of 4.3. (Downpour has its small batches, too, and
# gradients that are old: it needs more of both.)
# </details>

# %% [markdown]
# ## 2 · The Pareto front
#
# Find the schemes that no other beats. *Difficulty 1 of 3, 15 minutes.*
#
# Every scheme costs seconds and bytes. One *beats* another if it has no more of either, and less of
# at least one. On the front is whoever nobody beats. Two schemes with equal costs do not beat each
# other.
#
# **Spec:** the names of all points that no other beats, sorted by seconds; equal ones in the order
# of `points`. **Budget:** no messages.


# %% tags=["exercise"] name="pareto-front"
def pareto_front(points):
    """Find the names on the Pareto front.

    Parameters
    ----------
    points : dict of str to (float, float)
        Seconds and bytes by the scheme's name; perhaps none. Less is better.

    Returns
    -------
    list of str
        The names on the front, by their seconds.
    """
    # BEGIN SOLUTION
    front = []
    for name, (seconds, n_bytes) in points.items():
        beaten = any(
            s <= seconds and b <= n_bytes and (s, b) != (seconds, n_bytes)
            for s, b in points.values()
        )
        if not beaten:
            front.append(name)
    return sorted(front, key=lambda name: points[name][0])
    # END SOLUTION


# %% tags=["check"]
checks.pareto_front(pareto_front)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write down for two points when the first beats the second: twice "at most", and "not the same". A
# point is on the front if this is true of no other.
# </details>
#
# <details><summary>Hint 2</summary>
#
# For each point ask `any(s <= seconds and b <= n_bytes and (s, b) != (seconds, n_bytes) for s, b in
# points.values())`. Keep it if that is false, and sort at the end.
# </details>
#
# Now the lecture's schemes on two networks, as their dry runs say. Which are on the front of both?

# %% tags=["raises-exception"]
fronts = {}
for gbit in (10, 0.01):
    found = lecture_11.prices(4, straggler=10, latency_s=2e-5, gbit=gbit, every=8, sent=24)
    costs = {lecture_11.NAMES[name]: (one.seconds, one.n_bytes) for name, one in found.items()}
    fronts[f"{gbit:g} Gbit/s"] = {"on the front": ", ".join(pareto_front(costs))}
table(fronts)

# %% [markdown]
# **Without code.** Somebody says: choose the scheme with the least product of seconds and bytes. Is
# it on the front? And is every scheme on the front the choice of somebody sensible?
#
# <details><summary>Answer</summary>
#
# Yes, if no cost is 0: who beats it would have a smaller product. And yes, if bytes and seconds can
# be weighed as one likes: but not by a weighted sum alone; a point above the line between two
# others is never the least of any sum.
# </details>

# %% [markdown]
# ## 3 · How rarely?
#
# Find how many steps must lie between two averages. *Difficulty 2 of 3, 15 minutes.*
#
# Two sites average their models over a slow link. Each sends half of its model and adds up what
# comes; then each sends the half that it has added up. Both ways are used at once, so an average
# takes two messages of n/2 bytes, one after the other; nobody computes meanwhile. A message of n
# bytes takes its latency and n times the seconds for a byte.
#
# **Spec:** the smallest H ≥ 1 with `H * step_s >= efficiency * (H * step_s + average_s)`.
# **Budget:** no messages.


# %% tags=["exercise"] name="steps-between"
def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    """Find how many steps lie between two averages.

    Parameters
    ----------
    latency_s, seconds_per_byte : float
        Of the link between the sites; 0 or more.
    n_bytes : int
        Of the model.
    step_s : float
        What a step takes, in seconds; above 0.
    efficiency : float
        Which part of the time is to be computing, at least: from 0 to below 1.

    Returns
    -------
    int
        The smallest H.
    """
    # BEGIN SOLUTION
    average_s = 2 * latency_s + n_bytes * seconds_per_byte
    exact = efficiency / (1 - efficiency) * average_s / step_s
    return max(1, int(np.ceil(exact * (1 - 1e-12))))
    # END SOLUTION


# %% tags=["check"]
checks.steps_between(steps_between)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# First what an average takes: two messages, n/2 bytes each. Then solve the condition for H: bring
# all that has an H to one side.
# </details>
#
# <details><summary>Hint 2</summary>
#
# $H \ge \frac{e}{1-e} \cdot \frac{2\alpha + n\beta}{t}$, rounded up, and 1 at least. Rounding of
# floats may add a step that is not needed: multiply by `1 - 1e-12` before you round up.
# </details>
#
# Now for models that people train, over 100 ms and 1 Gbit/s (8 ns a byte), 4 bytes a parameter:
# half of the time, and nine tenths.

# %% tags=["raises-exception"]
models = {"the race's perceptron": (2_410, 0.00033), "ResNet-50": (25_557_032, 0.3),
          "a language model of 1.5 billion": (1_500_000_000, 2.0)}  # fmt: skip
table({
    name: {f"H for {part:.0%}": steps_between(0.1, 8e-9, 4 * n, step_s, part)
           for part in (0.5, 0.9)}
    for name, (n, step_s) in models.items()
})  # fmt: skip

# %% [markdown]
# (The lecture's chart says 5,408 for the perceptron: its step is 0.3332 ms, its numbers have 8
# bytes, and an average also travels inside the sites.)
#
# **Without code.** The link gets ten times the bandwidth. Whose H falls to a tenth, whose hardly?
#
# <details><summary>Answer</summary>
#
# The large model's: its 6 GB take 48 s, beside which 200 ms of latency are nothing. The
# perceptron's 10 KB take less than a tenth of a millisecond: its H is all latency, which no
# bandwidth buys back.
# </details>

# %% [markdown]
# ## 4 · Find the bug: an unfair race
#
# Say of each record of a race why it may not be compared. *Difficulty 2 of 3, 25 minutes.*
#
# Somebody sends the records below, and the sentence "Downpour is five times as fast as the
# all-reduce". (They are made up of the lecture's numbers; what is unfair is planted.) `tried` has
# the seconds to the target for each learning rate, None where it was not reached (with seeds for
# tuning; they were raced with others); `ended_s` says when each rank had computed for the last
# time, `holder` which rank holds the model.

# %% name="sent-in"
records = lecture_11.sent_in()
table({
    one["scheme"]: {
        "tried": ", ".join(f"{rate:g}: {'–' if s is None else f'{1e3 * s:.0f} ms'}"
                           for rate, s in one["tried"].items()),
        "rate": one["rate"], "first loss": one["first_loss"], "target": one["target"],
        "ended, ms": ", ".join(f"{1e3 * s:.1f}" for s in one["ended_s"]),
        "holder": one["holder"], "ms": f"{1e3 * one['seconds']:.1f}",
    }
    for one in records
})  # fmt: skip

# %% [markdown]
# **Spec:** by scheme the list of its reasons, in this order; fair ones are left out.
#
# - `"untuned"`: another rate tried has fewer seconds, or its rate is the smallest or the largest of
#   those tried (beyond it may be a better one)
# - `"warm start"`: `first_loss` is lower than the highest of all records
# - `"another clock"`: `seconds` is not `ended_s` of the rank `holder`
# - `"easier target"`: `target` is higher than the lowest of all records
#
# **Budget:** no messages.


# %% tags=["exercise"] name="what-is-unfair"
def what_is_unfair(records):
    """Find what is unfair in a race.

    Parameters
    ----------
    records : list of dict
        Of each scheme: ``scheme`` (str), ``tried`` (dict of rate to seconds or None), ``rate`` (one
        of those tried), ``first_loss`` and ``target`` (float), ``ended_s`` (list of float, by
        rank), ``holder`` (int, a rank) and ``seconds`` (float).

    Returns
    -------
    dict of str to list of str
        The reasons by scheme, of those that have any.
    """
    # BEGIN SOLUTION
    highest = max(one["first_loss"] for one in records)
    lowest = min(one["target"] for one in records)
    found = {}
    for one in records:
        tried = one["tried"]
        best_s = min(seconds for seconds in tried.values() if seconds is not None)
        own_s = tried[one["rate"]]
        reasons = {
            "untuned": own_s is None or own_s > best_s or one["rate"] in (min(tried), max(tried)),
            "warm start": one["first_loss"] < highest,
            "another clock": one["seconds"] != one["ended_s"][one["holder"]],
            "easier target": one["target"] > lowest,
        }
        if any(reasons.values()):
            found[one["scheme"]] = [reason for reason, holds in reasons.items() if holds]
    return found
    # END SOLUTION


# %% tags=["check"]
checks.what_is_unfair(what_is_unfair)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Two rules need all records before you can judge one: find the highest first loss and the lowest
# target first. Then go through the records, rule by rule.
# </details>
#
# <details><summary>Hint 2</summary>
#
# None cannot be compared with a number: leave it out of the minimum. Collect the reasons of a
# record in a list; put it into the result only if it is not empty.
# </details>
#
# Now on what was sent in:

# %% tags=["raises-exception"]
what_is_unfair(records)

# %% [markdown]
# **Without code.** All records are fair by the four rules, and still one scheme was tuned with 365
# runs, the other with five. Is that fair?
#
# <details><summary>Answer</summary>
#
# Not if the grid of the one is finer where it matters. Say how many runs each had; better, give all
# the same number. What you save in training with a scheme that must be tuned longer, you have paid
# before.
# </details>

# %% [markdown]
# ## 5 · Predict, then race
#
# Predict which of three schemes wins beside a straggler. *Difficulty 3 of 3, 20 minutes.*
#
# P workers and a server. Parameters come in a message, a gradient goes back in another; each takes
# `message_us` microseconds, whatever its size. A gradient takes `gradient_us`, on one worker
# `factor` times as long. Whoever waits, for all or for all but one, needs `n_sync` updates to the
# target. Whoever does not, needs `n_async`, one for each gradient; each worker goes on at its own
# pace, and a push is answered with the next parameters.

# %% [markdown]
# **Spec:** the mean time of an update times how many there are; for the third, updates a
# microsecond add up over the workers. The check races: it runs each scheme beside such a straggler.
# **Budget:** no messages.


# %% tags=["exercise"] name="predict-winner"
def predict_winner(n_workers, gradient_us, message_us, factor, n_sync, n_async):
    """Predict the times of three schemes, and the first.

    Parameters
    ----------
    n_workers : int
        How many, P, 2 or more; one of them is the straggler.
    gradient_us, message_us : int
        What a gradient and a message take, in microseconds.
    factor : int
        How many times as long the straggler computes, 1 or more.
    n_sync, n_async : int
        How many updates the schemes that wait need, and how many the one that does not.

    Returns
    -------
    dict of str to number
        ``"all_us"``, ``"but_one_us"`` and ``"nobody_us"``: microseconds to the target of who waits
        for all, for all but one, and for nobody; ``"first"``: 0, 1 or 2, whichever of them is
        first, of equal ones the smaller number.
    """
    # BEGIN SOLUTION
    turn = 2 * message_us + gradient_us
    slow = 2 * message_us + factor * gradient_us
    times = {
        "all_us": n_sync * slow,
        "but_one_us": n_sync * turn,
        "nobody_us": n_async / ((n_workers - 1) / turn + 1 / slow),
    }
    ordered = list(times.values())
    return times | {"first": ordered.index(min(ordered))}
    # END SOLUTION


# %% tags=["check"]
checks.predict_winner(predict_winner)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# One turn of a worker: a message, a gradient, a message. Who waits makes an update in a turn, of
# the slowest or of the others. Who does not wait makes as many updates in a second as all workers
# make turns.
# </details>
#
# <details><summary>Hint 2</summary>
#
# $n_s (2m + fg)$; $n_s (2m + g)$; $n_a$ divided by $\frac{P-1}{2m+g} + \frac{1}{2m+fg}$. Then
# `index(min(...))` of the three.
# </details>
#
# Now race the lecture's own schemes, with the straggler of 10: your prediction has no queue at the
# server, no update and no small messages in it. By how much is it off?

# %% tags=["raises-exception"]
told = predict_winner(4, 324, 35, 10, 100, 472)
names = {"all_us": "parameter_server", "but_one_us": "backup_workers", "nobody_us": "downpour"}
table({
    lecture_11.NAMES[scheme]: {
        "predicted, ms": round(told[key] / 1e3, 1),
        "raced, ms": round(1e3 * lecture_11.best(scheme, straggler=10).median("seconds"), 1),
    }
    for key, scheme in names.items()
})  # fmt: skip

# %% [markdown]
# Where the straggler sets the pace nobody notices. Where it does not, an eighth to a quarter of the
# time is missing. For all but one a part is that it needs 107 updates, not 100, and most is the
# queue: the server sends the parameters three times, one after the other. For Downpour most of it
# is two more latencies in a turn (it asks for the parameters, and a push is answered) and the
# update; its workers come at different times.

# %% [markdown]
# **Without code.** With one straggler, all but one is hard to beat in this formula. Name two things
# that would let nobody-waits win.
#
# <details><summary>Answer</summary>
#
# Two stragglers: then one backup is not enough. (Times that vary, each worker slow at another time,
# do not suffice: with exponential ones all but one of four is level with it.) And
# fewer updates: where noise keeps the rate low anyway, old gradients cost little, so that n_async
# falls to P - 1 times n_sync; then what the straggler adds decides.
# </details>

# %% [markdown]
# ## What comes next
#
# [Lecture 12](../notebooks/12_beyond_one_machine.ipynb), on several machines. Before:
# [lecture 11](../notebooks/11_sync_or_async.ipynb). Which tasks you have solved, here and in the
# other sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a
# terminal.
