"""Rings on paper: what every rank holds after so many steps, right ones and wrong ones."""

from typing import Any

from course_lib.training.shards import split_evenly

__all__ = ["after_gathering", "after_reducing", "most_sent"]

Holding = list[list[Any]]
"""``holding[rank][chunk]``: what a rank has where that chunk belongs."""


def cut(parts: list[Any]) -> Holding:
    """Cut every rank's array into P chunks of rows."""
    return [[part[rows] for rows in split_evenly(len(part), len(parts))] for part in parts]


def after_reducing(parts: list[Any], n_steps: int, first: int = 0, *, own: bool = False) -> Holding:
    """Pass chunks to the right and add them up.

    Parameters
    ----------
    parts : list of arrays
        The ranks' arrays.
    n_steps : int
        How many steps; P - 1 are right.
    first : int, default: 0
        In step s, rank r sends chunk ``r + first - s``.
    own : bool, default: False
        Whether the chunk that leaves is always the rank's own, without what was added to it.

    Returns
    -------
    list of list of arrays
        What every rank holds then.
    """
    start = cut(parts)
    held, size = [list(chunks) for chunks in start], len(parts)
    for step in range(n_steps):
        sent = [((rank + first - step) % size) for rank in range(size)]
        source = start if own else [list(chunks) for chunks in held]
        for rank in range(size):
            left = (rank - 1) % size
            held[rank][sent[left]] = held[rank][sent[left]] + source[left][sent[left]]
    return held


def after_gathering(held: Holding, n_steps: int, first: int = 1, *, adds: bool = False) -> Holding:
    """Pass finished chunks round.

    Parameters
    ----------
    held : list of list of arrays
        What ``after_reducing`` left.
    n_steps : int
        How many steps; P - 1 are right.
    first : int, default: 1
        In step s, rank r sends chunk ``r + first - s``.
    adds : bool, default: False
        Whether what arrives is added to what is there, instead of replacing it.

    Returns
    -------
    list of list of arrays
        What every rank holds then.
    """
    now, size = [list(chunks) for chunks in held], len(held)
    for step in range(n_steps):
        before = [list(chunks) for chunks in now]
        for rank in range(size):
            left = (rank - 1) % size
            chunk = (left + first - step) % size
            arrived = before[left][chunk]
            now[rank][chunk] = now[rank][chunk] + arrived if adds else arrived
    return now


def most_sent(n_rows: int, size: int) -> int:
    """Say how many rows a rank sends at most in P - 1 steps: all but the smallest chunk."""
    return n_rows - n_rows // size
