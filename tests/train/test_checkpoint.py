"""Checkpoints are whole or refused, whatever happens while they are written or lie there."""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from course_lib.train import index as file_format
from course_lib.train.checkpoint import INDEX, Checkpoint, load, save
from course_lib.train.claim import LOCK, Claim
from course_lib.train.errors import CheckpointError
from course_lib.train.row import Row
from course_lib.train.states import State, pack_states
from tests.train.tasks import bits


def example(epoch):
    rng = np.random.default_rng(epoch)
    states = [
        [State(rng.normal(size=5), {}, 0), State(rng.normal(size=0), {"mean": np.zeros(0)}, 7)],
        [
            State(
                rng.normal(size=3).astype(np.float32),
                {"velocity": rng.normal(size=3), "step": np.array(4.0, np.float32)},
                epoch,
            )
        ],
        [],
    ]
    rows = [Row(number, 0.1 * number, 1 / 3, float("nan")) for number in range(1, epoch + 1)]
    return Checkpoint({"scheme": "x", "momentum": 0.1}, rng.normal(size=5), states, rows)


def arrays_of(folder):
    """Return the file that the folder's checkpoint names."""
    return folder / json.loads((folder / INDEX).read_text())["arrays"]


def test_what_is_saved_is_loaded_to_the_bit_and_the_one_before_stays_until_the_next(tmp_path):
    before = tmp_path / INDEX
    for epoch in (1, 2, 10):
        save(tmp_path, example(epoch))
        found = load(tmp_path)
        assert bits(found) == bits(example(epoch))
        assert found.made_with == example(epoch).made_with
        assert [state.w.dtype for own in found.states for state in own][-1] == np.float32
        assert set(tmp_path.iterdir()) == {tmp_path / INDEX, before, arrays_of(tmp_path)}
        before = arrays_of(tmp_path)
        assert before.name.startswith(f"epoch_{epoch}-")
    told = json.loads((tmp_path / INDEX).read_text())
    assert (told["epoch"], told["made_with"]["momentum"]) == (10, 0.1)


def of_5(folder):
    (file,) = folder.glob("epoch_5-*.npz")
    return file


class Crash(BaseException):
    """The power fails: nothing of the program runs any more."""


def crash_in_call(number, monkeypatch):
    """Let a call, counted over all that a save makes to the system, never come back."""
    calls = iter(range(1000))

    def counted(real, happens):
        def call(*args):
            if next(calls) == number:
                if happens:
                    real(*args)
                raise Crash
            return real(*args)

        return call

    monkeypatch.setattr(os, "fsync", counted(os.fsync, happens=False))
    monkeypatch.setattr(Path, "replace", counted(Path.replace, happens=number % 2 == 0))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink, happens=True))


def test_files_that_no_training_has_written_stay(tmp_path):
    save(tmp_path, example(1))
    others = [
        "epoch_best.npz",
        "epoch_1_good.npz",
        "epoch_1.npz",
        "notes.new",
        "checkpoint.json.new",
    ]
    for name in others:
        (tmp_path / name).write_text("somebody's")
    left = tmp_path / f"{INDEX}.0123abcd.new"  # of a program that was killed while it wrote
    left.touch()
    for epoch in (2, 3, 4):
        save(tmp_path, example(epoch))
    assert not left.exists()
    assert [(tmp_path / name).read_text() for name in others] == ["somebody's"] * len(others)
    assert not any(arrays.name.startswith("epoch_2-") for arrays in tmp_path.iterdir())


def test_arrays_that_no_index_names_go_if_the_folder_is_claimed_and_they_are_as_named(tmp_path):
    save(tmp_path, example(3))
    lost = arrays_of(tmp_path)
    (tmp_path / INDEX).unlink()  # as where a program is killed before it has written it
    not_as_named = tmp_path / "epoch_9-0123456789ab.npz"
    not_as_named.write_text("somebody's")
    link = tmp_path / lost.name.replace("epoch_3", "epoch_8")
    with suppress(OSError):  # Windows asks for a right
        link.symlink_to(lost)
    save(tmp_path, example(1))
    assert lost.exists(), "nobody has claimed the folder: another training may be writing"
    save(tmp_path, example(2), Claim(tmp_path).token)
    assert not lost.exists()
    assert not_as_named.read_text() == "somebody's"
    assert link.is_symlink() or os.name == "nt"
    assert len([*tmp_path.glob("epoch_[12]-*.npz")]) == 2


def test_wherever_a_save_is_cut_off_there_is_the_checkpoint_before_or_the_new_one(tmp_path):
    allowed = [bits(example(4)), bits(example(5))]
    again = replace(example(5), w=example(7).w)  # nobody trains to the same bits without waiting
    found = []
    for number in range(100):
        folder = tmp_path / str(number)
        token = Claim(folder).token
        save(folder, example(4), token)
        with pytest.MonkeyPatch.context() as patch:
            crash_in_call(number, patch)
            try:
                save(folder, example(5), token)
                break  # it makes no more calls than that
            except Crash:
                pass
        found.append(allowed.index(bits(load(folder))))
        save(folder, again, token)  # what is left lying there is in nobody's way
        assert bits(load(folder)) == bits(again)
        save(folder, example(6), token)
        named = {folder / INDEX, of_5(folder), arrays_of(folder)}
        assert set(folder.iterdir()) == {folder / LOCK, *named}
    assert found == sorted(found)
    assert {0, 1} == set(found)
    assert number >= 5  # two files, two folders' entries, the old file


def test_one_changed_or_missing_byte_is_found_wherever_it_is(tmp_path):
    save(tmp_path, example(2))
    for name in (INDEX, arrays_of(tmp_path).name):
        file = tmp_path / name
        content = file.read_bytes()
        for place in range(0, len(content), max(len(content) // 60, 1)):
            damaged = bytearray(content)
            damaged[place] ^= 1
            file.write_bytes(damaged)
            if name == INDEX and _reads_alike(damaged, content):
                continue
            with pytest.raises(CheckpointError):
                load(tmp_path)
        for shorter in (content[:-2], b""):
            file.write_bytes(shorter)
            with pytest.raises(CheckpointError, match=f"{name} is damaged"):
                load(tmp_path)
        file.write_bytes(content)
    load(tmp_path)


def _reads_alike(damaged, content):
    """Say whether only the white space differs."""
    try:
        return json.loads(damaged) == json.loads(content)
    except ValueError:
        return False


def rewritten_index(folder, **changes):
    index = json.loads((folder / INDEX).read_text())
    index.pop("sha256_of_this")
    index |= changes
    if index["schema"] < 3:  # which did not say it
        index.pop("before")
    digest = file_format._digest(index)
    (folder / INDEX).write_text(json.dumps(index | {"sha256_of_this": digest}))


def test_another_schema_a_missing_file_and_what_is_no_checkpoint_are_refused_by_name(tmp_path):
    with pytest.raises(CheckpointError, match="there is no checkpoint in"):
        load(tmp_path)
    save(tmp_path, example(1))
    rewritten_index(tmp_path, schema=4)
    with pytest.raises(CheckpointError, match="has schema 4; this program reads 1, 2 and 3"):
        load(tmp_path)
    rewritten_index(tmp_path, schema=3)
    load(tmp_path)
    arrays_of(tmp_path).unlink()
    with pytest.raises(CheckpointError, match=r"epoch_1-\w+\.npz is damaged, or missing"):
        load(tmp_path)
    for text in ("[1]", "{}", "7", "\x00"):
        (tmp_path / INDEX).write_text(text)
        with pytest.raises(CheckpointError, match="is damaged, or no checkpoint"):
            load(tmp_path)


def test_a_pickle_in_the_arrays_is_never_loaded(tmp_path):
    save(tmp_path, example(1))
    file = arrays_of(tmp_path)
    np.savez(file, w=np.array([Crash], dtype=object))
    rewritten_index(tmp_path, sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    with pytest.raises(CheckpointError, match="allow_pickle=False"):
        load(tmp_path)


def test_a_checkpoint_that_does_not_say_which_clock_it_had_is_still_read(tmp_path):
    save(tmp_path, example(3))
    states = example(3).states
    rows = np.array([row[:4] for row in example(3).rows])
    arrays = pack_states(states, w=example(3).w, rows=rows)
    (tmp_path / "epoch_3.npz").write_bytes(arrays)
    digest = hashlib.sha256(arrays).hexdigest()
    rewritten_index(tmp_path, schema=1, arrays="epoch_3.npz", sha256=digest)
    found = load(tmp_path)
    assert bits(found) == bits(example(3))
    assert [row.is_virtual for row in found.rows] == [None] * 3


def test_which_clock_a_row_is_from_is_kept(tmp_path):
    rows = [Row(1, 0.5, 0.5, 0.5, False), Row(2, 0.5, 0.5, 0.5, True), Row(3, 0.5, 0.5, 0.5)]
    save(tmp_path, replace(example(3), rows=rows))
    assert [row.is_virtual for row in load(tmp_path).rows] == [False, True, None]


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"square": np.ones(1)}, r"its part '0\.0\.square' must be \d+ floats, or a number"),
        ({"is_first": np.array(True)}, ".* must be .* or a number"),
        ({f"mean_{k}": None for k in range(7)}, r"its part '0\.0\.w' comes with more than 6"),
        ({"expAvg": None}, "an optimizer's state cannot be kept as 'expAvg'"),
    ],
)
def test_what_could_not_be_read_again_is_refused_where_it_is_written(kept, told, tmp_path):
    made = example(1)
    state = made.states[0][0]
    kept = {name: state.w if one is None else one for name, one in kept.items()}
    states = [[state._replace(kept=kept), *made.states[0][1:]], *made.states[1:]]
    with pytest.raises(CheckpointError, match=f"could not be read again: {told}"):
        save(tmp_path, replace(made, states=states))
    assert not [*tmp_path.iterdir()]
