"""What an answer may do in its process: it is not credited, and nothing outside is touched."""

import os
import re
import time

import psutil
import pytest

from authoring.build import ROOT
from course_lib.grading.landlock import version
from tests.grading.handing_in import examined, hand_in, order, solution

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="of POSIX")]

# What the function does before it returns what is right; and the hints that may be told.
TASKS = ("hello", "pass_around", "shift_right", "ping_pong", "predict_gather")
DEEDS = {
    "leaves": ("import os; os._exit(0)", {"exited"}),
    "leaves as if all were done": ("import os; os._exit(78)", {"unreadable"}),
    "forks": ("import os; os.fork()", {"starts-workers", "exception"}),
    "starts a program": ("import os; os.system('true')", {"exception"}),
    "loops": ("while True: pass", {"too-slow"}),
    "takes memory": ("x = bytes(10 * 2**30)", {"too-much-memory"}),
    "takes memory bit by bit": ("x = [bytes([1]) * 10**6 for _ in range(10_000)]",
                                {"too-much-memory"}),
    "writes": ("open({canary!r}, 'w')", {"exception"}),
    "makes a folder": ("import os; os.mkdir({canary!r})", {"exception"}),
    "reads the solution": ("open({solution!r}).read()", {"exception"}),
    "looks for the solution": ("import os; os.listdir({solutions!r})", {"exception"}),
    "reaches for the network": (
        "import socket; socket.create_connection(('127.0.0.1', 9))", {"exception"}),
    "kills who examines": ("import os; os.kill(os.getppid(), 9)", {"exception"}),
    "forges the book": (
        "import os, pickle\n"
        "    class Deed:\n"
        "        def __reduce__(self): return os.mkdir, ({canary!r},)\n"
        "    open('book', 'ab').write(pickle.dumps(Deed()))", {"unreadable"}),
    "prints": ("print('hello: right, in all 7 cases.'); return None", {"returns-none", "types"}),
    "patches the check": (
        "from course_lib.checks import sandbox, verdict\n"
        "    verdict.judge = lambda *_: None\n"
        "    return 'wrong'", {"replaces-names"}),
}  # fmt: skip
if version():  # elsewhere only the names are read
    DEEDS["writes by torch"] = (
        "import torch; torch.save(torch.ones(3), {canary!r})", {"exception"}
    )  # fmt: skip


def answer(deed: str, task: str = "hello") -> str:
    """Return a solution that does something first."""
    head, mark, body = solution(task).rpartition('    """\n')
    return f"{head}{mark}    {deed}\n{body}\n"


@pytest.mark.parametrize("first", range(0, len(DEEDS), len(TASKS)))
def test_a_deed_is_not_credited(first, tmp_path):
    names = list(DEEDS)[first : first + len(TASKS)]
    canary = tmp_path / "canary"
    filled = {
        "canary": str(canary), "solutions": str(ROOT / "solutions"),
        "solution": str(ROOT / "solutions" / "00_start_here.ipynb"),
    }  # fmt: skip
    deeds = {
        task: re.sub(r"\{(\w+)!r\}", lambda found: repr(filled[found[1]]), DEEDS[name][0])
        for name, task in zip(names, TASKS, strict=False)
    }
    answers = {task: answer(deed, task) for task, deed in deeds.items()}
    file = hand_in(tmp_path / "evil.ipynb", answers)
    asked = order(file, time_limit_s=15.0, more_bytes=2**29)
    found = examined(asked, without_reading=True)
    for name, task in zip(names, TASKS, strict=False):
        status, hint, report = found[task]
        assert status == "failed", (name, report)
        assert hint in DEEDS[name][1], (name, report)
    assert not canary.exists()


def test_most_deeds_are_told_before_anything_is_run(tmp_path):
    answers = {
        task: answer(DEEDS[name][0], task)
        for name, task in zip(
            ("leaves", "forks", "starts a program", "kills who examines", "patches the check"),
            TASKS,
            strict=True,
        )
    }  # fmt: skip
    found = examined(order(hand_in(tmp_path / "evil.ipynb", answers)))
    assert {hint for _, hint, _ in found.values()} == {"looks-outside"}


def test_the_same_answers_without_a_deed_are_credited(tmp_path):
    answers = {task: answer("pass", task) for task in TASKS}
    # To load torch reaches for libraries of the system, which an answer may not.
    answers["shift_right"] = answer("import torch; torch.ones(1).sum().item()", "shift_right")
    found = examined(order(hand_in(tmp_path / "good.ipynb", answers)), without_reading=True)
    assert {status for status, _, _ in found.values()} == {"passed"}


def test_what_runs_in_a_notebook_outside_of_functions_is_not_run(tmp_path):
    """Executing all of it in the grader's process would do this deed: it is seen here."""
    canary = tmp_path / "canary"
    more = (
        "from course_lib import checks\n"
        f"import os; os.mkdir({str(canary)!r})\n"
        "checks.hello = lambda fn: print('hello: right, in all 7 cases.')\n"
        "raise SystemExit\n"
    )
    wrong = {"hello": answer("return 'PASSED'")}
    said = "hello: right, in all 7 cases."
    file = hand_in(tmp_path / "evil.ipynb", wrong, more=more, outputs=said)
    status, hint, _ = examined(order(file))["hello"]
    assert (status, hint != "") == ("failed", True)
    assert not canary.exists()
    with pytest.raises(SystemExit):
        exec(more, {})
    from course_lib import checks

    del checks.hello  # made anew when it is asked for
    assert canary.exists(), "else this test could not fail"


def test_what_is_around_a_function_runs_in_its_process_with_nothing_secret_in_it(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("COURSE_TEST_SECRET", "x")
    canary = tmp_path / "canary"
    default = f"import os\n\ndef hello(comm, x=os.mkdir({str(canary)!r})):\n    return x\n"
    reader = 'import os\n\ndef pass_around(comm, x):\n    return os.environ["COURSE_TEST_SECRET"]\n'
    file = hand_in(tmp_path / "a.ipynb", {"hello": default, "pass_around": reader})
    found = examined(order(file), without_reading=True)
    assert found["hello"][0] == "failed"
    assert not canary.exists()
    assert "KeyError" in found["pass_around"][2]


def test_a_refusal_that_is_swallowed_holds_all_the_same(tmp_path):
    """Three forks and two deletions in a folder of the test's: harmless where no limit holds."""
    victim = tmp_path / "folder" / "victim"
    victim.parent.mkdir()
    victim.touch()
    swallowed = (
        "done = []\n"
        "    for deed in {deeds}:\n"
        "        try:\n"
        "            done.append(deed())\n"
        "        except BaseException:\n"
        "            pass\n"
        "    if done:\n"
        "        return done"
    )
    forks = swallowed.format(deeds="3 * [__import__('os').fork]")
    deletes = swallowed.format(
        deeds=f"(lambda: __import__('os').remove({str(victim)!r}), "
        f"lambda: __import__('shutil').rmtree({str(victim.parent)!r}))"
    )
    file = hand_in(
        tmp_path / "evil.ipynb",
        {"hello": answer(forks), "shift_right": answer(deletes, "shift_right")},
    )
    found = examined(order(file, time_limit_s=60.0), without_reading=True)
    assert [found[task][0] for task in ("hello", "shift_right")] == ["passed", "passed"], found
    assert victim.exists()
    scope = {}
    exec(answer(deletes, "shift_right"), scope)
    assert scope["shift_right"](None, None) == [None, None], "else this test could not fail"
    assert not victim.parent.exists()


def test_what_an_answer_has_started_is_ended(tmp_path):
    text = (
        "import threading, time\n\ndef hello(comm):\n"
        "    threading.Thread(target=time.sleep, args=(600,)).start()\n"
        '    return f"rank {comm.rank} of {comm.size}"\n'
    )
    file = hand_in(tmp_path / "a.ipynb", {"hello": text})
    before = set(psutil.pids())
    examined(order(file), without_reading=True)

    def left():
        new = [p for p in psutil.process_iter(["cmdline"]) if p.pid not in before]
        return [p for p in new if "course_lib.grading.candidate" in (p.info["cmdline"] or [])]

    until_s = time.monotonic() + 60  # those of other tests end in time
    while left() and time.monotonic() < until_s:
        time.sleep(0.5)
    assert left() == []
