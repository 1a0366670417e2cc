"""Make a failing program smaller: take away whatever it fails without (delta debugging)."""

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.fuzz import program as p

__all__ = ["shrink"]


def shrink(
    program: p.Program, fails: Callable[[p.Program], bool], patience_s: float = 60.0
) -> p.Program:
    """Return a smaller program that fails, too.

    Parameters
    ----------
    program : Program
        One that fails.
    fails : callable
        Says whether a program still fails in the same way.
    patience_s : float, default: 60.0
        After so long the smallest found until then is returned.

    Returns
    -------
    Program
        One of which no single part can be taken away, if there was time enough.
    """
    deadline = time.monotonic() + patience_s
    tried = {program}
    found = True
    while found:
        found = False
        for candidate in _smaller(program):
            if time.monotonic() > deadline:
                return program
            if candidate not in tried and fails(candidate):
                program, found = candidate, True
                break
            tried.add(candidate)
    return program


def _smaller(program: p.Program) -> Iterator[p.Program]:
    """Try the largest cuts first."""
    for steps in _fewer(program.steps):
        yield replace(program, steps=steps)
    for ranks in range(1, program.ranks):
        yield replace(program, ranks=ranks)
    if program.rendezvous:
        yield replace(program, rendezvous=False)
    for steps in _simpler(program.steps):
        yield replace(program, steps=steps)


def _fewer(steps: p.Steps) -> Iterator[p.Steps]:
    """Leave out many, then fewer at a time; then what lies inside; or keep only that."""
    length = len(steps)
    while length:
        for start in range(0, len(steps), length):
            yield steps[:start] + steps[start + length :]
        length //= 2
    for index, step in enumerate(steps):
        within = p.inner(step)
        if within:
            yield steps[:index] + within + steps[index + 1 :]
        for less in _fewer(within):
            yield (*steps[:index], p.with_inner(step, less), *steps[index + 1 :])


def _simpler(steps: p.Steps) -> Iterator[p.Steps]:
    """Set one field of one step back to its default, or half-way there."""
    for index, step in enumerate(steps):
        for simple in _plainer(step):
            yield (*steps[:index], simple, *steps[index + 1 :])
        for less in _simpler(p.inner(step)):
            yield (*steps[:index], p.with_inner(step, less), *steps[index + 1 :])


def _plainer(value: Any) -> Iterator[Any]:
    for each in fields(value):
        given = getattr(value, each.name)
        if each.name in ("steps", "kind") or given == each.default:
            continue
        yield replace(value, **{each.name: each.default})
        for part in _parts(given):
            yield replace(value, **{each.name: part})


def _parts(given: Any) -> Iterator[Any]:
    """Go half-way to the default: arrays field by field, tuples item by item, sizes by halves."""
    if is_dataclass(given):
        yield from _plainer(given)
    elif isinstance(given, tuple) and given:
        if len(given) > 1:
            yield from (given[:index] + given[index + 1 :] for index in range(len(given)))
        for index, item in enumerate(given):
            if isinstance(item, int) and item > 1:
                yield (*given[:index], item // 2, *given[index + 1 :])
                yield (*given[:index], item - 1, *given[index + 1 :])
    elif isinstance(given, int) and not isinstance(given, bool) and given > 1:
        yield given // 2
