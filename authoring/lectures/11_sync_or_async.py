# %% [markdown] slideshow={"slide_type": "slide"}
# # 11 · Synchronous or asynchronous: which one wins?
#
# After this you can
#
# - hold a race between schemes that is fair, and see in somebody else's what makes it unfair
# - split the time to a target into throughput and what a gradient is worth, and say who pays what
# - say from latency, bandwidth and the straggler which scheme comes first, and how rarely two
#   sites may talk
#
# Part 1 takes 14 minutes, part 2 takes 20; plan twice that if you try everything. Needs: one
# process, no GPU. You should know the schemes of [lecture 09](09_asynchronous_sgd.ipynb). Before:
# [lecture 10](10_hogwild.ipynb), without locks. Then: the
# [exercises](../exercises/11_sync_or_async.ipynb), and [lecture 12](12_beyond_one_machine.ipynb).

# %% tags=["set-up"]
# Set-up: imports; seeds are part of the kept results: five to tune, 1 to 10 to race
from itertools import product

import numpy as np

from course_lib.lectures import lecture_11
from course_lib.lectures.lecture_11 import NAMES, best, pace_of
from course_lib.viz import claim, explore, knob, predict, race, table, timeline

SERVER = {0: "server"}
TARGET = lecture_11.rules().target
SLOWER = knob({"none": 1, "3 times as slow": 3, "10 times as slow": 10})

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 38 minutes</summary>
#
# Run all cells before class (half a minute). Part 1 is 17 minutes, part 2 is 21. To be shorter,
# leave out "Four ways to rig a race".
#
# Before anything runs: a show of hands, synchronous or asynchronous? Write the count on the board.
# At the end ask again; the answer that you want to hear is "on which network?".
#
# Common misconceptions: "asynchronous is faster" (per second, not per image); "the straggler
# decides" (so does the latency); "one rate for all is fair" (it decides the race); "compression
# makes training faster" (only where bytes are what one waits for).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · A fair race
#
# ## One rate for all?
#
# The track: a perceptron (64-32-10, 2,410 parameters) and 1,437 digits. A gradient of 16 images
# takes a worker 0.32 ms. Ten-gigabit Ethernet, 20 µs, virtual time. The target is a loss of 0.1
# over all images.
#
# On the track: *all-reduce* (all wait for all), *all but one* (a server takes the first three of
# four gradients: backup workers), *Downpour* (a server steps with whatever comes), *local SGD*
# (all average their models after H steps, here 8).
#
# Fair seems to be: one learning rate and momentum for all. Move *momentum* (below 0, a step takes
# back a part of the one before). Whom can you make the winner?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: one rate for all, 5 minutes</summary>
#
# Let the class choose the winner first, then find the setting in which it wins. They manage all but
# "all but one". Ask how many papers have compared two methods with the rate that was tuned for one
# of them.
# </details>

# %%
explore(lecture_11.rates_chart, momentum=knob([-0.5, 0.0, 0.5, 0.9], start=0.5))

# %% [markdown]
# A curve shows only rates with which a scheme arrives within twelve epochs; a cross, that it
# arrives with one rate only. With momentum 0 and rate 0.2 Downpour is the only one to arrive. With
# momentum 0.9 and the same rate the others are there in 38 to 52 ms, and Downpour does not arrive
# at all: its best rate there is an eighth of that. Nothing on the network has changed. So one rate
# for all is a choice of the winner: old gradients bear less rate (lecture 09), everybody bears less
# with momentum, and large batches want more.

# %% [markdown]
# Hence the rule of this race: *each at its own best* rate and momentum, the best median of five
# seeds on a grid, then raced with ten other seeds. These results are kept with the course
# (`benchmarks/quarrel.json`); the races below are run again, here and now.

# %%
lecture_11.best_rates()

# %% [markdown]
# *Server* is the all-reduce's arithmetic with a parameter server. *Bounded* is Downpour, but nobody
# may be more than one batch ahead. *Top-k* is the all-reduce in which each gradient sends only its
# 24 largest numbers of 2,410, and keeps the rest for later (error feedback: what is not sent is
# added to the next gradient). Who has a server has one machine more than the others: it stands
# beside the workers, and is not counted as one.

# %% tags=["how-we-know"]
# How we know: at one rate or another three are first; a kept run, run again, is the same to the bit
first = {momentum: lecture_11.rates_chart(momentum).chart["said"] for momentum in (0.0, 0.9)}
assert "0.2: Downpour" in first[0.0]
at = {name: y for line in lecture_11.rates_chart(0.9).chart["lines"] for name in [line["name"]]
      for x, y in zip(line["x"], line["y"], strict=True) if x == 0.2}  # fmt: skip
assert set(at) == {"all-reduce", "all but one", "local SGD"}
assert 37.5 < min(at.values()) < max(at.values()) < 52.5
for momentum, rates in ((0.0, [0.2]), (0.9, [0.2 / 8])):
    assert rates == sorted(rate for (rate, of), found in lecture_11.grid("downpour").items()
                           if of == momentum and "updates" in found)  # fmt: skip
kept = best("data_parallel").seeds[0]
again = lecture_11.trained(best("data_parallel").case, 0.2, 0.9, 1, lecture_11.rules())
assert (again["updates"], again["seconds"]) == (kept["updates"], kept["seconds"])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four clocks
#
# Four workers, all equally fast; seed 5, whose times are near the medians. In Downpour every
# gradient of 16 images is an update, in the all-reduce one update takes four of them. Downpour
# makes a little over four times as many updates a second. The all-reduce needs 48 ms to the target.
# What do you expect of Downpour?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: four clocks, 4 minutes</summary>
#
# Let the race run once by each clock, and ask after each: who has won? Then: which clock is on the
# invoice? (Seconds for who waits, bytes for who pays the network, epochs for who pays for
# electricity. Updates are on no invoice.)
# </details>

# %%
guess_even = predict("Nobody is slow: Downpour reaches the target after", "ms")
guess_even

# %%
even = lecture_11.near_runs(straggler=1)
guess_even.compare(round(1e3 * lecture_11.reached(even["Downpour"], TARGET).time_s))

# %%
race(even, note="loss", target=TARGET, y_log=True, steps_per_epoch=lecture_11.per_epoch(),
     reference="one worker", title="Four workers, nobody slow")  # fmt: skip

# %% [markdown]
# The same seven runs, and each clock has another order. By *updates* those who wait are first, and
# Downpour is last: an update of one gradient is worth less, of an old one least. By *time* four
# arrive nearly together, after 45 to 50 ms; Downpour needs 68. By *bytes* top-k arrives with less
# than half a megabyte, the all-reduce with 12, Downpour with 23. By *epochs* the one worker is
# first: the smallest batch, and nothing old. A flag marks the target. (The loss is that over all
# images, looked at after every 128; local SGD has one model only after each average. Where nobody
# is slow, the bound holds nobody up: it is Downpour, number for number.)

# %% [markdown]
# Downpour makes four times as many updates a second, and comes later: its gradients are more than
# two updates old, so it bears small steps only. On its grid five pairs of rate $\eta$ and momentum
# $\mu$ are nearly level, 66 to 73 ms: 0.4 and -0.5, 0.025 and 0.9, 0.4 and -0.75, 0.1 and 0.5, 0.2
# and 0. What they share is $\eta / (1 - \mu)$, how far one gradient moves the model in all: 0.2 to
# 0.27. One worker alone, with batches as small, is best at 1.0.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One is slow
#
# Now the last worker needs ten times as long for a gradient: 3.2 ms instead of 0.32. An update of
# the all-reduce took 0.48 ms: 0.324 for the gradient, 0.143 for the network, 0.01 for the update.
# How many times as long does the all-reduce take to the target?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: one is slow, 4 minutes</summary>
#
# Ten is the usual answer. 3.24 for the gradient, 0.1 for the update, 0.1 for the network (a part of
# the ring is done while the slow one computes): 3.44 by 0.48 is 7.2. The network does not get
# slower. In the timeline ask whose work is thrown away (rank 4's, in the middle: of its six batches
# it computes one, too late, and five are never begun) and whose is late (rank 4's, below).
# </details>

# %%
guess_slow = predict("One of four is ten times as slow: the all-reduce takes", "times as long")
guess_slow

# %%
usual_s, slow_s = (best("data_parallel", straggler=by).median("seconds") for by in (1, 10))
guess_slow.compare(round(slow_s / usual_s, 1))

# %%
timeline(lecture_11.first_gradients(straggler=10), roles=SERVER,
         title="24 batches of 16 images each, rank 4 is ten times as slow")  # fmt: skip

# %% [markdown]
# The number of updates is the same, since who waits for all computes the same, whatever takes how
# long. Only the step is longer. Now the whole race, each scheme tuned anew for it:

# %%
slow = lecture_11.near_runs(straggler=10)
race(slow, note="loss", target=TARGET, y_log=True, steps_per_epoch=lecture_11.per_epoch(),
     reference="one worker", title="Four workers, one ten times as slow")  # fmt: skip

# %% [markdown]
# By *updates* nothing has changed for those who wait for all. By *time* they are now behind the one
# worker alone. Downpour notices little. The bound goes at the straggler's pace. And who waits
# for all but one is first: it has no old gradients, and no straggler. (Whoever knows which one is
# slow can leave it out: three workers and no server are there as soon, with a third fewer bytes.)

# %% tags=["how-we-know"]
# How we know: kept medians; runs of this notebook are the kept ones
ms = {(scheme, slow_by): 1e3 * best(scheme, straggler=slow_by).median("seconds")
      for scheme in NAMES for slow_by in (1, 10)}  # fmt: skip
assert min(NAMES, key=lambda scheme: ms[scheme, 10]) == "backup_workers"
together = [
    1e3 * lecture_11.reached(even[NAMES[scheme]], TARGET).time_s
    for scheme in ("local_sgd", "compressed", "data_parallel", "backup_workers")
]
assert 44 < min(together) < max(together) < 50
downpour = best("downpour").seeds[4]
assert (round(1e3 * downpour["seconds"]), round(downpour["bytes"] / 1e6)) == (68, 23)
updates = [best(scheme).median("updates") for scheme in ("compressed", "downpour")]
assert max(best(scheme).median("updates") for scheme in NAMES) == updates[1] > 5 * updates[0]
assert ms["data_parallel", 1] < ms["downpour", 1] < ms["serial", 1]
assert ms["backup_workers", 10] < ms["downpour", 10] < ms["serial", 10] < ms["data_parallel", 10]
assert 0.95 < ms["downpour", 10] / ms["downpour", 1] < 1.1
pairs = sorted((1e3 * found["seconds"], pair) for pair, found in lecture_11.grid("downpour").items()
               if "seconds" in found)[:5]  # fmt: skip
level = [(0.4, -0.5), (0.025, 0.9), (0.4, -0.75), (0.1, 0.5), (0.2, 0.0)]
assert [pair for _, pair in pairs] == level
assert 65.5 < pairs[0][0] < pairs[-1][0] < 73.5
moved = [rate / (1 - momentum) for _, (rate, momentum) in pairs]
assert 0.2 <= min(moved) < max(moved) < 0.27
alone = best("serial")
assert np.isclose(alone.rate / (1 - alone.momentum), 1.0)
assert ms["bounded_staleness", 10] > ms["data_parallel", 10]
rules, without = lecture_11.rules(), pace_of(lecture_11.Case("data_parallel", 3, 48), 20e-6, 10.0)
needed = np.median([lecture_11.trained(lecture_11.Case("serial", 1, 48), 0.2, 0.9, seed, rules)
                    ["updates"] for seed in range(1, 11)])  # fmt: skip
assert 1e3 * needed * without.seconds < ms["backup_workers", 10]
assert needed * without.n_bytes < 2 / 3 * best("backup_workers", straggler=10).median("bytes")
for scheme in ("data_parallel", "backup_workers", "downpour", "local_sgd"):
    seen = lecture_11.reached(slow[NAMES[scheme]], TARGET).time_s
    assert np.isclose(seen, best(scheme, straggler=10).seeds[4]["seconds"], rtol=0.01), scheme

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Consistency against throughput
#
# The time to the target is a quotient:
#
# $$\text{seconds} = \frac{\text{images needed}}{\text{images a second}}
# = \frac{\text{epochs} \times 1437}{\text{throughput}}$$
#
# Not waiting can raise the throughput. It also makes gradients old, replicas different, or sums
# rough: *consistency* is lost, and more epochs are needed. Below, each scheme at its own best rate
# is a cross; who would stand nearly on one spot shares one, with all their names. Lines join equal
# times: lower and to the right is faster. Before you move the straggler to 10: which crosses will
# move, and in which direction?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: consistency against throughput, 4 minutes</summary>
#
# The answer to the question: those who wait for all move to the left and stay at their height.
# Downpour moves to the left by a little (a worker is missing, nearly); tuned anew, it lies a little
# lower. With 8 workers, nobody slow, the all-reduce is first, though of those who share the work
# all but the server have more throughput. Ask what they pay with.
# </details>

# %%
explore(lecture_11.trade_chart, workers=[4, 8],
        straggler=SLOWER)  # fmt: skip

# %% [markdown]
# Four workers, nobody slow: not waiting gains next to nothing, 138,000 images a second against
# 134,000 (fetch, push and queue take nearly the ring's time), for 6.4 epochs instead of 4.35. (The
# throughput is that of *dry runs*: all messages and times, nothing learned.) A straggler of 10: who
# waits for all falls to 19,000, at unchanged height; Downpour keeps 109,000. Eight, nobody slow: it
# gains a third, as the ring is longer; but its gradients are six updates old, for 10.4 epochs
# instead of 5. The highest throughput there is local SGD's: its averages are rare. (All but one:
# images of a gradient that is thrown away are counted, too.)

# %%
claim("4.8")

# %% tags=["how-we-know"]
# How we know: throughput, ages and epochs of the text; the paces of an update
paces = {(scheme, by): pace_of(best(scheme, 4, by).case, 20e-6, 10.0)
         for scheme in ("data_parallel", "downpour") for by in (1, 10)}  # fmt: skip
per_s = {key: best(key[0]).case.batch / pace.seconds for key, pace in paces.items()}
assert [round(value / 1000) for value in per_s.values()] == [134, 19, 138, 109]
assert round(paces["data_parallel", 1].seconds / paces["downpour", 1].seconds, 1) == 4.1
assert [round(best(s).median("epochs"), 2) for s in ("data_parallel", "downpour")] == [4.35, 6.4]
assert 2 < paces["downpour", 1].age < 3
assert 5.5 < pace_of(best("downpour", 8).case, 20e-6, 10.0).age < 6.5
assert [round(best(s, 8).median("epochs"), 1) for s in ("data_parallel", "downpour")] == [5, 10.4]
eight = [lecture_11.priced(best(s, 8), 20e-6, 10.0) for s in NAMES if s != "serial"]
assert min(eight, key=lambda one: one.seconds).best.case.scheme == "data_parallel"
throughput = [one.best.case.scheme for one in sorted(eight, key=lambda one: one.images_per_s)]
assert throughput[:2] == ["parameter_server", "data_parallel"]
assert throughput[-1] == "local_sgd"
ring, nobody = (pace_of(best(s, 8).case, 20e-6, 10.0) for s in ("data_parallel", "downpour"))
assert 1.3 < ring.seconds / 8 / nobody.seconds < 1.35
sends = [seconds - lecture_11.STEP_S for seconds in
         (4 * paces["downpour", 1].seconds, paces["data_parallel", 1].seconds)]  # fmt: skip
assert 0.89 < sends[0] / sends[1] < 0.93

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · The network decides
#
# ## From which straggler on?
#
# Between "nobody is slow" (the all-reduce is ahead of Downpour) and "ten times" (far behind) they
# must be equal. An update of the all-reduce: one gradient of the slowest, and 0.15 ms for network
# and update. It needs 100 of them, Downpour 65 ms in all, and a few more beside a straggler. How
# many times as slow must the slowest be?
#
# (Three numbers of Downpour where nobody is slow: 65 ms is the median of ten trainings; seed 5, in
# the race above, took 68; the charts' 66.9 are the median of the updates, 576, times what one takes
# in a dry run.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: from which straggler on, 5 minutes</summary>
#
# On the board: 100 (0.32 f + 0.15) = 65, so f = 1.56. Who asks why the computer says 1.9 has seen
# what changes beside a straggler; it stands below. Then change one number: a latency of 1 ms
# instead of 20 µs. Six messages, one after the other, are in the ring of four: the network's part
# is 6 ms (beside a straggler of 10 still 4.5), and Downpour's fetch and push are slower, too. The
# table's numbers then surprise.
# </details>

# %%
guess_factor = predict("Downpour is ahead if the slowest is slower by a factor of", "times")
guess_factor

# %%
guess_factor.compare(round(lecture_11.when_nobody_waits_wins(latency_s=20e-6, gbit=10), 1))

# %% [markdown]
# From 100 (0.32 f + 0.15) = 65 you get 1.56. But beside a straggler a part of the ring's messages
# travels while it computes: 0.12 ms are left of the 0.15. And Downpour, which misses a part of a
# worker, needs 73 ms. 100 (0.32 f + 0.12) = 73 gives 1.9. That is on this network. On others:

# %%
lecture_11.ahead_from(((0.005, 100), (0.02, 10), (0.02, 1), (1, 10)))

# %% [markdown]
# The same straggler, the same schemes, and another winner. On a slow network Downpour waits, too:
# for its own messages. Each gradient of 16 images makes a fetch and a push, and all of them go
# through one server, which sends and receives by turns. (One that does both at once, as its
# network interface card can, is ahead much earlier in the third row; elsewhere little changes.)

# %% [markdown]
# How sure is that? Above are medians of ten seeds, beside them each seed by itself; twenty other
# seeds have about 2.2 × in the second row. Downpour was tuned and raced beside 1, 1.5, 2, 2.5, 3,
# 5, 7 and 10; between them it is a straight line. The updates are those measured on the second
# network. Tuned and trained on the others, it is 1.7 × in the first row and 4.8 × in the third, and
# in the last the two are level at 10 × (`docs/quarrel.md`). (And where the last two rows have them
# equal, one worker alone has long been there.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## There is no winner without a network
#
# Two costs now: seconds and bytes until the target. Of those who share the work, a scheme is on the
# *Pareto front* if no other has less of one and not more of the other. Whoever is not on it, nobody
# should choose. Nor who is to the right of the grey line: one worker alone is faster, and sends
# nothing. Try:
#
# 1. Here top-k only saves bytes. Find a network on which it is the fastest.
# 2. The straggler at 10: local SGD, an average after every H steps, is not on the front. Bring it
#    back. Should one choose it now?
# 3. Make one worker alone the fastest.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: no winner without a network, 5 minutes</summary>
#
# In pairs; the answers stand below the chart. Then: who has seen Downpour on the front? Let them
# search before they read on.
# </details>

# %%
explore(
    lecture_11.front_chart, workers=[4, 8], straggler=SLOWER,
    latency=knob([0.005, 0.02, 0.2, 1, 100], unit="ms", start=0.02),
    gbit=knob([0.01, 0.1, 1, 10, 100], label="bandwidth", unit="Gbit/s", start=10),
    every=knob([1, 8, 64], label="H of local SGD", start=8),
    sent=knob({"10 %": 241, "1 %": 24}, label="top-k sends", start=24),
)  # fmt: skip

# %% [markdown]
# (1) 100 Mbit/s. At 1 Gbit/s local SGD is level; and with "10 %" top-k is ahead already here, by
# less than seeds differ. (2) H = 64 or "10 %" (each on account of its bytes), or a latency of 1 ms.
# But nobody should choose it: one worker alone is faster each time, and sends nothing. (3) 10
# Mbit/s, or a latency of 1 ms with H = 8. And Downpour? It is on the front only beside the
# straggler of 10, over some slow networks; on each of them one worker alone is faster.

# %% [markdown]
# How this is computed: the updates to the target are the kept ones, measured by training. What an
# update takes is a *dry run* on your network: the scheme's real messages, nothing learned. Where
# all wait for all, that is right, as neither network nor straggler changes what they compute (up to
# 6 % too long: an epoch's last batch counts as a whole one). For Downpour and the bound it is
# approximate: the network changes how old gradients are, and so how many are needed. (Tuned at 1
# ms beside the straggler of 10, Downpour takes 15 % longer. Eight workers beside one of 3: the
# updates are those beside one of 10.)

# %% tags=["how-we-know"]
# How we know: dry run times updates is the measured time, within 3 %; the front moves
for scheme in NAMES:
    for slow_by in (1, 10):
        found = best(scheme, straggler=slow_by)
        by_pace = found.median("updates") * pace_of(found.case, 20e-6, 10.0).seconds
        assert np.isclose(by_pace, found.median("seconds"), rtol=0.03), (scheme, slow_by)
alone_s = best("serial").median("seconds")
equal_at = lecture_11.when_nobody_waits_wins(20e-6, 10)
assert round(equal_at, 1) == 1.9
assert [round((ms / 100 - left) / 0.32, 2) for ms, left in ((65, 0.15), (73, 0.12))] == [1.56, 1.91]
nobody_ms = [1e3 * lecture_11.priced(best("downpour", straggler=by), 20e-6, 10.0).seconds
             for by in (1.5, 2.0)]  # fmt: skip
assert 72.5 < np.interp(equal_at, (1.5, 2.0), nobody_ms) < 73.5
for by in (1.5, 2.0):
    update = pace_of(lecture_11.Case("data_parallel", 4, 64, by), 20e-6, 10.0)
    assert round(1e3 * update.seconds - 0.324 * by, 2) == 0.12
one = lecture_11.priced(best("downpour"), 20e-6, 10.0)
assert (round(1e3 * best("downpour").median("seconds")), round(1e3 * one.seconds, 1)) == (65, 66.9)
assert best("downpour").median("updates") == 576
near, far = (lecture_11.prices(4, 1, latency_s, 10, 8, 24) for latency_s in (20e-6, 1e-3))
assert near["data_parallel"].seconds < alone_s < far["local_sgd"].seconds
assert 0.06 < near["downpour"].seconds < 0.07 < 4 * alone_s < far["data_parallel"].seconds
late = best("downpour", straggler=3)
assert late.median("updates") * pace_of(late.case, 20e-6, 1).seconds > 1.5 * alone_s
beside = lecture_11.prices(4, 10, 1e-3, 10, 8, 24)  # the front says of 10 what the table says
assert beside["downpour"].seconds < beside["data_parallel"].seconds
assert beside["downpour"].seconds > alone_s < beside["local_sgd"].seconds
level = lecture_11.prices(4, 1, 20e-6, 1, 8, 24)
assert 0.97 < level["compressed"].seconds / level["local_sgd"].seconds < 1.03
assert "First: top-k" in lecture_11.front_chart(4, 1, 0.02, 10, 8, 241).chart["said"]
assert min(one.seconds for one in lecture_11.prices(4, 1, 20e-6, 0.01, 8, 24).values()) > alone_s
slower = lecture_11.prices(4, 1, 20e-6, 0.1, 8, 24)
assert sorted(slower, key=lambda scheme: slower[scheme].seconds)[:2] == ["compressed", "local_sgd"]
assert slower["compressed"].seconds < 0.8 * slower["local_sgd"].seconds
for every, is_there in ((8, False), (64, True)):
    said = lecture_11.front_chart(4, 10, 0.02, 10, every, 24).chart["said"]
    assert ("local SGD" in said) == is_there
    assert lecture_11.prices(4, 10, 20e-6, 10, every, 24)["local_sgd"].seconds > alone_s
settings = product((1, 3, 10), (0.02, 0.2, 1, 100), (0.1, 1, 10), (1, 8, 64))
said = {each: lecture_11.front_chart(4, *each, 24).chart["said"] for each in settings}
with_downpour = {each: text for each, text in said.items() if "Downpour" in text}
assert {by for by, *_ in with_downpour} == {10}
assert all("one worker alone is faster" in text for text in with_downpour.values())

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four ways to rig a race
#
# A race can be true in every number and still unfair. You have seen the first way, a rate that
# suits one. Three more: a *warm start* (one begins with a model that is trained a little), *another
# clock* (one stops its watch on the rank that is done first), *another target* (a batch's loss in
# place of all images').
#
# How much is it? Below, six updates beside the straggler, and when the watch may be stopped: when
# the model is there (the last update), when the first rank is done, and when the last one is.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: four ways to rig a race, 3 minutes</summary>
#
# Ask for a fifth way: to leave out the time to tune. It is nobody's in this lecture, and
# everybody's in practice. Exercise 4 plants such cases in records.
# </details>

# %%
clocks = lecture_11.three_clocks(("parameter_server", "backup_workers"))
table(clocks, units=dict.fromkeys(clocks["server"], "s"))

# %% [markdown]
# Where all wait, the three are nearly one. Where nobody waits for the straggler, the model is there
# a sixth earlier than the run is over: it still waits for a gradient that nobody wants any more.
# (So it is after six updates; after the race's hundred, one such gradient is about 6 %.) Which
# time is right? That at which the *model* is there. What matters most is that the same moment is
# taken for all.

# %% tags=["how-we-know"]
# How we know: a sixth of the run, where nobody waits for the straggler; nothing, where all do
last = {name: row["the last rank is done"] / row["the model is there"] - 1
        for name, row in clocks.items()}  # fmt: skip
assert last["server"] < 0.01
assert 1 / 7 < 1 - 1 / (1 + last["all but one"]) < 1 / 5
assert 0.065 * best("backup_workers", straggler=10).median("seconds") > 10 * lecture_11.STEP_S

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two sites
#
# Two workers here, two there, 100 ms and 1 Gbit/s between them. A step takes 0.33 ms. At the start
# the model is broadcast, once over the slow link: 100 ms. An average of all four models waits twice
# for it: 200 ms. With an average after every step nearly all
# of the time is waiting. After 64 steps there are 64 times fewer averages; but replicas drift apart
# in between, and who is there must wait for the next average: 192 steps are needed instead of 95.
# How many times as fast is it?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: two sites, 5 minutes</summary>
#
# 95 averages against 3: 32 times, less the longer computing and the first broadcast. In the
# explorer set the latency to 1 ms: after H = 64 the curve turns up. Ask why H = 500 costs seconds
# there, and what it still saves: bytes.
# </details>

# %%
guess_sites = predict("H = 64 in place of H = 1: the target comes", "times as early")
guess_sites

# %%
every_step, rarely = (best("local_sgd", every=H, is_far=True).median("seconds") for H in (1, 64))
guess_sites.compare(round(every_step / rarely, 1))

# %%
far = lecture_11.far_runs()
race(far, note="loss", target=TARGET, y_log=True, steps_per_epoch=23,
     title="Two sites, an average after every H steps")  # fmt: skip

# %% [markdown]
# By *updates* the rare averages are behind: each replica goes its own way for a while. By *time*
# and *bytes* H = 64 is alone in front: its third average is at the target. (The fourth, its last,
# is a hair above it again: 0.102.) How rarely may one average? So that a part $e$ of the time is
# computing:
#
# $$\frac{H\,t_\text{step}}{H\,t_\text{step} + t_\text{average}} \ge e
# \quad\Rightarrow\quad H \ge \frac{e}{1-e}\,\frac{t_\text{average}}{t_\text{step}}$$
#
# This formula knows the network, and nothing of learning. Move the sliders: where does it say, for
# 90 %, the H that is the fastest of the four?

# %%
explore(lecture_11.every_chart,
        latency=knob([0.1, 1, 10, 100, 300], unit="ms", start=100),
        gbit=knob([0.001, 0.01, 0.1, 1, 10], label="bandwidth", unit="Gbit/s",
                  start=1))  # fmt: skip

# %% [markdown]
# At 1 ms it is about 64; at 0.1 ms and 10 Gbit/s it is 8. With 100 ms, 90 % would need an H of
# thousands, more steps than this training has; H = 500 has a single average (the dashed curve, of
# 95 steps, ends before it), and is the fastest of the four with five times the steps. One worker
# alone, though, needs a tenth of a second: over this link so small a model gains nothing from three
# more. A large model is kinder: its step takes a second, not a third of a millisecond, so H is some
# dozens or hundreds. DiLoCo, made for sites that are far apart, takes 500.

# %%
claim("4.14")

# %% [markdown]
# (The claim's runs are of equally many steps, over another link, and end with a little more loss.
# To the same loss, above, rare averages need twice as many steps: so it is 25 times.)

# %% tags=["how-we-know"]
# How we know: what is kept is what the formula of two sites says, and what the runs show
for H in (1, 8, 64, 500):
    found = best("local_sgd", every=H, is_far=True)
    told = lecture_11.sites(0.1, 1).training_s(
        round(found.median("updates")), H, lecture_11.STEP_S, lecture_11.N_BYTES)  # fmt: skip
    assert np.isclose(float(told), found.median("seconds"), rtol=0.01), H
assert 24 < every_step / rarely < 26
assert round(far["H = 64"].trace.notes_named("loss")[-1].value, 3) == 0.102
assert lecture_11.points_of(far["H = 64"])[3 * 64 - 1][-1] < TARGET < 0.102
sums_s = [0.1 + n * lecture_11.STEP_S + n // H * 0.2 for n, H in ((95, 1), (192, 64))]
assert round(sums_s[0] / sums_s[1]) == 25
assert 4 * alone_s < best("local_sgd", every=500, is_far=True).median("seconds")
assert lecture_11.least_every(0.2, lecture_11.STEP_S, 0.9) > 5000
for latency, gbit, every in ((1, 1, 64), (0.1, 10, 8), (100, 1, 500)):
    assert f"H = {every}." in lecture_11.every_chart(latency, gbit).chart["said"]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The price sheet, complete
#
# Four workers, one ten times as slow; ten seeds, each scheme at its own best. Cover the last
# column: whom do you choose? And if your network is billed by the byte?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the price sheet, 3 minutes</summary>
#
# Point at the spread: lowest to highest of ten seeds is a factor of 1.4 to 1.8. A difference below
# that needs more seeds, or must be there seed by seed: with every seed the server, whose updates
# are the all-reduce's, is 2 % ahead of it. Then the second show of hands: synchronous or
# asynchronous?
# </details>

# %%
lecture_11.price_sheet(straggler=10)

# %%
claim("4.11")

# %% [markdown]
# (The claim's cell races two schemes; the sheet has eight, and there the server that waits for all
# but one is ahead of both.) In this lecture it was always the same one that was late. If there are
# two? Or if every gradient's time is random (exponential), so that it is each time another? Updates
# as measured, times from dry runs:

# %%
late = lecture_11.who_is_late()
table(late, units=dict.fromkeys(late["Downpour"], "s"))

# %% [markdown]
# One to spare is enough for one, and nothing against two. Random times are no case for Downpour:
# all but one has the late gradient to spare, and in local SGD eight steps even out; all three are
# near each other. The bound of 1 is last, as it pays twice. It waits, so that an update takes a
# third longer than Downpour's; still, as many images take it a quarter less time than the
# all-reduce. But its gradients are old, and it needs 1.5 times as many. Chen and others (2016)
# built the backup workers for such times, and found them ahead of asynchronous training.

# %% tags=["how-we-know"]
# How we know: who is first by who is late (trainings of the same are in docs/quarrel.md)
one, two, vary = ({name: row[who] for name, row in late.items()} for who in late["Downpour"])
assert min(one, key=one.__getitem__) == "all but one"
assert two["all but one"] > 0.95 * two["all-reduce"] > 3 * two["Downpour"]
assert max(vary[name] for name in ("all but one", "local SGD")) < 1.05 * vary["Downpour"]
assert 1.15 * vary["Downpour"] < vary["all-reduce"] < vary["bounded"]
waiting = ("bounded_staleness", "data_parallel")
more = best(waiting[0]).median("epochs") / best(waiting[1]).median("epochs")
assert round(more, 1) == 1.5
assert 0.7 < vary["bounded"] / vary["all-reduce"] / more < 0.8, "it waits less than the all-reduce"
assert 1.3 < vary["bounded"] / vary["Downpour"] < 1.36, "as many updates: it waits"

# %% [markdown]
# What has become of the quarrel: large language models are trained *synchronously*, on clusters
# whose computers are alike, with spare ones for those that fail. Nobody waits in much of
# reinforcement learning, whose games end when they end, and in some recommenders, whose tables are
# sparse. Between sites most still wait for all, but rarely: averages of models, hundreds of steps
# apart.

# %%
table({
    "alike, fast network": {"begin with": "all-reduce", "because": "nobody is waited for"},
    "some always much later": {"begin with": "leave them out; fast network: as many to spare",
                         "because": "no old gradients"},
    "times differ, each time another": {"begin with": "one or more to spare, local SGD",
                                        "because": "the late one is not waited for, or rarely"},
    "little bandwidth": {"begin with": "top-k (few workers), local SGD",
                         "because": "fewer bytes"},
    "much latency": {"begin with": "local SGD, DiLoCo", "because": "fewer averages"},
    "tiny model, slow network": {"begin with": "one worker", "because": "no network at all"},
})  # fmt: skip

# %% [markdown]
# **What this does not say.** A tiny model on a tiny task, one target, a constant rate. Rates on the
# grid lie a factor of 2 apart, and ten seeds leave medians of schemes that are near each other
# undecided. Where nobody is slow, Downpour's eight workers need more than ten of the twelve epochs,
# and two of ten seeds do not get there. To choose the largest numbers takes top-k no time here.
# Workers' times do not vary in the races, which is kind to those who wait. All of it is in
# `docs/quarrel.md`, with the grids.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Somebody writes: "Asynchronous training does twice as many updates a second, so it
# takes half the time." What two numbers do you ask for?
#
# <details><summary>Answer</summary>
#
# How many updates each of the two needs to the same loss, at its own best rate: seconds are updates
# needed by updates a second. They need not be alike, since an update stands for one worker's images
# in the one and for all workers' in the other.
# </details>

# %% [markdown]
# **Question 2.** Two of eight workers are ten times as slow. Your server waits for all but one.
# What happens, and what do you do?
#
# <details><summary>Answer</summary>
#
# It waits for the faster of the two slow ones: nearly as slow as waiting for all. With two to spare
# it is fast again, and throws away what a quarter of the workers compute. Or give the slow ones a
# tenth of the images, and wait for all.
# </details>

# %% [markdown]
# **Question 3.** A step takes 1 s, an average of your model over the link between two sites 30 s.
# From which H on is 75 % of the time computing? And why not ten times that?
#
# <details><summary>Answer</summary>
#
# H ≥ 0.75 / 0.25 · 30 / 1 = 90. With 900 it would be 97 %, at most 1.3 times as fast; if the
# replicas' drift then costs a third more steps, nothing is gained but bytes.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Chen, Pan, Monga, Bengio and Jozefowicz 2016, *Revisiting distributed synchronous SGD*. Douillard
# and others 2023, *DiLoCo: Distributed low-communication training of language models*. Dutta and
# others 2018, *Slow and stale gradients can win the race*. Hsieh and others 2017, *Gaia:
# Geo-distributed machine learning approaching LAN speeds*. Stich 2019, *Local SGD converges fast
# and communicates little*. Stich, Cordonnier and Jaggi 2018, *Sparsified SGD with memory* (top-k
# with error feedback).
# </details>

# %% [markdown]
# ## What to remember
#
# - A race is fair if each scheme has its own best rate, and all have the same target, start and
#   clock; one rate for all chooses the winner.
# - Seconds are images needed by images a second. Not waiting can raise the one and the other: which
#   wins is a question of the straggler, and of the network.
# - Over a slow link, talk rarely: $H \ge \frac{e}{1-e}$ times an average by a step, as long as the
#   additional steps do not eat it up.
#
# Next: the [exercises](../exercises/11_sync_or_async.ipynb), and [lecture
# 12](12_beyond_one_machine.ipynb), on several machines. Before: [lecture
# 09](09_asynchronous_sgd.ipynb) on what old gradients do, [lecture
# 10](10_hogwild.ipynb) on what happens without locks.
