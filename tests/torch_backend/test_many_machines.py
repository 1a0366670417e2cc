"""``docs/many_machines.md`` runs under torchrun, and a failure is written in full once a host."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from course_lib import run
from course_lib.comm.errors import WorkerError
from course_lib.comm.torch_backend import once_a_host
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel
from course_lib.training import Plan

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = (REPOSITORY / "docs" / "many_machines.md").read_text(encoding="utf-8")
SCRIPT, ON_GPUS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)

FAILS = """
from course_lib import run


def work(comm):
    if comm.rank == 1:
        raise ValueError("the file is not there")
    return comm.recv(1)


run(work, backend="torch")
"""


def torchrun(folder, text, ranks):
    (folder / "sum.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
         str(ranks), "sum.py"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True,
        text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_script_of_the_page_prints_once(tmp_path):
    done = torchrun(tmp_path, SCRIPT, 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[3. 3. 3. 3.] 4 messages, 64 bytes\n"
    assert (tmp_path / "sum.json").exists()


def test_the_line_for_gpus_trains_where_there_is_none():
    namespace = {}
    exec(ON_GPUS, namespace)
    rng = np.random.default_rng(0)
    X, y, plan = rng.normal(size=(12, 4)), rng.integers(0, 2, 12), Plan(0.1, batch_size=4)
    model = mlp(4, 3, 2)
    placed = run(namespace["train"], model, X, y, plan, workers=2, backend="simulated").values[0]
    usual = run(data_parallel, model, X, y, plan, workers=2, backend="simulated").values[0]
    assert str(placed.w.device) == "cpu"
    np.testing.assert_array_equal(placed.w.numpy(), usual.w)


@pytest.mark.slow
def test_of_three_ranks_one_writes_a_failure_in_full_and_the_others_a_line(tmp_path):
    done = torchrun(tmp_path, FAILS, 3)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    by_rank = [[line for line in lines if line.startswith(f"[rank{r}]")] for r in range(3)]
    said = "WorkerError: rank 1 failed at sum.py, line 7: ValueError: the file is not there"
    assert [len(lines) for lines in by_rank] == [0, 1, 1], lines
    assert all(said in lines[0] for lines in by_rank[1:])
    begun = lines.index("Traceback (most recent call last):")
    full = lines[begun : begun + 12]
    assert any(said in line for line in full)
    assert any('run(work, backend="torch")' in line for line in full)
    assert done.stderr.count('raise ValueError("the file is not there")') == 1
    assert "interrupts.py" not in done.stderr


def raised(text):
    try:
        raise WorkerError(text)
    except WorkerError as error:
        return error


def wrapping(before, *exception):
    before(*exception)


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize("local_rank", ["0", "1"])
def test_who_is_not_ended_meanwhile_writes_all_and_other_errors_are_as_ever(
    local_rank, is_wrapped, monkeypatch, capsys
):
    written = []
    monkeypatch.setattr(sys, "excepthook", lambda *exception: written.append(exception))
    monkeypatch.setattr(once_a_host, "_FIRST_WRITES_S", 0.0)
    torchruns = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "8", "LOCAL_RANK": local_rank}
    for name, value in (torchruns | {"RANK": "5"}).items():
        monkeypatch.setenv(name, value)
    error, other = raised("rank 1 failed\n\nTraceback"), raised("another")
    once_a_host.write_once(error)
    once_a_host.write_once(error)  # of a second run: the hook stands in once
    if is_wrapped:  # as torch does it when a program makes a group
        monkeypatch.setattr(sys, "excepthook", partial(wrapping, sys.excepthook))
        once_a_host.write_once(error)
    for each in (error, other):
        sys.excepthook(type(each), each, each.__traceback__)
    assert [exception[1] for exception in written] == [error, other]
    told = capsys.readouterr().err
    line = "[rank5]: WorkerError: rank 1 failed (in full from the first rank of this computer)\n"
    assert told == ("" if local_rank == "0" else line)
    once_a_host.write_once(KeyboardInterrupt())


def test_elsewhere_a_result_is_whole():
    assert run(lambda comm: comm.rank, workers=2, backend="simulated").is_whole


def test_the_readme_leads_here():
    assert "docs/many_machines.md" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
