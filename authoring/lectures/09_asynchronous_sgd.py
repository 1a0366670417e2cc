# %% [markdown] slideshow={"slide_type": "slide"}
# # 09 · Asynchronous SGD: what if nobody waits?
#
# After this you can
#
# - say how old gradients are when they land, and find and replay the moment in which one does
# - say by how much the learning rate must fall for it, and for which timing that holds
# - choose between waiting for all, for some, for nobody, and for nobody who is too far ahead
#
# Part 1 takes 20 minutes, part 2 takes 22; plan twice that if you try everything. Needs: 5
# processes, no GPU. The *server*, a rank to which gradients go, is from [lecture
# 04](04_parameter_server.ipynb). Before: [lecture 08](08_split_weights.ipynb). Then: the
# [exercises](../exercises/09_asynchronous_sgd.ipynb), [lecture 10](10_hogwild.ipynb).

# %% tags=["set-up"]
# Set-up: imports, the digits; every random time below has its seed
from dataclasses import replace
from functools import partial

import numpy as np

from course_lib import networks, run
from course_lib.costs.asynchrony import (
    backup_step,
    delayed_edge,
    mean_square_edge,
    staleness_sum,
)
from course_lib.data.digits import load_digits
from course_lib.lectures import lecture_09
from course_lib.lectures.lecture_09 import RETURNED, ages, on_bowl, pace, watched
from course_lib.models.mlp import mlp
from course_lib.schemes import (
    backup_workers,
    bounded_staleness,
    data_parallel,
    downpour,
    parameter_server,
)
from course_lib.schemes.downpour import serve
from course_lib.trace.replay import find_note, service_times
from course_lib.training import Plan
from course_lib.viz import (
    claim,
    explore,
    knob,
    landscape,
    player,
    predict,
    race,
    source,
    table,
    timeline,
)  # fmt: skip

SERVER = {0: "server"}
digits = load_digits()
images, classes = digits.X_train[:1408], digits.y_train[:1408]

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 47 minutes</summary>
#
# Run all cells before class. Part 1 is 25 minutes, part 2 is 22. With 40 in all, leave out
# "Asynchrony begets momentum" and the replay.
#
# Game: one student is the server and keeps a number on the board. Four others read it, do a sum,
# and call out what to subtract. Nobody waits. After a minute: whose number was the sum about?
#
# Common misconceptions: "asynchronous means faster" (per second, not per update); "old gradients
# are noise" (they are a delay, and a delay swings); "a straggler's gradients are the problem" (they
# are the oldest, and they are few); "a bound on staleness cures a straggler".
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Nobody waits
#
# ## Four wait for one
#
# The *server* keeps the parameters: workers *push* gradients to it, it takes a step, and they
# *fetch* parameters again (lecture 04).
#
# In synchronous training all wait for the slowest, the *straggler*. Four workers; a gradient takes
# 1 s, on rank 1 it takes 4 s. Synchronous: 4 gradients every 4 s, so 1 a second.
#
# Now nobody waits: whoever has pushed a gradient gets parameters and goes on. How many gradients
# do the same four compute in a second?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: four wait for one, 4 minutes</summary>
#
# Let the class add up: 1 + 1 + 1 + ¼. Then point at the upper lanes: three of four are hatched
# three quarters of the time. Ask what the lower run pays. Somebody will say "they do not compute at
# the same place any more": that is the next section.
# </details>

# %%
guess_pace = predict("Nobody waits: how many gradients a second?", "gradients")
guess_pace

# %%
uneven = pace(4, "straggler")
guess_pace.compare(round(240 / on_bowl(downpour, 4, 240, uneven).trace.end_s, 2))

# %% [markdown]
# Three times 1, and a quarter: 3.25, less a little, since at the end the fast ones have nothing
# left. Watch the first 24 gradients of both; press *play*. Hatched is waiting.

# %%
both = {
    "synchronous": on_bowl(parameter_server, 4, 24, uneven, waits=True).trace,
    "nobody waits": on_bowl(downpour, 4, 24, uneven).trace,
}
timeline(both, roles=SERVER, title="24 gradients, rank 1 is four times as slow")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Downpour
#
# *Downpour SGD* (Dean and others 2012) is the parameter server without the barrier. A *replica* (a
# worker with its copy of the model) fetches the parameters, computes a gradient on its next batch,
# and pushes it; the server takes a step with whatever comes, as soon as it comes. In the server's
# loop `kept` are the parameters, and `version` counts their updates; `replicas.receive` takes
# whoever comes first; `replicas.deal` answers with the number of the next batch that nobody has,
# the *lot* (in the original each replica has its own data); `comm.note` only writes down what the
# pictures show.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: Downpour, 3 minutes</summary>
#
# Ask which line of the loop was the barrier in lecture 04: it is gone. Play the picture slowly
# until the first gradient says that it is old, and ask whose fault that is. Nobody's: it was fresh
# when it left.
# </details>

# %%
source(serve, part="for version")

# %% [markdown]
# A replica does the same again and again. It asks for parameters (an empty message, `fetch`) and
# receives them, computes, pushes its gradient, and receives the number of its next lot: four
# messages a gradient. Where a push returns the parameters (`push_returns`) nobody asks: three.

# %% [markdown]
# The rest of the loop is for cases that are none of ours:
#
# - `lots.walk` counts versions until all batches are done;
# - `own` and `dealer` are for several servers, each with a part (*shard*) of the parameters;
# - `first`, `warm_start` and `only` let one replica begin alone; here `only` is `None`, anybody;
# - `norm=0.0`: where long gradients are shortened (*clipped*), a replica has done it;
# - `... == 2`: two parameters are noted as a point, to be drawn.
#
# While a replica computes, others push. So its gradient is that of parameters which have changed by
# the time it lands. Its *staleness* is the number of updates in between: `version -
# version_of[src]`. Three replicas, random times; on its way each gradient says how old it will be.

# %%
brief = on_bowl(downpour, 3, 9, pace(3, "random", latency_s=0.15))
player(brief.trace, "star", roles=SERVER, moments=4, title="Downpour with three replicas")

# %%
claim("2.12")

# %% [markdown]
# Two questions, then: *what* is sent (parameters or updates), and *who waits*. This lecture is
# about the second. (Asynchronous averaging of parameters is in the library, too:
# `asynchronous_averaging`.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How old is a gradient?
#
# Times are *equal* (a gradient takes 1 s), or *random* (1 s on average, exponentially distributed:
# often short, now and then long), or there is a *straggler*.
#
# Four replicas; let the server answer each push with the new parameters, so that nobody else comes
# between push and fetch. One replica is a straggler, four times as slow: its gradients are very
# old. How old is a gradient on average, over all updates?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: how old is a gradient, 6 minutes</summary>
#
# Expect 1 to 2, or "more with a straggler". After the number, do the sum for two replicas on the
# board: updates A A A B A A B. Write the staleness below each: 0 0 0 3 1 0 2. Then let them change
# the order, and see that only the two last places count.
# </details>

# %%
guess_age = predict("Four replicas, one straggler: mean staleness?", "updates")
guess_age

# %%
old = ages(on_bowl(RETURNED, 4, 240, pace(4, "straggler")).trace)
guess_age.compare(round(float(np.mean(old)), 2))

# %% [markdown]
# Move *times* first: the bars change, the mean does not. Then let replicas fetch for themselves:
# the mean falls, and depends on the times.

# %%
explore(lecture_09.staleness_chart, times=list(lecture_09.TIMES),
        answers=["a push returns", "a fetch of its own"])  # fmt: skip

# %% [markdown]
# **Why $P-1$, whatever the times.** Number all updates, from 0. A replica reads the parameters that
# its own last push has made. So the staleness of update $v$ is $v - u - 1$, where $u$ is the same
# replica's update before, and $-1$ at its first. Let $a < b < \dots < v_j$ be the $n_j$ updates of
# replica $j$. All but the first and the last cancel:
#
# $$(a - (-1) - 1) + (b - a - 1) + \dots = v_j + 1 - n_j$$

# %% [markdown]
# Over all $P$ replicas, with $T$ updates in all:
#
# $$\sum \text{staleness} = \sum_{j=1}^{P} v_j + P - T$$
#
# The last updates $v_j$ are nearly $T$: that leaves $(P-1)\,T$, less an edge: $P(P-1)/2$ if the
# last $P$ are one of each, as here. No time stands in it.

# %% [markdown]
# A straggler's gradients are old, but they are few; and while it computes, fewer push between two
# pushes of the others.
#
# With a fetch of its own a replica reads *later* than its push: what others have pushed meanwhile
# is in it already, so gradients are younger. With random times it depends on how long messages
# take, here a tenth of a gradient; if they take no time, nobody comes between: $P-1$ again. With
# equal times all push at one moment, and then fetch: ages 0 to 3, 1.5 on average, however short
# the messages. (The three fast ones beside the straggler do the same.) If they push in turn, and
# fetch before the next push, it is $P-1$.

# %%
claim("0.14")

# %% tags=["how-we-know"]
# How we know: the sum is a whole number and the formula's, for all times; a fetch makes it less
means = {}
for times in lecture_09.TIMES:
    for scheme in (RETURNED, downpour):
        trace = on_bowl(scheme, 4, 240, pace(4, times, latency_s=0.1)).trace
        means[times, scheme is RETURNED] = np.mean(ages(trace))
        last = [numbers[-1] for numbers in lecture_09.landed(trace).values()]
        assert (sum(ages(trace)) == staleness_sum(last, 240)) == (scheme is RETURNED)
    assert np.isclose(means[times, True], 3 - 4 * 3 / 2 / 240)
    assert means[times, False] < means[times, True] - 0.4
    at_once = [ages(on_bowl(each, 4, 240, pace(4, times, in_turn=True)).trace)
               for each in (RETURNED, downpour)]  # fmt: skip
    assert at_once[0] == at_once[1], "without latency a fetch comes right after its push"
for latency_s in (0.0, 0.1):  # all push before anybody fetches; or one after the other
    for in_turn, mean in ((False, 1.5), (True, 3 - 0.025)):
        equal = pace(4, latency_s=latency_s, in_turn=in_turn)
        assert np.isclose(np.mean(ages(on_bowl(downpour, 4, 240, equal).trace)), mean)
late = pace(4, latency_s=0.3, in_turn=True)  # the next pushes are there before a fetch
assert np.mean(ages(on_bowl(downpour, 4, 240, late).trace)) < 2
paces = [24 / trace.end_s for trace in both.values()]
assert np.isclose(paces[0], 1.0)
assert 2.5 < paces[1] < 3.25

# %% [markdown] slideshow={"slide_type": "slide"}
# ## On a surface
#
# A long bowl with two parameters, curvature 4 in one direction and 1 in the other. Dot 0 is the
# server. The replicas stand at the parameters that they have read. An arrow shows a stale gradient:
# from where it was computed to where its step ended. Play, then raise the rate. (It is given times
# the largest curvature: gradient descent alone is stable below 2. At 2 each step ends as far on the
# other side of the bottom; lecture 01.) With *equal* times, what happens between 0.4 and 0.6?


# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: on a surface, 3 minutes</summary>
#
# Begin with rate 0.1: the dots stay close together. At 0.4 stop in the first swing, and ask each
# replica (the class) where it believes the server to be. Then 0.6. Leave the reason to part 2.
# </details>


# %%
def walk(rate, times):
    """Four replicas on the bowl."""
    times = pace(4, times, in_turn=True)
    made = on_bowl(RETURNED, 4, 48, times, rate / lecture_09.CURVATURE)
    return landscape({"Downpour": lecture_09.with_replicas(made.trace)}, **lecture_09.VIEW)


explore(walk, rate=knob([0.1, 0.2, 0.4, 0.6, 0.9], label="rate × curvature", start=0.4),
        times=["equal", "random", "straggler"])  # fmt: skip

# %% [markdown]
# The server overshoots, the replicas do not know yet, and push it farther; when they turn, so does
# it, too late. An old gradient is not noise: it is a delay, and what is steered with a delay
# swings. Somewhere between 0.4 and 0.6 the swings begin to grow. Part 2 finds out where.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Catch it in the act
#
# Asynchronous runs are hard to debug: another run has another order. In virtual time a run can be
# kept as data, played again, and changed. We look for the oldest gradient of a run with random
# times, and put the playhead where it lands.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: catch it in the act, 4 minutes</summary>
#
# The point is the method: keep the times, change one, run again. Ask before the table which of the
# two numbers will change. The mean can only if the last places do; most forget the section before.
# </details>

# %%
network = pace(4, "random", latency_s=0.05, seed=3)
seen = on_bowl(RETURNED, 4, 24, network).trace
oldest = find_note(seen, "staleness", least=max(ages(seen)))
at_that_moment = player(seen, "star", roles=SERVER, moments=3, title="The oldest gradient lands")
at_that_moment.time_s = oldest.time_s
at_that_moment

# %% [markdown]
# Whose was it, and how long did it compute? `service_times` reads off how long each computation
# took; with these times the run repeats itself to the bit. So change one: let that gradient take
# half a second. Every update after it may be a different one. (At the end of a run who is done
# waits at a barrier, while others still push.)

# %%
rank, turn = lecture_09.whose(seen, number=ages(seen).index(oldest.value))
seconds = service_times(seen)
took_s, seconds[rank][turn] = seconds[rank][turn], 0.5
changed = on_bowl(RETURNED, 4, 24, pace(4, latency_s=0.05).with_service_times(seconds)).trace
what = f"Rank {rank}'s gradient number {turn + 1}: {took_s:.1f} s, then 0.5 s"
timeline({"as it was": seen, "one gradient faster": changed}, roles=SERVER, title=what)

# %%
table({
    name: {"oldest": max(ages(trace)), "mean": round(float(np.mean(ages(trace))), 2)}
    for name, trace in {"as it was": seen, "one gradient faster": changed}.items()
})  # fmt: skip

# %% [markdown]
# It was rank 1's fourth gradient, which took 2.5 s: twelve updates old. Half a second instead, and
# the oldest of the run is eight. The mean has not moved: only the last update of each replica
# counts, and the last four of the run are one of each, before and after.

# %% tags=["how-we-know"]
# How we know: the same times give the same trace, to the bit; one other time does not
again = service_times(seen)
assert (rank, turn + 1, round(took_s, 1)) == (1, 4, 2.5)
repeated = on_bowl(RETURNED, 4, 24, pace(4, latency_s=0.05).with_service_times(again)).trace
assert repeated.to_json() == seen.to_json() != changed.to_json()
assert (max(ages(seen)), max(ages(changed))) == (12, 8)
for trace in (seen, changed):
    assert sorted(each[-1] for each in lecture_09.landed(trace).values()) == [20, 21, 22, 23]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A replica dies
#
# Four replicas; rank 2 is lost after 2.5 s and is started again at 5.5 s. With `survive=True` a
# lost rank does not end the run: whoever needs it gets an error, `RankLost`, and may catch it. What
# does each scheme do then?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a replica dies, 5 minutes</summary>
#
# Before the timeline, ask for a show of hands: who stops? Point at lane 2: crossed out, then back
# with a fetch. Ask what would happen if rank 0 died. (The model is gone; a checkpoint, or servers
# that keep their shards: `downpour(..., keep=...)`.) Synchronous training can survive as well, if
# it may form a smaller group: this is what elastic training does. Who waits decides, not who is
# called asynchronous.
# </details>

# %%
timeline(
    {"synchronous": lecture_09.with_a_loss(parameter_server, waits=True),
     "Downpour": lecture_09.with_a_loss(downpour, waits=False)},
    roles=SERVER, title="Rank 2 is lost, and comes back",
)  # fmt: skip

# %% [markdown]
# Synchronous: the server waits for four gradients, learns that rank 2's will not come, and has no
# step to take. Downpour goes on with three, and takes the fourth in when it is back: it fetches,
# like anybody. The batch that was lost with it is dealt again at the end, when no other is left.
# (Then the server listens to those by name who still have one, so that it learns of a loss: that is
# why rank 3 waits for its parameters from second 12 on.)

# %% [markdown]
# The same on real processes. The model here only counts: parameter $i$ is how often batch $i$ was
# applied. Rank 2's process ends in the middle of its first gradient. 60 batches; how many will be
# missing, how many counted twice?

# %%
counts = run(lecture_09.tally, 60, workers=5, survive=True, restart=1).values[0]
kinds = {"applied once": counts == 1, "missing": counts < 1, "applied twice": counts > 1}
table({"of 60 batches": {kind: int(which.sum()) for kind, which in kinds.items()}})

# %% [markdown]
# None, and none. What makes it so is bookkeeping: the server knows which batch each replica has. It
# takes a batch as done when its gradient has come, and deals it again if its replica is lost
# before. So here no push is repeated. Where a *server* may be lost, or its answer, replicas do
# repeat pushes: then each has the number of its batch, and the server keeps a list of those it has
# applied. Without the list they would count twice. (You will find some in a history: exercise 4.)

# %%
claim("2.14")

# %% tags=["how-we-know"]
# How we know: who waits makes no update after the loss; who does not makes all 40
stopped, went_on = (lecture_09.with_a_loss(scheme, scheme is parameter_server)
                    for scheme in (parameter_server, downpour))  # fmt: skip
updates_s = [[span.end_s for span in trace.computes if span.label == "update"]
             for trace in (stopped, went_on)]  # fmt: skip
assert list(map(len, updates_s)) == [2, 40]
assert max(updates_s[0]) < 2.5
assert [sum(2.5 < time_s < 5.5 for time_s in each) for each in updates_s] == [0, 6]
of_rank = {rank: [span for span in went_on.computes if span.rank == rank] for rank in (2, 3)}
assert not any(2.5 < span.end_s < 5.5 for span in of_rank[2])
assert min(span.start_s for span in of_rank[2] if span.end_s > 5.5) < 6, "it is back"
assert not any(span.end_s > 12 and span.start_s < 13 for span in of_rank[3]), "it waits"
assert max(span.start_s for span in of_rank[3]) > 13, "then it has one batch more"

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · What it costs
#
# ## By how much must the rate fall?
#
# One machine on a bowl of curvature $\lambda$ is stable while $\eta\lambda < 2$. Four replicas, all
# equally long; a push returns the next parameters. So from the fourth on every gradient is exactly
# three updates old:
#
# $$w_{t+1} = w_t - \eta\lambda\, w_{t-3}$$
#
# Which part of the machine's largest rate may they use?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the edge, 6 minutes</summary>
#
# The answer is 22 %. Who says 25 % ("four replicas, a quarter") has the reason for the synchronous
# sum; let them find that curve. A shower with a long pipe is the picture for delay: you turn,
# nothing happens, you turn more. Do P = 2 on the board: $w_{t+1} = w_t - a w_{t-1}$ with $a = 1$
# gives 1, 1, 0, -1, -1, 0, 1, 1.
# </details>

# %%
guess_edge = predict("Which part of one machine's largest rate is stable?", "%")
guess_edge

# %%
equal = ages(on_bowl(RETURNED, 4, 400, pace(4)).trace)
guess_edge.compare(round(100 * lecture_09.edge_of(equal) / 2))

# %%
lecture_09.edges_chart()

# %% [markdown]
# **All equally long** (crosses: runs). At the edge a swing neither grows nor shrinks. So try
# $w_t = \cos\theta t$ in $w_{t+1} - w_t = -\eta\lambda\, w_{t-(P-1)}$. The left side is
#
# $$\cos(\theta t + \theta) - \cos\theta t
# = -2\sin\tfrac\theta2\,\sin(\theta t + \tfrac\theta2),$$
#
# and the right side, written as a sine, too,
#
# $$-\eta\lambda\cos(\theta t - (P-1)\theta)
# = -\eta\lambda\,\sin(\theta t - (P-1)\theta + \tfrac\pi2).$$
#
# They agree at all $t$ if what stands beside $\theta t$ is the same,
# $\frac\theta2 = \frac\pi2 - (P-1)\theta$, so $\theta = \frac{\pi}{2P-1}$; and the height, too:
#
# $$\eta\lambda = 2\sin\tfrac\theta2 = 2 \sin\frac{\pi}{4P-2}$$
#
# 2, 1, 0.618 (the golden ratio's), 0.445 for one to four replicas.

# %% [markdown]
# **Random times** forgive more, since a quarter of the gradients are fresh, though the mean age is
# the same. Each replica is the next to push with chance $\frac1P$, whatever has been. So the mean
# of $w^2$ over all possible orders can be computed, update by update. The curve is the largest rate
# at which this mean falls: 0.843 for four (`mean_square_edge` finds it numerically).
#
# Most single runs bear more. The median of eleven runs still falls up to 1.08, 28 % more. At rates
# between 0.843 and 1.08 more than half of the runs fall, but the others grow so far that the mean
# of $w^2$ grows with them.

# %% [markdown]
# (Ages that differ are not enough. Let three replicas push in the order A C B A C C, again and
# again: gradients are 2 updates old on average, as with equal times, and the edge is below 0.6.)
#
# **What does one gain?** P replicas make P updates a second, in smaller steps. $P$ times the
# largest $\eta\lambda$ is how far they may go in a second. Synchronous training adds up P gradients
# and may go 2 in a step, which takes as long as the slowest of the P.

# %%
table({
    f"P = {P}": {
        "equal": round(P * delayed_edge(P), 2),
        "random": round(P * mean_square_edge(P), 2),
        "synchronous, equal": 2.0,
        "synchronous, random": round(2 / backup_step(P, backups=0), 2),
    }
    for P in (1, 2, 4, 8, 16)
})  # fmt: skip

# %% [markdown]
# With equal times 16 replicas go no farther than one: what they gain in updates they lose in the
# rate, and a little more (the column falls towards $\pi/2$). Waiting for all gains nothing either:
# 2 for any number, if all take a second.
#
# With random times 16 replicas that wait for nobody go 3.1 times as far as one, not 16 times. If
# all wait, they fall to 0.59, for the slowest of 16 takes 3.4 s on average. So at the edge of
# stability sixteen replicas are worth about three machines without waiting, and less than one with
# it.

# %% [markdown]
# Where *noise* keeps the rate far below the edge, as with small batches, staleness costs little. At
# $\eta\lambda = 0.02$ gradients that are seven updates old need no more updates than fresh ones,
# and noise leaves a mean square of $w$ that is 15 % larger. So eight replicas are nearly eight
# times as fast.

# %% tags=["how-we-know"]
# How we know: measured edges are the formula's; a simulated run is the recursion, number by number
for P in (2, 4, 8):
    measured = lecture_09.edge_of(ages(on_bowl(RETURNED, P, 400, pace(P)).trace))
    assert np.isclose(measured, delayed_edge(P), rtol=0.005)
    single = [lecture_09.edge_of(lecture_09.history(P, "random")[0])]
    assert single[0] > mean_square_edge(P) > 1.2 * delayed_edge(P)
together = on_bowl(parameter_server, 16, 1600, pace(16, "random"), waits=True).trace
assert np.isclose(together.end_s / 100, backup_step(16, backups=0), rtol=0.1), "the slowest of 16"
assert round(backup_step(16, backups=0), 1) == 3.4
small = [
    lecture_09.descend(each, rate=0.02) for each in ([0] * 400, [min(k, 7) for k in range(400)])
]
fresh_at, old_at = (int(np.argmax(np.abs(path) < 0.01)) for path in small)
assert 0 < old_at <= fresh_at, "far below the edge old gradients need no more updates"
kicked = [1.0] * 8  # what becomes of one gradient's noise; without delay it is 0.98 ** k
for _ in range(800):
    kicked.append(kicked[-1] - 0.02 * kicked[-8])
assert round(sum(each * each for each in kicked) * (1 - 0.98**2), 2) == 1.15
survived = [lecture_09.edge_of(ages(on_bowl(RETURNED, 4, 240, pace(4, "random", seed=k)).trace))
            for k in range(11)]  # fmt: skip
assert round(np.median(survived) / mean_square_edge(4), 2) == 1.28
assert (round(np.median(survived), 2), round(mean_square_edge(4), 3)) == (1.08, 0.843)
in_order = [2, 2, 0, 2, 1, 5]  # ages of A C B A C C, if it comes again and again
assert np.mean(in_order) == 2
assert lecture_09.edge_of([0, 1, 2, *in_order * 66]) < 0.6 < delayed_edge(3)
assert round(delayed_edge(3), 3) == 0.618 == round((5**0.5 - 1) / 2, 3)
made = on_bowl(RETURNED, 4, 100, pace(4, "random"), rate=0.3 / lecture_09.CURVATURE)
slopes = [1.0 - note.value[1] for note in made.trace.notes_named("w")]  # the bottom is at 1
assert np.allclose(slopes, lecture_09.descend(ages(made.trace), 0.3)[1:], atol=1e-12)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Asynchrony begets momentum
#
# With *momentum* each step takes along a part of the step before: $\mu$ of it, plus the gradient's.
# With random times something alike happens by itself. Average many runs: the mean step is
# $1 - \frac1P$ of the mean step before, plus $\frac1P$ of a gradient step (Mitliagkas and others
# 2016). So asynchrony acts like momentum that nobody has asked for. Below: the mean of 4,000 runs,
# and one machine with that momentum. (Its first step is a whole one, of rate 0.4: at first all
# replicas have read the same.) Move *workers*; then choose equal times. When does it hold?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: asynchrony begets momentum, 3 minutes</summary>
#
# Where does the momentum come from? A gradient that lands now was computed where the server was: it
# still points where the server has been going. With equal times all look back equally far; with
# random ones the look back fades geometrically, and that is momentum.
# </details>

# %%
explore(lecture_09.momentum_chart, workers=knob([1, 2, 4, 8], start=4),
        times=["random", "equal"])  # fmt: skip

# %% [markdown]
# With random (exponential) times the curves lie on each other: whoever pushes next is anybody, with
# chance $\frac1P$. With equal times there is no such momentum, but a pure delay, and it swings
# more.
#
# The consequence for tuning: what was a good momentum for one machine is too much for many. Four
# replicas have $0.75$ before you add any.
#
# This is about the *mean* of many runs only. It stays stable up to $\eta\lambda = 4P - 2$, which is
# 14 for four; single runs diverge long before, and plus and minus cancel in the mean. So take the
# largest rate from the section before.

# %% tags=["how-we-know"]
# How we know: the mean step follows from the last one and the place, as the formula says
found = lecture_09.mean_path(4, "random", rate=0.4, updates=40, runs=20_000)
steps, places = np.diff(found), found[1:-1]
kept, along = np.linalg.lstsq(np.stack([steps[:-1], places], 1), steps[1:], rcond=None)[0]
assert abs(kept - 0.75) < 0.03
assert abs(along + 0.4 / 4) < 0.01
fixed = lecture_09.mean_path(4, "equal", rate=0.4, updates=40, runs=1)
steps, places = np.diff(fixed), fixed[1:-1]
equal_kept = np.linalg.lstsq(np.stack([steps[:-1], places], 1), steps[1:], rcond=None)[0][0]
assert equal_kept > 0.75 + 0.1
for rate, stays in ((13.9, True), (14.1, False)):  # two mean places, as the formula says
    turn = np.array([[1 + 0.75 - rate / 4, -0.75], [1.0, 0.0]])
    assert (np.abs(np.linalg.eigvals(turn)).max() < 1) == stays
assert lecture_09.edge_of(lecture_09.history(4, "random")[0]) < 14 / 10

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Everything at once
#
# Break it, and save it:
#
# 1. Four workers, random times, rate 0.4, momentum 0.9. Save it: change the momentum only. Which
#    momentum allows the largest rate? Look below 0, too: there a step takes back a part of the one
#    before.
# 2. Momentum 0; change *times*. At which does rate 0.6 still fall?
# 3. Straggler: what does *bound* 1 do to the histogram, and to the updates a second? (Whoever is
#    more than 1 batch ahead of the slowest has to wait: the next section.)

# %% [markdown]
# Grey is the loss at the edge: the rate, named beside it, at which this run of 240 updates ends as
# far away as it began; the first 120 are drawn. Random times make it swing widely: compare rates,
# not curves.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: everything at once, 4 minutes</summary>
#
# In pairs, then collect: who has found a setting with momentum 0.9 that falls? (With
# random times the lowest rate, with bound 0 or 1, or with two workers; one worker with any rate.
# Synchronous training bears 0.95 with that momentum: there it is taken once for the sum of four
# gradients, with bound 0 after each of them.) Who has a rate above 1 that falls?
# </details>

# %%
explore(
    lecture_09.explorer_chart, workers=knob([1, 2, 4, 8], start=4),
    times=knob(lecture_09.TIMES, start="random"),
    rate=knob([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.2], label="rate × λ", start=0.4),
    momentum=knob([-0.5, 0.0, 0.5, 0.9], start=0.9), bound=["none", "0", "1", "4"],
)  # fmt: skip

# %% [markdown]
# In (1) each of the other momenta saves it: with 0.9 the edge is below 0.05, with 0.5 above 0.4.
# Momentum $-0.5$ has the largest rate of the four in this run, 1.15, larger than fresh gradients
# bear with it: asynchrony's own momentum makes up for it. But a larger rate is not a longer way:
# with momentum $m$ a gradient makes $\frac{1}{1-m}$ of a step in the end; 1.15/1.5 is 0.77, less
# than the 1.02 without momentum.

# %% [markdown]
# In (2) it falls with random times; with equal times it grows, and with the straggler it is past
# the edge by a hair. In (3) the old bars all but vanish, and so do two thirds of the updates.

# %% tags=["how-we-know"]
# How we know: the edges that the text compares
random4, straggler4, equal4 = (lecture_09.history(4, times) for times in
                               ("random", "straggler", "equal"))  # fmt: skip
edges = {m: lecture_09.edge_of(random4[0], m) for m in (-0.5, 0.0, 0.5, 0.9)}
assert max(edges, key=edges.get) == -0.5
assert [round(edges[m] / (1 - m), 2) for m in (-0.5, 0.0)] == [0.77, 1.02]
assert round(edges[-0.5], 2) == 1.15
assert edges[-0.5] > 1.1 * lecture_09.edge_of([0] * 240, -0.5)
assert edges[0.9] < 0.05 < 0.4 < edges[0.5]
edge4 = [lecture_09.edge_of(each[0]) for each in (random4, straggler4, equal4)]
assert edge4[0] > 0.9 > 0.6 > edge4[1] > 0.55 > edge4[2]
bounded = lecture_09.history(4, "straggler", "1")
assert bounded[1] < straggler4[1] / 3 < bounded[1] + 0.1
assert sum(age > 7 for age in bounded[0]) < 3 < 10 < sum(age > 7 for age in straggler4[0])
assert lecture_09.history(4, "equal", "1") == equal4, "nobody is ahead: no bound holds anybody"

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Run ahead, but not too far
#
# *Bounded staleness* (stale synchronous parallel, SSP; Ho and others 2013): a replica's *clock*
# counts how often it has asked for parameters. Whoever is more than $s$ ahead of the slowest gets
# no parameters until that one has caught up. With $s = 0$ and without momentum this is synchronous
# training with the sum of the gradients (all wait, so no staleness acts like momentum either); no
# bound is Downpour.
#
# Digits, four workers, one *eight* times as slow. How many times as fast as waiting for all is a
# bound of 2? (Downpour: 5.5 times.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: run ahead, but not too far, 4 minutes</summary>
#
# Expect 2 to 4 times. After the number, let two students walk, one with half the steps, tied by a
# rope of two metres: fast for two metres.
# </details>

# %%
guess_bound = predict("Bound 2: how many times as fast as synchronous?", "times")
guess_bound

# %%
net = mlp(64, 16, 10)
slow = replace(networks.ethernet_10g, flops_per_s=2e7).with_straggler(1, factor=8)
plan = Plan(0.2, batch_size=32, epochs=6)
schemes = {
    "waits for all": (parameter_server, plan.scaled(4)),
    "waits for 3 of 4": (partial(backup_workers, backups=1), plan.scaled(4)),
    "at most 2 ahead": (partial(bounded_staleness, bound=2), plan),
    "waits for nobody": (downpour, plan),
}
simulated = partial(run, workers=5, backend="simulated", network=slow)
runs = {
    name: simulated(watched(scheme), net, images, classes, how)
    for name, (scheme, how) in schemes.items()
}
ends_s = {name: made.trace.end_s for name, made in runs.items()}
guess_bound.compare(round(ends_s["waits for all"] / ends_s["at most 2 ahead"], 2))

# %%
per_epoch = {"waits for all": 11, "waits for 3 of 4": 44 / 3,  # a quarter of each batch is dropped
             "at most 2 ahead": 44, "waits for nobody": 44}  # fmt: skip
race(runs, note="loss", steps_per_epoch=per_epoch,
     title="Four workers, rank 1 is eight times as slow")  # fmt: skip

# %% [markdown]
# (`watched` notes the loss over all images after each update. Each run has one seed: compare when
# they end, not how low.) Switch the axis to *time*. The bound gains its head start, 3 % of this
# run, and no more: after three batches the fast ones wait for the straggler, not after one. A bound
# helps against workers that are slow *now and then*, each at another time. Against one that is
# always slow it is a barrier that begins two batches later.

# %% [markdown]
# *Backup workers* (Chen and others 2016) take another way: wait for the first three of four, and
# drop the last. No gradient is ever old, and no step waits for the straggler; its work is thrown
# away, a quarter of each batch. Here that is 7.35 times as fast as waiting for all.

# %% tags=["how-we-know"]
# How we know: bound 0 is synchronous training; who is last and how old gradients are
spans = [span for span in runs["at most 2 ahead"].trace.computes if span.label == "gradient"]
slow_first_s = min(span.end_s for span in spans if span.rank == 1)
assert all(sum(span.rank == rank and span.end_s < slow_first_s for span in spans) == 3
           for rank in (2, 3, 4))  # fmt: skip
assert round(ends_s["waits for all"] / ends_s["at most 2 ahead"], 2) == 1.03
assert round(ends_s["waits for all"] / ends_s["waits for nobody"], 1) == 5.5
assert round(ends_s["waits for all"] / ends_s["waits for 3 of 4"], 2) == 7.35
dropped = [note.value for note in runs["waits for 3 of 4"].trace.notes_named("dropped")]
assert sum(dropped) == 66 // 8, "the straggler's all, and none of the others'"
for name, made in runs.items():  # what the race draws: each update when it was made
    seen_s = [note.time_s for note in made.trace.notes_named("loss")]
    assert len(seen_s) == 6 * len(images) / schemes[name][1].batch_size
    assert (seen_s[6] < slow_first_s) == (name != "waits for all"), "others go on"
assert max(ages(runs["at most 2 ahead"].trace)) < max(ages(runs["waits for nobody"].trace))
at_once = on_bowl(parameter_server, 4, 40, pace(4), waits=True).values[0].w
for network in (pace(4, "random"), pace(4, "straggler")):
    bound_0 = on_bowl(partial(bounded_staleness, bound=0), 4, 40, network).values[0].w
    assert np.abs(bound_0 - at_once).max() < 1e-12
# momentum after each of four gradients is another thing than after their sum
together = lecture_09.history(4, "random", "0")[0]
assert lecture_09.edge_of(together, 0.9) < 0.1 < 0.9 < lecture_09.edge_of([0] * 240, 0.9) / 4

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Tune it again
#
# One machine trains the digits well with rate 0.1 and momentum 0.9. Four replicas with random times
# take the same setting; then one that is tuned for them: no momentum, rate 0.3. (Half and twice the
# rate are worse for either.) And they may go on for about as many seconds as the one machine: four
# times the epochs. Each with three seeds; the thick curve is their median.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: tune it again, 3 minutes</summary>
#
# Let the race run by updates, and collect verdicts; then by time. Who looks at one of these axes
# only comes to one verdict, and who looks at the other to another.
# </details>

# %%
settings = {
    "one machine": (data_parallel, 1, Plan(0.1, 32, 4, momentum=0.9)),
    "4 replicas, the same": (RETURNED, 5, Plan(0.1, 32, 16, momentum=0.9)),
    "4 replicas, tuned": (RETURNED, 5, Plan(0.3, 32, 16)),
}


def train(name, seed=0, factor=1.0):
    """Draw batches and times by the seed; take so many times the setting's rate."""
    scheme, workers, how = settings[name]
    pace_net = replace(networks.ethernet_10g, flops_per_s=2e7).with_exponential_service(seed + 1)
    how = replace(how, seed=seed, learning_rate=factor * how.learning_rate)
    return run(watched(scheme), net, images, classes, how, workers=workers,
               backend="simulated", network=pace_net)  # fmt: skip


trained = {name: [train(name, seed) for seed in range(3)] for name in settings}
race(trained, note="loss", steps_per_epoch=44, reference="one machine",
     title="Digits, batches of 32")  # fmt: skip

# %% [markdown]
# Single losses jump. So here is the mean over a tenth of a second, the last before the first of the
# three ends, and over the three seeds:


# %%
def last_loss(made, end_s):
    """The mean loss of the tenth of a second before a time."""
    notes = made.trace.notes_named("loss")
    return np.mean([note.value for note in notes if end_s - 0.1 < note.time_s <= end_s])


first_s = [min(made.trace.end_s for made in each) for each in zip(*trained.values(), strict=True)]
ended = {name: np.mean(list(map(last_loss, three, first_s))) for name, three in trained.items()}
table({name: {"loss at the end": round(loss, 2)} for name, loss in ended.items()})

# %% [markdown]
# First by *updates*: the tuned replicas are behind the one machine, and the untuned ones do not
# learn. Then by *time*: in the same second the tuned ones have about two thirds of the one
# machine's loss. So it is more epochs, in as many seconds: four times the work, for a third less.
# Whoever tunes nothing loses it all. Where noise keeps one machine's rate low to begin with, the
# replicas gain more: that was the end of the section on the rate.

# %%
claim("3.30")

# %% tags=["how-we-know"]
# How we know: the same second, the same update; half and twice the rate are worse for either
assert ended["4 replicas, the same"] > 1.5
assert 0.5 < ended["4 replicas, tuned"] / ended["one machine"] < 0.75
for made, alone in zip(trained["4 replicas, tuned"], trained["one machine"], strict=True):
    seen, other = ([n.value for n in each.trace.notes_named("loss")] for each in (made, alone))
    assert np.mean(seen[100:176]) > 1.2 * np.mean(other[100:]), "by updates it is behind"
    assert 0.8 < made.trace.end_s / alone.trace.end_s < 1.3
for name in ("one machine", "4 replicas, tuned"):
    others = [last_loss(train(name, factor=factor), first_s[0]) for factor in (0.5, 2)]
    assert last_loss(trained[name][0], first_s[0]) < min(others)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The price sheet goes on
#
# Four replicas of the bowl: gradients that are applied in a second, until the last update, for
# three kinds of times; then, beside a straggler, messages at the server for each applied gradient,
# and its mean age. (Runs have 240 gradients. At the end Downpour's fast replicas have nothing left:
# in longer runs it comes nearer to 4, 4 and 3.25. Messages take no time; a fetch of one's own makes
# gradients younger only because the three fast replicas push at one moment.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the price sheet, 2 minutes</summary>
#
# Cover the columns one by one and let the class fill them in. Ask for the network in which
# Downpour, four messages a gradient, would lose: one with a large latency.
# </details>

# %%
lecture_09.price_sheet()

# %% [markdown]
# With equal times nobody gains by not waiting, and old gradients are all that one gets. The more
# the times differ, the more waiting costs. Which scheme wins is a question about *your* times.
#
# Only where gradients are dropped do the messages for one depend on the times. To wait for 3 of 4
# takes 4.0 with equal times, for the fourth has its three messages in each step for nothing; 3.7
# with random times; and 3.3 beside the straggler, which has them in about one step of four.

# %% tags=["how-we-know"]
# How we know: messages for an applied gradient, where the last of four is dropped
first_3 = [on_bowl(partial(backup_workers, backups=1), 4, 240, pace(4, times), waits=True).trace
           for times in lecture_09.TIMES]  # fmt: skip
assert [round(trace.n_messages / 180, 1) for trace in first_3] == [4.0, 3.7, 3.3]
pushes = [m for m in first_3[2].messages if m.src == 1 and m.tag == "gradient"]
assert 15 <= len(pushes) <= 16, "of 60 steps, the straggler's"

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** Two replicas, A and B; a push returns the next parameters. They push in the order
# A B B A A B. How old is each gradient, and what is the sum?
#
# <details><summary>Answer</summary>
#
# 0 1 0 2 0 2: the sum is 5. By the formula: A's last update has number 4, B's 5, so 4 + 5 + 2 − 6 =
# 5.
# </details>

# %% [markdown]
# **Question 2.** Eight replicas diverge at a rate at which one machine is stable. Somebody proposes
# a bound of 0. Does it help?
#
# <details><summary>Answer</summary>
#
# With random times it makes it worse: eight gradients of the same parameters, added up, are stable
# below 2/8 = 0.25, random asynchronous ones below 0.57 (the mean of squares). With equal times it
# helps a little: 0.25 against 0.21. With the bound, divide the rate by eight as well, or take the
# mean of the gradients: that is as stable as one machine.
# </details>

# %% [markdown]
# **Question 3.** Your cluster has one machine that is always half as fast. Which of the schemes of
# this lecture do you choose, and which do you rule out?
#
# <details><summary>Answer</summary>
#
# Ruled out: waiting for all, and any bound, which is the same after a while. Backup workers with
# one to spare waste its work but have no old gradients. Downpour uses it, but everybody's gradients
# are old then, its own the oldest. Or, simplest of all to reason about: give it half as many
# examples and wait for all.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Chen, Pan, Monga, Bengio and Jozefowicz 2016, *Revisiting distributed synchronous SGD*. Dean and
# others 2012, *Large scale distributed deep networks*. Ho and others 2013, *More effective
# distributed ML via a stale synchronous parallel parameter server*. Mitliagkas, Zhang, Hadjis and
# Ré 2016, *Asynchrony begets momentum*. Zhang, Gupta, Lian and Liu 2015, *Staleness-aware
# async-SGD*, which divides the rate by the age (`staleness_aware` in the library).
# </details>

# %% [markdown]
# ## What to remember
#
# - A gradient is $P-1$ updates old on average, whatever the times, if a push returns the next
#   parameters; less with a fetch of its own, if others push before it.
# - Equal times: the rate must stay below $2\sin\frac{\pi}{4P-2}$ over the curvature. Random times
#   forgive more, and in the mean act like momentum $1-\frac1P$.
# - Not waiting pays where times differ; a lost replica stops only those who wait for it.
#
# Next: the [exercises](../exercises/09_asynchronous_sgd.ipynb). Before: [lecture
# 08](08_split_weights.ipynb), [lecture 06](06_overlap_and_scaling.ipynb) on when waiting is cheap,
# [lecture 04](04_parameter_server.ipynb) on the server. After: [lecture 10](10_hogwild.ipynb),
# which takes away the locks.
