"""Verbs and collectives inside of what ``torch.compile`` makes: its graph ends before them."""

import numpy as np
import pytest
import torch

from course_lib.collectives import allreduce_ring

pytestmark = pytest.mark.slow


def talk(comm):
    """Return numbers that came through compiled code, and how many graphs that had."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    graphs = []

    def seen(graph, _):
        graphs.append(graph)
        return graph.forward

    def h(x):
        arrived = comm.sendrecv(2 * x, right, left)
        total = allreduce_ring(comm, arrived + 1)
        coming = comm.irecv(left)
        going = comm.isend(total + comm.rank, right)
        there = coming.wait()
        going.wait()
        return there - 1

    compiled = torch.compile(h, backend=seen)
    results = [compiled(torch.arange(3.0) + comm.rank).tolist() for _ in range(2)]
    return results, h(torch.arange(3.0) + comm.rank).tolist(), len(graphs)


def talk_plainly(comm):
    return comm.sendrecv(np.full(1, comm.rank), 1 - comm.rank, 1 - comm.rank).tolist()


def one_compiles(comm):
    graphs = []

    def seen(graph, _):
        graphs.append(comm.rank)
        return graph.forward

    def h(x):
        return comm.sendrecv(2 * x, 1 - comm.rank, 1 - comm.rank) + 1

    h = torch.compile(h, backend=seen) if comm.rank == 0 else h
    h(torch.ones(3))
    return graphs


def one_and_all(comm):
    """Both in one launch: each loads torch's compiler, which takes longer than all else here."""
    return one_compiles(comm), talk(comm)


@pytest.mark.filterwarnings("ignore")
def test_compiled_code_may_talk_and_is_no_other_ranks_and_the_next_run_is_as_ever(rarely_torch):
    (first, second), values = zip(*rarely_torch(one_and_all).values, strict=True)
    assert first  # rank 0 has compiled something, and rank 1 nothing
    assert not second
    for results, plain, n_graphs in values:
        assert results == [plain, plain]
        assert n_graphs >= 3  # they are what torch has compiled, not nothing
    # 2 x + 1 of both ranks: 2 (0..2) + 1 + 2 (1..3) + 1; then the left one's rank, less 1
    assert [plain for _, plain, _ in values] == [[4, 8, 12], [3, 7, 11]]
    assert rarely_torch(talk_plainly).values == [[1], [0]]
