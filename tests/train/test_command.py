"""`python -m course_lib train`, as people call it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from course_lib.cli.train import main
from course_lib.cli.train_arguments import read_arguments
from course_lib.collectives import ALLREDUCES
from course_lib.console import options
from course_lib.models.deep_mlp import deep_mlp
from course_lib.trace.trace import Trace
from course_lib.train.catalogue import FAMILIES, SCHEMES
from course_lib.train.checkpoint import INDEX, load
from course_lib.train.problems import MODELS
from tests.residue import names_in_shared_memory
from tests.train.tasks import bits_in

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
SMALL = "--model logistic --batch-size 100 --momentum 0.5 --warmup-steps 30"
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="a parent cannot send Ctrl-C there")


def started(words, *more, launcher="-m course_lib"):
    return subprocess.Popen(
        [sys.executable, *launcher.split(), "train", *words.split(), *more], encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def ended(process):
    output, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output, errors


def rows_of(output):
    return [line.split() for line in output.splitlines() if re.match(r"\d+ ", line)]


@pytest.mark.slow
def test_what_is_usual_reads_digits_on_four_processes_and_is_quiet_away_from_a_terminal():
    status, output, errors = ended(started(""))
    assert (status, errors) == (0, "")
    lines = output.splitlines()
    assert lines[0] == "data_parallel, allreduce ring, 4 workers, backend processes"
    assert lines[1] == "mlp of 2,410 parameters on digits"
    assert lines[2].split() == ["epoch", "loss", "test", "accuracy", "time"]
    rows = rows_of(output)
    assert [row[0] for row in rows] == [str(epoch) for epoch in range(1, 11)]
    assert float(rows[-1][2]) >= 95
    assert float(rows[-1][1]) < 0.2 * float(rows[0][1])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a pipe that nobody reads is another error")
def test_lines_come_while_it_trains_also_into_a_pipe_and_may_remain_unread():
    with started(f"--workers 2 --epochs 300 {SMALL}") as process:
        lines = [process.stdout.readline() for _ in range(5)]
        assert process.poll() is None  # it has told this before it is over
        process.stdout.close()  # as `| head` does
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, "")
    assert lines[0] == "data_parallel, allreduce ring, 2 workers, backend processes\n"
    assert [line.split()[0] for line in lines[2:]] == ["epoch", "1", "2"]
    assert len({len(line) for line in lines[2:]}) == 1  # aligned


@pytest.mark.parametrize("model", MODELS)
def test_every_model_learns_on_all_its_data(model, capsys):
    epochs, least = {"mlp": (2, 60), "conv": (1, 20), "deep_mlp": (2, 60), "alexnet": (2, 20)}.get(
        model, (10, 60)
    )
    for data in MODELS[model].data:
        words = f"--model {model} --data {data} --backend simulated --workers 2 --epochs {epochs}"
        assert main(words.split()) == 0
        rows = rows_of(capsys.readouterr().out)
        assert float(rows[-1][1]) < float(rows[0][1]) or epochs == 1
        assert model == "linear" or float(rows[-1][2]) > least


@pytest.mark.slow
def test_a_model_in_stages_on_processes_prints_what_one_process_prints(capsys):
    """All schedules, in virtual time: ``test_schemes``."""
    for model, others in {
        "deep_mlp": ["model_parallel --workers 2", "pipeline --schedule zb_v --microbatches 7"],
        "alexnet": ["pipeline --workers 2"],
    }.items():
        printed = []
        for words in ("serial", "serial --seed 1", *others):
            assert main(f"--model {model} --epochs 1 --scheme {words}".split()) == 0
            printed.append([row[:3] for row in rows_of(capsys.readouterr().out)])
        right, wrong, *found = printed
        assert all(rows == right != wrong for rows in found)


def test_who_can_be_split_is_named_for_who_cannot(monkeypatch, capsys):
    deeper = replace(MODELS["deep_mlp"], make=lambda _: deep_mlp(64, *[8] * 11, 10))
    monkeypatch.setitem(MODELS, "alexnet", deeper)
    with pytest.raises(SystemExit):
        main(
            [
                "--scheme",
                "model_parallel",
                "--model",
                "deep_mlp",
                "--workers",
                "9",
                "--backend",
                "simulated",
            ]
        )
    assert "for each of 9 stages, got 8 layers; --model alexnet can be" in capsys.readouterr().err


def test_the_simulator_takes_a_network_and_writes_a_trace(tmp_path, capsys):
    seconds = {}
    for network in ("ethernet_1g", "nvlink_4"):
        file = tmp_path / f"{network}.json"
        words = f"--backend simulated --network {network} --trace {file} --epochs 1 {SMALL}"
        assert main(words.split()) == 0
        output = capsys.readouterr().out
        assert f"4 workers, simulated network {network}, virtual time" in output
        assert f"trace written to {file}" in output
        trace = Trace.load(file)
        steps = 4  # 400 examples
        assert trace.n_messages == 3 + steps * 2 * 3 * 4  # a broadcast, then rings of 4
        seconds[network] = trace.end_s
    assert seconds["ethernet_1g"] > 10 * seconds["nvlink_4"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--scheme federated", "--scheme knows serial, data_parallel,"),
        (
            "--model tree",
            "--model knows linear, logistic, mlp, conv, deep_mlp, alexnet; not 'tree'",
        ),
        ("--data moons --model conv", "--model conv can be trained on --data digits, not on 'moo"),
        ("--workers 0", "--workers takes whole numbers of 1 or more, got '0'"),
        ("--workers 2,4", "--workers takes whole numbers of 1 or more, got '2,4'"),
        ("--workers 65", "--workers goes from 1 to 6"),
        ("--backend simulated --workers 10001", "--workers goes from 1 to 10,000 with --backend s"),
        ("--scheme serial --workers 2", "--scheme serial takes --workers 1 at most, got 2"),
        ("--backend pigeons", "backend must be one of ('processes', 'simulated'"),
        ("--network ethernet_1g", "--network is for --backend simulated"),
        ("--backend simulated --network lan", "--network knows ethernet_1g,"),
        ("--epochs 0", "--epochs takes whole numbers from 1 to 1,000,000, got '0'"),
        ("--epochs 1.5", "--epochs takes whole numbers from 1 to 1,000,000, got '1.5'"),
        ("--epochs 1000001", "--epochs takes whole numbers from 1 to 1,000,000, got '1000001'"),
        (
            f"--seed {'9' * 5000}",
            "--seed takes whole numbers from 0 to 9,223,372,036,854,775,807, got '999",
        ),
        ("--batch-size 0", "--batch-size takes whole numbers of 1 or more, got '0'"),
        ("--learning-rate fast", "--learning-rate takes a number, got 'fast'"),
        ("--learning-rate nan", "--learning-rate takes a number, got 'nan'"),
        ("--learning-rate 0", "--learning-rate must be above 0 and finite, got 0.0"),
        ("--momentum 1", "--momentum must be above -1 and below 1, got 1.0"),
        ("--warmup-steps -1", "--warmup-steps takes whole numbers of 0 or more, got '-1'"),
        ("--seed x", "--seed takes whole numbers of 0 or more, got 'x'"),
        ("--allreduce rong", "--allreduce knows central, direct, tree,"),
        ("--scheme serial --allreduce ring", "--allreduce is for --scheme data_parallel or"),
        ("--scheme nn_data_parallel", "trains --model mlp or conv, not 'logistic'"),
        ("--scheme pipeline", "--scheme pipeline trains --model deep_mlp or alexnet, not 'logis"),
        (
            "--scheme pipeline --model deep_mlp --backend simulated --workers 9",
            "--model deep_mlp cannot be split over --workers 9 by --scheme pipeline: model must "
            "have a layer for each of 9 stages, got 8 layers",
        ),
        (
            "--scheme model_parallel --model alexnet --backend simulated --workers 9",
            "--model alexnet cannot be split over --workers 9 by --scheme model_parallel",
        ),
        (
            "--scheme pipeline --model deep_mlp --schedule zb_h1 --microbatches 3",
            "microbatches must be as many as there are ranks or more, 4, got 3",
        ),
        (
            "--scheme pipeline --model deep_mlp --microbatches 65",
            "microbatches must be no more than the examples of a batch, ",
        ),
        ("--scheme pipeline --model deep_mlp --schedule zb", "--schedule knows gpipe, 1f1b, inter"),
        ("--schedule gpipe", "--schedule is for --scheme pipeline, not data_parallel"),
        ("--every 2", "--every is for --scheme parameter_averaging or local_sgd or diloco or "),
        ("--scheme downpour --n-push 0", "--n-push takes whole numbers of 1 or more, got '0'"),
        ("--scheme downpour --workers 1", "with 1 server there must be 2"),
        ("--scheme bounded_staleness --bound -1", "--bound takes whole numbers of 0 or more, got"),
        ("--scheme backup_workers --backups 3", "--backups must be less than the 3 that work of"),
        ("--scheme parameter_averaging --every 0", "--every takes whole numbers of 1 or more"),
        (
            "--scheme parameter_server --workers 1",
            "with 1 server there must be 2",
        ),
        (
            "--scheme sharded_parameter_server --workers 2",
            "with 2 servers there must be 3",
        ),
        ("--time-limit 0", "--time-limit takes seconds above 0, got 0"),
        ("--trace out.txt", "--trace must be a file that ends in .json, got out.txt"),
        ("--trace no/such/folder/x.json", "there is no folder"),
        ("--trace=", "--trace must be the name of a file that ends in .json, got none"),
        ("--scheme hogwild --lock one --stripes 3", "--stripes is for --lock striped, not one"),
        ("--resume", "--resume needs --checkpoint DIR"),
        ("--checkpoint-every 2", "--checkpoint-every needs --checkpoint DIR"),
        ("--checkpoint {} --checkpoint-every 0", "--checkpoint-every takes whole numbers of 1 or"),
        ("--checkpoint {} --resume", "there is no checkpoint in"),
        ("--checkpoint=", "--checkpoint takes the name of a folder, got ''"),
        (f"--checkpoint {'x' * 300}", "File name too long"),
        ("--fast", "unrecognized arguments: --fast"),
        ("--epoch 3", "unrecognized arguments: --epoch 3"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_started(words, sentence, tmp_path, capsys):
    if "mlp" not in words and "--model" not in words:
        words = f"{words} --model logistic"
    with pytest.raises(SystemExit) as refused:
        main(words.format(tmp_path).split())
    assert refused.value.code == 2
    told = capsys.readouterr()
    assert told.err.startswith("python -m course_lib train: error: ")
    assert sentence in told.err
    assert len(told.err.splitlines()) == 1  # no usage
    assert told.out == ""


def test_help_names_the_schemes_the_all_reduces_and_the_models(capsys):
    with pytest.raises(SystemExit) as ended_well:
        main(["--help"])
    assert ended_well.value.code == 0
    output = capsys.readouterr().out
    assert [name for name in (*SCHEMES, *ALLREDUCES, *MODELS) if name not in output] == []


def test_help_shows_lines_for_torchrun_and_for_a_trace_that_work_as_they_are(
    tmp_path, capsys, monkeypatch
):
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    launched = [line for line in lines if line.startswith("  torchrun ")]
    assert ["--nnodes 2" in line for line in launched] == [False, True]
    begin = "torchrun --standalone --nproc-per-node 4 -m course_lib train "
    assert read_arguments(launched[0].split(begin)[1].split()).workers == 4
    monkeypatch.chdir(tmp_path)
    assert main(f"--backend simulated --epochs 1 --trace FILE.json {SMALL}".split()) == 0
    viewer = [line.strip() for line in lines if "Trace" in line]
    subprocess.run(
        [sys.executable, "-c", "\n".join(viewer)], check=True, timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert "</html>" in Path("FILE.html").read_text(encoding="utf-8")


def test_a_checkpoint_of_another_training_is_refused_and_one_of_this_is_not_overwritten(
    tmp_path, capsys
):
    words = f"--backend simulated --checkpoint {tmp_path} --epochs 2 {SMALL}"
    assert main(words.split()) == 0
    before = bits_in(tmp_path)
    for change, sentence in [
        ("--resume --seed 1", "was made with --seed 0, not 1"),
        ("--resume --workers 2", "was made with --workers 4, not 2"),
        ("--resume --learning-rate 0.1", "was made with --learning-rate 0.5, not 0.1"),
        ("--resume --allreduce tree", "was made with --allreduce ring, not tree"),
        ("--resume --scheme parameter_server", "with --scheme data_parallel, not parameter_server"),
        ("--resume --data text", "was made with --data moons, not text"),
        ("", "go on from it with --resume, or name another folder"),
    ]:
        with pytest.raises(SystemExit):
            main([*words.split(), *change.split()])
        assert sentence in " ".join(capsys.readouterr().err.split())
    assert bits_in(tmp_path) == before
    assert main([*words.split(), "--resume", "--epochs", "3"]) == 0
    assert [row[0] for row in rows_of(capsys.readouterr().out)] == ["1", "2", "3"]
    (arrays,) = tmp_path.glob("epoch_3-*.npz")
    arrays.write_bytes(b"PK")
    with pytest.raises(SystemExit):
        main([*words.split(), "--resume", "--epochs", "4"])
    assert f"{arrays.name} is damaged" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("link", [None, "to the index", "to the arrays"])
def test_a_trace_that_would_overwrite_the_checkpoint_is_refused_before_training(
    link, tmp_path, capsys
):
    folder = tmp_path / "kept"
    words = f"--backend simulated --checkpoint {folder} {SMALL}"
    assert main([*words.split(), "--epochs", "1"]) == 0
    trace = folder / INDEX
    if link is not None:
        (arrays,) = folder.glob("*.npz")
        trace = tmp_path / "link.json"
        trace.symlink_to(arrays if link == "to the arrays" else folder / INDEX)
    before = bits_in(folder)
    for more in ("--resume --epochs 2", "--epochs 1"):
        with pytest.raises(SystemExit) as refused:
            main([*words.split(), *more.split(), "--trace", str(trace)])
        assert refused.value.code == 2
        told = capsys.readouterr().err
        why = f"--trace must have another name than {INDEX}"
        if link == "to the arrays":
            why = f"--trace {trace} would overwrite a file that --checkpoint {folder} keeps"
        assert why in told
    assert bits_in(folder) == before


def test_a_trace_may_lie_beside_the_files_of_a_checkpoint(tmp_path):
    words = f"--backend simulated --checkpoint {tmp_path} --epochs 1 {SMALL}"
    assert main([*words.split(), "--trace", str(tmp_path / "trace.json")]) == 0
    assert load(tmp_path).rows[-1].epoch == 1
    assert Trace.load(tmp_path / "trace.json").n_messages


def test_a_trace_and_a_folder_that_are_not_there_yet_may_not_share_a_name(tmp_path, capsys):
    words = f"--backend simulated --checkpoint {tmp_path}/x.json --trace {tmp_path}/x.json {SMALL}"
    with pytest.raises(SystemExit):
        main(words.split())
    assert f"--trace {tmp_path}/x.json would overwrite" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_checkpoints_come_every_so_many_epochs_and_after_the_last(tmp_path, monkeypatch):
    kept = []
    real = Path.replace

    def noted(self, target):
        kept.append(Path(target).name)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", noted)
    words = f"--backend simulated --checkpoint {tmp_path} --checkpoint-every 2 --epochs 5 {SMALL}"
    assert main(words.split()) == 0
    files = [name for name in kept if name.endswith(".npz")]
    assert [name.split("-")[0] for name in files] == ["epoch_2", "epoch_4", "epoch_5"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then"), [("processes", "simulated"), ("simulated", "processes")]
)
def test_going_on_in_another_world_says_which_rows_are_from_the_other_clock(
    first, then, tmp_path, capsys
):
    words = f"--workers 1 --checkpoint {tmp_path} {SMALL} --backend"
    assert main(f"{words} {first} --epochs 2".split()) == 0
    assert main(f"{words} {first} --epochs 3 --resume".split()) == 0
    beside = "measured" if first == "processes" else "virtual"
    assert not re.search(rf"s {beside}$", capsys.readouterr().out, re.MULTILINE)
    assert main(f"{words} {then} --epochs 4 --resume".split()) == 0
    lines = capsys.readouterr().out.splitlines()[3:-1]
    assert lines[0].endswith("  virtual time" if then == "simulated" else "  time")
    assert [line.endswith(f"s {beside}") for line in lines[1:]] == [True, True, True, False]
    assert len({len(line) for line in lines}) == 1  # aligned


# The time limit is an exception at any point of the program, also between open() and its with.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_training_that_fails_says_what_is_kept(tmp_path, capsys):
    words = f"--backend simulated --checkpoint {tmp_path} --epochs 100000 --time-limit 3 {SMALL}"
    assert main(words.split()) == 1
    errors = capsys.readouterr().err
    epoch = load(tmp_path).rows[-1].epoch
    assert "the run was not over after 3 s of wall time" in errors
    assert f"{tmp_path} holds epoch {epoch} of 100000; go on with\n" in errors


def wait_for_checkpoint(folder, process):
    """Wait until two epochs are kept: it is well under way."""
    until_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until_s:
        if (folder / INDEX).exists() and load_between(folder) >= 2:
            return
        time.sleep(0.02)  # a file appears without telling anybody
    pytest.fail(f"no checkpoint, exit code {process.poll()}")


def load_between(folder):
    """Return the epoch kept; 0 where the one before has gone since its name was read."""
    try:
        return json.loads((folder / INDEX).read_text())["epoch"]
    except (OSError, ValueError):
        return 0


def assert_goes_on_as_if_nothing_had_been(words, folder, twin):
    """Go on for an epoch, on the simulator; compare with a training that was never stopped."""
    epochs = load(folder).rows[-1].epoch + 1
    words = f"{words} --backend simulated --epochs {epochs} --checkpoint"
    assert main([*words.split(), str(folder), "--resume"]) == 0
    assert main([*words.split(), str(twin), "--checkpoint-every", str(epochs)]) == 0
    whole, parts = load(twin), load(folder)
    np.testing.assert_array_equal(parts.w, whole.w, strict=True)
    assert [row[:3] for row in parts.rows] == [row[:3] for row in whole.rows]


@pytest.mark.slow
@posix_only
@pytest.mark.parametrize(
    ("backend", "scheme"), [("processes", "data_parallel"), ("simulated", "parameter_averaging")]
)
def test_ctrl_c_keeps_the_last_checkpoint_says_how_to_go_on_and_leaves_nothing(
    tmp_path, backend, scheme
):
    folder = tmp_path / "kept here"
    words = f"--scheme {scheme} --workers 2 {SMALL}"
    process = started(f"{words} --backend {backend} --epochs 1000000 --checkpoint", folder)
    wait_for_checkpoint(folder, process)
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    status, output, errors = ended(process)
    assert status == 130
    assert [row[0] for row in rows_of(output)][:2] == ["1", "2"]  # what there is has been told
    lines = errors.splitlines()
    assert lines[0] == "stopped"
    assert f"holds epoch {load(folder).rows[-1].epoch} of 1000000; go on with" in lines[1]
    assert shlex.split(lines[2])[-1] == "--resume"
    assert len(lines) == 3
    _, alive = psutil.wait_procs(below, timeout=10)
    assert alive == []
    assert names_in_shared_memory(process.pid) == []
    assert_goes_on_as_if_nothing_had_been(words, folder, tmp_path / "twin")


@pytest.mark.slow
@posix_only
@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("SIGTERM", "processes"),
        ("SIGHUP", "simulated"),
        pytest.param("SIGTERM", "simulated", marks=pytest.mark.soak),
        pytest.param("SIGHUP", "processes", marks=pytest.mark.soak),
    ],
)
def test_a_signal_that_ends_it_lets_it_put_away_its_files(tmp_path, monkeypatch, backend, name):
    kept, room = tmp_path / "kept", tmp_path / "room"
    room.mkdir()
    monkeypatch.setenv("TMPDIR", str(room))
    words = f"--workers 2 {SMALL} --backend {backend} --epochs 1000000 --checkpoint {kept}"
    process = started(words)
    wait_for_checkpoint(kept, process)
    assert list(room.glob("course_lib_train_*"))
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(getattr(signal, name))
    status, _, errors = ended(process)
    assert status == 128 + getattr(signal, name), errors
    _, alive = psutil.wait_procs(below, timeout=10)
    assert alive == []
    assert list(room.iterdir()) == []
    assert not list(kept.glob("*lock*"))


@pytest.mark.slow
@posix_only
def test_a_terminal_that_is_closed_while_workers_start_ends_them_all_and_nothing_is_told():
    process = started("--epochs 1000000")
    while not process.stdout.readline().startswith("epoch"):
        assert process.poll() is None
    until_s = time.monotonic() + PATIENCE_S
    while len(below := psutil.Process(process.pid).children(recursive=True)) < 3:
        assert time.monotonic() < until_s
        time.sleep(0.002)  # a process appears without telling anybody
    os.killpg(process.pid, signal.SIGHUP)
    status, _, errors = ended(process)
    assert (status, errors) == (128 + signal.SIGHUP, "")
    _, alive = psutil.wait_procs(below, timeout=10)
    assert alive == []


@pytest.mark.slow
def test_a_program_that_is_killed_leaves_a_checkpoint_to_go_on_from(tmp_path):
    folder = tmp_path / "kept"
    words = f"--scheme sharded_parameter_server --workers 3 {SMALL}"
    process = started(f"{words} --epochs 1000000 --checkpoint {folder}")
    wait_for_checkpoint(folder, process)
    below = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    ended(process)
    _, alive = psutil.wait_procs(below, timeout=PATIENCE_S)
    assert alive == []
    assert_goes_on_as_if_nothing_had_been(words, folder, tmp_path / "twin")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--backend processes", "torchrun has started 3 ranks already: leave --backend out"),
        ("--scheme serial", "--scheme serial takes --workers 1 at most, got 3"),
        ("--workers 2", "torchrun has started 3 ranks, got workers=2"),
    ],
)
def test_under_torchrun_the_ranks_are_the_workers_and_what_ignores_them_is_refused(
    words, sentence, monkeypatch, capsys
):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "0")
    asked = read_arguments(["--model", "logistic"])
    assert (asked.backend, asked.workers) == ("torch", 3)
    asked = read_arguments(["--model", "logistic", "--backend", "simulated"])
    assert (asked.backend, asked.workers) == ("simulated", 4)
    with pytest.raises(SystemExit):
        main(f"--model logistic {words}".split())
    assert sentence in capsys.readouterr().err


@pytest.mark.slow
def test_under_torchrun_a_wrong_option_is_told_once_and_without_a_traceback_of_ours():
    launcher = "-m torch.distributed.run --standalone --nproc-per-node 2 -m course_lib"
    status, output, errors = ended(started("--backend processes", launcher=launcher))
    assert (status != 0, output) == (True, "")
    assert errors.count("torchrun has started 2 ranks already") == 1
    assert re.findall(r"exitcode *: (\S+)", errors)[-1] == "2"  # torchrun's own report, of rank 0
    assert errors.count("Traceback") == 1  # which is torchrun's
    assert "course_lib/" not in errors


def test_of_other_programs_of_torchrun_only_the_first_simulates(monkeypatch, capsys):
    monkeypatch.setattr(options, "_FIRST_SPEAKS_S", 0.0)  # no torchrun would end this program
    for name, value in [("TORCHELASTIC_RUN_ID", "none"), ("WORLD_SIZE", "2"), ("RANK", "1")]:
        monkeypatch.setenv(name, value)
    assert main(f"--backend simulated {SMALL}".split()) == 0
    with pytest.raises(SystemExit):
        main(["--epochs", "none"])
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")


def inside(file):
    """Return the algorithms that were taken inside ``allreduce``, by the trace."""
    taken = {event.name for event in Trace.load(file).collectives}
    assert "allreduce" in taken
    return taken - {"allreduce", "broadcast_tree"}


FITS = {"butterfly": (1e-2, 0.0, 0.0), "ring": (0.0, 1e-3, 1e-3)}
"""Where messages are dear, and where bytes are: with 2 workers each has its algorithm."""


@pytest.mark.parametrize("begun", FITS)
def test_a_training_goes_on_with_the_algorithm_that_it_chose(tmp_path, monkeypatch, capsys, begun):
    file, trace = tmp_path / ".course_lib" / "rates.json", tmp_path / "trace.json"
    file.parent.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    words = f"--allreduce auto --workers 2 {SMALL} --checkpoint {tmp_path / 'kept'} --trace {trace}"
    other = next(name for name in FITS if name != begun)
    for fit, more in ((begun, "--epochs 1"), (other, "--epochs 2 --resume")):
        file.write_text(json.dumps({"schema": 1, "processes": FITS[fit]}))
        assert main([*words.split(), *more.split()]) == 0
        assert inside(trace) == {f"allreduce_{begun}"}
        told = capsys.readouterr().out.splitlines()[2]
        assert told.startswith(f"allreduce auto: {begun} for ")
        assert ("kept in the checkpoint" in told) == ("--resume" in more)


@pytest.mark.parametrize("scheme", ["layerwise", "parameter_averaging"])
def test_every_size_is_chosen_for_itself_and_learns_the_same(tmp_path, scheme, capsys):
    losses = {}
    for name in ("ring", "auto"):
        words = f"--scheme {scheme} --allreduce {name} --epochs 2 --workers 3 --backend simulated"
        assert main(words.split()) == 0
        losses[name] = [row[1] for row in rows_of(capsys.readouterr().out)]
    assert losses["auto"] == losses["ring"]


def test_a_training_that_goes_on_says_so(tmp_path, capsys):
    words = f"--backend simulated {SMALL} --checkpoint {tmp_path} --epochs"
    assert main([*words.split(), "1"]) == 0
    assert "goes on" not in capsys.readouterr().out
    assert main([*words.split(), "2", "--resume"]) == 0
    assert (
        "goes on after epoch 1 of 2; those before are the checkpoint's" in capsys.readouterr().out
    )
    assert main([*words.split(), "2", "--resume"]) == 0
    assert "nothing is left to do: the checkpoint has all 2 epochs" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*words.split(), "1", "--resume"])
    assert "has 2 epochs already, more than --epochs 1" in capsys.readouterr().err
    assert not list(tmp_path.glob("*lock*"))


def test_every_scheme_is_in_one_family_of_the_help(capsys):
    assert sorted(name for names in FAMILIES.values() for name in names) == sorted(SCHEMES)
    with pytest.raises(SystemExit):
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "the model split: model_parallel, pipeline, split_weights, hybrid" in told
