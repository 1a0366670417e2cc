"""Imports go one way: from what is taught towards what it stands on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tooling.planting import REPOSITORY

# What the files of a part of course_lib may import from course_lib; every part is named here.
EVERYTHING = ("",)
MAY_IMPORT = {
    "words": ("words",),
    "trace": ("trace", "words"),
    "comm": ("comm", "trace", "words"),
    "collectives": (
        "collectives", "comm.collective", "comm.communicator", "comm.messages", "comm.errors",
        "comm.rates", "costs", "trace", "words",
    ),
    "models": ("models", "words"),
    "data": ("data", "words"),
    "training": ("training", "models", "data", "words"),
    "pipelines": (
        "pipelines", "training", "models", "comm.communicator", "comm.pending", "words",
    ),
    "split": ("split", "training", "collectives", "models", "comm.communicator", "words"),
    "compression": (
        "compression", "training", "collectives", "models", "comm.communicator", "words",
    ),
    "schemes": (
        "schemes", "compression", "split", "pipelines", "training", "collectives", "models",
        "comm.collective", "comm.communicator", "comm.errors", "comm.messages", "comm.pending",
        "words",
    ),
    # Formulas: what they say is tested against what runs.
    "costs": ("costs", "words"),
    "viz": ("viz", "trace", "words"),
    "watch": ("watch", "comm", "trace", "viz", "words"),
    "measure": (
        "measure", "schemes", "training", "models", "collectives", "costs", "comm", "trace",
        "viz", "words",
    ),
    "planning": (
        "planning", "schemes", "training", "models", "collectives", "costs", "comm", "trace", "viz",
        "words",
    ),
    "console": ("console", "comm", "words"),
    "train": (
        "train", "console", "schemes", "compression", "split", "pipelines", "training",
        "collectives", "models", "data", "comm.communicator", "comm.rates", "words",
    ),
    "search": (
        "search", "schemes", "training", "models", "comm.communicator", "comm.errors", "words",
    ),
    "cli": (
        "cli", "checks.SETS", "checks.solved", "grading",
        "search", "train", "console", "measure", "training", "collectives",
        "costs", "comm", "viz", "words",
    ),
    "doctor": ("doctor", "comm", "words", "run"),
    "checks": EVERYTHING,
    "grading": ("grading", "checks", "comm", "words"),
    "lectures": EVERYTHING,
    "__main__": ("cli", "console", "doctor"),
    "": EVERYTHING,  # the package itself, which hands out names
}  # fmt: skip
# The one reverse arrow: what a run returns draws itself, so it imports viz inside a function.
MAY_IMPORT_WITHIN_FUNCTIONS = {("trace", "viz"), ("comm", "viz")}

# Where a third party may be imported.
ONLY_IN = {
    "multiprocess": ("comm.processes",),
    "greenlet": ("comm.simulated",),
    "matplotlib": ("viz",),
    "anywidget": ("viz",),
    "ipywidgets": ("viz",),
    "traitlets": ("viz",),
    "torch": ("models", "comm.torch_backend"),
    "mpi4py": ("comm",),
    "sklearn": ("data",),
    "numba": ("training",),
    # Mixed with multiprocess it unlinks live shared memory; everything here uses multiprocess.
    "multiprocessing": (),
}
# How workers talk has to know a tensor when it is handed one, without loading torch before; and an
# optimizer of torch is made where one is asked for.
ONLY_IN_FUNCTIONS_OF = {"torch": ("comm", "training.torch_optimizer", "training.torch_trial")}


@dataclass(frozen=True)
class Arrow:
    """One import: from which module, of which, where, and whether inside a function."""

    importer: str
    imported: str
    line: int
    is_inner: bool


def module_name(file: Path, package: Path) -> str:
    parts = file.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def arrows(file: Path, package: Path) -> Iterator[Arrow]:
    importer = module_name(file, package)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    here = ["course_lib", *importer.split(".")] if importer else ["course_lib"]
    if file.name != "__init__.py":
        here = here[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names = [f"{base}.{name.name}" for name in node.names]
        else:
            continue
        for name in names:
            yield Arrow(importer, name, node.lineno, id(node) in inner)


def is_within(module: str, parts: tuple[str, ...]) -> bool:
    return any(not part or module == part or module.startswith(part + ".") for part in parts)


def mistake(arrow: Arrow) -> str | None:
    top = arrow.imported.split(".")[0]
    is_late = arrow.is_inner and is_within(arrow.importer, ONLY_IN_FUNCTIONS_OF.get(top, ()))
    if top in ONLY_IN and not is_late and not is_within(arrow.importer, ONLY_IN[top]):
        return f"{top} may be imported in {ONLY_IN[top] or 'no file'} only"
    part = arrow.importer.split(".")[0]
    if top != "course_lib":
        return None
    if part not in MAY_IMPORT:
        return f"{part} is a part that MAY_IMPORT does not name"
    imported = arrow.imported.removeprefix("course_lib").lstrip(".")
    if is_within(imported, MAY_IMPORT[part]):
        return None
    if arrow.is_inner and (part, imported.split(".")[0]) in MAY_IMPORT_WITHIN_FUNCTIONS:
        return None
    return f"{part} may import {MAY_IMPORT[part]}, not {imported or 'the whole package'}"


def mistakes(package: Path) -> list[str]:
    return [
        f"{file.relative_to(package)}:{arrow.line}: {told}"
        for file in sorted(package.rglob("*.py"))
        for arrow in arrows(file, package)
        if (told := mistake(arrow))
    ]


def test_no_arrow_runs_the_other_way():
    assert mistakes(REPOSITORY / "course_lib") == []


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("collectives/allreduce_ring.py", "from course_lib.schemes import map_reduce"),
        ("collectives/allreduce_ring.py", "from ..schemes.map_reduce import train"),
        ("collectives/allreduce_ring.py", "from course_lib.comm import launch"),
        ("collectives/allreduce_ring.py", "from course_lib import run"),
        ("comm/launch.py", "import course_lib.viz.timeline"),
        ("comm/launch.py", "import multiprocess"),
        ("comm/processes/worker.py", "from multiprocessing import shared_memory"),
        ("comm/processes/worker.py", "import multiprocessing.shared_memory"),
        ("comm/processes/worker.py", "import torch"),
        ("collectives/allreduce_ring.py", "def f():\n    import torch"),
        ("collectives/allreduce_ring.py", "from course_lib.training import Plan"),
        ("training/plan.py", "from course_lib.schemes import data_parallel"),
        ("training/layers.py", "from course_lib.comm.communicator import Communicator"),
        ("schemes/serial.py", "from course_lib.data.digits import load_digits"),
        ("costs/price.py", "from course_lib.collectives import allreduce_ring"),
        ("costs/fit.py", "from course_lib import run"),
        ("schemes/map_reduce.py", "from course_lib.comm.processes import worker"),
        ("schemes/map_reduce.py", "import matplotlib.pyplot as plt"),
        ("trace/events.py", "from course_lib.viz import timeline"),
        ("trace/events.py", "def f():\n    from course_lib import comm"),
        ("viz/timeline.py", "from .. import collectives"),
        ("viz/timeline.py", "import torch"),
        ("checks/ring.py", "import greenlet"),
        ("schemes/serial.py", "from course_lib.planning.graph import Graph"),
        ("planning/cut.py", "import matplotlib.pyplot as plt"),
    ],
)
def test_a_planted_wrong_arrow_would_be_found(tmp_path, file, code):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(code)
    assert len(mistakes(tmp_path)) == 1


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("collectives/allreduce_ring.py", "from course_lib.comm.communicator import Communicator"),
        ("collectives/allreduce_ring.py", "from course_lib.trace import collective"),
        ("collectives/__init__.py", "from .allreduce_ring import allreduce_ring"),
        ("comm/processes/__init__.py", "from ..communicator import Communicator"),
        ("comm/processes/worker.py", "from multiprocess import shared_memory"),
        ("schemes/map_reduce.py", "from course_lib.collectives import x"),
        ("trace/events.py", "def f():\n    from course_lib.viz import timeline"),
        ("checks/ring.py", "from course_lib.comm.simulated import x"),
        ("comm/messages.py", "def f():\n    import torch"),
        ("comm/torch_backend.py", "import torch.distributed as dist"),
    ],
)
def test_a_right_arrow_is_let_through(tmp_path, file, code):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(code)
    assert mistakes(tmp_path) == []
