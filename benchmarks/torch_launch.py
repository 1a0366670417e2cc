"""The peer of our launch: ``torch.multiprocessing.spawn`` of four processes.

``python -m benchmarks.torch_launch N`` prints the seconds of N launches as JSON.
"""

import json
import sys

__all__ = ["launch_seconds"]


def nothing(rank: int) -> int:
    return rank


def launch_seconds(n_launches: int) -> list[float]:
    """Return the seconds of launches, one by one."""
    # In here, for workers not to import them.
    from torch.multiprocessing import spawn

    from course_lib.measure.timing import time_rounds

    return time_rounds(lambda: lambda: spawn(nothing, nprocs=4), n_launches, warm_up=0)


if __name__ == "__main__":
    print(json.dumps(launch_seconds(int(sys.argv[1]))))
