# %% [markdown] slideshow={"slide_type": "slide"}
# # 13 · Graphs and planners: who decides what runs where?
#
# After this you can
#
# - read off a placed dataflow graph which messages it needs, and what its makespan cannot beat
# - place a graph better than a planner does, and say why the best placement depends on the network
# - say what a planner needs to be right, and which choices TensorFlow leaves to you
#
# 27 minutes; plan twice that if you try everything. Needs: 2 processes, no GPU. You should know
# pipelines ([lecture 07](07_model_parallelism.ipynb)) and, for the last section, hybrids ([lecture
# 08](08_split_weights.ipynb)). Before: [lecture 12](12_beyond_one_machine.ipynb). Then: the
# [exercises](../exercises/13_graphs_and_planners.ipynb), and [lecture
# 14](14_search_and_inference.ipynb).

# %% tags=["set-up"]
# Set-up: imports; what is drawn at random has seed 13
import numpy as np
import torch

from course_lib import run
from course_lib.lectures import lecture_13
from course_lib.lectures.lecture_13 import NETWORKS, STARTS, inception, run_placed, stage
from course_lib.planning.cut import cut
from course_lib.planning.executor import execute
from course_lib.viz import claim, explore, knob, player, predict, timeline

torch.set_num_threads(1)  # small images: more threads only get into each other's way
module = inception(batch=8)

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: the whole lecture in 27 minutes</summary>
#
# Run all cells before class (a minute). Nobody writes a send 6, which node where 7, a planner 4,
# what it believes 4, who chooses the strategy 6; the three questions are homework. To be shorter,
# leave out the grids at the end.
#
# Before anything runs: draw the module on the board (four branches between "x" and "join") and hand
# two colours of chalk to two students. Each node gets a colour. Then ask what crosses.
#
# Common misconceptions: "an edge that is cut is a message" (a result crosses once to each worker);
# "twice the workers, half the time" (the longest path stays); "TensorFlow chooses the strategy".
# </details>

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Nobody writes a send
#
# A *dataflow graph* says what is computed from what. A node is an operation, an edge is a result
# that another node uses. Nothing says where or when. TensorFlow describes a computation so.
#
# Our graph is a module of Inception-v3 (Szegedy and others 2016), forward. Images "x" go into four
# branches of convolutions; "join" puts their outputs together. Branch c has five convolutions, b
# three, a and d have one (before d, "pool" averages).
#
# A *placement* gives each node a worker. Below, b and d (with pool) are on worker 1, the rest is on
# worker 0. Thick edges are *cut*: their ends are on two workers. How many messages does this
# placement need?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: nobody writes a send, 6 minutes</summary>
#
# Four edges are cut: x to b1, x to pool, b3 to join, d to join. Most say four. Ask what worker 1
# does with a second copy of x. In the player stop when two messages are under way, and ask which
# NIC sends them.
# </details>

# %%
placement, network = STARTS["b and d on worker 1"], NETWORKS["100 Gbit/s"]
placed = cut(module, placement, workers=2, network=network)
placed.plot(title="b and d on worker 1")

# %%
guess_messages = predict("How many messages does this placement need?", "messages")
guess_messages

# %%
guess_messages.compare(len(placed.crossing))

# %% [markdown]
# Four edges are cut, and three messages are enough: "x" (7.1 MB) is sent once to worker 1, though
# two nodes there use it. Where an edge is cut, the executor puts a *send* behind the one node and
# a *receive* before the other. See it run, on two workers of 10 Tflop/s:

# %%
trace = run_placed(module, placement, network)
player(lecture_13.by_node(module, trace), **stage(module, placement),
       title="b and d on worker 1, 100 Gbit/s")  # fmt: skip

# %% [markdown]
# Each box is a node, each frame a worker; a box is dark while its node computes. An edge is drawn
# where something crosses. A worker takes its nodes one by one, in the graph's order, and waits only
# for an input that is not there.
#
# And on two real processes, with a small module that really computes: whatever the placement, the
# result is the same to the bit.

# %%
small = inception(batch=2, inputs=32, channels=8, side=9, seed=13)
placements = list(STARTS.values())
results = [run(execute, small, where, workers=2).values for where in placements]
joined = [(left | right)["join"] for left, right in results]
{"placements": len(joined), "all results equal": all(np.array_equal(joined[0], j) for j in joined)}

# %%
claim("2.15")

# %% tags=["how-we-know"]
# How we know: four cut edges, three messages; the run takes what was predicted, to rounding
edges = [(used, name) for name, node in module.nodes.items() for used in node.inputs]
assert sum(placement[used] != placement[name] for used, name in edges) == 4
assert len(placed.crossing) == trace.n_messages == 3
assert np.isclose(trace.end_s, placed.forecast.makespan_s, rtol=1e-9)
assert joined[0].shape == (2, 32, 9, 9)
assert joined[0].std() > 0.01

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which node where?
#
# The time from the start until the last node is done is the *makespan*. One worker alone needs 990
# µs for eight images. Branch c alone computes for 545 µs, and each of its nodes waits for the one
# before. Give the module as many workers as you like, and a network that costs nothing: how many
# times as fast does it get at most?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: which node where, 7 minutes</summary>
#
# 1.8: no placement is faster than the longest path. Then five minutes in pairs with the explorer,
# on 100 Gbit/s: who gets below 990 µs? Hint: where along branch c is the least to send? Who has it
# moves c1 back to worker 0 and says why. At 840 µs ask which message is left to save (join).
# </details>

# %%
guess_bound = predict("Any number of workers, a free network: how many times as fast?", "times")
guess_bound

# %%
alone_s = lecture_13.makespan_s(STARTS["all on worker 0"], "NVLink")
guess_bound.compare(round(alone_s / lecture_13.longest_path("NVLink"), 2))

# %% [markdown]
# Now with a network. Lanes are workers, and the thick line is the *critical path*: the messages and
# the computing that the last node had to wait for. Whatever is not on it may take longer for a
# while, and nobody notices. Move nodes, and watch the path move:
#
# 1. On 100 Gbit/s, all of branch c on worker 1 is slower than one worker alone. Move one node so
#    that it becomes faster.
# 2. Which network makes branch c on worker 1 worth it as it is?
# 3. Does the batch matter?


# %%
def show(start, move, network, batch, lanes):
    """Run a placement; a lane is a worker, or a box is a node."""
    graph, where = inception(batch), lecture_13.moved(start, move)
    made, title = run_placed(graph, where, network), lecture_13.in_words(graph, where, network)
    if lanes == "nodes":
        return player(lecture_13.by_node(graph, made), title=title, **stage(graph, where))
    return timeline(made, title=title, critical_path=True, roles={0: "worker 0", 1: "worker 1"})


explore(show, start=knob(list(STARTS), start="branch c on worker 1"), move=["none", *module.nodes],
        network=knob(NETWORKS, start=NETWORKS["100 Gbit/s"]), batch=knob([1, 8, 32], start=8),
        lanes=["workers", "nodes"])  # fmt: skip

# %% [markdown]
# The cut of branch c at "x" costs 7.1 MB: 768 channels. Behind c1 there are 192 channels left, a
# quarter of the bytes. So with c1 on worker 0 the same branch on worker 1 is done after 840 instead
# of 1,270 µs. *Cut where little crosses.* On NVLink bytes hardly count: the same move saves 12 µs
# of 569. The batch changes nearly nothing: computing and bytes both grow with it, and only the
# latency does not. (On a real GPU a batch of one would keep few of its units busy.)

# %%
claim("4.10")

# %% tags=["how-we-know"]
# How we know: bounds and makespans of the text
assert round(1e6 * alone_s) == 990
assert round(1e6 * lecture_13.longest_path("NVLink")) == 545
on_c = {node: lecture_13.moved("branch c on worker 1", node) for node in ("none", "c1")}
us = {(node, name): 1e6 * lecture_13.makespan_s(on_c[node], name)
      for node in on_c for name in NETWORKS}  # fmt: skip
assert 1265 < us["none", "100 Gbit/s"] < 1275
assert 835 < us["c1", "100 Gbit/s"] < 845
assert [round(us[node, "NVLink"]) for node in on_c] == [569, 557]
assert module.nodes["x"].n_bytes == 4 * module.nodes["c1"].n_bytes == 7_102_464
assert min(us["none", "10 Gbit/s"], us["c1", "10 Gbit/s"]) > 990

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A planner
#
# Two workers and thirteen nodes: 4,096 placements with "x" on worker 0. A *planner* chooses one. It
# has a *cost model*, which predicts makespans, and a search. Our model knows the nodes' flops, the
# results' bytes, latency and bandwidth, and that a NIC sends one message at a time.
#
# For 40 nodes on four workers nobody tries all $4^{39}$; to find the best is NP-hard. A *list
# scheduler* goes node by node, the most urgent first, and puts each where it is done earliest
# (after HEFT, Topcuoglu and others 2002); ours then moves single nodes. The curve has all
# placements of our module, sorted. Move the network: how many are better than one worker?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: a planner, 4 minutes</summary>
#
# On 10 Gbit/s the best of 4,096 is to leave all on one worker. On 100 Gbit/s ask who in the room
# was faster than the planner that goes node by node (840 against 922 µs). Why can they be? It puts
# c1 to c5 first, each where it is done first, and cannot know what this worker has to do besides.
# </details>

# %%
explore(lecture_13.placements_chart, network=knob(list(NETWORKS), start="100 Gbit/s"))

# %% [markdown]
# On 100 Gbit/s only 21 of 4,096 placements beat one worker, and the list scheduler finds the ninth:
# 922 µs. *You* found 840. The best has 806: "join" moves to worker 1 as well. The list scheduler
# decides node by node. Branch c is the most urgent, and each of its nodes is done earliest where
# its input is, on worker 0. That this worker has b and d to do as well, it sees too late: only "a"
# moves. ("c5" in its place: 871.)
#
# And more workers? On NVLink the makespan is 545 µs with two, four or eight: the longest path is
# all there is. No planner adds parallelism that the graph does not have.

# %% tags=["how-we-know"]
# How we know: places on the curve, and what planners have chosen
ordered = lecture_13.all_makespans("100 Gbit/s")
assert sum(s < alone_s for s in ordered) == 21
greedy_s, best_s = (plan("100 Gbit/s").makespan_s
                    for plan in (lecture_13.list_plan, lecture_13.best_plan))  # fmt: skip
assert [round(1e6 * s) for s in (greedy_s, best_s)] == [922, 806]
assert sum(s < greedy_s * (1 - 1e-9) for s in ordered) == 8
where = lecture_13.list_plan("100 Gbit/s").placement
assert {name for name in where if where[name] != where["x"]} == {"a"}
c5_s = lecture_13.makespan_s(lecture_13.moved("all on worker 0", "c5"), "100 Gbit/s")
assert round(1e6 * c5_s) == 871
where = lecture_13.best_plan("100 Gbit/s").placement
assert {name for name in where if where[name] != where["x"]} == {"c2", "c3", "c4", "c5", "join"}
assert lecture_13.best_plan("10 Gbit/s").makespan_s == alone_s
more_s = [lecture_13.list_plan("NVLink", workers).makespan_s for workers in (2, 4, 8)]
assert np.allclose(more_s, lecture_13.longest_path("NVLink"), rtol=1e-9)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What a planner believes
#
# Somebody measures NVLink inside a computer, plans with these numbers, and then runs on two
# computers with 100 Gbit/s between them. The plan promises 545 µs. It sends "x" (7.1 MB, 570 µs
# there) before worker 1 can begin. What happens?

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: what a planner believes, 4 minutes</summary>
#
# 570 + 440 of computing + two results back, about 1,300. The point: it is slower than no plan at
# all (990), and the planner reports 545 with a straight face. Then the other way round: planned for
# a slow network, run on a fast one, little is lost. Pessimists lose less.
# </details>

# %%
guess_wrong = predict("Planned for NVLink, run on 100 Gbit/s: the module takes", "µs")
guess_wrong

# %%
guess_wrong.compare(round(1e6 * lecture_13.makespan_s(
    lecture_13.best_plan("NVLink").placement, "100 Gbit/s")))  # fmt: skip


# %%
def believe(believed, true):
    """Plan for one network, run on it and on another."""
    runs, title = lecture_13.as_believed(believed, true)
    return timeline(runs, title=title, roles={0: "worker 0", 1: "worker 1"})


explore(believe, believed=knob(list(NETWORKS), label="planned for", start="NVLink"),
        true=knob(list(NETWORKS), label="runs on", start="100 Gbit/s"))  # fmt: skip

# %%
lecture_13.belief_table()

# %% [markdown]
# Each column has its best on the diagonal. Who believed in a faster network than there is loses
# most: up to ten times what one worker takes. Who believed in a slower one has not used all that
# was there: with two workers less than twice. *A planner is as good as its cost model.* Ours is
# exact in virtual time, because it knows what the simulator knows. On real machines kernels reach a
# part of the peak, and NICs are shared; so planners that people use measure first.

# %% tags=["how-we-know"]
# How we know: predictions are what runs take, believed or not; losses of the text
for believed in NETWORKS:
    plan = lecture_13.best_plan(believed).placement
    for true in NETWORKS:
        ran_s = run_placed(module, plan, NETWORKS[true]).end_s
        assert np.isclose(ran_s, lecture_13.makespan_s(plan, true), rtol=1e-9)
wrong_s = {(b, t): lecture_13.makespan_s(lecture_13.best_plan(b).placement, t)
           for b in NETWORKS for t in NETWORKS}  # fmt: skip
assert 10 < wrong_s["NVLink", "10 Gbit/s"] / alone_s < 10.5
assert wrong_s["NVLink", "100 Gbit/s"] > 1.3 * alone_s
assert all(wrong_s["10 Gbit/s", t] < 2 * wrong_s[t, t] for t in NETWORKS)
assert 565 < 1e6 * (7_102_464 / 12.5e9 + 5e-6) < 575

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who chooses the strategy?
#
# A placement takes the graph as it is. Data parallelism makes *another graph*: the same operations
# once per worker, each with a part of the batch, and a sum of gradients. Hybrids (lecture 08) and
# pipelines (lecture 07) make others. The same kind of cost model prices all three.
#
# Below is one step of AlexNet, 512 images, four workers, 100 Gbit/s (bytes are scaled down, times
# are true). None hides its messages behind computing, but for what a pipeline does by itself. Below
# it the cheapest is marked. Find for "16 layers" (fully connected, 4,096 units each; the hybrid
# splits all) a setting in which each of the three wins.

# %% [markdown] slideshow={"slide_type": "notes"}
# <details><summary>For lecturers: who chooses the strategy, 6 minutes</summary>
#
# In the timeline ask what each waits for: the ring of all gradients; a stage that is slower than
# the others; little. In the explorer let them find, for the 16 layers, a setting for each winner
# (pipeline: 100 Gbit/s; hybrid: NVLink and 512; data: NVLink and 4,096). Then read claim 0.13 and
# ask who in the room has had a framework choose for them.
# </details>

# %%
ways = lecture_13.ways("AlexNet", "100 Gbit/s", batch=512)
timeline(ways, title="One step of AlexNet, four workers, 100 Gbit/s")

# %%
explore(
    lecture_13.ways_chart, net=knob(list(lecture_13.NETS)),
    network=knob(list(lecture_13.CLUSTERS), start="100 Gbit/s"),
    batch=knob([128, 512, 4096], start=512), workers=knob([2, 4, 8], start=4),
)  # fmt: skip

# %% [markdown]
# For the three convolutional nets "always data parallel" is right with 4,096 images, and loses at
# most 11 % within a computer. For the 16 layers (512, four workers, 100 Gbit/s) it takes 6.9 times
# as long as the pipeline.
#
# Now let it hide: a layer's all-reduce begins once its gradient is there (lecture 06). AlexNet
# takes 55.7 ms, not 84.9, less than the hybrid's 61.2, which hides nothing yet (its gradients
# could): overlap may change the choice. The 16 layers still take 137, and the pipeline 22.
#
# Ways combine: replicas × parts of a layer × stages. Eight workers make ten grids, 34 with
# micro-batches, all priced, for 512 images:

# %%
lecture_13.degrees_table()

# %% [markdown]
# The same net, three networks, two answers. Data parallelism is not among them, though on NVLink it
# would be if it alone hid its messages (10.6 ms). Who searches such spaces?
#
# - *TensorFlow* inserts sends and receives. A node for which you name no device goes to the first
#   GPU, and the strategy is a class that *you* name: `tf.distribute.MirroredStrategy()`.
# - *FlexFlow* (Jia and others 2019) searches over ways to split each operation, with a simulator as
#   its cost model, as here.
# - *GSPMD* (Xu and others 2021) takes a few tensors that you mark as split, and propagates that
#   through the graph; it does not search.
# - *Alpa* (Zheng and others 2022) searches both: stages outside, splits inside.

# %%
claim("0.13")

# %% tags=["how-we-know"]
# How we know: each way wins somewhere; the fastest as predicted is the fastest as run
fastest = {(net, network, batch): lecture_13.fastest_way(net, network, batch)
           for net, network, batch in (
               ("16 layers", "100 Gbit/s", 512), ("16 layers", "NVLink", 512),
               ("16 layers", "NVLink", 4096), ("GoogLeNet", "NVLink", 512))}  # fmt: skip
assert list(fastest.values()) == ["model", "hybrid", "data", "data"]
said = lecture_13.ways_chart("16 layers", "100 Gbit/s", 512, 4).chart["said"]
assert "6.9 times" in said
assert min(ways, key=lambda name: ways[name].end_s) == "hybrid"
lost = {(net, network, batch): lecture_13.lost_by_data(net, network, batch, workers)
        for net in ("AlexNet", "VGG-16", "GoogLeNet") for network in lecture_13.CLUSTERS
        for batch in (128, 512, 4096) for workers in (2, 4, 8)}  # fmt: skip
assert all(times == 1 for (_, _, batch), times in lost.items() if batch == 4096)
assert max(times for (_, network, _), times in lost.items() if network == "NVLink") < 1.115
hiding = {(net, network, workers): 1e3 * lecture_13.hidden_s(net, network, 512, workers)
          for net, network, workers in (("AlexNet", "100 Gbit/s", 4), ("16 layers", "NVLink", 8),
                                        ("16 layers", "100 Gbit/s", 4))}  # fmt: skip
assert np.allclose(list(hiding.values()), [55.7, 10.6, 136.6], atol=0.05)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three questions, no code
#
# Answer aloud or on paper before you unfold.

# %% [markdown]
# **Question 1.** A result of 4 MB is used by three nodes on worker 1 and two on worker 2; it is
# made on worker 0. How many bytes leave worker 0?
#
# <details><summary>Answer</summary>
#
# 8 MB: one message for each worker that needs it, however many nodes there do.
# </details>

# %% [markdown]
# **Question 2.** A node that is not on the critical path is made twice as fast. What happens to the
# makespan? And if it is on the path?
#
# <details><summary>Answer</summary>
#
# In the first case nothing: what the last node waited for takes as long as before. In the second
# the makespan falls, by at most what was saved, or not at all if another path is as long. With
# three workers both can fail: a message that leaves earlier takes a NIC from one that matters more.
# </details>

# %% [markdown]
# **Question 3.** Your planner's best placement is 3 % faster than data parallelism by its cost
# model. Do you take it?
#
# <details><summary>Answer</summary>
#
# Only if the model is right to 3 %. Run both. Of the two, a simple way that nearly wins under many
# assumptions is worth more than one that wins by a little under one.
# </details>

# %% [markdown]
# <details><summary>References</summary>
#
# Abadi and others 2016, *TensorFlow: a system for large-scale machine learning*. Jia, Zaharia and
# Aiken 2019, *Beyond data and model parallelism for deep neural networks* (FlexFlow). Mirhoseini
# and others 2017, *Device placement optimization with reinforcement learning*. Szegedy and others
# 2016, *Rethinking the Inception architecture for computer vision*. Topcuoglu, Hariri and Wu 2002,
# *Performance-effective and low-complexity task scheduling for heterogeneous computing* (HEFT). Xu
# and others 2021, *GSPMD: general and scalable parallelization for ML computation graphs*. Zheng
# and others 2022, *Alpa: automating inter- and intra-operator parallelism*.
# </details>

# %% [markdown]
# ## What to remember
#
# - A placement makes the messages: one for each result and each other worker that needs it. Cut
#   where little crosses.
# - No placement beats the longest path; whoever makes something faster looks for the critical path
#   first.
# - A planner is a search and a cost model. To believe in too fast a network, or to leave overlap
#   out, costs more than a simple search.
#
# Next: the [exercises](../exercises/13_graphs_and_planners.ipynb), and [lecture
# 14](14_search_and_inference.ipynb): many small runs, and one that answers. Before: [lecture
# 12](12_beyond_one_machine.ipynb).
