"""course.py: every failure is provoked for real, and told in one sentence.

Installations here take tiny local wheels (one is named torch), so that nothing needs a network;
the full installation is what the continuous integration starts with.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

import course
from course_setup import commands, environment, install
from course_setup.problems import SetupError, explain_installer, told_in_one_sentence

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = "Kurs mit Leerzeichen θ"


def make_wheel(folder: Path, name: str, version: str) -> None:
    """Write a wheel with one module that only knows its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
        wheel.writestr(f"{info}/RECORD", record)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "torch", "2.13.0")
    make_wheel(folder, "tinypackage", "1.0")
    make_wheel(folder, "tinypackage", "2.0")
    return folder


def make_checkout(folder: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copy(REPOSITORY / "course.py", folder)
    for name in ("course_setup", "lab_settings"):
        shutil.copytree(
            REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    (folder / "course_lib").mkdir()
    (folder / "course_lib" / "__init__.py").write_text("here = __file__\n")
    (folder / "requirements.lock").write_text("tinypackage==1.0\ntorch==2.13.0\n")
    return folder


@pytest.fixture
def checkout(tmp_path):
    return make_checkout(tmp_path / FOLDER)


def offline(wheels: Path, **more: str) -> dict[str, str]:
    """Return variables under which pip sees the local wheels and nothing else."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return {**kept, **pip, **more}


def course_py(checkout: Path, *words: str, env: dict[str, str], **more):
    command = [sys.executable, str(checkout / "course.py"), *words]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, encoding="utf-8", timeout=120, **more
    )


def assert_one_sentence(done, *fragments: str) -> None:
    assert done.returncode == 1
    assert "Traceback" not in done.stderr + done.stdout
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("course.py: ")
    for fragment in fragments:
        assert fragment in lines[0]


@pytest.fixture(scope="session")
def made(tmp_path_factory, wheels):
    """Return a checkout with a finished environment; tests change copies of it."""
    root = make_checkout(tmp_path_factory.mktemp("made") / FOLDER)
    done = course_py(root, "setup", env=offline(wheels))
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture
def finished(made, tmp_path):
    # The environment's own paths are only in scripts, which course.py does not use.
    return Path(shutil.copytree(made, tmp_path / FOLDER, symlinks=True))


# ---------------------------------------------------------------- the version check


@pytest.mark.parametrize(
    ("version", "system", "machine", "is_64bit", "fragment"),
    [
        ((3, 8), "Linux", "x86_64", True, "this is Python 3.8, and the course needs Python 3.11"),
        ((3, 10), "Windows", "AMD64", True, "Python 3.11 to 3.14"),
        ((3, 15), "Linux", "x86_64", True, "this is Python 3.15"),
        ((4, 0), "Linux", "x86_64", True, "this is Python 4.0"),
        ((3, 12), "Windows", "x86", False, "32-bit"),
        ((3, 12), "Darwin", "x86_64", True, "Intel"),
        ((3, 11), "Linux", "x86_64", True, ""),
        ((3, 14), "Darwin", "arm64", True, ""),
    ],
)
def test_a_wrong_python_is_told_in_one_sentence(version, system, machine, is_64bit, fragment):
    reason = course.wrong_python(version, system, machine, is_64bit)
    assert fragment in reason
    assert bool(reason) == bool(fragment)
    assert "\n" not in reason


def test_a_wrong_python_is_pointed_to_a_fitting_one_on_the_path(tmp_path, monkeypatch):
    program = tmp_path / ("python3.12.exe" if os.name == "nt" else "python3.12")
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "run it with python3.12" in course.wrong_python((3, 9), "Linux", "x86_64", True)
    program.unlink()
    assert "python.org" in course.wrong_python((3, 9), "Linux", "x86_64", True)


def test_an_old_python_can_read_the_file_up_to_its_sentence():
    text = (REPOSITORY / "course.py").read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 8))
    compile(tree, "course.py", "exec")
    at_import = {
        name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names
    }
    assert at_import == {"argparse", "os", "platform", "shutil", "sys"}
    # Syntax that Python 3.8 lacks would have been seen:
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n    case 1: pass", feature_version=(3, 8))


def test_the_rest_is_imported_only_after_the_check(checkout, wheels):
    (checkout / "course_setup" / "__init__.py").write_text("this is no Python")
    script = (
        "import sys, course; course.OLDEST = (3, 99); course.NEWEST = (3, 99);"
        "sys.exit(course.main(['setup']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, capture_output=True, text=True
    )
    assert_one_sentence(done, "the course needs Python 3.99")


# ---------------------------------------------------------------- making the environment


@pytest.mark.slow
def test_it_installs_in_any_folder_from_any_folder_inside_any_environment(tmp_path, wheels):
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "torch.py").write_text("raise SystemExit('the wrong torch')")
    (wrong / "venv.py").write_text("raise SystemExit('the wrong venv')")
    misleading = {
        "PYTHONPATH": str(wrong),
        "VIRTUAL_ENV": "/nowhere",
        "PIP_USER": "1",
        "PIP_TARGET": "/x",
    }
    root = make_checkout(tmp_path / FOLDER)
    done = course_py(root, "setup", env=offline(wheels, **misleading), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Making .venv" in done.stdout
    python = environment.venv_python(root)
    script = (
        "import course_lib, torch, tinypackage; print(course_lib.here, tinypackage.__version__)"
    )
    seen = subprocess.run(
        [str(python), "-X", "utf8", "-c", script],
        cwd=tmp_path,
        env=environment.clean_environ(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert seen.stdout.split() == f"{root / 'course_lib' / '__init__.py'} 1.0".split()


@pytest.mark.slow
def test_a_second_run_changes_nothing(finished, wheels):
    before = sorted((path, path.stat().st_mtime_ns) for path in (finished / ".venv").rglob("*"))
    done = course_py(finished, "setup", env=offline(wheels))
    assert done.stdout.startswith("The environment is ready")
    assert len(done.stdout.splitlines()) == 1
    after = sorted((path, path.stat().st_mtime_ns) for path in (finished / ".venv").rglob("*"))
    assert [path for path, _ in after if "__pycache__" not in str(path)] == [
        path for path, _ in before if "__pycache__" not in str(path)
    ]


@pytest.mark.slow
def test_a_moved_checkout_still_works(finished):
    assert environment.state_of(finished).action == "none"
    python = environment.venv_python(finished)
    script = "import course_lib; print(course_lib.here)"
    seen = subprocess.run(
        [str(python), "-X", "utf8", "-c", script],
        cwd=finished.parent,
        env=environment.clean_environ(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert seen.stdout.strip() == str(finished / "course_lib" / "__init__.py")


def spoil_python(venv: Path) -> None:
    for python in [*(venv / "bin").glob("python*"), *(venv / "Scripts").glob("python*")]:
        python.unlink()


def spoil_package(venv: Path) -> None:
    shutil.rmtree(next(venv.rglob("site-packages/tinypackage")))


def spoil_stamp(venv: Path) -> None:
    (venv / environment.STAMP).write_text('{"state": "installing"}')


def spoil_stamp_with_rubbish(venv: Path) -> None:
    (venv / environment.STAMP).write_text('{"state": "ready", "contents": 3}')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_python, "is gone or another"),
        (spoil_package, "Files are missing in .venv (tinypackage)"),
        (spoil_stamp, "half-made"),
        (spoil_stamp_with_rubbish, "half-made"),
    ],
)
def test_a_broken_environment_is_seen(finished, spoil, words):
    assert environment.state_of(finished).action == "none"
    spoil(finished / ".venv")
    state = environment.state_of(finished)
    assert state.action == "remake"
    assert words in state.why


@pytest.mark.slow
def test_a_broken_environment_is_mended_by_the_next_run(finished, wheels):
    spoil_package(finished / ".venv")
    done = course_py(finished, "setup", env=offline(wheels))
    assert done.returncode == 0, done.stderr
    assert "Files are missing" in done.stdout
    assert environment.state_of(finished).action == "none"


@pytest.mark.slow
def test_a_new_lock_updates_the_environment(finished, wheels):
    (finished / "requirements.lock").write_text("tinypackage==2.0\ntorch==2.13.0\n")
    done = course_py(finished, "setup", env=offline(wheels))
    assert done.returncode == 0, done.stderr
    assert "updating" in done.stdout
    assert list((finished / ".venv").rglob("tinypackage-2.0.dist-info"))
    assert environment.state_of(finished).action == "none"


def test_line_ends_of_the_lock_do_not_matter(checkout):
    before = environment._lock_hash(checkout)
    lock = checkout / "requirements.lock"
    lock.write_bytes(lock.read_bytes().replace(b"\n", b"\r\n"))
    assert environment._lock_hash(checkout) == before
    lock.write_bytes(lock.read_bytes().replace(b"1.0", b"1.1"))
    assert environment._lock_hash(checkout) != before


@pytest.mark.slow
def test_an_environment_of_the_users_own_is_used_and_never_deleted(checkout, wheels):
    subprocess.run([sys.executable, "-m", "venv", str(checkout / ".venv")], check=True)
    mine = checkout / ".venv" / "mine.txt"
    mine.write_text("mine")
    done = course_py(checkout, "setup", env=offline(wheels))
    assert done.returncode == 0, done.stderr
    assert "found here" in done.stdout
    assert mine.exists()
    spoil_python(checkout / ".venv")
    assert environment.state_of(checkout).action == "remake"
    done = course_py(checkout, "setup", env=offline(wheels))
    assert done.returncode == 0, done.stderr
    assert (checkout / ".venv.old-1" / "mine.txt").exists()
    assert environment.state_of(checkout).action == "none"


@pytest.mark.parametrize("what", ["folder", "file", "link to nowhere"])
def test_something_else_named_venv_is_moved_aside(checkout, what):
    venv = checkout / ".venv"
    if what == "folder":
        venv.mkdir()
        (venv / "junk").write_text("")
    elif what == "file":
        venv.write_text("")
    else:
        venv.symlink_to(checkout / "nowhere")
    assert environment.state_of(checkout).action == "move aside"


@pytest.mark.slow
def test_ctrl_c_while_installing_ends_in_a_line_and_the_next_run_mends(checkout, wheels):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        env = offline(wheels, PIP_INDEX_URL=address)
        del env["PIP_NO_INDEX"]
        process = subprocess.Popen(
            [sys.executable, str(checkout / "course.py"), "setup"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        silent.settimeout(60)
        silent.accept()[0].close()  # pip is at work now
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == "course.py: stopped; run the same command again to go on."
    assert environment.state_of(checkout).action == "remake"
    done = course_py(checkout, "setup", env=offline(wheels))
    assert done.returncode == 0, done.stderr
    assert "half-made" in done.stdout


@pytest.mark.slow
def test_no_network_is_told_in_one_sentence(checkout):
    env = offline(Path("unused"), PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1")
    del env["PIP_NO_INDEX"], env["PIP_FIND_LINKS"]
    done = course_py(checkout, "setup", env=env)
    assert_one_sentence(done, "the package index cannot be reached")


@pytest.mark.slow
def test_a_missing_wheel_is_told_in_one_sentence(checkout, tmp_path):
    done = course_py(checkout, "setup", env=offline(tmp_path))
    assert_one_sentence(done, "no PyTorch 2.13 can be had", "has none for this system")


@pytest.mark.slow
def test_another_missing_package_is_named(finished, wheels):
    (finished / "requirements.lock").write_text("tinypackage==9.9\ntorch==2.13.0\n")
    done = course_py(finished, "setup", env=offline(wheels))
    assert_one_sentence(done, "the package index has no tinypackage==9.9")


def test_an_unknown_failure_shows_the_installers_own_last_words():
    told = explain_installer([f"line {number}" for number in range(100)])
    assert "line 99" in told
    assert "line 80" not in told


def test_a_full_disk_in_pips_words_is_understood():
    words = [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    ]
    assert "the disk is full" in explain_installer(words)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script as Python")
def test_a_python_without_ensurepip_is_told_what_to_install(tmp_path):
    python = tmp_path / "python3"
    blocked = "import sys; sys.modules['ensurepip'] = None; exec(sys.argv[1])"
    python.write_text(f'#!/bin/sh\nshift\nexec "{sys.executable}" -c "{blocked}" "$@"\n')
    python.chmod(0o755)
    with pytest.raises(SetupError, match="apt install python3-venv"):
        environment.make_venv_with(str(python), tmp_path / ".venv")


def test_a_disk_with_too_little_room_is_refused_before_anything_is_made(tmp_path):
    environment.check_room(tmp_path, needed_bytes=1)
    with pytest.raises(SetupError, match="GB free and the course needs"):
        environment.check_room(tmp_path, needed_bytes=10**18)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_in_one_sentence(checkout, wheels):
    (checkout / "workbook").mkdir()
    (checkout / "workbook" / ".course-manifest.json.tmp").symlink_to("/dev/full")
    (checkout / "notebooks").mkdir()
    (checkout / "notebooks" / "00_x.ipynb").write_text("{}")
    done = course_py(checkout, "reset", "00", env=offline(wheels))
    assert_one_sentence(done, "the disk is full")


@pytest.mark.skipif(os.name == "nt", reason="folders have no write permission there")
def test_a_read_only_folder_is_told_in_one_sentence(tmp_path, capsys):
    # Root may write anywhere but into the kernel's own folders.
    folder = Path("/sys") if os.geteuid() == 0 else tmp_path
    tmp_path.chmod(0o555)
    with told_in_one_sentence() as outcome:
        environment.ensure(folder)
    tmp_path.chmod(0o755)
    assert outcome.status == 1
    error = capsys.readouterr().err
    assert error.startswith(f"course.py: may not write {folder / '.venv.lock'}")
    assert len(error.splitlines()) == 1


def test_two_at_once_do_not_make_one_environment(checkout, wheels):
    with environment._alone(checkout):
        done = course_py(checkout, "setup", env=offline(wheels))
    assert_one_sentence(done, "another course.py is making .venv")


# ---------------------------------------------------------------- where packages come from


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({"PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, False),
        ({"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}, True),
        ({"PIP_FIND_LINKS": "/wheels"}, True),
        ({"PIP_CERT": "/x.pem"}, True),
    ],
)
def test_pip_variables_that_say_where_packages_come_from_are_respected(variables, expected):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    env |= {"PIP_CONFIG_FILE": os.devnull, **variables}
    assert install.pip_is_configured(Path(sys.executable), env) is expected


def test_a_pip_configuration_file_is_respected(tmp_path):
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = http://127.0.0.1:9/simple\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    env["PIP_CONFIG_FILE"] = str(file)
    assert install.pip_is_configured(Path(sys.executable), env)


def test_uv_settings_are_respected(tmp_path):
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    before = install.uv_is_configured(env)
    assert install.uv_is_configured({**env, "UV_INDEX_URL": "http://127.0.0.1:9"})
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv" / "uv.toml").write_text("offline = true\n")
    assert install.uv_is_configured(env)
    assert before == Path("/etc/uv/uv.toml").exists()


def test_only_torch_and_only_where_wanted_comes_from_pytorchs_own_index():
    lock = REPOSITORY / "requirements.lock"
    assert install.torch_words(lock, wants_cpu_build=False) == ["torch==2.13.0"]
    words = install.torch_words(lock, wants_cpu_build=True)
    assert words[0] == "torch==2.13.0"
    assert words[-2:] == ["--index-url", install.CPU_INDEX]
    assert "--no-deps" in words


def test_a_lock_without_torch_is_refused(tmp_path):
    (tmp_path / "lock").write_text("numpy==2.4.6\n")
    with pytest.raises(SetupError, match="no line for torch"):
        install.torch_words(tmp_path / "lock", wants_cpu_build=False)


# ---------------------------------------------------------------- lab and test


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


def test_the_whole_suite_runs_unless_a_path_is_named(tmp_path):
    for name in ("tests", "notebooks", "solutions"):
        (tmp_path / name).mkdir()
    whole = commands.pytest_words(tmp_path, ["-k", "ring"])
    assert whole[-5:] == ["tests", "notebooks", "solutions", "-k", "ring"]
    assert any(word.startswith("--nbval") for word in whole)
    assert "notebooks" not in commands.pytest_words(tmp_path, ["tests::test_x"])


@pytest.mark.slow
def test_test_exits_with_pytests_status(made, tmp_path):
    # The finished environment has no pytest: what runs is a module of that name beside course.py.
    root = Path(shutil.copytree(made, tmp_path / FOLDER, symlinks=True))
    (root / "pytest.py").write_text("import sys; print(sys.argv[1:]); sys.exit(5)")
    done = course_py(root, "test", "-k", "ring", env={**os.environ, "PYTHONPATH": "/wrong"})
    assert done.returncode == 5, done.stderr
    assert "'-k', 'ring'" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="ends the server with a signal")
def test_lab_serves_the_workbook_to_this_computer_with_its_token_on(tmp_path):
    root = make_checkout(tmp_path / FOLDER)
    (root / "workbook" / "notebooks").mkdir(parents=True)
    (root / "workbook" / "notebooks" / "00_start_here.ipynb").write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
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
        finally:
            lab.terminate()


def fetch(address: str):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)
