"""The faults' own folder for temporary files, so that what is left there is seen."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.start_methods import start_method, usual_method, warm

__all__ = ["start_method", "usual_method", "warm"]


@pytest.fixture(scope="package", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have temporary files put into an own folder, with a short name as sockets need it."""
    tmp_path_factory.getbasetemp()  # this one is pytest's
    folder = Path(tempfile.mkdtemp(prefix="f-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        for name in ("TMPDIR", "TEMP", "TMP"):
            patch.setenv(name, str(folder))
        yield folder
    shutil.rmtree(folder)
