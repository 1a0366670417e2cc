"""The faults' own folder for temporary files, so that what is left there is seen."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.table import Fault
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


@pytest.fixture
def fault(tmp_path: Path) -> Fault:
    """Give a test outside of the table where to note the moment of its fault."""
    return Fault(str(tmp_path / "the moment of the fault"))


@pytest.fixture
def told(fault: Fault, record_property: Any) -> Callable[[float], None]:
    """Give such a test what compares the time from the fault to now with ten times its limit."""

    def compare(limit_s: float) -> None:
        seconds = time.perf_counter() - float(Path(fault.path).read_text())
        print(f"reported after {seconds:.3f} s")
        record_property("from fault to report", (0, "kernel", seconds))
        assert seconds < 10 * limit_s

    return compare
