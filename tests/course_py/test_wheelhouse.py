"""A wheelhouse holds what a computer without a network installs from, and nothing else is asked."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from packaging.markers import Marker

from course_setup import environment, wheelhouse
from course_setup.commands import perform
from course_setup.problems import SetupError
from course_setup.targets import PYTHONS, SYSTEMS, Target, targets, this_system
from tests.course_py.checkout import REPOSITORY, assert_one_sentence, course_py, make_wheel, offline

LOCK = REPOSITORY / "requirements.lock"
NEITHER = Target("windows", "3.12")


@pytest.mark.slow
def test_what_is_made_with_a_network_is_installed_without_one(checkout, tmp_path, fast):
    wheels, nowhere = tmp_path / "wheels", offline(tmp_path / "none", PIP_RETRIES="0")
    wheels.mkdir()
    for name, version in (("torch", "2.13.0+cpu"), ("torch", "2.13.0"), ("tinypackage", "2.0")):
        make_wheel(wheels, name, version)
    house = checkout / "wheelhouse"

    # One of the packages cannot be had: what could be stays, and is not asked for again.
    done = course_py(checkout, "wheelhouse", env=offline(wheels), python=fast)
    assert_one_sentence(done, "the package index has no tinypackage==1.0")
    (torch,) = house.glob("*.whl")
    assert torch.name.startswith("torch-2.13.0")
    refused = course_py(checkout, "setup", env=nowhere, python=fast)
    assert_one_sentence(refused, "lacks 1 of the locked packages", "tinypackage==1.0")
    assert not (checkout / ".venv" / "pyvenv.cfg").exists(), "refused before anything is made"

    (wheels / torch.name).unlink()
    make_wheel(wheels, "tinypackage", "1.0")
    done = course_py(checkout, "wheelhouse", env=offline(wheels), python=fast)
    assert done.returncode == 0, done.stderr
    assert f"The wheelhouse is whole: 2 files, 0.00 GB, for {this_system()}, Python" in done.stdout
    digests = dict(
        line.split("  ")[::-1] for line in (house / "SHA256SUMS").read_text().split("\n")[:2]
    )
    assert digests == {file.name: wheelhouse._sha256(file) for file in house.glob("*.whl")}
    assert not list(house.glob(".unfinished*"))

    done = course_py(checkout, "setup", env=nowhere, python=fast)
    assert done.returncode == 0, done.stderr
    assert f"Taking the packages from {house}" in done.stdout
    assert environment.state_of(checkout).action == "none"
    assert list((checkout / ".venv").rglob("tinypackage-1.0.dist-info"))


def make_house(folder: Path, target: Target, *wheels: str) -> Path:
    """Write a wheelhouse as a finished download leaves it."""
    folder.mkdir(exist_ok=True)
    for wheel in wheels:
        (folder / wheel).write_text(wheel)
    wheelhouse._take_in(folder, target, [folder / wheel for wheel in wheels])
    return folder


@pytest.fixture
def house(tmp_path):
    (tmp_path / "requirements.lock").write_text("a-b==1.0\ntorch==2.13.0\n")
    return make_house(tmp_path / "wheelhouse", NEITHER, "torch-2.13.0+cpu-x.whl", "a_b-1.0-x.whl")


def test_a_whole_wheelhouse_is_taken_named_or_beside_course_py(house, tmp_path):
    assert wheelhouse.offered(tmp_path, None, NEITHER) == house
    assert wheelhouse.offered(tmp_path, house, NEITHER) == house
    assert wheelhouse.offered(house, None, NEITHER) is None


def test_what_is_named_and_is_no_wheelhouse_is_refused_also_where_all_is_ready(house, tmp_path):
    (tmp_path / "file").touch()
    for folder, why in (
        ("nothing", "is no folder"),
        ("file", "is no folder"),
        (".", "has no made_"),
    ):
        named = str(tmp_path / folder)
        words = argparse.Namespace(command="setup", wheelhouse=named)
        with pytest.raises(SetupError, match=rf"--wheelhouse must be .* got '.*', which {why}"):
            perform(str(LOCK.parent), words)
    with pytest.raises(SetupError, match=r"--wheelhouse must be a folder .* got ''"):
        wheelhouse.named("")
    assert wheelhouse.named(str(house)) == house


def test_one_for_other_computers_is_refused_if_named_and_else_passed_over(house, tmp_path, capsys):
    mine = Target("linux", "3.13")
    with pytest.raises(SetupError, match=r"it is for windows, Python 3\.12\): .*--platform linux "):
        wheelhouse.offered(tmp_path, house, mine)
    assert wheelhouse.offered(tmp_path, None, mine) is None
    assert "taking the packages from the network" in capsys.readouterr().out
    with pytest.raises(SetupError, match="is no wheelhouse for linux"):
        wheelhouse.offered(tmp_path, tmp_path / "nothing", mine)


def test_what_was_damaged_or_lost_in_copying_is_named(house, tmp_path):
    (house / "a_b-1.0-x.whl").write_text("a_b-1.1-x.whl")  # as long as before
    with pytest.raises(
        SetupError, match=r"lacks 1 .* damaged \(a-b==1\.0\): copy the folder again"
    ):
        wheelhouse.offered(tmp_path, None, NEITHER)
    (house / "torch-2.13.0+cpu-x.whl").unlink()
    with pytest.raises(SetupError, match=r"lacks 2 .*torch==2\.13\.0, a-b==1\.0"):
        wheelhouse.offered(tmp_path, None, NEITHER)


def test_a_list_that_is_spoilt_counts_as_none(house):
    for text in ("", "[]", '{"windows, Python 3.12": 3}', "[" * 100_000):
        (house / wheelhouse.MADE_FOR).write_text(text)
        assert wheelhouse._made_for(house) == {}


def test_a_new_lock_drops_the_old_files_and_keeps_those_of_others(house, tmp_path):
    (house / "mine.txt").write_text("mine")
    (tmp_path / "requirements.lock").write_text("a-b==2.0\ntorch==2.13.0\n")
    assert wheelhouse._lacking(house, tmp_path / "requirements.lock", NEITHER) == ["a-b==2.0"]
    wheelhouse._forget(house, tmp_path / "requirements.lock")
    left = {file.name for file in house.iterdir()}
    assert left == {"SHA256SUMS", "made_for.json", "mine.txt", "torch-2.13.0+cpu-x.whl"}


def test_what_a_list_names_elsewhere_or_of_others_is_not_removed(house, tmp_path):
    lock, sums = tmp_path / "requirements.lock", house / wheelhouse.SUMS
    (tmp_path / "outside-1-x.whl").write_text("mine")
    (house / "mine-1-x.whl").write_text("mine")
    own = sums.read_text()
    sums.write_text(f"{own}00  mine-1-x.whl\n11  ../outside-1-x.whl\n")
    named = [*wheelhouse._made_for(house)[str(NEITHER)], "../outside-1-x.whl", "odd", 3]
    made_for = {str(NEITHER): named, "plan9, Python 4": ["later-1-x.whl"]}
    (house / wheelhouse.MADE_FOR).write_text(json.dumps(made_for))
    wheelhouse._forget(house, lock)
    assert (tmp_path / "outside-1-x.whl").exists()
    assert (house / "mine-1-x.whl").exists()
    assert sorted(sums.read_text().splitlines()) == sorted([*own.splitlines(), "00  mine-1-x.whl"])
    assert wheelhouse._made_for(house)["plan9, Python 4"] == ["later-1-x.whl"]


def test_a_folder_with_the_checksums_of_other_files_is_refused_and_left_alone(tmp_path):
    folder = tmp_path / "downloads"
    folder.mkdir()
    before = {"SHA256SUMS": "00  linux.iso\n", "linux.iso": "mine"}
    for name, text in before.items():
        (folder / name).write_text(text)
    with pytest.raises(SetupError, match=r"no wheelhouse's: .* linux\.iso'\. Name another folder"):
        wheelhouse.make(tmp_path, folder, [NEITHER])
    assert {file.name: file.read_text() for file in folder.iterdir()} == before


def test_a_wheel_for_every_system_serves_a_second_kind_of_computer(house, tmp_path):
    lock, other = tmp_path / "requirements.lock", Target("macos", "3.14")
    lock.write_text("a-b==1.0\ntorch==2.13.0\npure==3\n")
    make_house(house, NEITHER, "pure-3-py3-none-any.whl")
    wheelhouse._share(house, lock, other)
    assert json.loads((house / "made_for.json").read_text())[str(other)] == [
        "pure-3-py3-none-any.whl"
    ]
    assert wheelhouse._lacking(house, lock, other) == ["torch==2.13.0", "a-b==1.0"]


def test_a_target_wants_the_lines_of_the_lock_that_hold_there():
    lines = [line for line in LOCK.read_text().splitlines() if "==" in line and line[0] != "#"]
    for target in [Target(system, python) for system in SYSTEMS for python in PYTHONS]:
        system = SYSTEMS[target.system]
        there = {
            "sys_platform": system.sys_platform, "os_name": system.os_name,
            "python_version": target.python, "python_full_version": f"{target.python}.0",
            "implementation_name": "cpython", "platform_python_implementation": "CPython",
        }  # fmt: skip
        pairs = [line.partition(";")[::2] for line in lines]
        expected = {
            n.strip() for n, marker in pairs if not marker or Marker(marker).evaluate(there)
        }
        wanted = target.requirements(LOCK)
        assert wanted[0].startswith("torch==")
        assert set(wanted) == expected
    windows, linux = (" ".join(Target(s, "3.11").requirements(LOCK)) for s in ("windows", "linux"))
    assert "pywinpty" in windows
    assert "ptyprocess" not in windows
    assert "ptyprocess" in linux
    assert "overrides" not in " ".join(Target("linux", "3.12").requirements(LOCK))


def test_systems_and_pythons_are_multiplied_and_unknown_ones_refused():
    two = targets(["linux", "windows"], ["3.11", "3.14"])
    assert list(map(str, two)) == [
        "linux, Python 3.11", "linux, Python 3.14", "windows, Python 3.11", "windows, Python 3.14"
    ]  # fmt: skip
    with pytest.raises(SetupError, match=r"--platform must be one of linux, .* and is 'beos'\."):
        targets(["beos"], None)
    with pytest.raises(SetupError, match=r"--python-version must be one of 3\.11, .* is '3\.10'\."):
        targets(["linux"], ["3.10"])
