"""Each backend in turn: the fixtures of ``tests.worlds``."""

from tests.worlds import both_worlds, world

__all__ = ["both_worlds", "world"]
