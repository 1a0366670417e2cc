"""The global generators of random numbers: ``random``, ``numpy.random``, torch's.

Where nobody seeds them every rank finds the same, in every world: those of Python and NumPy made
from the run's seed, torch's with the seed of a new ``torch.Generator``. All three are Mersenne
twisters of 2.5 KB. To see whether one has been used, it is enough to look at eight bytes of its
memory: where it is in its block of numbers, and one number of that block, another after every seed
and after every block. Where these bytes lie is found out, not assumed: a generator of our own is
drawn from, and the bytes must be those that it says it has. If they are not, the whole state is
compared: slow, and right all the same.

Those of torch for other devices (CUDA) are not among them: simulated ranks share them, so what is
drawn there depends on the order in which ranks run. A ``torch.Generator`` of its own is a rank's.
"""

import ctypes
import random
import struct
import sys
from functools import cache
from typing import Any

import numpy as np

from course_lib.comm.ambient.entries import Entry
from course_lib.comm.ambient.loading import WhenLoaded

__all__ = ["Generator", "TorchGenerator", "generators", "seed_generators", "seed_torch"]

_BLOCK = 624  # numbers of four bytes that a twister makes at a time
_BLOCK_BYTES = 4 * _BLOCK + 4  # with the place in it
_PAIR_BYTES = 16  # a flag, and the number of a pair that was drawn too early
_HEAD = object.__basicsize__  # what every Python object begins with


def generators(seed: int) -> "list[Generator]":
    """List those of Python and NumPy, with what a run of that seed begins with."""
    model = random.Random(seed)
    # A number is drawn, because all freshly seeded states begin with the same word.
    numpy_seed = model.getrandbits(32)
    return [PythonGenerator(model), NumpyGenerator(numpy_seed)]


def seed_generators(seed: int) -> None:
    """Make the global generators what a rank finds, in a process that is its own.

    Torch's as soon as torch is loaded.
    """
    model = random.Random(seed)
    numpy_seed = model.getrandbits(32)
    random.setstate(model.getstate())
    np.random.seed(numpy_seed)  # noqa: NPY002 - it is this one
    torch: Any = sys.modules.get("torch")
    if torch is None:
        WhenLoaded("torch", seed_torch)
    else:
        seed_torch(torch)


def seed_torch(torch: Any) -> None:
    """Give torch's generator the seed of every other: the first is seeded at random."""
    torch.default_generator.set_state(torch.Generator().get_state())


def _window(address: int, n_bytes: int) -> memoryview:
    """Return a view of some bytes of memory; whoever owns them has to live on."""
    return memoryview((ctypes.c_uint8 * n_bytes).from_address(address)).cast("B")


class Generator(Entry):
    """A global generator.

    Parameters
    ----------
    name : str
        The module.
    beginning : Any
        Its state where a run begins.
    word : memoryview or None
        The eight bytes that tell of every use; None where it is not known where they are.
    first : memoryview or None
        What they are in the beginning.
    """

    def __init__(
        self, name: str, beginning: Any, word: memoryview | None, first: memoryview | None
    ) -> None:
        self._beginning = beginning
        short = name.partition(".")[0]
        if word is None or first is None:
            usual = f"is_new_{short}()"
            names: dict[str, Any] = {f"is_new_{short}": self._is_new}
        else:
            usual = f"word_{short}[0] == first_{short}"
            names = {f"word_{short}": word.cast("Q"), f"first_{short}": first.cast("Q")[0]}
        super().__init__(f"the global generator of {name}", "rank", usual, names)

    def _is_new(self) -> bool:
        raise NotImplementedError

    def _read(self) -> Any:
        raise NotImplementedError

    def put_aside(self) -> Any:
        """Set it to the beginning."""
        own = self._read()
        self.put_back(self._beginning)
        return own


class PythonGenerator(Generator):
    """That of ``random``: its place, its block, and half of a pair of normal numbers.

    Parameters
    ----------
    model : random.Random
        One that is in the state where a run begins.
    """

    def __init__(self, model: random.Random) -> None:
        self._generator: Any = random.random.__self__  # type: ignore[attr-defined]
        self._block = None
        if not python_layout_is_known():
            super().__init__("random", model.getstate(), None, None)
            return
        self._block = _window(id(self._generator) + _HEAD, _BLOCK_BYTES)
        beginning = bytes(_window(id(model) + _HEAD, _BLOCK_BYTES))
        first = memoryview(beginning)[:8]
        super().__init__("random", (beginning, None), self._block[:8], first)

    def _is_new(self) -> bool:
        return bool(self._generator.getstate() == self._beginning)

    def _read(self) -> Any:
        if self._block is None:
            return self._generator.getstate()
        return bytes(self._block), self._generator.gauss_next

    def put_back(self, own: Any) -> None:
        """Set it again."""
        if self._block is None:
            self._generator.setstate(own)
        else:
            self._block[:], self._generator.gauss_next = own


@cache
def python_layout_is_known() -> bool:
    """Try on a generator of our own whether its memory is what we think."""
    own = random.Random(1)
    if own.__sizeof__() < _HEAD + _BLOCK_BYTES:
        return False
    block = _window(id(own) + _HEAD, _BLOCK_BYTES)
    for _ in range(3):
        *numbers, place = own.getstate()[1]
        if bytes(block) != struct.pack(f"=i{_BLOCK}I", place, *numbers):
            return False
        own.random()
    return True


class NumpyGenerator(Generator):
    """That of ``numpy.random``: who makes the bits, its block, its place, and half of a pair.

    The caller's bits are left alone: a run has its own. ``np.random.get_state`` takes longer than
    ten messages, so the memory itself is copied.

    Parameters
    ----------
    seed : int
        Makes the state where a run begins.
    """

    def __init__(self, seed: int) -> None:
        model: Any = np.random.RandomState(np.random.MT19937())
        model.seed(seed)
        self._bits = model._bit_generator
        self._singleton: Any = np.random.mtrand._rand
        self._block = self._pair = None
        offset = numpy_pair_offset()
        if offset is None:
            beginning = self._bits, self._bits.state, model.get_state(legacy=False)
            super().__init__("numpy.random", beginning, None, None)
            self._first = model.get_state()
            return
        self._block = _window(self._bits.ctypes.state_address, _BLOCK_BYTES)
        self._pair = _window(id(self._singleton) + offset, _PAIR_BYTES)
        beginning = self._bits, bytes(self._block), bytes(_PAIR_BYTES)
        word, first = self._block[-8:], memoryview(bytes(self._block[-8:]))
        super().__init__("numpy.random", beginning, word, first)
        self.usual += " and numpy_random._bit_generator is numpy_bits"
        self.fast = self.usual
        self.names |= {"numpy_random": self._singleton, "numpy_bits": self._bits}

    def _is_new(self) -> bool:
        if self._singleton._bit_generator is not self._bits:
            return False
        return all(map(np.array_equal, np.random.get_state(), self._first))  # noqa: NPY002

    def _read(self) -> Any:
        bits = self._singleton._bit_generator
        if self._block is None or self._pair is None:
            state = np.random.get_state(legacy=False)  # noqa: NPY002 - it is this one
            return bits, self._bits.state, state
        with self._bits.lock:
            return bits, bytes(self._block), bytes(self._pair)

    def put_back(self, own: Any) -> None:
        """Set it again."""
        if self._singleton._bit_generator is not own[0]:
            np.random.mtrand.set_bit_generator(own[0])
        if self._block is None or self._pair is None:
            self._bits.state, state = own[1:]
            np.random.set_state(state)  # noqa: NPY002
            return
        with self._bits.lock:
            _, self._block[:], self._pair[:] = own


@cache
def numpy_pair_offset() -> int | None:
    """Find where a ``RandomState`` keeps a flag and the number that it has drawn too early.

    Returns
    -------
    int or None
        Bytes from the object's beginning; None where its memory, or that of its bits, is not what
        we think.
    """
    bits = np.random.MT19937(1)
    own: Any = np.random.RandomState(bits)
    memory = _window(id(own), own.__sizeof__())
    own.standard_normal()
    _, _, _, flag, number = own.get_state()
    offset = bytes(memory).find(struct.pack("=iid", flag, 0, number))
    if offset < 0:
        return None
    block = _window(bits.ctypes.state_address, _BLOCK_BYTES)
    for _ in range(3):
        _, numbers, place, flag, number = own.get_state()
        pair = struct.unpack_from("=i4xd", memory, offset)
        if pair != (flag, number) or bytes(block) != numbers.tobytes() + struct.pack("=i", place):
            return None
        own.standard_normal()
    return offset


class TorchGenerator(Generator):
    """That of torch, for the processor."""

    def __init__(self, torch: Any) -> None:
        self._generator, model = torch.default_generator, torch.Generator()
        offset = torch_word_offset(torch)
        if offset is None:
            super().__init__("torch", model.get_state(), None, None)
            return
        word, first = (_window(one._cdata + offset, 8) for one in (self._generator, model))
        super().__init__("torch", model.get_state(), word, first)

    def _is_new(self) -> bool:
        return bool((self._read() == self._beginning).all())

    def _read(self) -> Any:
        return self._generator.get_state()

    def put_back(self, own: Any) -> None:
        """Set it again."""
        self._generator.set_state(own)


@cache
def torch_word_offset(torch: Any) -> int | None:
    """Find where a generator of torch keeps its place and its first number, or None."""
    own, seed = torch.Generator(), 0x1234_5678_9ABC_DEF1
    memory = _window(own._cdata, 256)  # a tenth of what it has
    own.manual_seed(seed)
    offset = bytes(memory).find(struct.pack("=Q", seed))
    if not 0 <= offset <= len(memory) - 24:
        return None
    word = memory[offset + 16 : offset + 24]  # how many numbers are left stands before it
    places, firsts = [], []
    for _ in range(_BLOCK + 2):
        place, first = struct.unpack("=II", word)
        places.append(place)
        firsts.append(first)
        torch.randint(0, 2, (1,), generator=own)
    first, second, third = seed & 0xFFFF_FFFF, firsts[1], firsts[-1]
    right = firsts == [first, *[second] * _BLOCK, third] and len({first, second, third}) == 3
    return offset + 16 if right and places == [*range(_BLOCK + 1), 1] else None
