# %% [markdown] slideshow={"slide_type": "slide"}
# # 14 · Search and inference: many small runs, and one that answers
#
# After this you can
#
# - say when many trainings are better side by side than each on all workers
# - search with successive halving and ASHA, say what each wastes, and survive a worker that dies
# - say what replicas, stages and split layers do to latency and throughput, and what a queue does
#
# Part 1 takes 16 minutes, part 2 takes 9; plan twice that if you try everything. Needs: 3
# processes, no GPU. You should know stages ([07](07_model_parallelism.ipynb)) and split layers
# ([08](08_split_weights.ipynb)). Before: [lecture 13](13_graphs_and_planners.ipynb), in which a
# planner decides. Then: the [exercises](../exercises/14_search_and_inference.ipynb).

# %% tags=["set-up"]
# Set-up: imports; trials are drawn with seed 0, requests come with seed 0
from functools import partial

import numpy as np
import torch

from course_lib import run
from course_lib.costs import predicted_s
from course_lib.lectures import lecture_14
from course_lib.lectures.lecture_14 import STRATEGIES, searched, served
from course_lib.search import Asha, SuccessiveHalving, best_of, rungs, search
from course_lib.search.perceptrons import train_perceptron
from course_lib.viz import claim, explore, knob, predict, race, source, table, timeline

torch.set_num_threads(1)  # trials are small

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 25 minutes</summary>
#
# Run all cells before class (half a minute). Part 1 is 16 minutes, part 2 is 9. To be shorter,
# leave out "The same on processes".
#
# Common misconceptions: "more workers, so more data parallelism" (not if there are many trainings);
# "ASHA is halving, only faster" (it promotes some that halving does not); "stages make an answer
# faster" (they make it slower, and more of them).
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 1 · Many small runs
#
# ## Sixteen trainings, four workers
#
# All lectures so far distributed *one* training. But nobody trains once: which learning rate, which
# momentum, how many layers? Each set of such numbers is a *trial*, and a trial is a training.
#
# Sixteen trials, four workers. A step of a trial takes 8 ms on one worker. If four share it, it is
# 2 ms for each, and 6 ms for the all-reduce. Either all four workers take each trial in turn, or
# every worker takes four trials of its own, *side by side*. How many times as fast is side by side?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: sixteen trainings, 4 minutes</summary>
#
# On the board: 16 (2 + 6) against 4 times 8. Then ask for an all-reduce that is free: equal, not
# slower. In the explorer: with five trials on four workers three are idle in the second round, and
# a fast all-reduce makes up for it.
# </details>

# %%
guess_side = predict("Side by side: how many times as fast as in turn?", "times")
guess_side

# %%
in_turn, side_by_side = (lecture_14.traced(16, shared) for shared in (True, False))
guess_side.compare(round(in_turn.end_s / side_by_side.end_s, 2))

# %%
timeline({"in turn": in_turn, "side by side": side_by_side}, title="A step of 16 trials")

# %% [markdown]
# In turn $16 \cdot (8/4 + 6) = 128$ ms, side by side $16/4 \cdot 8 = 32$ ms, without a message.
# Were the all-reduce free, both would be equal. These trials are equally long; so only where they
# are no multiple of the workers are some idle in the last round: there sharing can win. With how
# many trials does it?

# %%
explore(lecture_14.steps_chart, workers=knob([2, 4, 8, 16], start=4),
        allreduce=knob([0, 0.5, 1, 2, 6], label="all-reduce", unit="ms", start=1))  # fmt: skip

# %%
claim("1.8")

# %%
claim("1.1")

# %% tags=["how-we-know"]
# How we know: the formula is the runs; side by side never loses where all rounds are full
for trials in (1, 2, 4, 5, 16):
    both = [1e3 * lecture_14.traced(trials, shared).end_s for shared in (True, False)]
    assert np.allclose(both, lecture_14.steps_ms(trials, 4, 6.0), rtol=1e-9)
assert side_by_side.n_messages == 0 < in_turn.n_messages
for workers in (2, 4, 8, 16):
    for trials in range(workers, 17, workers):
        turn, side = lecture_14.steps_ms(trials, workers, 0.0)
        assert side == turn < lecture_14.steps_ms(trials, workers, 1.0)[0]
assert lecture_14.steps_ms(2, 4, 0.5)[0] < lecture_14.steps_ms(2, 4, 0.5)[1]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Not all deserve to be trained to the end
#
# *Random search* draws trials and trains each to its end (Bergstra and Bengio 2012). Here nine
# perceptrons that read digits: rate, momentum, and their architecture, the width and the number of
# hidden layers. Nine epochs each: 81. After the first one, four of the nine still guess: a loss of
# 2.3, as of ten equally likely digits.
#
# *Successive halving* begins all with one epoch. The best third is trained three epochs, the best
# third of these nine: *rungs* of a ladder, with $\eta = 3$ (no learning rate here). A job is always
# trained from the start, so that a worker need not remember anything. How many epochs in all?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: not all to the end, 4 minutes</summary>
#
# 9 + 3 · 3 + 9: each rung costs the same, and their number is a logarithm. (Who goes on from a
# checkpoint needs 9 + 3 · 2 + 6 = 21.) Then ask what goes wrong when a slow starter is the best in
# the end: halving drops it. The explorer below has a mild case, trial 4 of 27.
# </details>

# %%
guess_epochs = predict("Nine trials, rungs of 1, 3 and 9 epochs: how many epochs in all?", "epochs")
guess_epochs

# %%
guess_epochs.compare(sum(rung.n_trials * rung.resource for rung in rungs(9, 1, 9, eta=3)))

# %% [markdown]
# A third. Now four workers, and rank 0 that hands out jobs to whoever is free, in virtual time: an
# epoch of a net of mean size takes a second, larger nets take longer. *3 @ 9* is trial 3, trained
# for nine epochs; where it has no room, *3* is left of it. Before you look: what do workers do at
# the end of a rung?

# %%
timeline({name: searched(name).trace for name in STRATEGIES}, roles={0: "hands out"},
         title="Nine trials, four workers")  # fmt: skip

# %%
table({name: searched(name).row() for name in STRATEGIES})

# %% [markdown]
# All three find trial 3. Halving trains a third of the epochs, but takes 43 % of the time. It
# begins a rung when the *last* of the one before is in: three workers wait for the large net,
# 6 @ 1, then two for 4 @ 3. A straggler, again, and a barrier: 30 % of the workers' time. Another
# 34 % is lost because a rung of three trials, or of one, has no work for four. (When 6 @ 1 is
# awaited, two of the best three are certain, whatever it comes to; the third is not.)

# %% tags=["how-we-know"]
# How we know: what the rungs say is what was trained; the same trial; who waited for whom
found = {name: searched(name) for name in STRATEGIES}
assert [found[name].epochs for name in STRATEGIES] == [81, 27, 30]
assert {one.best.job.trial for one in found.values()} == {3}
first_losses = [lecture_14.curve(trial)[0] for trial in range(9)]
assert sum(abs(loss - np.log(10)) < 0.01 for loss in first_losses) == 4
ends = {span.label: span.end_s for span in found["halving"].trace.computes}
assert max((label for label in ends if label.endswith("@ 1")), key=ends.__getitem__) == "6 @ 1"
assert min(span.start_s for span in found["halving"].trace.computes
           if span.label.endswith("@ 3")) > ends["6 @ 1"]  # fmt: skip
assert found["ASHA"].trace.end_s < found["halving"].trace.end_s < found["random search"].trace.end_s
assert round(100 * found["halving"].trace.end_s / found["random search"].trace.end_s) == 43
waited_s, jobless_s, begun_s = 0.0, 0.0, 0.0
for epochs in (1, 3, 9):
    rung = [s for s in found["halving"].trace.computes if s.label.endswith(f"@ {epochs}")]
    done_s = max(span.end_s for span in rung)
    for worker in range(1, 5):
        trained_s = sum(span.end_s - span.start_s for span in rung if span.rank == worker)
        waited_s += (done_s - begun_s - trained_s) * (trained_s > 0)
        jobless_s += (done_s - begun_s) * (trained_s == 0)
    begun_s = done_s
parts = [100 * idle_s / (4 * begun_s) for idle_s in (waited_s, jobless_s)]
assert np.allclose(parts, [30, 34], atol=0.5)
of_three = {label: end_s for label, end_s in ends.items() if label.endswith("@ 3")}
assert max(of_three, key=of_three.__getitem__) == "4 @ 3"
eight_in = [(outcome.loss, outcome.job.trial) for outcome in found["halving"].outcomes[:8]]
best_three = [{trial for _, trial in sorted([*eight_in, (last, 6)])[:3]} for last in (0.0, 9.0)]
assert best_three[0] & best_three[1] == {3, 8}
assert best_three[0] != best_three[1]
eight = searched("random search", 8).trace
work_s = sum(span.end_s - span.start_s for span in eight.computes)
assert eight.end_s > 1.5 * work_s / 4, "two trials a worker, side by side, but of unequal length"

# %% [markdown] slideshow={"slide_type": "slide"}
# ## ASHA: nobody waits for the rung
#
# *Asynchronous successive halving* (Li and others 2020) does not wait for a rung. Whoever is free
# asks: is there a trial among the best third of those that are in *so far* that has not gone on
# yet, on any rung, the highest first? Then it goes on. If not, a new one is begun.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: ASHA, 4 minutes</summary>
#
# Read the loop aloud, then step through the player to the first promotion: three are in, so one may
# go on. Which? The best of three, trial 1: later it is fourth of nine, and halving would not have
# trained it. Ask what that costs: three epochs, on a worker that would else have begun trial 6.
# </details>

# %%
source(Asha.next_job)

# %% [markdown]
# Play it. Every box has a cell for each trial; on rank 0 it is as full as the trial has come: one
# third, two thirds, full.

# %%
searched("ASHA").player("ASHA: nine trials, four workers", moments=4, even_steps=True)

# %% [markdown]
# After three losses it promotes the best of them, trial 1. When all nine are in, trial 1 is fourth:
# halving would not have gone on with it. ASHA now and then trains one too many, here three epochs
# of 30. It is done earlier all the same: its 3 @ 9 begins when halving's first rung is not yet
# over. Whose best loss falls first?

# %%
race({name: searched(name).trace for name in STRATEGIES}, note="best", y_log=True,
     reference="random search", title="The best loss known so far")  # fmt: skip

# %% [markdown]
# An *update* on the first axis is a loss that came in: by those, random search is ahead, for each
# of its trainings is long. By *time* it is last for five seconds, then first: trial 3 happened to
# be among the four that were begun at once. That none of the nine is better it knows after 40 s
# only. ASHA ends after 12.5, and never knows: whom it dropped might have become better. Now move
# workers, trials and $\eta$, and make a worker slow. (Random search trains each as long as the last
# rung.) Find a setting in which halving is as early as ASHA, and one in which both miss the best
# trial.

# %%
explore(lecture_14.search_chart, workers=knob([1, 2, 4, 8], start=4),
        trials=knob([9, 27], start=27), eta=knob([2, 3, 4], label="η", start=3),
        times=knob(lecture_14.TIMES, start="size"))  # fmt: skip

# %% [markdown]
# With one worker nobody waits for anybody, and halving is no later than ASHA. With four it can even
# be earlier: 27 trials, all alike, take 52 s, and with ASHA 55, whose longest training begins late.
# And trial 4, the best of 27 after 27 epochs, is second after nine, where one of three goes on:
# rungs see who learns *fast*. Both end with trial 3, a loss of 0.099 in place of 0.093, for 108
# epochs in place of 729.

# %% tags=["how-we-know"]
# How we know: who is promoted too early; trial 4 is missed by both; one worker; one slow worker
jobs = [tuple(outcome.job) for outcome in found["ASHA"].outcomes]
first_rung = sorted((outcome.loss, outcome.job.trial) for outcome in found["halving"].outcomes[:9])
assert [trial for _, trial in first_rung][3] == 1
assert (1, 3) in jobs
assert found["random search"].found[3][1] < found["ASHA"].found[3][1], "by updates"
known_s = {name: min(at for at, loss in one.found if loss == one.best.loss)
           for name, one in found.items()}  # fmt: skip
assert min(known_s, key=known_s.get) == "random search", "by time"
assert 5 < known_s["random search"] < 6
for at_s in (0.2, 1.0, 2.0, 3.0, 5.0, 5.5, 8.0):
    best = {name: min([loss for at, loss in one.found if at <= at_s], default=np.inf)
            for name, one in found.items()}  # fmt: skip
    assert (max if at_s <= 5 else min)(best, key=best.get) == "random search", "last, then first"
third_s, fourth_s = (at for at, _ in found["ASHA"].found[2:4])
goes_on_s = next(note.time_s for note in found["ASHA"].trace.notes_named("trains")
                 if note.value == [1, 3])  # fmt: skip
assert third_s <= goes_on_s < fourth_s, "after three losses"
assert [round(found[name].trace.end_s, 1) for name in ("random search", "ASHA")] == [40.4, 12.5]
begun = [note.value[0] for note in found["ASHA"].trace.notes_named("trains")]
longest = next(s for s in found["ASHA"].trace.computes if s.label == "3 @ 9")
assert longest.start_s < ends["6 @ 1"]
assert begun.index(1, 2) < begun.index(6), "trial 1 goes on where trial 6 would have begun"
assert (1, 3) not in [tuple(outcome.job) for outcome in found["halving"].outcomes]
long = {name: searched(name, 27, 4, 27) for name in STRATEGIES}
assert [one.best.job.trial for one in long.values()] == [4, 3, 3]
after = {epochs: sorted(range(27), key=lambda k: lecture_14.curve(k)[epochs - 1])
         for epochs in (9, 27)}  # fmt: skip
assert after[27][0] == 4
assert after[9][:2] == [3, 4]
assert [one.epochs for one in long.values()] == [729, 108, 108]
assert np.allclose([one.best.loss for one in long.values()], [0.093, 0.099, 0.099], atol=5e-4)
alone = [searched(name, 27, 1, 27).trace.end_s for name in ("halving", "ASHA")]
slow = [searched(name, 27, 4, 27, times="slow").trace.end_s for name in ("halving", "ASHA")]
assert np.isclose(*alone, rtol=1e-9)
alike = [searched(name, 27, 4, 27, times="alike").trace for name in ("halving", "ASHA")]
assert [round(one.end_s) for one in alike] == [52, 55]
longest_s = [next(span.start_s for span in one.computes if span.label.endswith("@ 27"))
             for one in alike]  # fmt: skip
assert longest_s[0] < longest_s[1]
assert slow[0] > 2 * slow[1]
for trials, epochs in ((9, 81), (27, 729)):  # as long as the last rung
    below = lecture_14.search_chart(4, trials, 3, "size").chart["below"]
    assert [row[2] for row in below if row[0] == "random search"] == [f"{epochs}"]

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same on processes
#
# Virtual time looked the losses up: each trial was trained once, and a shorter training is the
# beginning of a longer one. Now two real workers train what halving asks for, beside rank 0:

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the same on processes, 1 minute</summary>
#
# The result of halving does not depend on who is first: it waits. ASHA's may. From a terminal:
# `python -m course_lib search --method asha --trials 27`.
# </details>

# %%
train_here = partial(train_perceptron, examples=lecture_14.images())
here = run(search, SuccessiveHalving(9, 1, 9), lecture_14.space(), train_here, workers=3).values[0]
{"the best trial": best_of(here).job.trial, "its loss": round(best_of(here).loss, 3)}

# %% tags=["how-we-know"]
# How we know: every loss of real workers is the one that virtual time looked up
assert sorted(one.job for one in here) == sorted(one.job for one in found["halving"].outcomes)
for outcome in here:
    trial, epochs = outcome.job
    assert np.isclose(outcome.loss, lecture_14.curve(trial)[epochs - 1], rtol=1e-6)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A worker dies
#
# In a synchronous training the death of a worker stops everybody. Here it has only one job, and
# rank 0 knows which. Twelve trials of a second each, four workers: three seconds. Worker 3 dies
# after 1.5 s, in the middle of trial 6, and is started again at 2 s. It has forgotten everything,
# and asks for work. When is the search over?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a worker dies, 3 minutes</summary>
#
# On the board, a row a second, how many are done: 4, 3, 4, 1. Then the two bugs that people write:
# the job of the dead is never given out again (eleven losses, and a next rung that never begins),
# or it is given out again while the "dead" one was only slow, and two losses come. Exercise 2 finds
# them. And rank 0? Its death ends the search: it alone knows.
# </details>

# %%
guess_end = predict("Worker 3 is away from 1.5 s to 2 s: the search is over after", "s")
guess_end

# %%
died = lecture_14.with_a_death()
guess_end.compare(round(died.trace.end_s, 2))

# %%
died.player("Worker 3 dies, and comes back", moments=4)

# %% [markdown]
# Half a second of work was lost, for half a second nobody was there: the last of twelve trials
# needs a round of its own, so the search ends a second later. No trial is missing or there twice.
# *A job is in one place*: not given out, with one worker, or done. It is given out again because it
# is trained from the start, whoever does it. (What rank 0 knows is in one place, too: if it dies,
# the search begins again.)

# %% tags=["how-we-know"]
# How we know: each trial once, the losses of the search in which nobody died
calm = sorted(lecture_14.with_a_death(died_s=100.0, back_s=None).outcomes)
assert sorted(died.outcomes) == calm
assert sorted(outcome.job.trial for outcome in died.outcomes) == list(range(12))
begun = [note.value[0] for note in died.trace.notes_named("trains")]
assert sorted(begun) == sorted([*range(12), 6]), "trial 6 was begun twice"
assert np.isclose(lecture_14.with_a_death(100.0, None).trace.end_s, 3, atol=1e-3)

# %% [markdown] slideshow={"slide_type": "slide"}
# # Part 2 · One that answers
#
# ## Replicas and stages
#
# The search is over: one model, and people who ask it. *Inference* is the forward pass alone.
# *Latency* is how long one request takes; *throughput* is how many are answered in a second. A net
# of eight equal layers takes 4 ms for a request, 0.5 ms a layer.
#
# Four workers. *Replicas*: each has the whole model, and answers whole requests. *Stages*: each has
# two layers, and hands on what it has computed, 8 KB; on 1 Gbit/s a message takes 0.1 ms. When is
# the first request answered by four stages?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: replicas and stages, 4 minutes</summary>
#
# Many say 1 ms: four workers, a quarter of the time. But the layers still come one after the other.
# Ask what the other three stages do meanwhile (they wait, lecture 07), and what changes when there
# is a second request. There is no backward pass: no bubble but the first and the last three steps.
# </details>

# %%
guess_stages = predict("Four stages: the first request is answered after", "ms")
guess_stages

# %%
guess_stages.compare(round(1e3 * served("stages").service.latency_s, 2))

# %% [markdown]
# Play eight requests, both ways. A cell is full while a rank has computed that request, and holds
# what it made of it.


# %%
def eight_requests(way):
    """Four workers answer; returns a player."""
    return served(way).player()


explore(eight_requests, way=knob(["replicas", "stages"], start="stages"))

# %% [markdown]
# Stages: 4.3 ms, *later* than one worker alone, then one answer each millisecond. Replicas: 4 ms as
# ever, then four at once: the same 1,000 a second, no messages. So stages are for a model that does
# not fit into one worker. To answer *one* request sooner, several must work at the same layer:
# column, then row, with an all-reduce for each pair (lecture 08).

# %%
lecture_14.latency_table()

# %% [markdown]
# Split layers answer nearly four times as fast where messages take microseconds. They are useless
# between sites: four all-reduces for each request are waited for. This is why language models are
# split inside a machine. (A ring adds up here, six latencies each. A butterfly, lecture 05, has
# two: 1.8 ms on 1 Gbit/s, 302 between sites.)

# %%
claim("2.9")

# %%
claim("4.15")

# %% tags=["how-we-know"]
# How we know: the same answers, to rounding; latency and throughput of the text
alone = served("replicas", 1)
for way in ("replicas", "stages", "split layers"):
    for request, y in served(way).outputs.items():
        assert np.abs(y - alone.outputs[request]).max() < 1e-13 < 1e-3 < np.abs(y).max()
assert np.isclose(alone.service.latency_s, 4e-3, rtol=1e-9)
assert np.isclose(served("replicas").service.latency_s, 4e-3, rtol=1e-9)
rates = [served(way).service.per_second for way in ("replicas", "stages")]
assert np.allclose(rates, 1000, rtol=1e-9)
assert 4.2e-3 < served("stages").service.latency_s < 4.4e-3
sent = served("stages").trace.messages[0]
assert sent.n_bytes == 8192
assert np.isclose(sent.arrived_s - sent.posted_s, 1e-4, rtol=0.01)
by_split = {name: served("split layers", 4, name).service.latency_s for name in lecture_14.NETWORKS}
assert by_split["NVLink"] < 4e-3 / 3.8
assert by_split["between sites"] > 100 * 4e-3
for way, ms in (("ring", (2.23, 901)), ("butterfly", (1.80, 302))):
    for name, expected in zip(("1 Gbit/s", "between sites"), ms, strict=True):
        net = lecture_14.network_of(name)
        cost = "allreduce_" + way, 4, 8192, net.latency_s, net.beta_s_per_byte
        assert np.isclose(1 + 4e3 * predicted_s(*cost), expected, rtol=0.005)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The queue
#
# So far all requests were there. In truth they come when they come: the same number a second in the
# mean, but sometimes three at once. One worker answers 250 a second; let 200 come. Each takes 4 ms.
# Does it take a little more than 4 ms until one is answered? Set *replicas* and *stages* to 1, and
# look. Then spend three more workers.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the queue, 3 minutes</summary>
#
# For one worker, requests that come independently of each other and all take equally long (M/D/1),
# queueing theory has a formula: with a part ρ of the time busy, the mean wait is ρ / (2 (1 − ρ)) of
# a request: 8 ms at 80 %. Ask why stages now *do* shorten the latency that a user sees: not of the
# answer, of the queue. And what one worker does at 95 %: 38 ms of waiting. With 64 that share one
# queue 95 % is no trouble, 0.4 ms: some worker is nearly always about to be free.
# </details>

# %%
explore(lecture_14.rate_chart, replicas=knob([1, 2, 4], start=1),
        stages=knob([1, 2, 4], start=1),
        rate=knob(lecture_14.RATES, label="requests a second", start=200),
        network=knob(["NVLink", "1 Gbit/s", "between sites"], start="1 Gbit/s"))  # fmt: skip

# %% [markdown]
# At 80 % of what it can do, one worker takes 11.5 ms in the mean of these 2,000 requests (12 in the
# long run), and one request of 20 more than 31 ms: what one sees is the queue. Four replicas: 4.0
# ms. Four stages: 4.4 ms, though each answer takes longer than before. A service is judged by its
# slowest answers, so one leaves it room: a few workers need much of it, many that share a queue
# little. (Services of language models also put requests that wait
# together into one batch: more throughput, and a longer wait for who came first.)

# %% tags=["how-we-know"]
# How we know: the formula for one worker; what the explorer's text says; a run without gaps
alone = lecture_14.service_of(1, "1 Gbit/s")
waits = lecture_14.latencies(lecture_14.arrivals(125, 100_000), 1, alone) - alone.latency_s
assert np.isclose(waits.mean(), 4e-3 * 0.5 / (2 * 0.5), rtol=0.05)
many = lecture_14.latencies(np.zeros(8), 1, lecture_14.service_of(4, "1 Gbit/s"))
assert np.isclose(many[-1], max(served("stages").answers[3].done_s.values()), rtol=1e-6)
ms = {grid: 1e3 * lecture_14.latencies(lecture_14.arrivals(200), grid[0],
      lecture_14.service_of(grid[1], "1 Gbit/s")) for grid in ((1, 1), (4, 1), (1, 4))}  # fmt: skip
assert [round(float(found.mean()), 1) for found in ms.values()] == [11.5, 4.0, 4.4]
assert 31 < np.quantile(ms[1, 1], 0.95) < 32
assert np.isclose(4 * 0.95 / (2 * 0.05), 38), "one worker, 95 % busy"
crowd = lecture_14.latencies(lecture_14.arrivals(0.95 * 64 * 250, 50_000), 64, alone)
assert 0.2 < 1e3 * crowd.mean() - 4 < 0.6, "64 of them"
alike = {grid: lecture_14.service_of(grid[1], "NVLink") for grid in ((4, 1), (1, 4))}  # question 3
waited = [1e3 * (lecture_14.latencies(lecture_14.arrivals(500, 50_000), grid[0], one).mean()
                 - one.latency_s) for grid, one in alike.items()]  # fmt: skip
assert np.allclose(waited, [0.2, 0.5], rtol=0.1)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The price sheet, and three questions
#
# What an answer costs, eight requests that are all there. (Split layers add up in a ring. They
# are a quarter of the weights, but the bias of each second layer is on all ranks.)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the price sheet and questions, 2 minutes</summary>
#
# Cover the columns of NVLink and let the class guess them. Then the questions in pairs.
# </details>

# %%
lecture_14.price_sheet()

# %% [markdown]
# **Question 1.** You have eight workers and two trials, and cannot draw more. What do you do?
#
# <details><summary>Answer</summary>
#
# Each trial on four workers: two groups, side by side, data parallel inside. Fewer ranks in an
# all-reduce than with eight for each in turn, and nobody is idle.
# </details>

# %% [markdown]
# **Question 2.** In ASHA all losses of the first rung are `nan` for a day, because somebody broke
# the data. What does it train?
#
# <details><summary>Answer</summary>
#
# The library counts `nan` as infinite, so all are equal. It promotes nevertheless: one in three of
# those that are in, the first trials. No strategy can tell a bad space from a broken one: look at
# the losses.
# </details>

# %% [markdown]
# **Question 3.** A service has four replicas, each busy half of the time. Somebody makes it one
# replica of four stages, "four times as fast". What do users see?
#
# <details><summary>Answer</summary>
#
# The same throughput, an answer that takes as long and the cuts on top, and waits that are a
# little longer in the mean, 0.5 ms in place of 0.2: a request can be taken by one place alone. (If
# replicas get requests in turn, or whoever is free; drawn at random, they wait 2 ms.) No gain,
# unless the model did not fit.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Bergstra and Bengio 2012, *Random search for hyper-parameter optimization*. Jamieson and Talwalkar
# 2016, *Non-stochastic best arm identification and hyperparameter optimization* (successive
# halving). Li, Jamieson, Rostamizadeh and others 2020, *A system for massively parallel
# hyperparameter tuning* (ASHA). Pope, Douglas, Chowdhery and others 2023, *Efficiently scaling
# transformer inference*.
# </details>

# %% [markdown]
# ## What to remember
#
# - Many trainings need no all-reduce: side by side they are never slower than in turn, as long as
#   all workers have as much to do.
# - Halving trains few to the end and waits for the slowest of each rung; ASHA does not wait, and
#   promotes some too early. A job that is trained from the start can be given to anybody again.
# - Replicas and stages give throughput, split layers give latency. Of one worker, or a few, near
#   full load a user sees little but the queue.
#
# Next: the [exercises](../exercises/14_search_and_inference.ipynb). Before: [lecture
# 13](13_graphs_and_planners.ipynb), in which a planner decides; [lecture
# 08](08_split_weights.ipynb) on split layers, [lecture 07](07_model_parallelism.ipynb) on stages.
