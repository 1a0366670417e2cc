"""What the workbook's copy of a file holds, and how to tell that a learner has changed it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def fingerprint(path: Path) -> str:
    """Return a hash of what a learner writes: a notebook's cells without outputs, or all bytes.

    Running a notebook therefore does not count as changing it.
    """
    data = path.read_bytes()
    if path.suffix == ".ipynb":
        try:
            cells = json.loads(data)["cells"]
            written = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
            data = json.dumps(written).encode()
        except (ValueError, KeyError, TypeError, RecursionError):
            pass  # not a notebook any more: compare it as it is
    return hashlib.sha256(data).hexdigest()


def as_copied(source: Path) -> bytes:
    """Return what a file's copy in the workbook holds: a notebook without its outputs.

    A saved output stands below every question and tells its answer before anything is run.
    """
    data = source.read_bytes()
    if source.suffix != ".ipynb":
        return data
    try:
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
    except (ValueError, KeyError, TypeError, RecursionError):
        return data  # not a notebook any more: copy it as it is
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
