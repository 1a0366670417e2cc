"""What a run of the benchmarks measures, and how often."""

from dataclasses import dataclass
from typing import Any, Self

from tqdm import tqdm

__all__ = ["FULL", "KB", "MB", "QUICK", "TOPICS", "Plan", "Progress", "size_name"]

KB, MB = 2**10, 2**20
TOPICS = (
    "allreduce",
    "latency",
    "busy",
    "tracing",
    "launch",
    "algorithms",
    "simulator",
    "training",
    "pipelines",
    "split",
    "digits",
    "hogwild",
    "pictures",
)


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int
    n_batches: int
    sizes: tuple[int, ...]
    processes: tuple[int, ...]
    n_pings: int
    busy_sizes: tuple[int, ...]
    traced_sizes: tuple[int, ...]
    launch_rounds: int
    n_launches: int
    algorithm_rounds: int
    algorithm_sizes: tuple[int, ...]
    simulated_ranks: int
    training_steps: int
    source_lines: int


FULL = Plan(
    rounds=7, n_batches=3, processes=(2, 4), n_pings=1000, launch_rounds=5, n_launches=5,
    sizes=(KB, 4 * KB, 64 * KB, 256 * KB, MB, 4 * MB, 16 * MB, 64 * MB),
    busy_sizes=(MB, 16 * MB), traced_sizes=(KB, 64 * KB, MB, 8 * MB),
    algorithm_rounds=5, algorithm_sizes=(KB, 256 * KB, 4 * MB, 64 * MB),
    simulated_ranks=1024, training_steps=30, source_lines=100_000,
)  # fmt: skip
QUICK = Plan(
    rounds=2, n_batches=1, processes=(2, 4), n_pings=200, launch_rounds=1, n_launches=3,
    sizes=(KB, 256 * KB, MB, 64 * MB), busy_sizes=(MB,), traced_sizes=(64 * KB,),
    algorithm_rounds=1, algorithm_sizes=(KB, MB), simulated_ranks=128,
    training_steps=5, source_lines=20_000,
)  # fmt: skip


def size_name(n_bytes: int) -> str:
    """Return "64 KB" for 65,536."""
    return f"{n_bytes // MB} MB" if n_bytes >= MB else f"{n_bytes // KB} KB"


class Progress:
    """A line that says what is being measured and how much is to come; in a terminal only."""

    def __init__(self) -> None:
        tqdm.monitor_interval = 0  # no thread that wakes up while we measure
        line = "{bar:20} {n}/{total}, {elapsed}: {desc}"
        self._bar = tqdm(total=0, bar_format=line, disable=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.close()

    def expect(self, n_steps: int) -> None:
        self._bar.total += n_steps

    def tell(self, text: str) -> None:
        """Print a line above the line."""
        self._bar.write(text)

    def step(self, what: str) -> None:
        self._bar.set_description_str(what, refresh=False)
        self._bar.update()
        self._bar.refresh()
