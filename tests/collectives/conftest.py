"""Each backend in turn: the fixtures of ``tests.worlds``."""

from pathlib import Path

import pytest

from tests.worlds import both_worlds, world

__all__ = ["both_worlds", "world"]

_MOST = 4


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out more than a few ranks over torch.distributed, where a message takes a hundred times
    as long: the text of the collectives is the same, and the contract is tried with eight."""
    large = [item for item in items if item.path.parent == Path(__file__).parent and _large(item)]
    config.hook.pytest_deselected(items=large)
    items[:] = [item for item in items if item not in large]


def _large(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get("world") == "torch" and parameters.get("size", 0) > _MOST
