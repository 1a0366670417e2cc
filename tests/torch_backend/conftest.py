"""Each way of starting processes: the fixtures of ``tests.start_methods``."""

from tests.start_methods import start_method, usual_method, warm

__all__ = ["start_method", "usual_method", "warm"]
