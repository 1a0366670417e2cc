"""The slips of beginners that end in an exception, told in a sentence each.

An exception names what the interpreter could not do. What the learner meant is another thing, and
it can often be told from the message and the line.
"""

import difflib
import re
from collections.abc import Callable
from typing import NamedTuple

from course_lib.checks.task import Case, Hint, Task

__all__ = ["slip", "who_left", "who_waits"]

_NUMBERS = "comm.rank and comm.size are numbers, not functions: leave out the brackets"
_ARGUMENTS = {
    "send": "comm.send(array, dst) takes what to send, then to whom; comm.recv(src) takes from "
    "whom, and returns what arrives",
    "sendrecv": "comm.sendrecv(array, dst, src) takes what to send, to whom, and from whom to "
    "receive; it returns what arrives",
    "recv_any": "comm.recv_any() takes nothing, and returns two values: src, array",
}
_VERB = re.compile(r"\bCommunicator\.(\w+)\(\)")
_FREE = ("rank", "size", "clock", "compute", "note", "rng")


class _Failure(NamedTuple):
    """What is known of an exception: its first line, and the line of the source."""

    task: Task
    case: Case | None
    about: str
    line: str


def slip(task: Task, case: Case | None, original: str, text: str) -> Hint | None:
    """Tell what may have been meant.

    Parameters
    ----------
    task : Task
        What is to be written.
    case : Case or None
        What was run.
    original : str
        The exception's class.
    text : str
        What the report says of it: the first line, and the frames with their source.

    Returns
    -------
    Hint or None
        None where nothing is known.
    """
    last_line = text.rstrip().rpartition("\n")[2].strip()
    failure = _Failure(task, case, text.partition("\n")[0], last_line)
    for find in _FINDERS.get(original, ()):
        hint = find(failure)
        if hint is not None:
            return hint
    return None


def who_waits(text: str) -> str:
    """Say of a deadlock what all the waiting ranks do; empty if they do different things."""
    verbs = set(re.findall(r"rank \d+ waits in (\w+)\(", text))
    if verbs == {"recv"}:
        return "all of them wait in recv, and nobody has sent: "
    if verbs == {"send"}:
        return "all of them wait in send, and nobody receives: "
    if verbs == {"sendrecv"} and "an unread message" in text:
        return (
            "each of them waits for a rank that sends to another one: src is where it comes from; "
        )
    return ""


def who_left(text: str) -> str:
    """Say of a rank that has returned too early what to look for in the function."""
    found = re.search(r"rank (\d+) waits .*but rank (\d+) has already returned", text, re.DOTALL)
    if found is None:
        return ""
    return (
        f"go through the function as rank {found[2]}: which if, return or end of a range leaves "
        f"out what rank {found[1]} waits for? Or "
    )


def _attribute(it: _Failure) -> Hint | None:
    found = re.search(r"'(\w+)' object has no attribute '(\w+)'", it.about)
    if found is None:
        return None
    kind, name = found.groups()
    if kind == "NoneType":
        return _none(it)
    if kind == "tuple":
        return Hint("tuple", f"a tuple cannot be changed, so it has no {name}: make a list of it, "
                    "list(...), or use reversed(...) and sorted(...)")  # fmt: skip
    if not kind.endswith("Communicator"):
        return None
    for right in ("rank", "size"):
        if right in name.lower():
            return Hint("misspelt", f"write comm.{right}: a number, in small letters")
    known = [*it.task.verbs, *_FREE]
    near = difflib.get_close_matches(name.lower(), known, n=1)
    verbs = ", ".join(it.task.verbs)
    meant = f"comm.{near[0]} is meant, perhaps; " if near else ""
    return Hint("no-such-verb", f"comm has no {name}: {meant}this task is for {verbs}, and what "
                "they do not do you write yourself")  # fmt: skip


def _call(it: _Failure) -> Hint | None:
    if "'int' object is not callable" in it.about and re.search(r"\.(rank|size)\s*\(", it.line):
        return Hint("calls-a-number", _NUMBERS)
    verb = _VERB.search(it.about)
    if verb and "unexpected keyword argument" in it.about:
        return Hint("other-keyword", "the rank to send to is called dst, the one to receive from "
                    "src: comm.send(array, dst=1), comm.recv(src=0)")  # fmt: skip
    if verb and (
        "missing" in it.about or "positional argument" in it.about or "multiple" in it.about
    ):
        return Hint("verb-arguments", _ARGUMENTS.get(verb[1], _ARGUMENTS["send"]))
    if "concatenate str" in it.about or "must be str" in it.about:
        return Hint("text-and-number", "a text and a number do not add up: an f-string puts a "
                    'number into a text, f"rank {comm.rank}"')  # fmt: skip
    if "array must be a NumPy array" in it.about:
        given = it.about.rpartition("got ")[2].partition(";")[0]
        return Hint("not-an-array", "what travels is an array, and it comes before the rank: "
                    f"comm.send(np.array([number]), dst); got {given}")  # fmt: skip
    if re.search(r"\b(dst|src) must be", it.about):
        return Hint("verb-arguments", "the array comes first, then the rank, a whole number: "
                    "comm.send(array, dst), comm.recv(src)")  # fmt: skip
    if "must be the communicator" in it.about:
        return Hint("comm-first", "comm comes first, then the array: allreduce_ring(comm, array)")
    if "is not iterable" in it.about or "cannot unpack non-iterable" in it.about:
        return _no_list(it.about)
    if "fn must be a function" in it.about or "is called as" in it.about:
        return Hint("start-arguments", "comm.start(allreduce, gradient): the function without "
                    "calling it, then its arguments; comm is handed over for you")  # fmt: skip
    return _none(it)


def _no_list(about: str) -> Hint | None:
    if "slice" in about:
        return Hint("slice", "split_evenly gives slices: array[part] takes one, part.start and "
                    "part.stop are its ends")  # fmt: skip
    if "'int'" in about:
        return Hint("no-list", "a number is no list: range(n) has the numbers 0 to n - 1, "
                    "range(1, n) those from 1 on")  # fmt: skip
    if "'method'" in about or "'function'" in about:
        return Hint("not-called", "a function stands where a list should: call it, with brackets "
                    "behind its name")  # fmt: skip
    return None


def _none(it: _Failure) -> Hint | None:
    if "NoneType" not in it.about:
        return None
    return Hint("none-value", "something in this line is None: what should have made it returns "
                "nothing (comm.send, list.sort, rng.shuffle, a function without return)"
                )  # fmt: skip


def _peer(it: _Failure) -> Hint | None:
    found = re.search(r"(?:dst|src) must be a rank from 0 to (\d+), got (-?\d+)", it.about)
    if found is None or it.case is None:
        return None
    if it.case.workers == 1:
        return Hint("one-worker", "with one worker there is nobody to send to or receive from")
    last = int(found[1])
    if not re.search(r"[-+]", it.line) and "for " not in it.line and it.case.workers < 4:
        return Hint("fixed-size", f"there are {it.case.workers} workers here, not always 4: ask "
                    "comm.size")  # fmt: skip
    return Hint(
        "no-modulo",
        f"ranks are numbered 0 to {last}. On a ring, after the last comes 0 again: "
        "(comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size; elsewhere ask comm.size",
    )


def _itself(it: _Failure) -> Hint | None:
    if "must be another rank" not in it.about:
        return None
    if it.case is not None and it.case.workers == 1:
        return Hint("one-worker", "with one worker there is nobody to send to or receive from")
    return Hint("sends-to-itself", "a rank does not send to itself, nor receive from itself: "
                "leave it out of the loop, and use what it has")  # fmt: skip


def _shapes(it: _Failure) -> Hint | None:
    sizes = re.search(r"size (\d+) is different from (\d+)", it.about)
    if sizes:
        right, left = int(sizes[1]), int(sizes[2])
        more = (
            "; if the one more is the intercept, w[0] stands alone and w[1:] belongs to the columns"
            if abs(right - left) == 1
            else ""
        )
        return Hint("matrix-product", "a matrix product takes as many columns on the left as rows "
                    f"on the right; here they are {left} and {right}{more}")  # fmt: skip
    if "truth value of an array" in it.about:
        return Hint("any-or-all", "an array has many truths: (a != b).any() asks for one of them, "
                    "(a == b).all() for all")  # fmt: skip
    if "arg is an empty sequence" in it.about or "iterable argument is empty" in it.about:
        return Hint("nothing-there", "there may be nothing at all: an empty list has no max and no "
                    "min; what is the answer then?")  # fmt: skip
    if "must not overlap" in it.about:
        return Hint("out-overlaps", "leave out= away: what recv and sendrecv return is an array of "
                    "its own")  # fmt: skip
    if "could not be broadcast" in it.about:
        return Hint("broadcast", "these two arrays do not go together element by element: print "
                    "the shape of each, and compare with the docstring")  # fmt: skip
    if "same number of dimensions" in it.about:
        return Hint("joining", "a table and a row do not join: np.column_stack puts a row beside a "
                    "table as a column, np.concatenate wants equally many dimensions")  # fmt: skip
    if not it.task.talks and ("inhomogeneous" in it.about or "with a sequence" in it.about):
        return Hint("joining", "a number and an array make no array: np.concatenate([[number], "
                    "array]) joins them")  # fmt: skip
    if "need at least one array" in it.about:
        return Hint("nothing-to-join", "there is nothing to join: some part is empty, here or on "
                    "this rank")  # fmt: skip
    if "too many values to unpack" in it.about or "not enough values to unpack" in it.about:
        returned = "comm.recv returns one array, comm.recv_any two values, src and array: "
        return Hint("unpacking", returned * ("recv" in it.line) + "how many names stand on the "
                    "left of this line, and how many values on the right?")  # fmt: skip
    return None


def _unbound(it: _Failure) -> Hint | None:
    found = re.search(r"variable '(\w+)'", it.about)
    name = found[1] if found else "it"
    ranks = ", on this rank," if it.task.talks else ""
    return Hint("not-yet-set", f"{name} is used before it is set{ranks} because the line that sets "
                "it was not reached: set it before the if or the loop")  # fmt: skip


def _key(it: _Failure) -> Hint | None:
    if not it.task.talks:
        return None
    return Hint("no-such-key", "is another rank to put it there? Ranks share nothing: what another "
                "rank holds comes in a message")  # fmt: skip


def _recursion(it: _Failure) -> Hint | None:
    return Hint("calls-itself", f"{it.task.name} calls itself without end: does a helper, or a "
                "function of the library, have the same name?")  # fmt: skip


def _division(_: _Failure) -> Hint | None:
    return Hint("divides-by-zero", "something is 0 here: no row, no step, one worker minus 1?")


def _index(_: _Failure) -> Hint | None:
    return Hint("no-such-item", "a list of n items has the numbers 0 to n - 1: print its length "
                "and the number that is asked for")  # fmt: skip


_Finder = Callable[[_Failure], Hint | None]
_FINDERS: dict[str, tuple[_Finder, ...]] = {
    "AttributeError": (_attribute,),
    "TypeError": (_call,),
    "ValueError": (_peer, _itself, _shapes),
    "UnboundLocalError": (_unbound,),
    "KeyError": (_key,),
    "IndexError": (_index,),
    "RecursionError": (_recursion,),
    "ZeroDivisionError": (_division,),
}
