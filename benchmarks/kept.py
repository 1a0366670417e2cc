"""What a run has measured so far, kept in a file: who stops it, or meets an error, can go on."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from benchmarks.plan import Plan
from benchmarks.samples import Key, Samples

__all__ = ["KEPT", "Kept"]

KEPT = Path(__file__).parents[1] / "build" / "benchmarks.json"


class Kept:
    """The measurements of a run that is under way, topic by topic.

    Parameters
    ----------
    plan : Plan
        What is measured; what another plan has left is not gone on with.
    path : pathlib.Path, default: KEPT
        The file.

    Attributes
    ----------
    done : list of str
        The topics that are measured.
    samples : Samples
        What was measured.
    """

    def __init__(self, plan: Plan, path: Path = KEPT) -> None:
        self.plan: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(plan)))
        self.path = path
        self.done: list[str] = []
        self.samples = Samples()

    def load(self) -> None:
        """Go on with what the file has, if it is of the same plan."""
        if not self.path.exists():
            return
        found = json.loads(self.path.read_text(encoding="utf-8"))
        if found["plan"] != self.plan:
            return
        self.done = found["done"]
        for key, rounds, peaks in found["samples"]:
            self.samples.rounds[Key(*key)] = rounds
            if peaks:
                self.samples.peak_bytes[Key(*key)] = peaks

    def add(self, topics: tuple[str, ...]) -> None:
        """Write down that these topics are measured."""
        self.done += topics
        rows = [
            [dataclasses.astuple(key), rounds, self.samples.peak_bytes.get(key, [])]
            for key, rounds in self.samples.rounds.items()
        ]
        found = {"plan": self.plan, "done": self.done, "samples": rows}
        self.path.parent.mkdir(exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(found), encoding="utf-8")
        new.replace(self.path)

    def remove(self) -> None:
        """Forget it: the run is over."""
        self.path.unlink(missing_ok=True)
