"""Slips of beginners get the one sentence that they need, in whatever task they happen."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from authoring.scripts import read_script
from course_lib import checks
from course_lib.checks.check import check
from course_lib.checks.diagnosis import Diagnosis, mishap_fault
from course_lib.checks.habits import explained
from course_lib.checks.lecture_00.pass_around import TASK as PASSING
from course_lib.checks.lecture_00.ping_pong import TASK as PING_PONG
from course_lib.checks.lecture_01.gradient_step import TASK as STEP
from course_lib.checks.lecture_02.combine import TASK as COMBINE
from course_lib.checks.sandbox import Mishap
from course_lib.checks.task import Case, Hint
from tests.exercises.answers import RIGHT_ANSWERS, SETS, TASKS, load, name_of
from tests.exercises.test_answers import task_of

box: dict[int, Any] = {}

# An exception's class, its text, the line of the source, the hint, and words of its sentence.
SLIPS = [
    ("TypeError", "'int' object is not callable", "return comm.rank()", "calls-a-number", "leave"),
    ("TypeError", "can only concatenate str (not \"int\") to str", "'rank ' + comm.rank",
     "text-and-number", "f-string"),
    ("TypeError", "Communicator.send() got an unexpected keyword argument 'dest'",
     "comm.send(x, dest=1)", "other-keyword", "dst=1"),
    ("TypeError", "Communicator.send() missing 1 required positional argument: 'dst'",
     "comm.send(x)", "verb-arguments", "comm.send(array, dst)"),
    ("TypeError", "Communicator.sendrecv() missing 1 required positional argument: 'src'",
     "comm.sendrecv(x, 1)", "verb-arguments", "comm.sendrecv(array, dst, src)"),
    ("TypeError", "array must be a NumPy array or a torch tensor, got int; np.asarray(array)",
     "comm.send(1, x)", "not-an-array", "got int"),
    ("TypeError", "unsupported operand type(s) for +: 'NoneType' and 'int'", "a + 1",
     "none-value", "is None"),
    ("AttributeError", "'SimulatedCommunicator' object has no attribute 'Get_rank'",
     "comm.Get_rank()", "misspelt", "comm.rank"),
    ("AttributeError", "'SimulatedCommunicator' object has no attribute 'sent'", "comm.sent(x)",
     "no-such-verb", "comm.send is meant"),
    ("AttributeError", "'SimulatedCommunicator' object has no attribute 'bcast'", "comm.bcast(x)",
     "no-such-verb", "this task is for send, recv"),
    ("AttributeError", "'NoneType' object has no attribute 'copy'", "x.copy()", "none-value", ""),
    ("ValueError", "dst must be a rank from 0 to 3, got 4 (on rank 3)",
     "comm.send(x, comm.rank + 1)", "no-modulo", "(comm.rank + 1) % comm.size"),
    ("ValueError", "dst must be another rank, got 0, which is this rank itself",
     "comm.send(x, 0)", "sends-to-itself", "leave it out of the loop"),
    ("ValueError", "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
     "signature (n?,k),(k,m?)->(n?,m?) (size 4 is different from 3)", "X @ w", "matrix-product",
     "w[1:] belongs to the columns"),
    ("ValueError", "operands could not be broadcast together with shapes (5,) (3,)", "a + b",
     "broadcast", "print the shape"),
    ("ValueError", "need at least one array to stack", "np.stack([])", "nothing-to-join", "empty"),
    ("ValueError", "too many values to unpack (expected 2)", "src, x = comm.recv(0)", "unpacking",
     "recv_any two values"),
    ("ValueError", "too many values to unpack (expected 2)", "start, stop = bounds", "unpacking",
     "how many names stand on the left"),
    ("UnboundLocalError", "cannot access local variable 'total' where it is not associated",
     "return total", "not-yet-set", "total is used before it is set"),
    ("KeyError", "-1", "box[comm.rank - 1]", "no-such-key", "share nothing"),
    ("IndexError", "list index out of range", "parts[4]", "no-such-item", "0 to n - 1"),
    ("RecursionError", "maximum recursion depth exceeded", "pass_around(comm, x)", "calls-itself",
     "pass_around calls itself"),
    ("ZeroDivisionError", "division by zero", "1 / 0", "divides-by-zero", "is 0"),
]  # fmt: skip


@pytest.mark.parametrize(("original", "text", "line", "hint", "words"), SLIPS)
def test_exception_is_told_as_what_was_meant(
    original: str, text: str, line: str, hint: str, words: str
) -> None:
    says = (
        f"rank 3 failed at cell In[5], line 2: {original}: {text}\n\nTraceback of rank 3 (most "
        f"recent call last):\n  cell In[5], line 2, in pass_around\n    {line}"
    )
    fault = mishap_fault(PASSING, Case(4, ""), Mishap("WorkerError", says, original, 3))
    assert fault.hint.id == hint
    assert words in fault.hint.text


def test_exit_as_one_types_it_in_a_notebook_is_told_to_be_left_out() -> None:
    text = "the function uses the variable 'exit', a ZMQExitAutocall, which cannot be sent"
    fault = mishap_fault(PASSING, Case(4, ""), Mishap("SerializationError", text))
    assert fault.hint.id == "exited"
    other = mishap_fault(PASSING, Case(4, ""), Mishap("SerializationError", "the variable 'lock'"))
    assert other.hint.id == "cannot-travel"


def test_number_of_workers_that_is_written_down_is_told_from_a_missing_modulo() -> None:
    says = "rank 0 failed at cell In[5], line 2: ValueError: dst must be a rank from 0 to 2, got 3"
    text = f"{says}\n\nTraceback\n  cell In[5], line 2\n    comm.send(x, 3)"
    fault = mishap_fault(PASSING, Case(3, ""), Mishap("WorkerError", text, "ValueError", 0))
    assert fault.hint.id == "fixed-size"


def mailbox(comm: Any, x: Any) -> Any:
    box[comm.rank] = x
    return box[comm.rank - 1]


def drops_the_result(comm: Any, x: Any) -> Any:
    x * 2
    return x


def drops_what_arrives(comm: Any, x: Any) -> Any:
    comm.recv(0)
    return x


def prints(comm: Any, x: Any) -> None:
    print(x)


def never_reads_x(comm: Any, x: Any) -> Any:
    return comm.rank


def starts_a_thread(comm: Any, x: Any) -> Any:
    import threading

    threading.Thread(target=print).start()
    return x


WRONG = Diagnosis("wrong", Hint("wrong-value", "work it out"), expected="1", got="2")
HABITS = [
    (mailbox, "shared-nothing", "a copy of box of its own"),
    (drops_the_result, "result-dropped", "x * 2"),
    (drops_what_arrives, "result-dropped", "comm.recv(0)"),
    (prints, "prints-only", "return hands it over"),
    (never_reads_x, "constant", "never reads it"),
    (starts_a_thread, "thread", "leave threads out"),
    (lambda comm, x: x, "wrong-value", "work it out"),
]


@pytest.mark.parametrize(("fn", "hint", "words"), HABITS)
def test_text_of_a_function_explains_a_wrong_result(
    fn: Callable[..., Any], hint: str, words: str
) -> None:
    fault = explained(PASSING, WRONG, fn)
    assert fault.hint.id == hint
    assert words in fault.hint.text


def test_hint_that_knows_the_mistake_is_kept() -> None:
    known = Diagnosis("wrong", Hint("climbs", "subtract"), expected="1", got="2")
    assert explained(PASSING, known, mailbox).hint.id == "climbs"
    assert explained(PASSING, known, never_reads_x).hint.id == "constant"


def test_function_without_a_text_is_judged_as_before() -> None:
    assert explained(PASSING, WRONG, len).hint.id == "wrong-value"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones((1, 2)), "a table with one row"),
        (np.ones((2, 1)), "a table with one column"),
        (np.ones((2, 3)), "y[:, None]"),
        (np.ones(3), "table * array[:, None]"),
        ([1.0, 2.0], "np.array(...)"),
        (3.0, "one number where an array should be"),
    ],
)
def test_strange_shape_is_explained(value: Any, words: str) -> None:
    report = check(STEP, lambda w, X, y, learning_rate: value + 0 * X[0, 0], secrets=[1]) if (
        not isinstance(value, list)
    ) else check(STEP, lambda w, X, y, learning_rate: [*value], secrets=[1])  # fmt: skip
    assert report.hint_id == "shape"
    assert report.fault is not None
    assert words in report.fault.hint.text


def test_measurement_of_less_than_was_asked_for_is_told_first() -> None:
    least, case = PING_PONG.least(next(PING_PONG.cases(1))), next(PING_PONG.cases(1))
    assert (least.messages, least.n_bytes) == (6, 6000)
    assert PING_PONG.budget(case).messages == 8
    assert COMBINE.least(next(COMBINE.cases(1))) is None, "only measurements have a least price"


def test_deadlock_says_whether_all_wait_to_receive_or_to_send() -> None:
    def receives(comm: Any, x: Any) -> Any:
        return comm.recv((comm.rank - 1) % comm.size)

    def sends(comm: Any, x: Any) -> Any:
        if comm.size == 1:
            return x.copy()
        comm.send(x, (comm.rank + 1) % comm.size)
        return comm.recv((comm.rank - 1) % comm.size)

    for fn, words in ((receives, "wait in recv, and nobody has sent"), (sends, "wait in send")):
        report = checks.shift_right(fn)
        assert report.fault is not None
        assert words in report.fault.hint.text


def test_refused_verb_is_named_with_its_line_and_what_will_do() -> None:
    def pass_around(comm: Any, x: Any) -> Any:
        comm.barrier()
        return x.copy()

    report = checks.pass_around(pass_around)
    assert report.hint_id == "other-verb"
    assert "written without comm.barrier: send and recv will do" in " ".join(repr(report).split())
    assert "verbs.py" not in repr(report)


def text_of(name: str) -> str:
    """Return the cell in front of a task's stub."""
    cells = read_script(SETS[checks._HOME[name]])
    for number, cell in enumerate(cells):
        if cell.kind == "code" and f"def {name}(" in cell.source and "exercise" in cell.tags:
            return " ".join(cells[number - 1].source.split())
    raise AssertionError(f"no stub for {name}")


@pytest.mark.parametrize("name", TASKS)
def test_what_a_check_demands_is_written_in_the_task(name: str) -> None:
    task, text = task_of(name), text_of(name)
    if not task.talks:
        return
    if task.verbs and not task.may_use_collectives:
        told = re.search(r"Of `comm`, only ((?:`\w+`,? ?(?:and )?)+)", text)
        assert told, "which verbs"
        assert set(re.findall(r"\w+(?=`)", told[1])) == set(task.verbs)
    budgets = [task.budget(case) for case in task.cases(1)]
    if any(budget.seconds is not None for budget in budgets):
        assert re.search(r"clock|no longer than", text), "a time that is not written does not count"
    if any(budget.rounds is not None for budget in budgets):
        assert "rounds" in text
    if any(task.least(case) is not None for case in task.cases(1)):
        assert "no fewer" in text


@pytest.mark.soak
@pytest.mark.parametrize("path", RIGHT_ANSWERS, ids=name_of)
def test_right_answer_is_right_twenty_times_in_a_row(path: Any) -> None:
    for _ in range(20):
        assert check(task_of(path.parent.name), load(path)).passed


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("1 rows, 1 steps, random", "1 row, 1 step, random"),
        ("21 rows, 1,001 layers", "21 rows, 1,001 layers"),
        ("1 random numbers each", "1 random number each"),
        ("1 round trips", "1 round trip"),
    ],
)
def test_one_of_a_kind_is_told_in_the_singular(label: str, told: str) -> None:
    assert str(Case(1, label, alone=True)) == told
