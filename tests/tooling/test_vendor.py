"""What lies in ``authoring/vendor`` is what its authors published, with its licence."""

import hashlib
import shutil

import pytest

from tests.tooling.planting import REPOSITORY

VENDOR = REPOSITORY / "authoring" / "vendor"


def changed(folder):
    """Return the files that have another digest than the list says, are missing, or not in it."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    told = {name: digest for digest, name in (line.split("  ") for line in lines)}
    found = {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.glob("*/**/*")
        if file.is_file()
    }
    return {name for name in told.keys() | found.keys() if told.get(name) != found.get(name)}


def test_no_file_was_edited():
    assert changed(VENDOR) == set()


@pytest.mark.parametrize("change", ["edit", "add", "remove"])
def test_an_edited_a_new_and_a_missing_file_are_found(tmp_path, change):
    copy = shutil.copytree(VENDOR, tmp_path / "vendor")
    file = copy / "reveal" / ("more.js" if change == "add" else "reveal.js")
    if change == "remove":
        file.unlink()
    else:
        file.write_text("let x;")
    assert changed(copy) == {f"reveal/{file.name}"}


def test_each_has_its_licence():
    for folder in VENDOR.iterdir():
        if folder.is_dir():
            assert "MIT" in (folder / "LICENSE").read_text()
