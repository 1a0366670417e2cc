"""What `lab` and `test` start."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import course
from course_setup import commands, workbook
from tests.course_py.checkout import (
    FOLDER,
    assert_one_sentence,
    course_py,
    make_checkout,
    offline,
)

EMPTY = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


def test_threads_of_a_notebook_do_not_spin_unless_the_user_wants_them_to(monkeypatch, tmp_path):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert commands.lab_environ(tmp_path)["OMP_WAIT_POLICY"] == "passive"
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert commands.lab_environ(tmp_path)["OMP_WAIT_POLICY"] == "active"


def test_a_taken_port_is_told_in_one_sentence(checkout, wheels):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = course_py(checkout, "lab", "--port", str(port), env=offline(wheels))
    assert_one_sentence(done, f"port {port} cannot be used")
    commands.refuse_taken_port(port)  # free again


@pytest.mark.parametrize("port", ["0", "-1", "65536"])
def test_a_port_that_cannot_be_is_refused(checkout, wheels, port):
    done = course_py(checkout, "lab", f"--port={port}", env=offline(wheels))
    assert_one_sentence(done, "from 1 to 65535")


def test_unknown_words_are_refused_with_the_usage(checkout, wheels):
    for words in ([], ["fly"], ["lab", "--prot", "1"], ["reset"]):
        done = course_py(checkout, *words, env=offline(wheels))
        assert done.returncode == 2
        assert "usage: course.py" in done.stderr


def test_everything_after_test_goes_to_pytest():
    arguments = course.parse_arguments(["test", "-k", "ring", "--port", "-x"])
    assert arguments.pytest_words == ["-k", "ring", "--port", "-x"]


def test_the_whole_suite_runs_in_parallel_unless_a_path_is_named(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    whole = commands.pytest_words(tmp_path, ["-k", "ring"])
    assert whole == ["-n", "3", "--dist", "worksteal", "-k", "ring"]
    assert commands.pytest_words(tmp_path, ["tests::test_x"]) == ["tests::test_x"]
    assert commands.pytest_words(tmp_path, ["-n", "0"]) == ["-n", "0"]
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert commands.pytest_words(tmp_path, []) == []


@pytest.mark.slow
def test_test_exits_with_pytests_status(made, tmp_path):
    # The finished environment has no pytest: what runs is a module of that name beside course.py.
    root = Path(shutil.copytree(made, tmp_path / FOLDER, symlinks=True))
    (root / "pytest.py").write_text("import sys; print(sys.argv[1:]); sys.exit(5)")
    (root / "tests").mkdir(exist_ok=True)
    done = course_py(root, "test", "-k", "ring", env={**os.environ, "PYTHONPATH": "/wrong"})
    assert done.returncode == 5, done.stderr
    assert "'-k', 'ring'" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="ends the server with a signal")
def test_lab_serves_the_workbook_to_this_computer_with_its_token_on(tmp_path):
    root = make_checkout(tmp_path / FOLDER)
    (root / "notebooks").mkdir()
    (root / "notebooks" / "00_start_here.ipynb").write_text(EMPTY)
    workbook.synchronise(root)
    command = commands.lab_command(root, Path(sys.executable), None, open_browser=False)
    env = {**commands.lab_environ(root), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True, cwd=root) as lab:
        try:
            assert lab.stderr is not None
            address = next(
                line.strip() for line in lab.stderr if line.strip().startswith("http://")
            )
            assert address.startswith("http://127.0.0.1:")
            page, token = address.split("?token=")
            assert page.endswith("/lab/tree/notebooks/00_start_here.ipynb")
            base = page.split("/lab/")[0]
            wait_until_it_listens(base)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{base}/api/contents", timeout=30)
            assert refused.value.code == 403
            refused.value.close()
            listed = fetch(f"{base}/api/contents?token={token}")
            assert [entry["name"] for entry in listed["content"]] == ["notebooks"]
            plugin = "@jupyterlab/apputils-extension:notification"
            news = fetch(f"{base}/lab/api/settings/{plugin}?token={token}")["schema"]["properties"]
            assert news["fetchNews"]["default"] == "false"
            assert news["checkForUpdates"]["default"] is False
            plugin = "@jupyter-widgets/jupyterlab-manager:plugin"
            widgets = fetch(f"{base}/lab/api/settings/{plugin}?token={token}")["schema"]
            assert widgets["properties"]["saveState"]["default"] is True
            tabs = json.dumps({"data": {}, "metadata": {"id": "default"}}).encode()
            send(f"{base}/lab/api/workspaces/default?token={token}", tabs, "PUT")
            assert list((root / "workbook" / ".jupyterlab" / "workspaces").iterdir())
            send(f"{base}/api/kernels?token={token}", b"{}", "POST")
        finally:
            lab.terminate()
            rest = lab.stderr.read() if lab.stderr else ""
    assert "without encryption" not in rest
    assert "websocket_ping" not in rest


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal; Windows asks no question")
def test_one_ctrl_c_ends_lab(tmp_path):
    root = make_checkout(tmp_path / FOLDER)
    (root / "workbook").mkdir()
    command = commands.lab_command(root, Path(sys.executable), None, open_browser=False)
    env = {**commands.lab_environ(root), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    ours, its = os.openpty()
    with subprocess.Popen(
        command, env=env, stdin=its, stderr=subprocess.PIPE, text=True, cwd=root
    ) as lab:
        try:
            assert lab.stderr is not None
            address = next(line for line in lab.stderr if line.strip().startswith("http://"))
            wait_until_it_listens(address.strip().split("/lab")[0])
            lab.send_signal(signal.SIGINT)  # what Ctrl-C is
            assert lab.wait(timeout=60) == 0
            assert "Shutting down" in lab.stderr.read()
        finally:
            lab.kill()
            os.close(ours)
            os.close(its)


def wait_until_it_listens(base: str) -> None:
    """Connect until it works: the address is printed a moment before the server listens."""
    host, port = base.removeprefix("http://").split(":")
    for attempt in range(200):
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=30).close()
            return
        time.sleep(0.01 * attempt)
    raise AssertionError(f"nothing listens at {base}")


def send(address: str, body: bytes, method: str) -> None:
    kind = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, body, kind, method=method)
    urllib.request.urlopen(request, timeout=30).close()


def fetch(address: str):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)
