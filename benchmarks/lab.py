"""A JupyterLab of its own on a free port of this machine, and a page of a browser in it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from benchmarks.peers import ROOT, interrupts_afterwards

__all__ = [
    "SLOW_TO_LOAD", "jupyterlab", "opened_lab", "opened_notebook", "run_all", "write_notebook",
]  # fmt: skip

SLOW_TO_LOAD = "[anywidget] Failed to initialize model."
"""What the page complains of where a picture's script took longer than two seconds to load: on a
busy computer. The picture is drawn all the same, and an explorer is answered."""

_TOKEN = "pictures"
_TIME_LIMIT_S = 60.0
_READY = """(path) => {
  const { context, sessionContext } = window.jupyterapp?.shell?.currentWidget ?? {};
  return context?.path === path && sessionContext?.session?.kernel?.status === "idle";
}"""
_RESTORED = "() => window.jupyterapp?.restored.then(() => true)"
_OPEN = "async (path) => void await window.jupyterapp.commands.execute('docmanager:open', { path })"
_CLOSE = """async () => {
  const { currentWidget } = window.jupyterapp.shell;
  await currentWidget.sessionContext.shutdown();
  currentWidget.dispose(); // to close it would ask whether to save it
}"""
_QUIET = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
}


@contextlib.contextmanager
def jupyterlab(home: Path) -> Iterator[str]:
    """Start a server, whose address is returned; it ends with the block.

    Parameters
    ----------
    home : pathlib.Path
        The folder with its notebooks, and for all that it writes.
    """
    settings = home / "CONFIG_DIR" / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(_QUIET))
    with (home / "log").open("w") as log:
        with interrupts_afterwards():
            server = subprocess.Popen(
                _command(home), cwd=home, env=_environment(home),
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            yield _address(server, home)
        finally:
            _stop(server)


def write_notebook(path: Path, cells: list[str]) -> None:
    """Write a notebook of this code."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, path)


def _environment(home: Path) -> dict[str, str]:
    folders = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    return {
        **os.environ,
        **{f"JUPYTER_{name}": str(home / name) for name in folders},
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONPATH": str(ROOT),
    }


def _command(home: Path) -> list[str]:
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser"]
    command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # a container
        command.append("--ServerApp.allow_root=True")
    return [*command, f"--IdentityProvider.token={_TOKEN}", f"--ServerApp.root_dir={home}"]


def _address(server: "subprocess.Popen[bytes]", home: Path) -> str:
    """Wait for the file in which a server writes its port, then for its first answer."""
    deadline_s = time.monotonic() + _TIME_LIMIT_S
    while time.monotonic() < deadline_s and server.poll() is None:
        for file in (home / "RUNTIME_DIR").glob("jpserver-*.json"):
            with contextlib.suppress(json.JSONDecodeError, urllib.error.URLError):
                address: str = json.loads(file.read_text())["url"]
                urllib.request.urlopen(f"{address}api?token={_TOKEN}", timeout=5).close()
                return address
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.2)
    raise AssertionError((home / "log").read_text()[-3000:])


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """End the server as Ctrl-C would, so that it ends its kernels; what does not obey is killed."""
    server.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(15)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait(15)


@contextlib.contextmanager
def opened_lab(browser: Any, address: str, first: str = "") -> Iterator[Any]:
    """Open JupyterLab in a page; nothing may leave this machine.

    The script ``first`` runs before any of the page's own.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(first)
    asked = []

    def only_local(route: Any) -> None:
        if route.request.url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    page = context.new_page()
    page.route("**/*", only_local)
    # Empty, else JupyterLab opens what was open before, too.
    page.goto(f"{address}lab?reset&token={_TOKEN}")
    page.wait_for_function(_RESTORED, timeout=1000 * _TIME_LIMIT_S)
    try:
        yield page
    finally:
        context.close()
    assert asked == [], asked


@contextlib.contextmanager
def opened_notebook(page: Any, name: str) -> Iterator[None]:
    """Open a notebook in JupyterLab, with a kernel that is ready, and close both."""
    page.evaluate(_OPEN, name)
    page.wait_for_function(_READY, arg=name, timeout=1000 * _TIME_LIMIT_S)
    yield
    page.evaluate(_CLOSE)


def run_all(page: Any) -> None:
    """Run all cells of the open notebook."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
