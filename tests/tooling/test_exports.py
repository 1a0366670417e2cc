"""An algorithm has the name of its module: the package hands out the function all the same."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import importlib, json, sys, types

package_name = sys.argv[1]
names = importlib.import_module(package_name).__all__
wrong = []
for name in names:
    for first in ("module", "package"):
        for loaded in [m for m in sys.modules if m.startswith(package_name)]:
            del sys.modules[loaded]  # as in a fresh process
        if first == "module":
            try:
                importlib.import_module(f"{package_name}.{name}")
            except ModuleNotFoundError:  # of what has no module of its own
                continue
        found = {}
        exec(f"from {package_name} import {name}", found)
        if isinstance(found[name], types.ModuleType):
            wrong.append([name, first])
print(json.dumps([len(names), wrong, "torch" in sys.modules]))
"""

LAZY = """
__all__ = ["add"]

def __getattr__(name):
    from planted.add import add
    return add
"""


@pytest.mark.parametrize(("package", "least"), [("collectives", 18), ("schemes", 12)])
def test_every_name_is_the_function_in_any_order_of_imports_and_torch_is_not_loaded(package, least):
    command = [sys.executable, "-c", PROGRAM, f"course_lib.{package}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    n_names, wrong, loads_torch = json.loads(done.stdout)
    assert n_names >= least
    assert wrong == []
    assert not loads_torch


def test_a_package_that_hands_out_its_modules_would_be_found(tmp_path):
    package = tmp_path / "planted"
    package.mkdir()
    (package / "add.py").write_text("def add():\n    return 1\n")
    (package / "__init__.py").write_text(LAZY)
    command = [sys.executable, "-c", PROGRAM, "planted"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path
    )
    assert json.loads(done.stdout)[1] == [["add", "module"], ["add", "package"]]
