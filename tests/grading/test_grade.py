"""A class hands in: right, half right, malicious, and files that are nothing."""

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from authoring.build import ROOT
from course_lib.grading.hall import Graded, Verdict, submissions
from course_lib.grading.table import as_csv, as_tables
from tests.grading.handing_in import hand_in, solution

COMMAND = [sys.executable, "-m", "course_lib", "grade"]
TASKS = ("hello", "pass_around", "shift_right", "ping_pong", "predict_gather")
LOOP = "def {}(comm, *_):\n    while True:\n        pass\n"


def hand_in_all(folder: Path) -> None:
    hand_in(folder / "anna.ipynb", {task: solution(task) for task in TASKS})
    half = {task: solution(task) for task in TASKS[:2]}
    half["shift_right"] = "def shift_right(comm, x):\n    return x\n"
    half["ping_pong"] = "def ping_pong(comm, n_bytes, n_trips)\n    return 1\n"
    hand_in(folder / "ben.ipynb", half)
    said = "right, in all 7 cases."
    evil = {
        "hello": f"def hello(comm):\n    print('hello: {said}')\n    return 'PASSED'\n",
        "pass_around": "import os\ndef pass_around(comm, x):\n    os._exit(0)\n",
        "shift_right": LOOP.format("shift_right"),
        "ping_pong": "def ping_pong(comm, n_bytes, n_trips):\n    return bytes(10 * 2**30)\n",
        "predict_gather": "from course_lib.checks.lecture_00.predict_gather import TASK\n"
        "def predict_gather(n, m):\n    return TASK.expected(n, m)\n",
    }
    patch = f"from course_lib import checks\nchecks.hello = lambda fn: print('{said}')\nexit()\n"
    hand_in(folder / "=HYPERLINK(evil).ipynb", evil, more=patch, outputs=said)
    (folder / "nothing.ipynb").write_text("<html>")
    with (folder / "huge.ipynb").open("wb") as stream:
        stream.truncate(10**10)
    (folder / ".ipynb_checkpoints").mkdir()
    hand_in(folder / ".ipynb_checkpoints" / "anna-checkpoint.ipynb", {})


def table(file: Path) -> dict[str, dict[str, str]]:
    text = file.read_text(encoding="utf-8-sig")
    return {row["submission"]: row for row in csv.DictReader(io.StringIO(text))}


def run_grade(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], cwd=ROOT, capture_output=True, text=True, timeout=300, **more
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="names of files")
def test_a_class_is_graded(tmp_path):
    hand_in_all(tmp_path)
    file = tmp_path / "table.csv"
    words = ("--secret", "5", "--time-limit", "9")
    done = run_grade(str(tmp_path), *words, "--csv", str(file), "--jobs", "2")
    assert done.returncode == 1, done.stderr  # two files could not be graded
    assert "Traceback" not in done.stderr + done.stdout
    one = run_grade(str(tmp_path / "nothing.ipynb"), str(tmp_path / "ben.ipynb"), *words)
    (line,) = (line for line in one.stdout.splitlines() if "ben.ipynb" in line)
    assert [line.rpartition("/")[2].split()] == [
        line.split() for line in done.stdout.splitlines() if line.startswith("ben.ipynb")
    ], "verdicts do not depend on what else is graded, nor on how much at a time"
    rows = table(file)
    assert list(rows) == ["'=HYPERLINK(evil).ipynb", "anna.ipynb", "ben.ipynb", "huge.ipynb",
                          "nothing.ipynb"]  # fmt: skip
    assert [rows["anna.ipynb"][task] for task in TASKS] == ["passed"] * 5
    assert [rows["ben.ipynb"][task] for task in TASKS] == [
        "passed", "passed", "failed: no-messages", "failed: syntax-error", "not written",
    ]  # fmt: skip
    evil = [rows["'=HYPERLINK(evil).ipynb"][task] for task in TASKS]
    assert evil[0].startswith("failed: ")
    assert evil[1:] == [
        "failed: looks-outside", "failed: too-slow", "failed: too-much-memory",
        "failed: looks-outside",
    ]  # fmt: skip
    sums = {name: (row["passed"], row["of"]) for name, row in rows.items()}
    assert sums["anna.ipynb"] == ("5", "5")
    assert sums["ben.ipynb"] == ("2", "5")
    assert sums["'=HYPERLINK(evil).ipynb"] == ("0", "5")
    assert rows["huge.ipynb"]["note"] == "larger than 20 MB"
    assert rows["nothing.ipynb"]["note"] == "no notebook: not JSON"
    assert "anna.ipynb" in done.stdout
    assert "nothing.ipynb: no notebook: not JSON" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize("is_kill", [False, True])
def test_ctrl_c_ends_all_and_shows_what_is_known_and_even_a_kill_leaves_nothing(tmp_path, is_kill):
    hand_in(tmp_path / "a.ipynb", {})
    hand_in(tmp_path / "b.ipynb", {"hello": LOOP.format("hello")})
    hand_in(tmp_path / "c.ipynb", {})
    command = [*COMMAND, str(tmp_path), "--jobs", "1", "--time-limit", "200"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    pipes["env"] = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        candidate = None
        while candidate is None:
            assert process.poll() is None
            children = psutil.Process(process.pid).children(recursive=True)
            found = [c for c in children if c.is_running() and "candidate" in " ".join(_words(c))]
            candidate = found[0] if found else None
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL if is_kill else signal.SIGINT)
        out, err = process.communicate(timeout=60)
    _, alive = psutil.wait_procs([*children, candidate], timeout=15)
    assert not alive
    assert not list(scratch.iterdir())
    if not is_kill:
        assert process.returncode == 130, err
        assert "Traceback" not in err
        assert err.splitlines()[-1] == "stopped"
        assert "a.ipynb" in out
        assert "c.ipynb: stopped before it was examined" in out


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["missing.ipynb"], "there is no file or folder missing.ipynb"),
        ([str(ROOT / "docs")], "no notebook"),
        ([str(ROOT / "exercises"), "--set", "77"], "--set takes one of 00, 01"),
        ([str(ROOT / "exercises"), "--csv", "table.txt"], "ends in .csv"),
        ([str(ROOT / "exercises"), "--time-limit", "0"], "--time-limit takes seconds from 1"),
        ([str(ROOT / "exercises"), "--secret", "x"], "--secret takes whole numbers of 1 or more"),
        ([str(ROOT / "exercises"), "--secret", "0"], "of 1 or more, got '0'"),  # nothing random
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(words, says, capsys):
    from course_lib.cli.grade import main

    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert says in capsys.readouterr().err


def test_the_help_says_what_it_does_not_protect_from(capsys):
    from course_lib.cli.grade import main

    with pytest.raises(SystemExit):
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    for words in ("no sandbox", "container", "no network", "no secrets"):
        assert words in told


def test_what_a_spreadsheet_would_take_for_a_formula_is_none():
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "plain", 'a "quoted", name']
    rows = list(csv.reader(io.StringIO(as_csv([Graded(name, "00") for name in names]))))[1:]
    assert [row[0] for row in rows] == [*(f"'{name}" for name in names[:5]), *names[5:]]


def test_sets_have_tables_of_their_own_and_one_file():
    one = Graded("a", "00", {"hello": Verdict("passed"), "ping_pong": Verdict("failed", "late")})
    other = Graded("b", "02", {"combine": Verdict("not written yet")}, "ended early")
    shown = as_tables([one, other])
    assert shown.index("exercises 00") < shown.index("exercises 02")
    assert "1 of 5" in shown
    assert "failed: late" in shown
    assert shown.endswith("b: ended early")
    head, first, second = csv.reader(io.StringIO(as_csv([one, other])))
    assert first[head.index("combine")] == ""
    assert second[head.index("combine")] == "not written"
    assert second[head.index("map_reduce")] == "not examined"


def test_files_are_named_and_counted_once(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("b/x.ipynb", "a.ipynb", "c.txt", "\x1b[2J.ipynb"):
        (tmp_path / name).write_text("")
    names = [name for name, _ in submissions([tmp_path])]
    assert names == ["\\x1b[2J.ipynb", "a.ipynb", "b/x.ipynb"]
    assert len(submissions([tmp_path, tmp_path / "a.ipynb"])) == 3
    (tmp_path / "b" / "a.ipynb").write_text("")
    two = [name for name, _ in submissions([tmp_path / "b", tmp_path / "a.ipynb"])]
    assert len(set(two)) == 3, "two of one name are told apart"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="links and pipes in the file system")
def test_links_and_pipes_have_a_row_and_take_nobodys_place(tmp_path):
    folder = tmp_path / "all"
    folder.mkdir()
    hand_in(
        folder / "zed.IPYNB", {"hello": "def hello(comm):\n    raise ValueError('\\x1b[2J!')\n"}
    )
    (folder / "anna.ipynb").symlink_to("zed.IPYNB")
    (folder / "ben.ipynb").symlink_to("nowhere")
    os.mkfifo(folder / "carla.ipynb")
    (folder / "no.ipynb").mkdir()
    (tmp_path / "given.ipynb").symlink_to(folder / "zed.IPYNB")
    names = [name for name, _ in submissions([folder])]
    assert names == ["anna.ipynb", "ben.ipynb", "carla.ipynb", "zed.IPYNB"]
    assert submissions([tmp_path / "given.ipynb"])[0][1] == folder / "zed.IPYNB"
    graded = run_grade(str(folder), "--reports", "--csv", str(tmp_path / "class.csv"))
    rows = table(tmp_path / "class.csv")
    assert [rows[name]["note"].split(";")[0] for name in names] == [
        "a link to another file", "a link to another file", "no file that can be read", "",
    ]  # fmt: skip
    assert rows["zed.IPYNB"]["hello"] == "failed: exception"
    assert "ValueError: \\x1b[2J!" in graded.stdout, "what moves a cursor is written out"
    assert "\x1b" not in graded.stdout
