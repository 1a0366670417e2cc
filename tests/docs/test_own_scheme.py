"""``docs/own_scheme.md`` runs as it stands, and prints what stands below its blocks."""

import re

import pytest

from tests.docs.test_own_collective import REPOSITORY, printed_by

TEXT = (REPOSITORY / "docs" / "own_scheme.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_block_runs_in_this_order_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    n_lines = 0
    for lines, told in printed_by(BLOCKS, capsys, {"__name__": "own_scheme"}):
        assert lines == told
        n_lines += len(lines)
    assert n_lines == 5
    assert "<html" in (tmp_path / "votes.html").read_text(encoding="utf-8")


def test_the_files_that_it_names_are_there():
    wanted = set(re.findall(r"`((?:course_lib|tests)/[\w/]+\.py)`", TEXT))
    there = {name for name in wanted if (REPOSITORY / name).exists()}
    own = {"course_lib/schemes/sign_vote.py", "tests/schemes/test_sign_vote.py"}
    assert wanted - there == own
    for name, words in (
        ("course_lib/train/catalogue.py", ("SCHEMES = {", "FAMILIES = {")),
        ("tests/schemes/test_refusals.py", ("OWN_MODEL = {", "OWN = {")),
        ("tests/train/tasks.py", ("CASES = {",)),
    ):
        assert all(word in (REPOSITORY / name).read_text(encoding="utf-8") for word in words)
