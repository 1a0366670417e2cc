"""Each backend in turn: the fixtures of ``tests.worlds``."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.worlds import both_worlds, world

__all__ = ["both_worlds", "world"]

_EVERY_SIZE = set(range(1, 9))
_MOST_OVER_TORCH = 4
_TRIED = {"processes": {1, 2, 3, 5, 8}, "torch": {1, 2, 3}}
"""Sizes with real processes, of tests that take every size. Which rank sends what to whom is
decided by the same text in every world, and the simulator tries all; here messages must arrive."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out sizes of real processes that show nothing which others do not.

    So are more than a few ranks over torch.distributed, where a message takes a hundred times as
    long: the contract is tried with eight.
    """
    here = [item for item in items if item.path.parent == Path(__file__).parent]
    sizes = defaultdict(set)
    for item in here:
        sizes[item.function].add(_parameter(item, "size"))  # type: ignore[attr-defined]
    spare = [item for item in here if _is_spare(item, sizes[item.function] >= _EVERY_SIZE)]  # type: ignore[attr-defined]
    config.hook.pytest_deselected(items=spare)
    left_out = set(spare)
    items[:] = [item for item in items if item not in left_out]


def _is_spare(item: pytest.Item, every_size: bool) -> bool:
    world, size = _parameter(item, "world"), _parameter(item, "size")
    if size is None or world not in _TRIED:
        return False
    return size not in _TRIED[world] if every_size else world == "torch" and size > _MOST_OVER_TORCH


def _parameter(item: pytest.Item, name: str) -> Any:
    return getattr(getattr(item, "callspec", None), "params", {}).get(name)
