"""Run notebooks, by nbval in a process of its own: compare what they print, try their claims."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LEDGER = REPOSITORY / "docs" / "claims.json"
STRICT = sys.platform == "linux"  # other systems print floats and errors a little differently
SLOW_AND_NEVER_NEEDED = "rfc3987_syntax"
"""A grammar of web addresses. jsonschema loads it where it finds it, for no use in a notebook: it
takes longer to build than all else that nbformat loads."""
TOO_LONG_S = 290.0

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""For what runs beside other tests: where the cores are busy, two threads of torch that train a
small network wait for each other for longer than they compute. A lecture is written with as many
threads as there are cores, so what it prints has been seen with both."""

_WORDS = [
    *("-p", "nbval.plugin", "-p", "tests.nbval_kernel", "-p", "tests.nbval_claims"),
    *("--nbval-cell-timeout=120", "--nbval-current-env"),
    f"--nbval-sanitize-with={REPOSITORY / 'tests/nbval_sanitize.cfg'}",
    *("-p", "no:cacheprovider", "-q", "-W", "ignore", "-c", os.devnull),
]
_served: "list[subprocess.Popen[str]]" = []


def nbval(
    *paths: Path, strict: bool = STRICT, ledger: Path = LEDGER
) -> "subprocess.CompletedProcess[str]":
    """Run notebooks, each in its folder, one after the other, and the opposites of claims.

    Outputs are compared if ``strict``. Returns how nbval ended, and what it printed.
    """
    words = [*_WORDS, "--nbval" if strict else "--nbval-lax", "--rootdir", str(paths[0].parent)]
    words += ["--claims", str(ledger), *map(str, paths)]
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder, "printed")
        status = _ask(json.dumps([words, str(paths[0].parent), str(printed)]))
        text = printed.read_text(encoding="utf-8")
    return subprocess.CompletedProcess(words, status, text, "")


def _ask(request: str) -> int:
    """Have the process that serves this one run pytest; start it where there is none."""
    if _served and _served[0].poll() is not None:
        _served.pop().communicate()
    if not _served:
        _served.append(_start())
    server = _served[0]
    assert server.stdin is not None
    assert server.stdout is not None
    limit = threading.Timer(TOO_LONG_S, server.kill)
    limit.start()
    try:
        print(request, file=server.stdin, flush=True)
        reply = server.stdout.readline()
    finally:
        limit.cancel()
        limit.join()
    assert reply, f"nbval ended, or took longer than {TOO_LONG_S:.0f} s, with {request}"
    return int(reply)


def _start() -> "subprocess.Popen[str]":
    imports = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    # The other plugins take their time, too, and have nothing to do here.
    environment = {"PYTHONPATH": os.pathsep.join(imports), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.nbval_server"],
        env={**os.environ, **environment, **ONE_THREAD},
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@atexit.register
def _end() -> None:
    for server in _served:
        server.communicate()  # it ends where its input does
