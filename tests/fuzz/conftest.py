"""Workers import ``tests.fuzz`` themselves: it loads neither pytest nor another test."""

from tests.start_methods import usual_method, warm

__all__ = ["usual_method", "warm"]
