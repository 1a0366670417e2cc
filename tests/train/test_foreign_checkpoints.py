"""Somebody else's checkpoint, or a damaged one, is refused by its file's name, in little memory."""

import hashlib
import io
import json
import os
import random
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from course_lib.cli.train import main
from course_lib.train import index as file_format
from course_lib.train.checkpoint import INDEX, Checkpoint, load, save
from course_lib.train.errors import CheckpointError
from course_lib.train.row import Row
from course_lib.train.states import State, pack_states
from tests.train.tasks import bits
from tests.train.test_checkpoint import arrays_of
from tests.train.test_command import SMALL

PARAMETERS = 1000
N_MUTATIONS = 200
STRANGE = [
    None, True, -1, 0, 1.5, 2, 10**30, float("nan"), float("inf"), "", "x", "..", "/dev/zero",
    "../epoch_1.npz", [], [[]], {}, {"a": [1]}, "epoch_2.npz", "\x1b[2J",
]  # fmt: skip


def plain(epochs=3, n=PARAMETERS, **made_with):
    rng = np.random.default_rng(0)
    states = [[State(rng.normal(size=n), {"velocity": rng.normal(size=n)}, 7)] for _ in range(2)]
    rows = [Row(epoch, 0.5, 0.5, 0.5, False) for epoch in range(1, epochs + 1)]
    told = {"scheme": "x", "workers": 2, "momentum": 0.1, "parameters": n} | made_with
    return Checkpoint(told, rng.normal(size=n), states, rows)


@pytest.fixture
def folder(tmp_path):
    save(tmp_path, plain())
    return tmp_path


def forge(folder, content=None, **changes):
    """Write other arrays, or another index, with all hashes as they have to be."""
    index = json.loads((folder / INDEX).read_text())
    index.pop("sha256_of_this")
    file = folder / index["arrays"]
    if content is not None:
        file.write_bytes(content)
        index["sha256"] = hashlib.sha256(content).hexdigest()
    index |= changes
    digest = file_format._digest(index)
    (folder / INDEX).write_text(json.dumps(index | {"sha256_of_this": digest}))


def refusal_of(folder):
    """Return why the checkpoint is refused; None if it is not."""
    try:
        load(folder)
    except CheckpointError as error:
        return str(error)
    return None


def zipped(members, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def as_npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def members_of(folder):
    with zipfile.ZipFile(arrays_of(folder)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, " " * 10**6, "NaN", '"x"'])
def test_an_index_that_is_none_is_refused_also_by_the_command(folder, capsys, text):
    (folder / INDEX).write_text(text)
    assert f"{folder / INDEX} is damaged, or no checkpoint" in refusal_of(folder)
    with pytest.raises(SystemExit) as refused:
        main(f"--backend simulated --resume --checkpoint {folder} {SMALL}".split())
    assert refused.value.code == 2
    assert INDEX in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes",
    [
        {"epoch": True}, {"epoch": 1.0}, {"epoch": 0}, {"epoch": 10**9}, {"epoch": None},
        {"schema": 2.0}, {"schema": None}, {"schema": "2"}, {"arrays": 7}, {"arrays": "../x.npz"},
        {"arrays": "epoch_1.npz/../../x"}, {"sha256": None}, {"made_with": []},
        {"made_with": {"scheme": []}}, {"made_with": {"workers": True}}, {"more": 1},
        {"made_with": {"momentum": float("nan")}}, {"made_with": {"scheme": "\x1b[2J"}},
        {"made_with": {"x" * 1000: 1}}, {"made_with": {"workers": 10**30}},
    ],
)  # fmt: skip
def test_a_wrong_value_in_the_index_is_refused(folder, changes):
    forge(folder, **changes)
    assert "is damaged, or no checkpoint" in refusal_of(folder)


@pytest.mark.parametrize(
    "rows",
    [
        [[np.inf, 0, 0, 0, 0]], [[np.nan, 0, 0, 0, 0]], [[1e300, 0, 0, 0, 0]], [[2, 0, 0, 0, 0]],
        [[1, 0, 0, 0]], [[[1]]], [], 7, [["x"] * 5],
    ],
)  # fmt: skip
def test_rows_that_are_not_those_of_the_epochs_are_refused(folder, rows):
    forge(folder, pack_states(plain().states, w=plain().w, rows=np.array(rows)), epoch=1)
    assert "epoch_3" in refusal_of(folder)


def test_states_of_another_model_or_of_other_ranks_are_refused(folder):
    rows = np.array(plain().rows, dtype=float)
    small = plain(n=PARAMETERS - 1)
    for states, w in [
        (plain().states, small.w),
        (plain().states * 2, plain().w),
        ([], plain().w),
        (plain().states, plain().w.astype(int)),
        ([[State(plain().w, {"velocity": np.ones(3)}, 7)]], plain().w),
        ([[State(plain().w, {}, -7)]], plain().w),
        ([[State(np.ones((2, 2)), {}, 7)]], plain().w),
    ]:
        forge(folder, pack_states(states, w=w, rows=rows))
        assert "is damaged, or missing: it" in refusal_of(folder)


def test_states_that_the_model_cannot_be_made_of_are_refused(folder):
    good = plain()
    rows = np.array(good.rows, dtype=float)

    def spoiled(change):
        return [[change(state) for state in own] for own in good.states]

    for states in [
        spoiled(lambda state: State(state.w[:5], {}, state.n_steps)),
        spoiled(lambda state: State(state.w.astype("f4"), {}, state.n_steps)),
        spoiled(lambda state: state._replace(kept=single(state.kept))),
        [[], []],
    ]:
        forge(folder, pack_states(states, w=good.w, rows=rows))
        assert "is damaged, or missing: its " in refusal_of(folder)
    forge(folder, pack_states([good.states[0], []], w=good.w, rows=rows))
    assert refusal_of(folder) is None  # a rank that only serves, or only works, steps nothing


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (lambda velocity: {"mean": velocity}, "state must be one of SGD, with ('velocity',)"),
        (lambda velocity: {"velocity": velocity[0]}, "but velocity is ()"),
    ],
)
def test_a_state_that_is_no_optimizers_is_refused_in_a_sentence(tmp_path, capsys, kept, told):
    words = f"--backend simulated --workers 2 --checkpoint {tmp_path} {SMALL}".split()
    assert main([*words, "--epochs", "1"]) == 0
    made = load(tmp_path)
    states = [
        [state._replace(kept=kept(state.kept["velocity"])) for state in own] for own in made.states
    ]
    forge(tmp_path, pack_states(states, w=made.w, rows=np.array(made.rows, dtype=float)))
    assert load(tmp_path).made_with == made.made_with  # nothing is wrong with the file itself
    capsys.readouterr()
    assert main([*words, "--epochs", "2", "--resume"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"the checkpoint in {tmp_path} is damaged, in part 0 of rank 0: ")
    assert told in said
    assert "Traceback" not in said


def single(kept):
    return {name: array.astype("f4") for name, array in kept.items()}


def test_rates_that_auto_chose_by_must_be_there(tmp_path, capsys):
    words = f"--backend simulated --allreduce auto --checkpoint {tmp_path} {SMALL}"
    assert main(words.split()) == 0
    kept = json.loads((tmp_path / INDEX).read_text())["made_with"]
    del kept["alpha_s"]
    forge(tmp_path, made_with=kept)
    with pytest.raises(SystemExit):
        main(f"{words} --resume".split())
    assert "lacks the alpha_s that --allreduce auto chose by" in capsys.readouterr().err


def test_members_that_no_checkpoint_has_are_not_read(folder):
    good = members_of(folder)
    for wrong in [
        [("evil.npy", as_npy(np.ones(2)))],
        [("../w.npy", as_npy(np.ones(2)))],
        [("0.9.w.npy", as_npy(np.ones(2)))],
        [("epoch.npy", as_npy(np.ones(2)))],
        [("1.count.npy", as_npy(np.array(10**15)))],
        [("w.npy", as_npy(np.array([{}], dtype=object)))],
        [("w.npy", as_npy(np.ones(4))[:-8])],
        [("w.npy", as_npy(np.ones((2, 2), order="F")))],
        [("w.npy", as_npy(np.ones(2)).replace(b"(2,)", b"(9" + b"9" * 9 + b",)"))],
        [("w.npy", b"")],
        [("w.npy", zipped(good))],
    ]:
        names = {name for name, _ in wrong}
        kept = [(name, content) for name, content in good if name not in names]
        forge(folder, zipped([*kept, *wrong]))
        assert "is damaged, or missing: it" in refusal_of(folder), wrong
    forge(folder, zipped(good))
    assert refusal_of(folder) is None


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_there_twice_encrypted_or_compressed_are_refused(folder):
    good = members_of(folder)
    forge(folder, zipped([*good, good[-1]]))
    assert "is there twice" in refusal_of(folder)
    forge(folder, zipped(good, zipfile.ZIP_DEFLATED))
    assert "compressed or encrypted" in refusal_of(folder)
    encrypted = bytearray(zipped(good))
    at = encrypted.index(b"PK\x01\x02")
    struct.pack_into("<H", encrypted, at + 8, 1)
    forge(folder, bytes(encrypted))
    assert "compressed or encrypted" in refusal_of(folder)


def bomb():
    """Return 100 MB of zeros in 100 KB, in a member that a checkpoint does have."""
    zeros = as_npy(np.zeros(12_500_000))
    return zipped([("w.npy", zeros)], zipfile.ZIP_DEFLATED)


def overlapping():
    """Return an archive whose many names all stand for the same bytes."""
    one = zipped([("w.npy", as_npy(np.zeros(PARAMETERS)))])
    at = one.index(b"PK\x01\x02")
    entry, end = one[at : one.index(b"PK\x05\x06")], bytearray(one[one.index(b"PK\x05\x06") :])
    count = 2000
    struct.pack_into("<HHL", end, 8, count, count, count * len(entry))
    return one[:at] + entry * count + bytes(end)


def crowded():
    """Return an archive of nothing but names."""
    return zipped([(f"{number}.count.npy", b"") for number in range(500)])


@pytest.mark.parametrize("made", [bomb, overlapping, crowded])
def test_an_archive_that_swells_takes_no_more_memory_than_the_model(folder, made):
    forge(folder, made())
    of_model = 8 * PARAMETERS * 5 + 3 * 2**16
    tracemalloc.start()
    try:
        assert refusal_of(folder) is not None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * of_model


def test_a_file_that_is_larger_than_the_model_needs_is_not_opened(folder):
    with arrays_of(folder).open("r+b") as file:
        file.truncate(10**10)  # of which nothing lies on the disk
    assert "10,000,000,000 bytes, and at most" in refusal_of(folder)
    with (folder / INDEX).open("r+b") as file:
        file.truncate(10**10)
    assert "10,000,000,000 bytes, and at most" in refusal_of(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(folder):
    for file in (arrays_of(folder), folder / INDEX):
        file.unlink()
        os.mkfifo(file)
        assert "it is no plain file" in refusal_of(folder)


def test_reading_what_was_saved_takes_three_times_its_bytes(tmp_path):
    save(tmp_path, plain(n=200_000))
    n_bytes = arrays_of(tmp_path).stat().st_size
    tracemalloc.start()
    try:
        load(tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * n_bytes


def changed(content, rng):
    """Flip a few bytes, cut off the end, or move a part."""
    changed = bytearray(content)
    kind = rng.choice(["flip", "flip", "cut", "move"])
    if kind == "flip":
        # The directory at the end and the headers at the start are where it hurts.
        near = rng.choice([rng.randrange(len(changed)), rng.randrange(200), -rng.randrange(1, 900)])
        for at in range(near, near + rng.randint(1, 4)):
            changed[at % len(changed)] = rng.randrange(256)
    elif kind == "cut":
        del changed[rng.randrange(len(changed)) :]
    else:
        at, to = rng.randrange(len(changed)), rng.randrange(len(changed))
        changed[to : to + 40] = changed[at : at + 40]
    return bytes(changed)


def with_strange(value, rng):
    """Put something strange somewhere into a mapping."""
    value = dict(value)
    key = rng.choice(list(value))
    if isinstance(value[key], dict) and rng.random() < 0.7:
        value[key] = with_strange(value[key], rng)
    else:
        value[key] = rng.choice(STRANGE)
    return value


@pytest.mark.slow
@pytest.mark.parametrize("forged", [False, True])
def test_whatever_is_changed_it_is_loaded_as_it_was_or_refused_by_name(folder, forged):
    rng = random.Random(forged)
    save(folder, plain(n=20))
    files = {file: file.read_bytes() for file in (folder / INDEX, arrays_of(folder))}
    refused = 0
    for _ in range(N_MUTATIONS):
        for file, content in files.items():
            file.write_bytes(content)
        file, content = rng.choice(list(files.items()))
        if not forged:
            file.write_bytes(changed(content, rng))
        elif file.name == INDEX:
            index = with_strange(json.loads(content), rng)
            index.pop("sha256_of_this", None)
            forge(folder, **index)
        else:
            forge(folder, changed(content, rng))
        told = refusal_of(folder)
        assert told is None or str(folder / INDEX) in told or str(folder / "epoch_") in told
        assert told is not None or forged or bits(load(folder)) == bits(plain(n=20))
        refused += told is not None
    assert refused > N_MUTATIONS // 2


@pytest.mark.parametrize(
    ("made_with", "told"),
    [
        ({"parameters": 3.0}, "is of a model with 3.0 parameters; this one has 3"),
        ({"alpha_s": "abc", "beta_s_per_byte": 1.0, "gamma_s_per_byte": 1.0}, "alpha_s 'abc'"),
        ({"alpha_s": -1.0, "beta_s_per_byte": 1.0, "gamma_s_per_byte": 1.0}, "alpha_s -1.0"),
    ],
)
def test_an_option_of_another_kind_is_refused_before_arrays_are_read(
    tmp_path, capsys, made_with, told
):
    words = f"--allreduce auto --backend simulated {SMALL} --checkpoint {tmp_path}".split()
    assert main([*words, "--epochs", "1"]) == 0
    index = json.loads((tmp_path / INDEX).read_text())
    forge(tmp_path, made_with=index["made_with"] | made_with)
    with arrays_of(tmp_path).open("r+b") as file:
        file.truncate(10**10)
    with pytest.raises(SystemExit):
        main([*words, "--epochs", "2", "--resume"])
    assert told in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == [INDEX, arrays_of(tmp_path).name]
