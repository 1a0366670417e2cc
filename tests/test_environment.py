"""pyproject.toml, requirements.lock and environment.yml name the same packages."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import course

REPOSITORY = Path(__file__).resolve().parents[1]
CONDA_NAMES = {"pytorch": "torch"}


def project() -> dict:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def direct_requirements() -> dict[str, Requirement]:
    texts = project()["dependencies"] + project()["optional-dependencies"]["dev"]
    requirements = [Requirement(text) for text in texts]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def locked() -> list[Requirement]:
    lines = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def pinned_version(requirement: Requirement) -> str:
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", requirement
    return specifier.version


def conda_requirements() -> dict[str, Requirement]:
    content = yaml.safe_load((REPOSITORY / "environment.yml").read_text(encoding="utf-8"))
    listed = content["dependencies"]
    from_pip = next(entry["pip"] for entry in listed if isinstance(entry, dict))
    texts = [entry for entry in listed if isinstance(entry, str) and entry != "pip"] + from_pip
    requirements = [Requirement(text) for text in texts]
    return {CONDA_NAMES.get(req.name, canonicalize_name(req.name)): req for req in requirements}


def test_every_direct_dependency_is_locked_to_a_version_that_fits():
    versions = {canonicalize_name(req.name): pinned_version(req) for req in locked()}
    for name, requirement in direct_requirements().items():
        assert name in versions, f"{name} is missing in requirements.lock: make the lock again"
        assert versions[name] in requirement.specifier, f"{requirement} against {versions[name]}"


def test_every_line_of_the_lock_is_one_exact_version():
    names = [canonicalize_name(requirement.name) for requirement in locked()]
    assert len(names) == len(set(names))
    for requirement in locked():
        assert re.fullmatch(r"[\w.]+", pinned_version(requirement))


def test_the_lock_brings_no_cuda_and_names_no_host():
    text = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if line.startswith(("nvidia", "cuda", "triton"))]
    assert "//" not in text


def test_conda_gets_the_same_packages():
    conda = conda_requirements()
    python = conda.pop("python")
    direct = direct_requirements()
    assert set(conda) == set(direct)
    for name, requirement in conda.items():
        assert requirement.specifier == direct[name].specifier, name
    lower_bound = project()["requires-python"]
    assert lower_bound in str(python.specifier).split(",")


def test_the_supported_pythons_are_the_same_everywhere():
    assert project()["requires-python"] == ">={}.{}".format(*course.OLDEST)
    newest = str(conda_requirements()["python"].specifier)
    assert f"<{course.NEWEST[0]}.{course.NEWEST[1] + 1}" in newest


@pytest.mark.parametrize("name", sorted(direct_requirements()))
def test_what_is_installed_here_is_what_is_locked(name):
    if Path(sys.prefix) != REPOSITORY / ".venv":
        pytest.skip(f"these tests run in {sys.prefix}, not in the .venv of course.py")
    (wanted,) = (req for req in locked() if canonicalize_name(req.name) == name)
    assert version(name).split("+")[0] == pinned_version(wanted)
