"""PowerSGD: a matrix of rank r in place of a gradient's, found by one step of power iteration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.models.model import Array, Layer, Model
from course_lib.training.shards import length, pack, unpack
from course_lib.words.namespace import namespace
from course_lib.words.whole import whole

__all__ = ["PowerSGD"]


@dataclass(frozen=True)
class PowerSGD:
    """Send two thin matrices P and Q for each gradient matrix M; their product is close to it.

    For given Q, all ranks add up M Q and make its columns orthonormal, which is P; then they add up
    Q = M^T P. Both are linear in M, so that an all-reduce will do. The next step begins with this
    Q (*warm start*): over many steps its columns turn to where the gradients are longest. Biases
    and whatever else is no matrix are added up as they are.

    Attributes
    ----------
    rank : int, default: 2
        How many columns P and Q have, r: from 1 to the smaller side of each matrix.

    Notes
    -----
    Cost: two all-reduces, the first of all P and of what is no matrix, the second of all Q; for a
    matrix of a rows and b columns that is r(a + b) numbers in place of a b.

    Invariant: what a rank has sent of its M is P P^T M, and the sum is P (the sum of all Q)^T; P is
    a matrix here, not a number of ranks.

    References
    ----------
    T. Vogels, S. P. Karimireddy and M. Jaggi, "PowerSGD: Practical low-rank gradient compression
    for distributed optimization", NeurIPS 2019, algorithm 1.
    """

    rank: int = 2

    def __post_init__(self) -> None:
        """Check the number."""
        whole("rank", self.rank, least=1)

    def check(self, model: Model) -> None:
        """Refuse a rank that one of the matrices cannot have."""
        for layer in model.layers:
            for _, (rows, columns) in _cut([layer])[0]:
                if self.rank > min(rows, columns):
                    raise ValueError(
                        f"rank must be {min(rows, columns)} at most for the {rows} x {columns} "
                        f"weights of {layer.name}, got {self.rank}"
                    )

    def start(self, w: Array, layers: Sequence[Layer], seed: int) -> Array:
        """Draw the first Q of every matrix, the same on all ranks."""
        n_numbers = sum(self.rank * columns for _, (_, columns) in _cut(layers)[0])
        drawn = np.random.default_rng(seed).normal(size=n_numbers)
        return namespace(w).asarray(drawn, dtype=w.dtype)

    def add_up(
        self, comm: Communicator, vector: Array, layers: Sequence[Layer], memory: Array
    ) -> tuple[Array, Array]:
        """Return the sum of all ranks' matrices of rank r, and this rank's."""
        xp, r = namespace(vector), self.rank
        matrices, rest = _cut(layers)
        wholes = [vector[part].reshape(shape) for part, shape in matrices]
        qs = _views(memory, [(columns, r) for _, (_, columns) in matrices])

        first = _flat([m @ q for m, q in zip(wholes, qs, strict=True)] + [pack(vector, rest)], xp)
        allreduce_ring(comm, first, out=first)
        shapes = [(rows, r) for _, (rows, _) in matrices]
        *ps, rest_total = _views(first, [*shapes, (length(rest),)])
        ps = [xp.linalg.qr(p)[0] for p in ps]  # columns of length 1, at right angles
        own_qs = [m.T @ p for m, p in zip(wholes, ps, strict=True)]
        memory[...] = _flat([*own_qs, vector[:0]], xp)  # of a model without matrices, nothing
        allreduce_ring(comm, memory, out=memory)  # which the qs are views of

        total, sent = vector + 0, vector + 0
        unpack(rest_total, rest, total)
        for (part, _), p, q, own_q in zip(matrices, ps, qs, own_qs, strict=True):
            total[part] = (p @ q.T).reshape(-1)
            sent[part] = (p @ own_q.T).reshape(-1)
        return total, sent


def _cut(layers: Sequence[Layer]) -> tuple[list[tuple[slice, tuple[int, int]]], list[slice]]:
    """Find the matrices in the flat vector, and what is none; a convolution's rows are channels."""
    matrices, rest = [], []
    for layer in layers:
        start = layer.part.start
        for shape in layer.shapes or ((layer.n_parameters,),):
            part = slice(start, start := start + math.prod(shape))
            if len(shape) > 1:
                matrices.append((part, (shape[0], math.prod(shape[1:]))))
            else:
                rest.append(part)
    return matrices, rest


def _flat(parts: Sequence[Array], xp: Any) -> Array:
    return xp.concat([part.reshape(-1) for part in parts])


def _views(flat: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """See a vector as arrays of these shapes, one after another."""
    ends = accumulate(map(math.prod, shapes), initial=0)
    return [flat[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), shapes, strict=True)]
