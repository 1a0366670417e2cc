"""Make docs/comm.md, the page of all that ``comm`` can do, from the docstrings of the library.

From the repository's root: ``python -m docs.comm_page``. A test compares the page with them.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numpydoc.docscrape import FunctionDoc

from course_lib import collectives
from course_lib.comm.communicator import EAGER_BYTES, Communicator
from course_lib.comm.pending import Pending

PAGE = Path(__file__).with_name("comm.md")

_WIDTH = 120

HEAD = (
    "`run(fn, workers=4)` calls `fn(comm)` on every worker, and `comm` is how that worker talks to "
    "the others. This page is made from the library's docstrings (`python -m docs.comm_page`); "
    "`help(comm.send)` in a notebook says more of each. Lectures 00 to 03 need only `rank`, "
    f"`size`, `send`, `recv` and `sendrecv`. `EAGER_BYTES` is {EAGER_BYTES:,}."
)
_COLLECTIVES = (
    "`from course_lib.collectives import allreduce`, and so on. They are made of the verbs above; "
    "all ranks call them, in the same order."
)

GROUPS = {
    "Messages": ("send", "recv", "sendrecv", "recv_any"),
    "What all ranks call together": ("barrier", "split", "shared_array"),
    "What goes on beside": ("start", "isend", "irecv"),
    "Time and notes": ("compute", "note", "clock"),
}
ATTRIBUTES = {
    "rank": "The number of this worker, 0 to `size - 1`.",
    "size": "How many workers there are.",
    "rng": "",
    "rates": "",
    "name": 'Which communicator this is, `"world"` for the one that `run` hands out.',
    "incarnation": "",
    "run_name": "",
    "survives": "",
    "device": "",
}


def page() -> str:
    """Write the page."""
    lines = [
        "# All that `comm` can do",
        "",
        *textwrap.wrap(HEAD, _WIDTH),
        "",
        "## What it is",
        "",
        "| | |",
        "|---|---|",
    ]
    lines += [f"| `comm.{name}` | {told} |" for name, told in _attributes()]
    for title, names in GROUPS.items():
        lines += ["", f"## {title}"]
        for name in names:
            lines += ["", *_verb(f"comm.{name}", getattr(Communicator, name))]
    lines += ["", "`start`, `isend` and `irecv` return a promise, `pending`:"]
    for name in ("wait", "test"):
        lines += ["", *_verb(f"pending.{name}", getattr(Pending, name))]
    lines += [
        "",
        "## Collectives",
        "",
        *textwrap.wrap(_COLLECTIVES, _WIDTH),
        "",
        "| | |",
        "|---|---|",
    ]
    lines += [f"| `{_call(name, fn)}` | {_summary(fn)} |" for name, fn in _collectives()]
    return "\n".join(lines) + "\n"


def public_names() -> set[str]:
    """List what a communicator has that a learner may use."""
    names = {name for name in dir(Communicator) if not name.startswith("_")}
    return names | {"name"}


def _attributes() -> Iterator[tuple[str, str]]:
    described = {entry.name: " ".join(entry.desc) for entry in _doc(Communicator)["Attributes"]}
    for name, told in ATTRIBUTES.items():
        prop = inspect.getattr_static(Communicator, name, None)
        own = _summary(prop) if isinstance(prop, property) else ""
        yield name, told or own or _marked(described[name])


def _verb(call: str, verb: Callable[..., Any]) -> list[str]:
    doc = _doc(verb)
    told_first = " ".join([_summary(verb), *_first(doc)])
    lines = [f"### `{_call(call, verb)}`", "", *textwrap.wrap(told_first, _WIDTH)]
    told = [(entry.name, " ".join(entry.desc)) for entry in doc["Parameters"]]
    told += [(f"returns {entry.name}".rstrip(), " ".join(entry.desc)) for entry in doc["Returns"]]
    if told:
        lines += [""]
    for name, text in told:
        first = name if name.startswith("returns") else f"`{name}`"
        lines += textwrap.wrap(f"- {first}: {_marked(text)}", _WIDTH, subsequent_indent="  ")
    return lines


def _first(doc: FunctionDoc) -> list[str]:
    """Take the first paragraph below the summary."""
    paragraph: list[str] = []
    for line in doc["Extended Summary"]:
        if not line:
            break
        paragraph.append(line)
    return [_marked(" ".join(paragraph))] if paragraph else []


def _call(name: str, fn: Callable[..., Any]) -> str:
    signature = inspect.signature(fn)
    kept = [
        p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"
    ]
    return f"{name}{signature.replace(parameters=kept, return_annotation=signature.empty)}"


def _summary(fn: Any) -> str:
    return _marked(" ".join(_doc(fn.fget if isinstance(fn, property) else fn)["Summary"]))


def _doc(fn: Any) -> FunctionDoc:
    return FunctionDoc(fn, doc=inspect.getdoc(fn))


def _marked(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text)


def _collectives() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in sorted(collectives.__all__):
        fn = getattr(collectives, name)
        if callable(fn):
            yield name, fn


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
