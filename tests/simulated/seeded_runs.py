"""Runs that follow from a number: a random program on a random network, and what came of it.

``python -m tests.simulated.seeded_runs 0 50`` prints a line for each seed: a hash of its trace.
"""

import hashlib
import sys
from dataclasses import dataclass

import numpy as np

from course_lib import Trace, run
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.simulated.networks import Network

__all__ = ["digests", "seeded_trace"]

KINDS = ("message", "swap", "ring", "any", "barrier", "work", "note", "beside", "half")


@dataclass(frozen=True)
class Step:
    """One line of a program that all ranks read; ``first`` and ``second`` are two of them."""

    kind: str
    first: int
    second: int
    size: int


def random_program(rng, workers):
    steps = []
    for _ in range(int(rng.integers(5, 40))):
        kind = str(rng.choice(KINDS))
        first = int(rng.integers(workers))
        second = (first + 1 + int(rng.integers(workers - 1))) % workers
        size = int(rng.choice([0, 1, 7, 500, EAGER_BYTES // 8 + 1]))
        steps.append(Step(kind, first, second, size))
    return steps


def random_network(rng, workers):
    speeds = tuple(float(10 ** rng.uniform(6, 10)) for _ in range(workers))
    latency_s = float(rng.choice([0.0, 1e-6, 10 ** rng.uniform(-6, -2)]))
    bandwidth = float(rng.choice([np.inf, 1e6, 10 ** rng.uniform(5, 10)]))
    return Network("random", latency_s, bandwidth, speeds)


def follow(comm, program):
    """Do this rank's part of all steps, in their order: that cannot deadlock."""
    for number, step in enumerate(program):
        do_step(comm, step, number)


def do_step(comm, step, number):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x = np.full(step.size, float(comm.rank + number))
    if step.kind == "message" and comm.rank == step.first:
        comm.send(x, dst=step.second, tag=number)
    elif step.kind == "message" and comm.rank == step.second:
        comm.recv(src=step.first, out=np.ones(step.size), op="max", tag=number)
    elif step.kind == "swap" and comm.rank in (step.first, step.second):
        other = step.first + step.second - comm.rank
        comm.sendrecv(x, dst=other, src=other, tag=f"swap {number}")
    elif step.kind == "ring":
        comm.sendrecv(x, dst=right, src=left, out=np.ones(step.size), op="sum")
    elif step.kind == "any":
        gather_any(comm, x, step.first)
    elif step.kind == "barrier":
        comm.barrier()
    elif step.kind == "work":
        with comm.compute(f"work {number}", flops=float(comm.rng.integers(10**6))):
            pass
    elif step.kind == "note":
        comm.note("in sets", sorted({f"rank {comm.rank}", f"step {number}"}))
    elif step.kind == "beside":
        comm.start(allreduce_ring, x)
    elif step.kind == "half":
        half = comm.split(color=comm.rank % 2, key=-comm.rank)
        allreduce_ring(half, x)


def gather_any(comm, x, root):
    """Let a rank hear from all others in the order in which they come, and tell them so."""
    if comm.rank == root:
        comm.note("order", [comm.recv_any()[0] for _ in range(comm.size - 1)])
    else:
        comm.send(x, dst=root)
    comm.barrier()


def seeded_trace(seed) -> Trace:
    rng = np.random.default_rng(seed)
    workers = int(rng.integers(2, 9))
    program, network = random_program(rng, workers), random_network(rng, workers)
    return run(
        follow, program, workers=workers, backend="simulated", network=network,
        rendezvous=bool(rng.integers(2)), seed=seed,
    ).trace  # fmt: skip


def digests(first, last):
    return [
        hashlib.sha256(seeded_trace(seed).to_json().encode()).hexdigest()
        for seed in range(first, last)
    ]


if __name__ == "__main__":
    print("\n".join(digests(*map(int, sys.argv[1:]))))
