"""Run notebooks, by nbval in a process of its own: compare what they print, try their claims."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LEDGER = REPOSITORY / "docs" / "claims.json"
STRICT = sys.platform == "linux"  # other systems print floats and errors a little differently
SLOW_AND_NEVER_NEEDED = "rfc3987_syntax"
"""A grammar of web addresses. jsonschema loads it where it finds it, for no use in a notebook: it
takes longer to build than all else that nbformat loads."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""For kernels beside other tests: where the cores are busy, two threads of torch that train a small
network wait for each other for longer than they compute. A lecture is written with as many threads
as there are cores, so what it prints has been seen with both."""

_START = f"""
import sys
sys.modules[{SLOW_AND_NEVER_NEEDED!r}] = None
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
_WORDS = [
    *("-p", "nbval.plugin", "-p", "tests.nbval_kernel", "-p", "tests.nbval_claims"),
    *("--nbval-cell-timeout=120", "--nbval-current-env"),
    f"--nbval-sanitize-with={REPOSITORY / 'tests/nbval_sanitize.cfg'}",
    *("-p", "no:cacheprovider", "-q", "-W", "ignore", "-c", os.devnull),
]


def nbval(
    *paths: Path, strict: bool = STRICT, ledger: Path = LEDGER
) -> "subprocess.CompletedProcess[str]":
    """Run notebooks, each in its folder, one after the other, and the opposites of claims.

    Outputs are compared if ``strict``. Returns how nbval ended.
    """
    words = [*_WORDS, "--nbval" if strict else "--nbval-lax", "--rootdir", str(paths[0].parent)]
    words += ["--claims", str(ledger)]
    imports = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    # The other plugins take their time, too, and have nothing to do here.
    environment = {"PYTHONPATH": os.pathsep.join(imports), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-c", _START, *words, *map(str, paths)],
        env={**os.environ, **environment, **_ONE_THREAD},
        cwd=paths[0].parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=290,
        check=False,
    )
