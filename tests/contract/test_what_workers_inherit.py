"""Workers have what the program has when it calls ``run``, also from an older fork server."""

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from course_lib import run

pytestmark = pytest.mark.slow

FOLDER = tempfile.gettempdir()


def seen(comm):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "new")
        path.touch()
        return path.stat().st_mode & 0o777, time.strftime("%Z"), str(path.parent.parent)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask, and no tzset")
def test_umask_time_zone_and_temporary_folder(monkeypatch, tmp_path):
    run(seen, workers=1)  # its fork server is here from now on
    umask = os.umask(0o077)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    time.tzset()
    try:
        assert run(seen, workers=2).values == [(0o600, "JST", str(tmp_path))] * 2
    finally:
        os.umask(umask)
        monkeypatch.undo()
        time.tzset()
    assert run(seen, workers=1).values == [(0o666 & ~umask, time.strftime("%Z"), FOLDER)]


@pytest.mark.parametrize("method", [None, "spawn"])
@pytest.mark.parametrize("given", [None, "random", "7"])
def test_all_ranks_walk_a_set_of_names_in_one_order(method, given, monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if given is not None:
        monkeypatch.setenv("PYTHONHASHSEED", given)

    def hashes(comm):
        return hash("conv.weight"), os.environ.get("PYTHONHASHSEED")

    values = run(hashes, workers=3, start_method=method).values
    assert len({number for number, _ in values}) == 1
    assert {variable for _, variable in values} == {given}
