"""Run a checker on the tree, or on a planted mistake, with the project's own settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def run_module(*words: str, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    """Run `python -m WORDS`; return its status and output."""
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=cwd, capture_output=True, text=True, timeout=280
    )
