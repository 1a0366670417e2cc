"""What can be read in a learner's function without running it, and explains a wrong result.

Some slips leave no trace in what is returned: a result that nobody keeps, a dictionary of the
notebook as a mailbox, an argument that is never used. The source tells of them.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from course_lib.checks.diagnosis import Diagnosis
from course_lib.checks.task import Hint, Task

__all__ = ["explained"]

_GENERAL = {
    "exception", "wrong-value", "returns-none", "some-ranks", "only-rank-0",
    "no-messages", "returns-own", "other-number", "none-value", "no-such-key", "no-such-item",
    "peer-finished", "deadlock", "hidden-deadlock", "unreceived", "too-full", "later-steps",
}  # fmt: skip
_THREADS = {"threading", "Thread", "ThreadPoolExecutor", "multiprocessing", "Process"}
_FILLS = {"append", "extend", "insert", "update", "setdefault", "put", "add"}
_RETURNS = ("allreduce", "reduce_scatter", "broadcast", "combine", "allgather", "gradient")
_KEEPS = {"recv", "sendrecv", "recv_any"}
_LONGEST = 60


@dataclass(frozen=True)
class _Habits:
    """What one function does, by its text.

    Attributes
    ----------
    takes, reads, asks : frozenset of str
        Its arguments, all names that it reads, and all attributes.
    mailboxes : tuple of str
        Names from outside that it fills.
    dropped, received : tuple of str
        Statements that compute something, or receive something, which nobody keeps.
    prints, returns : bool
        Whether it prints, and whether it returns a value anywhere.
    """

    takes: frozenset[str]
    reads: frozenset[str]
    asks: frozenset[str]
    mailboxes: tuple[str, ...]
    dropped: tuple[str, ...]
    received: tuple[str, ...]
    prints: bool
    returns: bool


def explained(task: Task, fault: Diagnosis, fn: Callable[..., Any]) -> Diagnosis:
    """Put in a better hint where the function's text shows the slip.

    Parameters
    ----------
    task : Task
        What the function should do.
    fault : Diagnosis
        What is wrong, with the hint that was found by running it.
    fn : callable
        The learner's function.

    Returns
    -------
    Diagnosis
        The same fault; with another hint if there is a better one.
    """
    habits = _habits(fn, "start" in task.verbs)
    hint = None if habits is None else _hint(task, fault, habits)
    return fault if hint is None else replace(fault, hint=hint)


def _hint(task: Task, fault: Diagnosis, habits: _Habits) -> Hint | None:
    general, compared = fault.hint.id in _GENERAL, bool(fault.expected and fault.got)
    if habits.prints and not habits.returns and (general or compared):
        return Hint("prints-only", "print shows a value, return hands it over: end with return")
    if task.talks and general and habits.reads & _THREADS:
        return Hint("thread", "a rank is one thread of one process: leave threads out; a started "
                    "one may not use comm")  # fmt: skip
    if task.talks and fault.hint.id == "one-worker" and "size" not in habits.asks:
        return Hint("fixed-size", "the function never asks comm.size: there may be 1 worker or 8")
    if task.talks and general and habits.mailboxes:
        name = habits.mailboxes[0]
        return Hint(
            "shared-nothing",
            f"ranks share nothing: each has a copy of {name} of its own, and what one rank puts "
            "there no other sees. Send it",
        )
    if habits.dropped and (general or compared):
        text = habits.dropped[0]
        return Hint(
            "result-dropped",
            f"nobody keeps what this line computes: {text}. Give it a name, as in w = ...",
        )
    if habits.received and general and compared:
        text = habits.received[0]
        return Hint("result-dropped", f"nobody keeps what arrives here: {text}. Give it a name, or "
                    "return it")  # fmt: skip
    unread = [name for name in _names(task) if name in habits.takes - habits.reads]
    if fault.hint.id == "returns-none":
        return None
    if compared and unread and unread == [*_names(task)]:
        return Hint("constant", f"the result depends on {', '.join(unread)}, and the function "
                    f"never reads {'them' if len(unread) > 1 else 'it'}")  # fmt: skip
    if compared and general and unread:
        return Hint("unused-argument", f"the function never reads {unread[0]}: what is it for?")
    return None


def _names(task: Task) -> tuple[str, ...]:
    return getattr(task, "questions", ()) or task.takes


def _habits(fn: Callable[..., Any], may_start: bool) -> _Habits | None:
    """Read a function; None where its text cannot be had."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    function = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        return None
    nodes = [*ast.walk(function)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    takes = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own = takes | {node.id for node in names if isinstance(node.ctx, ast.Store)}
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    filled = dict.fromkeys([*declared, *(name for name in _filled(nodes) if name not in own)])
    statements = [node.value for node in nodes if isinstance(node, ast.Expr)]
    dropped = (v for v in statements if _is_dropped(v) or (may_start and _waits(v)))
    return _Habits(
        frozenset(takes), frozenset(node.id for node in names if isinstance(node.ctx, ast.Load)),
        frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute)),
        tuple(filled), tuple(_short(value) for value in dropped),
        tuple(_short(value) for value in statements if _is_received(value)),
        any(node.id == "print" for node in names),
        any(isinstance(node, ast.Return) and node.value is not None for node in nodes),
    )  # fmt: skip


def _filled(nodes: list[ast.AST]) -> Iterator[str]:
    """Name what is written into: ``box[0] = x``, ``box.append(x)``."""
    for node in nodes:
        target: ast.AST | None = None
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            target = node.value
        elif isinstance(node, ast.Call) and _called(node) in _FILLS:
            target = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(target, ast.Name) and target.id not in ("np", "comm"):
            yield target.id


def _is_dropped(value: ast.AST) -> bool:
    if isinstance(value, ast.BinOp | ast.Compare):
        return True
    return isinstance(value, ast.Call) and _called(value).startswith(_RETURNS)


def _waits(value: ast.AST) -> bool:
    """Tell a ``wait()``, which gives what a started function returns; a message need not."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr == "wait"


def _is_received(value: ast.AST) -> bool:
    kept = isinstance(value, ast.Call) and any(word.arg == "out" for word in value.keywords)
    return isinstance(value, ast.Call) and _called(value) in _KEEPS and not kept


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
