"""Random valid programs: the k-th of a seed is always the same one."""

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from course_lib.comm.communicator import EAGER_BYTES
from course_lib.comm.processes.memory.layout import ring_bytes
from tests.fuzz import modes
from tests.fuzz import program as p
from tests.fuzz.arrays import (
    NUMPY_DTYPES,
    NUMPY_LAYOUTS,
    TORCH_DTYPES,
    TORCH_LAYOUTS,
    Array,
)
from tests.fuzz.collectives import BY_NAME, COMBINING, CUTTING
from tests.fuzz.layouts import OUT_LAYOUTS

__all__ = ["generate"]

_MOST_RANKS = 5
_TAGS = (None, None, 0, 1, -1, 2**40, "", "grad", "grün", "x" * 300)
_RINGS = tuple(ring_bytes(size) for size in (4, _MOST_RANKS))
_LIMITS = (64, 128, EAGER_BYTES, *_RINGS, *(ring // 4 for ring in _RINGS))
_MOST_BYTES_EACH = 1 << 22  # of all messages of a program together, or a batch takes long


def generate(seed: int, number: int) -> p.Program:
    """Return program ``number`` of a seed.

    Parameters
    ----------
    seed, number : int
        Which one.

    Returns
    -------
    Program
        A valid program: every world must run it to its end, with the same values and messages.
    """
    rng = random.Random(f"{seed} {number}")
    ranks = rng.choice((1, 2, 2, 2, 3, 3, 4, _MOST_RANKS))
    writer = Writer(rng, ranks)
    shape = rng.random()
    if shape < 0.06:
        steps: p.Steps = (writer.many_starts(), p.Wait())
    elif shape < 0.12:
        steps = writer.stream()
    elif shape < 0.15:
        steps = (writer.deep_starts(rng.randrange(12, 20)), p.Wait())
    else:
        steps = writer.steps(rng.randint(1, 9), depth=0)
    return p.Program(ranks, rng.random() < 0.3, steps)


class Writer:
    """Writes the steps of one program, and keeps count of their bytes."""

    def __init__(self, rng: random.Random, ranks: int) -> None:
        self._rng = rng
        self._ranks = ranks
        self._bytes_left = _MOST_BYTES_EACH
        self._choices: list[tuple[float, Callable[[int], p.Step]]] = [
            (9, self._message), (3, self._exchange), (2, self._collect), (2, self._barrier),
            (5, self._collective), (2, self._refused), (5, self._settle),
            (1, self._shared), (1, self._compute), (1, self._note), (1, self._nap),
            (1, self._probe), (2, self._split), (3, self._start), (2, self._wait),
            (1, self._beside), (3, self._under), (2, self._seeded),
        ]  # fmt: skip

    def steps(self, count: int, depth: int) -> p.Steps:
        """Write so many steps."""
        weights = [weight for weight, _ in self._choices]
        writers = [write for _, write in self._choices]
        chosen = self._rng.choices(writers, weights, k=count)
        return tuple(write(depth) for write in chosen)

    def _inside(self, depth: int) -> p.Steps:
        return self.steps(self._rng.randint(0, max(4 - depth, 0)), depth + 1)

    def many_starts(self) -> p.Step:
        """Start many functions beside each other, each of which may start more."""
        rng = self._rng
        count = rng.choice((5, 8, 14, 15, 16, 17, 24))
        skews = [self._skew() for _ in range(count)]
        kind = rng.choice(("flat", "two each", "chain", "collectives"))
        starts: list[p.Step] = []
        for index, skew in enumerate(skews):
            small: p.Step = self._small_collective() if kind == "collectives" else p.Exchange()
            steps: p.Steps = (small,)
            if kind == "two each":
                steps = (p.Start(steps), p.Start(steps), p.Wait())
            after = 0 if index and kind in ("chain", "collectives") else None
            starts.append(p.Start(steps, after, skew))
        if rng.random() < 0.5:
            starts.insert(rng.randrange(count) + 1, p.Beside(self._skew(most=30)))
        return p.Split((0,), (0,), (*starts, p.Wait()))

    def stream(self) -> p.Steps:
        """Post many messages between two ranks, in both directions, and wait for them anyhow."""
        rng = self._rng
        src, dst = rng.randrange(_MOST_RANKS), rng.randrange(_MOST_RANKS)
        steps: list[p.Step] = []
        for _ in range(rng.randint(3, 16)):
            message = self._message(0)
            steps.append(replace(message, src=src, dst=dst))
            if rng.random() < 0.3:
                src, dst = dst, src
            if rng.random() < 0.2:
                steps.append(self._settle(0))
        return tuple(steps)

    def deep_starts(self, depth: int) -> p.Step:
        """Start a function that starts one that starts one."""
        step: p.Step = p.Exchange()
        for _ in range(depth):
            step = p.Start((step, p.Wait()))
        return step

    def _small_collective(self) -> p.Step:
        names = [name for name in BY_NAME if name.startswith("allreduce")]
        return p.Collective(self._rng.choice(names), Array("f8", (4,)))

    def _skew(self, most: int = 15) -> tuple[int, ...]:
        return tuple(self._rng.randint(0, most) for _ in range(self._rng.randint(1, 3)))

    def _array(self, numbers: bool = False, rows: bool = False) -> Array:
        rng = self._rng
        torch = rng.random() < 0.35
        dtypes = TORCH_DTYPES if torch else NUMPY_DTYPES
        if numbers:
            dtypes = tuple(each for each in dtypes if np.dtype(each).kind in "iuf")
        dtype = rng.choice(dtypes)
        layout = rng.choice(TORCH_LAYOUTS if torch else NUMPY_LAYOUTS)
        shape = self._shape(np.dtype(dtype).itemsize, rows)
        return Array(dtype, shape, layout, torch, rng.random() < 0.2, rng.randrange(5))

    def _shape(self, itemsize: int, rows: bool) -> tuple[int, ...]:
        rng = self._rng
        what = rng.random()
        if what < 0.15 and not rows:
            return ()
        if what < 0.25:
            return rng.choice([(0,), (0, 3), (2, 0), (1, 1, 1)])
        if what < 0.45:
            n_items = rng.choice(_LIMITS) // itemsize + rng.choice((-1, 0, 1))
            if n_items * itemsize * self._ranks <= self._bytes_left:
                self._bytes_left -= n_items * itemsize * self._ranks
                return (n_items,)
        return tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 3)))

    def _tag(self) -> int | str | None:
        return self._rng.choice(_TAGS)

    def _out(self, array: Array) -> tuple[str | None, str | None, Array]:
        """Choose where to receive, and how to combine; an array that allows it."""
        rng = self._rng
        if rng.random() < 0.6:
            return None, None, array
        layouts = OUT_LAYOUTS if array.dtype in TORCH_DTYPES else OUT_LAYOUTS[:5]
        out = rng.choice(layouts)
        if rng.random() < 0.5 or np.dtype(array.dtype).kind not in "iuf":
            return out, None, array
        return out, rng.choice(("sum", "max", "min")), replace(array, odd=False)

    def _message(self, _: int) -> p.Message:
        rng = self._rng
        src, dst = rng.randrange(_MOST_RANKS), rng.randrange(_MOST_RANKS)
        out, op, array = self._out(self._array())
        named, isend, irecv = (rng.random() < 0.4 for _ in range(3))
        return p.Message(src, dst, array, self._tag(), named, out, op, isend, irecv)

    def _settle(self, _: int) -> p.Step:
        rng = self._rng
        which = rng.randrange(4) if rng.random() < 0.7 else None
        return p.Settle(which, rng.choice((0, 0, 1, 3)), rng.random() < 0.2)

    def _exchange(self, _: int) -> p.Step:
        out, op, array = self._out(self._array())
        posted = self._rng.random() < 0.4
        return p.Exchange(self._rng.randint(1, 4), array, self._tag(), out, op, posted)

    def _collect(self, _: int) -> p.Step:
        return p.Collect(self._rng.randrange(_MOST_RANKS), self._array())

    def _collective(self, _: int) -> p.Step:
        rng = self._rng
        name = rng.choice(list(BY_NAME))
        combines = name in COMBINING
        array = self._array(numbers=combines, rows=name in CUTTING)
        op = rng.choice(("sum", "sum", "max", "min"))
        if combines:
            array = replace(array, odd=False)
        outs = ("torch", "torch strided") if array.torch else ("C", "F", "strided", "negative")
        out = rng.choice(outs) if rng.random() < 0.3 else None
        return p.Collective(name, array, op, rng.randrange(_MOST_RANKS), out)

    def _refused(self, _: int) -> p.Step:
        rng = self._rng
        wrong = rng.choice(("tag", "dtype", "shape", "op"))
        array = self._array()
        if wrong == "op":
            array = replace(array, dtype="<U3", torch=False, layout="C", shape=(2,))
        src, dst = rng.randrange(_MOST_RANKS), rng.randrange(_MOST_RANKS)
        return p.Refused(src, dst, array, wrong, rng.random() < 0.7, rng.random() < 0.4)

    def _barrier(self, _: int) -> p.Step:
        return p.Barrier()

    def _split(self, depth: int) -> p.Step:
        rng = self._rng
        colors = tuple(rng.choice((0, 0, 1, 2, None)) for _ in range(rng.randint(1, 4)))
        keys = tuple(rng.randint(-3, 3) for _ in range(rng.randint(1, 4)))
        return p.Split(colors, keys, self._inside(depth))

    def _start(self, depth: int) -> p.Step:
        rng = self._rng
        after = rng.randrange(3) if rng.random() < 0.3 else None
        skew = self._skew() if rng.random() < 0.3 else (0,)
        return p.Start(self._inside(depth), after, skew, rng.random() < 0.2)

    def _wait(self, _: int) -> p.Step:
        return p.Wait(self._rng.randrange(3) if self._rng.random() < 0.5 else None)

    def _beside(self, _: int) -> p.Step:
        return p.Beside(self._skew(most=25))

    def _under(self, depth: int) -> p.Step:
        rng = self._rng
        choices = (None, None, *modes.OF_THE_THREAD, *modes.OF_THE_PROCESS)
        some = tuple(rng.choice(choices) for _ in range(rng.randint(1, 3)))
        return p.Under(some, self._inside(depth))

    def _seeded(self, depth: int) -> p.Step:
        return p.Seeded(self._rng.choice(modes.GENERATORS), self._inside(depth))

    def _shared(self, _: int) -> p.Step:
        dtype = self._rng.choice(("u1", "i4", "f8", "c16", ">i4"))
        return p.Shared(dtype, self._rng.choice((0, 1, 1000)))

    def _compute(self, _: int) -> p.Step:
        return p.Compute(self._rng.choice((0.0, 1.0, 1e6)))

    def _note(self, _: int) -> p.Step:
        return p.Note(self._rng.choice((None, True, 3, 0.5, "text", float("inf"))))

    def _nap(self, _: int) -> p.Step:
        return p.Nap(self._skew(most=5))

    def _probe(self, _: int) -> p.Step:
        return p.Probe()
