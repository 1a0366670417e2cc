"""A small server of counts and its clients, right or with one of some mistakes in it.

Requests are ``[kind, number, addition]``; answers begin with the number of the request, so that a
client can tell late answers and copies from the one that it waits for. There is no way to wait for
a limited time, so against lost messages a client sends every request ``tries`` times at once.
"""

import itertools

import numpy as np

__all__ = ["MISTAKES", "count"]

ADD, READ, BYE = range(3)
N_STEPS = 6

MISTAKES = ("lost update", "double apply", "half-written", "stale")


def count(comm, mistake="", tries=1):
    """Rank 0 serves; every other rank makes ``N_STEPS`` additions, and reads after every other."""
    if comm.rank == 0:
        return Server(comm, mistake).serve()
    # What was asked in a former life must not be taken for what is asked in this one.
    first = 0 if mistake == "numbers of a former life" else round(comm.clock() * 1e9)
    numbers = itertools.count(first)
    for step in range(N_STEPS):
        with comm.compute("think", flops=1e4 * comm.rank):
            pass
        addition = (comm.rank - 1) * N_STEPS + step
        comm.note("invoke", addition)
        ask(comm, ADD, next(numbers), addition, tries)
        comm.note("ack", addition)
        if step % 2:
            number = next(numbers)
            comm.note("ask", number)
            first, second = (answer.tolist() for answer in ask(comm, READ, number, 0, tries))
            comm.note("read", [number, first, second])
    ask(comm, BYE, next(numbers), 0, tries)
    return None


def ask(comm, kind, number, addition, tries):
    """Send a request; return the parts of its answer."""
    for _ in range(tries):
        comm.send(np.array([kind, number, addition]), dst=0)
    parts = {}
    while len(parts) < (2 if kind == READ else 1):
        answer = comm.recv(src=0)
        if answer[0] == number:
            parts.setdefault(answer[1], answer[2:])
    return [parts[half] for half in sorted(parts)]


class Server:
    """Keeps the counts twice, as a vector that is too long for one write."""

    def __init__(self, comm, mistake):
        self.comm = comm
        self.mistake = mistake
        self.counts = np.zeros((2, (comm.size - 1) * N_STEPS), dtype=int)
        self.cached = self.counts.copy()
        self.snapshots = {}
        self.late = []
        self.n_served = 0

    def serve(self):
        """Answer until every client has said goodbye."""
        gone = set()
        while len(gone) < self.comm.size - 1:
            src, (kind, number, addition) = self.comm.recv_any()
            late, self.late = self.late, []
            if kind == ADD:
                self.add(src, addition)
                self.answer(src, number, 0, ())
            elif kind == READ:
                self.read(src, number)
            else:
                gone.add(src)
                self.answer(src, number, 0, ())
            for what in late:
                self.answer(*what)
        self.comm.note("final", self.counts[0])
        return self.counts[0].tolist()

    def add(self, src, addition):
        """Make an addition, unless it has been made."""
        if self.mistake == "lost update" and src in self.snapshots:
            self.counts = self.snapshots.pop(src)  # what the client had seen, before others wrote
        if self.mistake == "double apply" or not self.counts[0, addition]:
            self.counts[:, addition] += 1

    def read(self, src, number):
        """Send both halves."""
        counts = self.counts
        if self.mistake == "stale":
            self.n_served += 1
            if self.n_served % 3 == 0:
                self.cached = self.counts.copy()
            counts = self.cached
        self.snapshots[src] = self.counts.copy()
        self.answer(src, number, 0, counts[0])
        if self.mistake == "half-written":
            self.late.append((src, number, 1, counts[1]))  # after the next request
        else:
            self.answer(src, number, 1, counts[1])

    def answer(self, dst, number, half, counts):
        """Send one part of an answer."""
        self.comm.send(np.array([number, half, *counts]), dst=int(dst))
