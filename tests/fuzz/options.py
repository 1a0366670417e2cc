"""How many programs, and of which seed: environment variables say so, see CONTRIBUTING.md."""

import os

__all__ = ["SEED", "programs"]

SEED = int(os.environ.get("COURSE_FUZZ_SEED", "0"))


def programs(usual: int) -> int:
    """Return how many programs a test is to run, where it usually runs ``usual``."""
    return int(os.environ.get("COURSE_FUZZ_PROGRAMS", usual))
