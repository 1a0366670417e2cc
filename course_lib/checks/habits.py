"""What can be read in a learner's function without running it, and explains a wrong result.

Some slips leave no trace in what is returned: a result that nobody keeps, a dictionary of the
notebook as a mailbox, an argument that is never used. The source tells of them.
"""

import ast
import inspect
import re
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
_SPEAKS_NOT = {"print", "send", "sort", "append", "extend", "reverse", "shuffle", "update"}
"""What returns None, whatever it does."""
_FLATTENS = {"insert", "append", "delete"}
_SIGN_BEHIND = re.compile(r"\w *=([+-]) ")
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
    returned : str
        What it returns although that is always None, ``print(...)``; empty for nothing.
    flattens : str
        What it calls of NumPy's that makes a table flat where no axis is named.
    sign_behind : str
        ``=+`` or ``=-``, where the sign belongs before the equals sign.
    bar : bool
        Whether ``|`` or ``&`` stands beside a comparison without brackets.
    """

    takes: frozenset[str]
    reads: frozenset[str]
    asks: frozenset[str]
    mailboxes: tuple[str, ...]
    dropped: tuple[str, ...]
    received: tuple[str, ...]
    prints: bool
    returns: bool
    returned: str
    flattens: str
    sign_behind: str
    bar: bool


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
    if (slip := _slip_of_the_pen(fault, habits, general)) is not None:
        return slip
    unread = [name for name in _names(task) if name in habits.takes - habits.reads]
    if fault.hint.id == "returns-none":
        return None
    if compared and unread and unread == [*_names(task)]:
        return Hint("constant", f"the result depends on {', '.join(unread)}, and the function "
                    f"never reads {'them' if len(unread) > 1 else 'it'}")  # fmt: skip
    if compared and general and unread:
        return Hint("unused-argument", f"the function never reads {unread[0]}: what is it for?")
    return None


def _slip_of_the_pen(fault: Diagnosis, habits: _Habits, general: bool) -> Hint | None:
    if fault.hint.id == "returns-none" and habits.returned:
        return Hint("returned-nothing", f"{habits.returned} gives None, and that is returned: do "
                    "it in one line, and return the value in the next")  # fmt: skip
    if habits.flattens and (general or fault.hint.id in ("matrix-product", "shape")):
        return Hint("flattened", f"np.{habits.flattens} without axis makes a table flat: axis=1 "
                    "is for a column, axis=0 for a row")  # fmt: skip
    if habits.sign_behind and (general or fault.hint.id == "too-slow"):
        sign = habits.sign_behind[1]
        return Hint("sign-behind", f"{habits.sign_behind} sets a name to {sign} what follows; the "
                    f"sign comes first: w {sign}= step")  # fmt: skip
    if habits.bar and general:
        return Hint("bar", "| and & bind more tightly than ==: write or, and")
    return None


def _names(task: Task) -> tuple[str, ...]:
    return getattr(task, "questions", ()) or task.takes


def _habits(fn: Callable[..., Any], may_start: bool) -> _Habits | None:
    """Read a function; None where its text cannot be had."""
    try:
        source = textwrap.dedent(inspect.getsource(fn))
        tree = ast.parse(source)
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
        next((_short(node.value) for node in nodes
              if isinstance(node, ast.Return) and node.value and _is_silent(node.value)), ""),
        next((_called(node) for node in nodes
              if isinstance(node, ast.Call) and _is_flattening(node)), ""),
        "=" + found[1] if (found := _SIGN_BEHIND.search(source)) else "",
        any(map(_has_bar, nodes)),
    )  # fmt: skip


def _is_silent(value: ast.AST) -> bool:
    """Tell a call of what returns None, whatever it does."""
    return isinstance(value, ast.Call) and _called(value) in _SPEAKS_NOT


def _is_flattening(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) in ("np", "numpy")
        and node.func.attr in _FLATTENS
        and len(node.args) < (4 if node.func.attr == "insert" else 3)
        and all(word.arg != "axis" for word in node.keywords)
    )


def _has_bar(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(
        isinstance(side, ast.BinOp) and isinstance(side.op, ast.BitOr | ast.BitAnd)
        for side in node.comparators
    )


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
