"""The verdict on what the examination saw: the first thing that is wrong, in a sentence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from course_lib.checks.arguments import same
from course_lib.checks.comparator import Difference, difference
from course_lib.checks.cost import too_cheap, too_expensive
from course_lib.checks.diagnosis import Diagnosis, mishap_fault, replaced_fault
from course_lib.checks.mistakes import (
    is_finite,
    known_mistake,
    mistake_of_one,
    right_but_floats,
)
from course_lib.checks.plain import TENSOR, Unusable
from course_lib.checks.sandbox import Observation
from course_lib.checks.task import Case, Given, Hint, Task
from course_lib.checks.units import with_units

__all__ = ["judge"]


_PROMISES = ("Pending", "Received", "Started")


def judge(task: Task, case: Case, seen: Observation) -> Diagnosis | None:
    """Find the first thing that is wrong in one case.

    Parameters
    ----------
    task : Task
        Knows the right answers, the budget and the usual mistakes.
    case : Case
        What was run.
    seen : Observation
        What was seen.

    Returns
    -------
    Diagnosis or None
        None if all is right.
    """
    fault = replaced_fault(task, seen)
    if fault is not None:
        return fault
    if seen.mishap is not None:
        fault = mishap_fault(task, case, seen.mishap)
        if seen.replaced and fault.hint.id != "replaces-names":
            also = f"\nthe function had replaced {', '.join(seen.replaced)}, which others use too"
            fault = replace(fault, says=fault.says + also)
        return fault
    fault = (
        _wrong_means(task, case, seen)
        or _changed_instead(task, case, seen, _wrong_values(task, case, seen))
        or _wrong_manners(task, case, seen)
        or too_cheap(task, case, seen)
        or _wrong_route(task, case, seen)
        or too_expensive(task, case, seen)
    )
    return _without_ranks(fault) if fault is not None and case.alone else fault


def _changed_instead(
    task: Task, case: Case, seen: Observation, fault: Diagnosis | None
) -> Diagnosis | None:
    """Say first that an argument was changed, where nobody knows why the result is wrong."""
    if fault is None or fault.hint.id != "wrong-value" or not seen.changed:
        return fault
    return _wrong_manners(task, case, seen)


def _without_ranks(fault: Diagnosis) -> Diagnosis:
    """Leave out whose fault it is, where there are no ranks in the task."""
    says = fault.says.removeprefix("rank 0: ").replace("every rank returned", "the call returned")
    return replace(fault, says=says, rank=None)


def _wrong_means(task: Task, case: Case, seen: Observation) -> Diagnosis | None:
    trace = seen.trace
    assert trace is not None
    if trace.collectives and not task.may_use_collectives:
        names = ", ".join(sorted({event.name for event in trace.collectives}))
        hint = Hint("library-answer", f"of comm, use {', '.join(task.verbs)} only")
        return Diagnosis(f"the library's own {names} was called", hint)
    results = seen.values[0]
    if all(value is None for value in results) and any(
        value is not None for value in task.expected(case, _arguments(task, case, 0))
    ):
        hint = Hint("returns-none", "does every path through the function end in a return?")
        return Diagnosis("every rank returned None", hint, "a value", "None", rank=0)
    if trace.n_messages == 0 and task.price(case).n_bytes > 0 and not task.carried_out:
        hint = Hint(
            "no-messages",
            "ranks share nothing, so what another rank holds can only come in a message",
        )
        return Diagnosis(f"{case.workers} ranks, and not one message was sent", hint)
    if not task.talks and trace.n_messages > 0:
        hint = Hint("needless-messages", "everything that is needed is in the arguments")
        return Diagnosis(f"{trace.n_messages} messages were sent, and none is needed", hint)
    return None


def _wrong_values(task: Task, case: Case, seen: Observation) -> Diagnosis | None:
    first: Given = []
    for call, got in enumerate(seen.values):
        arguments = _arguments(task, case, call)
        first = first or arguments
        is_again = call > 0 and same(arguments, first)
        if is_again and same(got, seen.values[0]):
            continue
        wrong = task.compare(case, arguments, got)
        if wrong is None:
            continue
        hint = _KEPT if is_again else _wrong_library(wrong)
        hint = hint or right_but_floats(task, case, arguments, got)
        hint = hint or known_mistake(task, case, arguments, got)
        if hint is None and (of_one := mistake_of_one(task, case, arguments, got, wrong)):
            hint, wrong = of_one
        if hint is None and (fault := too_cheap(task, case, seen)):
            return fault  # what was measured is another thing
        hint = (
            hint
            or task.explain(case, arguments, got, wrong)
            or _general_hint(task, case, arguments, got, wrong, call)
        )
        step = f"call {call + 1} of {case.calls} in the same run" if call else ""
        wrong = with_units(task, wrong)
        return Diagnosis(wrong.says, hint, wrong.expected, wrong.got, wrong.rank, step)
    return None


_KEPT = Hint(
    "stale",
    "the first call was right, and this one was given the same: a list or dict outside of the "
    "function, or a default such as found=[], is kept from call to call; begin with a new one",
)


def _arguments(task: Task, case: Case, call: int) -> list[tuple[Any, ...]]:
    return [task.arguments(case, rank, call) for rank in range(case.workers)]


def _wrong_library(wrong: Difference) -> Hint | None:
    if "got a masked array" in wrong.says:
        return Hint("masked-array", "return a plain array: np.ma leaves out every NaN, and hides "
                    "what others have to see")  # fmt: skip
    if f"got a {TENSOR}" not in wrong.says:
        return None
    return Hint(
        "torch-tensor",
        "return NumPy's arrays and Python's numbers: tensor.numpy() makes an array of a tensor, "
        "and tensor.item() a number",
    )


def _general_hint(
    task: Task,
    case: Case,
    arguments: Given,
    got: Sequence[Any],
    wrong: Difference,
    call: int,
) -> Hint:
    expected = task.expected(case, arguments)
    value = got[wrong.rank or 0]
    if value is None:
        return Hint("returns-none", "does every path through the function end in a return?")
    if isinstance(value, Unusable) and value.kind in _PROMISES:
        return Hint("did-not-wait", "irecv, isend and start return at once, with a promise: its "
                    "wait() returns what is asked for")  # fmt: skip
    if "dtype" in wrong.says and "shape" not in wrong.says:
        return Hint("dtype", "keep the dtype of the data: what does each operation turn it into?")
    if "shape" in wrong.says or "NumPy array" in wrong.says:
        return _shape_hint(expected[wrong.rank or 0], value)
    if not is_finite(value):
        return Hint("nan", "where does NaN or infinity come from: a division by 0, an empty mean?")
    if call > 0:
        return Hint(
            "stale",
            "the first call was right: something of it was kept, or one of its messages was left",
        )
    right = [
        rank
        for rank in range(case.workers)
        if difference(expected[rank], got[rank], n_terms=task.rounding_terms,
                      scale=task.scale(case, arguments), may_be_empty=True) is None
    ]  # fmt: skip
    if right == [0]:
        return Hint("only-rank-0", "rank 0 has the right result; how do the others get it?")
    if right:
        names = ", ".join(map(str, right))
        return Hint("some-ranks", f"it is right on rank {names} only; what do the others do?")
    if _nearly(expected[wrong.rank or 0], value, task.scale(case, arguments)):
        return Hint(
            "precision", "right to about 7 digits: did some number go through float32, or a text?"
        )
    if _is_cut_off(expected[wrong.rank or 0], value):
        return Hint("cut-off", "only whole numbers, near the right ones: do //, int() or an array "
                    "of whole numbers cut off what comes after the point?")  # fmt: skip
    return Hint("wrong-value", "work this case out by hand, line by line, and compare")


def _shape_hint(expected: Any, got: Any) -> Hint:
    """Say what is strange about a shape."""
    wanted: tuple[int, ...] = expected.shape if isinstance(expected, np.ndarray) else ()
    given: tuple[int, ...] = got.shape if isinstance(got, np.ndarray) else ()
    text = "print the shape that each line makes, and compare with the docstring"
    if isinstance(got, list):
        text = "a list stands where an array should: np.array(...) makes one of it"
    elif isinstance(got, int | float) or given == ():
        text = "this is one number where an array should be: was summed over all of it, or over "
        text += "the wrong axis?"
    elif len(wanted) == 2 and given == (wanted[0] * wanted[1],):
        text = "the same numbers, but flat: rows stay whole; leave out ravel and reshape, and cut "
        text += "with split_evenly(len(array), P)"
    elif len(given) == len(wanted) + 1 and 1 in given and got.size == expected.size:
        axis = given.index(1)
        text = f"{given} is a table with one {('row', 'column')[axis > 0]}: take it out with "
        text += f"{('result[0]', 'result[:, 0]')[axis > 0]}, and look which line put it in"
    elif len(given) == len(wanted) == 1:
        text = (
            f"{given[0]} numbers, and {wanted[0]} are asked for: over which axis was added up? A "
        )
        text += "(n, d) table times an (n,) array pairs columns; table * array[:, None] pairs rows"
    elif len(given) == 2 and len(wanted) == 1:
        text = f"{given} is a table where one row should be: does a (n, 1) meet a (n,) somewhere, "
        text += "as in y[:, None]? NumPy makes a table of these"
    return Hint("shape", text)


def _is_cut_off(expected: Any, got: Any) -> bool:
    """Tell whether all numbers are whole and near the right ones, which are not."""
    if not isinstance(expected, np.ndarray | float) or not isinstance(got, np.ndarray | float):
        return False
    right, found = np.asarray(expected), np.asarray(got)
    if right.dtype.kind != "f" or right.shape != found.shape or (right == right.round()).all():
        return False
    near = np.abs(found - right) < np.maximum(1, np.abs(right) / 3)
    return bool((found == found.round()).all() and near.all())


def _nearly(expected: Any, got: Any, scale: Any) -> bool:
    """Tell whether they agree in as many digits as a float32 has, of what has been added up."""
    if not isinstance(expected, np.ndarray) or expected.dtype != np.float64:
        return False
    single = np.finfo(np.float32).eps / np.finfo(np.float64).eps
    return difference(expected, got, n_terms=int(single), scale=scale) is None


def _wrong_manners(task: Task, case: Case, seen: Observation) -> Diagnosis | None:
    if seen.changed:
        rank, _, position = seen.changed[0]
        name, given = task.takes[position], task.arguments(case, rank, 0)[position]
        if isinstance(given, list):
            text = f"sorted({name}) makes one, list({name}) too; {name}.sort() and {name}.append() "
            text += "change what was handed in"
        elif isinstance(given, dict):
            text = f"dict({name}) makes one, copy.deepcopy({name}) also of what is in it; pop, "
            text += "clear and del change what was handed in"
        else:
            text = f"begin with total = {name}.copy() ({name}[:] is none), or write {name} + part "
            text += f"instead of {name} += part"
        hint = Hint("changes-input", f"work on a copy: {text}")
        return Diagnosis(f"rank {rank}: the call changed its argument {name}", hint, rank=rank)
    if task.fresh and seen.shared:
        rank, _, position = seen.shared[0]
        hint = Hint("shares-memory", "return a copy: then changing one leaves the other alone")
        return Diagnosis(
            f"rank {rank}: the result shares memory with the argument {task.takes[position]}",
            hint, rank=rank,
        )  # fmt: skip
    assert seen.trace is not None
    left = seen.trace.unreceived()
    if left:
        hint = Hint("unreceived", "every send needs its recv")
        return Diagnosis(
            f"{len(left)} message(s) were never received; the first is from rank {left[0].src} "
            f"to rank {left[0].dst}",
            hint, rank=left[0].src,
        )  # fmt: skip
    return None


def _wrong_route(task: Task, case: Case, seen: Observation) -> Diagnosis | None:
    assert seen.trace is not None
    wrong = task.wrong_route(case, seen.trace)
    return None if wrong is None else Diagnosis(*wrong)
