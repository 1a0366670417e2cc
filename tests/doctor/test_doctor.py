"""The doctor finds what is wrong, says how to fix it, and is content with a healthy machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from course_lib import doctor
from course_lib.doctor import Finding, Report, examination, packages, system

REPOSITORY = Path(__file__).resolve().parents[2]


def only(findings) -> Finding:
    (finding,) = findings
    return finding


@pytest.fixture
def checkout(tmp_path):
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(REPOSITORY / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize("version", [(3, 10, 1), (3, 15, 0)])
def test_a_python_that_cannot_run_the_course_is_a_problem(version):
    finding = only(system.python(version))
    assert finding.verdict == "problem"
    assert "3.11 to 3.14" in finding.fix
    assert only(system.python()).verdict == "ok"


def test_packages_as_locked_are_in_order(checkout):
    assert {finding.verdict for finding in packages.packages(checkout)} <= {"ok"}


def test_a_package_of_another_version_than_locked_is_a_warning(checkout):
    lock = checkout / "requirements.lock"
    text = lock.read_text()
    start = text.index("numpy==")
    line = text[start : text.index("\n", start)]
    lock.write_text(text.replace(line, "numpy==1.0.0"))
    found = {finding.verdict: finding for finding in packages.packages(checkout)}
    assert "numpy" in found["warning"].found
    assert "locked: 1.0.0" in found["warning"].found
    assert "course.py setup" in found["warning"].fix


def test_a_missing_package_is_a_problem(checkout):
    settings = checkout / "pyproject.toml"
    settings.write_text(settings.read_text().replace('"tqdm', '"no-such-package-anywhere'))
    found = {finding.verdict: finding for finding in packages.packages(checkout)}
    assert "no-such-package-anywhere" in found["problem"].found


def install(folder: Path, name: str, version: str) -> None:
    """Lay down a package as an installer would: a module, a file of data, and the record."""
    info = folder / f"{name}-{version}.dist-info"
    (folder / name).mkdir()
    info.mkdir()
    for file in (f"{name}/__init__.py", f"{name}/data.txt"):
        (folder / file).write_text("")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    record = [f"{name}/__init__.py,,", f"{name}/data.txt,,", f"{name}/__pycache__/x.pyc,,"]
    (info / "RECORD").write_text("\n".join(record) + "\n")


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """Return a checkout with two packages in its lock, and one that is for another system."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    install(packages, "planted_one", "1.0")
    install(packages, "planted_two", "2.0")
    monkeypatch.syspath_prepend(str(packages))
    lock = "planted-one==1.0\nplanted-two==2.0 ; python_version > '3'\n"
    (tmp_path / "requirements.lock").write_text(lock + "elsewhere==1.0 ; os_name == 'planted'\n")
    return tmp_path


def test_in_the_courses_own_environment_every_pin_counts(locked):
    finding = only(packages.packages(locked, has_own_environment=True))
    assert finding.verdict == "ok"
    assert "all 2 of requirements.lock for this system" in finding.found


def test_a_package_whose_files_are_gone_is_a_problem(locked):
    shutil.rmtree(locked / "site-packages" / "planted_one")  # its dist-info stays
    (locked / "site-packages" / "planted_two" / "data.txt").unlink()
    finding = only(packages.packages(locked, has_own_environment=True))
    assert finding.verdict == "problem"
    assert "planted-one (2 files, such as planted_one/__init__.py)" in finding.found
    assert "planted-two (1 file, such as planted_two/data.txt)" in finding.found
    assert "delete the folder .venv" in finding.fix


def test_a_pin_that_is_not_installed_is_a_problem_only_in_the_courses_own_environment(locked):
    with (locked / "requirements.lock").open("a") as lock:
        lock.write("no-such-package-anywhere==1.0\n")
    (locked / "pyproject.toml").write_text('[project]\ndependencies = ["planted-one>=1"]\n')
    problem = only(packages.packages(locked, has_own_environment=True))
    assert problem.found == "not installed: no-such-package-anywhere"
    elsewhere = only(packages.packages(locked, has_own_environment=False))
    assert elsewhere.verdict == "ok"
    assert "all 1 the course uses" in elsewhere.found


def test_what_the_doctor_itself_needs_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    found = list(examination._findings(system.memory))
    assert only(found).verdict == "problem"
    assert "psutil" in only(found).found


def test_outside_a_checkout_there_is_nothing_to_compare(tmp_path):
    assert only(packages.packages(tmp_path)).verdict == "ok"


def test_a_torch_that_checkpoints_can_attack_is_a_problem():
    assert only(packages.torch_is_safe("2.9.1+cpu")).verdict == "problem"
    assert list(packages.torch_is_safe("2.10.0")) == []
    assert list(packages.torch_is_safe("2.13.0+cpu")) == []


def test_one_core_is_a_warning():
    assert only(system.cores(1)).verdict == "warning"
    assert only(system.cores(2)).verdict == "ok"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cannot choose cores here")
def test_only_cores_that_this_process_may_use_count():
    script = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        "from course_lib.doctor import system as e; print(next(e.cores()).verdict)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "warning"


def test_too_little_memory_and_disk_are_warnings(tmp_path):
    for verdict, wanted in [("ok", 1), ("warning", 10**18)]:
        assert only(system.memory(wanted)).verdict == verdict
        assert only(system.disk(tmp_path, wanted)).verdict == verdict


def test_missing_shared_memory_is_a_problem_and_little_a_warning_where_it_is_needed(tmp_path):
    look = partial(system.shared_memory, without_name=False)
    assert only(look(tmp_path / "none", "linux")).verdict == "problem"
    assert "--shm-size" in only(look(tmp_path, "linux", wanted_bytes=10**18)).fix
    assert only(look(tmp_path, "linux", wanted_bytes=1)).verdict == "ok"
    assert only(look(tmp_path / "none", "darwin")).verdict == "ok"
    assert only(look(tmp_path / "none", "linux", without_name=True)).verdict == "ok"


def test_start_methods_are_asked_for():
    finding = only(system.start_methods())
    assert finding.verdict == "ok"
    assert "spawn" in finding.found


@pytest.mark.slow
def test_two_real_workers_exchange_a_message():
    finding = only(system.workers())
    assert finding.verdict == "ok", finding
    assert "2 real workers" in finding.found


@pytest.mark.slow
def test_workers_that_cannot_run_are_a_problem_in_one_line(monkeypatch):
    def fails(comm):
        raise ValueError("planted\nin two lines")

    monkeypatch.setattr(system, "_send_my_rank", fails)
    finding = only(system.workers())
    assert finding.verdict == "problem"
    assert "planted" in finding.found
    assert "\n" not in finding.found


@pytest.mark.slow
def test_workers_with_a_wrong_answer_are_a_problem(monkeypatch):
    monkeypatch.setattr(system, "_send_my_rank", lambda comm: comm.rank)
    assert "returned [0, 1] for [1, 0]" in only(system.workers()).found


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_a_gpu_is_named_and_a_cpu_build_of_torch_told(tmp_path):
    program = tmp_path / "nvidia-smi"
    assert "none found" in only(system.gpu(str(program))).found
    program.write_text("#!/bin/sh\necho NVIDIA H200\n")
    program.chmod(0o755)
    finding = only(system.gpu(str(program)))
    assert "NVIDIA H200" in finding.found
    is_cpu_build = (packages.installed_version("torch") or "").endswith("+cpu")
    assert finding.verdict == ("warning" if is_cpu_build else "ok")
    program.write_text("#!/bin/sh\necho broken driver\nexit 9\n")
    assert "none found" in only(system.gpu(str(program))).found


def test_a_missing_browser_is_a_warning(tmp_path):
    assert only(system.chromium(str(tmp_path))).verdict == "warning"
    program = tmp_path / ("chromium.exe" if os.name == "nt" else "chromium")
    program.write_text("")
    program.chmod(0o755)
    assert only(system.chromium(str(tmp_path))).found == str(program)


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "1 running"),
        ({"token": ""}, "warning", "port 8899 asks for no token"),
        ({"token": "", "password": True}, "ok", "1 running"),
        ({"hostname": "0.0.0.0"}, "warning", "listens beyond this computer"),
        ({"token": "", "pid": 2**22 + 1}, "ok", "0 running"),
    ],
)
def test_an_open_jupyter_server_is_a_warning(tmp_path, monkeypatch, change, verdict, words):
    server = {"pid": os.getpid(), "port": 8899, "hostname": "127.0.0.1", "token": "secret"}
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "jpserver-1.json").write_text(json.dumps({**server, "password": False, **change}))
    (tmp_path / "jpserver-2.json").write_text("half a fi")
    finding = only(system.jupyter_servers())
    assert finding.verdict == verdict
    assert words in finding.found


REPORT = Report(
    (
        Finding("cores", "ok", "2"),
        Finding("shared memory", "warning", "64 MB <of> " + "much " * 20, "start it with more"),
        Finding("workers", "problem", "none", "fix it"),
    )
)


def test_the_text_is_aligned_and_says_how_to_fix():
    lines = str(REPORT).splitlines()
    assert lines[0] == "ok       cores          2"
    assert lines[1].startswith("warning  shared memory  64 MB")
    assert any(line.strip() == "→ start it with more" for line in lines)
    assert lines[-1] == "1 problem and 1 warning."
    assert all(len(line) <= 100 for line in lines)
    assert str(Report(())).endswith("Everything is in order.")
    assert not REPORT.is_healthy


def test_the_table_is_plain_html():
    table = REPORT._repr_html_()
    assert table.startswith("<table><tr>")
    assert "64 MB &lt;of&gt;" in table
    assert "<script" not in table


def run_doctor(**variables: str):
    command = [sys.executable, "-m", "course_lib", "doctor"]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1", **variables}
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", timeout=120)


@pytest.mark.slow
def test_the_command_prints_the_report_and_its_status_says_whether_the_course_works():
    report = doctor.examine()
    done = run_doctor()
    assert [finding.topic for finding in report.findings if finding.topic not in done.stdout] == []
    assert done.returncode == (0 if report.is_healthy else 1)
    assert done.stderr == ""


@pytest.mark.slow
def test_the_command_fails_where_the_course_cannot_work(tmp_path):
    # A multiprocess that cannot be imported: no workers, so no course.
    (tmp_path / "multiprocess.py").write_text("raise ImportError('planted')")
    done = run_doctor(PYTHONPATH=f"{tmp_path}{os.pathsep}{REPOSITORY}")
    assert done.returncode == 1
    assert "problem  start methods" in done.stdout
    assert "ImportError: planted" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_the_command_without_a_word_shows_its_usage():
    done = subprocess.run(
        [sys.executable, "-m", "course_lib"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "usage: python -m course_lib" in done.stderr
