"""Where packages come from is the user's to say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from course_setup import install
from course_setup.problems import SetupError
from tests.course_py.checkout import (
    REPOSITORY,
)


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
    settings = install.pip_settings(Path(sys.executable), env)
    assert bool(settings - install.HARMLESS) is expected


def test_a_pip_configuration_file_is_respected(tmp_path):
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = http://127.0.0.1:9/simple\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    env["PIP_CONFIG_FILE"] = str(file)
    assert "index-url" in install.pip_settings(Path(sys.executable), env)


def test_uv_settings_are_respected(tmp_path):
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    before = install.uv_is_configured(env)
    assert install.uv_is_configured({**env, "UV_INDEX_URL": "http://127.0.0.1:9"})
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv" / "uv.toml").write_text("offline = true\n")
    assert install.uv_is_configured(env)
    assert before == Path("/etc/uv/uv.toml").exists()


@pytest.mark.parametrize("place", ["target", "prefix"])
def test_uv_settings_that_lead_elsewhere_are_refused_before_anything_is_installed(tmp_path, place):
    file = tmp_path / "uv" / "uv.toml"
    file.parent.mkdir()
    file.write_text('[pip]\nindex-url = "http://127.0.0.1:9"\n')
    files = install.uv_files({"XDG_CONFIG_HOME": str(tmp_path)})
    assert file in files
    install.refuse_uv_elsewhere(files)
    file.write_text(f'[pip]\n{place} = "/somewhere"\n')
    with pytest.raises(SetupError, match=rf"elsewhere \({place}, under \[pip\] in .*uv.toml"):
        install.refuse_uv_elsewhere(files)
    other = tmp_path / "other.toml"
    other.write_text("this is no [toml")  # uv says so itself
    assert install.uv_files({"UV_CONFIG_FILE": str(other)}) == [other]
    install.refuse_uv_elsewhere([other])


def test_only_torch_and_only_where_wanted_comes_from_pytorchs_own_index():
    lock = REPOSITORY / "requirements.lock"
    assert install.torch_words(lock, wants_cpu_build=False) == ["torch==2.13.0", "-c", str(lock)]
    words = install.torch_words(lock, wants_cpu_build=True)
    assert words[0] == "torch==2.13.0"
    assert words[-2:] == ["--index-url", install.CPU_INDEX]
    assert "--no-deps" in words


def test_a_lock_without_torch_is_refused(tmp_path):
    (tmp_path / "lock").write_text("numpy==2.4.6\n")
    with pytest.raises(SetupError, match="no line for torch"):
        install.torch_words(tmp_path / "lock", wants_cpu_build=False)


@pytest.mark.parametrize("place", ["prefix", "target"])
def test_what_a_project_around_the_course_tells_uv_counts_too(tmp_path, monkeypatch, place):
    course = tmp_path / "course"
    course.mkdir()
    (course / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    monkeypatch.chdir(course)
    before = install.uv_files({})
    around = tmp_path / "pyproject.toml"
    around.write_text("[tool.uv]\npackage = false\n")
    assert around in install.uv_files({})
    if not before:
        assert not install.uv_is_configured({}), "that says nothing of where packages come from"
    around.write_text('[[tool.uv.index]]\nurl = "https://mirror.example/simple"\n')
    files = install.uv_files({})
    assert [file for file in files if file not in before] == [around]
    assert install.uv_is_configured({})
    install.refuse_uv_elsewhere(files)
    around.write_text(f'[tool.uv.pip]\n{place} = "vendor"\n')
    with pytest.raises(SetupError, match=rf"{place}, under \[tool.uv.pip\] in .*pyproject.toml"):
        install.refuse_uv_elsewhere(install.uv_files({}))


def test_who_has_no_home_folder_has_no_settings_there(monkeypatch):
    def nobody_knows(path):
        return path

    monkeypatch.setattr("os.path.expanduser", nobody_knows)
    install.uv_files({})
