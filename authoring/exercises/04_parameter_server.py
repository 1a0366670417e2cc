# %% [markdown]
# # Exercises 04 · Parameter server
#
# After this you can
#
# - write a synchronous parameter server from send and receive
# - see in a trace that a server did not wait, and partition layers evenly
# - predict the bytes on a server's NIC, the seconds of a step and its efficiency
#
# Five tasks, about an hour and a half. Tasks 1 and 5 are arithmetic.
#
# Before: [lecture 04](../notebooks/04_parameter_server.ipynb). Then: [lecture
# 05](../notebooks/05_allreduce.ipynb), which does without a server.

# %%
import numpy as np

from course_lib import checks, networks, run
from course_lib.measure import one_step
from course_lib.models.stand_in import StandIn
from course_lib.schemes.parameter_server import parameter_server as library_server
from course_lib.training import Plan
from course_lib.viz import timeline

# No seed is needed: every check draws data of its own.

# %% [markdown]
# ## 1 · What is on the NIC?
#
# Predict the bytes on a NIC in one step, for four places of the server. *Difficulty 1 of 3, 10
# minutes.*
#
# P workers, float64 parameters. In a step every worker fetches all parameters and pushes a gradient
# as long. What passes through a NIC counts whether it comes in or goes out, so the two are added.
#
# **Spec:** the bytes in and out of one NIC, in one step. **Budget:** no messages. `n_parameters`
# is a multiple of both `n_workers` and `n_servers`.


# %% tags=["exercise"] name="predict-nic"
def predict_nic(n_parameters, n_workers, n_servers):
    """Predict the bytes in and out of a server's NIC.

    Parameters
    ----------
    n_parameters : int
        How many float64 numbers the model has.
    n_workers : int
        How many ranks compute gradients, P.
    n_servers : int
        How many shards of equal length there are in the third case.

    Returns
    -------
    dict of str to int
        ``"one_server"``: one dedicated server, besides the workers; ``"on_a_worker"``: one of the
        P workers serves as well; ``"one_of_the_servers"``: one of ``n_servers`` dedicated servers
        with a shard each; ``"a_shard_on_each"``: each of the P workers keeps one of P shards.
    """
    # BEGIN SOLUTION
    n_bytes, others = 8 * n_parameters, n_workers - 1
    return {
        "one_server": 2 * n_workers * n_bytes,
        "on_a_worker": 2 * others * n_bytes,
        "one_of_the_servers": 2 * n_workers * n_bytes // n_servers,
        "a_shard_on_each": 4 * others * n_bytes // n_workers,
    }
    # END SOLUTION


# %% tags=["check"]
checks.predict_nic(predict_nic)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Three workers and one dedicated server: draw the arrows of one step, six of n bytes each. What is
# different if the server is one of the three?
# </details>
#
# <details><summary>Hint 2</summary>
#
# With a shard of n / P bytes on each of the P workers, a rank has two roles. As server it gets P −
# 1 pieces of gradients and sends P − 1 shards. As worker it fetches P − 1 shards and pushes P − 1
# pieces. Four times (P − 1) / P · n.
# </details>
#
# Now on real processes, three workers and ten steps. The server sends the model once more at the
# end: 63 vectors.


# %% tags=["raises-exception"]
def ten_steps(comm):
    """Train a model of 1,000 numbers that has no arithmetic."""
    model, plan = StandIn.of({"all": 1000}, 0), Plan(batch_size=3, epochs=10)
    library_server(comm, model, np.zeros((3, 1)), np.zeros(3), plan)


predicted = predict_nic(1000, 3, 1)["one_server"] / 8000
trace = run(ten_steps, workers=4, time_limit_s=20).trace
print("vectors:", (trace.bytes_sent()[0] + trace.bytes_received()[0]) / 8000)
print("predicted for a step:", predicted)

# %% [markdown]
# **Without code.** A ring sends and receives 2(P − 1)/P · n bytes on every NIC. Which of the four
# places is as good, for any number of workers?
#
# <details><summary>Answer</summary>
#
# A shard on each: 4(P − 1)/P · n in and out together, and half of that each way.
# </details>

# %% [markdown]
# ## 2 · The server
#
# Train with a server. *Difficulty 2 of 3, 25 minutes.*
#
# Rank 0 has the parameters, and only serves. In each step it sends them to all workers. Every
# worker computes its gradient there and pushes it. The server adds all of them up, and goes against
# the sum. After the last step everybody fetches once more.
#
# **Spec:** `w = w - learning_rate * sum(gradient_r(w) for all workers r)`, `steps` times; the same
# bits on every rank. **Budget:** P(2 · steps + 1) messages as long as `w`, in 2 · steps + 1 rounds.
# Of `comm`, only `send`, `recv`, `recv_any` and `sendrecv`. Two ranks at least.


# %% tags=["exercise"] name="parameter-server"
def parameter_server(comm, w, gradient, learning_rate, steps):
    """Descend with the parameters on rank 0 and the gradients on all others.

    Parameters
    ----------
    comm : Communicator
        The ranks; two at least.
    w : numpy.ndarray, shape (n,), or None
        On rank 0 the parameters to start from; they are not to be changed. None on the workers.
    gradient : callable or None
        On a worker: ``gradient(w)`` returns an array like w. None on rank 0.
    learning_rate : float
        What the sum of the gradients is multiplied by.
    steps : int
        How many steps to take; perhaps 0.

    Returns
    -------
    numpy.ndarray, shape and dtype of w on rank 0
        The parameters after the last step, on every rank. A new array.
    """
    # BEGIN SOLUTION
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w = w.copy()
    for _ in range(steps):
        for dst in workers:
            comm.send(w, dst)
        total = np.zeros_like(w)
        for src in workers:
            total += comm.recv(src)
        w -= learning_rate * total
    for dst in workers:
        comm.send(w, dst)
    return w
    # END SOLUTION


# %% tags=["check"]
checks.parameter_server(parameter_server)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Write the story of a worker first; it has two lines in each step, and one after the last. Then the
# story of the server: two loops over the workers in each step, and one after the last.
# </details>
#
# <details><summary>Hint 2</summary>
#
# The server sends `w` to all workers, *then* receives from all, adding to an array of zeros. It
# changes `w` once, when the last gradient is there. A worker never changes parameters: it fetches.
# </details>
#
# Now on real processes: three workers pull towards 1, 2 and 3. Where do they meet?


# %% tags=["raises-exception"]
def meet(comm):
    """Each worker's gradient points away from its rank."""
    start = np.zeros(2) if comm.rank == 0 else None
    away = (lambda w: w - comm.rank) if comm.rank else None
    return parameter_server(comm, start, away, 0.1, 50)


[w.round(6).tolist() for w in run(meet, workers=4, time_limit_s=20).values]

# %% [markdown]
# **Without code.** In your server, which line is the barrier at which all wait for the slowest?
#
# <details><summary>Answer</summary>
#
# The loop of receives: it ends when the last gradient is there, and nobody is answered before.
# </details>

# %% [markdown]
# ## 3 · Find the bug: an impatient server
#
# See in a trace that a server did not wait. *Difficulty 2 of 3, 20 minutes.*
#
# The function below trains, and its workers get parameters in every step. But training gives
# another model than one process: it differs in the second digit.


# %% name="impatient-server"
def impatient_server(comm, steps):
    """Serve parameters from rank 0; the other ranks push a gradient in each step."""
    w = np.zeros(1000)
    if comm.rank == 0:
        for dst in range(1, comm.size):
            comm.send(w, dst)
        for _ in range(steps):
            for src in range(1, comm.size):
                w = w - 0.1 * comm.recv(src)
                comm.send(w, src)
        return w
    for _ in range(steps):
        w = comm.recv(0)
        with comm.compute("gradient", flops=1e6 * comm.rank):
            grad = w - comm.rank
        comm.send(grad, 0)
    return comm.recv(0)


hasty = run(impatient_server, 2, workers=4, backend="simulated")
timeline(hasty.trace, title="Three workers, two steps: who is answered when?")

# %% [markdown]
# Write the function that finds such servers. Server is rank 0. `trace.between(src, dst)` lists the
# messages from one rank to another in their order; a message has the times `posted_s`, `sent_s`,
# `arrived_s` and `received_s`. The first message to a worker is the first fetch. Each further one
# answers a push: message k + 1 to a worker answers its push k.
#
# **Spec:** for each step, how many answers were posted before the last gradient of that step was
# received. An answer at the very moment is not early. **Budget:** no messages.


# %% tags=["exercise"] name="early-answers"
def early_answers(trace):
    """Count the answers that a server gave before it had all gradients of the step.

    Parameters
    ----------
    trace : Trace
        Of a run in which rank 0 serves and every other rank pushes once a step.

    Returns
    -------
    list of int
        For each step, the number of workers who were answered too early.
    """
    # BEGIN SOLUTION
    workers = range(1, trace.size)
    pushes = [trace.between(worker, 0) for worker in workers]
    answers = [trace.between(0, worker)[1:] for worker in workers]
    early = []
    for step in range(len(trace.between(1, 0))):
        all_there_s = max(pushed[step].received_s for pushed in pushes)
        early.append(sum(answered[step].posted_s < all_there_s for answered in answers))
    return early
    # END SOLUTION


# %% tags=["check"]
checks.early_answers(early_answers)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Of step 0 look at the first push of every worker, `trace.between(worker, 0)[0]`. When had the
# server received the last of them? And when did it post the second message to each worker?
# </details>
#
# <details><summary>Hint 2</summary>
#
# There are as many steps as pushes of a worker. In step k: the largest `received_s` of
# `trace.between(worker, 0)[k]` over all workers; then count the workers whose
# `trace.between(0, worker)[k + 1].posted_s` is smaller.
# </details>
#
# Now on real processes:

# %% tags=["raises-exception"]
early_answers(run(impatient_server, 3, workers=4, time_limit_s=20).trace)

# %% [markdown]
# **Without code.** Which line of `impatient_server` is to blame, and what is the smallest change
# that fixes it?
#
# <details><summary>Answer</summary>
#
# `comm.send(w, src)` stands inside the loop of receives: worker 1 gets parameters with its own
# gradient only. It belongs into a loop of its own, after the last receive. (And the server changes
# `w` gradient by gradient, which then does no harm: nobody sees it in between.)
# </details>

# %% [markdown]
# ## 4 · Layers to shards
#
# Partition layers so that the fullest shard is as small as can be had cheaply. *Difficulty 2 of 3,
# 15 minutes.*
#
# Layers stay whole. The greedy rule: the largest layer first, each to the shard that has least so
# far. Any rule whose fullest shard is no fuller than the greedy one's is accepted, if it is done
# with 30 layers in a second: there are too many divisions to try them all.
#
# **Spec:** the number of the shard of each layer, in the order of `sizes`. **Budget:** no messages.


# %% tags=["exercise"] name="assign-layers"
def assign_layers(sizes, n_shards):
    """Give each layer a shard.

    Parameters
    ----------
    sizes : list of int
        The number of parameters of each layer; perhaps none. It is not to be changed.
    n_shards : int
        How many shards, 1 or more.

    Returns
    -------
    list of int
        For each layer the number of its shard, from 0 to ``n_shards - 1``.
    """
    # BEGIN SOLUTION
    shard_of, loads = [None] * len(sizes), np.zeros(n_shards, dtype=int)
    for layer in sorted(range(len(sizes)), key=lambda layer: -sizes[layer]):
        least = int(loads.argmin())
        shard_of[layer], loads[least] = least, loads[least] + sizes[layer]
    return shard_of
    # END SOLUTION


# %% tags=["check"]
checks.assign_layers(assign_layers)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Keep a list of loads, one number a shard, zeros at first. Which shard gets the next layer, and
# what happens to the list then?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Walk through `sorted(range(len(sizes)), key=lambda layer: -sizes[layer])`: numbers of layers, the
# largest first. Put the shard's number at the layer's place in the result.
# </details>
#
# Now with AlexNet's eight layers, in thousands of parameters:

# %% tags=["raises-exception"]
alexnet = [35, 307, 885, 664, 443, 37_753, 16_781, 4_097]
for n_shards in (2, 4, 10):
    homes = assign_layers(alexnet, n_shards)
    loads = [0] * n_shards
    for layer, home in enumerate(homes):
        loads[home] += alexnet[layer]
    print(f"{n_shards:2} shards, the fullest has {max(loads) / sum(alexnet):.0%}: {homes}")

# %% [markdown]
# **Without code.** With ten shards the fullest has as much as with two. What would help?
#
# <details><summary>Answer</summary>
#
# Cutting the largest layer. It alone is 62 % of the model, and as long as it stays whole, some
# shard has it.
# </details>

# %% [markdown]
# ## 5 · Predict, then measure
#
# Predict the seconds of a step with one dedicated server, and the efficiency. *Difficulty 3 of 3,
# 20 minutes.*
#
# A message takes the latency and n bytes over the bandwidth. Two chains run through a step. One
# computes: the first fetch, the gradient, then P pushes one after the other (each waits for its
# receive: a latency each). The other is the NIC: P times the parameters out, without pause or
# latency, then P pushes with a latency each. The longer one counts. Then the server updates.
#
# **Spec:** the seconds from one fetch to the next; and the part of them in which a worker computes.
# The check measures on networks that you have not seen.


# %% tags=["exercise"] name="predict-step"
def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    """Predict how long a step takes, and how efficient it is.

    Parameters
    ----------
    n_workers : int
        How many ranks compute, besides the server.
    n_bytes : int
        The size of the parameters, and of a gradient.
    gradient_s, update_s : float
        What a worker's gradient and the server's update take, in seconds.
    latency_s : float
        What a message of no bytes takes, in seconds.
    bandwidth_bytes_per_s : float
        How many bytes a NIC sends, and at the same time receives, in a second.

    Returns
    -------
    dict of str to float
        ``"seconds"``: of a step; ``"efficiency"``: the part in which a worker computes, 0 to 1.
    """
    # BEGIN SOLUTION
    on_nic_s = n_bytes / bandwidth_bytes_per_s
    computing_s = gradient_s + (n_workers + 1) * (latency_s + on_nic_s)
    nic_s = 2 * n_workers * on_nic_s + n_workers * latency_s
    seconds = max(computing_s, nic_s) + update_s
    return {"seconds": seconds, "efficiency": gradient_s / seconds}
    # END SOLUTION


# %% tags=["check"]
checks.predict_step(predict_step)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Draw one step of two workers. When has rank 1 its parameters? When is its gradient ready? When has
# the server received it, and when that of rank 2?
# </details>
#
# <details><summary>Hint 2</summary>
#
# Computing: gradient + (P + 1)(latency + n / bandwidth). NIC: 2P n / bandwidth + P latency.
# </details>
#
# Now on the simulated Ethernet of the lecture, half a million bytes, a gradient of 3 ms:

# %% tags=["raises-exception"]
net, paper = networks.ethernet_10g, StandIn.of({"all": 62_500}, flops_per_example=3e7)
for P in (2, 8, 32):
    ours = predict_step(P, 500_000, 3e-3, 1.25e-5, net.latency_s, net.bandwidth_bytes_per_s)
    ran = one_step(library_server, paper, workers=P, network=net).seconds
    print(f"{P:2} workers: {ours['seconds'] * 1e3:6.3f} ms predicted", end=", ")
    print(f"{ran * 1e3:6.3f} ms simulated", end="")
    print(f", {ours['efficiency']:.0%} efficient")

# %% [markdown]
# **Without code.** Your cluster is 30 % efficient. Somebody offers workers that compute twice as
# fast. How much shorter is a step?
#
# <details><summary>Answer</summary>
#
# Not at all, with many workers: below one half the NIC is the longer chain, and the gradient is
# not in it. The efficiency falls to 15 %.
# </details>

# %% [markdown]
# ## What comes next
#
# Next: [lecture 05](../notebooks/05_allreduce.ipynb). Before: [lecture
# 04](../notebooks/04_parameter_server.ipynb). Which tasks you have solved, here and in the other
# sets, `checks.progress()` shows in a new cell, and `python -m course_lib progress` in a terminal.
