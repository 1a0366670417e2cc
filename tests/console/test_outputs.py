"""Commands whose output is full, closed or unread, or whose environment is half torchrun's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.cli.bench import main as bench
from course_lib.cli.train import main as train
from course_lib.train.checkpoint import load

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
BENCH = "allreduce --backend simulated --algorithms ring --sizes 1KB --workers 2"
TRAIN = "--model linear --scheme serial --backend simulated --epochs 3"
full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


def shell(line, words):
    """Have a shell start a command with its outputs as the line says."""
    program = [sys.executable, "-m", "course_lib", *words.split()]
    return subprocess.run(
        ["bash", "-c", f'set -o pipefail; "$@" {line}', "bash", *program],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, encoding="utf-8", capture_output=True,
        timeout=PATIENCE_S,
    )  # fmt: skip


@pytest.mark.slow
@full_disk
@pytest.mark.parametrize("words", ["doctor", "train --help", f"train {TRAIN} --checkpoint {{}}"])
def test_a_full_disk_behind_the_output_is_told_once_and_the_rest_is_done(words, tmp_path):
    done = shell("> /dev/full", words.format(tmp_path))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.stderr.count("No space left on device") == 1
    if "--checkpoint" in words:
        assert load(tmp_path).rows[-1].epoch == 3


@pytest.mark.slow
@full_disk
@pytest.mark.parametrize("line", ["<&- >&- 2>&-", "2> /dev/full", "| head -1"])
def test_outputs_that_are_closed_or_unread_change_nothing(line, tmp_path):
    done = shell(line, f"train {TRAIN} --checkpoint {tmp_path}")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert load(tmp_path).rows[-1].epoch == 3
    assert {file.suffix for file in tmp_path.iterdir()} == {".json", ".npz"}


@pytest.mark.parametrize(("main", "words"), [(bench, BENCH), (train, TRAIN)])
@pytest.mark.parametrize("rank", ["1", "x", ""])
def test_a_stray_rank_in_the_environment_changes_nothing(main, words, rank, monkeypatch, capsys):
    monkeypatch.setenv("RANK", rank)
    assert main(words.split()) == 0
    assert len(capsys.readouterr().out.splitlines()) > 2
    with pytest.raises(SystemExit) as refused:
        main([*words.split(), "--workers", "none"])
    assert refused.value.code == 2
    assert "--workers takes whole numbers" in capsys.readouterr().err


@pytest.mark.parametrize(("main", "words"), [(bench, BENCH), (train, TRAIN)])
@pytest.mark.parametrize(
    "variables",
    [{}, {"WORLD_SIZE": "2"}, {"WORLD_SIZE": "x", "RANK": "0"}, {"WORLD_SIZE": "2", "RANK": "2"}],
)
def test_an_environment_that_is_half_torchruns_is_refused_in_words(
    main, words, variables, monkeypatch, capsys
):
    for name, value in {"TORCHELASTIC_RUN_ID": "none", **variables}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as refused:
        main(words.split())
    assert refused.value.code == 2
    told = capsys.readouterr()
    assert "start this program with torchrun, or unset them" in told.err
    assert (told.out, len(told.err.splitlines())) == ("", 1)
