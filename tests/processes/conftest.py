"""Every test of real processes runs with both ways of starting them."""

from tests.start_methods import start_method, usual_method, warm

__all__ = ["start_method", "usual_method", "warm"]
