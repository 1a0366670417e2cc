"""An all-reduce of one's own, `--allreduce my_file.py:mine`, trained with and measured."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib import run
from course_lib.cli import bench
from course_lib.cli.own_allreduce import load_allreduce, try_allreduce
from course_lib.cli.train import main
from course_lib.train.checkpoint import load
from tests.train.tasks import bits_in

MINE = """
import numpy as np
from neighbours import RIGHT

from course_lib.collectives import allreduce_ring
from course_lib.words.split import split_evenly


def ring(comm, array):  # the library's, written by hand and without out
    total = np.array(array)
    chunks = split_evenly(len(total), comm.size)
    right, left = (comm.rank + RIGHT) % comm.size, (comm.rank - RIGHT) % comm.size
    for first, op in ((0, "sum"), (1, None)):
        for step in range(comm.size - 1):
            sent, came = ((comm.rank + first - step - k) % comm.size for k in (0, 1))
            comm.sendrecv(total[chunks[sent]], right, left, out=total[chunks[came]], op=op)
    return total


def in_place(comm, array, op="sum", out=None):
    return allreduce_ring(comm, array, op, out)


def mean(comm, array):
    return ring(comm, array) / np.asarray(comm.size, array.dtype)


def nothing(comm, array):
    ring(comm, array)


def table(comm, array):
    return ring(comm, array)[:, None]


def keeps(comm, array):
    array += ring(comm, array) - array
    return array.copy()


def forgets_out(comm, array, out=None):
    return ring(comm, array)


def leaves_one(comm, array):
    total = ring(comm, array)
    if comm.rank == 0:
        comm.send(array[:1], 2)  # who hears rank 1
    return total


def own_first(comm, array):
    total = array.copy()
    for step in range(1, comm.size):
        right, left = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        total += comm.sendrecv(array, right, left)
    return total


def stuck(comm, array):
    return comm.recv((comm.rank + 1) % comm.size)


def breaks(comm, array):
    return 1 / 0


def shape(comm, array, columns):
    return ring(comm, array)


def alone(comm):
    return comm


def cuts(comm, array):
    total = ring(comm, array)
    total[600:] = 0
    return total


FOUND = {}


def remembers(comm, array):
    return FOUND.setdefault((comm.rank, len(array)), ring(comm, array)).copy()


def tells(comm, array):
    print("with", comm.size, len(array), array.dtype)
    return ring(comm, array)


def tree(comm, array):
    return ring(comm, array)
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "neighbours.py").write_text("RIGHT = 1\n")
    return f"{tmp_path / 'mine.py'}:"


def said(capsys, command, *words):
    assert command([*words]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys, command, *words):
    with pytest.raises(SystemExit) as error:
        command([*words])
    assert error.value.code == 2
    return capsys.readouterr().err


# Loading it

WRONG_NAMES = [
    (
        ":none",
        "mine.py has no function 'none'; it has alone, breaks, cuts, forgets_out, in_place, ",
    ),
    (":alone", "must be a function alone(comm, array), which may have more arguments if they have"),
    (":shape", "missing a required argument: 'columns'"),
    (":numpy.sum", "--allreduce takes FILE.py:FUNCTION or MODULE:FUNCTION, got "),
    ("", "--allreduce knows central, direct"),
]


@pytest.mark.parametrize(("changed", "told"), WRONG_NAMES)
def test_what_is_wrong_with_the_name_or_the_function_is_told_before_anything_starts(
    mine, capsys, changed, told
):
    text = mine.removesuffix(":") + changed
    assert told in refused(capsys, main, "--backend", "simulated", "--allreduce", text)
    if changed:
        assert told in refused(capsys, bench.main, "--allreduce", text)


@pytest.mark.parametrize("command", [main, bench.main])
def test_a_file_or_module_that_is_not_there_or_does_not_run_is_named(
    mine, tmp_path, capsys, command
):
    for text, told in (
        ("no.py:f", "--allreduce no.py:f: there is no file no.py"),
        ("no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("numpy:no", "numpy has no function 'no'"),
    ):
        assert told in refused(capsys, command, "--allreduce", text)
    (tmp_path / "mine.py").write_text("\n1 / 0")
    told = refused(capsys, command, "--allreduce", f"{mine}ring")
    assert "line 2: ZeroDivisionError: division by zero" in told


def test_it_travels_to_processes_that_are_spawned(mine):
    for name in ("ring", "in_place"):
        own = load_allreduce(mine + name)
        values = run(own, np.arange(5.0), workers=2, start_method="spawn").values
        assert [value.tolist() for value in values] == [[0.0, 2.0, 4.0, 6.0, 8.0]] * 2


# Training with it

WORDS = ["--backend", "simulated", "--model", "linear", "--epochs", "2"]


def test_a_training_with_a_ring_of_ones_own_has_the_rings_bits_and_its_name(
    mine, tmp_path, capsys, monkeypatch
):
    for scheme in ("data_parallel", "layerwise", "local_sgd"):
        folders = []
        for name in ("ring", f"{mine}ring", f"{mine}in_place"):
            folder = tmp_path / f"{scheme}{len(folders)}"
            words = [*WORDS, "--scheme", scheme, "--allreduce", name, "--checkpoint", str(folder)]
            lines = said(capsys, main, *words)
            folders.append(folder)
        assert bits_in(folders[0]) == bits_in(folders[1]) == bits_in(folders[2])
        assert load(folders[1]).made_with["allreduce"] == "mine.py:ring"
        assert lines[0].startswith(f"{scheme}, ")
        assert "allreduce mine.py:in_place" in lines[0]


def test_a_training_goes_on_to_the_bit_with_what_is_named_again_and_with_nothing_else(
    mine, tmp_path, capsys
):
    whole, halves = str(tmp_path / "whole"), str(tmp_path / "halves")
    with_mine = [*WORDS, "--allreduce", f"{mine}ring", "--checkpoint"]
    said(capsys, main, *with_mine, whole, "--epochs", "4")
    said(capsys, main, *with_mine, halves)
    mark = tmp_path / "was_run"
    (tmp_path / "mine.py").write_text(f"{MINE}\nopen({str(mark)!r}, 'w').close()\n")
    for other in ([], ["--allreduce", "tree"]):
        told = refused(capsys, main, *WORDS, *other, "--checkpoint", halves, "--resume")
        assert "was made with --allreduce mine.py:ring, not " in told
    assert not mark.exists()
    said(capsys, main, *with_mine, halves, "--epochs", "4", "--resume")
    assert mark.exists()
    assert bits_in(Path(halves)) == bits_in(Path(whole))


WRONG_SUMS = {
    "mean": "in place 0 of 2410 rank 0 returns 2.5, expected 10",
    "nothing": "rank 0 returns NoneType, expected an array of shape (2410,) and dtype float64",
    "table": "rank 0 returns one of shape (2410, 1) and dtype float64, expected an array of shape",
    "keeps": "has changed its array of 2410, which only out=array allows",
    "forgets_out": "has with out=array 97, expected 970",
    "cuts": "in place 600 of 2410 rank 0 returns 0, expected 190",
    "remembers": "in place 0 of 2410 rank 0 has with out=array 10, expected 970",
    "leaves_one": "rank 2 never receives what rank 0 sends",
    "own_first": "differ in their last bits, for they add up in another order",
    "stuck": "waits for a message before it sends its own",
    "breaks": "ZeroDivisionError: division by zero",
}


@pytest.mark.parametrize("name", WRONG_SUMS)
def test_an_all_reduce_that_is_wrong_is_refused_before_it_trains(mine, tmp_path, capsys, name):
    folder = tmp_path / "kept"
    words = ["--allreduce", mine + name, "--checkpoint", str(folder)]
    told = refused(capsys, main, *words)  # on processes, of which none has been started
    assert f"{mine}{name}, tried on 4 simulated ranks: " in told
    assert WRONG_SUMS[name] in told
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [("nothing", "returns NoneType, expected"), ("table", "one of shape (250, 1)")],
)
def test_bench_says_what_an_all_reduce_returns_that_is_no_such_array(mine, capsys, name, told):
    words = f"allreduce --allreduce {mine}{name} --algorithms ring --sizes 1KB --workers 2"
    assert bench.main([*words.split(), "--backend", "simulated"]) == 1
    assert told in capsys.readouterr().err


def test_it_is_tried_with_the_lengths_of_the_training_and_with_its_ranks(mine, capsys):
    own = load_allreduce(f"{mine}tells")
    try_allreduce(own, [3, 24, 1_000_001, 0], np.float32, workers=3)
    lines = [line.partition("with ")[2] for line in capsys.readouterr().out.splitlines()]
    assert set(lines) == {f"3 {length} float32" for length in (3, 24, 65537)}
    assert 1_000_001 % 3 == 65537 % 3


def test_a_scheme_that_adds_nothing_up_refuses_it(mine, capsys):
    told = refused(capsys, main, "--scheme", "gossip", "--allreduce", f"{mine}ring")
    assert "--allreduce is for --scheme data_parallel" in told


def torchrun(*words):
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "course_lib", *words],
        capture_output=True, text=True, timeout=240, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.soak  # test_own_problem has torchrun train
def test_torchruns_programs_train_with_it_as_processes_do(mine, tmp_path, capsys):
    folders = [tmp_path / "processes", tmp_path / "torch"]
    words = ["--model", "linear", "--epochs", "1", "--allreduce", f"{mine}ring", "--checkpoint"]
    said(capsys, main, *words, str(folders[0]), "--workers", "2")
    assert "backend torch" in torchrun("train", *words, str(folders[1]))[0]
    assert bits_in(folders[0]) == bits_in(folders[1])


@pytest.mark.soak  # tests/measure has torchrun measure the library's own
def test_torchruns_programs_measure_it(mine):
    words = f"bench --allreduce {mine}in_place --algorithms tree --sizes 1KB --repeats 1"
    lines = torchrun(*words.split())
    assert [line.split()[:2] for line in lines[2:4]] == [["tree", "2"], ["in_place", "2"]]


# Measuring it


def test_bench_measures_it_beside_the_others_and_makes_no_price_up(mine, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MINE.replace("def ring(", "def my_ring("))
    file = tmp_path / "found.json"
    words = "--algorithms ring --backend simulated --workers 3,4 --sizes 1KB,1MB"
    words = f"{words} --json {file} --allreduce {mine}my_ring"
    lines = said(capsys, bench.main, *words.split())
    rows = [line.split() for line in lines if line.startswith(("ring", "my_ring"))]
    assert [row[0] for row in rows] == ["ring", "ring", "my_ring", "my_ring"] * 2
    found = json.loads(file.read_text(encoding="utf-8"))["measurements"]
    for ring, own in zip((found[0], found[1]), (found[2], found[3]), strict=True):
        assert ring["seconds"] == own["seconds"]
        assert ring["predicted_s"] == pytest.approx(ring["median_s"])
        assert own["predicted_s"] is None
    assert rows[2][-1] == "–"


def test_bench_checks_its_sums(mine, capsys):
    words = "allreduce --algorithms ring --backend simulated --workers 3 --sizes 1KB"
    assert bench.main(f"{words} --allreduce {mine}mean".split()) == 1
    told = capsys.readouterr().err
    assert "ValueError: mean, rank " in told
    assert "of 3, 1,000 bytes: place 0 holds 2.0, expected 6.0" in told


def test_bench_takes_no_name_twice_and_says_what_it_measures(mine, capsys):
    told = refused(capsys, bench.main, "--allreduce", f"{mine}tree")
    assert "there is 'tree' already, rename yours" in told
    assert "the following arguments are required: allreduce" in refused(capsys, bench.main)
