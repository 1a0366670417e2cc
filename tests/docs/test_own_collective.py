"""``docs/own_collective.md`` runs as it stands, and prints what stands below its blocks."""

import re
from pathlib import Path

import pytest

from course_lib.cli import bench, train

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "own_collective.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^python -m course_lib (.*)$", TEXT, re.MULTILINE)
PRINTED = re.compile(r"(?:^# .*\n)+\Z", re.MULTILINE)


def printed_by(blocks, capsys, names):
    """Run blocks one after the other; return what each prints, and what it says that it prints."""
    for block in blocks:
        told = PRINTED.search(block)
        exec(compile(block, PAGE.name, "exec"), names)
        lines = capsys.readouterr().out.splitlines()
        yield lines, [line.removeprefix("# ") for line in told.group().splitlines()] if told else []


@pytest.mark.slow
def test_every_block_runs_in_this_order_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "own_collective"}
    n_lines = 0
    for lines, told in printed_by(BLOCKS, capsys, names):
        assert lines == told
        n_lines += len(lines)
    assert n_lines == 8
    assert "<html" in (tmp_path / "torus.html").read_text(encoding="utf-8")
    grid = names["watched"].player().scene["places"]
    assert len({x for x, _ in grid}) == len({y for _, y in grid}) == 3

    # The likely mistakes: another formula, or another all-reduce under this one's.
    torus_price, network = names["torus_price"], names["torus"]
    right = torus_price(8_192_000, 8, 8, network)
    for wrong in (
        torus_price(8_192_000, 1, 64, network),
        torus_price(8_192_000 * 2, 8, 8, network),
    ):
        assert abs(wrong[2] - right[2]) > 0.1 * right[2]


@pytest.mark.slow
def test_a_block_that_prints_something_else_would_be_found(capsys):
    (found,) = printed_by(["print(1)\n# 2\n"], capsys, {})
    assert found == (["1"], ["2"])


@pytest.mark.slow
def test_the_commands_measure_it_and_train_with_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torus.py").write_text(BLOCKS[0])
    measured, trained = COMMANDS
    word, *words = measured.split()
    assert (word, bench.main([*words, "--backend", "simulated", "--sizes", "1KB"])) == ("bench", 0)
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert rows[2:4] == ["ring", "allreduce_torus"]
    word, *words = trained.split()
    words += ["--backend", "simulated", "--epochs", "1"]
    assert (word, train.main(words)) == ("train", 0)
    assert "allreduce torus.py:allreduce_torus" in capsys.readouterr().out
    assert train.main([*words, "--resume"]) == 0
    assert "nothing is left to do" in capsys.readouterr().out


def test_the_readme_and_the_command_line_lead_here():
    assert "docs/own_collective.md" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
    epilog = (REPOSITORY / "course_lib" / "cli" / "train_arguments.py").read_text(encoding="utf-8")
    assert "docs/own_collective.md" in epilog
