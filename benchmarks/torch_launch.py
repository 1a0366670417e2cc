"""The peer of our launch: ``torch.multiprocessing.spawn`` of four processes.

``python -m benchmarks.torch_launch N`` prints the seconds of N launches as JSON.
"""

import json
import sys
import time

__all__ = ["launch_seconds"]


def nothing(rank: int) -> int:
    return rank


def launch_seconds(n_launches: int) -> list[float]:
    """Return the seconds of launches, one by one."""
    from torch.multiprocessing import spawn

    seconds = []
    for _ in range(n_launches):
        start_s = time.perf_counter()
        spawn(nothing, nprocs=4)
        seconds.append(time.perf_counter() - start_s)
    return seconds


if __name__ == "__main__":
    print(json.dumps(launch_seconds(int(sys.argv[1]))))
