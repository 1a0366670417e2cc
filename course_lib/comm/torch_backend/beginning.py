"""What ranks that are programs of their own agree on before a function is called.

By messages on connections that nobody listens to yet, in an order that all keep.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from course_lib.comm.errors import LaunchError
from course_lib.comm.failures import first_line
from course_lib.comm.rates import Rates
from course_lib.comm.settings import Settings
from course_lib.comm.torch_backend.joining import Wires, WiresClosed
from course_lib.comm.torch_backend.plain import plainly

__all__ = ["beginning", "common_origin_s", "of_rank_0", "settings_of_rank_0"]

_ROUNDS = 8
_TEXT_BYTES = 512


@contextmanager
def beginning(rank: int) -> Iterator[None]:
    """Say what it means if a connection breaks in this block.

    Parameters
    ----------
    rank : int
        Whose block it is.

    Yields
    ------
    None
        For the block.

    Raises
    ------
    LaunchError
        From what gloo or MPI says of it.
    """
    try:
        yield
    except (RuntimeError, WiresClosed) as error:
        raise LaunchError(
            f"rank {rank} has lost a connection before its function was called: another rank's "
            f"program has ended, or the network has broken off ({first_line(error)})",
            rank=rank,
        ) from error


@plainly
def of_rank_0(text: str, wires: Wires, rank: int, size: int) -> str:
    """Return a short text of rank 0's on every rank.

    Parameters
    ----------
    text : str
        On rank 0; at most 512 bytes.
    wires : Wires
        The connections.
    rank, size : int
        Who this is, of how many.

    Returns
    -------
    str
        Rank 0's.
    """
    payload = torch.zeros(_TEXT_BYTES, dtype=torch.uint8)
    if rank != 0:
        wires.receive(payload, 0, 0, on_device=False).wait()
        return bytes(payload.numpy()).rstrip(b"\0").decode()
    data = text.encode()
    payload[: len(data)] = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[
        : len(data)
    ]
    for peer in range(1, size):
        wires.send(payload, peer, 0, on_device=False).wait()
    return text


def settings_of_rank_0(settings: Settings, wires: Wires, rank: int, size: int) -> Settings:
    """Return rank 0's settings, but for those that only a launcher goes by.

    Every computer has its own fit of rates, or none, and programs that seed themselves by the clock
    would each have another seed.

    Parameters
    ----------
    settings : Settings
        This rank's own.
    wires : Wires
        The connections.
    rank, size : int
        Who this is, of how many.

    Returns
    -------
    Settings
        Those that all go by.
    """
    told = settings.eager_bytes, settings.seed, settings.trace, settings.rates.numbers
    eager_bytes, seed, trace, numbers = json.loads(of_rank_0(json.dumps(told), wires, rank, size))
    alpha_s, beta_s_per_byte, gamma_s_per_byte = numbers  # no text: a file's name may be long
    rates = Rates(alpha_s, beta_s_per_byte, gamma_s_per_byte, "of rank 0")
    return replace(settings, eager_bytes=eager_bytes, seed=seed, trace=trace, rates=rates)


@plainly
def common_origin_s(wires: Wires, rank: int, size: int) -> float:
    """Return the run's time 0, a moment of rank 0, on this rank's clock.

    Each rank asks rank 0 for its time, as often as it takes for one answer to be fast.

    Parameters
    ----------
    wires : Wires
        The connections.
    rank, size : int
        Who this is, of how many.

    Returns
    -------
    float
        Seconds of ``time.perf_counter``.
    """
    if rank == 0:
        for peer in range(1, size):
            for _ in range(_ROUNDS):
                _hear(wires, peer)
                _say(wires, peer, time.perf_counter())
        origin_s = time.perf_counter()
        for peer in range(1, size):
            _say(wires, peer, origin_s)
        return origin_s
    answers = []
    for _ in range(_ROUNDS):
        asked_s = time.perf_counter()
        _say(wires, 0, 0.0)
        theirs_s = _hear(wires, 0)
        answered_s = time.perf_counter()
        answers.append((answered_s - asked_s, (asked_s + answered_s) / 2 - theirs_s))
    return _hear(wires, 0) + min(answers)[1]


@plainly
def _say(wires: Wires, dst: int, time_s: float) -> None:
    payload = torch.tensor([time_s], dtype=torch.float64)
    wires.send(payload, dst, 0, on_device=False).wait()


@plainly
def _hear(wires: Wires, src: int) -> float:
    room = torch.empty(1, dtype=torch.float64)
    wires.receive(room, src, 0, on_device=False).wait()
    return float(room)
