"""What is said to be kept can be gone on from, and nobody else's files are touched for it."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from course_lib.cli.bench import main as bench
from course_lib.cli.train import main
from course_lib.train.catalogue import OPTIONS, SCHEMES
from course_lib.train.checkpoint import INDEX, load, save
from course_lib.train.claim import LOCK
from course_lib.train.errors import CheckpointError
from course_lib.train.index import pack_index, read_index
from course_lib.train.problems import MODELS
from tests.train.tasks import bits
from tests.train.test_checkpoint import arrays_of, example

LINEAR = "--model linear --backend simulated --workers 2 --epochs 1"
OF_SCHEME = {
    "every": "parameter_averaging",
    "bucket_bytes": "layerwise_bucketed",
    "n_fetch": "downpour",
    "n_push": "downpour",
    "warm_start": "downpour",
    "bound": "bounded_staleness",
    "backups": "backup_workers",
    "servers": "sharded_parameter_server",
    "microbatches": "pipeline --model deep_mlp",
    "splits": "hybrid --model alexnet",
    "k": "compressed",
    "rank": "compressed --compressor powersgd",
    "stripes": "hogwild --lock striped",
}
TOO_LARGE = [str(2**63), str(10**19), "9" * 100]


def train(folder, words):
    return main(f"{LINEAR} --checkpoint {folder} {words}".split())


def test_every_whole_number_of_a_scheme_has_its_scheme_here():
    assert set(OF_SCHEME) == {
        name for name, one in OPTIONS.items() if one.choices is None and one.is_whole
    }


@pytest.mark.parametrize("name", ["seed", "batch_size", "warmup_steps", "epochs", *OF_SCHEME])
@pytest.mark.parametrize("value", TOO_LARGE)
def test_a_number_that_no_checkpoint_can_hold_is_refused_before_training(
    name, value, tmp_path, capsys
):
    option = f"--{name.replace('_', '-')}"
    scheme = f"--scheme {OF_SCHEME[name]}" if name in OF_SCHEME else ""
    with pytest.raises(SystemExit) as refused:
        train(tmp_path / "folder", f"{scheme} {option} {value}")
    assert refused.value.code == 2
    assert f"{option} takes whole numbers from " in capsys.readouterr().err
    assert not (tmp_path / "folder").exists()


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value")
@pytest.mark.parametrize(
    "words",
    [
        f"--seed {2**63 - 1}", f"--batch-size {2**63 - 1}", f"--warmup-steps {2**63 - 1}",
        f"--scheme parameter_averaging --every {2**63 - 1}",
        f"--scheme layerwise_bucketed --bucket-bytes {2**63 - 1} --model logistic",
        "--learning-rate 1e9", "--learning-rate 5e-324",
        "--allreduce auto",
    ],
)  # fmt: skip
def test_every_checkpoint_that_is_said_to_be_kept_can_be_gone_on_from(words, tmp_path, capsys):
    assert train(tmp_path, words) == 0
    assert f"checkpoint kept in {tmp_path}" in capsys.readouterr().out
    load(tmp_path)
    assert train(tmp_path, f"{words} --resume --epochs 2") == 0
    assert "goes on after epoch 1 of 2" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value")
def test_a_training_that_diverges_says_so_and_keeps_the_epoch_before(tmp_path, capsys):
    assert train(tmp_path, "--learning-rate 1e308") == 1
    told = capsys.readouterr()
    assert "the training has diverged: the loss after epoch 1 is " in told.err
    assert "checkpoint kept" not in told.out
    assert train(tmp_path / "another", "--learning-rate 1e19") == 0
    assert train(tmp_path / "another", "--learning-rate 1e19 --resume --epochs 2") == 1
    told = capsys.readouterr()
    assert "the training has diverged: the loss after epoch 2 is " in told.err
    assert "another holds epoch 1 of 2" in told.err
    assert load(tmp_path / "another").rows[-1].epoch == 1


@pytest.mark.parametrize("value", [2**63, float("inf"), float("nan"), "x" * 101, None, [1]])
def test_what_could_not_be_read_again_is_not_written_and_the_one_before_stays(value, tmp_path):
    save(tmp_path, example(1))
    save(tmp_path, example(2))
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    wrong = example(3)
    with pytest.raises(CheckpointError, match=r"^--seed must be, for a checkpoint, "):
        save(tmp_path, replace(wrong, made_with=dict(wrong.made_with, seed=value)))
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert bits(load(tmp_path)) == bits(example(2))


def test_an_index_too_long_to_be_read_is_not_written():
    told = {f"option_{number}": "x" * 100 for number in range(1000)}
    with pytest.raises(CheckpointError, match="could not be read again: it has 1"):
        pack_index(1, "epoch_1.npz", "0" * 64, told, [])


def test_the_files_of_a_user_in_the_folder_stay_as_they_are(tmp_path, capsys):
    mine = [
        "notes.txt.deadbeef.new", "trace.json.0123abcd.new", "epoch_7-0123456789ab.npz",
        "epoch_1-0123456789ab.npz", "epoch_7.npz", f"{LOCK}.0123abcd.new",
    ]  # fmt: skip
    for name in mine:
        (tmp_path / name).write_text("my only copy")
    assert train(tmp_path, "") == 0
    assert train(tmp_path, "--resume --epochs 5") == 0
    assert [(tmp_path / name).read_text() for name in mine] == ["my only copy"] * len(mine)
    ours = {file.name for file in tmp_path.iterdir()} - set(mine)
    assert INDEX in ours
    assert len(ours) == 3  # this checkpoint's arrays, and those of the one before


def test_arrays_whose_index_the_user_has_taken_away_are_the_users(tmp_path):
    save(tmp_path, example(1))
    kept = arrays_of(tmp_path)
    (tmp_path / INDEX).unlink()
    for epoch in (2, 3, 4):
        save(tmp_path, example(epoch))
    assert kept.exists()


def test_a_users_lock_is_refused_by_the_command_and_stays(tmp_path, capsys):
    (tmp_path / LOCK).write_text("my only copy")
    with pytest.raises(SystemExit):
        train(tmp_path, "")
    assert LOCK in capsys.readouterr().err
    assert [file.read_text() for file in tmp_path.iterdir()] == ["my only copy"]


FULL = """
import resource, sys
from course_lib.cli.bench import main as bench
from course_lib.cli.train import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
raise SystemExit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no limit of a file's length")
def test_a_disk_without_room_is_told_in_one_sentence_and_the_checkpoint_before_stays(tmp_path):
    assert train(tmp_path, "") == 0
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    words = f"{LINEAR} --checkpoint {tmp_path} --resume --epochs 2"
    ended = subprocess.run(
        [sys.executable, "-c", FULL, "1000", *words.split()],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 1
    first, *rest = ended.stderr.strip().splitlines()
    assert first.startswith(f"the checkpoint of epoch 2 cannot be written, {tmp_path}")
    for told in ("it needs ", "bytes; the one of epoch 1 is as it was", "go on with --resume"):
        assert told in first
    assert "holds epoch 1 of 2; go on with" in " ".join(rest)
    assert "Traceback" not in ended.stderr
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert np.isfinite(load(tmp_path).rows[-1].loss)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no limit of a file's length")
def test_a_disk_without_room_for_the_first_checkpoint_tells_to_start_again(tmp_path):
    words = f"{LINEAR} --checkpoint {tmp_path}"
    ended = subprocess.run(
        [sys.executable, "-c", FULL, "1000", *words.split()],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "there is none before it. Make room and start again, or name" in ended.stderr
    assert "--resume" not in ended.stderr


def test_no_command_writes_over_another_folders_checkpoint(tmp_path, capsys):
    kept = tmp_path / "kept"
    kept.mkdir()
    assert train(kept, "") == 0
    before = {file: file.read_bytes() for file in kept.iterdir()}
    (tmp_path / "link.json").symlink_to(kept / INDEX)
    for name in (kept / INDEX, kept / INDEX.upper(), tmp_path / "link.json"):
        for command, words in [
            (main, f"{LINEAR} --trace {name}"),
            (bench, f"allreduce --backend simulated --workers 2 --json {name}"),
        ]:
            with pytest.raises(SystemExit) as refused:
                command(words.split())
            assert refused.value.code == 2
            assert f"must have another name than {INDEX}" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in kept.iterdir()} == before


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_any_scheme_keeps_can_be_read_again_and_gone_on_from(scheme, tmp_path, capsys):
    one = SCHEMES[scheme]
    workers = min(4, one.most_workers or 4)
    model = (one.models or ("logistic",))[0]
    words = f"--scheme {scheme} --backend simulated --workers {workers}"
    words += "" if one.optimizer else " --momentum 0.5"  # AdamW has none
    words += f" --data {'moons' if 'moons' in MODELS[model].data else 'digits'} --model {model}"
    words += f" --batch-size 200 --checkpoint {tmp_path}"
    assert main([*words.split(), "--epochs", "1"]) == 0
    load(tmp_path)
    assert main([*words.split(), "--epochs", "2", "--resume"]) == 0
    assert "goes on after epoch 1 of 2" in capsys.readouterr().out
    index = read_index(tmp_path)
    assert index["epoch"] == 2
    assert index["made_with"]["parameters"] > 0


def test_states_that_could_not_be_read_again_are_not_written(tmp_path):
    save(tmp_path, example(1))
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    wrong = example(2)
    short = [[state._replace(w=wrong.w[:2], kept={}) for state in own] for own in wrong.states[:1]]
    made_with = dict(wrong.made_with, parameters=wrong.w.size, workers=1)
    with pytest.raises(CheckpointError, match="could not be read again: its ranks step"):
        save(tmp_path, replace(wrong, made_with=made_with, states=short))
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
