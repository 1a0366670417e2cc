"""Runs that are finished, a line of JSON each, so that an interrupted measurement goes on."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Kept"]


class Kept:
    """Looks a run up before it is made, and writes it down when it is finished."""

    def __init__(self, path: Path) -> None:
        self.path, self.cpu_s = path, 0.0
        self._found: dict[str, dict[str, Any]] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole, _, torn = text.rpartition("\n")  # an interrupted line has no end
        for line in whole.splitlines():
            entry = json.loads(line)
            self._found[_key(entry["run"])] = entry["found"]
            self.cpu_s += entry["cpu_s"]
        if torn:
            path.write_text(whole + "\n" if whole else "", encoding="utf-8")

    def __len__(self) -> int:
        return len(self._found)

    def get(self, run: dict[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what this run has found, from the file or by making it."""
        key = _key(run)
        if key not in self._found:
            start_s = time.process_time()
            found = make()
            self.cpu_s += (cpu_s := time.process_time() - start_s)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"run": run, "found": found, "cpu_s": cpu_s}) + "\n")
            self._found[key] = found
        return self._found[key]


def _key(run: dict[str, Any]) -> str:
    return json.dumps(run, sort_keys=True)
