"""The generators that a module can draw from, and whether they have gone on."""

import pickle
import random
from collections.abc import Iterator, Mapping
from functools import partial
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["OF_TORCH", "generators_of", "states", "states_in", "that_went_on"]

OF_TORCH = "torch's generator"
_NOT_OURS = ("torch", "numpy", "builtins")
_KINDS = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
_MOST_THINGS = 10_000


def states(others: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """Return the states of the generators that all of a process share, and of others by name."""
    shared = {
        OF_TORCH: torch.get_rng_state().numpy().tobytes(),
        "NumPy's generator (np.random)": pickle.dumps(np.random.get_state(legacy=False)),  # noqa: NPY002
        "Python's generator (random)": pickle.dumps(random.getstate()),
    }
    return shared | {name: _state(generator) for name, generator in (others or {}).items()}


def states_in(thing: Any) -> dict[str, bytes]:
    """Return the states of the generators that a thing reaches."""
    return {name: _state(generator) for name, generator in generators_of(thing).items()}


def that_went_on(before: dict[str, bytes]) -> str | None:
    """Name the first generator that is no longer as it was when ``states`` was asked."""
    now = states()
    return next((name for name, state in before.items() if state != now[name]), None)


def generators_of(thing: Any) -> dict[str, Any]:
    """Find generators that a module, a function or an object reaches by the names in its code.

    Parameters
    ----------
    thing : object
        Where to begin; torch's and NumPy's own code is not read.

    Returns
    -------
    dict
        The generators, by the names under which they are found.
    """
    left: list[tuple[str, Any]] = [("", thing)]
    met: dict[int, Any] = {}
    found: dict[str, Any] = {}
    while left and len(met) < _MOST_THINGS:
        name, one = left.pop()
        if id(one) in met:
            continue
        met[id(one)] = one  # alive, so that no other has its id
        if isinstance(one, _KINDS):
            found[f"the generator {name!r}"] = one
        else:
            left += [(key or name, value) for key, value in _reached_from(one)]
    return found


def _state(generator: Any) -> bytes:
    if isinstance(generator, np.random.Generator):
        return pickle.dumps(generator.bit_generator.state)
    if isinstance(generator, random.Random):
        return pickle.dumps(generator.getstate())
    if isinstance(generator, torch.Generator):
        return generator.get_state().numpy().tobytes()
    return pickle.dumps(generator.get_state(legacy=False))


def _reached_from(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a thing holds or calls by name, if it has one."""
    if isinstance(thing, FunctionType):
        if not thing.__module__ or thing.__module__.split(".")[0] not in _NOT_OURS:
            yield from _reached_from_code(thing)
    elif isinstance(thing, MethodType):
        yield from (("", thing.__func__), ("", thing.__self__))
    elif isinstance(thing, BuiltinMethodType):  # of a generator, for one
        yield "", thing.__self__
    elif isinstance(thing, partial):
        yield from (("", one) for one in (thing.func, thing.args, thing.keywords))
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from (("", one) for one in thing)
    elif isinstance(thing, dict):
        yield from ((str(key), value) for key, value in thing.items())
    elif isinstance(thing, nn.Module) or _is_ours(thing):
        yield from vars(thing).items()
        for kind in type(thing).__mro__:
            yield from (("", f) for f in vars(kind).values() if isinstance(f, FunctionType))


def _is_ours(thing: Any) -> bool:
    """Say whether it is an object of a class that is neither Python's, nor NumPy's, nor torch's."""
    is_object = not isinstance(thing, (type, ModuleType)) and hasattr(thing, "__dict__")
    return is_object and type(thing).__module__.split(".")[0] not in _NOT_OURS


def _reached_from_code(function: FunctionType) -> Iterator[tuple[str, Any]]:
    codes: list[CodeType] = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it is empty still
            continue
    yield from (("", default) for default in function.__defaults__ or ())
    yield from (function.__kwdefaults__ or {}).items()
