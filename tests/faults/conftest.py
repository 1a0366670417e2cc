"""The faults' own folder for temporary files, so that what is left there is seen."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.start_methods import start_method, usual_method, warm

__all__ = ["start_method", "usual_method", "warm"]


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a test an own folder for temporary files, with a short name as sockets need it."""
    folder = Path(tempfile.mkdtemp(prefix="f-"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setitem(os.environ, name, str(folder))
    yield folder
    shutil.rmtree(folder)
