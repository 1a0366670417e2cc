"""How fast it is here: steps a second on real processes, sparse and dense, with each lock."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.data.text_like import text_like
from course_lib.lectures.lecture_10.odds import COLUMNS, SPARSITY
from course_lib.trace.events import Compute
from course_lib.training.checking import LOCKS
from course_lib.training.example_steps import ONE_STRIPE, compiled_steps, rows_of
from course_lib.training.locks import LINE, Locks, stripe_shift
from course_lib.viz import Table, table

__all__ = [
    "APART",
    "COUNTED",
    "KINDS",
    "Paces",
    "lost_here",
    "measured_here",
    "of_round",
    "pace_table",
]

Paces = dict[tuple[int, str, str], float]
"""Steps a second by workers, kind of examples, and lock."""

APART = "apart"
"""In place of a lock: none, and a vector for each worker, so that nothing is shared."""


class Kind(NamedTuple):
    """Examples: how many there are, how many parameters one has, and of how many."""

    rows: int
    touched: int
    columns: int


KINDS = {name: Kind(240_000 // (k + 10), k, COLUMNS) for name, k in SPARSITY.items()} | {
    "40 of 1,000,000": Kind(3_000, 40, 1_000_000)
}
"""Work for less than a millisecond: whoever takes turns on one core disturbs nobody, and a round
with an interruption is then longer than any without."""

COUNTED = {
    "2 of 100": Kind(30_000, 2, 100), "10 of 1,000": Kind(20_000, 10, 1000),
    "all 100": Kind(3_600, 100, 100),
}  # fmt: skip
"""So few that two who begin together are seldom interrupted before the end."""

_TIMES, _ROUNDS, _MEETINGS, _STRIPES, _RATE = 4, 10, 10, 8, 0.05
_TOGETHER = 0.8  # of a round: who works alone for long seems faster, as nobody disturbs it


def measured_here(
    workers: Sequence[int] = (1, 2), kinds: Sequence[str] = tuple(KINDS)
) -> tuple[Paces, float, int]:
    """Time the loop of ``hogwild_sparse`` on processes of this computer, which begin together.

    Parameters
    ----------
    workers : sequence of int, default: (1, 2)
        How many processes.
    kinds : sequence of str, default: all
        Which examples, of ``KINDS``.

    Returns
    -------
    paces : dict of (int, str, str) to float
        Steps a second of all workers together, from the first that begins a round to the last that
        ends it, in the fastest of the rounds that count: of forty those in which all were at work
        for most of that time, or all forty where there is none.
    spread : float
        How many times as fast the fastest of these was as the median, where they differ most.
    n_together : int
        In how many rounds all were at work for most of the time, where these were fewest.
    """
    found: Paces = {}
    spread, n_together = 1.0, _TIMES * _ROUNDS
    for P in workers:
        trace = run(_all_settings, tuple(kinds), workers=P, time_limit_s=300).trace
        assert trace is not None
        calls = [
            (kind, lock)
            for _ in range(_TIMES) for kind in kinds for lock in _locks(P) for _ in range(_ROUNDS)
        ]  # fmt: skip
        rounds: dict[tuple[str, str], list[tuple[float, bool]]] = {}
        by_rank = [[s for s in trace.computes if s.rank == rank] for rank in range(P)]
        for (kind, lock), each in zip(calls, zip(*by_rank, strict=True), strict=True):
            seconds, together = of_round(each)
            rounds.setdefault((kind, lock), []).append((KINDS[kind].rows / seconds, together))
        for setting, all_rounds in rounds.items():
            counted = [pace for pace, together in all_rounds if together]
            n_together = min(n_together, len(counted))
            counted = counted or [pace for pace, _ in all_rounds]
            found[P, *setting] = max(counted)  # nobody else has interrupted it
            spread = max(spread, max(counted) / float(np.median(counted)))
    return found, spread, n_together


def _locks(workers: int) -> tuple[str, ...]:
    return LOCKS if workers == 1 else (*LOCKS, APART)


def of_round(spans: Sequence[Compute]) -> tuple[float, bool]:
    """Say how long a round took, and whether all were at work for most of it.

    Parameters
    ----------
    spans : sequence of Compute
        What each worker did in it.

    Returns
    -------
    seconds : float
        From the first that begins to the last that ends.
    together : bool
        Whether all were at work for four fifths of that.
    """
    seconds = max(s.end_s for s in spans) - min(s.start_s for s in spans)
    all_at_work = min(s.end_s for s in spans) - max(s.start_s for s in spans)
    return seconds, all_at_work >= _TOGETHER * seconds


def _all_settings(comm: Communicator, kinds: tuple[str, ...]) -> None:
    """Take the steps with every setting in turn, in one run, so that they are compiled once."""
    words, loop = comm.shared_array(_STRIPES * LINE, "int64"), compiled_steps()
    Locks(words)  # says so where there can be none
    ready = comm.shared_array(comm.size * LINE, "int64")
    settings: list[tuple[Any, ...]] = []
    for kind in kinds:
        X, y = _examples(KINDS[kind])
        rows, vectors = rows_of(X, y), [comm.shared_array(X.shape[1] + 1) for _ in range(comm.size)]
        mine = np.arange(comm.rank, len(y), comm.size).astype(np.uint64)
        for lock in _locks(comm.size):
            shift = stripe_shift(X.shape[1], _STRIPES) if lock == "striped" else ONE_STRIPE
            asked = _RATE, shift, words if lock in ("striped", "one") else None
            w = vectors[comm.rank if lock == APART else 0]  # the same kind of memory for both
            loop(w.copy(), rows, mine[:0], *asked)  # compiled here, before all begin
            settings.append((w, rows, mine, *asked))
    with _own_core(comm.rank):
        for setting in settings * _TIMES:
            for _ in range(_ROUNDS):  # in a row: the first fills the caches
                _begin_together(comm, ready)
                with comm.compute("examples"):
                    loop(*setting)
                comm.barrier()


def _examples(kind: Kind) -> tuple[Any, Any]:
    """Draw rows that have so many columns, all equally likely."""
    rows, touched, columns = kind
    if touched < columns:
        text = text_like(rows, columns, touched, exponent=0, seed=1)
        return text.X, text.y
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)) / np.sqrt(columns)
    return csr_matrix(X), (X @ rng.normal(size=columns) > 0).astype(int)


def lost_here(kinds: Sequence[str] = tuple(COUNTED)) -> Table:
    """Count on two processes of this computer how many changes are lost, in ten short rounds.

    Parameters
    ----------
    kinds : sequence of str, default: all
        Which examples, of ``COUNTED``.

    Returns
    -------
    Table
        A row for each, without a lock and with one.
    """
    trace = run(_count, tuple(kinds), workers=2, time_limit_s=300).trace
    assert trace is not None
    made, lost = (
        [int(note.value) for note in trace.notes_named(name)]
        for name in ("updates", "lost_updates")
    )
    names = [f"{kind}, {words}" for kind in kinds for words in ("no lock", "one lock")]
    return table({
        name: {"changes": n, "lost": gone, "lost, %": round(100 * gone / n, 3)}
        for name, n, gone in zip(names, made, lost, strict=True)
    })  # fmt: skip


def _count(comm: Communicator, kinds: tuple[str, ...]) -> None:
    """Take the steps of ``hogwild_sparse``, with its counter, in rounds that all begin together."""
    words = comm.shared_array(LINE, "int64")
    Locks(words)  # says so where there can be none
    loop = compiled_steps()
    for kind in kinds:
        X, y = _examples(COUNTED[kind])
        rows, w = rows_of(X, y), comm.shared_array(X.shape[1] + 1)
        seen = comm.shared_array(X.shape[1], "int64")
        mine = np.arange(comm.rank, len(y), comm.size).astype(np.uint64)
        ready = comm.shared_array(comm.size * LINE, "int64")
        for lock in (None, words):
            asked = _RATE, ONE_STRIPE, lock, seen
            loop(w.copy(), rows, mine[:0], *asked)  # compiled here, before all begin
            before = int(seen.sum())
            with _own_core(comm.rank):
                for _ in range(_MEETINGS):
                    _begin_together(comm, ready)
                    loop(w, rows, mine, *asked)
                    comm.barrier()
            if comm.rank == 0:
                made = _MEETINGS * X.nnz
                comm.note("updates", made)
                comm.note("lost_updates", made - (int(seen.sum()) - before))
            comm.barrier()


def _begin_together(comm: Communicator, ready: NDArray[np.int64]) -> None:
    """Go on when all run at this moment: who has left a barrier may still wait for its turn."""
    ready[comm.rank * LINE] += 1
    while (ready[::LINE] < ready[comm.rank * LINE]).any():
        pass


@contextmanager
def _own_core(rank: int) -> Iterator[None]:
    """Keep this process on one core, each on another, where the system can (macOS cannot)."""
    import psutil

    affinity: Any = getattr(psutil.Process(), "cpu_affinity", None)
    cores = affinity() if affinity else []
    if cores:
        affinity([cores[rank % len(cores)]])
    try:
        yield
    finally:
        if cores:
            affinity(cores)


def pace_table(paces: Mapping[tuple[int, str, str], float]) -> Table:
    """Lay out how many times as fast each setting is as one worker without a lock.

    Parameters
    ----------
    paces : dict of (int, str, str) to float
        Steps a second.

    Returns
    -------
    Table
        A row for each number of workers and lock, the first in steps a second.
    """
    words = {
        "none": "no lock", "striped": "8 locks", "one": "one lock", APART: "a vector each, no lock"
    }  # fmt: skip
    kinds = list(dict.fromkeys(kind for _, kind, _ in paces))
    rows: dict[str, dict[str, Any]] = {
        "1 worker, no lock: steps a second": {
            kind: f"{round(paces[1, kind, 'none'], -3):,.0f}" for kind in kinds
        }
    }
    for P, kind, lock in paces:
        if (P, lock) != (1, "none"):
            row = rows.setdefault(f"{P} worker{'s' * (P > 1)}, {words[lock]}: times as fast", {})
            row[kind] = round(paces[P, kind, lock] / paces[1, kind, "none"], 2)
    return table(rows)
