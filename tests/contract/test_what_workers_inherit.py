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
        told = [path.stat().st_mode & 0o777, time.strftime("%Z"), str(path.parent.parent)]
    if sys.platform != "win32":
        import resource

        told.append(resource.getrlimit(resource.RLIMIT_CORE)[0])
    return told


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither umask nor limits")
def test_umask_limits_time_zone_and_temporary_folder(monkeypatch, tmp_path):
    import resource

    run(seen, workers=1)  # its fork server is here from now on
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    wanted = 4096 if hard == resource.RLIM_INFINITY or hard >= 4096 else 0
    umask = os.umask(0o077)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    resource.setrlimit(resource.RLIMIT_CORE, (wanted, hard))
    time.tzset()
    try:
        assert run(seen, workers=2).values == [[0o600, "JST", str(tmp_path), wanted]] * 2
    finally:
        os.umask(umask)
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        monkeypatch.undo()
        time.tzset()
    assert run(seen, workers=1).values == [[0o666 & ~umask, time.strftime("%Z"), FOLDER, soft]]


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
