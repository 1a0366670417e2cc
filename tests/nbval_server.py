"""Runs nbval as often as it is asked to: ``python -m tests.nbval_server``.

A request is a line of JSON: pytest's words, the folder to run in, the file for what is printed. The
reply is pytest's exit status. All requests share a kernel (``tests.nbval_kernel``), which ends with
the input. To start pytest, a kernel and its fork server takes longer than many a notebook.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from tests import nbval_kernel
from tests.nbval_runs import SLOW_AND_NEVER_NEEDED


def main() -> None:
    """Serve until the input ends."""
    sys.modules[SLOW_AND_NEVER_NEEDED] = None  # type: ignore[assignment]
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    try:
        for line in sys.stdin:
            words, folder, printed = json.loads(line)
            os.chdir(folder)
            with Path(printed).open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            status = int(pytest.main(words))
            sys.stdout.flush()
            sys.stderr.flush()
            print(status, file=replies, flush=True)
    finally:
        nbval_kernel.stop()


if __name__ == "__main__":
    main()
