"""`import course_lib` is light: learners feel it in every notebook and every worker."""

import subprocess
import sys

from tests.tooling.planting import REPOSITORY

HEAVY = ("IPython", "anywidget", "ipykernel", "ipywidgets", "jupyter_core", "matplotlib")
HEAVY += ("llvmlite", "numba", "scipy", "sklearn", "torch")
SCRIPT = """
import sys, time
before = time.perf_counter()
import course_lib
print(time.perf_counter() - before)
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def import_course_lib(after: str = "") -> tuple[float, set[str]]:
    # The second of two runs: the first one compiles.
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.replace("print(*", after + "\nprint(*")],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        )
    seconds, modules = done.stdout.splitlines()
    return float(seconds), set(modules.split())


def test_importing_the_package_loads_nothing_heavy_and_is_fast():
    seconds, modules = import_course_lib()
    assert not modules & set(HEAVY)
    print(f"import course_lib: {seconds:.3f} s (wanted: under 0.2 s on an idle machine)")
    assert seconds < 2.0  # ten times the goal, since other tests may be running


def test_a_heavy_import_would_be_found():
    _, modules = import_course_lib("import jupyter_core.paths")
    assert "jupyter_core" in modules & set(HEAVY)
