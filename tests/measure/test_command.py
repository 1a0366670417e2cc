"""`python -m course_lib bench allreduce`, as people call it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from course_lib.collectives import ALLREDUCES
from course_lib.comm.job import check_job
from course_lib.comm.rates import USUAL, kept_rates
from course_lib.costs import price
from tests.residue import names_in_shared_memory

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
pytestmark = pytest.mark.slow


def started(*words, **variables):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1", **variables}
    return subprocess.Popen(
        [sys.executable, "-m", "course_lib", "bench", *words], env=environment, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def bench(words, **variables):
    process = started(*words.split(), **variables)
    output, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output, errors


def rows_of(output):
    return [line.split() for line in output.splitlines() if line.split()[0] in ALLREDUCES]


def test_real_processes_make_a_table_with_predictions_and_say_on_stderr_how_far_they_are(tmp_path):
    file = tmp_path / "found.json"
    status, output, errors = bench(
        "allreduce --algorithms ring,tree --sizes 1KB,64KiB --workers 2,3 --repeats 2 "
        f"--json {file}"
    )
    assert status == 0, errors
    assert [(row[0], row[1]) for row in rows_of(output)] == [
        (name, workers) for workers in "23" for name in ("ring", "tree") for _ in range(2)
    ]
    assert errors.splitlines() == [
        f"{what}, {n} workers" for n in (2, 3) for what in ("messages", "ring", "tree")
    ]
    found = json.loads(file.read_text(encoding="utf-8"))["measurements"]
    assert len(found) == 8
    for one in found:
        assert one["n_bytes"] in (1_000, 65_536)
        assert len(one["seconds"]) == 2
        assert one["predicted_s"] > 0
        needed = 2 * (one["workers"] - 1) / one["workers"] * one["n_bytes"]
        assert one["bus_bandwidth_bytes_per_s"] == pytest.approx(needed / one["median_s"])


def test_what_messages_cost_is_kept_for_allreduce_to_choose_by(tmp_path, monkeypatch):
    homes = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    status, output, errors = bench(
        "allreduce --algorithms ring --sizes 1KB --workers 2 --repeats 1 --keep", **homes
    )
    assert (status, errors.splitlines()[-1]) == (0, "messages that are kept or added, 2 workers")
    assert output.splitlines()[-1].startswith("allreduce chooses from now on by alpha = ")
    for name, path in homes.items():
        monkeypatch.setenv(name, path)
    assert kept_rates("processes").source.startswith("kept in ")
    assert kept_rates("processes").alpha_s > 0
    assert kept_rates("torch") == USUAL["torch"]


def test_a_home_that_cannot_be_written_is_told(tmp_path):
    home = tmp_path / "no_folder"
    home.write_text("")
    status, _, errors = bench(
        "allreduce --algorithms ring --sizes 1KB --workers 2 --repeats 1 --keep",
        HOME=str(home), USERPROFILE=str(home),
    )  # fmt: skip
    assert status == 1
    assert errors.splitlines()[-1].startswith("what messages cost could not be kept: ")


def test_the_simulator_shows_its_exact_time_and_draws_it(tmp_path):
    file = tmp_path / "drawn.PNG"
    status, output, _ = bench(
        "allreduce --backend simulated --network ethernet_1g --workers 8 --sizes 1MB "
        f"--algorithms central,ring --plot {file}"
    )
    assert status == 0
    assert "network ethernet_1g, virtual time" in output
    (central, ring) = rows_of(output)
    assert central[4:6] == central[-2:]  # the prediction is the time
    assert ring[4:6] == ring[-2:]
    assert float(central[4]) > 7 * float(ring[4])  # 14 n pass one NIC, and 7/4 n
    assert price("allreduce_central", 8, 8).serial_bytes == 8 * 14
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_prediction_that_is_only_a_bound_is_called_one(tmp_path):
    table, drawing = tmp_path / "found.json", tmp_path / "drawn.png"
    status, output, errors = bench(
        "allreduce --backend simulated --network ethernet_1g --workers 8 --sizes 1MB "
        f"--algorithms tree,ring --json {table} --plot {drawing}"
    )
    assert status == 0, errors
    lines = [line for line in output.splitlines() if line.startswith(("tree", "ring"))]
    assert ["≤" in line for line in lines] == [True, False]
    found = json.loads(table.read_text(encoding="utf-8"))["measurements"]
    assert [one["predicted_is_bound"] for one in found] == [True, False]
    assert found[0]["predicted_s"] > found[0]["median_s"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("reduce", "bench measures allreduce, not 'reduce'"),
        ("allreduce --algorithms ring,rong", "--algorithms knows central, direct, tree,"),
        ("allreduce --sizes 1TB", "sizes are written like 4096, 64KB, 1MB or 1MiB, got '1TB'"),
        ("allreduce --sizes 6", "sizes must be multiples of 4 bytes, got '6'"),
        ("allreduce --sizes 900000GB", "take smaller --sizes or fewer --workers"),
        ("allreduce --workers 0", "--workers takes whole numbers of 1 or more, got '0'"),
        ("allreduce --workers 2,,4", "--workers takes whole numbers of 1 or more, got ''"),
        ("allreduce --workers 65", "--workers goes from 1 to 6"),
        ("allreduce --backend pigeons", "backend must be one of ('processes', 'simulated'"),
        ("allreduce --repeats many", "--repeats takes whole numbers from 1 to 1,000,000, got 'man"),
        ("allreduce --repeats 99999999999", "whole numbers from 1 to 1,000,000, got '99999999999'"),
        (
            "allreduce --backend simulated --repeats 2",
            "--repeats takes whole numbers from 1 to 1, got '2'",
        ),
        ("allreduce --network ethernet_1g", "--network is for --backend simulated"),
        ("allreduce --backend simulated --network lan", "--network knows ethernet_1g,"),
        ("allreduce --plot times.pdf", "--plot must be a file that ends in .png, got times.pdf"),
        ("allreduce --json times.txt", "--json must be a file that ends in .json, got times.txt"),
        ("allreduce --json no/such/folder/x.json", "there is no folder"),
        ("allreduce --keep --backend simulated", "--keep is for real processes that send messages"),
        ("allreduce --keep --workers 1", "so for 2 or more"),
        ("allreduce --fast", "unrecognized arguments: --fast"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_started(words, sentence):
    status, output, errors = bench(words)
    assert status == 2
    assert sentence in errors
    assert "Traceback" not in errors
    assert errors.startswith("python -m course_lib bench: error: ")  # nothing had begun
    assert len(errors.splitlines()) == 1  # no usage
    assert output == ""


def test_a_file_that_changes_the_folder_moves_no_table(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "moves.py").write_text(
        f"import os\nos.chdir({str(tmp_path / 'elsewhere')!r})\n"
        "from course_lib.collectives import allreduce_ring as mine\n"
    )
    table = os.path.relpath(tmp_path / "table.json")
    status, output, _ = bench(
        f"--allreduce {tmp_path / 'moves.py'}:mine --backend simulated --sizes 1KB --json {table}"
    )
    assert status == 0
    assert f"written to {Path(table).absolute()}" in output
    assert (tmp_path / "table.json").exists()


def test_a_plot_and_a_table_that_are_one_file_are_refused(tmp_path):
    plot, table = tmp_path / "times.png", tmp_path / "times.json"
    plot.symlink_to(table)
    words = "allreduce --backend simulated --algorithms ring --sizes 1KB --workers 2"
    status, _, errors = bench(f"{words} --plot {plot} --json {table}")
    assert status == 2
    assert f"--plot {plot} and --json {table} are one file: name two" in errors
    assert not table.exists()


def test_of_the_programs_of_torchrun_only_rank_0_prints():
    words = "allreduce --backend simulated --algorithms ring --sizes 1KB"
    launched = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "2"}
    assert bench(words, RANK="1", **launched) == (0, "", "")
    status, output, errors = bench(words, RANK="0", **launched)
    assert (status, errors) == (0, "ring, 4 workers\n")
    assert len(rows_of(output)) == 1


def test_under_torchrun_processes_of_its_own_are_refused():
    words = "allreduce --backend processes"
    status, output, errors = bench(words, TORCHELASTIC_RUN_ID="none", WORLD_SIZE="3", RANK="0")
    assert (status, output) == (2, "")
    assert "torchrun has started 3 ranks already: leave --backend out" in errors


@pytest.mark.soak  # tests/train has torchrun start a command, tests/torch_backend a run
def test_torchruns_programs_measure_together_and_one_of_them_prints(tmp_path):
    try:
        check_job(
            print, (), workers=2, backend="torch", rendezvous=False, trace=False,
            time_limit_s=60.0, seed=0,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        pytest.skip(f"run() has no torch.distributed here: {error}")
    file = tmp_path / "found.json"
    words = f"allreduce --algorithms ring,tree --sizes 1KB --repeats 1 --json {file}"
    done = subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
            "-m", "course_lib", "bench", *words.split(),
        ],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        capture_output=True, encoding="utf-8", timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "backend torch" in done.stdout  # which nobody had to ask for
    assert [(row[0], row[1]) for row in rows_of(done.stdout)] == [("ring", "2"), ("tree", "2")]
    assert done.stderr.count("messages, 2 workers") == 1
    assert len(json.loads(file.read_text(encoding="utf-8"))["measurements"]) == 2


def test_help_names_the_algorithms():
    status, output, _ = bench("--help")
    assert status == 0
    assert [name for name in ALLREDUCES if name not in output] == []


@pytest.mark.skipif(sys.platform == "win32", reason="a parent cannot send Ctrl-C there")
@pytest.mark.parametrize(
    "words", ["--workers 2 --repeats 1000000", "--workers 4000 --backend simulated"]
)
def test_ctrl_c_ends_it_in_one_sentence_and_leaves_nothing(tmp_path, words):
    file = tmp_path / "found.json"
    process = started(*f"allreduce --algorithms ring --sizes 1KB --json {file} {words}".split())
    assert process.stderr is not None
    first = process.stderr.readline()  # it has begun
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, (first, errors)
    assert errors.splitlines()[-1] == "stopped; nothing is written"
    assert "Traceback" not in errors
    assert output == ""
    assert not file.exists()
    _, alive = psutil.wait_procs(below, timeout=10)
    assert alive == []
    assert names_in_shared_memory(process.pid) == []
