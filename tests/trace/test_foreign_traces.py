"""Somebody else's trace, or a damaged one, is refused at loading, by its file's name, or drawn."""

import json
import os
import random
import re

import numpy as np
import pytest

from course_lib import Trace, run
from course_lib.collectives import allreduce_ring
from course_lib.trace.checking import KINDS
from course_lib.trace.events import Fault
from course_lib.viz import export_page

N_MUTATIONS = 400
STRANGE = [
    None, True, False, 0, 1, -1, 1.5, -0.5, 9, 10**30, 10**400, 1e308, 5e-324, float("nan"),
    float("inf"), "", "x", "4", [], [[]], [None], {}, {"$float": "x"}, {"$float": None}, [0] * 20,
]  # fmt: skip


def everything(comm):
    """Leave an event of every kind."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    with comm.compute("work", flops=1e6 * (1 + comm.rank)):
        comm.note("loss", {"value": [1.5, float("nan")], "$key": None})
    comm.sendrecv(np.ones((2, 3)), dst=right, src=left, tag="round")
    comm.send(np.ones(2), dst=right)
    comm.recv(src=left)
    comm.barrier()


@pytest.fixture(scope="module")
def content():
    def program(comm):
        everything(comm)
        allreduce_ring(comm, np.ones(4))

    trace = run(program, workers=3, backend="simulated").trace
    trace.faults.append(Fault(1, "Crash", "it went", 1e-6))
    text = trace.to_json()
    assert all(len(getattr(trace, name)) > 0 for name in KINDS)
    return text


def saved(path, content):
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def places(content, path=()):
    """List the way to every value."""
    yield path
    if isinstance(content, dict | list):
        keys = content if isinstance(content, dict) else range(len(content))
        for key in keys:
            yield from places(content[key], (*path, key))


def mutated(content, rng):
    """Change, remove or double one value, wherever it is."""
    content = json.loads(json.dumps(content))
    *way, last = rng.choice([path for path in places(content) if path])
    inside = content
    for key in way:
        inside = inside[key]
    what = rng.choice(["strange", "strange", "remove", "double"])
    if what == "strange":
        inside[last] = rng.choice(STRANGE)
    elif what == "remove":
        del inside[last]
    elif isinstance(inside, list):
        inside.insert(last, inside[last])
    return content


def flipped(text, rng):
    """Change a few characters, or cut the text off."""
    letters = list(text)
    for _ in range(rng.randint(1, 3)):
        letters[rng.randrange(len(letters))] = rng.choice('0123456789-.eE,:[]{}"nx')
    return "".join(letters[: rng.choice([len(letters), rng.randrange(len(letters))])])


def refusal_of(file):
    """Return the trace, or why it is refused."""
    try:
        return Trace.load(file)
    except ValueError as error:
        return error


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_changed_in_a_file_it_is_refused_at_loading_or_can_be_drawn(
    content, tmp_path, seed
):
    rng = random.Random(seed)
    good, file = json.loads(content), tmp_path / "trace.json"
    drawn = 0
    for number in range(N_MUTATIONS // 2):
        saved(file, flipped(content, rng) if number % 4 == 0 else mutated(good, rng))
        trace = refusal_of(file)
        if isinstance(trace, ValueError):
            assert type(trace) is ValueError
            assert str(file) in str(trace)
            continue
        drawn += 1
        export_page(trace, tmp_path / "page.html")
        trace.table(), trace.messages_sent(), trace.bytes_received(), trace.rounds(), repr(trace)
    assert 0 < drawn < N_MUTATIONS // 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": True}, "a trace of schema 1, got True"),
        ({"schema": 1.0}, "a trace of schema 1, got 1.0"),
        ({"size": "3"}, "size must be a number of ranks from 1 to 10,000, got '3'"),
        ({"size": 2}, "messages, row 3: src must be a rank of this run, got 2"),
        ({"size": -1}, "got -1"),
        ({"size": 1.5}, "got 1.5"),
        ({"size": None}, "got None"),
        ({"size": 10**12}, "got 1000000000000"),
        ({"clock": "x"}, "clock must be one of ('measured', 'virtual'), got 'x'"),
        ({"backend": 7}, "backend must be a text, got 7"),
        ({"messages": None}, "messages must have the fields src, dst, tag"),
        ({"waits": []}, "waits must have the fields rank, verb, peer"),
    ],
)
def test_what_no_run_can_have_done_is_named_with_the_file(content, tmp_path, change, sentence):
    file = saved(tmp_path / "foreign.json", json.loads(content) | change)
    with pytest.raises(ValueError, match=re.escape(sentence)) as refused:
        Trace.load(file)
    assert str(refused.value).startswith(f"{file} holds no trace that can be read: ")


@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        ("messages", "src", -1), ("messages", "src", 3), ("messages", "dst", True),
        ("messages", "tag", 1.5), ("messages", "dtype", None), ("messages", "shape", "x"),
        ("messages", "shape", [1.0]), ("messages", "shape", [True]), ("messages", "n_bytes", -1),
        ("messages", "n_bytes", 2**64), ("messages", "posted_s", float("nan")),
        ("messages", "received_s", -1.0), ("messages", "received_s", "x"),
        ("messages", "arrived_s", float("inf")), ("messages", "comm", 0),
        ("messages", "posted_s", 1e9), ("computes", "label", []), ("computes", "flops", None),
        ("computes", "start_s", 10**400), ("waits", "peer", 9), ("waits", "verb", None),
        ("waits", "end_s", 0), ("notes", "rank", None), ("notes", "value", {"$float": "x"}),
        ("notes", "value", {"$float": None}), ("faults", "rank", "0"), ("faults", "kind", None),
        ("collectives", "number", -1), ("collectives", "number", 0.0),
        ("collectives", "comm", None),
    ],
)  # fmt: skip
def test_a_wrong_value_is_found_in_every_column(content, table, field, value):
    foreign = json.loads(content)
    column = foreign[table]["fields"].index(field)
    foreign[table]["rows"][-1][column] = value
    with pytest.raises(ValueError, match=rf"^{table}.*({field}|\$float|sent_s) must"):
        Trace.from_json(json.dumps(foreign))


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "", "\x00", "NaN", "1e999"])
def test_text_that_is_no_trace_is_refused_by_the_name_of_its_file(tmp_path, text):
    with pytest.raises(ValueError, match=r"foreign\.json holds no trace that can be read"):
        Trace.load(saved(tmp_path / "foreign.json", text))


def test_bytes_that_are_no_text_are_refused_and_a_missing_file_is_a_missing_file(tmp_path):
    (tmp_path / "binary.json").write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match=r"binary\.json holds no trace"):
        Trace.load(tmp_path / "binary.json")
    with pytest.raises(FileNotFoundError, match=r"missing\.json"):
        Trace.load(tmp_path / "missing.json")


def test_a_run_too_short_to_be_divided_is_drawn(tmp_path):
    trace = Trace("simulated", "virtual", 1, faults=[Fault(0, "Crash", "it went", 5e-324)])
    export_page(Trace.from_json(trace.to_json()), tmp_path / "page.html")


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
@pytest.mark.parametrize("kind", ["device", "pipe", "too long"])
def test_a_file_that_never_ends_or_is_too_long_is_not_read(tmp_path, kind):
    file = tmp_path / "trace.json"
    if kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        with file.open("wb") as hole:
            hole.truncate(2**34 + 1)
    told = "17,179,869,185 bytes, and at most" if kind == "too long" else "it is no plain file"
    with pytest.raises(ValueError, match=rf"trace\.json holds no trace .*: .*{told}"):
        Trace.load(file)
