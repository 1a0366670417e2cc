"""``docs/own_model.md`` runs as it stands, in so few lines."""

import re
from pathlib import Path

import pytest

from course_lib.cli.train import main

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "own_model.md"
FIRST, CHAIN, PROBLEM = re.findall(
    r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.mark.slow
def test_the_first_block_trains_a_network_that_reads_digits_on_four_processes():
    names = {"__name__": "own_model"}
    exec(compile(FIRST, PAGE.name, "exec"), names)
    assert names["right"] > 0.9
    assert type(names["trained"]) is type(names["net"])
    lines = [line for line in FIRST.splitlines() if line and "import" not in line]
    assert len(lines) <= 15


@pytest.mark.slow
def test_the_problem_trains_by_the_command(tmp_path, monkeypatch, capsys):
    without_run = "\n".join(FIRST.splitlines()[:-3])
    (tmp_path / "my_file.py").write_text(f"{without_run}\n{PROBLEM}")
    monkeypatch.chdir(tmp_path)
    words = "--problem my_file.py:problem --scheme layerwise --checkpoint kept --backend simulated"
    words += " --epochs 1"  # of the 5 that the block before has trained
    assert main(words.split()) == 0
    assert "layerwise" in capsys.readouterr().out
    assert main([*words.split(), "--resume"]) == 0
    assert "nothing is left to do" in capsys.readouterr().out


@pytest.mark.slow
def test_the_chain_of_torch_layers_trains_alike_in_stages_and_in_shards(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "my_file.py").write_text(CHAIN)
    monkeypatch.chdir(tmp_path)
    rows = []
    for scheme in ("pipeline --schedule zb_h1", "sharded --stage 3"):
        words = f"--problem my_file.py:problem --scheme {scheme} --workers 2 --backend simulated"
        assert main([*words.split(), "--epochs", "2", "--batch-size", "240"]) == 0
        rows.append([line.split()[:3] for line in capsys.readouterr().out.splitlines()[-2:]])
    assert rows[0] == rows[1]
    (_, first, _), (_, second, _) = rows[0]
    assert float(second) < float(first)


def test_the_readme_leads_here():
    assert "docs/own_model.md" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
