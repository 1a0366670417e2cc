"""Pickles run code when they are loaded: they go between the launcher and its own workers only."""

import ast
from pathlib import Path

import pytest

from tests.tooling.planting import REPOSITORY

COMM = REPOSITORY / "course_lib" / "comm"
PICKLES = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}

SPEAKS_WITH_ITS_OWN_WORKERS = {
    "pickling.py",  # the function, its arguments, its results, its exception
    "processes/launcher/pipes.py",  # records of a worker, read by the launcher
    "processes/launcher/worker_handle.py",  # requests to a worker
    "processes/launcher/starter.py",  # the same
    "processes/worker/setup.py",  # what a worker is born with, from the launcher
    "processes/worker/guards.py",  # a worker's ends of both
    "processes/worker/worker.py",  # how its messages move, from the launcher
    "torch_backend/torchrun.py",  # between ranks that torchrun has started, as torch does itself
}
"""Modules that may pickle: what they write goes through a pipe between launcher and worker."""


def _pickles(text: str) -> bool:
    """Say whether a module imports what pickles, or sends objects over a connection by pickle."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names)]
        else:
            continue
        if PICKLES & {name.split(".")[0] for name in names} or "ForkingPickler" in names:
            return True
    return False


def _modules() -> dict[str, str]:
    return {str(path.relative_to(COMM)): path.read_text() for path in sorted(COMM.rglob("*.py"))}


def test_only_those_that_speak_with_their_own_workers_pickle() -> None:
    found = {name for name, text in _modules().items() if _pickles(text)}
    assert found == {str(Path(name)) for name in SPEAKS_WITH_ITS_OWN_WORKERS}


def test_connections_carry_bytes_that_somebody_packed() -> None:
    # Connection.send and recv pickle whatever they are given; they are told by their receiver.
    for name, text in _modules().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in ("send", "recv"):
                holder = ast.unparse(node.value)
                assert not any(word in holder for word in ("pipe", "record", "bell", "request")), (
                    f"{name}, line {node.lineno}: {holder}.{node.attr} pickles"
                )


@pytest.mark.parametrize(
    "text",
    ["import pickle", "from cloudpickle import dumps", "def f():\n    import dill.source"],
)
def test_a_module_that_pickles_is_found(text: str) -> None:
    assert _pickles(text)
    assert not _pickles("import numpy")
