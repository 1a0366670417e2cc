"""Each backend in turn: the fixtures of ``tests.worlds``."""

from tests.worlds import both_worlds, launching_world, world

__all__ = ["both_worlds", "launching_world", "world"]
